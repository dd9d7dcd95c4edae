//! `--dry-run` prints every setting: what a flag changes in the plan is seen in it.

use crate::bench::Bench;
use std::collections::BTreeSet;

/// A flag with a value other than the default, and words by which the printed plan shows it. No words: the flag is no part
/// of the plan.
const FLAGS: &[(&str, &str, &str)] = &[
    ("--script", "--script a.lua", "script a.lua"),
    (
        "--script-arg",
        "--script a.lua --script-arg one --script-arg two",
        "script-arg one two",
    ),
    ("--connections", "--connections 7", "connections 7"),
    ("--rate", "--rate 777", "rate 777"),
    (
        "--connection-rate",
        "--connection-rate 777",
        "connection-rate 777",
    ),
    (
        "--arrivals",
        "--rate 777 --arrivals constant",
        "arrivals constant",
    ),
    ("--ramp", "--ramp 5..77", "ramp 5..77"),
    (
        "--popularity",
        "localhost/y --popularity zipf:1.0",
        "popularity zipf:1",
    ),
    ("--threads", "--threads 3 -c 9", "threads 3"),
    ("--requests", "--requests 777", "requests 777"),
    ("--duration", "--duration 7s", "duration 7 s"),
    ("--rounds", "--rounds 7", "rounds 7"),
    ("--warmup", "--warmup 77ms", "warmup 77 ms"),
    ("--connect", "--connect lazy", "connect lazy"),
    // They need an https target, and files: tls.rs has them.
    ("--cacert", "", ""),
    ("--insecure", "", ""),
    ("--cert", "", ""),
    ("--key", "", ""),
    ("--tls-resume", "", ""),
    ("--pin", "--pin", "pin yes"),
    ("--ring", "--ring epoll", "ring epoll"),
    ("--spin", "--spin always", "spin always"),
    ("--two-generators", "--two-generators", "two-generators yes"),
    ("--seed", "--seed 4711", "seed 4711"),
    ("--method", "--method PUT", "method PUT"),
    ("--header", "--header X-One:1", "header X-One: 1"),
    ("--body", "--body hello", "body 5 B: hello"),
    ("--user", "--user a:b", "header Authorization: (withheld)"),
    ("--cookie", "--cookie a=b", "header Cookie: (withheld)"),
    ("--urls", "--urls urls", "urls urls"),
    ("--no-keepalive", "--no-keepalive", "no-keepalive yes"),
    (
        "--requests-per-connection",
        "--requests-per-connection 77",
        "requests-per-connection 77",
    ),
    ("--pipeline", "--pipeline 7", "pipeline 7"),
    ("--http1.0", "--http1.0", "http1.0 yes"),
    ("--timeout", "--timeout 7s", "timeout 7 s"),
    (
        "--connect-timeout",
        "--connect-timeout 7s",
        "connect-timeout 7 s",
    ),
    ("--source", "--source 127.0.0.7", "source 127.0.0.7"),
    (
        "--resolve",
        "--resolve localhost:80:127.0.0.9",
        "resolve 127.0.0.9",
    ),
    ("--unix", "--unix sock", "unix sock"),
    ("--expect", "--expect 204", "expect status 204"),
    ("--max-errors", "--max-errors 7%", "max-errors 7 %"),
    ("--strict", "--strict", "strict yes"),
    (
        "--require",
        "--require p99<7ms,reliable",
        "require p99<7ms, reliable",
    ),
    ("--abort-if", "--abort-if errors>7%", "abort-if errors>7%"),
    ("--keep-going", "--keep-going", "keep-going yes"),
    ("--server", "--server nginx", "server nginx"),
    (
        "--ready-within",
        "--ready-within 7s -- ./server",
        "command ./server ready-within 7 s",
    ),
    (
        "--withhold",
        "--withhold X-Mine -H X-Mine:1",
        "header X-Mine: (withheld) withhold X-Mine",
    ),
    (
        "--workers",
        "--workers 1,2 -- ./server {workers}",
        "workers 1, 2",
    ),
    ("--size", "localhost/{size} --size 7,8", "size 7, 8"),
    ("--order", "-c 1,2 --order down", "order down"),
    ("--interleaved", "-c 1,2 --interleaved", "interleaved yes"),
    ("--slo", "--slo p99<7ms --rate 1k,2k", "slo p99 < 7.00 ms"),
    ("--quick", "--slo p99<7ms --rate 1k,2k --quick", "quick yes"),
    (
        "--percentiles",
        "--percentiles 75,99.99,75",
        "percentiles p75, p99.99",
    ),
    ("--output", "", ""),
    ("--chart", "", ""),
    ("--junit", "", ""),
    ("--markdown", "", ""),
    ("--json", "", ""),
    ("--quiet", "", ""),
    ("--verbose", "", ""),
    ("--name", "", ""),
    ("--show-exchange", "", ""),
    ("--dry-run", "", ""),
    ("--resume", "", ""),
    ("--wide", "", ""),
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
    bench.file("a.lua", "");
    let known: BTreeSet<String> = FLAGS.iter().map(|(flag, ..)| (*flag).to_owned()).collect();
    for verb in ["run", "sweep"] {
        let unknown: Vec<String> = listed(&bench, verb).difference(&known).cloned().collect();
        assert_eq!(
            unknown,
            Vec::<String>::new(),
            "of {verb}: add them to FLAGS"
        );
    }
    let swept = [
        "--workers",
        "--size",
        "--order",
        "--interleaved",
        "--slo",
        "--quick",
    ];
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
