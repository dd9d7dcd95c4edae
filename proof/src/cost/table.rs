//! The results of a point and of memory, for people: medians, and ratios to the yardstick with their intervals.

use super::goals;
use super::memory::{Failed, Need};
use super::point::Point;
use super::series::{Series, Trial, median, shown};
use crate::catalogue::{Class, SERVERS};
use crate::columns::aligned;

/// A figure of one run.
type Figure = fn(&Trial) -> f64;

/// Returns one point as a table, with its system calls and goals below.
pub fn text(point: &Point) -> String {
    let (subject, rounds) = (&point.subject, point.rounds);
    let (title, exchanges) = (&subject.title, subject.load.exchanges);
    let (cpu, rate) = match subject.load.is_large() {
        true => ("CPU s/GB", "MB/s"),
        false => ("CPU us", "requests/s"),
    };
    let of = format!("of {}", subject.yardstick);
    let head = [
        "",
        cpu,
        &of,
        "less start",
        rate,
        &of,
        "MB",
        "bytes",
        "calls",
        "start ms",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut class = None;
    for name in [&[subject.yardstick][..], &subject.names].concat() {
        let server = SERVERS.iter().find(|server| server.name == name);
        let server = server.filter(|it| point.starts.is_empty() && it.class != Class::Floor);
        if let Some(new) = server
            .map(|server| server.class)
            .filter(|it| class != Some(*it))
        {
            class = Some(new);
            rows.push(vec![format!("{new}:")]);
        }
        rows.push(row(point, name));
    }
    let mut text = format!("{title}: {exchanges} requests a run, {rounds} rounds\n");
    text += &aligned(&rows);
    text += &failures(&point.failed);
    for calls in &point.calls {
        text += &format!("calls    {}: {}\n", calls.name, calls.text());
    }
    text + &goals::of_subject(subject.name, &point.series).join("\n")
}

fn failures(failed: &Failed) -> String {
    let line = |(name, why): &(&str, String)| format!("{name:<16} not run: {why}\n");
    failed.iter().map(line).collect()
}

/// The meaning of the columns.
pub const LEGEND: &str = "CPU: median CPU time for a request, of the client's process with its start, or of all of the server's processes by \
     their own clocks.\nRatios: median of the rounds' ratios to the run of the yardstick next to them, and its 95 % interval; less start: of CPU \
     time without\nthat of the start. MB: median of a client's peak, or of a server's proportional share after the run. Bytes: of one response. \
     Calls: system\ncalls of a request under strace. Start: median CPU time of runs with one request for each connection. Without \
     keep-alive the floor waits for\neach connect, as every client must that may get a refusal. Compare servers within a class.";

fn row(point: &Point, name: &'static str) -> Vec<String> {
    let series = &point.series;
    let (cpu, rate): (Figure, Figure) = match point.subject.load.is_large() {
        true => (Trial::cpu_s_per_gigabyte, Trial::megabytes_per_second),
        false => (Trial::cpu_us_per_exchange, Trial::per_second),
    };
    let calls = point.calls.iter().find(|calls| calls.name == name);
    let start = start_us(point, name);
    let mut bytes = series.trials.iter().filter(|trial| trial.name == name);
    let bytes = bytes.find_map(|trial| trial.response_bytes);
    vec![
        name.to_owned(),
        format!("{:.3}", median(series.values(name, cpu))),
        series.ratio(name, cpu),
        or_dash(less_start(point, name)),
        format!("{:.0}", median(series.values(name, rate))),
        series.ratio(name, rate),
        format!("{:.1}", median(series.values(name, Trial::memory_mb))),
        or_dash(bytes.map(|bytes| bytes.to_string())),
        or_dash(calls.map(|calls| format!("{:.2}", calls.total()))),
        or_dash(start.map(|start| format!("{:.1}", start / 1000.0))),
    ]
}

fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".to_owned())
}

/// CPU time of a tool's start in µs, its first request on each connection included.
fn start_us(point: &Point, name: &str) -> Option<f64> {
    let of_tool = point.starts.iter().filter(|trial| trial.name == name);
    stats::median(&of_tool.map(|trial| trial.cpu_us).collect::<Vec<_>>())
}

/// The ratio of what the requests beyond the first on each connection cost.
fn less_start(point: &Point, name: &'static str) -> Option<String> {
    let Series { yardstick, .. } = point.series;
    let (own, beside) = (start_us(point, name)?, start_us(point, yardstick)?);
    let less = |start: f64| move |trial: &Trial| (trial.cpu_us - start) / trial.exchanges as f64;
    Some(match name == yardstick {
        true => "1".to_owned(),
        false => shown(&point.series.ratios(name, less(own), less(beside))),
    })
}

/// Returns memory as a table, with its goals below.
pub fn memory(needs: &[Need], failed: &Failed) -> String {
    let head = [
        "",
        "PSS MB",
        "processes",
        "bytes for each of 10,000 idle connections",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut servers: Vec<&'static str> = needs.iter().map(|need| need.server).collect();
    servers.dedup();
    rows.extend(servers.into_iter().map(|server| need(needs, server)));
    let title = "memory with two workers: medians over the starts\n".to_owned();
    title + &aligned(&rows) + &failures(failed) + &goals::of_memory(needs).join("\n")
}

fn need(needs: &[Need], server: &'static str) -> Vec<String> {
    let own = || needs.iter().filter(|need| need.server == server);
    let each: Vec<f64> = own()
        .filter_map(|need| need.bytes_per_idle_connection)
        .collect();
    let pss = own().map(|need| need.pss_kb as f64 * 1.024e-3).collect();
    let processes = own().map(|need| need.processes as f64).collect();
    vec![
        server.to_owned(),
        format!("{:.1}", median(pss)),
        format!("{:.0}", median(processes)),
        or_dash(stats::median(&each).map(|each| format!("{each:.0}"))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_line_for_each_server_and_each_failure() {
        let need = |server: &'static str, pss_kb, bytes_per_idle_connection| Need {
            server,
            workers: 2,
            pss_kb,
            processes: 3,
            bytes_per_idle_connection,
        };
        let needs = [
            need("nginx", 2000, Some(500.0)),
            need("nginx", 2200, Some(520.0)),
            need("apache", 9000, None),
        ];
        let failed = vec![("h2o", "it has ended".to_owned())];
        let text = memory(&needs, &failed);
        let lines: Vec<String> = text
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let wanted = [
            "nginx 2.2 3 510",
            "apache 9.2 3 -",
            "h2o not run: it has ended",
        ];
        assert_eq!(lines, wanted);
    }
}
