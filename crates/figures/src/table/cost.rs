//! What generator, server and machine spent.

use super::{count, number, text};
use crate::figure::Shown::{Always, Observed};
use crate::figure::Weight::{Dim, Plain};
use crate::{Figure, Figures, Unit, Value};
use record::{Budget, Cost, Footprint, KernelCounters, Round, Spread};
use units::Nanos;

/// How busy each side was.
#[rustfmt::skip]
pub(super) const BUSY: &[Figure] = &[
    Figure::new("generator.busy", Unit::Share,
        "CPU time of the busiest generator thread without busy-polling, as a share of the measure window; of several rounds \
         the median; empty under 10 ms",
        |f, _| number(Round::typical(f.rounds, Round::generator_busy))).aliases(&["generator_busy"])
        .csv("generator_busy").cell("generator", 4, Plain, Always),
    Figure::new("generator.cpu_us", Unit::Micros,
        "CPU time of the generator without busy-polling, per request that ended in the measure window, in microseconds; \
         empty where it hardly did anything else",
        |f, _| number(f.generator_cpu_us())).class(record::Figure::Counts).csv("generator_cpu_us_per_ended_request"),
    Figure::new("server.busy", Unit::Share,
        "CPU time of the server as a share of the CPUs it may use; of several rounds the median; empty under 10 ms, and \
         where it was not observed",
        |f, _| number(Round::typical(f.rounds, Round::server_busy))).aliases(&["server_busy"]).at_least(is_missing)
        .csv("server_busy").cell("server", 5, Plain, Observed).absent(unobserved),
    Figure::new("server.cpu_us", Unit::Micros,
        "CPU time of the server per request that ended in the measure window, ok or not, in microseconds",
        |f, _| number(f.server_cpu_us())).at_least(is_missing).class(record::Figure::Counts)
        .csv("server_cpu_us_per_ended_request").absent(unobserved),
    Figure::new("server.cpus", Unit::Plain, "CPUs that the server used: CPU time / wall; of several rounds the median",
        |f, _| number(Round::typical(f.rounds, cpus_used))).repeats().at_least(is_missing).absent(unobserved),
];

/// What the server cost.
#[rustfmt::skip]
pub(super) const SERVER: &[Figure] = &[
    Figure::new("cpu_s", Unit::Seconds,
        "CPU time of all server processes in the measure window, in seconds; this and the next columns are empty where \
         the server was not observed",
        |f, _| number(f.cost.as_ref().map(|cost| cost.cpu_s))).at_least(is_bound).csv("server_cpu_s").absent(unobserved),
    Figure::new("cpu_user_s", Unit::Seconds, "user part of it, as the kernel samples it; empty under ten samples",
        |f, _| cost(f, |cost| cost.cpu_user_s)).csv("server_cpu_user_s")
        .cell("user", 1, Plain, Observed).absent(unobserved),
    Figure::new("cpu_kernel_s", Unit::Seconds, "kernel part of it, likewise",
        |f, _| cost(f, |cost| cost.cpu_kernel_s)).csv("server_cpu_kernel_s")
        .cell("kernel", 1, Plain, Observed).absent(unobserved),
    Figure::new("cpu_us_per_request", Unit::Micros,
        "CPU time of the server per request that ended ok in the measure window, in microseconds",
        |f, _| cost(f, |cost| cost.cpu_us_per_request.filter(|us| *us > 0.0))).aliases(&["server.cpu_us_per_request", "per_request.cpu_us.mean"]).at_least(is_bound)
        .class(record::Figure::Counts).repeats().csv("server_cpu_us_per_request")
        .cell("CPU/request", 6, Plain, Observed).absent(unobserved),
    Figure::new("per_request.requests_per_cpu_s.mean", Unit::PerSecond,
        "requests that ended ok per second of CPU time of the server: the same the other way round",
        |f, _| number(per_cpu(f)?.mean)).class(record::Figure::Counts).repeats().absent(unobserved),
    Figure::new("cpu_lower_bound", Unit::Text, "true where some CPU time of the server may be missing",
        |f, _| text(f.cost.as_ref().map(|cost| cost.lower_bound.to_string()))).csv("server_cpu_lower_bound"),
    Figure::new("pss_bytes.rest", Unit::Bytes, "memory of the server before the load, as PSS; empty where it cannot be read",
        |f, _| held(f, |cost| cost.pss_bytes.rest)).csv("server_pss_rest_bytes").absent(unobserved),
    Figure::new("pss_bytes.before", Unit::Bytes, "its memory before a round; of several the median",
        |f, _| held(f, |cost| cost.pss_bytes.before)).csv("server_pss_before_bytes").absent(unobserved),
    Figure::new("pss_bytes.after", Unit::Bytes, "its memory after a round, its connections still open; of several the median",
        |f, _| held(f, |cost| cost.pss_bytes.after)).csv("server_pss_after_bytes")
        .cell("memory", 4, Plain, Observed).absent(unobserved),
    Figure::new("pss_bytes.peak", Unit::Bytes, "max of its memory readings",
        |f, _| held(f, |cost| cost.pss_bytes.peak)).aliases(&["memory", "rss", "pss"]).csv("server_pss_peak_bytes").absent(unobserved),
    Figure::new("server.processes", Unit::Count, "its processes at the end of the measure window; of several the max",
        |f, _| most(f, |print| Some(print.processes.into()))).csv("server_processes").absent(unobserved),
    Figure::new("server.threads", Unit::Count, "its threads, likewise",
        |f, _| most(f, |print| print.threads.map(u64::from))).csv("server_threads").absent(unobserved),
    Figure::new("server.descriptors", Unit::Count, "files and sockets that it held open after the drain, likewise",
        |f, _| most(f, |print| print.descriptors)).csv("server_descriptors").absent(unobserved),
];

/// Rows of what the complete rounds' values of a figure come to: its path, its unit, the figure in words, where it is read.
macro_rules! spread {
    ($path:literal, $unit:ident, $words:literal, $of:ident) => {
        &[
            spread!(
                $path,
                $unit,
                concat!("lowest ", $words, " of a complete round"),
                $of,
                min
            ),
            spread!(
                $path,
                $unit,
                concat!("median ", $words, " of the complete rounds"),
                $of,
                median
            ),
            spread!(
                $path,
                $unit,
                concat!("highest ", $words, " of a complete round"),
                $of,
                max
            ),
            spread!(
                $path,
                $unit,
                concat!("lower end of the 95 % interval of the rounds' ", $words),
                $of,
                low
            ),
            spread!($path, $unit, "upper end of that interval", $of, high),
            spread!(
                $path,
                $unit,
                "its centre, the geometric mean",
                $of,
                geometric_mean
            ),
            Figure::new(
                concat!($path, ".rounds"),
                Unit::Count,
                "complete rounds that it rests on",
                |f, _| count(u64::from($of(f)?.rounds)),
            )
            .class(record::Figure::Counts)
            .absent(unobserved),
        ]
    };
    ($path:literal, $unit:ident, $doc:expr, $of:ident, $name:ident) => {
        Figure::new(
            concat!($path, ".", stringify!($name)),
            Unit::$unit,
            $doc,
            |f, _| number($of(f)?.$name),
        )
        .class(record::Figure::Counts)
        .at_least(is_bound)
        .absent(unobserved)
    };
}

/// The server's CPU time per request, of each round.
#[rustfmt::skip]
pub(super) const REQUEST_CPU: &[Figure] = spread!("per_request.cpu_us", Micros, "CPU time of the server per request", request_cpu);

/// The same the other way round.
#[rustfmt::skip]
pub(super) const PER_CPU: &[Figure] =
    spread!("per_request.requests_per_cpu_s", PerSecond, "number of requests per second of CPU time of the server", per_cpu);

/// What the whole machine did meanwhile.
#[rustfmt::skip]
pub(super) const MACHINE: &[Figure] = &[
    Figure::new("machine.softirq_s", Unit::Seconds,
        "CPU time of the machine in softirq in the measure window, in seconds; this and the next two by ticks",
        |f, _| spent(f, |budget| Some(budget.softirq))).csv("softirq_s"),
    Figure::new("machine.steal_s", Unit::Seconds, "CPU time that the hypervisor gave to other machines",
        |f, _| spent(f, |budget| Some(budget.steal))).csv("steal_s"),
    Figure::new("machine.other_s", Unit::Seconds,
        "CPU time of everything but these, generator and server; empty where the server was not observed",
        |f, _| spent(f, Budget::other)).csv("other_s"),
    Figure::new("machine.listen_overflows", Unit::Count,
        "connections that met a full listen queue, on the whole machine in the measure window",
        |f, _| counted(f, |kernel| kernel.listen_overflows)).csv("listen_overflows"),
    Figure::new("machine.listen_drops", Unit::Count, "connections that a listener dropped, those included",
        |f, _| counted(f, |kernel| kernel.listen_drops)).csv("listen_drops"),
    Figure::new("machine.syn_retransmits", Unit::Count, "TCP SYN retransmits, likewise of the whole machine",
        |f, _| counted(f, |kernel| kernel.syn_retransmits)).csv("syn_retransmits"),
    Figure::new("machine.retransmits", Unit::Count, "TCP retransmits, those included",
        |f, _| counted(f, |kernel| kernel.retransmits)).csv("retransmits"),
    Figure::new("machine.tcp_memory_bytes", Unit::Bytes,
        "memory that TCP held at the end of the measure window; of several rounds the max",
        |f, _| last(f, |kernel| kernel.tcp_memory)).csv("tcp_memory_bytes").cell("TCP memory", 1, Dim, Always),
    Figure::new("machine.system_memory_bytes", Unit::Bytes,
        "memory in use on the whole machine at the end of the measure window, likewise",
        |f, _| last(f, |kernel| kernel.system_memory)).csv("system_memory_bytes").cell("system memory", 1, Dim, Always),
];

fn request_cpu<'f>(f: &'f Figures<'_>) -> Option<&'f Spread> {
    f.summary.per_request.as_ref().map(|each| &each.cpu_us)
}

/// None where some CPU time may be missing, which would make it an upper bound.
fn per_cpu<'f>(f: &'f Figures<'_>) -> Option<&'f Spread> {
    let each = f.summary.per_request.as_ref();
    each.filter(|each| !each.lower_bound)
        .map(|each| &each.requests_per_cpu_s)
}

/// Says why figures of the server are not there.
fn unobserved(f: &Figures<'_>) -> Option<String> {
    Some(match f.cost.as_ref() {
        None => "was not measured: the server was not observed".to_owned(),
        Some(cost) if cost.lower_bound => {
            "was not measured: some CPU time of the server may be missing".to_owned()
        }
        Some(_) => return None,
    })
}

/// Whether some CPU time of the server may be missing.
fn is_missing(f: &Figures<'_>, _: crate::Part) -> bool {
    let mut prints = f.rounds.iter().filter_map(|round| round.footprint.as_ref());
    prints.any(|print| print.lower_bound)
}

fn cpus_used(round: &Round) -> Option<f64> {
    let print = round.priced()?;
    let is_long = print.wall >= Round::SHARES_FROM;
    is_long.then(|| print.cpu.as_secs_f64() / print.wall.as_secs_f64())
}

fn cost(f: &Figures<'_>, of: fn(&Cost) -> Option<f64>) -> Option<Value> {
    number(f.cost.as_deref().and_then(of))
}

fn held(f: &Figures<'_>, of: fn(&Cost) -> Option<u64>) -> Option<Value> {
    count(f.cost.as_deref().and_then(of))
}

fn is_bound(f: &Figures<'_>, _: crate::Part) -> bool {
    f.cost.as_ref().is_some_and(|cost| cost.lower_bound)
}

/// The max over the rounds in which it is known.
fn most(f: &Figures<'_>, of: fn(&Footprint) -> Option<u64>) -> Option<Value> {
    let prints = f.rounds.iter().filter_map(|round| round.footprint.as_ref());
    count(prints.filter_map(of).max())
}

/// A part of the machine's time over all rounds; none where one of them does not know it.
fn spent(f: &Figures<'_>, part: fn(&Budget) -> Option<Nanos>) -> Option<Value> {
    let part = |round: &Round| part(round.budget.as_ref()?);
    let sum: Option<Nanos> = f.rounds.iter().map(part).sum();
    number(sum.map(Nanos::as_secs_f64))
}

/// What was counted over all rounds, likewise.
fn counted(f: &Figures<'_>, part: fn(&KernelCounters) -> Option<u64>) -> Option<Value> {
    let part = |round: &Round| part(round.kernel.as_ref()?);
    count(f.rounds.iter().map(part).sum::<Option<u64>>())
}

/// The max at the end of a round, over the rounds in which it is known.
fn last(f: &Figures<'_>, part: fn(&KernelCounters) -> Option<(u64, u64)>) -> Option<Value> {
    let last = f
        .rounds
        .iter()
        .filter_map(|round| Some(part(round.kernel.as_ref()?)?.1));
    count(last.max())
}
