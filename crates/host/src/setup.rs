//! How this machine is built and configured, from /proc, /sys and control groups: what [`record::Setup`] discloses.
//!
//! Facts alone: what they mean for a measurement is judged elsewhere, from the record. A file that exists and may not be
//! read is named among the facts, so that "not there" and "not allowed" stay apart.

mod cpus;
#[cfg(test)]
mod tests;

use crate::cgroup::kibibytes;
use crate::counters::kernel_config;
use crate::files::{Root, fact, field};
use kernel::quota::{self, Version};
use record::{ControlGroup, Limit, Packets, Setup, Switch, SystemMemory};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;

/// Settings that are disclosed: each can move a figure of an HTTP measurement, or is said to.
const SYSCTLS: &[&str] = &[
    "fs.file-max",
    "fs.nr_open",
    "kernel.numa_balancing",
    "kernel.pid_max",
    "kernel.sched_autogroup_enabled",
    "kernel.threads-max",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_fack",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_low_latency",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_recycle",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_tw_reuse_delay",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "vm.overcommit_memory",
    "vm.swappiness",
];

/// Boot parameters that can move a figure; the others are not disclosed, because they may hold what is private.
const BOOT_PARAMETERS: &[&str] = &[
    "apparmor",
    "audit",
    "clocksource",
    "cpuidle.off",
    "idle",
    "intel_idle.max_cstate",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "maxcpus",
    "mitigations",
    "nohz",
    "nohz_full",
    "nosmt",
    "nospectre_v2",
    "nopti",
    "preempt",
    "processor.max_cstate",
    "pti",
    "rcu_nocbs",
    "retbleed",
    "selinux",
    "spectre_v2",
    "transparent_hugepage",
    "tsc",
];

/// Build options of the kernel that are disclosed where they are set. Those from KASAN on make it slow.
const KERNEL_OPTIONS: &[&str] = &[
    "CONFIG_HZ",
    "CONFIG_IRQ_TIME_ACCOUNTING",
    "CONFIG_NO_HZ_FULL",
    "CONFIG_PREEMPT",
    "CONFIG_PREEMPT_DYNAMIC",
    "CONFIG_PREEMPT_NONE",
    "CONFIG_PREEMPT_RT",
    "CONFIG_PREEMPT_VOLUNTARY",
    "CONFIG_KASAN",
    "CONFIG_KCSAN",
    "CONFIG_PROVE_LOCKING",
];

/// Modules that filter or track packets.
const PACKET_MODULES: &[&str] = &[
    "arp_tables",
    "ebtables",
    "ip6_tables",
    "ip_tables",
    "nf_conntrack",
    "nf_tables",
];

/// How this machine is built and configured now. Takes a few milliseconds.
pub(crate) fn setup(root: &Root) -> Setup {
    let files = Files::below(root);
    let mut setup = Setup {
        microcode: files
            .text("/proc/cpuinfo")
            .and_then(|text| fact(field(&text, "microcode")?)),
        control_group: control_group(&files),
        mitigations: mitigations(&files),
        boot_parameters: boot_parameters(&files),
        kernel_options: kernel_options(root),
        clocksources: files
            .words("/sys/devices/system/clocksource/clocksource0/available_clocksource"),
        sysctls: sysctls(&files),
        packets: packets(&files),
        security_modules: files.list("/sys/kernel/security/lsm", ','),
        selinux_enforcing: files
            .fact("/sys/fs/selinux/enforce")
            .map(|value| value == "1"),
        tracer: files.fact("/sys/kernel/tracing/current_tracer"),
        trace_events: files.fact("/sys/kernel/tracing/events/enable"),
        traced_by: files
            .text("/proc/self/status")
            .and_then(|text| field(&text, "TracerPid")?.parse().ok()),
        memory: memory(&files),
        pressure: pressure(&files),
        ..cpus::cpus(&files)
    };
    setup.not_readable = files.denied.into_inner();
    setup
}

/// Files below a root, and which of them may not be read.
struct Files<'a> {
    root: &'a Root,
    denied: RefCell<Vec<String>>,
}

impl Files<'_> {
    fn below(root: &Root) -> Files<'_> {
        Files {
            root,
            denied: RefCell::default(),
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        self.noted(path, self.root.read(path))
    }

    fn noted(&self, path: &str, read: Result<String, ErrorKind>) -> Option<String> {
        if read == Err(ErrorKind::PermissionDenied) {
            self.denied.borrow_mut().push(path.to_owned());
        }
        read.ok()
    }

    fn fact(&self, path: &str) -> Option<String> {
        fact(&self.text(path)?)
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.fact(path)?.parse().ok()
    }

    fn list(&self, path: &str, between: char) -> Vec<String> {
        let text = self.text(path).unwrap_or_default();
        text.split(between).filter_map(fact).collect()
    }

    fn words(&self, path: &str) -> Vec<String> {
        self.list(path, ' ')
    }

    /// The names in a folder, sorted; none where it cannot be read.
    fn entries(&self, path: &str) -> Vec<String> {
        let mut names = self.root.entries(path).unwrap_or_default();
        names.sort_unstable();
        names
    }

    /// A switch whose file says `on` where it is on.
    fn switch(&self, path: &str, on: &str) -> Option<Switch> {
        let value = self.fact(path)?;
        Some(Switch {
            on: value == on,
            file: path.to_owned(),
            value,
        })
    }
}

fn sysctls(files: &Files<'_>) -> BTreeMap<String, String> {
    let value = |name: &&str| {
        // Slashes in the name of a file are dots in that of the setting.
        let value = files.fact(&format!("/proc/sys/{}", name.replace('.', "/")))?;
        Some(((*name).to_owned(), value))
    };
    SYSCTLS.iter().filter_map(value).collect()
}

/// Those limits of control groups that hold for this process: a quota of CPU time and a limit of memory.
fn control_group(files: &Files<'_>) -> ControlGroup {
    let mounts = files.text("/proc/self/mountinfo").unwrap_or_default();
    let kinds = [(" - cgroup ", "v1"), (" - cgroup2 ", "v2")];
    let mounted = kinds.into_iter().filter(|(kind, _)| mounts.contains(kind));
    let cpu_quota = |version, folder: &str| {
        let file = match version {
            Version::One => format!("{folder}/cpu.cfs_quota_us"),
            Version::Two => format!("{folder}/cpu.max"),
        };
        let value = files.fact(&file)?;
        let (quota, period) = match value.split_once(' ') {
            Some((quota, period)) => (quota, period.parse().ok()?),
            None => (
                value.as_str(),
                files.number(&format!("{folder}/cpu.cfs_period_us"))?,
            ),
        };
        let quota: u64 = quota.parse().ok().filter(|_| period > 0)?; // `max` and -1 are none
        limit(quota as f64 / period as f64, file, value)
    };
    let total = files
        .text("/proc/meminfo")
        .and_then(|text| kibibytes(&text, "MemTotal"));
    let memory = |version, folder: &str| {
        let file = match version {
            Version::One => format!("{folder}/memory.limit_in_bytes"),
            Version::Two => format!("{folder}/memory.max"),
        };
        let value = files.fact(&file)?;
        // Version 1 writes a number near 2^63 where there is no limit.
        let bytes: u64 = value
            .parse()
            .ok()
            .filter(|bytes| total.is_some_and(|total| *bytes < total))?;
        limit(bytes as f64, file, value)
    };
    ControlGroup {
        versions: mounted.map(|(_, name)| name.to_owned()).collect(),
        cpu_quota: lowest(files, "cpu", cpu_quota),
        memory: lowest(files, "memory", memory),
    }
}

fn limit(allows: f64, file: String, value: String) -> Option<Limit> {
    (allows > 0.0).then_some(Limit {
        allows,
        file,
        value,
    })
}

/// The lowest limit that `read` finds in a group of this process, for which it is given the version and the folder.
fn lowest(
    files: &Files<'_>,
    controller: &str,
    read: impl Fn(Version, &str) -> Option<Limit>,
) -> Option<Limit> {
    let groups = quota::groups(files.root.folder(), None, controller).into_iter();
    let limits = groups.filter_map(|(version, folder)| read(version, folder.to_str()?));
    limits.min_by(|a, b| a.allows.total_cmp(&b.allows))
}

fn mitigations(files: &Files<'_>) -> BTreeMap<String, String> {
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let each = files.entries(folder).into_iter().filter_map(|name| {
        let state = files.fact(&format!("{folder}/{name}"))?;
        (state != "Not affected").then_some((name, state))
    });
    each.collect()
}

fn boot_parameters(files: &Files<'_>) -> Vec<String> {
    let words = files.words("/proc/cmdline").into_iter();
    // What follows two dashes is for the first process.
    let words = words.take_while(|word| word != "--");
    let is_known = |word: &String| {
        let name = word.split('=').next().unwrap_or_default();
        BOOT_PARAMETERS.contains(&name)
    };
    words.filter(is_known).collect()
}

fn kernel_options(root: &Root) -> Vec<String> {
    let config = kernel_config(root).unwrap_or_default();
    let is_known = |line: &&str| {
        let name = line.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| KERNEL_OPTIONS.contains(&name))
    };
    config.lines().filter(is_known).filter_map(fact).collect()
}

fn packets(files: &Files<'_>) -> Packets {
    let tables = ["/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"];
    let tables: Option<Vec<String>> = tables
        .map(|path| files.text(path))
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .map(|texts| {
            let mut names: Vec<String> = texts
                .iter()
                .flat_map(|text| text.lines())
                .filter_map(fact)
                .collect();
            names.sort_unstable();
            names.dedup();
            names
        });
    let modules = files.text("/proc/modules").map(|text| {
        let names = text.lines().filter_map(|line| line.split(' ').next());
        let names = names.filter(|name| PACKET_MODULES.contains(name));
        names.map(str::to_owned).collect()
    });
    Packets {
        iptables: tables,
        modules,
        tracked: files.number("/proc/sys/net/netfilter/nf_conntrack_count"),
        tracked_max: files.number("/proc/sys/net/netfilter/nf_conntrack_max"),
        captures: files.text("/proc/net/packet").map(|text| captures(&text)),
    }
}

/// The sockets of /proc/net/packet that receive packets of every protocol (ETH_P_ALL, 3). Its columns: address, references,
/// type, protocol, interface, running.
fn captures(text: &str) -> u32 {
    let protocols = text
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(3));
    protocols.filter(|protocol| *protocol == "0003").count() as u32
}

fn memory(files: &Files<'_>) -> SystemMemory {
    let text = files.text("/proc/meminfo").unwrap_or_default();
    let bytes = |name| kibibytes(&text, name);
    let mode = files.fact("/sys/kernel/mm/transparent_hugepage/enabled");
    SystemMemory {
        available: bytes("MemAvailable"),
        swap: bytes("SwapTotal"),
        swap_used: bytes("SwapTotal").and_then(|total| total.checked_sub(bytes("SwapFree")?)),
        huge_pages: field(&text, "HugePages_Total").and_then(|value| value.parse().ok()),
        // The mode in force stands in brackets.
        transparent_huge_pages: mode.and_then(|text| {
            let (_, rest) = text.split_once('[')?;
            fact(rest.split_once(']')?.0)
        }),
    }
}

/// `some avg10` of each file of PSI.
fn pressure(files: &Files<'_>) -> BTreeMap<String, f64> {
    let share = |name: &str| {
        let text = files.text(&format!("/proc/pressure/{name}"))?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("some avg10="))?;
        let share: f64 = line.split(' ').next()?.parse().ok()?;
        Some((name.to_owned(), share)).filter(|_| share.is_finite())
    };
    ["cpu", "memory", "io"]
        .into_iter()
        .filter_map(share)
        .collect()
}
