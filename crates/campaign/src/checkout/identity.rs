//! What a build follows from: whether one that is kept can be used again.

use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Digits of a tree's id in a key.
const TREE_DIGITS: usize = 12;

/// What a build follows from, as far as weigh can see: a build of the same is used again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// The tree of files.
    pub(super) tree: String,
    /// The folder in which the command is run, from the top of the tree.
    pub(super) below: String,
    /// The build command.
    pub(super) command: String,
    /// A checksum of the environment and the machine: see [`conditions`].
    pub(super) conditions: u32,
}

impl Identity {
    /// The name of the build's folder. That two share one by chance is found by the marker.
    pub(super) fn key(&self) -> String {
        let mut rest = crc32fast::Hasher::new();
        for part in [&self.below, &self.command] {
            rest.update(part.as_bytes());
            rest.update(&[0]);
        }
        rest.update(&self.conditions.to_le_bytes());
        format!("{}-{:08x}", &self.tree[..TREE_DIGITS], rest.finalize())
    }
}

/// Variables that belong to a terminal, a session or one call of a shell: builds do not follow from them.
const OF_SESSION: &[&str] = &[
    "_",
    "COLORTERM",
    "COLUMNS",
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_STARTUP_ID",
    "DISPLAY",
    "GPG_TTY",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LINES",
    "LS_COLORS",
    "OLDPWD",
    "PWD",
    "SESSION_MANAGER",
    "SHLVL",
    "STY",
    "SYSTEMD_EXEC_PID",
    "TMUX",
    "TMUX_PANE",
    "WAYLAND_DISPLAY",
    "WINDOWID",
    "XAUTHORITY",
];

/// What the names of such variables begin with. Those of git are not passed on to a build.
const OF_SESSION_BEGIN: &[&str] = &[
    "GIT_",
    "ITERM_",
    "KITTY_",
    "KONSOLE_",
    "SSH_",
    "TERM",
    "VSCODE_",
    "VTE_",
    "WEZTERM_",
    "XDG_SESSION_",
];

/// A checksum of what builds follow from besides their files and their command: the environment `variables`, except those
/// of a session; the times of the folders in `PATH`, which change when programs there are replaced; the architecture.
///
/// It is better to build once too often than to measure what is out of date, so what is unknown counts.
pub(super) fn conditions(variables: impl Iterator<Item = (OsString, OsString)>) -> u32 {
    let mut variables: Vec<_> = variables.filter(|(name, _)| !is_of_session(name)).collect();
    variables.sort();
    let mut sum = crc32fast::Hasher::new();
    let mut add = |bytes: &[u8]| {
        sum.update(bytes);
        sum.update(&[0]);
    };
    add(std::env::consts::ARCH.as_bytes());
    for (name, value) in &variables {
        add(name.as_encoded_bytes());
        add(value.as_encoded_bytes());
        if name == "PATH" {
            for folder in std::env::split_paths(value) {
                add(&changed(&folder).as_nanos().to_le_bytes());
            }
        }
    }
    sum.finalize()
}

fn is_of_session(name: &OsStr) -> bool {
    let begins = |begin: &&str| name.as_encoded_bytes().starts_with(begin.as_bytes());
    OF_SESSION.iter().any(|other| name == *other) || OF_SESSION_BEGIN.iter().any(begins)
}

/// When files were put into `folder` or taken out of it last, since 1970; zero if there is no such folder.
fn changed(folder: &Path) -> Duration {
    let time = fs::metadata(folder).and_then(|facts| facts.modified());
    let since = time.map(|time| time.duration_since(SystemTime::UNIX_EPOCH));
    since.ok().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            tree: "0123456789abcdef".into(),
            below: "services/".into(),
            command: "make".into(),
            conditions: 7,
        }
    }

    #[test]
    fn the_key_follows_from_each_part_and_has_one_length() {
        let others = [
            Identity {
                tree: "1123456789abcdef".into(),
                ..identity()
            },
            Identity {
                below: String::new(),
                ..identity()
            },
            Identity {
                below: "services/m".into(),
                command: "ake".into(),
                ..identity()
            },
            Identity {
                command: "make -j".into(),
                ..identity()
            },
            Identity {
                conditions: 8,
                ..identity()
            },
        ];
        let key = identity().key();
        assert!(key.starts_with("0123456789ab-") && key.len() == 21);
        for other in others {
            assert!(other.key() != key && other.key().len() == 21, "{other:?}");
        }
        assert_eq!(identity().key(), key);
    }

    fn sum(variables: &[(&str, &str)]) -> u32 {
        conditions(
            variables
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        )
    }

    #[test]
    fn variables_count_unless_they_are_of_a_session() {
        let plain = sum(&[("CFLAGS", "-O2"), ("HOME", "/a")]);
        assert_eq!(plain, sum(&[("HOME", "/a"), ("CFLAGS", "-O2")]));
        for other in [
            [("CFLAGS", "-O3"), ("HOME", "/a")],
            [("CFLAGS", "-O2"), ("HOM", "E/a")],
            [("CFLAGS", "-O2"), ("UNKNOWN", "/a")],
        ] {
            assert_ne!(sum(&other), plain, "{other:?}");
        }
        for name in [
            "SHLVL",
            "TERM",
            "TERM_SESSION_ID",
            "SSH_CLIENT",
            "PWD",
            "GIT_DIR",
            "_",
        ] {
            assert_eq!(
                sum(&[("CFLAGS", "-O2"), (name, "x"), ("HOME", "/a")]),
                plain,
                "{name}"
            );
        }
    }

    #[test]
    fn a_program_that_is_replaced_in_the_path_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = format!("/nowhere:{}", folder.path().display());
        let before = sum(&[("PATH", &path)]);
        assert_eq!(sum(&[("PATH", &path)]), before);
        fs::write(folder.path().join("cc"), "").unwrap();
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(1); // beyond doubt another time
        fs::File::open(folder.path())
            .unwrap()
            .set_modified(later)
            .unwrap();
        assert_ne!(sum(&[("PATH", &path)]), before);
    }
}
