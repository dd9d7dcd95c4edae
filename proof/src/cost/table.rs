//! What a point has shown, for people: medians, and ratios to the floor with their intervals.
//!
//! A ratio is taken between neighbours in time, a run of the tool and a run of the floor: what disturbs both cancels.
//! Of the rounds' ratios the table shows the median and its interval, which holds whatever the noise's law. It says how
//! far repeating on this machine as it is would lead elsewhere, and nothing about another machine.

use super::Point;
use super::tools::Ask;
use super::trial::Trial;
use crate::catalogue::Tool;
use std::fmt::Write;

/// One point as a table.
pub fn text(point: &Point, tools: &[&'static Tool]) -> String {
    let mut text = String::new();
    let kind = if point.close {
        "a new connection for each exchange"
    } else {
        "keep-alive"
    };
    let rounds = point.rounds();
    line(
        &mut text,
        format!(
            "{} connections, {kind}, bodies of {} bytes: {} exchanges a run, {rounds} rounds",
            point.connections, point.body, point.exchanges
        ),
    );
    line(
        &mut text,
        format!(
            "            CPU us   {0:<21}   less start              requests/s   {0:<21}   peak MB   calls   start ms",
            format!("of the {}'s", point.base)
        ),
    );
    for tool in tools {
        match asked(point).refused_by(tool) {
            Some(why) => line(&mut text, format!("{:<11} not run: {why}", tool.name)),
            None => line(&mut text, row(point, tool.name)),
        }
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
pub fn legend(close: bool) -> String {
    let close = if close {
        " Without keep-alive the floor waits for each connect, as whoever may get a refusal must."
    } else {
        ""
    };
    format!(
        "CPU us: median CPU time of the client's process for an exchange, start included. Ratios: median of the rounds' \
         ratios to the\nfloor's run next to them, and its 95 % interval; less start: of CPU time without that of the start. Peak MB: median. Calls: \
         system calls of an exchange under\nstrace. Start ms: median CPU time of runs with one exchange for each \
         connection.{close}"
    )
}

fn asked(point: &Point) -> Ask {
    Ask {
        connections: point.connections,
        exchanges: point.exchanges,
        close: point.close,
        seconds: 0.0,
        body: point.body,
    }
}

fn row(point: &Point, tool: &str) -> String {
    let trials = point.of(tool);
    let floors = point.of(point.base);
    let values = |of: fn(&Trial) -> f64| trials.iter().map(|trial| of(trial)).collect::<Vec<_>>();
    let calls = point.calls.iter().find(|calls| calls.tool == tool);
    let start = start_us(point, tool);
    format!(
        "{tool:<11} {:>6.3}   {:<21}   {:<21}   {:>10.0}   {:<21}   {:>7.1} {:>7} {:>10}",
        median(values(Trial::cpu_us_per_exchange)),
        ratio(&trials, &floors, Trial::cpu_us_per_exchange),
        match (start, start_us(point, point.base)) {
            (Some(start), Some(floors_start)) =>
                less_start(point, (&trials, start), (&floors, floors_start)),
            _ => "-".to_owned(),
        },
        median(values(Trial::per_second)),
        ratio(&trials, &floors, Trial::per_second),
        median(values(Trial::peak_mb)),
        calls.map_or("-".to_owned(), |calls| format!("{:.2}", calls.total())),
        start.map_or("-".to_owned(), |start| format!("{:.1}", start / 1000.0)),
    )
}

/// CPU time of a tool's start in µs, its first exchange on each connection included.
fn start_us(point: &Point, tool: &str) -> Option<f64> {
    let of_tool = point.starts.iter().filter(|trial| trial.tool == tool);
    stats::median(&of_tool.map(Trial::cpu_us).collect::<Vec<_>>())
}

/// The ratio of what the exchanges beyond the first on each connection cost.
fn less_start(point: &Point, ours: (&[&Trial], f64), floors: (&[&Trial], f64)) -> String {
    let exchanges = (point.exchanges - point.connections) as f64;
    let each = |trial: &Trial, start: f64| (trial.cpu_us() - start) / exchanges;
    ratio_of(
        ours.0,
        floors.0,
        |trial| each(trial, ours.1),
        |trial| each(trial, floors.1),
    )
}

/// `1.052 (1.041..1.063)`, paired by round.
fn ratio(trials: &[&Trial], floors: &[&Trial], of: fn(&Trial) -> f64) -> String {
    ratio_of(trials, floors, of, of)
}

fn ratio_of(
    trials: &[&Trial],
    floors: &[&Trial],
    of: impl Fn(&Trial) -> f64,
    of_floor: impl Fn(&Trial) -> f64,
) -> String {
    let Some(tool) = trials.first().map(|trial| trial.tool) else {
        return "-".to_owned();
    };
    // Every run of what the others are held against was made for one of them.
    if trials[0].beside.is_some() {
        return "1".to_owned();
    }
    let pair = |trial: &&Trial| {
        let is_neighbour =
            |floor: &&&Trial| floor.round == trial.round && floor.beside == Some(tool);
        let floor = floors.iter().find(is_neighbour)?;
        Some(of(trial) / of_floor(floor))
    };
    shown(&trials.iter().filter_map(pair).collect::<Vec<f64>>())
}

/// The rounds' ratios as `1.052 (1.041..1.063)`: their median and its 95 % interval.
pub fn shown(ratios: &[f64]) -> String {
    match (stats::median_interval(ratios), stats::median(ratios)) {
        (Some(interval), _) => format!(
            "{:.3} ({:.3}..{:.3})",
            interval.centre, interval.low, interval.high
        ),
        (None, Some(median)) => format!("{median:.3} (no interval)"),
        (None, None) => "-".to_owned(),
    }
}

/// The median; not a number where nothing was measured.
pub fn median(values: Vec<f64>) -> f64 {
    stats::median(&values).unwrap_or(f64::NAN)
}

/// Adds a line.
pub fn line(text: &mut String, line: String) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(tool: &'static str, beside: Option<&'static str>, cpu: &[f64]) -> Vec<Trial> {
        let trial = |(round, cpu): (usize, &f64)| {
            let mut trial = Trial::example(tool, round as u32, *cpu);
            trial.beside = beside;
            trial
        };
        cpu.iter().enumerate().map(trial).collect()
    }

    fn ratio_shown(ours: &[Trial], floors: &[Trial]) -> String {
        let (ours, floors): (Vec<_>, Vec<_>) = (ours.iter().collect(), floors.iter().collect());
        ratio(&ours, &floors, Trial::cpu_us_per_exchange)
    }

    #[test]
    fn ratios_are_to_the_neighbouring_floor_so_that_a_slow_round_cancels() {
        let mut floors = trials("floor", Some("ab"), &[1.0; 6]);
        floors.extend(trials(
            "floor",
            Some("weigh"),
            &[4.0, 8.0, 4.0, 4.0, 4.0, 4.0],
        ));
        let ours = trials("weigh", None, &[5.0, 10.0, 5.0, 5.0, 5.0, 5.0]);
        assert_eq!(ratio_shown(&ours, &floors), "1.250 (1.250..1.250)");
        assert_eq!(ratio_shown(&floors, &floors), "1");
    }

    #[test]
    fn a_few_rounds_give_no_interval() {
        let floors = trials("floor", Some("weigh"), &[4.0]);
        let ours = trials("weigh", None, &[5.0]);
        assert_eq!(ratio_shown(&ours, &floors), "1.250 (no interval)");
        assert_eq!(ratio_shown(&[], &floors), "-");
    }
}
