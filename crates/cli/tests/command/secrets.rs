//! Credentials reach the server and nothing else.

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

/// What the server says: a session of its own, and a redirect that carries a token.
const SESSION: &[u8] =
    b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=hidden-1\r\nLocation: /x?token=hidden-2\r\n\
    Content-Length: 5\r\n\r\nhello";

/// Asserts that neither the record `file` nor anything that is printed of it holds `hidden`.
#[track_caller]
fn assert_hidden(bench: &Bench, file: &str) {
    let mut texts = vec![fs::read_to_string(bench.path(file)).unwrap()];
    for format in ["text", "json", "csv"] {
        let said = bench.say(&format!("report {file} --format {format}"));
        texts.extend([said.out, said.err]);
    }
    for text in texts {
        let found = text.lines().find(|line| line.contains("hidden"));
        assert_eq!(found.map(|line| &line[..line.len().min(400)]), None);
    }
}

#[test]
fn whatever_looks_like_a_credential_reaches_the_server_and_no_record() {
    let bench = Bench::new();
    let server = Scripted::answering(SESSION);
    let url = format!("{}/a?api_key=hidden-3&page=4&mine=hidden-4", server.at());
    let mut args = vec!["run", &url, "-n", "3", "--rounds", "1", "-o", "run.json"];
    args.extend(["-H", "X-Api-Key: hidden-5", "-H", "X-Own: hidden-6"]);
    args.extend(["-H", "X-Other: Bearer hidden-7"]);
    args.extend(["--withhold", "mine", "--withhold", "x-own"]);
    let said = bench.say_words(&args);
    said.ended(0);
    let asked = server.asked();
    let head = &asked[asked.len() - 1].head;
    for sent in [
        "api_key=hidden-3&page=4&mine=hidden-4",
        "X-Api-Key: hidden-5",
        "hidden-7",
    ] {
        assert!(head.contains(sent), "{head}");
    }
    assert!(!said.out.contains("hidden"), "{}", said.out);
    assert_hidden(&bench, "run.json");
    let record = bench.record("run.json");
    let path = "/a?api_key=(withheld)&page=4&mine=(withheld)";
    assert_eq!(record.at("/plan/requests/listed/0/path"), path);
    let dry: Vec<&str> = args.iter().copied().chain(["--dry-run"]).collect();
    let dry = bench.say_words(&dry);
    assert!(!dry.ended(0).out.contains("hidden"), "{}", dry.out);
    assert!(dry.out.contains("bodies are recorded"), "{}", dry.out);
}

#[test]
fn lines_of_a_file_of_urls_are_not_recorded_with_their_tokens() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    bench.file("urls", "/a?token=hidden-1\n/b?token=hidden-2\n");
    let (said, _) = bench.run(&format!("{} --urls urls -n 4 --rounds 1", server.at()));
    said.ended(0);
    assert_hidden(&bench, "run.json");
}

#[test]
fn a_body_is_recorded_unless_it_is_withheld() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let line = format!("{} --body user=hidden -n 3 --rounds 1", server.at());
    let (_, record) = bench.run(&line);
    assert_eq!(
        record.at("/plan/requests/listed/0/body/text"),
        "user=hidden"
    );
    let (said, _) = bench.run(&format!("{line} --withhold body"));
    said.ended(0);
    assert_hidden(&bench, "run.json");
    assert!(said.out.contains("body withheld"), "{}", said.out);
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.body == b"user=hidden")
    );
}

#[test]
fn a_servers_command_is_recorded_without_its_passwords() {
    let bench = Bench::new();
    let weigh = env!("CARGO_BIN_EXE_weigh");
    bench.file("up", format!("exec {weigh} serve -w 1 --listen unix:s"));
    let (said, record) =
        bench.run("x/0.html --unix s -n 3 --rounds 1 -- sh up --password hidden-1 TOKEN=hidden-2");
    said.ended(0);
    let argv = ["sh", "up", "--password", "(withheld)", "TOKEN=(withheld)"];
    assert_eq!(*record.at("/plan/server/argv"), serde_json::json!(argv));
    assert_hidden(&bench, "run.json");
}

#[test]
fn a_servers_script_is_recorded_without_the_secrets_in_it() {
    let bench = Bench::new();
    let weigh = env!("CARGO_BIN_EXE_weigh");
    bench.file("up", format!("exec {weigh} serve -w 1 --listen unix:s"));
    let script = "exec env PORT=1 API_KEY=hidden-1 sh up -H 'X-Api-Key: hidden-2'";
    let line = "sweep x/0.html --unix s -c 1,2 -n 3 --rounds 1 -o run.json --";
    let mut args: Vec<&str> = line.split(' ').collect();
    args.extend(["sh", "-c", script]);
    bench.say_words(&args).ended(0);
    let shown = "exec env PORT=1 API_KEY=(withheld) sh up -H 'X-Api-Key: (withheld)'";
    assert_eq!(bench.record("run.json").at("/plan/server/argv/2"), shown);
    assert_hidden(&bench, "run.json");
    let resumed = args
        .iter()
        .map(|&word| if word == "-o" { "--resume" } else { word });
    let said = bench.say_words(&resumed.collect::<Vec<_>>());
    assert!(
        said.err.contains("has every round of its plan already"),
        "the plan is the same: {said:#?}"
    );
}

#[test]
fn a_sweep_goes_on_with_the_command_that_its_record_lacks() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let line = format!(
        "sweep http://{}/a?token=hidden -c 1,2 -n 5 --rounds 1 -o s.json",
        server.at()
    );
    bench.say(&line).ended(0);
    assert_hidden(&bench, "s.json");
    let mut record = bench.record("s.json").0;
    record["points"].as_array_mut().unwrap().truncate(1);
    record["plan"]["requests"]["listed"][0]["path"] = "/a?token=hidden".into(); // as older versions wrote it
    for field in ["curve", "summary", "sent_total"] {
        let computed = match field {
            "sent_total" => serde_json::json!({"probe": 1, "warmup": 0, "measure": 5}),
            _ => serde_json::Value::Null,
        };
        record[field] = computed;
    }
    bench.file("s.json", record.to_string());
    let again = line.replace("-o s.json", "--resume s.json");
    bench.say(&again).ended(0);
    assert_hidden(&bench, "s.json");
    assert_eq!(bench.record("s.json").at("/points/1/summary/ok"), 5);
}

#[test]
fn records_are_for_their_owner() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    bench
        .say(&format!("run -v {} -n 3 --rounds 1", server.at()))
        .ended(0);
    let folder = bench.path("state/weigh");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(
        files.len(),
        2,
        "the record, and the list of records: {files:?}"
    );
}
