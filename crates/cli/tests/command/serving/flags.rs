//! The command line.

use super::*;

#[test]
fn a_program_called_counterweight_is_the_server() {
    let bench = Bench::new();
    let name = bench.path("counterweight");
    symlink(env!("CARGO_BIN_EXE_weigh"), &name).unwrap();
    let words = [
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "-w",
        "1",
    ];
    let help = Command::new(&name).arg("--help").output();
    let help = String::from_utf8(help.unwrap().stdout).unwrap();
    assert!(
        help.contains("Usage: weigh serve [OPTIONS] [DIR]"),
        "{help}"
    );
    let child = Command::new(&name)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let server = Serving::of(child);
    assert_eq!(server.get("/hello", "").body, b"Hello, world!\n");
    assert_eq!(server.stop().requests(), 1);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn wrong_flags_are_refused_by_name_and_with_a_remedy() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 1");
    let taken = format!("--listen {}", server.at);
    let admin = format!("--listen 127.0.0.1:0 --admin {}", server.at);
    let cases: &[(&str, &[&str])] = &[
        ("--listen nonsense", &["--listen", "nonsense"]),
        ("--listen 127.0.0.1", &["--listen", "127.0.0.1"]),
        (&taken, &["cannot listen at 127.0.0.1:", "in use"]),
        (&admin, &["cannot listen at 127.0.0.1:", "in use"]),
        (
            "--listen 127.0.0.1:9 --listen 127.0.0.1:9",
            &["both 127.0.0.1:9 and 127.0.0.1:9", "another port"],
        ),
        (
            "--listen 0.0.0.0:9 --admin 127.0.0.1:9",
            &["both 0.0.0.0:9 and 127.0.0.1:9", "another port"],
        ),
        (
            "--listen 192.0.2.77:80",
            &["cannot listen at 192.0.2.77:80", "not available"],
        ),
        ("--listen unix:site", &["cannot listen at", "site"]),
        (
            "nowhere",
            &["DIR `nowhere` does not exist", "name the folder"],
        ),
        (
            "outside.txt",
            &["DIR `outside.txt` is no folder", "name the folder"],
        ),
        (
            "site --log nowhere/access.log",
            &[
                "cannot append to the log nowhere/access.log",
                "no such file",
            ],
        ),
        (
            "-w 0",
            &["the number of workers must be from 1 to 1024, not 0"],
        ),
        (
            "-w 5000",
            &["the number of workers must be from 1 to 1024, not 5000"],
        ),
        (
            "--max-connections 0",
            &["--max-connections 0", "would serve no client"],
        ),
        (
            "--max-connections 2m",
            &["the number of connections must be from 1 to"],
        ),
        (
            "--max-head 10",
            &["--max-head must be from 256 to 65536 bytes, not 10"],
        ),
        (
            "--max-head 1m",
            &["--max-head must be from 256 to 65536 bytes, not 1000000"],
        ),
        ("--head-timeout 0", &["--head-timeout 0", "such as 10s"]),
        (
            "--keepalive-timeout soon",
            &["--keepalive-timeout", "soon", "such as 500ms"],
        ),
        ("--body-speed fast", &["--body-speed", "fast"]),
        ("--cache lots", &["--cache", "lots"]),
        ("--first-request-timeout 0s", &["--first-request-timeout 0"]),
    ];
    for (line, words) in cases {
        let listen = if line.contains("--listen") {
            ""
        } else {
            "--listen 127.0.0.1:0"
        };
        let said: Said = bench.say(&format!("serve {listen} {line}"));
        said.refused(words);
    }
    assert_eq!(server.stop().of("connections"), 0);
}

#[test]
fn help_teaches_what_there_is() {
    let said = Bench::new().say("serve --help");
    let help = &said.ended(0).out;
    let flags = [
        "--listen",
        "--listen-mode",
        "--user",
        "--workers",
        "--log",
        "--header",
        "--cache",
        "--admin",
        "--max-connections",
        "--max-connections-per-address",
        "--max-head",
        "--max-body",
        "--first-request-timeout",
        "--head-timeout",
        "--body-timeout",
        "--body-speed",
        "--send-timeout",
        "--send-speed",
        "--keepalive-timeout",
        "--drain-timeout",
    ];
    let manual = include_str!("../../../../../docs/serve.md");
    for flag in flags {
        assert!(help.contains(flag), "{flag}: {help}");
        assert!(
            manual.contains(&format!("`{flag}")),
            "docs/serve.md says nothing of {flag}"
        );
    }
    assert!(
        help.contains("Examples:") && help.contains("/metrics"),
        "{help}"
    );
}

#[test]
fn more_places_than_descriptors_are_remarked_on() {
    let bench = site();
    let line = "serve --max-connections 5000 --listen 127.0.0.1:0";
    let mut child = bench.under("ulimit -n 600", "", line).spawn().unwrap();
    let mut first = [0];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut first)
        .unwrap(); // it listens
    signal("TERM", child.id());
    let said = Said::of(child);
    said.ended(0);
    for words in ["There are descriptors for about 3", "ulimit -n"] {
        assert!(said.err.contains(words), "{said:#?}");
    }
}

#[test]
fn nothing_is_said_of_descriptors_where_there_is_no_server() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 1");
    let line = format!("serve --max-connections 5000 --listen {}", server.at);
    let said = bench.say_under("ulimit -n 600", "", &line);
    said.refused(&["cannot listen at"]);
    assert!(!said.err.contains("descriptors"), "{said:#?}");
}
