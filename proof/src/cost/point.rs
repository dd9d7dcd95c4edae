//! One load, and the tools or servers that are measured with it in turn.

use super::calls::Calls;
use super::handshakes::Handshake;
use super::series::{Series, Trial};
use super::{Bench, CostChore, Load};
use crate::catalogue::Chosen;
use anyhow::Result;
use serde_json::{Value, json};

/// One side of the connection: the clients that are measured, or the servers.
pub trait Side {
    /// The word for one of them.
    fn kind(&self) -> &'static str;

    /// Returns what is to be measured, of the programs that are installed.
    ///
    /// # Errors
    /// One that was named is not installed.
    fn chosen(&self, chore: &CostChore) -> Result<Chosen>;

    /// Returns what each of `names` is measured with.
    ///
    /// # Errors
    /// Files could not be written.
    fn subjects(
        &self,
        chore: &CostChore,
        bench: &Bench,
        names: &[&'static str],
    ) -> Result<Vec<Subject>>;

    /// Why `name` cannot be measured so.
    fn refusal(&self, bench: &Bench, name: &'static str, load: &Load) -> Option<String>;

    /// Runs it once.
    ///
    /// # Errors
    /// It could not be started, failed, or did something else.
    fn run(&self, bench: &Bench, name: &'static str, load: &Load, round: u32) -> Result<Trial>;

    /// Runs it with hardly any requests, so that the cost of its start shows.
    ///
    /// # Errors
    /// As [`Side::run`].
    fn starts(&self, bench: &Bench, name: &'static str, load: &Load) -> Result<Vec<Trial>>;

    /// Counts the system calls of a request.
    ///
    /// # Errors
    /// strace may not look at it, or it fails under strace.
    fn calls(&self, bench: &Bench, name: &'static str, load: &Load, quick: bool) -> Result<Calls>;
}

/// What is measured, and with which load.
pub struct Subject {
    /// Its name in goals.
    pub name: &'static str,
    /// Its name for people.
    pub title: String,
    /// The name of the yardstick.
    pub yardstick: &'static str,
    /// The names of the others.
    pub names: Vec<&'static str>,
    /// The load; the number of requests is found out.
    pub load: Load,
    /// Requests of the first look, by which that number is chosen,
    pub look: u64,
    /// and its bounds.
    pub bounds: (u64, u64),
}

/// The results of a subject.
pub struct Point {
    /// The subject.
    pub subject: Subject,
    /// Every timed run.
    pub series: Series,
    /// Runs of hardly any requests.
    pub starts: Vec<Trial>,
    /// System calls under strace.
    pub calls: Vec<Calls>,
    /// Those that could not be measured, and why.
    pub failed: Vec<(&'static str, String)>,
    /// Rounds that were run.
    pub rounds: u32,
}

impl Point {
    /// Measures all of a subject.
    ///
    /// # Errors
    /// The yardstick is not there, or a run failed.
    pub fn measure(
        side: &dyn Side,
        mut subject: Subject,
        bench: &Bench,
        chore: &CostChore,
        counts_calls: bool,
    ) -> Result<Point> {
        let (mut failed, yardstick) = (Vec::new(), subject.yardstick);
        let load = &mut subject.load;
        load.exchanges = subject.look;
        subject.names.retain(|name| {
            let why = side.refusal(bench, name, load).map(|why| (*name, why));
            let is_able = *name != yardstick && why.is_none();
            failed.extend(why);
            is_able
        });
        let look = side.run(bench, yardstick, load, 0)?;
        let wanted = (look.per_second() * chore.seconds()) as u64;
        let together = load.connections * load.depth;
        let (least, most) = subject.bounds;
        // Whole numbers on each connection.
        load.exchanges = wanted.clamp(least, most.max(least)).div_ceil(together) * together;
        let (mut starts, mut calls) = (Vec::new(), Vec::new());
        for name in [&[yardstick][..], &subject.names].concat() {
            starts.extend(side.starts(bench, name, load)?);
            if counts_calls {
                calls.push(side.calls(bench, name, load, chore.quick)?);
            }
        }
        let rounds = chore.rounds();
        let run = |name, round| side.run(bench, name, &subject.load, round);
        let series = Series::measure(yardstick, &subject.names, rounds, run)?;
        Ok(Point {
            subject,
            series,
            starts,
            calls,
            failed,
            rounds,
        })
    }

    /// For programs.
    pub fn value(&self) -> Value {
        let Subject { name, load, .. } = &self.subject;
        let failed = self.failed.iter();
        let failed = failed.map(|(name, why)| json!({ "name": name, "why": why }));
        json!({
            "subject": name,
            "yardstick": self.subject.yardstick,
            "connections": load.connections,
            "close": load.close,
            "tls": load.tls,
            "handshake": load.handshake.map(Handshake::name),
            "depth": load.depth,
            "body": load.body,
            "exchanges": load.exchanges,
            "runs": self.series.trials,
            "starts": self.starts,
            "calls": self.calls.iter().map(Calls::value).collect::<Vec<_>>(),
            "failed": failed.collect::<Vec<_>>(),
        })
    }
}
