//! The self-test as a part of a campaign: before anything is asked of the server, and nothing of it in its counts.

use campaign::{CampaignError, Quiet, SelfTestError, View, carry_out};
use plan::{Arrivals, Arriving, Load, Plan, Stop};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use units::Nanos;

/// Somebody who listens, and a plan of an open loop that would ask him.
fn listener_and_plan(rate: &str) -> (TcpListener, Plan) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let plan = Plan {
        load: Load::Open {
            rate: rate.parse().unwrap(),
            of: Arriving::Exchanges,
            arrivals: Arrivals::Constant,
            connections: 100,
        },
        stop: Stop::Duration(Nanos::from_millis(100)),
        rounds: 1,
        ..Plan::example(listener.local_addr().unwrap())
    };
    (listener, plan)
}

/// Whether no client has ever connected.
fn was_left_alone(listener: &TcpListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    let accepted = listener.accept();
    accepted.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn a_rate_beyond_reach_is_refused_before_anybody_is_asked_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, plan) = listener_and_plan("50m");
    let stop = AtomicBool::new(false);
    let refused = carry_out(
        plan,
        &folder.path().join("run.json"),
        &[],
        &stop,
        &mut Quiet,
    );
    assert!(
        matches!(refused, Err(CampaignError::BeyondReach(_))),
        "{refused:?}"
    );
    assert!(was_left_alone(&listener));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Interrupts as soon as the self-test begins.
struct Impatient<'a>(&'a AtomicBool);

impl View for Impatient<'_> {
    fn self_test(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn without_baseline(&mut self, error: &SelfTestError) {
        panic!("{error}");
    }
}

#[test]
fn an_interrupt_in_the_self_test_ends_the_campaign_before_anybody_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, plan) = listener_and_plan("1k");
    let stop = AtomicBool::new(false);
    let ended = carry_out(
        plan,
        &folder.path().join("run.json"),
        &[],
        &stop,
        &mut Impatient(&stop),
    );
    assert!(
        matches!(ended, Err(CampaignError::Interrupted)),
        "{ended:?}"
    );
    assert!(was_left_alone(&listener));
}
