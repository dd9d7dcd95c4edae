//! The table of errors and the table of rounds.

use super::findings::{is_bound, is_void};
use super::{Column, Role, Span, Table};
use crate::phrase::{micros, number, rate};
use record::{Blame, FaultCount, Figure, Latency, Point, Round, Run, Step, Summary};
use std::borrow::Cow;
use units::percent;

/// The most kinds of errors that are listed.
const ERRORS_MOST: usize = 20;
/// The most rounds that are listed.
const ROUNDS_MOST: usize = 20;

const fn text(title: &'static str) -> Column {
    Column {
        title: Cow::Borrowed(title),
        is_number: false,
    }
}

const fn numbers(title: &'static str) -> Column {
    Column {
        title: Cow::Borrowed(title),
        is_number: true,
    }
}

/// What went wrong, the most frequent first; none where nothing did.
pub(super) fn errors(run: &Run, point: &Point) -> Option<Table> {
    if is_void(run, Figure::Counts) {
        return None;
    }
    let faults = Summary::tally(&point.rounds).faults.sorted();
    if faults.is_empty() {
        return None;
    }
    let rest = faults.len().saturating_sub(ERRORS_MOST) as u64;
    Some(Table {
        columns: vec![
            numbers("errors"),
            text("kind"),
            text("step"),
            text("blame"),
            text(""),
        ],
        rows: faults.iter().take(ERRORS_MOST).map(error).collect(),
        rest: (rest > 0).then(|| number(rest, "kind more", "kinds more")),
    })
}

fn error(each: &FaultCount) -> Vec<Span> {
    let fault = each.fault;
    vec![
        Span::new(Role::Wrong, units::count(each.count)),
        Span::new(Role::Plain, fault.kind.name()),
        Span::new(Role::Plain, step(fault.step)),
        Span::new(Role::Plain, blame(fault.blame)),
        Span::new(Role::Dim, fault.kind.sentence()),
    ]
}

fn step(step: Step) -> &'static str {
    match step {
        Step::Queue => "queue",
        Step::Connect => "connect",
        Step::Send => "send",
        Step::Head => "head",
        Step::Body => "body",
        Step::Verdict => "verdict",
    }
}

fn blame(blame: Blame) -> &'static str {
    match blame {
        Blame::Server => "server",
        Blame::Network => "network",
        Blame::Generator => "generator",
    }
}

/// The rounds beside one another; none where there is only one.
pub(super) fn rounds(run: &Run, point: &Point) -> Option<Table> {
    if point.rounds.len() < 2 {
        return None;
    }
    let rest = point.rounds.len().saturating_sub(ROUNDS_MOST) as u64;
    let mut table = Table {
        columns: ROUND_COLUMNS.to_vec(),
        rows: point
            .rounds
            .iter()
            .take(ROUNDS_MOST)
            .map(|each| round(run, each))
            .collect(),
        rest: (rest > 0).then(|| {
            format!(
                "{}; csv has them all",
                number(rest, "round more", "rounds more")
            )
        }),
    };
    if point.rounds.iter().all(|round| round.footprint.is_none()) {
        let server = ROUND_COLUMNS.len() - 2;
        table.columns.remove(server);
        table
            .rows
            .iter_mut()
            .for_each(|cells| drop(cells.remove(server)));
    }
    Some(table)
}

/// The server's column is the last but one.
const ROUND_COLUMNS: [Column; 9] = [
    numbers("round"),
    numbers("requests/s"),
    numbers("p50"),
    numbers("p99"),
    numbers("max"),
    numbers("errors"),
    numbers("generator"),
    numbers("server"),
    text(""),
];

fn round(run: &Run, round: &Round) -> Vec<Span> {
    let latency = Latency::of(&round.tally);
    let share = |bound: &str, value: Option<f64>| {
        let shown = value.map_or("-".to_owned(), |value| format!("{bound}{}", percent(value)));
        Span::new(Role::Plain, shown)
    };
    let errors = round.tally.errors();
    let shade = if errors > 0 { Role::Wrong } else { Role::Dim };
    let least = if is_bound(run) { ">= " } else { "" };
    vec![
        Span::new(Role::Dim, units::count(u64::from(round.index) + 1)),
        unless_void(
            run,
            Figure::Rps,
            Role::Plain,
            format!("{least}{}", rate(round.rps())),
        ),
        time(run, &latency, "p50", latency.p50),
        time(run, &latency, "p99", latency.p99),
        time(run, &latency, "max", latency.max),
        unless_void(run, Figure::Counts, shade, units::count(errors)),
        share("", round.generator_busy()),
        share(missing(round), round.server_busy()),
        Span::new(Role::Wrong, if round.partial { "cut short" } else { "" }),
    ]
}

/// What goes before the server's share where some of its CPU time may be missing.
fn missing(round: &Round) -> &'static str {
    match &round.footprint {
        Some(footprint) if footprint.lower_bound => ">= ",
        _ => "",
    }
}

fn time(run: &Run, latency: &Latency, name: &str, value: Option<f64>) -> Span {
    let bound = if latency.at_least.iter().any(|known| known == name) {
        ">= "
    } else {
        ""
    };
    let shown = value.map_or("-".to_owned(), |value| format!("{bound}{}", micros(value)));
    unless_void(run, Figure::Latency, Role::Plain, shown)
}

fn unless_void(run: &Run, figure: Figure, role: Role, shown: String) -> Span {
    if is_void(run, figure) {
        Span::new(Role::Wrong, "INVALID")
    } else {
        Span::new(role, shown)
    }
}
