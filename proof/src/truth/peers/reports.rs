//! What load generators print, as percentiles. Where a tool gives its samples, they are sorted here; where it gives
//! percentiles, those are taken at its word. Failed requests count nowhere.

use crate::truth::case::Percentiles;
use serde_json::Value;
use units::Nanos;

/// oha's JSON, in seconds.
pub fn oha(text: &str) -> Option<Percentiles> {
    let report: Value = serde_json::from_str(text.get(text.find('{')?..)?).ok()?;
    let of = |name: &str| report.get("latencyPercentiles")?.get(name)?.as_f64();
    let slowest = report.get("summary")?.get("slowest")?.as_f64();
    let all = [of("p50"), of("p90"), of("p99"), of("p99.9"), slowest];
    some(all.map(|seconds| nanos(seconds?, 1e9)))
}

/// wrk's text, in whatever unit fits; it has no p99.9.
pub fn wrk(text: &str) -> Option<Percentiles> {
    let after = |mark: &str| {
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(mark))?;
        Some(line.split_whitespace())
    };
    let at = |mark| span(after(mark)?.next()?);
    let max = || span(after("Latency ")?.nth(2)?);
    some([at("50%"), at("90%"), at("99%"), None, max()])
}

/// h2load's log: when it began, status (-1: it failed), and microseconds, of each request.
pub fn h2load(log: &str) -> Option<Percentiles> {
    sorted(log.lines().filter_map(|line| {
        let mut fields = line.split('\t').skip(1);
        let status: i32 = fields.next()?.parse().ok()?;
        let micros: f64 = fields.next()?.trim().parse().ok()?;
        nanos(micros, 1e3).filter(|_| status >= 0)
    }))
}

/// hey's CSV: seconds first, the status in the column of that name.
pub fn hey(text: &str) -> Option<Percentiles> {
    let mut lines = text
        .lines()
        .skip_while(|line| !line.starts_with("response-time,"));
    let place = |wanted| move |head: &str| head.split(',').position(|name| name == wanted);
    let status = place("status-code")(lines.next()?)?;
    sorted(lines.filter_map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let answered = fields.get(status)?.parse::<u32>().ok()? > 0;
        nanos(fields.first()?.parse().ok()?, 1e9).filter(|_| answered)
    }))
}

/// vegeta's CSV: when it was sent, status (0: it failed), and nanoseconds, of each request.
pub fn vegeta(text: &str) -> Option<Percentiles> {
    sorted(text.lines().filter_map(|line| {
        let mut fields = line.split(',').skip(1);
        let status: u32 = fields.next()?.parse().ok()?;
        let took: u64 = fields.next()?.parse().ok()?;
        (status > 0).then(|| Nanos::from_nanos(took))
    }))
}

/// k6's summary, in milliseconds.
pub fn k6(text: &str) -> Option<Percentiles> {
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
    let unit = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    nanos(number.parse().ok()?, unit)
}

/// Figures of which there is at least one.
fn some(figures: [Option<Nanos>; 5]) -> Option<Percentiles> {
    let any = figures.iter().any(Option::is_some);
    any.then(|| Percentiles::from(figures))
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

    fn micros(figures: [Option<u64>; 5]) -> Option<Percentiles> {
        let figures = figures.map(|figure| figure.map(Nanos::from_micros));
        Some(Percentiles::from(figures))
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
        assert_eq!(figures.p50, Some(Nanos::from_nanos(1_556_375)));
        assert_eq!(figures.max, Some(Nanos::from_nanos(1_984_262)));
    }

    #[test]
    fn what_k6_exports_is_read() {
        // k6 1.3.0, without the other metrics.
        let text = r#"{"metrics": {"dropped_iterations": {"count": 154, "rate": 153.6340798793702},
            "http_req_duration": {"med": 3.969174, "p(90)": 69.567248, "p(99)": 113.80152618000002,
            "p(99.9)": 200.3809651900042, "max": 227.659773}}}"#;
        let wanted = [3_969_174, 69_567_248, 113_801_526, 200_380_965, 227_659_773];
        let wanted = wanted.map(|figure| Some(Nanos::from_nanos(figure)));
        assert_eq!(k6(text), Some(Percentiles::from(wanted)));
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
