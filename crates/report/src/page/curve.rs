//! The curve of a sweep: a line for each point, and what follows from all of them.

use super::{Column, Item, Role, Row, Span, Table};
use crate::phrase::{micros, number, rate};
use plan::{Axis, Level, Load, Protocol};
use record::{
    Capacity, Cause, Cost, Curve, Effect, Figure, Finding, KernelCounters, Latency, Model, Point,
    Round, Run, Scaling, Summary, Verdict, effect_on,
};
use units::{Nanos, percent};

/// What a cell is made of.
struct Place<'a> {
    point: &'a Point,
    summary: &'a Summary,
    protocol: &'a Protocol,
    findings: &'a [Finding],
}

impl Place<'_> {
    /// Returns the strongest effect of the findings on `figure`.
    fn effect(&self, figure: Figure) -> Option<Effect> {
        effect_on(self.findings, figure)
    }

    /// Returns whether requests/s is a lower bound.
    fn is_bound(&self) -> bool {
        self.effect(Figure::Rps) == Some(Effect::LowerBound)
    }
}

/// One column of the curve.
struct Kind {
    title: &'static str,
    /// Of which runs it is shown.
    applies: fn(&Run) -> bool,
    cell: fn(&Place<'_>) -> Span,
}

/// Of every run.
const ALWAYS: fn(&Run) -> bool = |_| true;
/// Of those whose load is connections that arrive.
const ARRIVING: fn(&Run) -> bool = |run| run.plan.load.is_of_connections();
/// Of those whose server was observed, as far as is known yet.
const OBSERVED: fn(&Run) -> bool = |run| {
    let observed = run.observed.as_ref();
    observed.is_some_and(|observed| observed.why_not.is_none())
};

/// What is shown of each point, after what differs between them.
const KINDS: &[Kind] = &[
    Kind {
        title: "connections/s",
        applies: ARRIVING,
        cell: |place| {
            let open = place.summary.open.as_ref();
            let visits = open.and_then(|open| open.visits.as_ref());
            let shown = visits.map_or("-".to_owned(), |visits| rate(visits.per_second));
            Span::new(Role::Plain, shown)
        },
    },
    Kind {
        title: "demanded/s",
        applies: ARRIVING,
        cell: |place| {
            let load = &place.point.level.load;
            let demanded = place.summary.rps_demanded(load, place.protocol);
            Span::new(Role::Plain, demanded.map_or("-".to_owned(), rate))
        },
    },
    Kind {
        title: "requests/s",
        applies: ALWAYS,
        cell: |place| {
            let bound = if place.is_bound() { ">= " } else { "" };
            let shown = format!("{bound}{}", rate(place.summary.rps.mean));
            held(place, Figure::Rps, Role::Strong, shown)
        },
    },
    Kind {
        title: "min",
        applies: ALWAYS,
        cell: |place| rounds_rate(place, place.summary.rps.min),
    },
    Kind {
        title: "max",
        applies: ALWAYS,
        cell: |place| rounds_rate(place, place.summary.rps.max),
    },
    Kind {
        title: "p50",
        applies: ALWAYS,
        cell: |place| time(place, "p50", place.summary.latency_us.p50),
    },
    Kind {
        title: "p99",
        applies: ALWAYS,
        cell: |place| time(place, "p99", place.summary.latency_us.p99),
    },
    Kind {
        title: "errors",
        applies: ALWAYS,
        cell: |place| {
            let errors = place.summary.errors.total;
            let role = if errors > 0 { Role::Wrong } else { Role::Dim };
            held(place, Figure::Counts, role, units::count(errors))
        },
    },
    Kind {
        title: "generator",
        applies: ALWAYS,
        cell: |place| share(Round::typical(&place.point.rounds, Round::generator_busy)),
    },
    Kind {
        title: "server",
        applies: OBSERVED,
        cell: |place| share(Round::typical(&place.point.rounds, Round::server_busy)),
    },
    Kind {
        title: "user",
        applies: OBSERVED,
        cell: |place| cost(place, |cost| cost.cpu_user_s.map(span_of)),
    },
    Kind {
        title: "kernel",
        applies: OBSERVED,
        cell: |place| cost(place, |cost| cost.cpu_kernel_s.map(span_of)),
    },
    Kind {
        title: "CPU/request",
        applies: OBSERVED,
        cell: |place| {
            let bound = |cost: &Cost| if cost.lower_bound { ">= " } else { "" };
            cost(place, |cost| {
                let each = cost.cpu_us_per_request?;
                Some(format!("{}{}", bound(cost), micros(each)))
            })
        },
    },
    Kind {
        title: "memory",
        applies: OBSERVED,
        cell: |place| cost(place, |cost| cost.pss_bytes.after.map(units::bytes)),
    },
    Kind {
        title: "TCP memory",
        applies: ALWAYS,
        cell: |place| held_last(place, |kernel| kernel.tcp_memory),
    },
    Kind {
        title: "system memory",
        applies: ALWAYS,
        cell: |place| held_last(place, |kernel| kernel.system_memory),
    },
    Kind {
        title: "time",
        applies: ALWAYS,
        cell: |place| {
            let nanos = (place.summary.duration_s * 1e9) as u64;
            Span::new(Role::Dim, units::span(Nanos::from_nanos(nanos)))
        },
    },
];

/// The most that was held at the end of a round.
fn held_last(place: &Place<'_>, of: fn(&KernelCounters) -> Option<(u64, u64)>) -> Span {
    let rounds = place.point.rounds.iter();
    let last = rounds.filter_map(|round| Some(of(round.kernel.as_ref()?)?.1));
    Span::new(Role::Dim, last.max().map_or("-".to_owned(), units::bytes))
}

/// What is shown of this run's points.
fn kinds(run: &Run) -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(|kind| (kind.applies)(run))
}

/// What the server cost at a point.
fn cost(place: &Place<'_>, of: impl Fn(&Cost) -> Option<String>) -> Span {
    let shown = place.point.footprint.as_ref().and_then(of);
    Span::new(Role::Plain, shown.unwrap_or_else(|| "-".to_owned()))
}

/// The headings for a run's points.
pub(crate) fn columns(run: &Run) -> Vec<Column> {
    let axes = run.plan.sweep.iter().flat_map(|sweep| &sweep.axes);
    let mut titles: Vec<&'static str> = axes.map(Axis::name).collect();
    titles.extend(kinds(run).map(|kind| kind.title));
    let mut columns: Vec<Column> = titles
        .into_iter()
        .map(|title| Column {
            title,
            is_number: true,
        })
        .collect();
    columns.push(Column {
        title: "",
        is_number: false,
    });
    columns
}

/// The cells of one point, of which `findings` are what is to be held against it.
pub(crate) fn cells(run: &Run, point: &Point, findings: &[Finding]) -> Vec<Span> {
    let axes = run.plan.sweep.iter().flat_map(|sweep| &sweep.axes);
    let mut cells: Vec<Span> = axes
        .map(|axis| Span::new(Role::Plain, value(axis, &point.level)))
        .collect();
    match &point.summary {
        Some(summary) => {
            let place = Place {
                point,
                summary,
                protocol: &run.plan.protocol,
                findings,
            };
            cells.extend(kinds(run).map(|kind| (kind.cell)(&place)));
            cells.push(Span::new(Role::Wrong, remark(&place, run)));
        }
        None => {
            cells.extend(kinds(run).map(|_| Span::new(Role::Dim, "-")));
            cells.push(Span::new(Role::Wrong, "nothing was measured"));
        }
    }
    cells
}

/// The value that an axis has at a level.
fn value(axis: &Axis, level: &Level) -> String {
    let shown =
        |value: Option<u32>| value.map_or("-".to_owned(), |value| units::count(value.into()));
    match axis {
        Axis::Connections(_) => units::count(level.load.connections().into()),
        Axis::Rate(_) => match level.load {
            Load::Open { rate: asked, .. } => rate(asked.as_f64()),
            Load::Closed { .. } => "-".to_owned(),
        },
        Axis::Threads(_) => shown(level.threads),
        Axis::Pipeline(_) => shown(level.pipeline),
        Axis::Workers(_) => shown(level.workers),
    }
}

/// What is to be said of a point in a word or two.
fn remark(place: &Place<'_>, run: &Run) -> String {
    let mut words = Vec::new();
    let is_overload = |each: &Finding| each.cause == Cause::Overload;
    if place.findings.iter().any(is_overload) {
        words.push("OVERLOAD");
    }
    if place.is_bound() {
        words.push("generator-bound");
    }
    if run.plan.is_search() {
        words.extend(match Verdict::of(place.point, &run.plan) {
            Some(Verdict::Holds) => Some("holds"),
            Some(Verdict::Fails) => Some("fails"),
            Some(Verdict::Open) => Some("undecided"),
            None => None,
        });
    } else if place.point.rounds.len() < run.plan.rounds as usize {
        words.push("unfinished");
    }
    let marks = [Figure::Rps, Figure::Latency, Figure::Counts];
    if words.is_empty()
        && marks
            .iter()
            .any(|figure| place.effect(*figure) == Some(Effect::Caveat))
    {
        words.push("*");
    }
    words.join(", ")
}

fn share(value: Option<f64>) -> Span {
    Span::new(Role::Plain, value.map_or("-".to_owned(), percent))
}

fn rounds_rate(place: &Place<'_>, value: Option<f64>) -> Span {
    let shown = value.map_or("-".to_owned(), rate);
    held(place, Figure::Rps, Role::Plain, shown)
}

fn time(place: &Place<'_>, name: &str, value: Option<f64>) -> Span {
    let latency: &Latency = &place.summary.latency_us;
    let bound = match latency.at_least.iter().any(|known| known == name) {
        true => ">= ",
        false => "",
    };
    let shown = value.map_or("-".to_owned(), |value| format!("{bound}{}", micros(value)));
    held(place, Figure::Latency, Role::Plain, shown)
}

/// A figure, unless a finding voids it.
fn held(place: &Place<'_>, figure: Figure, role: Role, shown: String) -> Span {
    match place.effect(figure) {
        Some(Effect::Void) => Span::new(Role::Wrong, "INVALID"),
        _ => Span::new(role, shown),
    }
}

/// All points of a run.
pub(crate) fn table(run: &Run) -> Table {
    let rows = run
        .points
        .iter()
        .enumerate()
        .map(|(index, point)| cells(run, point, &findings_of(run, index)));
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
        Item::plain(number(curve.requests, "exchange", "exchanges")),
        Item::named("in", Role::Plain, span_of(curve.measured_s)),
    ];
    whole.extend(
        curve
            .rps
            .map(|rps| Item::plain(format!("{} requests/s over all of it", rate(rps)))),
    );
    if curve.errors > 0 {
        whole.push(Item::wrong(number(curve.errors, "error", "errors")));
    }
    let mut rows = vec![Row::new("whole sweep", whole)];
    if let Some(elapsed) = run.elapsed {
        let mut items = vec![Item::plain(units::span(elapsed))];
        items.extend(aside(run, elapsed).map(|aside| {
            let outside = percent(aside.of_windows);
            let beside = aside.of_rounds.map_or(String::new(), |share| {
                format!(
                    "; {} outside rounds, which open and close their connections",
                    percent(share)
                )
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
            Some(Effect::LowerBound) => Item::wrong(">= ")
                .and(Role::Strong, shown)
                .and(Role::Wrong, " (generator-bound)"),
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
        let why = "withheld: requests/s is invalid at some of the points";
        rows.push(Row::new("knee", vec![Item::dim(why)]));
        return rows;
    }
    rows.extend(knees(run, curve).filter(|_| !run.plan.is_search()));
    rows.extend(curve.scaling.as_ref().map(scaling));
    rows
}

/// What is to be held against one point.
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
    let line = record::memory_per_connection(&run.points)?;
    let shown = |bytes: f64| match bytes < 0.0 {
        true => format!("-{}", units::bytes(-bytes as u64)),
        false => units::bytes(bytes as u64),
    };
    let mut items =
        vec![Item::plain(shown(line.slope)).and(Role::Dim, " of the server's own memory")];
    if let Some((low, high)) = line.slope_interval {
        let ends = format!("{} .. {}", shown(low), shown(high));
        items.push(Item::named("95 % interval", Role::Plain, ends));
    }
    Some(Row::new("per connection", items))
}

/// Shares of the time that a campaign took.
struct Aside {
    /// What went into neither warm-up nor windows.
    of_windows: f64,
    /// What went into no round: self-tests, looks at the server, starting it, writing. None where a round does not say.
    of_rounds: Option<f64>,
}

fn aside(run: &Run, elapsed: Nanos) -> Option<Aside> {
    let twins = run.points.iter().flat_map(|point| &point.twin);
    let rounds: Vec<&Round> = run
        .points
        .iter()
        .flat_map(|point| &point.rounds)
        .chain(twins.flat_map(|twin| &twin.rounds))
        .collect();
    let loaded = |round: &&Round| round.window.span() + run.plan.warmup;
    let loaded: Nanos = rounds.iter().map(loaded).sum();
    let took: Nanos = rounds.iter().map(|round| round.took).sum();
    let is_known = rounds.iter().all(|round| round.took > Nanos::ZERO);
    let rest = |part: Nanos| (1.0 - part.as_secs_f64() / elapsed.as_secs_f64()).max(0.0);
    (elapsed > Nanos::ZERO).then(|| Aside {
        of_windows: rest(loaded),
        of_rounds: is_known.then(|| rest(took)),
    })
}

/// The highest rate at which what was demanded held.
fn capacity(run: &Run, found: &Capacity) -> Option<Row> {
    let demanded = run.plan.slo.as_ref()?.to_string();
    let point = |place: Option<usize>| place.and_then(|place| run.points.get(place));
    let at = |point: &Point| {
        let rounds = number(point.rounds.len() as u64, "round", "rounds");
        format!("{} ({rounds})", run.plan.name(&point.level))
    };
    // A rate that the generator could not offer says nothing of the server but that it can do what held.
    let is_ours = |place: usize| {
        let bounds = |each: &Finding| each.effects.on(Figure::Rps) == Some(Effect::LowerBound);
        findings_of(run, place).iter().any(bounds)
    };
    let bound = found.fails.is_some_and(is_ours);
    let mut items = vec![match (point(found.holds), point(found.fails)) {
        (Some(held), _) if bound => Item::wrong(">= ").and(Role::Strong, at(held)),
        (Some(held), _) => Item::strong(at(held)),
        (None, Some(_)) => Item::wrong("none of the rates held it"),
        (None, None) => Item::wrong("not told yet"),
    }];
    items.push(Item::named("demanded", Role::Plain, demanded));
    items.extend(match point(found.fails) {
        Some(failed) if bound => {
            let beyond = format!("the generator could not offer {}", at(failed));
            Some(Item::wrong(beyond))
        }
        Some(failed) => Some(Item::named("fails at", Role::Plain, at(failed))),
        None if run.interrupted || found.holds.is_none() => None,
        None => Some(Item::dim("no rate failed; search higher with --rate")),
    });
    if run.interrupted {
        items.push(Item::wrong("the search was not finished"));
    }
    Some(Row::new("capacity", items))
}

/// Where the curve bends, by two rules.
fn knees(run: &Run, curve: &Curve) -> Option<Row> {
    let at = |place: usize| {
        run.points
            .get(place)
            .map(|point| run.plan.name(&point.level))
    };
    let near = curve.near_peak.and_then(at).map(|level| {
        Item::plain(level).and(Role::Dim, " is the least load within 5 % of the peak")
    });
    let kneedle = curve.kneedle.and_then(|knee| {
        let moves = match knee.steady {
            true => "",
            false => ", which moves with the range",
        };
        let level = at(knee.point)?;
        Some(
            Item::dim("kneedle ")
                .and(Role::Plain, level)
                .and(Role::Dim, moves),
        )
    });
    let items: Vec<Item> = near.into_iter().chain(kneedle).collect();
    (!items.is_empty()).then(|| Row::new("knee", items))
}

/// The law of workers, with what speaks against it.
fn scaling(scaling: &Scaling) -> Row {
    let between = |name: &str, value: f64, (low, high): (f64, f64)| {
        let shown = format!("{value:.4} ({low:.4} .. {high:.4})");
        Item::named(name, Role::Plain, shown)
    };
    let mut items = vec![
        Item::named("one brings", Role::Plain, rate(scaling.gamma)),
        between("contention", scaling.alpha, scaling.alpha_interval),
        between("coherence", scaling.beta, scaling.beta_interval),
    ];
    items.push(match (scaling.peak_at, scaling.extrapolated) {
        (None, _) => Item::dim("nothing shows that more would bring less"),
        (Some(at), false) => Item::named("most at", Role::Plain, format!("{at:.1}")),
        (Some(at), true) => Item::named("most at", Role::Plain, format!("{at:.1}"))
            .and(Role::Warning, " (extrapolated)"),
    });
    if scaling.best != Model::Universal {
        let other = match scaling.best {
            Model::Amdahl => "Amdahl's law explains it as well",
            _ => "straight growth up to a ceiling explains it better",
        };
        items.push(Item::dim(other));
    }
    if !scaling.patternless {
        let warning = Span::new(Role::Warning, "what the law leaves over has a pattern");
        items.push(Item(vec![warning]));
    }
    Row::new("scaling", items)
}

fn span_of(secs: f64) -> String {
    units::span(Nanos::from_nanos((secs * 1e9) as u64))
}
