//! How far the answers of a comparison can be trusted, and why not further.

use super::answers::{Answers, Said, Versus};
use super::conditions::Condition;
use super::{Comparison, CpuSplit, InvalidFigures, Slice};
use crate::Grade;
use plan::Deciding;
use serde::Serialize;
use stats::comparison::MARGIN;
use std::cmp::Reverse;
use units::Nanos;

/// Share of all CPUs that other programs, or other virtual machines, may take without a word.
const TAKEN_MIN: f64 = 0.05;
/// Share of a CPU from which on a thread of the generator is saturated, and one of a server: those of the check of a single load.
const GENERATOR_SATURATED: f64 = 0.85;
const SERVER_SATURATED: f64 = 0.9;

/// How far the answers can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reliability {
    /// The worst grade of the doubts; a note where there is none.
    pub grade: Grade,
    /// Everything that speaks against the answers, the worst first.
    pub doubts: Vec<Doubt>,
}

/// One thing that speaks against answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Doubt {
    /// How bad it is: with a caveat the answers stand, and what is invalid says nothing.
    pub grade: Grade,
    /// What it is.
    #[serde(flatten)]
    pub reason: Reason,
}

/// Why answers are doubtful. Servers are named by their places in the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// No figure is known of the servers that are to be compared.
    NothingMeasured,
    /// Fewer than three starts count for both servers.
    TooFewStarts {
        /// The server.
        server: usize,
        /// Starts that count.
        starts: u32,
    },
    /// Bodies of a server are not the one that it first sent.
    BodyChanged {
        /// The server.
        server: usize,
        /// Slices with another body.
        slices: u64,
        /// Slices of which the body is known.
        of: u64,
        /// Whether servers were to be compared although their conditions differ.
        allowed: bool,
    },
    /// Requests failed.
    Errors {
        /// The server.
        server: usize,
        /// How many.
        errors: u64,
        /// Of so many.
        requests: u64,
        /// The first of them.
        first: Option<String>,
        /// Whether the plan allows so many.
        allowed: bool,
    },
    /// A server's CPU time may be more than was read, because one of its processes came or went.
    CpuLowerBound {
        /// The server.
        server: usize,
        /// Slices in which it was so.
        slices: u64,
        /// Slices of which its CPU time is known.
        of: u64,
    },
    /// Fewer than three of the starts that count have the figure that decides.
    NotMeasured {
        /// The server that is compared with the first.
        server: usize,
        /// How many have it of both.
        starts: u32,
    },
    /// The interval leaves open whether there is a difference.
    Undecided {
        /// The server that is compared with the first.
        server: usize,
    },
    /// A server is not compared.
    Excluded {
        /// The server.
        server: usize,
        /// Why.
        why: String,
    },
    /// Starts do not count for a server.
    VoidStarts {
        /// The server.
        server: usize,
        /// How many.
        starts: u32,
        /// Of so many.
        of: u32,
        /// Why the first does not.
        why: String,
    },
    /// Servers did not become steady before they were measured.
    NotSteady {
        /// Starts in which it was so.
        starts: u32,
        /// Of so many.
        of: u32,
    },
    /// The generator was saturated and the server was not, so that requests/s and latency are the generator's.
    GeneratorSaturated {
        /// The servers.
        servers: Vec<usize>,
        /// The largest share of a CPU that each thread of the generator used while it loaded one of them, the median over the slices.
        share: f64,
        /// Whether such a figure decides.
        decides: bool,
    },
    /// Other programs used the CPUs.
    OtherPrograms {
        /// Mean share of all CPUs.
        share: f64,
    },
    /// The hypervisor gave CPU time to others.
    Steal {
        /// Mean share of all CPUs.
        share: f64,
    },
    /// Servers are compared although their conditions differ.
    Unequal {
        /// The conditions.
        conditions: Vec<Condition>,
    },
    /// A server measured against itself shows a difference.
    Bias {
        /// The server's second name.
        server: usize,
    },
    /// The figure that was to decide is not known of all servers.
    DecidedOtherwise {
        /// That figure.
        instead_of: Deciding,
    },
    /// The figures are those of runs by themselves, one after the other, so that intervals hold the scatter of their rounds and not
    /// what the machine did between.
    SeparateRuns {
        /// Seconds from the beginning of the first to that of the second; negative where the second is the older.
        seconds: i64,
    },
    /// Records are compared although they differ in what can change results.
    DifferentRuns {
        /// In what.
        differs: Vec<String>,
    },
    /// Figures of a record say nothing.
    InvalidFigures {
        /// The server.
        server: usize,
        /// Which, where, and why.
        #[serde(flatten)]
        invalid: InvalidFigures,
    },
    /// weigh did not start these servers, so that the intervals speak of these starts of theirs only.
    SameServerStart {
        /// The servers.
        servers: Vec<usize>,
    },
    /// The comparison was stopped before it was over.
    Stopped {
        /// Why, where no signal stopped it.
        why: Option<String>,
    },
}

impl Reason {
    /// How bad it is.
    pub fn grade(&self) -> Grade {
        match self {
            Reason::NothingMeasured
            | Reason::TooFewStarts { .. }
            | Reason::NotMeasured { .. }
            | Reason::InvalidFigures { .. } => Grade::Invalid,
            Reason::BodyChanged { allowed, .. } | Reason::Errors { allowed, .. } if !allowed => {
                Grade::Invalid
            }
            Reason::CpuLowerBound { slices, of, .. } if 2 * slices >= *of => Grade::Invalid,
            Reason::GeneratorSaturated { decides: false, .. } => Grade::Note,
            _ => Grade::Caveat,
        }
    }

    /// Returns whether `figure` of `server`, in a block where it is of one, says nothing because of it.
    pub fn voids(&self, server: usize, figure: Deciding, block: Option<usize>) -> bool {
        let is_about = match self {
            Reason::BodyChanged { server: about, .. } | Reason::Errors { server: about, .. } => {
                *about == server
            }
            Reason::CpuLowerBound { server: about, .. } => {
                *about == server && figure == Deciding::CpuPerRequest
            }
            Reason::InvalidFigures {
                server: about,
                invalid,
            } => {
                let is_there = invalid.block.is_none() || invalid.block == block;
                *about == server && is_there && invalid.figures.contains(&figure)
            }
            _ => false,
        };
        is_about && self.grade() == Grade::Invalid
    }
}

impl Default for Reliability {
    fn default() -> Reliability {
        Reliability::because(Vec::new())
    }
}

impl Reliability {
    /// Returns everything that speaks against `answers`, with what was already found of single servers.
    pub(super) fn of(
        comparison: &Comparison,
        answers: &Answers,
        of_servers: Vec<Reason>,
    ) -> Reliability {
        let mut reasons = of_servers;
        reasons.extend(of_answers(comparison, answers));
        reasons.extend(of_the_machine(comparison, answers));
        reasons.extend(of_the_plan(comparison, answers));
        Reliability::because(reasons)
    }

    fn because(reasons: Vec<Reason>) -> Reliability {
        let mut doubts: Vec<Doubt> = reasons
            .into_iter()
            .map(|reason| Doubt {
                grade: reason.grade(),
                reason,
            })
            .collect();
        doubts.sort_by_key(|doubt| Reverse(doubt.grade));
        Reliability {
            grade: doubts.first().map_or(Grade::Note, |doubt| doubt.grade),
            doubts,
        }
    }
}

/// What the slices of single servers say against them.
pub(super) fn of_servers(comparison: &Comparison) -> Vec<Reason> {
    let servers = (0..comparison.plan.servers.len())
        .filter(|server| !comparison.plan.servers[*server].reference);
    let reasons = servers.flat_map(|server| {
        let known = comparison.servers.get(server);
        let record = known.and_then(|known| known.record.as_ref());
        let invalid = record.map_or(&[][..], |record| &record.invalid).iter();
        let invalid = invalid.map(move |invalid| {
            Some(Reason::InvalidFigures {
                server,
                invalid: invalid.clone(),
            })
        });
        let of_slices = [
            errors(comparison, server),
            body_changed(comparison, server),
            lower_bound(comparison, server),
            excluded(comparison, server),
            void_starts(comparison, server),
        ];
        of_slices.into_iter().chain(invalid)
    });
    reasons.flatten().collect()
}

fn errors(comparison: &Comparison, server: usize) -> Option<Reason> {
    let slices = || comparison.slices(server).map(|(_, slice)| slice);
    let errors: u64 = slices().map(|slice| slice.errors).sum();
    let requests = errors + slices().map(|slice| slice.ok).sum::<u64>();
    let max_errors = &comparison.plan.servers[server].plan.max_errors;
    (errors > 0).then(|| Reason::Errors {
        server,
        errors,
        requests,
        first: slices().find_map(|slice| slice.error.clone()),
        allowed: max_errors.allows_errors(errors, requests),
    })
}

fn body_changed(comparison: &Comparison, server: usize) -> Option<Reason> {
    let probed = comparison
        .servers
        .get(server)
        .and_then(|it| it.conditions.body);
    let bodies = || {
        comparison
            .slices(server)
            .filter_map(|(_, slice)| slice.body)
    };
    let first = probed.or_else(|| bodies().next())?;
    let slices = bodies().filter(|body| *body != first).count() as u64;
    (slices > 0).then(|| Reason::BodyChanged {
        server,
        slices,
        of: bodies().count() as u64,
        allowed: comparison.plan.unequal,
    })
}

fn lower_bound(comparison: &Comparison, server: usize) -> Option<Reason> {
    let slices = comparison.slices(server).map(|(_, slice)| slice);
    let known: Vec<&Slice> = slices.filter(|slice| slice.server_cpu.is_some()).collect();
    let slices = known.iter().filter(|slice| slice.lower_bound).count() as u64;
    (slices > 0).then_some(Reason::CpuLowerBound {
        server,
        slices,
        of: known.len() as u64,
    })
}

fn excluded(comparison: &Comparison, server: usize) -> Option<Reason> {
    let why = comparison.servers.get(server)?.excluded.clone()?;
    Some(Reason::Excluded { server, why })
}

fn void_starts(comparison: &Comparison, server: usize) -> Option<Reason> {
    let voids = || {
        let starts = comparison.starts.iter();
        starts.filter_map(|start| start.servers.get(server)?.void.as_ref())
    };
    let why = voids().next().filter(|_| !comparison.is_excluded(server))?;
    Some(Reason::VoidStarts {
        server,
        starts: voids().count() as u32,
        of: comparison.starts.len() as u32,
        why: why.clone(),
    })
}

/// What the figure that decides says against itself.
fn of_answers(comparison: &Comparison, answers: &Answers) -> Vec<Reason> {
    let Some(figure) = answers
        .deciding()
        .filter(|figure| !figure.against_first.is_empty())
    else {
        return vec![Reason::NothingMeasured];
    };
    let untold = figure.against_first.iter().filter_map(|versus| {
        let (server, starts) = (versus.server, versus.starts);
        Some(match versus.said {
            Said::TooFewStarts => Reason::TooFewStarts { server, starts },
            Said::NotMeasured => Reason::NotMeasured { server, starts },
            Said::CannotTell => Reason::Undecided { server },
            _ => return None,
        })
    });
    // What lies within the margin is expected, and reckoned with.
    let is_biased = |arm: &&Versus| {
        let ratio = arm
            .ratio
            .filter(|ratio| ratio.low > 1.0 || ratio.high < 1.0);
        ratio
            .and(arm.largest)
            .is_some_and(|largest| largest > MARGIN)
    };
    let biased = figure.bias.iter().filter(is_biased);
    let biased = biased.map(|arm| Reason::Bias { server: arm.server });
    let wanted = comparison.plan.decide_on;
    let otherwise =
        (figure.figure != wanted).then_some(Reason::DecidedOtherwise { instead_of: wanted });
    untold.chain(biased).chain(otherwise).collect()
}

/// Whether requests/s and latency of closed loops are the generator's.
fn generator_saturated(comparison: &Comparison, answers: &Answers) -> Option<Reason> {
    let mut servers = Vec::new();
    let mut largest = 0.0_f64;
    let mut decides = false;
    let deciding = answers.deciding();
    let is_limited = deciding
        .is_some_and(|figure| matches!(figure.figure, Deciding::P50 | Deciding::Throughput));
    for server in comparison.ranked() {
        for block in 0..comparison.plan.blocks.len() {
            let Some(share) = saturated_share(comparison, server, block) else {
                continue;
            };
            if servers.last() != Some(&server) {
                servers.push(server);
            }
            largest = largest.max(share);
            decides |= is_limited && deciding.and_then(|figure| figure.block) == Some(block);
        }
    }
    (!servers.is_empty()).then_some(Reason::GeneratorSaturated {
        servers,
        share: largest,
        decides,
    })
}

/// The share of a CPU that each thread of the generator used in the slices of `server` in `block`, a closed loop, where it was
/// saturated and the server surely not: where all of its threads together used less than one CPU. None where that is not known, and of
/// slices on one CPU for both, which is never enough.
fn saturated_share(comparison: &Comparison, server: usize, block: usize) -> Option<f64> {
    let planned = &comparison.plan.blocks[block];
    let split = comparison.split.as_ref();
    let is_on_one = planned.is_short() && split.is_some_and(CpuSplit::is_one);
    if planned.load.is_open() || is_on_one {
        return None;
    }
    let starts = comparison.starts.iter();
    let blocks = starts
        .filter(|start| comparison.counts(start, server))
        .filter_map(|start| start.blocks.get(block));
    let cycles = blocks.flat_map(|block| &block.cycles);
    let slices: Vec<&Slice> = cycles
        .filter_map(|cycle| cycle.slices.get(server)?.as_ref())
        .collect();
    let median = |cpu: fn(&Slice) -> Option<Nanos>| {
        let shares = slices.iter().filter_map(|slice| {
            let window = slice.window.as_secs_f64();
            (window > 0.0).then_some(cpu(slice)?.as_secs_f64() / window)
        });
        stats::median(&shares.collect::<Vec<f64>>())
    };
    let threads = comparison.plan.threads.min(planned.load.connections());
    let generator = median(|slice| Some(slice.generator_cpu))? / f64::from(threads.max(1));
    // How many of its threads work is not known, so that one that uses more than a CPU may be saturated or not.
    let is_idle = median(|slice| slice.server_cpu)? < SERVER_SATURATED;
    (generator > GENERATOR_SATURATED && is_idle).then_some(generator)
}

fn of_the_machine(comparison: &Comparison, answers: &Answers) -> Vec<Reason> {
    let starts = comparison.starts.iter();
    let not_steady = starts.filter(|start| start.blocks.iter().any(|block| !block.steady));
    let starts = not_steady.count() as u32;
    let not_steady = (starts > 0).then_some(Reason::NotSteady {
        starts,
        of: comparison.starts.len() as u32,
    });
    let much = |share: Option<f64>| share.filter(|share| *share >= TAKEN_MIN);
    let foreign = much(answers.foreign).map(|share| Reason::OtherPrograms { share });
    let steal = much(answers.steal).map(|share| Reason::Steal { share });
    let saturated = generator_saturated(comparison, answers);
    let all = [not_steady, foreign, steal, saturated];
    all.into_iter().flatten().collect()
}

fn of_the_plan(comparison: &Comparison, answers: &Answers) -> Vec<Reason> {
    let unequal = &answers.conditions.unequal;
    let unequal = (!unequal.is_empty()).then(|| Reason::Unequal {
        conditions: unequal.clone(),
    });
    let is_ours = |server: &usize| comparison.plan.servers[*server].plan.server.is_some();
    let mut servers = comparison.ranked();
    servers.retain(|server| !is_ours(server));
    let is_told = !servers.is_empty() && !comparison.is_of_records();
    let same = is_told.then_some(Reason::SameServerStart { servers });
    let is_stopped = comparison.interrupted || comparison.broken_off.is_some();
    let stopped = is_stopped.then(|| Reason::Stopped {
        why: comparison.broken_off.clone(),
    });
    let separate = separate_runs(comparison).into_iter().flatten();
    separate.chain(unequal).chain(same).chain(stopped).collect()
}

/// What speaks against figures of separate runs, however good either is.
fn separate_runs(comparison: &Comparison) -> [Option<Reason>; 2] {
    let mut runs = comparison
        .servers
        .iter()
        .filter_map(|it| it.record.as_ref());
    let (Some(first), Some(second)) = (runs.next(), runs.next()) else {
        return [None, None];
    };
    let began = |unix: u64| i64::try_from(unix).unwrap_or(i64::MAX);
    let seconds = began(second.started_unix).saturating_sub(began(first.started_unix));
    let differs = second.differs.clone();
    let different = (!differs.is_empty()).then_some(Reason::DifferentRuns { differs });
    [different, Some(Reason::SeparateRuns { seconds })]
}
