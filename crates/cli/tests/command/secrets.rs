//! Credentials reach the server and nobody else.

use crate::bench::Bench;
use crate::scripted::{OK, Scripted};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// `joe:secret` in base64.
const JOE: &str = "am9lOnNlY3JldA==";

#[test]
fn user_and_cookie_reach_the_server_but_never_the_record() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let at = server.at();
    let mut args = vec![
        "run", &at, "-n", "3", "--rounds", "1", "-o", "run.json", "--json",
    ];
    args.extend(["--user", "joe:secret", "--cookie", "id=cookie-secret"]);
    args.extend(["-H", "proxy-authorization: Bearer token-secret"]);
    let said = bench.say_words(&args);
    said.ended(0);
    for asked in server.asked() {
        assert!(
            asked
                .head
                .contains(&format!("Authorization: Basic {JOE}\r\n")),
            "{}",
            asked.head
        );
        assert!(
            asked.head.contains("Cookie: id=cookie-secret\r\n"),
            "{}",
            asked.head
        );
        assert!(
            asked.head.contains("Bearer token-secret\r\n"),
            "{}",
            asked.head
        );
    }
    let file = fs::read_to_string(bench.path("run.json")).unwrap();
    let text = bench.say("report run.json").out;
    for (where_, text) in [
        ("file", &file),
        ("output", &said.out),
        ("remarks", &said.err),
        ("report", &text),
    ] {
        assert!(
            !text.contains("secret") && !text.contains(JOE),
            "{where_}: {text}"
        );
    }
    assert_eq!(
        file.matches("(withheld)").count(),
        6,
        "plan and probe: {file}"
    );
}

#[test]
fn records_are_for_their_owner() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    bench
        .say(&format!("run {} -n 3 --rounds 1", server.at()))
        .ended(0);
    let folder = bench.path("state/weigh");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
}
