//! What is printed, byte for byte, for Runs in which everything went well, and for those in which it did not.
//!
//! `WEIGH_UPDATE_GOLDEN=1 cargo test -p report --test golden` writes the files anew; look at the difference before
//! committing it.

mod checked;

use checked::check;
use plan::{Axis, Stop, Sweep};
use record::{
    Blame, Cause, Compliance, Effect, Exit, Figure, Finding, Judged, Run, Tally, example,
};
use report::{Detail, Look, format};
use std::collections::HashMap;
use units::{Nanos, Percentile, Rate};

fn shown(name: &str, runs: &[Run], width: usize) -> String {
    shown_at(Detail::Full, name, runs, width)
}

fn shown_at(detail: Detail, name: &str, runs: &[Run], width: usize) -> String {
    (format(name).unwrap().render)(
        runs,
        &Look {
            colour: false,
            width,
            detail,
            ..Look::default()
        },
    )
}

/// The examples with their findings.
fn runs() -> Vec<(&'static str, Run)> {
    let mut runs = vec![
        ("ok", example::ok()),
        ("errors", example::errors()),
        ("all_404", example::all_404()),
        ("empty", example::empty()),
        ("few_samples", example::few_samples()),
        ("generator_bound", example::generator_bound()),
        ("server_bound", example::server_bound()),
        ("shared", shared()),
        ("partial", example::partial()),
        ("void", example::ok()),
        ("died", died()),
        ("stalled", example::stalled()),
        ("open_loop", example::open_loop()),
        ("overloaded", example::overloaded()),
        ("visits", example::sessions()),
        ("two_generators", example::two_generators()),
    ];
    for (name, run) in &mut runs {
        run.findings = findings(name);
    }
    runs
}

/// Generator and server had no CPU left.
fn shared() -> Run {
    let mut run = example::server_bound();
    let threads = example::generator_bound().points[0].rounds[0]
        .threads
        .clone();
    for round in &mut run.points[0].rounds {
        round.threads = threads.clone();
    }
    run.summarise();
    run
}

/// The first of its rounds is like any other; in the second the server died, and most was never sent.
fn died() -> Run {
    let mut run = example::errors();
    let round = &mut run.points[0].rounds[1];
    let (unsent, age) = (1_000_000, Nanos::from_millis(200));
    round.tally = Tally::default();
    round.tally.scheduled = unsent;
    round.tally.observe_never_sent(unsent, age, Blame::Server);
    round.window.end = round.window.start + Nanos::from_millis(4);
    for thread in &mut round.threads {
        thread.wall = Nanos::from_millis(4);
    }
    run.machine.virtualised = Some("a hypervisor without a name".into());
    run.plan.stop = Stop::Requests(unsent);
    run.plan.warmup = Nanos::from_secs(120);
    run.summarise();
    run
}

/// The findings of the example called `name`.
fn findings(name: &str) -> Vec<Finding> {
    type All = HashMap<String, Vec<Finding>>;
    let all: All = serde_json::from_str(include_str!("golden/findings.json")).unwrap();
    all[name].clone()
}

#[test]
fn text_is_what_it_was_at_80_columns() {
    for (name, run) in runs() {
        check(&format!("{name}.txt"), &shown("text", &[run], 80));
    }
}

#[test]
fn text_is_what_it_was_at_100_and_120_columns() {
    for (name, run) in runs().into_iter().take(2) {
        for width in [100, 120] {
            let runs = std::slice::from_ref(&run);
            check(&format!("{name}.{width}.txt"), &shown("text", runs, width));
        }
    }
}

/// The short pages of all examples in one file, as they stand on a terminal of 80 columns.
#[test]
fn the_answer_comes_first_and_is_short() {
    let pages = |detail| -> String {
        let page = |(name, run): &(&str, Run)| {
            let page = shown_at(detail, "text", std::slice::from_ref(run), 80);
            format!("== {name}\n{page}\n")
        };
        runs().iter().map(page).collect()
    };
    check("brief.txt", &pages(Detail::Brief));
    check("quiet.txt", &pages(Detail::Quiet));
}

/// A mark stands only at the percentile that a caveat is about.
#[test]
fn only_percentiles_near_the_baseline_carry_its_mark() {
    let mut run = example::open_loop();
    let times = run.points[0].summary.as_ref().unwrap().latency_us.clone();
    let baseline = run.points[0].baseline.as_mut().unwrap();
    baseline.response_us.p50 = times.at(Percentile::P50);
    let shown = |run: &Run| shown_at(Detail::Brief, "text", std::slice::from_ref(run), 100);
    assert!(!shown(&run).contains(" us*"), "no finding, no mark");
    let caveat = example::finding(&[(Figure::Latency, Effect::Caveat)]);
    run.findings = vec![Finding {
        cause: Cause::Baseline,
        ..caveat.clone()
    }];
    let page = shown(&run);
    assert!(
        page.contains("p50 918 us*   p90 2.37 ms   p95 2.84 ms   p99 3.78 ms   p99.9"),
        "{page}"
    );
    run.findings.push(caveat);
    let page = shown(&run);
    assert!(
        page.contains("p99 3.78 ms*"),
        "the other is about all: {page}"
    );
}

#[test]
fn no_line_is_longer_than_the_look_allows() {
    let mut runs = runs();
    runs.extend([("sweep", example::sweep()), ("search", search())]);
    for (name, mut run) in runs {
        for point in &mut run.points {
            point.rounds.iter_mut().for_each(|each| each.partial = true);
        }
        for width in [60, 80, 100, 120] {
            for detail in [Detail::Quiet, Detail::Brief, Detail::Full] {
                let page = shown_at(detail, "text", std::slice::from_ref(&run), width);
                for line in page.lines() {
                    let is_one_word = !line.trim().contains(' '); // a URL is not broken
                    let wide = line.chars().count();
                    assert!(is_one_word || wide <= width, "{name} at {width}: {line}");
                }
            }
        }
    }
}

#[test]
fn what_was_required_is_told_for_people_for_pull_requests_and_for_build_servers() {
    let mut run = example::ok();
    run.findings = findings("ok");
    let judged = |text: &str, verdict: Compliance, sentence: &str| Judged {
        text: text.into(),
        point: None,
        verdict,
        sentence: sentence.into(),
    };
    run.requirements = vec![
        judged(
            "errors<=1%",
            Compliance::Met,
            "errors are 0 of 24,460 requests (0 %)",
        ),
        judged(
            "p99<5ms",
            Compliance::Met,
            "p99 is 3.90 ms to 3.95 ms (95 % interval over 5 rounds)",
        ),
        judged(
            "rps>5k",
            Compliance::NotMet,
            "rps is 4,880 to 4,904 (95 % interval over 5 rounds)",
        ),
        judged(
            "p99.99<9ms",
            Compliance::CannotTell,
            "p99.99 takes 100,000 requests, and there are 24,460",
        ),
    ];
    run.exit = Some(Exit::new(Exit::NO, run.requirements[2].reason()));
    for (format, ending) in [("text", "txt"), ("markdown", "md"), ("junit", "xml")] {
        let runs = std::slice::from_ref(&run);
        check(&format!("required.{ending}"), &shown(format, runs, 80));
    }
}

#[test]
fn several_runs_follow_one_another() {
    let runs: Vec<Run> = runs().into_iter().take(2).map(|(_, run)| run).collect();
    check("several.txt", &shown("text", &runs, 80));
}

#[test]
fn csv_is_what_it_was() {
    let runs: Vec<Run> = runs().into_iter().map(|(_, run)| run).collect();
    check("all.csv", &shown("csv", &runs, 80));
}

#[test]
fn json_is_the_saved_record() {
    let folder = tempfile::tempdir().unwrap();
    for (name, run) in runs() {
        let path = folder.path().join(name);
        let journal = record::Journal::create(&path, &run).unwrap();
        let saved = std::fs::read_to_string(journal.finish(&run).unwrap()).unwrap();
        assert!(
            shown("json", std::slice::from_ref(&run), 80) == saved,
            "{name}"
        );
        if name == "few_samples" {
            check("few_samples.json", &saved);
        }
    }
}

#[test]
fn a_record_that_was_saved_and_read_prints_the_same_bytes_again() {
    let folder = tempfile::tempdir().unwrap();
    for (name, run) in runs() {
        let path = folder.path().join(name);
        let journal = record::Journal::create(&path, &run).unwrap();
        let read = record::load(&journal.finish(&run).unwrap()).unwrap();
        for format in report::FORMATS {
            let (once, again) = (
                shown(format.name, std::slice::from_ref(&run), 100),
                shown(format.name, std::slice::from_ref(&read), 100),
            );
            assert!(once == again, "{name} as {}:\n{once}\n{again}", format.name);
        }
    }
}

#[test]
fn the_plan_is_shown_whole() {
    let run = example::ok();
    check("plan.txt", &report::plan_text(&run.plan, &Look::default()));
}

/// A search for the highest rate: the first rate holds, the second is too slow, the third is not sustained.
fn search() -> Run {
    let mut run = example::open_loop();
    run.plan.slo = Some("p99<10ms".parse().unwrap());
    run.plan.sweep = Some(Sweep {
        axes: vec![Axis::Rate(Vec::new())],
        ..Sweep::default()
    });
    let sound = run.points.remove(0);
    for (rate, slower, share) in [(1_000, 1, 1.0), (1_500, 9, 1.0), (2_000, 1, 0.982)] {
        let mut point = sound.clone();
        point.level.load = point.level.load.with_rate(Rate::per_second(rate));
        for round in &mut point.rounds {
            let slow = round.tally.latency().quantile(0.99).unwrap() * slower;
            let many = round.tally.ok / 20;
            let open = round.tally.open.as_mut().unwrap();
            open.response.record_n(slow, many);
            let due = rate as f64 * round.window.span().as_secs_f64();
            round.tally.scheduled = due as u64;
            round.tally.ok_in_window = (due * share) as u64;
        }
        run.points.push(point);
    }
    run.summarise();
    run
}

#[test]
fn a_sweep_chooses_columns_by_the_width_and_says_why_a_rate_fails() {
    let runs = [example::sweep()];
    check("sweep.txt", &shown_at(Detail::Brief, "text", &runs, 80));
    check(
        "search.txt",
        &shown_at(Detail::Brief, "text", &[search()], 80),
    );
    let look = Look {
        is_wide: true,
        ..Look::default()
    };
    check(
        "sweep.wide.txt",
        &(format("text").unwrap().render)(&runs, &look),
    );
}

#[test]
fn no_row_of_a_sweep_is_broken_and_a_wider_terminal_shows_no_less() {
    for run in [example::sweep(), search()] {
        let mut before = 0;
        for width in 70..200 {
            let look = Look {
                width,
                ..Look::default()
            };
            let head = report::sweep::head(&run, &look);
            let titles = head.lines().last().unwrap();
            assert!(titles.len() <= width, "{titles}");
            let columns = titles.split_whitespace().count();
            assert!(columns >= before, "{titles}");
            before = columns;
            for point in 0..run.points.len() {
                let line = report::sweep::line(&run, point, &[], &look);
                assert_eq!(line.lines().count(), 1, "{line}");
                assert!(line.trim_end().len() <= width, "{line}");
            }
        }
    }
}
