//! How slowhttptest is called, and how its word is read.
//!
//! It writes a table by the second, from which the attackers' fate is taken; on its standard output, which is made for a
//! terminal, only the reason for its end is looked at.

use super::Means;
use anyhow::{Context, Result, ensure};
use std::fs::{self, File};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PROGRAM: &str = "slowhttptest";
/// Seconds after which its own probe takes the server for gone.
const PROBE: u32 = 3;
/// Seconds in which all of its connections are made.
const RAMP: u32 = 4;
/// How much longer than asked for it may take.
const LATE: Duration = Duration::from_secs(20);
/// Ends that it may come to when the attack was carried out.
const ENDS: [&str; 2] = ["Hit test time limit", "No open connections left"];

/// What attackers say of their attack.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Connections that they made.
    pub attackers: u64,
    /// Those that the server closed, as far as they know.
    pub closed: Option<u64>,
    /// Those that were still open in the end, as far as they know.
    pub left: Option<u64>,
    /// Seconds in which their own probe got no answer.
    pub unavailable: u64,
    /// How it ended.
    pub said: String,
}

/// # Errors
/// It is not there; the sentence says how to get it.
pub fn ensure_installed() -> Result<()> {
    let answer = Command::new(PROGRAM)
        .arg("-h")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ensure!(
        answer.is_ok(),
        "{PROGRAM} is not installed; on Debian: apt-get install {PROGRAM} (or leave its attacks out: --only idle,killed)"
    );
    Ok(())
}

/// Attacks with `mode`'s arguments, to the end.
///
/// # Errors
/// It could not be started, did not end, or did not attack.
pub fn run(means: &Means, at: SocketAddr, path: &str, mode: &str) -> Result<Report> {
    let words = means.folder.join("words");
    let output = File::create(&words)?;
    let mut child = Command::new(PROGRAM)
        .args(arguments(means, at, path, mode))
        .current_dir(&means.folder)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
        .with_context(|| format!("{PROGRAM} could not be started"))?;
    wait(&mut child, Duration::from_secs(means.seconds.into()) + LATE)?;
    let text = String::from_utf8_lossy(&fs::read(&words)?).into_owned();
    let table = fs::read_to_string(means.folder.join("slow.csv"));
    let table = table.with_context(|| format!("{PROGRAM} wrote no table:\n{text}"))?;
    let report = report(means.connections.into(), &table, &text);
    report.with_context(|| format!("{PROGRAM} did not attack:\n{}", plain(&text)))
}

fn arguments(means: &Means, at: SocketAddr, path: &str, mode: &str) -> Vec<String> {
    let Means {
        connections,
        seconds,
        ..
    } = means;
    let interval = (seconds / 10).max(1);
    let rate = connections.div_ceil(RAMP);
    let line = format!(
        "{mode} -c {connections} -r {rate} -i {interval} -l {seconds} -p {PROBE} -u http://{at}{path} -g -o slow"
    );
    line.split_whitespace().map(str::to_owned).collect()
}

/// Waits for its end, and ends it when it is too late.
fn wait(child: &mut Child, limit: Duration) -> Result<()> {
    let begun = Instant::now();
    while child.try_wait()?.is_none() {
        if begun.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("{PROGRAM} did not end");
        }
        // The standard library has no wait with a limit; this is short against the attack.
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Its word, from the table by the second and from what it wrote; none if it did not attack.
fn report(attackers: u64, table: &str, text: &str) -> Option<Report> {
    let said = end(text).filter(|said| ENDS.contains(&said.as_str()))?;
    let rows: Vec<Second> = table.lines().skip(1).filter_map(Second::read).collect();
    let last = rows.last()?;
    Some(Report {
        attackers,
        closed: Some(last.closed),
        left: Some(last.connected + last.pending),
        unavailable: rows.iter().filter(|row| !row.available).count() as u64,
        said,
    })
}

/// A line of `Seconds,Closed,Pending,Connected,Service Available`; the last is 0 for no and else anything.
struct Second {
    closed: u64,
    pending: u64,
    connected: u64,
    available: bool,
}

impl Second {
    fn read(line: &str) -> Option<Second> {
        let fields: Vec<u64> = line
            .split(',')
            .map(|field| field.trim().parse().ok())
            .collect::<Option<_>>()?;
        let [_, closed, pending, connected, available] = fields[..] else {
            return None;
        };
        Some(Second {
            closed,
            pending,
            connected,
            available: available > 0,
        })
    }
}

/// Why it ended.
fn end(text: &str) -> Option<String> {
    let text = plain(text);
    let mut lines = text.lines();
    let said = lines.find_map(|line| line.trim().strip_prefix("Exit status:"))?;
    Some(said.trim().to_owned())
}

/// Without what makes colours and moves the cursor.
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
            said: "Hit test time limit".to_owned(),
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
    fn the_attack_is_asked_for_with_its_size_and_length() {
        let means = Means {
            connections: 1000,
            seconds: 40,
            client: "/c".into(),
            folder: "/f".into(),
        };
        let at = "127.0.0.1:80".parse().unwrap();
        assert_eq!(
            arguments(&means, at, "/a", "-H -x 24").join(" "),
            "-H -x 24 -c 1000 -r 250 -i 4 -l 40 -p 3 -u http://127.0.0.1:80/a -g -o slow"
        );
    }
}
