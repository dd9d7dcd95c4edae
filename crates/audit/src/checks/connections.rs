//! Was the concurrency the planned one?

use super::prelude::*;
use plan::{Connect, Plan};
use record::Effects;

pub(super) const CHECK: Check = Check {
    name: "connections",
    question: "Were as many connections open as planned, and did each get responses?",
    looks_at: "The complete round with the fewest connections: the most that were open at a time and, where \
               connections open before the load and none was replaced, the number at the start of the window. Also \
               connections that the server closed, and connections whose request was sent before the window and had \
               no response by its end. An open loop opens as many as it needs, so only the last two apply.",
    thresholds: &[guess(
        "connections opened, times those that were needed, from",
        || AGAIN.to_string(),
    )],
    false_alarms: "none by chance: it follows from counts",
    power: "every missing connection where all open before the load, and every one without a response; where they open on \
            demand only the most that were open at a time is known",
    effect: "Too few connections, and connections without a response during a whole window, give requests/s and \
             latency a caveat. Where connections open on demand or serve only some requests, where there are more \
             connections than requests, and where the server closes connections, there is a note.",
    remedy: "Look for connect errors, and at the server's limits: connections, workers, open files, listen backlog, \
             requests per connection.",
    cause: Cause::Other,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let rounds = evidence.complete().unwrap_or_default();
    let silent = evidence.plan().and_then(|plan| silent(plan, &rounds));
    let (Some(plan), Some((planned, busy))) = (evidence.plan(), evidence.connections()) else {
        return silent.into_iter().chain(lost_idle(evidence)).collect();
    };
    let idle = (busy < planned).then(|| never_busy(planned, busy));
    let short = at_start(plan, &rounds, busy).or_else(|| at_peak(plan, &rounds, busy));
    let again = again(evidence, plan, planned);
    let lost = lost_idle(evidence);
    silent
        .into_iter()
        .chain(idle)
        .chain(short)
        .chain(again)
        .chain(lost)
        .collect()
}

fn never_busy(planned: u32, busy: u32) -> Finding {
    note(format!(
        "only {} of {} were opened, because a round has {}",
        count(busy.into()),
        number(planned.into(), "connection"),
        number(busy.into(), "request")
    ))
    .because(Cause::FewConnections)
    .evidence([
        ("connections planned", planned.into()),
        ("connections opened", busy.into()),
    ])
}

/// Fewer than planned when the window opened.
fn at_start(plan: &Plan, rounds: &[&Round], planned: u32) -> Option<Finding> {
    let stable = |round: &&&Round| {
        let connects = &round.tally.connects;
        connects.established.saturating_sub(connects.lost_idle) <= planned.into()
    };
    let open = rounds
        .iter()
        .filter(stable)
        .map(|round| round.tally.connects.open_at_start)
        .min();
    let open = open.filter(|open| plan.connect == Connect::Eager && *open < planned.into())?;
    Some(shortfall("at the start of the window", planned, open))
}

/// Fewer than planned at any time.
fn at_peak(plan: &Plan, rounds: &[&Round], planned: u32) -> Option<Finding> {
    let open = rounds
        .iter()
        .map(|round| round.tally.connects.open_peak)
        .min();
    let open = open.filter(|open| *open < planned.into())?;
    let short_lived = plan.protocol.exchanges_per_connection() < u64::MAX;
    let found = shortfall("at any time", planned, open);
    let is_expected = plan.connect == Connect::Lazy || short_lived;
    Some(match is_expected {
        true => Finding {
            effects: Effects::default(),
            headline: String::new(),
            remedy: None,
            ..found
        },
        false => found,
    })
}

fn shortfall(when: &str, planned: u32, open: u64) -> Finding {
    let all = number(planned.into(), "connection");
    let headline = format!("only {} of {all} were open", count(open));
    let sentence = format!("{headline} {when}, in the round with the fewest");
    caveat(SPEED, headline, sentence)
        .because(Cause::FewConnections)
        .remedy(
            "Look for connect errors, and at the server's limits: connections, open files, listen backlog",
        )
        .evidence([
            ("connections planned", planned.into()),
            ("connections open", open as f64),
        ])
}

/// Connections that the server closed while idle, before or between requests.
fn lost_idle(evidence: &Evidence<'_>) -> Option<Finding> {
    let connects = &evidence.tally.as_ref()?.connects;
    let lost = Some(connects.lost_idle).filter(|lost| *lost > 0)?;
    let sentence = format!("the server closed {}", number(lost, "idle connection"));
    let remedy =
        "Look at its limits: connections in all and per address, and the keep-alive timeout";
    let finding = note(sentence).because(Cause::ConnectionsClosed);
    Some(finding.remedy(remedy).evidence([
        ("idle connections closed", lost as f64),
        ("connections opened", connects.established as f64),
    ]))
}

/// Connections that were open, but gave no response from before the window until after it.
fn silent(plan: &Plan, rounds: &[&Round]) -> Option<Finding> {
    let worst = rounds.iter().max_by_key(|round| round.tally.carried_over)?;
    let carried_over = worst.tally.carried_over;
    // All requests under way on such a connection are carried over, so that with a pipeline this is the fewest.
    let depth = u64::from(plan.protocol.pipeline).max(1);
    let silent = Some(carried_over.div_ceil(depth)).filter(|silent| *silent > 0)?;
    let open = worst.tally.connects.open_at_start.max(silent);
    let least = if depth > 1 { "at least " } else { "" };
    let others = match open - silent {
        0 => String::new(),
        _ if plan.load.is_open() => String::new(),
        others => format!(
            ": requests/s and latency are those of the other {}",
            count(others)
        ),
    };
    let of = number(open, "connection");
    let headline = format!("{least}{} of {of} got no response", count(silent));
    let sentence = format!(
        "{headline} during a whole window (round {}){others}",
        worst.number(),
    );
    let remedy = "Look for a limit of connections that the server serves at a time (workers, threads), and for \
                  requests that hang";
    Some(caveat(SPEED, headline, sentence).remedy(remedy).evidence([
        ("connections without a response", silent as f64),
        ("connections open", open as f64),
        ("requests carried over", carried_over as f64),
    ]))
}

/// A note is made where this many times as many connections were opened as were needed.
const AGAIN: u64 = 2;

/// Connections that were opened over and over, where each could have served to the end.
fn again(evidence: &Evidence<'_>, plan: &Plan, planned: u32) -> Option<Finding> {
    let tally = evidence.tally.as_ref()?;
    let (opened, enough) = (tally.connects.established, enough(evidence)?);
    let may_stay_open = plan.protocol.exchanges_per_connection() == u64::MAX;
    if !may_stay_open || opened < enough.saturating_mul(AGAIN) {
        return None;
    }
    let by_faults = tally.faults.count(reasons::ends_a_connection);
    let by_strays = tally.strays.total();
    let (why, remedy) = if by_strays > (opened - enough) / 2 {
        (
            "most ended with bytes that belong to no response".to_owned(),
            "Correct what the server sends; --show-exchange prints a response",
        )
    } else if by_faults > (opened - enough) / 2 {
        (
            "most ended with an error".to_owned(),
            "Find the reason in the error table",
        )
    } else {
        let closes = match served_by_each(evidence) {
            Some(1) => "the server closes after every response".to_owned(),
            Some(served) => format!(
                "the server closes after about {} requests each",
                count(served)
            ),
            None => "the server closes them".to_owned(),
        };
        (
            closes,
            "Raise the server's limit of requests per connection, unless connecting is to be measured",
        )
    };
    let rounds = evidence.rounds.map_or(0, <[Round]>::len) as u64;
    let each = match rounds {
        1 => String::new(),
        _ => format!(
            " ({} in each of {} rounds)",
            count(planned.into()),
            count(rounds)
        ),
    };
    let sentence = format!(
        "{} connections were opened where {} were needed{each}: {why}",
        count(opened),
        count(enough)
    );
    let finding = note(sentence).because(Cause::ConnectionsClosed);
    Some(finding.remedy(remedy).evidence([
        ("connections opened", opened as f64),
        ("connections needed", enough as f64),
    ]))
}

/// The connections of all rounds together, had each stayed open.
fn enough(evidence: &Evidence<'_>) -> Option<u64> {
    let (_, busy) = evidence.connections()?;
    Some(u64::from(busy) * evidence.rounds?.len() as u64)
}

/// After how many requests the server closes a connection, to two digits; none where it seems not to.
///
/// All complete responses over all connections, of which those that were open at the end had served about half as many.
/// (Warm-up opened its connections too; its requests are taken to have got responses as often as those of the windows.)
pub(super) fn served_by_each(evidence: &Evidence<'_>) -> Option<u64> {
    let (tally, enough) = (evidence.tally.as_ref()?, enough(evidence)?);
    let opened = tally.connects.established;
    if opened < enough.saturating_mul(AGAIN) {
        return None;
    }
    let warmup = evidence.rounds?.iter().map(|round| round.sent_total.warmup);
    let warmup = warmup.fold(0, u64::saturating_add) as f64 / tally.started.max(1) as f64;
    let answered = tally.statuses.total() as f64 * (1.0 + warmup);
    let served = answered / (opened as f64 - enough as f64 / 2.0);
    (served >= 0.5).then(|| two_digits(served))
}

fn two_digits(value: f64) -> u64 {
    let unit = 10_f64.powf(value.log10().floor() - 1.0).max(1.0);
    ((value / unit).round() * unit) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{CONNECTIONS, carry_over, fail, healthy};
    use plan::Stop;
    use record::Figure;
    use record::{Connects, Grade, Kind, Run};

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    fn with(change: impl Fn(&mut Connects)) -> Run {
        let mut run = healthy();
        change(&mut run.points[0].rounds[1].tally.connects);
        run
    }

    #[test]
    fn connections_that_give_no_response_in_a_window_are_named() {
        let cases: &[(u64, u32, &str)] = &[
            (
                5,
                1,
                "5 of 10 connections got no response during a whole window (round 2): requests/s and latency are \
                 those of the other 5",
            ),
            (
                10,
                1,
                "10 of 10 connections got no response during a whole window (round 2)",
            ),
            (
                9,
                4,
                "at least 3 of 10 connections got no response during a whole window (round 2): requests/s and \
                 latency are those of the other 7",
            ),
        ];
        for (carried_over, pipeline, wanted) in cases {
            for open in [false, true] {
                let mut run = if open {
                    crate::fixture::open_loop()
                } else {
                    healthy()
                };
                run.plan.protocol.pipeline = *pipeline;
                let tally = &mut run.points[0].rounds[1].tally;
                tally.connects.open_at_start = CONNECTIONS.into();
                carry_over(tally, *carried_over);
                let found = found(&run);
                assert_eq!(found.len(), 1, "{found:?}");
                let of_all = wanted.split(": ").next().unwrap();
                let wanted = if open { of_all } else { wanted };
                assert_eq!(
                    (&*found[0].sentence, found[0].grade()),
                    (wanted, Grade::Caveat)
                );
                assert_eq!(found[0].effects.figures(), [Figure::Rps, Figure::Latency]);
            }
        }
    }

    #[test]
    fn all_open_passes_and_one_short_does_not() {
        let all = u64::from(CONNECTIONS);
        let cases: &[(u64, u64, Option<&str>)] = &[
            (all, all, None),
            (
                all - 1,
                all,
                Some("only 9 of 10 connections were open at the start of the window"),
            ),
            (
                all,
                all - 1,
                Some("only 9 of 10 connections were open at any time"),
            ),
            (
                0,
                0,
                Some("only 0 of 10 connections were open at the start of the window"),
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
                assert_eq!(finding.grade(), Grade::Caveat);
            }
        }
    }

    #[test]
    fn connections_that_the_server_ended_idle_are_noted_and_missed_at_the_start() {
        let run = with(|connects| {
            connects.established = u64::from(CONNECTIONS) + 2;
            connects.lost_idle = 2;
            connects.open_at_start = u64::from(CONNECTIONS) - 2;
        });
        let sentences: Vec<String> = found(&run)
            .into_iter()
            .map(|finding| finding.sentence)
            .collect();
        assert_eq!(
            sentences,
            [
                "only 8 of 10 connections were open at the start of the window, in the round with the fewest",
                "the server closed 2 idle connections"
            ]
        );
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
            assert_eq!(
                (found.len(), found[0].grade()),
                (1, Grade::Note),
                "{found:?}"
            );
        }
    }

    #[test]
    fn more_connections_than_requests_are_noted() {
        for (requests, sentence) in [
            (u64::from(CONNECTIONS), None),
            (9, Some("because a round has 9 requests")),
        ] {
            let mut run = healthy();
            run.plan.stop = Stop::Requests(requests);
            let found = found(&run);
            assert_eq!(found.is_empty(), sentence.is_none(), "{requests}");
            assert!(found.iter().all(|found| found.grade() == Grade::Note));
            assert!(
                found
                    .iter()
                    .all(|found| found.sentence.ends_with(sentence.unwrap_or_default()))
            );
        }
    }

    /// The healthy run, of whose connections `more` were opened beyond ten in each of its five rounds.
    fn reopened(more: u64) -> Run {
        with(|connects| connects.established += more)
    }

    #[test]
    fn twice_as_many_opened_as_asked_for_are_noted_with_keep_alive() {
        assert_eq!(found(&reopened(49)), []);
        let twice = found(&reopened(50));
        assert_eq!((twice.len(), twice[0].grade()), (1, Grade::Note));
        // 50,000 answers over 100 connections, of which 50 were on average halfway.
        assert_eq!(
            twice[0].sentence,
            "100 connections were opened where 50 were needed (10 in each of 5 rounds): the server closes after \
             about 670 requests each"
        );
        let mut short_lived = reopened(50);
        short_lived.plan.protocol.requests_per_connection = Some(500);
        assert_eq!(found(&short_lived), []);
        short_lived.plan.protocol.keepalive = false;
        assert_eq!(found(&short_lived), []);
    }

    #[test]
    fn connections_of_the_warm_up_served_its_requests() {
        let mut run = reopened(150);
        let round = &mut run.points[0].rounds[0];
        // 50,000 of 50,100 were answered; so were 50,000 of these, about.
        round.sent_total.warmup = 50_100;
        (0..100).for_each(|_| fail(&mut round.tally, Kind::Abandoned, 0));
        let sentence = &found(&run)[0].sentence;
        assert!(
            sentence.ends_with("after about 570 requests each"),
            "{sentence}"
        );
    }

    #[test]
    fn a_server_that_closes_after_every_answer_is_told_from_one_with_a_limit() {
        for (more, wanted) in [
            (49_950, "the server closes after every response"),
            (4_950, "the server closes after about 10 requests each"),
            (200_000, "the server closes them"),
        ] {
            let sentence = &found(&reopened(more))[0].sentence;
            assert!(sentence.ends_with(wanted), "{sentence}");
        }
    }

    #[test]
    fn faults_that_end_connections_are_the_reason_where_they_ended_most() {
        for (resets, wanted) in [(25, "requests each"), (26, "most ended with an error")] {
            let mut run = reopened(50);
            let tally = &mut run.points[0].rounds[0].tally;
            (0..resets).for_each(|_| fail(tally, Kind::Reset, 0));
            // These end none.
            (0..100).for_each(|_| fail(tally, Kind::Abandoned, 0));
            (0..100).for_each(|_| fail(tally, Kind::Status5xx, 503));
            let sentence = &found(&run)[0].sentence;
            assert!(sentence.ends_with(wanted), "{resets}: {sentence}");
        }
    }

    #[test]
    fn numbers_of_requests_are_rounded_to_two_digits() {
        for (value, wanted) in [
            (1.2, 1),
            (9.6, 10),
            (12.4, 12),
            (973.0, 970),
            (996.0, 1_000),
            (1_049.0, 1_000),
        ] {
            assert_eq!(two_digits(value), wanted, "{value}");
        }
    }
}
