//! Invariants 7 to 10, those of servers: pausing, files, accepting, stamps.

use crate::benches::{Knock, ServerBench};
use crate::{A_WHILE, FLOOD, FOR_EVER, GOODBYE, Habit, connect, drive, pattern, send, silence};
use kernel::files::{File, Root};
use kernel::{Accepted, Address, Closing, Completion, Errno, Event};
use kernel::{ListenOptions, Ring, ServerRing, Token};
use std::sync::atomic::{AtomicU32, Ordering};
use units::Instant;

const TOKEN: Token = Token(7);
const DOOR: Token = Token(0);

pub fn invariant_7_what_comes_while_paused_is_told_after_it<B: ServerBench>(bench: &B) {
    pauses_of_a_turn_lose_nothing(bench);
    long_pauses_are_silent(bench, Habit::Flood, FLOOD, pattern);
    long_pauses_are_silent(bench, Habit::Goodbye, GOODBYE.len(), |index| GOODBYE[index]);
    a_paused_socket_sends(bench);
}

/// Of one flood every completion is followed by a pause that is over at once; the other one is paused until the turn
/// is over.
fn pauses_of_a_turn_lose_nothing<B: ServerBench>(bench: &B) {
    let mut ring = bench.ring();
    connect(bench, &mut ring, Token(0), Habit::Flood);
    connect(bench, &mut ring, Token(1), Habit::Flood);
    let (mut got, mut ended, mut paused) = ([0; 2], [false; 2], false);
    let end = ring.now() + FOR_EVER;
    while ended != [true; 2] {
        assert!(ring.now() < end, "what came while it was paused is lost");
        ring.wait(Some(FOR_EVER));
        while let Some(Completion { token, event }) = ring.next() {
            let index = token.0 as usize;
            assert!(index == 0 || !paused, "{event:?} while it is paused");
            match event {
                Event::Connected => {}
                Event::Received => {
                    let bytes = ring.received();
                    let right = |(offset, &byte)| byte == pattern(got[index] + offset);
                    assert!(bytes.iter().enumerate().all(right), "at {}", got[index]);
                    got[index] += bytes.len();
                }
                Event::Ended => assert!(!std::mem::replace(&mut ended[index], true)),
                other => panic!("{other:?}"),
            }
            ring.pause(token);
            match index {
                0 => ring.resume(token),
                _ => paused = true,
            }
        }
        if std::mem::take(&mut paused) {
            ring.resume(Token(1));
        }
    }
    assert_eq!(got, [FLOOD; 2]);
    assert_eq!(silence(&mut ring), []);
}

/// Whatever has come last, what comes next does not, for a while.
fn long_pauses_are_silent<B: ServerBench>(
    bench: &B,
    habit: Habit,
    length: usize,
    expected: fn(usize) -> u8,
) {
    let mut ring = bench.ring();
    connect(bench, &mut ring, TOKEN, habit);
    let (mut got, mut pauses) = (0, 0);
    drive(&mut ring, |ring, completion| {
        match completion.event {
            Event::Connected => {}
            Event::Received => {
                for &mut byte in ring.received() {
                    assert_eq!(byte, expected(got), "byte {got}");
                    got += 1;
                }
            }
            Event::Ended => return true,
            other => panic!("{other:?}"),
        }
        if pauses < 10 {
            pauses += 1;
            ring.pause(TOKEN);
            assert_eq!(silence(ring), []);
            ring.resume(TOKEN);
        }
        false
    });
    assert_eq!(got, length);
    assert_eq!(silence(&mut ring), []);
}

fn a_paused_socket_sends<B: ServerBench>(bench: &B) {
    let message: Vec<u8> = (0..bench.long()).map(pattern).collect();
    let mut ring = bench.ring();
    connect(bench, &mut ring, TOKEN, Habit::Sink);
    let mut sent = 0;
    drive(&mut ring, |ring, completion| {
        assert!(matches!(
            completion.event,
            Event::Connected | Event::Writable
        ));
        ring.pause(TOKEN);
        sent += send(ring, TOKEN, &message[sent..]);
        sent == message.len()
    });
    ring.shutdown(TOKEN);
    assert_eq!(silence(&mut ring), []);
    ring.resume(TOKEN);
    let mut got = Vec::new();
    drive(&mut ring, |ring, completion| {
        got.extend_from_slice(ring.received());
        completion.event == Event::Ended
    });
    assert_eq!(got, GOODBYE, "as said when everything has come");
}

/// An open file with `length` bytes of [`pattern`]; its name is gone already.
fn file(length: usize) -> File {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("kernel-sent-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(&name);
    std::fs::write(&path, (0..length).map(pattern).collect::<Vec<u8>>()).unwrap();
    let root = Root::open(&std::env::temp_dir()).unwrap();
    let file = root.file(name.as_bytes()).unwrap();
    std::fs::remove_file(&path).unwrap();
    file
}

pub fn invariant_8_a_file_is_sent_as_memory_is<B: ServerBench>(bench: &B) {
    let (head, skipped) = (b"head", 1001);
    let file = file(skipped + bench.long());
    let length = head.len() + bench.long();
    let mut ring = bench.ring();
    connect(bench, &mut ring, TOKEN, Habit::Echo);
    let (mut sent, mut got, mut short, mut shorts) = (0, 0, false, 0);
    drive(&mut ring, |ring, completion| {
        match completion.event {
            Event::Connected | Event::Writable => {
                assert_eq!(short, completion.event == Event::Writable);
                short = false;
                while !short && sent < length {
                    let before = sent;
                    let given = match head.get(before..) {
                        Some(rest @ [_, ..]) => {
                            sent += send(ring, TOKEN, rest);
                            rest.len()
                        }
                        _ => {
                            let from = (skipped + before - head.len()) as u64;
                            sent += ring.send_file(TOKEN, &file, from, length - before).unwrap();
                            length - before
                        }
                    };
                    short = sent - before < given;
                }
                shorts += usize::from(short);
                if !short {
                    ring.shutdown(TOKEN);
                }
            }
            Event::Received => {
                for &mut byte in ring.received() {
                    let wanted = match head.get(got) {
                        Some(&byte) => byte,
                        None => pattern(skipped + got - head.len()),
                    };
                    assert_eq!(byte, wanted, "byte {got}");
                    got += 1;
                }
            }
            Event::Ended => return true,
            other => panic!("{other:?}"),
        }
        false
    });
    assert_eq!((sent, got), (length, length));
    assert!(shorts > 0, "the file was too short to try this invariant");
    assert_eq!(silence(&mut ring), []);
    a_file_that_is_cut_short_is_told(bench);
}

fn a_file_that_is_cut_short_is_told<B: ServerBench>(bench: &B) {
    let file = file(1000);
    let mut ring = bench.ring();
    for (offset, count) in [(0, 1001), (990, 11), (1000, 1), (5000, 1)] {
        connect(bench, &mut ring, TOKEN, Habit::Sink);
        drive(&mut ring, |_, completion| {
            completion.event == Event::Connected
        });
        assert_eq!(ring.send_file(TOKEN, &file, offset, 0), Ok(0));
        let answer = ring.send_file(TOKEN, &file, offset, count);
        assert_eq!(answer, Err(Errno::ENODATA), "{count} from {offset}");
        assert_eq!(silence(&mut ring), []);
        ring.close(TOKEN, Closing::Reset);
    }
}

/// Accepts the connection that waits, however often that fails first.
fn accept(ring: &mut impl ServerRing, token: Token) -> Option<Accepted> {
    for _ in 0..1000 {
        match ring.accept(DOOR, token) {
            Err(Errno::EMFILE) => {}
            answer => return answer.unwrap(),
        }
    }
    panic!("it is never accepted");
}

fn listen<B: ServerBench>(bench: &B, ring: &mut B::Ring, stamps: bool) -> Address {
    let options = ListenOptions {
        stamps,
        ..ListenOptions::default()
    };
    ring.listen(DOOR, &bench.door(), &options).unwrap()
}

pub fn invariant_9_accept_says_who_comes_and_loses_nobody<B: ServerBench>(bench: &B) {
    const GUESTS: usize = 20;
    let mut ring = bench.ring();
    let at = listen(bench, &mut ring, false);
    let knocks: Vec<Knock> = (0..GUESTS).map(|_| bench.knock(&mut ring, &at)).collect();
    let mut peers = Vec::new();
    let mut heard = [0; GUESTS];
    drive(&mut ring, |ring, Completion { token, event }| {
        match event {
            Event::Incoming => {
                while let Some(accepted) = accept(ring, Token(peers.len() as u32 + 1)) {
                    peers.push(accepted.peer);
                }
            }
            Event::Received => heard[token.0 as usize - 1] += ring.received().len(),
            other => panic!("{other:?}"),
        }
        heard == [Knock::SAYS.len(); GUESTS]
    });
    let mut wanted: Vec<_> = knocks.iter().map(|knock| knock.from).collect();
    wanted.sort_unstable();
    peers.sort_unstable();
    assert_eq!(peers, wanted);
    assert_eq!(silence(&mut ring), []);
}

pub fn invariant_10_a_stamp_is_of_the_receiving_and_not_of_the_reading<B: ServerBench>(bench: &B) {
    let mut ring = bench.ring();
    let mut first = 0;
    for round in 0..60 {
        let Some(at) = stamp(bench, &mut ring, true) else {
            // The kernel begins to make stamps somewhat after it was asked to.
            assert!(!bench.stamps() || first == 0, "none in round {round}");
            continue;
        };
        assert!(bench.stamps(), "{at:?}");
        first += usize::from(first == 0) * (round + 1);
        if round > first + 3 {
            break;
        }
    }
    assert_eq!(first > 0, bench.stamps());
    assert_eq!(stamp(bench, &mut ring, false), None);
}

/// The stamp of what a guest says, who speaks while he is not listened to.
fn stamp<B: ServerBench>(bench: &B, ring: &mut B::Ring, stamps: bool) -> Option<Instant> {
    let at = listen(bench, ring, stamps);
    let knock = bench.knock(ring, &at);
    drive(ring, |_, completion| {
        completion.token == DOOR && completion.event == Event::Incoming
    });
    assert!(accept(ring, TOKEN).is_some());
    ring.pause(TOKEN);
    assert_eq!(silence(ring), []);
    let silent = ring.now();
    ring.resume(TOKEN);
    let (mut got, mut stamp) = (0, None);
    drive(ring, |ring, completion| {
        assert_eq!(
            (completion.token, completion.event),
            (TOKEN, Event::Received)
        );
        got += ring.received().len();
        stamp = ring.received_at();
        got == Knock::SAYS.len()
    });
    ring.close(TOKEN, Closing::Reset);
    ring.close(DOOR, Closing::Orderly);
    if let Some(at) = stamp {
        let (earliest, latest) = knock.spoken;
        let latest = latest.min(silent);
        assert!(
            earliest <= at && at <= latest,
            "{earliest:?} {at:?} {latest:?}"
        );
        assert!(silent - earliest >= A_WHILE / 2, "that would prove nothing");
    }
    stamp
}
