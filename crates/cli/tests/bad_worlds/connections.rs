//! Misbehaviours that meet a connection when it is accepted, or the whole server.

use crate::world::{Differences, EVERY, FEW, MANY, PATIENT, TLS, rings, weigh};
use record::{Blame, Fault, FaultCount, Kind, Step};
use testserver::misbehaviour::{Misbehaviour, Script, Trigger, When};
use units::Nanos;

use Misbehaviour as M;

/// What an exchange ends as whose connection is ended at accept. Which of them it is depends on whether the request or
/// the end is faster.
const AT_ACCEPT: [Kind; 4] = [
    Kind::ClosedBeforeResponse,
    Kind::Reset,
    Kind::ConnectReset,
    Kind::NeverSent,
];

#[test]
fn a_connection_closed_or_reset_at_accept_fails_the_one_exchange_that_was_for_it() {
    let mut differences = Differences::default();
    let both = [M::CloseAtAccept, M::ResetAtAccept].into_iter();
    for (misbehaviour, ring) in both.flat_map(|each| rings().iter().map(move |ring| (each, ring))) {
        let script = Script::of(misbehaviour, When::Every(EVERY));
        let flags = format!("-n {MANY} -c 4 --no-keepalive --connect lazy {ring} {PATIENT}");
        let world = weigh(misbehaviour.name(), script, &flags);
        differences.compare_all(&world, MANY);
        let bad = (MANY + 1) / EVERY;
        let log = &world.log;
        differences.compare(&world, "misbehaved", bad, log.count(misbehaviour));
        differences.compare(&world, "ok", MANY - bad, world.summary().ok);
        differences.compare(&world, "answered", MANY + 1 - bad, log.answered);
        differences.compare(&world, "errors", bad, world.faults(&AT_ACCEPT));
        let tried = world.tally().connects.established + world.failed_connects();
        differences.compare(&world, "connections", log.connections, tried + 1);
    }
    differences.assert_none();
}

/// What a request ends as whose connection's handshake meets this.
const IN_HANDSHAKE: [(M, Kind); 11] = [
    (M::HandshakeSilence, Kind::HandshakeTimeout),
    (M::HandshakeClose, Kind::ClosedInHandshake),
    (M::HandshakeReset, Kind::Reset),
    (M::HandshakeAlert, Kind::Alert),
    (M::HandshakePlain, Kind::NoHandshake),
    (M::HandshakeGarbage, Kind::BadHandshake),
    (M::HandshakeTooLong, Kind::BadHandshake),
    (M::SilenceInHandshake, Kind::HandshakeTimeout),
    (M::CloseInHandshake, Kind::ClosedInHandshake),
    (M::ResetInHandshake, Kind::Reset),
    (M::AlertInHandshake, Kind::Alert),
];

/// These of the server's doing in the handshake.
fn in_handshake(kind: Kind, count: u64) -> Vec<FaultCount> {
    let (step, blame) = (Step::Handshake, Blame::Server);
    let fault = Fault { kind, step, blame };
    vec![FaultCount { fault, count }]
}

#[test]
fn a_handshake_that_fails_fails_the_one_request_that_its_connection_was_for() {
    let beneath = M::ALL.iter().filter(|each| each.is_beneath_tls());
    let beneath = beneath.filter(|each| each.trigger() == Trigger::Connection);
    // All of them, and that of the certificate.
    assert_eq!(beneath.count(), IN_HANDSHAKE.len() + 1);
    let mut differences = Differences::default();
    for (row, ring) in IN_HANDSHAKE
        .iter()
        .flat_map(|row| rings().iter().map(move |ring| (row, ring)))
    {
        let (misbehaviour, kind) = *row;
        let (requests, patience) = match kind {
            Kind::HandshakeTimeout => (FEW, "--connect-timeout 1s"),
            _ => (MANY, PATIENT),
        };
        let script = Script::of(misbehaviour, When::Every(EVERY));
        let flags =
            format!("-n {requests} -c 4 --no-keepalive --connect lazy {ring} {patience} {TLS}");
        let world = weigh(misbehaviour.name(), script, &flags);
        differences.compare_all(&world, requests);
        let bad = (requests + 1) / EVERY;
        let log = &world.log;
        differences.compare(&world, "misbehaved", bad, log.count(misbehaviour));
        differences.compare(&world, "ok", requests - bad, world.summary().ok);
        differences.compare(&world, "answered", requests + 1 - bad, log.answered);
        differences.compare(&world, "requests", requests + 1 - bad, log.requests);
        let wanted = in_handshake(kind, bad);
        differences.compare(&world, "faults", wanted.clone(), world.sorted_faults());
        let failed = world.tally().connects.failed.sorted();
        differences.compare(&world, "failed connects", wanted, failed);
        let tried = world.tally().connects.established + bad;
        differences.compare(&world, "connections", log.connections, tried + 1);
    }
    differences.assert_none();
}

#[test]
fn a_certificate_that_changes_is_refused_from_the_next_connection_on_unless_any_will_do() {
    let mut differences = Differences::default();
    // The probe and nine more are shown the first one.
    for (trust, ok) in [(TLS, 9), ("--insecure", FEW)] {
        let script = Script::of(M::NewCertificate, When::Only(10));
        let flags = format!("-n {FEW} -c 4 --no-keepalive --connect lazy {PATIENT} {trust}");
        let world = weigh(M::NewCertificate.name(), script, &flags);
        differences.compare_all(&world, FEW);
        let log = &world.log;
        differences.compare(&world, "changed", 1, log.count(M::NewCertificate));
        differences.compare(&world, "connections", FEW + 1, log.connections);
        differences.compare(&world, "ok", ok, world.summary().ok);
        differences.compare(&world, "requests", ok + 1, log.requests);
        let faults = match FEW - ok {
            0 => Vec::new(),
            bad => in_handshake(Kind::Certificate, bad),
        };
        differences.compare(&world, "faults", faults, world.sorted_faults());
    }
    differences.assert_none();
}

#[test]
fn a_shield_that_closes_every_connection_without_a_word_leaves_nothing_ok() {
    let mut differences = Differences::default();
    let both = ["eager", "lazy"].into_iter();
    for (connect, ring) in both.flat_map(|each| rings().iter().map(move |ring| (each, ring))) {
        let script = Script::of(M::CloseAtAccept, When::Every(1));
        let flags = format!("-n {FEW} -c 4 --connect {connect} {ring} {PATIENT}");
        let world = weigh(M::CloseAtAccept.name(), script, &flags);
        differences.compare_all(&world, FEW);
        differences.compare(&world, "ok", 0, world.summary().ok);
        differences.compare(&world, "errors", FEW, world.faults(&AT_ACCEPT));
        differences.compare(&world, "answered", 0, world.log.answered);
        let tried = world.tally().connects.established + world.failed_connects();
        differences.compare(&world, "connections", world.log.connections, tried + 1);
    }
    differences.assert_none();
}

#[test]
fn connections_lost_before_the_load_are_opened_again_and_cost_no_exchange() {
    let mut differences = Differences::default();
    // The probe's connection is the first, the load's are the 2nd to the 20th, of which four are closed, and those that
    // replace them the 21st to the 24th, of which none is.
    let (asked, lost) = (19, 4);
    let loads = [
        "-n 1000",
        "-n 1000 -t 2",
        "-n 1000 --warmup 50ms",
        "-d 200ms --warmup 50ms",
    ];
    for (load, ring) in loads.iter().zip(rings().iter().cycle()) {
        let script = Script::of(M::CloseAtAccept, When::Every(EVERY));
        let flags = format!("{load} -c {asked} {ring} {PATIENT}");
        let world = weigh(M::CloseAtAccept.name(), script, &flags);
        differences.compare_all(&world, world.summary().requests);
        let log = &world.log;
        differences.compare(&world, "closed", lost, log.count(M::CloseAtAccept));
        let established = world.tally().connects.established;
        differences.compare(&world, "established", asked + lost, established);
        differences.compare(&world, "connections", log.connections, established + 1);
        // One that is closed only when the load has begun costs the request that was under way to it, once: in the
        // window it is a fault.
        let unseen = world.run.sent_total.sum() - log.requests;
        differences.compare(&world, "unseen, at most", true, unseen <= lost);
        let faults = world.faults(&AT_ACCEPT);
        differences.compare(&world, "errors", faults, world.errors());
        if world.run.sent_total.warmup == 0 {
            let sent = world.faults(&[Kind::ClosedBeforeResponse, Kind::Reset]);
            differences.compare(&world, "unseen", sent, unseen);
        }
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
fn a_server_that_is_killed_and_started_again_is_asked_for_all_of_a_number() {
    let mut differences = Differences::default();
    for ring in rings() {
        die_within_a_number(ring, &mut differences);
    }
    differences.assert_none();
}

fn die_within_a_number(ring: &str, differences: &mut Differences) {
    let requests = 2000;
    let script = Script {
        outage: Nanos::from_millis(100),
        ..Script::of(M::Die, When::Only(200))
    };
    let flags = format!("-n {requests} -c 4 {ring} {PATIENT}");
    let world = weigh(M::Die.name(), script, &flags);
    differences.compare_all(&world, requests);
    let [answered, ok] = [world.log.answered, world.summary().ok];
    differences.compare(&world, "answered", answered, ok + 1);
    let lost = world.run.sent_total.sum() - world.log.requests;
    differences.compare(&world, "lost, at most", true, lost <= 3);
    let kinds = [Kind::Reset, Kind::NeverSent, Kind::ConnectRefused];
    differences.compare(&world, "errors", world.errors(), world.faults(&kinds));
    let refused = world.failed_connects();
    differences.compare(&world, "refused", refused, world.faults(&kinds[2..]));
    // Waits of 1, 2, 4 ... 64 ms: eight tries of each of four connections, at most.
    differences.compare(&world, "tried, at most", true, refused <= 4 * 8);
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
