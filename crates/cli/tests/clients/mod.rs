//! Real clients of `weigh serve DIR`: curl, a proxy before it, a browser.
//!
//! What they got is one account, and the server's log and closing counts are the other.

mod browser;
mod curl;
mod proxy;

use crate::servers::{DEMAND, find_program, signal};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Carries `test` out where real programs are asked for and `program` is there, or says why not.
fn with_program(program: &str, test: impl Fn(&str)) {
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    if std::env::var_os(DEMAND).is_none() {
        println!("{name}: skipped; set {DEMAND}=1 to try it with {program}");
        return;
    }
    match find_program(program) {
        Some(file) => test(&file),
        None => println!("{name}: skipped; {program} is not installed"),
    }
}

/// A `weigh serve` of a folder.
pub struct Served {
    folder: tempfile::TempDir,
    child: Option<Child>,
    out: BufReader<ChildStdout>,
    /// Address and port.
    pub at: String,
    scheme: &'static str,
}

/// A line of its log: method, path, status, bytes of the body.
pub type Line = (String, String, u16, u64);

impl Served {
    /// Serves these files. (With one worker the log is in the order of the requests; each worker writes its own lines.)
    pub fn start(workers: u32, files: &[(&str, &[u8])]) -> Served {
        Served::speaking("http", &[], workers, files)
    }

    /// The same over TLS, with a certificate that it signs by itself.
    pub fn encrypted(workers: u32, files: &[(&str, &[u8])]) -> Served {
        Served::speaking("https", &["--tls", "self-signed"], workers, files)
    }

    fn speaking(
        scheme: &'static str,
        flags: &[&str],
        workers: u32,
        files: &[(&str, &[u8])],
    ) -> Served {
        let folder = tempfile::TempDir::with_prefix("weigh-").expect("a temporary folder");
        fs::create_dir(folder.path().join("www")).expect("a folder");
        for (name, content) in files {
            fs::write(folder.path().join("www").join(name), content).expect("a file");
        }
        fs::write(folder.path().join("outside.txt"), "outside\n").expect("a file");
        let mut child = Command::new(env!("CARGO_BIN_EXE_weigh"))
            .args(["serve", "www", "--log", "access.log"])
            .args(["--listen", "127.0.0.1:0", "-w", &workers.to_string()])
            .args(flags)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("weigh serve starts");
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        // With TLS a word follows.
        let at = line.strip_prefix("listening on ");
        let at = at.and_then(|rest| rest.split_whitespace().next());
        let at = at.unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Served {
            folder,
            child: Some(child),
            out,
            at,
            scheme,
        }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.at)
    }

    /// A file beside the folder that is served.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Stops it; its log and what it counted.
    pub fn stop(&mut self) -> (Vec<Line>, String) {
        let mut child = self.child.take().expect("it is stopped once");
        signal("TERM", &[child.id()]);
        let mut counts = String::new();
        self.out.read_to_string(&mut counts).expect("counts");
        assert!(child.wait().expect("its end").success(), "{counts}");
        let text = fs::read_to_string(self.path("access.log")).expect("a log");
        let line = |line: &str| parse(line).unwrap_or_else(|| panic!("not a line: {line}"));
        (text.lines().map(line).collect(), counts)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill(); // it may have ended already
            let _ = child.wait();
        }
    }
}

/// `a - - [time] "GET /path HTTP/1.1" 200 5 "-" "agent"`
fn parse(line: &str) -> Option<Line> {
    let mut parts = line.split('"');
    let mut asks = parts.nth(1)?.split(' ');
    let mut answer = parts.next()?.split_whitespace();
    Some((
        asks.next()?.to_owned(),
        asks.next()?.to_owned(),
        answer.next()?.parse().ok()?,
        answer.next()?.parse().ok()?,
    ))
}

/// The closing count called `name`.
fn count(counts: &str, name: &str) -> u64 {
    let line = counts
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|count| count.parse().ok())
        .unwrap_or_else(|| panic!("no {name} in {counts}"))
}
