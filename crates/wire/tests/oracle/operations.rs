//! Random operations on a client connection, compared with a model of a few numbers.
//!
//! Each byte of a script is an operation, what it needs is taken from the bytes that follow; so a fuzzer's
//! mutations and proptest's shrinking both mean something.

use super::client::Witness;
use std::io::IoSlice;
use wire::http1::Client;
use wire::{Connection, ExchangeId, Method, Opening, Source, Violation};

/// Pieces of responses from which conversations are put together.
const PHRASES: [&[u8]; 16] = [
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.0 200 OK\r\n",
    b"HTTP/1.1 204 No Content\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 101 Upgrade\r\n",
    b"Content-Length: 3\r\n",
    b"Content-Length: 0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: close\r\n",
    b"\r\n",
    b"abc",
    b"3\r\nabc\r\n",
    b"0\r\n\r\n",
    b"0\r\nTrailer: x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
];

/// What of the requests is queued: the bytes each has left to send, the front one first.
#[derive(Default)]
struct Model {
    opened: u32,
    /// Exchanges opened on connections before this one.
    unsent: Vec<u8>,
    dead: bool,
    /// Of each exchange the bytes of its request, and how many of them were sent.
    requests: Vec<(usize, usize)>,
    /// The first that was opened on this connection.
    first: usize,
    /// How many were done when that was last looked at.
    done: usize,
}

/// Runs `script` on a connection of 1 to 8 exchanges, checks the model after every step, and at last abandons
/// what is open.
pub fn run(script: &[u8]) {
    let mut bytes = script.iter().copied();
    let pipeline = u32::from(bytes.next().unwrap_or(0) % 8) + 1;
    let mut connection = Client::http1(pipeline);
    let mut witness = Witness::default();
    let mut model = Model::default();
    while let Some(operation) = bytes.next() {
        let mut argument = || bytes.next().unwrap_or(0);
        match operation % 16 {
            0..=3 => open(&mut connection, &mut model, argument()),
            4..=6 => send(&mut connection, &mut model, argument()),
            7..=12 => receive(
                &mut connection,
                &mut witness,
                &mut model,
                PHRASES[usize::from(argument() % 16)],
            ),
            13 => receive(&mut connection, &mut witness, &mut model, &[argument()]),
            14 => finish(&mut connection, &mut witness, &mut model, argument()),
            _ => reset(&mut connection, &mut witness, &mut model),
        }
        check(&mut connection, &witness, &mut model, pipeline);
    }
    connection.abandon(&mut witness, Violation::Abandoned);
    assert_eq!(
        witness.done(),
        model.opened as usize,
        "every opened exchange is done"
    );
}

fn open<'p>(connection: &mut Client<'p>, model: &mut Model, kind: u8) {
    if connection.capacity() == 0 {
        return;
    }
    let head = if kind & 4 == 0 {
        Source::Shared(b"GET / HTTP/1.1\r\n\r\n")
    } else {
        let mut buffer = connection.spare();
        assert!(buffer.is_empty(), "a spare buffer is empty");
        buffer.extend_from_slice(format!("GET /{} HTTP/1.1\r\n\r\n", model.opened).as_bytes());
        Source::Own(buffer)
    };
    let body = if kind & 2 == 0 {
        Source::EMPTY
    } else {
        Source::Shared(b"a body")
    };
    model.unsent.extend_from_slice(head.bytes());
    model.unsent.extend_from_slice(body.bytes());
    let length = head.bytes().len() + body.bytes().len();
    let opening = Opening {
        head,
        body,
        method: [Method::Other, Method::Head][usize::from(kind & 1)],
    };
    connection.open(ExchangeId(model.opened), opening);
    model.requests.push((length, 0));
    model.opened += 1;
}

/// Sends as a socket would that takes at most `room` bytes.
fn send(connection: &mut Client<'_>, model: &mut Model, room: u8) {
    let bytes = usize::from(room).min(model.unsent.len());
    let mut begun = Vec::new();
    connection.sent(bytes, |id| begun.push(id));
    model.unsent.drain(..bytes);
    let mut left = bytes;
    let mut wanted = Vec::new();
    for (number, (length, sent)) in model.requests.iter_mut().enumerate().skip(model.first) {
        let taken = left.min(*length - *sent);
        if taken > 0 && *sent == 0 {
            wanted.push(ExchangeId(number as u32));
        }
        *sent += taken;
        left -= taken;
    }
    assert_eq!(begun, wanted, "those whose first byte was taken");
    assert_eq!(left, 0);
}

fn receive(connection: &mut Client<'_>, witness: &mut Witness, model: &mut Model, bytes: &[u8]) {
    if connection.receive(bytes, witness).is_err() {
        assert!(!model.dead, "a dead connection swallows what comes");
        model.dead = true;
    }
}

fn finish(connection: &mut Client<'_>, witness: &mut Witness, model: &mut Model, kind: u8) {
    if kind & 1 == 0 {
        connection.abandon(witness, Violation::Abandoned);
    } else {
        let waiting = connection.in_flight() > 0;
        let ended = connection.end(witness);
        assert!(ended.is_ok() || waiting, "an idle connection may end");
    }
    model.dead = true;
}

fn reset(connection: &mut Client<'_>, witness: &mut Witness, model: &mut Model) {
    connection.abandon(witness, Violation::Abandoned);
    connection.reset();
    assert!(!connection.closing() && connection.capacity() > 0, "as new");
    model.unsent.clear();
    model.dead = false;
    check_sent(witness, model);
    model.first = model.opened as usize;
}

/// Of those that are done since, as much was sent as the connection says.
fn check_sent(witness: &Witness, model: &mut Model) {
    for number in model.done..witness.done() {
        let ending = witness.told[number].ending.unwrap();
        assert_eq!(ending.sent, model.requests[number].1 as u64, "{number}");
    }
    model.done = witness.done();
}

fn check(connection: &mut Client<'_>, witness: &Witness, model: &mut Model, pipeline: u32) {
    check_sent(witness, model);
    let open = model.opened as usize - witness.done();
    assert_eq!(connection.in_flight() as usize, open);
    assert!(connection.capacity() <= pipeline - connection.in_flight());
    assert!(!connection.closing() || connection.capacity() == 0);
    if model.dead {
        assert!(
            connection.closing() && open == 0,
            "nothing is open on a dead connection"
        );
    }
    let mut slices = [IoSlice::new(&[]); 16];
    let filled = connection.outgoing(&mut slices);
    let offered: Vec<u8> = slices[..filled]
        .iter()
        .flat_map(|slice| slice.iter().copied())
        .collect();
    assert_eq!(connection.has_outgoing(), !offered.is_empty());
    if connection.closing() {
        assert!(
            model.unsent.starts_with(&offered),
            "a closing connection sends no more than it had to"
        );
        model.unsent = offered;
    } else {
        assert_eq!(
            offered, model.unsent,
            "what is offered is what is unsent, in order"
        );
    }
}
