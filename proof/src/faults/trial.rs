//! One run of one tool against a server of its own, bounded in time, memory and what is read of its words.

use super::judge::{End, Truth, shown, wrongs};
use super::rows::{CONNECTIONS, Row};
use super::tools::{Client, NOT_JUDGED};
use crate::catalogue::reports::{Claim, ToolOutput};
use crate::serving::{LOOK, to_end};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use testserver::misbehaviour::Log;
use testserver::{Certificate, MisbehavingServer};

/// Seconds after which a tool that has not ended hangs. All asked to be patient for one second.
const LIMIT: u64 = 5;
/// Where the server saw no request for longer than the tools' patience of a second, nothing was under way by chance.
const STILL: Duration = Duration::from_millis(1200);
/// Runs a tool: it may have 4 GiB of address space, so that one that keeps all it receives ends itself and not the machine.
const SCRIPT: &str = "ulimit -v 4194304; XDG_STATE_HOME=\"$0\" exec \"$@\"";
/// Bytes of a tool's words that are read, from their end, where summaries are.
const WORDS: u64 = 256 * 1024;
/// Characters of last words that are quoted.
const QUOTED: usize = 110;

/// What came of one run.
#[derive(Debug)]
pub struct Trial {
    /// Whose.
    pub tool: &'static str,
    /// Whether that is us.
    pub is_ours: bool,
    /// What the server did.
    pub log: Log,
    /// What the tool said of it, beside what there was.
    pub shown: String,
    /// What is wrong with it.
    pub wrongs: Vec<String>,
    /// Why it is not judged, or not run.
    pub unjudged: Option<&'static str>,
}

impl Trial {
    /// None, because the tool cannot be asked.
    fn not_run(client: &Client, why: &'static str) -> Trial {
        Trial {
            tool: client.name,
            is_ours: client.tool.ours,
            log: Log::default(),
            shown: "not run:".to_owned(),
            wrongs: Vec::new(),
            unjudged: Some(why),
        }
    }
}

/// Runs `tool` against a server that misbehaves as `row` says.
///
/// # Errors
/// The tool or the server could not be started.
pub fn run(row: &Row, client: &Client) -> Result<Trial> {
    if let Some(why) = client.obstacle(row) {
        return Ok(Trial::not_run(client, why));
    }
    let home = tempfile::tempdir().context("there is no folder for what tools write")?;
    let at = "127.0.0.1:0".parse().expect("an address");
    let server = match row.is_secured() {
        true => MisbehavingServer::start_secured(&at, row.script(), Certificate::SelfSigned),
        false => MisbehavingServer::start(&at, row.script()),
    };
    let server = server.context("no misbehaving server")?;
    let (end, stood_still) = end_of(row, client, &server, home.path())?;
    let log = server.stop();
    let is_cut_off = client.tool.timed && stood_still < STILL;
    let truth = Truth {
        right: log.answered.saturating_sub(client.probes()),
        spoilt: log.count(row.misbehaviour),
        cut_off: if is_cut_off { CONNECTIONS } else { 0 },
    };
    let unjudged = (!client.is_judged(row.misbehaviour)).then_some(NOT_JUDGED);
    Ok(Trial {
        tool: client.name,
        is_ours: client.tool.ours,
        log,
        shown: shown(row.nature, &truth, &end),
        wrongs: wrongs(row.nature, &truth, &end),
        unjudged,
    })
}

/// How the tool ended, and for how long the server had then seen no request.
fn end_of(
    row: &Row,
    client: &Client,
    server: &MisbehavingServer,
    home: &Path,
) -> Result<(End, Duration)> {
    let values = client.values(row, &server.address().to_string(), home);
    let mut command = ["/bin/sh", "-c", SCRIPT, &home.display().to_string()]
        .map(str::to_owned)
        .to_vec();
    command.extend(client.tool.command(&values, home)?);
    let words = home.join("words");
    let (mut requests, mut latest) = (0, Instant::now());
    let status = to_end(&command, &words, Duration::from_secs(LIMIT), LOOK, || {
        let log = server.log();
        if log.requests != requests {
            (requests, latest) = (log.requests, Instant::now());
        }
        Ok(())
    })?;
    let stood_still = latest.elapsed();
    let text = last_of(&words)?;
    let (text, folder) = (text.as_str(), home);
    let claim = client.tool.claim(&ToolOutput { text, folder });
    Ok((ended(status, text, claim), stood_still))
}

fn ended(status: Option<ExitStatus>, text: &str, claim: Option<Claim>) -> End {
    match (status, status.and_then(|status| status.signal())) {
        (None, _) => End::Hung(LIMIT),
        (_, Some(signal)) => End::Crashed(signal, last_words(text)),
        _ => claim.map_or_else(|| End::Silent(last_words(text)), End::Claimed),
    }
}

fn last_of(path: &Path) -> Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(WORDS)))?;
    let mut bytes = Vec::new();
    file.take(WORDS).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last two lines that say something, short, and without what a table would take for its own.
fn last_words(text: &str) -> String {
    let lines = text.lines().rev();
    // Behind the dots of a progress that was broken off.
    let lines = lines.map(|line| line.rsplit("...").next().unwrap_or(line).trim());
    let mut last: Vec<&str> = lines.filter(|line| !line.is_empty()).take(2).collect();
    last.reverse();
    let last = last.join(" / ");
    let kept = last.chars().filter(|of| !matches!(of, '|' | '`'));
    kept.take(QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_the_last_lines_that_say_something() {
        assert_eq!(last_words("first\nthen\n\n a | b `c`\n\n"), "then / a  b c");
        assert_eq!(
            last_words("working...oh: no\nTotal of 16"),
            "oh: no / Total of 16"
        );
        assert_eq!(last_words(""), "");
        assert_eq!(last_words(&"x".repeat(QUOTED + 1)).len(), QUOTED);
    }

    #[test]
    fn a_signal_is_a_crash_whatever_was_said_before() {
        let by = |code| Some(ExitStatus::from_raw(code));
        let words = "all well".to_owned();
        let claim = Claim::default;
        let crashed = End::Crashed(11, words.clone());
        assert_eq!(ended(by(11), &words, Some(claim())), crashed);
        assert_eq!(ended(by(256), &words, None), End::Silent(words.clone()));
        assert_eq!(ended(by(256), &words, Some(claim())), End::Claimed(claim()));
        assert_eq!(ended(None, &words, Some(claim())), End::Hung(LIMIT));
    }

    #[test]
    fn only_the_end_of_many_words_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        let mut text = vec![b'x'; WORDS as usize];
        text.extend(b"end");
        std::fs::write(&path, &text).unwrap();
        let last = last_of(&path).unwrap();
        assert!(last.len() as u64 == WORDS && last.ends_with("xend"));
    }
}
