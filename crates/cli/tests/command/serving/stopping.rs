//! SIGTERM, and SIGQUIT, by which nginx ends gracefully.

use super::*;

#[test]
fn sigterm_ends_it_in_good_order_whatever_is_under_way() {
    let bench = site();
    // More than both sides' sockets hold, so that it is under way until it is read.
    let huge = large().repeat(10);
    bench.file("site/huge.bin", &huge);
    let server = Serving::start(&bench, "site -w 2 --drain-timeout 20s");
    let idle = server.connect();
    let mut half = server.connect();
    half.write_all(b"GET /hello HTTP/1.1\r\nHo").unwrap();
    let mut loads = server.connect();
    loads
        .write_all(b"GET /huge.bin HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    while server.count("requests") != 1 || server.count("open") != 3 {
        std::thread::yield_now();
    }
    let (id, at) = (server.id(), server.at.clone());
    let stopping = std::thread::spawn(move || server.stop());
    assert_eq!(Answer::read(idle).head, "", "who does nothing is let go");
    // No connection is accepted any more, by either worker.
    while TcpStream::connect(&at).is_ok() {
        std::thread::yield_now();
    }
    half.write_all(b"st: a\r\n\r\n").unwrap();
    let answer = Answer::read(half);
    assert_eq!(
        (answer.status(), answer.line("Connection")),
        ("200", Some("close"))
    );
    assert!(lives(id), "a download is under way");
    assert!(one_answer(&mut loads) == huge);
    drop(loads);
    let counted = stopping.join().unwrap();
    assert_eq!((counted.requests(), counted.of("cut")), (2, 0));
}

#[test]
fn sigquit_is_as_good_as_sigterm() {
    let bench = Bench::new();
    let server = Serving::start(&bench, "-w 1 --drain-timeout 20s");
    let mut half = server.connect();
    half.write_all(b"GET /hello HTTP/1.1\r\nHo").unwrap();
    while server.count("bytes_received") == 0 {
        std::thread::yield_now();
    }
    let at = server.at.clone();
    let stopping = std::thread::spawn(move || server.stop_by("QUIT"));
    while TcpStream::connect(&at).is_ok() {
        std::thread::yield_now();
    }
    half.write_all(b"st: a\r\n\r\n").unwrap();
    assert_eq!(Answer::read(half).status(), "200");
    let counted = stopping.join().unwrap();
    assert_eq!((counted.requests(), counted.of("cut")), (1, 0));
}

#[test]
fn what_does_not_come_to_its_end_is_closed_when_the_time_is_over() {
    let bench = Bench::new();
    let server = Serving::start(&bench, "-w 1 --drain-timeout 300ms");
    let mut half = server.connect();
    half.write_all(b"GET /hello HTTP/1.1\r\nHo").unwrap();
    while server.count("bytes_received") == 0 {
        std::thread::yield_now();
    }
    let counted = server.stop();
    assert_eq!(
        (
            counted.of("cut_drain"),
            counted.of("cut"),
            counted.requests()
        ),
        (1, 1, 0)
    );
}
