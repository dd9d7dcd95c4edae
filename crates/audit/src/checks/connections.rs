//! Was there the concurrency that was asked for?

use super::Check;
use crate::Evidence;
use crate::verdict::{Substantiate, note, number, qualified};
use plan::{Connect, Plan};
use record::{Figure, Finding, Round};

pub(super) const CHECK: Check = Check {
    name: "connections",
    title: "Were as many connections open as were asked for?",
    doc: "Requests/s at 1000 connections means nothing when 200 were open. In the round that had the fewest, the most \
          that were open at a time must be what was asked for; so must the number when the window opened, where \
          connections are opened before the load and none was replaced (a server that closes now and then makes the \
          number at one moment say little). A shortfall qualifies requests/s and latency. Where connections are opened \
          only when needed, or serve only some exchanges, fewer open at a time are the nature of it: noted. So are \
          more connections than requests, of which the rest is never opened.",
    judge,
};

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let (Some(plan), Some((asked, busy))) = (evidence.plan, evidence.connections()) else {
        return Vec::new();
    };
    let rounds = evidence.complete().unwrap_or_default();
    let idle = (busy < asked).then(|| never_busy(asked, busy));
    let short = at_start(plan, &rounds, busy).or_else(|| at_peak(plan, &rounds, busy));
    idle.into_iter().chain(short).collect()
}

fn never_busy(asked: u32, busy: u32) -> Finding {
    note(format!(
        "{asked} connections were asked for and {} a round, so only {busy} were opened",
        number(busy.into(), "request", "requests")
    ))
    .evidence([
        ("connections asked for", asked.into()),
        ("connections opened", busy.into()),
    ])
}

/// Fewer than asked for when the window opened.
fn at_start(plan: &Plan, rounds: &[&Round], asked: u32) -> Option<Finding> {
    let stable = |round: &&&Round| round.tally.connects.established <= asked.into();
    let open = rounds
        .iter()
        .filter(stable)
        .map(|round| round.tally.connects.open_at_start)
        .min();
    let open = open.filter(|open| plan.connect == Connect::Eager && *open < asked.into())?;
    let sentence = format!(
        "{open} of {asked} connections were open when the window opened, in the round with the fewest"
    );
    Some(shortfall(sentence, asked, open))
}

/// Fewer than asked for at any time.
fn at_peak(plan: &Plan, rounds: &[&Round], asked: u32) -> Option<Finding> {
    let open = rounds
        .iter()
        .map(|round| round.tally.connects.open_peak)
        .min();
    let open = open.filter(|open| *open < asked.into())?;
    let sentence = format!(
        "at most {open} of {asked} connections were open at a time, in the round with the fewest"
    );
    let short_lived = plan.protocol.exchanges_per_connection() < u64::MAX;
    if plan.connect == Connect::Lazy || short_lived {
        return Some(note(sentence).evidence(shares(asked, open)));
    }
    Some(shortfall(sentence, asked, open))
}

fn shortfall(sentence: String, asked: u32, open: u64) -> Finding {
    qualified(&[Figure::Rps, Figure::Latency], sentence)
        .remedy(
            "look for connect errors, and at the server's limits: its connections, open files and listen backlog",
        )
        .evidence(shares(asked, open))
}

fn shares(asked: u32, open: u64) -> [(&'static str, f64); 2] {
    [
        ("connections asked for", asked.into()),
        ("connections open", open as f64),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{CONNECTIONS, healthy};
    use plan::Stop;
    use record::{Connects, Grade, Run};

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    fn with(change: impl Fn(&mut Connects)) -> Run {
        let mut run = healthy();
        change(&mut run.points[0].rounds[1].tally.connects);
        run
    }

    #[test]
    fn all_open_passes_and_one_short_does_not() {
        let all = u64::from(CONNECTIONS);
        let cases: &[(u64, u64, Option<&str>)] = &[
            (all, all, None),
            (
                all - 1,
                all,
                Some("9 of 10 connections were open when the window opened"),
            ),
            (
                all,
                all - 1,
                Some("at most 9 of 10 connections were open at a time"),
            ),
            (
                0,
                0,
                Some("0 of 10 connections were open when the window opened"),
            ),
        ];
        for &(start, peak, wanted) in cases {
            let run = with(|connects| {
                connects.open_at_start = start;
                connects.open_peak = peak;
            });
            let found = found(&run);
            assert_eq!(found.is_empty(), wanted.is_none(), "{start} {peak}");
            if let (Some(finding), Some(wanted)) = (found.first(), wanted) {
                assert!(finding.sentence.starts_with(wanted), "{}", finding.sentence);
                assert_eq!(finding.grade, Grade::Qualified);
            }
        }
    }

    #[test]
    fn where_connections_are_replaced_the_number_at_one_moment_says_nothing() {
        let run = with(|connects| {
            connects.established = u64::from(CONNECTIONS) + 1;
            connects.open_at_start = 3;
        });
        assert_eq!(found(&run), []);
    }

    #[test]
    fn fewer_open_are_the_nature_of_lazy_and_short_lived_connections() {
        let mut lazy = with(|connects| connects.open_peak = 4);
        lazy.plan.connect = Connect::Lazy;
        let mut short = lazy.clone();
        short.plan.connect = Connect::Eager;
        short.plan.protocol.keepalive = false;
        for run in [lazy, short] {
            let found = found(&run);
            assert_eq!((found.len(), found[0].grade), (1, Grade::Note), "{found:?}");
        }
    }

    #[test]
    fn more_connections_than_requests_are_noted() {
        for (requests, sentence) in [
            (u64::from(CONNECTIONS), None),
            (9, Some("so only 9 were opened")),
        ] {
            let mut run = healthy();
            run.plan.stop = Stop::Requests(requests);
            let found = found(&run);
            assert_eq!(found.is_empty(), sentence.is_none(), "{requests}");
            assert!(found.iter().all(|found| found.grade == Grade::Note));
            assert!(
                found
                    .iter()
                    .all(|found| found.sentence.ends_with(sentence.unwrap_or_default()))
            );
        }
    }
}
