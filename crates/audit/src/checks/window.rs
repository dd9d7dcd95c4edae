//! Were the windows long enough for a rate?

use super::prelude::*;
use plan::{Load, Stop};

pub(super) const CHECK: Check = Check {
    name: "window",
    question: "Were the windows long enough for a rate?",
    looks_at: "The length of the complete rounds' windows. A window opens with every connection sending at once and, \
               with a number of requests, closes with the last of them alone. In a short window these edges are too \
               large a part; so they are where a closed loop sends few requests over each connection. Also whether responses came in the windows while no request that was scheduled in them \
               ended ok: those are responses to the warm-up.",
    thresholds: &[
        guess("length, under", || span(LONG_ENOUGH)),
        threshold(
            "with a number of requests, share of requests/s that the end of a closed loop takes, over",
            || percent(END_MOST),
            "exponential service times: the last of c connections takes 1 + 1/2 + ... + 1/c times the mean",
        ),
    ],
    false_alarms: "none: it follows from the plan",
    power: "simulation: a closed loop of -n requests loses 6 to 39 % of requests/s in windows that it marks",
    effect: "Requests/s and its interval get a caveat; they are void where only requests of the warm-up ended ok.",
    remedy: "Measure longer, with --duration or more --requests.",
    cause: Cause::ShortWindow,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// A window of at least this length is mostly not edges.
const LONG_ENOUGH: Nanos = Nanos::from_millis(100);

/// The largest share of requests/s that the end may take, when ever fewer connections are busy.
const END_MOST: f64 = 0.02;

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    of_warmup(evidence)
        .or_else(|| short(evidence))
        .or_else(|| few_each(evidence))
}

/// A number of requests over so many connections that the end, when fewer and fewer of them are busy, is a large part.
fn few_each(evidence: &Evidence<'_>) -> Option<Finding> {
    let (Some(Load::Closed { connections }), Stop::Requests(requests)) =
        (evidence.load, evidence.plan()?.stop)
    else {
        return None;
    };
    // The last of c exponential times takes their harmonic number times the mean; one of them is no loss.
    let harmonic: f64 = (1..=connections).map(|each| 1.0 / f64::from(each)).sum();
    let (each, lost) = (requests as f64 / f64::from(connections), harmonic - 1.0);
    let share = lost / (each + lost);
    if share <= END_MOST {
        return None;
    }
    let over = number(connections.into(), "connection");
    let headline = format!("only {} over {over}", number(requests, "request"));
    let sentence = format!(
        "{headline}: while the last ones are waited for, ever fewer connections are busy, which may lower requests/s by {}",
        percent(share)
    );
    let finding = caveat(&[Figure::Rps, Figure::Interval], headline, sentence);
    let needed = (lost * (1.0 - END_MOST) / END_MOST * f64::from(connections)).ceil() as u64;
    let finding = finding.remedy(format!(
        "Measure for a time, with --duration, or {} --requests",
        count(needed)
    ));
    Some(finding.options("--duration 5s").evidence([
        ("requests for each connection", each),
        ("share of requests/s", share),
    ]))
}

/// Throughput of which no request of the windows is a part.
fn of_warmup(evidence: &Evidence<'_>) -> Option<Finding> {
    let tally = evidence.tally.as_ref()?;
    if tally.ok > 0 || tally.ok_in_window == 0 {
        return None;
    }
    let headline = "no request that was sent in the window ended ok";
    let sentence = format!(
        "{headline}; the {} in it answered requests of the warm-up",
        number(tally.ok_in_window, "response")
    );
    let finding = void(&[Figure::Rps, Figure::Interval], headline, sentence);
    let remedy = "Find the reason in the error table (-v), or measure longer with --duration";
    let evidence = [("responses to the warm-up", tally.ok_in_window as f64)];
    Some(
        finding
            .because(Cause::Errors)
            .remedy(remedy)
            .evidence(evidence),
    )
}

fn short(evidence: &Evidence<'_>) -> Option<Finding> {
    let rounds = evidence.complete().unwrap_or_default();
    let spans = rounds.iter().map(|round: &&Round| round.window.span());
    let mut short: Vec<Nanos> = spans.filter(|span| *span < LONG_ENOUGH).collect();
    short.sort_unstable();
    let (least, most) = (short.first()?, short.last()?);
    let length = match (span(*least), span(*most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    };
    let headline = format!("windows of {length} are too short for a rate");
    let sentence =
        format!("{headline}: their start and end, with idle connections, are too large a part");
    let finding = caveat(&[Figure::Rps, Figure::Interval], headline, sentence);
    Some(finding.options("--duration 5s").evidence([
        ("shortest window, ms", least.as_secs_f64() * 1e3),
        ("rounds with a short window", short.len() as f64),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{answer, fail, healthy};
    use record::{Grade, Kind, Run};

    /// The healthy run, whose first rounds have windows of these lengths.
    fn run(spans: &[Nanos]) -> Run {
        let mut run = healthy();
        for (round, span) in run.points[0].rounds.iter_mut().zip(spans) {
            round.window.end = round.window.start + *span;
        }
        run
    }

    fn found(run: &Run) -> Vec<Finding> {
        Vec::from_iter(judge(&Evidence::of(run, &run.points[0])))
    }

    #[test]
    fn few_requests_for_each_connection_lower_throughput_at_the_end() {
        // The last of ten exponential times takes 2.93 times their mean: 1.93 of 96.5 are 2 %.
        for (connections, requests, told) in [
            (10, 945, true),
            (10, 946, false),
            (1_000, 100_000, true),
            (1, 10, false),
        ] {
            let mut run = run(&[]);
            run.plan.stop = Stop::Requests(requests);
            run.points[0].level.load = Load::Closed { connections };
            assert_eq!(!found(&run).is_empty(), told, "{connections} {requests}");
        }
        let mut run = run(&[]);
        run.plan.stop = Stop::Requests(1_000);
        run.points[0].level.load = Load::Closed { connections: 100 };
        let found = found(&run).remove(0);
        let wanted = "only 1,000 requests over 100 connections: while the last ones are waited for, ever fewer connections \
                      are busy, which may lower requests/s by 30 %";
        assert_eq!(found.sentence, wanted);
        assert!(found.remedy.unwrap().contains("20,519 --requests"));
    }

    #[test]
    fn responses_to_the_warm_up_alone_are_no_throughput() {
        let mut run = run(&[]);
        assert_eq!(found(&run), []);
        for round in &mut run.points[0].rounds {
            round.tally = Tally::default();
            fail(&mut round.tally, Kind::Timeout, 0);
        }
        assert_eq!(found(&run), [], "no throughput at all is right");
        run.points[0].rounds[0].tally.ok_in_window = 4;
        let found = found(&run).remove(0);
        let wanted = "no request that was sent in the window ended ok; the 4 responses in it answered requests of the \
                      warm-up";
        assert_eq!(found.sentence, wanted);
        assert_eq!(found.effects.on(Figure::Rps), Some(Effect::Void));
        run.points[0].rounds[1].tally = run.points[0].rounds[0].tally.clone();
        answer(&mut run.points[0].rounds[1].tally, 0, 200);
        assert!(of_warmup(&Evidence::of(&run, &run.points[0])).is_none());
    }

    #[test]
    fn a_window_of_100_ms_passes_and_a_nanosecond_less_does_not() {
        assert_eq!(found(&healthy()), []);
        assert_eq!(found(&run(&[LONG_ENOUGH])), []);
        let short = found(&run(&[LONG_ENOUGH.saturating_sub(Nanos::from_nanos(1))]));
        assert_eq!((short.len(), short[0].grade()), (1, Grade::Caveat));
        assert_eq!(short[0].effects.figures(), [Figure::Rps, Figure::Interval]);
    }

    #[test]
    fn the_lengths_are_said() {
        let (short, longer) = (Nanos::from_micros(3_800), Nanos::from_millis(42));
        let cases: &[(&[Nanos], &str)] = &[
            (&[short], "windows of 3.80 ms are too short for a rate: "),
            (&[short; 5], "windows of 3.80 ms are too short for a rate: "),
            (
                &[longer, short],
                "windows of 3.80 ms to 42.0 ms are too short for a rate: ",
            ),
        ];
        for (spans, wanted) in cases {
            let found = found(&run(spans));
            assert!(
                found[0].sentence.starts_with(wanted),
                "{}",
                found[0].sentence
            );
        }
    }

    #[test]
    fn a_round_that_was_cut_short_is_no_short_window() {
        let mut run = run(&[Nanos::from_millis(1)]);
        run.points[0].rounds[0].partial = true;
        assert_eq!(found(&run), []);
    }
}
