//! What is said of made-up comparisons, byte for byte in every format, and that no page is broken.
//!
//! `WEIGH_UPDATE_GOLDEN=1 cargo test -p report --test comparison` writes the files anew; look at the difference before committing it.

mod checked;

use checked::check;
use plan::{Budget, Deciding, Source};
use record::{
    Comparison, Effect, Effects, Figure, Finding, NamedRun, Rating, Run, Versus, example,
};
use report::chart::{Mark, Panel, Scale, Shape, kind};
use report::comparison::{chart, conditions, csv, headlines, json, markdown, regression, text};
use report::{Detail, Look};
use std::path::PathBuf;
use units::Nanos;

fn at(detail: Detail, comparison: &Comparison, width: usize) -> String {
    let look = Look {
        width,
        detail,
        ..Look::default()
    };
    text(comparison, &look)
}

/// Two servers with an A/A arm of the first.
fn with_a_second_name() -> Comparison {
    let mut made = example::comparison(&[1.0, 1.02, 1.0], 8);
    made.plan.servers[2].name = "a again".into();
    made.plan.servers[2].repeats = Some(0);
    made.plan.max_regression = Some(0.01);
    made
}

/// What is wrong with servers, each in its own way: errors, another body midway, one that is not compared, a log.
fn unequal() -> Comparison {
    let mut made = example::comparison(&[1.0, 1.02, 1.0, 1.0], 4);
    made.plan.unequal = true;
    made.plan.servers[0].name = "nginx-1.27.3-with-an-access-log-on-tmpfs".into();
    made.servers[0].conditions.logged_millibytes = Some(95_400);
    made.servers[1].conditions.workers = Some(4);
    made.servers[3].excluded = Some("its response has status 404".into());
    for start in &mut made.starts {
        (start.foreign, start.steal) = (Some(0.12), Some(0.07));
        start.blocks[0].steady = start.index > 0;
        start.blocks[0]
            .cycles
            .iter_mut()
            .for_each(|cycle| cycle.slices[3] = None);
        for slice in start.blocks[0]
            .cycles
            .iter_mut()
            .filter_map(|cycle| cycle.slices[1].as_mut())
        {
            (slice.errors, slice.error) = (slice.ok / 4, Some("status 503".into()));
        }
        let slice = start.blocks[0].cycles[3].slices[2].as_mut().unwrap();
        slice.body = Some((99, 7));
        slice.lower_bound = true;
    }
    made
}

/// Commits, compared until 2 % is decided, after the first look; their names are long and one server is very slow.
fn commits() -> Comparison {
    let mut made = example::comparison(&[1.0, 1.5], 8);
    made.plan.budget = Budget::Until(0.02);
    let names = [
        "main-before-the-new-scheduler-1",
        "main-before-the-new-scheduler-2",
    ];
    for (server, name) in made.plan.servers.iter_mut().zip(names) {
        server.name = name.into();
        server.source = Some(Source {
            revision: "HEAD~1".into(),
            commit: "3f2c1ab04f2c1ab04f2c1ab04f2c1ab04f2c1ab0".into(),
            build: Some("make".into()),
        });
    }
    made
}

/// Two starts: no interval.
fn two_starts() -> Comparison {
    let mut made = example::comparison(&[1.0, 1.0], 2);
    made.interrupted = true;
    made
}

/// Servers that wait for the generator.
fn generator_saturated() -> Comparison {
    let mut made = example::equal_servers();
    let blocks = made.starts.iter_mut().flat_map(|start| &mut start.blocks);
    let cycles = blocks.flat_map(|block| &mut block.cycles);
    for slice in cycles.flat_map(|cycle| cycle.slices.iter_mut().flatten()) {
        slice.generator_cpu = slice.window * 97 / 100;
        slice.server_cpu = slice.server_cpu.map(|cpu| cpu * 3 / 4);
    }
    made.split = None;
    made
}

fn all() -> Vec<(&'static str, Comparison)> {
    vec![
        ("equal", example::equal_servers()),
        ("two_percent", example::two_percent()),
        ("three", example::three_servers()),
        ("beside_reference", example::beside_reference()),
        ("void_start", example::one_void_start()),
        ("generator_saturated", generator_saturated()),
        ("not_observed", example::not_observed()),
        ("several_blocks", example::several_blocks()),
        ("second_name", with_a_second_name()),
        ("unequal", unequal()),
        ("commits", commits()),
        ("two_starts", two_starts()),
        ("nothing", example::comparison(&[1.0, 1.0], 0)),
    ]
}

/// Two records of runs by themselves.
fn of_records(runs: &[Run; 2]) -> Comparison {
    let [before, after] =
        [("before", &runs[0]), ("after", &runs[1])].map(|(name, run)| NamedRun { name, run });
    Comparison::of_records(before, after).unwrap()
}

/// Records of which each says something else.
fn records() -> Vec<(&'static str, Comparison)> {
    let made = |cost: f64| of_records(&example::separate_runs(cost));
    let mut few = example::separate_runs(1.1);
    few[0].points[0].rounds.truncate(2);
    few[0].interrupted = true;
    let mut invalid = example::separate_runs(1.1);
    let mut effects = Effects::default();
    effects.add(Effect::Void, &[Figure::Latency, Figure::Rps]);
    invalid[1].findings = vec![Finding {
        check: "paused".into(),
        effects,
        sentence: "weigh was stopped for 1.2 s while it measured".into(),
        ..Finding::default()
    }];
    let mut latency = of_records(&invalid);
    latency.plan.decide_on = Deciding::P50;
    let mut sweeps = [example::sweep(), example::sweep()];
    sweeps.iter_mut().for_each(|run| run.points.truncate(3));
    let mut unlike = made(1.0);
    unlike.plan.max_regression = Some(0.05);
    unlike.servers[1].record.as_mut().unwrap().differs =
        vec!["rounds: 5 and 6".into(), "Linux: 6.1 and 6.2".into()];
    let [first, second] = example::separate_runs(0.9);
    vec![
        ("more", made(1.1)),
        ("cannot_tell", made(1.0)),
        ("second_is_older", of_records(&[second, first])),
        ("too_few_rounds", of_records(&few)),
        ("invalid_figures", of_records(&invalid)),
        ("invalid_decides", latency),
        ("sweeps", of_records(&sweeps)),
        ("unlike", unlike),
    ]
}

#[test]
fn pages_are_what_they_were_at_80_columns() {
    for (detail, name) in [
        (Detail::Quiet, "quiet.txt"),
        (Detail::Brief, "txt"),
        (Detail::Full, "full.txt"),
    ] {
        let page =
            |(name, made): &(&str, Comparison)| format!("== {name}\n{}\n", at(detail, made, 80));
        let pages = |all: Vec<(&str, Comparison)>| all.iter().map(page).collect::<String>();
        check(&format!("comparison.{name}"), &pages(all()));
        check(&format!("records.{name}"), &pages(records()));
    }
}

/// Whatever two separate runs say, the page names the reason why it is weak.
#[test]
fn no_page_of_records_says_that_it_is_good() {
    for (name, made) in records() {
        for detail in [Detail::Quiet, Detail::Brief, Detail::Full] {
            let page = at(detail, &made, 80);
            assert!(
                !page.contains("GOOD") && page.contains("reliability"),
                "{name}: {page}"
            );
        }
        let page = at(Detail::Brief, &made, 80);
        let said = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains("measured one after the other"),
            "{name}: {page}"
        );
        assert!(
            said.contains("`weigh compare` with both servers"),
            "{name}: {page}"
        );
    }
}

#[test]
fn other_formats_are_what_they_were() {
    let look = Look::default();
    check("comparison.md", &markdown(&example::three_servers(), &look));
    let of = |made: Comparison| csv(&made, &look);
    check(
        "comparison.csv",
        &(of(example::several_blocks()) + &of(with_a_second_name())),
    );
}

#[test]
fn svg_is_what_it_was() {
    let svg = |made: &Comparison| {
        String::from_utf8((kind("svg").unwrap().render)(&chart(made)).unwrap()).unwrap()
    };
    check("comparison.svg", &svg(&example::three_servers()));
    if let Some(folder) = std::env::var_os("WEIGH_CHARTS") {
        for (name, made) in all().into_iter().chain(records()) {
            let path = PathBuf::from(&folder).join(format!("{name}.png"));
            std::fs::write(path, (kind("png").unwrap().render)(&chart(&made)).unwrap()).unwrap();
        }
    }
}

#[test]
fn no_line_of_a_page_is_longer_than_the_look_allows() {
    for (name, made) in all().into_iter().chain(records()) {
        for width in [60, 80, 100, 120] {
            for detail in [Detail::Quiet, Detail::Brief, Detail::Full] {
                for line in at(detail, &made, width).lines() {
                    let is_one_word = !line.trim().contains(' ');
                    let wide = line.chars().count();
                    assert!(is_one_word || wide <= width, "{name} at {width}: {line}");
                }
            }
        }
    }
}

/// The rows of the table of figures hold together at 80 columns, whatever servers are called and however fast they are.
#[test]
fn long_names_and_wide_numbers_break_no_row() {
    for (long, factor) in [(1, 1), (9, 1), (40, 1), (200, 1), (1, 40), (9, 90_000)] {
        let mut made = example::two_percent();
        for (server, letter) in made.plan.servers.iter_mut().zip(["x", "y"]) {
            server.name = letter.repeat(long);
        }
        for slice in slices(&mut made) {
            (slice.ok, slice.in_window) = (slice.ok * factor, slice.in_window * factor);
            slice.latency = slice
                .latency
                .map(|latency| latency.map(|latency| latency * factor));
        }
        let page = at(Detail::Brief, &made, 80);
        let table = page.split("\n\n").nth(1).unwrap();
        assert_eq!(table.matches("..").count(), 4, "{table}");
        for row in table.lines().filter(|row| row.contains("..")) {
            let answers = ["worse", "better", "no difference shown"];
            assert!(
                answers.iter().any(|answer| row.ends_with(answer)),
                "{table}"
            );
        }
        assert!(
            page.lines()
                .all(|line| line.chars().count() <= 80 || !line.trim().contains(' ')),
            "{page}"
        );
    }
}

fn slices(made: &mut Comparison) -> impl Iterator<Item = &mut record::Slice> {
    let blocks = made.starts.iter_mut().flat_map(|start| &mut start.blocks);
    let cycles = blocks.flat_map(|block| &mut block.cycles);
    cycles.flat_map(|cycle| cycle.slices.iter_mut().flatten())
}

/// A comparison in which b costs, start by start, exactly so many times as much CPU as a.
fn with_ratios(ratios: &[f64]) -> Comparison {
    let mut made = example::comparison(&[1.0, 1.0], ratios.len() as u32);
    for (start, ratio) in made.starts.iter_mut().zip(ratios) {
        start.took = Nanos::from_secs(8);
        for cycle in &mut start.blocks[0].cycles {
            for (slice, micros) in cycle.slices.iter_mut().flatten().zip([10.0, 10.0 * ratio]) {
                let nanos = (micros * 1e3 * slice.ok as f64).round();
                slice.server_cpu = Some(Nanos::from_nanos(nanos as u64));
            }
        }
    }
    made
}

#[test]
fn the_first_line_has_one_of_three_forms() {
    let first = |ratios: &[f64]| {
        let page = at(Detail::Brief, &with_ratios(ratios), 100);
        page.lines().next().unwrap().to_owned()
    };
    let around = |centre: f64, reach: f64| {
        [-1.0, 1.0]
            .repeat(4)
            .into_iter()
            .map(move |sign| centre * (1.0 + sign * reach))
    };
    let cases: &[(f64, f64, &str)] = &[
        (
            1.023,
            0.002,
            "b uses 2.3 % more CPU per request than a    (95 %: 2.1 to 2.5 %)",
        ),
        (
            0.977,
            0.002,
            "b uses 2.3 % less CPU per request than a    (95 %: 2.1 to 2.5 %)",
        ),
        (
            1.0,
            0.004,
            "no difference larger than 0.36 % in CPU per request between a and b    (95 %: -0.36 to 0.36 %)",
        ),
        // Beyond 0, and not beyond the margin: never called a difference.
        (
            1.003,
            0.001,
            "no difference larger than 0.39 % in CPU per request between a and b    (95 %: 0.21 to 0.39 %)",
        ),
        (
            1.02,
            0.03,
            "cannot tell: up to 4.8 % could be hidden; try --time 5m    (95 %: -0.8 to 4.8 %)",
        ),
    ];
    for (centre, reach, wanted) in cases {
        let ratios: Vec<f64> = around(*centre, *reach).collect();
        assert_eq!(first(&ratios), *wanted);
    }
    // At 80 columns three blanks.
    let page = at(
        Detail::Quiet,
        &with_ratios(&around(1.023, 0.002).collect::<Vec<f64>>()),
        80,
    );
    assert!(
        page.starts_with("b uses 2.3 % more CPU per request than a   (95 %: 2.1 to 2.5 %)\n"),
        "{page}"
    );
    assert_eq!(
        headlines(&with_ratios(&[1.0, 1.1])),
        ["cannot tell: 2 starts count for both a and b, and an interval takes 3"]
    );
}

/// However small the margin by which it is missed, no page calls one server better or worse within it.
#[test]
fn within_the_margin_no_format_says_better_or_worse() {
    let ratios: Vec<f64> = [1.0023, 1.0024].repeat(8);
    let mut made = with_ratios(&ratios);
    slices(&mut made).for_each(|slice| {
        (slice.latency, slice.in_window) = ([None; 3], 0);
    });
    made.starts
        .iter_mut()
        .flat_map(|start| &mut start.servers)
        .for_each(|server| server.memory = None);
    let look = Look::default();
    for format in [text, markdown, csv, json] {
        let shown = format(&made, &look);
        assert!(
            !shown.contains("better") && !shown.contains("worse"),
            "{shown}"
        );
    }
    assert!(
        headlines(&made)[0].starts_with("no difference larger than 0.25 %"),
        "{:?}",
        headlines(&made)
    );
}

#[test]
fn json_is_the_record_with_its_answers_beside() {
    for (name, made) in all() {
        let shown = json(&made, &Look::default());
        let read: Comparison = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, made, "{name}");
        let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(
            value["headlines"].as_array().unwrap().len(),
            headlines(&made).len()
        );
        assert_eq!((shown.lines().count(), shown.ends_with('\n')), (1, true));
    }
    let value: serde_json::Value =
        serde_json::from_str(&json(&example::one_void_start(), &Look::default())).unwrap();
    let answers = &value["answers"];
    let decides = answers["decides"].as_u64().unwrap() as usize;
    let versus = &answers["figures"][decides]["against_first"][0];
    assert_eq!(
        (versus["said"].as_str(), versus["starts"].as_u64()),
        (Some("more"), Some(7))
    );
    let doubt = &answers["reliability"]["doubts"][0];
    assert_eq!(
        (doubt["grade"].as_str(), doubt["reason"].as_str()),
        (Some("caveat"), Some("void_starts"))
    );
}

#[test]
fn csv_has_every_column_in_every_row_and_a_row_for_each_figure_server_and_block() {
    let shown = csv(&example::several_blocks(), &Look::default());
    let columns = shown.lines().next().unwrap().split(',').count();
    assert!(
        shown.lines().all(|line| line.split(',').count() == columns),
        "{shown}"
    );
    assert_eq!(shown.lines().count(), 1 + 2 * (3 + 3 + 2 + 1));
    let second = csv(&with_a_second_name(), &Look::default());
    let row = second
        .lines()
        .find(|line| line.starts_with("cpu_us_per_request") && line.contains(",a again,"));
    assert!(row.unwrap().contains(",a,8,"), "{second}");
}

#[test]
fn a_regression_is_a_sentence() {
    assert_eq!(regression(&example::two_percent()), None);
    let of = |limit: f64| {
        let mut made = example::two_percent();
        made.plan.max_regression = Some(limit);
        regression(&made).unwrap()
    };
    assert_eq!(
        of(0.01),
        "CPU per request: b is worse than a by more than 1 %"
    );
    assert_eq!(
        of(0.02),
        "CPU per request: cannot tell whether b is worse than a by more than 2 %"
    );
    assert_eq!(
        of(0.05),
        "CPU per request: no server is worse than a by more than 5 %"
    );
}

/// The points that are marked so.
fn marked(panel: &Panel, wanted: Mark) -> Vec<(f64, f64)> {
    let points = panel
        .series
        .iter()
        .filter_map(|series| match &series.shape {
            Shape::Marks(points, mark) if *mark == wanted => Some(points),
            _ => None,
        });
    points.flatten().copied().collect()
}

#[test]
fn the_chart_has_a_row_for_each_ratio_and_fills_the_marks_of_those_that_are_shown() {
    let made = example::three_servers();
    let drawn = chart(&made);
    let panel = &drawn.panels[0];
    assert_eq!(panel.x.scale, Scale::Log);
    // From the lowest.
    assert_eq!(panel.y.names[..2], ["memory: c", "memory: b"]);
    assert_eq!(panel.y.names.len(), 8);
    let answers = record::Answers::of(&made);
    let all: Vec<&Versus> = answers
        .figures
        .iter()
        .flat_map(|figure| &figure.against_first)
        .collect();
    let shown = all
        .iter()
        .filter(|versus| versus.rating != Rating::NoneShown)
        .count();
    let [filled, hollow, single] =
        [Mark::Sound, Mark::Caveat, Mark::Single].map(|mark| marked(panel, mark));
    assert_eq!(
        (filled.len(), hollow.len(), single.len()),
        (shown, 8 - shown, 8 * 8)
    );
    let ratio = all[1].ratio.unwrap().centre; // CPU per request of c, the second row from the top
    assert!(filled.contains(&(ratio, 6.0)), "{filled:?}");
    let titles: Vec<&str> = drawn.panels[1..]
        .iter()
        .map(|panel| panel.title.as_str())
        .collect();
    let wanted =
        ["CPU per request", "p50 latency", "throughput"].map(|it| format!("{it}, over the starts"));
    assert_eq!(titles, wanted);
    let empty = chart(&example::comparison(&[1.0, 1.0], 0));
    assert!(empty.is_empty());
}

#[test]
fn names_from_outside_are_text_and_nothing_else() {
    let mut made = example::one_void_start();
    made.plan.servers[1].name = "<b>|\u{1b}[31m\u{202e}".into();
    made.starts[2].servers[1].void = Some("x\u{1b}]0;title\u{7}".repeat(100));
    let look = Look {
        detail: Detail::Full,
        ..Look::default()
    };
    let shown = text(&made, &look);
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}') && shown.len() < 10_000);
    assert!(markdown(&made, &look).contains("\\<b\\>\\|"));
    let svg = String::from_utf8((kind("svg").unwrap().render)(&chart(&made)).unwrap()).unwrap();
    assert!(!svg.contains("<b>") && svg.contains("&lt;b&gt;"));
}

#[test]
fn conditions_are_shown_by_themselves_before_anything_is_measured() {
    let mut made = unequal();
    made.starts.clear();
    let shown = conditions(&made, &Look::default());
    for wanted in [
        "equal: body",
        "different: logging",
        "d is not compared: its response has status 404",
    ] {
        assert!(shown.contains(wanted), "{shown}");
    }
    let equal = conditions(&example::two_percent(), &Look::default());
    let wanted = "conditions  equal: body, protocol, keep-alive, 2 workers, logging off\n            response: 338 B\n";
    assert_eq!(equal, wanted);
}
