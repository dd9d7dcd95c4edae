//! Descriptors, contents and names have their limits.

use super::*;
use crate::files::cache::MISSING_NAME_LIMIT;

/// Descriptors and bytes of the file that is sent, if one is.
fn held(chosen: &Chosen) -> Option<(usize, u64)> {
    match &chosen.what {
        What::Content { cached, .. } => Some(cached.holds()),
        _ => None,
    }
}

#[test]
fn only_so_many_files_are_open_and_the_rest_is_answered_all_the_same() {
    let options = LibraryOptions {
        open_files: 5,
        cache: 0,
        ..LibraryOptions::default()
    };
    let mut bench = Bench::with(&options);
    for file in 0..20 {
        bench.write(&format!("{file}.txt"), file.to_string());
        bench.write(&format!("{file}.txt.gz"), "zipped");
    }
    for round in 0..100 {
        let file = round * 7 % 20;
        assert_eq!(bench.get(&format!("/{file}.txt")), ok(&file.to_string()));
        assert!(bench.files() <= 5 && bench.files() > 0);
    }
    bench.library.close_files();
    assert_eq!((bench.files(), bench.get("/3.txt")), (0, ok("3")));
}

#[test]
fn a_file_with_more_copies_than_may_be_open_is_answered() {
    let mut bench = Bench::with(&LibraryOptions {
        open_files: 1,
        cache: 0,
        ..LibraryOptions::default()
    });
    for path in ["a.css", "a.css.gz", "b.css", "b.css.br"] {
        bench.write(path, path);
    }
    for path in ["/a.css", "/b.css", "/a.css"] {
        assert_eq!(bench.get(path), ok(&path[1..]));
        assert_eq!(bench.files(), 2, "the one that was asked for last");
    }
}

#[test]
fn an_answer_that_is_chosen_keeps_nothing_open_and_looks_again() {
    let large = "x".repeat(100_000);
    for cache in [0, 1000] {
        let mut bench = Bench::with(&LibraryOptions {
            open_files: 10,
            cache,
            ..LibraryOptions::default()
        });
        bench.write("a.txt", "0123456789");
        bench.write("a.txt.gz", "gzipped");
        bench.write("large.txt", &large);
        let range = "Range: bytes=2-4⏎If-Match: *⏎";
        #[rustfmt::skip]
        let cases: &[(&str, &str, u16, &str)] = &[
            ("/a.txt", "", 200, "0123456789"), ("/a.txt", range, 206, "234"), ("/large.txt", "", 200, &large),
            ("/a.txt", "Accept-Encoding: gzip⏎", 200, "gzipped"), ("/a.txt", "If-None-Match: *⏎", 304, ""),
        ];
        for (path, lines, status, body) in cases {
            let chosen = bench.find(&format!("GET {path} HTTP/1.1⏎Host: a⏎{lines}⏎"));
            bench.library.close_files();
            let holds = held(&chosen);
            assert!(holds.is_none_or(|holds| holds == (0, 0)), "{path} {lines}");
            let mut out = Vec::new();
            let appended = bench.library.append(&chosen, &bench.prebuilt, &mut out);
            assert_eq!(
                (appended.status, appended.length),
                (*status, body.len() as u64)
            );
            match appended.part {
                Some(rest) => assert_eq!(rest.left(), body.len() as u64),
                None => assert!(
                    out.ends_with(format!("\r\n\r\n{body}").as_bytes()),
                    "{path} {lines}"
                ),
            }
        }
        // And when it is another file by then, only a request without conditions gets it.
        for (lines, status) in [
            ("", 200),
            ("Accept-Encoding: gzip⏎", 200),
            ("If-Match: *⏎", 503),
            (range, 503),
        ] {
            let chosen = bench.find(&format!("GET /a.txt HTTP/1.1⏎Host: a⏎{lines}⏎"));
            bench.library.close_files();
            bench.replace("a.txt", "9876543210");
            bench.replace("a.txt.gz", "another");
            let appended = bench
                .library
                .append(&chosen, &bench.prebuilt, &mut Vec::new());
            assert_eq!(appended.status, status, "{lines}");
        }
    }
}

#[test]
fn long_names_of_nothing_are_not_remembered() {
    let mut bench = Bench::new();
    for (length, is_remembered) in [(127, true), (128, false)] {
        let name = format!("{}/{}.a", "x".repeat(126), "y".repeat(length));
        assert_eq!(name.len() == MISSING_NAME_LIMIT, is_remembered);
        assert_eq!(bench.get(&format!("/{name}")), missing());
        bench.write(&name, "there");
        let is_missing = bench.get(&format!("/{name}")) == missing();
        assert_eq!(is_missing, is_remembered);
    }
}

#[test]
fn asking_for_what_is_missing_makes_no_file_forgotten() {
    let mut bench = site();
    let chosen = bench.find("GET /a.css HTTP/1.1⏎Host: a⏎⏎");
    for name in 0..1000 {
        assert_eq!(bench.get(&format!("/{name}")), missing());
    }
    assert_eq!(bench.get(&format!("/{}", "x/".repeat(2000))), missing());
    bench.remove("a.css");
    assert!(bench.is_believed(&chosen));
    assert_eq!(bench.get("/a.css"), ok("a {}"), "it is still open");
}

#[test]
fn contents_are_kept_in_memory_up_to_a_limit() {
    let cache = 1000;
    let options = LibraryOptions {
        open_files: 100,
        cache,
        ..LibraryOptions::default()
    };
    let mut bench = Bench::with(&options);
    for file in 0..20 {
        bench.write(&format!("{file}.txt"), format!("{file:0100}"));
    }
    bench.write("large.txt", "x".repeat(1001));
    for round in 0..200 {
        let file = round * 7 % 20;
        assert_eq!(
            bench.get(&format!("/{file}.txt")),
            ok(&format!("{file:0100}"))
        );
        assert!(bench.held() <= cache && bench.held() > 0);
        assert_eq!(bench.files(), 0, "what is in memory is not open");
    }
    assert_eq!(bench.get("/large.txt").1.len(), 1001);
    assert_eq!(bench.files(), 1);
    // What is in memory is not read again before its second is over.
    assert_eq!(bench.get("/1.txt"), ok(&format!("{:0100}", 1)));
    bench.write_at("1.txt", "changed", CHANGED + 1);
    assert_eq!(bench.get("/1.txt"), ok(&format!("{:0100}", 1)));
    let answer = bench.ask("GET /1.txt HTTP/1.1⏎Host: a⏎Range: bytes=-1⏎⏎");
    assert!(answer.ends_with("⏎⏎1"), "{answer}");
    bench.pass(1000);
    assert_eq!(bench.get("/1.txt"), ok("changed"));
}

#[test]
fn an_answer_takes_little_room_in_a_connection() {
    assert!(size_of::<Option<Chosen>>() <= 32);
}

#[test]
fn known_files_are_answered_while_descriptors_are_short_and_others_in_their_place() {
    let script = "ulimit -n 40; exec \"$0\" --ignored --exact files::library::tests::limits::with_few_descriptors";
    let program = std::env::current_exe().unwrap();
    let run = Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg(program)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "needs a process with few descriptors; the test above starts it in one"]
fn with_few_descriptors() {
    let mut bench = site();
    bench.write("a.css.gz", "gzipped");
    assert_eq!(bench.get("/a.css"), ok("a {}"));
    let front = bench.find("GET / HTTP/1.1⏎Host: a⏎⏎");
    let mut others = Vec::new();
    while let Ok(file) = fs::File::open("/dev/null") {
        others.push(file);
        assert!(others.len() < 1000, "descriptors are not short");
    }
    bench.pass(1000);
    assert_eq!(bench.get("/a.css"), ok("a {}"));
    assert_eq!(bench.files(), 3, "both copies are still open");
    assert_eq!(
        held(&front).unwrap().0,
        1,
        "and nothing was closed for them"
    );
    // One is enough for the file and not for its copy, which is there nevertheless.
    others.pop();
    bench.pass(1000);
    let answer = bench.ask("GET /a.css HTTP/1.1⏎Host: a⏎Accept-Encoding: gzip⏎⏎");
    assert!(answer.ends_with("⏎⏎gzipped"), "{answer}");
    others.push(fs::File::open("/dev/null").unwrap());
    assert_eq!(bench.get("/sub/b.json"), ok("[]"));
    assert_eq!(bench.files(), 1, "in the place of the others");
    // Its two descriptors are free, and one of them is taken again.
    others.push(fs::File::open("/dev/null").unwrap());
    bench.library.close_files();
    others.push(fs::File::open("/dev/null").unwrap());
    assert_eq!(bench.get("/sub/b.json").0, 503);
    others.clear();
    assert_eq!(bench.get("/sub/b.json"), ok("[]"));
}
