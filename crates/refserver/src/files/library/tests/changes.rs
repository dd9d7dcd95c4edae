//! What is on disk does not stay what it was.

use super::*;

#[test]
fn a_replaced_file_is_seen_after_a_second_and_what_is_being_sent_stays() {
    let mut bench = Bench::new();
    bench.write("a.txt", "old");
    let old_tag = bench.tag("/a.txt", "");
    let chosen = bench.find("GET /a.txt HTTP/1.1⏎Host: a⏎⏎");
    bench.replace("a.txt", "new");
    bench.pass(999);
    assert!(bench.is_believed(&chosen));
    assert_eq!(bench.get("/a.txt"), ok("old"));
    bench.pass(1);
    assert!(!bench.is_believed(&chosen));
    assert_eq!(bench.get("/a.txt"), ok("new"));
    assert_eq!(
        bench.tag("/a.txt", ""),
        old_tag,
        "of the same size and date, whichever file it is"
    );
    bench.write_at("a.txt", "new", CHANGED + 1);
    assert_ne!(bench.tag("/a.txt", ""), old_tag);
    let mut out = Vec::new();
    bench.library.append(&chosen, &bench.prebuilt, &mut out);
    assert!(
        out.ends_with(b"\r\n\r\nold"),
        "what was found is still what was found"
    );
}

#[test]
fn a_file_that_is_the_same_after_a_second_stays_open() {
    let mut bench = site();
    bench.get("/a.css");
    let chosen = bench.find("GET /a.css HTTP/1.1⏎Host: a⏎⏎");
    for _ in 0..3 {
        bench.pass(1000);
        assert!(!bench.is_believed(&chosen));
        bench.get("/a.css");
        assert!(bench.is_believed(&chosen), "it is the very same");
    }
    assert_eq!(bench.files(), 1);
}

#[test]
fn a_file_that_became_shorter_is_answered_as_it_is_now() {
    let mut bench = Bench::new();
    bench.write("a.txt", "0123456789");
    let chosen = bench.find("GET /a.txt HTTP/1.1⏎Host: a⏎⏎");
    bench.write("a.txt", "01234");
    let mut out = b"before".to_vec();
    let appended = bench.library.append(&chosen, &bench.prebuilt, &mut out);
    assert_eq!((appended.status, appended.length), (200, 5));
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.starts_with("beforeHTTP/1.1 200 OK\r\n") && text.ends_with("Length: 5\r\n\r\n01234"),
        "{text}"
    );
    assert!(
        !bench.is_believed(&chosen),
        "and is not believed any longer"
    );
    assert_eq!(bench.get("/a.txt"), ok("01234"));
    // All of it, where a part was asked for that there is no more; nothing, where it was to be the old file.
    for (line, status) in [("", 200), ("If-Match: *⏎", 503)] {
        bench.write("a.txt", "01234");
        let chosen = bench.find(&format!(
            "GET /a.txt HTTP/1.1⏎Host: a⏎Range: bytes=3-4⏎{line}⏎"
        ));
        assert_eq!(chosen.status(), 206);
        bench.write("a.txt", "");
        let appended = bench
            .library
            .append(&chosen, &bench.prebuilt, &mut Vec::new());
        assert_eq!((appended.status, appended.part.is_none()), (status, true));
        assert_eq!(bench.get("/a.txt"), ok(""));
    }
}

#[test]
fn a_file_that_was_overwritten_is_answered_as_it_is_now_whatever_was_asked() {
    let sizes = [
        // (before, after): small and large, longer, shorter and as long.
        (1000, 3000),
        (1000, 999),
        (1000, 1000),
        (100_000, 300_000),
        (100_000, 99_000),
        (100_000, 100_000),
        (1000, 100_000),
        (100_000, 1000),
    ];
    for (before, after) in sizes {
        let (old, new) = ("A".repeat(before), "B".repeat(after));
        let asks = [
            ("GET", "", "200"),
            ("HEAD", "", "200"),
            ("GET", "Range: bytes=500-⏎If-Range: TAG⏎", "200"),
            ("GET", "Range: bytes=500-⏎", "206"),
            ("GET", "If-None-Match: TAG⏎", "200"),
            ("HEAD", "If-None-Match: TAG⏎", "200"),
            ("GET", "If-Match: TAG⏎", "412"),
        ];
        for (method, lines, status) in asks {
            let mut bench = Bench::new();
            bench.write("a.txt", &old);
            assert_eq!(bench.get("/a.txt"), ok(&old));
            let tag = bench.tag("/a.txt", "");
            assert!(tag.starts_with('"'), "{tag}");
            bench.overwrite("a.txt", &new);
            let what = format!("{before} to {after}: {method} {lines}");
            let lines = lines.replace("TAG", &tag);
            let answer = bench.ask(&format!("{method} /a.txt HTTP/1.1⏎Host: a⏎{lines}⏎"));
            let (head, body) = answer.split_once("⏎⏎").unwrap();
            assert_eq!(&head[9..12], status, "{what}: {head}");
            if status == "412" {
                continue;
            }
            let wanted = match (method, status) {
                ("HEAD", _) => "",
                (_, "206") => &new[500..],
                _ => &new,
            };
            assert!(body == wanted, "{what}: {head}");
            let length = if status == "206" { after - 500 } else { after };
            assert!(
                head.ends_with(&format!("⏎Content-Length: {length}")),
                "{what}: {head}"
            );
            assert!(
                !head.contains(LAST_MODIFIED),
                "the old date: {what}: {head}"
            );
            assert_ne!(bench.tag("/a.txt", ""), tag);
        }
    }
}

#[test]
fn a_large_file_that_changes_while_it_is_sent_is_not_sent_on_and_one_that_is_replaced_is() {
    let mut bench = Bench::new();
    let mut begin = |change: &dyn Fn(&Bench)| {
        bench.write("a.bin", "A".repeat(100_000));
        bench.pass(1000);
        let chosen = bench.find("GET /a.bin HTTP/1.1⏎Host: a⏎⏎");
        let appended = bench
            .library
            .append(&chosen, &bench.prebuilt, &mut Vec::new());
        let Some(Rest::File(part)) = appended.part else {
            panic!("a large file")
        };
        assert_eq!(part.file.check(), Ok(()));
        change(&bench);
        part.file.check()
    };
    let overwrite = |length: usize| {
        begin(&|bench: &Bench| bench.overwrite("a.bin", "B".repeat(length)))
            .expect_err("another version")
    };
    assert_eq!(
        [99_000, 100_000, 101_000].map(overwrite),
        [Errno::ESTALE; 3]
    );
    let replaced = begin(&|bench: &Bench| bench.replace("a.bin", "another"));
    let removed = begin(&|bench: &Bench| bench.remove("a.bin"));
    assert_eq!((replaced, removed), (Ok(()), Ok(())));
}

#[test]
fn a_file_that_is_gone_when_it_is_read_is_missing() {
    let mut bench = Bench::new();
    bench.write("a.txt", "0123456789");
    let chosen = bench.find("GET /a.txt HTTP/1.1⏎Host: a⏎⏎");
    bench.overwrite("a.txt", "0123");
    bench.remove("a.txt");
    let appended = bench
        .library
        .append(&chosen, &bench.prebuilt, &mut Vec::new());
    assert_eq!(appended.status, 404);
}

#[test]
fn the_tag_of_a_file_that_was_just_written_is_weak_whatever_date_it_was_given() {
    for cache in [0, 1000] {
        let options = LibraryOptions {
            open_files: 10,
            cache,
            ..LibraryOptions::default()
        };
        let mut bench = Bench::at(&options, real_wall);
        bench.write("a.txt", "0123456789");
        let tag = bench.tag("/a.txt", "");
        assert!(tag.starts_with("W/\""), "{tag}");
        let strong = tag.trim_start_matches("W/");
        for tag in [&tag, strong] {
            let answer = bench.ask(&format!(
                "GET /a.txt HTTP/1.1⏎Host: a⏎Range: bytes=5-⏎If-Range: {tag}⏎⏎"
            ));
            assert!(answer.starts_with("HTTP/1.1 200 "), "{tag}: {answer}");
        }
        assert_eq!(
            (bench.files(), bench.held()),
            (1, 0),
            "it may change unnoticed, so its contents are not kept"
        );
    }
}

#[test]
fn what_is_in_memory_is_one_version_for_its_second() {
    let mut bench = Bench::with(&LibraryOptions {
        open_files: 10,
        cache: 10_000,
        ..LibraryOptions::default()
    });
    bench.write("a.txt", "A".repeat(1000));
    let tag = bench.tag("/a.txt", "");
    bench.overwrite("a.txt", "B".repeat(3000));
    let part = format!("GET /a.txt HTTP/1.1⏎Host: a⏎Range: bytes=500-⏎If-Range: {tag}⏎⏎");
    let answer = bench.ask(&part);
    assert!(answer.ends_with(&format!(
        "⏎Content-Range: bytes 500-999/1000⏎Content-Length: 500⏎⏎{}",
        "A".repeat(500)
    )));
    bench.pass(1000);
    let answer = bench.ask(&part);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(&"B".repeat(3000)));
}

#[test]
fn a_large_file_comes_as_a_part_to_send_and_one_that_is_lost_is_looked_at_again() {
    let mut bench = Bench::new();
    let body: String = (0..20_000).map(|line| format!("{line:06}\n")).collect();
    bench.write("a.log", &body);
    assert_eq!(bench.get("/a.log"), ok(&body));
    let answer = bench.ask("GET /a.log HTTP/1.1⏎Host: a⏎Range: bytes=70-⏎⏎");
    assert!(answer.ends_with(&format!(
        "Content-Length: {}⏎⏎{}",
        body.len() - 70,
        &body[70..]
    )));
    let chosen = bench.find("GET /a.log HTTP/1.1⏎Host: a⏎⏎");
    let mut out = Vec::new();
    let appended = bench.library.append(&chosen, &bench.prebuilt, &mut out);
    assert!(out.ends_with(b"\r\n\r\n"), "the head alone");
    bench.write("a.log", "short");
    let Some(Rest::File(part)) = appended.part else {
        panic!("a large file")
    };
    part.lost();
    assert_eq!(bench.get("/a.log"), ok("short"));
}

#[test]
fn what_is_missing_is_remembered_for_a_second() {
    let mut bench = Bench::new();
    let chosen = bench.find("GET /a.txt HTTP/1.1⏎Host: a⏎⏎");
    assert_eq!(chosen.status(), 404);
    bench.write("a.txt", "there");
    bench.pass(999);
    assert_eq!(bench.get("/a.txt"), missing());
    bench.pass(1);
    assert_eq!(bench.get("/a.txt"), ok("there"));
    bench.remove("a.txt");
    assert_eq!(bench.get("/a.txt"), ok("there"));
    bench.pass(1000);
    assert_eq!((bench.get("/a.txt"), bench.files()), (missing(), 0));
}

#[test]
fn a_folder_that_becomes_a_file_is_seen_after_a_second() {
    let mut bench = Bench::new();
    bench.write("a/b", "?");
    assert_eq!(bench.get("/a").0, 301);
    bench.remove("a/b");
    fs::remove_dir(bench.above.path().join("root/a")).unwrap();
    bench.write("a", "a file");
    assert_eq!(bench.get("/a").0, 301);
    bench.pass(1000);
    assert_eq!(bench.get("/a"), ok("a file"));
}

#[test]
fn a_copy_that_comes_or_grows_old_is_seen_after_a_second() {
    let mut bench = Bench::new();
    bench.write("a.css", "as it is");
    let ask = |bench: &mut Bench| {
        let answer = bench.ask("GET /a.css HTTP/1.1⏎Host: a⏎Accept-Encoding: gzip⏎⏎");
        answer.rsplit('⏎').next().unwrap().to_owned()
    };
    assert_eq!(ask(&mut bench), "as it is");
    bench.write("a.css.gz", "gzipped");
    assert_eq!(ask(&mut bench), "as it is");
    bench.pass(1000);
    assert_eq!(ask(&mut bench), "gzipped");
    bench.write_at("a.css", "changed", CHANGED + 1);
    bench.pass(1000);
    assert_eq!(ask(&mut bench), "changed");
}
