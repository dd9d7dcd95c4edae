//! The report as weighttp 0.4 prints it.

use super::Counts;
use super::command::Command;

/// Before the load.
pub(super) fn begins(command: &Command) -> String {
    let banner = command.banner();
    format!("{banner}starting benchmark...\n{}", command.spawning())
}

/// After it.
pub(super) fn ends(counts: &Counts, requests: u64) -> String {
    let micros = counts.took.as_nanos() / 1_000;
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    let (millis, micros) = (rest / 1_000, rest % 1_000);
    // Cut off, as it does, and not rounded.
    let rate = counts.rate(counts.responses) as u64;
    let kilobytes = counts.rate(counts.bytes / 1024) as u64;
    let Counts {
        started,
        succeeded,
        failed,
        errored,
        bytes,
        bytes_of_bodies,
        ..
    } = counts;
    let [two, three, four, five] = counts.classes;
    let http = bytes.saturating_sub(*bytes_of_bodies);
    let done = succeeded + failed;
    format!(
        "\nfinished in {seconds} sec, {millis} millisec and {micros} microsec, {rate} req/s, {kilobytes} kbyte/s\n\
         requests: {requests} total, {started} started, {done} done, {succeeded} succeeded, {failed} failed, {errored} errored\n\
         status codes: {two} 2xx, {three} 3xx, {four} 4xx, {five} 5xx\n\
         traffic: {bytes} bytes total, {http} bytes http, {bytes_of_bodies} bytes data\n"
    )
}
