//! What cannot be done is refused before anything is asked, in one sentence that names the flag.

use crate::bench::{Bench, Reference, Said};
use std::process::Command;

/// Arguments after `run`, with `@` for the server's address, and the words that the refusal must hold.
const CASES: &[(&[&str], &[&str])] = &[
    // whom to ask
    (&[], &["no URL is given"]),
    (
        &["http://@/", "--insecure"],
        &["--insecure has no effect", "https://"],
    ),
    (&["https://@/", "--key", "k"], &["--key", "--cert"]),
    (
        &["https://@/", "--cacert", "/no/such"],
        &["/no/such", "cannot be read"],
    ),
    (&["ftp://@/"], &["ftp://", "only http and https are spoken"]),
    (&["http://"], &["`http://` is not a URL"]),
    (&["http://a b/"], &["`http://a b/` is not a URL"]),
    (&["http://@/ä"], &["is not a URL", "percent-encoded"]),
    (&["http://a:0/"], &["port 0"]),
    (&["http://a:99999/"], &["is not a URL"]),
    (&["http://u:p@127.0.0.1/"], &["--user"]),
    (
        &["no-such-host.invalid"],
        &["no-such-host.invalid", "is the name right?"],
    ),
    (
        &["@", "localhost:99/"],
        &["name two servers", "localhost:99"],
    ),
    (
        &["@", "--resolve", "x"],
        &["--resolve `x`", "HOST:PORT:ADDR"],
    ),
    (
        &["@", "--resolve", "elsewhere:80:127.0.0.1"],
        &[
            "--resolve `elsewhere:80:127.0.0.1` does not match the target 127.0.0.1:",
            "write --resolve 127.0.0.1:",
        ],
    ),
    (
        &["x", "--resolve", "x:80:127.0.0.1", "--resolve", "x:81:::1"],
        &["--resolve `x:81:::1` does not match the target x:80"],
    ),
    (
        &["x", "--resolve", "x:80:127.0.0.1", "--unix", "s"],
        &["--resolve", "--unix", "cannot be used"],
    ),
    (&["@", "--unix", "none"], &["unix:none"]),
    // how much
    (&["@", "-c", "0"], &["--connections is 0"]),
    (&["@", "-c", "x"], &["--connections", "`x`"]),
    (&["@", "-c", "5000000000"], &["--connections", "too large"]),
    (&["@", "--rate", "0"], &["--rate is 0", "closed loop"]),
    (&["@", "--rate", "0.0"], &["--rate is 0", "closed loop"]),
    (&["@", "--rate", "0/s"], &["--rate is 0", "closed loop"]),
    (&["@", "--rate", "nan"], &["--rate", "`nan` is not a rate"]),
    (&["@", "--rate", ""], &["--rate", "`` is not a rate"]),
    (
        &["@", "--rate", "1k", "-n", "5", "-d", "1s"],
        &["--requests", "--duration", "cannot be used"],
    ),
    (
        &["@", "--spin", "maybe"],
        &["--spin", "maybe", "auto, always, never"],
    ),
    (
        &["@", "--rate", "fast"],
        &["--rate", "`fast` is not a rate", "0.5"],
    ),
    (&["@", "--rate", "2g"], &["--rate", "`2g` is too large"]),
    (
        &["@", "--rate", "10m", "-c", "2"],
        &["--rate 10,000,000 over 2 connections", "--connections"],
    ),
    (
        &["@", "--rate", "50m"],
        &[
            "--rate 50,000,000 is more than this generator can offer, about ",
            "lower --rate",
        ],
    ),
    (
        &["@", "--rate", "5", "--pipeline", "2"],
        &["--pipeline contradicts --rate"],
    ),
    (
        &["@", "--arrivals", "constant"],
        &["--arrivals needs --rate or --connection-rate or --ramp"],
    ),
    (
        &["@", "--connection-rate", "0"],
        &["--connection-rate is 0", "closed loop"],
    ),
    (
        &["@", "--connection-rate", "fast"],
        &["--connection-rate", "`fast` is not a rate"],
    ),
    (
        &["@", "--connection-rate", "5", "--rate", "5"],
        &["--connection-rate", "--rate", "cannot be used"],
    ),
    (
        &["@", "--connection-rate", "10m", "-c", "2"],
        &["--connection-rate 10,000,000 over 2 connections"],
    ),
    (
        &["@", "--connection-rate", "5", "--pipeline", "2"],
        &["--pipeline contradicts --connection-rate"],
    ),
    (
        &["@", "--connection-rate", "5", "--connect", "eager"],
        &["--connect eager contradicts --connection-rate"],
    ),
    (
        &[
            "@",
            "--connection-rate",
            "5",
            "--no-keepalive",
            "--requests-per-connection",
            "2",
        ],
        &["--no-keepalive", "--requests-per-connection above 1"],
    ),
    (
        &[
            "@",
            "--connection-rate",
            "5",
            "--requests-per-connection",
            "0",
        ],
        &["--requests-per-connection is 0"],
    ),
    (&["@", "-t", "0"], &["--threads is 0"]),
    (
        &["@", "--two-generators", "-c", "1"],
        &["--two-generators", "cannot be split", "--connections"],
    ),
    (
        &["@", "--two-generators", "-n", "1"],
        &["--two-generators", "cannot be split"],
    ),
    (&["@", "-n", "0"], &["--requests is 0"]),
    (&["@", "-n", "1.5"], &["--requests", "`1.5`"]),
    (
        &["@", "-n", "5", "-d", "1s"],
        &["--requests", "--duration", "cannot be used"],
    ),
    (&["@", "--server", ":0"], &["--server", "`:0` is neither"]),
    (
        &["@", "--server", "cgroup:/"],
        &["--server", "every process", "the server's own"],
    ),
    (&["@", "-d", "0s"], &["--duration is 0"]),
    (
        &["@", "-d", "5x"],
        &["--duration", "`5x` is not a duration"],
    ),
    (&["@", "-d", ""], &["--duration", "is not a duration"]),
    (&["@", "-d", "1e9s"], &["--duration", "is not a duration"]),
    (
        &["@", "-d", "99999999999999s"],
        &["--duration", "too large"],
    ),
    (
        &["@", "--duration=-1s"],
        &["--duration", "`-1s` is not a duration"],
    ),
    (
        &["@", "--warmup", "soon"],
        &["--warmup", "`soon` is not a duration"],
    ),
    (&["@", "--rounds", "0"], &["--rounds is 0"]),
    (&["@", "--pipeline", "0"], &["--pipeline is 0"]),
    (
        &["@", "--requests-per-connection", "0"],
        &["--requests-per-connection is 0"],
    ),
    (&["@", "--timeout", "0s"], &["--timeout is 0"]),
    (
        &["@", "--connect-timeout", "0s"],
        &["--connect-timeout is 0"],
    ),
    (
        &["@", "--connect", "sometimes"],
        &["--connect", "sometimes", "eager, lazy"],
    ),
    (&["@", "--seed", "x"], &["--seed"]),
    (
        &["@", "--max-errors", "x"],
        &["--max-errors", "`x` is neither"],
    ),
    (&["@", "--max-errors", "101%"], &["--max-errors", "`101%`"]),
    (
        &["@", "-c", "100m"],
        &["--connections 100000000", "open files", "ulimit"],
    ),
    // what
    (&["@", "-X", "G T"], &["--method `G T`"]),
    (&["@", "-X", ""], &["--method"]),
    (&["@", "-X", "CONNECT"], &["--method CONNECT"]),
    (&["@", "-H", "foo"], &["--header `foo` has no colon"]),
    (&["@", "-H", "bad name: x"], &["--header", "cannot be sent"]),
    (&["@", "-H", ": x"], &["--header", "cannot be sent"]),
    (
        &["@", "-H", "A: b\r\nC: d"],
        &["--header", "cannot be sent"],
    ),
    (&["@", "-H", "A: b\nC: d"], &["--header", "cannot be sent"]),
    (
        &["@", "-H", "Content-Length: 4"],
        &["--header Content-Length"],
    ),
    (
        &["@", "-H", "transfer-encoding: chunked"],
        &["--header transfer-encoding"],
    ),
    (
        &["@", "-H", "Connection: close"],
        &["--header Connection", "--no-keepalive"],
    ),
    (&["@", "--cookie", "a\nb"], &["cannot be sent"]),
    (&["@", "--user", "joe"], &["--user", "NAME:PASSWORD"]),
    (&["@", "--body", "@none"], &["--body @none cannot be read"]),
    (&["@", "--body", "@."], &["--body @.", "no file"]),
    (&["@", "--urls", "none"], &["--urls none cannot be read"]),
    (&["@", "--urls", "."], &["--urls . is no file"]),
    (
        &["@", "--urls", "/dev/stdin"],
        &["--urls /dev/stdin is no file"],
    ),
    (
        &["@", "--urls", "bad"],
        &["--urls bad line 3", "`get` is no method"],
    ),
    (
        &["@", "--urls", "weights"],
        &[
            "--urls weights line 2",
            "`weight=0` is no weight; write a whole number from 1 to 1000",
        ],
    ),
    (
        &["@", "--urls", "long"],
        &["--urls long has 4,097 requests, and only a file of up to 4,096 may have weights"],
    ),
    (
        &["@", "--urls", "heavy"],
        &["the weights in --urls heavy add up to 101,000, more than 100,000"],
    ),
    (
        &["@", "--urls", "other"],
        &["--urls other line 2", "http://other.example"],
    ),
    (
        &["@", "--urls", "blank"],
        &["--urls blank holds no request"],
    ),
    (&["--urls", "paths"], &["--urls paths names no server"]),
    (&["@", "--urls", "binary"], &["--urls binary line 2"]),
    (
        &["@", "--expect", "@none"],
        &["--expect @none cannot be read"],
    ),
    (&["@", "--expect", "99"], &["--expect `99`"]),
    (&["@", "--expect", "ok"], &["--expect `ok`"]),
    (&["@", "--expect", "300..200"], &["--expect"]),
    (
        &["@", "--expect", "@paths", "--expect", "@bad"],
        &["--expect names two bodies"],
    ),
    (
        &["@", "-X", "HEAD", "--expect", "@paths"],
        &["--expect @FILE contradicts --method HEAD"],
    ),
    (&["@", "--rounds", "10001"], &["--rounds is 10001"]),
    // from where, and to where
    (&["@", "-o", "/dev/stdout"], &["--output", "--json"]),
    (&["@", "-o", "-"], &["--output", "--json"]),
    (
        &["@", "--source", "::1"],
        &["--source ::1", "no address of its kind"],
    ),
    (&["@", "--source", "x"], &["--source", "'x'"]),
    (
        &["@", "--source", "192.0.2.1", "-n", "1"],
        &["--source 192.0.2.1 is no address of this machine"],
    ),
    (
        &["@", "-o", "no-folder/run.json"],
        &["no-folder/run.json", "there is no folder"],
    ),
    (&["@", "-o", "."], &["that is a folder"]),
    (&["@", "-o", "/proc/run.json"], &["/proc/run.json"]),
    // together
    (
        &["@", "--no-keepalive", "--requests-per-connection", "4"],
        &["--no-keepalive", "--requests-per-connection"],
    ),
    (
        &["@", "--no-keepalive", "--pipeline", "4"],
        &["--no-keepalive", "--pipeline"],
    ),
    (
        &["@", "--http1.0", "--pipeline", "4"],
        &["--http1.0", "--pipeline"],
    ),
    (
        &["@", "--show-exchange", "--dry-run"],
        &["--show-exchange", "--dry-run"],
    ),
    (&["@", "--nope"], &["--nope"]),
    (&["@", "-o"], &["--output"]),
];

#[test]
fn every_bad_input_is_refused_by_name_and_the_server_is_never_asked() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    bench.file("bad", "/a\n# fine\nget /b\n");
    bench.file("weights", "weight=2 /a\nweight=0 /b\n");
    bench.file("long", format!("weight=2 /a\n{}", "/b\n".repeat(4096)));
    bench.file("heavy", "weight=1000 /a\n".repeat(101));
    bench.file("other", "/a\nhttp://other.example/b\n");
    bench.file("blank", "\n# nothing\n");
    bench.file("paths", "/a\n/b\n");
    bench.file("binary", b"/a\n/\xff\xfe\n");
    for (args, words) in CASES {
        let mut all = vec!["run".to_owned()];
        all.extend(args.iter().map(|arg| with_address(arg, server.at())));
        let said = bench.say_words(&all);
        println!("{args:?}: {}", said.err); // shown when one of them fails
        said.refused(words);
    }
    assert!(
        !bench.path("state").exists()
            || bench
                .path("state/weigh")
                .read_dir()
                .unwrap()
                .next()
                .is_none()
    );
    assert_eq!(server.stop().of("connections"), 0);
}

/// `arg` with the address for a leading `@` or one after `://`; in other places `@` begins a file's name.
fn with_address(arg: &str, address: &str) -> String {
    match arg {
        "@" => address.to_owned(),
        _ => arg.replace("://@", &format!("://{address}")),
    }
}

#[test]
fn a_state_directory_that_cannot_be_is_found_before_the_load() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    for place in ["/proc/none", "/dev/null"] {
        let mut command = bench.weigh(&["run", server.at(), "-n", "5"]);
        let child = command.env("XDG_STATE_HOME", place).spawn().unwrap();
        Said::of(child).refused(&["no state directory", "--output", place]);
    }
    assert_eq!(server.stop().of("connections"), 0);
}

#[test]
fn a_newline_in_a_header_does_not_break_the_sentence() {
    let said = Bench::new().say_words(&["run", "127.0.0.1:1", "-H", "A: b\r\n\x1b[2JC: d"]);
    said.refused(&["--header"]);
    assert!(!said.err.contains('\x1b'), "{said:#?}");
    assert_eq!(said.err.lines().count(), 1, "{said:#?}");
}

#[test]
fn more_connections_than_descriptors_are_foreseen_and_the_number_named_works() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let limited = |connections: &str| {
        let at = server.at();
        let line = format!("run {at}/0.html -n 100 --rounds 1 -q -o /dev/null -c {connections}");
        bench.say_under("ulimit -n 64", "", &line)
    };
    let said = limited("60");
    said.refused(&["--connections 60 needs", "open files", "ulimit -Hn"]);
    let most = said
        .err
        .split_once("use --connections ")
        .unwrap()
        .1
        .split_once(',')
        .unwrap()
        .0
        .to_owned();
    limited(&most).ended(0);
}

#[test]
fn a_chart_that_cannot_be_drawn_is_found_before_the_load() {
    let bench = Bench::new();
    std::os::unix::fs::symlink("run.svg", bench.path("link.svg")).unwrap();
    let server = Reference::start(&bench);
    let cases: &[(&str, &[&str])] = &[
        (
            "--chart curve.gif",
            &["--chart", ".svg or .png", "curve.gif"],
        ),
        ("--chart svg", &["--chart", ".svg or .png"]),
        ("--chart none/curve.svg", &["--chart", "no folder none"]),
        ("--chart /proc/curve.png", &["--chart", "cannot be written"]),
        (
            "--chart run.svg -o run.svg",
            &["--chart and --output both name"],
        ),
        (
            "--chart ./run.svg -o run.svg",
            &["--chart and --output both name"],
        ),
        (
            "--chart link.svg -o run.svg",
            &["--chart and --output both name"],
        ),
        (
            "-o run.json --markdown ./run.json.journal",
            &["--markdown and --output both name"],
        ),
        (
            "--junit gate --markdown ./gate",
            &["--markdown and --junit both name"],
        ),
        ("--chart curve.svg --dry-run", &["--chart", "--dry-run"]),
    ];
    for (rest, words) in cases {
        for (verb, connections) in [("run", "1"), ("sweep", "1,2")] {
            let at = server.at();
            let line = format!("{verb} {at}/0.html -n 5 --rounds 1 -c {connections} {rest}");
            bench.say(&line).refused(words);
        }
    }
    assert!(!bench.path("curve.svg").exists());
    assert_eq!(server.stop().of("connections"), 0);
}

#[test]
fn a_pipe_that_nobody_writes_to_is_given_up_and_a_folder_is_no_file() {
    let bench = Bench::new();
    let path = bench.path("pipe");
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.is_ok_and(|status| status.success()));
    let line = "run 127.0.0.1:1 -n 5 --urls pipe";
    bench.say(line).refused(&[
        "--urls pipe is a pipe that no process writes to",
        "5 s waited",
    ]);
    bench
        .say("run 127.0.0.1:1 --body @pipe")
        .refused(&["--body @pipe is no file"]);
    bench
        .say("run 127.0.0.1:1 --expect @pipe")
        .refused(&["--expect @pipe is no file"]);
}
