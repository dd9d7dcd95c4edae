//! The curve of a sweep: a line for each point, and what follows from all of them.

use super::findings::bound_by;
use super::tables::cell;
use super::{Column, Item, Role, Row, Span, Table};
use crate::phrase::rate;
use figures::Figures;
use plan::{Axis, Level, Plan, Requirement};
use record::{
    Capacity, Cause, Curve, Effect, Figure, Finding, Model, Point, Round, Run, Scaling, Shortfall,
    Votes, effect_on,
};
use units::{Nanos, Percentile, number, percent};

/// Width of the longest remark, `generator-bound`,
const REMARK_LEAST: usize = 15;
/// and of one that says why a rate fails, such as `fails: p99 12.3 ms >= 10.0 ms`.
const VERDICT_LEAST: usize = 29;

/// Percentiles that the table of a sweep shows: those that were asked for, else p50 and p99, and those of its objectives.
fn percentiles(plan: &Plan) -> Vec<Percentile> {
    let mut shown = match plan.percentiles == Percentile::DEFAULT {
        true => vec![Percentile::P50, Percentile::P99],
        false => plan.percentiles.clone(),
    };
    let objectives = plan.slo.iter().flat_map(|conditions| &conditions.0);
    shown.extend(objectives.filter_map(|objective| match objective {
        Requirement::Figure(compared) => compared.figure.parse::<Percentile>().ok(),
        Requirement::Reliable => None,
    }));
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// The headings for a run's points.
pub(crate) fn columns(run: &Run) -> Vec<Column> {
    let axes = run.plan.sweep.iter().flat_map(|sweep| &sweep.axes);
    let axes = axes.map(|axis| Column {
        title: axis.name().into(),
        least: match axis {
            Axis::Size(_) => axis.shown().iter().map(String::len).max().unwrap_or(0),
            _ => Column::number("").least,
        },
        ..Column::number("")
    });
    let cells = figures::cells(run, &percentiles(&run.plan)).into_iter();
    let cells = cells.map(|(cell, figure)| Column {
        title: figure.title(cell.title).into(),
        priority: Some(cell.priority),
        least: figure.figure.unit.width(),
        ..Column::number("")
    });
    let remark = Column {
        least: match run.plan.is_search() {
            true => VERDICT_LEAST,
            false => REMARK_LEAST,
        },
        ..Column::text("")
    };
    axes.chain(cells).chain([remark]).collect()
}

/// The cells of the point at `index`, with `findings` about it.
pub(crate) fn cells(run: &Run, index: usize, findings: &[Finding]) -> Vec<Span> {
    let level = &run.points[index].level;
    let axes = run.plan.sweep.iter().flat_map(|sweep| &sweep.axes);
    let mut cells: Vec<Span> = axes
        .map(|axis| Span::new(Role::Plain, value(axis, level)))
        .collect();
    let kinds = figures::cells(run, &percentiles(&run.plan));
    let of = Figures::of(run, index);
    cells.extend(kinds.iter().map(|(kind, figure)| match &of {
        Some(of) => cell(kind.weight, figure, of, findings),
        None => Span::new(Role::Dim, "-"),
    }));
    let remark = of.map_or("nothing was measured".to_owned(), |of| {
        remark(&of, findings)
    });
    cells.push(Span::new(Role::Wrong, remark));
    cells
}

/// The value that an axis has at a level.
fn value(axis: &Axis, level: &Level) -> String {
    match (axis, axis.value_at(level)) {
        (_, None) => "-".to_owned(),
        (Axis::Rate(_), Some(asked)) if level.windows > 1 => format!("{} long", rate(asked)),
        (Axis::Rate(_), Some(asked)) => rate(asked),
        (_, Some(value)) => units::count(value as u64),
    }
}

/// The remark on a point: its verdict in a search, else what limits its figures.
fn remark(of: &Figures<'_>, findings: &[Finding]) -> String {
    let run = of.run;
    let effect = |figure: Figure| effect_on(findings, figure);
    let is_overload = |each: &Finding| each.cause == Cause::Overload;
    let bound = bound_by(findings);
    if let Some(votes) = Votes::of(of.point, &run.plan) {
        return match (votes.held, votes.failed, Shortfall::of(of.point, &run.plan)) {
            (0, 0, _) => "undecided".to_owned(),
            (_, 0, _) => "holds".to_owned(),
            (0, _, _) if bound.is_some() => format!("fails: {}", bound.unwrap_or_default()),
            (0, _, Some(why)) => format!("fails: {}", reason(&why)),
            (held, _, _) => format!("{held} of {} hold", votes.sum()),
        };
    }
    let marks = [Figure::Rps, Figure::Latency, Figure::Counts];
    let has_caveat = |figure: &Figure| effect(*figure) == Some(Effect::Caveat);
    let remark = if findings.iter().any(is_overload) {
        "OVERLOAD"
    } else if let Some(by) = bound {
        by
    } else if of.rounds.len() < run.plan.rounds as usize {
        "unfinished"
    } else if marks.iter().any(has_caveat) {
        "*"
    } else {
        ""
    };
    remark.to_owned()
}

/// Why a rate fails: what was measured, and the bound that it is not under.
fn reason(why: &Shortfall) -> String {
    let beside = |condition: &Requirement, value: String| {
        let condition = condition.spaced();
        let (name, bound) = condition.split_once(" < ").unwrap_or((&condition, ""));
        format!("{name} {value} >= {bound}")
    };
    match why {
        Shortfall::Unsustained { done, needed } => {
            format!("{:.1} % in time < {} %", done * 100.0, needed * 100.0)
        }
        Shortfall::Latency(condition, value) => {
            beside(condition, value.map_or("unknown".to_owned(), units::span))
        }
        Shortfall::Errors(condition, share) => beside(condition, percent(*share)),
    }
}

/// All points of a run.
pub(crate) fn table(run: &Run) -> Table {
    let rows = (0..run.points.len()).map(|index| cells(run, index, &findings_of(run, index)));
    Table {
        columns: columns(run),
        rows: rows.collect(),
        rest: None,
    }
}

/// What all points come to.
pub(crate) fn rows(run: &Run) -> Vec<Row> {
    let Some(curve) = &run.curve else {
        return Vec::new();
    };
    let mut whole = vec![
        Item::plain(number(curve.requests, "request")),
        Item::named("in", Role::Plain, span_of(curve.measured_s)),
    ];
    let over_all = |rps| Item::plain(format!("{} requests/s over all of it", rate(rps)));
    whole.extend(curve.rps.map(over_all));
    if curve.errors > 0 {
        whole.push(Item::wrong(number(curve.errors, "error")));
    }
    let mut rows = vec![Row::new("whole sweep", whole)];
    if let Some(elapsed) = run.elapsed {
        let mut items = vec![Item::plain(units::span(elapsed))];
        items.extend(aside(run, elapsed).map(|(of_windows, of_rounds)| {
            let outside = percent(of_windows);
            let beside = of_rounds.map_or(String::new(), |share| {
                let share = percent(share);
                format!("; {share} outside rounds, which open and close their connections")
            });
            Item::dim(format!(
                "{outside} of it outside warm-up and windows{beside}"
            ))
        }));
        rows.push(Row::new("elapsed", items));
    }
    if let Some(peak) = curve.peak
        && let Some(point) = run.points.get(peak.point)
    {
        let findings = findings_of(run, peak.point);
        let shown = format!("{} requests/s", rate(peak.rps));
        let height = match effect_on(&findings, Figure::Rps) {
            Some(Effect::LowerBound) => Item::wrong(">= ").and(Role::Strong, shown).and(
                Role::Wrong,
                bound_by(&findings).map_or(String::new(), |by| format!(" ({by})")),
            ),
            Some(Effect::Void) => Item::wrong("INVALID"),
            Some(Effect::Caveat) | None => Item::strong(shown),
        };
        let at = Item::named("at", Role::Plain, run.plan.name(&point.level));
        rows.push(Row::new("peak", vec![height, at]));
    }
    rows.extend(memory(run));
    rows.extend(curve.capacity.and_then(|found| capacity(run, &found)));
    if has_void_rate(run) {
        // A shape that rests on figures that are worthless is worth no more.
        let why = "withheld: requests/s is invalid, or only a lower bound, at some of the points";
        rows.push(Row::new("knee", vec![Item::dim(why)]));
        return rows;
    }
    rows.extend(knee(run, curve).filter(|_| !run.plan.is_search()));
    rows.extend(curve.scaling.as_ref().map(scaling));
    rows
}

/// Caveats of one point.
fn findings_of(run: &Run, place: usize) -> Vec<Finding> {
    let of_it = |each: &&Finding| each.concerns(place);
    run.findings.iter().filter(of_it).cloned().collect()
}

/// Returns whether requests/s of any point is void or a lower bound.
pub(crate) fn has_void_rate(run: &Run) -> bool {
    effect_on(&run.findings, Figure::Rps) > Some(Effect::Caveat)
}

/// What the server's memory grows by with each connection.
fn memory(run: &Run) -> Option<Row> {
    let line = record::memory_per_connection(run)?;
    let shown = |bytes: f64| match bytes < 0.0 {
        true => format!("-{}", units::bytes(-bytes as u64)),
        false => units::bytes(bytes as u64),
    };
    let mut items =
        vec![Item::plain(shown(line.slope)).and(Role::Dim, " of the server's own memory")];
    let interval = line
        .slope_interval
        .map(|(low, high)| (shown(low), shown(high)));
    items.extend(interval.map(Item::interval));
    Some(Row::new("per connection", items))
}

/// Shares of the time that a campaign took: what went into neither warm-up nor windows, and what went into no round, such
/// as self-tests, starting the server and writing; none of that where a round does not say how long it took.
fn aside(run: &Run, elapsed: Nanos) -> Option<(f64, Option<f64>)> {
    let rounds: Vec<&Round> = run.points.iter().flat_map(Point::all_rounds).collect();
    let warmup = |round: &Round| round.warmup.unwrap_or(run.plan.warmup);
    let settling = |round: &Round| round.settling.as_ref().map_or(Nanos::ZERO, |it| it.load);
    let loaded = |round: &&Round| round.window.span() + warmup(round) + settling(round);
    let loaded: Nanos = rounds.iter().map(loaded).sum();
    let took: Nanos = rounds
        .iter()
        .map(|round| round.took + settling(round))
        .sum();
    let is_known = rounds.iter().all(|round| round.took > Nanos::ZERO);
    let rest = |part: Nanos| (1.0 - part.as_secs_f64() / elapsed.as_secs_f64()).max(0.0);
    (elapsed > Nanos::ZERO).then(|| (rest(loaded), is_known.then(|| rest(took))))
}

/// What a search has found: a capacity where the answer held in a long window, else the highest rate that held. First the
/// answer, then the interval of the rate at which 90 % of windows hold, then what speaks against a higher one.
fn capacity(run: &Run, found: &Capacity) -> Option<Row> {
    let objective = run.plan.slo.as_ref()?.to_string();
    let point = |place: Option<usize>| place.and_then(|place| run.points.get(place));
    let at = |point: &Point| run.plan.name(&point.level);
    // A rate that the generator could not offer says nothing of the server but that it can do what held.
    let is_ours = |place: usize| {
        let bounds = |each: &Finding| each.effects.on(Figure::Rps) == Some(Effect::LowerBound);
        findings_of(run, place).iter().any(bounds)
    };
    let bound = found.fails.is_some_and(is_ours);
    let mut items = vec![match (point(found.holds), point(found.fails)) {
        (Some(held), _) if bound => Item::wrong(">= ").and(Role::Strong, at(held)),
        (Some(held), _) => Item::strong(at(held)),
        (None, Some(_)) => Item::wrong("no rate met the objective"),
        (None, None) => Item::wrong("not known yet"),
    }];
    items.push(Item::named("objective", Role::Plain, objective));
    items.extend(found.low.zip(found.high).map(|(low, high)| {
        let interval = format!("{} .. {}", rate(low), rate(high));
        Item::named("95 % interval", Role::Plain, interval)
            .and(Role::Dim, " (90 % of windows hold)")
    }));
    items.extend(match point(found.fails) {
        Some(failed) if bound => {
            let beyond = format!("the generator could not offer {}", at(failed));
            Some(Item::wrong(beyond))
        }
        Some(failed) => Some(Item::named("fails at", Role::Plain, at(failed))),
        None if run.interrupted || found.holds.is_none() => None,
        None => Some(Item::dim("no rate failed; search higher with --rate")),
    });
    let lowest = run.plan.levels().first().and_then(rate_of);
    let is_below = |point: &&Point| rate_of(&point.level) < lowest;
    if let Some(below) = run.points.iter().find(is_below) {
        let below = format!(
            "rates from {} on were tried because the first failed",
            at(below)
        );
        items.push(Item::dim(below));
    }
    if run.interrupted {
        items.push(Item::wrong("the search was not finished"));
    }
    let label = if found.is_soaked {
        "capacity"
    } else {
        "highest rate"
    };
    Some(Row::new(label, items))
}

fn rate_of(level: &Level) -> Option<f64> {
    Axis::Rate(Vec::new()).value_at(level)
}

/// Where the curve comes near its peak.
fn knee(run: &Run, curve: &Curve) -> Option<Row> {
    let name = |point: &Point| run.plan.name(&point.level);
    let at = |place: usize| run.points.get(place).map(name);
    let near = curve.near_peak.and_then(at).map(|level| {
        Item::plain(level).and(Role::Dim, " is the smallest load within 5 % of the peak")
    });
    near.map(|item| Row::new("knee", vec![item]))
}

/// The scalability law of workers, with what speaks against it.
fn scaling(scaling: &Scaling) -> Row {
    let between = |name: &str, value: f64, (low, high): (f64, f64)| {
        let shown = format!("{value:.4} ({low:.4} .. {high:.4})");
        Item::named(name, Role::Plain, shown)
    };
    let mut items = vec![
        Item::named("per worker", Role::Plain, rate(scaling.gamma)),
        between("contention", scaling.alpha, scaling.alpha_interval),
        between("coherence", scaling.beta, scaling.beta_interval),
    ];
    items.push(match (scaling.peak_at, scaling.extrapolated) {
        (None, _) => Item::dim("no sign that more workers would reduce throughput"),
        (Some(at), false) => Item::named("max at", Role::Plain, format!("{at:.1}")),
        (Some(at), true) => Item::named("max at", Role::Plain, format!("{at:.1}"))
            .and(Role::Warning, " (extrapolated)"),
    });
    if scaling.best != Model::Universal {
        let other = match scaling.best {
            Model::Amdahl => "Amdahl's law explains it as well",
            _ => "linear growth up to a limit explains it better",
        };
        items.push(Item::dim(other));
    }
    if !scaling.patternless {
        let warning = Span::new(Role::Warning, "the residuals of the fit have a pattern");
        items.push(Item(vec![warning]));
    }
    Row::new("scaling", items)
}

fn span_of(secs: f64) -> String {
    units::span(Nanos::from_nanos((secs * 1e9) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_percentiles_that_were_asked_for_and_those_of_the_objectives() {
        let mut run = record::example::sweep();
        let latency = |run: &Run| -> Vec<String> {
            let titles = columns(run)
                .into_iter()
                .map(|column| column.title.into_owned());
            titles
                .filter(|title| title.starts_with('p') && title[1..].parse::<f64>().is_ok())
                .collect()
        };
        assert_eq!(latency(&run), ["p50", "p99"]);
        run.plan.slo = Some("p90<10ms,p99<1s,errors<1%".parse().unwrap());
        assert_eq!(latency(&run), ["p50", "p90", "p99"]);
        run.plan.percentiles = vec!["75".parse().unwrap(), "99.5".parse().unwrap()];
        assert_eq!(latency(&run), ["p75", "p90", "p99", "p99.5"]);
    }
}
