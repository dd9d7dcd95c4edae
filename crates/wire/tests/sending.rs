//! The sending half of a client connection: what is offered, in which order, and how it stands to what is received.

mod oracle;

use oracle::client::Witness;
use std::io::IoSlice;
use wire::http1::Client;
use wire::{Connection, Ending, ExchangeId, Method, Opening, Source, Step, Violation};

const NONE: &[u8] = b"HTTP/1.1 204 None\r\n\r\n";
const OK: Result<(), Violation> = Ok(());

fn opening(head: &'static str, body: &'static str) -> Opening<'static> {
    Opening {
        head: Source::Shared(head.as_bytes()),
        body: Source::Shared(body.as_bytes()),
        method: Method::named(head.split(' ').next().unwrap()),
    }
}

/// What is offered when there is room for `room` slices, a bar between them.
fn offered(connection: &mut Client<'_>, room: usize) -> String {
    let mut slices = vec![IoSlice::new(&[]); room];
    let filled = connection.outgoing(&mut slices);
    slices[..filled]
        .iter()
        .map(|slice| String::from_utf8_lossy(slice))
        .collect::<Vec<_>>()
        .join("|")
}

fn endings(witness: &Witness) -> Vec<(Result<(), Violation>, Step)> {
    let ending = |ending: Ending| (ending.result, ending.step);
    witness
        .told
        .iter()
        .filter_map(|told| told.ending.map(ending))
        .collect()
}

#[test]
fn what_is_offered_goes_on_where_the_socket_stopped() {
    let mut connection = Client::http1(3);
    connection.open(ExchangeId(0), opening("head0", "body0"));
    connection.open(ExchangeId(1), opening("head1", ""));
    connection.open(ExchangeId(2), opening("head2", "body2"));
    assert_eq!(
        offered(&mut connection, 16),
        "head0|body0|head1|head2|body2"
    );
    assert_eq!(offered(&mut connection, 2), "head0|body0");
    connection.sent(0, |_| {});
    assert_eq!(offered(&mut connection, 2), "head0|body0");
    connection.sent(2, |_| {});
    assert_eq!(offered(&mut connection, 16), "ad0|body0|head1|head2|body2");
    connection.sent(3, |_| {});
    assert_eq!(offered(&mut connection, 2), "body0|head1");
    connection.sent(6, |_| {});
    assert_eq!(offered(&mut connection, 16), "ead1|head2|body2");
    connection.sent(14, |_| {});
    assert!(!connection.has_outgoing());
    assert_eq!((connection.capacity(), connection.in_flight()), (0, 3));
}

#[test]
fn an_answer_before_its_request_is_unexpected() {
    let mut witness = Witness::default();
    let mut connection = Client::http1(2);
    connection.open(ExchangeId(0), opening("head0", ""));
    connection.open(ExchangeId(1), opening("head1", ""));
    assert_eq!(
        connection.receive(NONE, &mut witness),
        Err(Violation::UnexpectedBytes)
    );
    let unexpected = (Err(Violation::UnexpectedBytes), Step::Send);
    assert_eq!(
        endings(&witness),
        [unexpected, (Err(Violation::Abandoned), Step::Send)]
    );

    let mut witness = Witness::default();
    let mut connection = Client::http1(2);
    connection.open(ExchangeId(0), opening("head0", ""));
    connection.open(ExchangeId(1), opening("head1", ""));
    connection.sent(5, |_| {});
    let answers = [NONE, NONE].concat();
    assert_eq!(
        connection.receive(&answers, &mut witness),
        Err(Violation::UnexpectedBytes)
    );
    assert_eq!(endings(&witness), [(OK, Step::Body), unexpected]);
}

#[test]
fn after_an_early_answer_the_rest_of_the_request_is_sent_before_the_next() {
    let mut witness = Witness::default();
    let mut connection = Client::http1(1);
    connection.open(ExchangeId(0), opening("head0", "body0"));
    connection.sent(7, |_| {});
    assert_eq!(connection.receive(NONE, &mut witness), OK);
    assert_eq!(endings(&witness), [(OK, Step::Body)]);
    assert_eq!((connection.in_flight(), connection.capacity()), (0, 0));
    assert_eq!(offered(&mut connection, 2), "dy0");
    connection.sent(3, |_| {});
    assert_eq!(connection.capacity(), 1);
}

#[test]
fn when_an_answer_closes_only_its_own_request_is_sent_to_the_end() {
    let mut witness = Witness::default();
    let mut connection = Client::http1(2);
    connection.open(ExchangeId(0), opening("head0", "body0"));
    connection.open(ExchangeId(1), opening("head1", ""));
    connection.sent(5, |_| {});
    let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(connection.receive(head, &mut witness), OK);
    assert!(connection.closing());
    assert_eq!((connection.capacity(), connection.in_flight()), (0, 2));
    assert_eq!(offered(&mut connection, 4), "body0");
    assert_eq!(connection.receive(b"hi", &mut witness), OK);
    assert!(!connection.has_outgoing());
    assert_eq!(
        endings(&witness),
        [(OK, Step::Body), (Err(Violation::Abandoned), Step::Send)]
    );
    let sent = |number: usize| witness.told[number].ending.map(|ending| ending.sent);
    assert_eq!((sent(0), sent(1)), (Some(5), Some(0)));
    assert_eq!(witness.unanswered, 1);
}

#[test]
fn what_was_sent_of_a_request_that_is_withdrawn_is_known() {
    let mut witness = Witness::default();
    let mut connection = Client::http1(3);
    for number in 0..3 {
        connection.open(ExchangeId(number), opening("head", ""));
    }
    connection.sent(5, |_| {});
    let close = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(connection.receive(close, &mut witness), OK);
    let ended = witness.told.iter().filter_map(|told| told.ending);
    let ended: Vec<_> = ended.map(|it| (it.sent, it.step)).collect();
    assert_eq!(ended, [(4, Step::Body), (1, Step::Send), (0, Step::Send)]);

    // The response comes before its own request is sent, of which the rest is sent all the same.
    let mut witness = Witness::default();
    let mut connection = wire::Usual::http1(2);
    connection.open(ExchangeId(0), opening("head0", "body0"));
    connection.open(ExchangeId(1), opening("head1", ""));
    connection.sent(7, |_| {});
    let until_end = b"HTTP/1.1 200 OK\r\n\r\nhi";
    assert_eq!(connection.receive(until_end, &mut witness), OK);
    connection.sent(3, |_| {});
    assert_eq!(connection.end(&mut witness), OK);
    let ended = witness.told.iter().filter_map(|told| told.ending);
    let ended: Vec<_> = ended.map(|it| (it.sent, it.step)).collect();
    assert_eq!(ended, [(10, Step::Body), (0, Step::Send)]);
}

#[test]
fn what_is_abandoned_is_done_with_the_owners_reason_and_the_step_it_had_reached() {
    let mut witness = Witness::default();
    let mut connection = Client::http1(2);
    connection.open(ExchangeId(0), opening("head0", ""));
    connection.open(ExchangeId(1), opening("head1", ""));
    connection.sent(10, |_| {});
    assert_eq!(connection.receive(b"HTTP/1.1 200", &mut witness), OK);
    connection.abandon(&mut witness, Violation::ClosedInHead);
    let reason = Err(Violation::ClosedInHead);
    assert_eq!(
        endings(&witness),
        [(reason, Step::Head), (reason, Step::Wait)]
    );
    assert_eq!(witness.told[0].ending.map(|ending| ending.bytes), Some(12));
    assert_eq!(connection.receive(b"swallowed", &mut witness), OK);
    connection.reset();
    connection.open(ExchangeId(2), opening("head2", ""));
    assert_eq!(offered(&mut connection, 2), "head2");
    connection.sent(5, |_| {});
    assert_eq!(connection.receive(NONE, &mut witness), OK);
    assert_eq!(witness.done(), 3);
}

#[test]
fn a_buffer_that_was_sent_can_be_had_again() {
    let mut connection = Client::http1(1);
    let head = Source::Own(b"made for this one".to_vec());
    let opening = Opening {
        head,
        ..opening("", "")
    };
    connection.open(ExchangeId(0), opening);
    assert_eq!(connection.spare().capacity(), 0);
    connection.sent(17, |_| {});
    let spare = connection.spare();
    assert!(spare.is_empty() && spare.capacity() >= 17, "{spare:?}");
}

#[test]
#[should_panic(expected = "where there is capacity")]
fn opening_beyond_the_capacity_is_our_own_error() {
    let mut connection = Client::http1(1);
    connection.open(ExchangeId(0), opening("head0", ""));
    connection.open(ExchangeId(1), opening("head1", ""));
}

/// What of four pipelined requests is to be sent again when the first response closes the connection, after `sent` bytes
/// were sent and with the rest sent as far as the connection still wants to.
fn unanswered(sent: usize, pieces: &[&[u8]], is_end: bool) -> Vec<String> {
    let heads = ["GET /0 -", "HEAD /1 -", "POST /2 -", "GET /3 -"];
    let mut connection = Client::http1(4);
    for (id, head) in heads.iter().enumerate() {
        let body = if id == 2 { "body" } else { "" };
        connection.open(ExchangeId(id as u32), opening(head, body));
    }
    connection.sent(sent, |_| {});
    let mut witness = Witness::default();
    for piece in pieces {
        assert_eq!(connection.receive(piece, &mut witness), OK);
        let rest = offered(&mut connection, 16).len();
        connection.sent(rest.min(1), |_| {});
    }
    if is_end {
        assert_eq!(connection.end(&mut witness), OK);
    }
    let ended = endings(&witness);
    assert_eq!(ended[0], (OK, Step::Body));
    assert!(
        ended[1..]
            .iter()
            .all(|(result, _)| *result == Err(Violation::Abandoned))
    );
    assert_eq!((ended.len(), connection.closing()), (4, true));
    let unanswered = connection.take_unanswered(3);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let shown = unanswered.iter().map(|message| {
        let mark = if message.method.is_idempotent() {
            ""
        } else {
            "!"
        };
        format!(
            "{mark}{}{}",
            text(message.head.bytes()),
            text(message.body.bytes())
        )
    });
    let shown = shown.collect();
    connection.reset();
    assert!(connection.take_unanswered(4).is_empty());
    shown
}

#[test]
fn what_was_pipelined_behind_an_announced_close_can_be_taken_however_much_of_it_was_sent() {
    let wanted = ["HEAD /1 -", "!POST /2 -body", "GET /3 -"];
    let close: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
    let until_end: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nhi";
    for sent in 1..=38 {
        assert_eq!(unanswered(sent, &[close], false), wanted, "{sent}");
        let bytewise: Vec<&[u8]> = close.chunks(1).collect();
        assert_eq!(unanswered(sent, &bytewise, false), wanted, "{sent}");
        assert_eq!(unanswered(sent, &[until_end], true), wanted, "{sent}");
    }
}

#[test]
fn what_was_answered_is_not_kept() {
    let mut connection = Client::http1(4);
    let mut witness = Witness::default();
    for round in 0..50 {
        connection.open(ExchangeId(2 * round), opening("GET /a -", ""));
        connection.open(ExchangeId(2 * round + 1), opening("GET /b -", ""));
        connection.sent(16, |_| {});
        assert_eq!(connection.receive(&[NONE, NONE].concat(), &mut witness), OK);
    }
    connection.open(ExchangeId(100), opening("GET /c -", ""));
    connection.sent(8, |_| {});
    assert_eq!(connection.take_unanswered(9).len(), 1);
}
