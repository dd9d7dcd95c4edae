//! Runs in turn: each beside one of the yardstick, so that what disturbs the machine for a while disturbs both.
//!
//! A ratio is taken between neighbours in time. Of the rounds' ratios the median and its interval are shown, which holds
//! whatever the distribution of the noise. It says how far repeating on this machine as it is would lead elsewhere, and
//! nothing about another machine.

use anyhow::Result;
use serde::Serialize;

/// One run of a tool, or of the bare client against a server, and its cost.
#[derive(Debug, Clone, Serialize)]
pub struct Trial {
    /// The tool or server, as the catalogue has it.
    pub name: &'static str,
    /// The round, from 0.
    pub round: u32,
    /// Of the yardstick: the name of its neighbour.
    pub beside: Option<&'static str>,
    /// Requests that were made.
    pub exchanges: u64,
    /// Bytes of each response, where they were looked at.
    pub response_bytes: Option<usize>,
    /// From the client's start to its end.
    pub wall_us: f64,
    /// CPU time of the tool, or of the server's processes.
    pub cpu_us: f64,
    /// The kernel's part of it, where it is known.
    pub system_us: Option<f64>,
    /// Peak memory of the tool; the server's proportional share after the run, where the kernel tells.
    pub memory_kb: Option<f64>,
}

impl Trial {
    /// CPU time of a request in µs.
    pub fn cpu_us_per_exchange(&self) -> f64 {
        self.cpu_us / self.exchanges as f64
    }

    /// CPU time of a gigabyte (10^9 bytes) in s.
    pub fn cpu_s_per_gigabyte(&self) -> f64 {
        self.cpu_us / self.all_bytes() * 1e3
    }

    /// Requests each second.
    pub fn per_second(&self) -> f64 {
        self.exchanges as f64 / self.wall_us * 1e6
    }

    /// Megabytes (10^6 bytes) each second.
    pub fn megabytes_per_second(&self) -> f64 {
        self.all_bytes() / self.wall_us
    }

    /// Memory in MB (10^6 bytes); not a number where it is not known.
    pub fn memory_mb(&self) -> f64 {
        self.memory_kb.map_or(f64::NAN, |kb| kb * 1.024e-3)
    }

    fn all_bytes(&self) -> f64 {
        self.exchanges as f64 * self.response_bytes.unwrap_or(0) as f64
    }

    /// A run of one request that took `cpu_us`, all of it CPU time.
    #[cfg(test)]
    pub fn example(name: &'static str, round: u32, cpu_us: f64) -> Trial {
        Trial {
            name,
            round,
            beside: None,
            exchanges: 1,
            response_bytes: Some(200),
            wall_us: cpu_us,
            cpu_us,
            system_us: None,
            memory_kb: None,
        }
    }
}

/// Runs of several tools or servers, each beside one of the yardstick.
#[derive(Debug, Default)]
pub struct Series {
    /// The name of what the others are compared with.
    pub yardstick: &'static str,
    /// Every run, in the order in which they ran.
    pub trials: Vec<Trial>,
}

impl Series {
    /// Runs each of `names` beside the yardstick once a round, in turning order.
    ///
    /// # Errors
    /// A run failed.
    pub fn measure(
        yardstick: &'static str,
        names: &[&'static str],
        rounds: u32,
        run: impl Fn(&'static str, u32) -> Result<Trial>,
    ) -> Result<Series> {
        let mut trials = Vec::new();
        for round in 0..rounds {
            for (place, name) in turned(names.to_vec(), round).into_iter().enumerate() {
                let is_first = (round as usize + place).is_multiple_of(2);
                let beside = || run(yardstick, round);
                let (mut beside, own) = in_turn(is_first, beside, || run(name, round))?;
                beside.beside = Some(name);
                trials.extend([beside, own]);
            }
        }
        Ok(Series { yardstick, trials })
    }

    /// Returns a figure of all runs of `name`.
    pub fn values(&self, name: &str, figure: fn(&Trial) -> f64) -> Vec<f64> {
        let runs = self.trials.iter().filter(|trial| trial.name == name);
        runs.map(figure).collect()
    }

    /// Returns the rounds' ratios of a figure of `name` to one of the yardstick's runs beside it.
    pub fn ratios(
        &self,
        name: &str,
        figure: impl Fn(&Trial) -> f64,
        of_yardstick: impl Fn(&Trial) -> f64,
    ) -> Vec<f64> {
        let runs = self.trials.iter().filter(|trial| trial.name == name);
        let ratio = |own: &Trial| {
            let mut all = self.trials.iter();
            let beside = all.find(|it| it.round == own.round && it.beside == Some(name))?;
            Some(figure(own) / of_yardstick(beside))
        };
        runs.filter_map(ratio).collect()
    }

    /// Returns the ratio of a figure of `name` to the yardstick's, for people.
    pub fn ratio(&self, name: &str, figure: fn(&Trial) -> f64) -> String {
        match name == self.yardstick {
            true => "1".to_owned(),
            false => shown(&self.ratios(name, figure, figure)),
        }
    }
}

/// Does one thing and another, neighbours in time; `first` says whether the one comes first.
///
/// # Errors
/// One failed.
pub fn in_turn<A, B>(
    first: bool,
    one: impl FnOnce() -> Result<A>,
    other: impl FnOnce() -> Result<B>,
) -> Result<(A, B)> {
    if first {
        return Ok((one()?, other()?));
    }
    let other = other()?;
    Ok((one()?, other))
}

/// All in the order of `round`: each comes first in turn, and every other round runs backwards, so that each follows each
/// other about as often as it precedes it.
fn turned<T>(mut all: Vec<T>, round: u32) -> Vec<T> {
    let turn = round as usize % all.len().max(1);
    all.rotate_left(turn);
    if round % 2 == 1 {
        all.reverse();
    }
    all
}

/// The rounds' ratios as `1.052 (1.041..1.063)`: their median and its 95 % interval.
pub fn shown(ratios: &[f64]) -> String {
    if let Some(interval) = stats::median_interval(ratios) {
        let (centre, low, high) = (interval.centre, interval.low, interval.high);
        return format!("{centre:.3} ({low:.3}..{high:.3})");
    }
    stats::median(ratios).map_or("-".to_owned(), |median| {
        format!("{median:.3} (no interval)")
    })
}

/// The median; not a number where nothing was measured.
pub fn median(values: Vec<f64>) -> f64 {
    stats::median(&values).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_comes_first_in_its_turn_and_none_is_omitted() {
        let names = |round| turned(vec!["weigh", "ab", "wrk"], round);
        assert_eq!(names(0), ["weigh", "ab", "wrk"]);
        assert_eq!(names(1), ["weigh", "wrk", "ab"]);
        assert_eq!(names(2), ["wrk", "weigh", "ab"]);
        assert_eq!(names(3), ["wrk", "ab", "weigh"]);
    }

    #[test]
    fn the_yardstick_runs_beside_each_and_comes_first_every_other_time() {
        let order = std::cell::RefCell::new(Vec::new());
        let run = |name, round| {
            order.borrow_mut().push(name);
            Ok(Trial::example(name, round, 1.0))
        };
        let series = Series::measure("floor", &["weigh", "ab"], 2, run).unwrap();
        let wanted = [
            "floor", "weigh", "ab", "floor", "weigh", "floor", "floor", "ab",
        ];
        assert_eq!(*order.borrow(), wanted);
        let beside = |name| {
            series
                .trials
                .iter()
                .filter(move |it| it.beside == Some(name))
        };
        assert!(
            beside("weigh")
                .chain(beside("ab"))
                .all(|it| it.name == "floor")
        );
        assert_eq!((beside("weigh").count(), beside("ab").count()), (2, 2));
    }

    /// Runs of `name` with that CPU time by round, beside a yardstick with another.
    fn series(rows: &[(&'static str, &[f64], &[f64])]) -> Series {
        let mut series = Series {
            yardstick: "floor",
            trials: Vec::new(),
        };
        for (name, cpu, beside) in rows {
            for (round, (cpu, floor)) in cpu.iter().zip(*beside).enumerate() {
                let mut floor = Trial::example("floor", round as u32, *floor);
                floor.beside = Some(name);
                series
                    .trials
                    .extend([Trial::example(name, round as u32, *cpu), floor]);
            }
        }
        series
    }

    #[test]
    fn ratios_are_to_the_neighbouring_floor_so_that_a_slow_round_cancels() {
        let series = series(&[
            ("ab", &[1.0; 6], &[1.0; 6]),
            (
                "weigh",
                &[5.0, 10.0, 5.0, 5.0, 5.0, 5.0],
                &[4.0, 8.0, 4.0, 4.0, 4.0, 4.0],
            ),
        ]);
        let cpu = Trial::cpu_us_per_exchange;
        assert_eq!(series.ratio("weigh", cpu), "1.250 (1.250..1.250)");
        assert_eq!(series.ratio("floor", cpu), "1");
        assert_eq!(
            series.ratios("weigh", Trial::per_second, Trial::per_second),
            [0.8; 6]
        );
    }

    #[test]
    fn a_few_rounds_give_no_interval() {
        let series = series(&[("weigh", &[5.0], &[4.0])]);
        assert_eq!(
            series.ratio("weigh", Trial::cpu_us_per_exchange),
            "1.250 (no interval)"
        );
        assert_eq!(series.ratio("wrk", Trial::cpu_us_per_exchange), "-");
    }

    #[test]
    fn figures_are_of_a_request_or_of_a_gigabyte() {
        let trial = Trial {
            exchanges: 1000,
            response_bytes: Some(1_000_000),
            cpu_us: 100_000.0,
            wall_us: 500_000.0,
            ..Trial::example("weigh-file", 0, 1.0)
        };
        assert_eq!(trial.cpu_us_per_exchange(), 100.0);
        assert_eq!(trial.per_second(), 2000.0);
        assert_eq!(trial.cpu_s_per_gigabyte(), 0.1);
        assert_eq!(trial.megabytes_per_second(), 2000.0);
        assert!(trial.memory_mb().is_nan());
    }
}
