//! Was the server steady when the first round began?

use super::prelude::*;
use record::Settling;

pub(super) const CHECK: Check = Check {
    name: "steady",
    question: "Was the server in a steady state when the first round began?",
    looks_at: "The load before the first round against a server, where --warmup does not set another: windows of 1 s. Their bins \
               of 100 ms, the later half but 2 s at least, must not rise: in a closed loop requests/s, with a rate, by which \
               requests/s is given, one by the mean latency. The line of least squares through their ranks allows for memory from bin to bin (AR(1)). \
               With fewer than 20 responses there is no verdict.",
    thresholds: &[
        threshold(
            "chance of a slope in a steady series, at most",
            || percent(0.05),
            "Student's t, one-sided",
        ),
        guess("rise over the bins, from", || percent(0.02)),
        guess("windows, at most", || Settling::MOST_WINDOWS.to_string()),
    ],
    false_alarms: "simulation of 2,000 steady servers with a scatter of 3 or 10 %, AR(1) 0 to 0.5, which a test repeats: 3 to 8 % \
                   get a third window, none is called unsteady",
    power: "the same simulation of servers that rise from 70 %: see docs/measurement.md, Steady state",
    effect: "Requests/s and latency get a caveat: the first rounds are of a server that was still warming up. With a rate, \
             latency alone.",
    remedy: "Give a longer --warmup.",
    cause: Cause::Other,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let mut settlings = evidence
        .rounds?
        .iter()
        .filter_map(|round| round.settling.as_deref());
    let unsteady = settlings.find(|settling| settling.is_steady == Some(false))?;
    let (figures, change) = match evidence.load?.is_open() {
        true => (&[Figure::Latency][..], "latency still fell"),
        false => (SPEED, "requests/s still rose"),
    };
    let load = span(unsteady.load);
    let headline = format!("{change} after {load} of load");
    let sentence = format!("{headline} before the first round: the server was still warming up");
    let options = format!("--warmup {}s", unsteady.load.as_secs_f64().ceil() * 2.0);
    let finding = caveat(figures, headline, sentence).options(options);
    Some(finding.evidence([("seconds of load", unsteady.load.as_secs_f64())]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;

    #[test]
    fn only_a_server_that_was_not_steady_at_the_limit_is_found() {
        for (is_steady, is_found) in [(Some(false), true), (Some(true), false), (None, false)] {
            let mut run = healthy();
            run.points[0].rounds[0].settling = Some(Box::new(Settling {
                load: Nanos::from_millis(11_800),
                is_steady,
                ..Settling::default()
            }));
            let found = judge(&Evidence::of(&run, &run.points[0]));
            assert_eq!(found.is_some(), is_found, "{is_steady:?}");
            if let Some(found) = found {
                let wanted = "requests/s still rose after 11.8 s of load before the first round: the server was still warming up";
                assert_eq!(found.sentence, wanted);
            }
        }
        assert_eq!(judge(&Evidence::of(&healthy(), &healthy().points[0])), None);
    }
}
