//! The number that is kept, why it was last moved, and what a new one is to it.

use super::profile::Profile;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Where it is kept, from the root.
pub const FILE: &str = "bench/instructions.json";

/// A larger growth than this needs a reason; a larger fall is worth keeping.
const TOLERANCE: f64 = 0.02;

/// What was counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// Instructions of one exchange, by the number of connections.
    per_exchange: BTreeMap<String, f64>,
    /// By which compiler: another one makes another number out of the same source.
    rustc: String,
}

impl Count {
    /// The totals of `profiles`.
    pub fn new(profiles: &[(u32, Profile)], rustc: String) -> Count {
        let total = |(connections, profile): &(u32, Profile)| {
            let tenths = (profile.total() * 10.0).round();
            (connections.to_string(), tenths / 10.0)
        };
        Count {
            rustc,
            per_exchange: profiles.iter().map(total).collect(),
        }
    }
}

/// What is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratchet {
    because: String,
    #[serde(flatten)]
    count: Count,
}

impl Ratchet {
    /// A number to be kept, with the reason.
    ///
    /// # Errors
    /// There is no reason.
    pub fn new(count: Count, because: &str) -> Result<Ratchet> {
        let because = because.trim().to_owned();
        ensure!(!because.is_empty(), "say why the number is moved");
        Ok(Ratchet { count, because })
    }

    /// What is kept at `path`.
    ///
    /// # Errors
    /// It could not be read, or says something else.
    pub fn read(path: &Path) -> Result<Ratchet> {
        let text = fs::read_to_string(path).with_context(|| {
            format!("{FILE} could not be read; `cargo xtask count --move WHY` writes it")
        })?;
        serde_json::from_str(&text).with_context(|| {
            format!("{FILE} is not what `cargo xtask count --move WHY` writes; write it anew")
        })
    }

    /// Keeps it at `path`.
    ///
    /// # Errors
    /// It could not be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(path, text).with_context(|| format!("{FILE} could not be written"))
    }

    /// Compares at every number of connections; the largest growth decides. Returns whether it may stand, and a sentence with
    /// the remedy.
    pub fn judge(&self, count: &Count) -> (bool, String) {
        let growth = |(connections, kept): (&String, &f64)| {
            let now = count.per_exchange.get(connections)?;
            Some((now / kept - 1.0, connections.clone(), *kept, *now))
        };
        let growths = self.count.per_exchange.iter().filter_map(growth);
        let most = growths.max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((most, connections, kept, now)) = most else {
            let sentence = format!("{FILE} has no number to compare with; move it");
            return (false, sentence);
        };
        let found = format!(
            "at -c {connections} an exchange costs {now:.1} instructions, {kept:.1} are kept ({:+.1} %)",
            most * 100.0
        );
        let because = self.because.trim_end_matches('.');
        if kept - now >= kept * TOLERANCE {
            (true, format!("{found}: {LOWER}"))
        } else if now - kept <= kept * TOLERANCE {
            (true, format!("{found}: as it was"))
        } else if self.count.rustc == count.rustc {
            (false, format!("{found}; that was {because}. {RAISE}"))
        } else {
            let (was, is) = (&self.count.rustc, &count.rustc);
            let sentence = format!(
                "{found}, but that was {was} and this is {is}, so nothing is proved; count with the former, or move the number"
            );
            (true, sentence)
        }
    }
}

const LOWER: &str = "keep it with `cargo xtask count --move WHY`, so that it stays so";

const RAISE: &str = "Bring it down (`cargo xtask count --lines` shows where it is spent), or, if what it buys is worth \
                     it, run `cargo xtask count --move WHY` and commit the file with the change";

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rustc: &str, one: f64, hundred: f64) -> Count {
        Count {
            rustc: rustc.into(),
            per_exchange: [("1".to_owned(), one), ("100".to_owned(), hundred)].into(),
        }
    }

    fn kept() -> Ratchet {
        Ratchet::new(count("rustc 1", 2000.0, 1000.0), "the first count").unwrap()
    }

    #[test]
    fn two_per_cent_may_stand_and_more_may_not() {
        let cases = [
            ((2000.0, 1000.0), true, "as it was"),
            ((2040.0, 1000.0), true, "(+2.0 %): as it was"),
            ((2041.0, 1000.0), false, "at -c 1 an exchange costs 2041.0"),
            (
                (2000.0, 1021.0),
                false,
                "at -c 100 an exchange costs 1021.0",
            ),
            ((1900.0, 1000.0), true, "as it was"),
            ((1900.0, 970.0), true, "so that it stays so"),
        ];
        for ((one, hundred), holds, part) in cases {
            let (is_held, sentence) = kept().judge(&count("rustc 1", one, hundred));
            assert_eq!(is_held, holds, "{one} {hundred}");
            assert!(sentence.contains(part), "{sentence}");
        }
    }

    #[test]
    fn a_growth_is_told_with_the_reason_of_the_last_move_and_the_remedy() {
        assert_eq!(
            kept().judge(&count("rustc 1", 2000.0, 1100.0)).1,
            "at -c 100 an exchange costs 1100.0 instructions, 1000.0 are kept (+10.0 %); that was the first count. \
             Bring it down (`cargo xtask count --lines` shows where it is spent), or, if what it buys is worth it, \
             run `cargo xtask count --move WHY` and commit the file with the change"
        );
    }

    #[test]
    fn another_compiler_proves_nothing() {
        let (holds, sentence) = kept().judge(&count("rustc 2", 2000.0, 1100.0));
        assert!(holds);
        assert!(
            sentence.contains("rustc 1 and this is rustc 2"),
            "{sentence}"
        );
    }

    #[test]
    fn what_is_written_is_read_and_a_reason_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.json");
        kept().write(&path).unwrap();
        assert_eq!(Ratchet::read(&path).unwrap(), kept());
        let error = Ratchet::new(count("rustc 1", 1.0, 1.0), " ").unwrap_err();
        assert_eq!(error.to_string(), "say why the number is moved");
        fs::write(&path, "{}").unwrap();
        assert!(Ratchet::read(&path).is_err());
    }
}
