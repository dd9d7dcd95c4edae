//! Points and their rounds.

use crate::{
    Baseline, Budget, Cost, Footprint, KernelCounters, Paused, Quota, Settling, SplitGenerators,
    Summary, Tally, ThreadAccounts,
};
use plan::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Instant, Nanos};

/// The span that all threads measure: exchanges scheduled in `[start, end)` belong to it (with a number of requests, the
/// last ending is included).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// When it opened, on the monotonic clock.
    pub start: Instant,
    /// When it closed.
    pub end: Instant,
}

impl Window {
    /// How long it was open.
    pub fn span(&self) -> Nanos {
        self.end - self.start
    }
}

/// One measured repetition of a point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// Its number, from 0.
    pub index: u32,
    /// The span that was measured.
    pub window: Window,
    /// The warm-up before it, where a search made it longer than the plan's: three times the 99th percentile of latency seen
    /// before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Nanos>,
    /// The load before it until the server was steady, where it is the first round against a server; not in `sent_total`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settling: Option<Box<Settling>>,
    /// What all threads counted together.
    pub tally: Tally,
    /// Where each thread's time went.
    pub threads: Vec<ThreadAccounts>,
    /// What the server cost, where it was observed; none of a window too short to be sampled in time.
    pub footprint: Option<Footprint>,
    /// Where the machine's CPU time went meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What the kernel's network counted meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelCounters>,
    /// The CPU quotas of the generator's group and of its ancestors, the nearest first, and how often they throttled it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<Quota>,
    /// Exchanges sent in each phase.
    pub sent_total: SentTotal,
    /// Whether it was cut short: its counts stand, but it does not enter intervals.
    pub partial: bool,
    /// How long the machine was suspended between the round's beginning and its end: what the clock that goes on
    /// meanwhile gained over the one that stamps are read from.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspended: Nanos,
    /// What the script that makes the requests has written; none where it was silent, or there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Box<ScriptOutput>>,
    /// How long all of it took, from before its connections were opened until after they were closed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub took: Nanos,
}

/// What a script has written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptOutput {
    /// To standard output; at most 1 MiB.
    pub out: String,
    /// To standard error, likewise.
    pub err: String,
}

impl Round {
    /// A window shorter than this says nothing of shares: the accounts are read some ten microseconds beside its edges.
    pub const SHARES_FROM: Nanos = Nanos::from_millis(10);

    /// Up to here it was no sleep of a machine, which takes longer to fall asleep alone; readings differ by far less.
    pub const SLEPT_OVER: Nanos = Nanos::from_millis(1);

    /// Returns its number as people count, from 1.
    pub fn number(&self) -> String {
        units::count(u64::from(self.index) + 1)
    }

    /// Requests that were sent before it and in it, those of the load until the server was steady included.
    pub fn sent(&self) -> u64 {
        let settling = self.settling.as_ref().map_or(0, |settling| settling.sent);
        self.sent_total.sum().saturating_add(settling)
    }

    /// Whether the machine slept through a part of it, and its clock with it, so that none of its figures stand.
    pub fn was_suspended(&self) -> bool {
        self.suspended > Self::SLEPT_OVER
    }

    /// Adds another generator's half of the same round, with a window of the same clock; one that never opened adds nothing
    /// to it.
    pub fn merge(&mut self, other: &Round) {
        let windows = [self.window, other.window];
        let mut open = windows
            .into_iter()
            .filter(|window| window.span() > Nanos::ZERO);
        if let Some(first) = open.next() {
            self.window = open.fold(first, |sum, window| Window {
                start: sum.start.min(window.start),
                end: sum.end.max(window.end),
            });
        }
        self.tally.merge(&other.tally);
        self.tally.pack();
        self.threads.extend_from_slice(&other.threads);
        self.threads.sort_by_key(|accounts| accounts.thread);
        self.sent_total.merge(&other.sent_total);
        self.suspended = self.suspended.max(other.suspended);
        self.took = self.took.max(other.took);
        self.partial |= other.partial;
    }

    /// The share of the window in which the busiest generator thread ran; none where threads were not accounted for, or the
    /// window was too short.
    pub fn generator_busy(&self) -> Option<f64> {
        self.most(ThreadAccounts::busy)
    }

    /// The same with the time in which it waited for a CPU.
    pub fn generator_wanted(&self) -> Option<f64> {
        self.most(ThreadAccounts::wanted)
    }

    fn most(&self, share: fn(&ThreadAccounts) -> f64) -> Option<f64> {
        let threads = self.threads.iter();
        let long = threads.filter(|thread| thread.wall >= Self::SHARES_FROM);
        long.map(share).max_by(f64::total_cmp)
    }

    /// What the server cost in this window; none where it was not observed, or where its clocks were read so late that
    /// their span is another than that of the requests.
    pub fn priced(&self) -> Option<&Footprint> {
        let is_over = self.tally.ok == self.tally.ok_in_window;
        let print = self.footprint.as_ref();
        print.filter(|print| print.covers(self.window, is_over))
    }

    /// The pauses of the thread that was paused for the longest: where the process is stopped, all of them are.
    pub fn paused(&self) -> Paused {
        let each = self.threads.iter().map(|thread| thread.paused);
        each.max_by_key(|paused| paused.total).unwrap_or_default()
    }

    /// Returns the share of all threads' time in which they could have run and had to wait for a CPU; none where Linux does not
    /// tell, or the window was too short.
    pub fn waited(&self) -> Option<f64> {
        let is_long = |thread: &&ThreadAccounts| thread.wall >= Self::SHARES_FROM;
        let (mut waited, mut wall) = (Nanos::ZERO, Nanos::ZERO);
        for thread in self.threads.iter().filter(is_long) {
            waited += thread.run_queue_wait?;
            wall += thread.wall;
        }
        (wall > Nanos::ZERO).then(|| waited.as_secs_f64() / wall.as_secs_f64())
    }

    /// The server's share of its CPUs; none where it was not observed, or the window was too short.
    pub fn server_busy(&self) -> Option<f64> {
        self.priced()
            .filter(|footprint| footprint.wall >= Self::SHARES_FROM)
            .map(Footprint::busy)
    }

    /// The median of `share` over the complete rounds, or over all where none is complete. (A mean would let one
    /// disturbed round decide.)
    pub fn typical(rounds: &[Round], share: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
        let complete = rounds.iter().filter(|round| !round.partial);
        let mut shares: Vec<f64> = complete.filter_map(&share).collect();
        if shares.is_empty() {
            shares = rounds.iter().filter_map(&share).collect();
        }
        stats::median(&shares)
    }
}

/// Exchanges of which the kernel took a first byte, by phase: their sum is what the server saw, when no fault lost a
/// request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentTotal {
    /// To find out whether and how the server answers, before the first round; 0 in a round's own counts.
    pub probe: u64,
    /// Before the window opened.
    pub warmup: u64,
    /// Due in the window.
    pub measure: u64,
    /// By rounds that were cut off before their window opened, of which nothing else is kept.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unopened: u64,
    /// By the rounds with two generators, in all of their phases; 0 in a round's own counts.
    #[serde(default, skip_serializing_if = "is_default", alias = "twin")]
    pub split_generators: u64,
}

/// Whether there is nothing to write down: what is rare stands in a record only where there is any.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl SentTotal {
    /// All phases together.
    pub fn sum(&self) -> u64 {
        self.probe
            .saturating_add(self.warmup)
            .saturating_add(self.measure)
            .saturating_add(self.unopened)
            .saturating_add(self.split_generators)
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &SentTotal) {
        self.probe = self.probe.saturating_add(other.probe);
        self.warmup = self.warmup.saturating_add(other.warmup);
        self.measure = self.measure.saturating_add(other.measure);
        self.unopened = self.unopened.saturating_add(other.unopened);
        self.split_generators = self.split_generators.saturating_add(other.split_generators);
    }
}

/// One load level and its rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// What held at it.
    #[serde(flatten)]
    pub level: Level,
    /// Its repetitions within one server start.
    pub rounds: Vec<Round>,
    /// What follows from them.
    pub summary: Option<Summary>,
    /// In an open loop: the instrument's own baseline, measured before the first round; none where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "floor")]
    pub baseline: Option<Baseline>,
    /// What the server cost over these rounds, where it was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<Cost>,
    /// The same load by two generators, where that was asked for; never mixed into the point's own figures.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "twin")]
    pub split_generators: Option<Box<SplitGenerators>>,
}

impl Point {
    /// A point of which nothing is measured yet.
    pub fn new(level: Level) -> Point {
        Point {
            level,
            rounds: Vec::new(),
            summary: None,
            baseline: None,
            footprint: None,
            split_generators: None,
        }
    }

    /// Returns the rounds with two generators.
    pub fn split_rounds(&self) -> impl Iterator<Item = &Round> {
        self.split_generators.iter().flat_map(|split| &split.rounds)
    }

    /// Returns all rounds, those with two generators last.
    pub fn all_rounds(&self) -> impl Iterator<Item = &Round> {
        self.rounds.iter().chain(self.split_rounds())
    }

    /// What is known of the same load by two generators, to be added to.
    pub fn split_mut(&mut self) -> &mut SplitGenerators {
        self.split_generators.get_or_insert_default()
    }
}
