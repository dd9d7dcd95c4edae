//! What load generators report: how many requests succeeded, and percentiles of latency.
//!
//! Counts are read as generously as can be: whatever a tool calls an error, by any name, is a failure. Where a tool gives
//! its samples, they are sorted here; where it gives percentiles, those are taken at its word, without failed requests.

use crate::programs;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use units::Nanos;

/// What a tool has left behind.
pub struct ToolOutput<'a> {
    /// On standard output and standard error.
    pub text: &'a str,
    /// The folder where it may write.
    pub folder: &'a Path,
}

/// How many requests a tool says it made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claim {
    /// Requests that succeeded.
    pub ok: u64,
    /// Those that did not, by whatever name.
    pub failed: u64,
    /// Responses to no request, counted apart from failures.
    pub strays: u64,
    /// Requests on kept connections, where the tool counts them.
    pub kept: Option<u64>,
    /// The names it has for what failed.
    pub detail: String,
    /// Full and resumed TLS handshakes, where it tells them apart.
    pub handshakes: Option<[u64; 2]>,
}

impl Claim {
    /// So many that succeeded and that did not, and names for counts of the latter, of those that are not 0.
    fn of<'a>(
        ok: u64,
        failed: u64,
        names: impl IntoIterator<Item = (&'a str, Option<u64>)>,
    ) -> Claim {
        let counts = names
            .into_iter()
            .map(|(name, count)| (name, count.unwrap_or(0)));
        let counts = counts.filter(|(_, count)| *count > 0);
        let names: Vec<String> = counts
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        Claim {
            ok,
            failed,
            detail: names.join(", "),
            ..Claim::default()
        }
    }
}

/// The names of the figures of latency, in the order of [`Percentiles`].
pub const FIGURES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];

/// Five figures of latency; none where the samples do not carry it, or a tool does not say.
pub type Percentiles = [Option<Nanos>; 5];

/// Reads a report; none where there is nothing to be read.
type Reader<T> = fn(&ToolOutput<'_>) -> Option<T>;

/// Returns the reader of the counts of a program; none where it has none.
pub fn counts(program: &str) -> Option<Reader<Claim>> {
    Some(match program {
        "bare_client" => |output| bare_client(output.text),
        "weigh" => |output| weigh(&output.folder.join("weigh.json")),
        "ab" => |output| ab(output.text),
        "oha" => |output| oha_counts(output.text),
        "openssl" => |output| s_time(output.text),
        "wrk" => |output| wrk_counts(output.text),
        "httperf" => |output| httperf(output.text),
        "h2load" => |output| h2load_counts(output.text),
        _ => return None,
    })
}

/// Returns the reader of the percentiles of a program; none where it has none.
pub fn latency(program: &str) -> Option<Reader<Percentiles>> {
    Some(match program {
        "oha" => |output| oha(output.text),
        "wrk" => |output| wrk(output.text),
        "h2load" => |output| h2load(&read(output, "h2load.log")?),
        "hey" => |output| hey(output.text),
        "vegeta" => |output| vegeta(&encoded(output)?),
        "k6" => |output| k6(&read(output, "k6.json")?),
        _ => return None,
    })
}

fn read(output: &ToolOutput<'_>, name: &str) -> Option<String> {
    std::fs::read_to_string(output.folder.join(name)).ok()
}

/// vegeta's results as it prints them itself: a line for each request.
fn encoded(output: &ToolOutput<'_>) -> Option<String> {
    let results = output.folder.join("vegeta.results");
    let vegeta = programs::find("vegeta")?;
    let mut encode = Command::new(vegeta);
    let output = encode.args(["encode", "-to", "csv"]).arg(results).output();
    String::from_utf8(output.ok()?.stdout).ok()
}

/// The requests of the bare client, which ends at the first failure.
fn bare_client(text: &str) -> Option<Claim> {
    Some(Claim::of(before(text, " exchanges,")?, 0, []))
}

/// What weigh has recorded.
fn weigh(path: &Path) -> Option<Claim> {
    let run = record::load(path).ok()?;
    let summary = run.summary.as_ref()?;
    let tally = &run.points.first()?.rounds.first()?.tally;
    let kinds = summary.errors.by_kind.iter();
    let kinds = kinds.map(|(kind, count)| (kind.as_str(), Some(*count)));
    let handshakes = tally.connects.handshakes.as_ref();
    Some(Claim {
        strays: tally.strays.total(),
        handshakes: handshakes.map(|all| [all.full.count(), all.resumed.count()]),
        ..Claim::of(summary.ok, summary.errors.total, kinds)
    })
}

fn ab(text: &str) -> Option<Claim> {
    let complete = after(text, "Complete requests:")?;
    let failed = after(text, "Failed requests:")?;
    let status = after(text, "Non-2xx responses:");
    // A status that is not 2xx is often a length that differs, too; what is failed at least is the larger.
    let failed = failed.max(status.unwrap_or(0));
    let named = |mark| after(text, mark);
    let names = [
        ("connect", named("(Connect:")),
        ("receive", named(", Receive:")),
        ("length", named(", Length:")),
        ("exceptions", named(", Exceptions:")),
        ("write", named("Write errors:")),
        ("non-2xx", status),
    ];
    Some(Claim {
        kept: after(text, "Keep-Alive requests:"),
        ..Claim::of(complete.saturating_sub(failed), failed, names)
    })
}

fn wrk_counts(text: &str) -> Option<Claim> {
    let complete = before(text, " requests in")?;
    let status = after(text, "Non-2xx or 3xx responses:");
    let errors = text.find("Socket errors:").map_or("", |from| &text[from..]);
    let sockets = ["connect", "read", "write", "timeout"]
        .map(|name| (name, after(errors, &format!(" {name} "))));
    let of_sockets: u64 = sockets.iter().filter_map(|(_, count)| *count).sum();
    let of_status = status.unwrap_or(0);
    let names = sockets.into_iter().chain([("non-2xx or 3xx", status)]);
    let ok = complete.saturating_sub(of_status);
    Some(Claim::of(ok, of_sockets + of_status, names))
}

fn httperf(text: &str) -> Option<Claim> {
    let status = |class: u8| after(text, &format!(" {class}xx="));
    let errors = after(text, "Errors: total ")?;
    let statuses = [("1xx", status(1)), ("4xx", status(4)), ("5xx", status(5))];
    let unhoped: u64 = statuses.iter().filter_map(|(_, count)| *count).sum();
    let names = ["client-timo", "socket-timo", "connrefused", "connreset"];
    let names = names.map(|name| (name, after(text, &format!("{name} "))));
    let names = names.into_iter().chain(statuses);
    Some(Claim::of(status(2)? + status(3)?, errors + unhoped, names))
}

fn h2load_counts(text: &str) -> Option<Claim> {
    let requests = &text[text.find("requests: ")?..];
    let of = |mark| before(requests, mark);
    let (total, started) = (of(" total")?, of(" started")?);
    let names = [
        ("never started", total.checked_sub(started)),
        ("errored", of(" errored")),
        ("timeout", of(" timeout")),
        ("4xx", before(text, " 4xx")),
        ("5xx", before(text, " 5xx")),
    ];
    Some(Claim::of(of(" succeeded")?, of(" failed")?, names))
}

/// oha's JSON: statuses by number, errors by name. Of a status that is none of success it says no more.
fn oha_counts(text: &str) -> Option<Claim> {
    let report: Value = serde_json::from_str(text.get(text.find('{')?..)?).ok()?;
    let counts = |name: &str| {
        let all = report.get(name)?.as_object()?.iter();
        Some(
            all.map(|(name, count)| (name.clone(), count.as_u64()))
                .collect::<Vec<_>>(),
        )
    };
    let (statuses, errors) = (
        counts("statusCodeDistribution")?,
        counts("errorDistribution")?,
    );
    let (good, bad): (Vec<_>, Vec<_>) = statuses.into_iter().partition(|(status, _)| {
        let class = status.chars().next();
        matches!(class, Some('2' | '3'))
    });
    let sum =
        |all: &[(String, Option<u64>)]| all.iter().filter_map(|(_, count)| *count).sum::<u64>();
    let failures = [bad, errors].concat();
    let names = failures.iter().map(|(name, count)| (name.as_str(), *count));
    Some(Claim::of(sum(&good), sum(&failures), names))
}

/// What `openssl s_time` prints: for each connection a letter, `r` where it was resumed, and their number. Of failures it says
/// nothing: it ends at the first.
fn s_time(text: &str) -> Option<Claim> {
    let ok = before(text, " connections in")?;
    let is_letters = |line: &&str| !line.is_empty() && line.chars().all(|of| "rt*".contains(of));
    let letters = text.lines().find(is_letters)?;
    let resumed = letters.chars().filter(|of| *of == 'r').count() as u64;
    Some(Claim {
        handshakes: Some([ok.saturating_sub(resumed), resumed]),
        ..Claim::of(ok, 0, [])
    })
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

/// oha's JSON, in seconds.
fn oha(text: &str) -> Option<Percentiles> {
    let report: Value = serde_json::from_str(text.get(text.find('{')?..)?).ok()?;
    let of = |name: &str| report.get("latencyPercentiles")?.get(name)?.as_f64();
    let slowest = report.get("summary")?.get("slowest")?.as_f64();
    let all = [of("p50"), of("p90"), of("p99"), of("p99.9"), slowest];
    some(all.map(|seconds| nanos(seconds?, 1e9)))
}

/// wrk's text, in whatever unit fits; it has no p99.9.
fn wrk(text: &str) -> Option<Percentiles> {
    let after = |mark: &str| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.trim().strip_prefix(mark))?;
        Some(line.split_whitespace())
    };
    let at = |mark| span(after(mark)?.next()?);
    let max = || span(after("Latency ")?.nth(2)?);
    some([at("50%"), at("90%"), at("99%"), None, max()])
}

/// h2load's log: when it began, status (-1: it failed), and microseconds, of each request.
fn h2load(log: &str) -> Option<Percentiles> {
    requests(log, '\t', (1, 0), (2, 1e3))
}

/// hey's CSV: seconds first, the status in the column of that name.
fn hey(text: &str) -> Option<Percentiles> {
    let rows = &text[text.find("response-time,")?..];
    let mut head = rows.lines().next()?.split(',');
    let status = head.position(|name| name == "status-code")?;
    requests(rows, ',', (status, 1), (0, 1e9))
}

/// vegeta's CSV: when it was sent, status (0: it failed), and nanoseconds, of each request.
fn vegeta(text: &str) -> Option<Percentiles> {
    requests(text, ',', (1, 1), (2, 1.0))
}

/// A line for each request: in one column its status, at least so much if it succeeded, in another its time in units of so
/// many nanoseconds.
fn requests(
    text: &str,
    separator: char,
    (status, least): (usize, i32),
    (time, unit): (usize, f64),
) -> Option<Percentiles> {
    sorted(text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
        let is_ok = fields.get(status)?.parse::<i32>().ok()? >= least;
        nanos(fields.get(time)?.parse().ok()?, unit).filter(|_| is_ok)
    }))
}

/// k6's summary, in milliseconds.
fn k6(text: &str) -> Option<Percentiles> {
    let report: Value = serde_json::from_str(text).ok()?;
    let times = report.get("metrics")?.get("http_req_duration")?;
    let names = ["med", "p(90)", "p(99)", "p(99.9)", "max"];
    some(names.map(|name| nanos(times.get(name)?.as_f64()?, 1e6)))
}

/// A number of units, of which each has so many nanoseconds; none of what is no time.
fn nanos(number: f64, unit: f64) -> Option<Nanos> {
    let is_time = number.is_finite() && number >= 0.0;
    is_time.then(|| Nanos::from_nanos((number * unit).round() as u64))
}

/// `1.10ms`, `83.00us`, `1.07s`, `1.20m`.
fn span(text: &str) -> Option<Nanos> {
    let end = text.find(|of: char| of.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(end);
    let units = [
        ("us", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("m", 60e9),
        ("h", 3600e9),
    ];
    let (_, unit) = units.into_iter().find(|(name, _)| *name == unit)?;
    nanos(number.parse().ok()?, unit)
}

/// Figures of which there is at least one.
fn some(figures: Percentiles) -> Option<Percentiles> {
    figures.iter().any(Option::is_some).then_some(figures)
}

/// Percentiles of samples by nearest rank. None of none.
fn sorted(samples: impl Iterator<Item = Nanos>) -> Option<Percentiles> {
    let mut samples: Vec<Nanos> = samples.collect();
    samples.sort_unstable();
    let at = |mille: usize| {
        let rank = (samples.len() * mille).div_ceil(1000);
        samples.get(rank.checked_sub(1)?).copied()
    };
    some([500, 900, 990, 999, 1000].map(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(ok: u64, failed: u64, detail: &str) -> Option<Claim> {
        Some(Claim {
            ok,
            failed,
            detail: detail.to_owned(),
            ..Claim::default()
        })
    }

    #[test]
    fn ab_is_read_with_statuses_and_without_figures() {
        let text = "Complete requests:      60\nFailed requests:        12\n   (Connect: 0, Receive: 0, Length: 12, \
                    Exceptions: 0)\n";
        assert_eq!(ab(text), claim(48, 12, "length 12"));
        let more = format!("{text}Non-2xx responses:      13\n");
        assert_eq!(ab(&more), claim(47, 13, "length 12, non-2xx 13"));
        let none = "apr_pollset_poll: The timeout specified has expired (70007)\nTotal of 16 requests completed\n";
        assert_eq!(ab(none), None);
    }

    #[test]
    fn wrks_statuses_are_among_its_requests_and_its_socket_errors_are_not() {
        let text = "  7644 requests in 1.01s, 625.18KB read\n  Socket errors: connect 1, read 1911, write 2, timeout 3\n";
        let detail = "connect 1, read 1911, write 2, timeout 3";
        assert_eq!(wrk_counts(text), claim(7644, 1917, detail));
        let text = "  36197 requests in 1.00s, 2.64MB read\n  Non-2xx or 3xx responses: 7239\n";
        assert_eq!(wrk_counts(text), claim(28958, 7239, "non-2xx or 3xx 7239"));
        assert_eq!(
            wrk_counts("unable to connect to 127.0.0.1:1 Connection refused"),
            None
        );
    }

    #[test]
    fn httperf_is_read_by_its_replies_and_its_errors() {
        let text = "Total: connections 12 requests 57 replies 46 test-duration 0.114 s\n\
                    Reply status: 1xx=1 2xx=40 3xx=2 4xx=3 5xx=0\n\
                    Errors: total 11 client-timo 1 socket-timo 0 connrefused 0 connreset 10\n";
        let detail = "client-timo 1, connreset 10, 1xx 1, 4xx 3";
        assert_eq!(httperf(text), claim(42, 15, detail));
        assert_eq!(httperf("httperf: connection failed"), None);
    }

    #[test]
    fn h2loads_failures_name_what_was_never_started() {
        let text = "requests: 60 total, 20 started, 16 done, 15 succeeded, 45 failed, 44 errored, 4 timeout\n\
                    status codes: 15 2xx, 0 3xx, 1 4xx, 0 5xx\n";
        let detail = "never started 40, errored 44, timeout 4, 4xx 1";
        assert_eq!(h2load_counts(text), claim(15, 45, detail));
        assert_eq!(h2load_counts("progress: 10% done\n"), None);
    }

    #[test]
    fn weighs_record_is_read_with_its_strays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weigh.json");
        assert_eq!(weigh(&path), None);
        let run = record::example::ok();
        run.write_json(std::fs::File::create(&path).unwrap())
            .unwrap();
        let summary = run.summary.as_ref().unwrap();
        let claim = weigh(&path).unwrap();
        assert_eq!((claim.ok, claim.failed), (summary.ok, summary.errors.total));
        let strays = run.points[0].rounds[0].tally.strays.total();
        assert_eq!(claim.strays, strays);
    }

    #[test]
    fn ohas_statuses_and_errors_are_counted() {
        // oha 1.16.0, cut.
        let text = r#"{"summary": {"successRate": 1.0}, "statusCodeDistribution": {"200": 45, "302": 2, "404": 4},
            "errorDistribution": {"connection error": 3}}"#;
        assert_eq!(oha_counts(text), claim(47, 7, "404 4, connection error 3"));
        assert_eq!(oha_counts("{}"), None);
    }

    #[test]
    fn what_s_time_prints_is_read() {
        // OpenSSL 3.0.19.
        let text = |letters: &str| {
            format!(
                "Collecting connection statistics for 1 seconds\n{letters}\n\n\
                 4 connections in 0.24s; 1370.83 connections/user sec, bytes read 944\n\
                 4 connections in 2 real seconds, 236 bytes read per connection\n"
            )
        };
        let handshakes = |letters| s_time(&text(letters)).unwrap().handshakes;
        assert_eq!(handshakes("****"), Some([4, 0]));
        assert_eq!(handshakes("rrr*"), Some([1, 3]));
        assert_eq!(s_time(&text("****")).unwrap().ok, 4);
        assert_eq!(s_time("Unable to get connection\n"), None);
    }

    fn micros(figures: [Option<u64>; 5]) -> Option<Percentiles> {
        let figures = figures.map(|figure| figure.map(Nanos::from_micros));
        Some(figures)
    }

    #[test]
    fn what_wrk_prints_is_read() {
        // wrk 4.1.0, 2026.
        let text = "\
Running 1s test @ http://127.0.0.1:18777/delay?law=constant&mean=1ms
  1 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     4.76ms    6.52ms  43.97ms   85.62%
    Req/Sec     4.15k     3.31k    9.30k    70.00%
  Latency Distribution
     50%    1.10ms
     75%    6.76ms
     90%   13.93ms
     99%   31.52ms
  4187 requests in 1.04s, 474.31KB read
Requests/sec:   4042.27
Transfer/sec:    457.91KB
";
        let wanted = [Some(1_100), Some(13_930), Some(31_520), None, Some(43_970)];
        assert_eq!(wrk(text), micros(wanted));
    }

    #[test]
    fn spans_are_read_in_every_unit_that_wrk_has() {
        let cases = [
            ("83.00us", Some(83_000)),
            ("1.10ms", Some(1_100_000)),
            ("2.07s", Some(2_070_000_000)),
            ("1.50m", Some(90_000_000_000)),
            ("1.00h", Some(3_600_000_000_000)),
            ("12", None),
            ("-nanus", None),
            ("1.0x", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(span(text), wanted.map(Nanos::from_nanos), "{text}");
        }
    }

    #[test]
    fn what_h2load_logs_is_read() {
        // nghttp2 1.52.0, and a line of a request that failed.
        let log = "1795179093023161\t200\t12277\n1795179093023156\t200\t12309\n\
                   1795179093023151\t200\t12319\n1795179093023142\t-1\t99999\n";
        let wanted = [12_309, 12_319, 12_319, 12_319, 12_319];
        assert_eq!(h2load(log), micros(wanted.map(Some)));
        assert_eq!(h2load("1795179093023142\t-1\t99999\n"), None);
    }

    #[test]
    fn what_hey_prints_is_read() {
        // hey 0.1.4.
        let text = "\
response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset
0.0021,0.0007,0.0000,0.0002,0.0010,0.0001,200,0.0123
0.0018,0.0004,0.0000,0.0002,0.0012,0.0000,200,0.0127
";
        let wanted = [1_800, 2_100, 2_100, 2_100, 2_100];
        assert_eq!(hey(text), micros(wanted.map(Some)));
    }

    #[test]
    fn what_vegeta_spells_out_is_read() {
        // vegeta 12.12.0, cut after the bytes received, and a request that failed.
        let text = "1795179052289999030,200,1984262,0,14\n1795179052290805119,200,1556375,0,14\n\
                    1795179052290805120,0,77,0,0,connection refused\n";
        let figures = vegeta(text).unwrap();
        assert_eq!(figures[0], Some(Nanos::from_nanos(1_556_375)));
        assert_eq!(figures[4], Some(Nanos::from_nanos(1_984_262)));
    }

    #[test]
    fn what_k6_exports_is_read() {
        // k6 1.3.0, without the other metrics.
        let text = r#"{"metrics": {"dropped_iterations": {"count": 154, "rate": 153.6340798793702},
            "http_req_duration": {"med": 3.969174, "p(90)": 69.567248, "p(99)": 113.80152618000002,
            "p(99.9)": 200.3809651900042, "max": 227.659773}}}"#;
        let wanted = [3_969_174, 69_567_248, 113_801_526, 200_380_965, 227_659_773];
        let wanted = wanted.map(|figure| Some(Nanos::from_nanos(figure)));
        assert_eq!(k6(text), Some(wanted));
        assert_eq!(k6(r#"{"metrics": {}}"#), None);
    }

    #[test]
    fn samples_are_ranked_by_the_nearest() {
        let figures = sorted((1..=2000).rev().map(Nanos::from_micros));
        let wanted = [1000, 1800, 1980, 1998, 2000];
        assert_eq!(figures, micros(wanted.map(Some)));
        assert_eq!(sorted(std::iter::empty()), None);
    }
}
