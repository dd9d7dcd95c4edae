//! What is io_uring's own about pausing: bytes that come although the socket is paused.

use super::*;

/// What comes until nothing more does, of token 0.
fn told(ring: &mut Uring) -> (Vec<u8>, Vec<Event>) {
    let (mut bytes, mut events) = (Vec::new(), Vec::new());
    loop {
        while let Some(completion) = ring.next() {
            bytes.extend_from_slice(ring.received());
            events.push(completion.event);
        }
        let start = ring.now();
        ring.wait(Some(Nanos::from_millis(20)));
        if ring.now() - start >= Nanos::from_millis(20) {
            return (bytes, events);
        }
    }
}

#[test]
fn what_was_received_already_is_kept_until_the_pause_is_over() {
    let few = Size {
        count: 4,
        length: 16,
    };
    let Some((mut ring, mut peer)) = pair_with(few) else {
        return;
    };
    let sent = pattern(200);
    peer.write_all(&sent).unwrap();
    drop(peer);
    // Several completions are there; one of them is told, then comes the pause.
    assert_eq!(event(&mut ring), Event::Received);
    let mut got = ring.received().to_vec();
    assert_eq!(got.len(), 16);
    ring.pause(TOKEN);
    assert_eq!(told(&mut ring), (Vec::new(), Vec::new()));
    let kept = ring.links[0].withheld.as_ref().map_or(0, |it| it.len());
    assert!(
        (1..=8).contains(&kept),
        "{kept}: no more than there are buffers, or twice"
    );
    assert!(!ring.links[0].has(Operation::Receive));
    // Paused again in the midst of what was kept.
    for _ in 0..2 {
        ring.resume(TOKEN);
        assert_eq!(event(&mut ring), Event::Received);
        assert!(ring.received().len() <= 16, "it is told as it came");
        got.extend_from_slice(ring.received());
        ring.pause(TOKEN);
        assert_eq!(told(&mut ring), (Vec::new(), Vec::new()));
    }
    ring.resume(TOKEN);
    let (rest, events) = told(&mut ring);
    got.extend(rest);
    assert!(got == sent);
    assert_eq!(events.last(), Some(&Event::Ended));
    assert_eq!(events.iter().filter(|it| **it == Event::Ended).count(), 1);
}

#[test]
fn a_paused_socket_does_not_take_the_buffers_of_the_others() {
    let few = Size {
        count: 2,
        length: 16,
    };
    let Some((mut ring, mut peer)) = pair_with(few) else {
        return;
    };
    let mut second = connect(&mut ring, Token(1));
    ring.pause(TOKEN);
    peer.write_all(&pattern(1_000_000)).unwrap();
    second.write_all(b"I am here").unwrap();
    assert_eq!(event(&mut ring), Event::Received);
    assert_eq!(ring.received(), b"I am here");
    let kept = ring.links[0].withheld.as_ref().map_or(0, |it| it.len());
    assert!(kept <= 4, "{kept}");
}

#[test]
fn a_socket_that_is_closed_while_it_is_paused_leaves_nothing_behind() {
    for how in [Closing::Orderly, Closing::Reset] {
        let Some((mut ring, mut peer)) = pair() else {
            return;
        };
        for round in 0..6 {
            peer.write_all(b"some").unwrap();
            if round % 2 == 0 {
                assert_eq!(event(&mut ring), Event::Received);
            }
            ring.pause(TOKEN);
            if round % 3 == 0 {
                assert_eq!(told(&mut ring), (Vec::new(), Vec::new()));
            }
            if round % 3 == 1 {
                ring.resume(TOKEN);
            }
            ring.close(TOKEN, how);
            await_all_free(&mut ring);
            assert!(ring.links.iter().all(|link| link.withheld.is_none()));
            peer = connect(&mut ring, TOKEN);
        }
        peer.write_all(b"not paused").unwrap();
        assert_eq!(event(&mut ring), Event::Received);
    }
}

#[test]
fn a_paused_socket_that_is_closed_sends_what_was_taken() {
    let Some((mut ring, mut peer)) = pair() else {
        return;
    };
    let message = pattern(100 * link::PIECE);
    ring.pause(TOKEN);
    let mut taken = 0;
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
fn a_send_that_fails_is_told_while_paused() {
    let Some((mut ring, _peer)) = pair() else {
        return;
    };
    ring.pause(TOKEN);
    // As if the kernel had found a reset while sending, with the receive still being ended.
    assert_eq!(ring.send_failed(0, Errno::EPIPE), None);
    assert_eq!(event(&mut ring), Event::Failed(Errno::EPIPE));
    ring.resume(TOKEN);
    assert_eq!(told(&mut ring), (Vec::new(), Vec::new()));
}
