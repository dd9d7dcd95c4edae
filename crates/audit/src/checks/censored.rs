//! Were requests cut off before their end was known?

use super::prelude::*;
use record::{Kind, Latency, Statistic};

pub(super) const CHECK: Check = Check {
    name: "censored",
    question: "Do the latencies contain everything that was waited for?",
    looks_at: "Requests that timed out, were never sent, were still open at the end of the run, or were carried over \
               from before the window. Each took at least as long as weigh waited for it, and enters the latencies \
               with that age. Had they taken for ever, the mean would be infinite, and a percentile as many \
               ranks higher: where that differs in print, the figure is a lower bound, printed as `>= value`.",
    thresholds: &[threshold(
        "latency beyond which samples are only counted",
        || "69 s".to_owned(),
        "the range of the histograms, 2^36 ns",
    )],
    false_alarms: "none: it follows from counts",
    power: "every request that was cut off",
    effect: "Latency gets a caveat where a percentile is a lower bound. Where only mean or maximum are, and for \
             samples beyond the range, there is a note.",
    remedy: "Wait longer with --timeout, or lower the load. Where requests were never sent, find out why connections \
             failed.",
    cause: Cause::Censored,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let (Some(tally), Some(summary)) = (&evidence.tally, &evidence.summary) else {
        return Vec::new();
    };
    let cut = (tally.censored() > 0).then(|| cut_off(tally, &summary.latency_us));
    cut.into_iter().chain(saturated(tally)).collect()
}

fn cut_off(tally: &Tally, latency: &Latency) -> Finding {
    let kinds = reasons::by_kind(tally, Kind::is_censored);
    let words: Vec<String> = kinds
        .iter()
        .map(|&(kind, count)| reasons::cut_off(kind, count))
        .collect();
    let from = tally
        .latency_censored_from()
        .map_or(String::new(), |age| format!(" at {} or later", span(age)));
    let censored = tally.censored();
    let headline = format!(
        "{} cut off",
        counted(censored, "request was", "requests were")
    );
    let sentence = format!(
        "{headline}{from}, of {} ({}): {}",
        count(tally.requests()),
        list(&words),
        bounds(latency),
    );
    let is_percentile = |each: &Statistic| matches!(each, Statistic::At(_));
    let finding = if latency.at_least.iter().any(is_percentile) {
        caveat(&[Figure::Latency], headline, sentence)
    } else {
        note(sentence)
    };
    finding.remedy(remedy(&kinds)).evidence([
        ("censored", censored as f64),
        (
            "censored from, us",
            tally
                .latency_censored_from()
                .map_or(0.0, |age| age.as_micros_f64()),
        ),
    ])
}

/// The figures that are lower bounds for it.
fn bounds(latency: &Latency) -> String {
    let names: Vec<String> = latency.at_least.iter().map(Statistic::to_string).collect();
    match &names[..] {
        [] => "latency does not include them".to_owned(),
        [only] => format!("{only} is a lower bound"),
        _ => format!("{} are lower bounds", list(&names)),
    }
}

/// Returns what to do about requests of these kinds.
fn remedy(kinds: &[(Kind, u64)]) -> &'static str {
    let are_all = |wanted: &[Kind]| kinds.iter().all(|(kind, _)| wanted.contains(kind));
    if are_all(&[Kind::ConnectTimeout]) {
        "Look at the server's listen backlog and the network, or wait longer with --connect-timeout"
    } else if are_all(&[
        Kind::NeverSent,
        Kind::ConnectTimeout,
        Kind::HandshakeTimeout,
    ]) {
        "Find out why connects failed, and whether the server still runs"
    } else if are_all(&[Kind::Unfinished]) {
        "Let the run complete"
    } else {
        "Lower the load, or wait longer with --timeout"
    }
}

fn saturated(tally: &Tally) -> Option<Finding> {
    let beyond = tally.latency().saturated();
    (beyond > 0).then(|| {
        note(format!(
            "{} longer than 69 s, beyond which only the max is exact",
            counted(beyond, "request took", "requests took")
        ))
        .evidence([("samples beyond 69 s", beyond as f64)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;
    use record::{Blame, Grade, Run};
    use units::Nanos;

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    /// The healthy run, of whose first round `count` exchanges more were never sent, and given up at `age`.
    fn unsent(count: u64, age: Nanos) -> Run {
        let mut run = healthy();
        let tally = &mut run.points[0].rounds[0].tally;
        for _ in 0..count {
            tally.scheduled += 1;
            tally.observe_never_sent(1, age, Blame::Server);
        }
        run.summarise();
        run
    }

    #[test]
    fn a_run_in_which_everything_ended_passes() {
        assert_eq!(found(&healthy()), []);
    }

    #[test]
    fn a_late_cut_leaves_the_percentiles_and_is_noted() {
        // One beyond all 50,000: only the mean and the maximum are lower bounds.
        let found = found(&unsent(1, Nanos::from_secs(10)));
        assert_eq!((found.len(), found[0].grade()), (1, Grade::Note));
        assert_eq!(
            found[0].sentence,
            "1 request was cut off at 10.0 s or later, of 50,001 (1 never sent): mean and max are lower bounds"
        );
    }

    #[test]
    fn percentiles_are_bounds_from_the_rank_of_the_first_cut_on() {
        // p99.9 of 50,000 + n is among the cut ones from n = 51 on: n > 0.001 (50,000 + n).
        for (count, grade) in [(50, Grade::Note), (51, Grade::Caveat)] {
            let found = found(&unsent(count, Nanos::from_secs(10)));
            assert_eq!(found[0].grade(), grade, "{count}: {}", found[0].sentence);
        }
    }

    #[test]
    fn an_early_cut_bounds_the_percentiles_that_it_might_move_in_print() {
        // Each value is there 500 times. p50 to p99 are the last of theirs, so that one rank more is the next value.
        let found = found(&unsent(1, Nanos::from_micros(1)));
        assert_eq!(
            (found[0].grade(), &found[0].effects.figures()[..]),
            (Grade::Caveat, &[Figure::Latency][..])
        );
        let bounds = "): min, mean, p50, p90, p95, p99 and max are lower bounds";
        assert!(found[0].sentence.ends_with(bounds), "{}", found[0].sentence);
    }

    #[test]
    fn exchanges_beyond_what_the_histogram_tells_apart_are_noted() {
        let mut run = healthy();
        run.points[0].rounds[0]
            .tally
            .service
            .record(stats::Histogram::TOP);
        assert_eq!(found(&run), []);
        run.points[0].rounds[0]
            .tally
            .service
            .record(stats::Histogram::TOP + 1);
        assert!(
            found(&run)[0]
                .sentence
                .starts_with("1 request took longer than 69 s")
        );
    }

    #[test]
    fn what_was_cut_off_is_said_in_words_and_the_remedy_suits_it() {
        let cases: &[(&[Kind], &str, &str)] = &[
            (
                &[Kind::Timeout],
                "1 over --timeout",
                "Lower the load, or wait longer",
            ),
            (
                &[Kind::NeverSent],
                "1 never sent",
                "Find out why connects failed",
            ),
            (
                &[Kind::ConnectTimeout],
                "1 over --connect-timeout",
                "Look at the server's listen backlog",
            ),
            (
                &[Kind::ConnectTimeout, Kind::NeverSent],
                "1 never sent and 1 over --connect-timeout",
                "Find out why connects failed",
            ),
            (
                &[Kind::Unfinished],
                "1 still open when the run ended",
                "Let the run",
            ),
            (
                &[Kind::NeverSent, Kind::Timeout],
                "1 never sent and 1 over --timeout",
                "Lower the load, or wait longer",
            ),
        ];
        for (kinds, words, remedy) in cases {
            let mut run = healthy();
            for kind in *kinds {
                crate::fixture::fail(&mut run.points[0].rounds[0].tally, *kind, 0);
            }
            run.summarise();
            let found = found(&run);
            let sentence = &found[0].sentence;
            assert!(sentence.contains(&format!("({words}): ")), "{sentence}");
            let said = found[0].remedy.as_ref().unwrap();
            assert!(said.starts_with(remedy), "{words}: {said}");
        }
    }
}
