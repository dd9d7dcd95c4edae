//! What packets pass on their way: filters, captures, and how TCP sends them.

use super::Check;
use crate::finding::{Finding, Source, caveat, invalid, note, sysctl};
use units::{bytes, count};

/// Share of the conntrack table from which new connections may be dropped soon.
const TABLE_FULL: f64 = 0.9;
/// Bytes of a socket's buffer at its start that no default has.
const BUFFER_MOST: u64 = 1 << 20;
/// Congestion controls that do not pace: the default since Linux 2.6.19, and the one that is always there.
const UNPACED: [&str; 2] = ["cubic", "reno"];

/// Commands that put `rule` before all others for packets of loopback, and remove it again.
fn first(table: &str, chains: [&str; 2], rule: &str) -> (String, String) {
    let [input, output] = chains;
    let command = |action: &str| {
        format!(
            "sudo iptables {table}-{action} {input} -i lo -j {rule} && sudo iptables {table}-{action} {output} -o lo -j {rule}"
        )
    };
    (command("I"), command("D"))
}

pub(super) const IPTABLES: Check = Check {
    name: "iptables",
    reads: "/proc/net/ip_tables_names, ip6_tables_names (readable by root)",
    finds: "tables are loaded",
    judge: |facts| {
        let tables = facts.setup()?.packets.iptables.as_ref()?;
        let finding = caveat(format!("iptables filters packets: {}", tables.join(", ")));
        let finding = finding.costs(
            0.1,
            "CPU time for every packet, by number of rules",
            Source::Guess,
        );
        (!tables.is_empty())
            .then(|| finding.mend_and_undo(first("", ["INPUT", "OUTPUT"], "ACCEPT")))
    },
};

pub(super) const NFTABLES: Check = Check {
    name: "nftables",
    reads: "/proc/modules (the rules themselves are in no file)",
    finds: "the module nf_tables is loaded, as it is for the first rule",
    judge: |facts| {
        let modules = facts.setup()?.packets.modules.as_ref()?;
        let finding = note("nf_tables is loaded: there may be rules that filter packets");
        let finding = finding.costs(
            0.05,
            "CPU time for every packet, by number of rules",
            Source::Guess,
        );
        let is_loaded = modules.iter().any(|module| module == "nf_tables");
        is_loaded.then(|| finding.mend("See whether there are any: sudo nft list ruleset"))
    },
};

pub(super) const CONNTRACK: Check = Check {
    name: "conntrack",
    reads: "nf_conntrack_count and nf_conntrack_max",
    finds: "connections are tracked; a table that is 90 % full makes results invalid",
    judge: |facts| {
        let packets = &facts.setup()?.packets;
        let tracked = packets.tracked.filter(|tracked| *tracked > 0)?;
        let most = packets.tracked_max.unwrap_or(u64::MAX).max(1);
        if tracked as f64 >= most as f64 * TABLE_FULL {
            let finding = invalid(format!(
                "{} of {} tracked connections: the table is full",
                count(tracked),
                count(most)
            ));
            let finding = finding.costs(0.9, "new connections are dropped", Source::Measured);
            let max = "net.netfilter.nf_conntrack_max";
            return Some(finding.mend_and_undo(sysctl(
                max,
                &(4 * most).to_string(),
                &most.to_string(),
            )));
        }
        let finding = caveat(format!(
            "the firewall tracks connections ({} now)",
            count(tracked)
        ));
        let what = "CPU time for every packet and connection";
        let finding = finding.costs(0.1, what, Source::Guess);
        Some(finding.mend_and_undo(first("-t raw ", ["PREROUTING", "OUTPUT"], "NOTRACK")))
    },
};

pub(super) const CAPTURE: Check = Check {
    name: "packet capture",
    reads: "/proc/net/packet",
    finds: "sockets receive packets of every protocol (tcpdump, some DHCP clients)",
    judge: |facts| {
        let sockets = facts
            .setup()?
            .packets
            .captures
            .filter(|sockets| *sockets > 0)?;
        let capture = units::counted(sockets.into(), "socket captures", "sockets capture");
        let finding = caveat(format!("{capture} every packet"));
        let finding = finding.costs(
            0.1,
            "CPU time for every packet, loopback's among them",
            Source::Guess,
        );
        Some(finding.mend("Find and end the programs: sudo ss -0pn"))
    },
};

pub(super) const CONGESTION: Check = Check {
    name: "pacing",
    reads: "net.ipv4.tcp_congestion_control",
    finds: "a congestion control other than cubic and reno",
    judge: |facts| {
        let name = "net.ipv4.tcp_congestion_control";
        let control = facts.setup()?.sysctls.get(name)?;
        let finding = caveat(format!(
            "congestion control {control}, not the default cubic"
        ));
        let what = "large responses: some controls (bbr) pace their packets by timers";
        let finding = finding.costs(0.05, what, Source::Guess);
        let available = facts
            .setup()?
            .sysctls
            .get("net.ipv4.tcp_available_congestion_control");
        let has_cubic = available.is_none_or(|all| all.split(' ').any(|each| each == "cubic"));
        let usual = if has_cubic { "cubic" } else { "reno" };
        (!UNPACED.contains(&control.as_str()))
            .then(|| finding.mend_and_undo(sysctl(name, usual, control)))
    },
};

pub(super) const BUFFERS: Check = Check {
    name: "socket buffers",
    reads: "net.ipv4.tcp_rmem, net.ipv4.tcp_wmem",
    finds: "a socket's buffer begins with more than 1 MiB (defaults: 128 and 16 KiB)",
    judge: |facts| {
        let usual = [
            ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
            ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
        ];
        let large = |(name, usual): (&'static str, &'static str)| -> Option<Finding> {
            let size = facts.sysctl(name, 1).filter(|size| *size > BUFFER_MOST)?;
            let finding = caveat(format!("{name}: a socket begins with {}", bytes(size)));
            let what = "TCP's memory limit is reached with few connections";
            let finding = finding.costs(0.1, what, Source::Guess);
            Some(finding.mend_and_undo(sysctl(name, usual, facts.setup()?.sysctls.get(name)?)))
        };
        usual.into_iter().find_map(large)
    },
};

pub(super) const BUSY_POLL: Check = Check {
    name: "busy polling",
    reads: "net.core.busy_poll, net.core.busy_read",
    finds: "sockets poll the network card",
    judge: |facts| {
        let names = ["net.core.busy_poll", "net.core.busy_read"];
        let set =
            |name: &'static str| Some((name, facts.sysctl(name, 0).filter(|micros| *micros > 0)?));
        let (name, micros) = names.into_iter().find_map(set)?;
        let finding = note(format!("{name}={micros}: sockets poll the network card"));
        let what = "CPU time that generator and server seem to use; lower latency";
        let finding = finding.costs(0.1, what, Source::Guess);
        Some(finding.mend_and_undo(sysctl(name, "0", &micros.to_string())))
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{Made, finds, found};
    use super::*;
    use record::Grade::{Caveat, Invalid, Note};

    #[test]
    fn packet_filters_are_found_where_they_can_be_read() {
        fn tables(made: &mut Made, names: &[&str]) {
            made.setup.packets.iptables =
                Some(names.iter().map(|name| (*name).to_owned()).collect());
        }
        finds(
            &IPTABLES,
            &[
                (
                    |made| tables(made, &["filter", "nat"]),
                    Some((Caveat, "iptables filters packets: filter, nat")),
                ),
                (|made| tables(made, &[]), None),
                (
                    |made| made.setup.not_readable = vec!["/proc/net/ip_tables_names".into()],
                    None,
                ),
            ],
        );
        let undo = found(&IPTABLES, |made| tables(made, &["filter"]))
            .unwrap()
            .undo;
        let wanted =
            "sudo iptables -D INPUT -i lo -j ACCEPT && sudo iptables -D OUTPUT -o lo -j ACCEPT";
        assert_eq!(undo.as_deref(), Some(wanted));
        let headline = "nf_tables is loaded: there may be rules that filter packets";
        finds(
            &NFTABLES,
            &[
                (
                    |made| made.setup.packets.modules = Some(vec!["nf_tables".into()]),
                    Some((Note, headline)),
                ),
                (|made| made.setup.packets.modules = Some(vec![]), None),
                (|_| (), None),
            ],
        );
    }

    #[test]
    fn tracked_connections_cost_and_a_full_table_is_fatal() {
        fn tracked(made: &mut Made, now: u64) {
            (made.setup.packets.tracked, made.setup.packets.tracked_max) = (Some(now), Some(1000));
        }
        let full = "900 of 1,000 tracked connections: the table is full";
        finds(
            &CONNTRACK,
            &[
                (|made| tracked(made, 900), Some((Invalid, full))),
                (
                    |made| tracked(made, 899),
                    Some((Caveat, "the firewall tracks connections (899 now)")),
                ),
                (|made| tracked(made, 0), None),
                (|_| (), None),
            ],
        );
        let found = found(&CONNTRACK, |made| tracked(made, 900)).unwrap();
        assert_eq!(
            found.undo.as_deref(),
            Some("sudo sysctl -w net.netfilter.nf_conntrack_max=1000")
        );
    }

    #[test]
    fn captures_are_found() {
        finds(
            &CAPTURE,
            &[
                (
                    |made| made.setup.packets.captures = Some(1),
                    Some((Caveat, "1 socket captures every packet")),
                ),
                (|made| made.setup.packets.captures = Some(0), None),
                (|_| (), None),
            ],
        );
    }

    #[test]
    fn a_control_that_is_not_the_default_is_found_and_set_back() {
        fn control(made: &mut Made, name: &str) {
            made.sysctl("net.ipv4.tcp_congestion_control", name);
        }
        let headline = "congestion control bbr, not the default cubic";
        finds(
            &CONGESTION,
            &[
                (|made| control(made, "bbr"), Some((Caveat, headline))),
                (|made| control(made, "cubic"), None),
                (|made| control(made, "reno"), None),
                (|_| (), None),
            ],
        );
        let found = found(&CONGESTION, |made| {
            control(made, "bbr");
            made.sysctl("net.ipv4.tcp_available_congestion_control", "reno bbr");
        });
        let found = found.unwrap();
        let set = |value: &str| {
            Some(format!(
                "sudo sysctl -w net.ipv4.tcp_congestion_control={value}"
            ))
        };
        assert_eq!((found.mend, found.undo), (set("reno"), set("bbr")));
    }

    #[test]
    fn large_buffers_and_polling_sockets_are_found() {
        fn buffers(made: &mut Made, value: &str) {
            made.sysctl("net.ipv4.tcp_wmem", value);
        }
        let headline = "net.ipv4.tcp_wmem: a socket begins with 28.6 MiB";
        finds(
            &BUFFERS,
            &[
                (
                    |made| buffers(made, "30000000 30000000 30000000"),
                    Some((Caveat, headline)),
                ),
                (|made| buffers(made, "4096\t16384\t33554432"), None),
                (|_| (), None),
            ],
        );
        let undo = found(&BUFFERS, |made| buffers(made, "30000000 30000000 30000000"))
            .unwrap()
            .undo;
        assert_eq!(
            undo.as_deref(),
            Some("sudo sysctl -w net.ipv4.tcp_wmem='30000000 30000000 30000000'")
        );
        let headline = "net.core.busy_read=50: sockets poll the network card";
        finds(
            &BUSY_POLL,
            &[
                (
                    |made| made.sysctl("net.core.busy_read", "50"),
                    Some((Note, headline)),
                ),
                (|made| made.sysctl("net.core.busy_poll", "0"), None),
                (|_| (), None),
            ],
        );
    }
}
