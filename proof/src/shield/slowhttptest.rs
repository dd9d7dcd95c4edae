//! How slowhttptest is called, and how its report is read.
//!
//! It writes a table by the second, from which the attackers' fate is taken; of its standard output, which is made for a
//! terminal, only the reason for its end is read.

use super::Setup;
use crate::programs;
use crate::serving::{LOOK, to_end};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::time::Duration;

const PROGRAM: &str = "slowhttptest";
/// Seconds after which its own probe takes the server for gone.
const PROBE: u32 = 3;
/// Seconds in which all of its connections are made.
const RAMP: u32 = 4;
/// How much longer than asked for it may take.
const LATE: Duration = Duration::from_secs(20);
/// Ends that it may come to when the attack was carried out.
const ENDS: [&str; 2] = ["Hit test time limit", "No open connections left"];

/// The report of the attackers.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Connections that they made.
    pub attackers: u64,
    /// Those that the server closed, as far as they know.
    pub closed: Option<u64>,
    /// Those that were still open in the end, as far as they know.
    pub left: Option<u64>,
    /// Seconds in which their own probe got no response.
    pub unavailable: u64,
    /// How it ended.
    pub ending: String,
}

impl Report {
    /// One of so many connections, without figures of their own.
    pub fn ended(attackers: u32, ending: &str) -> Report {
        Report {
            attackers: attackers.into(),
            ending: ending.to_owned(),
            ..Report::default()
        }
    }
}

/// Checks that slowhttptest is installed.
///
/// # Errors
/// It is not; the sentence says how to get it.
pub fn ensure_installed() -> Result<()> {
    let is_there = programs::find(PROGRAM).is_some();
    let remedy =
        "on Debian: apt-get install slowhttptest (or omit its attacks: --only idle,killed)";
    ensure!(is_there, "{PROGRAM} is not installed; {remedy}");
    Ok(())
}

/// Attacks `url` with the arguments of `mode`, to the end.
///
/// # Errors
/// It could not be started, did not end, or did not attack.
pub fn run(setup: &Setup, url: &str, mode: &str) -> Result<Report> {
    let words = setup.folder.join("words");
    let folder = setup.folder.display().to_string();
    let mut command = ["env", "-C", &folder, PROGRAM].map(str::to_owned).to_vec();
    command.extend(arguments(setup, url, mode));
    let limit = setup.length() + LATE;
    let ended = to_end(&command, &words, limit, LOOK, || Ok(()))?;
    ended.with_context(|| format!("{PROGRAM} did not end"))?;
    let text = String::from_utf8_lossy(&fs::read(&words)?).into_owned();
    let table = fs::read_to_string(setup.folder.join("slow.csv"));
    let table = table.with_context(|| format!("{PROGRAM} wrote no table:\n{text}"))?;
    let report = report(setup.connections.into(), &table, &text);
    report.with_context(|| format!("{PROGRAM} did not attack:\n{}", plain(&text)))
}

fn arguments(setup: &Setup, url: &str, mode: &str) -> Vec<String> {
    let (connections, seconds) = (setup.connections, setup.seconds);
    let interval = (seconds / 10).max(1);
    let rate = connections.div_ceil(RAMP);
    let line = format!(
        "{mode} -c {connections} -r {rate} -i {interval} -l {seconds} -p {PROBE} -u {url} -g -o slow"
    );
    line.split_whitespace().map(str::to_owned).collect()
}

/// Its report, from the table by the second and from its output; none if it did not attack.
fn report(attackers: u64, table: &str, text: &str) -> Option<Report> {
    let text = plain(text);
    let mut lines = text.lines().map(str::trim);
    let ending = lines.find_map(|line| line.strip_prefix("Exit status:"));
    let ending = ending?.trim();
    // Seconds, Closed, Pending, Connected, Service Available; the last is 0 for no and else anything.
    let row = |line: &str| -> Option<[u64; 5]> {
        let fields = line.split(',').map(|field| field.trim().parse().ok());
        fields.collect::<Option<Vec<u64>>>()?.try_into().ok()
    };
    let rows: Vec<[u64; 5]> = table.lines().skip(1).filter_map(row).collect();
    let [_, closed, pending, connected, _] = *rows.last()?;
    ENDS.contains(&ending).then(|| Report {
        attackers,
        closed: Some(closed),
        left: Some(connected + pending),
        unavailable: rows.iter().filter(|row| row[4] == 0).count() as u64,
        ending: ending.to_owned(),
    })
}

/// The text without escapes, which colour it and move the cursor.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = escape.find(|of: char| of.is_ascii_alphabetic());
        rest = end.map_or("", |end| &escape[end + 1..]);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Seconds,Closed,Pending,Connected,Service Available\n\
        0,0,1,0,20\n1,0,3,17,20\n2,5,0,15,0\n3,19,0,1,20\n";
    const TEXT: &str = "\u{1b}[H\u{1b}[2Jslow HTTP test status on \u{1b}[0;32m0\u{1b}[1;32mth second:\n\
        \u{1b}[0mTue:\u{1b}[0;36m\nTest ended on 4th second\nExit status:\u{1b}[1;36m Hit test time limit\n\u{1b}[0m";

    #[test]
    fn the_attackers_fate_is_that_of_the_last_second() {
        let wanted = Report {
            attackers: 20,
            closed: Some(19),
            left: Some(1),
            unavailable: 1,
            ending: "Hit test time limit".to_owned(),
        };
        assert_eq!(report(20, TABLE, TEXT), Some(wanted));
    }

    #[test]
    fn an_attack_that_was_none_is_none() {
        let refused = TEXT.replace("Hit test time limit", "Connection refused");
        assert_eq!(report(20, TABLE, &refused), None);
        assert_eq!(report(20, TABLE, ""), None);
        assert_eq!(report(20, "Seconds,Closed\n", TEXT), None);
    }

    #[test]
    fn the_attack_gets_its_size_and_length() {
        let setup = Setup {
            connections: 1000,
            seconds: 40,
            folder: "/f".into(),
        };
        assert_eq!(
            arguments(&setup, "http://127.0.0.1:80/a", "-H -x 24").join(" "),
            "-H -x 24 -c 1000 -r 250 -i 4 -l 40 -p 3 -u http://127.0.0.1:80/a -g -o slow"
        );
    }
}
