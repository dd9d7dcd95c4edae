//! Other tools' command lines and reports on our engine: `weigh as weighttp -n 1000 URL`.
//!
//! A drop-in is a folder and a row of [`DROPINS`]. It reads the words that the original takes into settings of `weigh run`, so
//! that the plan, its checks and the load are the same as with our own options; and from the record it writes what the original
//! would print.
//!
//! In scope: the words of other tools, and the looks of their reports. Out of scope: sockets, processes, printing; the text is put on
//! the streams by the caller.
//!
//! ```
//! let weighttp = dropins::find("weighttp").unwrap();
//! let words = ["-n", "100", "-k", "127.0.0.1:8080/"].map(str::to_owned);
//! let dropins::Reading::Load(report) = (weighttp.read)(&words) else { panic!() };
//! assert!(report.loads()[0].contains(&("requests", "100".to_owned())));
//! ```
#![forbid(unsafe_code)]

// Words as C programs read them,
mod getopt;
mod long;
// numbers as those print them,
mod printf;
// figures as they print them,
mod distribution;
// and the tools.
mod ab;
mod abc;
mod autobench;
mod httperf;
mod weighttp;
mod wrk;

use record::Run;
use std::path::PathBuf;
use units::Nanos;

/// Another tool's command line and report.
#[derive(Debug)]
pub struct Dropin {
    /// The tool's name, by which it is called.
    pub name: &'static str,
    /// Which version of which tool it is, in a line.
    pub about: &'static str,
    /// Reads the words behind the name.
    pub read: fn(&[String]) -> Reading,
}

/// All of them, by name.
pub static DROPINS: &[Dropin] = &[
    ab::DROPIN,
    abc::DROPIN,
    autobench::DROPIN,
    httperf::DROPIN,
    weighttp::DROPIN,
    wrk::DROPIN,
    wrk::WRK2,
];

/// Returns the drop-in of this name.
pub fn find(name: &str) -> Option<&'static Dropin> {
    DROPINS.iter().find(|dropin| dropin.name == name)
}

/// What follows from a command line.
pub enum Reading {
    /// Nothing is loaded: it asks for help, or is refused.
    Said(Said),
    /// A load, or several.
    Load(Box<dyn Report>),
}

/// Settings of `weigh run`, by their names, with their values; of switches the value is empty.
pub type Settings = Vec<(&'static str, String)>;

/// What is to be written, as the original would.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Said {
    /// To standard output.
    pub out: String,
    /// To standard error.
    pub err: String,
    /// To files, whole.
    pub files: Vec<(PathBuf, String)>,
    /// The exit status, if this is its last word.
    pub status: u8,
}

impl Said {
    /// Text for standard output.
    pub fn out(text: impl Into<String>) -> Said {
        Said {
            out: text.into(),
            ..Said::default()
        }
    }
}

/// The loads that a command line asks for, and what the original would write about them.
pub trait Report {
    /// Settings of each load, in their order.
    fn loads(&self) -> Vec<Settings>;

    /// The load is about to begin.
    fn begins(&mut self, load: usize) -> Said;

    /// So many requests of the load have ended so far; told some ten times a second, and at its end.
    fn progress(&mut self, load: usize, ended: u64) -> Said;

    /// The load is over.
    fn ends(&mut self, load: usize, run: &Run) -> Said;

    /// The load could not be carried out: the sentence says why.
    fn failed(&mut self, load: usize, why: &str) -> Said;

    /// Whether the next load is to be carried out behind one that has ended, or else could not be carried out because its server
    /// does not respond.
    fn goes_on(&self, has_ended: bool) -> bool {
        has_ended
    }
}

/// What the loads of all of them have in common: one round that begins at once, with connections that are opened when something is
/// to be sent, and no judgement of ours.
const ONE_ROUND: [(&str, &str); 7] = [
    ("rounds", "1"),
    ("warmup", "0s"),
    ("connect", "lazy"),
    ("server", "none"),
    ("spin", "never"),
    ("max-errors", "100%"),
    ("keep-going", ""),
];

/// Returns `count` a second over `took`; 0 where that is no time.
fn rate(count: u64, took: Nanos) -> f64 {
    match took {
        Nanos::ZERO => 0.0,
        took => count as f64 / took.as_secs_f64(),
    }
}

/// The only round of the only point.
fn round(run: &Run) -> Option<&record::Round> {
    run.points.first()?.rounds.first()
}
