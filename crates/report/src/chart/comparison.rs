//! A comparison: every ratio with its interval, a row each, and the values of each server over connections and starts.

use super::reading::{Line, Reading, series};
use super::{Axis, Chart, MOST_LINES, Mark, Panel, Scale, Series, Shape, Stroke, source};
use crate::page::comparison::table::short;
use crate::page::comparison::words::{self, Words};
use crate::phrase::clean;
use figures::Unit;
use plan::Deciding;
use record::{Answers, Comparison, FigureAnswers, Rating, Said, Versus};
use std::collections::BTreeSet;
use units::number;

/// The most rows of ratios; more would be as high as a poster.
const MOST_ROWS: usize = 40;
/// How far below its interval a row has the ratios of single starts.
const BELOW: f64 = 0.28;
/// The longest name of a server that is shown whole.
const LONGEST: usize = 24;

/// Returns what is to be drawn of `comparison`: its ratios to the first server, and below them the values of the figures over the
/// starts. It has no panel where nothing was measured.
pub fn compared(comparison: &Comparison) -> Chart {
    let answers = Answers::of(comparison);
    let words = Words::of(comparison, &answers);
    let unit = comparison.unit();
    let starts = match comparison.is_of_records() {
        true => format!("{} of two separate runs", words.units_of_records()),
        false => format!(
            "{} of the servers",
            number(comparison.starts.len() as u64, unit)
        ),
    };
    let confidence = words::confidence(answers.confidence);
    let ratios = ratios(&words);
    let over_starts = answers
        .figures
        .iter()
        .filter(|figure| !comparison.is_of_records() && is_beside(&answers, figure));
    let over_starts = over_starts.map(|figure| over_starts_of(&words, figure));
    Chart {
        title: title(&words),
        subtitle: format!("{starts}, {confidence} intervals over the {unit}s"),
        panels: ratios
            .into_iter()
            .chain(over_connections(&words))
            .chain(over_starts)
            .collect(),
        source: source(
            &comparison.machine,
            &comparison.weigh,
            comparison.started_unix,
        ),
    }
}

/// The answer; of several servers what was compared.
fn title(words: &Words<'_>) -> String {
    let mut headlines = words.headlines();
    if let (1, Some((only, _))) = (headlines.len(), headlines.pop()) {
        return only;
    }
    let figure = words
        .answers
        .deciding()
        .map_or("", |figure| words::figure_name(figure.figure));
    let servers = words.comparison.ranked();
    let names: Vec<String> = servers
        .iter()
        .skip(1)
        .map(|server| name(words, *server))
        .collect();
    format!(
        "{figure} of {} against {}",
        names.join(", "),
        name(words, 0)
    )
}

/// Whether a figure is of the block that decides.
fn is_beside(answers: &Answers, figure: &FigureAnswers) -> bool {
    answers
        .deciding()
        .is_some_and(|deciding| deciding.block == figure.block)
}

fn name(words: &Words<'_>, server: usize) -> String {
    clean(words.name(server), LONGEST)
}

/// The rows from top to bottom, and their names.
fn rows<'a>(words: &Words<'a>) -> Vec<(String, &'a Versus)> {
    let blocks = &words.comparison.plan.blocks;
    let rows = words.answers.figures.iter().flat_map(|figure| {
        let block = figure.block.filter(|_| blocks.len() > 1);
        let place = block.map(|block| format!(", {}", short(&blocks[block])));
        let title = format!(
            "{}{}",
            words::figure_name(figure.figure),
            place.unwrap_or_default()
        );
        figure
            .against_first
            .iter()
            .map(move |versus| (title.clone(), versus))
    });
    let is_drawn = |versus: &Versus| versus.ratio.is_some() && versus.said != Said::Void;
    rows.filter(|(_, versus)| is_drawn(versus)).collect()
}

/// The panel of all ratios; none where there is none.
fn ratios(words: &Words<'_>) -> Option<Panel> {
    let mut rows = rows(words);
    let rest = rows.len().saturating_sub(MOST_ROWS) as u64;
    rows.truncate(MOST_ROWS);
    rows.reverse(); // the lowest first
    if rows.is_empty() {
        return None;
    }
    let is_pair = words.comparison.ranked().len() == 2;
    let labels = rows.iter().map(|(title, versus)| match is_pair {
        true => title.clone(),
        false => format!("{title}: {}", name(words, versus.server)),
    });
    let rest = (rest > 0).then(|| format!("{} not drawn", number(rest, "more ratio")));
    Some(Panel {
        title: format!("ratio to {}", name(words, 0)),
        x: Axis {
            title: "ratio".into(),
            scale: Scale::Log,
            ..Axis::default()
        },
        y: Axis {
            names: labels.collect(),
            ..Axis::default()
        },
        series: series_of(
            words,
            &rows.iter().map(|(_, versus)| *versus).collect::<Vec<_>>(),
        ),
        notes: rest.into_iter().collect(),
    })
}

/// What is drawn of `rows`, the lowest first: a line at equality, the ratios of single starts, the intervals, their middles.
fn series_of(words: &Words<'_>, rows: &[&Versus]) -> Vec<Series> {
    let of = |server: usize| {
        let rows = (0..).map(f64::from).zip(rows);
        rows.filter(move |(_, versus)| versus.server == server)
    };
    let drawn: BTreeSet<usize> = rows.iter().map(|versus| versus.server).collect();
    let servers = || drawn.iter().copied();
    let equality = [-0.5, rows.len() as f64 - 0.5].map(|end| Some((1.0, end)));
    let mut all = vec![Series {
        name: None,
        number: None,
        shape: Shape::Line(equality.to_vec(), Stroke::Dashed),
    }];
    let mut single = Some("single starts".to_owned());
    for server in servers() {
        let points = of(server).flat_map(|(row, versus)| {
            let ratios = versus.log_ratios.iter().flatten();
            ratios.map(move |log| (log.exp(), row - BELOW))
        });
        all.extend(marks(server, points.collect(), Mark::Single, &mut single));
    }
    for server in servers() {
        let lines = of(server).filter_map(|(row, versus)| {
            let ratio = versus.ratio?;
            Some([Some((ratio.low, row)), Some((ratio.high, row)), None])
        });
        all.push(Series {
            name: Some(format!("{} / {}", name(words, server), name(words, 0))),
            number: Some(server),
            shape: Shape::Line(lines.flatten().collect(), Stroke::Solid),
        });
    }
    let hollow = Some("no difference shown".to_owned());
    for (mark, is_shown, mut meaning) in [(Mark::Sound, true, None), (Mark::Caveat, false, hollow)]
    {
        for server in servers() {
            let points =
                of(server).filter(|(_, versus)| (versus.rating != Rating::NoneShown) == is_shown);
            let points = points.filter_map(|(row, versus)| Some((versus.ratio?.centre, row)));
            all.extend(marks(server, points.collect(), mark, &mut meaning));
        }
    }
    all
}

/// Marks of one server; the first that there are take their meaning along into the legend.
fn marks(
    server: usize,
    points: Vec<(f64, f64)>,
    mark: Mark,
    meaning: &mut Option<String>,
) -> Option<Series> {
    (!points.is_empty()).then(|| Series {
        name: meaning.take(),
        number: Some(server),
        shape: Shape::Marks(points, mark),
    })
}

/// The values of one figure over the starts, a line for each server.
fn over_starts_of(words: &Words<'_>, figure: &FigureAnswers) -> Panel {
    let readings = |server: usize| {
        let starts = (1..).map(f64::from).zip(&figure.by_start[server]);
        starts
            .map(|(start, value)| reading(start, *value, figure.void[server]))
            .collect()
    };
    let place = words
        .place_of(figure)
        .map_or(String::new(), |place| format!(" at {place}"));
    let start = Axis {
        title: "start".into(),
        unit: Unit::Count,
        ..Axis::default()
    };
    let name = words::figure_name(figure.figure);
    let title = format!("{name}{place}, over the starts");
    overlay(words, title, start, figure.figure, readings)
}

/// The values of each figure over the connections of the closed loops, a line for each server; none of a comparison at one number
/// of connections.
fn over_connections<'a>(words: &'a Words<'_>) -> impl Iterator<Item = Panel> + 'a {
    let figures = &words.answers.figures;
    let connections = |figure: &FigureAnswers| {
        let block = &words.comparison.plan.blocks[figure.block?];
        block.is_short().then(|| block.load.connections())
    };
    let panel = move |wanted: Deciding| {
        let mut at: Vec<(f64, &FigureAnswers)> = figures
            .iter()
            .filter(|figure| figure.figure == wanted)
            .filter_map(|figure| Some((f64::from(connections(figure)?), figure)))
            .collect();
        at.sort_by(|one, other| one.0.total_cmp(&other.0));
        let places: Vec<f64> = at.iter().map(|(connections, _)| *connections).collect();
        let is_rising = places.windows(2).all(|pair| pair[0] < pair[1]);
        (places.len() > 1 && is_rising).then(|| {
            let axis = Axis {
                title: "connections".into(),
                unit: Unit::Count,
                scale: Scale::Log,
                places,
                ..Axis::default()
            };
            let readings = |server: usize| {
                at.iter()
                    .map(|(x, figure)| reading(*x, figure.values[server], figure.void[server]))
                    .collect()
            };
            let title = format!("{}, over connections", words::figure_name(wanted));
            overlay(words, title, axis, wanted, readings)
        })
    };
    let drawn = [Deciding::CpuPerRequest, Deciding::P50, Deciding::Throughput];
    drawn.into_iter().filter_map(panel)
}

/// What is drawn of one value; none of one that is not known, where the line is broken.
fn reading(x: f64, value: Option<f64>, is_void: bool) -> Option<Reading> {
    Some(Reading {
        x,
        y: value?,
        between: None,
        mark: [Mark::Sound, Mark::Invalid][usize::from(is_void)],
    })
}

/// A figure of all servers over the same `x`, a line for each. Not of the reference server: it may be so far away that the others
/// would lie on each other.
fn overlay(
    words: &Words<'_>,
    title: String,
    x: Axis,
    figure: Deciding,
    readings: impl Fn(usize) -> Vec<Option<Reading>>,
) -> Panel {
    let servers = words.comparison.plan.servers.iter().enumerate();
    let servers: Vec<usize> = servers
        .filter(|(_, server)| !server.reference)
        .map(|(place, _)| place)
        .collect();
    let rest = servers.len().saturating_sub(MOST_LINES) as u64;
    let lines = servers.into_iter().take(MOST_LINES).map(|server| Line {
        name: Some(name(words, server)),
        number: server,
        stroke: Stroke::Solid,
        readings: readings(server),
    });
    Panel {
        title,
        x,
        y: Axis {
            title: words::figure_name(figure).into(),
            unit: words::unit(figure),
            ..Axis::default()
        },
        series: series(&lines.collect::<Vec<Line>>()),
        notes: (rest > 0)
            .then(|| format!("{} not drawn", number(rest, "more server")))
            .into_iter()
            .collect(),
    }
}
