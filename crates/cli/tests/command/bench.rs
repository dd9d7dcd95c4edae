//! The bench every test works at: a temporary directory of its own, the real binary, and the real `weigh serve`.
//!
//! Nothing here sleeps to wait for something: a process is waited for by its end, or by a line that it prints. What
//! does not come within [`PATIENCE`] fails the test instead of hanging it.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take before the test gives it up. Far more than ever needed, on machines ever so busy.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A directory that is its own home: records, sockets and bodies of one test.
pub struct Bench {
    dir: TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        Bench {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// The place of `name` in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file with this content.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// `weigh` with these arguments, at home in the directory, its words caught.
    pub fn weigh<A: AsRef<str>>(&self, args: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weigh"));
        command
            .args(args.iter().map(AsRef::as_ref))
            .current_dir(self.dir.path())
            .env("XDG_STATE_HOME", self.path("state"))
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// `weigh` with the words of `line` as arguments, to its end.
    pub fn say(&self, line: &str) -> Said {
        self.say_words(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// `weigh` with these arguments, to its end.
    pub fn say_words<A: AsRef<str>>(&self, args: &[A]) -> Said {
        Said::of(self.weigh(args).spawn().unwrap())
    }

    /// `weigh` with the words of `line`, to its end, by a shell that does `first` and ends in `by`, such as a program
    /// that runs another under other conditions.
    pub fn say_under(&self, first: &str, by: &str, line: &str) -> Said {
        Said::of(self.under(first, by, line).spawn().unwrap())
    }

    /// What [`say_under`](Self::say_under) runs.
    pub fn under(&self, first: &str, by: &str, line: &str) -> Command {
        let plain = self.weigh::<&str>(&[]);
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{first}; exec {by} \"$0\" \"$@\"")])
            .arg(plain.get_program())
            .args(line.split_whitespace())
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// `weigh run -v` with the words of `line`, its record in `run.json`; the record.
    pub fn run(&self, line: &str) -> (Said, Record) {
        let said = self.say(&format!("run -v -o run.json {line}"));
        let record = self.record("run.json");
        (said, record)
    }

    /// The record in the file `name`.
    pub fn record(&self, name: &str) -> Record {
        Record::parse(&fs::read(self.path(name)).expect("a record"))
    }
}

/// What a process said, and how it ended.
#[derive(Debug)]
pub struct Said {
    /// None if a signal ended it.
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    /// Waits for the end of `child`.
    pub fn of(child: Child) -> Said {
        let id = child.id();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || tell.send(child.wait_with_output()));
        let output: Output = match told.recv_timeout(PATIENCE) {
            Ok(output) => output.unwrap(),
            Err(_) => {
                signal("KILL", id);
                panic!("process {id} did not end within {PATIENCE:?}");
            }
        };
        Said {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts the exit status; shows everything if it is another.
    #[track_caller]
    pub fn ended(&self, status: i32) -> &Said {
        assert_eq!(self.status, Some(status), "{self:#?}");
        self
    }

    /// Asserts that the command was refused, with these words in one sentence on standard error, and nothing else.
    #[track_caller]
    pub fn refused(&self, words: &[&str]) {
        self.ended(2);
        assert_eq!(self.out, "", "{self:#?}");
        for word in words {
            assert!(self.err.contains(word), "`{word}` is missing: {self:#?}");
        }
        assert!(!self.err.contains("panicked"), "{self:#?}");
    }
}

/// Sends the signal `name` to process `id`.
pub fn signal(name: &str, id: u32) {
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -{name} {id}")])
        .stderr(Stdio::null())
        .status();
    assert!(sent.is_ok());
}

/// The generator process of the weigh with process number `id`, as soon as there is one.
pub fn generator_of(id: u32) -> u32 {
    let begun = Instant::now();
    loop {
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        let mut children = children.split_whitespace();
        let generator = |child: &&str| {
            let line = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
            line.contains("generate")
        };
        if let Some(found) = children.find(generator) {
            return found.parse().unwrap();
        }
        assert!(begun.elapsed() < PATIENCE, "no generator is at work");
        std::thread::yield_now();
    }
}

/// Whether there is a process `id` that has not ended.
pub fn lives(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// A record, as JSON: what scripts read.
#[derive(Debug, Clone, PartialEq)]
pub struct Record(pub Value);

impl Record {
    pub fn parse(bytes: &[u8]) -> Record {
        Record(serde_json::from_slice(bytes).expect("a record is JSON"))
    }

    /// The value at `path`, such as `/summary/requests`.
    #[track_caller]
    pub fn at(&self, path: &str) -> &Value {
        let value = self.0.pointer(path);
        value.unwrap_or_else(|| panic!("no {path} in {:#}", self.0))
    }

    /// The count at `path`.
    #[track_caller]
    pub fn count(&self, path: &str) -> u64 {
        let value = self.at(path);
        value
            .as_u64()
            .unwrap_or_else(|| panic!("{path} is {value}"))
    }

    /// Every round.
    pub fn rounds(&self) -> &[Value] {
        let points = self.at("/points").as_array().unwrap();
        points
            .first()
            .map_or(&[], |point| point["rounds"].as_array().unwrap())
    }

    /// The sum over all rounds of the count at `path`.
    #[track_caller]
    pub fn sum(&self, path: &str) -> u64 {
        let count = |round: &Value| {
            let value = round.pointer(path).and_then(Value::as_u64);
            value.unwrap_or_else(|| panic!("no count {path} in a round"))
        };
        self.rounds().iter().map(count).sum()
    }

    /// How many requests left weigh, over all phases.
    pub fn sent(&self) -> u64 {
        ["probe", "warmup", "measure"]
            .iter()
            .map(|phase| self.count(&format!("/sent_total/{phase}")))
            .sum()
    }

    /// Asserts what must hold for every record, round by round: nothing was lost, nothing was counted twice.
    #[track_caller]
    pub fn assert_conserved(&self) {
        for round in self.rounds() {
            let tally = &round["tally"];
            let count = |name: &str| tally[name].as_u64().unwrap();
            let faults: u64 = tally["faults"]
                .as_array()
                .unwrap()
                .iter()
                .map(|fault| fault["count"].as_u64().unwrap())
                .sum();
            assert_eq!(
                count("scheduled"),
                count("started") + count("never_sent"),
                "{tally}"
            );
            let carried_over = tally["carried_over"].as_u64().unwrap_or(0);
            let requests = count("scheduled") + carried_over;
            assert_eq!(requests, count("ok") + faults, "{tally}");
        }
        assert_eq!(
            self.count("/summary/requests"),
            self.count("/summary/ok") + self.count("/summary/errors/total")
        );
    }
}

/// A `weigh serve` of our own.
pub struct Reference {
    child: Option<Child>,
    out: BufReader<ChildStdout>,
    /// Where it listens, in the order of `--listen`.
    pub addresses: Vec<String>,
}

impl Reference {
    /// One that listens on a free port of 127.0.0.1.
    pub fn start(bench: &Bench) -> Reference {
        Reference::listen(bench, &["127.0.0.1:0"])
    }

    /// One that listens at these addresses.
    pub fn listen(bench: &Bench, at: &[&str]) -> Reference {
        Reference::with(bench, at, &[])
    }

    /// One that listens at these addresses and has these further arguments.
    pub fn with(bench: &Bench, at: &[&str], rest: &[&str]) -> Reference {
        let mut args = vec!["serve", "--workers", "1"];
        for address in at {
            args.extend(["--listen", address]);
        }
        args.extend(rest);
        let mut child = bench.weigh(&args).stderr(Stdio::inherit()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let addresses = at.iter().map(|_| listening(&mut out)).collect();
        Reference {
            child: Some(child),
            out,
            addresses,
        }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("it was not stopped").id()
    }

    /// The first address.
    pub fn at(&self) -> &str {
        &self.addresses[0]
    }

    /// Ends it by SIGTERM; what it counted, by name.
    pub fn stop(mut self) -> Counted {
        let mut child = self.child.take().unwrap();
        signal("TERM", child.id());
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{text}");
        Counted(text)
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill(); // it may have ended already
            let _ = child.wait();
        }
    }
}

fn listening(out: &mut impl BufRead) -> String {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("listening on ");
    address
        .unwrap_or_else(|| panic!("`weigh serve` said {line:?}"))
        .replace(" (https)", "")
}

/// What a server printed of its counts.
#[derive(Debug)]
pub struct Counted(String);

impl Counted {
    /// Of what was printed.
    pub fn of_text(text: String) -> Counted {
        Counted(text)
    }

    /// The count called `name`.
    #[track_caller]
    pub fn of(&self, name: &str) -> u64 {
        let count = self.0.lines().find_map(|line| {
            let (key, count) = line.split_once(' ')?;
            (key == name).then(|| count.parse().unwrap())
        });
        count.unwrap_or_else(|| panic!("no {name} in {}", self.0))
    }

    pub fn requests(&self) -> u64 {
        self.of("requests")
    }
}
