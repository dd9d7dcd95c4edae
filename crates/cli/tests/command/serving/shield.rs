//! Those who are too slow, and those who are too many.

use super::*;

#[test]
fn those_who_hold_a_place_by_doing_nothing_are_cut_while_others_are_served() {
    let bench = site();
    let server = Serving::start(
        &bench,
        "site -w 1 --first-request-timeout 300ms --head-timeout 400ms --body-timeout 500ms --body-speed 1k \
         --keepalive-timeout 600ms --send-timeout 700ms --send-speed 100k",
    );
    let mut cut: Vec<(&str, TcpStream)> = Vec::new();
    let halves = [
        ("cut_first_request", ""),
        ("cut_head", "GET /hello HTTP/1.1\r\nHost: a\r\n"),
        (
            "cut_body",
            "GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx",
        ),
        ("cut_idle", "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"),
    ];
    for (name, says) in halves {
        let mut stream = server.connect();
        stream.write_all(says.as_bytes()).unwrap();
        cut.push((name, stream));
    }
    // One that asks for more than its socket and the server's can hold, and reads nothing of it.
    let mut deaf = server.connect();
    let asks = "GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20);
    deaf.write_all(asks.as_bytes()).unwrap();
    for (name, stream) in cut {
        let answer = Answer::read(stream);
        let status = match name {
            "cut_head" | "cut_body" => "408",
            "cut_idle" => "200",
            _ => "",
        };
        assert_eq!(
            (answer.status(), answer.is_orderly),
            (status, true),
            "{name}"
        );
        // Other clients are served meanwhile.
        assert_eq!(server.get("/hello", "").status(), "200");
        assert_eq!(server.count(name), 1, "{name}");
    }
    while server.count("cut_send") == 0 {
        assert_eq!(server.get("/hello", "").status(), "200");
    }
    assert!(!Answer::read(deaf).is_orderly, "what is not taken is reset");
    let counted = server.stop();
    assert_eq!((counted.of("cut"), counted.of("refused")), (5, 2));
}

#[test]
fn what_the_kernel_takes_for_a_client_that_never_reads_is_bounded() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 1 --send-timeout 400ms");
    let asks = "GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20);
    let deaf: Vec<TcpStream> = (0..10)
        .map(|_| {
            let mut deaf = server.connect();
            deaf.write_all(asks.as_bytes()).unwrap();
            deaf
        })
        .collect();
    while server.count("cut_send") < 10 {
        std::thread::yield_now();
    }
    let each = server.count("bytes_sent") / 10;
    // The server's side has 128 KiB, and the client's as much as new sockets have here. Left to itself the kernel takes
    // 2.5 MB on the server's side of a loopback connection.
    assert!((1..768 * 1024).contains(&each), "{each} bytes for each");
    drop(deaf);
    // A client that reads is not held back by it.
    assert!(server.get("/large.bin", "").body == large());
    assert_eq!(server.stop().of("cut"), 10);
}

#[test]
fn a_client_that_reads_slowly_but_fast_enough_gets_all_of_its_file() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 1 --send-timeout 500ms --send-speed 100k");
    let mut stream = server.connect();
    stream
        .write_all(b"GET /large.bin HTTP/1.0\r\n\r\n")
        .unwrap();
    let (mut got, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    loop {
        let length = stream.read(&mut piece).unwrap();
        if length == 0 {
            break;
        }
        got.extend_from_slice(&piece[..length]);
        // Two seconds for the whole, four times as long as nothing may be taken, and seldom enough for the server's
        // side of the socket to seem stuck in between.
        std::thread::sleep(std::time::Duration::from_micros(length as u64 * 2 / 3));
    }
    assert!(got.ends_with(&large()));
    assert_eq!(server.stop().of("cut"), 0);
}

#[test]
fn more_clients_than_there_are_places_are_told_so() {
    let bench = Bench::new();
    let server = Serving::start(
        &bench,
        "-w 1 --max-connections 5 --max-connections-per-address 3",
    );
    let here: Vec<TcpStream> = (0..3)
        .map(|_| {
            let mut stream = server.connect();
            stream
                .write_all(b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
                .unwrap();
            one_answer(&mut stream);
            stream
        })
        .collect();
    let told = Answer::read(server.connect());
    assert_eq!((told.status(), told.is_orderly), ("503", true));
    assert_eq!(told.line("Connection"), Some("close"));
    assert_eq!(
        told.body,
        b"there are as many connections as this server takes from one address\n"
    );
    drop(here);
    while server.count("open") > 0 {
        std::thread::yield_now();
    }
    assert_eq!(server.get("/hello", "").status(), "200");
    assert_eq!(server.stop().of("over_limit_per_address"), 1);
}

#[test]
fn our_own_client_names_what_a_server_that_is_full_or_impatient_does_to_it() {
    let bench = Bench::new();
    let server = Serving::start(
        &bench,
        "-w 1 --max-connections 4 --max-connections-per-address 0",
    );
    let (said, record) = bench.run(&format!(
        "{}/hello -c 12 -n 200 --rounds 1 --max-errors 100%",
        server.at
    ));
    said.ended(0);
    record.assert_conserved();
    let faults = record.at("/points/0/rounds/0/tally/faults").to_string();
    let refused = server.stop().of("over_limit");
    assert!(
        refused > 0 && faults.contains("status_5xx"),
        "{refused} {faults}"
    );
}
