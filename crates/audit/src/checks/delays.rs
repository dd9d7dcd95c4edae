//! Do latencies have the fingerprint of a delay in TCP?

use super::prelude::*;
use stats::Histogram;

pub(super) const CHECK: Check = Check {
    name: "delays",
    question: "Do latencies have the fingerprint of a delay in TCP?",
    looks_at: "Service times, in milliseconds: whether those of 39 to 49 (Linux delays an acknowledgement by 40) or of \
               199 to 215 (the shortest retransmission timeout is 200) stand far above both sides. Retransmissions \
               also need the kernel's count, where the server runs on this machine and both ends are counted. Times of \
               connecting, in seconds: 1 to 1.1 and 3 to 3.2, after which a lost SYN is sent again.",
    thresholds: &[
        threshold(
            "times the number that both sides lead to expect, from",
            || TIMES.to_string(),
            "a smooth distribution has about 1",
        ),
        guess("requests there, from", || REQUESTS_LEAST.to_string()),
        guess("share of the requests there, from", || percent(SHARE_LEAST)),
        threshold(
            "the server's own latency instead: share of the requests there, over",
            || percent(SHARE_OWN),
            "a delay in TCP leaves some requests faster; what most take may be the server's work",
        ),
    ],
    false_alarms: "simulation of 1,000 runs of 10,000 requests each by six smooth distributions (exponential, lognormal, \
                   Pareto, uniform, of means 1 to 100 ms), which a test repeats: none; a server that itself waits 40 or \
                   200 ms for some requests is found too",
    power: "the same simulation: 1 % of requests delayed by 40 ms are found in over 99 % of runs where requests take 1 ms, and \
            in none where they take 40 ms",
    effect: "Latency gets a caveat; where most requests are there, a note. Connections whose SYN was sent again are a \
             note.",
    remedy: "Set TCP_NODELAY on the server's sockets, or write head and body with one call.",
    cause: Cause::Other,
    judge,
};

/// So many times what its neighbours lead to expect.
const TIMES: f64 = 10.0;
/// Fewer may be chance.
const REQUESTS_LEAST: u64 = 20;
/// A smaller share moves no percentile that is usually printed.
const SHARE_LEAST: f64 = 0.001;
/// More than this is hardly an exception.
const SHARE_OWN: f64 = 0.5;

/// A span of milliseconds, from and below.
type Millis = (u64, u64);

/// Where a mode is looked for, and beside it on either side.
struct Place {
    at: Millis,
    sides: [Millis; 2],
}

const DELAYED: Place = Place {
    at: (39, 49),
    sides: [(28, 38), (54, 64)],
};
const RESENT: Place = Place {
    at: (199, 215),
    sides: [(150, 190), (230, 270)],
};
/// Connecting took so long where the first SYN was lost, or the first two.
const SYN_RESENT: [Millis; 2] = [(1_000, 1_100), (3_000, 3_200)];

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some(tally) = &evidence.tally else {
        return Vec::new();
    };
    let delayed = mode(&tally.service, &DELAYED).map(|requests| delayed(tally, requests));
    let resent = resent(evidence, tally);
    let syn = syn(tally);
    delayed.into_iter().chain(resent).chain(syn).collect()
}

fn between(times: &Histogram, (from, below): Millis) -> u64 {
    let under = |millis: u64| times.count_at_or_below(millis * 1_000_000 - 1);
    under(below).saturating_sub(under(from))
}

/// Returns how many times stand at `place`, where they are far more than its sides lead to expect.
fn mode(times: &Histogram, place: &Place) -> Option<u64> {
    let width = |(from, below): Millis| (below - from) as f64;
    let found = between(times, place.at);
    let density = place
        .sides
        .map(|side| between(times, side) as f64 / width(side));
    let expected = density[0].max(density[1]) * width(place.at);
    let is_mode = found >= REQUESTS_LEAST
        && found as f64 >= SHARE_LEAST * times.count() as f64
        && found as f64 >= TIMES * expected;
    is_mode.then_some(found)
}

/// A caveat, or a note where most requests are there.
fn graded(tally: &Tally, requests: u64, headline: String, sentence: String) -> Finding {
    let share = requests as f64 / tally.service.count() as f64;
    let finding = match share > SHARE_OWN {
        true => note(format!(
            "{sentence}, unless the server itself waits so long"
        )),
        false => caveat(&[Figure::Latency], headline, sentence),
    };
    finding.evidence([
        ("requests there", requests as f64),
        ("share of the requests", share),
    ])
}

fn delayed(tally: &Tally, requests: u64) -> Finding {
    let share = percent(requests as f64 / tally.service.count() as f64);
    let headline = format!("{share} of requests took 40 ms: delayed ACKs");
    let sentence = format!(
        "{share} of requests took 40 to 48 ms and hardly any a little less or more: a delayed ACK for a response that the \
         server writes in pieces (Nagle's algorithm)"
    );
    let remedy = "Set TCP_NODELAY on the server's sockets, or write head and body with one call (writev, TCP_CORK, \
                  nginx: tcp_nodelay on)";
    graded(tally, requests, headline, sentence).remedy(remedy)
}

fn resent(evidence: &Evidence<'_>, tally: &Tally) -> Option<Finding> {
    let requests = mode(&tally.service, &RESENT)?;
    let rounds = evidence.rounds.unwrap_or_default().iter();
    let counted: u64 = rounds
        .clone()
        .filter_map(|round| round.kernel?.retransmits)
        .fold(0, u64::saturating_add);
    let both_ends = rounds
        .clone()
        .any(|round| round.kernel.is_some() && round.footprint.is_some());
    if both_ends && counted == 0 {
        return None;
    }
    let share = percent(requests as f64 / tally.service.count() as f64);
    let headline = format!("{share} of requests took 200 ms: retransmissions");
    let sentence = format!(
        "{share} of requests took 200 to 214 ms and hardly any a little less or more: a lost segment is sent again after \
         200 ms"
    );
    let remedy = "Look for packet loss on the path (nstat -z TcpRetransSegs, ethtool -S) and for full socket buffers";
    Some(
        graded(tally, requests, headline, sentence)
            .because(Cause::Network)
            .remedy(remedy),
    )
}

fn syn(tally: &Tally) -> Option<Finding> {
    let times = &tally.connects.time;
    let late: u64 = SYN_RESENT.iter().map(|span| between(times, *span)).sum();
    let is_exception = late > 0 && late * 2 < times.count();
    let sentence = format!(
        "{} 1 s or 3 s to open: the first SYN was lost, as by a full listen queue or a firewall",
        counted(late, "connection took", "connections took")
    );
    let remedy = "Raise the server's listen backlog and net.core.somaxconn";
    is_exception.then(|| {
        note(sentence)
            .because(Cause::Network)
            .remedy(remedy)
            .evidence([("connections", late as f64)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Chance, healthy};
    use record::{Grade, KernelCounters, Run};

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    /// The healthy run, with so many more requests of so many milliseconds in its first round.
    fn with(requests: u64, millis: u64) -> Run {
        let mut run = healthy();
        run.points[0].rounds[0]
            .tally
            .service
            .record_n(millis * 1_000_000 + 300_000, requests);
        run
    }

    #[test]
    fn a_mode_at_40_ms_is_a_delayed_ack() {
        assert_eq!(found(&healthy()), []);
        for (requests, grade) in [
            (40, None),
            (600, Some(Grade::Caveat)),
            (90_000, Some(Grade::Note)),
        ] {
            let found = found(&with(requests, 40));
            assert_eq!(
                found.first().map(Finding::grade),
                grade,
                "{requests}: {found:?}"
            );
        }
        assert_eq!(found(&with(600, 51)), []);
        let mut beside = with(600, 40);
        beside.points[0].rounds[0]
            .tally
            .service
            .record_n(56_000_000, 80);
        assert_eq!(found(&beside), [], "its neighbours are frequent too");
    }

    #[test]
    fn a_mode_at_200_ms_is_a_retransmission_where_the_kernel_counted_some() {
        for (counted, findings) in [(Some(9), 1), (Some(0), 0), (None, 0)] {
            let mut run = with(600, 201);
            for round in &mut run.points[0].rounds {
                round.kernel = Some(KernelCounters {
                    retransmits: counted,
                    ..KernelCounters::default()
                });
            }
            assert_eq!(found(&run).len(), findings, "{counted:?}");
        }
        let mut remote = with(600, 201);
        remote.points[0]
            .rounds
            .iter_mut()
            .for_each(|round| round.footprint = None);
        let finding = found(&remote).remove(0);
        assert_eq!(
            (finding.cause, finding.grade()),
            (Cause::Network, Grade::Caveat)
        );
    }

    #[test]
    fn connections_whose_syn_was_lost_are_noted() {
        let mut run = healthy();
        let times = &mut run.points[0].rounds[0].tally.connects.time;
        times.record_n(100_000, 8);
        times.record_n(1_030_000_000, 2);
        let finding = found(&run).remove(0);
        assert!(
            finding
                .sentence
                .starts_with("2 connections took 1 s or 3 s to open"),
            "{finding:?}"
        );
        let times = &mut run.points[0].rounds[0].tally.connects.time;
        times.record_n(1_030_000_000, 20);
        assert_eq!(found(&run), [], "most take so long: the path does");
    }

    /// The share of `runs` runs of 10,000 requests that are found to have a mode at either place.
    fn simulated(runs: u32, of: impl Fn(&mut Chance) -> f64) -> f64 {
        let mut chance = Chance::seeded();
        let found = (0..runs).filter(|_| {
            let mut times = Histogram::default();
            (0..10_000).for_each(|_| times.record((of(&mut chance) * 1e6) as u64));
            [DELAYED, RESENT]
                .iter()
                .any(|place| mode(&times, place).is_some())
        });
        found.count() as f64 / f64::from(runs)
    }

    #[test]
    fn false_alarms_and_power_are_those_of_the_manual() {
        let smooth: [fn(&mut Chance) -> f64; 6] = [
            |chance| chance.exponential(),
            |chance| 10.0 * chance.exponential(),
            |chance| 100.0 * chance.exponential(),
            |chance| 20.0 * (0.5 * chance.normal()).exp(),
            |chance| chance.uniform().powf(-0.5),
            |chance| 60.0 * chance.uniform(),
        ];
        for (at, of) in smooth.into_iter().enumerate() {
            assert!(simulated(1_000, of) < 0.001, "{at}");
        }
        let delayed = |mean: f64| {
            move |chance: &mut Chance| {
                let late = if chance.uniform() < 0.01 { 40.0 } else { 0.0 };
                mean * chance.exponential() + late
            }
        };
        assert!(simulated(200, delayed(1.0)) > 0.99);
        assert!(simulated(200, delayed(40.0)) < 0.01);
    }
}
