//! One run of weigh against a misbehaving server, and how both sides' accounts are compared.

use rcgen::{CertificateParams, KeyPair};
use record::{Blame, FaultCount, Faults, Kind, Round, Run, Summary, Tally};
use refserver::Certificate;
use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use testserver::MisbehavingServer;
use testserver::misbehaviour::{Log, Script};

/// One exchange in this many is spoilt. Not the first one, which is the probe.
pub const EVERY: u64 = 5;
/// Exchanges that are weighed; with the probe a multiple of [`EVERY`].
pub const MANY: u64 = 59;
/// The same where each that is spoilt takes long.
pub const FEW: u64 = 19;
/// The longest a run may take in which nothing waits for ever; seconds, because machines may be busy.
const SOON: Duration = Duration::from_secs(20);
/// KiB of address space that weigh has. What it reserves for its threads is most of that; kept answers would not fit.
const MEMORY: u64 = 320 * 1024;
/// As a flag: what no exchange takes that is not meant to.
pub const PATIENT: &str = "--timeout 20s --connect-timeout 20s";
/// As a flag: what is soon over, and yet long enough for right answers on a machine on which endless ones take all CPUs.
pub const HURRIED: &str = "--timeout 1s --connect-timeout 20s";

/// As flags: over TLS, with a certificate that weigh is told to trust; in the folder it runs in.
pub const TLS: &str = "--cacert cert.pem";

/// Whether the other ring can be tried; if not, says so.
pub fn has_uring() -> bool {
    let has = kernel::Uring::new().is_ok();
    if !has {
        println!("skipped: this machine has or allows no io_uring");
    }
    has
}

/// As flags: the rings that can be tried.
pub fn rings() -> &'static [&'static str] {
    match has_uring() {
        true => &["--ring epoll", "--ring io_uring"],
        false => &["--ring epoll"],
    }
}

/// One run of weigh against a server, and both sides' accounts of it.
#[derive(Debug)]
pub struct World {
    name: String,
    pub log: Log,
    pub run: Run,
    pub status: Option<i32>,
    /// What it printed, each gap as one space, so that the width of lines does not matter.
    pub said: String,
    complaint: String,
    pub took: Duration,
}

/// A server with this script, with TLS if it is asked over TLS; and its scheme.
fn start(home: &Path, script: Script, flags: &str) -> (MisbehavingServer, &'static str) {
    let at = "127.0.0.1:0".parse().unwrap();
    if ![TLS, "--insecure"].iter().any(|flag| flags.contains(flag)) {
        let server = MisbehavingServer::start(&at, script).unwrap();
        return (server, "http");
    }
    let pair = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let [chain, key] = ["cert.pem", "key.pem"].map(|name| home.join(name));
    fs::write(&chain, params.self_signed(&pair).unwrap().pem()).unwrap();
    fs::write(&key, pair.serialize_pem()).unwrap();
    let certificate = Certificate::Files { chain, key };
    let server = MisbehavingServer::start_secured(&at, script, certificate).unwrap();
    (server, "https")
}

/// Weighs a server with this script.
pub fn weigh(name: &str, script: Script, flags: &str) -> World {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("record.json");
    let (server, scheme) = start(home.path(), script, flags);
    let begun = Instant::now();
    // A tool that hangs is ended, and has then another status; so has one that keeps what is sent to it without end.
    let bounded = format!("ulimit -v {MEMORY}; exec timeout 60 \"$0\" run --verbose \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &bounded, env!("CARGO_BIN_EXE_weigh")])
        .args(["--rounds", "1", "--keep-going", "--output"])
        .arg(&path)
        .arg(format!("{scheme}://{}/", server.address()))
        .args(flags.split_whitespace())
        .env("XDG_STATE_HOME", home.path())
        .current_dir(home.path())
        .output()
        .expect("weigh runs");
    let took = begun.elapsed();
    let log = server.stop();
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = text(&output.stdout);
    let remarks = String::from_utf8_lossy(&output.stderr);
    let last = remarks.lines().last().unwrap_or_default();
    let complaint = text(last.as_bytes());
    let saved = format!("saved #1 {}", path.display());
    let complaint = complaint.trim_start_matches(&saved).to_owned();
    let run = record::load(&path)
        .unwrap_or_else(|error| panic!("{name} {flags}: {error}; {said} {complaint}"));
    World {
        name: format!("{name} {flags}"),
        log,
        run,
        status: output.status.code(),
        said,
        complaint,
        took,
    }
}

impl World {
    pub fn summary(&self) -> &Summary {
        self.run.summary.as_ref().expect("a summary")
    }

    fn round(&self) -> &Round {
        &self.run.points[0].rounds[0]
    }

    pub fn tally(&self) -> &Tally {
        &self.round().tally
    }

    /// The faults, most frequent first. A timeout during which weigh was not run by a busy machine is its own by its
    /// rules; here, where the server is silent by order, it is the server's.
    pub fn sorted_faults(&self) -> Vec<FaultCount> {
        let was_paused = self.round().paused().count > 0;
        let mut faults = Faults::default();
        for FaultCount { mut fault, count } in self.tally().faults.iter().copied() {
            if was_paused && fault.kind == Kind::Timeout && fault.blame == Blame::Generator {
                fault.blame = Blame::Server;
            }
            faults.add(fault, count);
        }
        faults.sorted()
    }

    pub fn errors(&self) -> u64 {
        self.summary().errors.total
    }

    /// Faults of these kinds.
    pub fn faults(&self, kinds: &[Kind]) -> u64 {
        self.tally()
            .faults
            .count(|fault| kinds.contains(&fault.kind))
    }

    /// Connects that did not succeed.
    pub fn failed_connects(&self) -> u64 {
        self.tally().connects.failed.total()
    }

    /// Bytes that the probe sent and received: the server counts them, and the summary does not.
    pub fn probe_bytes(&self) -> (u64, u64) {
        let probe = self.run.probe.as_ref().expect("a probe");
        let head = probe.response_head.as_ref().map_or(0, String::len) as u64;
        (probe.request_head.len() as u64, head + probe.body_length)
    }
}

/// What was found to be other than it should.
#[derive(Debug, Default)]
pub struct Differences(Vec<[String; 4]>);

impl FromIterator<Differences> for Differences {
    fn from_iter<I: IntoIterator<Item = Differences>>(several: I) -> Differences {
        Differences(several.into_iter().flat_map(|each| each.0).collect())
    }
}

impl Differences {
    pub fn compare<T: PartialEq + Debug>(
        &mut self,
        world: &World,
        what: &str,
        wanted: T,
        found: T,
    ) {
        if wanted != found {
            let (wanted, found) = (format!("{wanted:?}"), format!("{found:?}"));
            self.0
                .push([world.name.clone(), what.to_owned(), wanted, found]);
        }
    }

    /// What must hold whatever the server does.
    pub fn compare_all(&mut self, world: &World, requests: u64) {
        let summary = world.summary();
        self.compare(world, "requests", requests, summary.requests);
        self.compare(world, "ok + errors", requests, summary.ok + world.errors());
        self.compare(world, "conserved", true, world.tally().conserved());
        let exit = world.run.exit.as_ref();
        let why = exit.map(|exit| format!("weigh: {} (exit status {})", exit.why, exit.status));
        self.compare(
            world,
            "complaint",
            why.unwrap_or_default(),
            world.complaint.clone(),
        );
        let status = exit.map_or(0, |exit| i32::from(exit.status));
        self.compare(world, "status", Some(status), world.status);
        self.compare(world, "in time", true, world.took < SOON);
        let [ok, errors] = [summary.ok, world.errors()].map(units::count);
        let shown = format!("{ok} ok {errors} error");
        self.compare(world, &shown, true, world.said.contains(&shown));
        let faults = world.sorted_faults();
        let blamed = faults.iter().map(|each| each.fault.blame);
        let of_others = blamed.filter(|blame| *blame != Blame::Server).count();
        self.compare(
            world,
            "faults blamed on others than the server",
            0,
            of_others,
        );
        for FaultCount { fault, .. } in world.tally().faults.sorted() {
            let step = format!("{:?}", fault.step).to_lowercase();
            let blame = format!("{:?}", fault.blame).to_lowercase();
            let shown = format!("{step} {blame} {}", fault.kind.sentence());
            self.compare(world, &shown, true, world.said.contains(&shown));
        }
        let are_strays = world.tally().strays.total() > 0;
        let are_told = world
            .said
            .contains("the server sent bytes that belong to no response");
        self.compare(world, "strays told", are_strays, are_told);
        let tolerated = world.errors() * 100 <= requests;
        self.compare(world, "status", Some(i32::from(!tolerated)), world.status);
    }

    /// That weigh sent what the server saw, byte for byte, and over as many connections.
    pub fn compare_sides(&mut self, world: &World) {
        let (log, summary) = (&world.log, world.summary());
        let (asked, _) = world.probe_bytes();
        let connections = world.tally().connects.established + 1;
        self.compare(world, "connections", log.connections, connections);
        let sent = world.run.sent_total.sum();
        self.compare(world, "requests seen", log.requests, sent);
        let bytes = summary.bytes_sent + asked;
        self.compare(world, "bytes seen", log.bytes_received, bytes);
    }

    #[track_caller]
    pub fn assert_none(self) {
        let widest = |column: usize| {
            let widths = self.0.iter().map(|row| row[column].len());
            widths.max().unwrap_or(0)
        };
        let [name, what, wanted] = [0, 1, 2].map(widest);
        for row in &self.0 {
            let [a, b, c, d] = row;
            println!("{a:name$}  {b:what$}  wanted {c:wanted$}  found {d}");
        }
        assert!(self.0.is_empty(), "{} differences, see above", self.0.len());
    }
}
