//! Every misbehaviour seen by a plain client, byte for byte, and the log compared with what was seen.

use crate::MisbehavingServer;
use crate::misbehaviour::*;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use units::Nanos;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HEAD: &[u8] = b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
const LAST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const RIGHT: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\
    Connection: keep-alive\r\n\r\nHello, world!\n";
const RIGHT_LAST: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\
    Connection: close\r\n\r\nHello, world!\n";
const PLAIN: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";

/// As long as nothing should come. The only wait in which nothing is awaited, so it makes no test slow or flaky.
const QUIET: Duration = Duration::from_millis(30);
/// As long as something may take that comes.
const SOON: Duration = Duration::from_secs(20);

fn start(script: Script) -> MisbehavingServer {
    MisbehavingServer::start(&"127.0.0.1:0".parse().unwrap(), script).unwrap()
}

fn once(misbehaviour: Misbehaviour) -> Script {
    Script {
        interval: Nanos::from_millis(1),
        delay: Nanos::from_millis(20),
        outage: Nanos::from_nanos(u64::MAX),
        ..Script::of(misbehaviour, When::Only(1))
    }
}

fn connect(server: &MisbehavingServer) -> TcpStream {
    let stream = TcpStream::connect(server.address().to_string()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// What comes, as text: at most `length` bytes, fewer where it ends before.
fn receive(stream: &mut TcpStream, length: usize) -> String {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    while bytes.len() < length {
        let room = piece.len().min(length - bytes.len());
        match stream.read(&mut piece[..room]) {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// What comes until the server closes.
fn hear_all(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn ask(stream: &mut TcpStream, request: &[u8]) {
    stream.write_all(request).unwrap();
}

#[track_caller]
fn is_quiet(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(QUIET)).unwrap();
    let error = stream.read(&mut [0; 16]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    stream.set_read_timeout(Some(SOON)).unwrap();
}

#[track_caller]
fn is_reset(stream: &mut TcpStream) {
    let error = stream.read(&mut [0; 16]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// What follows the bytes that are told.
#[derive(Debug, Clone, Copy)]
enum Then {
    /// The next request is answered right.
    Kept,
    Closed,
    Reset,
    /// Nothing, until we end our side.
    Silent,
    /// This, again and again.
    Endless(&'static [u8]),
}

use Misbehaviour as M;
use Then::*;

/// What a row of the table says on the wire when it is asked.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn told(misbehaviour: Misbehaviour) -> Option<(String, Then)> {
    let long = "h".repeat(70_000);
    let fill = String::from_utf8(FILL.repeat(256)).unwrap();
    let ok = |rest: &str| format!("{PLAIN}{rest}");
    let expected = |head: &str| ok(&format!("{head}\r\nHello, world!\n"));
    let chunks = "7\r\nHello, \r\n7;note=\"second\"\r\nworld!\n\r\n0\r\nX-Trailer: end\r\n\r\n";
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";
    let status = |line: &str| format!("{line}\r\nContent-Length: 14\r\n\r\nHello, world!\n");
    let chunked = |body: &str| ok(&format!("Transfer-Encoding: chunked\r\n\r\n{body}"));
    let length = expected("Content-Length: 14\r\n");
    Some(match misbehaviour {
        M::CloseAtAccept | M::CloseUnanswered => (String::new(), Closed),
        M::ResetAtAccept | M::ResetUnanswered => (String::new(), Reset),
        M::CloseInHead => ("HTTP/1.1 200 OK\r\nContent-Type: text/pl".into(), Closed),
        M::ResetInHead => ("HTTP/1.1 200 OK\r\nContent-Type: text/pl".into(), Reset),
        M::CloseInBody => (ok("Content-Length: 14\r\n\r\nHello, "), Closed),
        M::ResetInBody => (ok("Content-Length: 14\r\n\r\nHello, "), Reset),
        M::CloseInChunks => (chunked("7\r\nHello, \r\n"), Closed),
        M::CloseKept => (RIGHT.into(), Closed),
        M::Silence => (String::new(), Silent),
        M::SilenceInHead => ("HTTP/1.1 200 OK\r\nContent-Type: text/pl".into(), Silent),
        M::SilenceInBody => (ok("Content-Length: 14\r\n\r\nHello, "), Silent),
        M::Drip | M::Bytewise => (length, Kept),
        M::Late => (RIGHT.into(), Kept),
        M::HugeHead => {
            let head = format!("HTTP/1.1 200 OK\r\nX-Long: {long}");
            (status(&head), Kept)
        }
        M::EndlessHead => (
            "HTTP/1.1 200 OK\r\n".into(),
            Endless(b"X-More: and more\r\n"),
        ),
        M::EndlessInterim => (String::new(), Endless(interim.as_bytes())),
        M::EndlessBody => (ok("\r\n"), Endless(b"x")),
        M::EndlessChunks => (
            chunked(""),
            Endless(b"20\r\nthirty-two bytes, over and again\r\n"),
        ),
        M::HugeBody => (ok(&format!("Content-Length: 16777216\r\n\r\n{fill}")), Kept),
        M::Surplus => (expected("Content-Length: 7\r\n"), Kept),
        M::Garbage => (length + "\0garbage\r\n", Kept),
        M::AnswerTwice => (RIGHT.repeat(2), Kept),
        M::BodyAfterHead => (length, Kept),
        M::BodyAfter204 => (
            "HTTP/1.1 204 No Content\r\n\r\nHello, world!\n".into(),
            Kept,
        ),
        M::AnswerUnasked => (RIGHT.into(), Kept),
        M::NotHttp => ("220 mail.example.org ESMTP\r\n".into(), Kept),
        M::BadVersion => (status("HTTP/2 200 OK"), Kept),
        M::BadStatus => (status("HTTP/1.1 2OO OK"), Kept),
        M::NoColon => (expected("Content-Length 14\r\n"), Kept),
        M::NulInHeader => (expected("X-Nul: a\0b\r\nContent-Length: 14\r\n"), Kept),
        M::FoldedHeader => (
            expected("X-Folded: a\r\n b\r\nContent-Length: 14\r\n"),
            Kept,
        ),
        M::LengthNegative => (expected("Content-Length: -14\r\n"), Kept),
        M::LengthTooLarge => (expected("Content-Length: 18446744073709551630\r\n"), Kept),
        M::LengthsDiffer => (
            expected("Content-Length: 14\r\nContent-Length: 15\r\n"),
            Kept,
        ),
        M::LengthTwice => (
            expected("Content-Length: 14\r\nContent-Length: 14\r\n"),
            Kept,
        ),
        M::LengthAndChunks => {
            let head = "Content-Length: 14\r\nTransfer-Encoding: chunked\r\n\r\n";
            (ok(&format!("{head}{chunks}")), Kept)
        }
        M::UnknownCoding => (expected("Transfer-Encoding: gzip\r\n"), Kept),
        M::ChunkNotHex => (chunked("seven\r\nHello, \r\n0\r\n\r\n"), Kept),
        M::ChunkTooLarge => (chunked("10000000000000007\r\nHello, \r\n0\r\n\r\n"), Kept),
        M::ChunkUnended => (chunked("7\r\nHello, world!\n\r\n0\r\n\r\n"), Kept),
        M::BareLf => {
            let answer =
                "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 14\n\nHello, world!\n";
            (answer.into(), Kept)
        }
        M::EmptyReason => (status("HTTP/1.1 200 "), Kept),
        M::NoReason => (status("HTTP/1.1 200"), Kept),
        M::Interim => (interim.repeat(2) + RIGHT, Kept),
        M::Trailers => (chunked(chunks), Kept),
        M::UntilClose => (expected(""), Closed),
        M::OldVersion => ("HTTP/1.0 200 OK\r\n\r\nHello, world!\n".into(), Closed),
        M::Switching => {
            let head =
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\n";
            (head.into(), Silent)
        }
        M::Redirect => {
            let head = "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n";
            (head.into(), Kept)
        }
        M::NotFound => {
            let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nNone\n";
            (answer.into(), Kept)
        }
        M::Unavailable => {
            let answer = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 5\r\n\r\nLater";
            (answer.into(), Kept)
        }
        // What these do is not seen on one connection; each has a test of its own.
        M::StopAccepting | M::StopListening | M::Die | M::Freeze => return None,
        beneath_tls => {
            assert!(beneath_tls.is_beneath_tls(), "{beneath_tls:?}");
            return None;
        }
    })
}

/// Asks once, and looks at all that comes of it. Says how many bytes that was, if it ends.
fn witness(stream: &mut TcpStream, name: &str, answer: &str, then: Then) -> Option<usize> {
    let received = receive(stream, answer.len());
    assert!(received == answer, "{name}: {received:.200}");
    match then {
        Kept => {
            ask(stream, LAST);
            assert_eq!(hear_all(stream), RIGHT_LAST, "{name}");
            return Some(answer.len() + RIGHT_LAST.len());
        }
        Closed => assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0, "{name}"),
        Reset => is_reset(stream),
        Silent => {
            is_quiet(stream);
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0, "{name}");
        }
        Endless(piece) => {
            let more = receive(stream, 300_000);
            let wanted = String::from_utf8(piece.repeat(300_000 / piece.len() + 1)).unwrap();
            assert!(more == wanted[..300_000], "{name}: {more:.200}");
            return None;
        }
    }
    Some(answer.len())
}

#[test]
fn each_misbehaviour_is_seen_byte_for_byte_and_counted_once() {
    for misbehaviour in Misbehaviour::ALL {
        let Some((answer, then)) = told(*misbehaviour) else {
            continue;
        };
        let request = match misbehaviour.trigger() {
            Trigger::Connection => b"",
            Trigger::Exchange => GET,
            Trigger::Head => HEAD,
        };
        let name = misbehaviour.name();
        let server = start(once(*misbehaviour));
        let mut client = connect(&server);
        ask(&mut client, request);
        let received = witness(&mut client, name, &answer, then);
        drop(client);

        let log = server.stop();
        let kept = u64::from(matches!(then, Kept));
        let asked = u64::from(!request.is_empty());
        assert_eq!(
            (log.count(*misbehaviour), log.misbehaved()),
            (1, 1),
            "{name}"
        );
        assert_eq!(log.connections, 1, "{name}");
        assert_eq!((log.requests, log.answered), (asked + kept, kept), "{name}");
        assert_eq!(
            (log.refused, log.cut, log.accept_errors),
            (0, 0, 0),
            "{name}"
        );
        let heard = request.len() as u64 + kept * LAST.len() as u64;
        assert_eq!(log.bytes_received, heard, "{name}");
        if let Some(received) = received {
            assert_eq!(log.bytes_sent, received as u64, "{name}");
        } else {
            assert!(log.bytes_sent >= 300_000, "{name}");
        }
    }
}

#[test]
fn names_are_unique_and_found_again() {
    for each in Misbehaviour::ALL {
        assert_eq!(Misbehaviour::named(each.name()), Some(*each));
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(each.name().bytes().all(is_plain), "{}", each.name());
    }
    assert_eq!(Misbehaviour::named("nonesuch"), None);
}

#[test]
fn pipelined_requests_meet_the_script_in_their_order() {
    let server = start(Script::of(M::NotFound, When::Every(3)));
    let mut client = connect(&server);
    ask(
        &mut client,
        &[GET.repeat(6), HEAD.to_vec(), LAST.to_vec()].concat(),
    );
    let not_found = told(M::NotFound).unwrap().0;
    let head_only = RIGHT.strip_suffix("Hello, world!\n").unwrap();
    let two_right = RIGHT.repeat(2);
    let wanted = [
        &two_right, &not_found, &two_right, &not_found, head_only, RIGHT_LAST,
    ]
    .concat();
    assert_eq!(hear_all(&mut client), wanted);
    let log = server.stop();
    assert_eq!(
        (log.requests, log.answered, log.count(M::NotFound)),
        (8, 6, 2)
    );
    assert_eq!(log.bytes_sent, wanted.len() as u64);
}

#[test]
fn the_count_is_exact_however_many_clients_share_it() {
    let server = start(Script::of(M::Unavailable, When::Every(7)));
    let unavailable = told(M::Unavailable).unwrap().0;
    let client = || {
        let mut stream = connect(&server);
        let mut misbehaviour = 0;
        for _ in 0..50 {
            ask(&mut stream, GET);
            let status = receive(&mut stream, 12);
            let is_met = status == "HTTP/1.1 503";
            let answer = if is_met { &unavailable } else { RIGHT };
            assert_eq!(status + &receive(&mut stream, answer.len() - 12), *answer);
            misbehaviour += u64::from(is_met);
        }
        misbehaviour
    };
    let misbehaviour: u64 = thread::scope(|scope| {
        let clients = [(); 4].map(|()| scope.spawn(client));
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum()
    });
    let log = server.stop();
    assert_eq!(
        (misbehaviour, log.count(M::Unavailable)),
        (200 / 7, 200 / 7)
    );
    assert_eq!(
        (log.connections, log.requests, log.answered),
        (4, 200, 200 - 200 / 7)
    );
}

#[test]
fn what_is_no_request_is_refused_and_not_counted_as_one() {
    let server = start(Script::of(M::NotFound, When::Every(1)));
    let mut client = connect(&server);
    ask(&mut client, b"hello\r\n\r\n");
    let refusal = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert_eq!(hear_all(&mut client), refusal);
    let log = server.stop();
    assert_eq!(
        (log.requests, log.refused, log.answered, log.misbehaved()),
        (0, 1, 0, 0)
    );
}

#[test]
fn a_client_that_asks_too_far_ahead_is_cut() {
    let server = start(once(M::Silence));
    let mut client = connect(&server);
    // The first is being worked on, 1024 wait, and one is too many.
    ask(&mut client, &GET.repeat(1026));
    is_reset(&mut client);
    let log = server.stop();
    assert_eq!((log.requests, log.cut, log.answered), (1026, 1, 0));
}

#[test]
fn dripping_and_lateness_take_the_time_that_the_script_says() {
    for (misbehaviour, wanted) in [(M::Late, 20), (M::Drip, 79)] {
        let server = start(once(misbehaviour));
        let mut client = connect(&server);
        let asked = Instant::now();
        ask(&mut client, GET);
        let answer = told(misbehaviour).unwrap().0;
        assert_eq!(receive(&mut client, answer.len()), answer);
        assert!(
            asked.elapsed() >= Duration::from_millis(wanted),
            "{misbehaviour:?}"
        );
    }
}

#[test]
fn connections_wait_unanswered_while_none_is_accepted() {
    let server = start(once(M::StopAccepting));
    let mut served = connect(&server);
    ask(&mut served, GET);
    assert_eq!(receive(&mut served, RIGHT.len()), RIGHT);

    let mut waiting = connect(&server);
    ask(&mut waiting, GET);
    is_quiet(&mut waiting);
    assert_eq!(server.log().connections, 1);
    ask(&mut served, GET);
    assert_eq!(receive(&mut served, RIGHT.len()), RIGHT);

    server.resume();
    assert_eq!(receive(&mut waiting, RIGHT.len()), RIGHT);
    let log = server.stop();
    assert_eq!((log.connections, log.requests, log.answered), (2, 3, 3));
    assert_eq!(log.count(M::StopAccepting), 1);
}

/// Connects until it succeeds.
fn connect_again(server: &MisbehavingServer) -> TcpStream {
    let begun = Instant::now();
    loop {
        match TcpStream::connect(server.address().to_string()) {
            Ok(stream) => return stream,
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionRefused),
        }
        assert!(begun.elapsed() < SOON, "no socket listens again");
    }
}

#[test]
fn connects_are_refused_while_nobody_listens() {
    let server = start(once(M::StopListening));
    let mut served = connect(&server);
    for _ in 0..2 {
        ask(&mut served, GET);
        assert_eq!(receive(&mut served, RIGHT.len()), RIGHT);
        let refused = TcpStream::connect(server.address().to_string()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
    server.resume();
    let mut again = connect_again(&server);
    ask(&mut again, GET);
    assert_eq!(receive(&mut again, RIGHT.len()), RIGHT);
    let log = server.stop();
    assert_eq!((log.connections, log.requests, log.answered), (2, 3, 3));
    assert_eq!(log.count(M::StopListening), 1);
}

#[test]
fn a_server_that_dies_takes_all_connections_along_and_comes_back() {
    let script = Script {
        outage: Nanos::from_millis(40),
        ..Script::of(M::Die, When::Only(3))
    };
    let server = start(script);
    let mut clients = [(); 2].map(|()| connect(&server));
    for client in &mut clients {
        ask(client, GET);
        assert_eq!(receive(client, RIGHT.len()), RIGHT);
    }
    ask(&mut clients[0], GET);
    clients.iter_mut().for_each(is_reset);
    let mut again = connect_again(&server);
    ask(&mut again, GET);
    assert_eq!(receive(&mut again, RIGHT.len()), RIGHT);
    let log = server.stop();
    assert_eq!((log.connections, log.requests, log.answered), (3, 4, 3));
    assert_eq!(log.count(M::Die), 1);
}

#[test]
fn a_frozen_server_answers_nobody_until_it_thaws() {
    let script = Script {
        outage: Nanos::from_millis(100),
        ..Script::of(M::Freeze, When::Only(1))
    };
    let server = start(script);
    let mut other = connect(&server);
    let mut first = connect(&server);
    let begun = Instant::now();
    ask(&mut first, GET);
    is_quiet(&mut first);
    ask(&mut other, GET);
    is_quiet(&mut other);
    assert_eq!(receive(&mut other, RIGHT.len()), RIGHT);
    assert_eq!(receive(&mut first, RIGHT.len()), RIGHT);
    assert!(begun.elapsed() >= Duration::from_millis(100));
    let log = server.stop();
    assert_eq!(
        (log.requests, log.answered, log.count(M::Freeze)),
        (2, 1, 1)
    );
}

#[test]
fn an_endless_body_neither_starves_others_nor_outlasts_the_server() {
    let server = start(once(M::EndlessBody));
    let mut greedy = connect(&server);
    ask(&mut greedy, GET);
    let address = server.address().to_string();
    let reader = thread::spawn(move || receive(&mut greedy, usize::MAX).len());
    for _ in 0..20 {
        let mut client = TcpStream::connect(&address).unwrap();
        ask(&mut client, LAST);
        assert_eq!(hear_all(&mut client), RIGHT_LAST);
    }
    let begun = Instant::now();
    let log = server.stop();
    // A few turns; a second is for machines that are busy with other things.
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    assert!(reader.join().unwrap() as u64 <= log.bytes_sent);
    assert_eq!((log.connections, log.answered), (21, 20));
}
