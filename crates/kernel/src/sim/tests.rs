//! What is the simulation's own; the invariants of all rings are in `tests/ring_invariants.rs`.

use super::*;

const TO: &str = "192.0.2.1:80";

fn address() -> Address {
    TO.parse().unwrap()
}

fn slice(bytes: &[u8]) -> [IoSlice<'_>; 1] {
    [IoSlice::new(bytes)]
}

/// Answers as it is told, counts what it hears.
struct Told {
    answer: ConnectAnswer,
    heard: Vec<(u64, Vec<u8>)>,
    closed: Vec<u64>,
    opened: Vec<Result<(), Errno>>,
}

impl Told {
    fn new(answer: ConnectAnswer) -> Told {
        Told {
            answer,
            heard: Vec::new(),
            closed: Vec::new(),
            opened: Vec::new(),
        }
    }
}

impl Peer for Told {
    fn connect(&mut self, _: Instant, _: u64, _: &mut World) -> ConnectAnswer {
        self.answer
    }

    fn receive(&mut self, _: Instant, conn: u64, bytes: &[u8], _: &mut World) {
        self.heard.push((conn, bytes.to_vec()));
    }

    fn timer(&mut self, at: Instant, conn: u64, tag: u64, world: &mut World) {
        match tag {
            0 => world.send(conn, at, "tick"),
            1 => world.end(conn, at),
            _ => world.reset(conn, at),
        }
    }

    fn opened(&mut self, at: Instant, conn: u64, answer: Result<(), Errno>, world: &mut World) {
        self.opened.push(answer);
        world.send(conn, at, "hello");
    }

    fn closed(&mut self, _: Instant, conn: u64, _: &mut World) {
        self.closed.push(conn);
    }
}

fn connect(answer: ConnectAnswer) -> Sim<Told> {
    let mut sim = Sim::new(1, Told::new(answer));
    sim.connect(Token(0), &address(), &ConnectOptions::default())
        .unwrap();
    sim
}

#[test]
fn a_refusal_comes_when_the_peer_says() {
    let after = Nanos::from_millis(5);
    let mut sim = connect(ConnectAnswer::Refuse(after, Errno::ECONNREFUSED));
    let start = sim.now();
    sim.wait(None);
    assert_eq!(
        sim.next().unwrap().event,
        Event::Failed(Errno::ECONNREFUSED)
    );
    assert_eq!(sim.now() - start, after);
    sim.close(Token(0), Closing::Orderly);
    sim.wait(Some(Nanos::from_secs(1)));
    assert!(sim.peer().closed.is_empty());
}

#[test]
fn a_connect_that_is_never_answered_hangs_until_the_timeout() {
    let mut sim = connect(ConnectAnswer::Never);
    let start = sim.now();
    sim.wait(Some(Nanos::from_secs(3)));
    assert_eq!(sim.next(), None);
    assert_eq!(sim.now() - start, Nanos::from_secs(3));
}

#[test]
#[should_panic(expected = "nothing will ever happen")]
fn waiting_for_ever_in_vain_is_an_error_and_no_hang() {
    connect(ConnectAnswer::Never).wait(None);
}

#[test]
fn timers_send_end_and_reset_in_order() {
    let mut sim = connect(ConnectAnswer::Accept(Nanos::ZERO));
    let start = sim.now();
    for (tag, millis) in [(0, 10), (1, 20), (2, 30)] {
        sim.world_mut()
            .timer(1, start + Nanos::from_millis(millis), tag);
    }
    let mut seen = Vec::new();
    while seen.len() < 4 {
        sim.wait(None);
        while let Some(completion) = sim.next() {
            seen.push(((sim.now() - start).as_nanos() / 1_000_000, completion.event));
        }
    }
    let reset = Event::Failed(Errno::ECONNRESET);
    let wanted = [
        (0, Event::Connected),
        (10, Event::Received),
        (20, Event::Ended),
        (30, reset),
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn a_listener_of_the_ring_is_entered_by_the_peer() {
    let mut sim = Sim::new(1, Told::new(ConnectAnswer::Never));
    let at = sim
        .listen(
            Token(9),
            &"0.0.0.0:0".parse().unwrap(),
            &ListenOptions::default(),
        )
        .unwrap();
    let now = sim.now();
    sim.world_mut().open(now, &at);
    sim.world_mut().open(now, &address());
    sim.wait(None);
    assert_eq!(
        sim.next().map(|it| (it.token, it.event)),
        Some((Token(9), Event::Incoming))
    );
    let accepted = sim.accept(Token(9), Token(3)).unwrap().unwrap();
    assert_eq!(accepted.peer.unwrap().ip().to_string(), "198.51.100.1");
    assert_eq!(sim.accept(Token(9), Token(4)), Ok(None));
    sim.wait(None);
    assert_eq!(
        sim.next().map(|it| (it.token, it.event)),
        Some((Token(3), Event::Received))
    );
    assert_eq!(sim.received(), b"hello");
    assert_eq!(sim.peer().opened, [Ok(()), Err(Errno::ECONNREFUSED)]);
}

#[test]
fn what_was_sent_before_an_orderly_close_arrives_and_before_a_reset_not() {
    for (how, heard) in [(Closing::Orderly, 1), (Closing::Reset, 0)] {
        let mut sim = connect(ConnectAnswer::Accept(Nanos::ZERO));
        sim.wait(None);
        assert_eq!(sim.next().unwrap().event, Event::Connected);
        assert_eq!(sim.send(Token(0), &slice(b"last words")), Ok(10));
        sim.close(Token(0), how);
        sim.wait(Some(Nanos::from_millis(1)));
        assert_eq!(sim.peer().heard.len(), heard, "{how:?}");
        assert_eq!(sim.peer().closed, [1], "{how:?}");
    }
}

#[test]
fn the_window_is_the_limit_of_what_is_under_way() {
    let options = Options {
        latency: Nanos::from_millis(10),
        window: 100,
        ..Options::default()
    };
    let mut sim = Sim::with(1, Told::new(ConnectAnswer::Accept(Nanos::ZERO)), options);
    sim.connect(Token(0), &address(), &ConnectOptions::default())
        .unwrap();
    sim.wait(None);
    assert_eq!(sim.next().unwrap().event, Event::Connected);
    let start = sim.now();
    assert_eq!(sim.send(Token(0), &slice(&[7; 150])), Ok(100));
    assert_eq!(sim.send(Token(0), &slice(&[7; 50])), Ok(0));
    sim.wait(None);
    assert_eq!(sim.next().unwrap().event, Event::Writable);
    assert_eq!(sim.now() - start, Nanos::from_millis(10));
    assert_eq!(sim.send(Token(0), &slice(&[7; 50])), Ok(50));
}

#[test]
fn each_call_takes_its_time_when_it_is_said_to() {
    let options = Options {
        call_cost: Nanos::from_nanos(20),
        ..Options::default()
    };
    let sim = Sim::with(1, Told::new(ConnectAnswer::Never), options);
    let first = sim.now();
    assert_eq!(sim.now() - first, Nanos::from_nanos(20));
}

#[test]
fn errors_are_injected_as_often_as_asked() {
    let faults = Faults {
        connect_error: Some((0.5, Errno::EADDRNOTAVAIL)),
        send_error: Some((1.0, Errno::EPIPE)),
        ..Faults::default()
    };
    let options = Options {
        faults,
        ..Options::default()
    };
    let mut sim = Sim::with(3, Told::new(ConnectAnswer::Accept(Nanos::ZERO)), options);
    let refused = (0..1000)
        .filter(|&index| {
            let answer = sim.connect(Token(index), &address(), &ConnectOptions::default());
            answer == Err(Errno::EADDRNOTAVAIL)
        })
        .count();
    // Four standard deviations of the binomial distribution: 4 * sqrt(1000 / 4) = 63.
    assert!(refused.abs_diff(500) < 63, "{refused}");
    sim.wait(None);
    let token = sim.next().unwrap().token;
    assert_eq!(sim.send(token, &slice(b"x")), Err(Errno::EPIPE));
    while sim
        .next()
        .is_some_and(|completion| completion.token != token)
    {}
    assert_eq!(sim.next(), None);
}

/// Everything that a run with all faults says, for a seed.
fn transcript(seed: u64) -> Vec<(Instant, Completion, Vec<u8>)> {
    let faults = Faults {
        short_writes: 0.3,
        reads: Reads::Random,
        reorder: true,
        resets: 0.1,
        ..Faults::default()
    };
    let options = Options {
        faults,
        ..Options::default()
    };
    let after = Nanos::from_micros(50);
    let mut sim = Sim::with(seed, Echo { after }, options);
    for index in 0..8 {
        sim.connect(Token(index), &address(), &ConnectOptions::default())
            .unwrap();
    }
    let mut seen = Vec::new();
    for _ in 0..1000 {
        sim.wait(Some(Nanos::from_micros(30)));
        while let Some(completion) = sim.next() {
            seen.push((sim.now(), completion, sim.received().to_vec()));
            if !matches!(completion.event, Event::Failed(_)) {
                let _ = sim.send(completion.token, &slice(&[1; 40]));
            }
            if seen.len() >= 1000 {
                return seen;
            }
        }
    }
    seen
}

#[test]
fn the_same_seed_tells_the_same_story() {
    assert_eq!(transcript(5), transcript(5));
    assert_ne!(transcript(5), transcript(6));
    let failed = |it: &(_, Completion, _)| matches!(it.1.event, Event::Failed(_));
    assert!(transcript(5).iter().any(failed));
}

#[test]
fn a_paused_socket_that_is_reset_is_dead_at_once() {
    let mut sim = connect(ConnectAnswer::Accept(Nanos::ZERO));
    sim.wait(None);
    assert_eq!(sim.next().unwrap().event, Event::Connected);
    sim.pause(Token(0));
    let now = sim.now();
    sim.world_mut().send(1, now, "unread");
    sim.world_mut().reset(1, now);
    sim.wait(None);
    assert_eq!(sim.next().unwrap().event, Event::Failed(Errno::ECONNRESET));
    sim.resume(Token(0));
    assert_eq!(sim.next(), None);
}

#[test]
fn a_stamp_is_of_the_last_byte_that_is_told() {
    let mut sim = Sim::new(1, Told::new(ConnectAnswer::Never));
    let options = ListenOptions {
        stamps: true,
        ..ListenOptions::default()
    };
    let at = sim.listen(Token(9), &"0.0.0.0:0".parse().unwrap(), &options);
    let start = sim.now();
    let conn = sim.world_mut().open(start, &at.unwrap());
    sim.wait(None);
    assert_eq!(sim.next().unwrap().event, Event::Incoming);
    let (first, second) = (start + Nanos::from_millis(1), start + Nanos::from_millis(2));
    sim.world_mut().send(conn, first, "abc");
    sim.world_mut().send(conn, second, "de");
    // The ring has not accepted yet.
    sim.wait(Some(Nanos::from_millis(5)));
    assert!(sim.accept(Token(9), Token(0)).unwrap().is_some());
    assert_eq!(sim.next().unwrap().event, Event::Received);
    assert_eq!(sim.received(), b"helloabcde");
    assert_eq!(sim.received_at(), Some(second));
    assert_eq!(sim.next(), None);
    assert_eq!(sim.received_at(), None);
}

#[test]
fn a_backlog_is_as_long_as_it_is_asked_for() {
    let mut sim = Sim::new(1, Told::new(ConnectAnswer::Never));
    let options = ListenOptions {
        backlog: 2,
        ..ListenOptions::default()
    };
    let at = sim
        .listen(Token(9), &"0.0.0.0:0".parse().unwrap(), &options)
        .unwrap();
    let now = sim.now();
    for _ in 0..3 {
        sim.world_mut().open(now, &at);
    }
    sim.wait(Some(Nanos::from_millis(1)));
    assert_eq!(sim.peer().opened, [Ok(()), Ok(()), Err(Errno::ETIMEDOUT)]);
}
