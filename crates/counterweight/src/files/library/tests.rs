//! The library on a real folder, asked through the wire's own server role.

use super::super::stock::MISSING_NAME_LIMIT;
use super::*;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::SystemTime;
use tempfile::TempDir;
use units::Nanos;
use wire::http1::{Limits, Requests, Server, ServerSink};

/// The time of day in these tests: 2026-11-20 00:00:00.
const WALL: u64 = 1_795_132_800;
const DATE: &str = "Fri, 20 Nov 2026 00:00:00 GMT";
/// When files were changed unless it is said otherwise.
const CHANGED: u64 = 784_111_777;
const LAST_MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

fn wall() -> Duration {
    Duration::from_secs(WALL)
}

/// A folder, its library, and a clock that goes when it is told.
struct Bench {
    above: TempDir,
    library: Library,
    now: Instant,
}

/// What is asked when a head has come.
struct Asker<'a> {
    library: &'a mut Library,
    now: Instant,
    found: Option<(Found, Form)>,
}

impl ServerSink for Asker<'_> {
    fn request(&mut self, asked: &Asked<'_>) {
        let form = Form::new(asked.version, asked.keepalive);
        self.found = Some((self.library.find(asked, self.now), form));
    }
    fn body(&mut self, _: &[u8]) {}
    fn complete(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Bench {
    fn new() -> Bench {
        Bench::with(&LibraryOptions::default())
    }

    fn with(options: &LibraryOptions) -> Bench {
        let above = tempfile::tempdir().unwrap();
        let root = above.path().join("root");
        fs::create_dir(&root).unwrap();
        let library = Library::open(&root, options, wall).unwrap();
        let now = Instant::from_nanos(5_000_000_000);
        Bench {
            above,
            library,
            now,
        }
    }

    /// Writes a file that was changed at `changed`, in seconds since 1970.
    fn write_at(&self, path: &str, content: impl AsRef<[u8]>, changed: u64) {
        let path = self.above.path().join("root").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(changed);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(changed).unwrap();
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        self.write_at(path, content, CHANGED);
    }

    /// Puts another file in the place of an old one, as careful programs do.
    fn replace(&self, path: &str, content: &str) {
        self.write("new", content);
        let root = self.above.path().join("root");
        fs::rename(root.join("new"), root.join(path)).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.above.path().join("root").join(path)).unwrap();
    }

    /// Descriptors that are held.
    fn files(&self) -> usize {
        self.library.stock.holds().0
    }

    /// Bytes of contents that are held.
    fn held(&self) -> u64 {
        self.library.stock.holds().1
    }

    fn pass(&mut self, millis: u64) {
        self.now += Nanos::from_millis(millis);
    }

    /// Asks with these lines; `⏎` is CR LF.
    fn find(&mut self, request: &str) -> (Found, Form) {
        let mut asker = Asker {
            library: &mut self.library,
            now: self.now,
            found: None,
        };
        let request = request.replace('⏎', "\r\n");
        let mut requests = Requests::new(Limits::default());
        Server::new()
            .receive(&mut requests, request.as_bytes(), &mut asker)
            .unwrap();
        asker.found.expect("the request is whole")
    }

    /// The whole answer as bytes, large bodies too.
    fn bytes(&mut self, request: &str) -> Vec<u8> {
        let (found, form) = self.find(request);
        let mut out = Vec::new();
        let appended = self.library.append(&found, form, DATE, &mut out);
        if let Some(mut part) = appended.part {
            assert!(part.left > SMALL && part.left == appended.length);
            let mut piece = vec![0; 10_000];
            while part.left > 0 {
                let length = piece.len().min(part.left as usize);
                let read = part
                    .file()
                    .read_at(part.offset, &mut piece[..length])
                    .unwrap();
                out.extend_from_slice(&piece[..read]);
                assert_eq!(part.advance(read), part.left == 0);
            }
        }
        let head = out.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
        let wanted = if request.starts_with("HEAD") {
            0
        } else {
            (out.len() - head) as u64
        };
        assert_eq!(appended.length, wanted, "{request}");
        assert!(out.starts_with(format!("HTTP/1.1 {} ", appended.status).as_bytes()));
        out
    }

    /// The answer as text, its date left out, its tag as `TAG`.
    fn ask(&mut self, request: &str) -> String {
        let text = String::from_utf8(self.bytes(request)).unwrap();
        let text = text.replace(&format!("Date: {DATE}\r\n"), "");
        let shown = match tag(&text) {
            Some(tag) => text.replace(&tag, "TAG"),
            None => text,
        };
        shown.replace("\r\n", "⏎")
    }

    /// What GET says: the status and the body.
    fn get(&mut self, path: &str) -> (u16, String) {
        let answer = self.ask(&format!("GET {path} HTTP/1.1⏎Host: a⏎⏎"));
        let (head, body) = answer.split_once("⏎⏎").unwrap();
        (head[9..12].parse().unwrap(), body.to_owned())
    }

    /// The tag that a request for `path` with these further lines is told.
    fn tag(&mut self, path: &str, lines: &str) -> String {
        let answer = self.bytes(&format!("GET {path} HTTP/1.1⏎Host: a⏎{lines}⏎"));
        tag(&String::from_utf8_lossy(&answer)).expect("a file has a tag")
    }
}

fn tag(text: &str) -> Option<String> {
    let line = text
        .split("\r\n")
        .find_map(|line| line.strip_prefix("ETag: "))?;
    Some(line.to_owned())
}

fn ok(body: &str) -> (u16, String) {
    (200, body.to_owned())
}

fn missing() -> (u16, String) {
    (404, "Nothing is here.\n".to_owned())
}

/// A few files, and around them what must not be served.
fn site() -> Bench {
    let bench = Bench::new();
    bench.write("index.html", "the front page");
    bench.write("a.css", "a {}");
    bench.write("empty.txt", "");
    bench.write("sub/index.html", "a sub page");
    bench.write("sub/b.json", "[]");
    bench.write("bare/c", "?");
    bench.write("evil.example/d", "?");
    bench.write("odd/index.html/e", "?");
    bench.write(".hidden", "SECRET");
    bench.write("sub/.git/config", "SECRET");
    bench.write("../outside", "SECRET");
    let root = bench.above.path().join("root");
    let outside = bench.above.path().join("outside");
    symlink("../outside", root.join("link-out")).unwrap();
    symlink(&outside, root.join("link-absolute")).unwrap();
    symlink("..", root.join("link-up")).unwrap();
    symlink("/", root.join("link-root")).unwrap();
    symlink("link-loop", root.join("link-loop")).unwrap();
    symlink("sub/b.json", root.join("link-in")).unwrap();
    bench
}

#[test]
fn files_are_answered_as_the_table_says() {
    let mut bench = site();
    let told = |body: &str, kind: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK⏎Content-Type: {kind}⏎Last-Modified: {LAST_MODIFIED}⏎ETag: TAG⏎Accept-Ranges: bytes⏎\
             Content-Length: {length}⏎⏎{body}"
        )
    };
    let text = "Content-Type: text/plain⏎";
    let nothing = format!("HTTP/1.1 404 Not Found⏎{text}Content-Length: 17⏎⏎");
    let not_allowed = format!(
        "HTTP/1.1 405 Method Not Allowed⏎{text}Allow: GET, HEAD, OPTIONS⏎Content-Length: 42⏎⏎\
         Files can be asked for with GET and HEAD.\n"
    );
    let options = "HTTP/1.1 204 No Content⏎Allow: GET, HEAD, OPTIONS⏎⏎";
    let moved =
        |to: &str| format!("HTTP/1.1 301 Moved Permanently⏎Location: {to}⏎Content-Length: 0⏎⏎");
    let html = "text/html; charset=utf-8";
    let json = told("[]", "application/json");
    #[rustfmt::skip]
    let cases: &[(&str, &str)] = &[
        ("GET /", &told("the front page", html)),
        ("GET /index.html", &told("the front page", html)),
        ("GET /?q=1", &told("the front page", html)),
        ("GET /a.css", &told("a {}", "text/css; charset=utf-8")),
        ("GET /empty.txt", &told("", "text/plain; charset=utf-8")),
        ("GET /sub/", &told("a sub page", html)),
        ("GET /sub/b%2ejson", &json),
        ("GET //sub//b.json", &json),
        ("GET http://a/sub/b.json", &json),
        ("GET /link-in", &told("[]", "application/octet-stream")),
        ("HEAD /sub/b.json", json.strip_suffix("[]").unwrap()),
        // Nothing there, or nothing that is served.
        ("GET /none", &(nothing.clone() + "Nothing is here.\n")),
        ("HEAD /none", &nothing),
        ("HEAD /.hidden", &nothing),
        ("HEAD /sub/.git/config", &nothing),
        ("HEAD /bare/", &nothing),
        ("HEAD /a.css/", &nothing),
        ("HEAD /a.css/b", &nothing),
        ("HEAD /odd/", &nothing),
        ("HEAD /link-out", &nothing),
        ("HEAD /link-absolute", &nothing),
        ("HEAD /link-up/outside", &nothing),
        ("HEAD /link-root/etc/passwd", &nothing),
        ("HEAD /link-loop", &nothing),
        ("GET /%zz", &format!("HTTP/1.1 400 Bad Request⏎{text}Content-Length: 23⏎⏎The path is malformed.\n")),
        // Folders have a slash at their end.
        ("GET /sub", &moved("/sub/")),
        ("HEAD /sub?a=b", &moved("/sub/?a=b")),
        ("GET /bare", &moved("/bare/")),
        ("GET /odd/index.html", &moved("/odd/index.html/")),
        ("GET //evil.example", &moved("/evil.example/")),
        // Methods.
        ("OPTIONS *", options), ("OPTIONS /", options), ("OPTIONS /none", options),
        ("OPTIONS /.hidden", &(nothing.clone() + "Nothing is here.\n")),
        ("POST /a.css", &not_allowed), ("DELETE /none", &not_allowed), ("TRACE /", &not_allowed),
        ("get /", &format!("HTTP/1.1 501 Not Implemented⏎{text}Allow: GET, HEAD, OPTIONS⏎Content-Length: 30⏎⏎The method is not known here.\n")),
    ];
    for (line, wanted) in cases {
        // The first time it is looked at, the second time it is known.
        for _ in 0..2 {
            let answer = bench.ask(&format!("{line} HTTP/1.1⏎Host: a⏎⏎"));
            assert_eq!(answer, *wanted, "{line}");
        }
    }
}

#[test]
fn the_head_says_what_becomes_of_the_connection() {
    let mut bench = site();
    let cases = [
        ("HTTP/1.1⏎Host: a", "4"),
        ("HTTP/1.1⏎Host: a⏎Connection: close", "4⏎Connection: close"),
        ("HTTP/1.0", "4⏎Connection: close"),
        (
            "HTTP/1.0⏎Connection: keep-alive",
            "4⏎Connection: keep-alive",
        ),
    ];
    for (rest, end) in cases {
        let answer = bench.ask(&format!("GET /a.css {rest}⏎⏎"));
        let wanted = format!("⏎Content-Length: {end}⏎⏎a {{}}");
        assert!(answer.ends_with(&wanted), "{answer}");
    }
}

#[test]
fn nothing_outside_the_root_is_ever_answered() {
    let mut bench = site();
    let ways = [
        "..",
        "%2e%2e",
        ".%2e",
        "link-up",
        "link-root",
        "sub/../..",
        "sub%2f..%2f..",
        "..%5c",
        "%252e%252e",
        "..;",
    ];
    let ends = [
        "outside",
        "root/.hidden",
        "link-up/outside",
        "etc/passwd",
        ".hidden",
        "root/link-out",
        "link-absolute",
    ];
    for way in ways {
        for end in ends {
            for target in [
                format!("/{way}/{end}"),
                format!("/{way}/{way}/{end}"),
                format!("//{way}//{end}?/../x"),
            ] {
                let answer = bench.ask(&format!("GET {target} HTTP/1.1⏎Host: a⏎⏎"));
                assert!(answer.starts_with("HTTP/1.1 404 "), "{target}: {answer}");
            }
        }
    }
}

#[test]
fn what_is_neither_file_nor_folder_is_not_there() {
    let mut bench = Bench::new();
    let socket = bench.above.path().join("root/socket.html");
    let _listener = UnixListener::bind(socket).unwrap();
    let pipe = bench.above.path().join("root/pipe.html");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    assert_eq!(bench.get("/socket.html"), missing());
    assert_eq!(bench.get("/pipe.html"), missing());
}

#[test]
fn a_replaced_file_is_seen_after_a_second_and_what_is_being_sent_stays() {
    let mut bench = Bench::new();
    bench.write("a.txt", "old");
    let old_tag = bench.tag("/a.txt", "");
    let (found, form) = bench.find("GET /a.txt HTTP/1.1⏎Host: a⏎⏎");
    bench.replace("a.txt", "new");
    bench.pass(999);
    assert!(found.is_fresh(bench.now));
    assert_eq!(bench.get("/a.txt"), ok("old"));
    bench.pass(1);
    assert!(!found.is_fresh(bench.now));
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
        assert!(!found.is_fresh(bench.now));
        bench.get("/a.css");
        assert!(found.is_fresh(bench.now), "it is the very same");
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
    assert!(!found.is_fresh(bench.now), "and is not believed any longer");
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
fn the_largest_small_file_comes_with_its_head() {
    let mut bench = Bench::new();
    for (size, is_part) in [(SMALL, false), (SMALL + 1, true)] {
        bench.write("a.bin", "x".repeat(size as usize));
        bench.pass(1000);
        let (found, form) = bench.find("GET /a.bin HTTP/1.1⏎Host: a⏎⏎");
        let appended = bench.library.append(&found, form, DATE, &mut Vec::new());
        assert_eq!((appended.length, appended.part.is_some()), (size, is_part));
        let (found, form) = bench.find("HEAD /a.bin HTTP/1.1⏎Host: a⏎⏎");
        let appended = bench.library.append(&found, form, DATE, &mut Vec::new());
        assert!(appended.part.is_none());
    }
}

#[test]
fn what_is_missing_is_remembered_for_a_second() {
    let mut bench = Bench::new();
    let (found, _) = bench.find("GET /a.txt HTTP/1.1⏎Host: a⏎⏎");
    assert!(found.is_missing() && found.is_fresh(bench.now));
    bench.write("a.txt", "there");
    bench.pass(999);
    assert_eq!(bench.get("/a.txt"), missing());
    bench.pass(1);
    assert!(!found.is_fresh(bench.now));
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
    let tags =
        ["", "Accept-Encoding: gzip⏎", "Accept-Encoding: br⏎"].map(|it| bench.tag("/a.css", it));
    assert!(
        tags[0] != tags[1] && tags[1] != tags[2] && tags[0] != tags[2],
        "{tags:?}"
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

#[test]
fn only_so_many_files_are_open_and_the_rest_is_answered_all_the_same() {
    let options = LibraryOptions {
        open_files: 5,
        cache: 0,
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
            let (found, form) = bench.find(&format!("GET {path} HTTP/1.1⏎Host: a⏎{lines}⏎"));
            bench.library.close_files();
            assert!(!found.is_fresh(bench.now));
            let holds = found.page().map(|(volume, _)| volume.holds());
            assert!(holds.is_none_or(|holds| holds == (0, 0)), "{path} {lines}");
            let mut out = Vec::new();
            let appended = bench.library.append(&found, form, DATE, &mut out);
            assert_eq!(
                (appended.status, appended.length),
                (*status, body.len() as u64)
            );
            match appended.part {
                Some(part) => assert_eq!(part.left, body.len() as u64),
                None => assert!(
                    out.ends_with(format!("\r\n\r\n{body}").as_bytes()),
                    "{path} {lines}"
                ),
            }
        }
        // And when it is another file by then, only who made no condition gets it.
        for (lines, status) in [
            ("", 200),
            ("Accept-Encoding: gzip⏎", 200),
            ("If-Match: *⏎", 503),
            (range, 503),
        ] {
            let (found, form) = bench.find(&format!("GET /a.txt HTTP/1.1⏎Host: a⏎{lines}⏎"));
            bench.library.close_files();
            bench.replace("a.txt", "9876543210");
            bench.replace("a.txt.gz", "another");
            let appended = bench.library.append(&found, form, DATE, &mut Vec::new());
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
    let (found, _) = bench.find("GET /a.css HTTP/1.1⏎Host: a⏎⏎");
    for name in 0..1000 {
        assert_eq!(bench.get(&format!("/{name}")), missing());
    }
    assert_eq!(bench.get(&format!("/{}", "x/".repeat(2000))), missing());
    bench.remove("a.css");
    assert!(found.is_fresh(bench.now));
    assert_eq!(bench.get("/a.css"), ok("a {}"), "it is still open");
}

#[test]
fn contents_are_kept_in_memory_up_to_a_limit() {
    let cache = 1000;
    let options = LibraryOptions {
        open_files: 100,
        cache,
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
fn a_folder_that_is_not_there_is_refused_at_once() {
    let above = tempfile::tempdir().unwrap();
    let options = LibraryOptions::default();
    let open = |path: &str| Library::open(&above.path().join(path), &options, wall).err();
    assert_eq!(open("none"), Some(Errno::ENOENT));
    fs::write(above.path().join("file"), "").unwrap();
    assert_eq!(open("file"), Some(Errno::ENOTDIR));
    assert_eq!(open("."), None);
}

#[test]
fn an_answer_takes_little_room_in_a_connection() {
    assert!(size_of::<Option<Found>>() <= 32);
}

#[test]
fn known_files_are_answered_while_descriptors_are_short_and_others_in_their_place() {
    let script =
        "ulimit -n 40; exec \"$0\" --ignored --exact files::library::tests::with_few_descriptors";
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
    let mut others = Vec::new();
    while let Ok(file) = fs::File::open("/dev/null") {
        others.push(file);
        assert!(others.len() < 1000, "descriptors are not short");
    }
    bench.pass(1000);
    assert_eq!(bench.get("/a.css"), ok("a {}"));
    assert_eq!(bench.files(), 2, "both copies are still open");
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
