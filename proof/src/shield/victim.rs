//! The server that is attacked: started as a user would, observed through its counts and its descriptors.

use crate::programs::{self, last_words};
use crate::serving::response::{connect, fetch};
use crate::serving::running::Footprint;
use crate::serving::{LOOK, free_port, listening, responding, start, until};
use anyhow::{Context, Result, ensure};
use kernel::process::{Child, Ending};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Nanos;

/// How long it may take to end when asked to: longer than it gives requests in flight.
const GRACE: Nanos = Nanos::from_secs(10);
/// How long it may take to see that clients have gone.
const TIDY: Duration = Duration::from_secs(5);
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
    /// What it shows over TLS.
    pub certificate: Option<PathBuf>,
    admin: SocketAddr,
    child: Child,
    /// Descriptors that it had at rest.
    descriptors: usize,
    words: PathBuf,
}

impl Victim {
    /// Starts it on `site`, with `times` for its own if given, and with TLS if there is a folder with a certificate and its key.
    ///
    /// # Errors
    /// It does not come to respond.
    pub fn start(
        site: PathBuf,
        home: PathBuf,
        times: &Option<String>,
        secured: Option<&Path>,
    ) -> Result<Victim> {
        let (at, admin) = (free_port()?, free_port()?);
        let mut command: Vec<OsString> = vec![programs::path("weigh")?.into(), "serve".into()];
        command.push(site.into());
        let mut add = |flag: &str, value: &str| command.extend([flag.into(), value.into()]);
        add("--listen", &at.to_string());
        add("--admin", &admin.to_string());
        for (flag, time) in TIMES.iter().zip(times.iter().cycle()) {
            add(flag, time);
        }
        for (flag, file) in [("--tls-cert", "cert.pem"), ("--tls-key", "key.pem")] {
            if let Some(folder) = secured {
                add(flag, &folder.join(file).display().to_string());
            }
        }
        let words = home.join("words");
        let mut child = start(command, &words)?;
        // Of a server with TLS the honest clients of the calm time tell whether it responds.
        let response = match secured {
            None => responding(&mut child, at, "/file.html", false).map(|_| ()),
            Some(_) => listening(&mut child, &words).map(|_| ()),
        };
        response.with_context(|| last_words(&words))?;
        Ok(Victim {
            at,
            certificate: secured.map(|folder| folder.join("cert.pem")),
            admin,
            descriptors: descriptors(&child),
            child,
            words,
        })
    }

    /// Returns its counts now.
    ///
    /// # Errors
    /// It does not respond with them.
    pub fn counts(&self) -> Result<Counts> {
        let (mut body, at) = (Vec::new(), self.admin);
        let fetched = fetch(&mut connect(at)?, at, "/counters.json", true, &mut body);
        fetched.context("the server does not send its counts")?;
        let text = String::from_utf8_lossy(&body);
        counts(&text).with_context(|| format!("these are no counts: {text}"))
    }

    /// Returns what is wrong with it after an attack, when it has had time to close connections.
    pub fn complaint(&mut self) -> Option<String> {
        if let Some(status) = self.child.exited() {
            let last = last_words(&self.words);
            return Some(format!("the server has ended with {status}: {last}"));
        }
        let (most, mut now) = (self.descriptors + KEPT_OPEN, 0);
        let tidy = until(TIDY, LOOK, || {
            now = descriptors(&self.child);
            Ok((now <= most).then_some(()))
        });
        let late = format!("it has {now} descriptors open after it, {most} at most");
        tidy.ok().flatten().is_none().then_some(late)
    }

    /// Its memory.
    pub fn pss_kb(&mut self) -> Option<u64> {
        Footprint::of(&self.child.pids()).map(|footprint| footprint.pss_kb)
    }

    /// Asks it to end.
    ///
    /// # Errors
    /// It had to be killed, or says that something was wrong.
    pub fn stop(mut self) -> Result<()> {
        let ending = self.child.stop(GRACE);
        let is_asked = ending == Ending::Asked;
        ensure!(is_asked, "the server did not end when asked to");
        let status = self.child.exited().context("how it ended is not known")?;
        let last = last_words(&self.words);
        ensure!(status.success(), "the server ended with {status}: {last}");
        Ok(())
    }
}

/// Descriptors that a process has open.
fn descriptors(child: &Child) -> usize {
    let folder = format!("/proc/{}/fd", child.id());
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// The numbers of a JSON object, those of objects in it by both names.
fn counts(text: &str) -> Option<Counts> {
    let value: BTreeMap<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    let mut counts = Counts::new();
    for (name, value) in value {
        let inner = value.as_object().into_iter().flatten();
        let inner = inner.map(|(key, value)| (format!("{name}_{key}"), value.as_u64()));
        let all = inner.chain([(name.clone(), value.as_u64())]);
        counts.extend(all.filter_map(|(name, count)| Some((name, count?))));
    }
    (!counts.is_empty()).then_some(counts)
}

/// Returns by how much each count has grown, of those that have.
pub fn growth(before: &Counts, after: &Counts) -> Counts {
    let mut grown = after.clone();
    for (name, count) in &mut grown {
        *count = count.saturating_sub(before.get(name).copied().unwrap_or(0));
    }
    grown.retain(|_, more| *more > 0);
    grown
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
