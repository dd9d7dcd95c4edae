//! The server's events, written down.

use std::fmt::Write;
use std::ops::ControlFlow;
use wire::http1::{Asked, Limits, Refusal, Requests, Server, ServerSink};

/// A sink that writes down what it is told, and insists on the order in which it may be told.
#[derive(Debug, Default)]
struct Witness {
    line: String,
    body: Vec<u8>,
    reading: bool,
}

impl ServerSink for Witness {
    fn request(&mut self, asked: &Asked<'_>) {
        assert!(!self.reading, "one request after the other");
        self.reading = true;
        let Asked {
            method,
            path,
            version,
            keepalive,
            expects_continue,
            ..
        } = asked;
        write!(self.line, "[{method} {path} {version}").expect("a string can be written to");
        self.line.push_str(if *keepalive { "" } else { " close" });
        self.line
            .push_str(if *expects_continue { " continue" } else { "" });
    }

    fn body(&mut self, bytes: &[u8]) {
        assert!(
            self.reading && !bytes.is_empty(),
            "a body has bytes and follows its head"
        );
        self.body.extend_from_slice(bytes);
    }

    fn complete(&mut self) -> ControlFlow<()> {
        assert!(self.reading, "what is complete has begun");
        self.reading = false;
        self.write_body();
        self.line.push_str("] ");
        ControlFlow::Continue(())
    }
}

impl Witness {
    fn write_body(&mut self) {
        if !self.body.is_empty() {
            write!(self.line, " '{}'", self.body.escape_ascii())
                .expect("a string can be written to");
            self.body.clear();
        }
    }
}

/// What a server that takes bodies of 100 bytes makes of `pieces`: `[GET / HTTP/1.1 'body']` a request, `!400`
/// a refusal.
pub fn listen(pieces: &[&[u8]]) -> (String, Option<Refusal>) {
    let mut requests = Requests::new(Limits {
        body: 100,
        ..Limits::default()
    });
    let mut server = Server::new();
    let mut witness = Witness::default();
    let refusal: Option<Refusal> = pieces
        .iter()
        .try_for_each(|piece| {
            let used = server.receive(&mut requests, piece, &mut witness)?;
            assert_eq!(used, piece.len(), "nobody broke off");
            Ok(())
        })
        .err();
    witness.write_body();
    if let Some(refusal) = refusal {
        assert!(server.is_over(), "a refusal is the last word");
        write!(witness.line, " !{}", refusal.status).expect("a string can be written to");
    }
    witness
        .line
        .push_str(if server.is_idle() { "" } else { " ..." });
    (witness.line.replace("]  ", "] ").trim().to_owned(), refusal)
}
