//! Advice that weigh refuses: settings that pages about tuning repeat, and that do nothing, or harm.
//!
//! Each row has the kernel version that made the advice wrong, and why; sources are the kernel's documentation
//! (ip-sysctl.rst) and the commits it names.

use crate::Facts;
use serde::Serialize;

/// A piece of advice that is not to be followed.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Folklore {
    /// The advice.
    pub advice: &'static str,
    /// The kernel version since which it is wrong.
    pub since: &'static str,
    /// Why it is wrong.
    pub why: &'static str,
    /// Whether a machine is set up so.
    #[serde(skip)]
    is_followed: fn(&Facts<'_>) -> bool,
}

/// Returns the advice that a machine follows.
pub fn followed(facts: &Facts<'_>) -> Vec<Folklore> {
    let rows = FOLKLORE.iter().copied();
    rows.filter(|row| (row.is_followed)(facts)).collect()
}

const fn row(
    advice: &'static str,
    since: &'static str,
    why: &'static str,
    is_followed: fn(&Facts<'_>) -> bool,
) -> Folklore {
    Folklore {
        advice,
        since,
        why,
        is_followed,
    }
}

/// Whether the setting `name` is a number of which `is` holds.
fn number(facts: &Facts<'_>, name: &str, is: impl Fn(u64) -> bool) -> bool {
    facts.sysctl(name, 0).is_some_and(is)
}

/// Whether the kernel is Linux 4.`minor` or newer.
fn since(facts: &Facts<'_>, minor: u32) -> bool {
    facts.kernel_from(4, minor) == Some(true)
}

/// Whether the setting `name` was switched off.
fn is_off(facts: &Facts<'_>, name: &str) -> bool {
    number(facts, name, |value| value == 0)
}

/// Whether the setting `name` was switched on.
fn is_on(facts: &Facts<'_>, name: &str) -> bool {
    number(facts, name, |value| value > 0)
}

/// Whether TCP's memory threshold is far from what the kernel sets, a 16th of the memory: under a 64th, or over all of it.
fn is_tcp_memory_set(facts: &Facts<'_>) -> bool {
    let pages = facts.machine.memory_bytes.map(|bytes| bytes / 4096);
    let pressure = facts.sysctl("net.ipv4.tcp_mem", 1);
    let is_far = |(pressure, pages): (u64, u64)| pressure < pages / 64 || pressure > pages;
    pressure.zip(pages).is_some_and(is_far)
}

/// Whether TIME_WAIT has less room than half of what the kernel sets: an entry for 256 KiB of memory or more.
fn is_time_wait_small(facts: &Facts<'_>) -> bool {
    let usual = facts.machine.memory_bytes.map(|bytes| bytes >> 18);
    let usual = usual.unwrap_or(0).min(1 << 16);
    number(facts, "net.ipv4.tcp_max_tw_buckets", |most| {
        most < usual / 2
    })
}

/// All advice that is known to be wrong.
pub const FOLKLORE: &[Folklore] = &[
    row(
        "net.ipv4.tcp_tw_recycle=1",
        "removed in Linux 4.12",
        "it dropped clients behind one address; the setting does not exist any more",
        |facts| is_on(facts, "net.ipv4.tcp_tw_recycle"),
    ),
    row(
        "net.ipv4.tcp_tw_reuse=1 for a server",
        "never worked",
        "it is for outgoing connections; since 4.19 the default 2 reuses ports on loopback",
        |_| false, // for a client the setting is sound
    ),
    row(
        "a low net.ipv4.tcp_fin_timeout, to shorten TIME_WAIT",
        "never worked",
        "it limits FIN_WAIT_2; TIME_WAIT is 60 s, built into the kernel",
        |facts| number(facts, "net.ipv4.tcp_fin_timeout", |seconds| seconds < 60),
    ),
    row(
        "net.ipv4.tcp_timestamps=0",
        "harmful in all versions",
        "ports cannot be reused and sequence numbers are not protected (PAWS)",
        |facts| is_off(facts, "net.ipv4.tcp_timestamps"),
    ),
    row(
        "net.ipv4.tcp_sack=0",
        "harmful in all versions",
        "a lost packet costs more retransmissions; without loss it changes nothing",
        |facts| is_off(facts, "net.ipv4.tcp_sack"),
    ),
    row(
        "net.ipv4.tcp_window_scaling=0",
        "harmful in all versions",
        "a connection is limited to 64 KiB in flight",
        |facts| is_off(facts, "net.ipv4.tcp_window_scaling"),
    ),
    row(
        "net.ipv4.tcp_low_latency=1",
        "without effect since 4.14",
        "the queue that it bypassed was removed",
        |facts| since(facts, 14) && is_on(facts, "net.ipv4.tcp_low_latency"),
    ),
    row(
        "net.ipv4.tcp_fack=1",
        "without effect since 4.15",
        "the algorithm was replaced (RACK)",
        |facts| since(facts, 15) && is_on(facts, "net.ipv4.tcp_fack"),
    ),
    row(
        "net.ipv4.tcp_mem='4096 87380 16777216' and the like",
        "never worked",
        "its unit is pages, and the kernel sizes it by the memory: too low, or no limit",
        is_tcp_memory_set,
    ),
    row(
        "net.core.rmem_max, wmem_max for HTTP",
        "without effect since 2.6.7",
        "they limit SO_RCVBUF and SO_SNDBUF; TCP sizes its buffers by tcp_rmem, tcp_wmem",
        |_| false, // harmless, and other programs may need it
    ),
    row(
        "a large net.ipv4.tcp_max_syn_backlog",
        "without effect since 4.4",
        "with SYN cookies on (the default), the accept queue is what limits",
        |_| false, // harmless
    ),
    row(
        "net.ipv4.tcp_abort_on_overflow=1",
        "harmful in all versions",
        "a short burst becomes errors instead of a delay",
        |facts| is_on(facts, "net.ipv4.tcp_abort_on_overflow"),
    ),
    row(
        "a large net.core.netdev_max_backlog",
        "without effect on its own",
        "the queue matters where it dropped packets (second column of /proc/net/softnet_stat)",
        |facts| {
            number(facts, "net.core.netdev_max_backlog", |packets| {
                packets > 100_000
            })
        },
    ),
    row(
        "a low net.ipv4.tcp_max_tw_buckets",
        "harmful in all versions",
        "it ends TIME_WAIT early and violates TCP; the kernel's manual forbids it",
        is_time_wait_small,
    ),
    row(
        "net.ipv4.tcp_congestion_control=bic",
        "replaced in 2.6.19",
        "cubic is its successor and the default",
        |facts| {
            facts
                .setup()
                .and_then(|setup| setup.sysctls.get("net.ipv4.tcp_congestion_control"))
                .is_some_and(|it| it == "bic")
        },
    ),
    row(
        "net.ipv4.route.flush=1",
        "without effect since 3.6",
        "the route cache of IPv4 was removed",
        |_| false, // it leaves no trace
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Machine, Setup};

    fn of(settings: &[(&str, &str)]) -> Vec<&'static str> {
        let sysctls = settings
            .iter()
            .map(|(name, value)| (format!("net.{name}"), (*value).to_owned()));
        let setup = Setup {
            sysctls: sysctls.collect(),
            ..Setup::default()
        };
        let machine = Machine {
            memory_bytes: Some(24 << 30),
            kernel: Some("6.1.0".into()),
            setup: Some(setup),
            ..Machine::default()
        };
        followed(&Facts::of(&machine))
            .iter()
            .map(|row| row.advice)
            .collect()
    }

    #[test]
    fn the_defaults_of_a_kernel_follow_no_advice() {
        let defaults = [
            ("ipv4.tcp_fin_timeout", "60"),
            ("ipv4.tcp_timestamps", "1"),
            ("ipv4.tcp_sack", "1"),
            ("ipv4.tcp_window_scaling", "1"),
            ("ipv4.tcp_low_latency", "0"),
            ("ipv4.tcp_fack", "0"),
            ("ipv4.tcp_mem", "287901 383868 575802"),
            ("ipv4.tcp_abort_on_overflow", "0"),
            ("core.netdev_max_backlog", "1000"),
            ("ipv4.tcp_max_tw_buckets", "131072"),
            ("ipv4.tcp_congestion_control", "cubic"),
            ("ipv4.tcp_tw_reuse", "2"),
        ];
        assert_eq!(of(&defaults), [""; 0]);
        assert_eq!(of(&[]), [""; 0]);
    }

    #[test]
    fn each_advice_is_found_where_it_was_followed() {
        let cases = [
            ("ipv4.tcp_tw_recycle", "1"),
            ("ipv4.tcp_fin_timeout", "15"),
            ("ipv4.tcp_timestamps", "0"),
            ("ipv4.tcp_sack", "0"),
            ("ipv4.tcp_window_scaling", "0"),
            ("ipv4.tcp_low_latency", "1"),
            ("ipv4.tcp_fack", "1"),
            ("ipv4.tcp_mem", "50576 64768 98152"),
            ("ipv4.tcp_mem", "30000000 30000000 30000000"),
            ("ipv4.tcp_abort_on_overflow", "1"),
            ("core.netdev_max_backlog", "400000"),
            ("ipv4.tcp_max_tw_buckets", "2000"),
            ("ipv4.tcp_congestion_control", "bic"),
        ];
        for (name, value) in cases {
            let found = of(&[(name, value)]);
            let (_, short) = name.split_once('.').unwrap();
            assert!(
                found.len() == 1 && found[0].contains(short),
                "{name}: {found:?}"
            );
        }
    }
}
