//! A run without a sweep: how many exchanges ended in each part of its rounds.

use super::reading::{Line, Reading, series};
use super::{Axis, MOST_LINES, Mark, Panel, Scale, Shape, Stroke};

use figures::Unit;
use record::{Round, Run};
use units::number;

/// A last bin shorter than this share of the others says too little.
const LAST_BIN: f64 = 0.5;

/// The most bins of a round that are each marked; more would hide the line.
const MARKED: usize = 100;

/// The panel of all rounds; none where nothing was counted over time.
pub(super) fn panel(run: &Run) -> Option<Panel> {
    let rounds: Vec<&Round> = run.points.iter().flat_map(|point| &point.rounds).collect();
    let line = |(number, round): (usize, &&Round)| Line {
        name: Some(format!("round {}", round.index + 1)),
        number,
        stroke: Stroke::Solid,
        readings: readings(round),
    };
    let drawn = rounds.iter().enumerate().take(MOST_LINES);
    let lines: Vec<Line> = drawn.map(line).collect();
    if lines.iter().all(|line| line.readings.is_empty()) {
        return None;
    }
    let rest = rounds.len().saturating_sub(MOST_LINES) as u64;
    let note = || format!("{} not drawn", number(rest, "round"));
    let mut series = series(&lines);
    if lines.iter().any(|line| line.readings.len() > MARKED) {
        series.retain(|series| !matches!(series.shape, Shape::Marks(..)));
    }
    Some(Panel {
        title: "requests/s over the window of each round".into(),
        x: Axis {
            title: "since the window opened".into(),
            unit: Unit::Seconds,
            scale: Scale::Linear,
            places: Vec::new(),
            ..Axis::default()
        },
        y: Axis {
            title: "requests/s".into(),
            unit: Unit::PerSecond,
            scale: Scale::Linear,
            places: Vec::new(),
            ..Axis::default()
        },
        series,
        notes: (rest > 0).then(note).into_iter().collect(),
    })
}

/// Ok endings a second in the middle of each bin; the last is as long as the window leaves it.
fn readings(round: &Round) -> Vec<Option<Reading>> {
    let series = &round.tally.series;
    let (width, window) = (
        series.interval.as_secs_f64(),
        round.window.span().as_secs_f64(),
    );
    let bins = (window / width).ceil() as usize;
    let counts = series.ok.iter().copied().chain(std::iter::repeat(0));
    let bin = |(bin, count): (usize, u64)| {
        let from = bin as f64 * width;
        let long = width.min(window - from);
        (long >= LAST_BIN * width).then(|| Reading {
            x: from + long / 2.0,
            y: count as f64 / long,
            between: None,
            mark: Mark::Sound,
        })
    };
    let most = record::Series::MOST_BINS;
    counts.take(bins.min(most)).enumerate().map(bin).collect()
}
