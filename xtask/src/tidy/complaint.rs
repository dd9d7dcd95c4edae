//! One broken rule: where, and the sentence that says what is wrong, why, and what to do.

use std::fmt;

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The file, from the root.
    pub path: String,
    /// The line, from 1, where one is to blame.
    pub line: Option<usize>,
    /// What is wrong, why, and the remedy.
    pub sentence: String,
}

impl Complaint {
    /// About a whole file.
    pub fn about(path: impl Into<String>, sentence: impl Into<String>) -> Complaint {
        Complaint {
            path: path.into(),
            line: None,
            sentence: sentence.into(),
        }
    }

    /// About one line, counted from 1.
    pub fn at(path: impl Into<String>, line: usize, sentence: impl Into<String>) -> Complaint {
        Complaint {
            path: path.into(),
            line: Some(line),
            sentence: sentence.into(),
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(to, "{}:{line}: {}", self.path, self.sentence),
            None => write!(to, "{}: {}", self.path, self.sentence),
        }
    }
}
