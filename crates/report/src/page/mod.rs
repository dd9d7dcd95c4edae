//! What is to be shown of a Run, in order, with the weight of each word; not how it is laid out.
//!
//! A page is computed from the Run alone, and every format that is meant for people lays out the same page. It is made
//! of few kinds of blocks and not of named fields, so that a figure is added in one place and no format knows of it.

mod brief;
mod checkup;
pub(crate) mod comparison;
mod cost;
pub(crate) mod curve;
mod diff;
mod disclosure;
pub(crate) mod findings;
mod handshakes;
mod list;
pub(crate) mod load;
mod machine;
pub(crate) mod plan;
mod requirements;
mod results;
mod script;
mod server;
mod split_generators;
pub(crate) mod tables;

pub use checkup::checkup;
pub use diff::{Difference, Differences, diff, differences};
pub use list::saved_records;
pub use plan::search_budget;

use crate::Detail;
use figures::Figures;
use record::{Grade, Run};
use std::borrow::Cow;

/// Everything that is shown of a Run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Blocks of the page from top to bottom.
    pub blocks: Vec<Block>,
}

/// A part of a page that is set off from the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Lines without a label.
    Lines(Vec<Vec<Item>>),
    /// Labelled rows.
    Rows(Vec<Row>),
    /// A table.
    Table(Table),
}

/// What belongs together after one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Name of the row.
    pub label: String,
    /// Severity of the worst caveat.
    pub mark: Option<Grade>,
    /// The items of the row.
    pub items: Vec<Item>,
}

/// Words that stay together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Item(pub Vec<Span>);

/// Words of one weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Text of the span.
    pub text: String,
    /// Weight of the text.
    pub role: Role,
}

/// The weight of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text.
    Plain,
    /// Text that readers look for first.
    Strong,
    /// Text that readers need last.
    Dim,
    /// Text that calls for care.
    Warning,
    /// Text about an error.
    Wrong,
}

/// Rows of cells under headings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The headings; the last column may be broken over lines where it is a sentence.
    pub columns: Vec<Column>,
    /// The cells, as many in each row as there are columns.
    pub rows: Vec<Vec<Span>>,
    /// Note about rows that are left out.
    pub rest: Option<String>,
}

/// A column's heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Words of the heading.
    pub title: Cow<'static, str>,
    /// Whether its cells are numbers, set flush right.
    pub is_number: bool,
    /// Importance where there is no room for all columns: the least important go first. None stays whatever the width.
    pub priority: Option<u8>,
    /// Width to expect of its cells where later rows are not known yet.
    pub least: usize,
}

/// Width that is expected of numbers.
const NUMBER_LEAST: usize = 7;

impl Column {
    /// Returns a column of words that always stays.
    pub(crate) const fn text(title: &'static str) -> Column {
        Column {
            title: Cow::Borrowed(title),
            is_number: false,
            priority: None,
            least: 0,
        }
    }

    /// Returns a column of numbers that always stays.
    pub(crate) const fn number(title: &'static str) -> Column {
        Column {
            title: Cow::Borrowed(title),
            is_number: true,
            priority: None,
            least: NUMBER_LEAST,
        }
    }
}

impl Page {
    /// Returns as much of what is to be shown of `run` as `detail` says.
    pub fn at(run: &Run, detail: Detail) -> Page {
        let mut page = match detail {
            Detail::Quiet => return brief::quiet(run),
            Detail::Brief => brief::page(run),
            Detail::Full => Page::of(run),
        };
        let script = script::block(run);
        page.blocks.extend((!script.is_empty()).then_some(script));
        page
    }

    /// Returns what stands above the table of a sweep: target and load and, in full, also the server's processes.
    pub(crate) fn head(run: &Run, detail: Detail) -> Page {
        let mut blocks = match detail {
            Detail::Quiet => Vec::new(),
            Detail::Brief => vec![Block::Lines(brief::head(run))],
            Detail::Full => vec![Block::Lines(load::head(run))],
        };
        if run.is_sweep() && detail == Detail::Full {
            blocks.push(Block::Rows(server::rows(run)));
        }
        blocks.retain(|block| !block.is_empty());
        Page { blocks }
    }

    /// What is to be shown of `run`: of a run its points one after the other, of a sweep the curve.
    pub fn of(run: &Run) -> Page {
        let mut blocks = Page::head(run, Detail::Full).blocks;
        if run.is_sweep() {
            blocks.push(Block::Table(curve::table(run)));
            blocks.push(Block::Rows(curve::rows(run)));
            blocks.push(Block::Table(handshakes::table(run)));
        }
        blocks.push(Block::Table(requirements::table(run)));
        for (index, point) in run.points.iter().enumerate() {
            if run.is_sweep() {
                break;
            }
            if run.points.len() > 1 {
                blocks.push(Block::Lines(vec![load::level(point)]));
            }
            let of = Figures::of(run, index);
            blocks.push(Block::Rows(
                of.as_ref().map_or_else(results::none, results::rows),
            ));
            blocks.push(Block::Rows(split_generators::rows(point)));
            blocks.extend(of.as_ref().and_then(tables::errors).map(Block::Table));
            let requests = of.as_ref().and_then(|of| tables::requests(of, usize::MAX));
            blocks.extend(requests.map(Block::Table));
            blocks.extend(of.as_ref().and_then(tables::rounds).map(Block::Table));
        }
        blocks.push(Block::Rows(findings::rows(run)));
        blocks.push(Block::Rows(machine::rows(
            &run.machine,
            &run.weigh,
            run.started_unix,
        )));
        blocks.retain(|block| !block.is_empty());
        Page { blocks }
    }
}

impl Block {
    fn is_empty(&self) -> bool {
        match self {
            Block::Lines(lines) => lines.is_empty(),
            Block::Rows(rows) => rows.is_empty(),
            Block::Table(table) => table.rows.is_empty(),
        }
    }
}

impl Row {
    pub(crate) fn new(label: &str, items: Vec<Item>) -> Row {
        Row {
            label: label.to_owned(),
            mark: None,
            items,
        }
    }

    pub(crate) fn marked(self, mark: Option<Grade>) -> Row {
        Row { mark, ..self }
    }
}

impl Span {
    pub(crate) fn new(role: Role, text: impl Into<String>) -> Span {
        Span {
            text: text.into(),
            role,
        }
    }
}

impl Item {
    pub(crate) fn plain(text: impl Into<String>) -> Item {
        Item(vec![Span::new(Role::Plain, text)])
    }

    pub(crate) fn strong(text: impl Into<String>) -> Item {
        Item(vec![Span::new(Role::Strong, text)])
    }

    pub(crate) fn dim(text: impl Into<String>) -> Item {
        Item(vec![Span::new(Role::Dim, text)])
    }

    pub(crate) fn wrong(text: impl Into<String>) -> Item {
        Item(vec![Span::new(Role::Wrong, text)])
    }

    /// A name in the background with its value.
    pub(crate) fn named(name: &str, role: Role, value: impl Into<String>) -> Item {
        Item::dim(format!("{name} ")).and(role, value)
    }

    /// Names in the background, each with its value; without those that have none.
    pub(crate) fn each<const N: usize>(role: Role, of: [(&str, Option<String>); N]) -> Vec<Item> {
        let named = |(name, value): (&str, Option<String>)| Some(Item::named(name, role, value?));
        of.into_iter().filter_map(named).collect()
    }

    /// The ends of a 95 % interval of rounds, and what it speaks of: repetition against one start of the server.
    pub(crate) fn interval((low, high): (String, String)) -> Item {
        let item = Item::named("95 % interval", Role::Plain, format!("{low} .. {high}"));
        item.and(Role::Dim, " (same server start)")
    }

    /// More words in another weight.
    pub(crate) fn and(mut self, role: Role, text: impl Into<String>) -> Item {
        self.0.push(Span::new(role, text));
        self
    }
}
