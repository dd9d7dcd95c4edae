//! A listener in a process that has run out of descriptors. Tried on a process of its own, this test's program started
//! again, because the limit holds for everything in it.

use kernel::{Address, Epoll, Errno, Event, ListenOptions, Ring, ServerRing, Token};
use std::fs::File;
use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use units::Nanos;

const AGAIN: &str = "KERNEL_TEST_DESCRIPTORS";
const LONG: Nanos = Nanos::from_secs(10);
const DOOR: Token = Token(0);
const GUEST: Token = Token(1);

#[test]
fn who_waits_while_descriptors_are_short_is_accepted_later_without_a_second_call() {
    if std::env::var_os(AGAIN).is_some() {
        starve(Epoll::new().unwrap());
        return;
    }
    let again = Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env(AGAIN, "1")
        .output()
        .unwrap();
    assert!(again.status.success(), "{again:?}");
}

fn starve(mut ring: Epoll) {
    let any = "127.0.0.1:0".parse().unwrap();
    let at = ring.listen(DOOR, &any, &ListenOptions::default()).unwrap();
    let Address::Ip(at) = at else {
        panic!("not an IP socket");
    };
    let mut guest = TcpStream::connect(at).unwrap();
    let mut hoard = hoard();
    assert_eq!(next(&mut ring), Some((DOOR, Event::Incoming)));
    for _ in 0..3 {
        assert_eq!(ring.accept(DOOR, GUEST), Err(Errno::EMFILE));
    }
    ring.wait(Some(Nanos::from_millis(20)));
    assert_eq!(ring.next(), None, "no other connection has come");
    hoard.pop();
    let accepted = ring.accept(DOOR, GUEST).unwrap().unwrap();
    assert_eq!(accepted.peer, Some(guest.local_addr().unwrap()));
    // Of a full table the kernel does not even say that no connection waits.
    assert_eq!(ring.accept(DOOR, Token(2)), Err(Errno::EMFILE));
    drop(hoard);
    assert_eq!(ring.accept(DOOR, Token(2)), Ok(None));
    guest.write_all(b"at last").unwrap();
    assert_eq!(next(&mut ring), Some((GUEST, Event::Received)));
    assert_eq!(ring.received(), b"at last");
}

/// Every descriptor that is left.
fn hoard() -> Vec<File> {
    let files: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(!files.is_empty() && files.len() < 64);
    files
}

fn next(ring: &mut Epoll) -> Option<(Token, Event)> {
    let end = ring.now() + LONG;
    while ring.now() < end {
        ring.wait(Some(LONG));
        if let Some(completion) = ring.next() {
            return Some((completion.token, completion.event));
        }
    }
    None
}
