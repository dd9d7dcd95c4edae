//! The facts of a machine as a table: what `weigh doctor` discloses, and what two records' machines are compared by.

use crate::phrase::clean;
use record::{Limit, Machine, Setup};

/// The longest value that is shown whole.
const LONGEST: usize = 200;

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    /// The heading under which it is shown.
    pub(crate) topic: &'static str,
    pub(crate) name: String,
    pub(crate) value: String,
    /// Whether it stays from minute to minute.
    pub(crate) lasts: bool,
}

/// Returns every fact that is known of `machine`, topic by topic.
pub(crate) fn facts(machine: &Machine) -> Vec<Fact> {
    let unknown = Setup::default();
    let setup = machine.setup.as_ref().unwrap_or(&unknown);
    let mut list = List::default();
    cpus(&mut list, machine, setup);
    kernel(&mut list, machine, setup);
    limits(&mut list, machine, setup);
    memory(&mut list, machine, setup);
    network(&mut list, setup);
    list.topic = "load";
    list.passing(
        "load average",
        machine.load_average.map(|load| format!("{load:.2}")),
    );
    for (resource, share) in &setup.pressure {
        list.passing(
            &format!("waits for {resource}"),
            Some(format!("{share:.1} %")),
        );
    }
    list.topic = "settings";
    for (name, value) in &setup.sysctls {
        list.add(name, Some(value.clone()));
    }
    list.topic = "not readable";
    for file in &setup.not_readable {
        list.add(file, Some("needs root".to_owned()));
    }
    list.facts
}

/// Facts, and the topic of those that follow.
#[derive(Default)]
struct List {
    facts: Vec<Fact>,
    topic: &'static str,
}

impl List {
    /// Adds a fact that stays, where it is known.
    fn add(&mut self, name: &str, value: Option<String>) {
        self.push(name, value, true);
    }

    /// Adds that `name` cannot be seen, where the topic has no fact: `mount` is where `file_system` would show it.
    fn hidden(&mut self, name: &str, file_system: &str, mount: &str, machine: &Machine) {
        let has_fact = self.facts.last().is_some_and(|it| it.topic == self.topic);
        let Some(setup) = machine.setup.as_ref().filter(|_| !has_fact) else {
            return;
        };
        let needs_root = setup
            .not_readable
            .iter()
            .any(|file| file.starts_with(mount));
        let why = match needs_root {
            true => "not readable: needs root".to_owned(),
            false => format!("not visible (no {file_system})"),
        };
        self.add(name, Some(why));
    }

    /// Adds a fact that passes.
    fn passing(&mut self, name: &str, value: Option<String>) {
        self.push(name, value, false);
    }

    fn push(&mut self, name: &str, value: Option<String>, lasts: bool) {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return;
        };
        self.facts.push(Fact {
            topic: self.topic,
            name: name.to_owned(),
            value: clean(&value, LONGEST),
            lasts,
        });
    }
}

fn on(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

fn cpus(list: &mut List, machine: &Machine, setup: &Setup) {
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    list.topic = "CPU";
    list.add("model", machine.cpu_model.clone());
    list.add("microcode", setup.microcode.clone());
    list.add("hypervisor", machine.virtualised.clone());
    list.topic = "topology";
    list.add("CPUs online", Some(machine.cpus_online.to_string()));
    let allowed = machine.cpus_allowed.iter().map(u32::to_string);
    list.add("CPUs allowed", Some(allowed.collect::<Vec<_>>().join(",")));
    list.add("sockets", number(setup.sockets));
    list.add("cores", number(setup.cores));
    list.add("SMT", setup.smt.map(on));
    list.add("NUMA nodes", number(setup.numa_nodes));
    list.add("caches", Some(setup.caches.join("; ")));
    list.topic = "frequency";
    let governor = || machine.governor.clone().into_iter().collect();
    let governors: Vec<String> = match setup.governors.is_empty() {
        true => governor(),
        false => setup.governors.clone(),
    };
    list.add("driver", setup.frequency_driver.clone());
    list.add("governor", Some(governors.join(", ")));
    list.add("turbo", setup.turbo.as_ref().map(|turbo| on(turbo.on)));
    list.hidden("governor", "cpufreq", "/sys/devices/system/cpu/", machine);
}

fn kernel(list: &mut List, machine: &Machine, setup: &Setup) {
    list.topic = "kernel";
    list.add("Linux", machine.kernel.clone());
    list.add("distribution", machine.distribution.clone());
    list.add("options", Some(setup.kernel_options.join(" ")));
    list.add("boot parameters", Some(setup.boot_parameters.join(" ")));
    list.topic = "mitigations";
    for (vulnerability, state) in &setup.mitigations {
        list.add(vulnerability, Some(state.clone()));
    }
    list.topic = "clock";
    list.add("source", machine.clocksource.clone());
    list.passing("reading", Some(format!("{} ns", machine.clock_reading_ns)));
    list.topic = "security";
    list.add("modules", Some(setup.security_modules.join(", ")));
    list.add("SELinux enforcing", setup.selinux_enforcing.map(on));
    list.hidden("modules", "securityfs", "/sys/kernel/security", machine);
    list.topic = "tracing";
    list.add("tracer", setup.tracer.clone());
    list.add("events", setup.trace_events.clone());
    list.hidden("tracer", "tracefs", "/sys/kernel/tracing", machine);
    list.passing(
        "traced by",
        setup
            .traced_by
            .filter(|pid| *pid > 0)
            .map(|pid| pid.to_string()),
    );
}

fn limits(list: &mut List, machine: &Machine, setup: &Setup) {
    let (soft, hard) = machine.open_files;
    let (first, last) = machine.local_ports;
    let group = &setup.control_group;
    list.topic = "limits";
    list.add("open files", Some(units::count(hard)));
    list.passing("open files (soft limit)", Some(units::count(soft)));
    if machine.setup.is_none() {
        // Else they are among the settings.
        list.add("local ports", Some(format!("{first} to {last}")));
        list.add("somaxconn", machine.somaxconn.map(units::count));
    }
    list.add("control groups", Some(group.versions.join(", ")));
    let none = || machine.setup.as_ref().map(|_| "none".to_owned());
    let quota = machine.cpu_quota.map(|cpus| format!("{cpus:.2} CPUs"));
    list.add("CPU quota", quota.or_else(none));
    let memory = |limit: &Limit| units::bytes(limit.allows as u64);
    list.add(
        "memory limit",
        group.memory.as_ref().map(memory).or_else(none),
    );
}

fn memory(list: &mut List, machine: &Machine, setup: &Setup) {
    let memory = &setup.memory;
    list.topic = "memory";
    list.add("total", machine.memory_bytes.map(units::bytes));
    list.passing("available", memory.available.map(units::bytes));
    list.add("swap", memory.swap.map(units::bytes));
    list.passing("swap in use", memory.swap_used.map(units::bytes));
    list.add(
        "transparent huge pages",
        memory.transparent_huge_pages.clone(),
    );
    list.add("huge pages", memory.huge_pages.map(units::count));
}

fn network(list: &mut List, setup: &Setup) {
    let packets = &setup.packets;
    let names = |names: &Option<Vec<String>>| {
        let names = names.as_ref()?;
        Some(if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        })
    };
    list.topic = "firewall";
    let is_denied = setup
        .not_readable
        .iter()
        .any(|file| file.ends_with("ip_tables_names"));
    let denied = is_denied.then(|| "not readable: needs root".to_owned());
    list.add("iptables", names(&packets.iptables).or(denied));
    list.add("modules", names(&packets.modules));
    if setup.packets.modules.is_none() && !setup.sysctls.is_empty() {
        list.add("nftables", Some("in no file: sudo nft list ruleset".into()));
    }
    list.passing("connections tracked", packets.tracked.map(units::count));
    list.add(
        "connections tracked at most",
        packets.tracked_max.map(units::count),
    );
    list.add(
        "packet captures",
        packets.captures.map(|sockets| sockets.to_string()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn known() -> Machine {
        Machine {
            setup: Some(Setup {
                pressure: [("cpu".to_owned(), 7.46)].into(),
                sysctls: [("net.ipv4.tcp_sack".to_owned(), "1".to_owned())].into(),
                not_readable: vec![
                    "/proc/net/ip_tables_names".into(),
                    "/sys/kernel/tracing/current_tracer".into(),
                ],
                ..Setup::default()
            }),
            ..record::example::machine()
        }
    }

    #[test]
    fn facts_are_named_once_and_what_is_not_known_is_left_out() {
        let facts = facts(&known());
        let names: BTreeSet<(&str, &str)> = facts
            .iter()
            .map(|it| (it.topic, it.name.as_str()))
            .collect();
        assert_eq!(names.len(), facts.len());
        let value = |topic: &str, name: &str| {
            let mut found = facts
                .iter()
                .filter(|it| it.topic == topic && it.name == name);
            found.next().map(|it| it.value.as_str())
        };
        assert_eq!(value("settings", "net.ipv4.tcp_sack"), Some("1"));
        assert_eq!(value("load", "waits for cpu"), Some("7.5 %"));
        assert_eq!(
            value("not readable", "/proc/net/ip_tables_names"),
            Some("needs root")
        );
        assert_eq!(value("frequency", "governor"), Some("performance"));
        assert_eq!(
            value("firewall", "iptables"),
            Some("not readable: needs root")
        );
        assert_eq!(
            value("security", "modules"),
            Some("not visible (no securityfs)")
        );
        assert_eq!(value("tracing", "tracer"), Some("not readable: needs root"));
    }
}
