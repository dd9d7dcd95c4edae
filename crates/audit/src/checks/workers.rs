//! Did one of the server's workers, processes or threads, do most of the work?

use super::prelude::*;
use record::{Footprint, Workers};

pub(super) const CHECK: Check = Check {
    name: "workers",
    question: "Did one of the server's worker processes or threads do most of the work?",
    looks_at: "The CPU time of each process with the same parent, over the window (median of the rounds); else that of \
               each thread of the busiest process, of at most 256 threads. It matters only where the busiest is \
               saturated, and two workers or more have a CPU and a connection. A server that works in one thread is \
               found too.",
    thresholds: &[
        threshold(
            "CPU time of the busiest worker, of one CPU, from",
            || percent(BUSY_LEAST),
            "as for the generator's busiest thread, see `limit`",
        ),
        guess(
            "share of all workers' CPU time that the busiest took, of threads of all the server's, from",
            || percent(SHARE_LEAST),
        ),
    ],
    false_alarms: "simulation of 10,000 servers whose kernel spreads connections over four workers at random \
                   (SO_REUSEPORT), processes or threads, five rounds each in which shares vary by 3 %, which a test \
                   repeats: under 0.5 % with 10 connections, none with 20",
    power: "the same simulation: a saturated worker with 85 % of the work over 99 %, with 75 % under 1 %",
    effect: "A note: every figure stands, and requests/s is that of one worker.",
    remedy: "Spread connections over the workers.",
    cause: Cause::Other,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// The busiest worker is saturated.
const BUSY_LEAST: f64 = 0.85;
/// It did most of the work.
const SHARE_LEAST: f64 = 0.80;

/// How so many workers shared the work, in CPUs.
struct Shared {
    /// What they are: processes or threads.
    noun: &'static str,
    count: f64,
    effective: f64,
    busiest: f64,
    others: f64,
    /// All work of which the busiest did a share.
    all: f64,
}

impl Shared {
    /// How workers shared the work of the typical round.
    fn of(
        rounds: &[Round],
        noun: &'static str,
        workers: fn(&Footprint) -> Option<&Workers>,
        all: fn(&Footprint, &Workers) -> Nanos,
    ) -> Option<Shared> {
        let typical = |of: &dyn Fn(&Footprint, &Workers) -> f64| {
            Round::typical(rounds, |round| {
                let print = round.priced().filter(|print| print.wall > Nanos::ZERO)?;
                Some(of(print, workers(print)?))
            })
        };
        let cpus = |cpu: Nanos, print: &Footprint| cpu.as_secs_f64() / print.wall.as_secs_f64();
        Some(Shared {
            noun,
            count: typical(&|_, workers| workers.count.into())?,
            effective: typical(&|_, workers| workers.effective)?,
            busiest: typical(&|print, workers| cpus(workers.busiest, print))?,
            others: typical(&|print, workers| {
                let others = cpus(workers.cpu.saturating_sub(workers.busiest), print);
                others / (f64::from(workers.count) - 1.0)
            })?,
            all: typical(&|print, workers| cpus(all(print, workers), print))?,
        })
    }

    fn is_one_sided(&self, usable: f64) -> bool {
        usable >= 2.0 && self.busiest >= BUSY_LEAST && self.busiest >= SHARE_LEAST * self.all
    }
}

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let rounds = evidence.rounds?;
    let cpus = Round::typical(rounds, |round| Some(round.footprint.as_ref()?.cpus_allowed))?;
    let connections = evidence
        .connections()
        .map_or(f64::INFINITY, |(_, busy)| busy.into());
    let usable = |shared: &Shared| shared.count.min(cpus).min(connections);
    let processes = Shared::of(
        rounds,
        "worker",
        |print| print.workers.as_ref(),
        |_, workers| workers.cpu,
    );
    let threads = || {
        Shared::of(
            rounds,
            "thread",
            |print| print.thread_workers.as_ref(),
            |print, workers| print.cpu.max(workers.cpu),
        )
    };
    let is_found = |shared: &Shared| shared.is_one_sided(usable(shared));
    let found = processes.filter(is_found);
    let found = found.or_else(|| threads().filter(is_found))?;
    let sentence = format!(
        "one of {} did {} of the work: it used {} of one CPU, the others {} each",
        number(found.count as u64, found.noun),
        percent(found.busiest / found.all),
        percent(found.busiest),
        percent(found.others),
    );
    let remedy = match found.noun {
        "thread" => {
            "Spread connections over the threads; run several processes of a server that works in one thread"
        }
        _ => {
            "Spread connections over the workers: SO_REUSEPORT, an accept mutex, or more connections"
        }
    };
    Some(note(sentence).remedy(remedy).evidence([
        ("workers", found.count),
        ("workers that could be busy", usable(&found)),
        ("effective number", found.effective),
        ("busiest, of one CPU", found.busiest),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Chance, bare_round, healthy, simulated};
    use record::Grade;

    /// Rounds of a second by a server that may use so many CPUs, each with the CPU time of its workers, which are
    /// processes, or the threads of one process.
    fn judged(cpus: f64, rounds: &[Vec<Nanos>], are_threads: bool) -> Option<Finding> {
        let round = |each: &Vec<Nanos>| {
            let (wall, workers) = (Nanos::from_secs(1), Workers::of(each));
            let footprint = Footprint {
                cpu: each.iter().copied().sum(),
                cpus_allowed: cpus,
                wall,
                workers: workers.filter(|_| !are_threads),
                thread_workers: workers.filter(|_| are_threads),
                ..Footprint::default()
            };
            Round {
                footprint: Some(footprint),
                ..bare_round()
            }
        };
        let rounds: Vec<Round> = rounds.iter().map(round).collect();
        judge(&Evidence {
            rounds: Some(&rounds),
            ..Evidence::default()
        })
    }

    /// Three rounds whose workers were so busy, in percent.
    fn found(cpus: f64, busy: &[u64], are_threads: bool) -> Option<Finding> {
        let each = busy.iter().map(|percent| Nanos::from_millis(percent * 10));
        judged(cpus, &vec![each.collect(); 3], are_threads)
    }

    #[test]
    fn one_worker_that_does_nearly_all_is_noted() {
        for (are_threads, noun) in [(false, "worker"), (true, "thread")] {
            let finding = found(4.0, &[97, 3, 2, 4], are_threads).unwrap();
            let wanted = format!(
                "one of 4 {noun}s did 92 % of the work: it used 97 % of one CPU, the others 3.0 % each"
            );
            assert_eq!(
                (finding.sentence, finding.effects.grade()),
                (wanted, Grade::Note)
            );
        }
    }

    #[test]
    fn equal_idle_and_few_workers_are_healthy() {
        for (cpus, busy) in [
            (4.0, &[97, 90, 95, 93][..]),
            (4.0, &[97, 90, 0, 0]),
            (4.0, &[60, 1, 1, 1]),
            (1.0, &[97, 1, 1, 1]),
            (4.0, &[97]),
        ] {
            for are_threads in [false, true] {
                assert_eq!(found(cpus, busy, are_threads), None, "{busy:?}");
            }
        }
    }

    #[test]
    fn a_busy_thread_of_one_process_among_others_did_not_most_of_the_work() {
        let mut run = healthy();
        for (others, is_found) in [(200, true), (300, false)] {
            for round in &mut run.points[0].rounds {
                let print = round.footprint.as_mut().unwrap();
                let [busiest, idle] = [950, 10].map(Nanos::from_millis);
                print.thread_workers = Workers::of(&[busiest, idle]);
                print.cpu = busiest + idle + Nanos::from_millis(others);
                print.cpus_allowed = 4.0;
            }
            let found = judge(&Evidence::of(&run, &run.points[0]));
            assert_eq!(found.is_some(), is_found, "{others}");
        }
    }

    /// The share of 10,000 servers of four workers that are found one-sided; `shares` draws what each does of the work. The
    /// busiest is saturated, and what each does varies from round to round by 3 %.
    fn one_sided(are_threads: bool, shares: impl Fn(&mut Chance) -> [f64; 4]) -> f64 {
        simulated(|chance| {
            let shares = shares(chance);
            let busiest = shares.iter().copied().fold(0.0, f64::max);
            let rounds = [(); 5].map(|()| {
                let vary = |share: f64| {
                    let busy = 0.97 * share / busiest * (1.0 + 0.03 * chance.normal());
                    Nanos::from_nanos((busy.clamp(0.0, 1.0) * 1e9) as u64)
                };
                shares.map(vary).to_vec()
            });
            judged(4.0, &rounds, are_threads).is_some()
        })
    }

    #[test]
    fn connections_spread_at_random_are_rarely_one_sided() {
        for are_threads in [false, true] {
            for (connections, most) in [(20, 0.0001), (10, 0.005)] {
                let share = one_sided(are_threads, |chance| {
                    let mut each = [0.0; 4];
                    (0..connections).for_each(|_| each[(chance.uniform() * 4.0) as usize] += 1.0);
                    each
                });
                assert!(share < most, "{connections}: {share}");
            }
        }
    }

    #[test]
    fn a_saturated_worker_is_found_by_its_share_of_the_work() {
        for are_threads in [false, true] {
            for (share, from, to) in [(0.85, 0.99, 1.0), (0.75, 0.0, 0.01)] {
                let rest = (1.0 - share) / 3.0;
                let found = one_sided(are_threads, |_| [share, rest, rest, rest]);
                assert!((from..=to).contains(&found), "{share}: {found}");
            }
        }
    }
}
