//! How a check builds its findings. The check's row adds name and cause.

use record::{Cause, Effect, Effects, Figure, Finding};

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
        check: String::new(),
        cause: Cause::Other,
        point: None,
        level: None,
        effects: Effects::default(),
        sentence: sentence.into(),
        headline: String::new(),
        remedy: None,
        options: String::new(),
        evidence: Vec::new(),
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

/// Additions to a finding.
pub(crate) trait Substantiate {
    /// Adds an effect on more figures.
    fn and(self, effect: Effect, figures: &[Figure]) -> Self;
    /// Replaces the root cause that the check's row names.
    fn because(self, cause: Cause) -> Self;
    /// Adds the options of the best next command.
    fn options(self, options: impl Into<String>) -> Self;
    /// Replaces the remedy of the check's row.
    fn remedy(self, remedy: impl Into<String>) -> Self;
    /// Adds the numbers it rests on.
    fn evidence<const N: usize>(self, evidence: [(&str, f64); N]) -> Self;
}

impl Substantiate for Finding {
    fn and(mut self, effect: Effect, figures: &[Figure]) -> Self {
        self.effects.add(effect, figures);
        self
    }

    fn because(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
    }

    fn options(mut self, options: impl Into<String>) -> Self {
        self.options = options.into();
        self
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    fn evidence<const N: usize>(mut self, evidence: [(&str, f64); N]) -> Self {
        self.evidence
            .extend(evidence.map(|(name, value)| (name.to_owned(), value)));
        self
    }
}

/// Returns words joined by commas, the last by "and".
pub(crate) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns `1 request`, `2 requests`.
pub(crate) fn number(count: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        units::count(count),
        if count == 1 { one } else { many }
    )
}
