//! The machine's own accounts: where its CPU time went, and what its network counted.

use crate::cgroup::kibibytes;
use crate::files::Root;
use kernel::process::span_of;
use record::{Budget, KernelCounters};
use units::{Instant, Nanos};

/// What this machine did since boot: its CPU time, divided, and nothing of processes. None where Linux does not say.
pub fn cpu_time() -> Option<Budget> {
    read_cpu_time(&Root::machine())
}

fn read_cpu_time(root: &Root) -> Option<Budget> {
    since_boot(&root.text("/proc/stat")?)
}

/// The first line of /proc/stat: what the machine did since boot (proc_stat(5)). None where it cannot be read.
fn since_boot(text: &str) -> Option<Budget> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let numbers: Vec<u64> = line
        .split_ascii_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let number = |index: usize| numbers.get(index).copied();
    let is_cpu = |line: &&str| {
        let name = line.strip_prefix("cpu");
        name.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    Some(Budget {
        user: span_of(number(0)?.saturating_add(number(1)?)), // of virtual machines' guests too, which are in it already
        system: span_of(number(2)?),
        idle: span_of(number(3)?.saturating_add(number(4)?)),
        irq: span_of(number(5)?),
        softirq: span_of(number(6)?),
        steal: span_of(number(7).unwrap_or(0)), // since Linux 2.6.11
        cpus: text.lines().filter(is_cpu).count() as u32,
        ..Budget::default()
    })
}

/// What the machine did from `first` to `last`, both by [`cpu_time`]. The clocks of processes are left to the caller.
pub fn between(first: &Budget, last: &Budget) -> Budget {
    // A CPU that was taken away takes its ticks with it.
    let part = |of: fn(&Budget) -> Nanos| of(last).saturating_sub(of(first));
    Budget {
        cpus: last.cpus,
        user: part(|total| total.user),
        system: part(|total| total.system),
        softirq: part(|total| total.softirq),
        irq: part(|total| total.irq),
        steal: part(|total| total.steal),
        idle: part(|total| total.idle),
        ..Budget::default()
    }
}

/// Whether the kernel keeps interrupts out of the clocks of those it interrupts: CONFIG_IRQ_TIME_ACCOUNTING, as it was
/// built. None where its configuration does not lie about. It does not change while the machine is up, and unpacking it
/// takes about a millisecond, so it is asked for once a round, and outside of the window.
pub(crate) fn irq_apart(root: &Root) -> Option<bool> {
    let line = kernel_config(root)?
        .lines()
        .any(|line| line == "CONFIG_IRQ_TIME_ACCOUNTING=y");
    let is_switched_off = root
        .text("/proc/cmdline")
        .is_some_and(|words| words.contains("tsc=noirqtime"));
    Some(line && !is_switched_off)
}

/// The configuration that the kernel was built with; none where it cannot be found.
pub(crate) fn kernel_config(root: &Root) -> Option<String> {
    let release = root.fact("/proc/sys/kernel/osrelease")?;
    let places = [
        format!("/boot/config-{release}"),
        format!("/lib/modules/{release}/config"),
    ];
    let plain = places.iter().find_map(|place| root.text(place));
    plain.or_else(|| root.unpacked("/proc/config.gz"))
}

/// What the network has counted since boot, and holds now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Net {
    listen_overflows: Option<u64>,
    listen_drops: Option<u64>,
    syn_retransmits: Option<u64>,
    retransmits: Option<u64>,
    time_wait: Option<u64>,
    tcp_pages: Option<u64>,
    used: Option<u64>,
}

/// Memory in use by /proc/meminfo, in bytes.
fn used(text: &str) -> Option<u64> {
    let all = kibibytes(text, "MemTotal")?;
    all.checked_sub(kibibytes(text, "MemAvailable")?)
}

impl Net {
    /// As it is now.
    pub(crate) fn read(root: &Root) -> Net {
        let netstat = root.text("/proc/net/netstat").unwrap_or_default();
        let snmp = root.text("/proc/net/snmp").unwrap_or_default();
        let sockstat = root.text("/proc/net/sockstat").unwrap_or_default();
        Net {
            listen_overflows: counter(&netstat, "TcpExt:", "ListenOverflows"),
            listen_drops: counter(&netstat, "TcpExt:", "ListenDrops"),
            syn_retransmits: counter(&netstat, "TcpExt:", "TCPSynRetrans"),
            retransmits: counter(&snmp, "Tcp:", "RetransSegs"),
            time_wait: gauge(&sockstat, "TCP:", "tw"),
            tcp_pages: gauge(&sockstat, "TCP:", "mem"),
            used: used(&root.text("/proc/meminfo").unwrap_or_default()),
        }
    }

    /// What was counted since `first`, and what is held, first and last.
    pub(crate) fn since(&self, first: &Net) -> KernelCounters {
        let more = |of: fn(&Net) -> Option<u64>| Some(of(self)?.saturating_sub(of(first)?));
        let both = |of: fn(&Net) -> Option<u64>| of(first).zip(of(self));
        // Of the kernel's own pages (until 6.0, of 4 KiB whatever those are: SK_MEM_QUANTUM).
        let page = kernel::limits::page_size();
        let bytes = |pages: u64| pages.saturating_mul(page);
        KernelCounters {
            listen_overflows: more(|net| net.listen_overflows),
            listen_drops: more(|net| net.listen_drops),
            syn_retransmits: more(|net| net.syn_retransmits),
            retransmits: more(|net| net.retransmits),
            time_wait: both(|net| net.time_wait),
            tcp_memory: both(|net| net.tcp_pages).map(|(then, now)| (bytes(then), bytes(now))),
            system_memory: both(|net| net.used),
        }
    }
}

/// A counter of a file such as /proc/net/netstat, where a line of names goes before a line of numbers.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let mut pairs = names
        .split_ascii_whitespace()
        .zip(numbers.split_ascii_whitespace());
    pairs.find(|(known, _)| *known == name)?.1.parse().ok()
}

/// A number of a line such as `TCP: inuse 5 orphan 0 tw 7`.
fn gauge(text: &str, group: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(group))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == name)?;
    words.next()?.parse().ok()
}

/// Between two samples of the machine.
#[derive(Debug)]
pub(crate) struct Span {
    at: Instant,
    machine: Option<Budget>,
    net: Net,
    generator: Nanos,
}

impl Span {
    /// The first sample.
    pub(crate) fn open(root: &Root) -> Span {
        Span {
            at: kernel::clock::now(),
            generator: own_cpu(),
            machine: read_cpu_time(root),
            net: Net::read(root),
        }
    }

    /// The second: where CPU time went, and what the network counted. The first is none where /proc/stat cannot be read.
    pub(crate) fn close(
        &self,
        root: &Root,
        server: Option<Nanos>,
    ) -> (Option<Budget>, KernelCounters) {
        let wall = kernel::clock::now() - self.at;
        let generator = own_cpu().saturating_sub(self.generator);
        let both = self.machine.as_ref().zip(read_cpu_time(root));
        let budget = both.map(|(first, last)| Budget {
            wall,
            generator,
            server,
            ..between(first, &last)
        });
        (budget, Net::read(root).since(&self.net))
    }
}

fn own_cpu() -> Nanos {
    kernel::accounts::process_cpu(std::process::id()).unwrap_or(Nanos::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;
    use std::io::Write;

    const STAT: &str = "cpu  10 5 20 100 7 1 2 3 0 0\ncpu0 1 1\ncpu11 1 1\ncpufreq 5\nintr 12\n";

    #[test]
    fn the_budget_is_the_difference_of_two_looks_in_ticks() {
        let first = since_boot(STAT).unwrap();
        let last = since_boot("cpu  110 5 70 150 7 3 12 4\ncpu0 1\n").unwrap();
        let budget = between(&first, &last);
        let ticks = |budget: Budget| {
            [
                budget.user,
                budget.system,
                budget.softirq,
                budget.irq,
                budget.steal,
                budget.idle,
            ]
        };
        assert_eq!(ticks(budget), [100, 50, 10, 2, 1, 50].map(span_of));
        assert_eq!((first.cpus, budget.cpus), (2, 1));
        let back = between(&last, &first);
        assert_eq!(
            back.user,
            Nanos::ZERO,
            "a counter that seems to run back is no cost"
        );
    }

    #[test]
    fn odd_text_gives_no_budget() {
        let most = u64::MAX;
        for text in [
            "",
            "cpu \n",
            "cpu  1 2 x 4 5 6 7\n",
            "cpus  1 2 3 4 5 6 7\n",
        ] {
            assert_eq!(since_boot(text), None, "{text:?}");
        }
        assert!(since_boot(&format!("cpu  {most} {most} 1 {most} {most} 1 1\n")).is_some());
    }

    #[test]
    fn counters_are_found_by_name_and_what_is_missing_is_not_known() {
        let netstat = "IpExt: a\nIpExt: 1\nTcpExt: SyncookiesSent ListenOverflows ListenDrops TCPSynRetrans\n\
            TcpExt: 1 20 21 -1\n";
        let tree = fixture(&[
            ("proc/net/netstat", netstat),
            ("proc/net/snmp", "Tcp: RtoAlgorithm RetransSegs\nTcp: 1 9\n"),
            (
                "proc/net/sockstat",
                "sockets: used 9\nTCP: inuse 5 orphan 0 tw 7 alloc 8 mem 3\nUDP: mem 1\n",
            ),
            (
                "proc/meminfo",
                "MemTotal:  100 kB\nMemFree:  10 kB\nMemAvailable:  40 kB\n",
            ),
        ]);
        let first = Net::read(&fixture(&[]).root);
        let last = Net::read(&tree.root);
        let page = kernel::limits::page_size();
        let none = last.since(&first);
        assert_eq!(none, KernelCounters::default());
        let early = Net {
            listen_overflows: Some(5),
            listen_drops: Some(30),
            time_wait: Some(1),
            ..last
        };
        let wanted = KernelCounters {
            listen_overflows: Some(15),
            listen_drops: Some(0),
            syn_retransmits: None,
            retransmits: Some(0),
            time_wait: Some((1, 7)),
            tcp_memory: Some((3 * page, 3 * page)),
            system_memory: Some((60 << 10, 60 << 10)),
        };
        assert_eq!(last.since(&early), wanted);
    }

    #[test]
    fn whether_interrupts_are_kept_apart_is_said_by_the_kernels_configuration() {
        let release = ("proc/sys/kernel/osrelease", "6.1\n");
        let config = |text| ("boot/config-6.1", text);
        let (yes, no) = (
            "CONFIG_IRQ_TIME_ACCOUNTING=y\n",
            "# CONFIG_IRQ_TIME_ACCOUNTING is not set\n",
        );
        let off = ("proc/cmdline", "ro tsc=noirqtime quiet\n");
        type Case<'a> = (&'a [(&'a str, &'a str)], Option<bool>);
        let cases: &[Case<'_>] = &[
            (&[release, config(yes)], Some(true)),
            (&[release, config(yes), off], Some(false)),
            (&[release, config(no)], Some(false)),
            (&[release], None),
            (&[release, ("proc/config.gz", "not packed")], None),
            (&[config(yes)], None),
        ];
        for (files, wanted) in cases {
            assert_eq!(irq_apart(&fixture(files).root), *wanted, "{files:?}");
        }
        let tree = fixture(&[release]);
        let packed = std::fs::File::create(tree.path("proc/config.gz")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
        packed.write_all(yes.as_bytes()).unwrap();
        packed.finish().unwrap();
        assert_eq!(irq_apart(&tree.root), Some(true), "packed");
    }

    #[test]
    fn this_machine_has_a_budget_of_which_we_are_part() {
        let root = Root::machine();
        let span = Span::open(&root);
        let (budget, _) = span.close(&root, Some(Nanos::ZERO));
        let budget = budget.unwrap();
        assert!(
            budget.cpus > 0 && budget.generator > Nanos::ZERO,
            "{budget:?}"
        );
    }
}
