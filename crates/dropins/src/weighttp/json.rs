//! The report as weighttp 0.5 prints it.

use super::Counts;
use super::command::Command;
use crate::distribution::deviation;
use record::Tally;
use stats::Histogram;

/// The percentiles of each time.
const PERCENTILES: [u8; 10] = [0, 50, 66, 75, 80, 90, 95, 98, 99, 100];

/// Before the load.
pub(super) fn begins(command: &Command) -> String {
    let banner = command.banner();
    format!("{banner}{}starting benchmark...\n", command.spawning())
}

/// After it.
pub(super) fn ends(counts: &Counts, tally: &Tally) -> String {
    let connects = &tally.connects;
    // Those after the first on each connection need no connect.
    let mut total = tally.service.since(&connects.first.service);
    total.merge(&connects.first.response);
    let kept = tally.ok.saturating_sub(connects.first.response.count());
    let [two, three, four, five] = counts.classes;
    let (rate, kilobytes) = (
        counts.rate(counts.responses) as u64,
        counts.rate(counts.bytes / 1024) as u64,
    );
    let seconds = counts.took.as_secs_f64();
    let headers = counts.bytes.saturating_sub(counts.bytes_of_bodies);
    let Counts {
        started,
        succeeded,
        failed,
        errored,
        bytes,
        bytes_of_bodies,
        ..
    } = counts;
    let retired = succeeded + failed;
    let fail = failed.saturating_sub(*errored);
    let head = format!(
        "{{\n  \"reqs_per_sec\": {rate},\n  \"kBps_per_sec\": {kilobytes},\n  \"secs_elapsed\": {seconds:.6},\n  \
         \"request_counts\": {{\n    \"started\":    {started},\n    \"retired\":    {retired},\n    \"keep-alive\": {kept}\n  }},\n  \
         \"response_counts\": {{\n    \"pass\": {succeeded},\n    \"fail\": {fail},\n    \"errs\": {errored}\n  }},\n  \
         \"status_codes\": {{\n    \"2xx\":  {two},\n    \"3xx\":  {three},\n    \"4xx\":  {four},\n    \"5xx\":  {five}\n  }},\n  \
         \"traffic\": {{\n    \"bytes_total\":        {bytes},\n    \"bytes_headers\":      {headers},\n    \
         \"bytes_body\":         {bytes_of_bodies}\n  }},\n"
    );
    let times = [
        ("connect_times", &connects.time),
        ("time_to_first_byte", &tally.first_byte),
        ("response_times", &tally.service),
        ("total_times", &total),
    ];
    let times = times.map(|(name, times)| format!("  \"{name}\": {{\n{}  }}", figures(times)));
    format!("{head}{}\n}}\n", times.join(",\n"))
}

/// The figures of a distribution, in whole microseconds.
fn figures(times: &Histogram) -> String {
    let micros = |nanos: f64| (nanos / 1e3) as u64;
    let line = |name: &str, value: u64, end: &str| {
        let name = format!("\"{name}\"");
        format!("{name:>10}:{value:>10}{end}\n")
    };
    let mut text = line("num", times.count(), ",");
    text += &line("avg", micros(times.mean().unwrap_or(0.0)), ",");
    text += &format!(
        "     \"stddev\":{:>7},\n     \"unit\": \"us\",\n",
        micros(deviation(times))
    );
    let last = PERCENTILES.len() - 1;
    for (place, percentile) in PERCENTILES.into_iter().enumerate() {
        let value = times.quantile(f64::from(percentile) / 100.0).unwrap_or(0);
        let end = if place == last { "" } else { "," };
        text += &line(&format!("{percentile}%"), micros(value as f64), end);
    }
    text
}
