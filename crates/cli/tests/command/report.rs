//! A record says the same again, in every form.

use crate::bench::{Bench, Record, Reference, Said};
use std::fs;

#[test]
fn report_prints_what_the_run_printed_byte_for_byte() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let at = server.at();
    let lines = [
        format!("{at}/100.html -n 300 --rounds 5 --warmup 10ms"),
        format!("{at}/100.html -d 100ms --rounds 2 -c 3 -t 2 --no-keepalive --connect lazy"),
        format!("{at}/none -n 30 --rounds 1 --keep-going"),
        format!("{at}/100.html {at}/0.html?{{seq}} -n 1200 --rounds 1 --pipeline 4 -X HEAD"),
        format!("{at}/100.html -n 1 --rounds 1 --user a:b"),
    ];
    for line in &lines {
        let (said, _) = bench.run(line);
        let again = bench.say("report -v run.json");
        assert_eq!(
            (&again.out, again.status),
            (&said.out, said.status),
            "{line}"
        );
        assert_eq!(again.err.is_empty(), said.status == Some(0), "{line}");
    }
}

#[test]
fn json_on_standard_output_is_the_file_and_the_report_of_it() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (said, record) = bench.run(&format!("{}/100.html -n 50 --rounds 2 --json", server.at()));
    said.ended(0);
    assert_eq!(Record::parse(said.out.as_bytes()), record);
    assert_eq!(
        said.out,
        fs::read_to_string(bench.path("run.json")).unwrap()
    );
    let again = bench.say("report run.json --format json");
    assert_eq!(again.ended(0).out, said.out);
}

#[test]
fn csv_of_rounds_has_a_row_a_round_with_the_records_counts() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (_, record) = bench.run(&format!("{}/100.html -n 50 --rounds 3", server.at()));
    let said = bench.say("report run.json --format csv");
    let mut lines: Vec<&str> = said.ended(0).out.lines().collect();
    let point = lines.remove(1);
    assert!(point.contains(",150,0,"), "{point}");
    assert_eq!(lines.len(), 1 + record.rounds().len());
    let names: Vec<&str> = lines[0].split(',').collect();
    let column = |name: &str| names.iter().position(|column| *column == name).unwrap();
    for (number, line) in lines[1..].iter().enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), names.len(), "{line}");
        assert_eq!(cells[column("round")], (number + 1).to_string());
        assert_eq!((cells[column("ok")], cells[column("errors")]), ("50", "0"));
    }
}

#[test]
fn csv_has_a_row_a_point_and_a_round_of_every_record() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let at = server.at();
    let line =
        format!("sweep http://{at}/100.html {at}/0.html -c 1,3,2 -n 20 --rounds 2 -o s.json");
    bench.say(&line).ended(0);
    let said = bench.say("report s.json s.json --format csv");
    let rows: Vec<Vec<&str>> = said
        .ended(0)
        .out
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let of = |row: &Vec<&str>, names: [&str; 5]| names.map(|name| row[column(name)].to_owned());
    let shown: Vec<[String; 5]> = rows[1..]
        .iter()
        .map(|row| of(row, ["record", "connections", "request", "round", "ok"]))
        .collect();
    let mut wanted = Vec::new();
    for record in ["1", "2"] {
        for connections in ["1", "3", "2"] {
            for (request, round, ok) in [
                ("", "", "40"),
                ("/100.html", "", "20"),
                ("/0.html", "", "20"),
                ("", "1", "20"),
                ("", "2", "20"),
            ] {
                wanted.push([record, connections, request, round, ok].map(str::to_owned));
            }
        }
    }
    assert_eq!(shown, wanted);
    let json = bench.say("report s.json s.json --format json");
    let runs: Vec<Record> = json
        .ended(0)
        .out
        .lines()
        .map(|line| Record::parse(line.as_bytes()))
        .collect();
    assert_eq!(runs.len(), 2);
}

#[test]
fn any_percentile_can_be_asked_for_when_measuring_and_afterwards() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "{}/100.html -n 1k --rounds 1 --percentiles 75,12.5",
        server.at()
    );
    let (said, record) = bench.run(&line);
    let names = |text: &str, all: [&str; 3]| {
        let figures = text.split("\nreliability").next().unwrap();
        let figures = figures.split("\ncaveat").next().unwrap(); // whose sentences may name any
        all.map(|name| figures.contains(&format!("  {name} ")))
    };
    let asked = ["p12.5", "p75", "p90"];
    assert_eq!(names(&said.out, asked), [true, true, false], "{}", said.out);
    for key in ["p12.5", "p50", "p99"] {
        let value = record.at(&format!("/summary/latency_us/{key}")); // scripts rely on the usual ones
        let may_be_withheld = key == "p99"; // where slow samples come together
        assert!(value.is_f64() || may_be_withheld, "{key}: {value}");
    }
    let csv = bench.say("report run.json --format csv").out;
    assert!(
        csv.contains("latency_p12.5_us,latency_p75_us,latency_max_us"),
        "{csv}"
    );
    for detail in ["-q", "", "-v"] {
        let again = bench.say(&format!("report run.json {detail} --percentiles 90"));
        let shown = names(&again.ended(0).out, asked);
        assert_eq!(shown, [false, false, true], "{}", again.out);
    }
    bench
        .say("report run.json --percentiles 101")
        .refused(&["--percentiles", "101"]);
}

#[test]
fn several_records_are_printed_one_after_the_other_and_the_latest_without_a_name() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    bench.run(&format!("{}/100.html -n 11 --rounds 1", server.at()));
    let unnamed = bench.say(&format!("run -v {}/0.html -n 12 --rounds 1", server.at()));
    let both = bench.say("report -v run.json run.json");
    assert_eq!(
        both.ended(0).out.matches("11 ok").count(),
        2,
        "{}",
        both.out
    );
    let latest = bench.say("report -v");
    assert_eq!(latest.ended(0).out, unnamed.out);
    assert!(unnamed.err.contains("saved #2"), "{}", unnamed.err);
}

#[test]
fn what_is_no_record_is_refused_with_its_name() {
    let bench = Bench::new();
    bench.file("text", "hello");
    bench.file("empty", "");
    bench.file("json", "{}");
    bench.file("newer", "{\"schema\":99}");
    for (file, words) in [
        ("none", "no saved record `none`"),
        ("text", "text is not a record of weigh"),
        ("empty", "empty is not a record of weigh"),
        ("json", "json is not a record of weigh"),
        ("newer", "newer has schema 99, which a later version"),
        (".", ". cannot be read"),
    ] {
        bench.say(&format!("report {file}")).refused(&[words]);
    }
    bench.say("report").refused(&["there is no record yet"]);
    bench.say("report --format xml text").refused(&[
        "--format",
        "'xml'",
        "text, json, markdown, junit, csv",
    ]);
}

#[test]
fn every_cut_of_a_record_is_refused_and_none_panics() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    bench.run(&format!("{}/100.html -n 5 --rounds 1", server.at()));
    let whole = fs::read(bench.path("run.json")).unwrap();
    for part in 1..20 {
        bench.file("cut", &whole[..whole.len() * part / 20]);
        bench
            .say("report cut")
            .refused(&["cut is not a record of weigh, or damaged"]);
    }
}

#[test]
fn a_missing_file_costs_none_of_the_others() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    bench.run(&format!("{}/100.html -n 11 --rounds 1", server.at()));
    bench.file("text", "hello");
    let said = bench.say("report -v none run.json text run.json");
    said.ended(2);
    assert_eq!(said.out.matches("11 ok").count(), 2, "{said:#?}");
    for words in ["no saved record `none`", "text is not a record of weigh"] {
        assert!(said.err.contains(words), "{words}: {said:#?}");
    }
    bench
        .say("report none text")
        .refused(&["no saved record `none`", "text is not"]);
}

#[test]
fn a_record_is_read_from_standard_input() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (ran, _) = bench.run(&format!("{}/100.html -n 11 --rounds 1", server.at()));
    let from = |file: &str| {
        let mut command = bench.weigh(&["report", "-v", "-"]);
        command.stdin(fs::File::open(bench.path(file)).unwrap());
        Said::of(command.spawn().unwrap())
    };
    assert_eq!(from("run.json").ended(0).out, ran.out);
    bench.file("text", "hello");
    from("text").refused(&["standard input is not a record of weigh"]);
}
