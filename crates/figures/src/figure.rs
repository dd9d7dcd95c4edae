//! A row of the table.

use crate::Figures;
use crate::value::{Unit, Value};
use record::{Kind, Run, Statistic};
use stats::Histogram;

/// One figure, or a family of figures that differ in a [`Part`] of their names.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Path that scripts use, such as `rps.mean`; `{p}`, `{kind}` or `{status}` in it stands for the part.
    pub name: &'static str,
    /// Other names that people type.
    pub aliases: &'static [&'static str],
    /// What it means.
    pub doc: &'static str,
    /// Unit of its value.
    pub unit: Unit,
    /// Kind of figure that findings affect; none where no finding can.
    pub class: Option<record::Figure>,
    /// Whether each round has its own value, so that rounds give an interval.
    pub repeats: bool,
    /// Whether each request of a list has its own value.
    pub of_requests: bool,
    /// Column of a table for programs.
    pub column: Option<Column>,
    /// Column of a sweep's table on a terminal.
    pub cell: Option<Cell>,
    pub(crate) source: Source,
    pub(crate) at_least: Read<bool>,
    /// Whether it is the latency of all requests, of which slow ones may come together.
    pub(crate) clustered: bool,
    pub(crate) absent: fn(&Figures<'_>) -> Option<String>,
}

/// How the value follows from what was recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// As this function says.
    Value(Read<Option<Value>>),
    /// Of a family: the statistics of a distribution in nanoseconds, none where it was not recorded; and the plural of
    /// its samples.
    Times(Times, &'static str),
}

/// How something follows from what was recorded.
pub(crate) type Read<T> = fn(&Figures<'_>, Part) -> T;
pub(crate) type Times = for<'f, 'r> fn(&'f Figures<'r>) -> Option<&'f Histogram>;

/// Which figure of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The only one.
    Whole,
    /// A percentile, the min, the mean or the max of a distribution.
    Statistic(Statistic),
    /// A kind of error.
    Kind(Kind),
    /// A status of responses.
    Status(u16),
}

/// Column of a table for programs.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Name in the header row.
    pub name: &'static str,
    /// Statistics of a distribution that have a column each; none for all of them, with the percentiles that are asked for.
    pub statistics: Option<&'static [Statistic]>,
}

/// Column of a sweep's table for people.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// Short heading.
    pub title: &'static str,
    /// Importance, 1 for what goes last where there is little room.
    pub priority: u8,
    /// Of which runs it is shown.
    pub shown: Shown,
    /// Weight of its values.
    pub weight: Weight,
}

/// Of which runs a cell is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Of all.
    Always,
    /// Of those with a rate of connections.
    Arriving,
    /// Of those with several sizes of responses.
    Sized,
    /// Of those whose server was observed, as far as is known yet.
    Observed,
}

/// Weight of a value on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// What readers look for first.
    Strong,
    /// What they look for next.
    Plain,
    /// What they look for last.
    Dim,
    /// Wrong where it is not 0.
    Alarm,
}

impl Shown {
    /// Returns whether it holds for `run`.
    pub fn applies(self, run: &Run) -> bool {
        match self {
            Shown::Always => true,
            Shown::Arriving => run.plan.load.is_of_connections(),
            Shown::Sized => {
                let mut axes = run.plan.sweep.iter().flat_map(|sweep| &sweep.axes);
                axes.any(|axis| matches!(axis, plan::Axis::Size(_)))
            }
            Shown::Observed => {
                let observed = run.observed.as_ref();
                observed.is_some_and(|observed| observed.why_not.is_none())
            }
        }
    }
}

impl Part {
    /// Returns which statistic of a distribution it is; none of other families.
    pub(crate) fn statistic(self) -> Option<Statistic> {
        match self {
            Part::Statistic(statistic) => Some(statistic),
            _ => None,
        }
    }
}

/// Rows are written as one call after the other, each of which adds what most rows do not have.
impl Figure {
    pub(crate) const fn new(
        name: &'static str,
        unit: Unit,
        doc: &'static str,
        value: Read<Option<Value>>,
    ) -> Figure {
        Figure {
            name,
            aliases: &[],
            doc,
            unit,
            class: None,
            repeats: false,
            of_requests: false,
            column: None,
            cell: None,
            source: Source::Value(value),
            at_least: |_, _| false,
            clustered: false,
            absent: |_| None,
        }
    }

    /// The family of the statistics of `times`, a distribution of so many `samples`.
    pub(crate) const fn times(
        name: &'static str,
        doc: &'static str,
        samples: &'static str,
        times: Times,
    ) -> Figure {
        let mut figure = Figure::new(name, Unit::Micros, doc, |_, _| None);
        figure.source = Source::Times(times, samples);
        figure
    }

    /// It is the latency of all requests, of which slow ones may come together.
    pub(crate) const fn clustered(mut self) -> Figure {
        self.clustered = true;
        self
    }

    /// Where `why` gives a reason, there is no value for it.
    pub(crate) const fn absent(mut self, why: fn(&Figures<'_>) -> Option<String>) -> Figure {
        self.absent = why;
        self
    }

    pub(crate) const fn aliases(mut self, aliases: &'static [&'static str]) -> Figure {
        self.aliases = aliases;
        self
    }

    pub(crate) const fn class(mut self, class: record::Figure) -> Figure {
        self.class = Some(class);
        self
    }

    pub(crate) const fn repeats(mut self) -> Figure {
        self.repeats = true;
        self
    }

    pub(crate) const fn of_requests(mut self) -> Figure {
        self.of_requests = true;
        self
    }

    pub(crate) const fn at_least(mut self, at_least: Read<bool>) -> Figure {
        self.at_least = at_least;
        self
    }

    /// In the table for programs; of a family every statistic, with the percentiles that are asked for.
    pub(crate) const fn csv(mut self, name: &'static str) -> Figure {
        let statistics = None;
        self.column = Some(Column { name, statistics });
        self
    }

    /// In the table for programs, for these statistics.
    pub(crate) const fn csv_of(mut self, name: &'static str, of: &'static [Statistic]) -> Figure {
        let statistics = Some(of);
        self.column = Some(Column { name, statistics });
        self
    }

    /// In a sweep's table of those runs.
    pub(crate) const fn cell(
        mut self,
        title: &'static str,
        priority: u8,
        weight: Weight,
        shown: Shown,
    ) -> Figure {
        self.cell = Some(Cell {
            title,
            priority,
            shown,
            weight,
        });
        self
    }
}
