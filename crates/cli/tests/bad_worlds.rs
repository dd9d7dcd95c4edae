//! weigh in bad worlds: what a misbehaving server did, by its own log, against what weigh made of it.
//!
//! In scope: every row of the server's table, met by every fifth exchange or connection, so that the script fixes every
//! count; the real binary, its record, its exit status and its sentences. What differs is told as a table, all of it
//! and not only the first. Out of scope: whether the server does what it says; its own tests see to that.

use counterweight::misbehaviour::{Log, Meets, MisbehavingServer, Misbehaviour, Script, When};
use record::{Blame, Fault, FaultCount, Kind, Run, Step, Summary, Tally};
use std::fmt::Debug;
use std::process::Command;
use std::time::{Duration, Instant};
use units::Nanos;

use Misbehaviour as M;

/// One exchange in this many is spoilt. Not the first one, which is the probe.
const EVERY: u64 = 5;
/// Exchanges that are weighed; with the probe a multiple of [`EVERY`].
const MANY: u64 = 59;
/// The same where each that is spoilt takes long.
const FEW: u64 = 19;
/// The longest a run may take in which nothing waits for ever; seconds, because machines may be busy.
const SOON: Duration = Duration::from_secs(20);
/// As a flag: what no exchange takes that is not meant to.
const PATIENT: &str = "--timeout 20s --connect-timeout 20s";
/// As a flag: what is soon over.
const HURRIED: &str = "--timeout 250ms --connect-timeout 20s";

/// What weigh ought to make of an exchange that meets a misbehaviour.
#[derive(Debug, Clone, Copy)]
enum Wants {
    /// A right answer, if a rare one.
    Ok,
    /// A right answer, and bytes behind it that answer nothing.
    Stray,
    /// This fault, and the server is to blame.
    Fault(Kind, Step),
    /// A right answer; the next request on the connection, if there is one, is lost.
    Last,
}

/// What is wanted of each misbehaviour that meets exchanges and ends with them; none for those of connections and of
/// the whole server, which have tests of their own.
fn wants(misbehaviour: Misbehaviour) -> Option<Wants> {
    use Step::{Body, Head, Verdict};
    use Wants::{Fault, Last, Stray};
    Some(match misbehaviour {
        M::CloseUnanswered => Fault(Kind::ClosedBeforeResponse, Head),
        M::ResetUnanswered | M::ResetInHead => Fault(Kind::Reset, Head),
        M::CloseInHead => Fault(Kind::ClosedInHead, Head),
        M::CloseInBody | M::CloseInChunks => Fault(Kind::ClosedInBody, Body),
        M::ResetInBody => Fault(Kind::Reset, Body),
        M::CloseKept => Last,
        M::Silence | M::SilenceInHead | M::Drip => Fault(Kind::Timeout, Head),
        M::SilenceInBody | M::EndlessBody | M::EndlessChunks => Fault(Kind::Timeout, Body),
        M::HugeHead | M::EndlessHead => Fault(Kind::HeadTooLarge, Head),
        M::EndlessInterim => Fault(Kind::TooManyInterim, Head),
        M::Surplus | M::Garbage | M::AnswerTwice => Stray,
        M::BodyAfterHead | M::BodyAfter204 => Stray,
        M::NotHttp | M::BadVersion => Fault(Kind::NotHttp, Head),
        M::BadStatus | M::NoColon | M::NulInHeader | M::FoldedHeader => Fault(Kind::BadHead, Head),
        M::LengthNegative | M::LengthTooLarge | M::LengthsDiffer => {
            Fault(Kind::BadContentLength, Head)
        }
        M::LengthAndChunks => Fault(Kind::BothLengths, Head),
        M::UnknownCoding => Fault(Kind::BadTransferEncoding, Head),
        M::ChunkNotHex | M::ChunkTooLarge | M::ChunkUnended => Fault(Kind::BadChunk, Body),
        M::Switching => Fault(Kind::StatusUnexpected, Verdict),
        M::NotFound => Fault(Kind::Status4xx, Verdict),
        M::Unavailable => Fault(Kind::Status5xx, Verdict),
        M::Late | M::Bytewise | M::HugeBody | M::LengthTwice | M::Redirect => Wants::Ok,
        M::BareLf | M::EmptyReason | M::NoReason | M::Interim | M::Trailers => Wants::Ok,
        M::UntilClose | M::OldVersion => Wants::Ok,
        M::CloseAtAccept | M::ResetAtAccept | M::AnswerUnasked => return None,
        M::StopAccepting | M::StopListening | M::Die | M::Freeze => return None,
        unknown => panic!("nobody has said what is wanted of `{}`", unknown.name()),
    })
}

/// One run of weigh against a server, and both sides' accounts of it.
#[derive(Debug)]
struct World {
    name: String,
    log: Log,
    run: Run,
    status: Option<i32>,
    /// What it printed, each gap as one space, so that the width of lines does not matter.
    said: String,
    complaint: String,
    took: Duration,
}

/// Weighs a server with this script.
fn weigh(name: &str, script: Script, flags: &str) -> World {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("record.json");
    let server = MisbehavingServer::start(&"127.0.0.1:0".parse().unwrap(), script).unwrap();
    let begun = Instant::now();
    // Whoever hangs is ended, and has then another status.
    let output = Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_weigh"), "run", "--quiet"])
        .args(["--rounds", "1", "--output"])
        .arg(&path)
        .arg(format!("http://{}/", server.address()))
        .args(flags.split_whitespace())
        .env("XDG_STATE_HOME", home.path())
        .output()
        .expect("weigh runs");
    let took = begun.elapsed();
    let log = server.stop();
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
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
    fn summary(&self) -> &Summary {
        self.run.summary.as_ref().expect("a summary")
    }

    fn tally(&self) -> &Tally {
        &self.run.points[0].rounds[0].tally
    }

    fn errors(&self) -> u64 {
        self.summary().errors.total
    }

    /// Faults of these kinds.
    fn faults(&self, kinds: &[Kind]) -> u64 {
        self.tally()
            .faults
            .count(|fault| kinds.contains(&fault.kind))
    }

    /// Connects that did not succeed.
    fn failed_connects(&self) -> u64 {
        self.tally().connects.failed.total()
    }

    /// Bytes that the probe sent and received: the server counts them, and the summary does not.
    fn probe_bytes(&self) -> (u64, u64) {
        let probe = self.run.probe.as_ref().expect("a probe");
        let head = probe.response_head.as_ref().map_or(0, String::len) as u64;
        (probe.request_head.len() as u64, head + probe.body_length)
    }
}

/// What was found to be other than it should.
#[derive(Debug, Default)]
struct Differences(Vec<[String; 4]>);

impl Differences {
    fn compare<T: PartialEq + Debug>(&mut self, world: &World, what: &str, wanted: T, found: T) {
        if wanted != found {
            let (wanted, found) = (format!("{wanted:?}"), format!("{found:?}"));
            self.0
                .push([world.name.clone(), what.to_owned(), wanted, found]);
        }
    }

    /// What must hold whatever the server does.
    fn compare_all(&mut self, world: &World, requests: u64) {
        let summary = world.summary();
        self.compare(world, "requests", requests, summary.requests);
        self.compare(world, "ok + errors", requests, summary.ok + world.errors());
        self.compare(world, "conserved", true, world.tally().conserved());
        self.compare(world, "complaint", "", &world.complaint);
        self.compare(world, "in time", true, world.took < SOON);
        let [ok, errors] = [summary.ok, world.errors()].map(units::count);
        let shown = format!("{ok} ok {errors} error");
        self.compare(world, &shown, true, world.said.contains(&shown));
        let tolerated = world.errors() * 100 <= requests;
        self.compare(world, "status", Some(i32::from(!tolerated)), world.status);
    }

    /// That weigh sent what the server saw, byte for byte, and over as many connections.
    fn compare_sides(&mut self, world: &World) {
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
    fn assert_none(self) {
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

/// Meets every row that `chosen` picks, by every fifth exchange, and compares all counts.
#[track_caller]
fn meet(chosen: impl Fn(Wants) -> bool) {
    let mut differences = Differences::default();
    let mut met = 0;
    for misbehaviour in M::ALL {
        let Some(wants) = wants(*misbehaviour).filter(|wants| chosen(*wants)) else {
            continue;
        };
        met += 1;
        for load in ["-c 4", "-c 7 -t 2 --no-keepalive --connect lazy"] {
            meet_one(*misbehaviour, wants, load, &mut differences);
        }
    }
    assert!(met > 0, "no row was chosen");
    differences.assert_none();
}

fn meet_one(misbehaviour: M, wants: Wants, load: &str, differences: &mut Differences) {
    let is_slow = matches!(wants, Wants::Fault(Kind::Timeout, _));
    let is_big = misbehaviour == M::HugeBody;
    let requests = if is_slow || is_big { FEW } else { MANY };
    let patience = if is_slow { HURRIED } else { PATIENT };
    let method = match misbehaviour.meets() {
        Meets::Head => "-X HEAD",
        _ => "",
    };
    let script = Script {
        delay: Nanos::from_millis(20),
        ..Script::of(misbehaviour, When::Every(EVERY))
    };
    let flags = format!("-n {requests} {load} {method} {patience}");
    let world = weigh(misbehaviour.name(), script, &flags);
    differences.compare_all(&world, requests);
    let kept = !load.contains("--no-keepalive");
    if matches!(wants, Wants::Last) && kept {
        return compare_losses(&world, differences);
    }
    let bad = (requests + 1) / EVERY;
    let log = &world.log;
    differences.compare(&world, "misbehaved", bad, log.count(misbehaviour));
    differences.compare(&world, "answered", requests + 1 - bad, log.answered);
    differences.compare_sides(&world);
    let fault = |kind, step| FaultCount {
        fault: Fault {
            kind,
            step,
            blame: Blame::Server,
        },
        count: bad,
    };
    let (mut faults, mut strays) = (Vec::new(), Vec::new());
    match wants {
        Wants::Ok | Wants::Last => {
            let bytes = world.summary().bytes_received + world.probe_bytes().1;
            differences.compare(&world, "bytes sent", log.bytes_sent, bytes);
        }
        Wants::Stray => strays.push(fault(Kind::UnexpectedBytes, Step::Head)),
        Wants::Fault(kind, step) => {
            faults.push(fault(kind, step));
            let shown = format!("{} server {}", step_name(step), kind.sentence());
            differences.compare(&world, &shown, true, world.said.contains(&shown));
        }
    }
    differences.compare(&world, "faults", faults, world.tally().faults.sorted());
    differences.compare(&world, "strays", strays, world.tally().strays.sorted());
}

fn step_name(step: Step) -> String {
    format!("{step:?}").to_lowercase()
}

/// A connection that was promised to be kept and is closed loses the request that was under way to it. How many there
/// are is chance; that each is one fault, and no more, is not.
fn compare_losses(world: &World, differences: &mut Differences) {
    let lost = world.run.sent_total.sum() - world.log.requests;
    let kinds = [Kind::ClosedBeforeResponse, Kind::Reset, Kind::NeverSent];
    let sent = world.faults(&kinds[..2]);
    differences.compare(world, "lost", lost, sent);
    differences.compare(world, "errors", world.errors(), world.faults(&kinds));
    let closed = world.log.count(M::CloseKept);
    differences.compare(world, "lost, at most", true, world.errors() <= closed);
    let answered = world.log.answered + closed - 1;
    differences.compare(world, "answered", answered, world.summary().ok);
}

#[test]
fn what_is_right_but_rare_is_ok_to_the_byte() {
    meet(|wants| matches!(wants, Wants::Ok));
}

#[test]
fn a_broken_promise_to_keep_the_connection_costs_the_requests_it_lost() {
    meet(|wants| matches!(wants, Wants::Last));
}

#[test]
fn bytes_behind_an_answer_are_strays_and_fault_no_exchange() {
    meet(|wants| matches!(wants, Wants::Stray));
}

#[test]
fn silence_and_slowness_are_cut_off_and_counted_with_their_step() {
    meet(|wants| matches!(wants, Wants::Fault(Kind::Timeout, _)));
}

#[test]
fn every_spoilt_answer_is_one_fault_of_its_kind_with_step_and_blame() {
    let is_slow = |wants| matches!(wants, Wants::Fault(Kind::Timeout, _));
    meet(|wants| matches!(wants, Wants::Fault(..)) && !is_slow(wants));
}

#[test]
fn a_connection_closed_or_reset_at_accept_fails_the_one_exchange_that_was_for_it() {
    let mut differences = Differences::default();
    for misbehaviour in [M::CloseAtAccept, M::ResetAtAccept] {
        let script = Script::of(misbehaviour, When::Every(EVERY));
        let flags = format!("-n {MANY} -c 4 --no-keepalive --connect lazy {PATIENT}");
        let world = weigh(misbehaviour.name(), script, &flags);
        differences.compare_all(&world, MANY);
        let bad = (MANY + 1) / EVERY;
        let log = &world.log;
        differences.compare(&world, "misbehaved", bad, log.count(misbehaviour));
        differences.compare(&world, "ok", MANY - bad, world.summary().ok);
        differences.compare(&world, "answered", MANY + 1 - bad, log.answered);
        // Which of them it is depends on whether the request or the end is faster.
        let kinds = [
            Kind::ClosedBeforeResponse,
            Kind::Reset,
            Kind::ConnectReset,
            Kind::NeverSent,
        ];
        differences.compare(&world, "errors", bad, world.faults(&kinds));
        let tried = world.tally().connects.established + world.failed_connects();
        differences.compare(&world, "connections", log.connections, tried + 1);
    }
    differences.assert_none();
}

#[test]
fn an_answer_that_was_not_asked_for_is_a_stray_and_no_answer() {
    let mut differences = Differences::default();
    let script = Script::of(M::AnswerUnasked, When::Only(3));
    let world = weigh(
        M::AnswerUnasked.name(),
        script,
        &format!("-n {MANY} -c 4 {PATIENT}"),
    );
    differences.compare_all(&world, MANY);
    differences.compare_sides(&world);
    differences.compare(&world, "ok", MANY, world.summary().ok);
    differences.compare(&world, "strays", 1, world.tally().strays.total());
    differences.assert_none();
}

#[test]
fn connections_that_nobody_accepts_for_a_while_are_late_and_none_is_lost() {
    let mut differences = Differences::default();
    let script = Script {
        outage: Nanos::from_millis(150),
        ..Script::of(M::StopAccepting, When::Only(10))
    };
    let flags = format!("-n {MANY} -c 4 --no-keepalive --connect lazy {PATIENT}");
    let world = weigh(M::StopAccepting.name(), script, &flags);
    differences.compare_all(&world, MANY);
    differences.compare_sides(&world);
    differences.compare(&world, "ok", MANY, world.summary().ok);
    let max = world.summary().latency_us.max.unwrap_or(0.0);
    differences.compare(&world, "waited", true, max > 100_000.0);
    differences.assert_none();
}

#[test]
fn a_server_that_accepts_no_more_ends_the_run_in_time() {
    let mut differences = Differences::default();
    let script = Script {
        outage: Nanos::from_nanos(u64::MAX),
        ..Script::of(M::StopAccepting, When::Only(10))
    };
    let flags = format!(
        "-n {MANY} -c 4 --no-keepalive --connect lazy --timeout 150ms --connect-timeout 150ms"
    );
    let world = weigh(M::StopAccepting.name(), script, &flags);
    differences.compare_all(&world, MANY);
    // The probe and nine more were accepted and answered.
    differences.compare(&world, "answered", 10, world.log.answered);
    differences.compare(&world, "ok", 9, world.summary().ok);
    let kinds = [Kind::Timeout, Kind::Unfinished, Kind::NeverSent];
    differences.compare(&world, "errors", MANY - 9, world.faults(&kinds));
    let timeouts = world.faults(&[Kind::Timeout]);
    differences.compare(&world, "timeouts", true, timeouts >= 4);
    differences.assert_none();
}

#[test]
fn a_port_that_nobody_listens_on_any_more_refuses_one_exchange_a_connect() {
    // Few, because the wait before the next connect doubles each time.
    let mut differences = Differences::default();
    let script = Script {
        outage: Nanos::from_nanos(u64::MAX),
        ..Script::of(M::StopListening, When::Only(10))
    };
    let flags = format!("-n {FEW} -c 1 --no-keepalive --connect lazy {PATIENT}");
    let world = weigh(M::StopListening.name(), script, &flags);
    differences.compare_all(&world, FEW);
    differences.compare(&world, "answered", 10, world.log.answered);
    differences.compare(&world, "ok", 9, world.summary().ok);
    let refused = world.faults(&[Kind::ConnectRefused]);
    differences.compare(&world, "refused", FEW - 9, refused);
    differences.assert_none();
}

#[test]
fn a_server_that_is_killed_and_started_again_is_loaded_again() {
    let mut differences = Differences::default();
    let script = Script {
        outage: Nanos::from_millis(100),
        ..Script::of(M::Die, When::Only(200))
    };
    let flags = format!("-d 1s --warmup 0ms -c 4 {PATIENT}");
    let world = weigh(M::Die.name(), script, &flags);
    differences.compare_all(&world, world.summary().requests);
    differences.compare(&world, "died", 1, world.log.count(M::Die));
    // All that was answered has arrived: what the kernel had taken before the reset was read before it was seen.
    differences.compare(
        &world,
        "answered",
        world.log.answered,
        world.summary().ok + 1,
    );
    differences.compare(&world, "loaded again", true, world.summary().ok > 250);
    let kinds = [Kind::Reset, Kind::NeverSent, Kind::ConnectRefused];
    differences.compare(&world, "errors", world.errors(), world.faults(&kinds));
    let refused = world.faults(&kinds[2..]);
    differences.compare(&world, "refused", true, refused > 0);
    // Four connections were open: one exchange each, at most.
    differences.compare(&world, "reset", true, world.errors() - refused <= 4);
    let lost = world.run.sent_total.sum() - world.log.requests;
    differences.compare(&world, "lost, at most", true, lost <= 3);
    differences.assert_none();
}

#[test]
fn a_server_that_stands_still_for_a_while_is_late_and_nothing_else() {
    let mut differences = Differences::default();
    let script = Script {
        outage: Nanos::from_millis(200),
        ..Script::of(M::Freeze, When::Only(20))
    };
    let flags = format!("-n {MANY} -c 4 {PATIENT}");
    let world = weigh(M::Freeze.name(), script, &flags);
    differences.compare_all(&world, MANY);
    differences.compare_sides(&world);
    differences.compare(&world, "ok", MANY, world.summary().ok);
    let max = world.summary().latency_us.max.unwrap_or(0.0);
    differences.compare(&world, "waited", true, max >= 200_000.0);
    differences.assert_none();
}
