//! Does the curve of a sweep fall off a cliff between two neighbouring levels?

use super::levels::{Level, Step, levels, point, step};
use super::prelude::*;
use plan::Axis;

pub(super) const CHECK: Check = Check {
    name: "cliff",
    question: "Does a sweep over connections fall off a cliff between two levels, as at a limit?",
    looks_at: "Neighbouring levels of a closed loop, each with three complete rounds or more. Requests/s: whether it \
               falls by more than a scaling law can turn down in one step, whose slope on logarithmic scales falls \
               gradually; once it is flat, only as fast as it already bends. Errors: hardly any in every round of the lower level, many in every round of the higher one; \
               the same for connections without a response. p99: whether every round of the higher level is far \
               above every round of the lower one.",
    thresholds: &[
        threshold(
            "chance of such a fall by the rounds' scatter alone, at most, all levels together",
            || percent(ALPHA),
            "Student's t, one-sided, divided by the number of steps",
        ),
        threshold(
            "fall on logarithmic scales that a scaling law explains in one step, and change of its slope for each factor e",
            || TURN_MOST.to_string(),
            "N/(1 + a(N - 1) + bN(N - 1)) over a grid of a, b and steps: at most 1.02 and 1.20 for b up to 0.13",
        ),
        guess("fall of requests/s, over", || percent(FALL_LEAST)),
        threshold(
            "errors of the lower level, up to",
            || percent(FEW),
            "a tenth of the default of --max-errors",
        ),
        threshold(
            "errors of the higher level, from",
            || percent(MANY),
            "the default of --max-errors",
        ),
        guess("p99, times the ratio of the connections, from", || {
            TIMES.to_string()
        }),
    ],
    false_alarms: "simulation of 3,000 sweeps of eight levels and three rounds by scaling laws (flat, falling, steeply \
                   falling), scatter 2 to 10 %, independent rounds: at most 1 %, which a test repeats; p99 with a \
                   scatter of 30 % at most 1 %",
    power: "the same simulation on a flat curve with a scatter of 3 %: a fall of a half is found in over 90 % of \
            sweeps, one of 30 % in over a third",
    effect: "A note that names the level: every figure stands.",
    remedy: "Look for a limit between the two levels, and load levels between them.",
    cause: Cause::Other,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// Chance of a false alarm, all steps together.
const ALPHA: f64 = 0.01;
/// A smaller fall is no cliff.
const FALL_LEAST: f64 = 0.20;
/// How steeply a scaling law falls on logarithmic scales, and how fast its slope changes; 1 for many connections.
const TURN_MOST: f64 = 1.2;
/// Share of errors of a level that has hardly any.
const FEW: f64 = 0.001;
/// And of one that has many.
const MANY: f64 = 0.01;
/// In a closed loop whose requests/s holds, mean latency grows as the connections do (Little's law).
const TIMES: f64 = 4.0;

/// Usual limits of connections or workers by default.
const LIMITS: &[(u32, &str)] = &[
    (100, "PostgreSQL max_connections"),
    (128, "net.core.somaxconn before Linux 5.4"),
    (150, "Apache MaxRequestWorkers on Debian"),
    (151, "MySQL max_connections"),
    (200, "Tomcat maxThreads"),
    (256, "Apache prefork MaxRequestWorkers"),
    (400, "Apache event MaxRequestWorkers"),
    (512, "nginx worker_connections"),
    (768, "nginx worker_connections on Debian"),
    (1024, "open files (ulimit -n)"),
    (4096, "net.core.somaxconn"),
];

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let (Axis::Connections(_), levels) = levels(evidence)? else {
        return None;
    };
    if levels.iter().any(|level| level.point.level.load.is_open()) {
        return None;
    }
    let pairs = || levels.windows(2).map(|pair| (&pair[0], &pair[1]));
    let (what, (low, high)) = pairs()
        .find_map(|pair| Some((errors(pair.0, pair.1)?, pair)))
        .or_else(|| {
            let curve: Vec<_> = levels
                .iter()
                .map(|level| (level.value, &level.rates[..]))
                .collect();
            let (at, fall) = fall(&curve)?;
            let what = format!("requests/s falls by {}", percent(fall));
            Some((what, (&levels[at], &levels[at + 1])))
        })
        .or_else(|| pairs().find_map(|pair| Some((latency(pair.0, pair.1)?, pair))))?;
    Some(finding(&what, low, high))
}

fn finding(what: &str, low: &Level<'_>, high: &Level<'_>) -> Finding {
    let [from, to] = [low.value as u32, high.value as u32];
    let sentence = format!(
        "cliff between {} and {}: {what}, more than a curve bends",
        count(from.into()),
        number(to.into(), "connection"),
    );
    let usual = LIMITS
        .iter()
        .filter(|(limit, _)| (from..to).contains(limit));
    let usual: Vec<String> = usual
        .map(|(limit, name)| format!("{} ({name})", count((*limit).into())))
        .collect();
    let usual = if usual.is_empty() {
        String::new()
    } else {
        format!(", such as {}", usual.join(", "))
    };
    let mut finding = note(sentence)
        .remedy(format!(
            "Look for a limit of connections or workers between the two levels{usual}"
        ))
        .evidence([
            ("connections below", low.value),
            ("connections above", high.value),
        ]);
    (finding.point, finding.level) = (Some(high.place), Some(high.point.level));
    finding
}

/// Errors, or connections without a response, that begin between two levels.
fn errors(low: &Level<'_>, high: &Level<'_>) -> Option<String> {
    let failed = |round: &Round| round.tally.errors() as f64 / round.tally.requests().max(1) as f64;
    let silent = |round: &Round| {
        round.tally.carried_over as f64 / round.tally.connects.open_at_start.max(1) as f64
    };
    let begin = |share: &dyn Fn(&Round) -> f64| {
        let least = high.complete().map(share).fold(f64::INFINITY, f64::min);
        let is_new = least >= MANY && low.complete().map(share).all(|share| share <= FEW);
        is_new.then_some(least)
    };
    let silent =
        begin(&silent).map(|share| format!("{} of connections get no response", percent(share)));
    silent.or_else(|| Some(format!("{} of requests fail", percent(begin(&failed)?))))
}

/// p99 that is multiplied between two levels.
fn latency(low: &Level<'_>, high: &Level<'_>) -> Option<String> {
    let p99 = |level: &Level<'_>| -> Option<Vec<f64>> {
        let of = |round: &Round| {
            round
                .tally
                .service
                .quantile_if_carried(0.99)
                .map(|nanos| nanos as f64)
        };
        level.complete().map(of).collect()
    };
    let (below, above) = (p99(low)?, p99(high)?);
    if !is_jump(&below, &above, high.value / low.value) {
        return None;
    }
    let median = |values: &[f64]| Some(span(Nanos::from_nanos(stats::median(values)? as u64)));
    Some(format!(
        "p99 rises from {} to {}",
        median(&below)?,
        median(&above)?
    ))
}

/// Whether every value of `above` is so many times every one of `below`.
fn is_jump(below: &[f64], above: &[f64], ratio: f64) -> bool {
    let (most, least) = (
        below.iter().fold(0.0, |a: f64, b| a.max(*b)),
        above.iter().fold(f64::INFINITY, |a: f64, b| a.min(*b)),
    );
    most > 0.0 && least >= TIMES * ratio * most
}

/// Returns the place of the last level before a cliff, and how much is lost; `curve` has logarithms of rates.
fn fall(curve: &[(f64, &[f64])]) -> Option<(usize, f64)> {
    let pairs = curve.windows(2);
    let lengths: Vec<f64> = pairs
        .clone()
        .map(|pair| (pair[1].0 / pair[0].0).ln())
        .collect();
    let steps: Option<Vec<Step>> = pairs.map(|pair| step(pair[0].1, pair[1].1)).collect();
    let steps = steps?;
    // The scatter of all levels, or of the two where that is larger; each level but the outer ones is in two steps.
    let typical = stats::median(&steps.iter().map(|step| step.error).collect::<Vec<_>>())?;
    let freedom = steps
        .iter()
        .map(|step| step.freedom)
        .sum::<u32>()
        .div_ceil(2);
    let t = point(freedom, ALPHA / steps.len() as f64);
    let error = |at: usize| steps[at].error.max(typical);
    let slope = |at: usize| (steps[at].change / lengths[at], error(at) / lengths[at]);
    let is_cliff = |at: usize| {
        // The least slope that a scaling law explains after those before it.
        let mut least = -TURN_MOST;
        if at > 0 {
            let ((before, off), apart) = (slope(at - 1), (lengths[at] + lengths[at - 1]) / 2.0);
            let mut bend = TURN_MOST * apart;
            if at > 1 {
                let (first, more) = slope(at - 2);
                let bent = (first - before).abs() + off.hypot(more);
                bend = bend.min(bent * (2.0 * lengths[at]).exp());
            }
            least = least.max(before - off - bend);
        }
        let explained = (least * lengths[at]).min((1.0 - FALL_LEAST).ln());
        steps[at].change + t * error(at) < explained
    };
    let at = (0..steps.len()).find(|at| is_cliff(*at))?;
    Some((at, -steps[at].change.exp_m1()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Chance, fail, sweep};
    use record::{Grade, Kind, Run};

    fn found(run: &Run) -> Option<Finding> {
        crate::judge(run)
            .into_iter()
            .find(|finding| finding.check == "cliff")
    }

    fn steady() -> Run {
        sweep(&[50, 100, 200, 400], &[9_000, 9_300, 9_200, 9_000])
    }

    #[test]
    fn a_curve_without_a_cliff_says_nothing() {
        assert_eq!(found(&steady()), None);
        assert_eq!(
            found(&sweep(
                &[1, 2, 4, 8, 16, 32],
                &[2_000, 4_000, 7_500, 9_000, 8_000, 6_000]
            )),
            None
        );
    }

    #[test]
    fn a_fall_names_the_level_and_the_usual_limits() {
        let finding = found(&sweep(&[50, 100, 200, 400], &[9_000, 9_300, 4_000, 3_900])).unwrap();
        let wanted = "cliff between 100 and 200 connections: requests/s falls by 57 %, more than a curve bends";
        assert_eq!(
            (finding.sentence.as_str(), finding.grade()),
            (wanted, Grade::Note)
        );
        assert_eq!(finding.point, Some(2));
        let remedy = finding.remedy.unwrap();
        assert!(
            remedy.contains("150 (Apache")
                && remedy.contains("100 (PostgreSQL")
                && !remedy.contains("200 (")
        );
    }

    #[test]
    fn errors_and_silent_connections_that_begin_at_a_level_are_a_cliff() {
        for (kind, wanted) in [
            (Kind::Reset, "1.0 % of requests fail"),
            (Kind::CarriedOver, "of connections get no response"),
        ] {
            let mut run = steady();
            for round in &mut run.points[2].rounds {
                match kind {
                    Kind::Reset => (0..102).for_each(|_| fail(&mut round.tally, kind, 0)),
                    _ => crate::fixture::carry_over(&mut round.tally, 5),
                }
            }
            let sentence = found(&run).unwrap().sentence;
            assert!(sentence.contains(wanted), "{sentence}");
            run.points[1] = record::Point {
                level: run.points[1].level,
                ..run.points[2].clone()
            };
            run.points[0] = record::Point {
                level: run.points[0].level,
                ..run.points[2].clone()
            };
            assert_eq!(found(&run), None, "it was so from the first level on");
        }
    }

    #[test]
    fn a_p99_many_times_higher_in_every_round_is_a_cliff() {
        for (millis, is_found) in [(2, true), (1, false)] {
            let mut run = steady();
            for round in &mut run.points[2].rounds {
                round.tally.service.record_n(millis * 1_000_000, 1_000);
            }
            assert_eq!(found(&run).is_some(), is_found, "{millis}");
        }
    }

    /// The share of sweeps in which `made` finds a cliff.
    fn share(sweeps: u32, mut made: impl FnMut() -> bool) -> f64 {
        f64::from((0..sweeps).filter(|_| made()).count() as u32) / f64::from(sweeps)
    }

    /// The share of sweeps over a scaling law with a fall of `lost` after the fifth level that are found to have one.
    fn simulated(alpha: f64, beta: f64, scatter: f64, lost: f64) -> f64 {
        let mut chance = Chance::seeded();
        share(3_000, || {
            let levels = [1.0_f64, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0].map(|n| {
                let mean = (n / (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0))).ln();
                let mean = if n > 16.0 {
                    mean + (1.0 - lost).ln()
                } else {
                    mean
                };
                (n, [0; 3].map(|_| mean + scatter * chance.normal()))
            });
            let curve: Vec<(f64, &[f64])> =
                levels.iter().map(|(n, rates)| (*n, &rates[..])).collect();
            fall(&curve).is_some()
        })
    }

    #[test]
    fn false_alarms_and_power_are_those_of_the_manual() {
        for (alpha, beta) in [
            (0.0, 0.0),
            (0.3, 0.0),
            (1.0, 0.0),
            (0.05, 0.001),
            (0.0, 0.01),
            (0.0, 0.1),
            (0.9, 0.05),
        ] {
            for scatter in [0.02, 0.05, 0.10] {
                let alarms = simulated(alpha, beta, scatter, 0.0);
                assert!(alarms <= 0.01, "{alpha} {beta} {scatter}: {alarms}");
            }
        }
        let power = [0.5, 0.3].map(|lost| simulated(1.0, 0.0, 0.03, lost));
        assert!(power[0] > 0.9 && power[1] > 0.35, "{power:?}");
        let mut chance = Chance::seeded();
        let alarms = share(10_000, || {
            let levels =
                [[0.0_f64; 3]; 8].map(|level| level.map(|_| (0.3 * chance.normal()).exp()));
            levels
                .windows(2)
                .any(|pair| is_jump(&pair[0], &pair[1], 2.0))
        });
        assert!(alarms <= 0.01, "{alarms}");
    }
}
