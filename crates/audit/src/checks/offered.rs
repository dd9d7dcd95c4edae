//! In an open loop: was the load the one that was asked for?

use super::Check;
use crate::Evidence;
use crate::verdict::{ALL, Substantiate, invalid, number, qualified};
use plan::{Arrivals, Load, Stop};
use record::{Blame, Figure, Finding, Kind, Round, Tally};
use units::{Rate, percent};

pub(super) const CHECK: Check = Check {
    name: "offered",
    title: "Was everything sent that was due, and when it was due?",
    doc: "In an open loop the schedule decides what is due. In complete rounds it must be as many as the rate says (for \
          even arrivals to within one at each edge of the window, at random within five standard deviations), and no \
          more may be sent than was due: else weigh has an error, and every figure is invalid. If more than 0.1 % was \
          never sent by our own fault, the rate was not offered, and requests/s and latency are invalid. What the \
          generator itself was late is in the response times: more than 5 % of them all together qualifies latency. So \
          does waiting for one of too few connections, by the same measure. A number of requests that was given up \
          because nothing was answered qualifies requests/s and latency.",
    judge,
};

/// The largest share of what was due that may be missing by our own fault.
const MISSING_MOST: f64 = 0.001;
/// The largest share of response time that something other than the server may have, unsaid.
const SHARE_MOST: f64 = 0.05;
/// How far chance may lead a number away from its mean, in standard deviations: once in two million rounds it leads
/// further.
const DEVIATIONS: f64 = 5.0;

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
    let tally = evidence.tally.as_ref();
    let missing = missing(&rounds);
    let late = tally.and_then(late);
    let queued = tally.and_then(|tally| queued(tally, connections));
    [wrong, missing, given_up, late, queued]
        .into_iter()
        .flatten()
        .collect()
}

/// A round whose schedule was not the one that the plan has, or that sent what was not in it.
fn off_schedule(round: &Round, rate: Rate, arrivals: Arrivals, stop: Stop) -> Option<Finding> {
    let (due, sent) = (round.tally.due, round.sent_total.measure);
    let wanted = match stop {
        Stop::Duration(_) => rate.number_in(round.window.span()),
        Stop::Requests(number) => (number as f64).min(due as f64),
    };
    let off = match arrivals {
        Arrivals::Constant => 1.0,
        Arrivals::Poisson => 1.0 + DEVIATIONS * wanted.sqrt(),
    };
    let is_off = (due as f64 - wanted).abs() > off;
    (is_off || sent > due).then(|| {
        invalid(
            ALL,
            format!(
                "in round {} {} due where the rate makes about {}, and {} sent",
                u64::from(round.index) + 1,
                number(due, "exchange was", "exchanges were"),
                units::count(wanted.round() as u64),
                units::count(sent)
            ),
        )
        .remedy(
            "measure again; if it happens again, report it as an error of weigh, with the record",
        )
        .evidence([
            ("due", due as f64),
            ("wanted", wanted),
            ("sent", sent as f64),
        ])
    })
}

/// What we ourselves never sent.
fn missing(rounds: &[&Round]) -> Option<Finding> {
    let sum = |of: &dyn Fn(&Tally) -> u64| -> u64 {
        let each = rounds.iter().map(|round| of(&round.tally));
        each.fold(0, u64::saturating_add)
    };
    let due = sum(&|tally| tally.due);
    let ours = sum(&|tally| {
        let is_ours =
            |fault: record::Fault| fault.kind == Kind::NeverSent && fault.blame == Blame::Generator;
        tally.faults.count(is_ours)
    });
    (ours as f64 > MISSING_MOST * due as f64).then(|| {
        invalid(
            &[Figure::Rps, Figure::Latency],
            format!(
                "the rate was not offered: of {} due the generator never sent {}",
                number(due, "exchange", "exchanges"),
                units::count(ours)
            ),
        )
        .remedy("lower --rate, give more --threads, or load from another machine")
        .evidence([("due", due as f64), ("never sent by us", ours as f64)])
    })
}

/// A number of requests of which the rest never became due.
fn given_up(round: &Round, stop: Stop) -> Option<Finding> {
    let due = round.tally.due;
    match stop {
        Stop::Requests(asked) if due < asked => Some(
            qualified(
                &[Figure::Rps, Figure::Latency],
                format!(
                    "round {} was given up after {} of {} were due, because nothing was answered any more",
                    u64::from(round.index) + 1,
                    units::count(due),
                    units::count(asked)
                ),
            )
            .remedy("see whether the server still runs, and what its own log says; then measure again")
            .evidence([("due", due as f64), ("asked for", asked as f64)]),
        ),
        _ => None,
    }
}

/// The share that the times of `part` have in all response times.
fn share(tally: &Tally, part: &stats::Histogram) -> Option<f64> {
    let open = tally.open.as_ref()?;
    let all = open.response.sum() as f64;
    (all > 0.0).then(|| part.sum() as f64 / all)
}

fn late(tally: &Tally) -> Option<Finding> {
    let own = &tally.open.as_ref()?.generator_late;
    let share = share(tally, own).filter(|share| *share > SHARE_MOST)?;
    let typical = own.quantile(0.5).unwrap_or(0);
    let sentence = format!(
        "{} of response time is the generator's own lateness (p50 {})",
        percent(share),
        units::span(units::Nanos::from_nanos(typical))
    );
    Some(
        qualified(&[Figure::Latency], sentence)
            .remedy("leave it a CPU of its own (--pin, fewer workers in the server), or load from another machine")
            .evidence([("share of response time", share), ("p50, us", typical as f64 / 1e3)]),
    )
}

fn queued(tally: &Tally, connections: u32) -> Option<Finding> {
    let queued = &tally.open.as_ref()?.queued;
    let share = share(tally, queued).filter(|share| *share > SHARE_MOST)?;
    let sentence = format!(
        "{} of response time was waiting for one of {} to be free",
        percent(share),
        number(connections.into(), "connection", "connections")
    );
    Some(
        qualified(&[Figure::Latency], sentence)
            .remedy("if connections are not what is scarce for the users of this server, raise --connections")
            .evidence([("share of response time", share), ("connections", connections.into())]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::open_loop;
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
        tally(&mut closed).due += 1_000;
        closed.points[0].level.load = Load::Closed { connections: 10 };
        assert_eq!(found(&closed), []);
    }

    #[test]
    fn a_schedule_that_was_not_kept_voids_everything() {
        // 1000 are due in each round; at random a standard deviation is 31.6.
        for (arrivals, more, findings) in [
            (Arrivals::Constant, 1, 0),
            (Arrivals::Constant, 2, 1),
            (Arrivals::Poisson, 159, 0),
            (Arrivals::Poisson, 160, 1),
        ] {
            let mut run = open_loop();
            let Load::Open { arrivals: law, .. } = &mut run.points[0].level.load else {
                panic!("it is an open loop")
            };
            *law = arrivals;
            tally(&mut run).due += more;
            let found = found(&run);
            assert_eq!(found.len(), findings, "{arrivals} {more}: {found:?}");
            assert!(
                found
                    .iter()
                    .all(|each| each.touches == ALL && each.grade == Grade::Invalid)
            );
        }
        let mut run = open_loop();
        run.points[0].rounds[0].sent_total.measure += 1;
        assert_eq!(found(&run)[0].grade, Grade::Invalid);
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
            assert!(found.iter().all(|each| each.grade == Grade::Invalid));
        }
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
            "round 1 was given up after 1 000 of 1 001 were due, because nothing was answered any more"
        );
    }

    #[test]
    fn lateness_and_waiting_are_said_from_a_twentieth_of_response_time_on() {
        type Part = fn(&mut record::OpenTimes) -> &mut stats::Histogram;
        let parts: [(Part, &str); 2] = [
            (
                |open| &mut open.generator_late,
                "of response time is the generator's own lateness (p50",
            ),
            (
                |open| &mut open.queued,
                "of response time was waiting for one of 10 connections to be free",
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
                let open = tally(&mut run).open.as_mut().unwrap();
                part(open).record_n(response * percent / 100 / 1_000, 1_000);
                let found = found(&run);
                assert_eq!(found.len(), findings, "{percent} %: {found:?}");
                assert!(
                    found.iter().all(|each| each.sentence.contains(wanted)),
                    "{found:?}"
                );
            }
        }
    }
}
