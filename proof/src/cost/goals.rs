//! Goals of the server (`catalogue/goals.toml`), compared with what was measured.
//!
//! A goal is judged by the median of the rounds' ratios; the interval beside it says how far to trust that.

use super::memory::Need;
use super::series::{Series, Trial, median, shown};
use serde::Deserialize;
use std::sync::LazyLock;

/// A ratio that is to be reached.
#[derive(Debug, Deserialize)]
struct Goal {
    /// The subject in which it is measured.
    subject: String,
    of: String,
    to: String,
    /// CPU time (for the same work), rate, or rate per core (work for each second of CPU time).
    figure: String,
    #[serde(flatten)]
    bound: Bound,
}

/// A bound.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

#[derive(Deserialize)]
struct Goals {
    goal: Vec<Goal>,
    memory: MemoryGoal,
}

/// The server whose memory has goals: MB (10^6 bytes) after the start, and bytes for each idle connection.
#[derive(Deserialize)]
struct MemoryGoal {
    of: String,
    start_mb: f64,
    bytes_per_idle_connection: f64,
}

static GOALS: LazyLock<Goals> = LazyLock::new(|| {
    toml::from_str(include_str!("../../catalogue/goals.toml")).expect("the goals are read by tests")
});

/// Returns each goal of a subject with what was reached; nothing about servers that were not there.
pub fn of_subject(subject: &str, series: &Series) -> Vec<String> {
    let goals = GOALS.goal.iter().filter(|goal| goal.subject == subject);
    goals.filter_map(|goal| goal.sentence(series)).collect()
}

/// Returns the goals of memory with what was reached.
pub fn of_memory(needs: &[Need]) -> Vec<String> {
    let goal = &GOALS.memory;
    let own = || needs.iter().filter(|need| need.server == goal.of);
    let starts = own().map(|need| need.pss_kb as f64 * 1.024e-3);
    let connections = own().filter_map(|need| need.bytes_per_idle_connection);
    let (start, each) = (median(starts.collect()), median(connections.collect()));
    let goals = [
        ("MB after the start", start, goal.start_mb),
        (
            "bytes for an idle connection",
            each,
            goal.bytes_per_idle_connection,
        ),
    ];
    let known = goals.into_iter().filter(|(_, value, _)| value.is_finite());
    let sentence = |(what, value, most)| {
        let verdict = Bound::AtMost(most).verdict(value);
        format!(
            "goal     {}: at most {most} {what}: {value:.1}, {verdict}",
            goal.of
        )
    };
    known.map(sentence).collect()
}

impl Goal {
    fn sentence(&self, series: &Series) -> Option<String> {
        let ratios = self.ratios(series);
        let verdict = self.bound.verdict(stats::median(&ratios)?);
        let (of, to, figure, shown) = (&self.of, &self.to, &self.figure, shown(&ratios));
        let bound = match self.bound {
            Bound::AtMost(most) => format!("at most {most}"),
            Bound::AtLeast(least) => format!("at least {least}"),
        };
        Some(format!(
            "goal     {of}: {bound} of the {figure} of {to}: {shown}, {verdict}"
        ))
    }

    /// The rounds' ratios. Those to the yardstick are between neighbours in time; those to another server are the ratios
    /// of those.
    fn ratios(&self, series: &Series) -> Vec<f64> {
        let figure = |trial: &Trial| match self.figure.as_str() {
            "CPU time" => trial.cpu_us_per_exchange(),
            "rate" => trial.per_second(),
            _ => 1.0 / trial.cpu_us_per_exchange(),
        };
        let own = series.ratios(&self.of, figure, figure);
        if self.to == series.yardstick {
            return own;
        }
        let others = series.ratios(&self.to, figure, figure);
        own.iter()
            .zip(others)
            .map(|(own, other)| own / other)
            .collect()
    }
}

impl Bound {
    fn verdict(self, value: f64) -> &'static str {
        let is_reached = match self {
            Bound::AtMost(most) => value <= most,
            Bound::AtLeast(least) => value >= least,
        };
        if is_reached { "reached" } else { "MISSED" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::named;
    use Bound::{AtLeast, AtMost};

    #[test]
    fn goals_are_about_servers_of_the_catalogue() {
        for goal in &GOALS.goal {
            assert!(named(&goal.of).name == goal.of && named(&goal.to).name == goal.to);
        }
        let figures = ["CPU time", "rate", "rate per core"];
        assert!(
            GOALS
                .goal
                .iter()
                .all(|goal| figures.contains(&goal.figure.as_str()))
        );
        assert_eq!(named(&GOALS.memory.of).name, GOALS.memory.of);
    }

    #[test]
    fn ratios_between_others_are_ratios_of_ratios() {
        let mut series = Series {
            yardstick: "floor",
            trials: Vec::new(),
        };
        for (name, cpu, floor) in [("weigh", 6.0, 4.0), ("nginx", 9.0, 3.0)] {
            let mut beside = Trial::example("floor", 0, floor);
            beside.beside = Some(name);
            series.trials.extend([Trial::example(name, 0, cpu), beside]);
        }
        let ratios = |to: &str, figure: &str| {
            let goal = Goal {
                subject: "keep-alive".into(),
                of: "weigh".into(),
                to: to.into(),
                figure: figure.into(),
                bound: AtMost(1.0),
            };
            goal.ratios(&series)
        };
        assert_eq!(ratios("floor", "CPU time"), [1.5]);
        assert_eq!(ratios("nginx", "CPU time"), [0.5]);
        assert_eq!(ratios("nginx", "rate per core"), [2.0]);
        assert!(ratios("h2o", "CPU time").is_empty());
    }

    #[test]
    fn a_bound_is_reached_at_the_bound() {
        let cases = [
            (AtMost(1.08), 1.08, "reached"),
            (AtMost(1.08), 1.081, "MISSED"),
            (AtLeast(5.0), 5.0, "reached"),
            (AtLeast(5.0), 4.99, "MISSED"),
            (AtLeast(5.0), f64::NAN, "MISSED"),
        ];
        for (bound, value, wanted) in cases {
            assert_eq!(bound.verdict(value), wanted, "{bound:?} {value}");
        }
    }

    #[test]
    fn memory_is_judged_by_the_median_start() {
        let need = |pss_kb, bytes_per_idle_connection| Need {
            server: "weigh-file",
            pss_kb,
            workers: 2,
            processes: 1,
            bytes_per_idle_connection,
        };
        let needs = [
            need(2000, Some(500.0)),
            need(9000, Some(700.0)),
            need(2400, Some(601.0)),
        ];
        assert_eq!(
            of_memory(&needs),
            [
                "goal     weigh-file: at most 2.5 MB after the start: 2.5, reached",
                "goal     weigh-file: at most 600 bytes for an idle connection: 601.0, MISSED",
            ]
        );
        assert!(of_memory(&[]).is_empty());
    }
}
