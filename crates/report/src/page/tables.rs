//! The table of errors and the table of rounds.

use super::findings::is_void;
use super::{Column, Role, Span, Table};
use crate::phrase::clean;
use figures::{Figures, Selected, Weight};
use record::{Effect, FaultCount, Figure, Finding};
use std::cmp::Ordering;
use std::fmt;
use units::{counted, number};

/// The most kinds of errors that are listed.
const ERRORS_MOST: usize = 20;
/// The most rounds that are listed.
const ROUNDS_MOST: usize = 20;

/// What went wrong, the most frequent first; none where nothing did.
pub(super) fn errors(of: &Figures<'_>) -> Option<Table> {
    if is_void(of.run, Figure::Counts) {
        return None;
    }
    let faults = of.tally().faults.sorted();
    if faults.is_empty() {
        return None;
    }
    let rest = faults.len().saturating_sub(ERRORS_MOST) as u64;
    Some(Table {
        columns: [Column::number("errors")]
            .into_iter()
            .chain(["kind", "step", "blame", ""].map(Column::text))
            .collect(),
        rows: faults.iter().take(ERRORS_MOST).map(error).collect(),
        rest: (rest > 0).then(|| counted(rest, "kind more", "kinds more")),
    })
}

fn error(each: &FaultCount) -> Vec<Span> {
    let fault = each.fault;
    vec![
        Span::new(Role::Wrong, units::count(each.count)),
        Span::new(Role::Plain, fault.kind.name()),
        Span::new(Role::Plain, name(fault.step)),
        Span::new(Role::Plain, name(fault.blame)),
        Span::new(Role::Dim, fault.kind.sentence()),
    ]
}

/// The name of a step or a cause: its only word, as records write it.
fn name(variant: impl fmt::Debug) -> String {
    format!("{variant:?}").to_lowercase()
}

/// Figures of the table of requests, with the weight of their values.
const REQUEST_COLUMNS: [(&str, &str, Weight); 4] = [
    ("requests", "requests", Weight::Plain),
    ("errors", "errors.total", Weight::Alarm),
    ("p50", "latency_us.p50", Weight::Plain),
    ("p99", "latency_us.p99", Weight::Plain),
];
/// The longest request that is shown whole.
const LONGEST_REQUEST: usize = 40;
/// The requests that are shown of a list longer than `most`.
const WORST: usize = 5;

/// Each request of a list by itself; where there are more than `most`, the ones with the highest share of errors, then the
/// highest p99. None where a run sends only one.
pub(super) fn requests(of: &Figures<'_>, most: usize) -> Option<Table> {
    let shown = REQUEST_COLUMNS.map(|(_, name, weight)| (select(name), weight));
    let mut each: Vec<Figures<'_>> = of.each_request().collect();
    let all = each.len();
    if all > most {
        let badness = |one: &Figures<'_>| {
            let number = |name| select(name).number(one).unwrap_or(0.0);
            (number("errors.share"), number("latency_us.p99"))
        };
        each.sort_by(|one, other| {
            let order = badness(other).partial_cmp(&badness(one));
            order.unwrap_or(Ordering::Equal)
        });
        each.truncate(WORST);
    }
    let row = |one: &Figures<'_>| {
        let name = clean(one.request.unwrap_or_default(), LONGEST_REQUEST);
        let figures = shown.iter();
        let figures = figures.map(|(figure, weight)| cell(*weight, figure, one, of.findings()));
        std::iter::once(Span::new(Role::Plain, name))
            .chain(figures)
            .collect()
    };
    let rest = (all - each.len()) as u64;
    let requested = of.tally().requested.as_ref();
    let unsent = requested.map_or(0, |requested| requested.unsent);
    let (better, never) = (
        number(rest, "request"),
        counted(unsent, "error was", "errors were"),
    );
    let notes = [
        (rest > 0).then(|| format!("{better} with fewer errors or a lower p99: -v")),
        (unsent > 0).then(|| format!("{never} never sent, and so of no request")),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let titles = REQUEST_COLUMNS.map(|(title, ..)| Column::number(title));
    (all > 0).then(|| Table {
        columns: std::iter::once(Column::text("request"))
            .chain(titles)
            .collect(),
        rows: each.iter().map(row).collect(),
        rest: (!notes.is_empty()).then(|| notes.join("; ")),
    })
}

/// Figures of the table of rounds, likewise.
const ROUND_COLUMNS: [(&str, &str, Weight); 7] = [
    ("requests/s", "rps.mean", Weight::Plain),
    ("p50", "latency_us.p50", Weight::Plain),
    ("p99", "latency_us.p99", Weight::Plain),
    ("max", "latency_us.max", Weight::Plain),
    ("errors", "errors.total", Weight::Alarm),
    ("generator", "generator.busy", Weight::Plain),
    ("server", "server.busy", Weight::Plain),
];

/// The rounds beside one another; none where there is only one.
pub(super) fn rounds(of: &Figures<'_>) -> Option<Table> {
    if of.rounds.len() < 2 {
        return None;
    }
    let shown: Vec<(&str, Selected, Weight)> = ROUND_COLUMNS
        .into_iter()
        .filter(|(_, name, _)| *name != "server.busy" || of.cost.is_some())
        .map(|(title, name, weight)| (title, select(name), weight))
        .collect();
    let rows = of.each_round().take(of.rounds.len().min(ROUNDS_MOST));
    let row = |round: Figures<'_>| {
        let cut = ["", "partial"][usize::from(round.rounds[0].partial)];
        let number = select("round").shown(&round).unwrap_or_default();
        let figures = shown.iter();
        let figures =
            figures.map(|(_, figure, weight)| cell(*weight, figure, &round, of.findings()));
        let mut cells = vec![Span::new(Role::Dim, number)];
        cells.extend(figures);
        cells.push(Span::new(Role::Wrong, cut));
        cells
    };
    let titles = shown.iter().map(|(title, ..)| Column {
        priority: Some(0), // the last go first
        ..Column::number(title)
    });
    let rest = of.rounds.len().saturating_sub(ROUNDS_MOST) as u64;
    let columns = [Column::number("round")].into_iter().chain(titles);
    let more = counted(rest, "round more", "rounds more");
    Some(Table {
        columns: columns.chain([Column::text("")]).collect(),
        rows: rows.map(row).collect(),
        rest: (rest > 0).then(|| format!("{more}; csv has them all")),
    })
}

/// The figure of this name, which the table of figures has.
pub(crate) fn select(name: &str) -> Selected {
    figures::find(name).expect("the table of figures has it")
}

/// A figure, unless a finding voids it.
pub(super) fn cell<'f>(
    weight: Weight,
    figure: &Selected,
    of: &Figures<'_>,
    findings: impl IntoIterator<Item = &'f Finding>,
) -> Span {
    let effect = figure.effect(findings);
    if effect == Some(Effect::Void) {
        return Span::new(Role::Wrong, "INVALID");
    }
    let mut shown = figure.shown(of).unwrap_or_else(|| "-".to_owned());
    if effect == Some(Effect::LowerBound) && figure.figure.repeats {
        shown = format!(">= {shown}");
    }
    let role = match weight {
        Weight::Strong => Role::Strong,
        Weight::Plain => Role::Plain,
        Weight::Alarm if figure.number(of) > Some(0.0) => Role::Wrong,
        Weight::Dim | Weight::Alarm => Role::Dim,
    };
    Span::new(role, shown)
}
