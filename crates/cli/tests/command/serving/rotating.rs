//! Signals that are about the log, as logrotate and its kind send them.

use super::*;
use std::path::Path;

/// Moves the log away, sends `name`, and asks until a line is in the new file. Says how often it asked.
fn rotate(bench: &Bench, server: &Serving, name: &str, to: &str) -> u64 {
    let log = bench.path("access.log");
    fs::rename(&log, bench.path(to)).unwrap();
    signal(name, server.id());
    let mut asked = 0;
    while !fs::metadata(&log).is_ok_and(|it| it.len() > 0) {
        server.get("/hello", "");
        asked += 1;
        assert!(lives(server.id()), "{name} has ended it");
    }
    asked
}

fn lines(path: &Path) -> u64 {
    let text = fs::read_to_string(path).unwrap();
    let is_whole = |line: &str| {
        line.starts_with("127.0.0.1 - - [") && line.ends_with(r#"HTTP/1.1" 200 21 "-" "-""#)
    };
    assert!(text.lines().all(is_whole), "{text}");
    assert!(text.ends_with('\n'), "{text}");
    text.lines().count() as u64
}

#[test]
fn sighup_and_sigusr1_open_the_log_anew_and_no_line_is_lost() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 2 --log access.log");
    let mut asked = 0;
    for _ in 0..20 {
        server.get("/hello", "");
        asked += 1;
    }
    asked += rotate(&bench, &server, "HUP", "access.log.1");
    asked += rotate(&bench, &server, "USR1", "access.log.2");
    let counted = server.stop();
    assert_eq!(
        (counted.requests(), counted.of("log_lines_lost")),
        (asked, 0)
    );
    let files = ["access.log.1", "access.log.2", "access.log"];
    let logged = files.map(|file| lines(&bench.path(file)));
    assert!(logged[0] >= 20, "{logged:?}");
    assert_eq!(logged.iter().sum::<u64>(), asked, "{logged:?}");
}

#[test]
fn a_log_that_cannot_be_opened_anew_is_written_on_and_that_is_said() {
    let bench = site();
    fs::create_dir(bench.path("logs")).unwrap();
    let words = Serving::words("site -w 1 --log logs/access.log");
    let mut child = bench.weigh(&words).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let server = Serving::of(child);
    fs::rename(bench.path("logs"), bench.path("moved")).unwrap();
    signal("HUP", server.id());
    let mut line = String::new();
    while !line.contains("cannot append") {
        line.clear();
        assert!(err.read_line(&mut line).unwrap() > 0, "nothing is said");
    }
    assert_eq!(
        line,
        "weigh: cannot append to the log logs/access.log: no such file or directory; the file that is open is written on\n"
    );
    server.get("/hello", "");
    assert_eq!(server.stop().requests(), 1);
    assert_eq!(lines(&bench.path("moved/access.log")), 1);
}

#[test]
fn sigusr2_does_nothing_and_so_do_sighup_and_sigusr1_without_a_log() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 1");
    let mut here = server.connect();
    for name in ["USR2", "HUP", "USR1", "USR2"] {
        signal(name, server.id());
        here.write_all(b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        assert_eq!(one_answer(&mut here), b"not the built-in one\n", "{name}");
    }
    drop(here);
    assert_eq!(server.stop().requests(), 4);
}

#[test]
fn the_truth_server_outlives_the_same_signals_and_stops_at_sigquit() {
    let bench = Bench::new();
    let words = "serve --truth --listen 127.0.0.1:0".split(' ');
    let mut child = bench.weigh(&words.collect::<Vec<_>>()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let at = said(&mut out, "listening on ");
    for name in ["HUP", "USR1", "USR2"] {
        signal(name, child.id());
        let mut stream = connect(&at);
        stream.write_all(b"GET /hello HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!(Answer::read(stream).status(), "200", "{name}");
    }
    signal("QUIT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
