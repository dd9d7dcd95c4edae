//! Is a latency the server's, or the generator's own?

use super::prelude::*;
use record::Baseline;
use units::micros;

pub(super) const CHECK: Check = Check {
    name: "floor",
    question: "Open loop: does latency rise clear of the generator's own baseline?",
    looks_at: "p50 and p99 of response time against the baseline: the same load on weigh's reference server, \
               measured before the first round. It contains the time of the generator and of the kernel. The \
               reference server itself is exempt.",
    thresholds: &[threshold(
        "latency as a multiple of the baseline, under",
        || Baseline::CLEAR_FROM.to_string(),
        "then it is less than twice what our own server takes",
    )],
    false_alarms: "simulation of 10,000 runs of 1,000 requests over baselines of 500, exponential times, which a test \
                   repeats: a server three times as slow as the baseline has a caveat in under 0.5 %. 5 of 6 runs against \
                   nginx at 1,000 to 5,000 requests/s: such a server is as fast as the baseline",
    power: "the same simulation: every server one and a half times as slow",
    effect: "Latency gets a caveat. An unknown baseline is a note.",
    remedy: "Compare such servers by CPU time per request, or by the rate they sustain. For latency, request \
             something that takes more work.",
    cause: Cause::Baseline,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let is_open = evidence.load.is_some_and(plan::Load::is_open);
    if !is_open || evidence.reference_server() {
        return None;
    }
    match (evidence.baseline, &evidence.summary) {
        (Some(baseline), _) if baseline.response_us.p50.is_none() => Some(note(
            "the baseline is unknown: in the self-test generator and reference server together could not keep up with \
             the rate",
        )),
        (Some(baseline), Some(summary)) => near(baseline.near(&summary.latency_us)),
        (Some(_), None) => None,
        (None, _) if evidence.rounds.is_none_or(<[_]>::is_empty) => None,
        (None, _) => Some(note(
            "the baseline was not measured, so the generator's share of latency is unknown",
        )),
    }
}

/// Percentiles that are near the baseline's, with both values in microseconds.
fn near(near: Vec<(Percentile, f64, f64)>) -> Option<Finding> {
    if near.is_empty() {
        return None;
    }
    let each = |(p, latency, _): &(Percentile, f64, f64)| format!("{p} ({})", micros(*latency));
    let names: Vec<String> = near.iter().map(each).collect();
    let baselines: Vec<String> = near
        .iter()
        .map(|(.., baseline)| micros(*baseline))
        .collect();
    let is = if near.len() == 1 { "is" } else { "are" };
    let headline = format!("{} {is} near weigh's own baseline", list(&names));
    let sentence = format!(
        "{headline} ({}): less than twice what weigh's own server takes, most of which is generator and kernel; smaller \
         differences between servers than that do not show",
        list(&baselines),
    );
    let remedy =
        "Compare such servers by CPU time per request, or request something that takes more work";
    let mut found = caveat(&[Figure::Latency], headline, sentence).remedy(remedy);
    for (p, latency, baseline) in near {
        let name = |what| format!("{what} {p}, us");
        found.evidence.push((name("response time"), latency));
        found.evidence.push((name("baseline"), baseline));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Chance, healthy, open_loop, simulated};
    use record::{BaselineTimes, Grade, Run};
    use units::Nanos;

    /// The open loop (p50 150 us, p99 199 us) over a floor with these percentiles.
    fn run(p50: f64, p99: f64) -> Run {
        let mut run = open_loop();
        baseline(&mut run).response_us = BaselineTimes {
            p50: Some(p50),
            p99: Some(p99),
        };
        run
    }

    fn baseline(run: &mut Run) -> &mut Baseline {
        run.points[0].baseline.as_mut().unwrap()
    }

    fn found(run: &Run) -> Vec<Finding> {
        Vec::from_iter(judge(&Evidence::of(run, &run.points[0])))
    }

    #[test]
    fn a_percentile_under_twice_the_floors_is_not_clear_of_it() {
        let summary = open_loop().summary.unwrap();
        let (p50, p99) = (
            summary.latency_us.at(Percentile::P50).unwrap(),
            summary.latency_us.at(Percentile::P99).unwrap(),
        );
        for (over_p50, over_p99, named) in [
            (2.001, 2.001, ""),
            (1.999, 2.001, "p50"),
            (2.001, 1.999, "p99"),
            (1.999, 0.5, "p50 p99"),
        ] {
            let found = found(&run(p50 / over_p50, p99 / over_p99));
            let says = |name: &str| found.iter().any(|each| each.sentence.contains(name));
            let said: Vec<&str> = ["p50", "p99"]
                .into_iter()
                .filter(|name| says(name))
                .collect();
            assert_eq!(said.join(" "), named, "{over_p50} {over_p99}");
            assert!(found.iter().all(|each| each.grade() == Grade::Caveat));
        }
    }

    #[test]
    fn the_figures_and_the_floor_are_said() {
        let found = found(&run(100.0, 90.0));
        let latency = open_loop().summary.unwrap().latency_us;
        let wanted = format!(
            "p50 ({}) is near weigh's own baseline (100 us): less than twice what weigh's own server takes",
            micros(latency.at(Percentile::P50).unwrap())
        );
        assert!(
            found[0].sentence.starts_with(&wanted),
            "{}",
            found[0].sentence
        );
        assert_eq!(found[0].evidence.len(), 2);
        assert_eq!(found[0].evidence[1], ("baseline p50, us".to_owned(), 100.0));
    }

    #[test]
    fn a_lower_bound_may_be_clear_of_the_floor() {
        let mut run = run(1_000.0, 1_000.0);
        assert_eq!(found(&run).len(), 1);
        for round in &mut run.points[0].rounds {
            let open = round.tally.open.as_mut().unwrap();
            open.censored_from = Some(Nanos::from_nanos(1));
        }
        assert_eq!(found(&run), []);
    }

    #[test]
    fn an_unknown_floor_is_a_note_and_a_closed_loop_has_none() {
        let mut run = run(10.0, 20.0);
        assert_eq!(found(&run), []);
        baseline(&mut run).response_us = BaselineTimes::default();
        assert_eq!(found(&run)[0].grade(), Grade::Note);
        run.points[0].baseline = None;
        let said = found(&run);
        assert_eq!((said.len(), said[0].grade()), (1, Grade::Note));
        assert!(said[0].sentence.contains("was not measured"));
        assert_eq!(found(&healthy()), []);
    }

    #[test]
    fn our_own_server_is_exempt() {
        let mut run = run(1_000.0, 1_000.0);
        run.plan.server = Some(plan::ServerCommand {
            argv: vec!["weigh".into(), "serve".into()],
            ready_within: Nanos::from_secs(1),
            reference_server: true,
        });
        assert_eq!(found(&run), []);
        run.plan.server.as_mut().unwrap().reference_server = false;
        assert_eq!(found(&run).len(), 1);
    }

    /// p50 and p99 of so many exponential times, which are drawn in order (Rényi).
    fn percentiles(chance: &mut Chance, number: u32) -> [f64; 2] {
        let ranks = [number / 2, number * 99 / 100];
        let (mut time, mut found) = (0.0, [0.0; 2]);
        for rank in 1..=ranks[1] {
            time += chance.exponential() / f64::from(number - rank + 1);
            if rank == ranks[0] {
                found[0] = time;
            }
        }
        found[1] = time;
        found
    }

    #[test]
    fn false_alarms_and_power_are_those_of_the_manual() {
        for (slower, from, to) in [(3.0, 0.0, 0.005), (1.5, 1.0, 1.0)] {
            let found = simulated(|chance| {
                let baseline = percentiles(chance, 500);
                let server = percentiles(chance, 1_000).map(|time| slower * time);
                let is_near =
                    |(server, baseline): (&f64, f64)| *server < Baseline::CLEAR_FROM * baseline;
                server.iter().zip(baseline).any(is_near)
            });
            assert!((from..=to).contains(&found), "{slower}: {found}");
        }
    }
}
