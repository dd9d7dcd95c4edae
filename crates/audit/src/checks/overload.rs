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
               generator was saturated, or had no CPU, there is no overload: `limit` says that the rate was not offered. In a short \
               window a few more requests in the queue at its end than at its start look like a backlog, so that it is \
               judged over rounds, of fewer than three over the thirds of their windows. A ramp, whose rate changes all \
               the time, is not judged.",
    thresholds: &[
        threshold(
            "share of the scheduled requests that ended ok in the windows, under",
            || percent(SUSTAINED_LEAST),
            "Nighthawk's controller accepts the same",
        ),
        threshold(
            "lower ends over rounds of the missing share (one-sided 97.5 %) and of the growth (95 %), over",
            || "0".to_owned(),
            "simulation of M/M/1, five windows of 5 s, 50 requests/s: with the next threshold passed at 80, 90, 95 and 120 % \
             load in 0, 0.1, 2.3 and 98 % of runs",
        ),
        threshold(
            "and missing share beyond what chance makes of a server exactly at its capacity, standard deviations, over",
            || CHANCE.to_string(),
            "one-sided 95 %; the queue is then a random walk, of variance 2 a request with random arrivals, else 1",
        ),
        threshold(
            "no backlog: upper end of the missing share, under",
            || percent(MISSING_MOST),
            "the same simulation",
        ),
        guess(
            "fewer than three rounds: share missing, while each third grows, over",
            || percent(PLAIN),
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
    false_alarms: "simulation of M/M/1 in five windows of 5 s, 3,000 runs each: 0 to 1.0 % of runs at 80 or 90 % load and 20 to 500 requests/s, at 95 % load 0 to 4.2 %; one or three windows: at most 6 %, which a test repeats",
    power: "simulation of M/M/1, which a test repeats: at least 85 % at 130 % load; five windows of 20 s: at least 85 % at 110 %",
    effect: "Latency is void: it depends on how long one measures. OVERLOAD and the sustained rate stand in its \
             place. Where the rounds do not tell a backlog from chance, latency gets a caveat. The finding names the bottleneck: the server; the connections, where all were open, the server \
             had CPU left (or was not observed), and waiting for one was most of response time or left requests \
             unsent; or both sides, where both were saturated.",
    remedy: "For latency, use a lower rate than was sustained. Raise --connections where they were the bottleneck. Measure \
             longer where the windows were too short to tell.",
    cause: Cause::Overload,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// Under this share of what was due the rate was not sustained.
const SUSTAINED_LEAST: f64 = 0.99;
/// How far chance may lead the time that a number of random arrivals takes away from its mean, in standard deviations:
/// once in some hundred runs it leads further, and then response time must have grown too.
const DEVIATIONS: f64 = 3.0;
/// Where the upper end of what is missing is under this, and less than 1 % is missing, no backlog grew.
const MISSING_MOST: f64 = 0.05;
/// With more missing than this, fewer than three rounds tell a backlog that grows all the time.
const PLAIN: f64 = 0.20;
/// The fewest bins of 100 ms that are cut into thirds.
const BINS_LEAST: usize = 6;
/// The most times as long a window that is proposed.
const TIMES_MOST: f64 = 10.0;
/// The two-sided confidence with which requests must be missing, and response time must grow.
const SURE: f64 = 0.95;
/// Of the growth less is asked: with both at 95 % a server at 120 % of its capacity is found in 92 % of runs, so in 97 %.
const SURE_OF_GROWTH: f64 = 0.90;
/// One-sided 95 % of a normal law: so many standard deviations of what is missing by chance.
const CHANCE: f64 = 1.645;
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
    /// Requests that an arrival stands for.
    brought: f64,
}

impl Rates {
    /// Whether what ended well is as much as was due.
    pub(super) fn is_sustained(&self) -> bool {
        self.sustained >= (SUSTAINED_LEAST - self.chance) * self.offered
    }
}

/// The rates of an open loop.
pub(super) fn rates(evidence: &Evidence<'_>) -> Option<Rates> {
    let summary = evidence.summary.as_ref()?;
    let tally = evidence.tally.as_ref()?;
    rates_of(evidence, tally, summary.duration_s, summary.rps.mean)
}

/// The rates of `tally`, of which so many requests a second ended well inside windows of `seconds` together.
fn rates_of(evidence: &Evidence<'_>, tally: &Tally, seconds: f64, sustained: f64) -> Option<Rates> {
    let (load, plan) = (evidence.load?, evidence.plan()?);
    let Load::Open { rate, arrivals, .. } = load else {
        return None;
    };
    // Of a number that arrives at random only the mean of the rate is known: so few may have come later by chance.
    let (each_second, chance) = match plan.stop {
        Stop::Duration(_) => (arrived(tally) as f64 / seconds, 0.0),
        Stop::Requests(_) => {
            let deviation = (arrivals.dispersion() / arrived(tally).max(1) as f64).sqrt();
            (rate.as_f64(), DEVIATIONS * deviation)
        }
    };
    let brought = brought(tally, load.exchanges_per_arrival(&plan.protocol));
    Some(Rates {
        offered: each_second * brought,
        sustained,
        chance,
        brought,
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
    of_running(evidence, |evidence| {
        let is_told = Backlog::of(evidence) == Some(Backlog::Grows);
        fell_behind(evidence).filter(|found| is_told && !found.is_late)
    })
}

/// Returns the finding of `stalls` where the server fell behind near the end of the windows only.
pub(super) fn late_stall(evidence: &Evidence<'_>) -> Option<Finding> {
    let found = of_running(evidence, fell_behind)?;
    let is_servers = found.is_late && matches!(short(evidence), Short::Neither | Short::Server);
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
    // What no rate lasts for has no steady state that a backlog could be told from.
    if let Load::Open {
        arrivals: Arrivals::Ramp { .. },
        ..
    } = evidence.load?
    {
        return None;
    }
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

/// A round, or a third of a window: the share of what was scheduled in it that did not end ok in it, and by how many
/// seconds the response time of what arrived grew for each second.
struct Part {
    missing: f64,
    growth: f64,
}

/// The parts that are judged: each round; where they are fewer than three, each third of their windows, unless the load comes
/// in bursts, of which thirds have different shares.
fn parts(evidence: &Evidence<'_>) -> Vec<Part> {
    let rounds = evidence.rounds.unwrap_or_default();
    if rounds.len() < 3 {
        let is_steady = matches!(evidence.load, Some(Load::Open { arrivals, .. }) if arrivals.period().is_none());
        let steady = rounds.iter().filter(|_| is_steady);
        return steady.flat_map(thirds).collect();
    }
    let part = |round: &Round| {
        let seconds = round.window.span().as_secs_f64();
        let ended = round.tally.ok_in_window as f64 / seconds;
        let rates = rates_of(evidence, &round.tally, seconds, ended)?;
        let growth = round.tally.open.as_ref()?.growth.slope()?;
        Some(Part {
            missing: 1.0 - rates.sustained / rates.offered,
            growth: growth * rates.brought,
        })
    };
    rounds.iter().filter_map(part).collect()
}

/// The thirds of a window; none of one that is too short for them.
fn thirds(round: &Round) -> Vec<Part> {
    let series = &round.tally.series;
    let (Some(open), true) = (&round.tally.open, series.ok.len() >= BINS_LEAST) else {
        return Vec::new();
    };
    let third = |number: u64| {
        let bins = series.ok.len() as u64;
        let (first, end) = (bins * number / 3, bins * (number + 1) / 3);
        let growth = open
            .growth
            .between(series.interval * first, series.interval * end);
        let scheduled: u64 = growth.count.iter().sum();
        let ended: u64 = series.ok[first as usize..end as usize].iter().sum();
        Some(Part {
            missing: 1.0 - ended as f64 / scheduled as f64,
            growth: growth.slope()?,
        })
    };
    (0..3).filter_map(third).collect()
}

/// What the parts of an open loop say of a backlog that grows.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Backlog {
    /// It grows: the server is overloaded.
    Grows,
    /// It does not.
    Stable,
    /// The windows are too short to tell, and windows so many times as long would do.
    Untold(f64),
}

impl Backlog {
    /// Judges the parts; none where nothing ended, or it is no open loop.
    fn of(evidence: &Evidence<'_>) -> Option<Backlog> {
        let rates = rates(evidence).filter(|rates| rates.sustained > 0.0)?;
        let parts = parts(evidence);
        let missing = Spread::of(parts.iter().map(|part| part.missing), SURE);
        let growth = Spread::of(parts.iter().map(|part| part.growth), SURE_OF_GROWTH);
        let (Some(missing), Some(growth)) = (missing, growth) else {
            return Some(match fell_behind(evidence) {
                None => Backlog::Stable,
                Some(_) => Backlog::Untold(1.0), // one window, too short for thirds
            });
        };
        let allowed = 1.0 - SUSTAINED_LEAST + rates.chance;
        let rounds = evidence.rounds.unwrap_or_default().len();
        let is_plain =
            rounds < 3 && missing.mean > PLAIN && parts.iter().all(|part| part.growth > 0.0);
        let is_small = missing.mean <= allowed && missing.high() < MISSING_MOST + rates.chance;
        // Of a server that is slow and not behind, endings are missing at the edge of the window.
        let is_level = growth.high() < GROWTH_LEAST * missing.mean.max(allowed);
        let by_chance = missing_by_chance(evidence);
        let is_sure = missing.low() > 0.0 && growth.low() > 0.0 && missing.mean > by_chance;
        let chance_longer = (by_chance / missing.mean).powi(2);
        Some(match missing.mean > allowed {
            true if is_plain || is_sure => Backlog::Grows,
            _ if is_small || is_level => Backlog::Stable,
            _ => Backlog::Untold(missing.longer().max(growth.longer()).max(chance_longer)),
        })
    }
}

/// The share that is missing by chance, at most, where the server can do exactly as many requests as are scheduled: then its queue
/// is a random walk, which is led away by what is random in the times between requests and in the times that they take,
/// each as in an exponential law.
fn missing_by_chance(evidence: &Evidence<'_>) -> f64 {
    let arriving = match evidence.load {
        Some(Load::Open { arrivals, .. }) => arrivals.dispersion(),
        _ => 0.0,
    };
    let sources = 1.0 + arriving;
    let arrived = evidence.tally.as_ref().map_or(0, |tally| arrived(tally));
    CHANCE * (sources / arrived.max(1) as f64).sqrt()
}

/// Mean and half width of the two-sided interval of some values, by Student's t.
struct Spread {
    mean: f64,
    half: f64,
}

impl Spread {
    /// None of fewer than two values.
    fn of(values: impl Iterator<Item = f64>, confidence: f64) -> Option<Spread> {
        let values: Vec<f64> = values.collect();
        let freedom = u32::try_from(values.len()).ok()?.checked_sub(1)?;
        let mean = stats::mean(&values)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / f64::from(freedom) / values.len() as f64).sqrt();
        let half = stats::student_t(freedom, confidence)? * error;
        Some(Spread { mean, half })
    }

    /// How many times as long one would have to measure for the lower end to be above 0, were the mean the true one.
    fn longer(&self) -> f64 {
        (self.half / self.mean).powi(2)
    }

    fn low(&self) -> f64 {
        self.mean - self.half
    }

    fn high(&self) -> f64 {
        self.mean + self.half
    }
}

fn fell_behind(evidence: &Evidence<'_>) -> Option<Shortfall> {
    let rates = rates(evidence)?;
    if rates.sustained <= 0.0 || rates.is_sustained() {
        return None;
    }
    let tally = evidence.tally.as_ref()?;
    let growth = &tally.open.as_ref()?.growth;
    let slope = growth.slope().unwrap_or(0.0);
    let missing = (rates.offered - rates.sustained) / rates.sustained;
    let reaches = |slope: f64, least: f64| slope * rates.brought >= least * missing;
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
    if let Some(found) = untold(evidence) {
        return Some(found);
    }
    let short = short(evidence);
    // Then the check `limit` says that the rate was not offered.
    let found = shortfall(evidence)?;
    if matches!(short, Short::Generator | Short::Starved) {
        return None;
    }
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

/// Windows that are too short to tell a backlog from chance, with the length that would do.
fn untold(evidence: &Evidence<'_>) -> Option<Finding> {
    let longer = of_running(evidence, |evidence| match Backlog::of(evidence)? {
        Backlog::Untold(times) if !fell_behind(evidence).is_some_and(|found| found.is_late) => {
            Some(times)
        }
        _ => None,
    })?;
    let rounds = evidence.rounds.unwrap_or_default();
    let lengths = rounds.iter().map(|round| round.window.span().as_secs_f64());
    let length = stats::median(&lengths.collect::<Vec<f64>>())?;
    let longer = longer.clamp(2.0, TIMES_MOST);
    let needed = Nanos::from_secs((length * longer).ceil() as u64);
    let rates = rates(evidence)?;
    let headline = "the windows are too short to tell a backlog from chance";
    let sentence = format!(
        "{headline}: {} requests/s offered, {} ended ok in them",
        units::rate(rates.offered),
        units::rate(rates.sustained)
    );
    let needed = units::exact(needed).replace(' ', "");
    let finding = caveat(&[Figure::Latency], headline, sentence).because(Cause::ShortWindow);
    let finding = finding.remedy(format!(
        "Measure with --duration {needed}, or more --rounds"
    ));
    Some(finding.options(format!("--duration {needed}")).evidence([
        ("offered", rates.offered),
        ("ended ok in the windows", rates.sustained),
        ("times as long", longer),
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
    use crate::fixture::{Chance, open_loop};
    use plan::Pacing;
    use record::{Grade, Growth, Run};
    use units::{Instant, Nanos, Rate};

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
            rate: Rate::per_second(100),
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

    /// A round of a queue with one server and exponential service of `mu` a second, to which the requests of `load` come. It
    /// begins empty, with a warm-up of half a second.
    fn queue(chance: &mut Chance, round: &Round, load: Load, mu: f64, seconds: f64) -> Round {
        const WARMUP: f64 = 0.5;
        let Load::Open { rate, arrivals, .. } = load else {
            panic!("it is an open loop")
        };
        let mut schedule = Pacing::new(arrivals, rate, chance.exponential().to_bits(), 0, 1);
        let mut round = round.clone();
        round.window.end = round.window.start + Nanos::from_nanos((seconds * 1e9) as u64);
        let mut tally = Tally {
            open: Some(Box::default()),
            ..Tally::default()
        };
        let (mut arrives, mut free) = (0.0, 0.0f64);
        loop {
            match arrivals {
                Arrivals::Poisson => arrives += chance.exponential() / rate.as_f64(),
                _ => arrives = schedule.next().unwrap().as_secs_f64(),
            }
            if arrives >= WARMUP + seconds {
                break;
            }
            free = free.max(arrives) + chance.exponential() / mu;
            let (at, ended) = (arrives - WARMUP, free - WARMUP);
            if (0.0..seconds).contains(&ended) {
                tally.ok_in_window += 1;
                let offset = Nanos::from_nanos((ended * 1e9) as u64);
                tally.series.add(offset, 1, 0);
            }
            if at >= 0.0 {
                tally.scheduled += 1;
                tally.started += 1;
                tally.ok += 1;
                let scheduled = Instant::ZERO + Nanos::from_nanos((at * 1e9) as u64);
                let response = Nanos::from_nanos(((ended - at) * 1e9) as u64);
                let open = tally.open.as_mut().unwrap();
                open.growth.add(scheduled, response);
            }
        }
        round.tally = tally;
        round
    }

    /// Of `runs` runs of such a queue with Poisson arrivals, those that are called overloaded, those of which it is not told,
    /// and the others.
    fn simulated(runs: u32, rounds: usize, seconds: f64, mu: f64, load: f64) -> [f64; 3] {
        simulated_of(Arrivals::Poisson, runs, rounds, seconds, mu, load)
    }

    fn simulated_of(
        process: Arrivals,
        runs: u32,
        rounds: usize,
        seconds: f64,
        mu: f64,
        load: f64,
    ) -> [f64; 3] {
        let mut chance = Chance::seeded();
        let mut run = open_loop();
        let pattern = run.points[0].rounds[0].clone();
        let level = &mut run.points[0].level.load;
        *level = level.with_rate(Rate::of_f64(load * mu).unwrap());
        if let Load::Open { arrivals, .. } = level {
            *arrivals = process;
        }
        let level = *level;
        let mut found = [0u32; 3];
        for _ in 0..runs {
            let made = (0..rounds).map(|_| queue(&mut chance, &pattern, level, mu, seconds));
            run.points[0].rounds = made.collect();
            let evidence = Evidence::of(&run, &run.points[0]);
            found[match (shortfall(&evidence), untold(&evidence)) {
                (Some(_), _) => 0,
                (None, Some(_)) => 1,
                (None, None) => 2,
            }] += 1;
        }
        found.map(|number| f64::from(number) / f64::from(runs))
    }

    #[test]
    fn a_stable_queue_is_not_called_overloaded_and_an_unstable_one_is() {
        for mu in [20.0, 50.0, 125.0, 500.0] {
            for (load, rounds) in [(0.8, 5), (0.9, 5), (0.8, 3), (0.9, 3), (0.8, 1), (0.9, 1)] {
                let most = if rounds == 5 { 0.03 } else { 0.06 };
                let [overloaded, ..] = simulated(300, rounds, 5.0, mu, load);
                assert!(
                    overloaded <= most,
                    "{rounds} rounds, {mu}/s at {load}: {overloaded}"
                );
            }
            let [overloaded, ..] = simulated(100, 5, 5.0, mu, 1.3);
            assert!(overloaded >= 0.85, "{mu}/s: {overloaded}");
            let [.., stable] = simulated(100, 3, 20.0, mu, 1.1);
            assert!(stable <= 0.05, "{mu}/s: {stable}");
        }
        let found = [
            (50.0, 5.0, 1.2, 0.93),
            (50.0, 20.0, 1.1, 0.85),
            (500.0, 5.0, 1.1, 0.95),
        ];
        for (mu, seconds, load, least) in found {
            let [overloaded, ..] = simulated(200, 5, seconds, mu, load);
            assert!(overloaded >= least, "{mu}/s at {load}: {overloaded}");
        }
        let [.., stable] = simulated(200, 5, 5.0, 500.0, 0.9);
        assert!(stable >= 0.95, "{stable}");
    }

    #[test]
    fn a_server_that_is_done_with_each_burst_before_the_next_is_not_called_overloaded() {
        let every = Nanos::from_secs(1);
        let bursts = |millis| Arrivals::Bursts {
            within: Nanos::from_millis(millis),
            every,
        };
        let on_off = Arrivals::OnOff {
            on: Nanos::from_millis(300),
            off: Nanos::from_millis(700),
        };
        for process in [bursts(10), bursts(400), on_off] {
            for (rounds, seconds) in [(5, 5.0), (3, 1.0), (1, 5.0), (1, 1.0)] {
                let [overloaded, ..] = simulated_of(process, 300, rounds, seconds, 100.0, 0.6);
                assert!(
                    overloaded <= 0.05,
                    "{process}, {rounds} rounds of {seconds} s: {overloaded}"
                );
            }
            let [overloaded, ..] = simulated_of(process, 200, 5, 5.0, 100.0, 1.3);
            assert!(overloaded >= 0.95, "{process}: {overloaded}");
        }
    }

    #[test]
    fn a_slow_server_that_is_not_behind_is_neither_overloaded_nor_doubtful() {
        // Each takes 300 ms, so that those of the last 300 ms of a second end after it, and none came before it.
        let mut run = run(700, 0);
        assert_eq!(found(&mut run), []);
        run.points[0].rounds.truncate(1);
        assert_eq!(found(&mut run), []);
    }

    #[test]
    fn windows_too_short_to_tell_name_the_length_that_would_do() {
        let mut run = run(1_000, 0);
        for (round, (sustained, growth)) in run.points[0].rounds.iter_mut().zip([
            (900, 90),
            (1_010, 5),
            (960, 60),
            (1_000, 2),
            (940, 30),
        ]) {
            round.tally = self::run(sustained, growth).points[0].rounds[0]
                .tally
                .clone();
        }
        let found = found(&mut run).remove(0);
        assert_eq!(found.grade(), Grade::Caveat);
        let wanted = "the windows are too short to tell a backlog from chance: 1,000 requests/s offered, 962 ended ok in \
                      them";
        assert_eq!(found.sentence, wanted);
        assert_eq!(found.options, "--duration 3s");
    }

    #[test]
    fn a_server_that_answers_nothing_is_not_called_overloaded() {
        assert_eq!(found(&mut run(0, 900)), []);
    }
}
