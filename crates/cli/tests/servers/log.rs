//! A server's own account of what it was asked.

use crate::servers::site::Site;
use std::fs;
use std::ops::Deref;

/// All that a log says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// The requests, in the order in which they were written down.
    pub entries: Vec<Entry>,
    /// The connections on which there were requests, or handshakes; none where the server does not say.
    pub opened: Option<Vec<Opened>>,
}

/// A request: method, path, status, bytes out, bytes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub method: String,
    /// With the query.
    pub path: String,
    pub status: u16,
    /// Bytes of the response: which, [`crate::servers::Kind::bytes`] says.
    pub sent: u64,
    /// Bytes of the request.
    pub received: u64,
}

/// A connection's handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The version, as `TLSv1.3`; `-` of a plain connection.
    pub version: String,
    pub is_resumed: bool,
}

impl Deref for Log {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.entries
    }
}

impl Site {
    /// Bytes of the log so far: quicker to ask for than what they say.
    pub fn log_length(&self) -> u64 {
        fs::metadata(self.path("access.log")).map_or(0, |file| file.len())
    }

    /// What its server's log says: all of it when the server has ended, and until then what it has written, in whole
    /// lines.
    pub fn log(&self) -> Log {
        let text = fs::read_to_string(self.path("access.log")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        (self.kind.log)(whole)
    }
}

/// Reads lines of `METHOD PATH STATUS SENT RECEIVED`.
pub fn requests(text: &str) -> Log {
    let log = with_connections(text, "", "");
    Log {
        opened: None,
        ..log
    }
}

/// Reads lines of `METHOD PATH STATUS SENT RECEIVED FIRST VERSION RESUMED`, of which the last three say whether the request was the
/// `first` on its connection and how its handshake was; they may be missing where lines of `opened VERSION RESUMED` say it.
pub fn with_connections(text: &str, first: &str, resumed: &str) -> Log {
    let mut log = Log::default();
    let opened = log.opened.insert(Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let new = match words[..] {
            ["opened", version, how] => Some((version, how)),
            [method, path, status, sent, received, ref rest @ ..] => {
                let number = |word: &str| word.parse().ok();
                let bytes = number(sent).zip(number(received));
                let entry = status.parse().ok().zip(bytes);
                let (status, (sent, received)) =
                    entry.unwrap_or_else(|| panic!("no numbers in `{line}`"));
                log.entries.push(Entry {
                    method: method.into(),
                    path: path.into(),
                    status,
                    sent,
                    received,
                });
                match *rest {
                    [] => None,
                    [turn, version, how] => (turn == first).then_some((version, how)),
                    _ => panic!("not a line of a log: `{line}`"),
                }
            }
            _ => panic!("not a line of a log: `{line}`"),
        };
        opened.extend(new.map(|(version, how)| Opened {
            version: version.into(),
            is_resumed: how == resumed,
        }));
    }
    log
}
