//! Charts: what is drawn of a Run, and the pictures that it is drawn as.
//!
//! A [`Chart`] is data without a pixel in it: panels with their axes, and on them series that are lines, bands or marks.
//! It is computed from the Run alone, like a page, so that every picture shows the same, in this file or in another. The
//! pictures are drawn through plotters; nothing else here knows of it than `draw`, `extent` and `picture`.

mod comparison;
mod draw;
mod extent;
mod picture;
mod reading;
mod sweep;
mod time;

pub use comparison::compared;
pub use picture::{KINDS, Kind, Undrawn, kind};

use crate::Detail;
use crate::page::{Block, Page};
use crate::phrase;
use figures::Unit;
use record::{Machine, Run};

/// Maximum number of lines of one kind in a panel: a reader could not distinguish more.
pub const MOST_LINES: usize = 8;

/// What is drawn of a Run.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The target, as on the page.
    pub title: String,
    /// The load, as on the page.
    pub subtitle: String,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Where and when it was measured, and by what.
    pub source: String,
}

/// One diagram.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What is drawn upwards, with its unit.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// From the lowest layer to the highest.
    pub series: Vec<Series>,
    /// Notes below the legend.
    pub notes: Vec<String>,
}

/// One direction of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Name of the quantity.
    pub title: String,
    /// Unit of its values.
    pub unit: Unit,
    /// How values lie on it.
    pub scale: Scale,
    /// Values that have their place on it, drawn or not.
    pub places: Vec<f64>,
    /// Names of rows, from the lowest, whose places are 0, 1, 2, ...; empty where the axis is one of numbers.
    pub names: Vec<String>,
}

impl Default for Axis {
    /// A linear axis of plain numbers without a name.
    fn default() -> Axis {
        Axis {
            title: String::new(),
            unit: Unit::Plain,
            scale: Scale::Linear,
            places: Vec::new(),
            names: Vec::new(),
        }
    }
}

/// How values lie on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences at equal distances.
    Linear,
    /// Equal factors at equal distances; what is not above 0 has no place on it.
    Log,
}

/// What is drawn in one colour and one manner.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend; none where another series stands there for it.
    pub name: Option<String>,
    /// Which of the colours and forms it has; none for what is only a help to the eye.
    pub number: Option<usize>,
    /// Points at which it is drawn, and in which form.
    pub shape: Shape,
}

/// Where something is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Through these points in turn, with a gap where there is none.
    Line(Vec<Option<(f64, f64)>>, Stroke),
    /// Between two values over each place, likewise: the place, the lower and the upper.
    Band(Vec<Option<(f64, f64, f64)>>),
    /// At these points.
    Marks(Vec<(f64, f64)>, Mark),
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// Whole.
    Solid,
    /// Thin and broken.
    Dashed,
}

/// What stands at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A figure that stands: the number's own form, filled.
    Sound,
    /// A figure with a caveat: the same, hollow.
    Caveat,
    /// A lower bound: an arrow upwards.
    AtLeast,
    /// A figure that is worthless: a cross.
    Invalid,
    /// One of the values that a figure is made of: a small faint disc.
    Single,
    /// Something remarkable: a ring around what is there.
    Ring,
    /// Something else that is remarkable: a wider one.
    WideRing,
}

impl Panel {
    /// Whether the points of a line are marked.
    fn is_marked(&self, number: Option<usize>) -> bool {
        let marks = |series: &Series| matches!(series.shape, Shape::Marks(..));
        let mut of_it = self.series.iter().filter(|series| series.number == number);
        number.is_some() && of_it.any(marks)
    }
}

impl Chart {
    /// What is to be drawn of `run`: of a sweep its curves, of a run its rounds over time. It has no panel where nothing
    /// was measured.
    ///
    /// ```
    /// let chart = report::chart::Chart::of(&record::example::sweep());
    /// assert_eq!(chart.panels[0].title, "requests/s");
    /// ```
    pub fn of(run: &Run) -> Chart {
        let mut lines = head(run).into_iter();
        let panels = match sweep::panels(run) {
            panels if panels.is_empty() => time::panel(run).into_iter().collect(),
            panels => panels,
        };
        Chart {
            title: lines.next().unwrap_or_default(),
            subtitle: lines.next().unwrap_or_default(),
            panels,
            source: source(&run.machine, &run.weigh, run.started_unix),
        }
    }

    /// Whether there is nothing on it.
    pub fn is_empty(&self) -> bool {
        self.panels.is_empty()
    }
}

/// The first lines of the page, as plain text.
fn head(run: &Run) -> Vec<String> {
    let blocks = Page::head(run, Detail::Full).blocks;
    let lines = blocks.into_iter().flat_map(|block| match block {
        Block::Lines(lines) => lines,
        _ => Vec::new(),
    });
    let text = lines.map(|items| {
        let item = |item: crate::page::Item| -> String {
            item.0.into_iter().map(|span| span.text).collect()
        };
        items.into_iter().map(item).collect::<Vec<_>>().join(", ")
    });
    text.collect()
}

/// Where and when it was measured, and by what.
fn source(machine: &Machine, weigh: &str, started_unix: u64) -> String {
    const LONGEST: usize = 80;
    let mut facts = vec![
        format!("weigh {}", phrase::clean(weigh, LONGEST)),
        units::date::minute(started_unix),
    ];
    let model = machine.cpu_model.as_deref();
    facts.extend(model.map(|model| phrase::clean(model, LONGEST)));
    let cpus = machine.cpus_allowed.len() as u64;
    facts.push(units::number(cpus, "CPU"));
    facts.join(", ")
}
