//! Open loop: was everything sent that was scheduled, and on time?

use super::conservation;
use super::prelude::*;
use plan::{Arrivals, Load, Stop};
use record::{Blame, Kind};
use units::Rate;

pub(super) const CHECK: Check = Check {
    name: "offered",
    question: "Open loop: was everything sent that was scheduled, and on time?",
    looks_at: "The number of requests (with --connection-rate, of connections) that complete rounds scheduled, \
               against the rate; requests that the generator never sent; requests that were skipped because their \
               connection ended before; and the shares of response time that are the generator's own delay or \
               waiting for a free connection.",
    thresholds: &[
        threshold(
            "distance of the scheduled number from the rate, constant arrivals, over",
            || "1".to_owned(),
            "one arrival may fall on either side of a window's edge",
        ),
        threshold(
            "chance of it for random arrivals, under",
            || format!("{CHANCE_LEAST:e}"),
            "exact tail of Poisson's law: so far away once in two million rounds",
        ),
        threshold(
            "share of the scheduled requests that the generator never sent, over",
            || percent(MISSING_MOST),
            "a guess; Nighthawk's controller accepts 1 %",
        ),
        threshold(
            "share of requests that were skipped, over",
            || percent(SKIPPED_MOST),
            "as many as may fail by default",
        ),
        guess(
            "share of response time that is generator delay, or waiting for a connection, over",
            || percent(SHARE_MOST),
        ),
    ],
    false_alarms: "2.5e-7 a round for the count of random arrivals (exact Poisson tail); generator delay: 9 of 9 runs on a crowded machine, where it was real",
    power: "simulation of 10,000 rounds of 5 s at 1,000 requests/s, random arrivals, which a test repeats: a rate 10 % too \
            low is found in over 95 % of rounds, 5 % in under 10 %; every skipped and every unsent request beyond its \
            threshold",
    effect: "A schedule that was not kept, or more sent than was scheduled, is an error of weigh: every figure is \
             void. Requests that the generator never sent: requests/s and latency are void. Skipped requests: \
             requests/s gets a caveat. Delay or waiting: latency gets a caveat. A number of requests that was given \
             up because the server no longer responded: requests/s and latency get a caveat.",
    remedy: "Lower the rate, leave the generator a CPU of its own, or load from another machine. Raise --connections \
             where all were open.",
    cause: Cause::Other,
    judge,
};

/// The largest share of the scheduled requests that the generator may fail to send.
const MISSING_MOST: f64 = 0.001;
/// The largest share of response time without a caveat that is not the server's.
const SHARE_MOST: f64 = 0.05;
/// Share of skipped requests that is tolerated: 1 %, the same as for errors.
const SKIPPED_MOST: f64 = 0.01;
/// The chance of a number so far from its mean on that side, under which it is no chance: both sides together make one round
/// in two million.
const CHANCE_LEAST: f64 = 2.5e-7;

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some(Load::Open {
        rate,
        arrivals,
        connections,
        ..
    }) = evidence.load
    else {
        return Vec::new();
    };
    let rounds = evidence.complete().unwrap_or_default();
    let stop = evidence.plan().map(|plan| plan.stop);
    let wrong = rounds
        .iter()
        .find_map(|round| off_schedule(round, rate, arrivals, stop?));
    let given_up = rounds.iter().find_map(|round| given_up(round, stop?));
    let tally = evidence.tally.as_deref();
    let missing = missing(&rounds);
    let late = tally.and_then(late);
    let queued = tally.and_then(|tally| queued(tally, connections));
    let skipped = tally.and_then(skipped);
    [wrong, missing, given_up, skipped, late, queued]
        .into_iter()
        .flatten()
        .collect()
}

/// The chance that so many arrive, or more, or fewer, where `wanted` do on average: by Poisson's law, of parts of as many arrivals as the
/// index of dispersion says, so that it is exact for a Poisson process and has the right variance for others.
fn chance(wanted: f64, number: u64, dispersion: f64) -> f64 {
    match dispersion > 0.0 {
        true => stats::poisson_tail(
            wanted / dispersion,
            (number as f64 / dispersion).round() as u64,
        ),
        false => 0.0,
    }
}

/// A round whose schedule was not the one that the plan has, or that sent what was not in it.
fn off_schedule(round: &Round, rate: Rate, arrivals: Arrivals, stop: Stop) -> Option<Finding> {
    let sent = round.sent_total.measure;
    let (due, of) = match (stop, round.tally.sessions()) {
        (Stop::Duration(_), Some(sessions)) => (sessions.scheduled, "connection"),
        _ => (round.tally.scheduled, "request"),
    };
    let wanted = match stop {
        Stop::Duration(_) => rate.number_in(round.window.span()),
        Stop::Requests(number) => (number as f64).min(due as f64),
    };
    // One arrival may fall on either side of a window's edge.
    let inside = match due as f64 > wanted {
        true => due - 1,
        false => due + 1,
    };
    let is_off = (due as f64 - wanted).abs() > 1.0
        && chance(wanted, inside, arrivals.dispersion()) < CHANCE_LEAST;
    (is_off || sent > round.tally.scheduled).then(|| {
        let number_of_round = round.number();
        let sentence = format!(
            "in round {number_of_round}, {} scheduled where the rate gives about {}, and {} sent",
            counted(due, &format!("{of} was"), &format!("{of}s were")),
            count(wanted.round() as u64),
            count(sent)
        );
        let headline = format!("round {number_of_round} did not keep its schedule");
        void(ALL, headline, sentence)
            .remedy(conservation::CHECK.remedy)
            .evidence([
                ("scheduled", due as f64),
                ("expected", wanted),
                ("sent", sent as f64),
            ])
    })
}

/// Requests that the generator never sent.
fn missing(rounds: &[&Round]) -> Option<Finding> {
    let sum = |of: &dyn Fn(&Tally) -> u64| -> u64 {
        let each = rounds.iter().map(|round| of(&round.tally));
        each.fold(0, u64::saturating_add)
    };
    let due = sum(&|tally| tally.scheduled);
    let ours = sum(&|tally| {
        let is_ours =
            |fault: record::Fault| fault.kind == Kind::NeverSent && fault.blame == Blame::Generator;
        tally.faults.count(is_ours)
    });
    (ours as f64 > MISSING_MOST * due as f64).then(|| {
        let sentence = format!(
            "the load generator never sent {} of {}",
            count(ours),
            number(due, "scheduled request")
        );
        let headline = "the load generator could not offer the rate";
        void(SPEED, headline, sentence)
            .because(Cause::GeneratorLate)
            .remedy("Lower the rate, give more --threads, or load from another machine")
            .evidence([
                ("scheduled", due as f64),
                ("never sent by the generator", ours as f64),
            ])
    })
}

/// Connections that ended before all their requests were scheduled, so that fewer were offered.
fn skipped(tally: &Tally) -> Option<Finding> {
    let sessions = tally.sessions()?;
    let share =
        sessions.skipped as f64 / tally.scheduled.saturating_add(sessions.skipped).max(1) as f64;
    (share > SKIPPED_MOST).then(|| {
        let skipped = percent(share);
        let sentence = format!(
            "{skipped} of the requests were skipped, because {} of {} ended early",
            count(sessions.aborted),
            number(sessions.scheduled, "connection"),
        );
        let headline = format!("{skipped} of the requests were skipped");
        caveat(&[Figure::Rps], headline, sentence)
        .because(Cause::ConnectionsClosed)
        .remedy(
            "Look at the error table, and give --requests-per-connection within the server's limit",
        )
        .evidence([
            ("aborted sessions", sessions.aborted as f64),
            ("skipped requests", sessions.skipped as f64),
        ])
    })
}

/// A number of requests of which the rest was never scheduled.
fn given_up(round: &Round, stop: Stop) -> Option<Finding> {
    let due = round.tally.scheduled;
    let Stop::Requests(planned) = stop else {
        return None;
    };
    let headline = format!("round {} was aborted", round.number());
    let sentence = format!(
        "{headline} after {} of {} requests, because the server no longer responded",
        count(due),
        count(planned)
    );
    let finding = caveat(SPEED, headline, sentence).because(Cause::Errors);
    let finding = finding.remedy("Check whether the server still runs, and its log");
    let evidence = [("scheduled", due as f64), ("planned", planned as f64)];
    (due < planned).then(|| finding.evidence(evidence))
}

/// The share that the times of `part` have in all response times of what was sent. (What was never sent is in the
/// response times at its age, and in none of their parts.)
pub(super) fn share(tally: &Tally, part: &stats::Histogram) -> Option<f64> {
    let open = tally.open.as_ref()?;
    let parts = [
        &tally.service,
        &open.queued,
        &open.connecting,
        &open.generator_late,
    ];
    let all: f64 = parts.iter().map(|part| part.sum() as f64).sum();
    (all > 0.0).then(|| part.sum() as f64 / all)
}

fn late(tally: &Tally) -> Option<Finding> {
    let own = &tally.open.as_ref()?.generator_late;
    let share = share(tally, own).filter(|share| *share > SHARE_MOST)?;
    let typical = own.quantile(0.5).unwrap_or(0);
    let headline = format!(
        "generator send delay is {} of response time",
        percent(share)
    );
    let sentence = format!("{headline} (p50 {})", span(Nanos::from_nanos(typical)));
    let remedy = "Leave the generator a CPU of its own (--pin), or load from another machine";
    let finding = caveat(&[Figure::Latency], headline, sentence).because(Cause::GeneratorLate);
    Some(finding.remedy(remedy).evidence([
        ("share of response time", share),
        ("p50, us", typical as f64 / 1e3),
    ]))
}

fn queued(tally: &Tally, connections: u32) -> Option<Finding> {
    let queued = &tally.open.as_ref()?.queued;
    let share = share(tally, queued).filter(|share| *share > SHARE_MOST)?;
    let open = tally.connects.open_peak;
    let all = number(connections.into(), "connection");
    let (which, remedy) = if open >= connections.into() {
        (
            format!(", and all of {all} were in use"),
            "Raise --connections, unless the server's users have no more either",
        )
    } else {
        (
            format!(", although only {} of {all} were open", count(open)),
            "Find out why connections open slowly or fail: the error table, the server's listen backlog",
        )
    };
    let headline = format!(
        "waiting for a connection is {} of response time",
        percent(share)
    );
    let sentence = format!("{headline}{which}");
    let finding = caveat(&[Figure::Latency], headline, sentence).because(Cause::FewConnections);
    Some(finding.remedy(remedy).evidence([
        ("share of response time", share),
        ("connections", connections.into()),
        ("connections open", open as f64),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{bare_round, open_loop, simulated};
    use record::{Grade, Run};
    use units::Nanos;

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    fn tally(run: &mut Run) -> &mut Tally {
        &mut run.points[0].rounds[1].tally
    }

    #[test]
    fn a_rate_that_was_offered_passes_and_a_closed_loop_is_not_asked() {
        assert_eq!(found(&open_loop()), []);
        let mut closed = open_loop();
        tally(&mut closed).scheduled += 1_000;
        closed.points[0].level.load = Load::Closed { connections: 10 };
        assert_eq!(found(&closed), []);
    }

    #[test]
    fn a_schedule_that_was_not_kept_voids_everything() {
        // 1000 are due in each round; 1164 or more come once in four million (Poisson).
        for (arrivals, more, findings) in [
            (Arrivals::Constant, 1, 0),
            (Arrivals::Constant, 2, 1),
            (Arrivals::Poisson, 164, 0),
            (Arrivals::Poisson, 165, 1),
        ] {
            let mut run = open_loop();
            let Load::Open { arrivals: law, .. } = &mut run.points[0].level.load else {
                panic!("it is an open loop")
            };
            *law = arrivals;
            tally(&mut run).scheduled += more;
            let found = found(&run);
            assert_eq!(found.len(), findings, "{arrivals} {more}: {found:?}");
            assert!(
                found
                    .iter()
                    .all(|each| each.effects.figures() == ALL && each.grade() == Grade::Invalid)
            );
        }
        let mut run = open_loop();
        run.points[0].rounds[0].sent_total.measure += 1;
        assert_eq!(found(&run)[0].grade(), Grade::Invalid);
        run.points[0].rounds[0].partial = true;
        assert_eq!(found(&run), []);
    }

    #[test]
    fn what_we_never_sent_makes_the_rate_another_one_and_what_the_server_kept_waiting_does_not() {
        for (blame, count, findings) in [
            (Blame::Generator, 5, 0),
            (Blame::Generator, 6, 1),
            (Blame::Server, 500, 0),
        ] {
            let mut run = open_loop();
            for _ in 0..count {
                let tally = tally(&mut run);
                tally.observe_never_sent(1, Nanos::from_millis(1), blame);
            }
            let found = found(&run);
            assert_eq!(found.len(), findings, "{blame:?} {count}: {found:?}");
            assert!(found.iter().all(|each| each.grade() == Grade::Invalid));
        }
    }

    /// A thousand connections a second, each of one exchange, of which the first round's so many ended early and so many
    /// exchanges more were to be asked.
    fn of_visits(ended_early: u64, skipped: u64) -> Run {
        let mut run = open_loop();
        let Load::Open { of, .. } = &mut run.points[0].level.load else {
            panic!("it is an open loop")
        };
        *of = plan::Arriving::Connections;
        for round in &mut run.points[0].rounds {
            let open = round.tally.open.as_mut().unwrap();
            open.sessions = Some(record::Sessions {
                scheduled: 1_000,
                ..record::Sessions::default()
            });
        }
        let sessions = |run: &mut Run, change: &dyn Fn(&mut record::Sessions)| {
            let tally = &mut run.points[0].rounds[0].tally;
            change(tally.open.as_mut().unwrap().sessions.as_mut().unwrap());
        };
        sessions(&mut run, &|sessions| {
            sessions.aborted = ended_early;
            sessions.skipped = skipped;
        });
        run
    }

    #[test]
    fn what_we_never_sent_is_held_against_the_exchanges_that_were_due_though_connections_arrive() {
        for (never, findings) in [(50, 0), (51, 1)] {
            let mut run = of_visits(0, 0);
            for round in &mut run.points[0].rounds {
                round.tally.scheduled = 10_000; // of ten exchanges on each connection
            }
            tally(&mut run).observe_never_sent(never, Nanos::from_millis(1), Blame::Generator);
            let found = found(&run);
            assert_eq!(found.len(), findings, "{found:?}");
            assert!(
                found
                    .iter()
                    .all(|each| each.sentence.contains("of 50,000 scheduled requests"))
            );
        }
    }

    #[test]
    fn where_connections_arrive_it_is_they_that_must_be_as_many_as_the_rate_says() {
        assert_eq!(found(&of_visits(0, 0)), []);
        let mut fewer = of_visits(0, 0);
        tally(&mut fewer).scheduled += 500; // exchanges may be any number
        assert_eq!(found(&fewer), []);
        tally(&mut fewer)
            .open
            .as_mut()
            .unwrap()
            .sessions
            .as_mut()
            .unwrap()
            .scheduled -= 2;
        assert!(found(&fewer)[0].sentence.starts_with(
            "in round 2, 998 connections were scheduled where the rate gives about 1,000"
        ));
    }

    #[test]
    fn connections_that_end_early_offer_less_than_was_asked_for() {
        // 5,000 were due in all rounds together.
        assert_eq!(found(&of_visits(10, 50)), []);
        let found = found(&of_visits(10, 51));
        assert_eq!(
            (found.len(), found[0].grade(), found[0].sentence.as_str()),
            (
                1,
                Grade::Caveat,
                "1.0 % of the requests were skipped, because 10 of 5,000 connections ended early"
            )
        );
    }

    #[test]
    fn a_number_that_was_given_up_is_said() {
        let mut run = open_loop();
        run.plan.stop = Stop::Requests(1_000);
        assert_eq!(found(&run), []);
        run.plan.stop = Stop::Requests(1_001);
        let found = found(&run);
        assert_eq!(
            found[0].sentence,
            "round 1 was aborted after 1,000 of 1,001 requests, because the server no longer responded"
        );
    }

    #[test]
    fn more_connections_are_advised_only_where_all_were_open() {
        for (open_peak, words, remedy) in [
            (
                10,
                ", and all of 10 connections were in use",
                "Raise --connections",
            ),
            (
                9,
                ", although only 9 of 10 connections were open",
                "Find out why connections open slowly or fail",
            ),
        ] {
            let mut run = open_loop();
            tally(&mut run).connects.open_peak = open_peak;
            let open = tally(&mut run).open.as_mut().unwrap();
            open.queued.record_n(1_000_000_000, 1_000);
            let found = found(&run);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].sentence.ends_with(words), "{found:?}");
            let advice = found[0].remedy.as_ref().unwrap();
            assert!(advice.contains(remedy), "{advice}");
        }
    }

    #[test]
    fn lateness_and_waiting_are_said_from_a_twentieth_of_response_time_on() {
        type Part = fn(&mut record::OpenTimes) -> &mut stats::Histogram;
        let parts: [(Part, &str); 2] = [
            (|open| &mut open.generator_late, "of response time (p50"),
            (
                |open| &mut open.queued,
                "of response time, and all of 10 connections were in use",
            ),
        ];
        for (part, wanted) in parts {
            for (percent, findings) in [(4, 0), (6, 1)] {
                let mut run = open_loop();
                let response: u64 = run.points[0]
                    .rounds
                    .iter()
                    .map(|round| round.tally.open.as_ref().unwrap().response.sum())
                    .sum();
                tally(&mut run).connects.open_peak = 10;
                let open = tally(&mut run).open.as_mut().unwrap();
                // The share is one of the sum: of 104 and of 106.
                part(open).record_n(response * percent / 100 / 1_000, 1_000);
                // A request that was never sent waited long, and does not count here.
                open.response.record_n(response, 1);
                let found = found(&run);
                assert_eq!(found.len(), findings, "{percent} %: {found:?}");
                assert!(
                    found.iter().all(|each| each.sentence.contains(wanted)),
                    "{found:?}"
                );
            }
        }
    }

    #[test]
    fn the_power_of_the_count_is_that_of_the_manual() {
        let (rate, span) = (Rate::per_second(1_000), Nanos::from_secs(5));
        let mut round = bare_round();
        round.window.end = round.window.start + span;
        for (offered, from, to) in [
            (5_000.0, 0.0, 0.0),
            (4_750.0, 0.0, 0.1),
            (4_500.0, 0.95, 1.0),
        ] {
            let found = simulated(|chance| {
                // Poisson's law of so many is nearly the normal one.
                let scheduled = offered + f64::sqrt(offered) * chance.normal();
                round.tally.scheduled = scheduled.round() as u64;
                off_schedule(&round, rate, Arrivals::Poisson, Stop::Duration(span)).is_some()
            });
            assert!((from..=to).contains(&found), "{offered}: {found}");
        }
    }
}
