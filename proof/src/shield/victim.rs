//! The server that is attacked: started as anybody would, watched through its counts and its descriptors.

use crate::programs::{self, last_words};
use crate::server_cost::answer::{connect, fetch};
use crate::server_cost::running::{Footprint, free_port, wait};
use anyhow::{Context, Result, ensure};
use kernel::process::{Child, Ending, Start};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use units::Nanos;

/// How long it may take to end when asked to: longer than it gives those that are under way.
const GRACE: Nanos = Nanos::from_secs(10);
/// How long it may take to see that clients have gone, and how often that is looked at.
const TIDY: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);
/// Descriptors more than before that are no leak: files that it keeps open on purpose.
const KEPT_OPEN: usize = 8;

/// The flags of all of its times.
const TIMES: [&str; 5] = [
    "--first-request-timeout",
    "--head-timeout",
    "--body-timeout",
    "--send-timeout",
    "--keepalive-timeout",
];

/// Its counts by name.
pub type Counts = BTreeMap<String, u64>;

/// The server. It ends when it is dropped.
pub struct Victim {
    /// Where it serves.
    pub at: SocketAddr,
    admin: SocketAddr,
    child: Child,
    /// Descriptors that it had at rest.
    descriptors: usize,
    words: PathBuf,
}

impl Victim {
    /// Starts it on `site`, with `times` for its own if given.
    ///
    /// # Errors
    /// It does not come to answer.
    pub fn start(site: PathBuf, home: PathBuf, times: &Option<String>) -> Result<Victim> {
        let (at, admin) = (free_port()?, free_port()?);
        let mut command: Vec<OsString> = vec![programs::path("weigh")?.into(), "serve".into()];
        command.push(site.into());
        let mut add = |flag: &str, value: &str| command.extend([flag.into(), value.into()]);
        add("--listen", &at.to_string());
        add("--admin", &admin.to_string());
        for (flag, time) in TIMES.iter().zip(times.iter().cycle()) {
            add(flag, time);
        }
        let words = home.join("words");
        let start = Start {
            command,
            output: Some(File::create(&words)?),
            raised_open_files: true,
            ..Start::default()
        };
        let mut child = Child::start(start).context("weigh could not be started")?;
        wait(&mut child, at, "/file.html", false).with_context(|| last_words(&words))?;
        let mut victim = Victim {
            at,
            admin,
            child,
            descriptors: 0,
            words,
        };
        victim.descriptors = victim.descriptors_now();
        Ok(victim)
    }

    /// Its counts now.
    ///
    /// # Errors
    /// It does not tell them.
    pub fn counts(&self) -> Result<Counts> {
        let mut body = Vec::new();
        let mut connection = connect(self.admin)?;
        fetch(
            &mut connection,
            self.admin,
            "/counters.json",
            true,
            &mut body,
        )
        .context("the server does not tell its counts")?;
        let text = String::from_utf8_lossy(&body);
        counts(&text).with_context(|| format!("these are no counts: {text}"))
    }

    /// What is wrong with it after an attack, when it has had time to tidy up.
    pub fn complaints(&mut self) -> Vec<String> {
        if let Some(status) = self.child.exited() {
            return vec![format!(
                "the server has ended with {status}: {}",
                last_words(&self.words)
            )];
        }
        let most = self.descriptors + KEPT_OPEN;
        let begun = Instant::now();
        loop {
            let now = self.descriptors_now();
            if now <= most {
                return Vec::new();
            }
            if begun.elapsed() > TIDY {
                let sentence = format!("it has {now} descriptors open after it, {most} at most");
                return vec![sentence];
            }
            // Nothing tells when another process has closed its sockets.
            thread::sleep(LOOK);
        }
    }

    /// Its memory.
    pub fn pss_kb(&mut self) -> Option<u64> {
        Footprint::of(&self.child.pids()).map(|footprint| footprint.pss_kb)
    }

    fn descriptors_now(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.child.id());
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    /// Asks it to end.
    ///
    /// # Errors
    /// It had to be killed, or says that something was wrong.
    pub fn stop(mut self) -> Result<()> {
        let ending = self.child.stop(GRACE);
        ensure!(
            ending == Ending::Asked,
            "the server did not end when asked to"
        );
        let status = self.child.exited().context("how it ended is not known")?;
        ensure!(
            status.success(),
            "the server ended with {status}: {}",
            last_words(&self.words)
        );
        Ok(())
    }
}

/// The numbers of a JSON object, those of objects in it by both names.
fn counts(text: &str) -> Option<Counts> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let mut counts = Counts::new();
    for (name, value) in value.as_object()? {
        match (value.as_u64(), value.as_object()) {
            (Some(count), _) => {
                counts.insert(name.clone(), count);
            }
            (None, Some(inner)) => {
                let inner = inner.iter();
                let inner =
                    inner.filter_map(|(key, it)| Some((format!("{name}_{key}"), it.as_u64()?)));
                counts.extend(inner);
            }
            (None, None) => {}
        }
    }
    (!counts.is_empty()).then_some(counts)
}

/// By how much each count has grown; those that have not are left out.
pub fn growth(before: &Counts, after: &Counts) -> Counts {
    let grown = after.iter().map(|(name, now)| {
        let then = before.get(name).copied().unwrap_or(0);
        (name.clone(), now.saturating_sub(then))
    });
    grown.filter(|(_, more)| *more > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(pairs: &[(&str, u64)]) -> Counts {
        let pairs = pairs.iter();
        pairs
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    }

    #[test]
    fn counts_are_read_however_they_are_nested() {
        let text = r#"{"requests": 7, "responses": {"2xx": 5, "4xx": 2}, "version": "1"}"#;
        let wanted = some(&[("requests", 7), ("responses_2xx", 5), ("responses_4xx", 2)]);
        assert_eq!(counts(text), Some(wanted));
        assert_eq!(counts("[1, 2]"), None);
        assert_eq!(counts("Not Found"), None);
    }

    #[test]
    fn only_what_has_grown_is_told() {
        let before = some(&[("cut", 3), ("open", 9), ("requests", 5)]);
        let after = some(&[("cut", 10), ("open", 2), ("requests", 5), ("refused", 1)]);
        assert_eq!(growth(&before, &after), some(&[("cut", 7), ("refused", 1)]));
    }
}
