//! Is what was required of the result met? Met, not met, or it cannot be told, with one sentence each.
//!
//! What was counted is judged as counted. Any other figure is judged by its 95 % interval over the rounds: one that
//! contains the bound decides nothing. Where there is no interval the figure itself decides, and the sentence says so. A
//! figure that is void or missing decides nothing, and one that is a lower bound only what a lower bound can.

use crate::known::{Basis, Known, figure, is_of_requests};
use figures::{Selected, Unit};
use plan::{Comparison, Level, Operator, Requirement};
use record::{Compliance, Grade, Judged, Point, Run};
use stats::Interval;
use std::borrow::Cow;
use thiserror::Error;
use units::Nanos;

/// Why a requirement can never be judged: its figure is unknown, its bound has another unit, or it wants a figure that is
/// measured to equal a number.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}`: {1}")]
pub struct RequirementError(Requirement, String);

/// Returns whether `requirement` can be judged: its figure exists, and its bound has the figure's unit.
///
/// # Errors
/// [`RequirementError`].
pub fn check(requirement: &Requirement) -> Result<(), RequirementError> {
    let Requirement::Figure(compared) = requirement else {
        return Ok(());
    };
    let error = |why: String| RequirementError(requirement.clone(), why);
    let figure = figure(&compared.figure).map_err(|unknown| error(unknown.to_string()))?;
    let Comparison {
        figure: name,
        bound: text,
        ..
    } = compared;
    let Some(example) = example(&figure, compared) else {
        let why =
            format!("{name} is text, which cannot be compared; require a number, such as p99<20ms");
        return Err(error(why));
    };
    let unit = figure.figure.unit;
    let number = text.number();
    let is_part = unit == Unit::Count && number.is_some_and(|number| number.fract() != 0.0);
    if is_part || bound(compared, &figure, 1.0).is_none() {
        let (kind, _) = unit.kind();
        let fault = match number {
            Some(_) if unit == Unit::Micros => "has no unit",
            _ => "is not",
        };
        return Err(error(format!(
            "{name} is {kind}, and {text} {fault}; write such as {example}"
        )));
    }
    if compared.operator == Operator::Equal && unit != Unit::Count {
        let why = "only counts can be required to equal a number";
        return Err(error(format!(
            "{why}; write such as {name}<{text} or {name}>{text}"
        )));
    }
    Ok(())
}

/// Judges `required` at each point of `run`, whose findings must have been judged; of a search at the point that is its
/// answer, if it has one. Rounds that were cut short do not count: what an interrupt cuts off is no error of the server.
/// At a point without a complete round only what the plan names is judged, not what goes without saying.
pub fn requirements(run: &Run, required: &[Requirement]) -> Vec<Judged> {
    let run = &*complete(run);
    let capacity = run.curve.as_ref().and_then(|curve| curve.capacity);
    let is_judged = |index: &usize| match run.plan.is_search() {
        true => capacity.and_then(|found| found.holds) == Some(*index),
        false => true,
    };
    let points = (0..run.points.len()).filter(is_judged);
    let judged = points.flat_map(|index| {
        let is_empty = run.points[index].rounds.is_empty();
        let required = if is_empty {
            &run.plan.requirements
        } else {
            required
        };
        requirements_at(run, index, required)
    });
    judged.chain(unmeasured(run)).collect()
}

/// What the plan requires cannot be told at a load level of which nothing was measured. A search has no levels beforehand.
fn unmeasured(run: &Run) -> impl Iterator<Item = Judged> {
    let is_measured = |level: &Level| run.points.iter().any(|point| point.level == *level);
    let mut levels = run.plan.levels();
    levels.retain(|level| !run.plan.is_search() && !is_measured(level));
    levels.into_iter().flat_map(move |level| {
        let required = run.plan.requirements.iter();
        required.map(move |each| Judged {
            text: match run.is_sweep() {
                true => format!("{each} at {}", run.plan.name(&level)),
                false => each.to_string(),
            },
            point: None,
            verdict: Compliance::CannotTell,
            sentence: "no round was measured".to_owned(),
        })
    })
}

/// Judges `required` at the point with index `index` of `run`.
pub fn requirements_at(run: &Run, index: usize, required: &[Requirement]) -> Vec<Judged> {
    required
        .iter()
        .map(|each| judge(run, index, each))
        .collect()
}

/// Leaves out the rounds that were cut short.
fn complete(run: &Run) -> Cow<'_, Run> {
    let is_cut = |point: &Point| point.rounds.iter().any(|round| round.partial);
    if !run.points.iter().any(is_cut) {
        return Cow::Borrowed(run);
    }
    let mut run = run.clone();
    for point in run.points.iter_mut().filter(|point| is_cut(point)) {
        point.rounds.retain(|round| !round.partial);
        (point.summary, point.footprint) = (None, None);
    }
    Cow::Owned(run)
}

/// Judges one requirement at the point with index `index`.
fn judge(run: &Run, index: usize, required: &Requirement) -> Judged {
    let judged = match required {
        Requirement::Reliable => Ok(reliable(run, index)),
        Requirement::Figure(compared) => compare(run, index, compared),
    };
    let (verdict, why) = judged.unwrap_or_else(|why| (Compliance::CannotTell, why));
    let at = match run.is_sweep() {
        true => format!("at {}, ", run.plan.name(&run.points[index].level)),
        false => String::new(),
    };
    Judged {
        text: required.to_string(),
        point: (run.points.len() > 1).then_some(index),
        verdict,
        sentence: format!("{at}{why}"),
    }
}

/// No finding makes a figure of the point invalid.
fn reliable(run: &Run, index: usize) -> (Compliance, String) {
    let mut findings = run.findings.iter();
    let invalid = findings.find(|each| each.grade() == Grade::Invalid && each.concerns(index));
    match invalid {
        Some(finding) => (Compliance::NotMet, finding.sentence.clone()),
        None => (Compliance::Met, "no figure is invalid".to_owned()),
    }
}

/// Compares a figure to its bound; fails with the reason why nothing can be told.
fn compare(run: &Run, index: usize, compared: &Comparison) -> Result<(Compliance, String), String> {
    let figure = figure(&compared.figure).map_err(|error| error.to_string())?;
    let known = Known::of(run, index, &compared.figure, figure)?;
    let requests = known.requests as f64;
    let bound = bound(compared, &figure, requests).ok_or("the bound has another unit")?;
    let number = known.number().ok_or("it is no number")?;
    let verdict = verdict(&known.basis, number, compared.operator, bound);
    let is_inside = verdict == Compliance::CannotTell && matches!(known.basis, Basis::Interval(_));
    let inside = if is_inside {
        ", and the bound is in it"
    } else {
        ""
    };
    Ok((verdict, format!("{known}{inside}")))
}

/// Decides whether a figure compares as `operator` says to `bound`.
fn verdict(basis: &Basis<'_>, value: f64, operator: Operator, bound: f64) -> Compliance {
    let holds = |value: f64| operator.holds(value, bound);
    let is_met = match basis {
        Basis::Counted | Basis::Alone(_) => holds(value),
        Basis::Interval(Interval { low, high, .. }) if holds(*low) == holds(*high) => holds(*low),
        // The true value is this one or any above it.
        Basis::AtLeast(_) if operator.is_upper() != holds(value) => holds(value),
        Basis::Interval(_) | Basis::AtLeast(_) => return Compliance::CannotTell,
    };
    match is_met {
        true => Compliance::Met,
        false => Compliance::NotMet,
    }
}

/// Reads a bound in the unit of its figure; a share of requests as one of `requests`.
fn bound(compared: &Comparison, figure: &Selected, requests: f64) -> Option<f64> {
    let bound = &compared.bound;
    match figure.figure.unit {
        Unit::Micros => {
            let bare = compared.figure.contains("_us").then(|| bound.number());
            bound.time().map(Nanos::as_micros_f64).or(bare.flatten())
        }
        Unit::Seconds => bound.time().map(Nanos::as_secs_f64).or(bound.number()),
        Unit::Share => bound
            .share()
            .or(bound.number().filter(|share| *share <= 1.0)),
        Unit::Bytes => bound.bytes(),
        Unit::Count if is_of_requests(figure) => bound
            .number()
            .or_else(|| Some(whole(bound.share()? * requests))),
        Unit::Count | Unit::PerSecond | Unit::Plain => bound.number(),
        Unit::Text => None,
    }
}

/// Undoes what binary fractions add: 29 % of 100 is 28.999999999999996.
fn whole(number: f64) -> f64 {
    let near = number.round();
    if (number - near).abs() <= number * 1e-12 {
        near
    } else {
        number
    }
}

/// Shows a comparison with a bound in the unit of the figure; none of text.
fn example(figure: &Selected, compared: &Comparison) -> Option<String> {
    let (_, bound) = figure.figure.unit.kind();
    let example = format!("{}{}", compared.figure, compared.operator.sign());
    let share = |bound| format!(" or {example}{bound}");
    let or = is_of_requests(figure).then(|| share("0.1%"));
    Some(format!("{example}{}{}", bound?, or.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{fail, healthy};
    use crate::judge as findings;
    use Compliance::{CannotTell, Met, NotMet};
    use record::Kind;

    /// The verdict on `text` and its sentence.
    fn judged(run: &Run, text: &str) -> (Compliance, String) {
        let required = text.parse().unwrap();
        assert_eq!(check(&required), Ok(()));
        let mut run = run.clone();
        run.plan.requirements = vec![required];
        run.summarise();
        run.findings = findings(&run);
        let judged = requirements(&run, &run.plan.requirements).remove(0);
        assert_eq!(judged.text, text);
        (judged.verdict, judged.sentence)
    }

    #[test]
    fn a_level_of_which_nothing_was_measured_cannot_be_told() {
        let mut run = record::example::sweep();
        run.plan.requirements = vec!["errors<50%".parse().unwrap()];
        let all = requirements(&run, &run.plan.requirements);
        assert!(all.iter().all(|each| each.verdict == Met), "{all:?}");
        run.points.pop().unwrap();
        let most = requirements(&run, &run.plan.requirements);
        let (last, rest) = most.split_last().unwrap();
        assert!(rest.iter().all(|each| each.verdict == Met), "{rest:?}");
        assert_eq!((most.len(), last.verdict), (all.len(), CannotTell));
        assert!(
            last.text.starts_with("errors<50% at ") && last.sentence == "no round was measured",
            "{last:?}"
        );
        run.points.clear();
        let none = requirements(&run, &run.plan.requirements);
        assert!(
            none.iter().all(|each| each.verdict == CannotTell),
            "{none:?}"
        );
        assert_eq!(none.len(), all.len());
        run.interrupted = true;
        let found = findings(&run);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].grade(), Grade::Invalid);
    }

    fn assert_judged(run: &Run, cases: &[(&str, Compliance, &str)]) {
        for (text, verdict, sentence) in cases {
            assert_eq!(
                judged(run, text),
                (*verdict, (*sentence).to_owned()),
                "{text}"
            );
        }
    }

    /// The healthy run, whose rounds have 100 requests each, of which so many failed.
    fn failing(failures: u64) -> Run {
        let mut run = healthy();
        for round in &mut run.points[0].rounds {
            round.tally = record::Tally::default();
            (0..100 - failures)
                .for_each(|number| crate::fixture::answer(&mut round.tally, number, 200));
            (0..failures).for_each(|_| fail(&mut round.tally, Kind::Reset, 0));
        }
        run
    }

    #[test]
    fn counts_are_judged_as_counted_alone_and_as_a_share() {
        let shown = "errors are 5 of 500 requests (1.0 %)";
        assert_judged(
            &failing(1),
            &[
                ("errors<1%", NotMet, shown),
                ("errors<=1%", Met, shown),
                ("errors<=5", Met, shown),
                ("errors<5", NotMet, shown),
                ("errors=5", Met, shown),
                (
                    "errors.reset=5",
                    Met,
                    "errors.reset are 5 of 500 requests (1.0 %)",
                ),
                (
                    "errors.timeout=0",
                    Met,
                    "errors.timeout are 0 of 500 requests (0 %)",
                ),
                ("reset>4", Met, "reset is 5 of 500 requests (1.0 %)"),
                (
                    "status.200>=495",
                    Met,
                    "status.200 is 495 of 500 requests (99.0 %)",
                ),
                (
                    "status.404<1%",
                    Met,
                    "status.404 is 0 of 500 requests (0 %)",
                ),
                ("requests=500", Met, "requests is 500"),
            ],
        );
    }

    #[test]
    fn a_share_that_binary_fractions_cannot_say_is_allowed_whole() {
        for percent in 1..100u64 {
            let run = failing(percent);
            assert_eq!(judged(&run, &format!("errors<={percent}%")).0, Met);
            assert_eq!(judged(&run, &format!("errors<{percent}%")).0, NotMet);
        }
    }

    /// The healthy run with these numbers of ok endings in its rounds of a second.
    fn paced(rates: &[u64]) -> Run {
        let mut run = healthy();
        let pattern = run.points[0].rounds[0].clone();
        let round = |(index, rate): (usize, &u64)| {
            let mut round = pattern.clone();
            round.index = index as u32;
            round.tally.ok_in_window = *rate;
            round
        };
        run.points[0].rounds = rates.iter().enumerate().map(round).collect();
        run
    }

    #[test]
    fn an_interval_that_contains_the_bound_decides_nothing() {
        let shown = "rps is 916 to 1,090 (95 % interval over 3 rounds)";
        let inside = format!("{shown}, and the bound is in it");
        assert_judged(
            &paced(&[965, 1_000, 1_035]),
            &[
                ("rps>900", Met, shown),
                ("rps<900", NotMet, shown),
                ("rps>1k", CannotTell, &inside),
                ("rps<=1k", CannotTell, &inside),
                ("rps>1.1k/s", NotMet, shown),
                ("rps<1.1k", Met, shown),
            ],
        );
    }

    #[test]
    fn a_figure_without_an_interval_decides_by_itself_and_that_is_said() {
        let shown = "rps is 1,000 (no interval: fewer than three complete rounds)";
        assert_judged(
            &paced(&[990, 1_010]),
            &[("rps>=1k", Met, shown), ("rps>1k", NotMet, shown)],
        );
    }

    #[test]
    fn latencies_have_an_interval_over_the_rounds_that_carry_them() {
        let run = healthy();
        let (verdict, sentence) = judged(&run, "p99<1ms");
        assert_eq!(verdict, Met);
        assert_eq!(
            sentence,
            "p99 is 198 us to 198 us (95 % interval over 5 rounds)"
        );
        let (verdict, sentence) = judged(&run, "latency_us.p99>150");
        assert_eq!((verdict, sentence.contains("95 % interval")), (Met, true));
        let (verdict, sentence) = judged(&run, "cpu_us_per_request<1ms");
        assert_eq!(verdict, Met);
        let wanted = "cpu_us_per_request is 97.0 us to 97.0 us (95 % interval over 5 rounds)";
        assert_eq!(sentence, wanted);
        let (verdict, sentence) = judged(&run, "max<1ms");
        assert_eq!(verdict, Met);
        assert!(sentence.starts_with("max is 199 us"), "{sentence}");
    }

    #[test]
    fn a_percentile_that_coordinated_omission_affects_is_judged_and_that_is_said() {
        let run = record::example::stalled();
        let judged = requirements(&run, &["p99<1h".parse().unwrap()]).remove(0);
        assert_eq!(judged.verdict, Met);
        let wanted = ", affected by coordinated omission";
        assert!(judged.sentence.ends_with(wanted), "{}", judged.sentence);
        let judged = requirements(&run, &["p50<1h".parse().unwrap()]).remove(0);
        assert!(!judged.sentence.contains(wanted), "{}", judged.sentence);
    }

    #[test]
    fn what_is_missing_cannot_be_judged() {
        let mut run = failing(0);
        let few = "p99.9 takes 10,000 requests, and there are 500";
        assert_judged(&run, &[("p99.9<1h", CannotTell, few)]);
        for round in &mut run.points[0].rounds {
            round.footprint = None;
        }
        let unseen = "cpu_us_per_request was not measured: the server was not observed";
        assert_judged(&run, &[("cpu_us_per_request<30", CannotTell, unseen)]);
        let rounds = run.points[0].rounds.iter_mut();
        rounds.for_each(|round| round.partial = true);
        assert_judged(&run, &[("errors=0", CannotTell, "no round is complete")]);
    }

    #[test]
    fn a_lower_bound_decides_where_it_is_beyond_the_bound_already() {
        let mut run = paced(&[1_000; 5]);
        for round in &mut run.points[0].rounds {
            round.threads = vec![crate::fixture::busy_thread(0.99)];
            round.footprint = Some(crate::fixture::busy_server(0.20));
        }
        for (text, wanted) in [
            ("rps>999", Met),
            ("rps<1000", NotMet),
            ("rps>1k", CannotTell),
            ("rps<2k", CannotTell),
        ] {
            let (verdict, sentence) = judged(&run, text);
            assert_eq!(verdict, wanted, "{text}: {sentence}");
            assert!(
                sentence.starts_with("rps is at least 1,000 ("),
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_void_figure_cannot_be_judged_and_is_not_reliable() {
        let mut run = healthy();
        assert_judged(&run, &[("reliable", Met, "no figure is invalid")]);
        run.points[0].rounds[0].suspended = Nanos::from_secs(1);
        let (verdict, sentence) = judged(&run, "rps>1");
        assert_eq!(verdict, CannotTell);
        let wanted = "rps is void: the machine was suspended";
        assert!(sentence.starts_with(wanted), "{sentence}");
        let (verdict, sentence) = judged(&run, "reliable");
        assert_eq!(verdict, NotMet);
        assert!(
            sentence.starts_with("the machine was suspended"),
            "{sentence}"
        );
    }

    #[test]
    fn of_a_sweep_each_point_is_judged_and_named() {
        let mut run = healthy();
        let mut other = failing(50).points.remove(0);
        other.level.load = plan::Load::Closed { connections: 7 };
        run.plan.sweep = Some(plan::Sweep {
            axes: vec![plan::Axis::Connections(vec![10, 7])],
            ..plan::Sweep::default()
        });
        run.points.push(other);
        run.summarise();
        run.findings = findings(&run);
        let required = plan::requirement::requirements("errors<1%,errors<1k").unwrap();
        let judged = requirements(&run, &required);
        let verdicts: Vec<_> = judged
            .iter()
            .map(|each| (each.point, each.verdict))
            .collect();
        let wanted = [
            (Some(0), Met),
            (Some(0), Met),
            (Some(1), NotMet),
            (Some(1), Met),
        ];
        assert_eq!(verdicts, wanted);
        let wanted =
            "errors<1% is not met: at 7 connections, errors are 250 of 500 requests (50 %)";
        assert_eq!(judged[2].reason(), wanted);
    }

    #[test]
    fn of_a_search_the_rate_that_was_found_is_judged() {
        let mut run = record::example::sweep();
        run.plan.slo = Some("errors<100%".parse().unwrap());
        let required = plan::requirement::requirements("errors<1%").unwrap();
        let mut at = |holds: Option<usize>| {
            let curve = run.curve.as_mut().unwrap();
            curve.capacity = Some(record::Capacity {
                holds,
                ..record::Capacity::default()
            });
            requirements(&run, &required)
        };
        assert_eq!(at(None), []);
        let judged = at(Some(1));
        assert_eq!((judged.len(), judged[0].point), (1, Some(1)));
    }

    #[test]
    fn without_a_complete_round_only_what_was_named_is_judged() {
        let mut run = failing(50);
        run.points[0].rounds.truncate(1);
        run.points[0].rounds[0].partial = true;
        assert_eq!(requirements(&run, &run.plan.required()), []);
        run.plan.requirements = plan::requirement::requirements("errors<1%").unwrap();
        let judged = requirements(&run, &run.plan.required());
        assert_eq!(
            judged[0].reason(),
            "errors<1% cannot be judged: no round is complete"
        );
    }

    #[test]
    fn what_was_cut_short_is_not_judged() {
        let mut run = failing(0);
        let cut = &mut run.points[0].rounds[4];
        cut.partial = true;
        (0..100).for_each(|_| fail(&mut cut.tally, Kind::Unfinished, 0));
        let shown = "errors are 0 of 400 requests (0 %)";
        assert_judged(&run, &[("errors=0", Met, shown)]);
    }

    /// Bounds of every kind, and for figures of each unit those that can be compared with them.
    #[test]
    fn a_bound_has_the_unit_of_its_figure() {
        let bounds = ["5", "0.5", "10k", "5%", "5ms", "2m", "5MiB", "5B"];
        for (names, allowed) in [
            ("p99 max", "5ms 2m"),
            (
                "latency_us.p99 open.queued_us.max cpu_us_per_request",
                "5 0.5 10k 5ms 2m",
            ),
            ("duration_s cpu_s", "5 0.5 10k 5ms 2m"),
            (
                "errors timeout status.404 ok by_request.3.errors",
                "5 10k 5% 2m",
            ),
            ("requests open.sessions.skipped", "5 10k 2m"),
            ("rps connections.per_second", "5 0.5 10k 2m"),
            ("server.cpus rate", "5 0.5 10k 2m"),
            (
                "server.busy errors.share coordinated_omission.affected_from",
                "0.5 5%",
            ),
            ("bytes_received pss_bytes.peak", "5 0.5 5MiB 5B"),
            ("target server url findings cpu_lower_bound", ""),
        ] {
            for name in names.split(' ') {
                let is_allowed =
                    |bound: &&str| check(&format!("{name}<{bound}").parse().unwrap()).is_ok();
                let all: Vec<&str> = bounds.into_iter().filter(is_allowed).collect();
                assert_eq!(all.join(" "), allowed, "{name}");
            }
        }
    }

    #[test]
    fn every_example_of_a_bound_can_be_judged() {
        for name in figures::names() {
            let Some(refused) = ["5s", "5MiB"]
                .iter()
                .find_map(|bound| check(&format!("{name}<{bound}").parse().ok()?).err())
            else {
                panic!("{name} has two units");
            };
            let told = refused.to_string();
            if let Some((_, example)) = told.split_once("write such as ") {
                for example in example.split(" or ") {
                    assert_eq!(check(&example.parse().unwrap()), Ok(()), "{example}");
                }
            }
        }
    }

    const REFUSED: &[(&str, &str)] = &[
        (
            "p99<20",
            "p99 is a time, and 20 has no unit; write such as p99<20ms",
        ),
        (
            "p99<5%",
            "p99 is a time, and 5% is not; write such as p99<20ms",
        ),
        (
            "rps>20ms",
            "rps is a rate, and 20ms is not; write such as rps>10k",
        ),
        (
            "rps>5MiB",
            "rps is a rate, and 5MiB is not; write such as rps>10k",
        ),
        (
            "errors<1ms",
            "errors is a count, and 1ms is not; write such as errors<10 or errors<0.1%",
        ),
        (
            "errors<0.5",
            "errors is a count, and 0.5 is not; write such as errors<10 or errors<0.1%",
        ),
        (
            "requests>1%",
            "requests is a count, and 1% is not; write such as requests>10",
        ),
        (
            "bytes_received>1%",
            "bytes_received is a size, and 1% is not; write such as bytes_received>20MiB",
        ),
        (
            "server.busy<80",
            "server.busy is a share, and 80 is not; write such as server.busy<80%",
        ),
        (
            "server.cpus<5ms",
            "server.cpus is a number, and 5ms is not; write such as server.cpus<4",
        ),
        (
            "duration_s>1MiB",
            "duration_s is a time, and 1MiB is not; write such as duration_s>2s",
        ),
        (
            "target<5",
            "target is text, which cannot be compared; require a number, such as p99<20ms",
        ),
        (
            "by_request.0.errors>1s",
            "by_request.0.errors is a count, and 1s is not; write such as by_request.0.errors>10 or by_request.0.errors>0.1%",
        ),
        (
            "rps=10k",
            "only counts can be required to equal a number; write such as rps<10k or rps>10k",
        ),
        (
            "baseline_us.p95<1ms",
            "no figure is called `baseline_us.p95`; did you mean `baseline_us.p99`?",
        ),
        (
            "erors<1%",
            "no figure is called `erors`; did you mean `errors`?",
        ),
        (
            "p9999999999<1s",
            "no figure is called `p9999999999`; did you mean `p999`?",
        ),
    ];

    #[test]
    fn what_can_never_be_judged_is_refused_with_what_to_write() {
        for (text, wanted) in REFUSED {
            let required: Requirement = text.parse().unwrap();
            let said = check(&required).unwrap_err().to_string();
            assert_eq!(said, format!("`{text}`: {wanted}"));
        }
        assert_eq!(check(&Requirement::Reliable), Ok(()));
    }
}
