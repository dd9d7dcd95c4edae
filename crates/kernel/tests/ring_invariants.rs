//! The invariants of rings (see `kernel::Ring`'s module), one suite for all of them: on epoll and on io_uring against real peers
//! over TCP and Unix-domain sockets, and simulated, with and without faults. Invariants 7 to 10 are those of servers, which
//! io_uring's ring is not made for.
//!
//! A [`Bench`] opens a ring and says where peers with certain habits are.

mod benches;
mod serving;

use benches::{Bench, OnEpoll, OnSim, OnUring};
use kernel::sim::{Faults, Reads};
use kernel::{Address, Closing, Completion, ConnectOptions, Epoll, Errno};
use kernel::{Event, ListenOptions, Ring, ServerRing, Token};
use serving::*;
use std::io::IoSlice;
use units::Nanos;

/// Longer than anything here takes: reached only when a invariant is broken.
const FOR_EVER: Nanos = Nanos::from_secs(30);
/// Long enough for what must not come to come.
const A_WHILE: Nanos = Nanos::from_millis(20);

/// What a peer does with each connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    /// Sends back what it gets; ends when it is ended.
    Echo,
    /// Sends [`FLOOD`] bytes of [`pattern`] at once, then ends.
    Flood,
    /// Resets after the first bytes.
    Reset,
    /// Says [`GOODBYE`] at once, then ends.
    Goodbye,
    /// Only listens; says [`GOODBYE`] and ends when it is ended.
    Sink,
    /// Is not there.
    Refuse,
}

impl Habit {
    /// In the order of their numbers.
    const ALL: [Habit; 6] = [
        Habit::Echo,
        Habit::Flood,
        Habit::Reset,
        Habit::Goodbye,
        Habit::Sink,
        Habit::Refuse,
    ];
}

const GOODBYE: &[u8] = b"goodbye";

const FLOOD: usize = 1_000_000;

/// The byte at `index` of every long message; its period is no power of two.
fn pattern(index: usize) -> u8 {
    (index % 251) as u8 ^ (index / 65_521) as u8
}

fn connect<B: Bench>(bench: &B, ring: &mut B::Ring, token: Token, habit: Habit) {
    let options = ConnectOptions {
        nodelay: true,
        ..ConnectOptions::default()
    };
    ring.connect(token, &bench.at(habit), &options).unwrap();
}

fn send(ring: &mut impl Ring, token: Token, bytes: &[u8]) -> usize {
    ring.send(token, &[IoSlice::new(bytes)]).unwrap()
}

/// Feeds completions to `each` until it says that this was the last.
fn drive<R: Ring>(ring: &mut R, mut each: impl FnMut(&mut R, Completion) -> bool) {
    let end = ring.now() + FOR_EVER;
    while ring.now() < end {
        ring.wait(Some(FOR_EVER));
        while let Some(completion) = ring.next() {
            if each(ring, completion) {
                return;
            }
        }
    }
    panic!("what was waited for never came");
}

/// Everything that comes in [`A_WHILE`].
fn silence(ring: &mut impl Ring) -> Vec<Completion> {
    let end = ring.now() + A_WHILE;
    let mut seen = Vec::new();
    while ring.now() < end {
        let rest = end - ring.now();
        ring.wait(Some(rest));
        seen.extend(std::iter::from_fn(|| ring.next()));
    }
    seen
}

fn invariant_1_a_token_names_one_socket_at_a_time<B: Bench>(bench: &B) {
    let mut ring = bench.ring();
    let (first, second) = (Token(0), Token(1));
    for round in 0..20 {
        connect(bench, &mut ring, first, Habit::Flood);
        connect(bench, &mut ring, second, Habit::Flood);
        let mut received = 0;
        drive(&mut ring, |_, completion| {
            received += usize::from(completion.event == Event::Received);
            received == 2
        });
        // Whatever is pending for either of them is now old.
        for token in [first, second] {
            ring.close(
                token,
                if round % 2 == 0 {
                    Closing::Orderly
                } else {
                    Closing::Reset
                },
            );
            connect(bench, &mut ring, token, Habit::Echo);
        }
        let (mut echoed, mut sent) = ([Vec::new(), Vec::new()], [0; 2]);
        drive(&mut ring, |ring, Completion { token, event }| {
            let index = token.0 as usize;
            match event {
                Event::Connected | Event::Writable => {
                    sent[index] += send(ring, token, &[round; 3][sent[index]..]);
                }
                Event::Received => echoed[index].extend_from_slice(ring.received()),
                other => panic!("{other:?} in round {round}"),
            }
            echoed.iter().all(|bytes| bytes.len() >= 3)
        });
        assert_eq!(echoed, [[round; 3], [round; 3]]);
        ring.close(first, Closing::Reset);
        ring.close(second, Closing::Reset);
    }
    assert_eq!(silence(&mut ring), []);
}

fn invariant_2_a_connect_ends_once<B: Bench>(bench: &B) {
    const EACH: u32 = 24;
    let mut ring = bench.ring();
    let mut endings = vec![Vec::new(); 3 * EACH as usize];
    let mut expected = 0;
    for index in 0..EACH {
        connect(bench, &mut ring, Token(index), Habit::Echo);
        let refused = Token(EACH + index);
        // A Unix-domain socket refuses at once; then the token stays free.
        match ring.connect(
            refused,
            &bench.at(Habit::Refuse),
            &ConnectOptions::default(),
        ) {
            Ok(()) => expected += 1,
            Err(error) => endings[refused.0 as usize].push(Event::Failed(error)),
        }
        let closed = Token(2 * EACH + index);
        connect(bench, &mut ring, closed, Habit::Echo);
        ring.close(closed, Closing::Orderly);
        expected += 1;
    }
    drive(&mut ring, |_, Completion { token, event }| {
        endings[token.0 as usize].push(event);
        expected -= 1;
        expected == 0
    });
    assert_eq!(silence(&mut ring), []);
    let wanted = [
        vec![Event::Connected],
        vec![Event::Failed(Errno::ECONNREFUSED)],
        vec![],
    ];
    for (index, seen) in endings.iter().enumerate() {
        assert_eq!(*seen, wanted[index / EACH as usize], "token {index}");
    }
}

fn invariant_3_bytes_come_in_order_then_the_end_once<B: Bench>(bench: &B) {
    let mut ring = bench.ring();
    for token in [Token(3), Token(4), Token(5)] {
        connect(bench, &mut ring, token, Habit::Flood);
    }
    let (mut got, mut ended) = ([0; 6], [false; 6]);
    drive(&mut ring, |ring, Completion { token, event }| {
        let index = token.0 as usize;
        match event {
            Event::Connected => {}
            Event::Received => {
                assert!(!ended[index] && !ring.received().is_empty());
                for &mut byte in ring.received() {
                    assert_eq!(
                        byte,
                        pattern(got[index]),
                        "byte {} of {token:?}",
                        got[index]
                    );
                    got[index] += 1;
                }
            }
            Event::Ended => assert!(!std::mem::replace(&mut ended[index], true)),
            other => panic!("{other:?}"),
        }
        ended[3..].iter().all(|&ended| ended)
    });
    assert_eq!(got[3..], [FLOOD; 3]);
    assert_eq!(silence(&mut ring), []);
}

fn invariant_4_a_short_send_and_only_a_short_send_is_followed_by_writable<B: Bench>(bench: &B) {
    let length = bench.long();
    let message: Vec<u8> = (0..length).map(pattern).collect();
    let mut ring = bench.ring();
    let token = Token(7);
    connect(bench, &mut ring, token, Habit::Echo);
    let (mut sent, mut got, mut short, mut shorts) = (0, 0, false, 0);
    drive(&mut ring, |ring, completion| {
        match completion.event {
            Event::Connected | Event::Writable => {
                assert_eq!(short, completion.event == Event::Writable);
                sent += send(ring, token, &message[sent..]);
                short = sent < length;
                shorts += usize::from(short);
                if !short {
                    ring.shutdown(token);
                }
            }
            Event::Received => {
                let bytes = ring.received();
                assert!(bytes == &message[got..got + bytes.len()], "at {got}");
                got += bytes.len();
            }
            Event::Ended => return true,
            other => panic!("{other:?}"),
        }
        false
    });
    assert_eq!((sent, got), (length, length));
    assert!(
        shorts > 0,
        "the message was too short to try this invariant"
    );
    assert_eq!(silence(&mut ring), []);
}

fn invariant_5_after_failed_nothing_comes<B: Bench>(bench: &B) {
    let mut ring = bench.ring();
    for index in 0..20 {
        connect(bench, &mut ring, Token(index), Habit::Reset);
    }
    let mut failed = 0;
    drive(&mut ring, |ring, Completion { token, event }| {
        match event {
            Event::Connected | Event::Writable => {
                send(ring, token, b"read one, leave the rest");
            }
            Event::Failed(error) => {
                assert_eq!(error, Errno::ECONNRESET);
                failed += 1;
            }
            other => panic!("{other:?}"),
        }
        failed == 20
    });
    assert_eq!(silence(&mut ring), []);
    // Closed, the tokens are as good as new.
    for index in 0..20 {
        ring.close(Token(index), Closing::Orderly);
        connect(bench, &mut ring, Token(index), Habit::Echo);
    }
    let mut connected = 0;
    drive(&mut ring, |_, completion| {
        assert_eq!(completion.event, Event::Connected);
        connected += 1;
        connected == 20
    });
}

fn invariant_6_a_wait_is_as_long_as_it_says_or_not_at_all<B: Bench>(bench: &B) {
    let mut ring = bench.ring();
    for micros in [0, 1, 300, 2_500] {
        let timeout = Nanos::from_micros(micros);
        let start = ring.now();
        ring.wait(Some(timeout));
        let waited = ring.now() - start;
        assert!(
            waited >= timeout && waited <= timeout + bench.lateness(),
            "{waited:?}"
        );
    }
    // Who asks again and again instead of sleeping finds what comes, and time passes meanwhile.
    connect(bench, &mut ring, Token(0), Habit::Goodbye);
    let (start, mut is_ended) = (ring.now(), false);
    while !is_ended {
        ring.wait(Some(Nanos::ZERO));
        assert!(ring.now() - start < FOR_EVER, "nothing came");
        while let Some(completion) = ring.next() {
            is_ended |= completion.event == Event::Ended;
        }
    }
    ring.close(Token(0), Closing::Orderly);
    connect(bench, &mut ring, Token(0), Habit::Flood);
    connect(bench, &mut ring, Token(1), Habit::Flood);
    // One completion of several is taken; with the rest pending no wait may sleep.
    drive(&mut ring, |_, completion| {
        completion.event == Event::Received
    });
    let mut ended = 0;
    while ended < 2 {
        let start = ring.now();
        ring.wait(Some(FOR_EVER));
        assert!(ring.now() - start < FOR_EVER);
        ended += usize::from(ring.next().is_some_and(|it| it.event == Event::Ended));
    }
}

/// Every invariant of clients, or of clients and servers, on every bench, each as a test of its own.
macro_rules! invariants {
    (clients: $($name:ident: $bench:expr;)*) => {$(
        mod $name {
            use super::*;
            invariants!(@ $bench;
                invariant_1_a_token_names_one_socket_at_a_time
                invariant_2_a_connect_ends_once
                invariant_3_bytes_come_in_order_then_the_end_once
                invariant_4_a_short_send_and_only_a_short_send_is_followed_by_writable
                invariant_5_after_failed_nothing_comes
                invariant_6_a_wait_is_as_long_as_it_says_or_not_at_all
            );
        }
    )*};
    (servers: $($name:ident: $bench:expr;)*) => {$(
        mod $name {
            use super::*;
            invariants!(clients: as_client: $bench;);
            invariants!(@ $bench;
                invariant_7_what_comes_while_paused_is_told_after_it
                invariant_8_a_file_is_sent_as_memory_is
                invariant_9_accept_says_who_comes_and_loses_nobody
                invariant_10_a_stamp_is_of_the_receiving_and_not_of_the_reading
            );
        }
    )*};
    (@ $bench:expr; $($invariant:ident)*) => {$(
        #[test]
        fn $invariant() {
            match $bench {
                Some(bench) => super::$invariant(&bench),
                None => eprintln!("not tried: this machine has no such addresses, or no such ring"),
            }
        }
    )*};
}

invariants! {
    servers:
    epoll_v4: OnEpoll::ip("127.0.0.1");
    epoll_v6: OnEpoll::ip("::1");
    epoll_unix: OnEpoll::unix();
    sim: Some(OnSim::new(1, Faults::default()));
    sim_one_byte_at_a_time: Some(OnSim::new(2, Faults { reads: Reads::OneByte, ..short() }));
    sim_all_faults: Some(OnSim::new(3, all()));
}

invariants! {
    clients:
    uring_v4: OnUring::with(OnEpoll::ip("127.0.0.1"));
    uring_v6: OnUring::with(OnEpoll::ip("::1"));
    uring_unix: OnUring::with(OnEpoll::unix());
}

/// All that leave a connection alive.
fn all() -> Faults {
    Faults {
        reads: Reads::Random,
        reorder: true,
        accept_error: Some((0.5, Errno::EMFILE)),
        ..short()
    }
}

fn short() -> Faults {
    Faults {
        short_writes: 0.5,
        ..Faults::default()
    }
}

#[test]
fn listeners_accept_over_every_family() {
    let folder = std::env::temp_dir().join(format!("kernel-accept-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let unix = format!("unix:{}/s", folder.display());
    for at in ["127.0.0.1:0", "[::1]:0", &unix] {
        match Epoll::new().and_then(|ring| serve_one(ring, &at.parse().unwrap())) {
            Err(Errno::EADDRNOTAVAIL | Errno::EAFNOSUPPORT) if at.starts_with('[') => {}
            answer => answer.unwrap_or_else(|error| panic!("{at}: {error}")),
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A ring's client talks to a listener of the same ring.
fn serve_one(mut ring: impl ServerRing, at: &Address) -> Result<(), Errno> {
    let (door, client, server) = (Token(0), Token(1), Token(2));
    let at = ring.listen(door, at, &ListenOptions::default())?;
    ring.connect(client, &at, &ConnectOptions::default())?;
    let mut log = Vec::new();
    drive(&mut ring, |ring, Completion { token, event }| {
        match (token, event) {
            (Token(0), Event::Incoming) => {
                assert!(ring.accept(door, server).unwrap().is_some());
                assert_eq!(ring.accept(door, Token(3)), Ok(None));
            }
            (Token(1), Event::Connected) => assert_eq!(send(ring, client, b"question"), 8),
            (Token(2), Event::Received) => {
                assert_eq!(ring.received(), b"question");
                assert_eq!(send(ring, server, b"answer"), 6);
                ring.close(server, Closing::Orderly);
            }
            (Token(1), Event::Received) => assert_eq!(ring.received(), b"answer"),
            (Token(1), Event::Ended) => {}
            other => panic!("{other:?}"),
        }
        log.push(event);
        event == Event::Ended
    });
    assert_eq!(log.len(), 5, "{log:?}");
    Ok(())
}
