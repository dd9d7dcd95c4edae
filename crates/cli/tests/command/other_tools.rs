//! Other tools' command lines: what they print, what they refuse, and that their loads are those they ask for.

use crate::bench::{Bench, Reference, Said};
use std::process::{Command, Stdio};

/// A text with its figures taken out, so that two runs can be compared: a figure becomes the number of its decimals; with `by_width`
/// also what stands before it counts, so that columns stay where they are.
fn shape(line: &str, by_width: bool) -> String {
    let mut shape = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let figure = &rest[start..];
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
        let end = figure
            .find(|letter| !is_part(letter))
            .unwrap_or(figure.len());
        let (figure, behind) = figure.split_at(end);
        let decimals = figure
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        let before = &rest[..start];
        match by_width {
            true => {
                let blanks = before.len() - before.trim_end().len();
                shape += before.trim_end();
                shape += &format!("<{}.{decimals}>", blanks + figure.len());
            }
            false => shape += &format!("{before}<{decimals}>"),
        }
        rest = behind;
    }
    shape + rest
}

/// The shapes of all lines; those of tables by their width.
fn shapes(text: &str) -> Vec<String> {
    let mut by_width = false;
    text.lines()
        .map(|line| {
            by_width |= line.starts_with("Connection Times") || line.contains("_times\": {");
            shape(line, by_width)
        })
        .collect()
}

/// `weigh as` with these words, and the server's URL behind them.
fn said(bench: &Bench, server: &Reference, words: &str, path: &str) -> Said {
    bench.say(&format!("as {words} http://{}{path}", server.at()))
}

const WEIGHTTP: &str = "\
weighttp 0.4 - a lightweight and simple webserver benchmarking tool

starting benchmark...
spawning thread #1: 5 concurrent requests, 501 total requests
spawning thread #2: 5 concurrent requests, 500 total requests
progress:  10% done
progress:  20% done
progress:  30% done
progress:  40% done
progress:  50% done
progress:  60% done
progress:  70% done
progress:  80% done
progress:  90% done
progress: 100% done

finished in 0 sec, 12 millisec and 345 microsec, 81000 req/s, 9000 kbyte/s
";

#[test]
fn weighttp_is_read_and_written_as_by_itself() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let said = said(
        &bench,
        &server,
        "weighttp -n 1001 -c 10 -t 2 -k",
        "/100.html",
    );
    said.ended(0);
    assert_eq!(said.err, "");
    let lines: Vec<&str> = said.out.lines().collect();
    let (begin, end) = lines.split_at(lines.len() - 3);
    assert_eq!(shapes(&begin.join("\n")), shapes(WEIGHTTP), "{}", said.out);
    let requests =
        "requests: 1001 total, 1001 started, 1001 done, 1001 succeeded, 0 failed, 0 errored";
    assert_eq!(end[0], requests);
    assert_eq!(end[1], "status codes: 1001 2xx, 0 3xx, 0 4xx, 0 5xx");
    assert!(
        end[2].ends_with(" bytes http, 100100 bytes data"),
        "{}",
        end[2]
    );
    // One more: whether the server is there was asked before.
    assert_eq!(server.stop().requests(), 1002);
}

#[test]
fn failures_are_counted_as_weighttp_does_but_for_those_without_a_response() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let said = said(&bench, &server, "weighttp -n 20 -c 2", "/nothing");
    said.ended(0);
    let wanted = [
        "requests: 20 total, 20 started, 20 done, 0 succeeded, 20 failed, 0 errored",
        "status codes: 0 2xx, 0 3xx, 20 4xx, 0 5xx",
    ];
    for line in wanted {
        assert!(said.out.contains(line), "{}", said.out);
    }
    server.stop();
    let said = bench.say("as weighttp -n 10 -c 2 http://127.0.0.1:1/");
    said.ended(1);
    assert!(said.err.starts_with("error: "), "{said:?}");
}

#[test]
fn weighttp_0_5_prints_json() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let words = "weighttp --dropin-version 0.5 -n 1000 -c 10 -t 2 -k";
    let said = said(&bench, &server, words, "/100.html");
    said.ended(0);
    let json = &said.out[said.out.find('{').unwrap()..];
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(json["request_counts"]["keep-alive"], 990);
    assert_eq!(json["traffic"]["bytes_body"], 100_000);
    assert_eq!(json["connect_times"]["num"], 10);
    for times in ["time_to_first_byte", "response_times", "total_times"] {
        assert_eq!(json[times]["num"], 1000, "{times}");
    }
    assert!(
        said.out.contains("\n     \"unit\": \"us\",\n      \"0%\":"),
        "{}",
        said.out
    );
}

#[test]
fn what_weighttp_refuses_is_refused_in_its_words() {
    let bench = Bench::new();
    let cases = [
        ("", "error: missing url argument\n\n"),
        ("-n 1 a b", "error: too many arguments\n\n"),
        ("a", "error: number of requests has to be > 0\n\n"),
        ("-n 1 -t 0 a", "error: thread count has to be > 0\n\n"),
        (
            "-n 1 -c 0 a",
            "error: number of concurrent clients has to be > 0\n\n",
        ),
        ("-n 5 -c 6 a", "error: insane arguments\n\n"),
        ("-n 5k a", "error: insane arguments\n\n"),
        ("-n 5 https://a/", "error: no ssl support yet\n"),
        ("-x", "error: unkown option: -x\n"),
        ("-n 1 -6 a", "error: weigh does not take -6 of weighttp"),
    ];
    for (words, wanted) in cases {
        let said = bench.say(&format!("as weighttp {words}"));
        said.ended(1);
        assert!(said.err.starts_with(wanted), "{words}: {said:?}");
        assert!(said.out.starts_with("weighttp 0.4 - "), "{words}: {said:?}");
    }
    let help = bench.say("as weighttp -h");
    help.ended(0);
    assert!(
        help.out
            .contains("  -n num   number of requests    (mandatory)\n")
    );
}

/// What ab itself says, where it is installed.
fn ab(words: &str) -> Option<Said> {
    let child = Command::new("ab")
        .args(words.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    child.ok().map(Said::of)
}

/// Our own listing of ab's lines, for machines that lack it.
const AB: &str = "\
This is ApacheBench, Version 2.3 <$Revision$>
Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/
Licensed to The Apache Software Foundation, http://www.apache.org/

Benchmarking 127.0.0.1 (be patient)


Server Software:        weigh
Server Hostname:        127.0.0.1
Server Port:            8080

Document Path:          /100.html
Document Length:        100 bytes

Concurrency Level:      10
Time taken for tests:   0.115 seconds
Complete requests:      1000
Failed requests:        0
Keep-Alive requests:    1000
Total transferred:      337000 bytes
HTML transferred:       100000 bytes
Requests per second:    86888.52 [#/sec] (mean)
Time per request:       0.575 [ms] (mean)
Time per request:       0.012 [ms] (mean, across all concurrent requests)
Transfer rate:          28595.15 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    0   0.1      0       2
Processing:     0    1   0.3      1       4
Waiting:        0    1   0.3      1       4
Total:          0    1   0.3      1       4

Percentage of the requests served within a certain time (ms)
  50%      1
  66%      1
  75%      1
  80%      1
  90%      1
  95%      1
  98%      1
  99%      1
 100%      4 (longest request)
";

/// The lines that depend on what was measured.
fn is_lasting(shape: &&String) -> bool {
    let is_remark = ["ERROR", "WARNING", "       deviation", "        These"];
    !is_remark.iter().any(|begin| shape.starts_with(begin)) && !shape.starts_with("Server Software")
}

#[track_caller]
fn assert_alike(ours: &str, theirs: &str) {
    let (ours_shapes, theirs_shapes) = (shapes(ours), shapes(theirs));
    let ours_lasting: Vec<_> = ours_shapes.iter().filter(is_lasting).collect();
    let theirs_lasting: Vec<_> = theirs_shapes.iter().filter(is_lasting).collect();
    assert_eq!(ours_lasting, theirs_lasting, "\n{ours}\n{theirs}");
}

#[test]
fn the_report_of_ab_is_that_of_ab() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let ours = said(&bench, &server, "ab -k -n 1000 -c 10", "/100.html");
    ours.ended(0);
    assert_alike(&ours.out, AB);
    let lines = [
        "Complete requests:      1000",
        "Keep-Alive requests:    1000",
        "HTML transferred:       100000 bytes",
    ];
    for line in lines {
        assert!(ours.out.contains(line), "{}", ours.out);
    }
    assert!(
        ours.err
            .ends_with("Completed 1000 requests\nFinished 1000 requests\n"),
        "{}",
        ours.err
    );
    for words in [
        "-k -n 1000 -c 10",
        "-n 1000 -c 10",
        "-n 100 -c 3 -d",
        "-S -n 200 -q",
        "-l -n 200",
        "-n 50 -i",
        "-n 20 -p request.txt -T text/x",
    ] {
        bench.file("request.txt", "hello");
        let body = bench.path("request.txt").display().to_string();
        let words = words.replace("request.txt", &body);
        let Some(theirs) = ab(&format!("{words} http://{}/100.html", server.at())) else {
            println!(
                "ab is not installed: our listing of its lines is all that ours are compared with"
            );
            break;
        };
        theirs.ended(0);
        let ours = said(&bench, &server, &format!("ab {words}"), "/100.html");
        ours.ended(0);
        assert_alike(&ours.out, &theirs.out);
        let count = |said: &Said| {
            said.err
                .lines()
                .filter(|line| line.ends_with("requests"))
                .count()
        };
        assert_eq!(
            count(&ours),
            count(&theirs),
            "{words}\n{}\n{}",
            ours.err,
            theirs.err
        );
    }
}

#[test]
fn what_ab_refuses_is_refused_in_its_words_and_with_its_status() {
    let bench = Bench::new();
    let cases = [
        (
            "-n",
            22,
            "ab: option requires an argument -- n\nab: wrong number of arguments\nUsage: ab ",
        ),
        (
            "-Q",
            22,
            "ab: illegal option -- Q\nab: wrong number of arguments\nUsage: ab ",
        ),
        (
            "-n 0 http://127.0.0.1:1/",
            1,
            "Invalid number of requests\n\n",
        ),
        (
            "-n 5 -c 10 http://127.0.0.1:1/",
            22,
            "ab: Cannot use concurrency level greater than total number of requests\nUsage: ab ",
        ),
        ("http://127.0.0.1:1", 22, "ab: invalid URL\nUsage: ab "),
        ("", 22, "ab: wrong number of arguments\nUsage: ab "),
        (
            "http://127.0.0.1:1/ b",
            22,
            "ab: wrong number of arguments\nUsage: ab ",
        ),
        (
            "-p /nothing http://127.0.0.1:1/",
            1,
            "ab: Could not open POST data file (/nothing): No such file or directory\n",
        ),
        (
            "-i -p /etc/passwd http://127.0.0.1:1/",
            1,
            "Cannot mix POST with ",
        ),
        ("-h", 22, "Usage: ab "),
        (
            "-g f http://127.0.0.1:1/",
            1,
            "ab: weigh does not take -g: ",
        ),
    ];
    for (words, status, wanted) in cases {
        let ours = bench.say(&format!("as ab {words}"));
        ours.ended(status);
        assert!(ours.err.starts_with(wanted), "{words}: {ours:?}");
        let is_ours = wanted.contains("weigh does not");
        if let Some(theirs) = ab(words).filter(|_| !is_ours) {
            theirs.ended(status);
            assert!(theirs.err.starts_with(wanted), "{words}: {theirs:?}");
        }
    }
    let version = bench.say("as ab -V");
    version.ended(0);
    assert!(
        version
            .out
            .starts_with("This is ApacheBench, Version 2.3 <")
    );
    let refused = bench.say("as ab -n 2 http://127.0.0.1:1/");
    refused.ended(111);
}

#[test]
fn a_load_is_translated_and_carried_out_by_name() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let url = format!("http://{}/100.html", server.at());
    let said = bench.say(&format!("as --translate ab -k -n 50 -c 5 {url}"));
    said.ended(0);
    let line = said
        .out
        .trim()
        .strip_prefix("weigh ")
        .unwrap()
        .replace('\'', "");
    assert!(
        line.starts_with(&format!("run {url} --connections 5 ")),
        "{line}"
    );
    let said = bench.say("as frobnicate");
    said.refused(&["frobnicate", "weighttp"]);
    // By links, and none of a stranger's.
    let said = bench.say("dropins tools");
    said.ended(0);
    let linked = Command::new(bench.path("tools/weighttp"))
        .args(["-n", "10", &url])
        .env("XDG_STATE_HOME", bench.path("state"))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&linked.stdout).contains("10 succeeded"));
    bench.say("dropins tools").ended(0);
    std::fs::create_dir(bench.path("other")).unwrap();
    bench.file("other/ab", "a program");
    bench
        .say("dropins other")
        .refused(&["other/ab", "another folder"]);
}

#[test]
fn the_report_of_wrk_has_its_lines() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let ours = said(&bench, &server, "wrk -t2 -c10 -d1s --latency", "/100.html");
    ours.ended(0);
    let lines: Vec<&str> = ours.out.lines().collect();
    let begins = [
        "Running 1s test @ http://",
        "  2 threads and 10 connections",
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
        "    Latency   ",
        "    Req/Sec   ",
        "  Latency Distribution",
        "     50% ",
        "     75% ",
        "     90% ",
        "     99% ",
        "  ",
        "Requests/sec: ",
        "Transfer/sec: ",
    ];
    assert_eq!(lines.len(), begins.len(), "{}", ours.out);
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "`{begin}`: {}", ours.out);
    }
    let counted: u64 = lines[10]
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    // And those that were under way at the end, and the first of all.
    let served = server.stop().requests();
    assert!(
        (counted..=counted + 11).contains(&served),
        "{counted} {served}"
    );
}

#[test]
fn errors_are_listed_by_wrk_only_where_there_are_some() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let ours = said(&bench, &server, "wrk -t1 -c1 -d1s", "/nothing");
    ours.ended(0);
    let bad = ours
        .out
        .lines()
        .find_map(|line| line.strip_prefix("  Non-2xx or 3xx responses: "));
    let all = ours
        .out
        .lines()
        .find_map(|line| line.trim_start().split_once(" requests in "));
    assert_eq!(bad, all.map(|(all, _)| all), "{}", ours.out);
    assert!(!ours.out.contains("Socket errors"), "{}", ours.out);
}

#[test]
fn what_wrk_refuses_is_refused_in_its_words() {
    let bench = Bench::new();
    let cases = [
        ("", ""),
        ("-x", "wrk: invalid option -- 'x'\n"),
        (
            "-c 1 -t 2 http://127.0.0.1:1/",
            "number of connections must be >= threads\n",
        ),
        ("-c x http://127.0.0.1:1/", ""),
        ("-d 1x http://127.0.0.1:1/", ""),
        ("notaurl", "invalid URL: notaurl\n"),
        ("-H", "wrk: option requires an argument -- 'H'\n"),
        ("--foo", "wrk: unrecognized option '--foo'\n"),
    ];
    for (words, wanted) in cases {
        let said = bench.say(&format!("as wrk {words}"));
        said.ended(1);
        assert_eq!(said.err, wanted, "{words}");
        assert!(
            said.out.starts_with("Usage: wrk <options> <url>"),
            "{words}: {said:?}"
        );
    }
    let script = bench.say("as wrk -s a.lua http://127.0.0.1:1/");
    script.ended(1);
    assert!(
        script.err.starts_with("a.lua: cannot be read"),
        "{script:?}"
    );
}

/// The words that name `server` to httperf.
fn place(server: &Reference) -> String {
    let at = server.at().to_string();
    let (host, port) = at.rsplit_once(':').unwrap();
    format!("--server {host} --port {port}")
}

/// What httperf itself says, where it is installed.
fn httperf(words: &str) -> Option<Said> {
    let child = Command::new("httperf")
        .args(words.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    child.ok().map(Said::of)
}

#[test]
fn the_report_of_httperf_is_that_of_httperf() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    for words in [
        "--num-conns 100 --num-calls 10 --rate 200 --timeout 5 --uri /100.html",
        "--num-conn 20 --uri=/100.html",
        "--hog --num-calls 8 --burst-len 4 --num-conns 5 --uri /nothing",
        "--wset 20,0.5 --num-conns 20 --period d0.01",
        "--http-version 1.0 --method HEAD --add-header X-A:b --period e0.01 --num-conns 5",
    ] {
        let words = format!("{} {words}", place(&server));
        let ours = bench.say(&format!("as httperf {words}"));
        ours.ended(0);
        let Some(theirs) = httperf(&words) else {
            println!("httperf is not installed: its reports are not compared with ours");
            break;
        };
        theirs.ended(0);
        assert_eq!(
            ours.out.lines().next(),
            theirs.out.lines().next(),
            "the echo of {words}"
        );
        assert_eq!(
            shapes(&ours.out),
            shapes(&theirs.out),
            "{words}\n{}\n{}",
            ours.out,
            theirs.out
        );
    }
}

#[test]
fn httperf_opens_so_many_connections_and_counts_every_reply() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let words = "--rate 200 --num-conns 100 --num-calls 10 --timeout 5";
    let said = bench.say(&format!(
        "as httperf {} {words} --uri /100.html",
        place(&server)
    ));
    said.ended(0);
    assert_eq!(said.err, "");
    let lines = [
        "Total: connections 100 requests 1000 replies 1000 test-duration 0.",
        "Connection length [replies/conn]: 10.000",
        "Reply status: 1xx=0 2xx=1000 3xx=0 4xx=0 5xx=0",
        "Errors: total 0 client-timo 0 socket-timo 0 connrefused 0 connreset 0",
    ];
    for line in lines {
        assert!(said.out.contains(line), "{line}: {}", said.out);
    }
    let said = bench.say(&format!(
        "as httperf {} --num-conns 7 --uri /nothing",
        place(&server)
    ));
    said.ended(0);
    assert!(said.out.contains(" 4xx=7 5xx=0\n"), "{}", said.out);
    assert!(said.out.contains("Errors: total 0 "), "{}", said.out);
    // Two more: whether the server is there was asked before each.
    assert_eq!(server.stop().requests(), 1009);
}

#[test]
fn what_httperf_refuses_is_refused_in_its_words_and_with_its_status() {
    let bench = Bench::new();
    let cases = [
        ("--foo", "httperf: unrecognized option '--foo'\n"),
        (
            "--num 5",
            "httperf: option '--num' is ambiguous; possibilities: '--num-calls' '--num-conns'\n",
        ),
        ("--rate", "httperf: option '--rate' requires an argument\n"),
        (
            "--hog=1",
            "httperf: option '--hog' doesn't allow an argument\n",
        ),
        ("-x", "httperf: invalid option -- 'x'\n"),
        ("--rate abc", "httperf: illegal request rate abc\n"),
        (
            "--num-conns 5x",
            "httperf: illegal number of connections 5x\n",
        ),
        ("--port 70000", "httperf: illegal port number 70000\n"),
        (
            "--wset 5",
            "httperf: bad target miss rate (2nd parameter) in --wset arg (rest: `5')\n",
        ),
        (
            "--client 2",
            "httperf: client id not followed by `/' (rest: `')\n",
        ),
    ];
    for (words, wanted) in cases {
        let ours = bench.say(&format!("as httperf {words}"));
        ours.ended(1);
        assert_eq!((ours.out.as_str(), ours.err.as_str()), ("", wanted));
        if let Some(theirs) = httperf(words) {
            theirs.ended(1);
            assert!(theirs.err.ends_with(wanted), "{words}: {theirs:?}");
        }
    }
    let sessions = bench.say("as httperf --wsesslog 50,0.1,session.log --rate 20");
    sessions.ended(1);
    assert!(
        sessions
            .err
            .starts_with("httperf: weigh does not take --wsesslog: "),
        "{sessions:?}"
    );
    let refused = bench.say("as httperf --server 127.0.0.1 --port 1");
    refused.ended(1);
    assert!(refused.err.contains("refused"), "{refused:?}");
}

/// `weigh as autobench` with these words, and the bench's folder as home.
fn autobench(bench: &Bench, words: &str) -> Said {
    let line = format!("as autobench {words}");
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = bench.weigh(&words);
    Said::of(command.env("HOME", bench.path("")).spawn().unwrap())
}

#[test]
fn autobench_writes_a_row_for_each_rate() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (host, port) = server.at().rsplit_once(':').unwrap();
    let table = bench.path("table.tsv");
    let words = format!(
        "--single_host --host1 {host} --port1 {port} --uri1 /100.html --low_rate 40 --high_rate 200 --rate_step 80 \
         --num_conn 40 --num_call 5 --timeout 5 --quiet"
    );
    let said = autobench(&bench, &format!("{words} --file {}", table.display()));
    said.ended(0);
    assert_eq!(said.out, "");
    assert_eq!(
        said.err.matches("less than the 5 s of a sample").count(),
        3,
        "{}",
        said.err
    );
    let text = std::fs::read_to_string(&table).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|row| row.split('\t').collect()).collect();
    let header = format!(
        "dem_req_rate req_rate_{host} con_rate_{host} min_rep_rate_{host} avg_rep_rate_{host} max_rep_rate_{host} \
         stddev_rep_rate_{host} resp_time_{host} net_io_{host} errors_{host}"
    );
    assert_eq!(rows[0].join(" "), header);
    let demanded: Vec<&str> = rows[1..].iter().map(|row| row[0]).collect();
    assert_eq!(demanded, ["200", "600", "1000"]);
    for row in &rows[1..] {
        assert_eq!((row.len(), row[9]), (10, "0"), "{text}");
        assert!(
            row[1..9].iter().all(|cell| shape(cell, false) == "<1>"),
            "{text}"
        );
    }
    // 40 connections of 5 requests at three rates, and whether the server is there before each.
    assert_eq!(server.stop().requests(), 603);
}

#[test]
fn autobench_compares_two_hosts_and_goes_on_where_one_does_not_respond() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (host, port) = server.at().rsplit_once(':').unwrap();
    bench.file(
        ".autobench.conf",
        format!(
            "host1 = {host}\nport1 = {port}\nuri1 = /100.html\nhost2 = 127.0.0.1\nport2 = 1\nuri2 = /\nlow_rate = 100\n\
             high_rate = 200\nrate_step = 100\nnum_conn = 20\nnum_call = 2\ntimeout = 5\noutput_fmt = csv\n"
        ),
    );
    let said = autobench(&bench, "");
    said.ended(0);
    let rows: Vec<&str> = said
        .out
        .lines()
        .filter(|line| line.matches(',').count() == 18)
        .collect();
    assert_eq!(rows.len(), 3, "{}", said.out);
    for (row, rate) in rows[1..].iter().zip([200, 400]) {
        assert!(row.starts_with(&format!("{rate},")), "{row}");
        assert!(
            row.ends_with(",0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,101"),
            "{row}"
        );
    }
    // Reports of httperf stand between them.
    assert_eq!(said.out.matches("replies 40 test-duration").count(), 2);
    assert_eq!(
        said.err
            .matches("Zero replies received, test invalid: rate")
            .count(),
        2,
        "{}",
        said.err
    );
}

#[test]
fn autobench_installs_its_conf_file_and_refuses_in_its_words() {
    let bench = Bench::new();
    let first = autobench(&bench, "--quiet");
    first.ended(0);
    assert_eq!(
        first.out,
        "Installation complete - please rerun autobench\n"
    );
    assert!(
        std::fs::read_to_string(bench.path(".autobench.conf"))
            .unwrap()
            .contains("num_conn = 5000\n")
    );
    let cases = [
        ("--output_fmt xls", "Output Format 'xls' not supported\n"),
        ("--const_test_time 5", "--const_test_time must be >= 10."),
        ("--low_rate 0", "Argument low_rate not supplied\n"),
    ];
    for (words, wanted) in cases {
        let said = autobench(&bench, words);
        said.ended(255);
        assert!(said.err.starts_with(wanted), "{words}: {said:?}");
    }
    let line =
        "autobench --single_host --host1 127.0.0.1 --low_rate 40 --high_rate 60 --rate_step 20";
    let said = bench.say(&format!("as --translate {line}"));
    said.ended(0);
    let commands: Vec<&str> = said.out.lines().collect();
    assert_eq!(commands.len(), 2, "{}", said.out);
    assert!(
        commands[1].contains(" --connection-rate 60 "),
        "{}",
        said.out
    );
}

/// `weigh as abc` with these words, which writes into the bench's folder.
fn abc(bench: &Bench, words: &str) -> Said {
    bench.say(&format!("as abc {words}"))
}

/// Rows and totals of a transcript of abc.
const ABC: &str =
    "      1,    49465,    55278,    61161,       0,       3,   0.00,    0.0,  05:24:00
     10,    54667,    56612,    59094,       0,       2,   0.00,    0.0,  05:24:01
     20,    56425,    73595,    83035,       0,       2,   0.00,    0.0,  05:24:01
-------------------------------------------------------------------------------
";

/// The shapes of the rows of abc's table, whose times are columns by themselves.
fn rows_of_abc(lines: &str) -> Vec<String> {
    let rows = lines.lines().map(|line| match line.rsplit_once(",  ") {
        Some((row, time)) => shape(row, true) + &shape(time, true),
        None => line.to_owned(),
    });
    rows.collect()
}

#[test]
fn abc_prints_its_table_and_keeps_it_in_its_file() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (_, port) = server.at().rsplit_once(':').unwrap();
    let name = format!(":{port}");
    let topology = format!(
        "\n> Server '{name}' process topology:\n---------------------------------------------\n  0] pid:"
    );
    let footprint = format!("\nTotal '{name}' server footprint: ");
    let said = abc(
        &bench,
        &format!("{name} [0-20:200A+10x2] {}/100.html", server.at()),
    );
    said.ended(0);
    let begin = " \npSTEP[-2]: 'A'\n=====";
    assert!(said.out.starts_with(begin), "{}", said.out);
    for part in [
        "http://gwan.ch/source/ab.c\n",
        "\nNow: ",
        "\nCPU: ",
        "\nRAM: ",
        "\nabc: max open sockets: ",
        &topology,
        &footprint,
        "\nweighttp -n 200 -c [0-20 step:10 rounds:2] -t ",
        " -k \"http://127.0.0.1:",
        "\n\n=> HTTP/1.1 200 OK\n   ",
        "\n\n Number        Requests per second            CPU               RAM\n",
        "\n   Content-Length: 100\n",
        "\nClients      min       ave       max      user    kernel  SRV MB  SYS MB    Time\n",
        "\n-------------------------------------------------------------------------------\n\nCPU jiffies:   user:",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let table: Vec<&str> = said
        .out
        .lines()
        .skip_while(|line| !line.starts_with("--------  --------"))
        .skip(1)
        .take(4)
        .collect();
    assert_eq!(
        rows_of_abc(&table.join("\n")),
        rows_of_abc(ABC),
        "{}",
        said.out
    );
    let column = |place: usize| -> u64 {
        let cells = table[..3].iter().map(|row| row.split(',').nth(place));
        cells
            .map(|cell| cell.unwrap().trim().parse::<u64>().unwrap())
            .sum()
    };
    let sums = format!(
        "\nmin:{}   avg:{}   max:{} Time:",
        column(1),
        column(2),
        column(3)
    );
    assert!(said.out.contains(&sums), "{sums}: {}", said.out);
    let mean = format!("the mean is {} requests/s\n", column(2) / 3);
    assert!(said.err.ends_with(&mean), "{mean}: {}", said.err);
    // The file has the same lines.
    let file = std::fs::read_to_string(bench.path(&format!("{name}_100.html[0-20:200A+10x2].csv")))
        .unwrap();
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.trim_end().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    };
    assert_eq!(lines(&file), lines(&said.out)[1..], "{file}");
    // Three steps of two rounds of 200, and whether the server is there before each step.
    assert_eq!(server.stop().requests(), 1203);
}

#[test]
fn abc_without_a_server_has_four_columns_and_ends_at_a_failed_response() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let said = abc(&bench, &format!("[1-2:20+1x1] {}/100.html", server.at()));
    said.ended(0);
    assert!(
        !said.out.contains("topology") && !said.out.contains("jiffies"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("\nClients      min       ave       max         Time\n"),
        "{}",
        said.out
    );
    let row = said
        .out
        .lines()
        .find(|line| line.starts_with("      2, "))
        .unwrap();
    assert_eq!(row.matches(',').count(), 4, "{row}");
    let said = abc(&bench, &format!("[1-9:20+1x1] {}/nothing", server.at()));
    said.ended(0);
    assert!(
        said.out.contains("\n* failed responses:20\n-----"),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("\nmin:0   avg:0   max:0 Time:"),
        "{}",
        said.out
    );
    assert!(
        said.err
            .contains(" * Warning: the resource '/nothing' is not found (404)\n"),
        "{}",
        said.err
    );
    // Two steps, then one, and whether the server is there before each.
    assert_eq!(server.stop().requests(), 63);
}

#[test]
fn what_abc_refuses_is_refused_in_its_words_and_with_its_status() {
    let bench = Bench::new();
    let cases = [
        (
            "",
            1,
            "usage:\n\n./abc [SERVER_NAME] [FROM-TO:NBR[A]+STEPxITERATIONS] <IP[:PORT]/URI>\n",
        ),
        ("gwan", 1, "bad URL: gwan\n\nusage:\n"),
        ("a b c d", 1, "* too many arguments\n\nusage:\n"),
        ("[0-1000+10x3] 127.0.0.1/", 1, "* bad range\n\nusage:\n"),
        (
            "[1-1:1+1x1] 127.0.0.1:1/",
            2,
            "\n * Can't find a server listening on '127.0.0.1:1'\n   (Make sure a server is listening there)\n",
        ),
    ];
    for (words, status, wanted) in cases {
        let said = abc(&bench, words);
        said.ended(status);
        assert!(said.err.starts_with(wanted), "{words}: {said:?}");
    }
    let server = Reference::start(&bench);
    let said = abc(
        &bench,
        &format!("nosuchserver [1-1:1+1x1] {}/100.html", server.at()),
    );
    said.ended(1);
    let missing = "\nCan't find any process containing 'nosuchserver'\n(Make sure the 'nosuchserver' server is started)\n";
    assert!(said.err.starts_with(missing), "{said:?}");
    let said = bench.say("as --translate abc nginx [0-20:1kA+10x3] 127.0.0.1:8080/100.html");
    said.ended(0);
    let commands: Vec<&str> = said.out.lines().collect();
    assert_eq!(commands.len(), 3, "{}", said.out);
    assert!(commands[2].contains(" --connections 20 "), "{}", said.out);
    assert!(commands[2].contains(" --server nginx"), "{}", said.out);
}
