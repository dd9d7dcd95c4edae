//! The kinds of picture that a chart can be drawn as, by the endings of their names.
//!
//! The letters of a PNG are those of DejaVu Sans, which comes with the program: where it runs there may be no fonts. An SVG
//! leaves them to the program that shows it; only how wide they are is taken from the same font.

use super::Chart;
use super::draw::{FINE, draw, size};
use plotters::prelude::{BitMapBackend, DrawingBackend, IntoDrawingArea, SVGBackend};
use plotters::style::{FontStyle, register_font};
use std::fmt::Display;
use thiserror::Error;

/// A kind of picture.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// What its files end in, without the dot.
    pub ending: &'static str,
    /// Draws.
    pub render: fn(&Chart) -> Result<Vec<u8>, Undrawn>,
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    Kind {
        ending: "svg",
        render: svg,
    },
    Kind {
        ending: "png",
        render: png,
    },
];

/// Why there is no picture.
#[derive(Debug, Error)]
#[error("the chart could not be drawn: {0}")]
pub struct Undrawn(String);

impl Undrawn {
    fn because(error: impl Display) -> Undrawn {
        Undrawn(error.to_string())
    }
}

/// Returns the kind whose files end so, whatever the case.
pub fn kind(ending: &str) -> Option<&'static Kind> {
    let mut kinds = KINDS.iter();
    kinds.find(|kind| kind.ending.eq_ignore_ascii_case(ending))
}

/// How large `chart` is, with its letters made known to plotters, which keeps them for the whole process.
fn measured(chart: &Chart) -> Result<(u32, u32), Undrawn> {
    let known = register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular());
    known.map_err(|_| Undrawn::because("its font is broken"))?;
    Ok(size(chart))
}

/// Draws `chart` on a surface that is as large as [`size`] says.
fn drawn(chart: &Chart, on: impl DrawingBackend) -> Result<(), Undrawn> {
    let area = on.into_drawing_area();
    draw(&area, chart).map_err(Undrawn::because)?;
    area.present().map_err(Undrawn::because)
}

fn svg(chart: &Chart) -> Result<Vec<u8>, Undrawn> {
    let (wide, high) = measured(chart)?;
    let mut text = String::new();
    drawn(chart, SVGBackend::with_string(&mut text, (wide, high)))?;
    let fine = |wide: u32, high: u32| format!("width=\"{wide}\" height=\"{high}\"");
    let pixels = fine(wide / FINE as u32, high / FINE as u32);
    Ok(text.replacen(&fine(wide, high), &pixels, 1).into_bytes())
}

fn png(chart: &Chart) -> Result<Vec<u8>, Undrawn> {
    let (wide, high) = measured(chart)?;
    let mut pixels = vec![0; wide as usize * high as usize * 3];
    drawn(chart, BitMapBackend::with_buffer(&mut pixels, (wide, high)))?;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, wide, high);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(Undrawn::because)?;
    writer.write_image_data(&pixels).map_err(Undrawn::because)?;
    writer.finish().map_err(Undrawn::because)?;
    Ok(file)
}
