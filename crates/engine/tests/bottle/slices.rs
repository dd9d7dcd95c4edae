//! Load in slices: two servers loaded in turn by one thread each, over connections that stay open.

use super::*;
use engine::{Lane, SliceLength};

const LENGTH: SliceLength = SliceLength {
    least: Nanos::from_millis(100),
    requests: 200,
    most: Nanos::from_secs(2),
};

/// Some slices of a server with this script, loaded over `connections`.
fn slices(
    script: Script,
    connections: u32,
    number: u32,
    length: SliceLength,
) -> (Vec<record::Slice>, u64) {
    let mut plan = Plan::example("127.0.0.1:80".parse().unwrap());
    plan.load = Load::Closed { connections };
    plan.connect = Connect::Eager;
    plan.timeouts.exchange = Nanos::from_secs(1);
    let endpoint = plan.target.endpoints[0].clone();
    let job = Job::new(plan, endpoint).unwrap();
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(1, &stop);
    let server = Server::shared(script);
    let mut thread = Thread::new(
        Sim::with(1, server.clone(), Options::default()),
        &job,
        &barrier,
        0,
        0,
    );
    thread.open();
    let slices = (0..number)
        .map(|number| thread.slice(length, number).slice())
        .collect();
    let requests = server.0.lock().unwrap().requests;
    (slices, requests)
}

fn steady(service: Nanos) -> Script {
    Script {
        service: vec![service],
        ..Script::default()
    }
}

#[test]
fn every_request_of_every_slice_is_counted_once_and_connections_stay_open() {
    let (slices, requests) = slices(steady(MS), 4, 5, LENGTH);
    let counted: u64 = slices.iter().map(|slice| slice.ok).sum();
    assert_eq!(counted, requests);
    for slice in &slices {
        assert_eq!((slice.errors, slice.connects), (0, 0), "{slice:?}");
        assert!(slice.window >= LENGTH.least && slice.window < LENGTH.least + MS * 2);
        // What was in flight at the end is followed, and belongs to the slice.
        assert_eq!(slice.ok, slice.in_window + 4, "{slice:?}");
        assert!(slice.ok >= 4 * 90, "{slice:?}");
        assert!(slice.latency[0] >= Some(MS) && slice.latency[0] < Some(MS * 2));
        assert_eq!(slice.body.map(|body| body.0), Some(5));
    }
}

#[test]
fn a_slow_servers_slice_goes_on_until_enough_requests_have_ended_but_not_for_ever() {
    let (found, _) = slices(steady(MS * 10), 4, 2, LENGTH);
    for slice in found {
        assert!(slice.in_window >= 200 && slice.in_window < 210, "{slice:?}");
        assert!(slice.window > LENGTH.least * 4, "{slice:?}");
    }
    let (found, _) = slices(steady(MS * 300), 4, 2, LENGTH);
    for slice in found {
        assert!(
            slice.window >= LENGTH.most && slice.window < LENGTH.most + MS * 300,
            "{slice:?}"
        );
        assert!(slice.in_window >= 20 && slice.in_window < 30, "{slice:?}");
    }
}

#[test]
fn a_server_that_falls_silent_ends_a_slice_with_errors_and_not_with_a_wait_for_ever() {
    let script = Script {
        silent_from: Some(50),
        ..steady(MS)
    };
    let (found, _) = slices(script, 2, 2, LENGTH);
    assert_eq!(found[0].ok, 50);
    assert!(
        found[0].errors >= 2 && found[0].error.is_some(),
        "{:?}",
        found[0]
    );
    assert!(found[1].ok == 0 && found[1].errors > 0, "{:?}", found[1]);
}

#[test]
fn a_server_that_closes_connections_gets_new_ones_and_loses_nothing() {
    let script = Script {
        close_after: Some(10),
        ..steady(MS)
    };
    let (found, requests) = slices(script, 3, 3, LENGTH);
    assert_eq!(found.iter().map(|slice| slice.ok).sum::<u64>(), requests);
    assert!(
        found
            .iter()
            .all(|slice| slice.errors == 0 && slice.connects > 0),
        "{found:?}"
    );
}
