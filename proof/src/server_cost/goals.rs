//! What the server is to reach, held against what was measured.
//!
//! A goal is judged by the median of the rounds' ratios; the interval beside it says whether to believe that.

use super::memory::Need;
use super::point::{Figure, Point};
use crate::catalogue::{Server, named};
use crate::cost::table::{median, shown};

/// A bound.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// A ratio that is to be reached.
struct Goal {
    /// Where it is measured.
    subject: &'static str,
    of: &'static str,
    to: &'static str,
    figure: Figure,
    bound: Bound,
}

const fn goal(
    subject: &'static str,
    of: &'static str,
    to: &'static str,
    figure: Figure,
    bound: Bound,
) -> Goal {
    Goal {
        subject,
        of,
        to,
        figure,
        bound,
    }
}

use Bound::{AtLeast, AtMost};
use Figure::{Cpu, PerCore, Rate};

#[rustfmt::skip]
const GOALS: &[Goal] = &[
    goal("keep-alive", "weigh", "floor", Cpu, AtMost(1.08)),
    goal("keep-alive", "weigh-file", "floor", Cpu, AtMost(1.30)),
    goal("keep-alive", "weigh-file", "nginx", PerCore, AtLeast(1.3)),
    goal("keep-alive", "weigh-file", "nginx-pread", PerCore, AtLeast(1.3)),
    goal("keep-alive", "weigh-file", "lighttpd", Cpu, AtMost(1.0)),
    goal("keep-alive", "weigh-file", "h2o", Cpu, AtMost(1.0)),
    goal("close", "weigh", "nginx-return", Cpu, AtMost(1.0)),
    goal("close", "weigh-file", "nginx", Cpu, AtMost(1.0)),
    goal("close", "weigh-file", "nginx-pread", Cpu, AtMost(1.0)),
    goal("close", "weigh-file", "lighttpd", Cpu, AtMost(1.0)),
    goal("pipeline, embedded", "weigh", "nginx-return", Rate, AtLeast(5.0)),
    goal("pipeline, files", "weigh-file", "nginx", Rate, AtLeast(5.0)),
    goal("1 MB", "weigh-file", "nginx", Rate, AtLeast(0.95)),
    goal("1 MB", "weigh-file", "nginx", Cpu, AtMost(1.0)),
    goal("100 MB", "weigh-file", "nginx", Rate, AtLeast(0.95)),
    goal("100 MB", "weigh-file", "nginx", Cpu, AtMost(1.0)),
];

/// Whose memory has goals: in MB (10^6 bytes) after the start, and in bytes for each idle connection.
const MEMORY: (&str, f64, f64) = ("weigh-file", 2.5, 600.0);

/// Each goal of a point with what was reached; nothing about servers that were not there.
pub fn of_point(point: &Point) -> Vec<String> {
    let goals = GOALS.iter();
    let goals = goals.filter(|goal| goal.subject == point.subject.name);
    goals.filter_map(|goal| goal.held_against(point)).collect()
}

/// The goals of memory with what was reached.
pub fn of_memory(needs: &[Need]) -> Vec<String> {
    let (name, start_mb, each) = MEMORY;
    let of = |server: &Server| server == named(name);
    let own: Vec<&Need> = needs.iter().filter(|need| of(need.server)).collect();
    let starts = own.iter().map(|need| need.pss_kb as f64 * 1.024e-3);
    let connections = own.iter().filter_map(|need| need.bytes_each);
    let goals = [
        ("MB after the start", median(starts.collect()), start_mb),
        (
            "bytes for an idle connection",
            median(connections.collect()),
            each,
        ),
    ];
    let known = goals.into_iter().filter(|(_, value, _)| value.is_finite());
    known
        .map(|(what, value, most)| {
            let bound = AtMost(most);
            let verdict = bound.verdict(value);
            format!(
                "goal     {name}: {} {what}: {value:.1}, {verdict}",
                bound.text()
            )
        })
        .collect()
}

impl Goal {
    fn held_against(&self, point: &Point) -> Option<String> {
        let ratios = point.ratios(named(self.of), named(self.to), self.figure);
        let value = stats::median(&ratios)?;
        let Goal { of, to, .. } = self;
        let what = match self.figure {
            Cpu => "CPU time",
            Rate => "rate",
            PerCore => "rate per core",
        };
        Some(format!(
            "goal     {of}: {} of the {what} of {to}: {}, {}",
            self.bound.text(),
            shown(&ratios),
            self.bound.verdict(value)
        ))
    }
}

impl Bound {
    fn text(self) -> String {
        match self {
            AtMost(most) => format!("at most {most}"),
            AtLeast(least) => format!("at least {least}"),
        }
    }

    fn verdict(self, value: f64) -> &'static str {
        let is_reached = match self {
            AtMost(most) => value <= most,
            AtLeast(least) => value >= least,
        };
        if is_reached { "reached" } else { "MISSED" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_about_servers_of_the_table() {
        for goal in GOALS {
            assert!(named(goal.of).name == goal.of && named(goal.to).name == goal.to);
        }
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
        let need = |pss_kb, bytes_each| Need {
            server: named("weigh-file"),
            pss_kb,
            processes: 1,
            bytes_each,
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
