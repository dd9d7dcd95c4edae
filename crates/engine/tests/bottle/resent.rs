//! Requests that were pipelined behind a response that closed their connection: sent again, once.

use super::*;
use plan::{Body, Request, Requests};

fn pipelined(requests: u64, pipeline: u32) -> Plan {
    let mut plan = closed(1, Stop::Requests(requests));
    plan.protocol.pipeline = pipeline;
    plan
}

fn closing_after(number: u64) -> Script {
    Script {
        close_after: Some(number),
        ..constant(MS)
    }
}

/// Short sends and small reads: nothing may depend on how bytes are cut.
fn cuts() -> [Faults; 3] {
    [Reads::Whole, Reads::OneByte, Reads::Random].map(|reads| Faults {
        reads,
        short_writes: if reads == Reads::Whole { 0.0 } else { 0.4 },
        ..Faults::default()
    })
}

#[test]
fn what_waits_behind_an_announced_close_is_sent_again_and_ends_ok() {
    for faults in cuts() {
        let is_whole = faults.reads == Reads::Whole;
        let options = Options {
            faults,
            ..Options::default()
        };
        let (round, _, _) = bottle(&pipelined(100, 4), closing_after(10), options);
        let tally = &round.tally;
        assert!(tally.conserved());
        assert_eq!((tally.ok, tally.errors()), (100, 0));
        assert!(tally.resent <= 27, "{}", tally.resent);
        assert_eq!(round.sent_total.sum(), 100, "each counts once");
        assert_eq!(tally.connects.established, 10);
        if is_whole {
            // Nine times three; those keep their first stamp, so that only the very first three wait for fewer than
            // three others.
            assert_eq!(tally.resent, 27);
            assert_eq!(
                tally
                    .service
                    .count_at_or_below((MS * 4).as_nanos() - 100_000),
                3
            );
            let each = tally.bytes_sent / 127;
            assert_eq!(tally.bytes_sent, each * 127, "both sendings are counted");
        }
    }
}

#[test]
fn a_second_refusal_is_an_error() {
    let (round, _, _) = bottle(&pipelined(8, 4), closing_after(1), Options::default());
    let tally = &round.tally;
    assert!(tally.conserved());
    // A, B and C and D are refused; B, C, D and E are sent; C and D are refused again, E for the first time; ...
    assert_eq!((tally.ok, faults(tally, Kind::Abandoned)), (4, 4));
    assert_eq!(tally.resent, 7);
    assert_eq!(round.sent_total.sum(), 8);
}

#[test]
fn a_post_that_was_sent_is_not_sent_again() {
    let mut plan = pipelined(40, 4);
    plan.requests = Requests::Listed(vec![Request {
        method: "POST".into(),
        body: Some(Body::Text(String::new())),
        ..Request::get("/")
    }]);
    let (round, _, _) = bottle(&plan, closing_after(10), Options::default());
    let tally = &round.tally;
    assert!(tally.conserved());
    assert_eq!(tally.resent, 0);
    assert!(faults(tally, Kind::Abandoned) >= 3);
    assert_eq!(tally.ok + faults(tally, Kind::Abandoned), 40);
}

#[test]
fn templates_are_sent_again_with_the_number_they_have() {
    let mut plan = pipelined(60, 5);
    plan.requests = Requests::Listed(vec![Request::get("/{seq}"), Request::get("/")]);
    let (round, _, _) = bottle(&plan, closing_after(7), Options::default());
    assert_eq!((round.tally.ok, round.tally.errors()), (60, 0));
    assert!(round.tally.resent > 20);
}

#[test]
fn a_server_that_is_gone_after_the_close_ends_what_was_to_be_sent_again() {
    for stop in [Stop::Requests(50), Stop::Duration(MS * 50)] {
        let mut plan = pipelined(50, 4);
        plan.stop = stop;
        plan.timeouts.exchange = MS * 30;
        plan.timeouts.connect = MS * 30;
        let script = Script {
            dead_from: Some(11),
            ..closing_after(10)
        };
        let (round, _, _) = bottle(&plan, script, Options::default());
        assert!(round.tally.conserved());
        assert_eq!(round.tally.ok, 10);
    }
}

#[test]
fn fewer_requests_a_connection_than_are_to_be_sent_again_take_several() {
    let mut plan = pipelined(30, 8);
    plan.protocol.requests_per_connection = Some(3);
    let (round, _, _) = bottle(&plan, closing_after(2), Options::default());
    assert!(round.tally.conserved());
    assert_eq!(round.tally.ok + faults(&round.tally, Kind::Abandoned), 30);
}
