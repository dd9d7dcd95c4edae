//! The real program run once, and what it left behind.

use crate::servers::log::{Entry, Log, Opened};
use crate::servers::site::{Listen, Site};
use crate::servers::{Counted, Kind};
use record::{Kind as FaultKind, Run, Summary, Tally};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

/// The longest a run may take, in seconds; only one that hangs does.
const LIMIT: &str = "90";

/// One run of weigh.
#[derive(Debug)]
pub struct Weighing {
    pub status: i32,
    pub printed: String,
    pub took: Duration,
    pub run: Run,
}

/// Weighs `path` of `site` with `flags`, none of which has a space in it; with `command`, weigh starts and stops the server.
pub fn weigh(site: &Site, path: &str, flags: &str, command: &[String]) -> Weighing {
    let record = site.path("record.json");
    let mut weigh = Command::new("timeout");
    weigh.args([
        LIMIT,
        env!("CARGO_BIN_EXE_weigh"),
        "run",
        "--quiet",
        "--keep-going",
    ]);
    weigh.arg("--output").arg(&record).arg(site.url(path));
    weigh.args(flags.split_whitespace());
    match site.listen() {
        Listen::Unix(socket) => drop(weigh.arg("--unix").arg(socket)),
        Listen::Tls { .. } => drop(weigh.arg("--cacert").arg(site.path("cert.pem"))),
        Listen::Port(_) => {}
    }
    if !command.is_empty() {
        weigh.arg("--").args(command);
    }
    let begun = Instant::now();
    let output = weigh.output().expect("weigh runs");
    let took = begun.elapsed();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    let run =
        record::load(&record).unwrap_or_else(|error| panic!("{error}; {printed} {complaint}"));
    let exit = run.exit.as_ref();
    let why = exit.map(|exit| format!("weigh: {} (exit status {})\n", exit.why, exit.status));
    assert_eq!(complaint, why.unwrap_or_default(), "{printed}");
    Weighing {
        status: output.status.code().unwrap_or(-1),
        printed,
        took,
        run,
    }
}

impl Weighing {
    pub fn summary(&self) -> &Summary {
        self.run.summary.as_ref().expect("a summary")
    }

    /// What all rounds counted.
    pub fn tally(&self) -> Tally {
        let rounds = self.run.points.iter().flat_map(|point| &point.rounds);
        let rounds: Vec<_> = rounds.cloned().collect();
        Summary::tally(&rounds).unwrap_or_default().into_owned()
    }

    /// How many exchanges ended with a fault of `kind`.
    pub fn faults(&self, kind: FaultKind) -> u64 {
        self.tally().faults.count(|fault| fault.kind == kind)
    }

    /// That `requests` were measured, every one ended well, and nothing else happened.
    #[track_caller]
    pub fn all_well(&self, requests: u64) {
        let summary = self.summary();
        let counts = (summary.requests, summary.ok, summary.errors.total);
        assert_eq!(counts, (requests, requests, 0), "{}", self.printed);
        assert_eq!(self.tally().strays.total(), 0, "{}", self.printed);
        assert_eq!(self.status, 0, "{}", self.printed);
    }

    /// That the server counted what we sent: in all, and, where every exchange was measured, by status.
    #[track_caller]
    pub fn agrees_with(&self, log: &[Entry]) {
        assert_eq!(self.run.sent_total.sum(), log.len() as u64, "requests");
        if self.run.sent_total.warmup == 0 {
            assert_eq!(self.statuses(), statuses(log), "statuses");
        }
    }

    /// That the server sent the bytes that we received, and received those that we sent, as far as its log says. Asked only where
    /// every request was measured, and the probe's length follows from its head and body.
    #[track_caller]
    pub fn agrees_in_bytes_with(&self, kind: &Kind, log: &Log) {
        let is_encrypted = self.tally().connects.handshakes.is_some();
        let said = kind.bytes[usize::from(is_encrypted)];
        let probe = self.run.probe.as_ref().expect("a probe");
        let sum = |of: fn(&Entry) -> u64| log.iter().map(of).sum::<u64>();
        let sent = sum(|entry| entry.sent);
        match said.sent {
            Counted::Whole => {
                let head = probe.response_head.as_ref().expect("a head").len() as u64;
                let received = self.summary().bytes_received + head + probe.body_length;
                assert_eq!(received, sent, "bytes of responses");
            }
            Counted::Body => {
                assert_eq!(self.bodies() + probe.body_length, sent, "bytes of bodies");
            }
            Counted::Nothing => {}
        }
        if said.received == Counted::Whole {
            let asked = self.summary().bytes_sent + probe.request_head.len() as u64;
            assert_eq!(asked, sum(|entry| entry.received), "bytes of requests");
        }
    }

    /// Bytes of the bodies of what was answered well; each request has always got the same.
    fn bodies(&self) -> u64 {
        let tally = self.tally();
        let lengths = tally.bodies.iter().map(|(_, each)| {
            assert_eq!(each.lengths.differing(), 0);
            let (length, count) = each.lengths.usual().unwrap_or_default();
            length * count
        });
        lengths.sum()
    }

    /// That the server had as many connections as we, and as many handshakes of each kind and version, as far as its log says.
    #[track_caller]
    pub fn agrees_in_connections_with(&self, log: &Log) {
        let Some(opened) = &log.opened else { return };
        let connects = self.tally().connects;
        // The probe has one of its own.
        assert_eq!(connects.established + 1, opened.len() as u64, "connections");
        let Some(handshakes) = &connects.handshakes else {
            return;
        };
        let theirs = |is: &dyn Fn(&&Opened) -> bool| opened.iter().filter(is).count() as u64;
        let resumed = theirs(&|each| each.is_resumed);
        assert_eq!(handshakes.resumed.count(), resumed, "resumed handshakes");
        let full = theirs(&|each| !each.is_resumed);
        assert_eq!(handshakes.full.count() + 1, full, "full handshakes");
        for version in ["TLSv1.2", "TLSv1.3"] {
            let ours = handshakes.agreed.iter();
            let ours = ours.filter(|each| each.encryption.version == version);
            let ours: u64 = ours.map(|each| each.count).sum();
            let theirs = theirs(&|each| each.version == version);
            // All speak the best that both do, the probe too.
            let probed = u64::from(ours > 0);
            assert_eq!(ours + probed, theirs, "handshakes of {version}");
        }
    }

    /// Statuses and how often, the probe's among them.
    fn statuses(&self) -> BTreeMap<u16, u64> {
        let mut counts: BTreeMap<u16, u64> = self.tally().statuses.sorted().into_iter().collect();
        let probe = self.run.probe.as_ref().and_then(|probe| probe.status);
        *counts.entry(probe.expect("a status")).or_default() += 1;
        counts
    }
}

fn statuses(log: &[Entry]) -> BTreeMap<u16, u64> {
    let mut counts = BTreeMap::new();
    for entry in log {
        *counts.entry(entry.status).or_default() += 1;
    }
    counts
}
