//! Limits: memory, open files, ports, and the queues of connections.

use super::Check;
use crate::finding::{Source, caveat, sysctl};
use units::{bytes, count};

/// Bytes that a group's limit of memory must leave to the generator and a server.
const MEMORY_LEAST: f64 = (256 << 20) as f64;
/// Open files that a process should be allowed.
const FILES_LEAST: u64 = 4096;
/// Open files that all processes together should be allowed.
const ALL_FILES_LEAST: u64 = 65_536;
/// Local ports that connects should have.
const PORTS_LEAST: u64 = 10_000;
/// Connections that should fit a queue.
const QUEUE_LEAST: u64 = 1024;
/// Seconds in which a port of a closed connection cannot be used again (TCP_TIMEWAIT_LEN).
const TIME_WAIT_S: u64 = 60;

const KERNEL_DOC: Source = Source::Published("Linux, ip-sysctl.rst");

pub(super) const MEMORY: Check = Check {
    name: "memory limit",
    reads: "memory.max (control groups v2) or memory.limit_in_bytes (v1) of weigh's group and its ancestors",
    finds: "less than 256 MiB for weigh and the servers that it starts",
    judge: |facts| {
        let limit = facts.setup()?.control_group.memory.as_ref()?;
        let headline = format!(
            "a control group allows only {} of memory",
            bytes(limit.allows as u64)
        );
        let finding =
            caveat(headline).costs(0.2, "stalls, or processes that are killed", Source::Guess);
        let unlimited = if limit.file.ends_with("memory.max") {
            "max"
        } else {
            "-1"
        };
        let commands = crate::finding::write(&limit.file, unlimited, &limit.value);
        (limit.allows < MEMORY_LEAST).then(|| finding.mend_and_undo(commands))
    },
};

pub(super) const OPEN_FILES: Check = Check {
    name: "open files",
    reads: "RLIMIT_NOFILE of weigh, whose soft limit it raises to the hard one",
    finds: "fewer than 4096",
    judge: |facts| {
        let (soft, hard) = facts.machine.open_files;
        let finding = caveat(format!("a process may open only {} files", count(hard)));
        let what = format!("no more than about {} connections", count(hard));
        let finding = finding.costs(0.1, what, Source::Measured);
        let set = |soft: u64, hard: u64| format!("sudo prlimit --pid $$ --nofile={soft}:{hard}");
        (0 < hard && hard < FILES_LEAST)
            .then(|| finding.mend_and_undo((set(65_536, 65_536), set(soft, hard))))
    },
};

pub(super) const ALL_FILES: Check = Check {
    name: "all files",
    reads: "fs.file-max",
    finds: "fewer than 65,536 for all processes together",
    judge: |facts| {
        let most = facts
            .sysctl("fs.file-max", 0)
            .filter(|most| *most < ALL_FILES_LEAST)?;
        let finding = caveat(format!(
            "all processes together may open only {} files",
            count(most)
        ));
        let finding = finding.costs(
            0.1,
            "connections that cannot be opened or accepted",
            Source::Measured,
        );
        Some(finding.mend_and_undo(sysctl("fs.file-max", "1000000", &most.to_string())))
    },
};

pub(super) const PORTS: Check = Check {
    name: "local ports",
    reads: "net.ipv4.ip_local_port_range",
    finds: "fewer than 10,000 ports (28,232 is the kernel's default)",
    judge: |facts| {
        let name = "net.ipv4.ip_local_port_range";
        let (first, last) = (facts.sysctl(name, 0)?, facts.sysctl(name, 1)?);
        let ports = (last + 1).saturating_sub(first);
        let finding = caveat(format!("connects have only {} local ports", count(ports)));
        let rate = count(ports / TIME_WAIT_S);
        let what = format!("without keep-alive {rate} connections/s to one address, then errors");
        let finding = finding.costs(0.2, what, Source::Measured);
        let commands = sysctl(name, "32768 60999", &format!("{first} {last}"));
        (ports < PORTS_LEAST).then(|| finding.mend_and_undo(commands))
    },
};

pub(super) const TIME_WAIT: Check = Check {
    name: "TIME_WAIT",
    reads: "net.ipv4.tcp_tw_reuse, and the kernel's version",
    finds: "0, from Linux 4.19 on, whose default 2 reuses ports on loopback",
    judge: |facts| {
        facts.kernel_from(4, 19).filter(|is| *is)?;
        let name = "net.ipv4.tcp_tw_reuse";
        facts.sysctl(name, 0).filter(|value| *value == 0)?;
        let finding = caveat("ports of closed connections are not used again for 60 s");
        let what = "without keep-alive about 470 connections/s (28,232 ports), then errors";
        let finding = finding.costs(0.15, what, KERNEL_DOC);
        Some(finding.mend_and_undo(sysctl(name, "2", "0")))
    },
};

pub(super) const ACCEPT_QUEUE: Check = Check {
    name: "accept queue",
    reads: "net.core.somaxconn",
    finds: "less than 1024 (4096 is the default since Linux 5.4, 128 before)",
    judge: |facts| {
        let most = facts.machine.somaxconn.filter(|most| *most < QUEUE_LEAST)?;
        let finding = caveat(format!(
            "only {most} connections may wait to be accepted (somaxconn)"
        ));
        let what = "a connect that finds the queue full takes 1 s longer";
        let finding = finding.costs(
            0.2,
            what,
            Source::Published("RFC 6298: first retransmission after 1 s"),
        );
        Some(finding.mend_and_undo(sysctl("net.core.somaxconn", "4096", &most.to_string())))
    },
};

pub(super) const SYN_QUEUE: Check = Check {
    name: "SYN queue",
    reads: "net.ipv4.tcp_syncookies, net.ipv4.tcp_max_syn_backlog",
    finds: "no SYN cookies and a backlog of less than 1024, or cookies for every connection",
    judge: |facts| {
        let cookies = facts.sysctl("net.ipv4.tcp_syncookies", 0)?;
        let backlog = facts
            .sysctl("net.ipv4.tcp_max_syn_backlog", 0)
            .unwrap_or(u64::MAX);
        let headline = match cookies {
            0 if backlog < QUEUE_LEAST => format!("no SYN cookies and a SYN backlog of {backlog}"),
            2 => "every connection is opened by a SYN cookie".to_owned(),
            _ => return None,
        };
        let what = "lost handshakes (1 s each), or connections without TCP options";
        let finding = caveat(headline).costs(0.1, what, KERNEL_DOC);
        Some(finding.mend_and_undo(sysctl("net.ipv4.tcp_syncookies", "1", &cookies.to_string())))
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{Made, finds, found};
    use super::*;
    use record::Grade::Caveat;
    use record::Limit;

    #[test]
    fn little_memory_of_a_group_of_either_version_is_found() {
        fn limit(made: &mut Made, mebibytes: u64, file: &str) {
            let bytes = mebibytes << 20;
            made.setup.control_group.memory = Some(Limit {
                allows: bytes as f64,
                file: file.into(),
                value: bytes.to_string(),
            });
        }
        let headline = "a control group allows only 255 MiB of memory";
        finds(
            &MEMORY,
            &[
                (
                    |made| limit(made, 255, "/g/memory.max"),
                    Some((Caveat, headline)),
                ),
                (|made| limit(made, 256, "/g/memory.max"), None),
                (|_| (), None),
            ],
        );
        for (file, unlimited) in [("/g/memory.max", "max"), ("/g/memory.limit_in_bytes", "-1")] {
            let found = found(&MEMORY, |made| limit(made, 1, file)).unwrap();
            assert_eq!(
                found.mend,
                Some(format!("echo {unlimited} | sudo tee {file}"))
            );
            assert_eq!(found.undo, Some(format!("echo 1048576 | sudo tee {file}")));
        }
    }

    #[test]
    fn few_open_files_are_found_of_a_process_and_of_all() {
        finds(
            &OPEN_FILES,
            &[
                (
                    |made| made.machine.open_files = (256, 1024),
                    Some((Caveat, "a process may open only 1,024 files")),
                ),
                (|made| made.machine.open_files = (1024, 4096), None),
                (|_| (), None),
            ],
        );
        let undo = found(&OPEN_FILES, |made| made.machine.open_files = (256, 1024))
            .unwrap()
            .undo;
        assert_eq!(
            undo.as_deref(),
            Some("sudo prlimit --pid $$ --nofile=256:1024")
        );
        let headline = "all processes together may open only 9,000 files";
        finds(
            &ALL_FILES,
            &[
                (
                    |made| made.sysctl("fs.file-max", "9000"),
                    Some((Caveat, headline)),
                ),
                (
                    |made| made.sysctl("fs.file-max", "9223372036854775807"),
                    None,
                ),
                (|_| (), None),
            ],
        );
    }

    #[test]
    fn few_ports_and_ports_that_stay_closed_are_found() {
        finds(
            &PORTS,
            &[
                (
                    |made| made.sysctl("net.ipv4.ip_local_port_range", "1024 5000"),
                    Some((Caveat, "connects have only 3,977 local ports")),
                ),
                (
                    |made| made.sysctl("net.ipv4.ip_local_port_range", "32768\t60999"),
                    None,
                ),
                (
                    |made| made.sysctl("net.ipv4.ip_local_port_range", "nonsense"),
                    None,
                ),
                (|_| (), None),
            ],
        );
        fn reuse(made: &mut Made, kernel: &str, value: &str) {
            made.machine.kernel = Some(kernel.into());
            made.sysctl("net.ipv4.tcp_tw_reuse", value);
        }
        let headline = "ports of closed connections are not used again for 60 s";
        finds(
            &TIME_WAIT,
            &[
                (
                    |made| reuse(made, "6.1.0-13-amd64", "0"),
                    Some((Caveat, headline)),
                ),
                (|made| reuse(made, "6.1.0-13-amd64", "2"), None),
                (|made| reuse(made, "4.18.0", "0"), None),
                (|made| made.sysctl("net.ipv4.tcp_tw_reuse", "0"), None),
            ],
        );
    }

    #[test]
    fn short_queues_of_connections_are_found() {
        let headline = "only 1023 connections may wait to be accepted (somaxconn)";
        finds(
            &ACCEPT_QUEUE,
            &[
                (
                    |made| made.machine.somaxconn = Some(1023),
                    Some((Caveat, headline)),
                ),
                (|made| made.machine.somaxconn = Some(1024), None),
                (|_| (), None),
            ],
        );
        fn queue(made: &mut Made, cookies: &str, backlog: &str) {
            made.sysctl("net.ipv4.tcp_syncookies", cookies);
            made.sysctl("net.ipv4.tcp_max_syn_backlog", backlog);
        }
        finds(
            &SYN_QUEUE,
            &[
                (
                    |made| queue(made, "0", "512"),
                    Some((Caveat, "no SYN cookies and a SYN backlog of 512")),
                ),
                (|made| queue(made, "0", "1024"), None),
                (|made| queue(made, "1", "512"), None),
                (
                    |made| queue(made, "2", "512"),
                    Some((Caveat, "every connection is opened by a SYN cookie")),
                ),
                (|made| made.sysctl("net.ipv4.tcp_syncookies", "0"), None),
                (|_| (), None),
            ],
        );
    }
}
