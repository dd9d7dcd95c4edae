//! Were there enough samples, and enough rounds?

use super::prelude::*;
use record::Latency;

pub(super) const CHECK: Check = Check {
    name: "samples",
    question: "Are there enough samples and rounds?",
    looks_at: "The number of latency samples, and of rounds: complete, cut short, and never begun.",
    thresholds: &[
        threshold(
            "samples beyond a percentile that is printed",
            || "10".to_owned(),
            "rule of thumb",
        ),
        guess("samples under which latencies are indicative", || {
            SAMPLES_ENOUGH.to_string()
        }),
        threshold(
            "rounds under which there is no interval",
            || ROUNDS_LEAST.to_string(),
            "with two, Student's factor is 12.7",
        ),
    ],
    false_alarms: "none: it follows from counts",
    power: "not applicable",
    effect: "Percentiles with too few samples are withheld, and named in a note. Under 100 samples latency gets a \
             caveat, under three rounds the interval does. A measurement that was stopped early gives counts and interval a caveat, a \
             sweep that lacks load levels the interval. Where no round was measured, every figure is void.",
    remedy: "Measure longer with --duration, or more with --requests; give --rounds 3 or more.",
    cause: Cause::FewSamples,
    judge,
};

/// Under this many samples latencies are indicative.
const SAMPLES_ENOUGH: u64 = 100;
/// Under this many rounds there is no interval.
const ROUNDS_LEAST: usize = 3;

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    if evidence.rounds.is_some_and(|rounds| rounds.is_empty()) {
        return vec![nothing(evidence)];
    }
    let rounds = evidence.rounds;
    let cut = rounds.and_then(|rounds| cut_short(evidence, rounds));
    let latency = evidence.summary.as_ref().map(|summary| &summary.latency_us);
    let too_few = latency.and_then(too_few);
    let withheld = latency.and_then(withheld);
    let clustered = latency.and_then(clustered);
    let complete = evidence.complete().filter(|_| !evidence.is_long);
    let repeated = complete.and_then(|rounds| repeated(rounds.len()));
    let found = [
        cut,
        lacking(evidence),
        too_few,
        withheld,
        clustered,
        repeated,
    ];
    found.into_iter().flatten().collect()
}

fn nothing(evidence: &Evidence<'_>) -> Finding {
    let why = match evidence.server_end {
        Some(_) => ": the server exited before",
        None if evidence.interrupted => ": interrupted before the end of the first",
        None => "",
    };
    let headline = "no round was measured";
    void(ALL, headline, format!("{headline}{why}"))
        .because(stopped(evidence))
        .remedy("Measure again")
}

/// Returns what stopped the measurement before its plan was carried out.
fn stopped(evidence: &Evidence<'_>) -> Cause {
    match evidence.server_end {
        Some(_) => Cause::ServerEnded,
        None => Cause::Interrupted,
    }
}

fn cut_short(evidence: &Evidence<'_>, rounds: &[Round]) -> Option<Finding> {
    let partial = rounds.iter().filter(|round| round.partial).count();
    let planned = evidence
        .plan()
        .map_or(rounds.len(), |plan| plan.rounds as usize);
    let complete = rounds.len() - partial;
    if partial == 0 && (!evidence.interrupted || complete >= planned) {
        return None;
    }
    let cut = match partial {
        0 => String::new(),
        _ => format!(
            ", {} cut short (in the counts, not in the interval)",
            count(partial as u64)
        ),
    };
    let rounds = number(planned as u64, "round");
    let headline = format!(
        "stopped early: {} of {rounds} complete",
        count(complete as u64)
    );
    let sentence = format!("{headline}{cut}");
    let finding = caveat(&[Figure::Counts, Figure::Interval], headline, sentence);
    let finding = finding.because(stopped(evidence));
    Some(finding.remedy("Measure again, to the end").evidence([
        ("complete rounds", complete as f64),
        ("partial rounds", partial as f64),
        ("rounds planned", planned as f64),
    ]))
}

/// Levels of a sweep that were not measured.
fn lacking(evidence: &Evidence<'_>) -> Option<Finding> {
    let (measured, planned) = evidence.levels?;
    let headline = match planned {
        None => "stopped early: the search was not finished".to_owned(),
        Some(planned) => format!(
            "stopped early: {} of {} measured",
            count(measured as u64),
            number(planned as u64, "load level")
        ),
    };
    let finding = caveat(&[Figure::Interval], headline.clone(), headline);
    let finding = finding.because(stopped(evidence));
    let finding =
        finding.remedy("Continue the sweep with --resume and the name or number of the record");
    Some(finding.evidence([("load levels measured", measured as f64)]))
}

fn too_few(latency: &Latency) -> Option<Finding> {
    let found = match latency.count {
        0 => {
            let headline = "no request succeeded";
            let sentence = format!("{headline}, so there is no latency");
            let found = caveat(&[Figure::Latency], headline, sentence).because(Cause::Errors);
            found.remedy("Find the reason in the error table (-v)")
        }
        count if count < SAMPLES_ENOUGH => {
            let headline = format!("only {}", number(count, "latency sample"));
            let sentence = format!("{headline}; {SAMPLES_ENOUGH} are needed");
            caveat(&[Figure::Latency], headline, sentence).remedy(MORE)
        }
        _ => return None,
    };
    Some(found.evidence([("samples", latency.count as f64)]))
}

/// What brings more samples.
const MORE: &str = "Measure longer with --duration, or more --requests";

fn withheld(latency: &Latency) -> Option<Finding> {
    let count = latency.count;
    if count == 0 {
        return None;
    }
    let missing = latency.percentiles.0.iter().map(|(p, _)| *p);
    let missing = missing.filter(|p| !stats::carries(count, p.quantile()));
    let missing: Vec<Percentile> = missing.collect();
    let needed = |p: &Percentile| (10.0 / (1.0 - p.quantile())).round() as u64;
    let needed: Vec<u64> = missing.iter().map(needed).collect();
    let most = *needed.last()?;
    let names: Vec<String> = missing.iter().map(Percentile::to_string).collect();
    let counts: Vec<String> = needed.iter().map(|count| units::count(*count)).collect();
    let sentence = format!(
        "too few samples for {}: {} needed, {} measured",
        list(&names),
        list(&counts),
        units::count(count)
    );
    let finding = note(sentence).remedy(MORE);
    Some(finding.evidence([("samples", count as f64), ("samples needed", most as f64)]))
}

/// Percentiles for which there would be samples enough, if the slower ones did not come together.
fn clustered(latency: &Latency) -> Option<Finding> {
    let carried = |p: Percentile| stats::carries(latency.count, p.quantile());
    let mut missing = latency.percentiles.0.iter();
    let (first, _) = missing.find(|(p, value)| value.is_none() && carried(*p))?;
    let worth = *latency.effective_samples.get(&first.key())?;
    let sentence = format!(
        "too few independent samples for {first}: slow requests came together, so that {} samples count as {}",
        count(latency.count),
        count(worth)
    );
    let samples = [
        ("samples", latency.count as f64),
        ("effective samples", worth as f64),
    ];
    Some(note(sentence).remedy(MORE).evidence(samples))
}

fn repeated(complete: usize) -> Option<Finding> {
    let rounds = number(complete as u64, "complete round");
    let gives = if complete == 1 { "gives" } else { "give" };
    let sentence =
        format!("{rounds} {gives} no interval, so noise cannot be told from a difference");
    let finding = caveat(
        &[Figure::Interval],
        format!("{rounds} {gives} no interval"),
        sentence,
    );
    let finding = finding.because(Cause::FewRounds);
    let finding = finding.options(format!("--rounds {ROUNDS_LEAST}"));
    let finding = finding.remedy(format!("Measure {ROUNDS_LEAST} --rounds or more"));
    let finding = finding.evidence([("complete rounds", complete as f64)]);
    (complete < ROUNDS_LEAST).then_some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{answer, healthy};
    use record::{Grade, Run, Tally};

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    /// A healthy run whose rounds have `each` exchanges.
    fn small(rounds: usize, each: u64) -> Run {
        let mut run = healthy();
        run.points[0].rounds.truncate(rounds);
        for round in &mut run.points[0].rounds {
            round.tally = Tally::default();
            (0..each).for_each(|number| answer(&mut round.tally, number, 200));
            round.tally.ok_in_window = each;
        }
        run.summarise();
        run
    }

    fn sentences(findings: &[Finding]) -> Vec<&str> {
        findings
            .iter()
            .map(|finding| finding.sentence.as_str())
            .collect()
    }

    #[test]
    fn five_full_rounds_of_many_samples_are_enough() {
        assert_eq!(found(&healthy()), []);
        assert_eq!(found(&small(5, 2_000)), []);
    }

    #[test]
    fn percentiles_that_are_not_carried_are_named() {
        let cases: &[(u64, Option<&str>)] = &[
            (2_000, None),
            (
                1_999,
                Some("too few samples for p99.9: 10,000 needed, 9,995 measured"),
            ),
            (
                200,
                Some("too few samples for p99.9: 10,000 needed, 1,000 measured"),
            ),
            (
                199,
                Some("too few samples for p99 and p99.9: 1,000 and 10,000 needed, 995 measured"),
            ),
            (
                20,
                Some(
                    "too few samples for p95, p99 and p99.9: 200, 1,000 and 10,000 needed, 100 measured",
                ),
            ),
        ];
        for (each, wanted) in cases {
            let found = found(&small(5, *each));
            assert_eq!(sentences(&found).first(), wanted.as_ref(), "{each}");
        }
    }

    #[test]
    fn under_a_hundred_samples_latencies_are_indicative() {
        let few = found(&small(3, 33));
        assert_eq!(few[0].sentence, "only 99 latency samples; 100 are needed");
        assert_eq!(
            (few[0].grade(), &few[0].effects.figures()[..]),
            (Grade::Caveat, &[Figure::Latency][..])
        );
        assert!(
            !sentences(&found(&small(5, 20)))
                .iter()
                .any(|each| each.contains("indicative"))
        );
    }

    #[test]
    fn without_a_sample_there_is_no_latency() {
        let none = found(&small(5, 0));
        assert_eq!(
            sentences(&none),
            ["no request succeeded, so there is no latency"]
        );
    }

    #[test]
    fn rounds_make_the_interval() {
        let cases: &[(usize, Option<(Grade, &str)>)] = &[
            (5, None),
            (4, None),
            (3, None),
            (
                2,
                Some((
                    Grade::Caveat,
                    "2 complete rounds give no interval, so noise cannot be told from a difference",
                )),
            ),
            (
                1,
                Some((
                    Grade::Caveat,
                    "1 complete round gives no interval, so noise cannot be told from a difference",
                )),
            ),
        ];
        for (rounds, wanted) in cases {
            let found = found(&small(*rounds, 10_000));
            let got = found
                .first()
                .map(|found| (found.grade(), found.sentence.as_str()));
            assert_eq!(got, *wanted, "{rounds}");
        }
    }

    #[test]
    fn what_was_cut_short_is_said() {
        let mut run = healthy();
        run.points[0].rounds.truncate(3);
        run.points[0].rounds[2].partial = true;
        run.interrupted = true;
        run.summarise();
        let found = found(&run);
        assert!(
            found[0]
                .sentence
                .contains("2 of 5 rounds complete, 1 cut short"),
            "{found:?}"
        );
        assert!(found[1].sentence.contains("2 complete rounds"), "{found:?}");
    }

    #[test]
    fn no_round_at_all_voids_everything() {
        let mut run = healthy();
        run.points[0].rounds.clear();
        run.summarise();
        let found = found(&run);
        assert_eq!(
            (
                found.len(),
                found[0].grade(),
                &found[0].effects.figures()[..]
            ),
            (1, Grade::Invalid, ALL)
        );
    }
}
