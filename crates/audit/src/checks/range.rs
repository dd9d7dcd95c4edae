//! Does a sweep contain the peak?

use super::levels::{Level, levels, point, step};
use super::prelude::*;
use plan::Axis;

pub(super) const CHECK: Check = Check {
    name: "range",
    question: "Does the sweep contain the peak, or was its range too narrow?",
    looks_at: "The two last and the two first levels of a sweep over connections, pipeline depths, threads or workers, \
               where the highest requests/s is at the last or the first. Each level needs three complete rounds.",
    thresholds: &[
        threshold(
            "chance of such a change by the rounds' scatter alone, at most",
            || percent(ALPHA),
            "Student's t, one-sided, pooled variance; two ends make 1 % a sweep",
        ),
        guess("change of requests/s, from", || percent(CHANGE_LEAST)),
    ],
    false_alarms: "simulation of 10,000 sweeps that are flat at both ends, three rounds, scatter 2 to 10 %: at most 1 %, \
                   which a test repeats",
    power: "the same simulation: a rise of 20 % at the last level is found in over 90 % of sweeps with a scatter of 2 %, \
            and in under half with 10 %",
    effect: "A note: every figure stands, but the highest requests/s of the sweep is not the server's peak.",
    remedy: "Add levels at that end.",
    cause: Cause::Other,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// Chance of a false alarm at each end.
const ALPHA: f64 = 0.005;
/// A smaller change is not worth another level.
const CHANGE_LEAST: f64 = 0.05;
/// How many times its neighbour each further level is.
const FURTHER: [f64; 3] = [2.0, 4.0, 8.0];

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let (axis, levels) = levels(evidence)?;
    let option = match axis {
        Axis::Connections(_) if !levels[0].point.level.load.is_open() => "--connections",
        Axis::Pipeline(_) => "--pipeline",
        Axis::Threads(_) => "--threads",
        Axis::Workers(_) => "--workers",
        _ => return None,
    };
    let rates: Vec<&[f64]> = levels.iter().map(|level| &level.rates[..]).collect();
    let rises = end(&rates)?;
    let last = levels.len() - 1;
    let (edge, inner) = if rises {
        (&levels[last], &levels[last - 1])
    } else {
        (&levels[0], &levels[1])
    };
    let further: Vec<f64> = match rises {
        true => FURTHER.iter().map(|times| edge.value * times).collect(),
        false => FURTHER
            .iter()
            .rev()
            .map(|times| edge.value / times)
            .filter(|value| *value >= 1.0)
            .collect(),
    };
    if further.is_empty() {
        return None; // there is nothing under 1
    }
    Some(finding(rises, edge, inner, axis.name(), option, &further))
}

fn finding(
    rises: bool,
    edge: &Level<'_>,
    inner: &Level<'_>,
    name: &str,
    option: &str,
    further: &[f64],
) -> Finding {
    let rate = |level: &Level<'_>| stats::mean(&level.rates).unwrap_or_default().exp();
    let [inner_rate, edge_rate] = [inner, edge].map(rate);
    let shown = |values: &[f64]| {
        list(
            &values
                .iter()
                .map(|value| count(value.floor() as u64))
                .collect::<Vec<_>>(),
        )
    };
    let (head, beyond) = match rises {
        true => ("requests/s still rises at the last level", "above"),
        false => ("requests/s falls from the first level on", "below"),
    };
    let sentence = format!(
        "{head}: {} at {} {name}, {} at {}; the peak may lie {beyond} the range",
        units::rate(inner_rate),
        count(inner.value as u64),
        units::rate(edge_rate),
        count(edge.value as u64),
    );
    note(sentence)
        .remedy(format!("Add levels to {option}: {}", shown(further)))
        .evidence([
            ("requests/s at the end", edge_rate),
            ("requests/s beside it", inner_rate),
        ])
}

/// Returns whether a curve's peak is at its last level (true) or at its first, by more than the scatter of the rounds.
fn end(rates: &[&[f64]]) -> Option<bool> {
    let means: Option<Vec<f64>> = rates.iter().map(|rates| stats::mean(rates)).collect();
    let means = means?;
    let peak = (0..means.len()).max_by(|one, other| means[*one].total_cmp(&means[*other]))?;
    let last = means.len() - 1;
    let is_higher = |edge: usize, inner: usize| {
        let is_beyond = |change: f64, least: f64| change > CHANGE_LEAST.ln_1p() && change > least;
        let step = step(rates[inner], rates[edge]);
        step.is_some_and(|step| is_beyond(step.change, step.error * point(step.freedom, ALPHA)))
    };
    match peak {
        0 => is_higher(0, 1).then_some(false),
        peak if peak == last => is_higher(last, last - 1).then_some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Chance, sweep};
    use record::Grade;

    fn found(levels: &[u32], rates: &[u64]) -> Option<Finding> {
        let run = sweep(levels, rates);
        crate::judge(&run)
            .into_iter()
            .find(|finding| finding.check == "range")
    }

    #[test]
    fn a_peak_at_an_end_names_the_levels_to_add() {
        let rising = found(&[1, 4, 16], &[1_000, 3_000, 9_000]).unwrap();
        let wanted = "requests/s still rises at the last level: 3,002 at 4 connections, 9,002 at 16; the peak may lie \
                      above the range";
        assert_eq!(
            (rising.sentence.as_str(), rising.grade()),
            (wanted, Grade::Note)
        );
        assert_eq!(
            rising.remedy.as_deref(),
            Some("Add levels to --connections: 32, 64 and 128")
        );
        let falling = found(&[4, 16, 64], &[9_000, 7_000, 3_000]).unwrap();
        assert_eq!(
            falling.remedy.as_deref(),
            Some("Add levels to --connections: 1 and 2")
        );
    }

    #[test]
    fn a_peak_inside_and_a_flat_end_are_wide_enough() {
        assert_eq!(found(&[1, 4, 16], &[3_000, 9_000, 8_000]), None);
        assert_eq!(
            found(&[1, 4, 16], &[3_000, 9_000, 9_300]),
            None,
            "3 % are not worth it"
        );
        assert_eq!(
            found(&[1, 4, 16], &[9_000, 8_000, 7_000]),
            None,
            "there is nothing under 1"
        );
        assert_eq!(found(&[1, 4], &[9_000, 9_000]), None);
    }

    /// The share of 10,000 sweeps of three rounds in which an end is found, where the last level is `rise` higher.
    fn rate(scatter: f64, rise: f64) -> f64 {
        let mut chance = Chance::seeded();
        let found = (0..10_000).filter(|_| {
            let means = [0.0, 0.0, 0.0, 0.0, 0.0, f64::ln_1p(rise)];
            let rounds = means.map(|mean| [0; 3].map(|_| mean + scatter * chance.normal()));
            let rates: Vec<&[f64]> = rounds.iter().map(|level| &level[..]).collect();
            end(&rates).is_some()
        });
        found.count() as f64 / 10_000.0
    }

    #[test]
    fn false_alarms_and_power_are_those_of_the_manual() {
        for scatter in [0.02, 0.05, 0.10] {
            let alarms = rate(scatter, 0.0);
            assert!(alarms <= 0.01, "{scatter}: {alarms}");
        }
        assert!(rate(0.02, 0.20) > 0.90);
        assert!(rate(0.10, 0.20) < 0.50);
    }
}
