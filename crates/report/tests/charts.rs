//! What is drawn of Runs: the model in words, the SVG byte for byte, and that pictures are pictures.
//!
//! `WEIGH_UPDATE_GOLDEN=1 cargo test -p report --test charts` writes the golden file anew; look at it before committing it.

use plan::{Axis, Sweep};
use record::{Cause, Effect, Figure, Finding, Run, example};
use report::chart::{Chart, KINDS, MOST_LINES, Mark, Panel, Scale, Shape, kind};
use std::path::PathBuf;
use units::Percentile;

fn render(ending: &str, run: &Run) -> Vec<u8> {
    (kind(ending).unwrap().render)(&Chart::of(run)).unwrap()
}

fn svg(run: &Run) -> String {
    String::from_utf8(render("svg", run)).unwrap()
}

fn finding(point: usize, cause: Cause, figure: Figure, effect: Effect) -> Finding {
    Finding {
        point: Some(point),
        cause,
        ..example::finding(&[(figure, effect)])
    }
}

/// The sweep with caveats of some of its points.
fn judged() -> Run {
    use Cause::{Contradiction, GeneratorSaturated, Overload};
    use Effect::{Caveat, LowerBound, Void};
    let mut run = example::sweep();
    run.findings = vec![
        finding(2, Contradiction, Figure::Rps, Void),
        finding(4, GeneratorSaturated, Figure::Rps, Caveat),
        finding(7, GeneratorSaturated, Figure::Rps, LowerBound),
        finding(7, Overload, Figure::Latency, Void),
    ];
    run
}

/// The places that are marked so, by the value of the axis.
fn marked(panel: &Panel, wanted: Mark) -> Vec<f64> {
    let shapes = panel.series.iter().map(|series| &series.shape);
    let points = shapes.filter_map(|shape| match shape {
        Shape::Marks(points, mark) if *mark == wanted => Some(points),
        _ => None,
    });
    points.flatten().map(|(x, _)| *x).collect()
}

fn names(panel: &Panel) -> Vec<&str> {
    let names = panel.series.iter().map(|series| series.name.as_deref());
    names.flatten().collect()
}

#[test]
fn svg_is_what_it_was() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sweep.svg");
    let shown = svg(&judged());
    if std::env::var_os("WEIGH_UPDATE_GOLDEN").is_some() {
        return std::fs::write(&path, shown).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap();
    assert!(
        shown == wanted,
        "sweep.svg differs from what is drawn now; WEIGH_UPDATE_GOLDEN=1 writes it anew, then look at it"
    );
}

#[test]
fn a_sweep_has_a_panel_for_each_figure_that_was_observed() {
    let titles = |run: &Run| -> Vec<String> {
        let panels = Chart::of(run).panels.into_iter();
        panels.map(|panel| panel.title).collect()
    };
    let mut run = example::sweep();
    let all = [
        "requests/s",
        "latency",
        "server CPU per request",
        "CPUs that the server used",
        "server memory (PSS)",
    ];
    assert_eq!(titles(&run), all);
    for round in run.points.iter_mut().flat_map(|point| &mut point.rounds) {
        round.footprint = None;
    }
    run.summarise();
    assert_eq!(titles(&run), all[..2]);
}

#[test]
fn what_findings_demote_is_drawn_as_such_and_no_line_leads_to_what_they_void() {
    let chart = Chart::of(&judged());
    let [rate, latency] = [&chart.panels[0], &chart.panels[1]];
    assert_eq!(marked(rate, Mark::Invalid), [4.0]);
    assert_eq!(marked(rate, Mark::Caveat), [16.0]);
    assert_eq!(marked(rate, Mark::AtLeast), [128.0]);
    assert_eq!(marked(rate, Mark::Sound), [1.0, 2.0, 8.0, 32.0, 64.0]);
    assert_eq!(marked(latency, Mark::Invalid), [128.0, 128.0]);
    let line = |panel: &Panel| match &panel.series[1].shape {
        Shape::Line(points, _) => points.iter().map(Option::is_some).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        line(rate),
        [true, true, false, true, true, true, true, true]
    );
    let legend = names(rate).join("\n");
    for word in ["INVALID", "caveat", "at least", "peak: 12,369"] {
        assert!(legend.contains(word), "{legend}");
    }
    // As the table withholds it, where a point is void.
    assert!(!legend.contains("knee"), "{legend}");
    let sound = names(&Chart::of(&example::sweep()).panels[0]).join("\n");
    assert!(sound.contains("knee"), "{sound}");
}

#[test]
fn a_percentile_that_is_withheld_is_missing() {
    let run = example::sweep();
    let known = run.points.iter().map(|point| {
        let summary = point.summary.as_ref().unwrap();
        summary.latency_us.at(Percentile::P99).is_some()
    });
    let known: Vec<bool> = known.collect();
    assert!(known.contains(&false) && known.contains(&true));
    let chart = Chart::of(&run);
    let drawn = chart.panels[1]
        .series
        .iter()
        .find_map(|series| match &series.shape {
            Shape::Line(points, _) if series.name.as_deref() == Some("p99") => Some(points),
            _ => None,
        });
    let drawn: Vec<bool> = drawn.unwrap().iter().map(Option::is_some).collect();
    assert_eq!(drawn, known);
}

#[test]
fn the_axis_has_the_scale_on_which_its_values_lie_evenly() {
    let cases: &[(&[u32], Scale)] = &[
        (&[1, 10, 20, 30, 40], Scale::Linear),
        (&[1, 2, 4, 8, 16], Scale::Log),
        (&[1, 2, 5, 10, 20, 50], Scale::Log),
        (&[10, 20], Scale::Linear),
        (&[10], Scale::Linear),
    ];
    for (values, wanted) in cases {
        let mut run = example::sweep();
        run.points.truncate(values.len());
        set_axes(&mut run, vec![Axis::Connections(values.to_vec())]);
        assert_eq!(Chart::of(&run).panels[0].x.scale, *wanted, "{values:?}");
    }
}

/// Makes the points those of another sweep, as many as there are.
fn set_axes(run: &mut Run, axes: Vec<Axis>) {
    run.plan.sweep = Some(Sweep {
        axes,
        ..Sweep::default()
    });
    for (point, level) in run.points.iter_mut().zip(run.plan.levels()) {
        point.level = level;
    }
}

#[test]
fn of_several_axes_the_slower_ones_name_lines_and_too_many_are_counted() {
    let mut run = example::sweep();
    let axes = vec![
        Axis::Workers(vec![1, 2]),
        Axis::Connections(vec![1, 2, 4, 8]),
    ];
    set_axes(&mut run, axes);
    let panel = &Chart::of(&run).panels[0];
    let legend = names(panel).join("\n");
    assert!(legend.contains("1 worker\n2 workers"), "{legend}");
    assert!(panel.notes.is_empty());
    let point = run.points[0].clone();
    run.points.resize(20, point);
    set_axes(
        &mut run,
        vec![
            Axis::Workers((1..=10).collect()),
            Axis::Connections(vec![1, 2]),
        ],
    );
    let panel = &Chart::of(&run).panels[0];
    let lines = panel
        .series
        .iter()
        .filter(|series| matches!(series.shape, Shape::Line(..)));
    assert_eq!(lines.count(), MOST_LINES);
    assert_eq!(panel.notes, ["2 more values not drawn"]);
}

#[test]
fn in_an_open_loop_the_demanded_rate_is_a_line_that_ends_where_nothing_came_near_it() {
    let mut run = example::overloaded();
    let rates = ["500", "1000", "1000000"].map(|rate| rate.parse().unwrap());
    let point = run.points[0].clone();
    run.points = vec![point; 3];
    set_axes(&mut run, vec![Axis::Rate(rates.to_vec())]);
    run.summarise();
    let panel = &Chart::of(&run).panels[0];
    assert_eq!(panel.series[0].name.as_deref(), Some("offered load"));
    let Shape::Line(points, _) = &panel.series[0].shape else {
        panic!("{panel:?}");
    };
    assert!(points.iter().flatten().all(|(x, y)| x == y && *y < 1_500.0));
}

#[test]
fn a_run_without_a_sweep_is_drawn_over_time() {
    let run = example::ok();
    let chart = Chart::of(&run);
    let [panel] = &chart.panels[..] else {
        panic!("{chart:?}");
    };
    assert_eq!(names(panel)[..2], ["round 1", "round 2"]);
    let Shape::Line(points, _) = &panel.series[0].shape else {
        panic!("{panel:?}");
    };
    let round = &run.points[0].rounds[0];
    let width = round.tally.series.interval.as_secs_f64();
    let endings: f64 = points.iter().flatten().map(|(_, rate)| rate * width).sum();
    assert_eq!(endings.round() as u64, round.tally.ok_in_window);
}

#[test]
fn one_point_none_and_all_void_are_drawn_or_said_to_be_nothing() {
    let mut one = example::sweep();
    one.points.truncate(1);
    let mut void = example::sweep();
    void.findings = (0..8)
        .map(|point| finding(point, Cause::Contradiction, Figure::Rps, Effect::Void))
        .collect();
    for run in [&one, &void, &example::errors(), &example::all_404()] {
        for kind in KINDS {
            assert!(!(kind.render)(&Chart::of(run)).unwrap().is_empty());
        }
    }
    assert!(Chart::of(&example::empty()).is_empty());
    let mut none = example::sweep();
    none.points.clear();
    assert!(Chart::of(&none).is_empty());
}

#[test]
fn a_png_can_be_read_again_and_shows_the_same_as_the_svg() {
    let run = judged();
    let file = render("png", &run);
    let mut reader = png::Decoder::new(std::io::Cursor::new(file))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let size = format!("viewBox=\"0 0 {} {}\"", info.width, info.height);
    assert!(svg(&run).contains(&size), "{size}");
    let inked = pixels.chunks(3).filter(|pixel| *pixel != [255; 3]).count();
    let share = inked as f64 / (pixels.len() / 3) as f64;
    assert!((0.005..0.5).contains(&share), "{share}");
}

#[test]
fn a_hostile_name_is_text_and_nothing_else() {
    let mut run = example::sweep();
    let probe = run.probe.as_mut().unwrap();
    probe.response_head = Some(
        "HTTP/1.1 200 OK\r\nServer: </text><script>alert(1)</script>&\"'\u{1b}\u{ffff}\r\n\r\n"
            .into(),
    );
    run.machine.cpu_model = Some("<image href='http://example.com/'/>".into());
    run.weigh = "x".repeat(10_000);
    let text = svg(&run);
    assert!(!text.contains("<script") && !text.contains("<image"));
    let is_text = |c: char| c == '\n' || !(c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'));
    assert!(text.chars().all(is_text));
    assert!(text.contains("&lt;script&gt;"), "it is shown");
    assert!(text.len() < 200_000);
}

#[test]
fn an_svg_needs_nothing_from_elsewhere_and_every_tag_is_closed() {
    let text = svg(&judged());
    for word in ["href", "url(", "<style", "<script", "@import"] {
        assert!(!text.contains(word), "{word}");
    }
    let mut open: Vec<&str> = Vec::new();
    for tag in text.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (_, true) => {}
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Everything that is shown of requests/s: the run's line, the point's row, the peak, the chart's mark, its ring, the CSV.
fn shown_of_rate(effect: Effect) -> [String; 6] {
    let of = |format: &str, run: &Run| {
        let look = report::Look {
            detail: report::Detail::Full,
            ..report::Look::default()
        };
        (report::format(format).unwrap().render)(std::slice::from_ref(run), &look)
    };
    let line = |text: &str, label: &str| {
        let is_it = |line: &&str| line.trim_start_matches([' ', '!', '*']).starts_with(label);
        text.lines().find(is_it).unwrap_or_default().to_owned()
    };
    let mut run = example::ok();
    run.findings = vec![example::finding(&[(Figure::Rps, effect)])];
    let mut sweep = example::sweep();
    let peak = sweep.curve.as_ref().unwrap().peak.unwrap().point;
    sweep.findings = vec![finding(peak, Cause::Other, Figure::Rps, effect)];
    let text = of("text", &sweep);
    let heads = text.lines().position(|line| line.contains("requests/s"));
    let row = text.lines().nth(heads.unwrap() + 1 + peak).unwrap();
    let panel = &Chart::of(&sweep).panels[0];
    let marks = [Mark::Caveat, Mark::AtLeast, Mark::Invalid];
    let mark = marks.iter().find(|mark| !marked(panel, **mark).is_empty());
    let rings = names(panel)
        .into_iter()
        .filter(|name| name.starts_with("peak"));
    let csv = of("csv", &sweep);
    let names: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let round = names.iter().position(|name| *name == "round").unwrap();
    let is_point = |line: &&str| line.split(',').nth(round) == Some("");
    let mut points = csv.lines().filter(is_point);
    [
        line(&of("text", &run), "requests/s "),
        row.to_owned(),
        line(&text, "peak "),
        format!("{mark:?}"),
        rings.collect(),
        points.nth(peak).unwrap().to_owned(),
    ]
}

#[test]
fn what_a_finding_does_to_requests_is_the_same_in_pages_tables_charts_and_csv() {
    let cases = [
        (
            Effect::Caveat,
            ["", "*", "", "Caveat", "peak: ", "example:caveat"],
        ),
        (
            Effect::LowerBound,
            [
                ">= ",
                ">= ",
                ">= ",
                "AtLeast",
                "peak: at least ",
                "example:caveat",
            ],
        ),
        (
            Effect::Void,
            [
                "INVALID",
                "INVALID",
                "INVALID",
                "Invalid",
                "",
                "example:invalid",
            ],
        ),
    ];
    for (effect, wanted) in cases {
        let shown = shown_of_rate(effect);
        for (shown, wanted) in shown.iter().zip(wanted) {
            assert!(shown.contains(wanted), "{effect:?}: {shown}");
        }
        let [run, row, peak, _, ring, _] = &shown;
        assert_eq!(ring.is_empty(), effect == Effect::Void, "{ring}");
        for line in [run, row, peak] {
            assert!(!line.is_empty());
            assert_eq!(line.contains(">= "), effect == Effect::LowerBound, "{line}");
            assert_eq!(line.contains("INVALID"), effect == Effect::Void, "{line}");
        }
    }
}
