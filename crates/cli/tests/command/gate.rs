//! What is required of a result, and the exit status that says whether it is met; what ends a campaign early; what build
//! servers read.

use crate::bench::{Bench, Record, Reference, Said};
use crate::scripted::{OK, Scripted};
use crate::statuses::{assert_exit, fails_after};
use std::fs;

/// Requests of a run.
const REQUESTS: u64 = 1_000;

/// A run of 5 rounds against a server that delays each response by 5 ms, with these further words.
fn delayed(bench: &Bench, rest: &str) -> (Said, Record) {
    let server = Reference::with(bench, &["127.0.0.1:0"], &["--truth"]);
    bench.run(&format!(
        "{}/delay?law=constant&mean=5ms&id={{seq}} -c 8 -n 200 --rounds 5 --server none {rest}",
        server.at()
    ))
}

/// What is required, the exit status that it gives, and the word for the verdict on the requirement that decides.
const REQUIRED: &[(&str, i32, &str)] = &[
    ("errors=0", 0, ""),
    ("errors<0.1%,errors.timeout<=0,status.200=1k", 0, ""),
    (
        "errors>0",
        1,
        "errors>0 is not met: errors are 0 of 1,000 requests (0 %)",
    ),
    (
        "status.404>=1",
        1,
        "status.404>=1 is not met: status.404 is 0 of 1,000 requests (0 %)",
    ),
    ("p50>100us", 0, ""),
    ("p50<1h,max<1h", 0, ""),
    ("p50<100us", 1, "p50<100us is not met: p50 is "),
    (
        "latency_us.p50<100",
        1,
        "latency_us.p50<100 is not met: latency_us.p50 is ",
    ),
    ("rps<100k", 0, ""),
    ("rps>100k", 1, "rps>100k is not met: rps is "),
    (
        "p99.9<1h",
        3,
        "p99.9<1h cannot be judged: p99.9 takes 10,000 requests, and there are 1,000",
    ),
    (
        "cpu_us_per_request<30",
        3,
        "cpu_us_per_request<30 cannot be judged: cpu_us_per_request was not measured: the server was not observed",
    ),
    ("rps>INSIDE", 3, "cannot be judged: rps is "),
    ("rps<=INSIDE", 3, ", and the bound is in it (exit status 3)"),
    ("p99.9<1h,errors=0,p50<100us", 1, "p50<100us is not met: "),
    ("errors=0,p99.9<1h,p50<1h", 3, "p99.9<1h cannot be judged: "),
];

#[test]
fn a_record_is_judged_by_what_is_required_of_it() {
    let bench = Bench::new();
    let (said, record) = delayed(&bench, "");
    said.ended(0);
    assert_eq!(record.count("/summary/ok"), REQUESTS);
    let end = |name: &str| record.at(&format!("/summary/rps/{name}")).as_f64().unwrap();
    let inside = format!("{:.3}", (end("low") * end("high")).sqrt());
    for (required, status, why) in REQUIRED {
        let required = required.replace("INSIDE", &inside);
        let said = bench.say_words(&["report", "run.json", "--require", &required]);
        said.ended(*status);
        let told: Vec<&str> = said.err.lines().collect();
        match status {
            0 => assert_eq!(told, [""; 0], "{required}"),
            _ => assert!(
                told.len() == 1 && told[0].contains(why),
                "{required}: {said:#?}"
            ),
        }
    }
}

#[test]
fn a_run_is_judged_and_its_record_holds_the_verdicts() {
    let bench = Bench::new();
    let (said, record) = delayed(
        &bench,
        "--require p50>100us,p99.9<1h --require errors=0 --strict",
    );
    let why = "p99.9<1h cannot be judged: p99.9 takes 10,000 requests, and there are 1,000";
    assert_exit(&said, 3, why);
    let judged = record.at("/requirements").as_array().unwrap();
    let words = |name: &str| -> Vec<&str> {
        judged
            .iter()
            .map(|each| each[name].as_str().unwrap())
            .collect()
    };
    assert_eq!(
        words("text"),
        ["reliable", "p50>100us", "p99.9<1h", "errors=0"]
    );
    assert_eq!(words("verdict")[1..], ["met", "cannot_tell", "met"]);
    assert_eq!(words("sentence")[3], "errors are 0 of 1,000 requests (0 %)");
    assert_eq!(record.at("/plan/requirements/1"), "p99.9<1h");
    assert!(
        said.out.contains("p99.9<1h") && said.out.contains("cannot tell"),
        "{}",
        said.out
    );
}

#[test]
fn a_sweep_is_judged_at_each_point() {
    let bench = Bench::new();
    let server = fails_after(1 + 100 + 90);
    let said = bench.say(&format!(
        "sweep {} -c 1,2 -n 100 --rounds 1 -o s.json --require errors<5%,requests=100",
        server.at()
    ));
    let why = "errors<5% is not met: at 2 connections, errors are 10 of 100 requests (10 %)";
    assert_exit(&said, 1, why);
    let told = "at 2 connections, errors are 10 of 100 requests (10 %)";
    assert_eq!(said.out.matches(told).count(), 1, "{}", said.out);
    let record = bench.record("s.json");
    let verdict = |index: usize| record.at(&format!("/requirements/{index}/verdict")).clone();
    assert_eq!([0, 1, 2, 3].map(verdict), ["met", "met", "not_met", "met"]);
}

#[test]
fn what_is_no_requirement_is_refused_before_the_load() {
    let bench = Bench::new();
    for (flag, text, why) in [
        (
            "--require",
            "p99",
            "`p99` is not a requirement; write such as p99<20ms",
        ),
        (
            "--require",
            "p99<20",
            "--require `p99<20`: p99 is a time, and 20 has no unit; write such as p99<20ms",
        ),
        (
            "--require",
            "p99<20ms,eror<1",
            "no figure is called `eror`; did you mean `errors`?",
        ),
        (
            "--require",
            "bytes_received>1%",
            "--require `bytes_received>1%`: bytes_received is a size, and 1% is not; write such as bytes_received>20MiB",
        ),
        (
            "--require",
            "target<5",
            "--require `target<5`: target is text, which cannot be compared; require a number, such as p99<20ms",
        ),
        ("--abort-if", "reliable", "--abort-if reliable"),
        (
            "--abort-if",
            "rps<2ms",
            "--abort-if `rps<2ms`: rps is a rate, and 2ms is not; write such as rps<10k",
        ),
    ] {
        let words = ["run", "127.0.0.1:1/", flag, text];
        bench.say_words(&words).refused(&[why]);
    }
    let words = ["report", "none.json", "--require", "p99<20"];
    bench
        .say_words(&words)
        .refused(&["--require `p99<20`: p99 is a time"]);
}

/// A server whose every second response is a 500, the first a 200.
fn second_fails() -> Scripted {
    Scripted::start(|line| {
        let mut turn = 0;
        while line.request().is_some() {
            turn += 1;
            let bad: &[u8] = b"HTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n";
            line.say(if turn % 2 == 0 { bad } else { OK });
        }
    })
}

#[test]
fn a_condition_ends_the_campaign_early() {
    let bench = Bench::new();
    let server = second_fails();
    let load = format!("{}/ -c 2 -d 60s --rounds 3 --max-errors 100%", server.at());
    for (condition, why) in [
        ("errors>20%", "errors>20% is met: errors are "),
        ("errors>=7", "errors>=7 is met: "),
    ] {
        let (said, record) = bench.run(&format!("{load} --abort-if {condition}"));
        said.ended(1);
        assert!(
            said.err.contains(&format!("weigh: --abort-if {why}")),
            "{said:#?}"
        );
        assert_eq!(record.at("/interrupted"), true);
        assert!(record.at("/aborted").as_str().unwrap().contains(why));
        assert_eq!(record.at("/points/0/rounds").as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_condition_on_any_figure_ends_the_campaign_after_a_round() {
    let bench = Bench::new();
    let (said, record) = delayed(&bench, "--abort-if max>100us");
    said.ended(1);
    assert!(
        said.err
            .contains("weigh: --abort-if max>100us is met: max is "),
        "{said:#?}"
    );
    assert_eq!(record.at("/points/0/rounds").as_array().unwrap().len(), 1);
    assert_eq!(record.count("/summary/ok"), 200);
}

#[test]
fn nothing_but_errors_ends_the_campaign_unless_it_is_to_keep_going() {
    let bench = Bench::new();
    let server = fails_after(1);
    let load = format!("{}/ -c 2 -d 1500ms --rounds 2", server.at());
    let (said, record) = bench.run(&load);
    said.ended(1);
    let why = "weigh: nothing but errors in the first second, ";
    assert!(said.err.contains(why), "{said:#?}");
    assert_eq!(record.at("/points/0/rounds").as_array().unwrap().len(), 1);
    let (said, record) = bench.run(&format!("{load} --keep-going"));
    said.ended(1);
    assert!(said.err.contains("weigh: nothing ended ok: "), "{said:#?}");
    assert_eq!(record.at("/points/0/rounds").as_array().unwrap().len(), 2);
}

#[test]
fn build_servers_get_their_files() {
    let bench = Bench::new();
    let (said, _) = delayed(&bench, "--require p50<100us --junit j.xml --markdown m.md");
    said.ended(1);
    let junit = fs::read_to_string(bench.path("j.xml")).unwrap();
    assert!(
        junit.contains("tests=\"3\" failures=\"1\" errors=\"0\""),
        "{junit}"
    );
    assert!(
        junit.contains("<failure message=\"p50&lt;100us is not met: p50 is "),
        "{junit}"
    );
    let markdown = fs::read_to_string(bench.path("m.md")).unwrap();
    assert!(
        markdown.contains("| p50\\<100us | **not met** |"),
        "{markdown}"
    );
    for (format, wanted) in [("junit", junit), ("markdown", markdown)] {
        let again = bench.say(&format!("report run.json --format {format}"));
        assert_eq!(again.ended(1).out, wanted);
    }
    let none = bench.say("run 127.0.0.1:1/ --junit nowhere/j.xml");
    none.refused(&["--junit nowhere/j.xml: there is no folder nowhere"]);
}

#[test]
fn a_file_for_build_servers_says_how_the_last_command_ended() {
    let bench = Bench::new();
    let content = |name: &str| fs::read_to_string(bench.path(name)).unwrap();
    for name in ["j.xml", "m.md", "c.svg"] {
        fs::write(bench.path(name), "of an earlier command").unwrap();
    }
    std::os::unix::fs::symlink("m.md", bench.path("link.md")).unwrap();
    let files = "--junit j.xml --markdown link.md --chart c.svg";
    let refused = bench.say(&format!(
        "run 127.0.0.1:1/ --rate 0 {files} --require p99<1"
    ));
    refused.ended(2);
    let unreachable = format!("run 127.0.0.1:1/ {files}");
    bench
        .say(&unreachable)
        .refused(&["127.0.0.1:1 cannot be reached"]);
    let junit = content("j.xml");
    assert!(
        junit.contains("errors=\"1\"") && junit.contains("<error message=\"127.0.0.1:1 cannot be"),
        "{junit}"
    );
    let markdown = content("m.md");
    assert!(
        markdown.contains("**nothing was measured**: 127.0.0.1:1 cannot"),
        "{markdown}"
    );
    assert!(
        fs::symlink_metadata(bench.path("link.md"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(
        content("c.svg"),
        "of an earlier command",
        "a chart gives no verdict"
    );
}

#[test]
fn files_for_build_servers_are_files_and_not_what_is_printed_to() {
    let bench = Bench::new();
    let fifo = std::process::Command::new("mkfifo")
        .arg(bench.path("f"))
        .status();
    assert!(fifo.unwrap().success());
    let run = "run 127.0.0.1:1/ -n 5 --rounds 1";
    for (file, why) in [
        ("f", "--junit f: that is a pipe or a socket"),
        (
            "/dev/stdout",
            "--junit /dev/stdout: that is a pipe or a socket",
        ),
        ("/dev/full", "--junit /dev/full could not be written"),
    ] {
        let said = bench.say(&format!("{run} --junit {file}"));
        assert!(said.ended(2).err.contains(why), "{said:#?}");
    }
    for stream in ["> out.md", "2> out.md"] {
        for file in ["out.md", "./out.md", "/dev/stdout", "/dev/stderr"] {
            let line = format!("{run} --markdown {file}");
            bench
                .say_under(&format!("exec {stream}"), "", &line)
                .ended(2);
            let said = fs::read_to_string(bench.path("out.md")).unwrap();
            assert!(!said.contains("###"), "{said}");
        }
    }
}

#[test]
fn nothing_that_is_read_or_is_no_record_is_replaced() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let at = server.at();
    let inputs = [
        ("urls.txt", "/hello\n", "--urls urls.txt"),
        ("body.txt", "Hello, world!\n", "--expect @body.txt"),
        ("post.txt", "x", "--method PUT --body @post.txt"),
    ];
    for (name, content, option) in inputs {
        bench.file(name, content);
        let flag = option
            .split(' ')
            .find(|word| word.starts_with("--"))
            .unwrap();
        let flag = if flag == "--method" { "--body" } else { flag };
        for output in ["-o", "--markdown", "--junit"] {
            let long = if output == "-o" { "--output" } else { output };
            bench
                .say(&format!(
                    "run {at}/hello {option} -n 5 --rounds 1 {output} ./{name}"
                ))
                .refused(&[&format!("{long} and {flag} both name ./{name}")]);
        }
        assert_eq!(fs::read_to_string(bench.path(name)).unwrap(), content);
    }
    let run = format!("run {at}/hello -n 5 --rounds 1 -q");
    bench.file("notes.txt", "mine");
    bench
        .say(&format!("{run} -o notes.txt"))
        .refused(&["notes.txt is a file that is no record of weigh"]);
    bench.say(&format!("{run} --name one")).ended(0);
    let list = bench.path("state/weigh/records.ndjson");
    let before = fs::read(&list).unwrap();
    bench
        .say(&format!("{run} -o {}", list.display()))
        .refused(&["is a file that is no record of weigh"]);
    assert_eq!(fs::read(&list).unwrap(), before);
    let fifo = std::process::Command::new("mkfifo")
        .arg(bench.path("f"))
        .status();
    assert!(fifo.unwrap().success());
    bench
        .say(&format!("{run} -o f"))
        .refused(&["nothing reads from that pipe"]);
    assert_eq!(server.stop().requests(), 6, "the one run and its probe");
}

#[test]
fn the_newest_record_is_never_an_older_one() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let run = format!("run {}/hello -n 5 --rounds 1 -q", server.at());
    bench.say(&run).ended(0);
    bench.say(&format!("{run} -o new.json")).ended(0);
    bench.say("report --get requests").ended(0);
    fs::rename(bench.path("new.json"), bench.path("moved.json")).unwrap();
    bench
        .say("report --get requests")
        .refused(&["new.json, is gone; name another"]);
    bench
        .say("report nosuch")
        .refused(&["no file and no saved record `nosuch`"]);
}

#[test]
fn a_single_value_is_printed_bare_or_there_is_a_reason() {
    let bench = Bench::new();
    let (_, record) = delayed(&bench, "");
    let p50 = record.at("/summary/latency_us/p50").as_f64().unwrap();
    for name in ["latency_us.p50", "p50"] {
        let said = bench.say(&format!("report run.json --get {name}"));
        assert_eq!(said.ended(0).out, format!("{p50:.3}\n"));
    }
    assert_eq!(
        bench.say("report run.json --get errors").ended(0).out,
        "0\n"
    );
    for (name, status, why) in [
        (
            "p99.9",
            3,
            "p99.9 takes 10,000 requests, and there are 1,000",
        ),
        (
            "cpu_us_per_request",
            3,
            "cpu_us_per_request was not measured: the server was not observed",
        ),
        (
            "latncy_us.p50",
            2,
            "no figure is called `latncy_us.p50`; did you mean `latency_us.p50`?",
        ),
    ] {
        let said = bench.say(&format!("report run.json --get {name}"));
        assert_exit(&said, status, why);
        assert_eq!(said.out, "", "{name}");
    }
}

/// What is required of a record, the exit status that it gives, and the reason in it.
fn assert_required(bench: &Bench, cases: &[(&str, i32, &str)]) {
    for (required, status, why) in cases {
        let said = bench.say_words(&["report", "run.json", "--require", required]);
        said.ended(*status);
        assert!(said.err.contains(why), "{required}: {said:#?}");
    }
}

#[test]
fn figures_of_single_requests_can_be_required() {
    let bench = Bench::new();
    let server = Reference::with(&bench, &["127.0.0.1:0"], &["--truth"]);
    bench.file(
        "urls",
        "/delay?law=constant&mean=1ms&id=1\n/delay?law=constant&mean=2ms&id=2\n",
    );
    let load = "-c 2 -n 60 --rounds 3 --server none --urls urls";
    let (said, record) = bench.run(&format!("{} {load}", server.at()));
    said.ended(0);
    let few = "by_request.1.p99 takes 1,000 requests, and there are 90";
    let beyond =
        "by_request.2.ok has no value: 2 requests are listed, by_request.0 to by_request.1";
    assert_required(
        &bench,
        &[
            ("by_request.0.errors=0,by_request.1.ok=90", 0, ""),
            ("by_request.1.latency_us.p50<1h", 0, ""),
            (
                "by_request.0.errors>0",
                1,
                "by_request.0.errors are 0 of 90 requests (0 %)",
            ),
            ("by_request.1.p99<1h", 3, few),
            ("by_request.2.ok>0", 3, beyond),
            (
                "send_delay_us.p50<1s",
                3,
                "exists only with --rate or --connection-rate",
            ),
        ],
    );
    let p50 = record
        .at("/summary/by_request/1/latency_us/p50")
        .as_f64()
        .unwrap();
    let said = bench.say("report run.json --get by_request.1.latency_us.p50");
    assert_eq!(said.ended(0).out, format!("{p50:.3}\n"));
}

#[test]
fn percentiles_of_sessions_take_sessions() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let load = "--connection-rate 400 --requests-per-connection 2 -n 200 --rounds 1 --server none";
    let (said, record) = bench.run(&format!("http://{}/100.html {load}", server.at()));
    said.ended(0);
    assert_eq!(record.count("/summary/open/sessions/skipped"), 0);
    assert_required(
        &bench,
        &[
            (
                "open.sessions.skipped=0,open.sessions.time_us.count=100",
                0,
                "",
            ),
            (
                "connection_time_us.p99<1h",
                3,
                "connection_time_us.p99 takes 1,000 complete sessions, and there are 100",
            ),
            (
                "send_delay_us.p99<1h",
                3,
                "send_delay_us.p99 takes 1,000 ok requests, and there are 200",
            ),
            (
                "queued_us.p99.9<1h",
                3,
                "queued_us.p99.9 takes 10,000 sent requests, and there are 200",
            ),
        ],
    );
}

#[test]
fn every_verb_ends_with_a_status_and_says_why() {
    let bench = Bench::new();
    bench.file("note", "not a record");
    for (line, status, why) in [
        ("completions bash", 0, ""),
        ("man", 0, ""),
        ("--help", 0, ""),
        ("--version", 0, ""),
        ("completions klingon", 2, "klingon"),
        ("report none.json", 2, "no saved record `none.json`"),
        ("report note", 2, "weigh: note is not a record of weigh"),
        ("report", 2, "weigh: there is no record yet"),
        ("serve --listen nowhere", 2, "nowhere"),
        ("serve none", 2, "DIR `none` does not exist"),
        ("run", 2, ""),
        ("run 127.0.0.1:1/ --nope", 2, "--nope"),
        ("run 127.0.0.1:1/ -n 1", 2, "weigh: "),
        ("sweep 127.0.0.1:1/ -n 1", 2, "weigh: nothing differs"),
    ] {
        let said = bench.say(line);
        said.ended(status);
        assert!(said.err.contains(why), "{line}: {said:#?}");
        assert_eq!(said.err.is_empty(), status == 0, "{line}: {said:#?}");
    }
}

#[test]
fn what_cannot_be_printed_is_no_success_of_any_verb() {
    let bench = Bench::new();
    let (said, _) = delayed(&bench, "");
    said.ended(0);
    for line in [
        "completions bash",
        "man",
        "report run.json",
        "report run.json --get p50",
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let said = Said::of(bench.weigh(&words).stdout(full).spawn().unwrap());
        said.ended(2);
        assert!(
            said.err.contains("weigh: the result could not be printed"),
            "{line}: {said:#?}"
        );
    }
}
