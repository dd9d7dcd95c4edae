//! How a check builds its findings. The check's row adds name and cause.

use record::{Effect, Figure, Finding};

/// Every figure, for findings about the counts themselves.
pub(crate) const ALL: &[Figure] = &[
    Figure::Rps,
    Figure::Latency,
    Figure::Interval,
    Figure::Counts,
];

/// Requests/s and latency, for findings about how fast the server is.
pub(crate) const SPEED: &[Figure] = &[Figure::Rps, Figure::Latency];

/// Returns a finding that affects no figure.
pub(crate) fn note(sentence: impl Into<String>) -> Finding {
    Finding {
        sentence: sentence.into(),
        ..Finding::default()
    }
}

/// Returns a finding with which `figures` stand, but with a mark; `headline` is its sentence in at most 60 characters.
pub(crate) fn caveat(
    figures: &[Figure],
    headline: impl Into<String>,
    sentence: impl Into<String>,
) -> Finding {
    graded(Effect::Caveat, figures, headline.into(), sentence.into())
}

/// Returns a finding by which requests/s is only a lower bound.
pub(crate) fn lower_bound(headline: impl Into<String>, sentence: impl Into<String>) -> Finding {
    graded(
        Effect::LowerBound,
        &[Figure::Rps],
        headline.into(),
        sentence.into(),
    )
}

/// Returns a finding by which `figures` say nothing.
pub(crate) fn void(
    figures: &[Figure],
    headline: impl Into<String>,
    sentence: impl Into<String>,
) -> Finding {
    graded(Effect::Void, figures, headline.into(), sentence.into())
}

fn graded(effect: Effect, figures: &[Figure], headline: String, sentence: String) -> Finding {
    #[cfg(test)]
    assert!((1..=60).contains(&headline.chars().count()), "{headline}");
    let finding = Finding {
        headline,
        ..note(sentence)
    };
    finding.and(effect, figures)
}

/// Returns words joined by commas, the last by "and".
pub(crate) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns the first `most` of `words` as [`list`] does, and how many `others` there are.
pub(crate) fn list_some(mut words: Vec<String>, most: usize, others: &str) -> String {
    let rest = words.len().saturating_sub(most) as u64;
    words.truncate(most);
    words.extend((rest > 0).then(|| units::number(rest, others)));
    list(&words)
}
