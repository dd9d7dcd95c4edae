//! The curves of a sweep: requests/s, latency, and what the server cost, over what was swept.

use super::reading::{Line, Reading, series};
use super::{Axis, MOST_LINES, Mark, Panel, Scale, Series, Shape, Stroke};
use crate::page::curve::has_void_rate;
use crate::page::tables::select;
use crate::phrase::rate;
use figures::{Figures, Selected, Unit};
use plan::Load;
use record::{Effect, Figure, Run, effect_on};
use units::number;

/// How far above the highest point the line of the offered load is followed.
const DEMANDED_OVER: f64 = 1.1;
/// Places along that line, enough to look like a curve where one axis is logarithmic.
const DEMANDED_STEPS: usize = 48;

/// A panel, and the figures that it draws, which have one unit.
struct Kind {
    title: &'static str,
    scale: Scale,
    /// The lines for each group of points.
    lines: &'static [Drawn],
}

/// A figure as a line: what sets it apart from the panel's other lines, the figure, how it is drawn, and whether a band
/// shows the rounds' min and max.
struct Drawn(&'static str, &'static str, Stroke, bool);

/// The panels, from top to bottom.
#[rustfmt::skip]
const KINDS: &[Kind] = &[
    Kind { title: "requests/s", scale: Scale::Linear, lines: &[
        Drawn("mean", "rps.mean", Stroke::Solid, true),
    ] },
    Kind { title: "latency", scale: Scale::Log, lines: &[
        Drawn("p50", "latency_us.p50", Stroke::Dashed, false),
        Drawn("p99", "latency_us.p99", Stroke::Solid, false),
    ] },
    Kind { title: "server CPU per request", scale: Scale::Linear, lines: &[
        Drawn("mean", "cpu_us_per_request", Stroke::Solid, true),
    ] },
    Kind { title: "CPUs that the server used", scale: Scale::Linear, lines: &[
        Drawn("median of the rounds", "server.cpus", Stroke::Solid, true),
    ] },
    Kind { title: "server memory (PSS)", scale: Scale::Linear, lines: &[
        Drawn("at rest", "pss_bytes.rest", Stroke::Dashed, false),
        Drawn("after a round, its connections still open", "pss_bytes.after", Stroke::Solid, false),
    ] },
];

/// The panels of a sweep; none of a run that is none.
pub(super) fn panels(run: &Run) -> Vec<Panel> {
    let axes = run
        .plan
        .sweep
        .as_ref()
        .map_or(&[][..], |sweep| &sweep.axes[..]);
    let Some((fastest, _)) = axes.split_last() else {
        return Vec::new();
    };
    let sight = Sight {
        run,
        axis: fastest,
        figures: (0..run.points.len())
            .map(|place| Figures::of(run, place))
            .collect(),
        groups: groups(run, fastest),
    };
    let panels = KINDS.iter().map(|kind| sight.panel(kind));
    panels.filter(|panel| !panel.series.is_empty()).collect()
}

/// A sweep, seen along one of its axes.
struct Sight<'a> {
    run: &'a Run,
    axis: &'a plan::Axis,
    /// Of each point.
    figures: Vec<Option<Figures<'a>>>,
    groups: Vec<Group>,
}

/// The points that differ in the fastest axis only.
struct Group {
    /// What the others are for them; empty where there are none.
    name: String,
    /// The place of each among all points, and its value of the axis.
    points: Vec<(usize, f64)>,
}

fn groups(run: &Run, axis: &plan::Axis) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (place, point) in run.points.iter().enumerate() {
        let Some(x) = axis.value_at(&point.level) else {
            continue;
        };
        let name = run.plan.name_of_slower(&point.level);
        let found = groups.iter_mut().find(|group| group.name == name);
        match found {
            Some(group) => group.points.push((place, x)),
            None => groups.push(Group {
                name,
                points: vec![(place, x)],
            }),
        }
    }
    for group in &mut groups {
        group.points.sort_by(|a, b| a.1.total_cmp(&b.1));
    }
    groups
}

impl Sight<'_> {
    fn panel(&self, kind: &Kind) -> Panel {
        let lines: Vec<Line> = self.lines(kind);
        let mut series = series(&lines);
        if kind.title == KINDS[0].title && !series.is_empty() {
            let offered = self.offered(&lines);
            series.splice(0..0, offered);
            series.extend(self.remarkable());
        }
        if kind.title == KINDS[1].title && !series.is_empty() {
            series.extend(self.objectives());
        }
        let rest = self.groups.len().saturating_sub(MOST_LINES) as u64;
        let note = || format!("{} not drawn", number(rest, "more value"));
        Panel {
            title: kind.title.into(),
            x: self.x(),
            y: Axis {
                title: kind.title.into(),
                unit: select(kind.lines[0].1).figure.unit,
                scale: kind.scale,
                places: Vec::new(),
                ..Axis::default()
            },
            series,
            notes: (rest > 0).then(note).into_iter().collect(),
        }
    }

    fn lines(&self, kind: &Kind) -> Vec<Line> {
        let several = self.groups.len() > 1;
        let groups = self.groups.iter().enumerate().take(MOST_LINES);
        let all = groups.flat_map(|(place, group)| {
            let line = move |(nth, drawn): (usize, &Drawn)| Line {
                name: Some(match several {
                    true if kind.lines.len() > 1 => format!("{}, {}", drawn.0, group.name),
                    true => group.name.clone(),
                    false => drawn.0.to_owned(),
                }),
                number: if several { place } else { nth },
                stroke: drawn.2,
                readings: self.readings(group, drawn),
            };
            kind.lines.iter().enumerate().map(line)
        });
        all.collect()
    }

    fn readings(&self, group: &Group, drawn: &Drawn) -> Vec<Option<Reading>> {
        let figure = select(drawn.1);
        let each = |(place, x): &(usize, f64)| {
            let of = self.figures[*place].as_ref()?;
            Some(Reading {
                x: *x,
                y: figure.number(of)?,
                between: drawn.3.then(|| figure.extremes(of)).flatten(),
                mark: mark(of, &figure),
            })
        };
        group.points.iter().map(each).collect()
    }

    fn x(&self) -> Axis {
        let mut values: Vec<f64> = self.places().collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (title, unit) = match self.axis {
            plan::Axis::Rate(_) if self.run.plan.load.is_of_connections() => {
                ("offered connections/s", Unit::PerSecond)
            }
            plan::Axis::Rate(_) => ("offered requests/s", Unit::PerSecond),
            plan::Axis::Pipeline(_) => ("requests under way on a connection", Unit::Count),
            plan::Axis::Workers(_) => ("workers of the server", Unit::Count),
            plan::Axis::Threads(_) => ("generator threads", Unit::Count),
            plan::Axis::Connections(_) => ("connections", Unit::Count),
            plan::Axis::Size(_) => ("size of responses", Unit::Bytes),
        };
        Axis {
            title: title.into(),
            unit,
            scale: suited(&values),
            places: values,
            ..Axis::default()
        }
    }

    /// Every value of the axis, in the order of the groups.
    fn places(&self) -> impl Iterator<Item = f64> {
        let points = self.groups.iter().flat_map(|group| &group.points);
        points.map(|(_, x)| *x)
    }

    /// What an open loop demands, as far as it is not beyond everything that was reached.
    fn offered(&self, lines: &[Line]) -> Option<Series> {
        let readings = || lines.iter().flat_map(|line| line.readings.iter().flatten());
        let highest = readings().map(|at| at.y).fold(0.0, f64::max) * DEMANDED_OVER;
        let (low, high) = stats::min_max(&self.places().collect::<Vec<f64>>())?;
        let load = self.run.plan.load;
        let each = load.exchanges_per_arrival(&self.run.plan.protocol) as f64;
        let points = match (self.axis, load) {
            (plan::Axis::Rate(_), _) => {
                let high = high.min((highest / each).max(low));
                let step = |step: usize| low + (high - low) * step as f64 / DEMANDED_STEPS as f64;
                let steps = (0..=DEMANDED_STEPS).map(step);
                steps.map(|x| Some((x, x * each))).collect()
            }
            (_, Load::Open { rate, .. }) => {
                let offered = rate.as_f64() * each;
                vec![Some((low, offered)), Some((high, offered))]
            }
            _ => return None,
        };
        Some(Series {
            name: Some("offered load".into()),
            number: None,
            shape: Shape::Line(points, Stroke::Dashed),
        })
    }

    /// The bounds of latency that a search holds rates against.
    fn objectives(&self) -> Vec<Series> {
        let Some((low, high)) = stats::min_max(&self.places().collect::<Vec<f64>>()) else {
            return Vec::new();
        };
        let conditions = self
            .run
            .plan
            .slo
            .iter()
            .flat_map(|conditions| &conditions.0);
        let bounds = conditions.filter_map(|condition| {
            let (_, bound) = condition.latency_below()?;
            let micros = bound.as_secs_f64() * 1e6;
            Some(Series {
                name: Some(format!("objective {}", condition.spaced())),
                number: None,
                shape: Shape::Line(
                    vec![Some((low, micros)), Some((high, micros))],
                    Stroke::Dashed,
                ),
            })
        });
        bounds.collect()
    }

    /// The peak, the knee, and what a search has found.
    fn remarkable(&self) -> Vec<Series> {
        let Some(curve) = &self.run.curve else {
            return Vec::new();
        };
        let mut all = Vec::new();
        let mut ring = |place: Option<usize>, mark: Mark, name: &str| {
            let drawn = self.groups.iter().take(MOST_LINES);
            let mut drawn = drawn.flat_map(|group| &group.points);
            let Some((at, x)) = drawn.find(|(at, _)| Some(*at) == place) else {
                return;
            };
            let Some(of) = &self.figures[*at] else {
                return;
            };
            let level = self.run.plan.name(&of.point.level);
            let bound = match effect_on(of.findings(), Figure::Rps) {
                Some(Effect::Void) => return,
                Some(Effect::LowerBound) => "at least ",
                Some(Effect::Caveat) | None => "",
            };
            all.push(Series {
                name: Some(format!(
                    "{name}: {bound}{} requests/s at {level}",
                    rate(of.summary.rps.mean)
                )),
                number: None,
                shape: Shape::Marks(vec![(*x, of.summary.rps.mean)], mark),
            });
        };
        match curve.capacity {
            Some(found) => {
                let name = if found.is_soaked {
                    "capacity"
                } else {
                    "highest rate that held"
                };
                ring(found.holds, Mark::Ring, name);
            }
            None => {
                ring(curve.peak.map(|peak| peak.point), Mark::Ring, "peak");
                // The least load near a peak that is not known is not known either.
                let knee = curve.near_peak.filter(|_| !has_void_rate(self.run));
                ring(knee, Mark::WideRing, "knee, within 5 % of the peak");
            }
        }
        all
    }
}

/// The scale on which `values`, ascending and each once, lie more evenly.
fn suited(values: &[f64]) -> Scale {
    let unevenness = |distance: fn(f64, f64) -> f64| {
        let gaps = values.windows(2).map(|pair| distance(pair[0], pair[1]));
        let (least, most) = gaps.fold((f64::INFINITY, 0.0f64), |(least, most), gap| {
            (least.min(gap), most.max(gap))
        });
        most / least
    };
    let positive = values.first().is_some_and(|first| *first > 0.0);
    match positive && unevenness(|a, b| (b / a).ln()) < unevenness(|a, b| b - a) {
        true => Scale::Log,
        false => Scale::Linear,
    }
}

/// What a figure is worth by the findings about its point, and by itself.
fn mark(of: &Figures<'_>, figure: &Selected) -> Mark {
    match figure.effect(of.findings()) {
        Some(Effect::Void) => Mark::Invalid,
        Some(Effect::LowerBound) => Mark::AtLeast,
        _ if figure.is_at_least(of) => Mark::AtLeast,
        Some(Effect::Caveat) => Mark::Caveat,
        None => Mark::Sound,
    }
}
