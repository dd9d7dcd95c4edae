//! The whole server on real sockets: every resource byte for byte, exact counts, and how it stops.

use kernel::{Address, Errno};
use refserver::{Config, Counts, Limits, ServeError, Server};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

fn config(at: &str, workers: u32) -> Config {
    Config {
        listen: vec![at.parse().unwrap()],
        workers,
        ..Config::default()
    }
}

/// Lets `clients` talk to a server, then stops it.
fn serve(config: &Config, clients: impl FnOnce(&Address)) -> Counts {
    let server = Server::bind(config).unwrap();
    let at = server.addresses()[0].clone();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = scope.spawn(|| server.run(&stop));
        let guard = Guard(&stop);
        clients(&at);
        drop(guard);
        running.join().unwrap()
    })
}

/// Stops the server also when a client's assertion fails.
struct Guard<'a>(&'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn connect(at: &Address) -> TcpStream {
    let stream = TcpStream::connect(at.to_string()).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn read(stream: &mut impl Read, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// Asks and reads to the end of the stream.
fn ask(at: &Address, says: &[u8]) -> Vec<u8> {
    let mut stream = connect(at);
    stream.write_all(says).unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).unwrap();
    heard
}

/// An answer without its Date line, and that line.
fn without_date(answer: &[u8]) -> (Vec<u8>, String) {
    let text = String::from_utf8_lossy(answer);
    let start = text.find("Date: ").expect("there is a date");
    let end = start + "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n".len();
    let rest = [&answer[..start], &answer[end..]].concat();
    (
        rest,
        String::from_utf8(answer[start..end].to_vec()).unwrap(),
    )
}

const GIF: &[u8] = &[
    0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 0x01, 0x00, 0x01, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xff, 0xff, 0xff, 0x21, 0xf9, 0x04, 0x01, 0x00, 0x00, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x01, 0x00, 0x00, 0x02, 0x02, 0x44, 0x01, 0x00, 0x3b,
];
const PAGE: &[u8] = b"<!DOCTYPE html><title>100 bytes</title>\
    <p>This page has one hundred bytes, neither more nor less.\n\n\n";

#[test]
fn each_resource_is_answered_byte_for_byte() {
    let head = |status: &str, kind: &str, more: &str, length: usize| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        )
    };
    let cases: &[(&str, String, &[u8])] = &[
        ("GET /nop.gif", head("200 OK", "image/gif", "", 43), GIF),
        ("GET /100.html", head("200 OK", "text/html", "", 100), PAGE),
        ("GET /0.html", head("200 OK", "text/html", "", 0), b""),
        (
            "GET /hello",
            head("200 OK", "text/plain", "", 14),
            b"Hello, world!\n",
        ),
        ("HEAD /nop.gif", head("200 OK", "image/gif", "", 43), b""),
        (
            "GET /nop",
            head("404 Not Found", "text/plain", "", 17),
            b"Nothing is here.\n",
        ),
        (
            "DELETE /hello",
            head(
                "405 Method Not Allowed",
                "text/plain",
                "Allow: GET, HEAD, OPTIONS\r\n",
                41,
            ),
            b"Only GET, HEAD and OPTIONS are answered.\n",
        ),
    ];
    let counts = serve(&config("127.0.0.1:0", 1), |at| {
        for (asks, head, body) in cases {
            let heard = ask(at, format!("{asks} HTTP/1.0\r\n\r\n").as_bytes());
            let wanted = [head.as_bytes(), body].concat();
            assert_eq!(without_date(&heard).0, wanted, "{asks}");
        }
    });
    assert_eq!((counts.connections, counts.requests), (7, 7));
    assert_eq!((counts.responses_2xx, counts.responses_4xx), (5, 2));
}

#[test]
fn the_date_is_now() {
    let now = || {
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs()
    };
    serve(&config("127.0.0.1:0", 1), |at| {
        // Within one second of the clock, so that the second is known.
        let (before, heard, after) = loop {
            let tried = (now(), ask(at, b"GET /hello HTTP/1.0\r\n\r\n"), now());
            if tried.0 == tried.2 {
                break tried;
            }
        };
        assert_eq!(before, after);
        let (hour, minute, second) = (after / 3600 % 24, after / 60 % 60, after % 60);
        let wanted = format!(" {hour:02}:{minute:02}:{second:02} GMT\r\n");
        let date = without_date(&heard).1;
        assert!(date.ends_with(&wanted), "{date} {wanted}");
    });
}

#[test]
fn a_hundred_requests_in_one_piece_and_one_byte_by_byte_are_answered_alike() {
    const ASK: &[u8] = b"GET /100.html HTTP/1.1\r\nHost: a\r\n\r\n";
    let counts = serve(&config("127.0.0.1:0", 1), |at| {
        let mut stream = connect(at);
        for byte in ASK {
            stream.write_all(&[*byte]).unwrap();
        }
        let wanted = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n";
        let length = wanted.len() + "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n".len() + 100;
        let first = without_date(&read(&mut stream, length)).0;
        assert_eq!(first, [wanted.as_bytes(), PAGE].concat());
        stream.write_all(&ASK.repeat(100)).unwrap();
        let heard = read(&mut stream, 100 * length);
        for answer in heard.chunks(length) {
            assert_eq!(without_date(answer).0, first);
        }
    });
    assert_eq!(
        (counts.connections, counts.requests, counts.refused),
        (1, 101, 0)
    );
    assert_eq!(counts.bytes_received, 101 * ASK.len() as u64);
    assert_eq!(counts.bytes_sent, 101 * 202);
}

#[test]
fn what_is_malformed_is_refused_and_closed_even_in_the_middle_of_a_body() {
    let counts = serve(&config("127.0.0.1:0", 1), |at| {
        let body = "x".repeat(1_000_000);
        let long = format!("POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n{body}");
        for says in ["nonsense\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n", &long] {
            let heard = ask_and_end(at, says.as_bytes());
            assert!(
                heard.starts_with(b"HTTP/1.1 400 Bad Request\r\n"),
                "{says:.20}"
            );
            let heard = String::from_utf8(heard).unwrap();
            let (head, why) = heard.split_once("\r\n\r\n").unwrap();
            assert!(head.ends_with("\r\nConnection: close"), "{says:.20}");
            assert!(why.ends_with("\n"), "{says:.20}");
        }
    });
    assert_eq!(
        (counts.connections, counts.requests, counts.refused),
        (3, 0, 3)
    );
    assert_eq!(counts.responses_4xx, 3);
}

/// Asks, ends its side, and reads to the end of the stream.
fn ask_and_end(at: &Address, says: &[u8]) -> Vec<u8> {
    let mut stream = connect(at);
    stream.write_all(says).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).unwrap();
    heard
}

#[test]
fn a_client_that_reads_late_gets_every_answer() {
    const ASK: &[u8] = b"GET /100.html HTTP/1.1\r\nHost: a\r\n\r\n";
    // Less than is held back for one connection, so that writing never waits for reading.
    let times = 7_000;
    let counts = serve(&config("127.0.0.1:0", 1), |at| {
        let mut stream = connect(at);
        stream.write_all(&ASK.repeat(times)).unwrap();
        let heard = read(&mut stream, times * 202);
        assert!(heard.chunks(202).all(|answer| answer.ends_with(PAGE)));
    });
    assert_eq!((counts.requests, counts.cut), (times as u64, 0));
}

#[test]
fn counts_are_exact_over_workers_connections_and_requests() {
    for (workers, connections, requests) in [(1, 1, 1), (1, 7, 30), (3, 40, 25)] {
        let counts = serve(&config("127.0.0.1:0", workers), |at| {
            let talk = || {
                let mut stream = connect(at);
                for _ in 0..requests {
                    stream
                        .write_all(b"HEAD /0.html HTTP/1.1\r\nHost: a\r\n\r\n")
                        .unwrap();
                    let head = read(&mut stream, 100);
                    assert!(head.ends_with(b"\r\n\r\n"));
                }
            };
            thread::scope(|scope| {
                for _ in 0..connections {
                    scope.spawn(talk);
                }
            });
        });
        assert_eq!(counts.connections, connections);
        assert_eq!(counts.requests, connections * requests);
        assert_eq!(counts.responses(), connections * requests);
        assert_eq!(counts.bytes_sent, connections * requests * 100);
        assert_eq!(
            (counts.accept_errors, counts.refused, counts.cut),
            (0, 0, 0)
        );
    }
}

#[test]
fn stopping_answers_what_was_sent_and_closes_what_is_idle() {
    let mut late = Vec::new();
    let counts = serve(&config("127.0.0.1:0", 2), |at| {
        for index in 0..20 {
            let mut stream = connect(at);
            if index % 2 == 0 {
                stream
                    .write_all(b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
                    .unwrap();
            }
            late.push(stream);
        }
    });
    for (index, mut stream) in late.into_iter().enumerate() {
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        assert_eq!(
            heard.ends_with(b"Hello, world!\n"),
            index % 2 == 0,
            "{index}"
        );
    }
    assert_eq!((counts.connections, counts.requests), (20, 10));
}

#[test]
fn ipv6_and_unix_sockets_are_served_too_and_the_file_goes_with_the_server() {
    let path = std::env::temp_dir().join(format!("weigh-{}.sock", std::process::id()));
    let mut config = config("[::1]:0", 2);
    config.listen.push(Address::Unix(path.clone()));
    let counts = serve(&config, |at| {
        assert!(ask(at, b"GET /hello HTTP/1.0\r\n\r\n").ends_with(b"Hello, world!\n"));
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(b"GET /nop.gif HTTP/1.0\r\n\r\n").unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        assert!(heard.ends_with(GIF));
    });
    assert_eq!((counts.connections, counts.requests), (2, 2));
    assert!(!path.exists());
}

#[test]
fn an_address_that_is_served_already_is_not_shared() {
    serve(&config("127.0.0.1:0", 2), |at| {
        let second = Server::bind(&config(&at.to_string(), 1)).err();
        let error = Errno::EADDRINUSE;
        assert_eq!(second, Some(ServeError::listen(at, error)));
    });
}

#[test]
fn a_port_is_free_again_after_the_stop() {
    let mut found = None;
    serve(&config("127.0.0.1:0", 2), |at| {
        ask(at, b"GET /hello HTTP/1.0\r\n\r\n");
        found = Some(at.to_string());
    });
    let again = serve(&config(&found.unwrap(), 2), |at| {
        ask(at, b"GET /hello HTTP/1.0\r\n\r\n");
    });
    assert_eq!(again.requests, 1);
}

#[test]
fn a_configuration_out_of_range_names_the_number() {
    let good = config("127.0.0.1:0", 1);
    let cases: [(Config, &str); 4] = [
        (
            Config {
                workers: 0,
                ..good.clone()
            },
            "the number of workers must be from 1 to 1024, not 0",
        ),
        (
            Config {
                workers: 2000,
                ..good.clone()
            },
            "the number of workers must be from 1 to 1024, not 2000",
        ),
        (
            Config {
                listen: Vec::new(),
                ..good.clone()
            },
            "the number of addresses must be from 1 to 64, not 0",
        ),
        (
            Config {
                limits: Limits {
                    connections: 0,
                    ..Limits::default()
                },
                ..good
            },
            "the number of connections must be from 1 to 1048447, not 0",
        ),
    ];
    for (config, sentence) in cases {
        assert_eq!(Server::bind(&config).err().unwrap().to_string(), sentence);
    }
}
