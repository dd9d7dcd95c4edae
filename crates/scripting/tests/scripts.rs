//! What scripts find, what they ask, and what they are told.
#![cfg(feature = "lua")]

use scripting::{Asked, Next, Response, Script, Settings, Summary, Url};

fn load_with(text: &str, threads: u32, arguments: &[String]) -> Result<Script, String> {
    Script::load(&Settings {
        name: "it.lua",
        text: text.as_bytes(),
        arguments,
        url: Url {
            scheme: "http",
            authority: "127.0.0.1:8080",
            path: "/a?b=1",
        },
        headers: &[("X-Mine".to_owned(), "1".to_owned())],
        threads,
    })
}

fn load(text: &str) -> Script {
    load_with(text, 2, &[]).unwrap()
}

fn next(script: &Script, thread: u32) -> Option<Asked> {
    match script.thread(thread).unwrap().next() {
        Next::Request(asked) => Some(asked),
        Next::Nothing => None,
    }
}

fn path(script: &Script, thread: u32) -> String {
    next(script, thread).unwrap().path
}

#[test]
fn a_script_that_sets_fields_makes_one_request() {
    let script = load(
        "wrk.method = 'POST'\nwrk.body = 'a=1'\nwrk.headers['Content-Type'] = 'application/x-www-form-urlencoded'",
    );
    let only = script.only_request().unwrap().unwrap();
    assert_eq!(
        (only.method.as_str(), only.path.as_str()),
        ("POST", "/a?b=1")
    );
    assert_eq!(only.body.as_deref(), Some(&b"a=1"[..]));
    let mut headers = only.headers;
    headers.sort();
    let wanted = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Host", "127.0.0.1:8080"),
        ("X-Mine", "1"),
    ];
    assert_eq!(
        headers,
        wanted.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert!(!script.has_done() && script.failure().is_none());
}

#[test]
fn the_host_is_that_of_the_url_unless_the_script_names_another() {
    let host = |text: &str| {
        let asked = load(text).only_request().unwrap().unwrap();
        let host = asked.headers.into_iter().find(|(name, _)| name == "Host");
        host.map(|(_, value)| value)
    };
    assert_eq!(host("").as_deref(), Some("127.0.0.1:8080"));
    assert_eq!(host("wrk.host = 'x'").as_deref(), Some("x:8080"));
    assert_eq!(host("wrk.headers.Host = 'y'").as_deref(), Some("y"));
    assert_eq!(
        host("local early = wrk.format()\nwrk.headers.Host = early:match('Host: (%S+)')")
            .as_deref(),
        Some("127.0.0.1:8080")
    );
}

#[test]
fn threads_that_differ_make_no_single_request() {
    let script = load(
        "local n = 0\nfunction setup(thread) thread:set('id', n); n = n + 1 end\nfunction init() wrk.path = '/' .. id end",
    );
    assert_eq!(script.only_request(), Ok(None));
    assert_eq!(
        [path(&script, 0), path(&script, 1), path(&script, 1)],
        ["/0", "/1", "/1"]
    );
}

#[test]
fn each_thread_counts_for_itself_and_is_read_at_the_end() {
    let script = load(
        "local threads = {}
         function setup(thread) table.insert(threads, thread); thread:set('id', #threads) end
         function init(args) requests = 0 end
         function request() requests = requests + 1; return wrk.format(nil, '/' .. requests) end
         function response(status, headers, body)
           seen = { status = status, type = headers['Content-Type'], body = body }
         end
         function done(summary, latency, rates)
           for _, thread in ipairs(threads) do
             local seen = thread:get('seen')
             print(thread:get('id'), thread:get('requests'), seen and seen.status, seen and seen.type, seen and #seen.body)
           end
           io.write(string.format('%d %d %d %.1f %d\\n', summary.duration, summary.requests, summary.errors.status,
             latency.mean, latency:percentile(99)))
           local value, count = latency(2)
           print(value, count, #latency, rates.max)
           io.stderr:write('done\\n')
         end",
    );
    assert_eq!(script.only_request(), Ok(None));
    assert!(script.has_done());
    assert_eq!(
        [path(&script, 0), path(&script, 0), path(&script, 1)],
        ["/1", "/2", "/1"]
    );
    let first = script.thread(0).unwrap();
    assert!(first.wants_responses());
    first.told(&Response {
        status: 201,
        head: b"HTTP/1.1 201 Created\r\nContent-Type: text/plain \r\nX: y\r\n\r\n".to_vec(),
        body: b"four".to_vec(),
    });
    script.done(Summary {
        took: std::time::Duration::from_millis(1500),
        requests: 3,
        latencies: vec![(10, 3), (20, 1)],
        rates: vec![(7, 1)],
        ..Summary::default()
    });
    let said = script.said();
    let wanted =
        "1\t2\t201\ttext/plain\t4\n2\t1\tnil\tnil\tnil\n1500000 3 0 12.5 20\n20\t1\t2\t7\n";
    assert_eq!((said.out.as_str(), said.err.as_str()), (wanted, "done\n"));
    assert_eq!(script.failure(), None);
}

#[test]
fn several_requests_at_a_time_are_a_pipeline() {
    let script = load(
        "function init(args)
           local all = {}
           for at = 1, 3 do all[at] = wrk.format(nil, '/' .. (args[at] or at)) end
           together = table.concat(all)
         end
         function request() return together end",
    );
    assert_eq!(script.pipeline(), Ok(3));
    let paths: Vec<String> = (0..4).map(|_| path(&script, 0)).collect();
    assert_eq!(paths, ["/1", "/2", "/3", "/1"]);
    let words = ["x".to_owned()];
    let given = load_with(
        "function init(args) wrk.path = args[0] .. '#' .. args[1] end",
        1,
        &words,
    );
    let only = given.unwrap().only_request().unwrap().unwrap();
    assert_eq!(only.path, "http://127.0.0.1:8080/a?b=1#x");
}

#[test]
fn a_delay_is_asked_for_and_a_thread_can_be_stopped() {
    let script = load(
        "function delay() return 250 end
         function request() wrk.thread:stop(); return wrk.format() end",
    );
    let thread = script.thread(0).unwrap();
    assert!(thread.has_delay());
    assert_eq!(thread.delay(), std::time::Duration::from_millis(250));
    assert!(next(&script, 0).is_some());
    assert_eq!(next(&script, 0), None);
    assert!(next(&script, 1).is_some(), "the other goes on");
    assert_eq!(script.failure(), None);
}

#[test]
fn what_is_wrong_is_a_sentence_with_file_and_line() {
    let cases = [
        ("wrk.method = ", "it.lua:1: "),
        ("\nerror('no')", "it.lua:2: no"),
        ("require('ffi')", "no module ffi of LuaJIT"),
        ("local x = bit.band(1, 2)", "no module bit of LuaJIT"),
        ("function init() nothing.x = 1 end", "it.lua:1: "),
    ];
    for (text, wanted) in cases {
        let said = load_with(text, 1, &[]).unwrap_err();
        assert!(
            said.starts_with("it.lua") && said.contains(wanted),
            "{said}"
        );
        assert!(!said.contains('\n'), "{said}");
    }
    let script = load("function request() return 'nonsense' end");
    assert_eq!(next(&script, 0), None);
    let why = script.failure().unwrap();
    assert!(
        why.contains("what request() returned is no request"),
        "{why}"
    );
    let failing = load("function request() return nil end");
    assert_eq!(next(&failing, 0), None);
    assert!(failing.failure().is_some());
}

#[test]
fn addresses_can_be_looked_up_and_given_to_threads() {
    let script = load(
        "function setup(thread)
           local all = wrk.lookup('127.0.0.1', '8080')
           thread.addr = all[1]
           print(thread.addr)
         end",
    );
    let address = "127.0.0.1:8080".parse().ok();
    assert_eq!(script.addresses(), [address, address]);
    assert_eq!(script.said().out, "127.0.0.1:8080\n127.0.0.1:8080\n");
}
