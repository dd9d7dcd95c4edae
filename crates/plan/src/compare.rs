//! What is compared, and how: the plan of a comparison.

use crate::secrets::{Secrets, WITHHELD};
use crate::{Load, Plan, Requirement};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::str::FromStr;
use units::Nanos;

/// One comparison, complete: several servers that are loaded in turn, in short slices, over several fresh starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparePlan {
    /// The servers; the first is the one that the others are compared with.
    pub servers: Vec<Compared>,
    /// What each start measures, one after the other.
    pub blocks: Vec<Block>,
    /// When it is over.
    pub budget: Budget,
    /// A limit on the time of one that goes on until something is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Nanos>,
    /// The figure that the first line speaks of, and that decides.
    pub decide_on: Deciding,
    /// By how much a server may be worse than the first, as a share; none where that is not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_regression: Option<f64>,
    /// Whether servers are compared although their conditions differ.
    #[serde(default, skip_serializing_if = "crate::campaign::is_default")]
    pub unequal: bool,
    /// Whether every pair of servers is compared, and not only each with the first.
    #[serde(default, skip_serializing_if = "crate::campaign::is_default")]
    pub all_pairs: bool,
    /// Threads of the generator.
    #[serde(default = "one")]
    pub threads: u32,
    /// On which CPUs generator and servers run.
    #[serde(default, skip_serializing_if = "crate::campaign::is_default")]
    pub cpus: CpuPlacement,
    /// Seeds the order of the servers in each cycle.
    pub seed: u64,
    /// The arguments of `weigh compare` that carry it out again, those of its file among them; without secrets where the plan is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

fn one() -> u32 {
    1
}

impl Default for ComparePlan {
    /// No servers and no loads; CPU time per request decides, within the time and the starts that are used where none are given.
    fn default() -> ComparePlan {
        ComparePlan {
            servers: Vec::new(),
            blocks: Vec::new(),
            budget: Budget::Time {
                time: Budget::TIME,
                starts: Budget::STARTS,
            },
            limit: None,
            decide_on: Deciding::CpuPerRequest,
            max_regression: None,
            unequal: false,
            all_pairs: false,
            threads: one(),
            cpus: CpuPlacement::Auto,
            seed: 0,
            arguments: Vec::new(),
        }
    }
}

/// On which CPUs generator and servers run, where weigh starts all servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuPlacement {
    /// Where there are enough CPUs, the generator has a core for itself. With fewer, and where CPU time per request decides, all are
    /// on one CPU in short slices.
    #[default]
    Auto,
    /// All on one CPU in short slices, so that no request costs more because of what another CPU does meanwhile; on all CPUs in windows
    /// of a second.
    One,
    /// All on all CPUs.
    Shared,
    /// The generator on these, the servers on the others.
    Generator(Vec<u32>),
}

impl CpuPlacement {
    /// The highest number that a CPU may have: Linux can be built for 8,192, and a few more do no harm.
    const HIGHEST: u32 = 65_535;
}

impl FromStr for CpuPlacement {
    type Err = String;

    /// Reads `auto`, `one`, `shared`, or numbers and ranges of CPUs such as `0,4-5`.
    fn from_str(text: &str) -> Result<CpuPlacement, String> {
        let number = |text: &str| -> Option<u32> {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().ok().filter(|_| is_number)?;
            (number <= CpuPlacement::HIGHEST).then_some(number)
        };
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(number(first)?..=number(last)?).filter(|range| !range.is_empty())
        };
        match text {
            "auto" => return Ok(CpuPlacement::Auto),
            "one" => return Ok(CpuPlacement::One),
            "shared" => return Ok(CpuPlacement::Shared),
            _ => {}
        }
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        let cpus = ranges.map(|ranges| ranges.into_iter().flatten().collect::<BTreeSet<u32>>());
        cpus.map(|cpus| CpuPlacement::Generator(cpus.into_iter().collect()))
            .ok_or_else(|| {
                format!("`{text}` names no CPUs; write auto, one, shared, or numbers such as 0,4-5")
            })
    }
}

/// One server of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// What it is called.
    pub name: String,
    /// Its target and requests, and the command that starts it where weigh does that. Its load is that of the blocks.
    pub plan: Plan,
    /// Which server this one repeats under another name, to see what the comparison makes of equal servers; none of a server that
    /// is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// Whether it is weigh's own server, which is measured on the same machine for orientation and never ranked. Its only request is
    /// for as many bytes as the first response of the servers has.
    #[serde(default, skip_serializing_if = "crate::campaign::is_default")]
    pub reference: bool,
    /// What it was made from: the commit, and how it was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

impl Compared {
    /// A server that is compared, called `name`.
    pub fn of(name: &str, plan: Plan) -> Compared {
        Compared {
            name: name.to_owned(),
            plan,
            repeats: None,
            reference: false,
            source: None,
        }
    }

    /// Whether it is compared: neither one of the others under a second name nor the reference server.
    pub fn is_contender(&self) -> bool {
        self.repeats.is_none() && !self.reference
    }
}

/// The commit that a server was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// The revision as given.
    pub revision: String,
    /// The commit's full id.
    pub commit: String,
    /// The command that built it; none where none was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
}

/// A load that the servers get in turn, a slice each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// The load of every slice: a closed loop, or the same rate for all.
    pub load: Load,
    /// The shortest slice.
    pub slice: Nanos,
    /// Requests that a slice of a closed loop goes on for.
    pub requests: u64,
    /// Measured cycles in each start.
    pub cycles: u32,
    /// What it is called among the others; none where its load says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Block {
    /// The shortest slice of a closed loop: neighbours of 100 ms see the same machine (they correlate with r = 0.54, those 200 ms
    /// apart with 0.19; recorded slices of nginx on a 2-core virtual machine).
    pub const SLICE: Nanos = Nanos::from_millis(100);
    /// The slice of an open loop, which needs enough requests at a moderate rate for its median, and of saturated servers, whose
    /// queues have to fill.
    pub const WINDOW: Nanos = Nanos::from_secs(1);
    /// The longest slice.
    pub const LONGEST: Nanos = Nanos::from_secs(2);
    /// Requests that make a slice.
    pub const REQUESTS: u64 = 200;
    /// Cycles in a start.
    pub const CYCLES: u32 = 25;
    /// Cycles of windows in a start.
    pub const WINDOWS: u32 = 4;

    /// The block of slices of `load`.
    pub fn of(load: Load) -> Block {
        match load.is_open() {
            false => Block {
                load,
                slice: Block::SLICE,
                requests: Block::REQUESTS,
                cycles: Block::CYCLES,
                name: None,
            },
            true => Block::of_windows(load),
        }
    }

    /// The block of windows of a second in which servers get more connections than they need to be saturated.
    pub fn saturating(connections: u32) -> Block {
        Block::of_windows(Load::Closed { connections })
    }

    fn of_windows(load: Load) -> Block {
        Block {
            load,
            slice: Block::WINDOW,
            requests: 0,
            cycles: Block::WINDOWS,
            name: None,
        }
    }

    /// Whether its slices are short ones of a closed loop, by which what a request costs is told; those of others are windows of a
    /// second.
    pub fn is_short(&self) -> bool {
        self.slice < Block::WINDOW
    }
}

/// When a comparison is over.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// When no further start fits into this time, but not before so many starts.
    Time {
        /// The time.
        time: Nanos,
        /// The fewest starts.
        starts: u32,
    },
    /// When a difference of this share is decided, or cannot be.
    Until(f64),
    /// When the interval is this narrow: half of it at most 0.7 of this share.
    Precision(f64),
}

impl Budget {
    /// The time for two servers that is used where none is given.
    pub const TIME: Nanos = Nanos::from_secs(60);
    /// Fewest starts where no time is given.
    pub const STARTS: u32 = 8;
    /// Fewest starts that an interval rests on.
    pub const FEWEST: u32 = 3;
}

/// A figure by which servers may be ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deciding {
    /// CPU time of the server for each request.
    CpuPerRequest,
    /// Median latency.
    P50,
    /// Requests a second.
    Throughput,
    /// Memory after the load.
    Memory,
}

impl Deciding {
    /// Every figure with the name by which it is given.
    pub const NAMES: [(Deciding, &'static str); 4] = [
        (Deciding::CpuPerRequest, "cpu_us_per_request"),
        (Deciding::P50, "p50"),
        (Deciding::Throughput, "throughput"),
        (Deciding::Memory, "memory"),
    ];

    /// The name by which it is given.
    pub fn name(self) -> &'static str {
        let known = Deciding::NAMES.iter().find(|(figure, _)| *figure == self);
        known.map_or("", |(_, name)| name)
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        self == Deciding::Throughput
    }
}

impl FromStr for Deciding {
    type Err = String;

    fn from_str(text: &str) -> Result<Deciding, String> {
        let known = Deciding::NAMES.iter().find(|(_, name)| *name == text);
        known.map(|(figure, _)| *figure).ok_or_else(|| {
            let names = Deciding::NAMES.map(|(_, name)| name).join(", ");
            format!("`{text}` is no figure that can decide; write one of {names}")
        })
    }
}

/// Reads a share such as `2%` or `0.5 %`.
///
/// # Errors
/// The sentence that says what to write.
pub fn percent_share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').map(str::trim_end);
    let share = number.and_then(|number| number.parse::<f64>().ok());
    match share {
        Some(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(format!(
            "`{text}` is no share; write it in per cent, such as 2%"
        )),
    }
}

impl ComparePlan {
    /// The servers that are compared with the first.
    pub fn others(&self) -> impl Iterator<Item = (usize, &Compared)> {
        let servers = self.servers.iter().enumerate().skip(1);
        servers.filter(|(_, server)| server.is_contender())
    }

    /// A copy that may be published: without secrets.
    pub fn published(&self) -> ComparePlan {
        let servers = self.servers.iter().map(|server| Compared {
            plan: server.plan.published(),
            ..server.clone()
        });
        let first = self.servers.first();
        let secrets = first.map_or(Secrets(&[]), |server| server.plan.secrets());
        // What a server is called is no name of a credential.
        let name = |word: &String| match word.split_once('=') {
            Some((name, server)) if self.servers.iter().any(|it| it.name == name) => {
                (format!("{name}="), server.to_owned())
            }
            _ => (String::new(), word.clone()),
        };
        let (names, words): (Vec<String>, Vec<String>) = self.arguments.iter().map(name).unzip();
        let published = secrets.command(&words).into_iter();
        let arguments = names
            .into_iter()
            .zip(published)
            .map(|(name, word)| name + &word);
        ComparePlan {
            servers: servers.collect(),
            // The name of this option is not that of a credential, and its value is one.
            arguments: arguments
                .map(|word| match word.starts_with("--user=") {
                    true => format!("--user={WITHHELD}"),
                    false => word,
                })
                .collect(),
            ..self.clone()
        }
    }

    /// What the responses of the servers must meet; the same for all.
    pub fn max_errors(&self) -> Option<&Requirement> {
        self.servers.first().map(|server| &server.plan.max_errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_in_per_cent_and_in_nothing_else() {
        assert_eq!(percent_share("2%"), Ok(0.02));
        assert_eq!(percent_share("0.5 %"), Ok(0.005));
        for wrong in ["2", "0.02", "-1%", "0%", "101%", "%", "nan%"] {
            assert!(percent_share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cpus_are_read_as_numbers_and_ranges() {
        let these = |cpus: &[u32]| Ok(CpuPlacement::Generator(cpus.to_vec()));
        for (text, wanted) in [
            ("auto", Ok(CpuPlacement::Auto)),
            ("one", Ok(CpuPlacement::One)),
            ("shared", Ok(CpuPlacement::Shared)),
            ("0", these(&[0])),
            ("5,0-2,1", these(&[0, 1, 2, 5])),
        ] {
            assert_eq!(text.parse(), wanted, "{text}");
        }
        for wrong in [
            "",
            "a",
            "1-0",
            "-1",
            "1-",
            "+1",
            "0,",
            "65536",
            "0-9999999999",
        ] {
            let refused = wrong.parse::<CpuPlacement>().unwrap_err();
            assert!(refused.contains("0,4-5"), "{wrong}");
        }
    }

    #[test]
    fn arguments_are_published_without_secrets() {
        let cases = [
            ("--user=ann:geheim", "--user=(withheld)"),
            ("--cookie=id=geheim", "--cookie=(withheld)"),
            (
                "--header=X-Api-Key: geheim",
                "--header=X-Api-Key: (withheld)",
            ),
            ("--header=Accept: text/html", "--header=Accept: text/html"),
            (
                "a=env TOKEN=geheim ./server {port}",
                "a=env TOKEN=(withheld) ./server {port}",
            ),
            (
                "b=http://ann:geheim@h/?token=geheim",
                "b=http://(withheld)@h/?token=(withheld)",
            ),
            ("--body=geheim", "--body=(withheld)"),
            ("keydb=./keydb {port}", "keydb=./keydb {port}"),
            ("--connections=10", "--connections=10"),
            ("--max-regression=2%", "--max-regression=2%"),
        ];
        let plan = Plan {
            withhold: vec![crate::secrets::BODY.to_owned()],
            ..Plan::default()
        };
        let plan = ComparePlan {
            servers: vec![Compared::of("a", plan.clone()), Compared::of("keydb", plan)],
            arguments: cases.map(|(given, _)| given.to_owned()).into(),
            ..ComparePlan::default()
        };
        assert_eq!(plan.published().arguments, cases.map(|(_, shown)| shown));
    }

    #[test]
    fn every_figure_that_can_decide_is_read_by_its_name() {
        for (figure, name) in Deciding::NAMES {
            assert_eq!(name.parse(), Ok(figure));
            assert_eq!(figure.name(), name);
        }
        assert!("speed".parse::<Deciding>().unwrap_err().contains("p50"));
    }
}
