//! Open loop: did the server keep up with the schedule?

use super::offered::share;
use super::paused;
use super::prelude::*;
use super::short::{Short, short};
use plan::{Arrivals, Load, Stop};
use record::{Blame, Kind, Summary};

pub(super) const CHECK: Check = Check {
    name: "overload",
    question: "Open loop: did the server keep up with the schedule?",
    looks_at: "Requests that ended ok inside the windows against those scheduled; and whether response time grew \
               during the run as a growing backlog makes it grow, by (offered - sustained) / sustained for each \
               second. With --connection-rate, each connection offers the requests that it lived to send, and the \
               growth is shared by them: only the first waits for a connection. A connection that was never opened \
               stands for all of its requests. Rounds in which weigh was paused are left out. Where only the \
               generator was saturated there is no overload: `limit` says that the rate was not offered.",
    thresholds: &[
        threshold(
            "share of the scheduled requests that ended ok in the windows, under",
            || percent(SUSTAINED_LEAST),
            "Nighthawk's controller accepts the same",
        ),
        threshold(
            "less than that by chance, with -n at random, standard deviations",
            || DEVIATIONS.to_string(),
            "chance leads further once in some hundred runs",
        ),
        guess("growth of response time, of the expected, from", || {
            percent(GROWTH_LEAST)
        }),
        threshold(
            "growth before the last quarter of the window, of the expected, from",
            || percent(EARLY_LEAST),
            "a guess; otherwise it was a late stall, see `stalls`",
        ),
        guess(
            "growth where it came in the last quarter only, of the expected, from",
            || percent(LATE_LEAST),
        ),
        guess("instead of growth: share that was never sent, from", || {
            percent(LEFT_OVER_LEAST)
        }),
        threshold(
            "instead of early growth: share that was never sent, over",
            || percent(LAST_QUARTER),
            "more than was scheduled in the last quarter",
        ),
        guess(
            "share of response time waiting for a connection, for connections to be the bottleneck, over",
            || percent(QUEUED_MOST),
        ),
    ],
    effect: "Latency is void: it depends on how long one measures. OVERLOAD and the sustained rate stand in its \
             place. The finding names the bottleneck: the server; the connections, where all were open, the server \
             had CPU left (or was not observed), and waiting for one was most of response time or left requests \
             unsent; or both sides, where both were saturated.",
    remedy: "For latency, use a lower rate than was sustained. Raise --connections where they were the bottleneck.",
    cause: Cause::Overload,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// Under this share of what was due the rate was not sustained.
const SUSTAINED_LEAST: f64 = 0.99;
/// How far chance may lead the time that a number of random arrivals takes away from its mean, in standard deviations:
/// once in some hundred runs it leads further, and then response time must have grown too.
const DEVIATIONS: f64 = 3.0;
/// At least this share of the growth that the missing rate makes must be seen.
const GROWTH_LEAST: f64 = 0.5;
/// A backlog grows from the beginning: at least this share of that growth must be seen before the last quarter of the
/// windows, where less of it is to be told from chance.
const EARLY_LEAST: f64 = 0.25;
/// Where it is seen in the last quarter only, a stall of its length makes less of a slope than a backlog.
const LATE_LEAST: f64 = 0.2;
/// What was never sent is more than what was due in the last quarter: then it was not a stall near the end.
const LAST_QUARTER: f64 = 0.25;
/// At least this share of what was due must have been left over.
const LEFT_OVER_LEAST: f64 = 0.01;

/// Where waiting for a connection is more than this share of response time, what connections there were is what ended
/// exchanges a second.
const QUEUED_MOST: f64 = 0.5;

/// What was due a second, and what of it ended well.
pub(super) struct Rates {
    /// Requests a second that were due.
    pub(super) offered: f64,
    /// Those that ended well inside the windows, a second.
    pub(super) sustained: f64,
    /// How far chance may lead `offered` away, as a share of it.
    chance: f64,
}

impl Rates {
    /// Whether what ended well is as much as was due.
    pub(super) fn is_sustained(&self) -> bool {
        self.sustained >= (SUSTAINED_LEAST - self.chance) * self.offered
    }
}

/// The rates of an open loop.
pub(super) fn rates(evidence: &Evidence<'_>) -> Option<Rates> {
    let (load, plan) = (evidence.load?, evidence.plan()?);
    let Load::Open { rate, arrivals, .. } = load else {
        return None;
    };
    let (tally, summary) = (evidence.tally.as_ref()?, evidence.summary.as_ref()?);
    // Of a number that arrives at random only the mean of the rate is known: so few may have come later by chance.
    let (each_second, chance) = match (plan.stop, arrivals) {
        (Stop::Duration(_), _) => (arrived(tally) as f64 / summary.duration_s, 0.0),
        (Stop::Requests(_), Arrivals::Constant) => (rate.as_f64(), 0.0),
        (Stop::Requests(_), Arrivals::Poisson) => {
            (rate.as_f64(), DEVIATIONS / (arrived(tally) as f64).sqrt())
        }
    };
    let brought = brought(tally, load.exchanges_per_arrival(&plan.protocol));
    Some(Rates {
        offered: each_second * brought,
        sustained: summary.rps.mean,
        chance,
    })
}

/// A growing backlog, with which latency depends on the run's length; it does not say which side was slow.
pub(super) struct Shortfall {
    rates: Rates,
    /// What latency does for it, in words.
    how: String,
    /// Seconds by which response time grew for each second.
    slope: f64,
    /// The share of what arrived that was never sent.
    left: f64,
    /// Whether all of it came near the end of the windows, so that it was a stall and no growing backlog.
    is_late: bool,
}

/// Returns how much more was scheduled than served; none where all was served, or where latency shows no backlog.
pub(super) fn shortfall(evidence: &Evidence<'_>) -> Option<Shortfall> {
    of_running(evidence, fell_behind).filter(|found| !found.is_late)
}

/// Returns the finding of `stalls` where the server fell behind near the end of the windows only.
pub(super) fn late_stall(evidence: &Evidence<'_>) -> Option<Finding> {
    let found = of_running(evidence, fell_behind)?;
    let is_servers = found.is_late && !matches!(short(evidence), Short::Generator | Short::Both);
    let headline = "the server stalled near the end of a window";
    let sentence = format!(
        "{headline}: {} requests/s offered, {} sustained; {}, but not before, so it was not overload",
        units::rate(found.rates.offered),
        units::rate(found.rates.sustained),
        found.how
    );
    let finding = caveat(SPEED, headline, sentence);
    is_servers.then(|| {
        finding
            .because(Cause::Stall)
            .remedy("Measure longer, with --duration, to see whether it recovers")
            .options("--duration 30s")
    })
}

/// What `judge` finds in the rounds in which the generator ran all the time: the others show what it did not do.
fn of_running<T>(
    evidence: &Evidence<'_>,
    judge: impl FnOnce(&Evidence<'_>) -> Option<T>,
) -> Option<T> {
    let rounds = evidence.rounds?;
    if !rounds.iter().any(paused::is_paused) {
        return judge(evidence);
    }
    let rest = rounds.iter().filter(|round| !paused::is_paused(round));
    let rest: Vec<Round> = rest.cloned().collect();
    judge(&Evidence {
        rounds: Some(&rest),
        tally: Summary::tally(&rest),
        summary: Summary::of(&rest),
        ..evidence.clone()
    })
}

fn fell_behind(evidence: &Evidence<'_>) -> Option<Shortfall> {
    let rates = rates(evidence)?;
    if rates.sustained <= 0.0 || rates.is_sustained() {
        return None;
    }
    let tally = evidence.tally.as_ref()?;
    let each = evidence
        .load?
        .exchanges_per_arrival(&evidence.plan()?.protocol);
    let growth = &tally.open.as_ref()?.growth;
    let slope = growth.slope().unwrap_or(0.0);
    let missing = (rates.offered - rates.sustained) / rates.sustained;
    let reaches = |slope: f64, least: f64| slope * brought(tally, each) >= least * missing;
    let left = left_over(tally);
    let is_left = left >= LEFT_OVER_LEAST && tally.ok >= tally.started / 2;
    let early = growth.early_slope();
    let is_early = early.is_none_or(|early| reaches(early, EARLY_LEAST)) || left > LAST_QUARTER;
    let grows = reaches(slope, if is_early { GROWTH_LEAST } else { LATE_LEAST });
    let how = match (grows, is_left) {
        (true, _) => format!(
            "response time grew by {} each second",
            span(Nanos::from_nanos((slope * 1e9) as u64))
        ),
        (false, true) => format!("{} was never sent", percent(left)),
        (false, false) => return None,
    };
    Some(Shortfall {
        rates,
        how,
        slope,
        left,
        is_late: !is_early,
    })
}

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let Load::Open {
        of, connections, ..
    } = evidence.load?
    else {
        return None;
    };
    let short = short(evidence);
    // Then the check `limit` says that the rate was not offered.
    let found = shortfall(evidence).filter(|_| short != Short::Generator)?;
    let few = matches!(short, Short::Neither) && is_for_connections(evidence, connections);
    let flag = of.flag();
    let (by, remedy) = match short {
        Short::Both => (
            "by generator and server, both saturated".to_owned(),
            format!("Lower {flag}, or load from another machine"),
        ),
        _ if few => (
            format!("over {}", number(connections.into(), "connection")),
            format!("Raise --connections, or lower {flag}"),
        ),
        _ => (
            "by the server".to_owned(),
            format!("Lower {flag} below what the server sustains"),
        ),
    };
    let headline = format!(
        "OVERLOAD: {} requests/s offered, {} sustained",
        units::rate(found.rates.offered),
        units::rate(found.rates.sustained)
    );
    let sentence = format!(
        "{headline} {by}; {}, so latency depends on run length",
        found.how
    );
    let finding = void(&[Figure::Latency], headline, sentence);
    Some(finding.remedy(remedy).evidence([
        ("offered", found.rates.offered),
        ("sustained", found.rates.sustained),
        ("growth", found.slope),
        ("never sent", found.left),
    ]))
}

/// Whether all connections were open and most of the time, or what was left over, went with waiting for one of them.
fn is_for_connections(evidence: &Evidence<'_>, connections: u32) -> bool {
    evidence.tally.as_ref().is_some_and(|tally| {
        let share = tally
            .open
            .as_ref()
            .and_then(|open| share(tally, &open.queued));
        let waits = share.is_some_and(|share| share > QUEUED_MOST);
        tally.connects.open_peak >= connections.into()
            && (waits || left_over(tally) >= LEFT_OVER_LEAST)
    })
}

/// What arrived in the windows: connections or exchanges.
fn arrived(tally: &Tally) -> u64 {
    let sessions = tally.sessions();
    sessions.map_or(tally.scheduled, |sessions| sessions.scheduled)
}

/// Exchanges that an arrival stood for, of `each` that it might have: a connection that ended early for fewer.
fn brought(tally: &Tally, each: u64) -> f64 {
    let skipped = tally.sessions().map_or(0.0, |sessions| {
        sessions.skipped as f64 / sessions.scheduled.max(1) as f64
    });
    (each as f64 - skipped).max(1.0)
}

/// The share of what arrived that was never sent because no connection was free for it.
fn left_over(tally: &Tally) -> f64 {
    let left = tally
        .faults
        .count(|fault| fault.kind == Kind::NeverSent && fault.blame == Blame::Server);
    left as f64 / arrived(tally).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::open_loop;
    use record::{Grade, Growth, Run};
    use units::{Instant, Nanos};

    fn found(run: &mut Run) -> Vec<Finding> {
        run.summarise();
        Vec::from_iter(judge(&Evidence::of(run, &run.points[0])))
    }

    /// The healthy open loop, of whose thousand a second so many ended inside the windows, and whose response time grew
    /// by so many milliseconds a second.
    fn run(sustained: u64, growth: u64) -> Run {
        let mut run = open_loop();
        for round in &mut run.points[0].rounds {
            round.tally.ok_in_window = sustained;
            let open = round.tally.open.as_mut().unwrap();
            open.growth = Growth::default();
            for milli in 0..1_000 {
                let response = Nanos::from_micros(500 + milli * growth);
                let due = Instant::ZERO + Nanos::from_millis(milli);
                open.growth.add(due, response);
            }
        }
        run
    }

    #[test]
    fn a_rate_that_was_sustained_passes_however_response_time_went() {
        assert_eq!(found(&mut open_loop()), []);
        assert_eq!(found(&mut run(990, 100)), []);
    }

    #[test]
    fn what_is_missing_is_overload_where_response_time_grows_with_it() {
        // 800 of 1000: a quarter of a second for each second.
        for (growth, findings) in [(0, 0), (120, 0), (130, 1), (250, 1)] {
            let found = found(&mut run(800, growth));
            assert_eq!(found.len(), findings, "{growth}: {found:?}");
            assert!(found.iter().all(|each| each.grade() == Grade::Invalid));
        }
        assert_eq!(
            found(&mut run(800, 250))[0].sentence,
            "OVERLOAD: 1,000 requests/s offered, 800 sustained by the server; response time grew by 250 ms each \
             second, so latency depends on run length"
        );
    }

    /// Who is said to have sustained it, and what is to be done, where generator and server were this busy.
    fn blamed(
        generator: f64,
        server: Option<f64>,
        change: impl Fn(&mut Tally),
    ) -> Option<(String, String)> {
        let mut run = run(800, 250);
        for round in &mut run.points[0].rounds {
            round.threads = vec![crate::fixture::busy_thread(generator)];
            round.footprint = server.map(crate::fixture::busy_server);
            change(&mut round.tally);
        }
        let found = found(&mut run).pop()?;
        let who = found.sentence.split(" offered, ").nth(1)?;
        let who = who.replace(" sustained", "");
        let who = who.strip_prefix("800 ")?.split(';').next()?;
        Some((who.to_owned(), found.remedy?))
    }

    #[test]
    fn a_generator_without_cpu_is_not_written_down_as_the_servers_doing() {
        let server = "by the server";
        let both = "by generator and server, both saturated";
        for (generator, used, wanted) in [
            (0.86, Some(0.90), None),
            (0.86, None, None),
            (0.86, Some(0.91), Some(both)),
            (0.85, Some(0.91), Some(server)),
            (0.85, Some(0.20), Some(server)),
            (0.85, None, Some(server)),
        ] {
            let who = blamed(generator, used, |_| ()).map(|(who, _)| who);
            assert_eq!(who.as_deref(), wanted, "{generator} {used:?}");
        }
    }

    #[test]
    fn connections_that_were_all_waited_for_are_what_sustained_so_much() {
        let of_ten = |server, peak, per_cent| {
            blamed(0.1, server, |tally| {
                tally.connects.open_peak = peak;
                let open = tally.open.as_mut().unwrap();
                let service = tally.service.sum() / 1_000;
                open.queued.record_n(service * per_cent / 100, 1_000);
            })
        };
        for (server, peak, queued, wanted) in [
            (Some(0.02), 10, 110, true),
            (None, 10, 110, true),
            (Some(0.02), 9, 110, false),
            (Some(0.02), 10, 90, false),
            (Some(0.97), 10, 110, false),
        ] {
            let (who, remedy) = of_ten(server, peak, queued).unwrap();
            assert_eq!(who == "over 10 connections", wanted, "{who}");
            assert_eq!(remedy.contains("Raise --connections"), wanted, "{remedy}");
        }
    }

    #[test]
    fn what_was_left_over_is_overload_too_but_not_where_most_failed() {
        // Half of what was due was done: a second for each, of which a quarter is to be seen.
        for (left, ok, growth, findings) in [
            (49, 5_000, 300, 0),
            (51, 5_000, 300, 1),
            (51, 2_000, 300, 0),
            (51, 5_000, 200, 0),
        ] {
            let mut run = run(500, growth);
            let tally = &mut run.points[0].rounds[0].tally;
            tally.observe_never_sent(left, Nanos::from_secs(1), Blame::Server);
            let rest = run.points[0].rounds.iter_mut();
            rest.for_each(|round| round.tally.ok = ok / 5);
            let found = found(&mut run);
            assert_eq!(found.len(), findings, "{left} {ok}: {found:?}");
        }
    }

    /// The same where those thousand a second are of 100 connections, of which some ended early.
    fn of_visits(sustained: u64, growth: u64, skipped: u64) -> Run {
        let mut run = run(sustained, growth);
        run.points[0].level.load = Load::Open {
            rate: units::Rate::per_second(100),
            of: plan::Arriving::Connections,
            arrivals: Arrivals::Constant,
            connections: 10,
        };
        run.plan.load = run.points[0].level.load;
        run.plan.protocol.requests_per_connection = Some(10);
        for round in &mut run.points[0].rounds {
            round.tally.open.as_mut().unwrap().sessions = Some(record::Sessions {
                scheduled: 100,
                skipped,
                ..record::Sessions::default()
            });
        }
        run
    }

    #[test]
    fn connections_offer_what_they_live_to_ask_and_share_the_growth() {
        // 800 of 1000: a quarter of a second for each second, over ten requests.
        for (sustained, growth, skipped, findings) in [
            (800, 12, 0, 0),
            (800, 13, 0, 1),
            (800, 13, 200, 0),
            (990, 100, 0, 0),
        ] {
            let found = found(&mut of_visits(sustained, growth, skipped));
            assert_eq!(found.len(), findings, "{growth} {skipped}: {found:?}");
        }
        let found = found(&mut of_visits(800, 25, 0));
        assert!(
            found[0]
                .sentence
                .starts_with("OVERLOAD: 1,000 requests/s offered, 800 sustained by the server;")
        );
        assert!(
            found[0]
                .remedy
                .as_ref()
                .unwrap()
                .contains("--connection-rate")
        );
    }

    #[test]
    fn what_chance_makes_of_a_number_of_arrivals_is_no_overload() {
        // 500 connections in all: three standard deviations are 13 %.
        for (law, sustained, findings) in [
            (Arrivals::Constant, 980, 1),
            (Arrivals::Poisson, 860, 0),
            (Arrivals::Poisson, 850, 1),
        ] {
            let mut run = of_visits(sustained, 100, 0);
            run.plan.stop = Stop::Requests(5_000);
            let Load::Open { arrivals, .. } = &mut run.points[0].level.load else {
                panic!("it is an open loop")
            };
            *arrivals = law;
            let found = found(&mut run);
            assert_eq!(found.len(), findings, "{law} {sustained}: {found:?}");
        }
    }

    #[test]
    fn arrivals_that_were_left_over_stand_for_all_they_were_to_ask() {
        for (left, findings) in [(4, 0), (5, 1)] {
            let mut run = of_visits(500, 30, 0);
            let tally = &mut run.points[0].rounds[0].tally;
            tally.observe_never_sent(left, Nanos::from_secs(1), Blame::Server);
            assert_eq!(found(&mut run).len(), findings, "{left}");
        }
    }

    /// What the checks `overload` and `stalls` say.
    fn told(run: &mut Run) -> Vec<(String, String)> {
        run.summarise();
        let all = crate::judge_evidence(&Evidence::of(run, &run.points[0]));
        let about = all
            .into_iter()
            .filter(|found| ["overload", "stalls"].contains(&found.check.as_str()));
        about.map(|found| (found.check, found.sentence)).collect()
    }

    #[test]
    fn a_stall_near_the_end_is_no_overload() {
        let mut run = run(943, 0);
        for round in &mut run.points[0].rounds {
            let growth = &mut round.tally.open.as_mut().unwrap().growth;
            for milli in 900..1_000 {
                let due = Instant::ZERO + Nanos::from_millis(milli);
                growth.add(due, Nanos::from_millis(1_000 - milli));
            }
        }
        let told = told(&mut run);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, "stalls");
        assert!(
            told[0].1.starts_with(
                "the server stalled near the end of a window: 1,000 requests/s offered, 943 sustained;"
            ),
            "{told:?}"
        );
    }

    #[test]
    fn rounds_in_which_the_generator_was_paused_tell_nothing_of_the_server() {
        let mut run = run(800, 250);
        let pause = |round: &mut Round| {
            let mut thread = crate::fixture::busy_thread(0.1);
            thread.paused.add(Nanos::from_millis(100));
            round.threads = vec![thread];
        };
        run.points[0].rounds[1..].iter_mut().for_each(pause);
        assert_eq!(told(&mut run).len(), 1, "the first round shows it");
        pause(&mut run.points[0].rounds[0]);
        assert_eq!(told(&mut run), []);
    }

    #[test]
    fn a_server_that_answers_nothing_is_not_called_overloaded() {
        assert_eq!(found(&mut run(0, 900)), []);
    }
}
