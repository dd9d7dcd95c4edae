//! How a chart becomes lines, areas and letters on any of plotters' surfaces.
//!
//! Everything is laid out in [`FINE`] units to a pixel, because plotters' places are whole numbers and curves of whole
//! pixels have steps. Colours differ in brightness and every line has its own form of mark, so that a chart can be read by
//! those who see fewer colours, and in grey.

use super::extent::Extent;
use super::{Chart, Mark, Panel, Series, Shape, Stroke};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::prelude::{
    Cartesian2d, Circle, Color, DrawingArea, DrawingAreaErrorKind, DrawingBackend, IntoFont,
    PathElement, Polygon, RGBColor, ShapeStyle, TextStyle, WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Units to a pixel.
pub(super) const FINE: i32 = 2;
/// How wide a chart is, in pixels: as wide as a README shows one without shrinking it.
const WIDE: i32 = 900;
/// Around everything.
const MARGIN: i32 = 16;
/// The title, the subtitle and the room below them.
const HEAD: i32 = 74;
/// The source.
const FOOT: i32 = 24;
/// A panel's diagram with what is written along its axes.
const DIAGRAM: i32 = 320;
/// A row of a panel that has rows instead of values upwards.
const ROW: i32 = 26;
/// Above a diagram.
const ABOVE: i32 = 10;
/// A panel's title, and the room above it.
const PANEL_HEAD: i32 = 38;
/// A line of a legend.
const LEGEND_LINE: i32 = 21;
/// What is written along the y axis.
const LEFT: i32 = 84;
/// What is written along the x axis, with its title.
const BELOW: i32 = 42;
/// A line's or mark's sample in a legend, with the room after it.
const SAMPLE: i32 = 30;
/// Between two names of a legend.
const GAP: i32 = 18;

/// Font sizes.
const LARGE: i32 = 19;
const MIDDLE: i32 = 16;
const SMALL: i32 = 14;

const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const FAINT: RGBColor = RGBColor(0x66, 0x66, 0x66);
const GRID: RGBColor = RGBColor(0xe4, 0xe4, 0xe4);
/// Okabe and Ito's colours for those who see fewer ("Color Universal Design", 2008), without their yellow, which white
/// swallows, and the two brightest darkened for the same reason.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xa8, 0x4a, 0x85),
    RGBColor(0x22, 0x22, 0x22),
    RGBColor(0x3f, 0x9f, 0xd8),
    RGBColor(0xb8, 0x86, 0x00),
    RGBColor(0x77, 0x77, 0x77),
];

type Area<B> = DrawingArea<B, Shift>;
type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;
type Place = (i32, i32);

/// A panel and the lines of its legend.
struct Block<'a> {
    panel: &'a Panel,
    legend: Vec<Vec<&'a Series>>,
}

impl Block<'_> {
    fn height(&self) -> i32 {
        let notes = self.panel.notes.len() as i32;
        PANEL_HEAD + (self.legend.len() as i32 + notes) * LEGEND_LINE + diagram_height(self.panel)
    }
}

/// How high a diagram is, with what is written along its axes.
fn diagram_height(panel: &Panel) -> i32 {
    match panel.y.names.len() {
        0 => DIAGRAM,
        rows => ABOVE + rows as i32 * ROW + BELOW,
    }
}

/// The room at the left of a diagram: that of the longest name of a row, up to half of the whole.
fn left(panel: &Panel) -> i32 {
    let names = panel.y.names.iter().map(|name| width(name, SMALL) + GAP);
    names.max().unwrap_or(0).clamp(LEFT, WIDE / 2)
}

/// The panels, with their legends broken into lines.
fn blocks(chart: &Chart) -> Vec<Block<'_>> {
    let block = |panel| Block {
        panel,
        legend: legend(panel),
    };
    chart.panels.iter().map(block).collect()
}

/// How large `chart` is, in units.
pub(super) fn size(chart: &Chart) -> (u32, u32) {
    let panels: i32 = blocks(chart).iter().map(Block::height).sum();
    let high = HEAD + panels + FOOT + 2 * MARGIN;
    ((WIDE * FINE) as u32, (high * FINE) as u32)
}

/// Draws `chart` on `area`, which is as large as [`size`] says.
pub(super) fn draw<B: DrawingBackend>(area: &Area<B>, chart: &Chart) -> Drawn<B> {
    area.fill(&WHITE)?;
    text(area, &chart.title, (MARGIN, MARGIN), LARGE, INK)?;
    for (line, words) in (0..).zip(subtitle(chart)) {
        let top = MARGIN + 28 + line * LEGEND_LINE;
        text(area, &words, (MARGIN, top), SMALL, FAINT)?;
    }
    let mut top = MARGIN + HEAD;
    for block in blocks(chart) {
        panel(area, &block, top)?;
        top += block.height();
    }
    text(area, &chart.source, (MARGIN, top + 8), SMALL, FAINT)
}

fn panel<B: DrawingBackend>(area: &Area<B>, block: &Block<'_>, mut top: i32) -> Drawn<B> {
    text(area, &block.panel.title, (MARGIN, top + 12), MIDDLE, INK)?;
    top += PANEL_HEAD;
    for line in &block.legend {
        let mut left = MARGIN;
        for series in line {
            let place = (left, top + LEGEND_LINE / 2);
            sample(area, series, block.panel.is_marked(series.number), place)?;
            let name = series.name.as_deref().unwrap_or_default();
            text(area, name, (left + SAMPLE, top + 3), SMALL, INK)?;
            left += SAMPLE + width(name, SMALL) + GAP;
        }
        top += LEGEND_LINE;
    }
    for note in &block.panel.notes {
        text(area, note, (MARGIN, top + 3), SMALL, FAINT)?;
        top += LEGEND_LINE;
    }
    let corner = (MARGIN * FINE, top * FINE);
    let size = (
        (WIDE - 2 * MARGIN) * FINE,
        diagram_height(block.panel) * FINE,
    );
    let place = area.clone().shrink(corner, size);
    diagram(area, &place, block.panel)
}

/// The axes and everything on them. The axes are plotters'; what lies on them is drawn on the whole `area`.
fn diagram<B: DrawingBackend>(area: &Area<B>, place: &Area<B>, panel: &Panel) -> Drawn<B> {
    let (across, upwards) = values(panel);
    let mut chart = ChartBuilder::on(place)
        .margin_top(ABOVE * FINE)
        .margin_right(16 * FINE)
        .x_label_area_size(BELOW * FINE)
        .y_label_area_size(left(panel) * FINE)
        .build_cartesian_2d(
            Extent::across(&panel.x, &across),
            Extent::upwards(&panel.y, &upwards),
        )?;
    chart
        .configure_mesh()
        .axis_style(stroke(FAINT, 1))
        .bold_line_style(stroke(GRID, 1))
        .light_line_style(WHITE.mix(0.0))
        .label_style(font(SMALL, FAINT))
        .x_desc(panel.x.title.as_str())
        .axis_desc_style(font(SMALL, INK))
        .draw()?;
    for series in &panel.series {
        lay(area, &chart, series)?;
    }
    Ok(())
}

/// Every place that must lie on the axes.
fn values(panel: &Panel) -> (Vec<f64>, Vec<f64>) {
    let ends = |&(x, low, high): &(f64, f64, f64)| [(x, low), (x, high)];
    let places = panel.series.iter().flat_map(|series| match &series.shape {
        Shape::Line(points, _) => points.iter().flatten().copied().collect(),
        Shape::Marks(points, _) => points.clone(),
        Shape::Band(points) => points.iter().flatten().flat_map(ends).collect::<Vec<_>>(),
    });
    places.unzip()
}

type Diagram<'a, B> = ChartContext<'a, B, Cartesian2d<Extent, Extent>>;

/// Draws a series where the axes put it.
fn lay<B: DrawingBackend>(area: &Area<B>, chart: &Diagram<'_, B>, series: &Series) -> Drawn<B> {
    let at = |x: f64, y: f64| chart.backend_coord(&(x, y));
    match &series.shape {
        Shape::Line(points, manner) => {
            let points = points.iter().map(|point| point.map(|(x, y)| at(x, y)));
            for piece in pieces(points) {
                line(area, &piece, *manner, series.number)?;
            }
        }
        Shape::Band(points) => {
            for piece in pieces(points.iter().copied()) {
                let lower = piece.iter().map(|(x, low, _)| at(*x, *low));
                let upper = piece.iter().rev().map(|(x, _, high)| at(*x, *high));
                band(area, widened(lower.chain(upper).collect()), series.number)?;
            }
        }
        Shape::Marks(points, form) => {
            for (x, y) in points {
                mark(area, at(*x, *y), *form, series.number)?;
            }
        }
    }
    Ok(())
}

/// The corners of a band, of which one that goes over a single place would have no area.
fn widened(corners: Vec<Place>) -> Vec<Place> {
    match corners[..] {
        [(x, low), (_, high)] => {
            let (left, right) = (x - 4 * FINE, x + 4 * FINE);
            vec![(left, low), (right, low), (right, high), (left, high)]
        }
        _ => corners,
    }
}

/// What follows each other without a gap.
fn pieces<T>(points: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut pieces = vec![Vec::new()];
    for point in points {
        match (point, pieces.last_mut()) {
            (Some(point), Some(piece)) => piece.push(point),
            _ => pieces.push(Vec::new()),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// What stands for a series in the legend, around a place at its left.
fn sample<B: DrawingBackend>(
    area: &Area<B>,
    series: &Series,
    is_marked: bool,
    (x, y): Place,
) -> Drawn<B> {
    let (left, middle, right) = (x * FINE, (x + 11) * FINE, (x + 22) * FINE);
    let y = y * FINE;
    match &series.shape {
        Shape::Line(_, manner) => {
            line(area, &[(left, y), (right, y)], *manner, series.number)?;
            match is_marked {
                true => mark(area, (middle, y), Mark::Sound, series.number),
                false => Ok(()),
            }
        }
        Shape::Band(_) => {
            let (top, bottom) = (y - 5 * FINE, y + 5 * FINE);
            let corners = vec![(left, top), (right, top), (right, bottom), (left, bottom)];
            band(area, corners, series.number)
        }
        Shape::Marks(_, form) => mark(area, (middle, y), *form, series.number),
    }
}

fn line<B: DrawingBackend>(
    area: &Area<B>,
    points: &[Place],
    manner: Stroke,
    number: Option<usize>,
) -> Drawn<B> {
    match manner {
        Stroke::Solid => area.draw(&PathElement::new(points, stroke(colour(number), 2))),
        Stroke::Dashed => {
            for dash in dashes(points) {
                area.draw(&PathElement::new(dash, stroke(colour(number), 1)))?;
            }
            Ok(())
        }
    }
}

/// `points` as a broken line: pieces of 6 pixels with 4 between them.
fn dashes(points: &[Place]) -> Vec<Vec<Place>> {
    let (dash, gap) = (f64::from(6 * FINE), f64::from(4 * FINE));
    let mut all: Vec<Vec<Place>> = Vec::new();
    let (mut draws, mut left) = (true, dash);
    let mut open: Vec<Place> = points.first().copied().into_iter().collect();
    for pair in points.windows(2) {
        let [from, to] = [pair[0], pair[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
        let long = (to.0 - from.0).hypot(to.1 - from.1);
        let mut gone = 0.0;
        while long - gone > left {
            gone += left;
            let share = gone / long;
            let here = (
                (from.0 + (to.0 - from.0) * share).round() as i32,
                (from.1 + (to.1 - from.1) * share).round() as i32,
            );
            if draws {
                open.push(here);
                all.push(std::mem::take(&mut open));
            }
            draws = !draws;
            left = if draws { dash } else { gap };
            open = if draws { vec![here] } else { Vec::new() };
        }
        left -= long - gone;
        if draws {
            open.push(pair[1]);
        }
    }
    if open.len() > 1 {
        all.push(open);
    }
    all
}

fn band<B: DrawingBackend>(area: &Area<B>, corners: Vec<Place>, number: Option<usize>) -> Drawn<B> {
    area.draw(&Polygon::new(corners, colour(number).mix(0.2)))
}

fn mark<B: DrawingBackend>(
    area: &Area<B>,
    at: Place,
    form: Mark,
    number: Option<usize>,
) -> Drawn<B> {
    let colour = colour(number);
    let ring = |radius: i32| Circle::new(at, radius * FINE, stroke(colour, 2));
    match form {
        Mark::Single => area.draw(&Circle::new(at, 2 * FINE, colour.mix(0.35).filled())),
        Mark::Ring => area.draw(&ring(7)),
        Mark::WideRing => area.draw(&ring(9)),
        Mark::Invalid => {
            for turn in [1, -1] {
                let ends = corners(at, &[(-4, -4 * turn), (4, 4 * turn)]);
                area.draw(&PathElement::new(ends, stroke(colour, 2)))?;
            }
            Ok(())
        }
        Mark::AtLeast => {
            let head = corners(at, &[(-4, -1), (0, -6), (4, -1)]);
            area.draw(&PathElement::new(head, stroke(colour, 2)))?;
            let shaft = corners(at, &[(0, -6), (0, 4)]);
            area.draw(&PathElement::new(shaft, stroke(colour, 2)))
        }
        Mark::Sound | Mark::Caveat => {
            let outline = outline(at, number.unwrap_or_default());
            let inside = if form == Mark::Sound { colour } else { WHITE };
            area.draw(&Polygon::new(outline.clone(), inside))?;
            let closed: Vec<Place> = outline.iter().chain(outline.first()).copied().collect();
            area.draw(&PathElement::new(closed, stroke(colour, 1)))
        }
    }
}

/// The form of a line's marks: a disc, a square, a diamond or a triangle.
fn outline(at: Place, number: usize) -> Vec<Place> {
    match number % 4 {
        0 => {
            let corner = |turn: i32| {
                let angle = f64::from(turn) * std::f64::consts::TAU / 16.0;
                let radius = 3.4 * f64::from(FINE);
                let x = (angle.cos() * radius).round() as i32;
                let y = (angle.sin() * radius).round() as i32;
                (at.0 + x, at.1 + y)
            };
            (0..16).map(corner).collect()
        }
        1 => corners(at, &[(-3, -3), (3, -3), (3, 3), (-3, 3)]),
        2 => corners(at, &[(0, -5), (4, 0), (0, 5), (-4, 0)]),
        _ => corners(at, &[(-4, -3), (4, -3), (0, 5)]),
    }
}

fn corners(at: Place, around: &[Place]) -> Vec<Place> {
    let corner = |(x, y): &Place| (at.0 + x * FINE, at.1 + y * FINE);
    around.iter().map(corner).collect()
}

fn colour(number: Option<usize>) -> RGBColor {
    match number {
        Some(number) => COLOURS[number % COLOURS.len()],
        None => FAINT,
    }
}

fn stroke(colour: RGBColor, pixels: i32) -> ShapeStyle {
    colour.stroke_width((pixels * FINE) as u32)
}

/// The subtitle in two lines at most, broken where its parts end.
fn subtitle(chart: &Chart) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in chart.subtitle.split_inclusive(", ") {
        let last = lines.len() - 1;
        let longer = format!("{}{part}", lines[last]);
        let fits = width(longer.trim_end(), SMALL) <= WIDE - 2 * MARGIN;
        match fits || lines.len() == 2 {
            true => lines[last] = longer,
            false => lines.push(part.to_owned()),
        }
    }
    lines
}

/// The named series of a panel, as many in a line as there is room for.
fn legend(panel: &Panel) -> Vec<Vec<&Series>> {
    let mut lines: Vec<Vec<&Series>> = Vec::new();
    let mut left = 0;
    for series in &panel.series {
        let Some(name) = &series.name else { continue };
        let wide = SAMPLE + width(name, SMALL) + GAP;
        match lines.last_mut() {
            Some(line) if left + wide <= WIDE - 2 * MARGIN => line.push(series),
            _ => {
                lines.push(vec![series]);
                left = 0;
            }
        }
        left += wide;
    }
    lines
}

fn font(size: i32, colour: RGBColor) -> TextStyle<'static> {
    let font = ("sans-serif", size * FINE).into_font();
    font.color(&colour).pos(Pos::new(HPos::Left, VPos::Top))
}

/// How wide a text is, in pixels; an estimate where the font is unknown.
fn width(text: &str, size: i32) -> i32 {
    let font = ("sans-serif", size * FINE).into_font();
    match font.box_size(text) {
        Ok((wide, _)) => wide as i32 / FINE + 1,
        Err(_) => text.chars().count() as i32 * size * 6 / 10,
    }
}

/// Writes a text from its upper left corner on, cut where there is no more room.
fn text<B: DrawingBackend>(
    area: &Area<B>,
    text: &str,
    (x, y): Place,
    size: i32,
    colour: RGBColor,
) -> Drawn<B> {
    let room = WIDE - MARGIN - x;
    let mut shown = text.to_owned();
    while width(&shown, size) > room && shown.chars().count() > 1 {
        let keep = shown.chars().count() - 2;
        shown = shown.chars().take(keep).chain(['…']).collect();
    }
    area.draw_text(&shown, &font(size, colour), (x * FINE, y * FINE))
}
