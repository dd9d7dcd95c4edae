//! Whose fault it is that something was never sent.

use super::{MS, plan};
use engine::{Barrier, Job, Thread, assemble};
use kernel::sim::{ConnectAnswer, Peer, Sim, World};
use plan::{Arrivals, Stop};
use record::{Blame, FaultCount};
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos};

/// Accepts no connection, and has the run interrupted when a client connects, if it is to.
struct Deaf<'a>(&'a AtomicBool, bool);

impl Peer for Deaf<'_> {
    fn connect(&mut self, _: Instant, _: u64, _: &mut World) -> ConnectAnswer {
        self.0.store(self.1, Ordering::Relaxed);
        ConnectAnswer::Never
    }

    fn receive(&mut self, _: Instant, _: u64, _: &[u8], _: &mut World) {}
}

#[test]
fn what_waits_for_a_connection_at_the_end_is_the_servers_fault_unless_the_run_was_interrupted() {
    for (interrupts, blame) in [(true, Blame::Generator), (false, Blame::Server)] {
        let mut plan = plan("1k", Arrivals::Constant, 2, Stop::Duration(MS * 100));
        plan.timeouts.connect = Nanos::from_secs(5);
        plan.timeouts.exchange = MS * 20;
        let job = Job::new(plan.clone(), plan.target.endpoints[0].clone()).unwrap();
        let stop = AtomicBool::new(false);
        let barrier = Barrier::new(1, &stop);
        let sim = Sim::new(1, Deaf(&stop, interrupts));
        let tally = assemble(0, vec![Thread::new(sim, &job, &barrier, 0, 0).run()]).tally;
        assert!(tally.never_sent > 0 && tally.never_sent == tally.scheduled);
        let blamed = |each: &FaultCount| each.fault.blame == blame;
        assert!(tally.faults.iter().all(blamed), "{:?}", tally.faults);
    }
}
