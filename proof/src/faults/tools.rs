//! Who meets the misbehaving server: how each tool is asked for the same thing, and how its own summary is read.
//!
//! Each is given the options that let it go on and report (patience of a second, no giving up at the first reset). A
//! summary is read as generously as it can be: whatever a tool calls an error, by any name, counts as a failure noticed.

use super::judge::Claim;
use super::rows::CONNECTIONS;
use counterweight::misbehaviour::Misbehaviour as M;
use std::path::Path;
use std::process::Command;

/// What every tool is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// HOST:PORT.
    pub at: &'a str,
    /// Exchanges, any probe included.
    pub requests: u64,
    /// For the tool that knows only time.
    pub seconds: u64,
    /// Whether connections are kept.
    pub keeps: bool,
    /// Whether HEAD is asked.
    pub is_head: bool,
    /// A folder for the tool's own files.
    pub home: &'a str,
}

/// What a tool left behind.
pub struct Said<'a> {
    /// On standard output and standard error.
    pub text: &'a str,
    /// In the folder for its own files.
    pub home: &'a Path,
}

/// One tool.
pub struct Tool {
    /// What it is called in the table.
    pub name: &'static str,
    /// What it is called on the machine.
    pub program: &'static str,
    /// What makes it say its version; ours need not be asked.
    version: Option<&'static str>,
    /// Its arguments.
    arguments: fn(&Ask<'_>) -> Vec<String>,
    /// What it claims.
    claim: fn(&Said<'_>) -> Option<Claim>,
    /// Exchanges that it makes before those it counts.
    pub probes: u64,
    /// Whether the clock ends it, whatever is under way.
    pub stops_by_time: bool,
    /// Misbehaviours that are none, or others, towards what it sends.
    not_judged: &'static [M],
}

/// What is said where a tool's cell is not judged.
pub const NOT_JUDGED: &str = "not judged: it asks as HTTP/1.0, to which this is no right answer";

/// What of the server's answers is not right towards HTTP/1.0.
const NOT_FOR_1_0: &[M] = &[M::Interim, M::Trailers];

/// All of them; the first is ours.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "weigh",
        program: "weigh",
        version: None,
        arguments: weigh,
        claim: |said| recorded(&said.home.join(RECORD)),
        probes: 1,
        stops_by_time: false,
        not_judged: &[],
    },
    Tool {
        name: "ab",
        program: "ab",
        version: Some("-V"),
        arguments: |ask| ab(ask, ""),
        claim: |said| ab_claim(said.text),
        probes: 0,
        stops_by_time: false,
        not_judged: NOT_FOR_1_0,
    },
    Tool {
        name: "ab -k",
        program: "ab",
        version: Some("-V"),
        arguments: |ask| ab(ask, "-k"),
        claim: |said| ab_claim(said.text),
        probes: 0,
        stops_by_time: false,
        not_judged: NOT_FOR_1_0,
    },
    Tool {
        name: "wrk",
        program: "wrk",
        version: Some("-v"),
        arguments: wrk,
        claim: |said| wrk_claim(said.text),
        probes: 0,
        stops_by_time: true,
        not_judged: &[],
    },
    Tool {
        name: "httperf",
        program: "httperf",
        version: Some("-V"),
        arguments: httperf,
        claim: |said| httperf_claim(said.text),
        probes: 0,
        stops_by_time: false,
        not_judged: &[],
    },
    Tool {
        name: "h2load",
        program: "h2load",
        version: Some("--version"),
        arguments: h2load,
        claim: |said| h2load_claim(said.text),
        probes: 0,
        stops_by_time: false,
        not_judged: &[],
    },
];

/// weigh's record, in its folder.
const RECORD: &str = "record.json";
/// What makes wrk ask with HEAD, in its folder: it has no option for it.
pub const HEAD_SCRIPT: &str = "head.lua";
/// Its text.
pub const HEAD_SCRIPT_TEXT: &str = "wrk.method = \"HEAD\"\n";

fn weigh(ask: &Ask<'_>) -> Vec<String> {
    let (at, home, n) = (ask.at, ask.home, ask.requests - 1);
    let close = unless(ask.keeps, "--no-keepalive --connect lazy");
    let head = unless(!ask.is_head, "-X HEAD");
    words(&format!(
        "run http://{at}/ -n {n} -c {CONNECTIONS} {head} {close} --timeout 1s --rounds 1 --keep-going --quiet \
         --output {home}/{RECORD}"
    ))
}

fn ab(ask: &Ask<'_>, keep: &'static str) -> Vec<String> {
    let keep = if ask.keeps { keep } else { "" };
    let head = unless(!ask.is_head, "-i");
    let (at, n) = (ask.at, ask.requests);
    words(&format!(
        "-n {n} -c {CONNECTIONS} {keep} {head} -r -s 1 http://{at}/"
    ))
}

fn wrk(ask: &Ask<'_>) -> Vec<String> {
    let head = format!("-s {}/{HEAD_SCRIPT}", ask.home);
    let head = if ask.is_head { &head } else { "" };
    let (at, seconds) = (ask.at, ask.seconds);
    let load = format!("-t 1 -c {CONNECTIONS} -d {seconds}s --timeout 1s {head}");
    asking_to_close(ask, words(&format!("{load} http://{at}/")))
}

fn httperf(ask: &Ask<'_>) -> Vec<String> {
    let calls = if ask.keeps { 5 } else { 1 };
    let (host, port) = ask.at.rsplit_once(':').unwrap_or((ask.at, "80"));
    let head = unless(!ask.is_head, "--method HEAD");
    let connections = ask.requests / calls;
    words(&format!(
        "--hog --server {host} --port {port} --num-conns {connections} --num-calls {calls} --rate 100 {head} --timeout 1"
    ))
}

fn h2load(ask: &Ask<'_>) -> Vec<String> {
    let head = unless(!ask.is_head, "-H :method:HEAD");
    let (at, n) = (ask.at, ask.requests);
    let load = format!("--h1 -t 1 -n {n} -c {CONNECTIONS} {head} -N 1s");
    asking_to_close(ask, words(&format!("{load} http://{at}/")))
}

fn unless(is: bool, words: &'static str) -> &'static str {
    if is { "" } else { words }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// With the header that a tool without an option for it needs.
fn asking_to_close(ask: &Ask<'_>, mut words: Vec<String>) -> Vec<String> {
    if !ask.keeps {
        words.extend(["-H".to_owned(), "Connection: close".to_owned()]);
    }
    words
}

impl Tool {
    /// Whether it is built here.
    pub fn is_ours(&self) -> bool {
        self.version.is_none()
    }

    /// Whether it can be run.
    pub fn is_installed(&self) -> bool {
        let ask = |version| Command::new(self.program).arg(version).output();
        self.version.is_none_or(|version| ask(version).is_ok())
    }

    /// Its arguments.
    pub fn arguments(&self, ask: &Ask<'_>) -> Vec<String> {
        (self.arguments)(ask)
    }

    /// What it says it did; none if it says nothing of it.
    pub fn claim(&self, said: &Said<'_>) -> Option<Claim> {
        (self.claim)(said)
    }

    /// Whether what it makes of this can be held against the log.
    pub fn is_judged(&self, misbehaviour: M) -> bool {
        !self.not_judged.contains(&misbehaviour)
    }

    /// What it says of itself.
    pub fn version(&self) -> String {
        let Some(version) = self.version else {
            return concat!("weigh ", env!("CARGO_PKG_VERSION")).to_owned();
        };
        let Ok(output) = Command::new(self.program).arg(version).output() else {
            return format!("{} of unknown version", self.name);
        };
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines().filter(|line| !line.contains("warning"));
        let said = lines.find(|line| line.contains(|of: char| of.is_ascii_digit()));
        let said = said.unwrap_or("of unknown version").trim();
        let ends = ["<", "[", "compiled"].map(|mark| said.find(mark));
        let end = ends.into_iter().flatten().min().unwrap_or(said.len());
        said[..end].trim().trim_start_matches("This is ").to_owned()
    }
}

/// What weigh has recorded.
fn recorded(path: &Path) -> Option<Claim> {
    let run = record::load(path).ok()?;
    let summary = run.summary.as_ref()?;
    let tally = &run.points.first()?.rounds.first()?.tally;
    let kinds = summary.errors.by_kind.iter();
    Some(Claim {
        ok: summary.ok,
        failed: summary.errors.total,
        strays: tally.strays.total(),
        detail: detail(kinds.map(|(kind, count)| (kind.as_str(), Some(*count)))),
    })
}

fn ab_claim(text: &str) -> Option<Claim> {
    let complete = after(text, "Complete requests:")?;
    let failed = after(text, "Failed requests:")?;
    let status = after(text, "Non-2xx responses:");
    // A status that is not 2xx is often a length that differs, too; what is failed at least is the larger.
    let failed = failed.max(status.unwrap_or(0));
    let named = |mark| after(text, mark);
    Some(Claim {
        ok: complete.saturating_sub(failed),
        failed,
        strays: 0,
        detail: detail([
            ("connect", named("(Connect:")),
            ("receive", named(", Receive:")),
            ("length", named(", Length:")),
            ("exceptions", named(", Exceptions:")),
            ("write", named("Write errors:")),
            ("non-2xx", status),
        ]),
    })
}

fn wrk_claim(text: &str) -> Option<Claim> {
    let complete = before(text, " requests in")?;
    let status = after(text, "Non-2xx or 3xx responses:");
    let errors = text.find("Socket errors:").map_or("", |from| &text[from..]);
    let sockets = ["connect", "read", "write", "timeout"]
        .map(|name| (name, after(errors, &format!(" {name} "))));
    let of_sockets: u64 = sockets.iter().filter_map(|(_, count)| *count).sum();
    let of_status = status.unwrap_or(0);
    Some(Claim {
        ok: complete.saturating_sub(of_status),
        failed: of_sockets + of_status,
        strays: 0,
        detail: detail(sockets.into_iter().chain([("non-2xx or 3xx", status)])),
    })
}

fn httperf_claim(text: &str) -> Option<Claim> {
    let status = |class: u8| after(text, &format!(" {class}xx="));
    let errors = after(text, "Errors: total ")?;
    let unhoped = [1, 4, 5].map(|class| status(class).unwrap_or(0));
    let names = ["client-timo", "socket-timo", "connrefused", "connreset"];
    let errors_named = names.map(|name| (name, after(text, &format!("{name} "))));
    Some(Claim {
        ok: status(2)? + status(3)?,
        failed: errors + unhoped.iter().sum::<u64>(),
        strays: 0,
        detail: detail(errors_named.into_iter().chain([
            ("1xx", status(1)),
            ("4xx", status(4)),
            ("5xx", status(5)),
        ])),
    })
}

fn h2load_claim(text: &str) -> Option<Claim> {
    let requests = &text[text.find("requests: ")?..];
    let status = |class: &str| before(text, &format!(" {class}"));
    let [total, started] = [" total", " started"].map(|mark| before(requests, mark));
    let (total, started) = (total?, started?);
    Some(Claim {
        ok: before(requests, " succeeded")?,
        failed: before(requests, " failed")?,
        strays: 0,
        detail: detail([
            ("never started", total.checked_sub(started)),
            ("errored", before(requests, " errored")),
            ("timeout", before(requests, " timeout")),
            ("4xx", status("4xx")),
            ("5xx", status("5xx")),
        ]),
    })
}

/// Names and counts of what there is any of.
fn detail<'a>(counts: impl IntoIterator<Item = (&'a str, Option<u64>)>) -> String {
    let counts = counts.into_iter();
    let some = counts.filter_map(|(name, count)| Some((name, count.filter(|count| *count > 0)?)));
    let words: Vec<String> = some
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    words.join(", ")
}

/// The number right after `mark`.
fn after(text: &str, mark: &str) -> Option<u64> {
    let rest = text[text.find(mark)? + mark.len()..].trim_start();
    let end = rest.find(|of: char| !of.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// The number right before `mark`.
fn before(text: &str, mark: &str) -> Option<u64> {
    let rest = &text[..text.find(mark)?];
    let digits = rest.trim_end_matches(|of: char| of.is_ascii_digit());
    rest[digits.len()..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(ok: u64, failed: u64, detail: &str) -> Option<Claim> {
        Some(Claim {
            ok,
            failed,
            strays: 0,
            detail: detail.to_owned(),
        })
    }

    #[test]
    fn ab_is_read_with_statuses_and_without_figures() {
        let text = "Complete requests:      60\nFailed requests:        12\n   (Connect: 0, Receive: 0, Length: 12, \
                    Exceptions: 0)\n";
        assert_eq!(ab_claim(text), claim(48, 12, "length 12"));
        let more = format!("{text}Non-2xx responses:      13\n");
        assert_eq!(ab_claim(&more), claim(47, 13, "length 12, non-2xx 13"));
        let none = "apr_pollset_poll: The timeout specified has expired (70007)\nTotal of 16 requests completed\n";
        assert_eq!(ab_claim(none), None);
    }

    #[test]
    fn wrks_statuses_are_among_its_requests_and_its_socket_errors_are_not() {
        let text = "  7644 requests in 1.01s, 625.18KB read\n  Socket errors: connect 1, read 1911, write 2, timeout 3\n";
        let detail = "connect 1, read 1911, write 2, timeout 3";
        assert_eq!(wrk_claim(text), claim(7644, 1917, detail));
        let text = "  36197 requests in 1.00s, 2.64MB read\n  Non-2xx or 3xx responses: 7239\n";
        assert_eq!(wrk_claim(text), claim(28958, 7239, "non-2xx or 3xx 7239"));
        assert_eq!(
            wrk_claim("unable to connect to 127.0.0.1:1 Connection refused"),
            None
        );
    }

    #[test]
    fn httperf_is_read_by_its_replies_and_its_errors() {
        let text = "Total: connections 12 requests 57 replies 46 test-duration 0.114 s\n\
                    Reply status: 1xx=1 2xx=40 3xx=2 4xx=3 5xx=0\n\
                    Errors: total 11 client-timo 1 socket-timo 0 connrefused 0 connreset 10\n";
        let detail = "client-timo 1, connreset 10, 1xx 1, 4xx 3";
        assert_eq!(httperf_claim(text), claim(42, 15, detail));
        assert_eq!(httperf_claim("httperf: connection failed"), None);
    }

    #[test]
    fn h2loads_failures_name_what_was_never_started() {
        let text = "requests: 60 total, 20 started, 16 done, 15 succeeded, 45 failed, 44 errored, 4 timeout\n\
                    status codes: 15 2xx, 0 3xx, 1 4xx, 0 5xx\n";
        let detail = "never started 40, errored 44, timeout 4, 4xx 1";
        assert_eq!(h2load_claim(text), claim(15, 45, detail));
        assert_eq!(h2load_claim("progress: 10% done\n"), None);
    }

    #[test]
    fn weighs_record_is_read_with_its_strays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(RECORD);
        assert_eq!(recorded(&path), None);
        let run = record::example::ok();
        run.write_json(std::fs::File::create(&path).unwrap())
            .unwrap();
        let summary = run.summary.as_ref().unwrap();
        let claim = recorded(&path).unwrap();
        assert_eq!((claim.ok, claim.failed), (summary.ok, summary.errors.total));
        let strays = run.points[0].rounds[0].tally.strays.total();
        assert_eq!(claim.strays, strays);
    }

    #[test]
    fn all_are_asked_for_the_same() {
        let mut ask = Ask {
            at: "127.0.0.1:80",
            requests: 60,
            seconds: 1,
            keeps: true,
            is_head: false,
            home: "f",
        };
        let lines = |ask: &Ask<'_>| -> Vec<String> {
            TOOLS
                .iter()
                .map(|tool| tool.arguments(ask).join(" "))
                .collect()
        };
        let kept = [
            "run http://127.0.0.1:80/ -n 59 -c 4 --timeout 1s --rounds 1 --keep-going --quiet --output f/record.json",
            "-n 60 -c 4 -r -s 1 http://127.0.0.1:80/",
            "-n 60 -c 4 -k -r -s 1 http://127.0.0.1:80/",
            "-t 1 -c 4 -d 1s --timeout 1s http://127.0.0.1:80/",
            "--hog --server 127.0.0.1 --port 80 --num-conns 12 --num-calls 5 --rate 100 --timeout 1",
            "--h1 -t 1 -n 60 -c 4 -N 1s http://127.0.0.1:80/",
        ];
        assert_eq!(lines(&ask), kept);
        ask.keeps = false;
        ask.is_head = true;
        let closed = lines(&ask);
        assert!(closed[0].contains("-X HEAD --no-keepalive --connect lazy"));
        assert_eq!(closed[2], "-n 60 -c 4 -i -r -s 1 http://127.0.0.1:80/");
        assert!(closed[3].contains("-s f/head.lua") && closed[3].ends_with("-H Connection: close"));
        assert!(closed[4].contains("--num-conns 60 --num-calls 1 --rate 100 --method HEAD"));
        assert!(
            closed[5].contains("-H :method:HEAD") && closed[5].ends_with("-H Connection: close")
        );
    }
}
