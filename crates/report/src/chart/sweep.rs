//! The curves of a sweep: requests/s, latency, and what the server cost, over what was swept.

use super::reading::{Line, Reading, series};
use super::{Axis, MOST_LINES, Mark, Panel, Scale, Series, Shape, Stroke, Unit};
use crate::page::curve::has_void_rate;
use crate::phrase::{number, rate};
use plan::Load;
use record::{
    Cost, Effect, Figure, Finding, Latency, PerRequest, Point, PssBytes, Round, Run, effect_on,
};

/// How far above the highest point the line of what was demanded is followed.
const DEMANDED_OVER: f64 = 1.1;
/// Places along that line, enough to look like a curve where one axis is logarithmic.
const DEMANDED_STEPS: usize = 48;

/// What is drawn of each point.
struct Kind {
    title: &'static str,
    unit: Unit,
    scale: Scale,
    /// The lines for each group of points, with what sets their names apart.
    lines: &'static [(&'static str, Stroke, Read)],
}

/// A figure, the least and the most of the rounds, and what it is worth.
type Value = (f64, Option<(f64, f64)>, Mark);

/// How a figure is read from a point, with what is to be held against it.
type Read = fn(&Point, &[&Finding]) -> Option<Value>;

/// The panels, from top to bottom.
const KINDS: &[Kind] = &[
    Kind {
        title: "requests/s",
        unit: Unit::Number,
        scale: Scale::Linear,
        lines: &[("mean", Stroke::Solid, throughput)],
    },
    Kind {
        title: "latency",
        unit: Unit::Micros,
        scale: Scale::Log,
        lines: &[
            ("p50", Stroke::Dashed, |point, findings| {
                latency(point, findings, "p50")
            }),
            ("p99", Stroke::Solid, |point, findings| {
                latency(point, findings, "p99")
            }),
        ],
    },
    Kind {
        title: "server CPU per request",
        unit: Unit::Micros,
        scale: Scale::Linear,
        lines: &[("mean", Stroke::Solid, |point, _| per_request(point))],
    },
    Kind {
        title: "CPUs that the server used",
        unit: Unit::Number,
        scale: Scale::Linear,
        lines: &[("median of the rounds", Stroke::Solid, |point, _| {
            cpus(point)
        })],
    },
    Kind {
        title: "server memory (PSS)",
        unit: Unit::Bytes,
        scale: Scale::Linear,
        lines: &[
            ("at rest", Stroke::Dashed, |point, _| {
                memory(point, |pss| pss.rest)
            }),
            (
                "after a round, its connections still open",
                Stroke::Solid,
                |point, _| memory(point, |pss| pss.after),
            ),
        ],
    },
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
        groups: groups(run, fastest),
    };
    let panels = KINDS.iter().map(|kind| sight.panel(kind));
    panels.filter(|panel| !panel.series.is_empty()).collect()
}

/// A sweep, seen along one of its axes.
struct Sight<'a> {
    run: &'a Run,
    axis: &'a plan::Axis,
    groups: Vec<Group<'a>>,
}

/// The points that differ in the fastest axis only.
struct Group<'a> {
    /// What the others are for them; empty where there are none.
    name: String,
    /// Each with its place among the points.
    points: Vec<(usize, f64, &'a Point)>,
}

fn groups<'a>(run: &'a Run, axis: &plan::Axis) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (place, point) in run.points.iter().enumerate() {
        let Some(x) = axis.value_at(&point.level) else {
            continue;
        };
        let name = run.plan.name_of_slower(&point.level);
        let found = groups.iter_mut().find(|group| group.name == name);
        match found {
            Some(group) => group.points.push((place, x, point)),
            None => groups.push(Group {
                name,
                points: vec![(place, x, point)],
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
            let demanded = self.demanded(&lines);
            series.splice(0..0, demanded);
            series.extend(self.remarkable());
        }
        let rest = self.groups.len().saturating_sub(MOST_LINES) as u64;
        let note = || format!("{} not drawn", number(rest, "more value", "more values"));
        Panel {
            title: kind.title.into(),
            x: self.x(),
            y: Axis {
                title: kind.title.into(),
                unit: kind.unit,
                scale: kind.scale,
                places: Vec::new(),
            },
            series,
            notes: (rest > 0).then(note).into_iter().collect(),
        }
    }

    fn lines(&self, kind: &Kind) -> Vec<Line> {
        let several = self.groups.len() > 1;
        let groups = self.groups.iter().enumerate().take(MOST_LINES);
        let all = groups.flat_map(|(place, group)| {
            let line = move |(nth, (name, stroke, read)): (usize, &(&str, Stroke, Read))| Line {
                name: Some(match several {
                    true if kind.lines.len() > 1 => format!("{name}, {}", group.name),
                    true => group.name.clone(),
                    false => (*name).to_owned(),
                }),
                number: if several { place } else { nth },
                stroke: *stroke,
                readings: self.readings(group, *read),
            };
            kind.lines.iter().enumerate().map(line)
        });
        all.collect()
    }

    fn readings(&self, group: &Group<'_>, read: Read) -> Vec<Option<Reading>> {
        let each = |(place, x, point): &(usize, f64, &Point)| {
            let of_it = |each: &&Finding| each.concerns(*place);
            let findings: Vec<&Finding> = self.run.findings.iter().filter(of_it).collect();
            let (y, between, mark) = read(point, &findings)?;
            Some(Reading {
                x: *x,
                y,
                between,
                mark,
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
                ("demanded connections/s", Unit::Number)
            }
            plan::Axis::Rate(_) => ("demanded requests/s", Unit::Number),
            plan::Axis::Pipeline(_) => ("requests under way on a connection", Unit::Count),
            plan::Axis::Workers(_) => ("workers of the server", Unit::Count),
            plan::Axis::Threads(_) => ("generator threads", Unit::Count),
            plan::Axis::Connections(_) => ("connections", Unit::Count),
        };
        Axis {
            title: title.into(),
            unit,
            scale: suited(&values),
            places: values,
        }
    }

    /// Every value of the axis, in the order of the groups.
    fn places(&self) -> impl Iterator<Item = f64> {
        let points = self.groups.iter().flat_map(|group| &group.points);
        points.map(|(_, x, _)| *x)
    }

    /// What an open loop demands, as far as it is not beyond everything that was reached.
    fn demanded(&self, lines: &[Line]) -> Option<Series> {
        let readings = || lines.iter().flat_map(|line| line.readings.iter().flatten());
        let highest = readings().map(|at| at.y).fold(0.0, f64::max) * DEMANDED_OVER;
        let ends = self.places().fold(None, |ends: Option<(f64, f64)>, x| {
            Some(ends.map_or((x, x), |(low, high)| (low.min(x), high.max(x))))
        });
        let (low, high) = ends?;
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
                let demanded = rate.as_f64() * each;
                vec![Some((low, demanded)), Some((high, demanded))]
            }
            _ => return None,
        };
        Some(Series {
            name: Some("demanded".into()),
            number: None,
            shape: Shape::Line(points, Stroke::Dashed),
        })
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
            let found = drawn.find(|(at, ..)| Some(*at) == place);
            let Some((at, x, point)) = found else { return };
            let Some(summary) = &point.summary else {
                return;
            };
            let level = self.run.plan.name(&point.level);
            let findings = self.run.findings.iter().filter(|each| each.concerns(*at));
            let bound = match effect_on(findings, Figure::Rps) {
                Some(Effect::Void) => return,
                Some(Effect::LowerBound) => "at least ",
                Some(Effect::Caveat) | None => "",
            };
            all.push(Series {
                name: Some(format!(
                    "{name}: {bound}{} requests/s at {level}",
                    rate(summary.rps.mean)
                )),
                number: None,
                shape: Shape::Marks(vec![(*x, summary.rps.mean)], mark),
            });
        };
        match curve.capacity {
            Some(found) => ring(found.holds, Mark::Ring, "held"),
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

/// What a figure is worth by what is held against it.
fn mark(findings: &[&Finding], figure: Figure) -> Mark {
    match effect_on(findings.iter().copied(), figure) {
        Some(Effect::LowerBound) => Mark::AtLeast,
        Some(Effect::Void) => Mark::Invalid,
        Some(Effect::Caveat) => Mark::Qualified,
        None => Mark::Sound,
    }
}

fn throughput(point: &Point, findings: &[&Finding]) -> Option<Value> {
    let rps = &point.summary.as_ref()?.rps;
    Some((rps.mean, rps.min.zip(rps.max), mark(findings, Figure::Rps)))
}

fn latency(point: &Point, findings: &[&Finding], name: &str) -> Option<Value> {
    let latency: &Latency = &point.summary.as_ref()?.latency_us;
    let value = match name {
        "p50" => latency.p50,
        _ => latency.p99,
    }?;
    let mark = match mark(findings, Figure::Latency) {
        Mark::Sound | Mark::Qualified if latency.at_least.iter().any(|known| known == name) => {
            Mark::AtLeast
        }
        mark => mark,
    };
    Some((value, None, mark))
}

/// CPU time for each request.
fn per_request(point: &Point) -> Option<Value> {
    let cost = PerRequest::of(&point.rounds)?;
    let between = cost.cpu_us.min.zip(cost.cpu_us.max);
    Some((cost.cpu_us.mean, between, at_least(cost.lower_bound)))
}

/// CPU time over time: the median of the rounds, as for every share, and their extremes.
fn cpus(point: &Point) -> Option<Value> {
    let value = |round: &Round| {
        let print = round.priced()?;
        let is_long = print.wall >= Round::SHARES_FROM;
        is_long.then(|| print.cpu.as_secs_f64() / print.wall.as_secs_f64())
    };
    let typical = Round::typical(&point.rounds, value)?;
    let complete = point.rounds.iter().filter(|round| !round.partial);
    let values: Vec<f64> = complete.filter_map(value).collect();
    let between = stats::min_max(&values).map(|ends| (ends.min, ends.max));
    let mut prints = point
        .rounds
        .iter()
        .filter_map(|round| round.footprint.as_ref());
    Some((
        typical,
        between,
        at_least(prints.any(|print| print.lower_bound)),
    ))
}

/// Bytes of all its processes.
fn memory(point: &Point, of: impl Fn(&PssBytes) -> Option<u64>) -> Option<Value> {
    let cost = Cost::of(&point.rounds)?;
    Some((of(&cost.pss_bytes)? as f64, None, Mark::Sound))
}

fn at_least(is_lower_bound: bool) -> Mark {
    match is_lower_bound {
        true => Mark::AtLeast,
        false => Mark::Sound,
    }
}
