//! curl, as people use it.

use super::{Line, Served, count, with_program};
use std::fs;
use std::process::{Command, Output};

/// A server with a few files, and the curl that asks it.
struct Bench {
    curl: String,
    server: Served,
}

fn large() -> Vec<u8> {
    (0..300_000u32).map(|at| (at % 251) as u8).collect()
}

impl Bench {
    fn new(curl: &str) -> Bench {
        let text = "one line of a style sheet\n".repeat(40);
        let server = Served::start(
            1,
            &[("large.bin", &large()), ("style.css", text.as_bytes())],
        );
        Bench {
            curl: curl.to_owned(),
            server,
        }
    }

    /// What curl says to the words of `line`, where `@` before a path is the server's URL; in the folder beside the one that is served.
    fn run(&self, line: &str) -> Output {
        let line = line.replace("@/", &self.server.url("/"));
        let output = Command::new(&self.curl)
            .args(["--silent", "--show-error", "--max-time", "30"])
            .args(line.split_whitespace())
            .current_dir(self.server.path(""))
            .output()
            .expect("curl starts");
        assert!(output.status.success(), "{line}: {output:?}");
        output
    }

    /// As [`Bench::run`]; what it wrote to its standard output.
    fn says(&self, line: &str) -> String {
        String::from_utf8_lossy(&self.run(line).stdout).into_owned()
    }

    fn file(&self, name: &str) -> Vec<u8> {
        fs::read(self.server.path(name)).unwrap_or_default()
    }
}

/// Statuses and lengths of what was asked, in order.
fn answers(log: &[Line]) -> Vec<(u16, u64)> {
    log.iter().map(|line| (line.2, line.3)).collect()
}

#[test]
fn parts_of_a_file_and_the_rest_of_a_download_that_broke_off_come_as_asked() {
    with_program("curl", |curl| {
        let mut bench = Bench::new(curl);
        let got = bench.run("-r 1000-1999 @/large.bin").stdout;
        assert!(got == large()[1000..2000]);
        let got = bench.run("-r -500 @/large.bin").stdout;
        assert!(got == large()[299_500..]);
        fs::write(bench.server.path("part"), &large()[..123_456]).expect("a file");
        bench.run("-C - -o part @/large.bin");
        assert!(bench.file("part") == large());
        let status = bench.says("-o none -w %{http_code} -r 300000- @/large.bin");
        assert_eq!(status, "416");
        let (log, _) = bench.server.stop();
        let parts = [(206, 1000), (206, 500), (206, 176_544)];
        assert_eq!(answers(&log)[..3], parts);
        assert_eq!((log.len(), log[3].2), (4, 416));
    });
}

#[test]
fn what_has_not_changed_is_not_sent_again() {
    with_program("curl", |curl| {
        let mut bench = Bench::new(curl);
        // Its time is that of the file, which is what `-z` asks with.
        bench.run("-R -o copy --etag-save tag @/large.bin");
        assert!(bench.file("copy") == large());
        let status = "-o none -w %{http_code}:%{size_download}";
        let by_time = bench.says(&format!("{status} -z copy @/large.bin"));
        let by_tag = bench.says(&format!("{status} --etag-compare tag @/large.bin"));
        let old = bench.says(&format!("{status} -z 2001-01-01 @/large.bin"));
        assert_eq!([by_time, by_tag, old], ["304:0", "304:0", "200:300000"]);
        let (log, _) = bench.server.stop();
        let all = [(200, 300_000), (304, 0), (304, 0), (200, 300_000)];
        assert_eq!(answers(&log), all);
    });
}

#[test]
fn a_file_that_was_compressed_beforehand_is_sent_so_to_whoever_can_read_it() {
    with_program("curl", |curl| {
        let mut bench = Bench::new(curl);
        let packed = Command::new("gzip")
            .args(["-k", "www/style.css"])
            .current_dir(bench.server.path(""))
            .status();
        assert!(packed.is_ok_and(|status| status.success()), "gzip");
        let plain = bench.file("www/style.css");
        assert!(bench.run("--compressed @/style.css").stdout == plain);
        assert!(bench.run("@/style.css").stdout == plain);
        let length = bench.file("www/style.css.gz").len() as u64;
        let (log, _) = bench.server.stop();
        assert_eq!(answers(&log), [(200, length), (200, plain.len() as u64)]);
    });
}

#[test]
fn a_body_is_asked_for_only_where_it_is_read() {
    with_program("curl", |curl| {
        let mut bench = Bench::new(curl);
        let talk = |line: &str| {
            let line = format!("-v -o none -H Expect:100-continue {line}");
            String::from_utf8_lossy(&bench.run(&line).stderr).into_owned()
        };
        let refused = talk("-T www/large.bin @/large.bin");
        assert!(refused.contains("< HTTP/1.1 405 Method"), "{refused}");
        assert!(!refused.contains("100 Continue"), "{refused}");
        let read = talk("-X GET --data-binary @www/large.bin @/style.css");
        let both = ["< HTTP/1.1 100 Continue", "< HTTP/1.1 200 OK"];
        assert!(both.iter().all(|line| read.contains(line)), "{read}");
        let (log, counts) = bench.server.stop();
        assert_eq!((log[0].2, log[1].2), (405, 200));
        assert_eq!(count(&counts, "responses_1xx"), 1);
        let received = count(&counts, "bytes_received");
        assert!(
            (300_000..301_000).contains(&received),
            "{received}: one body"
        );
    });
}

#[test]
fn many_wishes_are_one_connection_and_old_clients_have_one_each() {
    with_program("curl", |curl| {
        let mut bench = Bench::new(curl);
        let wishes = "-o none @/style.css ".repeat(20);
        let new = bench.says(&format!("-w %{{num_connects}} {wishes}"));
        assert_eq!(new, format!("1{}", "0".repeat(19)));
        let version = "%{http_version}/%{num_connects},";
        let new = bench.says(&format!("--http1.0 -w {version} {wishes}"));
        assert_eq!(new, "1.1/1,".repeat(20));
        let (log, counts) = bench.server.stop();
        let (requests, connections) = (count(&counts, "requests"), count(&counts, "connections"));
        assert_eq!((log.len(), requests, connections), (40, 40, 21));
    });
}

#[test]
fn no_path_leads_out_of_the_folder() {
    with_program("curl", |curl| {
        let mut bench = Bench::new(curl);
        let ways = [
            "/../outside.txt",
            "/%2e%2e/outside.txt",
            "/..%2foutside.txt",
            "/style.css/../../outside.txt",
            "//../outside.txt",
            "/....//outside.txt",
        ];
        for way in ways {
            let said = bench.says(&format!("--path-as-is -w %{{http_code}} @{way}"));
            assert!(!said.contains("outside"), "{way}: {said}");
            assert!(
                said.ends_with("404") || said.ends_with("400"),
                "{way}: {said}"
            );
        }
        let (log, _) = bench.server.stop();
        assert_eq!(log.len(), ways.len());
    });
}
