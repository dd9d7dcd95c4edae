//! What is io_uring's own; the invariants of all rings are in `tests/ring_invariants.rs`. Where io_uring is not to be had nothing
//! is tried, and a line says so.

use super::*;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

const TOKEN: Token = Token(0);
const LONG: Nanos = Nanos::from_secs(10);

fn slice(bytes: &[u8]) -> [IoSlice<'_>; 1] {
    [IoSlice::new(bytes)]
}

/// A ring, unless the kernel or a container forbids it.
fn ring(receive: Size) -> Option<Uring> {
    Uring::with(receive)
        .inspect_err(|error| eprintln!("not tried: {error}"))
        .ok()
}

fn connect(ring: &mut Uring, token: Token) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = Address::Ip(listener.local_addr().unwrap());
    ring.connect(token, &to, &ConnectOptions::default())
        .unwrap();
    assert_eq!(event(ring), Event::Connected);
    let (peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    peer
}

/// A ring whose token 0 is connected, and the other end of that connection.
fn pair() -> Option<(Uring, TcpStream)> {
    pair_with(RECEIVE)
}

fn pair_with(receive: Size) -> Option<(Uring, TcpStream)> {
    let mut ring = ring(receive)?;
    let peer = connect(&mut ring, TOKEN);
    Some((ring, peer))
}

/// The next event, whatever its token.
fn event(ring: &mut Uring) -> Event {
    let end = ring.now() + LONG;
    while ring.now() < end {
        if let Some(completion) = ring.next() {
            return completion.event;
        }
        ring.wait(Some(LONG));
    }
    panic!("nothing has happened for a long time");
}

/// Waits until every place of the table is free, and nothing was told meanwhile.
fn await_all_free(ring: &mut Uring) {
    let end = ring.now() + LONG;
    loop {
        // Once at least: a place may be free before the kernel has been asked to close its descriptor.
        ring.wait(Some(Nanos::from_millis(1)));
        assert_eq!(ring.next(), None);
        if ring.free.len() == ring.links.len() {
            return;
        }
        assert!(ring.now() < end, "a closed socket is kept");
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}

/// Sends all of `message` by the rules, piece by piece.
fn send_all(ring: &mut Uring, message: &[u8]) {
    let mut sent = ring.send(TOKEN, &slice(message)).unwrap();
    while sent < message.len() {
        assert_eq!(event(ring), Event::Writable);
        sent += ring.send(TOKEN, &slice(&message[sent..])).unwrap();
    }
}

#[test]
fn more_comes_than_there_are_buffers_and_all_of_it_arrives() {
    let few = Size {
        count: 2,
        length: 16,
    };
    let Some((mut ring, mut peer)) = pair_with(few) else {
        return;
    };
    let mut second = connect(&mut ring, Token(1));
    let sent = pattern(10_007);
    peer.write_all(&sent).unwrap();
    second.write_all(&sent).unwrap();
    drop((peer, second));
    let (mut got, mut ended) = ([Vec::new(), Vec::new()], 0);
    while ended < 2 {
        ring.wait(Some(LONG));
        while let Some(completion) = ring.next() {
            match completion.event {
                Event::Received => {
                    got[completion.token.0 as usize].extend_from_slice(ring.received());
                }
                Event::Ended => ended += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(got.iter().all(|bytes| *bytes == sent), "bytes were lost");
}

#[test]
fn ten_megabytes_are_sent_to_a_slow_reader_and_then_the_end() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    let message = pattern(10_000_000);
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        peer.read_to_end(&mut got).map(|_| got)
    });
    send_all(&mut ring, &message);
    ring.shutdown(TOKEN);
    assert_eq!(event(&mut ring), Event::Ended);
    assert!(reader.join().unwrap().unwrap() == message);
}

#[test]
fn a_socket_takes_two_pieces_and_no_more_until_one_is_gone() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    let message = pattern(10 * link::PIECE);
    let mut sent = 0;
    // A peer that does not read: sooner or later nothing is taken and nothing happens.
    loop {
        sent += ring.send(TOKEN, &slice(&message)).unwrap();
        ring.wait(Some(Nanos::from_millis(200)));
        match ring.next() {
            Some(completion) => assert_eq!(completion.event, Event::Writable),
            None => break,
        }
    }
    let piece = ring.send(TOKEN, &slice(&message)).unwrap();
    assert_eq!(piece, link::PIECE);
    sent += piece;
    assert_eq!(ring.send(TOKEN, &slice(b"more")), Ok(0));
    let reader = std::thread::spawn(move || {
        std::io::copy(&mut (&mut peer).take(sent as u64), &mut std::io::sink())
    });
    assert_eq!(event(&mut ring), Event::Writable);
    assert_eq!(ring.send(TOKEN, &slice(b"more")), Ok(4));
    ring.wait(Some(Nanos::from_millis(50)));
    reader.join().unwrap().unwrap();
}

#[test]
fn small_sends_of_one_turn_go_out_in_order_as_one() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    let message = pattern(5000);
    for part in message.chunks(7) {
        let halves = part.split_at(part.len() / 2);
        let slices = [IoSlice::new(halves.0), IoSlice::new(halves.1)];
        assert_eq!(ring.send(TOKEN, &slices), Ok(part.len()));
    }
    ring.wait(Some(Nanos::ZERO));
    let mut got = vec![0; message.len()];
    peer.read_exact(&mut got).unwrap();
    assert!(got == message);
    assert_eq!(ring.next(), None, "nothing was short");
}

#[test]
fn a_send_that_succeeds_does_not_end_a_wait() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    assert_eq!(ring.send(TOKEN, &slice(b"question")), Ok(8));
    let start = ring.now();
    ring.wait(Some(Nanos::from_millis(20)));
    assert!(ring.now() - start >= Nanos::from_millis(20));
    peer.read_exact(&mut [0; 8]).unwrap();
}

#[test]
fn an_orderly_close_sends_what_was_taken() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    // More than the kernel takes from one who does not wait, less than two pieces.
    let mut taken = 0;
    let message = pattern(100 * link::PIECE);
    for _ in 0..60 {
        taken += ring.send(TOKEN, &slice(&message[taken..])).unwrap();
        ring.wait(Some(Nanos::ZERO));
        while ring.next().is_some() {}
    }
    ring.close(TOKEN, Closing::Orderly);
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        peer.read_to_end(&mut got).map(|_| got)
    });
    await_all_free(&mut ring);
    assert!(reader.join().unwrap().unwrap() == message[..taken]);
}

#[test]
fn bytes_for_a_closed_socket_that_still_sends_reset_it() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    let message = pattern(100 * link::PIECE);
    while ring.send(TOKEN, &slice(&message)).unwrap() > 0 {
        ring.wait(Some(Nanos::from_millis(50)));
        while ring.next().is_some() {}
    }
    ring.close(TOKEN, Closing::Orderly);
    ring.wait(Some(Nanos::ZERO));
    assert_eq!(ring.links[0].phase, Phase::Lingering);
    peer.write_all(b"too late").unwrap();
    await_all_free(&mut ring);
    let end = std::io::copy(&mut peer, &mut std::io::sink());
    assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

/// The connection of token 0, among those that were closed before they were accepted.
fn accept_of(listener: &TcpListener, ring: &Uring) -> TcpStream {
    // SAFETY: the descriptor is the ring's, which lives; it is only looked at.
    let ours = unsafe {
        std::os::fd::BorrowedFd::borrow_raw(ring.links[ring.find(TOKEN).unwrap() as usize].fd)
    };
    let ours = TcpStream::from(ours.try_clone_to_owned().unwrap());
    let at = ours.local_addr().unwrap();
    loop {
        let (peer, from) = listener.accept().unwrap();
        if from == at {
            return peer;
        }
    }
}

#[test]
fn a_close_with_everything_under_way_ends_everything() {
    for how in [Closing::Orderly, Closing::Reset] {
        let Some(mut ring) = ring(RECEIVE) else {
            return;
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = Address::Ip(listener.local_addr().unwrap());
        for round in 0..50 {
            // Neither the connect nor the receive nor the send has been seen by the kernel, or some of them.
            ring.connect(TOKEN, &to, &ConnectOptions::default())
                .unwrap();
            if round % 2 == 1 {
                ring.close(TOKEN, how);
                await_all_free(&mut ring);
                continue;
            }
            assert_eq!(event(&mut ring), Event::Connected);
            assert_eq!(ring.send(TOKEN, &slice(b"hello")), Ok(5));
            let mut peer = accept_of(&listener, &ring);
            if round % 4 == 0 {
                peer.write_all(b"unread").unwrap();
            }
            ring.close(TOKEN, how);
            await_all_free(&mut ring);
            let mut rest = Vec::new();
            let ended = peer.read_to_end(&mut rest);
            if how == Closing::Orderly && round % 4 == 2 {
                assert_eq!((ended.unwrap(), rest), (5, b"hello".to_vec()));
            }
        }
    }
}

#[test]
fn a_reset_leaves_no_good_end() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    ring.close(TOKEN, Closing::Reset);
    await_all_free(&mut ring);
    let end = peer.read(&mut [0]).unwrap_err();
    assert_eq!(end.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_reset_behind_bytes_is_told_after_them() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    assert_eq!(ring.send(TOKEN, &slice(b"unread")), Ok(6));
    ring.wait(Some(Nanos::ZERO));
    peer.read_exact(&mut [0]).unwrap();
    peer.write_all(b"partial").unwrap();
    // Closing with unread bytes makes the kernel send RST.
    drop(peer);
    let mut got = Vec::new();
    let last = loop {
        match event(&mut ring) {
            Event::Received => got.extend_from_slice(ring.received()),
            other => break other,
        }
    };
    assert_eq!(got, b"partial");
    assert_eq!(last, Event::Failed(Errno::ECONNRESET));
    ring.wait(Some(Nanos::from_millis(5)));
    assert_eq!(ring.next(), None);
}

#[test]
fn a_send_that_fails_is_told_once_and_behind_what_came() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    peer.write_all(b"partial").unwrap();
    assert_eq!(event(&mut ring), Event::Received);
    assert_eq!(ring.received(), b"partial");
    // As if the kernel had found a reset while sending, with the end still to be received.
    assert_eq!(ring.send_failed(0, Errno::EPIPE), None);
    peer.write_all(b"more").ok();
    let mut seen = Vec::new();
    while !matches!(seen.last(), Some(Event::Failed(_))) {
        seen.push(event(&mut ring));
    }
    assert_eq!(seen.last(), Some(&Event::Failed(Errno::EPIPE)));
    assert!(!seen.contains(&Event::Ended), "{seen:?}");
    assert_eq!(ring.send(TOKEN, &slice(b"x")), Err(Errno::EPIPE));
    ring.wait(Some(Nanos::from_millis(5)));
    assert_eq!(ring.next(), None);
}

#[test]
fn a_reset_after_the_end_is_told() {
    let Some((mut ring, peer)) = pair() else {
        return;
    };
    drop(peer);
    assert_eq!(event(&mut ring), Event::Ended);
    // The peer is gone altogether, so what we send is answered by RST.
    assert_eq!(ring.send(TOKEN, &slice(b"anyone?")), Ok(7));
    let Event::Failed(error) = event(&mut ring) else {
        panic!("not failed");
    };
    assert!(
        [Errno::EPIPE, Errno::ECONNRESET].contains(&error),
        "{error:?}"
    );
    ring.close(TOKEN, Closing::Orderly);
    await_all_free(&mut ring);
}

#[test]
fn a_completion_of_an_earlier_owner_is_thrown_away() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    let mut second = connect(&mut ring, Token(1));
    peer.write_all(b"one").unwrap();
    second.write_all(b"two").unwrap();
    // Both are received now, or as good as; the token of the one that is told later gets a new owner.
    ring.wait(None);
    let first = ring.next().unwrap();
    assert_eq!(first.event, Event::Received);
    let reused = Token(1 - first.token.0);
    ring.close(reused, Closing::Orderly);
    let mut third = connect(&mut ring, reused);
    third.write_all(b"three").unwrap();
    assert_eq!(event(&mut ring), Event::Received);
    assert_eq!(ring.received(), b"three");
}

#[test]
fn a_failed_cancellation_of_an_earlier_owner_cancels_nothing() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    let link = &ring.links[0];
    let earlier = Name::new(Operation::Receive, link.generation.wrapping_sub(1), 0);
    ring.cancelled(earlier.cancelling(), -libc::ENOENT);
    peer.write_all(b"still here").unwrap();
    assert_eq!(event(&mut ring), Event::Received);
}

#[test]
fn a_ring_that_was_made_in_another_thread_is_as_good() {
    let Some(mut ring) = std::thread::spawn(|| ring(RECEIVE)).join().unwrap() else {
        return;
    };
    let mut peer = connect(&mut ring, TOKEN);
    peer.write_all(b"hello").unwrap();
    assert_eq!(event(&mut ring), Event::Received);
}

#[test]
fn a_ring_with_everything_under_way_can_be_dropped() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    let message = pattern(100 * link::PIECE);
    while ring.send(TOKEN, &slice(&message)).unwrap() > 0 {
        ring.wait(Some(Nanos::from_millis(50)));
        while ring.next().is_some() {}
    }
    let start = ring.now();
    drop(ring);
    assert!(clock::now() - start < Nanos::from_millis(500));
    // Whatever the kernel had taken arrives, and then some end.
    let _ = std::io::copy(&mut peer, &mut std::io::sink());
}

#[test]
fn what_was_taken_before_the_ring_is_dropped_is_sent() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    assert_eq!(ring.send(TOKEN, &slice(b"goodbye")), Ok(7));
    drop(ring);
    let mut got = Vec::new();
    peer.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"goodbye");
}

#[test]
fn a_token_beyond_the_table_is_refused() {
    let Some(mut ring) = ring(RECEIVE) else {
        return;
    };
    let to = "127.0.0.1:9".parse().unwrap();
    let answer = ring.connect(Token(ring::TOKENS), &to, &ConnectOptions::default());
    assert_eq!(answer, Err(Errno::EMFILE));
    assert_eq!(
        ring.send(Token(ring::TOKENS), &slice(b"x")),
        Err(Errno::EBADF)
    );
}

#[test]
fn more_is_asked_for_than_the_queue_holds() {
    let Some(mut ring) = ring(RECEIVE) else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = Address::Ip(listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().for_each(drop));
    // Each puts three operations into the queue, or four.
    let rounds = queue::SUBMISSIONS;
    for round in 0..rounds {
        let token = Token(round % 7);
        ring.connect(token, &to, &ConnectOptions::default())
            .unwrap();
        ring.close(token, Closing::Reset);
    }
    await_all_free(&mut ring);
    ring.connect(TOKEN, &to, &ConnectOptions::default())
        .unwrap();
    assert_eq!(event(&mut ring), Event::Connected);
}
