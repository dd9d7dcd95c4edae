//! The report as wrk prints it.

use super::command::{Command, Tool};
use super::spectrum;
use super::units::{binary, column, metric, micros, seconds};
use crate::distribution::{deviation, share_near_mean};
use crate::rate;
use record::{SocketErrors, Tally};
use stats::Histogram;
use units::Nanos;

/// The percentiles of `--latency`.
const PERCENTS: [u32; 4] = [50, 75, 90, 99];

/// Before the load.
pub(super) fn begins(command: &Command) -> String {
    format!(
        "Running {} test @ {}\n  {} threads and {} connections\n",
        seconds(command.seconds),
        command.url,
        command.threads,
        command.connections
    )
}

/// After it.
pub(super) fn ends(command: &Command, tally: &Tally, took: Nanos) -> String {
    let time = |nanos: f64| micros(nanos / 1e3);
    let mut text = "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n".to_owned();
    let open = tally.open.as_ref();
    let latency = open.map_or(&tally.service, |open| &open.response);
    text += &row("Latency", latency, time);
    text += &row("Req/Sec", &tally.thread_rates, metric);
    if command.tool == Tool::Wrk2 {
        text += &spectra(command, latency, &tally.service);
    } else if command.has_latency {
        text += "  Latency Distribution\n";
        for percent in PERCENTS {
            let value = tally.service.quantile(f64::from(percent) / 100.0);
            let value = time(value.unwrap_or(0) as f64);
            text += &format!("{percent:>7}%{}\n", column(&value, 10));
        }
    }
    let complete = tally.statuses.total();
    let bytes = tally.bytes_received;
    let (whole, read) = (micros(took.as_nanos() as f64 / 1e3), binary(bytes as f64));
    text += &format!("  {complete} requests in {whole}, {read}B read\n");
    text += &errors(tally);
    let transfer = binary(rate(bytes, took));
    text + &format!(
        "Requests/sec: {:>9.2}\nTransfer/sec: {:>10}B\n",
        rate(complete, took),
        // The letter of the unit, or the place for it, is part of the column.
        column(&transfer, 10).trim_end(),
    )
}

/// The distributions of wrk2, those that are wanted.
fn spectra(command: &Command, response: &Histogram, service: &Histogram) -> String {
    let mut text = String::new();
    if command.has_latency {
        text += "  Latency Distribution (HdrHistogram - Recorded Latency)\n";
        text += &spectrum::text(response);
    }
    if command.has_service {
        text += "\n  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))\n";
        text += &spectrum::text(service);
    }
    text
}

/// A line of the table.
fn row(name: &str, values: &Histogram, show: impl Fn(f64) -> String) -> String {
    let shown = |value: f64, width| column(&show(value), width);
    format!(
        "    {name:<10}{}{}{}{:>8.2}%\n",
        shown(values.mean().unwrap_or(0.0), 8),
        shown(deviation(values), 10),
        shown(values.max().unwrap_or(0) as f64, 9),
        share_near_mean(values) * 100.0,
    )
}

/// Lines that are there only where there are errors.
fn errors(tally: &Tally) -> String {
    let SocketErrors {
        connect,
        read,
        write,
        status,
        timeout,
    } = tally.socket_errors();
    let mut text = String::new();
    if connect + read + write + timeout > 0 {
        text += &format!(
            "  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}\n"
        );
    }
    if status > 0 {
        text += &format!("  Non-2xx or 3xx responses: {status}\n");
    }
    text
}
