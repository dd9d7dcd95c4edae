//! The basic facts about the machine, from /proc and /sys.
//!
//! A fact that cannot be read is left out, never guessed: a container or a strange kernel hides some of them, and a
//! report that says "not known" is worth more than one that is wrong.

use crate::cgroup::kibibytes;
use crate::cpus;
use crate::files::{Root, fact, field};
use crate::setup::setup;
use record::Machine;

/// What this machine is, as far as it says. Takes a few milliseconds.
///
/// It raises the soft limit of open files to the hard one, as the load needs it, because the record states both.
pub fn machine() -> Machine {
    let found = kernel::limits::raise_open_files();
    let found = found.unwrap_or_else(|_| kernel::limits::open_files()); // not allowed to: then it stays as it is
    Machine {
        cpus_allowed: kernel::affinity::allowed(),
        cpu_quota: kernel::quota::own(),
        clock_reading_ns: kernel::clock::reading_cost().as_nanos(),
        open_files: (found.soft, kernel::limits::open_files().soft),
        local_ports: kernel::limits::local_port_range(),
        setup: Some(setup(&Root::machine())),
        ..read_from(&Root::machine())
    }
}

/// What the files below `root` tell.
fn read_from(root: &Root) -> Machine {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let clocksource = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    Machine {
        cpu_model: cpu_model(&cpuinfo),
        cpus_online: cpus::online(root).map_or(0, |cpus| cpus.len() as u32),
        governor: root.fact("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        memory_bytes: root
            .text("/proc/meminfo")
            .and_then(|text| kibibytes(&text, "MemTotal")),
        kernel: root.fact("/proc/sys/kernel/osrelease"),
        distribution: distribution(root),
        virtualised: virtualised(root, &cpuinfo),
        clocksource: root.fact(clocksource),
        somaxconn: root.number("/proc/sys/net/core/somaxconn"),
        load_average: root
            .text("/proc/loadavg")
            .and_then(|text| load_average(&text)),
        ..Machine::default()
    }
}

/// The model by whichever name the architecture has for it.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let names = [
        "model name",
        "cpu model",
        "Model",
        "Hardware",
        "uarch",
        "cpu",
    ];
    names.iter().find_map(|name| fact(field(cpuinfo, name)?))
}

fn load_average(loadavg: &str) -> Option<f64> {
    let minute: f64 = loadavg.split(' ').next()?.parse().ok()?;
    (minute.is_finite() && minute >= 0.0).then_some(minute)
}

fn distribution(root: &Root) -> Option<String> {
    let files = ["/etc/os-release", "/usr/lib/os-release"];
    files.iter().find_map(|file| pretty_name(&root.text(file)?))
}

/// PRETTY_NAME of an os-release file, which is quoted as for a shell.
fn pretty_name(release: &str) -> Option<String> {
    let mut values = release
        .lines()
        .filter_map(|line| line.trim().strip_prefix("PRETTY_NAME="));
    fact(&unquoted(values.next()?))
}

fn unquoted(text: &str) -> String {
    let within = |quote| {
        text.strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
    };
    match (within('\''), within('"')) {
        (Some(literal), _) => literal.to_owned(),
        (None, Some(escaped)) => unescaped(escaped),
        (None, None) => unescaped(text),
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        out.extend(if char == '\\' {
            chars.next()
        } else {
            Some(char)
        });
    }
    out
}

/// The hypervisor by whatever name it gives, or `none`. Only x86 has a flag that also tells its absence; elsewhere
/// nothing being named means that it cannot be told.
fn virtualised(root: &Root, cpuinfo: &str) -> Option<String> {
    let flags = field(cpuinfo, "flags");
    let flagged = flags.map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    match flagged {
        Some(false) => Some("none".into()),
        Some(true) => {
            Some(hypervisor(root).unwrap_or_else(|| "a hypervisor without a name".into()))
        }
        None => root
            .fact("/proc/device-tree/hypervisor/compatible")
            .or_else(|| emulator(root)),
    }
}

/// The name by Xen's own file, that of the board, which cloud providers and emulators put theirs on, or that of the
/// clock source which only guests of one hypervisor have.
fn hypervisor(root: &Root) -> Option<String> {
    let by_clock = || {
        let offered =
            root.fact("/sys/devices/system/clocksource/clocksource0/available_clocksource")?;
        let clocks = [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];
        let mut known = clocks.iter().filter(|(clock, _)| offered.contains(clock));
        known.next().map(|(_, name)| (*name).to_owned())
    };
    let named = root.fact("/sys/hypervisor/type").or_else(|| board(root));
    named.or_else(by_clock)
}

fn board(root: &Root) -> Option<String> {
    let name = |file: &str| root.fact(format!("/sys/class/dmi/id/{file}"));
    match (name("sys_vendor"), name("product_name")) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (vendor, product) => vendor.or(product),
    }
}

/// The board, where it is one that only exists in software.
fn emulator(root: &Root) -> Option<String> {
    let names = [
        "QEMU",
        "KVM",
        "VMware",
        "VirtualBox",
        "Virtual Machine",
        "Xen",
        "Parallels",
    ];
    board(root).filter(|board| names.iter().any(|name| board.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    const X86: &str = "processor\t: 0\nmodel name\t: Example CPU  7\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\n";
    const X86_BARE: &str = "model name\t: Example CPU 7\nflags\t\t: fpu nohypervisor sse\n";
    const ARM: &str =
        "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU part\t: 0xd0c\n";

    #[test]
    fn a_whole_machine_is_read_from_its_files() {
        let tree = fixture(&[
            ("proc/cpuinfo", X86),
            ("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n"),
            ("proc/loadavg", "0.25 0.10 0.05 1/100 4242\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-13-amd64\n"),
            ("proc/sys/net/core/somaxconn", "4096\n"),
            (
                "etc/os-release",
                "ID=debian\nPRETTY_NAME=\"Example \\\"Linux\\\" 1\"\n",
            ),
            ("sys/devices/system/cpu/online", "0-1\n"),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                "powersave\n",
            ),
            (
                "sys/devices/system/clocksource/clocksource0/current_clocksource",
                "kvm-clock\n",
            ),
            ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
            ("sys/class/dmi/id/product_name", "Standard PC\n"),
        ]);
        let wanted = Machine {
            cpu_model: Some("Example CPU 7".into()),
            cpus_online: 2,
            governor: Some("powersave".into()),
            memory_bytes: Some(16 << 20),
            kernel: Some("6.1.0-13-amd64".into()),
            distribution: Some("Example \"Linux\" 1".into()),
            virtualised: Some("QEMU Standard PC".into()),
            clocksource: Some("kvm-clock".into()),
            somaxconn: Some(4096),
            load_average: Some(0.25),
            ..Machine::default()
        };
        assert_eq!(read_from(&tree.root), wanted);
    }

    #[test]
    fn a_machine_that_tells_nothing_has_no_facts() {
        assert_eq!(read_from(&fixture(&[]).root), Machine::default());
    }

    #[test]
    fn this_machine_tells_at_least_its_kernel_and_cpus() {
        let machine = machine();
        assert!(
            machine.kernel.is_some() && machine.cpus_online > 0 && machine.memory_bytes > Some(0)
        );
        assert!(!machine.cpus_allowed.is_empty() && machine.clock_reading_ns > 0);
        assert!(machine.open_files.0 <= machine.open_files.1);
        assert!(machine.local_ports.0 <= machine.local_ports.1);
    }

    #[test]
    fn hostile_text_gives_no_figures() {
        let cases = [
            "",
            "MemTotal:",
            "MemTotal: x kB",
            "MemTotal: 5",
            "MemTotal: 18446744073709551615 kB",
        ];
        for text in cases {
            assert_eq!(kibibytes(text, "MemTotal"), None, "{text:?}");
        }
        for text in ["", " ", "nan", "inf 1", "-1 0 0", "1e999", "a 0.1"] {
            assert_eq!(load_average(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_model_is_found_under_each_architectures_name() {
        let cases: &[(&str, Option<&str>)] = &[
            (X86, Some("Example CPU 7")),
            (ARM, None),
            (
                "Hardware\t: BCM2711\nModel\t\t: Example Pi\n",
                Some("Example Pi"),
            ),
            ("cpu\t\t: POWER9\n", Some("POWER9")),
            ("model name\t:\n", None),
        ];
        for (cpuinfo, wanted) in cases {
            assert_eq!(cpu_model(cpuinfo).as_deref(), *wanted, "{cpuinfo:?}");
        }
    }

    #[test]
    fn names_of_distributions_are_unquoted_as_a_shell_would() {
        let cases: &[(&str, Option<&str>)] = &[
            (
                "PRETTY_NAME=\"Debian GNU/Linux 12\"\n",
                Some("Debian GNU/Linux 12"),
            ),
            ("PRETTY_NAME='A \\ B'", Some("A \\ B")),
            ("PRETTY_NAME=Plain", Some("Plain")),
            ("PRETTY_NAME=\"cost \\$5\"", Some("cost $5")),
            ("PRETTY_NAME=\"", Some("\"")),
            ("PRETTY_NAME=\\", None),
            ("PRETTY_NAME=\"\"", None),
            ("NAME=x\n#PRETTY_NAME=y", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(pretty_name(text).as_deref(), *wanted, "{text:?}");
        }
    }

    #[test]
    fn a_hypervisor_is_named_or_ruled_out_or_left_open() {
        let vendor = ("sys/class/dmi/id/sys_vendor", "Amazon EC2");
        let product = ("sys/class/dmi/id/product_name", "m5.metal");
        let qemu = ("sys/class/dmi/id/sys_vendor", "QEMU");
        let xen = ("sys/hypervisor/type", "xen\n");
        let clock = (
            "sys/devices/system/clocksource/clocksource0/available_clocksource",
            "tsc kvm-clock\n",
        );
        let tree = ("proc/device-tree/hypervisor/compatible", "linux,kvm\0");
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<&'a str>);
        let cases: &[Case<'_>] = &[
            (X86, &[vendor, product], Some("Amazon EC2 m5.metal")),
            (X86, &[vendor, xen], Some("xen")),
            (X86, &[vendor, clock], Some("Amazon EC2")),
            (X86, &[clock], Some("KVM")),
            (X86_BARE, &[clock], Some("none")),
            (X86, &[], Some("a hypervisor without a name")),
            (X86_BARE, &[vendor, product], Some("none")),
            (ARM, &[vendor], None),
            (ARM, &[qemu], Some("QEMU")),
            (ARM, &[tree], Some("linux,kvm")),
            ("", &[], None),
        ];
        for (cpuinfo, files, wanted) in cases {
            let found = virtualised(&fixture(files).root, cpuinfo);
            assert_eq!(found.as_deref(), *wanted, "{cpuinfo:?} {files:?}");
        }
    }
}
