//! How a check builds its findings. The check's row adds name and cause.

use record::{Cause, Effect, Effects, Figure, Finding};

/// Every figure: what is affected when the counts themselves are wrong.
pub(crate) const ALL: &[Figure] = &[
    Figure::Rps,
    Figure::Latency,
    Figure::Interval,
    Figure::Counts,
];

/// Returns a finding that affects no figure.
pub(crate) fn note(sentence: String) -> Finding {
    Finding {
        check: String::new(),
        cause: Cause::Other,
        point: None,
        level: None,
        effects: Effects::default(),
        sentence,
        headline: String::new(),
        remedy: None,
        options: String::new(),
        evidence: Vec::new(),
    }
}

/// Returns a finding with which `figures` stand, but with a mark.
pub(crate) fn caveat(figures: &[Figure], sentence: String) -> Finding {
    note(sentence).and(Effect::Caveat, figures)
}

/// Returns a finding by which requests/s is only a lower bound.
pub(crate) fn lower_bound(sentence: String) -> Finding {
    note(sentence).and(Effect::LowerBound, &[Figure::Rps])
}

/// Returns a finding by which `figures` say nothing.
pub(crate) fn void(figures: &[Figure], sentence: String) -> Finding {
    note(sentence).and(Effect::Void, figures)
}

/// What is added to a finding.
pub(crate) trait Substantiate {
    /// Adds an effect on more figures.
    fn and(self, effect: Effect, figures: &[Figure]) -> Self;
    /// Names another root cause than that of the check's row.
    fn because(self, cause: Cause) -> Self;
    /// Adds the same in a few words.
    fn in_short(self, headline: impl Into<String>) -> Self;
    /// Adds the options of the best next command.
    fn options(self, options: impl Into<String>) -> Self;
    /// Adds what to do about it.
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

    fn in_short(mut self, headline: impl Into<String>) -> Self {
        self.headline = headline.into();
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

/// Returns `1 exchange`, `2 exchanges`.
pub(crate) fn number(count: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        units::count(count),
        if count == 1 { one } else { many }
    )
}
