//! Servers that weigh did not start: found, charged, or said not to be observed.

use crate::bench::{Bench, Reference};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn a_server_that_listens_where_the_target_is_is_found_and_charged() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!("{}/100.html -d 300ms --rounds 2", server.at());
    let (said, record) = bench.run(&line);
    said.ended(0);
    assert_eq!(record.at("/observed/by"), "listens");
    assert_eq!(
        record.count("/observed/processes/0/pid"),
        u64::from(server.id())
    );
    let cost = record.at("/points/0/footprint");
    assert!(cost["cpu_s"].as_f64() > Some(0.0), "{cost}");
    assert!(cost["cpu_us_per_request"].as_f64() > Some(0.0), "{cost}");
    for name in ["rest", "before", "after", "peak"] {
        assert!(cost["pss_bytes"][name].as_u64() > Some(0), "{name}: {cost}");
    }
    for round in record.rounds() {
        assert_eq!(
            round["footprint"]["memory"]["connections"], 10,
            "they were open"
        );
        assert!(round["budget"]["generator"].as_u64() > Some(0), "{round}");
        assert!(round["kernel"]["listen_overflows"].is_u64(), "{round}");
    }
    for label in ["CPU/request", "memory"] {
        assert!(said.out.contains(label), "{}", said.out);
    }
    assert!(!said.out.contains("not observed"), "{}", said.out);
}

#[test]
fn a_server_is_observed_by_every_way_of_naming_it() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let port = server.at().rsplit(':').next().unwrap();
    for name in [server.id().to_string(), format!(":{port}")] {
        let line = format!("{}/100.html -n 100 --rounds 1 --server {name}", server.at());
        let (said, record) = bench.run(&line);
        said.ended(0);
        assert_eq!(record.at("/observed/by"), "named");
        assert_eq!(
            record.count("/observed/processes/0/pid"),
            u64::from(server.id())
        );
        std::fs::remove_file(bench.path("run.json")).unwrap();
    }
}

#[test]
fn a_server_that_is_to_be_left_alone_is_not_observed_and_that_is_said() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!("{}/100.html -n 100 --rounds 1 --server none", server.at());
    let (said, record) = bench.run(&line);
    said.ended(0);
    assert_eq!(record.at("/observed/count"), 0);
    assert!(record.at("/points/0/rounds/0")["footprint"].is_null());
    let why = "(--server none leaves it alone)";
    let words: Vec<&str> = said.out.split_whitespace().collect(); // lines are broken anywhere
    assert!(words.join(" ").contains(why), "{}", said.out);
}

#[test]
fn whoever_is_named_has_to_be_there() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let cases = [
        ("no-such-server".to_owned(), "is the name of no process"),
        (format!(":{free}"), "has no listener"),
        ("999999999".to_owned(), "is no process here"),
        (
            "cgroup:no/such/group".to_owned(),
            "is no control group here",
        ),
    ];
    for (name, why) in cases {
        let line = format!("run {}/0.html -n 10 --server {name}", server.at());
        bench
            .say(&line)
            .refused(&[&format!("--server {name}"), why]);
    }
}

#[test]
fn an_access_log_that_is_written_with_each_request_is_noted() {
    let bench = Bench::new();
    let path = bench.path("access.log");
    let log = File::create(&path).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            client.set_nodelay(true).unwrap();
            let log = log.try_clone().unwrap();
            std::thread::spawn(move || answer(client, Some(log)));
        }
    });
    let (_, record) = bench.run(&format!("http://{at}/ -n 1000 -c 4 --rounds 2"));
    let findings = record.at("/findings").as_array().unwrap();
    let mut found = findings.iter().filter(|finding| finding["check"] == "log");
    let said = found
        .next()
        .map(|finding| finding["sentence"].as_str().unwrap());
    let wanted = format!("the server wrote 20 B a request to {}", path.display());
    assert!(
        said.is_some_and(|said| said.starts_with(&wanted)),
        "{said:?} {findings:?}"
    );
}

/// Answers every request of a connection in two writes, head and body, and writes a line of 20 bytes to its log, if it has
/// one.
fn answer(mut client: TcpStream, mut log: Option<File>) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    while client.read(&mut byte)? > 0 {
        request.push(byte[0]);
        if request.ends_with(b"\r\n\r\n") {
            if let Some(log) = &mut log {
                log.write_all(b"GET / HTTP/1.1, 200\n")?;
            }
            client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")?;
            client.write_all(b"hello")?;
            request.clear();
        }
    }
    Ok(())
}

#[test]
fn a_server_that_meets_delayed_acks_is_told_from_one_that_does_not() {
    for (nodelay, is_found) in [(false, true), (true, false)] {
        let bench = Bench::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                client.set_nodelay(nodelay).unwrap();
                std::thread::spawn(|| answer(client, None));
            }
        });
        let (_, record) = bench.run(&format!("http://{at}/ -n 200 -c 4 --rounds 1"));
        let findings = record.at("/findings").as_array().unwrap();
        let found = findings.iter().any(|finding| finding["check"] == "delays");
        assert_eq!(found, is_found, "nodelay {nodelay}: {findings:?}");
    }
}

#[test]
fn connections_that_are_cut_before_a_response_look_like_a_shield() {
    for (cuts, is_found) in [(true, true), (false, false)] {
        let bench = Bench::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for (number, client) in listener.incoming().flatten().enumerate() {
                client.set_nodelay(true).unwrap();
                if !cuts || number % 2 == 0 {
                    std::thread::spawn(|| answer(client, None));
                }
            }
        });
        let (_, record) = bench.run(&format!("http://{at}/ -n 500 -c 4 --rounds 1"));
        let findings = record.at("/findings").as_array().unwrap();
        let found = findings.iter().any(|finding| finding["check"] == "shield");
        assert_eq!(found, is_found, "{findings:?}");
    }
}
