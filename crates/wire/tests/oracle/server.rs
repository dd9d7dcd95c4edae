//! The server's events, written down.

use std::fmt::Write;
use std::ops::ControlFlow;
use wire::http1::{Key, Limits, Refusal, RequestCache, RequestHead, Server, ServerSink};

/// A sink that writes down what it is told, and insists on the order in which it may be told.
#[derive(Debug, Default)]
struct Witness {
    line: String,
    body: Vec<u8>,
    reading: bool,
    /// Requests that are complete.
    completed: u32,
    breaks: bool,
    /// What each key was given for.
    keys: Vec<(Key, String)>,
}

impl ServerSink for Witness {
    fn request(&mut self, asked: &RequestHead<'_>) {
        assert!(!self.reading, "one request after the other");
        self.reading = true;
        let RequestHead {
            method,
            path,
            version,
            keepalive,
            expects_continue,
            ..
        } = asked;
        let shown = letters(path);
        write!(self.line, "[{method} {shown} {version}").expect("a string can be written to");
        self.line.push_str(if *keepalive { "" } else { " close" });
        self.line
            .push_str(if *expects_continue { " continue" } else { "" });
        if asked.target != *path {
            write!(self.line, " @{}", asked.authority()).expect("a string can be written to");
        }
        self.check_key(asked);
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
        self.completed += 1;
        self.write_body();
        self.line.push_str("] ");
        if self.breaks {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
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

    fn check_key(&mut self, asked: &RequestHead<'_>) {
        let Some(key) = asked.key else { return };
        assert!(key.place() < RequestCache::PLACES);
        let RequestHead {
            method,
            target,
            version,
            ..
        } = asked;
        let lines: Vec<_> = asked.headers().collect();
        let head = format!("{method} {target:?} {version} {lines:?}");
        match self.keys.iter().find(|(known, _)| *known == key) {
            Some((_, known)) => assert_eq!(*known, head, "a key is never used for another head"),
            None => self.keys.push((key, head)),
        }
    }
}

/// Each byte as the character of its number, as in what is sent.
fn letters(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// What was told: `[GET / HTTP/1.1 'body']` a request, `!400` a refusal.
pub type Told = (String, Option<Refusal>);

/// What a server that takes bodies of 100 bytes makes of `pieces`.
pub fn listen(pieces: &[&[u8]]) -> Told {
    listen_on(&mut requests(), Witness::default(), pieces)
}

/// The same, broken off after every request.
pub fn listen_haltingly(pieces: &[&[u8]]) -> Told {
    let witness = Witness {
        breaks: true,
        ..Witness::default()
    };
    listen_on(&mut requests(), witness, pieces)
}

/// The same, with a server that has heard `before` on another connection and remembers the heads.
pub fn listen_after(before: &[u8], pieces: &[&[u8]]) -> Told {
    let mut requests = requests();
    listen_on(&mut requests, Witness::default(), &[before]);
    listen_on(&mut requests, Witness::default(), pieces)
}

fn requests() -> RequestCache {
    RequestCache::new(Limits {
        body: 100,
        ..Limits::default()
    })
}

fn listen_on(requests: &mut RequestCache, mut witness: Witness, pieces: &[&[u8]]) -> Told {
    let mut server = Server::default();
    let refusal: Option<Refusal> = pieces
        .iter()
        .try_for_each(|piece| give(&mut server, requests, piece, &mut witness))
        .err();
    witness.write_body();
    if let Some(refusal) = refusal {
        write!(witness.line, " !{}", refusal.status).expect("a string can be written to");
        witness
            .line
            .push_str(if refusal.is_head { " head" } else { "" });
        check_that_it_is_over(&mut server, requests);
    }
    witness
        .line
        .push_str(if server.is_idle() { "" } else { " ..." });
    (witness.line.replace("]  ", "] ").trim().to_owned(), refusal)
}

/// Gives a piece again and again until it is used up.
fn give(
    server: &mut Server,
    requests: &mut RequestCache,
    mut piece: &[u8],
    witness: &mut Witness,
) -> Result<(), Refusal> {
    while !piece.is_empty() {
        let before = witness.completed;
        let used = server.receive(requests, piece, witness)?;
        let completed = witness.completed - before;
        assert!(used > 0, "it gets on");
        if witness.breaks {
            assert!(completed <= 1, "it breaks off after a request");
            assert!(used == piece.len() || completed == 1, "and only there");
        } else {
            assert_eq!(used, piece.len(), "nobody broke off");
        }
        piece = &piece[used..];
    }
    Ok(())
}

fn check_that_it_is_over(server: &mut Server, requests: &mut RequestCache) {
    assert!(server.is_over(), "a refusal is the last word");
    let mut witness = Witness::default();
    let more = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let used = server.receive(requests, more, &mut witness);
    assert_eq!((used, &*witness.line), (Ok(more.len()), ""));
}
