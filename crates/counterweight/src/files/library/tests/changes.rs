//! What is on disk does not stay what it was.

use super::*;

#[test]
fn a_replaced_file_is_seen_after_a_second_and_what_is_being_sent_stays() {
    let mut bench = Bench::new();
    bench.write("a.txt", "old");
    let old_tag = bench.tag("/a.txt", "");
    let (found, form) = bench.find("GET /a.txt HTTP/1.1⏎Host: a⏎⏎");
    bench.replace("a.txt", "new");
    bench.pass(999);
    assert!(bench.is_believed(&found));
    assert_eq!(bench.get("/a.txt"), ok("old"));
    bench.pass(1);
    assert!(!bench.is_believed(&found));
    assert_eq!(bench.get("/a.txt"), ok("new"));
    assert_ne!(
        bench.tag("/a.txt", ""),
        old_tag,
        "the same size and date, but another file"
    );
    let mut out = Vec::new();
    bench.library.append(&found, form, DATE, &mut out);
    assert!(
        out.ends_with(b"\r\n\r\nold"),
        "what was found is still what was found"
    );
}

#[test]
fn a_file_that_is_the_same_after_a_second_stays_open() {
    let mut bench = site();
    bench.get("/a.css");
    let (found, _) = bench.find("GET /a.css HTTP/1.1⏎Host: a⏎⏎");
    for _ in 0..3 {
        bench.pass(1000);
        assert!(!bench.is_believed(&found));
        bench.get("/a.css");
        assert!(bench.is_believed(&found), "it is the very same");
    }
    assert_eq!(bench.files(), 1);
}

#[test]
fn a_file_that_became_shorter_is_answered_as_it_is_now() {
    let mut bench = Bench::new();
    bench.write("a.txt", "0123456789");
    let (found, form) = bench.find("GET /a.txt HTTP/1.1⏎Host: a⏎⏎");
    bench.write("a.txt", "01234");
    let mut out = b"before".to_vec();
    let appended = bench.library.append(&found, form, DATE, &mut out);
    assert_eq!((appended.status, appended.length), (200, 5));
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.starts_with("beforeHTTP/1.1 200 OK\r\n") && text.ends_with("Length: 5\r\n\r\n01234"),
        "{text}"
    );
    assert!(!bench.is_believed(&found), "and is not believed any longer");
    assert_eq!(bench.get("/a.txt"), ok("01234"));
    // A part of it cannot be answered otherwise.
    let (found, form) = bench.find("GET /a.txt HTTP/1.1⏎Host: a⏎Range: bytes=3-4⏎⏎");
    assert_eq!(found.status(), 206);
    bench.write("a.txt", "");
    let appended = bench.library.append(&found, form, DATE, &mut Vec::new());
    assert_eq!((appended.status, appended.part.is_none()), (503, true));
    assert_eq!(bench.get("/a.txt"), ok(""));
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
    let (found, form) = bench.find("GET /a.log HTTP/1.1⏎Host: a⏎⏎");
    let mut out = Vec::new();
    let appended = bench.library.append(&found, form, DATE, &mut out);
    assert!(out.ends_with(b"\r\n\r\n"), "the head alone");
    bench.write("a.log", "short");
    appended.part.unwrap().lost();
    assert_eq!(bench.get("/a.log"), ok("short"));
}

#[test]
fn what_is_missing_is_remembered_for_a_second() {
    let mut bench = Bench::new();
    let (found, _) = bench.find("GET /a.txt HTTP/1.1⏎Host: a⏎⏎");
    assert!(found.is_missing());
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
