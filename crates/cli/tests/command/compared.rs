//! `weigh compare`, with real servers on loopback.

use crate::bench::{Bench, Record, Said, signal};
use crate::processes::{all_end, children, wait_until};
use std::fs;
use std::path::Path;
use std::process::Command;

const WEIGH: &str = env!("CARGO_BIN_EXE_weigh");

/// A server of weigh's own that burns so much for each request.
fn server(name: &str, work: &str) -> String {
    format!("{name}=exec {WEIGH} serve --truth --work {work} --listen 127.0.0.1:{{port}}")
}

fn compare(bench: &Bench, words: &[&str]) -> Said {
    let words = [&["compare"], words].concat();
    bench.say_words(&words)
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_remedy_before_anything_is_loaded() {
    let bench = Bench::new();
    let a = server("a", "0us");
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["name two servers", "{port}"]),
        (&[&a], &["one server cannot be compared", "weigh run"]),
        (&[&a, &a], &["two servers are called a"]),
        (
            &[&a, "b=./server"],
            &["neither a URL nor a command", "{port}"],
        ),
        (&[&a, "b=./server --fast"], &["neither a URL nor a command"]),
        (
            &["http://127.0.0.1:1/x", "http://127.0.0.1:1/x"],
            &["two names for 127.0.0.1:1", "--aa"],
        ),
        (
            &[&a, "http://127.0.0.1:1/", "--path", "/x"],
            &["--path /x", "into the URL"],
        ),
        (
            &[&a, &server("b", "0us"), "--until", "2"],
            &["--until", "2%"],
        ),
        (
            &[&a, &server("b", "0us"), "--decide-on", "speed"],
            &["--decide-on", "p50"],
        ),
        (
            &["http://127.0.0.1:1/", "http://127.0.0.1:2/"],
            &["127.0.0.1:1", "refused"],
        ),
        (&["--commits", "main", "HEAD"], &["--commits needs --run"]),
        // A program, though a file of its name is there, is no record.
        (
            &[&format!("a={WEIGH}"), &server("b", "0us")],
            &["neither a URL nor a command", "{port}"],
        ),
        (
            &[&a, &server("b", "0us"), "--time", "0s"],
            &["--time", "60s"],
        ),
        (
            &["--resume", "x.json", &a],
            &["--resume x.json", "other servers"],
        ),
        (&[&a, &server("b", "0us"), "-o", "."], &["folder"]),
    ];
    for (words, told) in cases {
        let said = compare(&bench, &[words, &["-q"][..]].concat());
        said.refused(told);
    }
}

#[test]
fn a_server_that_does_not_come_up_ends_it_with_what_it_printed() {
    let bench = Bench::new();
    let broken = "b=echo no such module; exit 3; # {port}";
    let said = compare(
        &bench,
        &[&server("a", "0us"), broken, "--path", "/100.html", "-q"],
    );
    said.refused(&["b: ", "exit status: 3", "no such module"]);
    let wrong = compare(
        &bench,
        &[
            &server("a", "0us"),
            &server("b", "0us"),
            "--path",
            "/nothing",
            "-q",
        ],
    );
    wrong.refused(&["status 404", "--expect 404"]);
}

#[test]
fn unequal_conditions_are_refused_and_a_dry_run_shows_equal_ones() {
    let bench = Bench::new();
    let other = format!("b=exec {WEIGH} serve --workers 1 --log log --listen 127.0.0.1:{{port}}");
    let quiet = format!("a=exec {WEIGH} serve --workers 1 --listen 127.0.0.1:{{port}}");
    let said = compare(&bench, &[&quiet, &other, "--path", "/100.html", "-q"]);
    said.refused(&["logging: off from a, on from b", "--unequal"]);
    let servers = [server("a", "1us"), server("b", "2us")];
    let dry = compare(
        &bench,
        &[&servers[0], &servers[1], "--path", "/100.html", "--dry-run"],
    );
    dry.ended(0);
    assert!(
        dry.out.contains("equal: body, protocol, keep-alive"),
        "{}",
        dry.out
    );
    assert_eq!(
        fs::read_dir(bench.path("."))
            .unwrap()
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .path()
                    .extension()
                    .is_some_and(|ending| ending == "json")
            })
            .count(),
        0,
        "a dry run leaves no record"
    );
}

/// Every slice of the record has its requests and its cost.
fn assert_whole(record: &Record) {
    let starts = record.at("/starts").as_array().unwrap();
    assert!(starts.len() >= 3);
    let cycles = starts
        .iter()
        .filter_map(|start| start.pointer("/blocks/0/cycles")?.as_array());
    // The reference server, which comes after the two, has a slice in a few cycles only.
    for slice in cycles
        .flatten()
        .flat_map(|cycle| cycle["slices"].as_array().unwrap().iter().take(2))
    {
        assert_eq!(slice["errors"], 0, "{slice}");
        assert!(
            slice["ok"].as_u64() > Some(0) && slice["server_cpu"].as_u64() > Some(0),
            "{slice}"
        );
    }
}

#[test]
fn a_server_that_burns_far_more_is_found_and_fails_the_gate() {
    let bench = Bench::new();
    let servers = [server("lean", "40us"), server("fat", "400us")];
    let options = "--path /100.html --time 1s -c 4 --max-regression 5% -o compared.json --markdown compared.md --chart compared.svg";
    let words = [&servers[0], &servers[1]].map(String::as_str);
    let words: Vec<&str> = words.into_iter().chain(options.split(' ')).collect();
    let said = compare(&bench, &words);
    said.ended(1);
    assert!(said.out.starts_with("fat uses "), "{}", said.out);
    assert!(
        said.out.contains("worse") && said.err.contains("by more than 5 %"),
        "{said:#?}"
    );
    assert_whole(&Record::parse(
        &fs::read(bench.path("compared.json")).unwrap(),
    ));
    let json = bench.say("report --format json compared.json");
    let answers = Record::parse(json.ended(0).out.as_bytes());
    let ratio = answers
        .at("/answers/figures/0/against_first/0/ratio/centre")
        .as_f64()
        .unwrap();
    assert!(ratio > 2.5 && ratio < 15.0, "{ratio}");
    let csv = bench.say("report --format csv compared.json");
    assert!(csv.ended(0).out.contains("cpu_us_per_request"));
    assert!(
        fs::read_to_string(bench.path("compared.md"))
            .unwrap()
            .contains("fat")
    );
    assert!(
        fs::read_to_string(bench.path("compared.svg"))
            .unwrap()
            .starts_with("<svg")
    );
    assert!(bench.say("list").out.contains("comparison"));
    let again = bench.say("compare compared.json");
    assert_eq!(
        again.ended(1).out,
        said.out,
        "the record says the same again"
    );
}

/// The record of a comparison that is interrupted after its first start.
fn one_start(bench: &Bench, words: &[&str]) -> Record {
    let words = [
        &["compare", "--path", "/100.html", "-q", "-o", "one.json"],
        words,
    ]
    .concat();
    let child = bench.weigh(&words).spawn().unwrap();
    wait_until("the record of a start", || bench.path("one.json").exists());
    signal("INT", child.id());
    Said::of(child).ended(130);
    Record::parse(&fs::read(bench.path("one.json")).unwrap())
}

#[test]
fn several_threads_and_saturated_servers_are_counted() {
    let bench = Bench::new();
    let servers = [server("a", "1us"), server("b", "1us")];
    let options = "-c 3 -t 2 --saturate 4 --cpus shared";
    let words: Vec<&str> = options
        .split(' ')
        .chain(servers.iter().map(String::as_str))
        .collect();
    let record = one_start(&bench, &words);
    assert!(record.0.pointer("/split").is_none());
    assert_eq!(record.at("/plan/threads").as_u64(), Some(2));
    for block in 0..2 {
        let cycles = record.at(&format!("/starts/0/blocks/{block}/cycles"));
        for cycle in cycles.as_array().unwrap() {
            for slice in &cycle["slices"].as_array().unwrap()[..2] {
                assert_eq!(slice["errors"], 0, "{slice}");
                // Both threads have slots: what is in flight at the end is one request for each connection.
                let (ok, in_window) = (slice["ok"].as_u64(), slice["in_window"].as_u64());
                let connections = [3, 4][block];
                assert!(
                    in_window > Some(0) && ok.unwrap() - in_window.unwrap() <= connections,
                    "{slice}"
                );
                assert!(
                    slice["window"].as_u64() >= Some([100_000_000, 1_000_000_000][block]),
                    "{slice}"
                );
            }
        }
    }
}

#[test]
fn a_server_that_chooses_its_cpus_is_not_moved() {
    let bench = Bench::new();
    let Some(cpus) = several_cpus() else {
        return; // with one CPU there is no choice
    };
    let pinned = server("b", "1us").replace("exec ", &format!("exec taskset -c {cpus} "));
    let a = server("a", "1us");
    let refused = compare(
        &bench,
        &[&a, &pinned, "--cpus", "one", "--path", "/100.html", "-q"],
    );
    refused.refused(&["CPUs of its own choice", "--cpus shared"]);
    let both = one_start(&bench, &[&a, &server("b", "1us"), "--cpus", "one"]);
    assert_eq!(both.at("/split/servers"), both.at("/split/generator"));
    let bench = Bench::new();
    let record = one_start(&bench, &[&a, &pinned, "--cpus", "auto"]);
    let is_one = record.0.pointer("/split/servers") == record.0.pointer("/split/generator");
    assert!(
        is_one == record.0.pointer("/split").is_none(),
        "not on one CPU"
    );
}

/// One of the CPUs that may be used, where there are several.
fn several_cpus() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?
        .trim();
    let (first, _) = list.split_once([',', '-'])?;
    first.parse().ok()
}

#[test]
fn nothing_is_left_running_when_weigh_is_killed_while_it_compares() {
    let bench = Bench::new();
    let servers = [server("a", "1us"), server("b", "1us")];
    let words = [
        "compare",
        &servers[0],
        &servers[1],
        "--path",
        "/100.html",
        "-o",
        "killed.json",
    ];
    let child = bench.weigh(&words).spawn().unwrap();
    let of_weigh = || children(child.id());
    // Both servers and the generator, the servers with what guards them.
    wait_until("both servers and the generator", || of_weigh().len() >= 5);
    let started = of_weigh();
    signal("KILL", child.id());
    let said = Said::of(child);
    assert_eq!(said.status, None);
    all_end(&started);
}

/// What git says in a folder.
fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    let command = command
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(words);
    let output = command
        .current_dir(folder)
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn commits_are_built_and_their_conditions_held_beside_each_other() {
    let bench = Bench::new();
    let folder = bench.path("project");
    fs::create_dir(&folder).unwrap();
    git(&folder, &["init", "-q"]);
    for work in ["1us", "2us"] {
        fs::write(folder.join("work"), work).unwrap();
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-q", "-m", work]);
    }
    let run =
        format!("exec {WEIGH} serve --truth --work \"$(cat built)\" --listen 127.0.0.1:{{port}}");
    let compared = |revision: &str, build: &str, further: &[&str]| {
        let mut words = vec![
            "compare",
            "--commits",
            revision,
            "HEAD",
            "--build",
            build,
            "--run",
            &run,
        ];
        words.extend(["--path", "/100.html", "--dry-run"]);
        words.extend(further);
        let mut command = bench.weigh(&words);
        command
            .current_dir(&folder)
            .env("XDG_CACHE_HOME", bench.path("cache"));
        Said::of(command.spawn().unwrap())
    };
    let said = compared("HEAD~1", "cp work built", &[]);
    assert!(said.ended(0).out.contains("equal: body"), "{said:#?}");
    assert!(
        !folder.join("built").exists(),
        "nothing is written into the repository"
    );
    compared("HEAD", "cp work built", &[]).refused(&["same commit"]);
    compared("HEAD~7", "cp work built", &[]).refused(&["HEAD~7"]);
    let failed = compared("HEAD~1", "echo broken; exit 4", &[]);
    failed.refused(&["broken"]);
    // A baseline that does not build ends a bisection.
    compared("HEAD~1", "echo broken; exit 4", &["--bisect"]).ended(128);
    let only_head = "grep -q 1us work && cp work built";
    compared("HEAD~1", only_head, &["--bisect"]).ended(125);
}
