//! The sentences of a comparison, and its numbers as they are read.
//!
//! A bound (no difference larger than, can detect, could be hidden) is rounded up, so that it stays one.

use crate::phrase::{clean, rate};
use figures::Unit;
use plan::{Deciding, Load};
use record::{
    Answers, Comparison, FigureAnswers, Rating, Reason, Regressed, RegressionAnswer, Said,
    StartsRatio, Versus,
};
use units::{Nanos, bytes, number};

/// The longest name that is shown whole.
pub(super) const NAME_MOST: usize = 40;
/// A longer comparison is not proposed.
const DAY: u64 = 86_400;

/// A comparison with its answers, about to be put into words.
pub(crate) struct Words<'a> {
    pub comparison: &'a Comparison,
    pub answers: &'a Answers,
    names: Vec<String>,
}

impl<'a> Words<'a> {
    pub fn of(comparison: &'a Comparison, answers: &'a Answers) -> Words<'a> {
        let names = comparison
            .plan
            .servers
            .iter()
            .map(|server| clean(&server.name, NAME_MOST));
        Words {
            comparison,
            answers,
            names: names.collect(),
        }
    }

    /// The name of a server, by its place in the plan.
    pub fn name(&self, server: usize) -> &str {
        self.names.get(server).map_or("?", String::as_str)
    }

    /// The first lines, each with its interval.
    pub fn headlines(&self) -> Vec<(String, Option<String>)> {
        let Some(figure) = self
            .answers
            .deciding()
            .filter(|figure| !figure.against_first.is_empty())
        else {
            return vec![(self.nothing(), None)];
        };
        let all = figure.against_first.iter();
        all.map(|versus| (self.headline(figure, versus), self.interval(versus)))
            .collect()
    }

    /// Why there is nothing to say.
    fn nothing(&self) -> String {
        let mut doubts = self.answers.reliability.doubts.iter();
        let excluded = doubts.find(|doubt| matches!(doubt.reason, Reason::Excluded { .. }));
        let why = excluded.map(|doubt| self.doubt(&doubt.reason));
        format!(
            "cannot tell: {}",
            why.unwrap_or_else(|| "nothing was measured".to_owned())
        )
    }

    fn headline(&self, figure: &FigureAnswers, versus: &Versus) -> String {
        let (a, b) = (self.name(versus.base), self.name(versus.server));
        let place = self.place_of(figure);
        let place = place.map_or(String::new(), |place| format!(" at {place}"));
        let largest = bound(versus);
        let about = match figure.against_first.len() {
            1 => String::new(),
            _ => format!("{b}: "),
        };
        match (versus.said, versus.ratio) {
            (Said::More | Said::Less, Some(ratio)) => {
                format!("{}{place}", differs(figure.figure, a, b, &ratio))
            }
            (Said::NoLargerDifference, _) => {
                let figure = figure_name(figure.figure);
                format!(
                    "no difference larger than {largest} in {figure} between {a} and {b}{place}"
                )
            }
            (Said::Void, _) => format!("{about}cannot tell: {}", self.void(figure, versus)),
            (Said::NotMeasured, _) => {
                let figure = figure_name(figure.figure);
                format!("{about}cannot tell: {figure} of {a} or {b} is not known")
            }
            (Said::TooFewStarts, _) | (_, None) if self.comparison.is_of_records() => {
                let count = |server: &usize| figure.by_start[*server].iter().flatten().count();
                let fewer = [versus.base, versus.server].into_iter().min_by_key(count);
                let fewer = self.name(fewer.unwrap_or(versus.base));
                format!(
                    "cannot tell: {} of {fewer}, and an interval takes 3",
                    self.units(versus.starts.into())
                )
            }
            (Said::TooFewStarts, _) | (_, None) => {
                let starts = number(versus.starts.into(), "start");
                let verb = if versus.starts == 1 {
                    "counts"
                } else {
                    "count"
                };
                format!(
                    "{about}cannot tell: {starts} {verb} for both {a} and {b}, and an interval takes 3"
                )
            }
            (Said::CannotTell, _) => {
                let next = self
                    .next(versus)
                    .map_or(String::new(), |next| format!("; try {next}"));
                format!("{about}cannot tell: up to {largest} could be hidden{next}")
            }
        }
    }

    /// Why one of the two says nothing.
    fn void(&self, figure: &FigureAnswers, versus: &Versus) -> String {
        let mut doubts = self.answers.reliability.doubts.iter();
        let reason = doubts.find(|doubt| {
            let mut servers = [versus.server, versus.base].into_iter();
            servers.any(|server| doubt.reason.voids(server, figure.figure, figure.block))
        });
        reason.map_or(String::new(), |doubt| self.doubt(&doubt.reason))
    }

    /// The option with which it can probably be told; of records what can tell at all.
    fn next(&self, versus: &Versus) -> Option<String> {
        if self.comparison.is_of_records() {
            return Some("weigh compare with both servers".to_owned());
        }
        let time = versus.time_needed.and_then(time_option);
        let time = time.map(|time| format!("--time {time}"));
        let until = versus.decidable.filter(|share| *share <= 1.0);
        time.or_else(|| Some(format!("--until {}", at_most(until?).replace(' ', ""))))
    }

    /// `95 %: 2.1 to 2.5 %`: as a share by which there is more, or of a difference downwards by which there is less.
    fn interval(&self, versus: &Versus) -> Option<String> {
        let ratio = versus.ratio?;
        let (low, high) = match versus.said {
            Said::Less => (1.0 - ratio.high, 1.0 - ratio.low),
            Said::Void => return None,
            _ => (ratio.low - 1.0, ratio.high - 1.0),
        };
        let decimals = decimals_of_line(&ratio);
        let [low, high] = outwards((low * 100.0, high * 100.0), decimals);
        let confidence = confidence(self.answers.confidence);
        Some(format!("{confidence}: {low} to {high} %"))
    }

    /// The load of a figure's block, where there are several that it could be: `64 connections`.
    pub fn place_of(&self, figure: &FigureAnswers) -> Option<String> {
        let blocks = &self.comparison.plan.blocks;
        let block = blocks.get(figure.block.filter(|_| blocks.len() > 1)?)?;
        Some(match (&block.name, block.load) {
            (Some(name), _) => clean(name, NAME_MOST),
            (None, Load::Closed { connections }) if block.is_short() => {
                number(connections.into(), "connection")
            }
            (None, Load::Closed { connections }) => {
                format!("saturation by {}", number(connections.into(), "connection"))
            }
            (
                None,
                Load::Open {
                    rate: per_second, ..
                },
            ) => format!("{} requests/s", rate(per_second.as_f64())),
        })
    }

    /// `5 rounds`, `8 starts`: so many of what the intervals are made of.
    pub fn units(&self, count: u64) -> String {
        number(count, self.comparison.unit())
    }

    /// `5 and 4 rounds`: how many either of two records has.
    pub fn units_of_records(&self) -> String {
        let [a, b] = [0, 1].map(|server| self.comparison.starts_of(server).count() as u64);
        match a == b {
            true => format!("{} each", self.units(a)),
            false => format!("{a} and {}", self.units(b)),
        }
    }

    /// The answer to what a server may be worse, as a sentence.
    pub fn regression(&self, regressed: Regressed) -> String {
        let first = self.name(0);
        let limit = self
            .comparison
            .plan
            .max_regression
            .map_or(String::new(), at_most);
        let Some(server) = regressed.server else {
            return format!("cannot tell: there is no server beside {first}");
        };
        let server = self.name(server);
        let figure = self
            .answers
            .deciding()
            .map_or(self.comparison.plan.decide_on, |it| it.figure);
        let figure = figure_name(figure);
        match regressed.answer {
            RegressionAnswer::Within => {
                format!("{figure}: no server is worse than {first} by more than {limit}")
            }
            RegressionAnswer::Beyond => {
                format!("{figure}: {server} is worse than {first} by more than {limit}")
            }
            RegressionAnswer::CannotTell => {
                format!(
                    "{figure}: cannot tell whether {server} is worse than {first} by more than {limit}"
                )
            }
        }
    }
}

/// `b uses 2.3 % more CPU per request than a`.
fn differs(figure: Deciding, a: &str, b: &str, ratio: &StartsRatio) -> String {
    let decimals = decimals(ratio);
    let share = format!("{:.decimals$} %", (ratio.centre - 1.0).abs() * 100.0);
    let is_more = ratio.centre > 1.0;
    let [more, higher] = if is_more {
        ["more", "higher"]
    } else {
        ["less", "lower"]
    };
    match figure {
        Deciding::CpuPerRequest => format!("{b} uses {share} {more} CPU per request than {a}"),
        Deciding::Memory => format!("{b} uses {share} {more} memory than {a}"),
        Deciding::P50 | Deciding::Throughput => {
            let figure = figure_name(figure);
            format!("{figure} of {b} is {share} {higher} than that of {a}")
        }
    }
}

/// What a figure is called.
pub(crate) fn figure_name(figure: Deciding) -> &'static str {
    match figure {
        Deciding::CpuPerRequest => "CPU per request",
        Deciding::P50 => "p50 latency",
        Deciding::Throughput => "throughput",
        Deciding::Memory => "memory",
    }
}

/// The unit in which a figure's values are recorded.
pub(crate) fn unit(figure: Deciding) -> Unit {
    match figure {
        Deciding::CpuPerRequest | Deciding::P50 => Unit::Micros,
        Deciding::Throughput => Unit::PerSecond,
        Deciding::Memory => Unit::Bytes,
    }
}

/// What is said of two servers, in the last column of a table; of intervals over such units.
pub(crate) fn answer(versus: &Versus, unit: &str) -> String {
    match (versus.said, versus.rating) {
        (Said::Void, _) => "INVALID".to_owned(),
        (Said::TooFewStarts, _) => format!("too few {unit}s"),
        (Said::NotMeasured, _) => "not measured".to_owned(),
        (_, Rating::Better) => "better".to_owned(),
        (_, Rating::Worse) => "worse".to_owned(),
        (_, Rating::NoneShown) => "no difference shown".to_owned(),
    }
}

/// A value; a time with four digits, for two servers that are 1 % apart differ in the third.
pub(crate) fn value(figure: Deciding, value: f64) -> String {
    match figure {
        Deciding::CpuPerRequest | Deciding::P50 => four(value),
        Deciding::Throughput => format!("{}/s", rate(value)),
        Deciding::Memory => bytes(value.round() as u64),
    }
}

fn four(micros: f64) -> String {
    let (value, unit) = match micros {
        ..999.95 => (micros, "us"),
        ..999_950.0 => (micros / 1e3, "ms"),
        _ => (micros / 1e6, "s"),
    };
    let decimals = match value {
        ..9.9995 => 3,
        ..99.995 => 2,
        ..999.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

/// A span in whole seconds, of two minutes and more as usual: `60 s`, `5 min`.
pub(crate) fn seconds(span: Nanos) -> String {
    match span.as_secs_f64().round() as u64 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => units::span(Nanos::from_secs(seconds)),
    }
}

/// A share, rounded up: `0.25 %`, `1.1 %`, `34 %`.
pub(crate) fn at_most(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = match percent {
        ..1.0 => 2,
        ..10.0 => 1,
        _ => 0,
    };
    rounded_up(share, decimals)
}

/// A share with so many decimals, rounded up.
fn rounded_up(share: f64, decimals: usize) -> String {
    let unit = 10_f64.powi(decimals as i32);
    let rounded = (share * 100.0 * unit - HAIR).ceil().max(0.0) / unit;
    format!("{rounded:.decimals$} %").replace(".0 %", " %")
}

/// `95 %`, `99 %`, `98.3 %`.
pub(crate) fn confidence(confidence: f64) -> String {
    format!("{:.1} %", confidence * 100.0).replace(".0 %", " %")
}

/// The largest difference that may be, rounded up. Where that is the interval's farther end it is the one that is shown beside it: a
/// share of the base, with the same decimals.
fn bound(versus: &Versus) -> String {
    let largest = versus.largest.unwrap_or(f64::INFINITY);
    let Some(ratio) = versus.ratio else {
        return at_most(largest);
    };
    // Less by a half is more by the whole, seen from the other.
    let is_an_end = |end: f64| ((largest + 1.0).ln() - end.ln().abs()).abs() < 1e-9;
    match [ratio.low, ratio.high].into_iter().any(is_an_end) {
        true => rounded_up(farther(&ratio), decimals_of_line(&ratio)),
        false => at_most(largest),
    }
}

/// How far the farther end of an interval is from one.
fn farther(ratio: &StartsRatio) -> f64 {
    (1.0 - ratio.low).max(ratio.high - 1.0)
}

/// Decimals of a per cent that an interval is worth.
fn decimals(ratio: &StartsRatio) -> usize {
    let width = (ratio.high - ratio.low) * 100.0;
    match width {
        ..0.2 => 2,
        ..20.0 => 1,
        _ => 0,
    }
}

/// Decimals of a per cent of the interval in a first line, where a bound of less than 1 % has two.
fn decimals_of_line(ratio: &StartsRatio) -> usize {
    if farther(ratio) < 0.01 {
        2
    } else {
        decimals(ratio)
    }
}

/// A hair of a digit that is no reason for one more: decimal numbers are a little above or below as binary fractions.
const HAIR: f64 = 1e-6;

/// The ends of an interval with so many decimals, rounded outwards: what is shown holds all of it.
fn outwards((low, high): (f64, f64), decimals: usize) -> [String; 2] {
    let unit = 10_f64.powi(decimals as i32);
    let low = (low * unit + HAIR).floor() / unit;
    let high = (high * unit - HAIR).ceil() / unit;
    [low, high].map(|end| plus_zero(format!("{end:.decimals$}")))
}

/// The decimals with which the same is written as a ratio.
fn digits(ratio: &StartsRatio) -> usize {
    decimals(ratio) + 2
}

/// A ratio with the decimals that it is worth.
pub(crate) fn ratio(ratio: &StartsRatio) -> String {
    format!("{:.*}", digits(ratio), ratio.centre)
}

/// `1.021 .. 1.025`.
pub(crate) fn interval(ratio: &StartsRatio) -> String {
    ends(ratio, (ratio.low, ratio.high))
}

/// `1.9 to 2.1`: an interval in words, with the decimals that tell its ends apart; one of which both are the same once.
pub(crate) fn range(ratio: &StartsRatio) -> String {
    let decimals = if ratio.high - ratio.low < 0.2 { 2 } else { 1 };
    let [low, high] = [ratio.low, ratio.high].map(|end| format!("{end:.decimals$}"));
    match low == high {
        true => low,
        false => format!("{low} to {high}"),
    }
}

/// Other ends of the same interval.
pub(crate) fn ends(ratio: &StartsRatio, (low, high): (f64, f64)) -> String {
    let [low, high] = outwards((low, high), digits(ratio));
    format!("{low} .. {high}")
}

/// A number without the sign of what was rounded to zero.
pub(crate) fn plus_zero(shown: String) -> String {
    let is_zero = shown.chars().all(|c| "-0.".contains(c));
    if is_zero {
        shown.trim_start_matches('-').to_owned()
    } else {
        shown
    }
}

/// A time for `--time`, rounded up: `90s`, `4m`, `3h`. None of more than a day.
fn time_option(time: Nanos) -> Option<String> {
    let seconds = time.as_secs_f64().ceil() as u64;
    Some(match seconds {
        0..=100 => format!("{}s", seconds.div_ceil(10) * 10),
        101..=7_200 => format!("{}m", seconds.div_ceil(60)),
        7_201..=DAY => format!("{}h", seconds.div_ceil(3_600)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up_and_never_down() {
        let cases: &[(f64, &str)] = &[
            (0.0, "0.00 %"),
            (0.0025, "0.25 %"),
            (0.002_51, "0.26 %"),
            (0.011, "1.1 %"),
            (0.011_01, "1.2 %"),
            (0.02, "2 %"),
            (0.099_9, "10 %"),
            (0.334, "34 %"),
            (12.0, "1200 %"),
        ];
        for (share, wanted) in cases {
            assert_eq!(at_most(*share), *wanted, "{share}");
        }
    }

    #[test]
    fn a_time_to_try_is_one_that_can_be_typed() {
        let cases: &[(u64, Option<&str>)] = &[
            (61, Some("70s")),
            (100, Some("100s")),
            (181, Some("4m")),
            (7_201, Some("3h")),
            (90_000, None),
        ];
        for (seconds, wanted) in cases {
            assert_eq!(
                time_option(Nanos::from_secs(*seconds)).as_deref(),
                *wanted,
                "{seconds}"
            );
        }
    }

    #[test]
    fn values_have_four_digits_and_their_unit() {
        let cases: &[(Deciding, f64, &str)] = &[
            (Deciding::CpuPerRequest, 14.5, "14.50 us"),
            (Deciding::CpuPerRequest, 999.96, "1.000 ms"),
            (Deciding::P50, 141.23, "141.2 us"),
            (Deciding::P50, 3_000_000.0, "3.000 s"),
            (Deciding::P50, 12_345e6, "12345 s"),
            (Deciding::Throughput, 69_100.4, "69,100/s"),
            (Deciding::Throughput, 0.33, "0.33/s"),
            (Deciding::Memory, 12.5e6, "11.9 MiB"),
        ];
        for (figure, number, wanted) in cases {
            assert_eq!(value(*figure, *number), *wanted);
        }
    }

    #[test]
    fn a_ratio_has_the_digits_that_its_interval_is_worth() {
        let cases: &[(f64, f64, &str, &str)] = &[
            (1.021, 1.025, "1.023", "1.021 .. 1.025"),
            (1.0221, 1.0235, "1.0228", "1.0221 .. 1.0235"),
            (0.8, 1.4, "1.10", "0.80 .. 1.40"),
        ];
        for (low, high, wanted, ends) in cases {
            let shown = StartsRatio {
                centre: low.midpoint(*high),
                low: *low,
                high: *high,
                sd: 0.01,
                signed_rank: None,
            };
            assert_eq!(
                (ratio(&shown), interval(&shown)),
                ((*wanted).to_owned(), (*ends).to_owned())
            );
        }
        assert_eq!(plus_zero("-0.00".to_owned()), "0.00");
        assert_eq!(plus_zero("-0.01".to_owned()), "-0.01");
    }
}
