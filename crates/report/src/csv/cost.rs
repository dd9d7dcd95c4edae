//! The columns of what the server cost, and of what the machine did meanwhile: the same in a row a point and in a row a
//! round, because each is of some rounds.

use super::{fixed, micros};
use record::{Budget, Cost, Footprint, KernelCounters, Round};
use units::Nanos;

/// A column.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its name in the header row.
    pub name: &'static str,
    /// What it means, with its unit.
    pub doc: &'static str,
    value: fn(&[Round]) -> String,
}

/// Every column, in order.
pub const COLUMNS: &[Column] = &[
    Column {
        name: "server_cpu_s",
        doc: "the server's CPU time in the window, in seconds, all its processes together; this and what follows of the server is empty where it was not observed",
        value: |rounds| seconds(Cost::of(rounds).map(|cost| cost.cpu_s)),
    },
    Column {
        name: "server_cpu_user_s",
        doc: "the part of it in its own code, as the kernel samples it; empty where there are too few samples",
        value: |rounds| seconds(Cost::of(rounds).and_then(|cost| cost.cpu_user_s)),
    },
    Column {
        name: "server_cpu_kernel_s",
        doc: "the part of it in the kernel, likewise",
        value: |rounds| seconds(Cost::of(rounds).and_then(|cost| cost.cpu_kernel_s)),
    },
    Column {
        name: "server_cpu_us_per_request",
        doc: "that CPU time over the exchanges that ended well in the window, in microseconds",
        value: |rounds| micros(Cost::of(rounds).and_then(|cost| cost.cpu_us_per_request)),
    },
    Column {
        name: "server_cpu_lower_bound",
        doc: "true where some of the server's CPU time may be missing",
        value: |rounds| shown(Cost::of(rounds).map(|cost| cost.lower_bound)),
    },
    Column {
        name: "server_pss_rest_bytes",
        doc: "the server's memory before the campaign's load, as PSS; empty where it may not be read",
        value: |rounds| shown(Cost::of(rounds).and_then(|cost| cost.pss_bytes.rest)),
    },
    Column {
        name: "server_pss_before_bytes",
        doc: "its memory before a round, of several the median",
        value: |rounds| shown(Cost::of(rounds).and_then(|cost| cost.pss_bytes.before)),
    },
    Column {
        name: "server_pss_after_bytes",
        doc: "its memory after a round's drain, while connections were still open, of several the median",
        value: |rounds| shown(Cost::of(rounds).and_then(|cost| cost.pss_bytes.after)),
    },
    Column {
        name: "server_pss_peak_bytes",
        doc: "the largest of all that were read",
        value: |rounds| shown(Cost::of(rounds).and_then(|cost| cost.pss_bytes.peak)),
    },
    Column {
        name: "server_processes",
        doc: "its processes at the window's end, of several windows the most",
        value: |rounds| shown(most(rounds, |print| Some(print.processes.into()))),
    },
    Column {
        name: "server_threads",
        doc: "its threads, likewise",
        value: |rounds| shown(most(rounds, |print| print.threads.map(u64::from))),
    },
    Column {
        name: "server_descriptors",
        doc: "files and sockets that it held open after the drain, likewise",
        value: |rounds| shown(most(rounds, |print| print.descriptors)),
    },
    Column {
        name: "softirq_s",
        doc: "CPU time of the machine in the window that went to softirq, in seconds; this and the next two by the kernel's ticks",
        value: |rounds| spent(rounds, |budget| Some(budget.softirq)),
    },
    Column {
        name: "steal_s",
        doc: "what the hypervisor gave to others, likewise",
        value: |rounds| spent(rounds, |budget| Some(budget.steal)),
    },
    Column {
        name: "other_s",
        doc: "what went to neither generator nor server nor these, likewise; empty where the server was not observed",
        value: |rounds| spent(rounds, Budget::other),
    },
    Column {
        name: "listen_overflows",
        doc: "connections that came while a listener's queue was full, of the whole machine in the window",
        value: |rounds| counted(rounds, |kernel| kernel.listen_overflows),
    },
    Column {
        name: "listen_drops",
        doc: "connections that a listener lost, those among them, likewise",
        value: |rounds| counted(rounds, |kernel| kernel.listen_drops),
    },
    Column {
        name: "syn_retransmits",
        doc: "handshakes that were sent again, likewise",
        value: |rounds| counted(rounds, |kernel| kernel.syn_retransmits),
    },
    Column {
        name: "retransmits",
        doc: "segments that were sent again, those among them, likewise",
        value: |rounds| counted(rounds, |kernel| kernel.retransmits),
    },
    Column {
        name: "tcp_memory_bytes",
        doc: "bytes of memory that TCP held at the end of the window: the most of the rounds",
        value: |rounds| held(rounds, |kernel| kernel.tcp_memory),
    },
    Column {
        name: "system_memory_bytes",
        doc: "bytes of memory in use on the whole machine at the end of the window, weigh's among them, likewise",
        value: |rounds| held(rounds, |kernel| kernel.system_memory),
    },
];

/// The fields of `rounds`.
pub(super) fn fields(rounds: &[Round]) -> impl Iterator<Item = String> {
    COLUMNS.iter().map(|column| (column.value)(rounds))
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn seconds(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| fixed(value, 6))
}

/// The most over the rounds in which it is known.
fn most(rounds: &[Round], of: fn(&Footprint) -> Option<u64>) -> Option<u64> {
    let prints = rounds.iter().filter_map(|round| round.footprint.as_ref());
    prints.filter_map(of).max()
}

/// A part of the machine's time over all rounds; nothing where one of them does not know it.
fn spent(rounds: &[Round], part: fn(&Budget) -> Option<Nanos>) -> String {
    let part = |round: &Round| part(round.budget.as_ref()?);
    let sum: Option<Nanos> = rounds.iter().map(part).sum();
    seconds(sum.map(Nanos::as_secs_f64))
}

/// What was counted over all rounds, likewise.
fn counted(rounds: &[Round], part: fn(&KernelCounters) -> Option<u64>) -> String {
    let part = |round: &Round| part(round.kernel.as_ref()?);
    shown(rounds.iter().map(part).sum::<Option<u64>>())
}

/// The most that was held at the end, over the rounds in which that is known.
fn held(rounds: &[Round], part: fn(&KernelCounters) -> Option<(u64, u64)>) -> String {
    let last = rounds
        .iter()
        .filter_map(|round| Some(part(round.kernel.as_ref()?)?.1));
    shown(last.max())
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Memory, Sampled};

    fn field(rounds: &[Round], name: &str) -> String {
        let place = COLUMNS.iter().position(|column| column.name == name);
        fields(rounds).nth(place.unwrap()).unwrap()
    }

    fn observed() -> Round {
        let memory = Memory {
            rest: Some(1),
            before: Some(20),
            after: Some(30),
            connections: 5,
        };
        let mut round = Round {
            footprint: Some(Footprint {
                cpu: Nanos::from_millis(250),
                sampled: Some(Sampled {
                    user: Nanos::from_millis(50),
                    kernel: Nanos::from_millis(200),
                }),
                processes: 3,
                threads: Some(4),
                memory: Some(memory),
                ..Footprint::default()
            }),
            budget: Some(Budget {
                softirq: Nanos::from_millis(10),
                steal: Nanos::from_millis(20),
                ..Budget::default()
            }),
            kernel: Some(KernelCounters {
                listen_overflows: Some(7),
                ..KernelCounters::default()
            }),
            ..Round::default()
        };
        round.tally.ok_in_window = 1_000;
        round
    }

    #[test]
    fn two_rounds_are_added_up_and_what_is_held_is_not() {
        let rounds = [observed(), observed()];
        let cases = [
            ("server_cpu_s", "0.250000", "0.500000"),
            ("server_cpu_user_s", "0.050000", "0.100000"),
            ("server_cpu_kernel_s", "0.200000", "0.400000"),
            ("server_cpu_us_per_request", "250.000", "250.000"),
            ("server_cpu_lower_bound", "false", "false"),
            ("server_pss_rest_bytes", "1", "1"),
            ("server_pss_before_bytes", "20", "20"),
            ("server_pss_after_bytes", "30", "30"),
            ("server_pss_peak_bytes", "30", "30"),
            ("server_processes", "3", "3"),
            ("server_threads", "4", "4"),
            ("server_descriptors", "", ""),
            ("softirq_s", "0.010000", "0.020000"),
            ("steal_s", "0.020000", "0.040000"),
            ("other_s", "", ""),
            ("listen_overflows", "7", "14"),
            ("listen_drops", "", ""),
        ];
        for (name, one, two) in cases {
            assert_eq!(field(&rounds[..1], name), one, "{name}");
            assert_eq!(field(&rounds, name), two, "{name}");
        }
    }

    #[test]
    fn of_a_server_that_was_not_observed_every_field_is_empty() {
        assert!(fields(&[Round::default()]).all(|field| field.is_empty()));
    }
}
