//! From where to where an axis goes, and what is written along it.

use super::{Axis, Scale};
use figures::Unit;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;
use units::Nanos;

/// About so many values are written along an axis.
const TICKS: f64 = 7.0;
/// Fewer are not enough to read a logarithmic axis by.
const TICKS_MIN: usize = 3;
/// What spans a smaller factor has room by that factor only.
const NARROW: f64 = 1.5;
/// The most places of a sweep that are each written along a logarithmic axis.
const PLACES: usize = 12;
/// Room beyond the outermost values, as a share of what lies between them.
const ROOM: f64 = 0.04;

/// An axis with its ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Extent {
    scale: Scale,
    unit: Unit,
    low: f64,
    high: f64,
    /// What is written along it, ascending.
    ticks: Vec<f64>,
    /// The names of rows, where it is an axis of rows.
    names: Vec<String>,
}

/// The steps of one, two and five in each power of ten.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

impl Extent {
    /// To the right: room on both sides of `values`, and from 0 where that is not far.
    pub fn across(axis: &Axis, values: &[f64]) -> Extent {
        let values = [values, &axis.places].concat();
        let (least, most) = ends(axis.scale, &values);
        match axis.scale {
            Scale::Linear => {
                let low = if least <= 0.4 * most { 0.0 } else { least };
                let room = (most - low) * ROOM;
                let start = if low == 0.0 { 0.0 } else { low - room };
                Extent::linear(axis.unit, start, most + room)
            }
            Scale::Log => {
                let span = most / least;
                let room = match span > 1.0 && span < NARROW {
                    true => span.powf(ROOM),
                    false => span.powf(ROOM).max(1.05),
                };
                let mut extent = Extent::log(axis.unit, least / room, most * room);
                if extent.ticks.len() < TICKS_MIN {
                    // So short that it is nearly linear.
                    extent.ticks = even_ticks(axis.unit, extent.low, extent.high);
                }
                if (1..=PLACES).contains(&axis.places.len()) {
                    extent.ticks = axis.places.clone();
                }
                extent
            }
        }
    }

    /// Upwards: from 0, or on a logarithmic axis from a round value below to one above.
    pub fn upwards(axis: &Axis, values: &[f64]) -> Extent {
        if !axis.names.is_empty() {
            return Extent::rows(&axis.names);
        }
        let (least, most) = ends(axis.scale, values);
        match axis.scale {
            Scale::Linear => Extent::linear(axis.unit, 0.0, most * (1.0 + 2.0 * ROOM)),
            Scale::Log => Extent::log(axis.unit, round_below(least), round_above(most * 1.02)),
        }
    }

    fn linear(unit: Unit, low: f64, high: f64) -> Extent {
        let high = if high > low { high } else { low + 1.0 };
        let ticks = even_ticks(unit, low, high);
        let scale = Scale::Linear;
        Extent {
            scale,
            unit,
            low,
            high,
            ticks,
            names: Vec::new(),
        }
    }

    /// Rows with half a row of room at either end.
    fn rows(names: &[String]) -> Extent {
        Extent {
            scale: Scale::Linear,
            unit: Unit::Text,
            low: -0.5,
            high: names.len() as f64 - 0.5,
            ticks: (0..names.len()).map(|row| row as f64).collect(),
            names: names.to_vec(),
        }
    }

    fn log(unit: Unit, low: f64, high: f64) -> Extent {
        let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
        let fine = high / low < 1e3;
        let steps: &[f64] = if fine { &STEPS } else { &STEPS[..1] };
        let all = decades.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        // A hair of room, since the ends are computed too.
        let ends = low * 0.999..=high * 1.001;
        let ticks = all.filter(|tick| ends.contains(tick)).collect();
        let scale = Scale::Log;
        Extent {
            scale,
            unit,
            low,
            high,
            ticks,
            names: Vec::new(),
        }
    }

    fn share(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }
}

/// Round values at even distances between two ends.
fn even_ticks(unit: Unit, low: f64, high: f64) -> Vec<f64> {
    let step = step(unit, (high - low) / TICKS);
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    (first..=last).map(|at| at as f64 * step).collect()
}

/// The least and the most of what has a place on such an axis; 1 and 1 of nothing.
fn ends(scale: Scale, values: &[f64]) -> (f64, f64) {
    let has_place = |value: &&f64| value.is_finite() && (scale == Scale::Linear || **value > 0.0);
    let placed = values.iter().filter(has_place);
    stats::min_max(&placed.copied().collect::<Vec<f64>>()).unwrap_or((1.0, 1.0))
}

/// A round distance between values that is not under `least`.
fn step(unit: Unit, least: f64) -> f64 {
    match unit {
        Unit::Bytes => least.max(1.0).log2().ceil().exp2(),
        Unit::Count => round_above(least).max(1.0),
        _ => round_above(least),
    }
}

fn decade(value: f64) -> f64 {
    10f64.powi(value.log10().floor() as i32)
}

fn round_above(value: f64) -> f64 {
    let decade = decade(value);
    let mut steps = STEPS.iter().map(|step| step * decade);
    let found = steps.find(|step| *step >= value * 0.999_999);
    found.unwrap_or(10.0 * decade)
}

fn round_below(value: f64) -> f64 {
    let decade = decade(value);
    let mut steps = STEPS.iter().rev().map(|step| step * decade);
    let found = steps.find(|step| *step <= value * 1.000_001);
    found.unwrap_or(decade)
}

impl Ranged for Extent {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let span = f64::from(limit.1 - limit.0);
        limit.0 + (self.share(*value).clamp(0.0, 1.0) * span).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Extent {
    fn format_ext(&self, value: &f64) -> String {
        match self.names.get(value.round() as usize) {
            Some(name) => name.clone(),
            None => written(self.unit, *value),
        }
    }
}

/// A value as it is written along an axis: no more digits than it has.
fn written(unit: Unit, value: f64) -> String {
    let nanos = |value: f64| units::exact(Nanos::from_nanos(value.round() as u64));
    match unit {
        _ if value == 0.0 => "0".to_owned(),
        Unit::Count => units::count(value.round() as u64),
        Unit::PerSecond | Unit::Share | Unit::Plain | Unit::Text if value < 100.0 => {
            ((value * 1e6).round() / 1e6).to_string()
        }
        Unit::PerSecond | Unit::Share | Unit::Plain | Unit::Text => {
            units::count(value.round() as u64)
        }
        Unit::Micros => nanos(value * 1e3),
        Unit::Seconds => nanos(value * 1e9),
        Unit::Bytes => {
            let shown = units::bytes(value.round() as u64);
            let (number, unit) = shown.split_once(' ').unwrap_or((&shown, ""));
            let is_whole = !number.contains('.');
            let short = number.trim_end_matches('0').trim_end_matches('.');
            format!("{} {unit}", if is_whole { number } else { short })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(unit: Unit, scale: Scale, places: &[f64]) -> Axis {
        Axis {
            title: String::new(),
            unit,
            scale,
            places: places.to_vec(),
            ..Axis::default()
        }
    }

    fn labels(extent: &Extent) -> Vec<String> {
        let ticks = extent.ticks.iter();
        ticks.map(|tick| extent.format_ext(tick)).collect()
    }

    #[test]
    fn what_is_written_along_an_axis_is_round_and_has_its_unit() {
        use Scale::{Linear, Log};
        use Unit::{Bytes, Count, Micros, Plain};
        let cases: &[(Unit, Scale, &[f64], &[&str])] = &[
            (
                Plain,
                Linear,
                &[812.0, 24_000.0],
                &["0", "5,000", "10,000", "15,000", "20,000", "25,000"],
            ),
            (
                Plain,
                Linear,
                &[0.31],
                &["0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3"],
            ),
            (Count, Linear, &[1.0, 2.0], &["0", "1", "2"]),
            (
                Micros,
                Log,
                &[180.0, 1_900.0],
                &["100 us", "200 us", "500 us", "1 ms", "2 ms"],
            ),
            (
                Micros,
                Log,
                &[9.0, 90_000.0],
                &["10 us", "100 us", "1 ms", "10 ms", "0.1 s"],
            ),
            (
                Bytes,
                Linear,
                &[3_000_000.0],
                &[
                    "0", "512 KiB", "1 MiB", "1.5 MiB", "2 MiB", "2.5 MiB", "3 MiB",
                ],
            ),
        ];
        for (unit, scale, values, wanted) in cases {
            let extent = Extent::upwards(&axis(*unit, *scale, &[]), values);
            assert_eq!(labels(&extent), *wanted, "{unit:?} {scale:?} {values:?}");
        }
    }

    #[test]
    fn every_value_lies_between_the_ends_and_in_its_order() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [&[1.0, 10.0, 1000.0][..], &[7.0], &[19_000.0, 21_000.0]] {
                let extent = Extent::across(&axis(Unit::Count, scale, values), &[]);
                let places: Vec<i32> = values.iter().map(|at| extent.map(at, (0, 1000))).collect();
                assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
                assert!(
                    places.iter().all(|at| (0..=1000).contains(at)),
                    "{places:?}"
                );
            }
        }
    }

    #[test]
    fn the_places_of_a_short_logarithmic_axis_are_each_written() {
        let axis = axis(Unit::Count, Scale::Log, &[1.0, 3.0, 9.0, 27.0]);
        assert_eq!(labels(&Extent::across(&axis, &[])), ["1", "3", "9", "27"]);
    }

    #[test]
    fn of_nothing_and_of_what_is_no_number_there_is_still_an_axis() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [&[][..], &[f64::NAN], &[0.0], &[f64::INFINITY, -1.0]] {
                let extent = Extent::upwards(&axis(Unit::Plain, scale, &[]), values);
                assert!(
                    extent.high > extent.low && extent.ticks.len() < 20,
                    "{extent:?}"
                );
            }
        }
    }
}
