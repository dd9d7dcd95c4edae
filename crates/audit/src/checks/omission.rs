//! Does a closed loop hide stalls (coordinated omission)?

use super::prelude::*;
use record::{CoordinatedOmission, Stalls, Summary};

pub(super) const CHECK: Check = Check {
    name: "omission",
    question: "Does a closed loop hide stalls (coordinated omission)?",
    looks_at: "Stalls: spans in which requests were in flight on a thread of a closed loop and none ended. A closed \
               loop sends nothing meanwhile, so each connection sees a stall as one sample, however long it lasts. \
               The omission index is the share of time in stalls (less the usual time between two endings): the \
               probability that a request at a random time meets one. At half the throughput, the rate that is \
               advised, the backlog of a stall affects as many again. With one request in flight, a stall cannot be \
               told from one slow response. An open loop needs no such check: what was scheduled during a stall is \
               in its percentiles.",
    thresholds: &[
        guess("a stall is longer than", || span(Stalls::SHORTEST)),
        guess("and than the median service time, times", || {
            CoordinatedOmission::USUAL.to_string()
        }),
        threshold(
            "share of requests that stalls affect above which p99.9 gets a caveat",
            || percent(INDEX_MOST),
            "p99.9 leaves out that share of the requests",
        ),
        guess(
            "generator's own waiting that is mentioned, of all stalls, from",
            || percent(OWN_WAIT_SAID),
        ),
    ],
    false_alarms: "58 % of 612 windows on a crowded machine (92 % with pinned threads), mostly real pauses",
    power: "not measured",
    effect: "Percentiles that requests at random times would see higher are marked. Where one is, or a p99.9 above the \
             threshold is printed, latency gets a caveat.",
    remedy: "Load at a rate (--rate), which does not wait for the server. Where there is only one connection, use more.",
    cause: Cause::CoordinatedOmission,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// Above this share of the time a p99.9 would have to show the gaps.
const INDEX_MOST: f64 = 0.001;
/// From this share of the gaps on it is said that the generator's own waiting was as much.
const OWN_WAIT_SAID: f64 = 0.1;

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let summary = evidence.summary.as_ref()?;
    let omission = summary.coordinated_omission.as_ref()?;
    let longest = omission.longest_us?;
    let doubtful =
        omission.share() > INDEX_MOST && summary.latency_us.at(Percentile::P999).is_some();
    if omission.affected.is_empty() && !doubtful {
        return None;
    }
    let single = is_single(evidence);
    let stalls = stalls(omission.stalls, Nanos::from_nanos((longest * 1e3) as u64));
    let index = percent(omission.index);
    let share = format!("{index} of randomly arriving requests would have hit one");
    let reason = if single {
        format!(
            "{stalls}. With one request in flight a stall and a slow response look the same. If these are stalls, {share}, \
             and a closed loop sends nothing during a stall (coordinated omission)"
        )
    } else {
        format!(
            "{stalls}. A closed loop sends nothing during a stall (coordinated omission): {share}"
        )
    };
    let too_low = too_low(omission).map_or(String::new(), |names| format!("; {names} too low"));
    let left_out = own_wait(evidence).map_or(String::new(), |wait| {
        let wait = span(wait);
        format!(" ({wait} in which the generator itself did not run are excluded)")
    });
    let sentence = format!("{reason}{too_low}{left_out}");
    let headline = format!("{stalls} (coordinated omission)");
    let finding = caveat(&[Figure::Latency], headline, sentence);
    let finding = finding.options(format!("--rate {}", rate(summary)));
    Some(finding.remedy(remedy(summary, single)).evidence([
        ("omission index", omission.index),
        ("stalls", omission.stalls as f64),
        ("longest stall, ms", longest / 1e3),
        ("affected from", omission.affected_from.unwrap_or(1.0)),
        ("affected to", omission.affected_to.unwrap_or(1.0)),
    ]))
}

/// Whether no thread had more than one request in flight, so that each gap is a single exchange.
fn is_single(evidence: &Evidence<'_>) -> bool {
    let plan = evidence.plan();
    plan.is_some_and(|plan| plan.connections() <= plan.threads() && plan.protocol.pipeline <= 1)
}

fn stalls(stalls: u64, longest: Nanos) -> String {
    let longest = span(longest);
    match stalls {
        1 => format!("1 stall of {longest}"),
        _ => format!("{} stalls of up to {longest}", count(stalls)),
    }
}

/// The percentiles that are smaller than what randomly arriving requests would have seen; none where none is.
fn too_low(omission: &CoordinatedOmission) -> Option<String> {
    let names: Vec<String> = omission.affected.iter().map(|p| p.to_string()).collect();
    match &names[..] {
        [] => None,
        [only] => Some(format!("{only} is")),
        _ => Some(format!("{} are", list(&names))),
    }
}

/// The generator's own waiting that was taken off gaps, where it is worth a word.
fn own_wait(evidence: &Evidence<'_>) -> Option<Nanos> {
    let stalls = evidence.tally.as_ref()?.stalls.as_ref()?;
    let worth = OWN_WAIT_SAID * stalls.length.sum() as f64;
    (stalls.own_wait > Nanos::ZERO && stalls.own_wait.as_nanos() as f64 >= worth)
        .then_some(stalls.own_wait)
}

/// Half of what the server did leaves it room, so that the stalls are what is seen.
fn rate(summary: &Summary) -> String {
    match summary.rps.mean / 2.0 {
        half if half >= 10.0 => {
            let unit = 10_f64.powf(half.log10().floor() - 1.0);
            match (half / unit).round() * unit {
                rate if rate >= 1e6 => format!("{}m", rate / 1e6),
                rate if rate >= 1e3 => format!("{}k", rate / 1e3),
                rate => rate.to_string(),
            }
        }
        half if half > 0.05 => format!("{half:.1}"),
        _ => "1".to_owned(),
    }
}

/// Of several connections, one response that is slow for itself holds only one.
fn remedy(summary: &Summary, single: bool) -> String {
    let rate = rate(summary);
    let load = format!("Load at a rate, which does not wait for the server: --rate {rate}");
    match single {
        true => format!(
            "{load}. Or use more connections (-c 10), which one slow response does not hold all"
        ),
        false => load,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{healthy, open_loop};
    use record::{Grade, Run, Stalls};

    const MS: Nanos = Nanos::from_millis(1);

    /// The healthy run (five rounds of a second, ten thousand exchanges each on ten connections; median 150 us), with
    /// so many gaps of so many microseconds in its first round.
    fn run(stalls: u64, micros: u64) -> Run {
        let mut run = healthy();
        for (index, round) in run.points[0].rounds.iter_mut().enumerate() {
            let mut noted = Stalls {
                time: MS * 1_000,
                ..Stalls::default()
            };
            let here = if index == 0 { stalls } else { 0 };
            (0..here).for_each(|_| {
                let length = Nanos::from_micros(micros);
                noted.add(length, Nanos::ZERO, 10);
                round.tally.service.record_n(length.as_nanos(), 10);
            });
            round.tally.stalls = Some(Box::new(noted));
            round.tally.series.add(Nanos::ZERO, 10_000, 0);
        }
        run.summarise();
        run
    }

    fn found(run: &Run) -> Vec<Finding> {
        Vec::from_iter(judge(&Evidence::of(run, &run.points[0])))
    }

    #[test]
    fn nothing_is_said_without_gaps_without_their_record_and_of_an_open_loop() {
        assert_eq!(found(&healthy()), []);
        assert_eq!(found(&run(0, 0)), []);
        assert_eq!(found(&open_loop()), []);
    }

    #[test]
    fn what_is_too_low_is_said_with_its_reason_and_a_rate_that_shows_it() {
        let run = run(4, 20_000);
        let latency = &run.summary.as_ref().unwrap().latency_us;
        assert!(Percentile::DEFAULT.iter().all(|p| latency.at(*p).is_some()));
        let found = found(&run);
        assert_eq!(
            (
                found.len(),
                found[0].grade(),
                &found[0].effects.figures()[..]
            ),
            (1, Grade::Caveat, &[Figure::Latency][..])
        );
        assert_eq!(
            found[0].sentence,
            "4 stalls of up to 20.0 ms. A closed loop sends nothing during a stall (coordinated omission): 1.6 % of \
             randomly arriving requests would have hit one; p99 and p99.9 are too low"
        );
        assert_eq!(
            found[0].headline(),
            "4 stalls of up to 20.0 ms (coordinated omission)"
        );
        assert_eq!(found[0].options, "--rate 5k");
        assert_eq!(
            found[0].remedy.as_deref(),
            Some("Load at a rate, which does not wait for the server: --rate 5k")
        );
    }

    #[test]
    fn of_one_connection_a_thread_it_is_said_that_a_slow_answer_looks_the_same() {
        // Connections, threads, depth of the pipeline, and whether gaps may be single answers.
        for (connections, threads, pipeline, single) in [
            (1, 1, 1, true),
            (3, 3, 1, true),
            (2, 1, 1, false),
            (1, 1, 2, false),
        ] {
            let mut run = run(4, 20_000);
            run.plan.load = plan::Load::Closed { connections };
            run.plan.threads = threads;
            run.plan.protocol.pipeline = pipeline;
            run.points[0].level.load = run.plan.load;
            let found = found(&run);
            let said = found[0]
                .sentence
                .contains("a stall and a slow response look the same");
            assert_eq!(said, single, "{}", found[0].sentence);
            assert!(found[0].sentence.ends_with("; p99 and p99.9 are too low"));
            let more = found[0].remedy.as_ref().unwrap().contains("-c 10");
            assert_eq!(more, single);
        }
    }

    #[test]
    fn above_a_thousandth_of_the_time_there_is_a_caveat_even_where_no_percentile_is_too_low() {
        // Six gaps catch sixty samples of fifty thousand, more than one in a thousand: p99.9 is among them.
        for (micros, findings) in [(900, 0), (930, 0), (1_100, 1)] {
            let run = run(6, micros);
            let p999 = run
                .summary
                .as_ref()
                .unwrap()
                .latency_us
                .at(Percentile::P999);
            assert!(p999.is_some(), "{micros}");
            let found = found(&run);
            assert_eq!(found.len(), findings, "{micros}: {found:?}");
            if let Some(found) = found.first() {
                assert!(
                    found.sentence.ends_with("would have hit one"),
                    "{}",
                    found.sentence
                );
            }
        }
    }

    #[test]
    fn the_generators_own_waiting_is_told_where_it_is_a_tenth_of_the_gaps() {
        for (wait, told) in [(7, false), (8, true)] {
            let mut run = run(4, 20_000);
            let stalls = run.points[0].rounds[1].tally.stalls.as_mut().unwrap();
            stalls.own_wait = MS * wait;
            let found = found(&run);
            let said = found[0]
                .sentence
                .contains("in which the generator itself did not run");
            assert_eq!(said, told, "{}", found[0].sentence);
        }
    }

    #[test]
    fn the_rate_is_half_of_the_throughput_in_round_figures() {
        let mut summary = healthy().summary.unwrap();
        for (rps, wanted) in [
            (123_456.0, "62k"),
            (10_001.0, "5k"),
            (3_010.0, "1.5k"),
            (30.0, "15"),
            (5.0, "2.5"),
            (0.0, "1"),
        ] {
            summary.rps.mean = rps;
            assert!(
                remedy(&summary, false).ends_with(&format!("--rate {wanted}")),
                "{}",
                remedy(&summary, false)
            );
        }
    }
}
