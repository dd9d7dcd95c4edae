//! Figures by name, and the figures that each table shows.

use crate::figure::{Cell, Figure, Part, Source};
use crate::source::statistic;
use crate::table::all;
use crate::{Figures, Value};
use record::{Effect, Finding, Kind, Run, Statistic};
use stats::{Histogram, Interval};
use std::fmt;
use units::Percentile;

/// A figure that was selected: a row of the table and, of a family, the part.
#[derive(Debug, Clone, Copy)]
pub struct Selected {
    /// The row.
    pub figure: &'static Figure,
    /// The part; [`Part::Whole`] where it is no family.
    pub part: Part,
    /// Index in the summary's `by_request` of the only request that counts; none where all do.
    pub request: Option<usize>,
}

/// Returns the figure called `name`, such as `latency_us.p99.9` or `p99.9`; none where there is no such name.
pub fn find(name: &str) -> Option<Selected> {
    let name = name.trim();
    if let Some((index, name)) = name
        .strip_prefix("by_request.")
        .and_then(|rest| rest.split_once('.'))
    {
        let found =
            find(name).filter(|found| found.figure.of_requests && found.request.is_none())?;
        let request = Some(index.parse().ok()?);
        return Some(Selected { request, ..found });
    }
    all().find_map(|figure| {
        let part = figure.names().find_map(|pattern| part(pattern, name))?;
        Some(Selected::all(figure, part))
    })
}

/// Returns every row of the table, in order.
pub fn rows() -> impl Iterator<Item = &'static Figure> {
    all()
}

/// Returns every name that [`find`] knows, of families those of the usual parts.
pub fn names() -> impl Iterator<Item = String> {
    let usual = statistics(&Percentile::DEFAULT);
    all().flat_map(move |figure| {
        let parts = figure.parts(&usual);
        let each = figure.names().map(move |pattern| (pattern, parts.clone()));
        each.flat_map(|(pattern, parts)| parts.into_iter().map(move |part| part.fill(pattern)))
    })
}

/// Returns the columns of a table for programs, with their names, in order. Latency has one for each of `percentiles`.
pub fn columns(percentiles: &[Percentile]) -> Vec<(String, Selected)> {
    let requested = statistics(percentiles);
    all()
        .filter_map(|figure| Some((figure, figure.column?)))
        .flat_map(|(figure, column)| {
            let parts = figure.parts(column.statistics.unwrap_or(&requested));
            let named = move |part: Part| (part.fill(column.name), Selected::all(figure, part));
            parts.into_iter().map(named)
        })
        .collect()
}

/// Returns the columns of a table for people about the points of `run`, in order.
pub fn cells(run: &Run, percentiles: &[Percentile]) -> Vec<(Cell, Selected)> {
    let shown: Vec<Statistic> = percentiles.iter().copied().map(Statistic::At).collect();
    all()
        .filter_map(|figure| Some((figure, figure.cell?)))
        .filter(|(_, cell)| cell.shown.applies(run))
        .flat_map(|(figure, cell)| {
            let parts = figure.parts(&shown).into_iter();
            parts.map(move |part| (cell, Selected::all(figure, part)))
        })
        .collect()
}

/// Every statistic of a distribution, with these percentiles.
fn statistics(percentiles: &[Percentile]) -> Vec<Statistic> {
    let percentiles = percentiles.iter().copied().map(Statistic::At);
    let least = [Statistic::Min, Statistic::Mean].into_iter();
    least.chain(percentiles).chain([Statistic::Max]).collect()
}

impl Figure {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// The parts of a family, of a distribution these statistics.
    fn parts(&self, of: &[Statistic]) -> Vec<Part> {
        match self.name {
            name if name.contains("{p}") => of.iter().copied().map(Part::Statistic).collect(),
            name if name.contains("{kind}") => Kind::ALL.iter().copied().map(Part::Kind).collect(),
            name if name.contains("{status}") => vec![Part::Status(200)],
            _ => vec![Part::Whole],
        }
    }
}

/// The part that makes `pattern` out of `name`.
fn part(pattern: &str, name: &str) -> Option<Part> {
    let within = |hole: &str| {
        let (before, after) = pattern.split_once(hole)?;
        name.strip_prefix(before)?.strip_suffix(after)
    };
    if pattern == name && !pattern.contains('{') {
        return Some(Part::Whole);
    }
    if let Some(statistic) = within("{p}") {
        let is_named = statistic.starts_with(['p', 'P', 'm']); // `99` alone is no name
        let known = Statistic::try_from(statistic.to_owned()).ok();
        return known.filter(|_| is_named).map(Part::Statistic);
    }
    if let Some(name) = within("{kind}") {
        let mut kinds = Kind::ALL.iter();
        let kind = kinds.find(|kind| kind.name() == name);
        return kind.copied().map(Part::Kind);
    }
    let status = within("{status}")?.parse().ok()?;
    (100..1000)
        .contains(&status)
        .then_some(Part::Status(status))
}

impl Part {
    /// Returns `pattern` with the part in its place; percentiles as records name them.
    fn fill(self, pattern: &str) -> String {
        match self {
            Part::Whole => pattern.to_owned(),
            Part::Statistic(each) => pattern.replace("{p}", &each.key()),
            Part::Kind(kind) => pattern.replace("{kind}", kind.name()),
            Part::Status(status) => pattern.replace("{status}", &status.to_string()),
        }
    }

    /// Returns `pattern` with the part as people write it.
    fn fill_shown(self, pattern: &str) -> String {
        match self {
            Part::Statistic(each) => pattern.replace("{p}", &each.to_string()),
            _ => self.fill(pattern),
        }
    }
}

impl Selected {
    /// The figure over all requests.
    fn all(figure: &'static Figure, part: Part) -> Selected {
        Selected {
            figure,
            part,
            request: None,
        }
    }

    fn prefix(&self) -> String {
        let index = self.request;
        index.map_or(String::new(), |index| format!("by_request.{index}."))
    }

    /// Reads from `of` or, where the figure is about one request, from that one.
    fn read<T>(&self, of: &Figures<'_>, read: impl FnOnce(&Figures<'_>) -> T) -> Option<T> {
        match self.request.filter(|_| of.request.is_none()) {
            None => Some(read(of)),
            Some(index) => of.each_request().nth(index).map(|one| read(&one)),
        }
    }

    /// Returns the path that scripts use, such as `latency_us.p999`.
    pub fn name(&self) -> String {
        self.prefix() + &self.part.fill(self.figure.name)
    }

    /// Returns what it means, as part of a sentence.
    pub fn doc(&self) -> String {
        self.part.fill_shown(self.figure.doc)
    }

    /// Returns `title` with the part in it.
    pub fn title(&self, title: &str) -> String {
        self.part.fill_shown(title)
    }

    /// Returns the value; none where nothing carries it.
    pub fn value(&self, of: &Figures<'_>) -> Option<Value> {
        let value = |of: &Figures<'_>| match self.figure.source {
            Source::Value(read) => read(of, self.part),
            Source::Times(_, _) if self.is_withheld(of) => None,
            Source::Times(times, _) => {
                let micros = statistic(times(of), self.part.statistic()?);
                micros.map(Value::Number)
            }
        };
        let is_known = of.request.is_none() || self.figure.of_requests;
        is_known.then(|| self.read(of, value))??
    }

    /// Returns why there is no value, as the rest of a sentence that begins with the name.
    pub fn missing(&self, of: &Figures<'_>) -> String {
        let missing = |of: &Figures<'_>| match (self.figure.absent)(of) {
            Some(why) => why,
            None => self.too_few(of),
        };
        let listed = of.summary.by_request.len();
        self.read(of, missing).unwrap_or_else(|| match listed {
            0 => "exists only where several requests are listed".to_owned(),
            _ => format!(
                "has no value: {listed} requests are listed, by_request.0 to by_request.{}",
                listed - 1
            ),
        })
    }

    /// Says how many samples the figure needs and how many there are, where that is known.
    fn too_few(&self, of: &Figures<'_>) -> String {
        let Source::Times(times, samples) = self.figure.source else {
            return "was not measured".to_owned();
        };
        let need = match self.part {
            Part::Statistic(Statistic::At(p)) => stats::carried_from(p.quantile()),
            _ => None,
        };
        let have = times(of).map_or(0, Histogram::count);
        let why = too_few(need.unwrap_or(1), have, samples);
        match self.part {
            Part::Statistic(Statistic::At(p))
                if self.is_withheld(of) && have >= need.unwrap_or(1) =>
            {
                let worth = units::count(of.tally().effective_samples(p.quantile()));
                format!("{why}: slow ones come together, so that they count as {worth}")
            }
            _ => why,
        }
    }

    /// Whether it is a percentile for which the samples would be enough if they were independent, and are not.
    fn is_withheld(&self, of: &Figures<'_>) -> bool {
        match self.part {
            Part::Statistic(Statistic::At(p)) if self.figure.clustered && of.request.is_none() => {
                !of.tally().carries(p.quantile())
            }
            _ => false,
        }
    }

    /// Returns the value as a number in the figure's unit; none of words, and where nothing carries it.
    pub fn number(&self, of: &Figures<'_>) -> Option<f64> {
        self.value(of)?.number()
    }

    /// Returns whether the true value is at least this one.
    pub fn is_at_least(&self, of: &Figures<'_>) -> bool {
        self.read(of, |of| (self.figure.at_least)(of, self.part)) == Some(true)
    }

    /// Returns the strongest effect of `findings` on figures of its kind; none where they leave it alone.
    pub fn effect<'f>(&self, findings: impl IntoIterator<Item = &'f Finding>) -> Option<Effect> {
        record::effect_on(findings, self.figure.class?)
    }

    /// Returns the value for programs; empty where nothing carries it.
    pub fn written(&self, of: &Figures<'_>) -> String {
        self.value(of)
            .map_or(String::new(), |value| self.figure.unit.written(&value))
    }

    /// Returns the value for people, with a sign where it is a lower bound; none where nothing carries it.
    pub fn shown(&self, of: &Figures<'_>) -> Option<String> {
        let shown = self.figure.unit.shown(&self.value(of)?);
        Some(match self.is_at_least(of) {
            true => format!(">= {shown}"),
            false => shown,
        })
    }

    /// Returns the min and max of the point's complete rounds.
    pub fn extremes(&self, of: &Figures<'_>) -> Option<(f64, f64)> {
        let rounds = complete_rounds(of).filter_map(|round| self.number(&round));
        stats::min_max(&rounds.collect::<Vec<f64>>())
    }

    /// Returns the 95 % interval of repeated rounds: Student's t on the logarithms of their values. None of a figure of
    /// which rounds have no values of their own, under three complete rounds, and with one that lacks a value, only
    /// bounds it or is not above zero.
    pub fn interval(&self, of: &Figures<'_>) -> Option<Interval> {
        // A round lists only the requests that it sent, so that they are found by name.
        let listed = self.request.map(|index| of.summary.by_request.get(index));
        let sound = |of: &Figures<'_>| self.number(of).filter(|_| !self.is_at_least(of));
        let sound = |round: Figures<'_>| match listed {
            None => sound(&round),
            Some(listed) => {
                let mut each = round.each_request();
                sound(&each.find(|one| one.request == listed.map(|one| one.request.as_str()))?)
            }
        };
        let values: Option<Vec<f64>> = complete_rounds(of).map(sound).collect();
        stats::log_t_interval(&values.filter(|_| self.figure.repeats)?)
    }
}

/// Says how many samples a figure needs and how many there are.
pub(crate) fn too_few(need: u64, have: u64, samples: &str) -> String {
    match have {
        0 => format!("has no value: there are no {samples} with a time"),
        _ => format!(
            "takes {} {samples}, and there {} {}",
            units::count(need),
            if have == 1 { "is" } else { "are" },
            units::count(have)
        ),
    }
}

/// The point's rounds that were not cut short.
fn complete_rounds<'a>(of: &'a Figures<'_>) -> impl Iterator<Item = Figures<'a>> {
    of.each_round()
        .filter(|round| round.generators == 1 && !round.rounds[0].partial)
}

impl fmt::Display for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&(self.prefix() + &self.part.fill_shown(self.figure.name)))
    }
}
