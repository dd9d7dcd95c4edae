//! The library on a real folder, asked through the wire's own server role.

use super::*;
use crate::files::cached_file::{LibraryOptions, SMALL};
use crate::prebuilt::Form;
use crate::sending::Rest;
use kernel::Errno;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::Duration;
use std::time::SystemTime;
use tempfile::TempDir;
use units::Nanos;
use wire::http1::{Limits, RequestCache, Server, ServerSink};

/// What changes on disk meanwhile.
mod changes;
/// What a request says besides its path.
mod conditional;
/// How much is held.
mod limits;

/// The time of day in these tests: 2100-01-01 00:00:00, long after the kernel has last changed a file of theirs.
const WALL: u64 = 4_102_444_800;
const DATE: &str = "Fri, 01 Jan 2100 00:00:00 GMT";
/// When files were changed unless it is said otherwise.
const CHANGED: u64 = 784_111_777;
const LAST_MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

fn wall() -> Duration {
    Duration::from_secs(WALL)
}

/// The time of day outside of these tests, in which each of their files has just been written.
fn real_wall() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap()
}

/// A folder, its library, and a clock that goes when it is told.
struct Bench {
    above: TempDir,
    library: Library,
    prebuilt: PrebuiltResponses,
    now: Instant,
}

/// What is asked when a head has come.
struct Asker<'a> {
    library: &'a mut Library,
    now: Instant,
    chosen: Option<Chosen>,
}

impl ServerSink for Asker<'_> {
    fn request(&mut self, asked: &RequestHead<'_>) {
        let found = self.library.find(asked, self.now);
        self.chosen = Some(Chosen {
            what: found.unwrap_or(FixedResponse::Missing.into()),
            form: Form::new(asked.version, asked.keepalive),
            is_head: asked.method == "HEAD",
        });
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
        Bench::at(options, wall)
    }

    fn at(options: &LibraryOptions, wall: fn() -> Duration) -> Bench {
        let above = tempfile::tempdir().unwrap();
        let root = above.path().join("root");
        fs::create_dir(&root).unwrap();
        let library = Library::open(&root, options, wall).unwrap();
        let now = Instant::from_nanos(5_000_000_000);
        let date = || Duration::from_secs(WALL);
        Bench {
            above,
            library,
            prebuilt: PrebuiltResponses::new(date, &options.headers),
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

    /// Writes into the file that is there, as careless programs do.
    fn overwrite(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::write(self.above.path().join("root").join(path), content).unwrap();
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
        self.library.holds().0
    }

    /// Bytes of contents that are held.
    fn held(&self) -> u64 {
        self.library.holds().1
    }

    /// What is known of its file is still believed.
    fn is_believed(&self, chosen: &Chosen) -> bool {
        let What::Content { cached, .. } = &chosen.what else {
            panic!("no file is sent: {chosen:?}");
        };
        cached.is_fresh(self.now)
    }

    fn pass(&mut self, millis: u64) {
        self.now += Nanos::from_millis(millis);
    }

    /// Asks with these lines; `⏎` is CR LF.
    fn find(&mut self, request: &str) -> Chosen {
        let mut asker = Asker {
            library: &mut self.library,
            now: self.now,
            chosen: None,
        };
        let request = request.replace('⏎', "\r\n");
        let mut requests = RequestCache::new(Limits::default());
        Server::default()
            .receive(&mut requests, request.as_bytes(), &mut asker)
            .unwrap();
        asker.chosen.expect("the request is whole")
    }

    /// The whole answer as bytes, large bodies too.
    fn bytes(&mut self, request: &str) -> Vec<u8> {
        let chosen = self.find(request);
        let mut out = Vec::new();
        let appended = self.library.append(&chosen, &self.prebuilt, &mut out);
        if let Some(Rest::File(mut part)) = appended.part {
            assert!(part.left > SMALL && part.left == appended.length);
            let mut piece = vec![0; 10_000];
            while part.left > 0 {
                let length = piece.len().min(part.left as usize);
                let read = part
                    .file
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
    bench.write("index.html", "the front variant");
    bench.write("a.css", "a {}");
    bench.write("empty.txt", "");
    bench.write("sub/index.html", "a sub variant");
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
        ("GET /", &told("the front variant", html)),
        ("GET /index.html", &told("the front variant", html)),
        ("GET /?q=1", &told("the front variant", html)),
        ("GET /a.css", &told("a {}", "text/css; charset=utf-8")),
        ("GET /empty.txt", &told("", "text/plain; charset=utf-8")),
        ("GET /sub/", &told("a sub variant", html)),
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
fn the_largest_small_file_comes_with_its_head() {
    let mut bench = Bench::new();
    for (size, is_part) in [(SMALL, false), (SMALL + 1, true)] {
        bench.write("a.bin", "x".repeat(size as usize));
        bench.pass(1000);
        let chosen = bench.find("GET /a.bin HTTP/1.1⏎Host: a⏎⏎");
        let appended = bench
            .library
            .append(&chosen, &bench.prebuilt, &mut Vec::new());
        assert_eq!((appended.length, appended.part.is_some()), (size, is_part));
        let chosen = bench.find("HEAD /a.bin HTTP/1.1⏎Host: a⏎⏎");
        let appended = bench
            .library
            .append(&chosen, &bench.prebuilt, &mut Vec::new());
        assert!(appended.part.is_none());
    }
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
