//! The loop with its distributions, on the simulated ring: there time is exact, so every stamp is held to the nanosecond.

mod faults;
mod stage;

use crate::behaviour::Behaviour;
use crate::config::{BusyPoll, Config};
use crate::misbehaviour::{Log, Misbehaviour, Script};
use crate::truth::log::{Header, Record, Writer};
use crate::truth::*;
use crate::worker::{Command, Worker};
use kernel::sim::{Faults, Options, Reads};
use stage::{Received, Stage, Wire};
use units::{Instant, Nanos};

const SEED: u64 = 7;
/// When all of this happens.
const START: Instant = Instant::from_nanos(1_000_000_000);
fn micros(micros: u64) -> Nanos {
    Nanos::from_micros(micros)
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// What one connection sends, and when.
type Lines = Vec<(Instant, String)>;

/// What came of a run.
struct Came {
    log: Log,
    /// As the truth log has them.
    records: Vec<Record>,
    /// What each connection has received, in the order of `lines`.
    received: Vec<Received>,
}

/// Runs a worker with this behaviour until `until` holds.
fn run(
    behaviour: Behaviour,
    options: Options,
    lines: Vec<Lines>,
    until: impl Fn(&Log) -> bool,
) -> (Log, Behaviour, Vec<Received>) {
    let wire = Wire::default();
    let stage = Stage::new(SEED, options, wire.clone());
    let mut worker = Worker::new(stage, behaviour);
    if worker.behaviour.config.busy_poll == BusyPoll::Auto {
        // As with several processors, wherever this runs.
        worker.margin = micros(100);
    }
    worker.listen(&"192.0.2.1:80".parse().unwrap()).unwrap();
    let at = worker.addresses()[0].clone();
    worker.ring_mut().open(&at, lines);
    let mut turns = 0;
    let (log, behaviour) = worker.run(|log| {
        turns += 1;
        assert!(turns < 10_000_000, "it never comes to that");
        match until(log) {
            true => Command::Stop,
            false => Command::Serve,
        }
    });
    (log, behaviour, wire.received())
}

/// Runs a truth server until so many are answered.
fn serve_on(
    config: &Config,
    options: Options,
    lines: Vec<Lines>,
    until: impl Fn(&Log) -> bool,
) -> Came {
    let paper = stage::Paper::default();
    let header = Header {
        start: START,
        ..Header::default()
    };
    let mut behaviour = Behaviour::truthful(config.clone(), START);
    behaviour.writer = Some(Writer::new(Box::new(paper.clone()), &header, |_| ()));
    let (log, behaviour, received) = run(behaviour, options, lines, until);
    behaviour.finish();
    Came {
        log,
        records: paper.records(),
        received,
    }
}

fn serve(config: &Config, lines: Vec<Lines>, answered: u64) -> Came {
    serve_on(config, Options::default(), lines, |log| {
        log.answered >= answered
    })
}

fn seeded() -> Config {
    Config {
        seed: SEED,
        busy_poll: BusyPoll::Never,
        ..Config::default()
    }
}

/// So many requests, one a connection, each with its id, at irregular times some 1 ms apart.
fn scattered(count: u64, path: &str) -> Vec<Lines> {
    let sign = if path.contains('?') { '&' } else { '?' };
    let line = |id: u64| (arrival(id), get(&format!("{path}{sign}id={id}")));
    (0..count).map(|id| vec![line(id)]).collect()
}

/// When the request with this id comes in [`scattered`].
fn arrival(id: u64) -> Instant {
    START + micros(500_000) + micros(1000) * id + Nanos::from_nanos(id * id * 7919 % 1_999_999)
}

/// The records by id, and that each id is there once.
fn by_id(came: &Came) -> Vec<Record> {
    let mut records = came.records.clone();
    records.sort_by_key(|record| record.id);
    let ids: Vec<u64> = records.iter().map(|record| record.id).collect();
    assert_eq!(ids, (0..ids.len() as u64).collect::<Vec<_>>());
    records
}

#[test]
fn answers_depart_at_the_very_nanosecond_of_every_law() {
    for text in [
        "law=constant&mean=5ms",
        "law=uniform&low=1ms&high=9ms",
        "law=exponential&mean=5ms",
        "law=lognormal&median=5ms&sigma=0.5",
        "law=pareto&scale=1ms&shape=1.5",
        "law=bimodal&low=1ms&high=90ms&share=0.1",
    ] {
        let distribution: Distribution = text.parse().unwrap();
        let came = serve(&seeded(), scattered(200, &format!("/delay?{text}")), 200);
        for (record, received) in by_id(&came).iter().zip(&came.received) {
            let came = arrival(record.id);
            let due = came + delay(distribution, SEED, record.id);
            let stamps = [record.received, record.read, record.due, record.departure];
            assert_eq!(stamps, [came, came, due, due], "{text} {}", record.id);
            assert_eq!(received.first, Some(due), "{text} {}", record.id);
            assert!(
                received.text.starts_with("HTTP/1.1 200 OK\r\nDate: "),
                "{text}"
            );
            assert!(received.text.ends_with("\r\n\r\nHello, world!\n"), "{text}");
            assert_eq!(
                (record.misbehaviour, record.id_given, record.wrong),
                (None, true, false)
            );
        }
        assert_eq!(
            (came.log.connections, came.log.requests),
            (200, 200),
            "{text}"
        );
    }
}

#[test]
fn an_answer_waits_for_those_before_it_on_its_connection() {
    let ask = |millis, id| {
        let path = format!("/delay?law=constant&mean={millis}ms&id={id}");
        get(&path)
    };
    let together = ask(9, 0) + &ask(3, 1) + &ask(20, 2);
    let came = serve(&seeded(), vec![vec![(arrival(0), together)]], 3);
    let departures: Vec<Nanos> = came
        .records
        .iter()
        .map(|r| r.departure - arrival(0))
        .collect();
    assert_eq!(departures, [micros(9_000), micros(9_000), micros(20_000)]);
    let due: Vec<Nanos> = came.records.iter().map(|r| r.due - arrival(0)).collect();
    assert_eq!(due, [micros(9_000), micros(3_000), micros(20_000)]);
}

#[test]
fn in_a_stall_nothing_is_read_and_nothing_departs() {
    let config = Config {
        stall: Some("100ms/250ms".parse().unwrap()),
        ..seeded()
    };
    let law = "law=exponential&mean=20ms";
    let distribution: Distribution = law.parse().unwrap();
    let came = serve(&config, scattered(600, &format!("/delay?{law}")), 600);
    let thaw = |at: Instant| config.stall.unwrap().end(START, at).unwrap_or(at);
    let mut stalled = 0;
    for record in by_id(&came) {
        let came = arrival(record.id);
        let due = came + delay(distribution, SEED, record.id);
        let departure = thaw(due).max(thaw(came));
        let stamps = [record.received, record.read, record.due, record.departure];
        assert_eq!(stamps, [came, thaw(came), due, departure], "{}", record.id);
        stalled += u64::from(departure > due);
    }
    assert!(stalled > 100, "only {stalled} met a stall");
}

#[test]
fn a_stall_begins_between_two_answers_of_a_crowd() {
    let config = Config {
        stall: Some("10ms/100ms".parse().unwrap()),
        ..seeded()
    };
    let options = Options {
        call_cost: micros(1),
        ..Options::default()
    };
    // All are due 20 us before the tenth stall, and each answer takes some us.
    let begins = START + micros(1_000_000);
    let due = Instant::from_nanos(begins.as_nanos() - 20_000);
    let lines = (0..50).map(|id| {
        let mean = (due - arrival(id)).as_nanos();
        let path = format!("/delay?law=constant&mean={mean}ns&id={id}");
        vec![(arrival(id), get(&path))]
    });
    let came = serve_on(&config, options, lines.collect(), |log| log.answered >= 50);
    let before = by_id(&came)
        .iter()
        .filter(|it| it.departure < begins)
        .count();
    let (after, slipped): (Vec<&Record>, Vec<&Record>) = came
        .records
        .iter()
        .filter(|record| record.departure >= begins)
        .partition(|record| record.departure >= begins + micros(10_000));
    assert!(before > 0 && !after.is_empty(), "{before} {}", after.len());
    // The one that was begun when it was not yet time.
    assert!(slipped.len() <= 1, "{slipped:?}");
}

#[test]
fn departures_from_the_queue_are_those_of_lindleys_recursion() {
    for service in [Service::Fixed, Service::Exponential] {
        let capacity: Capacity = "1.2k/s".parse().unwrap();
        let config = Config {
            capacity: Some((capacity, service)),
            ..seeded()
        };
        let came = serve(&config, scattered(500, "/100.html"), 500);
        let mut arrivals: Vec<u64> = (0..500).collect();
        arrivals.sort_by_key(|id| arrival(*id));
        let records = by_id(&came);
        let (mut last, mut waited) = (Instant::ZERO, 0);
        for id in arrivals {
            waited += u64::from(last > arrival(id));
            last = last.max(arrival(id)) + crate::truth::service(capacity, service, SEED, id);
            let record = records[id as usize];
            assert_eq!(
                [record.due, record.departure],
                [last, last],
                "{service:?} {id}"
            );
        }
        assert!(waited > 200, "only {waited} had to wait");
    }
}

#[test]
fn a_delay_counts_from_the_queues_departure() {
    let config = Config {
        capacity: Some(("1k/s".parse().unwrap(), Service::Fixed)),
        ..seeded()
    };
    let lines = |id| {
        vec![(
            arrival(0),
            get(&format!("/delay?law=constant&mean=5ms&id={id}")),
        )]
    };
    let came = serve(&config, (0..3).map(lines).collect(), 3);
    let departures: Vec<Nanos> = came
        .records
        .iter()
        .map(|r| r.departure - arrival(0))
        .collect();
    assert_eq!(departures, [micros(6_000), micros(7_000), micros(8_000)]);
}

#[test]
fn work_is_done_for_one_request_after_the_other() {
    let config = Config {
        work: Nanos::from_nanos(440),
        ..seeded()
    };
    let lines = |id| vec![(arrival(0), get(&format!("/nop.gif?id={id}")))];
    let came = serve(&config, (0..5).map(lines).collect(), 5);
    let mut departures: Vec<u64> = came
        .records
        .iter()
        .map(|record| (record.departure - arrival(0)).as_nanos())
        .collect();
    departures.sort_unstable();
    assert_eq!(departures, [440, 880, 1320, 1760, 2200]);
}

#[test]
fn looking_at_the_clock_makes_the_work_no_longer_on_average() {
    let took = |work| {
        let config = Config {
            work: Nanos::from_nanos(work),
            ..seeded()
        };
        let options = Options {
            call_cost: Nanos::from_nanos(70),
            ..Options::default()
        };
        let all = vec![vec![(arrival(0), get("/nop.gif").repeat(101))]];
        let came = serve_on(&config, options, all, |log| log.answered >= 101);
        let departures = came.records.iter().map(|record| record.departure);
        let (first, last) = (departures.clone().min(), departures.max());
        (last.unwrap() - first.unwrap()).as_nanos()
    };
    // Each look takes 70 ns, twice as much as the two servers differ by.
    let more = took(475) - took(440);
    assert!(more.abs_diff(100 * 35) <= 70, "{more}");
}

#[test]
fn a_stop_does_not_wait_until_all_work_is_done() {
    let config = Config {
        work: Nanos::from_millis(100),
        ..seeded()
    };
    let all = get("/hello").repeat(300);
    let came = serve(&config, vec![vec![(arrival(0), all)]], 1);
    let (asked, answered) = (came.log.requests, came.log.answered);
    assert_eq!(asked, 300);
    assert!((1..50).contains(&answered), "{answered}");
    assert_eq!(came.records.len(), 300);
}

#[test]
fn the_same_seed_makes_the_same_log_however_bytes_are_cut() {
    let config = Config {
        stall: Some("10ms/100ms".parse().unwrap()),
        capacity: Some(("900/s".parse().unwrap(), Service::Exponential)),
        ..seeded()
    };
    let lines = || scattered(150, "/delay?law=lognormal&median=3ms&sigma=1");
    let whole = serve(&config, lines(), 150);
    let options = Options {
        faults: Faults {
            reads: Reads::OneByte,
            ..Faults::default()
        },
        ..Options::default()
    };
    let bytewise = serve_on(&config, options, lines(), |log| log.answered >= 150);
    assert_eq!(whole.records, bytewise.records);
    let other = Config { seed: 8, ..config };
    assert_ne!(whole.records, serve(&other, lines(), 150).records);
}

#[test]
fn what_is_cut_short_departs_once_and_comes_whole() {
    let options = Options {
        faults: Faults {
            short_writes: 0.7,
            ..Faults::default()
        },
        ..Options::default()
    };
    let law = "law=constant&mean=5ms";
    let lines = scattered(100, &format!("/delay?{law}"));
    let came = serve_on(&seeded(), options, lines, |log| log.answered >= 100);
    let mut late = 0;
    for (record, received) in by_id(&came).iter().zip(&came.received) {
        assert_eq!(received.first, Some(record.departure));
        assert!(record.departure >= record.due);
        late += u64::from(record.departure > record.due);
        assert!(received.text.ends_with("\r\n\r\nHello, world!\n"));
        assert_eq!(received.text.matches("HTTP/1.1 200 OK").count(), 1);
    }
    // Where the kernel took nothing at first, the departure is when it took something.
    assert!(late < 50, "{late}");
}

#[test]
fn spinning_ends_and_is_as_exact_as_the_clock_is_read() {
    let options = || Options {
        call_cost: Nanos::from_nanos(50),
        ..Options::default()
    };
    let lines = || scattered(40, "/delay?law=exponential&mean=4ms");
    for busy_poll in [BusyPoll::Auto, BusyPoll::Always] {
        let config = Config {
            stall: Some("5ms/50ms".parse().unwrap()),
            busy_poll,
            ..seeded()
        };
        let came = serve_on(&config, options(), lines(), |log| log.answered >= 40);
        for record in by_id(&came) {
            let wanted = config
                .stall
                .unwrap()
                .end(START, record.due)
                .unwrap_or(record.due);
            let late = record.departure - wanted.max(record.read);
            assert!(late < micros(10), "{}: {late:?}", record.id);
        }
    }
}

#[test]
fn requests_without_an_id_are_numbered_as_they_come() {
    let lines = (0..4).map(|n| vec![(arrival(n), get("/hello"))]).collect();
    let came = serve(&seeded(), lines, 4);
    let ids: Vec<(u64, bool)> = came.records.iter().map(|r| (r.id, r.id_given)).collect();
    assert_eq!(ids, [(0, false), (1, false), (2, false), (3, false)]);
    let connections: Vec<u32> = came
        .records
        .iter()
        .map(|record| record.connection)
        .collect();
    assert_eq!(connections, [1, 2, 3, 4]);
}

#[test]
fn resources_are_there_and_what_is_not_understood_is_told_on_a_connection_that_is_kept() {
    let head = "HEAD /delay HTTP/1.1\r\nHost: a\r\n\r\n".to_owned();
    let post = "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi".to_owned();
    let options = "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n".to_owned();
    let requests = [
        (
            get("/delay?law=constant&mean=x"),
            "400 Bad Request",
            "mean: `x` is not a duration;",
        ),
        (head, "400 Bad Request", ""),
        (
            get("/fault?kind=close-at-accept"),
            "400 Bad Request",
            "--fault close-at-accept:every=1\n",
        ),
        (get("/nop.gif"), "200 OK", "GIF89a"),
        (get("/nonesuch"), "404 Not Found", "Nothing is here.\n"),
        (post, "405 Method Not Allowed", ""),
        (options, "204 No Content", ""),
        (
            get("/delay?law=constant&mean=1ms"),
            "200 OK",
            "Hello, world!\n",
        ),
    ];
    let all: String = requests.iter().map(|request| request.0.as_str()).collect();
    let came = serve(&seeded(), vec![vec![(arrival(0), all)]], 8);
    let mut text = came.received[0].text.as_str();
    for (request, status, body) in requests {
        let answer = text.strip_prefix(&format!("HTTP/1.1 {status}\r\n"));
        text = answer.unwrap_or_else(|| panic!("{request}: {text}"));
        let (end, _) = text
            .match_indices("HTTP/1.1 ")
            .next()
            .unwrap_or((text.len(), ""));
        let (_, sent) = text[..end].split_once("\r\n\r\n").unwrap();
        assert!(sent.contains(body), "{request}: {sent}");
        let is_bare = request.starts_with("HEAD") || status == "204 No Content";
        assert_eq!(sent.is_empty(), is_bare, "{request}");
        text = &text[end..];
    }
    let wrong: Vec<bool> = came.records.iter().map(|record| record.wrong).collect();
    assert_eq!(wrong, [true, true, true, false, false, false, false, false]);
}

#[test]
fn who_is_never_answered_has_no_departure() {
    let lines = vec![
        vec![(arrival(0), get("/fault?kind=silence&id=0"))],
        vec![(arrival(1), get("/fault?kind=reset-unanswered&id=1"))],
        vec![(
            arrival(2),
            get("/delay?law=constant&mean=1h&id=2") + &get("/hello?id=3"),
        )],
        vec![(arrival(4), get("/hello?id=4"))],
    ];
    let came = serve(&seeded(), lines, 1);
    for record in by_id(&came) {
        let is_answered = record.departure != Instant::ZERO;
        assert_eq!(is_answered, record.id == 4, "{}", record.id);
    }
    assert_eq!(
        came.records[0].misbehaviour,
        Some(Misbehaviour::ResetUnanswered)
    );
}
