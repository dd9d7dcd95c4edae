//! Requests that a script makes, and what it is told of the responses.

use super::*;
use plan::{Arrivals, Arriving, Request, Requests};
use std::io::Write;

/// `plan` with requests made by a script of this text, which is kept by the second.
fn with_script(mut plan: Plan, text: &str) -> (Plan, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    plan.requests = Requests::Script {
        path: file.path().to_owned(),
        arguments: Vec::new(),
        common: Request::get("/"),
    };
    (plan, file)
}

/// One round of `plan` on one thread; how many requests the server saw, and what the script wrote.
fn scripted(plan: Plan, text: &str) -> (Round, u64, Result<String, String>) {
    let (plan, _file) = with_script(plan, text);
    let job = Job::new(plan.clone(), plan.target.endpoints[0].clone()).unwrap();
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(1, &stop);
    let server = Server::shared(Script {
        service: vec![MS],
        ..Script::default()
    });
    let ring = Sim::with(1, server.clone(), Options::default());
    let result = Thread::new(ring, &job, &barrier, 0, 0).run();
    let round = assemble(0, vec![result]);
    let said = job.script_output(&round);
    let said = said.map(|said| said.map_or(String::new(), |said| said.out));
    let requests = server.0.lock().unwrap().requests;
    (round, requests, said)
}

#[test]
fn every_response_is_told_once() {
    let text =
        "function request() asked = (asked or 0) + 1; return wrk.format(nil, '/' .. asked) end
        local statuses, length = {}, 0
        function response(status, headers, body)
          statuses[status] = (statuses[status] or 0) + 1
          length = length + #body + tonumber(headers['Content-Length'])
          wrk.seen = statuses[200] .. ' of 200, ' .. length
          seen = wrk.seen
        end
        function setup(thread) it = thread end
        function done(summary, latency)
          print(it:get('seen') .. ', ' .. summary.requests .. ', ' .. latency.min)
        end";
    let (round, requests, said) = scripted(closed(3, Stop::Requests(50)), text);
    assert_eq!((round.tally.ok, requests), (50, 50));
    assert_eq!(said.unwrap(), "50 of 200, 500, 50, 1000\n");
}

#[test]
fn a_script_that_makes_one_request_has_its_body_compared_and_is_told_the_end() {
    let text = "wrk.path = '/one'\nfunction done(summary) print(summary.requests) end";
    let (round, requests, said) = scripted(closed(2, Stop::Requests(20)), text);
    assert_eq!((round.tally.ok, requests), (20, 20));
    assert!(round.tally.bodies.iter().next().is_some());
    assert_eq!(said.unwrap(), "20\n");
}

#[test]
fn connections_wait_before_each_request_as_long_as_the_script_says() {
    let text = "function delay() return 9 end";
    // 1 ms of service and 9 of delay: a hundred a second on each connection.
    let (round, requests, _) = scripted(closed(2, Stop::Duration(MS * 1_000)), text);
    assert!((190..=202).contains(&round.tally.ok), "{}", round.tally.ok);
    assert_eq!(round.tally.errors(), 0);
    assert_eq!(round.sent_total.measure + round.sent_total.warmup, requests);
    let (round, requests, _) = scripted(closed(2, Stop::Requests(20)), text);
    assert_eq!(
        (round.tally.ok, round.tally.errors(), requests),
        (20, 0, 20)
    );
    let lazy = Plan {
        connect: Connect::Lazy,
        ..closed(2, Stop::Duration(MS * 1_000))
    };
    let (round, _, _) = scripted(lazy, text);
    assert!((190..=202).contains(&round.tally.ok), "{}", round.tally.ok);
    // The delay is before the request, and no part of its latency.
    assert!(round.tally.service.max().unwrap() < (MS * 2).as_nanos());
}

#[test]
fn latency_by_a_rate_is_from_when_requests_were_due() {
    // Twice as many as one connection carries: the last wait for about half of the window.
    let plan = Plan {
        load: Load::Open {
            rate: "2000".parse().unwrap(),
            of: Arriving::Exchanges,
            arrivals: Arrivals::Constant,
            connections: 1,
        },
        stop: Stop::Duration(MS * 400),
        ..base()
    };
    let text = "function request() return wrk.format() end
        function done(summary, latency) print(latency.max > 100000) end";
    let (_, _, said) = scripted(plan, text);
    assert_eq!(said.unwrap(), "true\n");
}

#[test]
fn a_thread_that_the_script_stops_sends_nothing_more() {
    let text = "local sent = 0
        function request()
          sent = sent + 1
          if sent == 5 then wrk.thread:stop() end
          return wrk.format()
        end";
    let (round, requests, said) = scripted(closed(2, Stop::Duration(MS * 100)), text);
    assert_eq!((round.tally.ok, requests), (5, 5));
    assert_eq!((round.tally.errors(), round.tally.never_sent), (0, 0));
    assert!(said.is_ok() && !round.partial);
}

#[test]
fn a_script_that_fails_ends_the_round() {
    let text = "local sent = 0
        function request()
          sent = sent + 1
          if sent == 5 then error('enough') end
          return wrk.format()
        end";
    let (round, requests, said) = scripted(closed(1, Stop::Duration(MS * 10_000)), text);
    assert_eq!((round.tally.ok, requests), (4, 4));
    assert!(round.partial);
    let why = said.unwrap_err();
    assert!(why.ends_with(":4: enough"), "{why}");
}

#[test]
fn requests_behind_one_another_are_made_for_each_place() {
    let text = "local two = wrk.format(nil, '/a') .. wrk.format(nil, '/b')
        function request() return two end";
    let mut plan = closed(1, Stop::Requests(40));
    plan.protocol.pipeline = 2;
    let (round, requests, _) = scripted(plan, text);
    assert_eq!((round.tally.ok, requests), (40, 40));
}

#[test]
fn what_contradicts_a_script_is_refused_before_the_load() {
    let refused = |plan: Plan, text: &str| {
        let (plan, _file) = with_script(plan, text);
        let job = Job::new(plan.clone(), plan.target.endpoints[0].clone());
        job.unwrap_err().to_string()
    };
    let open = Plan {
        load: Load::Open {
            rate: "100".parse().unwrap(),
            of: Arriving::Exchanges,
            arrivals: Arrivals::Poisson,
            connections: 10,
        },
        ..base()
    };
    let why = refused(open, "function delay() return 1 end");
    assert!(why.contains("delay() contradicts a rate"), "{why}");
    let elsewhere = "function setup(thread) thread.addr = wrk.lookup('192.0.2.9', 80)[1] end";
    let why = refused(closed(1, Stop::Requests(1)), elsewhere);
    assert!(why.contains("is given the address 192.0.2.9:80"), "{why}");
}
