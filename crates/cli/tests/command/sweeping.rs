//! `weigh sweep`: every round of every point is measured once, in the order that was asked for, and one that was killed
//! goes on where it stopped.

use crate::bench::{Bench, Record, Reference, Said, signal};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Child;

/// The values of `path` in each point, in order.
fn of_points(record: &Record, path: &str) -> Vec<Value> {
    let points = record.at("/points").as_array().unwrap();
    points
        .iter()
        .map(|point| point.pointer(path).cloned().unwrap_or(Value::Null))
        .collect()
}

/// All rounds of all points.
fn rounds(record: &Record) -> Vec<&Value> {
    let points = record.at("/points").as_array().unwrap();
    points
        .iter()
        .flat_map(|point| point["rounds"].as_array().unwrap())
        .collect()
}

/// The lines of points, which come after the headings: their first cells.
fn lines(said: &str) -> Vec<&str> {
    said.lines()
        .skip_while(|line| !line.contains("requests/s  "))
        .take_while(|line| !line.starts_with("whole sweep"))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
        .collect()
}

#[test]
fn every_point_is_measured_exactly_in_the_order_that_was_asked_for_and_the_server_saw_each_request()
{
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let mut sent = 0;
    let cases: &[(&str, Option<[&str; 4]>)] = &[
        ("", Some(["1", "10", "20", "30"])),
        ("--order down", Some(["30", "20", "10", "1"])),
        ("--interleaved", Some(["1", "10", "20", "30"])),
        ("--interleaved --order shuffled --seed 5", None),
    ];
    for (number, (rest, order)) in cases.iter().enumerate() {
        let file = format!("sweep{number}.json");
        let line = format!(
            "sweep http://{}/100.html -c 1..30:10 -n 61 --rounds 2 -o {file} {rest}",
            server.at()
        );
        let said = bench.say(&line);
        let record = bench.record(&file);
        let said = said.ended(0);
        let shown = lines(&said.out);
        match order {
            Some(order) => assert_eq!(shown, *order, "{rest}: {}", said.out),
            None => assert_eq!(
                shown.iter().copied().collect::<BTreeSet<_>>().len(),
                4,
                "{}",
                said.out
            ),
        }
        let connections = of_points(&record, "/load/closed/connections");
        assert_eq!(connections, [1, 10, 20, 30].map(Value::from));
        assert_eq!(of_points(&record, "/summary/ok"), [122; 4].map(Value::from));
        assert_eq!(record.count("/curve/requests"), 488);
        assert_eq!(record.count("/curve/ok"), 488);
        assert_eq!(record.count("/sent_total/measure"), 488);
        sent += record.sent();
        let again = bench.say(&format!("report {file}"));
        assert_eq!(lines(&again.ended(0).out), ["1", "10", "20", "30"]);
    }
    assert_eq!(server.stop().requests(), sent);
}

#[test]
fn rates_threads_and_pipelines_are_swept_by_the_same_grammar_and_combined() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "sweep http://{}/100.html --rate 1k..2k:1k -n 50 --rounds 1 -o rate.json -t 1,2 -c 10",
        server.at()
    );
    bench.say(&line).ended(0);
    let record = bench.record("rate.json");
    let rates = of_points(&record, "/load/open/rate");
    assert_eq!(rates, [1e3, 2e3, 1e3, 2e3].map(Value::from));
    assert_eq!(
        of_points(&record, "/threads"),
        [1, 1, 2, 2].map(Value::from)
    );
    let threads: Vec<usize> = rounds(&record)
        .iter()
        .map(|round| round["threads"].as_array().unwrap().len())
        .collect();
    assert_eq!(threads, [1, 1, 2, 2]);
    let line = format!(
        "sweep http://{}/100.html -c 2 --pipeline 1..4*2 -n 64 --rounds 1 -o deep.json",
        server.at()
    );
    bench.say(&line).ended(0);
    let record = bench.record("deep.json");
    assert_eq!(of_points(&record, "/pipeline"), [1, 2, 4].map(Value::from));
    assert_eq!(of_points(&record, "/summary/ok"), [64; 3].map(Value::from));
}

#[test]
fn responses_are_as_large_as_the_sizes_of_the_sweep() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "sweep http://{}/bytes/{{size}}?{{seq}} --size 100,1k,70k,1m -c 2 -n 20 --rounds 2 --wide -o sizes.json",
        server.at()
    );
    let said = bench.say(&line);
    let out = &said.ended(0).out;
    let heading = out
        .lines()
        .find(|line| line.contains("requests/s"))
        .unwrap();
    assert!(
        heading.trim_start().starts_with("size") && heading.contains("received/s"),
        "{out}"
    );
    assert!(out.contains("1,000,000 "), "{out}");
    let record = bench.record("sizes.json");
    assert_eq!(
        of_points(&record, "/size"),
        [100, 1_000, 70_000, 1_000_000].map(Value::from)
    );
    assert_eq!(of_points(&record, "/summary/ok"), [40; 4].map(Value::from));
    let received = of_points(&record, "/summary/bytes_received");
    let heads = received
        .iter()
        .zip([100u64, 1_000, 70_000, 1_000_000])
        .map(|(received, size)| {
            let head = received.as_u64().unwrap() / 40 - size;
            head - size.to_string().len() as u64
        });
    let heads: Vec<u64> = heads.collect();
    assert!(
        heads
            .iter()
            .all(|head| *head == heads[0] && (80..200).contains(head)),
        "{heads:?}"
    );
    assert_eq!(server.stop().requests(), 4 * 40 + 1);
}

#[test]
fn a_server_is_started_anew_for_each_number_of_workers() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let at = server.at().to_owned();
    server.stop(); // its port is free now
    let script = format!(
        "echo {{workers}} >> starts; exec {} serve --listen {at} --workers {{workers}}",
        env!("CARGO_BIN_EXE_weigh")
    );
    let url = format!("{at}/100.html");
    let args = [
        "sweep",
        &url,
        "-c",
        "4",
        "--workers",
        "1,3,2",
        "-n",
        "40",
        "--rounds",
        "2",
        "-o",
        "w.json",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let said = bench.say_words(&args);
    assert_eq!(lines(&said.ended(0).out), ["1", "3", "2"]);
    assert_eq!(
        fs::read_to_string(bench.path("starts")).unwrap(),
        "1\n3\n2\n1\n3\n2\n",
        "half of the rounds of each, then the other half"
    );
    let record = bench.record("w.json");
    assert_eq!(of_points(&record, "/workers"), [1, 3, 2].map(Value::from));
    assert_eq!(of_points(&record, "/summary/ok"), [80; 3].map(Value::from));
}

/// What a sweep said that got signals when the line of its second point had come.
fn stopped<'a>(bench: &Bench, line: &str, names: impl IntoIterator<Item = &'a str>) -> Said {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut child: Child = bench.weigh(&words).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let is_second = |line: &String| line.split_whitespace().next() == Some("2");
    let second = out.lines().map_while(Result::ok).find(is_second);
    assert!(second.is_some(), "its second point was told");
    for name in names {
        signal(name, child.id());
    }
    Said::of(child)
}

#[test]
fn an_interrupted_sweep_says_how_to_go_on_with_it() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "sweep http://{}/100.html -c 1,2,3 --rate 200 -d 250ms --warmup 0s --rounds 2 -o s.json",
        server.at()
    );
    let said = stopped(&bench, &line, ["INT"]);
    said.ended(130);
    let told = said
        .err
        .lines()
        .find_map(|line| line.strip_prefix("continue with: weigh "));
    let resumed = bench.say(told.unwrap_or_else(|| panic!("{said:#?}")));
    assert!(
        !resumed.ended(0).err.contains("continue with"),
        "{resumed:#?}"
    );
    assert_eq!(rounds(&bench.record("s.json")).len(), 6);

    let secret = line.replace("s.json", "secret.json --user me:secret");
    let said = stopped(&bench, &secret, ["INT"; 20]);
    assert!(
        said.err
            .contains("continue with: the same command with --resume "),
        "{said:#?}"
    );
}

#[test]
fn a_sweep_that_was_killed_goes_on_where_it_stopped_and_keeps_what_it_had() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    // The last points take their time, so that it cannot be over before it is killed.
    let line = format!(
        "sweep http://{}/100.html -c 1,2,3,4 --rate 200 -d 250ms --warmup 0s --rounds 2 -o s.json \
         --name night",
        server.at()
    );
    let refused = line.replace("100.html", "none.html");
    bench.say(&refused).refused(&["status 404"]);
    let killed = stopped(&bench, &line, ["KILL"]);
    assert_eq!(killed.status, None);
    assert!(!bench.path("s.json").exists());
    let row = || {
        let listed = bench.say("list").ended(0).out.clone();
        assert_eq!(listed.lines().count(), 2, "one record: {listed}");
        listed.lines().last().unwrap().to_owned()
    };
    assert!(
        row().starts_with("1  ") && row().contains(" unfinished "),
        "{}",
        row()
    );
    let known = ["report 1", "report night", "report"].map(|line| bench.say(line));
    for said in known {
        assert!(said.ended(0).out.contains("PARTIAL"), "{said:#?}");
    }
    let before = Record::parse(
        bench
            .say("report s.json --format json")
            .ended(0)
            .out
            .as_bytes(),
    );
    let kept: Vec<Value> = rounds(&before).into_iter().cloned().collect();
    assert!(kept.len() >= 4 && kept.len() < 8, "{}", kept.len());
    assert_eq!(before.at("/interrupted"), true);

    let other = line
        .replace("250ms", "240ms")
        .replace("-o s.json", "--resume s.json");
    bench
        .say(&other)
        .refused(&["the plan is not what it was", "s.json"]);

    let said = bench.say("sweep --resume night --percentiles 50,75");
    assert!(said.err.contains("saved #1"), "{said:#?}");
    assert!(
        !row().contains("unfinished") && row().contains(" night "),
        "{}",
        row()
    );
    assert_eq!(
        lines(&said.ended(0).out),
        ["1", "2", "3", "4"],
        "{}",
        said.out
    );
    let after = bench.record("s.json");
    assert!(!bench.path("s.json.journal").exists());
    assert_eq!(after.at("/interrupted"), false);
    assert_eq!(after.at("/resumed_unix").as_array().unwrap().len(), 1);
    let all = rounds(&after);
    assert_eq!(all.len(), 8);
    for round in &kept {
        assert!(
            all.contains(&round),
            "a round that was measured is kept as it is"
        );
    }
    bench
        .say("sweep --resume s.json")
        .refused(&["has every round of its plan already"]);
}

/// Makes of a finished sweep one that was stopped after its first point, in a way that its sums agree with.
fn keep_first_point(run: &mut Value) {
    run["points"].as_array_mut().unwrap().truncate(1);
    run.as_object_mut().unwrap().remove("curve");
    for phase in ["warmup", "measure"] {
        let rounds = run["points"][0]["rounds"].as_array().unwrap();
        let sent = |round: &Value| round["sent_total"][phase].as_u64().unwrap();
        let sum: u64 = rounds.iter().map(sent).sum();
        run["sent_total"][phase] = json!(sum);
    }
}

#[test]
fn a_sweep_does_not_go_on_on_another_machine_nor_without_what_it_lacks() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "sweep http://{}/100.html -c 1,2 -n 20 --rounds 1 -o s.json --user me:secret",
        server.at()
    );
    bench.say(&line).ended(0);
    let path = bench.path("s.json");
    let mut run: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    keep_first_point(&mut run);
    fs::write(&path, run.to_string()).unwrap();
    bench
        .say("sweep --resume s.json")
        .refused(&["does not hold the credentials", "whole command"]);
    let again = line.replace("-o s.json", "--resume s.json");
    bench.say(&again).ended(0);
    let record = bench.record("s.json");
    assert_eq!(of_points(&record, "/summary/ok"), [20; 2].map(Value::from));
    run["machine"]["kernel"] = json!("0.99");
    fs::write(&path, run.to_string()).unwrap();
    bench
        .say(&again)
        .refused(&["the kernel is not what it was"]);
}

#[test]
fn a_sweep_that_goes_on_by_its_record_takes_no_other_settings() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "sweep http://{}/100.html -c 1,2 -n 20 --rounds 1 -o s.json",
        server.at()
    );
    bench.say(&line).ended(0);
    for flag in ["--rounds 5", "-n 40", "--interleaved", "--spin never"] {
        let said = bench.say(&format!("sweep --resume s.json {flag}"));
        let name = flag.split(' ').next().unwrap().replace("-n", "--requests");
        let said = said.ended(2);
        assert!(
            said.err.contains(&name) && said.err.contains("remove that"),
            "{}",
            said.err
        );
    }
    let before = bench.record("s.json");
    for path in [
        "s.json",
        "./s.json",
        &bench.path("s.json").to_string_lossy(),
    ] {
        bench
            .say(&format!("sweep --resume s.json --markdown {path}"))
            .refused(&["--markdown and --output both name"]);
    }
    assert_eq!(
        bench.record("s.json").0,
        before.0,
        "the record is untouched"
    );
    let other = format!(
        "run {} -n 5 --rounds 1 -o r.json --markdown s.json",
        server.at()
    );
    bench.say(&other).refused(&["that is a record of weigh"]);
    fs::copy(bench.path("s.json"), bench.path("s.svg")).unwrap();
    bench
        .say("report s.svg --chart s.svg")
        .refused(&["that is a record of weigh"]);
    for name in ["s.json", "s.svg"] {
        assert_eq!(bench.record(name).0, before.0, "{name}");
    }

    bench
        .say("sweep --resume s.json --quiet")
        .refused(&["has every round of its plan already"]);
}

#[test]
fn more_connections_than_requests_are_told_before_the_load() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let at = server.at().to_owned();
    let line = format!("sweep http://{at}/100.html -c 1,50,100 -n 20 --rounds 1 -o s.json");
    let said = bench.say(&line);
    let said = said.ended(0);
    let told = "at 2 of 3 points, --connections 100 is more than a round has requests for: only 20 will be opened";
    assert!(said.err.contains(told), "{}", said.err);
    let said = bench.say(&format!("{line} --quiet"));
    let said = said.ended(0);
    assert!(!said.err.contains("will be opened"), "{}", said.err);
}

#[test]
fn a_search_is_refused_where_its_rounds_could_not_tell() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let at = server.at().to_owned();
    let line = format!("sweep http://{at}/ --slo p99.9<10ms --rate 100..800*2 -d 1s");
    let said = bench.say(&line);
    let said = said.ended(2);
    assert!(
        said.err.contains("needs 10,000 requests at each rate") && said.err.contains("--duration"),
        "{}",
        said.err
    );
}

#[test]
fn what_cannot_be_swept_is_refused_with_the_remedy_before_anything_is_asked() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let cases: &[(&str, &[&str])] = &[
        ("sweep @", &["nothing differs", "--connections 1..1000:10"]),
        ("sweep @ -c 5", &["nothing differs"]),
        ("sweep @ -c 1..10", &["--connections", "has no step"]),
        ("sweep @ -c 10..1:1", &["--connections", "is not a range"]),
        ("sweep @ -c 1,2,1", &["--connections", "twice"]),
        (
            "sweep @ -c 0,5",
            &["at 0 connections", "--connections is 0"],
        ),
        (
            "sweep @ -c 1..10:1 --rounds 10k",
            &["10 points", "--rounds 10000"],
        ),
        (
            "sweep @ --rate 1k..3k:1k -c 1..90001:1",
            &["--connections", "more than 10,000"],
        ),
        (
            "sweep @ -c 5 --workers 1,2",
            &["--workers needs a server that weigh starts"],
        ),
        (
            "sweep @ -c 1,2 -- true {workers}",
            &["{workers}", "--workers"],
        ),
        (
            "sweep @ -c 1..9000:1000 --rate 5 --pipeline 1,2",
            &["--pipeline contradicts --rate"],
        ),
        ("sweep @ -c 10,30k", &["--connections 30000", "open files"]),
        ("sweep @ --slo p99", &["--slo", "`p99` is not a condition"]),
        ("sweep @ --slo p99<5ms -c 1,2", &["--slo", "--rate"]),
        ("sweep --resume none.json", &["no saved record `none.json`"]),
        (
            "sweep @ -c 1,2 --resume x -o y",
            &["--resume", "cannot be used"],
        ),
        (
            "run @ -c 1,2",
            &["--connections has 2 values", "weigh sweep"],
        ),
        ("run @ --rate 1k..3k:1k", &["--rate has 3 values"]),
        ("run @ -- true {workers}", &["{workers}", "--workers"]),
        ("sweep @ --size 1,2", &["--size needs {size} in a URL"]),
        (
            "sweep @/{size} -c 1,2",
            &["a URL has {size} in it, and nothing says which sizes"],
        ),
        (
            "run @/{size}",
            &["a URL has {size} in it; `weigh sweep --size"],
        ),
        (
            "run @/{n:5..1}",
            &["`{n:5..1}` is no range; write {n:FROM..TO}"],
        ),
        ("sweep @/{n:1..2}/{n:x} -c 1,2", &["`{n:x}` is no range"]),
    ];
    for (line, words) in cases {
        let said = bench.say(&line.replace('@', server.at()));
        said.refused(words);
    }
    assert_eq!(server.stop().requests(), 0);
}

/// The server's one queue does 400 a second: twice of that cannot be sustained, however fast or slow anything else is.
#[test]
fn a_search_never_finds_more_than_the_server_can_do() {
    let bench = Bench::new();
    let server = Reference::with(
        &bench,
        &["127.0.0.1:0"],
        &["--truth", "--capacity", "400/s"],
    );
    let line = format!(
        "sweep http://{}/100.html --rate 50..1600*2 --slo p50<2s -d 250ms --warmup 0s --rounds 2 -o c.json",
        server.at()
    );
    bench.say(&line).ended(0);
    let record = bench.record("c.json");
    let rates = of_points(&record, "/load/open/rate");
    let rates: Vec<f64> = rates.iter().map(|rate| rate.as_f64().unwrap()).collect();
    let capacity = record.at("/curve/capacity");
    let place = |name: &str| capacity[name].as_u64().unwrap() as usize;
    let (holds, fails) = (rates[place("holds")], rates[place("fails")]);
    assert!(holds < fails && fails <= 800.0, "{holds} {fails}");
    assert_eq!(capacity["is_soaked"], true);
    let long = record.at(&format!("/points/{}/rounds/0/window", place("holds")));
    let edge = |name: &str| long[name].as_u64().unwrap();
    assert_eq!(edge("end") - edge("start"), 2_500_000_000, "ten windows");
}

#[test]
fn a_sweep_is_drawn_when_it_ends_and_again_from_its_record() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let at = server.at();
    let line = format!("sweep {at}/0.html -c 1,2,4 -n 40 --rounds 2 -o a.json --chart a.svg");
    let said = bench.say(&line);
    assert!(said.ended(0).err.contains("chart   a.svg"), "{}", said.err);
    let drawn = fs::read_to_string(bench.path("a.svg")).unwrap();
    assert!(drawn.starts_with("<svg ") && drawn.contains("requests/s"));
    let again = bench.say("report a.json --chart b.svg");
    assert_eq!(again.ended(0).out, "");
    assert_eq!(fs::read_to_string(bench.path("b.svg")).unwrap(), drawn);
    bench.say("report a.json --chart c.PNG").ended(0);
    assert!(
        fs::read(bench.path("c.PNG"))
            .unwrap()
            .starts_with(b"\x89PNG")
    );
    let two = bench.say("report a.json a.json --chart d.svg");
    two.refused(&["--chart takes one record at a time"]);
}
