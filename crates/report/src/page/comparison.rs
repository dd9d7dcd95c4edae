//! The page of a comparison: the answer, the table of figures, how far it can be trusted, and under which conditions.
//!
//! A server under a second name has no row of its own: it says something of the method and nothing of a server.

mod conditions;
mod detail;
mod doubts;
mod handshakes;
pub(crate) mod table;
pub(crate) mod words;

use super::{Block, Item, Page, Role, Row, Span};
use crate::Detail;
use plan::Deciding;
use record::{Answers, Comparison, Grade, Reason, Regressed, RegressionAnswer};
use units::{Nanos, number};
use words::Words;

/// The most doubts that the short page names.
const DOUBTS_MOST: usize = 4;

/// Returns as much of what is to be shown of `comparison` as `detail` says, for lines of so many columns.
pub(crate) fn page(comparison: &Comparison, detail: Detail, width: usize) -> Page {
    let answers = Answers::of(comparison);
    let words = Words::of(comparison, &answers);
    let mut blocks = vec![
        Block::Lines(headlines(&words)),
        Block::Table(table::figures(&words, width)),
        Block::Table(table::pairs(&words)),
    ];
    if detail == Detail::Full {
        blocks.extend(detail::starts(&words));
    }
    let mut rows: Vec<Row> = ranks(&words).into_iter().collect();
    rows.extend(bias(&words));
    rows.extend(
        answers
            .regression
            .map(|regressed| regression(&words, regressed)),
    );
    rows.extend(reliability(&words, detail));
    if detail > Detail::Quiet {
        rows.extend(conditions::rows(&words));
        rows.extend(match detail {
            Detail::Full => handshakes::rows(&words),
            Detail::Quiet | Detail::Brief => handshakes::rows_if_measured(&words),
        });
        rows.extend(reference(&words));
    }
    blocks.push(Block::Rows(rows));
    if detail == Detail::Full {
        blocks.push(Block::Rows(detail::rows(&words)));
    }
    blocks.retain(|block| !block.is_empty());
    Page { blocks }
}

/// Returns under which conditions servers are, and which of them are not compared.
pub(crate) fn conditions_page(comparison: &Comparison) -> Page {
    let answers = Answers::of(comparison);
    let words = Words::of(comparison, &answers);
    let doubts = answers.reliability.doubts.iter();
    let excluded = doubts.filter(|doubt| matches!(doubt.reason, Reason::Excluded { .. }));
    let excluded =
        excluded.map(|doubt| Row::new("", vec![Item::wrong(words.doubt(&doubt.reason))]));
    let rows: Vec<Row> = conditions::rows(&words)
        .into_iter()
        .chain(excluded)
        .collect();
    let mut blocks = vec![Block::Rows(rows)];
    blocks.retain(|block| !block.is_empty());
    Page { blocks }
}

/// What the figure that decides says, a line for each other server.
fn headlines(words: &Words<'_>) -> Vec<Vec<Item>> {
    let line = |(sentence, interval): (String, Option<String>)| {
        let interval = interval.map(|interval| Item::dim(format!("({interval})")));
        std::iter::once(Item::strong(sentence).and(Role::Dim, " "))
            .chain(interval)
            .collect()
    };
    words.headlines().into_iter().map(line).collect()
}

/// `a 1 to 2  b 1 to 2  c 3`.
fn ranks(words: &Words<'_>) -> Option<Row> {
    let ranks = words.answers.ranks.iter().map(|rank| {
        let range = match rank.best == rank.worst {
            true => rank.best.to_string(),
            false => format!("{} to {}", rank.best, rank.worst),
        };
        Item::named(words.name(rank.server), Role::Plain, range)
    });
    let ranks: Vec<Item> = ranks.collect();
    (!ranks.is_empty()).then(|| Row::new("ranks", ranks))
}

/// How a server under two names differs from itself, in the figure that decides.
fn bias(words: &Words<'_>) -> Vec<Row> {
    let Some(figure) = words.answers.deciding() else {
        return Vec::new();
    };
    let row = |arm: &record::Versus| {
        let ratio = arm.ratio?;
        let (name, other) = (words.name(arm.base), words.name(arm.server));
        let interval = format!("{} ({})", words::ratio(&ratio), words::interval(&ratio));
        let item = Item::plain(format!("{name} against itself (as {other}): {interval}"));
        Some(Row::new("bias", vec![item]))
    };
    figure.bias.iter().filter_map(row).collect()
}

fn regression(words: &Words<'_>, regressed: Regressed) -> Row {
    let role = match regressed.answer {
        RegressionAnswer::Within => Role::Strong,
        RegressionAnswer::CannotTell => Role::Warning,
        RegressionAnswer::Beyond => Role::Wrong,
    };
    Row::new(
        "regression",
        vec![Item(vec![Span::new(role, words.regression(regressed))])],
    )
}

/// What the reference server did on the same machine, and how much more the first server costs, from slices next to one another.
fn reference(words: &Words<'_>) -> Option<Row> {
    let reference = words.comparison.reference()?;
    let block = words.answers.deciding()?.block;
    let figures = words.answers.figures.iter();
    let figures = figures.filter(|figure| figure.block.is_none() || figure.block == block);
    let shown = figures.filter_map(|figure| {
        let value = figure.values[reference]?;
        let first = figure.against_reference.as_ref();
        let first = first.filter(|_| figure.figure == Deciding::CpuPerRequest);
        let ratio = first.and_then(|first| first.ratio);
        let times = ratio.map_or(String::new(), |ratio| {
            let name = table::shortened(words.name(0), table::LINE_NAME_MOST);
            format!(" ({name}: {} times as much)", words::range(&ratio))
        });
        let value = words::value(figure.figure, value);
        Some(format!(
            "{} {value}{times}",
            words::figure_name(figure.figure)
        ))
    });
    let shown: Vec<String> = shown.collect();
    let text = format!("{}: {}", words.name(reference), shown.join(", "));
    (!shown.is_empty()).then(|| Row::new("reference", vec![Item::plain(text)]))
}

/// `GOOD  7 fresh starts, 60 s; can detect 1.1 %`, then what speaks against it.
fn reliability(words: &Words<'_>, detail: Detail) -> Vec<Row> {
    let reliability = &words.answers.reliability;
    let grade = match reliability.grade {
        Grade::Note => Item::strong("GOOD"),
        Grade::Caveat => Item(vec![Span::new(Role::Warning, "LIMITED")]),
        Grade::Invalid => Item::wrong("INVALID"),
    };
    let mut rows = vec![Row::new(
        "reliability",
        vec![grade, Item::plain(extent(words))],
    )];
    let all = reliability.doubts.len();
    let most = match detail {
        Detail::Quiet => 1,
        Detail::Brief if all > DOUBTS_MOST => DOUBTS_MOST - 1,
        Detail::Brief | Detail::Full => all,
    };
    rows.extend(reliability.doubts.iter().take(most).map(|doubt| {
        let role = if doubt.grade == Grade::Invalid {
            Role::Wrong
        } else {
            Role::Warning
        };
        let item = Item(vec![Span::new(role, "* ")]).and(Role::Plain, words.doubt(&doubt.reason));
        Row::new("", vec![item])
    }));
    let rest = all.saturating_sub(most) as u64;
    let rest = (rest > 0).then(|| Item::dim(format!("{} with -v", number(rest, "other caveat"))));
    rows.extend(rest.map(|rest| Row::new("", vec![rest])));
    rows
}

/// How much was measured, and what that can detect.
fn extent(words: &Words<'_>) -> String {
    let comparison = words.comparison;
    let ranked = comparison.ranked();
    let is_started = |server: &usize| comparison.plan.servers[*server].plan.server.is_some();
    let starts = comparison.starts.len() as u64;
    let starts = match (comparison.is_of_records(), ranked.iter().all(is_started)) {
        (true, _) => words.units_of_records(),
        (_, true) => number(starts, "fresh start"),
        (_, false) => format!("{} of the generator", number(starts, "start")),
    };
    let mut extent = starts;
    // Older records do not say how long they took.
    if comparison.elapsed > Nanos::ZERO || !comparison.is_of_records() {
        extent.push_str(&format!(", {}", words::seconds(comparison.elapsed)));
    }
    if let Some(share) = words.answers.detectable() {
        extent.push_str(&format!("; can detect {}", words::at_most(share)));
    }
    extent
}
