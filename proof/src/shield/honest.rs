//! The honest client: it sends requests all the time, compares every response with the file byte for byte, and notes how
//! long each took.
//!
//! There are three of them, because they would notice different things: one that keeps its connection, one that opens a new
//! one for each request and needs it accepted, and one that fetches more than a socket holds. Each waits a moment before
//! its next request, as people do; a load that fills the CPUs would measure itself. (Over TLS a new connection is a new process, with
//! a longer pause, and its start is part of the time.)

use super::tunnel::{Stream, connect};
use crate::serving::response::fetch;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The larger file.
pub const LARGE: &str = "large.bin";
/// Failures that are kept; a server that is gone makes thousands.
const FAILURES_MAX: usize = 10;
/// Answers whose times are kept, for each of the three: ten minutes of them.
const TIMES_MAX: usize = 600_000;

/// One kind of honest client: its name, what it requests, whether its connection stays, and how many milliseconds lie
/// between a response and the next request.
#[derive(Clone, Copy)]
struct Client(&'static str, &'static str, bool, u64);

/// The same of a client that starts a process for each connection.
const PROCESS_PAUSE_MS: u64 = 50;

const CLIENTS: [Client; 3] = [
    Client("a small file on a kept connection", "/file.html", true, 2),
    Client("a small file on a new connection", "/file.html", false, 2),
    Client("1 MB on a kept connection", "/large.bin", true, 20),
];

/// How long the slowest response took, in ms, and its client's name.
type Slowest = Option<(f64, &'static str)>;

/// Whom they ask.
struct Server {
    at: SocketAddr,
    certificate: Option<PathBuf>,
}

/// Honest clients at work.
pub struct Honest {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Seen>>,
}

/// What they have seen.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Seen {
    /// How long each complete answer took, in ms: from the request, or the connect before it, to the last byte.
    pub times: Vec<f64>,
    /// The longest of them, and whose it was.
    pub slowest: Slowest,
    /// The first answers that were not complete.
    pub failures: Vec<String>,
}

impl Honest {
    /// Lets them ask the server at `at` for the files of `site`, over TLS where it has a `certificate`.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn start(at: SocketAddr, site: PathBuf, certificate: Option<PathBuf>) -> Result<Honest> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for client in CLIENTS {
            let wanted = fs::read(site.join(&client.1[1..]))?;
            let server = Server {
                at,
                certificate: certificate.clone(),
            };
            let stop = Arc::clone(&stop);
            threads.push(thread::spawn(move || client.ask(&server, &wanted, &stop)));
        }
        Ok(Honest { stop, threads })
    }

    /// Lets them finish, and says what they have seen.
    pub fn stop(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Seen::default();
        for thread in self.threads {
            let seen = thread.join().expect("an honest client does not panic");
            all.slowest = slower(all.slowest, seen.slowest);
            all.times.extend(seen.times);
            all.failures.extend(seen.failures);
        }
        all
    }
}

impl Client {
    /// Asks until `stop`.
    fn ask(self, server: &Server, wanted: &[u8], stop: &AtomicBool) -> Seen {
        let Client(name, _, stays, pause_ms) = self;
        let pause_ms = match server.certificate {
            Some(_) if !stays => PROCESS_PAUSE_MS,
            _ => pause_ms,
        };
        let mut seen = Seen::default();
        let mut connection = None;
        let mut body = Vec::with_capacity(wanted.len());
        while !stop.load(Ordering::Relaxed) && seen.has_room() {
            let begun = Instant::now();
            match self.once(server, wanted, &mut connection, &mut body) {
                Ok(()) => {
                    let time = begun.elapsed().as_secs_f64() * 1e3;
                    seen.times.push(time);
                    seen.slowest = slower(seen.slowest, Some((time, name)));
                }
                Err(error) => {
                    connection = None;
                    seen.failures.push(format!("{name}: {error:#}"));
                }
            }
            thread::sleep(Duration::from_millis(pause_ms)); // part of how this client is
        }
        seen
    }

    /// One request and its answer.
    fn once(
        self,
        server: &Server,
        wanted: &[u8],
        kept: &mut Option<Box<dyn Stream>>,
        body: &mut Vec<u8>,
    ) -> Result<()> {
        let Client(_, path, stays, _) = self;
        let new = || connect(server.at, server.certificate.as_deref());
        let mut connection = kept.take().map_or_else(new, Ok)?;
        body.clear();
        let fetched = fetch(&mut connection, server.at, path, !stays, body);
        fetched.context("the answer is not complete")?;
        ensure!(body == wanted, "the answer is not the file");
        *kept = stays.then_some(connection);
        Ok(())
    }
}

impl Seen {
    fn has_room(&self) -> bool {
        self.times.len() < TIMES_MAX && self.failures.len() < FAILURES_MAX
    }
}

/// The slower of two responses.
fn slower(one: Slowest, other: Slowest) -> Slowest {
    let both = one.into_iter().chain(other);
    both.max_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// What comes of asking a server that answers each connection with `answer`.
    fn asked(answer: &'static str, wanted: &'static [u8]) -> Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let serving = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let _ = connection.read(&mut [0; 1024]);
            connection.write_all(answer.as_bytes()).unwrap();
        });
        let server = Server {
            at,
            certificate: None,
        };
        let result = CLIENTS[1].once(&server, wanted, &mut None, &mut Vec::new());
        serving.join().unwrap();
        result
    }

    #[test]
    fn an_answer_counts_only_if_it_is_the_whole_file() {
        let cases = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", None),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabd",
                Some("the answer is not the file"),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
                Some("the answer is not complete"),
            ),
            (
                "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
                Some("the answer is not complete"),
            ),
        ];
        for (answer, wanted) in cases {
            let error = asked(answer, b"abc").err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), wanted, "{answer}");
        }
    }

    #[test]
    fn the_slower_of_two_is_named() {
        let (quick, slow) = (Some((0.1, "a")), Some((7.5, "b")));
        assert_eq!(slower(quick, slow), slow);
        assert_eq!(slower(slow, quick), slow);
        assert_eq!(slower(None, quick), quick);
        assert_eq!(slower(None, None), None);
    }
}
