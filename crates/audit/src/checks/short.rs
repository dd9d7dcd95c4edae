//! Which side had no CPU left. The checks `limit` and `overload` ask it, and must not answer it differently.

use super::quota;
use crate::Evidence;
use record::Round;
use units::percent;

/// A thread that ran for more than this share is short of CPU; one that ran or waited for so long, too, if it waited.
pub(super) const GENERATOR_MOST: f64 = 0.85;
/// A server that uses more than this share of its CPUs is short of them.
pub(super) const SERVER_MOST: f64 = 0.90;

/// How busy the server was.
#[derive(Clone, Copy)]
pub(super) struct Server {
    /// Its share of the CPUs that it may use.
    pub(super) busy: f64,
    /// Whether some of its CPU time may be missing.
    pub(super) at_least: bool,
    /// Whether it could use no more: nearly all of its CPUs, or its quota in most periods.
    pub(super) is_full: bool,
}

/// Who was short of CPU in the typical round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Short {
    /// Neither side, as far as is known.
    Neither,
    /// The generator; the server was not, or was not observed.
    Generator,
    /// The server, with all CPUs that it may use or all that its workers can.
    Server,
    /// Neither, and the generator's busiest thread waited for a CPU: the machine had none for it.
    Starved,
    /// Both, or both together where they may use one CPU only, and it is the same.
    Both,
}

/// Who was short of CPU.
pub(super) fn short(evidence: &Evidence<'_>) -> Short {
    let rounds = evidence.rounds.unwrap_or_default();
    let busy = Round::typical(rounds, Round::generator_busy);
    let generator =
        busy.is_some_and(|busy| busy > GENERATOR_MOST) || quota::of_generator(rounds).is_some();
    let wanted = Round::typical(rounds, Round::generator_wanted);
    let starved = !generator && wanted.is_some_and(|wanted| wanted > GENERATOR_MOST);
    let is_full = || server(rounds).is_some_and(|server| server.is_full);
    let server = match generator || starved {
        // A server that the generator holds up may use a whole number of CPUs by chance.
        true => is_full() || all_workers(evidence).is_some(),
        false => is_full() || full_workers(evidence).is_some(),
    };
    let is_shared = shared_cpu(evidence).is_some();
    match (generator, server) {
        (false, false) if !starved => Short::Neither,
        _ if is_shared => Short::Both,
        (false, false) => Short::Starved,
        (true, true) => Short::Both,
        (true, false) => Short::Generator,
        (false, true) => Short::Server,
    }
}

impl Server {
    /// `40 %`, or `at least 40 %` where CPU time may be missing.
    pub(super) fn shown(self) -> String {
        let bound = if self.at_least { "at least " } else { "" };
        format!("{bound}{}", percent(self.busy))
    }
}

/// How busy the server was in the typical round; none where it was not observed, or rounds were too short.
pub(super) fn server(rounds: &[Round]) -> Option<Server> {
    let busy = Round::typical(rounds, Round::server_busy)?;
    let mut prints = rounds.iter().filter_map(|round| round.footprint.as_ref());
    let at_least = prints.any(|print| print.lower_bound);
    let is_full = busy > SERVER_MOST || quota::is_server_stopped(rounds);
    Some(Server {
        busy,
        at_least,
        is_full,
    })
}

/// The only CPU that generator and server may run on, where it is the same one.
pub(super) fn shared_cpu(evidence: &Evidence<'_>) -> Option<u32> {
    let ours = &evidence.machine?.cpus_allowed;
    let is_same = |round: &Round| {
        let theirs = round.footprint.as_ref().map(|print| &print.cpus);
        theirs == Some(ours)
    };
    match ours.as_slice() {
        [cpu] if evidence.rounds?.iter().all(is_same) => Some(*cpu),
        _ => None,
    }
}

/// How near to a whole number of CPUs a server's use of them must be to look like so many busy workers.
pub(super) const NEARLY_WHOLE: f64 = 0.05;

/// How many CPUs the server kept busy, where that is a whole number of them and fewer than it may use: what a server
/// with so many workers does when it can do no more.
pub(super) fn full_workers(evidence: &Evidence<'_>) -> Option<u64> {
    let used = |round: &Round| {
        let footprint = round.footprint.as_ref()?;
        let cpus = footprint.cpu.as_secs_f64() / footprint.wall.as_secs_f64();
        (footprint.cpus_allowed - cpus > 0.5).then_some(cpus)
    };
    let cpus = Round::typical(evidence.rounds?, used)?;
    let is_whole = cpus > 0.5 && (cpus - cpus.round()).abs() <= NEARLY_WHOLE;
    is_whole.then_some(cpus.round() as u64)
}

/// The same where the server has no more threads than those and one that looks after them, so that it can do no more for
/// certain.
pub(super) fn all_workers(evidence: &Evidence<'_>) -> Option<u64> {
    let workers = full_workers(evidence)?;
    let is_all = |round: &Round| {
        round.footprint.as_ref().is_none_or(|print| {
            let threads = print.threads.map(u64::from);
            !print.lower_bound && threads.is_some_and(|threads| threads <= workers + 1)
        })
    };
    evidence.rounds?.iter().all(is_all).then_some(workers)
}
