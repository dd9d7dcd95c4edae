//! `weigh serve` as somebody runs it who wants to serve a folder: what clients get, what is logged and counted, how it
//! stops, and what it says to wrong flags.

// What they get,
mod files;
// what is told of them,
mod telling;
// with which headers,
mod headers;
// what they are not allowed,
mod shield;
// what its log does when it is moved away,
mod rotating;
// as which user it runs,
mod privileges;
// how it ends,
mod stopping;
// whose its sockets are,
mod sockets;
// how our own client takes it,
mod clients;
// what https is like,
mod encrypted;
// and how it is begun.
mod flags;

use crate::bench::{Bench, Counted, PATIENCE, Said, lives, signal};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A `weigh serve` with the words of a line.
struct Serving {
    child: Option<Child>,
    out: BufReader<ChildStdout>,
    at: String,
    admin: Option<String>,
}

impl Serving {
    /// Listens on a free port of 127.0.0.1, and on another for the operator.
    fn start(bench: &Bench, line: &str) -> Serving {
        Serving::of(
            bench
                .weigh(&Serving::words(line))
                .stderr(Stdio::inherit())
                .spawn()
                .unwrap(),
        )
    }

    /// As [`Serving::start`], where each `call` of the server says `error`; none without strace.
    fn injected(bench: &Bench, line: &str, call: &str, error: &str) -> Option<Serving> {
        if Command::new("strace").arg("-V").output().is_err() {
            println!("skipped: there is no strace");
            return None;
        }
        let plain = bench.weigh(&Serving::words(line));
        let (trace, inject) = (
            format!("trace={call}"),
            format!("inject={call}:error={error}"),
        );
        let mut command = Command::new("strace");
        // With -D the server is our child, and strace its.
        let words = ["-D", "-f", "-qq", "-o", "/dev/null"];
        command.args(words).args(["-e", &trace, "-e", &inject]);
        command.arg(plain.get_program()).args(plain.get_args());
        command.current_dir(plain.get_current_dir().unwrap());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Some(Serving::of(command.spawn().unwrap()))
    }

    fn words(line: &str) -> Vec<String> {
        let fixed = ["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let words = fixed.into_iter().chain(line.split_whitespace());
        words.map(str::to_owned).collect()
    }

    fn of(mut child: Child) -> Serving {
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let at = said(&mut out, "listening on ").replace(" (https)", "");
        let admin = Some(said(&mut out, "counts on "));
        Serving {
            child: Some(child),
            out,
            at,
            admin,
        }
    }

    fn connect(&self) -> TcpStream {
        connect(&self.at)
    }

    /// Asks, and reads to the end of the stream.
    fn ask(&self, says: impl AsRef<[u8]>) -> Answer {
        let mut stream = self.connect();
        stream.write_all(says.as_ref()).unwrap();
        Answer::read(stream)
    }

    /// A path of it, with more header lines.
    fn get(&self, path: &str, more: &str) -> Answer {
        self.ask(format!(
            "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{more}\r\n"
        ))
    }

    /// A count, as the operator hears it.
    fn count(&self, name: &str) -> u64 {
        let page = self.page("/counters.json").body;
        let counts: serde_json::Value = serde_json::from_slice(&page).unwrap();
        counts[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no {name} in {counts}"))
    }

    fn page(&self, path: &str) -> Answer {
        let mut stream = connect(self.admin.as_ref().unwrap());
        let says = format!("GET {path} HTTP/1.0\r\n\r\n");
        stream.write_all(says.as_bytes()).unwrap();
        Answer::read(stream)
    }

    fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// What it prints when SIGTERM has ended it.
    fn stop(self) -> Counted {
        self.stop_by("TERM")
    }

    /// What it prints when this signal has ended it.
    fn stop_by(mut self, name: &str) -> Counted {
        let mut child = self.child.take().unwrap();
        signal(name, child.id());
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{text}");
        Counted::of_text(text)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill(); // it may have ended already
            let _ = child.wait();
        }
    }
}

/// What stands behind `begin` in the next line that has it; further addresses are passed over.
fn said(out: &mut impl BufRead, begin: &str) -> String {
    loop {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        if let Some(rest) = line.trim_end().strip_prefix(begin) {
            return rest.to_owned();
        }
        let is_address = line.starts_with("listening on ");
        assert!(is_address, "`weigh serve` said {line:?}");
    }
}

/// Waits until something has come about that another process does.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

fn connect(at: &str) -> TcpStream {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What came until the end of the stream.
#[derive(Debug)]
struct Answer {
    head: String,
    body: Vec<u8>,
    /// The stream ended in good order.
    is_orderly: bool,
}

impl Answer {
    fn read(mut stream: TcpStream) -> Answer {
        let mut all = Vec::new();
        let is_orderly = stream.read_to_end(&mut all).is_ok();
        let end = all.windows(4).position(|it| it == b"\r\n\r\n");
        let body = all.split_off(end.map_or(all.len(), |end| end + 4));
        Answer {
            head: String::from_utf8(all).unwrap(),
            body,
            is_orderly,
        }
    }

    fn status(&self) -> &str {
        self.head.get(9..12).unwrap_or("")
    }

    /// The value of a header line.
    fn line(&self, name: &str) -> Option<&str> {
        let begin = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&begin))
    }
}

/// A bench with a folder called `site`.
fn site() -> Bench {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("site/docs")).unwrap();
    bench.file("site/index.html", "<p>start\n");
    bench.file("site/hello", "not the built-in one\n");
    bench.file("site/docs/index.html", "<p>docs\n");
    bench.file("site/.secret", "secret\n");
    bench.file("site/app.js", "var plain;\n");
    bench.file("site/app.js.gz", "pretend this is gzip");
    bench.file("site/large.bin", large());
    bench.file("outside.txt", "outside\n");
    symlink("../outside.txt", bench.path("site/link.txt")).unwrap();
    bench
}

fn large() -> Vec<u8> {
    (0..3_000_000u32).map(|at| (at % 253) as u8).collect()
}

/// The body of one answer of a connection that goes on.
fn one_answer(stream: &mut impl Read) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    body
}
