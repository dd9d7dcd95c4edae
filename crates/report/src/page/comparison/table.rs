//! The figures of servers beside one another: a column for each of two servers, or a line for each of more.
//!
//! Two servers whose names or values leave no room for the answer get a line each, too: a row that is broken cannot be read.

use super::words::{self, NAME_MOST, Words};
use super::{Role, Span};
use crate::page::{Column, Table};
use crate::phrase::{clean, columns};
use plan::{Block, Load};
use record::{FigureAnswers, Rating, Said, Versus};
use std::borrow::Cow;
use units::count;

/// The longest name at the head of a line.
pub(super) const LINE_NAME_MOST: usize = 20;
/// Between two columns.
const GAP: usize = 2;

/// Why two values may be the other way round than their ratio.
const APART: &str = "ratios are of neighbouring slices, values of all";

/// Whether a difference is shown of two values that are the other way round, as far as they are shown.
fn apart(words: &Words<'_>) -> bool {
    let figures = words.answers.figures.iter();
    let mut shown = figures.flat_map(|figure| {
        figure.against_first.iter().filter_map(|versus| {
            let ratio = versus
                .ratio
                .filter(|_| versus.rating != Rating::NoneShown)?;
            let of_values = figure.values[versus.server]? / figure.values[versus.base]?;
            Some((ratio.centre - 1.0) * (of_values - 1.0))
        })
    });
    shown.any(|product| product < 0.0)
}

/// The figures of every block, then memory.
pub(super) fn figures(words: &Words<'_>, width: usize) -> Table {
    let beside = match words.comparison.ranked()[..] {
        [a, b] => Some(beside(words, a, b)),
        _ => None,
    };
    beside
        .filter(|table| wide(table) <= width)
        .unwrap_or_else(|| below(words))
}

/// How wide a table is where no cell is broken.
fn wide(table: &Table) -> usize {
    let widths = (0..table.columns.len()).map(|at| {
        let cells = table.rows.iter().map(|row| columns(&row[at].text));
        cells
            .chain([columns(&table.columns[at].title)])
            .max()
            .unwrap_or(0)
    });
    widths
        .map(|width| width + GAP)
        .sum::<usize>()
        .saturating_sub(GAP)
}

fn number_column(title: String) -> Column {
    Column {
        title: Cow::Owned(title),
        ..Column::number("")
    }
}

fn text_column(title: String) -> Column {
    Column {
        title: Cow::Owned(title),
        ..Column::text("")
    }
}

fn interval_column(words: &Words<'_>) -> Column {
    text_column(format!(
        "{} interval",
        words::confidence(words.answers.confidence)
    ))
}

/// The columns: what a row is about, its values, their ratio with its interval, and what that says.
fn head(words: &Words<'_>, values: Vec<Column>, ratio: String) -> Vec<Column> {
    let before = std::iter::once(Column::text("")).chain(values);
    let after = [
        number_column(ratio),
        interval_column(words),
        Column::text(""),
    ];
    before.chain(after).collect()
}

/// Two servers, a column each.
fn beside(words: &Words<'_>, a: usize, b: usize) -> Table {
    let names = [words.name(a).to_owned(), words.name(b).to_owned()];
    let ratio = format!("{} / {}", names[1], names[0]);
    let [first, second] = names.map(number_column);
    let head = head(words, vec![first, second], ratio);
    let cells = head.len();
    let mut rows = Vec::new();
    each_block(words, |figure, title| {
        rows.extend(title.map(|title| title_row(title, cells)));
        let mut row = vec![Span::new(Role::Plain, words::figure_name(figure.figure))];
        row.extend([a, b].map(|server| value(figure, server)));
        row.extend(compared(words, figure.against_first.first()));
        rows.push(row);
    });
    Table {
        columns: head,
        rows,
        rest: apart(words).then(|| APART.to_owned()),
    }
}

/// Any number of servers, a line for each figure of each.
fn below(words: &Words<'_>) -> Table {
    let ranked = words.comparison.ranked();
    let value_column = number_column("value".to_owned());
    let head = head(words, vec![value_column], "ratio".to_owned());
    let cells = head.len();
    let mut rows = Vec::new();
    each_block(words, |figure, title| {
        rows.extend(title.map(|title| title_row(title, cells)));
        rows.push(title_row(
            words::figure_name(figure.figure).to_owned(),
            cells,
        ));
        for server in &ranked {
            let name = shortened(words.name(*server), LINE_NAME_MOST);
            let versus = figure
                .against_first
                .iter()
                .find(|versus| versus.server == *server);
            let mut row = vec![
                Span::new(Role::Plain, format!("  {name}")),
                value(figure, *server),
            ];
            match Some(server) == ranked.first() {
                true => row.resize(cells, Span::new(Role::Plain, "")),
                false => row.extend(compared(words, versus)),
            }
            rows.push(row);
        }
    });
    Table {
        columns: head,
        rows,
        rest: apart(words).then(|| APART.to_owned()),
    }
}

/// Hands over every figure, with the title of its block before the first of it where there are several.
fn each_block(words: &Words<'_>, mut take: impl FnMut(&FigureAnswers, Option<String>)) {
    let blocks = &words.comparison.plan.blocks;
    let mut before = None;
    for figure in &words.answers.figures {
        let block = figure.block.filter(|_| blocks.len() > 1);
        let title = block
            .filter(|_| before != Some(figure.block))
            .map(|block| short(&blocks[block]));
        // Memory is that after all of them.
        let after =
            (figure.block.is_none() && blocks.len() > 1).then(|| "after the load".to_owned());
        before = Some(figure.block);
        take(figure, title.or(after));
    }
}

/// A load in a few letters: `c = 64`, `saturation, c = 256`, `10,000/s`; of one that has a name, that.
pub(crate) fn short(block: &Block) -> String {
    match (&block.name, block.load) {
        (Some(name), _) => clean(name, NAME_MOST),
        (None, Load::Closed { connections }) => {
            let what = ["saturation, ", ""][usize::from(block.is_short())];
            format!("{what}c = {}", count(connections.into()))
        }
        (None, Load::Open { rate, .. }) => format!("{}/s", units::rate(rate.as_f64())),
    }
}

fn title_row(title: String, cells: usize) -> Vec<Span> {
    let mut row = vec![Span::new(Role::Strong, title)];
    row.resize(cells, Span::new(Role::Plain, ""));
    row
}

fn value(figure: &FigureAnswers, server: usize) -> Span {
    if figure.void.get(server) == Some(&true) {
        return Span::new(Role::Wrong, "INVALID");
    }
    let value = figure.values.get(server).copied().flatten();
    let shown = value.map_or("-".to_owned(), |value| words::value(figure.figure, value));
    Span::new(Role::Plain, shown)
}

/// Ratio, interval and answer.
fn compared(words: &Words<'_>, versus: Option<&Versus>) -> [Span; 3] {
    let ratio = versus
        .and_then(|versus| versus.ratio)
        .filter(|_| !versus.is_some_and(|it| it.said == Said::Void));
    let dash = || "-".to_owned();
    let role = match versus.map(|versus| (versus.said, versus.rating)) {
        Some((Said::Void, _)) => Role::Wrong,
        Some((Said::TooFewStarts | Said::NotMeasured, _)) => Role::Warning,
        Some((_, Rating::Better | Rating::Worse)) => Role::Strong,
        _ => Role::Dim,
    };
    [
        Span::new(
            Role::Plain,
            ratio.map_or_else(dash, |ratio| words::ratio(&ratio)),
        ),
        Span::new(
            Role::Plain,
            ratio.map_or_else(dash, |ratio| words::interval(&ratio)),
        ),
        Span::new(
            role,
            versus.map_or(String::new(), |it| {
                words::answer(it, words.comparison.unit())
            }),
        ),
    ]
}

/// A name with its middle left out where it is longer: two that begin alike often differ at the end.
pub(super) fn shortened(name: &str, most: usize) -> String {
    let all: Vec<char> = name.chars().collect();
    if all.len() <= most {
        return name.to_owned();
    }
    let (front, back) = (most / 2, most - most / 2 - 1);
    all[..front]
        .iter()
        .chain(&['…'])
        .chain(&all[all.len() - back..])
        .collect()
}

/// Every pair of servers in the figure that decides, where that is asked for.
pub(super) fn pairs(words: &Words<'_>) -> Table {
    let figure = words.answers.deciding();
    let pairs = figure.map_or(&[][..], |figure| &figure.pairs);
    let row = |pair: &Versus| {
        let [server, base] =
            [pair.server, pair.base].map(|it| shortened(words.name(it), LINE_NAME_MOST / 2));
        let mut row = vec![Span::new(Role::Plain, format!("{server} / {base}"))];
        row.extend(compared(words, Some(pair)));
        row
    };
    let title = figure.map_or("", |figure| words::figure_name(figure.figure));
    let confidence = words::confidence(words.answers.pairs_confidence);
    Table {
        columns: vec![
            text_column(format!("{title}, every pair")),
            number_column("ratio".to_owned()),
            text_column(format!("{confidence} interval")),
            Column::text(""),
        ],
        rows: pairs.iter().map(row).collect(),
        rest: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_name_both_ends_are_shown() {
        assert_eq!(shortened("short", 9), "short");
        assert_eq!(shortened("nginx-1.27-regexp-3", 9), "ngin…xp-3");
    }
}
