//! A comparison: every ratio with its interval, a row each, and the values of each start over the starts.

use super::reading::{Line, Reading, series};
use super::{Axis, Chart, MOST_LINES, Mark, Panel, Scale, Series, Shape, Stroke, source};
use crate::page::comparison::words::{self, Words};
use crate::phrase::clean;
use figures::Unit;
use plan::Load;
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
    let starts = number(comparison.starts.len() as u64, "start");
    let confidence = words::confidence(answers.confidence);
    let ratios = ratios(&words);
    let over_starts = answers
        .figures
        .iter()
        .filter(|figure| is_beside(&answers, figure));
    let over_starts = over_starts.map(|figure| over_starts_of(&words, figure));
    Chart {
        title: title(&words),
        subtitle: format!("{starts} of the servers, {confidence} intervals over the starts"),
        panels: ratios.into_iter().chain(over_starts).collect(),
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
        let place =
            figure
                .block
                .filter(|_| blocks.len() > 1)
                .map(|block| match blocks[block].load {
                    Load::Closed { connections } => format!(", c = {connections}"),
                    Load::Open { rate, .. } => format!(", {}/s", units::rate(rate.as_f64())),
                });
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
    let reading = |server: usize, (at, value): (usize, &Option<f64>)| {
        value.map(|value| Reading {
            x: at as f64 + 1.0,
            y: value,
            between: None,
            mark: if figure.void[server] {
                Mark::Invalid
            } else {
                Mark::Sound
            },
        })
    };
    let servers = figure.by_start.iter().enumerate();
    let lines = servers.take(MOST_LINES).map(|(server, starts)| Line {
        name: Some(name(words, server)),
        number: server,
        stroke: Stroke::Solid,
        readings: starts
            .iter()
            .enumerate()
            .map(|start| reading(server, start))
            .collect(),
    });
    let rest = figure.by_start.len().saturating_sub(MOST_LINES) as u64;
    let place = words
        .place_of(figure)
        .map_or(String::new(), |place| format!(" at {place}"));
    let title = format!(
        "{}{place}, over the starts",
        words::figure_name(figure.figure)
    );
    Panel {
        title,
        x: Axis {
            title: "start".into(),
            unit: Unit::Count,
            ..Axis::default()
        },
        y: Axis {
            title: words::figure_name(figure.figure).into(),
            unit: words::unit(figure.figure),
            ..Axis::default()
        },
        series: series(&lines.collect::<Vec<Line>>()),
        notes: (rest > 0)
            .then(|| format!("{} not drawn", number(rest, "more server")))
            .into_iter()
            .collect(),
    }
}
