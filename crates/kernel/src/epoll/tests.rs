//! What is epoll's own; the invariants of all rings are in `tests/ring_invariants.rs`.

use super::waiting::millis_up;
use super::*;
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;

fn slice(bytes: &[u8]) -> [IoSlice<'_>; 1] {
    [IoSlice::new(bytes)]
}

/// A ring whose token 0 is connected, and the other end of that connection.
fn pair() -> (Epoll, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut ring = Epoll::new().unwrap();
    let to = Address::Ip(listener.local_addr().unwrap());
    ring.connect(Token(0), &to, &ConnectOptions::default())
        .unwrap();
    let (peer, _) = listener.accept().unwrap();
    assert_eq!(event(&mut ring), Event::Connected);
    assert_eq!(ring.next(), None);
    (ring, peer)
}

/// The next event, whatever its token.
fn event(ring: &mut Epoll) -> Event {
    for _ in 0..1000 {
        if let Some(completion) = ring.next() {
            return completion.event;
        }
        ring.wait(Some(Nanos::from_millis(100)));
    }
    panic!("nothing has happened for a long time");
}

/// Waits, without the ring, until the peer's end has come to us behind `bytes` unread ones.
fn await_end(ring: &Epoll) {
    await_flags(ring.fd(Token(0)), libc::POLLRDHUP);
}

fn await_flags(fd: RawFd, flags: libc::c_short) {
    let mut ready = libc::pollfd {
        fd,
        events: flags,
        revents: 0,
    };
    // SAFETY: one live pollfd.
    assert_eq!(unsafe { libc::poll(&mut ready, 1, 10_000) }, 1);
}

#[test]
fn bytes_and_the_end_in_one_event_are_both_told() {
    let (mut ring, mut peer) = pair();
    peer.write_all(b"goodbye").unwrap();
    drop(peer);
    await_end(&ring);
    assert_eq!(event(&mut ring), Event::Received);
    assert_eq!(ring.received(), b"goodbye");
    assert_eq!(event(&mut ring), Event::Ended);
    ring.wait(Some(Nanos::from_millis(5)));
    assert_eq!(ring.next(), None);
    assert!(ring.received().is_empty());
}

#[test]
fn a_reset_behind_bytes_is_told_after_them() {
    let (mut ring, mut peer) = pair();
    assert_eq!(ring.send(Token(0), &slice(b"unread")), Ok(6));
    peer.read_exact(&mut [0]).unwrap();
    peer.write_all(b"partial").unwrap();
    // Closing with unread bytes makes the kernel send RST.
    drop(peer);
    await_end(&ring);
    let mut seen = Vec::new();
    while !matches!(seen.last(), Some(Event::Failed(_))) {
        seen.push(event(&mut ring));
        if seen.last() == Some(&Event::Received) {
            assert_eq!(ring.received(), b"partial");
        }
    }
    assert_eq!(seen.last(), Some(&Event::Failed(Errno::ECONNRESET)));
    ring.wait(Some(Nanos::from_millis(5)));
    assert_eq!(ring.next(), None);
}

#[test]
fn a_reset_after_the_end_is_told() {
    let (mut ring, peer) = pair();
    drop(peer);
    assert_eq!(event(&mut ring), Event::Ended);
    // The peer is gone altogether, so what we send is answered by RST.
    assert_eq!(ring.send(Token(0), &slice(b"anyone?")), Ok(7));
    let Event::Failed(error) = event(&mut ring) else {
        panic!("not failed");
    };
    assert!(
        [Errno::EPIPE, Errno::ECONNRESET].contains(&error),
        "{error:?}"
    );
}

#[test]
fn a_refused_port_fails_the_connect() {
    let mut ring = Epoll::new().unwrap();
    // Bound and not listening: no other socket can take the port meanwhile.
    let (closed, at) = bound();
    ring.connect(Token(5), &at, &ConnectOptions::default())
        .unwrap();
    assert_eq!(event(&mut ring), Event::Failed(Errno::ECONNREFUSED));
    socket::close(closed);
}

/// A socket with a port of its own that does not listen.
fn bound() -> (RawFd, Address) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket
        .bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
        .unwrap();
    let at = socket.local_addr().unwrap().as_socket().unwrap();
    (socket.into_raw_fd(), Address::Ip(at))
}

#[test]
fn a_socket_that_always_fills_the_buffer_lets_the_others_have_their_turn() {
    let (mut ring, mut peer) = pair();
    ring.buffer = vec![0; 16].into_boxed_slice();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = Address::Ip(other.local_addr().unwrap());
    ring.connect(Token(1), &to, &ConnectOptions::default())
        .unwrap();
    let (mut second, _) = other.accept().unwrap();
    assert_eq!(event(&mut ring), Event::Connected);
    assert_eq!(ring.next(), None);

    let sent: Vec<u8> = (0..10_007u32).map(|index| (index % 251) as u8).collect();
    peer.write_all(&sent).unwrap();
    second.write_all(b"short").unwrap();
    drop(peer);
    await_end(&ring);
    let (mut got, mut before_second, mut second_came) = (Vec::new(), 0, false);
    loop {
        ring.wait(Some(Nanos::from_secs(10)));
        let Some(completion) = ring.next() else {
            continue;
        };
        match (completion.token, completion.event) {
            (Token(0), Event::Received) => {
                got.extend_from_slice(ring.received());
                before_second += usize::from(!second_came);
            }
            (Token(0), Event::Ended) => break,
            (Token(1), Event::Received) => second_came = true,
            other => panic!("{other:?}"),
        }
    }
    assert!(got == sent, "bytes were lost or came twice");
    assert!(
        second_came && before_second <= usize::from(FULL_READS),
        "{before_second}"
    );
}

#[test]
fn a_carried_socket_that_is_closed_says_nothing_more() {
    let (mut ring, mut peer) = pair();
    ring.buffer = vec![0; 16].into_boxed_slice();
    peer.write_all(&[1; 1000]).unwrap();
    for _ in 0..FULL_READS {
        assert_eq!(event(&mut ring), Event::Received);
    }
    assert_eq!(ring.carried.len(), 1);
    ring.close(Token(0), Closing::Orderly);
    ring.wait(Some(Nanos::from_millis(5)));
    assert_eq!(ring.next(), None);
}

#[test]
fn without_exact_waits_a_timeout_is_rounded_up_to_milliseconds() {
    let mut ring = Epoll::new().unwrap();
    for exact in [true, false] {
        ring.exact = exact;
        let start = ring.now();
        ring.wait(Some(Nanos::from_micros(1500)));
        assert!(
            ring.now() - start >= Nanos::from_micros(1500),
            "exact: {exact}"
        );
    }
    let cases = [
        (0, 0),
        (1, 1),
        (1_000_000, 1),
        (1_000_001, 2),
        (u64::MAX, i32::MAX),
    ];
    for (nanos, millis) in cases {
        assert_eq!(millis_up(Nanos::from_nanos(nanos)), millis);
    }
}

#[test]
fn short_waits_are_kept_to_well_under_the_default_slack() {
    let mut ring = Epoll::new().unwrap();
    let lateness = |ring: &mut Epoll| {
        let start = ring.now();
        ring.wait(Some(Nanos::from_micros(200)));
        (ring.now() - start).saturating_sub(Nanos::from_micros(200))
    };
    let best = (0..50).map(|_| lateness(&mut ring)).min().unwrap();
    // The default slack alone would make each of them 50 us late.
    assert!(best < Nanos::from_micros(50), "{best:?}");
}

#[test]
fn a_unix_socket_is_removed_with_its_listener() {
    let path = std::env::temp_dir().join(format!("kernel-file-{}", std::process::id()));
    let mut ring = Epoll::new().unwrap();
    ring.listen(
        Token(0),
        &Address::Unix(path.clone()),
        &ListenOptions::default(),
    )
    .unwrap();
    assert!(UnixStream::connect(&path).is_ok());
    assert_eq!(event(&mut ring), Event::Incoming);
    drop(ring);
    assert!(!path.exists());
}

#[test]
fn a_token_beyond_the_table_is_refused() {
    let mut ring = Epoll::new().unwrap();
    let to = "127.0.0.1:9".parse().unwrap();
    let answer = ring.connect(Token(ring::TOKENS), &to, &ConnectOptions::default());
    assert_eq!(answer, Err(Errno::EMFILE));
    assert_eq!(
        ring.send(Token(ring::TOKENS), &slice(b"x")),
        Err(Errno::EBADF)
    );
}

#[test]
fn an_event_of_an_earlier_owner_is_thrown_away() {
    let (mut ring, mut peer) = pair();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = Address::Ip(other.local_addr().unwrap());
    ring.connect(Token(1), &to, &ConnectOptions::default())
        .unwrap();
    let (mut second, _) = other.accept().unwrap();
    assert_eq!(event(&mut ring), Event::Connected);
    peer.write_all(b"one").unwrap();
    second.write_all(b"two").unwrap();
    await_flags(ring.fd(Token(0)), libc::POLLIN);
    await_flags(ring.fd(Token(1)), libc::POLLIN);
    // Both events are gathered now. After the first of them the token of the other gets a new owner.
    ring.wait(None);
    let first = ring.next().unwrap();
    assert_eq!(first.event, Event::Received);
    let reused = Token(1 - first.token.0);
    ring.close(reused, Closing::Orderly);
    ring.connect(reused, &to, &ConnectOptions::default())
        .unwrap();
    assert_eq!(ring.next(), None);
    let (mut third, _) = other.accept().unwrap();
    assert_eq!(event(&mut ring), Event::Connected);
    third.write_all(b"three").unwrap();
    assert_eq!(event(&mut ring), Event::Received);
    assert_eq!(ring.received(), b"three");
}

#[test]
fn a_late_event_of_a_dead_socket_is_thrown_away() {
    let (mut ring, mut peer) = pair();
    assert_eq!(ring.send(Token(0), &slice(b"unread")), Ok(6));
    peer.read_exact(&mut [0]).unwrap();
    drop(peer);
    assert_eq!(event(&mut ring), Event::Failed(Errno::ECONNRESET));
    // The kernel reports a reset once or twice, as it falls; here comes the second report.
    let turn = Turn {
        tag: Tag::new(Token(0), ring.sockets[0].generation),
        flags: IN | HUNG,
        full_reads: 0,
    };
    assert_eq!(ring.step(turn), None);
}

#[test]
fn a_full_socket_takes_nothing_and_is_not_dead() {
    let (mut ring, mut peer) = pair();
    let megabyte = vec![0; 1 << 20];
    let mut sent = 0;
    let mut taken = megabyte.len();
    while taken == megabyte.len() {
        taken = ring.send(Token(0), &slice(&megabyte)).unwrap();
        sent += taken;
    }
    let two = [IoSlice::new(b"more"), IoSlice::new(b"bytes")];
    assert_eq!(ring.send(Token(0), &two[..1]), Ok(0));
    assert_eq!(ring.send(Token(0), &two), Ok(0));
    std::io::copy(&mut (&mut peer).take(sent as u64), &mut std::io::sink()).unwrap();
    assert_eq!(event(&mut ring), Event::Writable);
    assert_eq!(ring.send(Token(0), &two), Ok(9));
}

/// A pair whose ring has been paused.
fn paused_pair() -> (Epoll, TcpStream) {
    let (mut ring, peer) = pair();
    ring.pause(Token(0));
    (ring, peer)
}

#[test]
fn what_is_left_of_a_full_buffer_waits_for_the_end_of_a_pause() {
    let (mut ring, mut peer) = pair();
    ring.buffer = vec![0; 16].into_boxed_slice();
    let sent: Vec<u8> = (0..1000u32).map(|index| (index % 251) as u8).collect();
    peer.write_all(&sent).unwrap();
    drop(peer);
    await_end(&ring);
    let mut got = Vec::new();
    loop {
        match event(&mut ring) {
            Event::Received => got.extend_from_slice(ring.received()),
            Event::Ended => break,
            other => panic!("{other:?}"),
        }
        // In the midst of an event, and after it; and from time to time, when the socket is carried.
        ring.pause(Token(0));
        assert_eq!(ring.next(), None);
        ring.wait(Some(Nanos::ZERO));
        assert_eq!(ring.next(), None);
        ring.resume(Token(0));
    }
    assert!(got == sent);
}

#[test]
fn a_pause_that_nothing_came_in_makes_nothing_to_do() {
    let (mut ring, mut peer) = paused_pair();
    ring.resume(Token(0));
    assert!(ring.carried.is_empty());
    ring.pause(Token(0));
    peer.write_all(b"once").unwrap();
    await_flags(ring.fd(Token(0)), libc::POLLIN);
    ring.wait(Some(Nanos::ZERO));
    assert_eq!(ring.next(), None);
    // Put into the list once, however often it is resumed.
    for _ in 0..3 {
        ring.resume(Token(0));
        ring.pause(Token(0));
        ring.wait(Some(Nanos::ZERO));
        assert_eq!(ring.next(), None);
        ring.resume(Token(0));
        ring.resume(Token(0));
        assert_eq!(ring.carried.len(), 1);
    }
    assert_eq!(event(&mut ring), Event::Received);
    assert_eq!(ring.received(), b"once");
    ring.wait(Some(Nanos::from_millis(5)));
    assert_eq!(ring.next(), None);
}

#[test]
fn a_paused_socket_that_is_reset_is_dead_at_once() {
    let (mut ring, mut peer) = paused_pair();
    peer.write_all(b"partial").unwrap();
    assert_eq!(ring.send(Token(0), &slice(b"unread")), Ok(6));
    peer.read_exact(&mut [0]).unwrap();
    // Closing with unread bytes makes the kernel send RST.
    drop(peer);
    assert_eq!(event(&mut ring), Event::Failed(Errno::ECONNRESET));
    ring.resume(Token(0));
    ring.wait(Some(Nanos::from_millis(5)));
    assert_eq!(ring.next(), None);
}

#[test]
fn a_paused_token_that_is_closed_has_a_new_owner_who_is_not_paused() {
    let (mut ring, mut peer) = paused_pair();
    peer.write_all(b"old").unwrap();
    await_flags(ring.fd(Token(0)), libc::POLLIN);
    ring.wait(Some(Nanos::ZERO));
    assert_eq!(ring.next(), None);
    ring.resume(Token(0));
    ring.close(Token(0), Closing::Orderly);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = Address::Ip(other.local_addr().unwrap());
    ring.connect(Token(0), &to, &ConnectOptions::default())
        .unwrap();
    // A socket that is not connected yet cannot be paused.
    ring.pause(Token(0));
    let (mut second, _) = other.accept().unwrap();
    assert_eq!(event(&mut ring), Event::Connected);
    second.write_all(b"new").unwrap();
    assert_eq!(event(&mut ring), Event::Received);
    assert_eq!(ring.received(), b"new");
    ring.pause(Token(99));
    ring.resume(Token(99));
}

#[test]
fn a_paused_socket_whose_peer_is_gone_says_that_it_takes_more() {
    // Over a Unix-domain socket a peer that goes leaves no error behind, only that nothing can be sent.
    let path = std::env::temp_dir().join(format!("kernel-gone-{}", std::process::id()));
    let mut ring = Epoll::new().unwrap();
    let at = Address::Unix(path);
    ring.listen(Token(1), &at, &ListenOptions::default())
        .unwrap();
    let Address::Unix(path) = &at else {
        unreachable!("it was made so");
    };
    let peer = UnixStream::connect(path).unwrap();
    assert_eq!(event(&mut ring), Event::Incoming);
    assert_eq!(
        ring.accept(Token(1), Token(0)),
        Ok(Some(Accepted { peer: None }))
    );
    ring.pause(Token(0));
    let megabyte = vec![0; 1 << 20];
    while ring.send(Token(0), &slice(&megabyte)) == Ok(megabyte.len()) {}
    ring.wait(Some(Nanos::ZERO));
    while ring.next().is_some() {}
    drop(peer);
    let told = event(&mut ring);
    assert!(
        matches!(told, Event::Writable | Event::Failed(_)),
        "{told:?}"
    );
    assert!(ring.send(Token(0), &slice(b"more")).is_err());
}
