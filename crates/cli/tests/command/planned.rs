//! `--dry-run` prints every setting: what a flag changes in the plan is seen in it.

use crate::bench::Bench;
use std::collections::BTreeSet;

/// A flag with a value other than the default, and words by which the printed plan shows it. No words: the flag is no part
/// of the plan.
const FLAGS: &[(&str, &str, &str)] = &[
    ("--connections", "--connections 7", "7 connections"),
    ("--rate", "--rate 777", "777"),
    (
        "--connection-rate",
        "--connection-rate 777",
        "777 connections/s",
    ),
    ("--arrivals", "--rate 777 --arrivals constant", "evenly"),
    ("--threads", "--threads 3 -c 9", "3 threads"),
    ("--requests", "--requests 777", "777 requests"),
    ("--duration", "--duration 7s", "7 s"),
    ("--rounds", "--rounds 7", "7 rounds"),
    ("--warmup", "--warmup 77ms", "77 ms of warm-up"),
    ("--connect", "--connect lazy", "when"),
    ("--pin", "--pin", "pinned"),
    ("--ring", "--ring epoll", "epoll"),
    ("--spin", "--spin always", "busy-polling: always"),
    (
        "--two-generators",
        "--two-generators",
        "two generator processes",
    ),
    ("--seed", "--seed 4711", "4711"),
    ("--method", "--method PUT", "PUT /"),
    ("--header", "--header X-One:1", "X-One: 1"),
    ("--body", "--body hello", "5 B: hello"),
    ("--user", "--user a:b", "Authorization: (withheld)"),
    ("--cookie", "--cookie a=b", "Cookie: (withheld)"),
    ("--urls", "--urls urls", "from urls"),
    ("--no-keepalive", "--no-keepalive", "a new connection"),
    (
        "--requests-per-connection",
        "--requests-per-connection 77",
        "77",
    ),
    ("--pipeline", "--pipeline 7", "pipelined 7 deep"),
    ("--http1.0", "--http1.0", "HTTP/1.0"),
    ("--timeout", "--timeout 7s", "exchange 7 s"),
    ("--connect-timeout", "--connect-timeout 7s", "connect 7 s"),
    ("--source", "--source 127.0.0.7", "127.0.0.7"),
    ("--resolve", "--resolve localhost:80:127.0.0.9", "127.0.0.9"),
    ("--unix", "--unix sock", "unix:sock"),
    ("--expect", "--expect 204", "status 204"),
    ("--max-errors", "--max-errors 7%", "7 %"),
    ("--strict", "--strict", "exit status 3"),
    ("--keep-going", "--keep-going", "whatever the probe"),
    ("--server", "--server nginx", "nginx"),
    (
        "--ready-within",
        "--ready-within 7s -- ./server",
        "within 7 s",
    ),
    (
        "--withhold",
        "--withhold X-Mine -H X-Mine:1",
        "X-Mine: (withheld)",
    ),
    (
        "--workers",
        "--workers 1,2 -- ./server {workers}",
        "workers",
    ),
    ("--order", "-c 1,2 --order down", "downwards"),
    ("--interleaved", "-c 1,2 --interleaved", "interleaved"),
    ("--slo", "--slo p99<7ms --rate 1k,2k", "p99 < 7.00 ms"),
    ("--output", "", ""),
    ("--chart", "", ""),
    ("--json", "", ""),
    ("--quiet", "", ""),
    ("--show-exchange", "", ""),
    ("--dry-run", "", ""),
    ("--resume", "", ""),
    ("--help", "", ""),
];

/// The long flags that the help of `verb` lists.
fn listed(bench: &Bench, verb: &str) -> BTreeSet<String> {
    let help = bench.say(&format!("{verb} --help")).out;
    let lines = help.lines().filter_map(|line| {
        let flags = line.trim_start();
        let indent = line.len() - flags.len(); // what an explanation goes on with stands further in
        let flags = (flags.starts_with('-') && indent <= 6).then_some(flags)?;
        let long = flags
            .split([' ', ','])
            .find(|word| word.starts_with("--"))?;
        Some(long.split(['=', '[', '<']).next()?.to_owned())
    });
    lines.collect()
}

#[test]
fn a_dry_run_shows_every_setting_that_there_is() {
    let bench = Bench::new();
    bench.file("urls", "/a\n");
    let known: BTreeSet<String> = FLAGS.iter().map(|(flag, ..)| (*flag).to_owned()).collect();
    for verb in ["run", "sweep"] {
        let unknown: Vec<String> = listed(&bench, verb).difference(&known).cloned().collect();
        assert_eq!(
            unknown,
            Vec::<String>::new(),
            "of {verb}: add them to FLAGS"
        );
    }
    let swept = ["--workers", "--order", "--interleaved", "--slo"];
    for (flag, given, words) in FLAGS.iter().filter(|(_, given, _)| !given.is_empty()) {
        let verb = if swept.contains(flag) { "sweep" } else { "run" };
        let (given, command) = given.split_once(" -- ").unwrap_or((given, ""));
        let command = match command {
            "" => String::new(),
            command => format!(" -- {command}"),
        };
        let said = bench.say(&format!("{verb} localhost/x {given} --dry-run{command}"));
        let out = &said.ended(0).out;
        let joined = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            joined.contains(words),
            "{flag}: `{words}` is missing: {out}"
        );
    }
}
