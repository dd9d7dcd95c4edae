//! Published scripts that read reports of ab, wrk and httperf read ours: what each of them looks for, reduced to that and in our own
//! words.

use crate::bench::{Bench, Reference};

/// What a tool prints for this load, by our command line.
fn report(tool: &str, words: &str, path: &str) -> String {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let at = server.at().to_owned();
    let words = match tool {
        "httperf" => {
            let (host, port) = at.rsplit_once(':').unwrap();
            format!("as httperf --server {host} --port {port} --uri {path} {words}")
        }
        _ => format!("as {tool} {words} http://{at}{path}"),
    };
    let said = bench.say(&words);
    said.ended(0);
    said.out
}

/// The number behind `before` in the first line that has it, of digits and points.
fn number(text: &str, before: &str) -> f64 {
    let line = text.lines().find_map(|line| line.split_once(before));
    let rest = line
        .unwrap_or_else(|| panic!("`{before}` is missing: {text}"))
        .1
        .trim_start();
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let number = &rest[..end.unwrap_or(rest.len())];
    number
        .parse()
        .unwrap_or_else(|_| panic!("no number behind `{before}`: {text}"))
}

/// A time with its unit in milliseconds.
fn millis(text: &str) -> f64 {
    let times = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    let (unit, factor) = times
        .into_iter()
        .find(|(unit, _)| text.ends_with(unit))
        .unwrap();
    text.strip_suffix(unit).unwrap().parse::<f64>().unwrap() * factor
}

/// jiaodong/ray, release/serve_tests/serve_test_utils.py: by the first word of each line.
#[test]
fn words_of_the_lines_of_wrk() {
    let text = report("wrk", "-t1 -c4 -d1s", "/100.html");
    let words = |first: &str| -> Vec<String> {
        let mut lines = text.lines().map(|line| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        lines
            .find(|words| words.first().is_some_and(|word| word == first))
            .unwrap()
    };
    let latency = words("Latency");
    assert!(
        latency.len() == 5 && latency[4].ends_with('%'),
        "{latency:?}"
    );
    assert!(millis(&latency[1]) <= millis(&latency[3]), "{latency:?}");
    assert_eq!(words("Req/Sec").len(), 5);
    assert!(words("Requests/sec:")[1].parse::<f64>().unwrap() > 100.0);
    assert!(words("Transfer/sec:")[1].ends_with('B'));
}

/// PKU-ASAL/NoDrop, benchmark/test_apache2.py: the third line from the end, behind its colon.
#[test]
fn the_third_line_of_wrk_from_the_end() {
    let text = report("wrk", "-t1 -c4 -d1s", "/100.html");
    let lines: Vec<&str> = text.split('\n').collect();
    let rate = lines[lines.len() - 3].split(": ").last().unwrap().trim();
    assert!(rate.parse::<f64>().unwrap() > 100.0, "{text}");
}

/// Scripts around wrk2's hotel-reservation load: a percentile with its unit, the rate, and lines that are there only with errors.
#[test]
fn percentiles_and_errors_of_wrk2() {
    let text = report("wrk2", "-t1 -c4 -d1s -R200 -L", "/nothing");
    let line = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.trim_start().strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}: {text}")).trim()
    };
    assert!(millis(line("50.000%")) <= millis(line("99.000%")), "{text}");
    assert!(
        (190.0..210.0).contains(&number(&text, "Requests/sec:")),
        "{text}"
    );
    assert!(number(&text, "Non-2xx or 3xx responses:") > 150.0, "{text}");
    assert!(!text.contains("timeout "), "{text}");
}

/// Amakata/apachebench, ab.rb: names up to the last colon of a line, numbers behind.
#[test]
fn names_and_numbers_of_ab() {
    let text = report("ab", "-n 200 -c 4", "/100.html");
    let value = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{name}:")));
        line.unwrap_or_else(|| panic!("{name}: {text}"))
            .rsplit_once(':')
            .unwrap()
            .1
            .trim()
    };
    assert_eq!(value("Complete requests"), "200");
    assert_eq!(value("Failed requests"), "0");
    assert_eq!(value("Document Length"), "100 bytes");
    for name in ["Connect", "Processing", "Waiting", "Total"] {
        let cells: Vec<f64> = value(name)
            .split_whitespace()
            .map(|cell| cell.parse().unwrap())
            .collect();
        assert_eq!(cells.len(), 5, "{name}: {text}");
        assert!(
            cells[0] <= cells[3] && cells[3] <= cells[4],
            "{name}: {text}"
        );
    }
    assert_eq!(number(&text, "HTML transferred:"), 20_000.0);
}

/// Benchmarks that feed awk: the fourth word of lines that end in `(mean)` or `concurrent requests)`; reepush/renderer, benchmark.sh: the
/// longest request.
#[test]
fn columns_of_ab() {
    let text = report("ab", "-n 200 -c 4 -k", "/100.html");
    let fourth = |begin: &str, end: &str| -> f64 {
        let line = text
            .lines()
            .find(|line| line.starts_with(begin) && line.ends_with(end));
        let word = line
            .unwrap_or_else(|| panic!("{begin}: {text}"))
            .split_whitespace()
            .nth(3);
        word.unwrap().parse().unwrap()
    };
    let each = fourth("Time per request:", "(mean)");
    let over_all = fourth(
        "Time per request:",
        "(mean, across all concurrent requests)",
    );
    assert!((each / over_all - 4.0).abs() < 0.1, "{each} {over_all}");
    let rate = fourth("Requests per second:", "(mean)");
    assert!(
        (rate * over_all / 1000.0 - 1.0).abs() < 0.05,
        "{rate} {over_all}"
    );
    let longest = text
        .lines()
        .find_map(|line| line.strip_suffix(" (longest request)"));
    let longest: Vec<&str> = longest.unwrap().split_whitespace().collect();
    assert!(
        longest[0] == "100%" && longest[1].parse::<u64>().is_ok(),
        "{text}"
    );
}

/// jmervine/httperfpy: a pattern for each figure, anchored at the beginning of its line.
#[test]
fn every_figure_of_httperf() {
    let text = report(
        "httperf",
        "--rate 100 --num-conns 100 --num-calls 2",
        "/100.html",
    );
    let at = |line: &str, before: &str| {
        let found = text.lines().find(|it| it.starts_with(line));
        number(found.unwrap_or_else(|| panic!("{line}: {text}")), before)
    };
    assert_eq!(at("Maximum connect burst length: ", "length: "), 1.0);
    assert_eq!(at("Total: connections ", "connections "), 100.0);
    assert_eq!(at("Total: connections ", "requests "), 200.0);
    assert_eq!(at("Total: connections ", "replies "), 200.0);
    assert!((0.8..1.5).contains(&at("Total: connections ", "test-duration ")));
    assert!((80.0..120.0).contains(&at("Connection rate: ", "rate: ")));
    for (line, names) in [
        (
            "Connection time [ms]: min ",
            &["min ", "avg ", "max ", "median ", "stddev "][..],
        ),
        ("Connection time [ms]: connect ", &["connect "]),
        ("Connection length [replies/conn]: ", &["conn]: "]),
        ("Request rate: ", &["rate: ", "("]),
        ("Request size [B]: ", &["[B]: "]),
        (
            "Reply rate [replies/s]: min ",
            &["min ", "avg ", "max ", "stddev ", "("],
        ),
        ("Reply time [ms]: response ", &["response ", "transfer "]),
        (
            "Reply size [B]: header ",
            &["header ", "content ", "footer ", "total "],
        ),
        ("Reply status: ", &["1xx=", "2xx=", "3xx=", "4xx=", "5xx="]),
        ("CPU time [s]: user ", &["user ", "system ", "total "]),
        ("Net I/O: ", &["I/O: ", "("]),
        (
            "Errors: total ",
            &[
                "total ",
                "client-timo ",
                "socket-timo ",
                "connrefused ",
                "connreset ",
            ],
        ),
        (
            "Errors: fd-unavail ",
            &["fd-unavail ", "addrunavail ", "ftab-full ", "other "],
        ),
    ] {
        for name in names {
            assert!(at(line, name) >= 0.0);
        }
    }
    assert_eq!(at("Reply status: ", "2xx="), 200.0);
    assert_eq!(at("Reply size [B]: header ", "content "), 100.0);
}

/// leapcode/soledad-perf, scripts/get_ping_rate.py: the first number of the line with the rate of connections.
#[test]
fn the_first_number_of_the_rate_of_httperf() {
    let text = report("httperf", "--num-conns 50 --num-calls 5", "/100.html");
    let line = text
        .lines()
        .find(|line| line.contains("Connection rate"))
        .unwrap();
    assert!(number(line, "Connection rate:") > 1.0, "{line}");
}
