//! Figures of points as places on a panel: what is sound, what has a caveat, and what is void.

use super::{Mark, Series, Shape, Stroke};

/// A figure of one point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    /// The value of the axis.
    pub x: f64,
    /// The figure.
    pub y: f64,
    /// The least and the most of the rounds.
    pub between: Option<(f64, f64)>,
    /// What it is worth.
    pub mark: Mark,
}

/// The marks of figures, with what the legend says of them.
const MARKS: [(Mark, Option<&str>); 4] = [
    (Mark::Sound, None),
    (Mark::Caveat, Some("with a caveat (see `weigh report -v`)")),
    (Mark::AtLeast, Some("at least: a lower bound")),
    (Mark::Invalid, Some("INVALID: not to be believed")),
];

/// Readings in the order of their places, none where a point has no such figure.
pub(super) struct Line {
    /// Its name in the legend.
    pub name: Option<String>,
    /// Its colour and form.
    pub number: usize,
    /// How it is drawn.
    pub stroke: Stroke,
    /// What is on it.
    pub readings: Vec<Option<Reading>>,
}

/// What `lines` look like: bands below, lines over them, marks on top. What is invalid is marked and no line leads there.
pub(super) fn series(lines: &[Line]) -> Vec<Series> {
    let mut all = Vec::new();
    let mut meaning = Some("min to max of the rounds".to_owned());
    for line in lines {
        let band: Vec<_> = standing(line)
            .map(|reading| reading.and_then(|at| at.between.map(|(low, high)| (at.x, low, high))))
            .collect();
        if band.iter().flatten().any(|(_, low, high)| low < high) {
            all.push(Series {
                name: meaning.take(),
                number: Some(line.number),
                shape: Shape::Band(band),
            });
        }
    }
    for line in lines
        .iter()
        .filter(|line| line.readings.iter().flatten().next().is_some())
    {
        let points = standing(line).map(|reading| reading.map(|at| (at.x, at.y)));
        all.push(Series {
            name: line.name.clone(),
            number: Some(line.number),
            shape: Shape::Line(points.collect(), line.stroke),
        });
    }
    for (mark, meaning) in MARKS {
        let mut meaning = meaning.map(str::to_owned);
        for line in lines {
            let marked = line.readings.iter().flatten().filter(|at| at.mark == mark);
            let points: Vec<_> = marked.map(|at| (at.x, at.y)).collect();
            if !points.is_empty() {
                all.push(Series {
                    name: meaning.take(),
                    number: Some(line.number),
                    shape: Shape::Marks(points, mark),
                });
            }
        }
    }
    all
}

/// The readings that are worth anything.
fn standing(line: &Line) -> impl Iterator<Item = Option<Reading>> {
    let stands = |reading: &Option<Reading>| reading.filter(|at| at.mark != Mark::Invalid);
    line.readings.iter().map(stands)
}
