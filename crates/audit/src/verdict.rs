//! How a check words its findings. The table's row adds the check's name.

use record::{Figure, Finding, Grade};

/// Every figure: what is touched when the counts themselves are wrong.
pub(crate) const ALL: &[Figure] = &[
    Figure::Rps,
    Figure::Latency,
    Figure::Interval,
    Figure::Counts,
];

/// Worth knowing; demotes nothing.
pub(crate) fn note(sentence: String) -> Finding {
    graded(Grade::Note, &[], sentence)
}

/// The figures stand, with a mark.
pub(crate) fn qualified(touches: &[Figure], sentence: String) -> Finding {
    graded(Grade::Qualified, touches, sentence)
}

/// The figures are worthless.
pub(crate) fn invalid(touches: &[Figure], sentence: String) -> Finding {
    graded(Grade::Invalid, touches, sentence)
}

fn graded(grade: Grade, touches: &[Figure], sentence: String) -> Finding {
    Finding {
        check: String::new(),
        point: None,
        grade,
        touches: touches.to_vec(),
        sentence,
        remedy: None,
        evidence: Vec::new(),
    }
}

/// What adds remedy and evidence to a finding.
pub(crate) trait Substantiate {
    /// What to do about it.
    fn remedy(self, remedy: impl Into<String>) -> Self;
    /// The numbers it rests on.
    fn evidence<const N: usize>(self, evidence: [(&str, f64); N]) -> Self;
}

impl Substantiate for Finding {
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

/// Words joined by commas, the last by "and".
pub(crate) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `1 exchange`, `2 exchanges`.
pub(crate) fn number(count: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        units::count(count),
        if count == 1 { one } else { many }
    )
}
