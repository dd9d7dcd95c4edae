//! The bare client against servers that answer in pieces, all at once, too much, or wrongly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::thread;

/// A response of 42 bytes.
const RESPONSE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd";

/// What a server does with a connection.
type Serve = fn(TcpStream);

/// A server that hands each connection to `serve`. It ends with the test.
fn server(serve: Serve) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            connection.set_nodelay(true).unwrap();
            thread::spawn(move || serve(connection));
        }
    });
    at
}

/// Answers every request with `pieces`, each in a send of its own.
fn answer(mut connection: TcpStream, pieces: &[&str]) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|count| count > 0) {
        if line == "\r\n" {
            for piece in pieces {
                if connection.write_all(piece.as_bytes()).is_err() {
                    return;
                }
            }
        }
        line.clear();
    }
}

fn command(at: SocketAddr, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bare_client"));
    command
        .arg(at.to_string())
        .args(arguments.split_whitespace());
    command
}

fn output(at: SocketAddr, arguments: &str) -> Output {
    command(at, arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn in_pieces(connection: TcpStream) {
    answer(
        connection,
        &[&RESPONSE[..20], &RESPONSE[20..40], &RESPONSE[40..]],
    );
}

fn whole(connection: TcpStream) {
    answer(connection, &[RESPONSE]);
}

fn too_long(connection: TcpStream) {
    answer(connection, &[&format!("{RESPONSE}x")]);
}

fn not_found(connection: TcpStream) {
    answer(
        connection,
        &["HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\nabcd"],
    );
}

fn closing(mut connection: TcpStream) {
    let mut came = Vec::new();
    let mut piece = [0; 1024];
    while !came.ends_with(b"\r\n\r\n") {
        let count = connection.read(&mut piece).unwrap();
        came.extend(&piece[..count]);
    }
    assert!(String::from_utf8_lossy(&came).contains("\r\nConnection: close\r\n"));
    connection.write_all(RESPONSE.as_bytes()).unwrap();
}

#[test]
fn responses_are_counted_however_they_come() {
    let cases: [(Serve, &str, &str); 5] = [
        (whole, "-c 3 -n 60 --size 42", "60 exchanges, "),
        (in_pieces, "-c 3 -n 60 --size 42", "60 exchanges, "),
        (
            in_pieces,
            "-c 3 -n 100 --size 42 --depth 16",
            "100 exchanges, ",
        ),
        (whole, "-c 2 -n 10 --size 42 --drop", "10 exchanges, "),
        (closing, "-c 3 -n 20 --size 42 --close", "20 exchanges, "),
    ];
    for (serve, arguments, wanted) in cases {
        let output = output(server(serve), arguments);
        assert!(output.status.success(), "{arguments}: {output:?}");
        assert!(said(&output).starts_with(wanted), "{arguments}: {output:?}");
    }
}

#[test]
fn whatever_is_not_the_known_response_ends_it() {
    let cases: [(Serve, &str, &str); 3] = [
        (
            too_long,
            "-c 1 -n 50 --size 42",
            "more has come than the response",
        ),
        (not_found, "-c 1 -n 5 --size 42", "not a 200"),
        (
            whole,
            "-c 1 -n 5 --size 41",
            "more has come than the response",
        ),
    ];
    for (serve, arguments, wanted) in cases {
        let output = output(server(serve), arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments}");
        assert!(complaint.contains(wanted), "{arguments}: {complaint}");
    }
}

#[test]
fn what_is_held_stays_until_standard_input_ends() {
    for (arguments, last) in [
        ("-c 3 -n 3 --size 42 --hold idle", "3 exchanges, "),
        // The response never ends; it is held after its first bytes.
        ("-c 3 -n 3 --size 9000 --hold body", "3 exchanges, "),
    ] {
        let mut client = command(server(whole), arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "held", "{arguments}");
        assert!(client.try_wait().unwrap().is_none(), "{arguments}");
        drop(client.stdin.take());
        assert!(lines.next().unwrap().unwrap().starts_with(last));
        assert!(client.wait().unwrap().success(), "{arguments}");
    }
}

#[test]
fn a_rate_is_kept_and_what_is_skipped_is_not_counted() {
    for arguments in [
        "-c 3 -n 100 --rate 2000",
        "-c 1 -n 100 --rate 2000 --skip 99",
        "-c 3 -n 100 --rate 2000 --spin",
        // Far more than it can: all wait for a connection.
        "-c 1 -n 100 --rate 10000000",
    ] {
        let output = output(server(whole), arguments);
        assert!(output.status.success(), "{arguments}: {output:?}");
        let said = said(&output);
        let (figures, rest) = said.split_once('\n').unwrap();
        assert!(rest.starts_with("100 exchanges, "), "{arguments}: {said}");
        let nanos: Vec<u64> = figures
            .split(", ")
            .map(|figure| figure.split(' ').nth(1).unwrap().parse().unwrap())
            .collect();
        assert!(nanos.len() == 5 && nanos.is_sorted(), "{arguments}: {said}");
        assert!(nanos[0] > 0, "{arguments}: {said}");
        if arguments.contains("--skip 99") {
            assert_eq!(nanos[0], nanos[4], "{arguments}: one is left: {said}");
        }
    }
}
