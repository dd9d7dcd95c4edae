//! What points have shown, for people: medians, and ratios to the yardstick with their intervals, as in `cost`.

use super::memory::Need;
use super::point::{Failure, Figure, Point};
use super::trial::Trial;
use crate::catalogue::{Class, Server};
use crate::cost::table::{line, median, shown};

/// One point as a table, its system calls below.
pub fn text(point: &Point) -> String {
    let mut text = String::new();
    let subject = &point.subject;
    let (yardstick, rounds) = (subject.yardstick.name, point.rounds());
    line(
        &mut text,
        format!(
            "{}: {} requests a run, {rounds} rounds",
            subject.title, subject.ask.exchanges
        ),
    );
    let (cpu, rate) = match subject.ask.is_large {
        true => ("s/GB", "MB/s"),
        false => ("us", "requests/s"),
    };
    let of = format!("of {yardstick}");
    line(
        &mut text,
        format!(
            "                   CPU {cpu:<5}{of:<23} {rate:>10}   {of:<23} {:>7} {:>7} {:>7}",
            "PSS MB", "bytes", "calls"
        ),
    );
    let mut class = None;
    for server in &point.servers {
        if class.replace(server.class) != Some(server.class) && server.class != Class::Floor {
            line(&mut text, format!("{}:", server.class));
        }
        line(&mut text, row(point, server));
    }
    for (server, why) in &point.failed {
        line(&mut text, format!("  {:<16} not run: {why}", server.name));
    }
    for calls in &point.calls {
        line(
            &mut text,
            format!("calls    {}: {}", calls.tool, calls.text()),
        );
    }
    text
}

/// What the columns are.
pub const LEGEND: &str = "CPU: median CPU time of all of the server's processes, by their own clocks. Ratios: median of the rounds' ratios to the \
     run of the\nyardstick next to them, and its 95 % interval. PSS: median memory after the run, proportional share. Bytes: of one answer. Calls: \
     the\nserver's system calls for an answer under strace. Compare within a class.";

/// A figure of one run.
type Of = fn(&Trial) -> f64;

fn row(point: &Point, server: &'static Server) -> String {
    let trials = point.of(server);
    let values = |of: Of| trials.iter().map(|trial| of(trial)).collect::<Vec<_>>();
    let (cpu, rate): (Of, Of) = match point.subject.ask.is_large {
        true => (Trial::cpu_s_per_gigabyte, Trial::megabytes_per_second),
        false => (Trial::cpu_us_per_exchange, Trial::per_second),
    };
    let calls = point.calls.iter().find(|calls| calls.tool == server.name);
    format!(
        "  {:<16} {:>7.3}  {:<23} {:>10.0}   {:<23} {:>7.1} {:>7} {:>7}",
        server.name,
        median(values(cpu)),
        ratio(point, server, Figure::Cpu),
        median(values(rate)),
        ratio(point, server, Figure::Rate),
        median(values(Trial::pss_mb)),
        trials.first().map_or(0, |trial| trial.bytes),
        calls.map_or("-".to_owned(), |calls| format!("{:.2}", calls.total())),
    )
}

fn ratio(point: &Point, server: &'static Server, figure: Figure) -> String {
    let yardstick = point.subject.yardstick;
    match server == yardstick {
        true => "1".to_owned(),
        false => shown(&point.ratios(server, yardstick, figure)),
    }
}

/// Memory as a table.
pub fn memory(needs: &[Need], failed: &[Failure]) -> String {
    let mut text = String::new();
    line(
        &mut text,
        "memory with two workers: medians over the starts".to_owned(),
    );
    line(
        &mut text,
        "                    PSS MB   processes   bytes for each of 10,000 idle connections"
            .to_owned(),
    );
    let mut servers: Vec<&'static Server> = needs.iter().map(|need| need.server).collect();
    servers.dedup();
    for server in servers {
        line(&mut text, need(needs, server));
    }
    for (server, why) in failed {
        line(&mut text, format!("  {:<16} not run: {why}", server.name));
    }
    text
}

fn need(needs: &[Need], server: &'static Server) -> String {
    let own = || needs.iter().filter(|need| need.server == server);
    let each: Vec<f64> = own().filter_map(|need| need.bytes_each).collect();
    format!(
        "  {:<16} {:>7.1} {:>11.0}   {}",
        server.name,
        median(own().map(|need| need.pss_kb as f64 * 1.024e-3).collect()),
        median(own().map(|need| need.processes as f64).collect()),
        stats::median(&each).map_or("-".to_owned(), |each| format!("{each:.0}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::named;

    #[test]
    fn memory_has_a_line_for_each_server_and_each_failure() {
        let need = |name: &str, pss_kb, bytes_each| Need {
            server: named(name),
            pss_kb,
            processes: 3,
            bytes_each,
        };
        let needs = [
            need("weigh-file", 2000, Some(500.0)),
            need("weigh-file", 2200, Some(520.0)),
            need("apache", 9000, None),
        ];
        let failed = [(named("h2o"), "it has ended".to_owned())];
        let text = memory(&needs, &failed);
        let lines: Vec<String> = text
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            lines,
            [
                "weigh-file 2.2 3 510",
                "apache 9.2 3 -",
                "h2o not run: it has ended"
            ]
        );
    }
}
