//! The last head that was read, so that an equal one need not be read again.
//!
//! Servers under load give the same head over and over; only the Date changes, once a second. Equal bytes have
//! an equal meaning, so recognising them is as strict as parsing them, and a comparison costs a tenth of it. In
//! the value of Date any printable ASCII may stand, as there the parser would accept it too and nothing depends
//! on it.

use super::server::Limits;
use super::status::{Facts, Parsed};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// Longer heads are parsed every time.
const LIMIT: usize = 1024;

/// The last head that was read on any of the connections that share it.
///
/// The connections of one thread share one: it stays in the nearest cache, where a thousand of their own would not.
#[derive(Debug, Clone, Default)]
pub struct Heads(Rc<RefCell<Memo>>);

impl Heads {
    /// See [`Memo::recall`].
    #[inline]
    pub(crate) fn recall(&self, input: &[u8]) -> Option<(Facts, usize)> {
        self.0.borrow_mut().recall(input)
    }

    /// See [`Memo::learn`].
    pub(crate) fn learn(&self, input: &[u8], parsed: &Parsed) {
        self.0.borrow_mut().learn(input, parsed);
    }
}

/// What the server's connections of one worker have in common.
#[derive(Debug, Default)]
pub struct Requests {
    limits: Limits,
}

impl Requests {
    /// For connections on which requests may be as large as `limits` says.
    pub fn new(limits: Limits) -> Self {
        Requests { limits }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// What was read last.
#[derive(Debug, Default)]
struct Memo {
    bytes: Vec<u8>,
    facts: Facts,
    date: Range<usize>,
}

impl Memo {
    /// The meaning and the length of the head at the front of `input`, if it is the one that was read last.
    #[inline]
    fn recall(&mut self, input: &[u8]) -> Option<(Facts, usize)> {
        let length = self.bytes.len();
        let head = input.get(..length)?;
        if length > 0 && (head == self.bytes || self.differs_in_date_only(head)) {
            Some((self.facts, length))
        } else {
            None
        }
    }

    /// Remembers a head that was parsed at the front of `input`.
    fn learn(&mut self, input: &[u8], parsed: &Parsed) {
        self.bytes.clear();
        if parsed.length <= LIMIT {
            self.bytes.extend_from_slice(&input[..parsed.length]);
            self.facts = parsed.facts;
            self.date = parsed.date.clone();
        }
    }

    #[cold]
    fn differs_in_date_only(&mut self, head: &[u8]) -> bool {
        let Range { start, end } = self.date;
        let same = head[..start] == self.bytes[..start]
            && head[end..] == self.bytes[end..]
            && head[start..end]
                .iter()
                .all(|byte| (b' '..=b'~').contains(byte));
        if same {
            self.bytes[start..end].copy_from_slice(&head[start..end]);
        }
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::status::parse;

    #[test]
    fn what_one_connection_has_read_the_others_recognise_and_nothing_else() {
        let head = |date: &str, length: u32| {
            format!("HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 {date} GMT\r\nContent-Length: {length}\r\n\r\n")
                .into_bytes()
        };
        let (one, first) = (Heads::default(), head("06:20:22", 100));
        let other = one.clone();
        let parsed = parse(&first).unwrap().unwrap();
        one.learn(&first, &parsed);
        let known = Some((parsed.facts, first.len()));
        let cases = [
            (first.clone(), known),
            ([first.clone(), b"x".to_vec()].concat(), known),
            (head("06:20:23", 100), known),
            (head("06:20:23", 101), None),
            (first[..first.len() - 1].to_vec(), None),
        ];
        for (input, wanted) in cases {
            assert_eq!(other.recall(&input), wanted, "{}", input.escape_ascii());
        }
        assert_eq!(Heads::default().recall(&first), None);
    }
}
