//! The heads that were read last, so that an equal one need not be read again.
//!
//! Servers under load give the same head over and over; only the Date changes, once a second. Their clients ask with
//! a few. Equal bytes have an equal meaning, so recognising them is as strict as parsing them, and a comparison costs
//! a tenth of it. In the value of Date any printable ASCII may stand, as there the parser would accept it too and
//! nothing depends on it.

use super::framing::RequestFraming;
use super::refusal::Limits;
use super::request_head::{ParsedRequest, RequestHead, Words};
use super::status::{Facts, ParsedResponse};
use crate::Version;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// How many heads are remembered: what one page of a site asks for, and few enough that looking through them in vain
/// costs little beside parsing.
const PLACES: usize = 8;

/// Longer heads are parsed every time.
const LIMIT: usize = 1024;

/// The responses' heads that were read last on any of the connections that share it.
///
/// The connections of one thread share one: it stays in the nearest cache, where a thousand of their own would not.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeadCache(Rc<RefCell<CachedHeads>>);

impl HeadCache {
    /// Returns the meaning and the length of the head at the front of `input`, if it is the very one that was read last.
    #[inline]
    pub(crate) fn recall_last(&self, input: &[u8]) -> Option<(Facts, usize)> {
        let heads = self.0.borrow();
        let length = heads.last.bytes.len();
        let head = input.get(..length)?;
        if length > 0 && head == heads.last.bytes {
            Some((heads.last.facts, length))
        } else {
            None
        }
    }

    /// The same if it is one of those that were read last, whatever its Date; it is the last one then.
    #[inline(never)]
    pub(crate) fn recall(&self, input: &[u8]) -> Option<(Facts, usize)> {
        let heads = &mut *self.0.borrow_mut();
        if !heads.last.is_front_but_for_date(input) {
            let is_it = |each: &mut CachedHead| {
                eight(input, each.marked) == each.eight && each.is_front_but_for_date(input)
            };
            let place = heads.others.iter_mut().position(is_it)?;
            std::mem::swap(&mut heads.last, &mut heads.others[place]);
        }
        Some((heads.last.facts, heads.last.bytes.len()))
    }

    /// Remembers a head that was parsed at the front of `input`.
    pub(crate) fn learn(&self, input: &[u8], parsed: &ParsedResponse) {
        if parsed.length > LIMIT {
            return;
        }
        let heads = &mut *self.0.borrow_mut();
        let before = heads.oldest;
        std::mem::swap(&mut heads.last, &mut heads.others[before]);
        heads.oldest = (before + 1) % heads.others.len();
        let before = &heads.others[before];
        let (eights, _) = input[parsed.date.end..parsed.length].as_chunks::<8>();
        let (others, _) = before.bytes[before.date.end..].as_chunks::<8>();
        let differs = eights
            .iter()
            .zip(others)
            .position(|(one, other)| one != other);
        let last = &mut heads.last;
        last.bytes.clear();
        last.bytes.extend_from_slice(&input[..parsed.length]);
        last.facts = parsed.facts;
        last.date = parsed.date.clone();
        last.marked = differs.map_or(0, |place| parsed.date.end + 8 * place);
        last.eight = eight(&last.bytes, last.marked);
    }
}

/// What [`HeadCache`] holds.
#[derive(Debug, Default)]
struct CachedHeads {
    /// The one that was found or put here last, which is the likeliest.
    last: CachedHead,
    others: [CachedHead; PLACES - 1],
    /// Which of the others makes room for the next one.
    oldest: usize,
}

/// A response's head that was read before.
#[derive(Debug, Default)]
struct CachedHead {
    /// Empty: none.
    bytes: Vec<u8>,
    facts: Facts,
    date: Range<usize>,
    /// Eight of the bytes, from `marked` on: the first behind Date that differ from the head that was read before, as other heads mostly
    /// do there, too, which is known without a call. Its first ones where none differ.
    eight: u64,
    marked: usize,
}

/// Eight bytes as a number; 0 where there are fewer.
#[inline]
fn eight(bytes: &[u8], from: usize) -> u64 {
    let eight = bytes.get(from..).and_then(<[u8]>::first_chunk);
    eight.map_or(0, |eight| u64::from_le_bytes(*eight))
}

impl CachedHead {
    /// Whether it is the front of `input` but perhaps for the value of Date, which then is taken over.
    fn is_front_but_for_date(&mut self, input: &[u8]) -> bool {
        let Range { start, end } = self.date;
        let length = self.bytes.len();
        let Some(head) = input.get(..length).filter(|_| length > 0) else {
            return false;
        };
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

/// The header lines of a request that were read last, blank line included. A client sends the same ones with whatever
/// it asks for, so they are remembered by themselves, too.
#[derive(Debug, Default)]
pub(crate) struct LineCache {
    /// Empty: none.
    bytes: Vec<u8>,
    version: Version,
    framing: RequestFraming,
}

impl LineCache {
    /// The meaning and the length of the lines at the front of `input`, if they are the ones that were read last.
    #[inline]
    pub(crate) fn recall(&self, input: &[u8], version: Version) -> Option<(RequestFraming, usize)> {
        let is_known =
            !self.bytes.is_empty() && version == self.version && input.starts_with(&self.bytes);
        is_known.then_some((self.framing, self.bytes.len()))
    }

    /// Remembers lines that were read in a request of this version.
    pub(crate) fn learn(&mut self, lines: &[u8], version: Version, framing: RequestFraming) {
        self.bytes.clear();
        if lines.len() <= LIMIT {
            self.bytes.extend_from_slice(lines);
            (self.version, self.framing) = (version, framing);
        }
    }
}

/// What the server's connections of one worker have in common: limits, and the heads that were read last.
#[derive(Debug, Default)]
pub struct RequestCache {
    limits: Limits,
    lines: LineCache,
    known: [CachedRequest; PLACES],
    /// Heads that were learned so far.
    learned: u64,
    /// Where the last one was found or put; it is the likeliest.
    last: usize,
}

/// Names the bytes of a head, so that what a server has concluded from a request can be used for an equal one. Never
/// used again for others.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// Returns the place of this key's conclusion in a table of [`RequestCache::PLACES`] rows. Keys with the same place
    /// replace one another.
    #[inline]
    pub fn place(self) -> usize {
        (self.0 % PLACES as u64) as usize
    }
}

/// A request's head that was read before.
#[derive(Debug, Default)]
pub(crate) struct CachedRequest {
    /// Empty: none.
    bytes: Vec<u8>,
    /// Eight of the bytes, from `marked` on: the target's last ones. Other heads mostly differ there, and it is known
    /// sooner than by comparing all.
    mark: u64,
    marked: usize,
    method: String,
    target: Vec<u8>,
    /// The path, if it is no part of the target.
    implied: Vec<u8>,
    request: ParsedRequest,
    key: Key,
}

impl CachedRequest {
    /// Bytes of the head.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub(crate) fn head(&self) -> RequestHead<'_> {
        let words = Words {
            method: &self.method,
            target: &self.target,
        };
        self.request
            .head(&self.bytes, words, &self.implied, Some(self.key))
    }

    #[inline]
    fn is_at_front(&self, input: &[u8]) -> bool {
        !self.bytes.is_empty() && input.starts_with(&self.bytes)
    }

    #[inline]
    fn is_marked(&self, input: &[u8]) -> bool {
        mark(input, self.marked) == Some(self.mark)
    }

    fn become_one(&mut self, bytes: &[u8], request: &ParsedRequest, key: Key) {
        let words = request.words(bytes);
        self.bytes.clear();
        self.bytes.extend_from_slice(&bytes[..request.length]);
        self.method.clear();
        self.method.push_str(words.method);
        self.target.clear();
        self.target.extend_from_slice(words.target);
        self.implied = request.implied(words);
        self.marked = (request.method + 1 + words.target.len()).saturating_sub(8);
        self.mark = mark(bytes, self.marked).unwrap_or_default();
        self.request = *request;
        self.key = key;
    }
}

#[inline]
fn mark(bytes: &[u8], at: usize) -> Option<u64> {
    let mark = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*mark))
}

impl RequestCache {
    /// Keys have places below this.
    pub const PLACES: usize = PLACES;

    /// For connections on which requests may be as large as `limits` says.
    pub fn new(limits: Limits) -> Self {
        RequestCache {
            limits,
            ..RequestCache::default()
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn lines(&mut self) -> &mut LineCache {
        &mut self.lines
    }

    /// The head at the front of `input`, if it is one of those that were read last.
    #[inline]
    pub(crate) fn recall(&mut self, input: &[u8]) -> Option<&CachedRequest> {
        if !self.known[self.last].is_at_front(input) {
            self.last = self.search(input)?;
        }
        Some(&self.known[self.last])
    }

    fn search(&self, input: &[u8]) -> Option<usize> {
        self.known
            .iter()
            .position(|known| known.is_marked(input) && known.is_at_front(input))
    }

    /// Remembers a head that was read at the front of `input`; none: it is too long for that.
    pub(crate) fn learn(
        &mut self,
        input: &[u8],
        request: &ParsedRequest,
    ) -> Option<&CachedRequest> {
        if request.length > LIMIT {
            return None;
        }
        let key = Key(self.learned);
        self.learned += 1;
        self.last = key.place();
        let known = &mut self.known[self.last];
        known.become_one(input, request, key);
        Some(known)
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
        let (one, first) = (HeadCache::default(), head("06:20:22", 100));
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
        assert_eq!(HeadCache::default().recall(&first), None);
    }

    #[test]
    fn as_many_heads_are_known_as_there_are_places_whatever_their_dates() {
        let head = |second: usize, length: usize| {
            format!("HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 06:20:{second:02} GMT\r\nContent-Length: {length}\r\n\r\n")
                .into_bytes()
        };
        let cache = HeadCache::default();
        let seen = |input: &[u8]| {
            let parsed = parse(input).unwrap().unwrap();
            let recalled = cache.recall(input);
            match recalled {
                Some(recalled) => assert_eq!(recalled, (parsed.facts, input.len())),
                None => cache.learn(input, &parsed),
            }
            recalled.is_some()
        };
        let each = 0..PLACES;
        assert!(each.clone().all(|length| !seen(&head(10, length))));
        for second in [10, 11, 12] {
            assert!(each.clone().all(|length| seen(&head(second, length))));
            assert!(each.clone().rev().all(|length| seen(&head(second, length))));
        }
        // One more takes the place of one of them.
        assert!(!seen(&head(13, PLACES)));
        assert!(seen(&head(13, PLACES)));
        let known = each.filter(|&length| cache.recall(&head(13, length)).is_some());
        assert_eq!(known.count(), PLACES - 1);
    }

    #[test]
    fn heads_that_end_with_date_are_found_whatever_comes_behind_them() {
        let head = |length: usize, body: &str| {
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nDate: Fri, 20 Nov 2026 06:20:22 GMT\r\n\r\n{body}")
                .into_bytes()
        };
        let cache = HeadCache::default();
        for length in [10, 20, 30] {
            let input = head(length, "");
            cache.learn(&input, &parse(&input).unwrap().unwrap());
        }
        for length in [10, 20, 30, 10] {
            let input = head(length, "a longer body");
            assert!(cache.recall(&input).is_some(), "{length}");
        }
    }
}
