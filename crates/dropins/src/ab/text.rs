//! The report as ab prints it.

use super::Counts;
use super::command::Command;
use super::times::{at_percent, millis};
use crate::distribution::deviation;
use record::{Encryption, Probe};
use stats::Histogram;

pub(super) const BANNER: &str = "\
This is ApacheBench, Version 2.3 <$Revision$>
Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/
Licensed to The Apache Software Foundation, http://www.apache.org/

";

/// The percentiles of the last table.
const PERCENTS: [u32; 9] = [50, 66, 75, 80, 90, 95, 98, 99, 100];

/// Before the load.
pub(super) fn begins(command: &Command) -> String {
    let end = match command.heartbeat() {
        Some(_) => "\n",
        None => "...",
    };
    format!("{BANNER}Benchmarking {} (be patient){end}", command.host)
}

/// One line of the report: its label, its value, and whether an empty line stands before it.
pub(super) struct Line {
    pub(super) label: &'static str,
    pub(super) value: String,
    pub(super) begins_group: bool,
}

/// The lines above the tables.
pub(super) fn lines(
    command: &Command,
    counts: &Counts,
    probe: Option<&Probe>,
    encryption: Option<&Encryption>,
) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |label, value: String| {
        lines.push(Line {
            label,
            value,
            begins_group: matches!(label, "Document Path:" | "Concurrency Level:"),
        });
    };
    let software = probe.and_then(Probe::server_name).unwrap_or("");
    add("Server Software:", software.to_owned());
    add("Server Hostname:", command.host.clone());
    add("Server Port:", command.port.to_string());
    for (label, value) in encryption.map_or(Vec::new(), |it| agreed(command, it)) {
        add(label, value);
    }
    add("Document Path:", command.path.clone());
    let length = probe.map_or(0, |probe| probe.body_length);
    add(
        "Document Length:",
        match command.is_variable {
            true => "Variable".to_owned(),
            false => format!("{length} bytes"),
        },
    );
    add("Concurrency Level:", command.concurrency.to_string());
    add(
        "Time taken for tests:",
        format!("{:.3} seconds", counts.seconds()),
    );
    add("Complete requests:", counts.complete.to_string());
    add("Failed requests:", counts.failed().to_string());
    if counts.failed() > 0 {
        let [connect, receive, length, others] = counts.failures;
        add(
            "",
            format!(
                "   (Connect: {connect}, Receive: {receive}, Length: {length}, Exceptions: {others})"
            ),
        );
    }
    if counts.not_2xx > 0 {
        add("Non-2xx responses:", counts.not_2xx.to_string());
    }
    if command.keeps_alive {
        add("Keep-Alive requests:", counts.kept.to_string());
    }
    add("Total transferred:", format!("{} bytes", counts.bytes));
    if command.sends_body() {
        add("Total body sent:", counts.bytes_sent.to_string());
    }
    add(
        "HTML transferred:",
        format!("{} bytes", counts.bytes_of_bodies),
    );
    for (label, value) in rates(command, counts) {
        add(label, value);
    }
    lines
}

/// What the connections are encrypted with.
fn agreed(command: &Command, encryption: &Encryption) -> Vec<(&'static str, String)> {
    let mut agreed = vec![("SSL/TLS Protocol:", protocol(encryption))];
    let group = encryption.key_exchange.as_deref();
    agreed.extend(group.map(|group| ("Server Temp Key:", temporary_key(group))));
    if command.host.parse::<std::net::IpAddr>().is_err() {
        agreed.push(("TLS Server Name:", command.host.clone()));
    }
    agreed
}

/// What is divided by the time that the load took.
fn rates(command: &Command, counts: &Counts) -> Vec<(&'static str, String)> {
    let kilobytes = |bytes: u64| counts.rate(bytes) / 1024.0;
    let each = match counts.complete {
        0 => 0.0,
        complete => counts.seconds() * 1e3 / complete as f64,
    };
    let mut rates = vec![
        (
            "Requests per second:",
            format!("{:.2} [#/sec] (mean)", counts.rate(counts.complete)),
        ),
        (
            "Time per request:",
            format!("{:.3} [ms] (mean)", each * command.concurrency as f64),
        ),
        (
            "Time per request:",
            format!("{each:.3} [ms] (mean, across all concurrent requests)"),
        ),
        (
            "Transfer rate:",
            format!("{:.2} [Kbytes/sec] received", kilobytes(counts.bytes)),
        ),
    ];
    if command.sends_body() {
        let all = counts.bytes + counts.bytes_sent;
        rates.push((
            " ",
            format!("{:.2} kb/s sent", kilobytes(counts.bytes_sent)),
        ));
        rates.push((" ", format!("{:.2} kb/s total", kilobytes(all))));
    }
    rates
}

/// `TLSv1.3,TLS_AES_256_GCM_SHA384,0,256`: the third field, the length of the certificate's key, is not known here.
fn protocol(encryption: &Encryption) -> String {
    let bits = if encryption.cipher.contains("128") {
        128
    } else {
        256
    };
    format!("{},{},0,{bits}", encryption.version, encryption.cipher)
}

fn temporary_key(group: &str) -> String {
    match group {
        "X25519" => "X25519 253 bits".to_owned(),
        "secp256r1" => "ECDH prime256v1 256 bits".to_owned(),
        "secp384r1" => "ECDH secp384r1 384 bits".to_owned(),
        other => other.to_owned(),
    }
}

/// After the load.
pub(super) fn ends(command: &Command, lines: &[Line], counts: &Counts) -> String {
    let mut text = String::new();
    if command.heartbeat().is_none() {
        text += "..done\n";
    }
    text += "\n\n";
    for line in lines {
        if line.begins_group {
            text += "\n";
        }
        match line.label {
            "" => text += &format!("{}\n", line.value),
            label => text += &format!("{label:<24}{}\n", line.value),
        }
    }
    if counts.complete == 0 {
        return text;
    }
    text += "\nConnection Times (ms)\n";
    text += &match command.has_estimators {
        true => estimated(counts),
        false => plain(counts),
    };
    if command.has_percentiles && counts.complete > 1 {
        text += "\nPercentage of the requests served within a certain time (ms)\n";
        text += &percentiles(&counts.times.total);
    }
    text
}

/// The table with deviations and medians, and what it says of them.
fn estimated(counts: &Counts) -> String {
    let mut text = "              min  mean[+/-sd] median   max\n".to_owned();
    for (name, _, times) in counts.times.rows() {
        let (min, max) = (times.min().unwrap_or(0), times.max().unwrap_or(0));
        text += &format!(
            "{name:<11} {:>5} {:>4} {:>5.1} {:>6} {:>7}\n",
            millis(min as f64),
            millis(times.mean().unwrap_or(0.0)),
            deviation(times) / 1e6,
            millis(at_percent(times, 50)),
            millis(max as f64),
        );
    }
    for (_, what, times) in counts.times.rows() {
        let away = (times.mean().unwrap_or(0.0) - at_percent(times, 50)).abs();
        let deviation = deviation(times);
        if away > 2.0 * deviation {
            text += &format!(
                "ERROR: The median and mean for {what} are more than twice the standard\n       deviation apart. These results are NOT reliable.\n"
            );
        } else if away > deviation {
            text += &format!(
                "WARNING: The median and mean for {what} are not within a normal deviation\n        These results are probably not that reliable.\n"
            );
        }
    }
    text
}

/// The table of `-S`.
fn plain(counts: &Counts) -> String {
    let mut text = "              min   avg   max\n".to_owned();
    for (name, _, times) in counts.times.rows() {
        text += &format!(
            "{name:<11} {:>5} {:>5}{:>5}\n",
            millis(times.min().unwrap_or(0) as f64),
            millis(times.mean().unwrap_or(0.0)),
            millis(times.max().unwrap_or(0) as f64),
        );
    }
    text
}

fn percentiles(total: &Histogram) -> String {
    let line = |percent| {
        let time = millis(at_percent(total, percent));
        match percent {
            100 => format!(" 100%  {time:>5} (longest request)\n"),
            percent => format!("  {percent}%  {time:>5}\n"),
        }
    };
    PERCENTS.into_iter().map(line).collect()
}
