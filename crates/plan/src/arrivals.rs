//! Arrival processes by name: how the arrivals of an open loop are spaced. What is known of one is in its file; here it has its module, a
//! variant, which records keep, its row in [`Arrivals::process`], and one in [`FORMS`] if `--arrivals` names it.

mod bursts;
mod constant;
mod on_off;
mod poisson;
mod ramp;
mod spans;

use bursts::Bursts;
use constant::Constant;
use on_off::OnOff;
use poisson::Poisson;
use ramp::Ramp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use units::{Nanos, Rate, exact};

/// Arrival process of an open loop. Whatever it is, the rate of the load is its mean rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At random: gaps are exponential and independent, as of many independent users.
    #[default]
    Poisson,
    /// Evenly spaced.
    Constant,
    /// Evenly spaced within the first part of each period, and none in the rest of it.
    Bursts {
        /// Length of a burst.
        within: Nanos,
        /// From the beginning of a burst to that of the next.
        every: Nanos,
    },
    /// At random while it is on, and none while it is off.
    OnOff {
        /// Length of a span with arrivals.
        on: Nanos,
        /// Length of the silence after it.
        off: Nanos,
    },
    /// At a rate that changes linearly over the window; the rate of the load is that of the whole window.
    Ramp {
        /// Rate of the warm-up and at the start of the window.
        from: Rate,
        /// Rate at its end.
        to: Rate,
        /// Length of the warm-up.
        after: Nanos,
        /// Length of the window.
        over: Nanos,
        /// Whether they are evenly spaced; otherwise at random.
        even: bool,
    },
}

/// What is to be known of an arrival process with its settings.
pub(crate) trait Process {
    /// How `--arrivals` writes it.
    fn written(&self) -> String;

    /// What it is in words, such as `evenly spaced`.
    fn words(&self) -> String;

    /// The same behind a rate, where that wants other words.
    fn after_a_rate(&self) -> String {
        self.words()
    }

    /// The process at a rate that does not change: itself, if its rate does not. Where it is not, the load has no steady state to wait for.
    fn steady(&self) -> Arrivals;

    /// The index of dispersion of the number of its arrivals in a span of time, or in whole periods: variance by mean.
    fn dispersion(&self) -> f64;

    /// After how long it repeats itself; none where it is the same at all times.
    fn period(&self) -> Option<Nanos> {
        None
    }

    /// Its instants at this mean rate, ascending, as offsets from the start of the load; a random process draws from `seed`.
    fn instants(&self, rate: Rate, seed: u64) -> Box<dyn Instants>;
}

/// Ascending offsets from the start of a load, without an end.
pub(crate) trait Instants: Iterator<Item = Nanos> + fmt::Debug + Send {}

impl<T: Iterator<Item = Nanos> + fmt::Debug + Send> Instants for T {}

/// Reads two times with a slash between them.
fn two_times(settings: &str) -> Option<(Nanos, Nanos)> {
    let (one, other) = settings.split_once('/')?;
    one.parse().ok().zip(other.parse().ok())
}

/// Writes a time as it is read.
fn typed(span: Nanos) -> String {
    exact(span).replace(' ', "")
}

/// How `--arrivals` names a process.
struct Form {
    name: &'static str,
    /// Its settings, as a refusal writes them behind the name; empty where it has none.
    settings: &'static str,
    /// Such settings.
    example: &'static str,
    /// Reads its settings; none where they are none.
    read: fn(&str) -> Option<Arrivals>,
}

/// All of them, in the order of the help.
const FORMS: [Form; 4] = [
    Form {
        name: "poisson",
        settings: "",
        example: "",
        read: |_| Some(Arrivals::Poisson),
    },
    Form {
        name: "constant",
        settings: "",
        example: "",
        read: |_| Some(Arrivals::Constant),
    },
    Form {
        name: "bursts",
        settings: "WITHIN/EVERY",
        example: "10ms/1s",
        read: Bursts::read,
    },
    Form {
        name: "on-off",
        settings: "ON/OFF",
        example: "300ms/700ms",
        read: OnOff::read,
    },
];

/// What the help of `--arrivals` says.
pub(crate) const HELP: &str = "poisson: at random, as from many independent users. constant: evenly spaced. bursts:10ms/1s: those of each \
     second evenly within its first 10 ms. on-off:300ms/700ms: at random for 300 ms, then none for 700 ms. The rate is the mean over whole periods, so --duration is a \
     multiple of the period.";

impl Arrivals {
    /// Returns what is known of it.
    pub(crate) fn process(self) -> Box<dyn Process> {
        match self {
            Arrivals::Poisson => Box::new(Poisson),
            Arrivals::Constant => Box::new(Constant),
            Arrivals::Bursts { within, every } => Box::new(Bursts { within, every }),
            Arrivals::OnOff { on, off } => Box::new(OnOff { on, off }),
            Arrivals::Ramp {
                from,
                to,
                after,
                over,
                even,
            } => Box::new(Ramp {
                from,
                to,
                after,
                over,
                even,
            }),
        }
    }

    /// Returns the index of dispersion of the number of arrivals in a span of time, or in whole periods: its variance by its mean. 0
    /// where nothing is left to chance, 1 for a Poisson process.
    pub fn dispersion(self) -> f64 {
        self.process().dispersion()
    }

    /// Returns the process at a rate that does not change.
    pub fn steady(self) -> Arrivals {
        self.process().steady()
    }

    /// Returns after how long it repeats itself; none where it is the same at all times. Only over whole periods is the
    /// mean rate that of the load.
    pub fn period(self) -> Option<Nanos> {
        self.process().period()
    }

    /// Returns it in words, such as `in bursts of 10 ms every 1 s`.
    pub fn words(self) -> String {
        self.process().words()
    }

    /// Returns the same as it is said behind a rate: `1,000 requests/s at random (Poisson)`.
    pub fn after_a_rate(self) -> String {
        self.process().after_a_rate()
    }

    /// Returns the rate at the window's start and at its end, where they differ.
    pub fn ends(self) -> Option<[Rate; 2]> {
        match self {
            Arrivals::Ramp { from, to, .. } => Some([from, to]),
            _ => None,
        }
    }
}

impl FromStr for Arrivals {
    type Err = String;

    /// Reads `poisson`, `constant`, `bursts:10ms/1s` or `on-off:300ms/700ms`.
    fn from_str(text: &str) -> Result<Arrivals, String> {
        let (name, settings) = match text.split_once(':') {
            None => (text, ""),
            Some((name, settings)) => (name, settings),
        };
        let form = FORMS.iter().find(|form| form.name == name);
        let form = form.filter(|form| form.settings.is_empty() != text.contains(':'));
        let read = form.and_then(|form| (form.read)(settings));
        read.ok_or_else(|| {
            let shown = FORMS.iter().map(|form| match form.settings {
                "" => form.name.to_owned(),
                settings => {
                    let (name, example) = (form.name, form.example);
                    format!("{name}:{settings} such as {name}:{example}")
                }
            });
            let mut shown: Vec<String> = shown.collect();
            let last = shown.pop().unwrap_or_default();
            let others = shown.join(", ");
            format!("`{text}` is no arrival process; write {others}, or {last}")
        })
    }
}

impl fmt::Display for Arrivals {
    /// Writes what [`Arrivals::from_str`] reads; a ramp with its rates.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.process().written())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_as_it_is_shown_and_anything_else_is_refused_with_the_forms() {
        for text in [
            "poisson",
            "constant",
            "bursts:10ms/1s",
            "bursts:1.5s/2.5s",
            "on-off:2s/30ms",
        ] {
            let read: Arrivals = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
        }
        for text in [
            "",
            "even",
            "poisson:1ms/1s",
            "bursts",
            "bursts:10ms",
            "bursts:1s/1s",
            "bursts:0s/1s",
            "bursts:1ms/1s/1s",
            "on-off:0s/1s",
            "on-off:1s/0s",
        ] {
            let why = text.parse::<Arrivals>().unwrap_err();
            assert!(why.contains("such as bursts:10ms/1s"), "{why}");
        }
    }
}
