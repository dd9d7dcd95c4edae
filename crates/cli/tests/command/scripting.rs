//! Scripts of wrk: what its documentation describes, each in our own words, by wrk's command line and by ours.

use crate::bench::{Bench, Reference, Said};
use crate::scripted::{Asked, OK, Scripted};
use std::fs;
use std::process::Command;

/// Writes a script, and returns its name.
fn script(bench: &Bench, text: &str) -> &'static str {
    fs::write(bench.path("it.lua"), text).unwrap();
    "it.lua"
}

/// `weigh as wrk -s` with this script against a server that answers everything; what it asked after the first request of all.
fn wrk(text: &str, words: &str) -> (Said, Vec<Asked>) {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let name = script(&bench, text);
    let (options, behind) = words.split_once('|').unwrap_or((words, ""));
    let said = bench.say(&format!(
        "as wrk {options} -s {name} http://{}/ {behind}",
        server.at()
    ));
    (said, server.asked().split_off(1))
}

#[test]
fn a_script_that_sets_fields_posts_them() {
    let text = "wrk.method = 'POST'
        wrk.body = 'foo=bar&baz=quux'
        wrk.headers['Content-Type'] = 'application/x-www-form-urlencoded'";
    let (said, asked) = wrk(text, "-t1 -c1 -d1s");
    said.ended(0);
    assert!(asked.len() > 10);
    for request in &asked {
        assert!(request.line().starts_with("POST / HTTP/1.1"), "{request:?}");
        assert!(
            request
                .head
                .contains("\r\nContent-Type: application/x-www-form-urlencoded\r\n")
        );
        assert!(
            request.head.contains("\r\nContent-Length: 16\r\n"),
            "{request:?}"
        );
        assert_eq!(request.body, b"foo=bar&baz=quux");
    }
}

#[test]
fn a_token_of_the_first_response_is_sent_with_the_next() {
    let text = "local token
        function request()
          if token then wrk.headers['X-Token'] = token else return wrk.format('GET', '/authenticate') end
          return wrk.format('GET', '/resource')
        end
        function response(status, headers, body)
          if not token and status == 200 then token = body end
        end";
    let (said, asked) = wrk(text, "-t1 -c1 -d1s");
    said.ended(0);
    assert!(
        asked[0].line().starts_with("GET /authenticate "),
        "{:?}",
        asked[0]
    );
    for request in &asked[1..] {
        assert!(request.line().starts_with("GET /resource "), "{request:?}");
        assert!(
            request.head.contains("\r\nX-Token: hello\r\n"),
            "{request:?}"
        );
    }
}

#[test]
fn threads_are_set_up_and_read_at_the_end_and_words_behind_the_url_are_given() {
    let text = "local threads = {}
        function setup(thread)
          threads[#threads + 1] = thread
          thread:set('id', #threads)
        end
        function init(args) requests, responses = 0, 0; word = args[1] end
        function request() requests = requests + 1; return wrk.format('GET', '/' .. id .. '/' .. requests) end
        function response() responses = responses + 1 end
        function done(summary, latency, requests)
          local all = 0
          for _, thread in ipairs(threads) do
            all = all + thread:get('responses')
            print('thread ' .. thread:get('id') .. ' ' .. thread:get('word'))
          end
          io.write(string.format('told %d of %d, %d errors\\n', all, summary.requests, summary.errors.read))
          for _, p in pairs({ 50, 99 }) do
            io.write(string.format('%g%%,%d\\n', p, latency:percentile(p)))
          end
        end";
    let (said, asked) = wrk(text, "-t2 -c4 -d1s| somewhere");
    said.ended(0);
    let own: Vec<&str> = said
        .out
        .split("Transfer/sec:")
        .nth(1)
        .unwrap()
        .lines()
        .skip(1)
        .collect();
    assert_eq!(
        own[..2],
        ["thread 1 somewhere", "thread 2 somewhere"],
        "{}",
        said.out
    );
    let numbers: Vec<u64> = own[2]
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|it| it.parse().ok())
        .collect();
    // All responses are told, those of requests that were under way at the end too.
    let [told, counted, errors] = numbers[..] else {
        panic!("{}", own[2])
    };
    assert!(
        told >= counted && told <= counted + 4 && errors == 0,
        "{}",
        own[2]
    );
    assert!(
        own[3].starts_with("50%,") && own[4].starts_with("99%,"),
        "{own:?}"
    );
    let of_thread = |id: u32| {
        asked
            .iter()
            .any(|it| it.line().starts_with(&format!("GET /{id}/1 ")))
    };
    assert!(of_thread(1) && of_thread(2));
}

#[test]
fn requests_that_are_returned_together_are_sent_one_behind_the_other() {
    let text = "function init()
          local all = {}
          for _, name in ipairs({ 'foo', 'bar', 'baz' }) do all[#all + 1] = wrk.format(nil, '/?' .. name) end
          together = table.concat(all)
        end
        function request() return together end";
    let (said, asked) = wrk(text, "-t1 -c1 -d1s");
    said.ended(0);
    let lines: Vec<&str> = asked.iter().take(4).map(Asked::line).collect();
    let names = ["foo", "bar", "baz", "foo"].map(|name| format!("GET /?{name} HTTP/1.1"));
    assert_eq!(lines, names);
    let bench = Bench::new();
    let name = script(&bench, text);
    let translated = bench.say(&format!(
        "as --translate wrk -d1s -s {name} http://127.0.0.1:1/"
    ));
    translated.ended(0);
    assert!(translated.out.contains("--script it.lua"), "{translated:?}");
    assert!(translated.out.contains("--pipeline 3"), "{translated:?}");
}

#[test]
fn connections_pause_and_threads_stop_as_the_script_says() {
    let (said, asked) = wrk("function delay() return 100 end", "-t1 -c2 -d1s");
    said.ended(0);
    // 10 a second on each of two connections at most.
    assert!((10..=22).contains(&asked.len()), "{}", asked.len());
    let text = "local count = 0
        function response()
          count = count + 1
          if count == 100 then wrk.thread:stop() end
        end";
    let (said, asked) = wrk(text, "-t1 -c1 -d2s");
    said.ended(0);
    assert_eq!(asked.len(), 100, "{}", said.out);
}

#[test]
fn what_is_wrong_with_a_script_is_said_before_the_load() {
    let cases = [
        ("wrk.method =", "it.lua:1: "),
        ("require 'ffi'", "no module ffi of LuaJIT"),
        (
            "function request() return 5 end",
            "it.lua: what request() returned is no request",
        ),
        ("function request() error('no') end", "it.lua:1: no"),
    ];
    for (text, wanted) in cases {
        let (said, asked) = {
            let bench = Bench::new();
            let server = Scripted::answering(OK);
            let name = script(&bench, text);
            let said = bench.say(&format!("as wrk -d1s -s {name} http://{}/", server.at()));
            (said, server.asked())
        };
        said.ended(1);
        assert!(said.err.contains(wanted), "{said:?}");
        assert_eq!((said.err.lines().count(), asked.len()), (1, 0), "{said:?}");
    }
    let bench = Bench::new();
    let name = script(&bench, "function request() error('no') end");
    let said = bench.say(&format!("run --script {name} http://127.0.0.1:1/"));
    said.refused(&["it.lua:1: no"]);
    bench
        .say("run --script missing.lua http://127.0.0.1:1/")
        .refused(&["missing.lua", "cannot be read"]);
    bench
        .say(&format!(
            "run --script {name} --method POST http://127.0.0.1:1/"
        ))
        .refused(&["--script", "--method"]);
    bench
        .say(&format!(
            "run --script {name} http://127.0.0.1:1/ http://127.0.0.1:1/b"
        ))
        .refused(&["--script needs one URL"]);
}

#[test]
fn weigh_run_takes_scripts_and_shows_what_they_wrote() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let text = "local number = 0
        function init(args) word = args[1] end
        function request() number = number + 1; return wrk.format(nil, '/bytes/' .. number % 7) end
        function done(summary) print(summary.requests > 0) end";
    let name = script(&bench, text);
    let words = format!(
        "--script {name} --script-arg x --rounds 1 --duration 500ms -c2 --threads 1 http://{}/",
        server.at()
    );
    let (said, record) = bench.run(&words);
    said.ended(0);
    assert!(said.out.contains("requests made by it.lua"), "{}", said.out);
    assert!(
        said.out.ends_with("the script wrote\ntrue\n"),
        "{}",
        said.out
    );
    assert_eq!(record.0["plan"]["requests"]["script"]["arguments"][0], "x");
    assert_eq!(
        record.0["points"][0]["rounds"][0]["script"]["out"],
        "true\n"
    );
}

/// What both print behind wrk's report: the same lines but for their numbers.
#[test]
fn wrk_itself_makes_the_same_of_a_script() {
    if Command::new("wrk").arg("-v").output().is_err() {
        return;
    }
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let text = "local threads = {}
        function setup(thread) threads[#threads + 1] = thread; thread:set('id', #threads) end
        function init(args) paths = { '/bytes/1', '/bytes/22', args[1] }; seen = 0 end
        function request() seen = seen + 1; return wrk.format('GET', paths[seen % 3 + 1]) end
        function response(status, headers, body)
          if status ~= 200 or tonumber(headers['Content-Length']) ~= #body then wrong = true end
        end
        function done(summary, latency, requests)
          for _, thread in ipairs(threads) do print(thread:get('id'), thread:get('wrong'), thread:get('seen') > 10) end
          print(summary.errors.status, summary.errors.timeout, latency.min <= latency.max, #latency > 0)
          print(latency.stdev > 0, latency:percentile(50) <= latency:percentile(99), summary.duration > 900000)
        end";
    let name = script(&bench, text);
    let words = format!("-t2 -c4 -d1s -s {name} http://{}/ /bytes/333", server.at());
    let ours = bench.say(&format!("as wrk {words}"));
    ours.ended(0);
    let mut theirs = Command::new("wrk");
    theirs.args(words.split(' ')).current_dir(bench.path(""));
    let theirs = String::from_utf8(theirs.output().unwrap().stdout).unwrap();
    let own = |text: &str| {
        text.split("Transfer/sec:")
            .nth(1)
            .map(|text| text.split_once('\n').unwrap().1.to_owned())
    };
    assert_eq!(own(&ours.out), own(&theirs), "{theirs}");
}

#[test]
fn wrk2_keeps_a_rate_and_prints_its_spectrum() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let at = server.at();
    let said = bench.say(&format!(
        "as wrk2 -t1 -c5 -d1s -R500 -U http://{at}/bytes/9"
    ));
    said.ended(0);
    let lines: Vec<&str> = said.out.lines().collect();
    let place = |begin: &str| lines.iter().position(|line| line.starts_with(begin));
    let order = [
        "Running 1s test @ http://",
        "  Thread Stats   Avg",
        "    Latency ",
        "    Req/Sec ",
        "  Latency Distribution (HdrHistogram - Recorded Latency)",
        " 50.000%",
        "  Detailed Percentile spectrum:",
        "       Value   Percentile   TotalCount 1/(1-Percentile)",
        "#[Mean    = ",
        "#[Max     = ",
        "#[Buckets = ",
    ];
    let places: Vec<usize> = order.iter().filter_map(|begin| place(begin)).collect();
    assert!(
        places.len() == order.len() && places.is_sorted(),
        "{}",
        said.out
    );
    assert_eq!(said.out.matches("Detailed Percentile spectrum").count(), 2);
    let done: u64 = lines
        .iter()
        .find_map(|line| {
            line.trim_start()
                .split_once(" requests in ")?
                .0
                .parse()
                .ok()
        })
        .unwrap();
    assert!((495..=505).contains(&done), "{}", said.out);
    let refused = bench.say(&format!("as wrk2 -c5 http://{at}/"));
    refused.ended(1);
    assert_eq!(
        refused.err,
        "Throughput MUST be specified with the --rate or -R option\n"
    );
    let translated = bench.say(&format!("as --translate wrk2 -R 1k http://{at}/"));
    assert!(
        translated.out.contains("--rate 1000 --arrivals constant"),
        "{translated:?}"
    );
}
