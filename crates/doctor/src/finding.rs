//! What is wrong with a machine, and how a check says it.

use record::Grade;
use serde::Serialize;

/// Something that is wrong with a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the check that found it.
    pub check: &'static str,
    /// How grave it is: results are invalid, need caution, or it is only worth knowing.
    pub grade: Grade,
    /// What is wrong, in one line with its numbers.
    pub headline: String,
    /// What it is likely to cost.
    pub cost: Cost,
    /// Command that mends it, or what to do where there is no command.
    pub mend: Option<String>,
    /// Command that undoes the mending, with the present values.
    pub undo: Option<String>,
}

/// What a finding is likely to cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// The share of a result that may be at stake, by which findings are sorted: an estimate, not a measurement.
    pub share: f64,
    /// The cost in words.
    pub what: String,
    /// How that is known.
    pub source: Source,
}

/// How a cost is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It follows from the numbers of the finding.
    Measured,
    /// A published source says so.
    Published(&'static str),
    /// A guess by experience, without a source.
    Guess,
}

impl Source {
    /// Returns the source in words.
    pub fn words(self) -> &'static str {
        match self {
            Source::Measured => "measured",
            Source::Published(source) => source,
            Source::Guess => "a guess",
        }
    }
}

impl Finding {
    /// Says what it is likely to cost: a share of a result, in words, and by which source.
    pub(crate) fn costs(mut self, share: f64, what: impl Into<String>, source: Source) -> Finding {
        self.cost = Cost {
            share,
            what: what.into(),
            source,
        };
        self
    }

    /// Says what mends it where nothing needs to be undone.
    pub(crate) fn mend(mut self, what: impl Into<String>) -> Finding {
        self.mend = Some(what.into());
        self
    }

    /// Says which commands mend it and undo that.
    pub(crate) fn mend_and_undo(self, (mend, undo): (String, String)) -> Finding {
        Finding {
            undo: Some(undo),
            ..self.mend(mend)
        }
    }
}

/// A finding without its costs and commands.
fn found(grade: Grade, headline: impl Into<String>) -> Finding {
    Finding {
        check: "",
        grade,
        headline: headline.into(),
        cost: Cost {
            share: 0.0,
            what: String::new(),
            source: Source::Guess,
        },
        mend: None,
        undo: None,
    }
}

/// Makes measuring invalid.
pub(crate) fn invalid(headline: impl Into<String>) -> Finding {
    found(Grade::Invalid, headline)
}

/// Results need caution.
pub(crate) fn caveat(headline: impl Into<String>) -> Finding {
    found(Grade::Caveat, headline)
}

/// Worth knowing.
pub(crate) fn note(headline: impl Into<String>) -> Finding {
    found(Grade::Note, headline)
}

/// The commands that set the kernel's setting `name` to `value`, and back to what it is.
pub(crate) fn sysctl(name: &str, value: &str, present: &str) -> (String, String) {
    let command = |value: &str| match value.contains(' ') {
        true => format!("sudo sysctl -w {name}='{value}'"),
        false => format!("sudo sysctl -w {name}={value}"),
    };
    (command(value), command(present))
}

/// The commands that write `value` into `file`, and back what is there.
pub(crate) fn write(file: &str, value: &str, present: &str) -> (String, String) {
    let command = |value: &str| format!("echo {value} | sudo tee {file}");
    (command(value), command(present))
}
