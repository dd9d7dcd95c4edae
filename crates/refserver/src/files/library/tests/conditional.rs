//! Copies, parts and conditions.

use super::*;

#[test]
fn compressed_copies_are_sent_to_those_who_take_them() {
    let mut bench = Bench::new();
    bench.write("a.css", "as it is");
    bench.write("a.css.gz", "gzipped");
    bench.write_at("a.css.br", "brotlied", CHANGED + 1);
    bench.write("b.css", "as it is");
    bench.write_at("b.css.gz", "older than the file", CHANGED - 1);
    bench.write("c.png", "as it is");
    bench.write("c.png.gz", "pictures are small already");
    bench.write("d/index.html", "as it is");
    bench.write("d/index.html.gz", "gzipped");
    #[rustfmt::skip]
    let cases: &[(&str, &str, &str, bool)] = &[
        ("/a.css", "", "as it is", true), ("/a.css", "gzip", "gzipped", true), ("/a.css", "gzip, br", "brotlied", true),
        ("/a.css", "br;q=0.5, gzip", "gzipped", true), ("/a.css", "identity", "as it is", true), ("/a.css", "zstd", "as it is", true),
        ("/b.css", "gzip", "as it is", false), ("/c.png", "gzip", "as it is", false), ("/d/", "br, gzip", "gzipped", true),
        ("/a.css.gz", "gzip", "gzipped", false), ("/a.css.br", "", "brotlied", false),
    ];
    for (path, accept, body, varies) in cases {
        let lines = format!("Host: a⏎Accept-Encoding: {accept}⏎");
        let answer = bench.ask(&format!("GET {path} HTTP/1.1⏎{lines}⏎"));
        assert!(
            answer.ends_with(&format!("⏎⏎{body}")),
            "{path} {accept}: {answer}"
        );
        assert_eq!(
            answer.contains("⏎Vary: Accept-Encoding⏎"),
            *varies,
            "{path} {accept}"
        );
        let coding = match *body {
            "gzipped" if !path.ends_with(".gz") => Some("⏎Content-Encoding: gzip⏎"),
            "brotlied" if !path.ends_with(".br") => Some("⏎Content-Encoding: br⏎"),
            _ => None,
        };
        assert_eq!(answer.contains("⏎Content-Encoding: "), coding.is_some());
        assert!(
            coding.is_none_or(|coding| answer.contains(coding)),
            "{answer}"
        );
        let kind = if path.ends_with("css") {
            "⏎Content-Type: text/css; charset=utf-8⏎"
        } else {
            "⏎Content-Type: "
        };
        assert!(answer.contains(kind), "{answer}");
    }
}

#[test]
fn each_coding_has_a_tag_of_its_own() {
    let mut bench = Bench::new();
    bench.write("a.css", "as it is");
    bench.write("a.css.gz", "gzipped");
    bench.write_at("a.css.br", "brotlied", CHANGED + 1);
    let tags =
        ["", "Accept-Encoding: gzip⏎", "Accept-Encoding: br⏎"].map(|it| bench.tag("/a.css", it));
    assert!(
        tags[0] != tags[1] && tags[1] != tags[2] && tags[0] != tags[2],
        "{tags:?}"
    );
    // Even if both were the same file.
    let root = bench.above.path().join("root");
    bench.write("e.css", "the same");
    fs::hard_link(root.join("e.css"), root.join("e.css.gz")).unwrap();
    assert_ne!(
        bench.tag("/e.css", "Accept-Encoding: gzip⏎"),
        bench.tag("/e.css", "")
    );
    // What a client has in one coding it does not have in another.
    let ask = |bench: &mut Bench, tag: &str| {
        bench.ask(&format!(
            "GET /a.css HTTP/1.1⏎Host: a⏎Accept-Encoding: gzip⏎If-None-Match: {tag}⏎⏎"
        ))
    };
    assert!(ask(&mut bench, &tags[0]).starts_with("HTTP/1.1 200 "));
    assert_eq!(
        ask(&mut bench, &tags[1]),
        "HTTP/1.1 304 Not Modified⏎Vary: Accept-Encoding⏎ETag: TAG⏎⏎"
    );
}

#[test]
fn parts_are_sent_as_the_table_says() {
    let mut bench = Bench::new();
    bench.write("a.txt", "0123456789");
    let tag = bench.tag("/a.txt", "");
    let part = |range: &str, body: &str| {
        format!(
            "HTTP/1.1 206 Partial Content⏎Content-Type: text/plain; charset=utf-8⏎Last-Modified: {LAST_MODIFIED}⏎ETag: TAG⏎\
             Content-Range: bytes {range}/10⏎Content-Length: {}⏎⏎{body}",
            body.len()
        )
    };
    let nothing =
        "HTTP/1.1 416 Range Not Satisfiable⏎Content-Range: bytes */10⏎Content-Length: 0⏎⏎";
    let whole = "200";
    #[rustfmt::skip]
    let cases: &[(&str, &str)] = &[
        ("Range: bytes=0-0⏎", &part("0-0", "0")), ("Range: bytes=2-4⏎", &part("2-4", "234")),
        ("Range: bytes=7-⏎", &part("7-9", "789")), ("Range: bytes=-2⏎", &part("8-9", "89")),
        ("Range: bytes=0-⏎", &part("0-9", "0123456789")), ("Range: bytes=5-500⏎", &part("5-9", "56789")),
        ("Range: bytes=10-⏎", nothing), ("Range: bytes=-0⏎", nothing),
        ("Range: bytes=0-1,3-4⏎", whole), ("Range: lines=0-1⏎", whole), ("Range: bytes=4-2⏎", whole),
        ("Range: bytes=0-1⏎Range: bytes=3-4⏎", whole),
        (&format!("Range: bytes=0-0⏎If-Range: {tag}⏎"), &part("0-0", "0")),
        (&format!("Range: bytes=0-0⏎If-Range: W/{tag}⏎"), whole),
        ("Range: bytes=0-0⏎If-Range: \"other\"⏎", whole), ("Range: bytes=99-⏎If-Range: \"other\"⏎", whole),
        (&format!("Range: bytes=0-0⏎If-Range: {LAST_MODIFIED}⏎"), &part("0-0", "0")),
        ("Range: bytes=0-0⏎If-Range: Sun, 06 Nov 1994 08:49:38 GMT⏎", whole),
        // Conditions come first.
        (&format!("Range: bytes=0-0⏎If-None-Match: {tag}⏎"), "304"), ("Range: bytes=99-⏎If-Match: \"other\"⏎", "412"),
        ("If-Range: \"other\"⏎", whole),
    ];
    for (lines, wanted) in cases {
        let answer = bench.ask(&format!("GET /a.txt HTTP/1.1⏎Host: a⏎{lines}⏎"));
        if wanted.len() == 3 {
            assert_eq!(answer[9..12], **wanted, "{lines}");
        } else {
            assert_eq!(answer, *wanted, "{lines}");
        }
        // To HEAD there are no parts.
        let answer = bench.ask(&format!("HEAD /a.txt HTTP/1.1⏎Host: a⏎{lines}⏎"));
        assert!(
            !answer.contains(" 206 ") && !answer.contains(" 416 "),
            "{lines}: {answer}"
        );
    }
}

#[test]
fn conditions_are_answered_and_do_not_matter_where_there_is_no_file() {
    let mut bench = site();
    let tag = bench.tag("/a.css", "");
    #[rustfmt::skip]
    let cases: &[(&str, &str, u16)] = &[
        ("/a.css", "If-None-Match: TAG⏎", 304), ("/a.css", "If-None-Match: *⏎", 304), ("/a.css", "If-None-Match: \"x\"⏎", 200),
        ("/a.css", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT⏎", 304),
        ("/a.css", "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT⏎", 200),
        ("/a.css", "If-Match: TAG⏎", 200), ("/a.css", "If-Match: \"x\"⏎", 412), ("/a.css", "If-Match: *⏎", 200),
        ("/a.css", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT⏎", 412),
        ("/none", "If-Match: *⏎", 404), ("/none", "If-None-Match: *⏎", 404), ("/sub", "If-None-Match: *⏎", 301),
        ("/.hidden", "If-None-Match: *⏎", 404),
    ];
    for (path, lines, status) in cases {
        for method in ["GET", "HEAD"] {
            let lines = lines.replace("TAG", &tag);
            let answer = bench.ask(&format!("{method} {path} HTTP/1.1⏎Host: a⏎{lines}⏎"));
            assert_eq!(answer[9..12], status.to_string(), "{method} {path} {lines}");
        }
    }
    let answer = bench.ask(&format!(
        "GET /a.css HTTP/1.1⏎Host: a⏎If-None-Match: {tag}⏎⏎"
    ));
    assert_eq!(answer, "HTTP/1.1 304 Not Modified⏎ETag: TAG⏎⏎");
}

#[test]
fn a_young_file_has_a_weak_tag_and_no_date_in_the_future() {
    let mut bench = Bench::new();
    for (changed, is_weak) in [
        (WALL - 2, false),
        (WALL - 1, true),
        (WALL, true),
        (WALL + 1000, true),
    ] {
        bench.write_at("a.txt", "young", changed);
        bench.pass(1000);
        assert_eq!(
            bench.tag("/a.txt", "").starts_with("W/\""),
            is_weak,
            "{changed}"
        );
        let answer = bench.ask("GET /a.txt HTTP/1.1⏎Host: a⏎⏎");
        let told = crate::date::text(changed.min(WALL));
        assert!(
            answer.contains(&format!("⏎Last-Modified: {told}⏎")),
            "{answer}"
        );
        let range = format!("GET /a.txt HTTP/1.1⏎Host: a⏎Range: bytes=0-0⏎If-Range: {told}⏎⏎");
        assert_eq!(bench.ask(&range).starts_with("HTTP/1.1 200 "), is_weak);
    }
}
