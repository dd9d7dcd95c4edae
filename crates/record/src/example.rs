//! Small Runs to look at: for examples, golden files and tests of what judges and shows records.
//!
//! Each is played through [`Tally`] as the engine would fill it: connections that ask again as soon as they are answered,
//! in made-up time, with service times from a fixed sequence. So the counts hold together as measured ones do, and every
//! call gives the same Run. Machine and versions are made up, and say so.

use crate::{
    Blame, Cause, Effect, Effects, Exchange, Fault, Figure, Finding, Footprint, Kind, Machine,
    Outcome, Point, Probe, Round, Run, SentTotal, Stalls, Step, Tally, ThreadAccounts, Turns,
    Window,
};
use plan::{Endpoint, Level, Load, Plan, Request, Requests, ServerCommand, Stop};
use units::{Instant, Nanos};

mod compare;
mod open;
mod sweep;

pub use compare::{
    beside_reference, comparison, equal_servers, not_observed, one_void_start, separate_runs,
    several_blocks, three_servers, two_percent,
};
pub use open::{open_loop, overloaded, sessions};
pub use sweep::sweep;

const HEAD_BYTES: u64 = 238;
const REQUEST_BYTES: u64 = 74;
const BODY_BYTES: u64 = 100;
const BODY_CRC: u32 = 0x5ca1_ab1e;
/// Between an answer and the next send.
const TURNAROUND: Nanos = Nanos::from_micros(3);
const TIMEOUT: Nanos = Nanos::from_millis(50);

/// Five rounds on two threads, nothing wrong: p99.9 is carried, and the server was observed.
pub fn ok() -> Run {
    Script {
        window: Nanos::from_secs(1),
        server: Some(41),
        ..Script::default()
    }
    .play()
}

/// Statuses 4xx and 5xx, resets, cut bodies, refused connects, timeouts and exchanges that were never sent.
pub fn errors() -> Run {
    let run = Script {
        act: mishaps,
        unsent: 2,
        ..Script::default()
    };
    run.play()
}

/// Everything was answered with 404: no ok exchange, so neither requests/s nor latency.
pub fn all_404() -> Run {
    Script {
        act: |draw, _| Act::status(draw, 404),
        ..Script::default()
    }
    .play()
}

/// Stopped before the first round was over.
pub fn empty() -> Run {
    let mut run = Script {
        rounds: 0,
        ..Script::default()
    }
    .play();
    run.interrupted = true;
    run
}

/// Two rounds of forty requests: too few for a p99, and for an interval worth its name.
pub fn few_samples() -> Run {
    Script {
        threads: 1,
        connections: 4,
        rounds: 2,
        requests: Some(40),
        ..Script::default()
    }
    .play()
}

/// The busiest generator thread ran 97 % of the time, the server's CPUs 40 %.
pub fn generator_bound() -> Run {
    Script {
        act: fast,
        generator: 97,
        server: Some(40),
        ..Script::default()
    }
    .play()
}

/// The server's CPUs ran 98 % of the time, the generator's threads 35 %.
pub fn server_bound() -> Run {
    Script {
        act: fast,
        generator: 35,
        server: Some(98),
        ..Script::default()
    }
    .play()
}

/// Interrupted in the third of five rounds, whose counts stand but which is no repetition.
pub fn partial() -> Run {
    let mut run = Script {
        rounds: 3,
        cut_last: true,
        ..Script::default()
    }
    .play();
    run.plan.rounds = 5;
    run.interrupted = true;
    run
}

/// For 20 ms in every 300 ms the server did nothing, and the loop asked nothing: p99 is withheld.
pub fn stalled() -> Run {
    Script {
        act: fast,
        server: Some(41),
        stall: Some((Nanos::from_millis(20), Nanos::from_millis(300))),
        ..Script::default()
    }
    .play()
}

/// Five rounds by one generator, and each of them by two, which are a little quicker in two of them.
pub fn two_generators() -> Run {
    let mut run = ok();
    run.plan.two_generators = true;
    let mut rounds = run.points[0].rounds.clone();
    for round in &mut rounds {
        let shorter = Nanos::from_millis(1_000 - u64::from(round.index % 3) * 10);
        round.window.end = round.window.start + shorter;
        round.threads.extend_from_within(..);
    }
    run.points[0].split_mut().rounds = rounds;
    run.summarise();
    run
}

/// All of them.
pub fn all() -> [Run; 13] {
    [
        ok(),
        errors(),
        all_404(),
        empty(),
        few_samples(),
        generator_bound(),
        server_bound(),
        partial(),
        stalled(),
        open_loop(),
        overloaded(),
        sessions(),
        two_generators(),
    ]
}

/// A finding with these effects, and nothing else to say.
pub fn finding(effects: &[(Figure, Effect)]) -> Finding {
    let mut all = Effects::default();
    for (figure, effect) in effects {
        all.add(*effect, &[*figure]);
    }
    Finding {
        check: "example".into(),
        cause: Cause::Other,
        point: None,
        level: None,
        effects: all,
        sentence: "it is so".into(),
        headline: String::new(),
        remedy: None,
        options: String::new(),
        evidence: Vec::new(),
    }
}

/// A machine that does not exist.
pub fn machine() -> Machine {
    Machine {
        cpu_model: Some("Example CPU at 3.00 GHz".into()),
        cpus_online: 4,
        cpus_allowed: vec![0, 1, 2, 3],
        cpu_quota: None,
        governor: Some("performance".into()),
        memory_bytes: Some(16 << 30),
        kernel: Some("6.1.0-example".into()),
        distribution: Some("Example Linux 1".into()),
        virtualised: Some("none".into()),
        clocksource: Some("tsc".into()),
        clock_reading_ns: 21,
        open_files: (1024, 524_288),
        local_ports: (32_768, 60_999),
        somaxconn: Some(4096),
        load_average: Some(0.08),
        setup: None,
    }
}

/// What is to be played.
struct Script {
    threads: u32,
    connections: u32,
    rounds: u32,
    /// Length of each window; with `requests` it ends with the last ending instead.
    window: Nanos,
    /// Exchanges per round, as a multiple of `connections`.
    requests: Option<u64>,
    /// How the exchange of this number ends.
    act: fn(&mut Draw, u64) -> Act,
    /// How long each takes, as a share of what `act` says, in percent.
    percent: u64,
    /// Exchanges of each thread's round that are scheduled but never sent.
    unsent: u64,
    /// The server does nothing for the first, at the middle of every second.
    stall: Option<(Nanos, Nanos)>,
    /// How busy the generator's threads were, in percent.
    generator: u64,
    /// How busy the server was, in percent, where it was observed.
    server: Option<u64>,
    /// Whether the last round is cut at two fifths of its window.
    cut_last: bool,
}

impl Default for Script {
    fn default() -> Self {
        Script {
            threads: 2,
            connections: 10,
            rounds: 5,
            window: Nanos::from_millis(300),
            requests: None,
            act: |draw, _| Act::ok(draw),
            percent: 100,
            unsent: 0,
            stall: None,
            generator: 12,
            server: None,
            cut_last: false,
        }
    }
}

/// How one exchange ends.
struct Act {
    service: Nanos,
    outcome: Outcome,
    status: u16,
    body: u64,
}

impl Act {
    /// About 2 ms, one in a hundred up to 8 ms more.
    fn ok(draw: &mut Draw) -> Act {
        let tail = if draw.below(100) == 0 {
            draw.below(8_000_000)
        } else {
            0
        };
        let service = Nanos::from_nanos(1_500_000 + draw.below(1_000_000) + tail);
        Act {
            service,
            outcome: Outcome::Ok,
            status: 200,
            body: BODY_BYTES,
        }
    }

    fn status(draw: &mut Draw, status: u16) -> Act {
        let kind = if status < 500 {
            Kind::Status4xx
        } else {
            Kind::Status5xx
        };
        let act = Act::fault(kind, Step::Verdict, Act::ok(draw).service);
        Act {
            status,
            body: 146,
            ..act
        }
    }

    fn fault(kind: Kind, step: Step, service: Nanos) -> Act {
        let fault = Fault {
            kind,
            step,
            blame: Blame::Server,
        };
        Act {
            service,
            outcome: Outcome::Fault(fault),
            status: 0,
            body: 0,
        }
    }

    fn ends_the_connection(&self) -> bool {
        self.status == 0
    }
}

fn fast(draw: &mut Draw, _: u64) -> Act {
    Act {
        service: Nanos::from_nanos(150_000 + draw.below(50_000)),
        ..Act::ok(draw)
    }
}

fn mishaps(draw: &mut Draw, number: u64) -> Act {
    let soon = Nanos::from_micros(400);
    match number % 100 {
        7 => Act::status(draw, 503),
        23 => Act::status(draw, 404),
        41 => Act::fault(Kind::Reset, Step::Head, soon),
        59 => Act::fault(Kind::ClosedInBody, Step::Body, soon),
        73 => Act::fault(Kind::ConnectRefused, Step::Connect, soon),
        97 => Act::fault(Kind::Timeout, Step::Head, TIMEOUT),
        _ => Act::ok(draw),
    }
}

/// A fixed sequence of numbers without a pattern that matters: Knuth's linear congruence (MMIX), upper bits.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

impl Script {
    fn play(&self) -> Run {
        let plan = self.plan();
        let rounds = (0..self.rounds).map(|index| self.round(index)).collect();
        let probe = probe(&plan);
        let point = Point {
            rounds,
            ..Point::new(Level::of(plan.load))
        };
        let mut run = Run::new(plan, machine(), "0.1.0-example", 1_750_000_000);
        run.probe = Some(probe);
        run.points.push(point);
        run.sent_total.probe = 1;
        run.summarise();
        run
    }

    fn plan(&self) -> Plan {
        let mut plan = Plan::example(([127, 0, 0, 1], 8080).into());
        plan.requests = Requests::Listed(vec![Request::get("/100.html")]);
        plan.load = Load::Closed {
            connections: self.connections,
        };
        plan.stop = self
            .requests
            .map_or(Stop::Duration(self.window), Stop::Requests);
        plan.rounds = self.rounds.max(1);
        plan.threads = self.threads;
        plan.timeouts.exchange = TIMEOUT;
        plan.server = self.server.map(|_| ServerCommand {
            argv: vec!["example-server".into(), "--port".into(), "8080".into()],
            ready_within: Nanos::from_secs(10),
            reference_server: false,
        });
        plan
    }

    fn round(&self, index: u32) -> Round {
        let start = Instant::from_nanos(1_000_000_000) + Nanos::from_secs(10) * u64::from(index);
        let partial = self.cut_last && index + 1 == self.rounds;
        let planned = if partial {
            self.window * 2 / 5
        } else {
            self.window
        };
        let mut stage = Stage {
            script: self,
            start,
            close: self.requests.map_or(start + planned, |_| Instant::NEVER),
            last: start,
            draw: Draw(u64::from(index) + 1),
            tally: Tally::default(),
            threads: Vec::new(),
        };
        (0..self.threads).for_each(|thread| stage.thread(thread));
        let end = if self.requests.is_some() {
            stage.last
        } else {
            stage.close
        };
        let window = Window { start, end };
        let Stage { tally, threads, .. } = stage;
        Round {
            index,
            window,
            sent_total: SentTotal {
                measure: tally.started,
                ..SentTotal::default()
            },
            threads: threads
                .into_iter()
                .map(|turns| self.accounts(turns, window.span()))
                .collect(),
            footprint: self.server.map(|percent| footprint(percent, window.span())),
            tally,
            partial,
            ..Round::default()
        }
    }

    fn accounts(&self, (thread, turns): (u32, Turns), wall: Nanos) -> ThreadAccounts {
        let busy = self.generator - u64::from(thread); // the first thread is the busiest
        let cpu = wall * (busy - 1) / 100;
        ThreadAccounts {
            thread,
            wall,
            user: cpu / 4,
            system: cpu * 3 / 4,
            cpu,
            run_queue_wait: Some(wall / 100),
            turns,
            ..ThreadAccounts::default()
        }
    }
}

/// One round that is being played.
struct Stage<'a> {
    script: &'a Script,
    start: Instant,
    close: Instant,
    last: Instant,
    draw: Draw,
    tally: Tally,
    threads: Vec<(u32, Turns)>,
}

impl Stage<'_> {
    fn thread(&mut self, thread: u32) {
        let mut tally = Tally::default();
        let connections = self.script.connections / self.script.threads;
        (0..connections).for_each(|_| self.connection(&mut tally));
        tally.stalls = Some(Box::new(self.stalls(u64::from(connections))));
        tally.scheduled += self.script.unsent;
        tally.observe_never_sent(self.script.unsent, TIMEOUT, Blame::Generator);
        tally.connects.open_at_start = u64::from(connections);
        tally.connects.open_peak = u64::from(connections);
        let turns = Turns {
            waits: tally.started,
            completions: tally.started,
        };
        self.threads.push((thread, turns));
        self.tally.merge(&tally);
    }

    fn connection(&mut self, tally: &mut Tally) {
        let most = self
            .script
            .requests
            .map_or(u64::MAX, |all| all / u64::from(self.script.connections));
        let (mut scheduled, mut fresh) = (self.start, true);
        connected(tally);
        for _ in 0..most {
            if scheduled >= self.close {
                break;
            }
            let act = (self.script.act)(&mut self.draw, tally.scheduled);
            tally.scheduled += 1;
            let done = self.exchange(tally, scheduled, &act, fresh);
            fresh = act.ends_the_connection();
            if fresh {
                connected(tally);
            }
            scheduled = done;
        }
    }

    /// The stalls of one thread: every stall of the window, and nothing else is as long.
    fn stalls(&self, capacity: u64) -> Stalls {
        let close = self.close.min(self.last);
        let mut stalls = Stalls {
            time: close - self.start,
            ..Stalls::default()
        };
        if let Some((length, every)) = self.script.stall {
            let count = (close - self.start).as_nanos() / every.as_nanos();
            (0..count).for_each(|_| stalls.add(length, Nanos::ZERO, capacity));
        }
        stalls
    }

    /// How long what was sent at `sent` has to wait for a stall, if one begins before it is done.
    fn stalled(&self, sent: Instant, service: Nanos) -> Nanos {
        let Some((length, every)) = self.script.stall else {
            return Nanos::ZERO;
        };
        let half = (every / 2).as_nanos();
        let phase = (sent - self.start).as_nanos() % every.as_nanos();
        let begins = phase <= half && phase + service.as_nanos() > half;
        if begins { length } else { Nanos::ZERO }
    }

    /// Plays one exchange and returns when it was over.
    fn exchange(
        &mut self,
        tally: &mut Tally,
        scheduled: Instant,
        act: &Act,
        fresh: bool,
    ) -> Instant {
        let sent = scheduled + TURNAROUND;
        let service = act.service * self.script.percent / 100;
        let done = sent + service + self.stalled(sent, service);
        let first = if act.status == 0 { Instant::ZERO } else { done };
        tally.observe(
            &Exchange {
                scheduled,
                sent,
                first,
                done,
            },
            act.outcome,
            act.status,
        );
        tally.bytes_sent += REQUEST_BYTES;
        if act.status != 0 {
            tally.bytes_received += HEAD_BYTES + act.body;
        }
        let ok = act.outcome == Outcome::Ok;
        if ok {
            tally.bodies.observe(0, act.body, fresh.then_some(BODY_CRC));
        }
        if done < self.close {
            tally.ok_in_window += u64::from(ok);
            tally
                .series
                .add(done - self.start, u64::from(ok), u64::from(!ok));
        }
        self.last = self.last.max(done);
        done
    }
}

fn connected(tally: &mut Tally) {
    tally.connects.attempted += 1;
    tally.connects.established += 1;
    tally.connects.time.record(60_000);
}

fn footprint(percent: u64, wall: Nanos) -> Footprint {
    Footprint {
        cpu: wall * 2 * percent / 100,
        processes: 3,
        cpus_allowed: 2.0,
        cpus: vec![0, 1],
        wall,
        lower_bound: false,
        ..Footprint::default()
    }
}

fn probe(plan: &Plan) -> Probe {
    let endpoint = plan.target.endpoints.first().cloned();
    Probe {
        endpoint: endpoint.unwrap_or_else(|| Endpoint::Ip(([127, 0, 0, 1], 8080).into())),
        link: None,
        failed: Vec::new(),
        request_head: "GET /100.html HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: weigh/0.1.0\r\n\r\n"
            .into(),
        response_head: Some(
            "HTTP/1.1 200 OK\r\nServer: example\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n".into(),
        ),
        encryption: None,
        took: None,
        status: Some(200),
        body_length: BODY_BYTES,
        fault: None,
        requests: 1,
        errors: 0,
        error: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Percentile;

    #[test]
    fn every_example_accounts_for_each_exchange_and_is_the_same_every_time() {
        for (run, again) in all().iter().zip(all()) {
            assert_eq!(*run, again);
            for round in run.points.iter().flat_map(|point| &point.rounds) {
                assert!(round.tally.conserved(), "{:?}", round.tally);
                assert_eq!(round.sent_total.measure, round.tally.started);
            }
        }
    }

    #[test]
    fn each_example_shows_what_it_is_named_for() {
        let summary = |run: Run| run.summary.expect("it has rounds");
        let fine = summary(ok());
        assert!(
            fine.latency_us.at(Percentile::P999).is_some()
                && fine.rps.low.is_some()
                && fine.errors.total == 0
        );
        let faulty = summary(errors());
        assert!(faulty.errors.by_kind.len() >= 6 && faulty.censored > 0);
        assert!(!faulty.latency_us.at_least.is_empty());
        let lost = summary(all_404());
        assert_eq!((lost.ok, lost.rps.mean, lost.latency_us.count), (0, 0.0, 0));
        let few = summary(few_samples());
        assert_eq!(
            (few.requests, few.latency_us.at(Percentile::P99)),
            (80, None)
        );
        assert!(empty().summary.is_none() && empty().interrupted);
        assert_eq!(summary(partial()).rps.rounds, 2);
        let stalled = summary(stalled());
        let affected = &stalled.coordinated_omission.as_ref().unwrap().affected;
        assert_eq!(
            affected,
            &[
                Percentile::P90,
                Percentile::P95,
                Percentile::P99,
                Percentile::P999
            ]
        );
        let open = summary(open_loop());
        assert!(open.open.is_some() && open.errors.total == 0);
        let overloaded = summary(overloaded());
        assert!(overloaded.rps.mean < 1_300.0 && overloaded.errors.total > 0);
    }

    #[test]
    fn the_bound_examples_are_bound_where_they_say() {
        let busy = |run: &Run| {
            let round = &run.points[0].rounds[0];
            let thread = round
                .threads
                .iter()
                .map(ThreadAccounts::wanted)
                .fold(0.0, f64::max);
            (thread, round.footprint.as_ref().unwrap().busy())
        };
        let (generator, server) = busy(&generator_bound());
        assert!((generator - 0.97).abs() < 0.001 && (server - 0.40).abs() < 0.001);
        let (generator, server) = busy(&server_bound());
        assert!((generator - 0.35).abs() < 0.001 && (server - 0.98).abs() < 0.001);
    }
}
