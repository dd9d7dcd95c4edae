//! One broken rule: where, and the sentence that says what is wrong, why, and what to do.

use std::fmt;

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The file, from the root, and behind a colon the line, from 1, where one is to blame.
    place: String,
    /// What is wrong, why, and the remedy.
    sentence: String,
}

impl Complaint {
    /// About a whole file.
    pub fn about(path: impl Into<String>, sentence: impl Into<String>) -> Complaint {
        Complaint {
            place: path.into(),
            sentence: sentence.into(),
        }
    }

    /// About one line, counted from 1.
    pub fn at(path: &str, line: usize, sentence: impl Into<String>) -> Complaint {
        Complaint::about(format!("{path}:{line}"), sentence)
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", self.place, self.sentence)
    }
}
