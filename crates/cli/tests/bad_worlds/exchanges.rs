//! Misbehaviours that meet one exchange and end with it.

use crate::world::{Differences, EVERY, FEW, HURRIED, MANY, PATIENT, TLS, World, has_uring, weigh};
use record::{Blame, Fault, FaultCount, Kind, Step};
use testserver::misbehaviour::{Misbehaviour, Script, Trigger, When};
use units::Nanos;

use Misbehaviour as M;

/// Connections at a time, where nothing is ever right.
const CONNECTIONS: u64 = 4;

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
        M::HugeHead => Fault(Kind::HeadTooLarge, Head),
        M::EndlessHead => Fault(Kind::TooManyHeaders, Head),
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
        M::CloseUnsaid => Last,
        M::UntilCloseUnsaid | M::CloseInRecord => Fault(Kind::CutOff, Body),
        M::CloseInBodyUnsaid => Fault(Kind::ClosedInBody, Body),
        M::Alert => Fault(Kind::Alert, Head),
        M::PlainResponse | M::BrokenRecord | M::RecordTooLong => Fault(Kind::BadRecord, Head),
        M::SilenceInRecord => Fault(Kind::Timeout, Head),
        secured if secured.trigger() == Trigger::Connection && secured.is_beneath_tls() => {
            return None;
        }
        unknown => panic!("nobody has said what is wanted of `{}`", unknown.name()),
    })
}

/// How weigh asks.
const LOADS: [&str; 2] = ["-c 4", "-c 7 -t 2 --no-keepalive --connect lazy"];
/// The same through the other ring.
const LOADS_URING: [&str; 2] = [
    "-c 4 --ring io_uring",
    "-c 7 -t 2 --no-keepalive --connect lazy --ring io_uring",
];

/// Over TLS.
const LOADS_TLS: [&str; 2] = [
    "-c 4 --cacert cert.pem",
    "-c 7 -t 2 --no-keepalive --connect lazy --cacert cert.pem",
];
/// Over TLS through the other ring.
const LOADS_TLS_URING: [&str; 2] = [
    "-c 4 --cacert cert.pem --ring io_uring",
    "-c 7 -t 2 --no-keepalive --connect lazy --cacert cert.pem --ring io_uring",
];

/// Rows that are met at a time: most of those that are cut off do nothing but wait.
const LANES: usize = 4;

/// Trigger every row that `chosen` picks, by every fifth exchange, and compares all counts.
#[track_caller]
fn meet(loads: [&str; 2], chosen: impl Fn(Wants) -> bool) {
    let has_tls = loads.iter().all(|load| load.contains(TLS));
    let wanted = M::ALL
        .iter()
        .filter(|each| has_tls || !each.is_beneath_tls())
        .filter_map(|each| Some((*each, wants(*each)?)));
    let rows: Vec<(M, Wants)> = wanted.filter(|(_, wants)| chosen(*wants)).collect();
    assert!(!rows.is_empty(), "no row was chosen");
    let lane = |rows: &[(M, Wants)]| {
        let mut differences = Differences::default();
        for (misbehaviour, wants) in rows {
            for load in loads {
                meet_one(*misbehaviour, *wants, load, &mut differences);
            }
        }
        differences
    };
    let differences = std::thread::scope(|scope| {
        let lanes = rows.chunks(rows.len().div_ceil(LANES));
        let lanes: Vec<_> = lanes.map(|rows| scope.spawn(|| lane(rows))).collect();
        let found = lanes.into_iter().map(|lane| lane.join().unwrap());
        found.collect::<Differences>()
    });
    differences.assert_none();
}

fn meet_one(misbehaviour: M, wants: Wants, load: &str, differences: &mut Differences) {
    let is_slow = is_slow(wants);
    let is_big = misbehaviour == M::HugeBody;
    let requests = if is_slow || is_big { FEW } else { MANY };
    let patience = if is_slow { HURRIED } else { PATIENT };
    let method = match misbehaviour.trigger() {
        Trigger::Head => "-X HEAD",
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
        return compare_losses(&world, misbehaviour, differences);
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
        }
    }
    differences.compare(&world, "faults", faults, world.sorted_faults());
    differences.compare(&world, "strays", strays, world.tally().strays.sorted());
}

/// A connection that was promised to be kept and is closed loses the request that was under way to it. How many there
/// are is chance; that each is one fault, and no more, is not.
fn compare_losses(world: &World, misbehaviour: M, differences: &mut Differences) {
    let lost = world.run.sent_total.sum() - world.log.requests;
    let kinds = [Kind::ClosedBeforeResponse, Kind::Reset, Kind::NeverSent];
    let sent = world.faults(&kinds[..2]);
    differences.compare(world, "lost", lost, sent);
    differences.compare(world, "errors", world.errors(), world.faults(&kinds));
    let closed = world.log.count(misbehaviour);
    differences.compare(world, "lost, at most", true, world.errors() <= closed);
    let answered = world.log.answered + closed - 1;
    differences.compare(world, "answered", answered, world.summary().ok);
}

#[test]
fn what_is_right_but_rare_is_ok_to_the_byte() {
    meet(LOADS, |wants| matches!(wants, Wants::Ok));
}

#[test]
fn a_broken_promise_to_keep_the_connection_costs_the_requests_it_lost() {
    meet(LOADS, |wants| matches!(wants, Wants::Last));
}

#[test]
fn bytes_behind_an_answer_are_strays_and_fault_no_exchange() {
    meet(LOADS, |wants| matches!(wants, Wants::Stray));
}

#[test]
fn silence_and_slowness_are_cut_off_and_counted_with_their_step() {
    meet(LOADS, is_slow);
}

#[test]
fn every_spoilt_answer_is_one_fault_of_its_kind_with_step_and_blame() {
    meet(LOADS, |wants| {
        matches!(wants, Wants::Fault(..)) && !is_slow(wants)
    });
}

#[test]
fn what_is_soon_over_comes_to_the_same_counts_on_io_uring() {
    if has_uring() {
        meet(LOADS_URING, |wants| !is_slow(wants));
    }
}

#[test]
fn what_is_cut_off_comes_to_the_same_counts_on_io_uring() {
    if has_uring() {
        meet(LOADS_URING, is_slow);
    }
}

#[test]
fn what_is_soon_over_comes_to_the_same_counts_over_tls() {
    meet(LOADS_TLS, |wants| !is_slow(wants));
}

#[test]
fn what_is_cut_off_comes_to_the_same_counts_over_tls() {
    meet(LOADS_TLS, is_slow);
}

#[test]
fn what_is_soon_over_comes_to_the_same_counts_over_tls_on_io_uring() {
    if has_uring() {
        meet(LOADS_TLS_URING, |wants| !is_slow(wants));
    }
}

fn is_slow(wants: Wants) -> bool {
    matches!(wants, Wants::Fault(Kind::Timeout, _))
}

#[test]
fn a_server_that_does_nothing_right_leaves_nothing_ok_and_the_run_ends() {
    let mut differences = Differences::default();
    for misbehaviour in M::ALL {
        if let Some(Wants::Fault(kind, step)) = wants(*misbehaviour) {
            meet_always(*misbehaviour, kind, step, &mut differences);
        }
    }
    differences.assert_none();
}

/// Every exchange is spoilt, the probe too.
fn meet_always(misbehaviour: M, kind: Kind, step: Step, differences: &mut Differences) {
    let (requests, patience) = match kind {
        Kind::Timeout => (CONNECTIONS, "--timeout 200ms"),
        _ => (FEW, PATIENT),
    };
    let script = Script::of(misbehaviour, When::Every(1));
    let tls = if misbehaviour.is_beneath_tls() {
        TLS
    } else {
        ""
    };
    let flags = format!("-n {requests} -c {CONNECTIONS} {patience} {tls}");
    let world = weigh(misbehaviour.name(), script, &flags);
    differences.compare_all(&world, requests);
    differences.compare_sides(&world);
    let log = &world.log;
    differences.compare(&world, "misbehaved", requests + 1, log.count(misbehaviour));
    differences.compare(&world, "ok", 0, world.summary().ok);
    let fault = Fault {
        kind,
        step,
        blame: Blame::Server,
    };
    let wanted = vec![FaultCount {
        fault,
        count: requests,
    }];
    differences.compare(&world, "faults", wanted, world.sorted_faults());
    let found = !world.run.findings.is_empty();
    differences.compare(&world, "found fault with", true, found);
}
