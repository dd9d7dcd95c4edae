//! A server that does exactly what a test says, good or bad, connection by connection.
//!
//! Plain blocking sockets and one thread a connection: it must be plain enough to be believed when it disagrees with
//! the engine.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A whole, plain answer.
pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server on a free port of 127.0.0.1 that plays a script on every connection.
pub struct Scripted {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    over: AtomicBool,
    connections: AtomicU64,
    requests: AtomicU64,
    asked: Mutex<Vec<Asked>>,
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub head: String,
    pub body: Vec<u8>,
}

impl Asked {
    /// The first line.
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }
}

/// The first requests that are kept to be looked at.
const KEPT: usize = 1000;

impl Scripted {
    /// Plays `script` on every connection, then closes it.
    pub fn start(script: impl Fn(&mut Line) + Send + Sync + 'static) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let (shared, script) = (state.clone(), Arc::new(script));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if shared.over.load(Ordering::SeqCst) {
                    break;
                }
                let number = shared.connections.fetch_add(1, Ordering::SeqCst);
                let (state, script) = (shared.clone(), script.clone());
                std::thread::spawn(move || {
                    let mut line = Line {
                        number,
                        stream,
                        state,
                        input: Vec::new(),
                    };
                    script(&mut line);
                });
            }
        });
        Scripted { address, state }
    }

    /// Answers every request with these bytes, on as many requests a connection as come.
    pub fn answering(answer: &'static [u8]) -> Scripted {
        Scripted::start(move |line| while line.request().is_some() && line.say(answer) {})
    }

    /// Answers one request a connection with these bytes, then closes.
    pub fn answering_once(answer: &'static [u8]) -> Scripted {
        Scripted::start(move |line| {
            if line.request().is_some() {
                line.say(answer);
            }
        })
    }

    pub fn at(&self) -> String {
        self.address.to_string()
    }

    /// Connections accepted.
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Whole requests read.
    pub fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// The first requests.
    pub fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address); // wakes the thread that accepts
    }
}

/// One connection, from the server's end.
pub struct Line {
    /// How many connections came before it.
    pub number: u64,
    stream: TcpStream,
    state: Arc<State>,
    input: Vec<u8>,
}

impl Line {
    /// The next request, read to the end of its body; none when the client has gone.
    pub fn request(&mut self) -> Option<Asked> {
        let end = loop {
            match find(&self.input, b"\r\n\r\n") {
                Some(at) => break at + 4,
                None => self.read()?,
            }
        };
        let head = String::from_utf8(self.input.drain(..end).collect()).unwrap();
        let length = content_length(&head);
        while self.input.len() < length {
            self.read()?;
        }
        let body = self.input.drain(..length).collect();
        let asked = Asked { head, body };
        self.state.requests.fetch_add(1, Ordering::SeqCst);
        let mut kept = self.state.asked.lock().unwrap();
        if kept.len() < KEPT {
            kept.push(asked.clone());
        }
        Some(asked)
    }

    fn read(&mut self) -> Option<()> {
        let mut buffer = vec![0; 64 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) | Err(_) => None,
            Ok(length) => {
                self.input.extend_from_slice(&buffer[..length]);
                Some(())
            }
        }
    }

    /// Sends these bytes; whether the client is still there.
    pub fn say(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Does nothing until the client has gone.
    pub fn hang(&mut self) {
        while self.read().is_some() {
            self.input.clear();
        }
    }

    /// Ends the whole server: nothing is accepted any more.
    pub fn die(&mut self) {
        self.state.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.stream.local_addr().unwrap()); // wakes the thread that accepts
    }

    /// Ends the answer, and reads on until the client has gone, so that no unread byte makes it a reset.
    pub fn finish(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.hang();
    }
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

fn content_length(head: &str) -> usize {
    let value = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().unwrap())
    });
    value.unwrap_or(0)
}
