//! Whether threads wait awake: what `--spin` comes to on this machine.
//!
//! A thread that is awake while others need the CPU slows down what is to be measured. So it is decided once for a load, from how
//! many CPUs there are and who else needs one, and written into the record.

use plan::{Endpoint, Plan, Spin};
use record::BusyPoll;
use units::Nanos;

/// How long before a due, and after a send, a thread is awake. Of 2000 waits each of 50 us to 0.9 ms on a 2-core virtual
/// machine, by a thread that others could not keep from its CPU, sleep ended 15 to 33 us late at the median, 23 to 54 us
/// at p99 and 59 to 87 us at p99.9. So nearly all are awake in time; and a fast server answers within as long.
const STRETCH: Nanos = Nanos::from_micros(100);

/// How threads wait on this machine that carry out `plan` against `endpoint`. With two generators it is the same for one
/// and for both, so that nothing else differs between them: as the threads of both can.
pub fn busy_poll(plan: &Plan, endpoint: &Endpoint) -> BusyPoll {
    decide(plan, endpoint, cpus())
}

/// The same where this process may use `cpus` whole CPUs.
fn decide(plan: &Plan, endpoint: &Endpoint, cpus: u32) -> BusyPoll {
    let server = u32::from(endpoint.is_local());
    let threads = match plan.two_generators {
        true => plan.for_two_generators().threads(),
        false => plan.threads(),
    };
    let is_free = cpus >= threads.saturating_add(server);
    match plan.spin {
        Spin::Never => BusyPoll::Never,
        Spin::Always => BusyPoll::Always,
        // A closed loop has no dues, and what its exchanges cost is what it is there to tell.
        Spin::Auto if is_free && plan.load.is_open() => BusyPoll::Near(STRETCH),
        Spin::Auto => BusyPoll::Never,
    }
}

/// The whole CPUs that this process may use: as many as its affinity names, or fewer where a quota is set.
fn cpus() -> u32 {
    let allowed = kernel::affinity::allowed().len() as u32;
    whole(allowed, kernel::quota::own())
}

fn whole(allowed: u32, quota: Option<f64>) -> u32 {
    // A part of a CPU is none: a thread that polls on it is stopped in between.
    quota.map_or(allowed, |quota| allowed.min(quota.floor() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Arrivals, Load};
    use units::Rate;

    fn plan(spin: Spin, is_open: bool) -> Plan {
        let mut plan = Plan::example("192.0.2.1:80".parse().unwrap());
        plan.load = match is_open {
            true => Load::Open {
                rate: Rate::per_second(1000),
                of: plan::Arriving::Exchanges,
                arrivals: Arrivals::Poisson,
                connections: 8,
            },
            false => Load::Closed { connections: 8 },
        };
        (plan.spin, plan.threads) = (spin, 2);
        plan
    }

    #[test]
    fn auto_is_awake_in_an_open_loop_that_has_a_cpu_for_each_thread_and_for_a_local_server() {
        let near = BusyPoll::Near(STRETCH);
        let cases = [
            (Spin::Auto, true, "192.0.2.1:80", 2, near),
            (Spin::Auto, true, "192.0.2.1:80", 1, BusyPoll::Never),
            (Spin::Auto, true, "127.0.0.1:80", 3, near),
            (Spin::Auto, true, "127.0.0.1:80", 2, BusyPoll::Never),
            (Spin::Auto, false, "192.0.2.1:80", 64, BusyPoll::Never),
            (Spin::Always, true, "127.0.0.1:80", 1, BusyPoll::Always),
            (Spin::Always, false, "127.0.0.1:80", 1, BusyPoll::Always),
            (Spin::Never, true, "192.0.2.1:80", 64, BusyPoll::Never),
        ];
        for (spin, is_open, address, cpus, wanted) in cases {
            let endpoint = Endpoint::Ip(address.parse().unwrap());
            let found = decide(&plan(spin, is_open), &endpoint, cpus);
            assert_eq!(found, wanted, "{spin:?} {is_open} {address} {cpus}");
        }
    }

    #[test]
    fn with_two_generators_there_is_a_cpu_for_each_thread_of_both_or_all_sleep() {
        let near = BusyPoll::Near(STRETCH);
        for (spin, address, cpus, wanted) in [
            (Spin::Auto, "192.0.2.1:80", 4, near),
            (Spin::Auto, "192.0.2.1:80", 3, BusyPoll::Never),
            (Spin::Auto, "127.0.0.1:80", 5, near),
            (Spin::Auto, "127.0.0.1:80", 4, BusyPoll::Never),
            (Spin::Always, "127.0.0.1:80", 1, BusyPoll::Always),
        ] {
            let mut plan = plan(spin, true);
            plan.two_generators = true;
            let endpoint = Endpoint::Ip(address.parse().unwrap());
            let found = decide(&plan, &endpoint, cpus);
            assert_eq!(found, wanted, "{spin:?} {address} {cpus}");
        }
    }

    #[test]
    fn part_of_a_cpu_is_none() {
        let cases = [
            (4, None, 4),
            (4, Some(2.9), 2),
            (4, Some(9.0), 4),
            (4, Some(0.5), 0),
        ];
        for (allowed, quota, wanted) in cases {
            assert_eq!(whole(allowed, quota), wanted, "{allowed} {quota:?}");
        }
    }
}
