//! A server's own account of what it was asked.

use crate::servers::site::Site;
use std::fs;

/// One line of a log, as every configuration here has it: method, path, status, bytes out, bytes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub method: String,
    /// With the query.
    pub path: String,
    pub status: u16,
    /// Raw bytes of the response.
    pub sent: u64,
    /// Raw bytes of the request.
    pub received: u64,
}

impl Site {
    /// Bytes of the log so far: quicker to ask for than what they say.
    pub fn log_length(&self) -> u64 {
        fs::metadata(self.path("access.log")).map_or(0, |file| file.len())
    }

    /// What its server's log says: all of it when the server has ended, and until then what it has written, in whole
    /// lines.
    pub fn log(&self) -> Vec<Entry> {
        let text = fs::read_to_string(self.path("access.log")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let entry = |line| parse(line).unwrap_or_else(|| panic!("not a line of a log: `{line}`"));
        whole.lines().map(entry).collect()
    }
}

fn parse(line: &str) -> Option<Entry> {
    let mut words = line.split(' ');
    let entry = Entry {
        method: words.next()?.into(),
        path: words.next()?.into(),
        status: words.next()?.parse().ok()?,
        sent: words.next()?.parse().ok()?,
        received: words.next()?.parse().ok()?,
    };
    words.next().is_none().then_some(entry)
}
