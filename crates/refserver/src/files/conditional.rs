//! The header lines that decide what of a file is sent, picked out of a request.
//!
//! Most requests have none of them, and whether a request has any costs a look at the length of each line's name.

use ConditionalHeader::{IfMatch, IfModifiedSince, IfNoneMatch, IfUnmodifiedSince};
use std::ops::Index;

/// Which of them a header line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConditionalHeader {
    Range,
    IfMatch,
    IfRange,
    IfNoneMatch,
    AcceptEncoding,
    IfModifiedSince,
    IfUnmodifiedSince,
}

/// No two of a length but two.
#[inline]
fn recognised(name: &str) -> Option<ConditionalHeader> {
    let (wanted, recognised) = match name.len() {
        5 => ("range", ConditionalHeader::Range),
        8 if matches!(name.as_bytes()[3], b'm' | b'M') => ("if-match", IfMatch),
        8 => ("if-range", ConditionalHeader::IfRange),
        13 => ("if-none-match", IfNoneMatch),
        15 => ("accept-encoding", ConditionalHeader::AcceptEncoding),
        17 => ("if-modified-since", IfModifiedSince),
        19 => ("if-unmodified-since", IfUnmodifiedSince),
        _ => return None,
    };
    name.eq_ignore_ascii_case(wanted).then_some(recognised)
}

/// The values of the lines of one name.
#[derive(Debug, Default, Clone)]
pub(crate) struct Lines<'a> {
    first: Option<&'a [u8]>,
    /// Nearly always empty, so it nearly never allocates.
    more: Vec<&'a [u8]>,
}

impl<'a> Lines<'a> {
    fn push(&mut self, value: &'a [u8]) {
        match self.first {
            None => self.first = Some(value),
            Some(_) => self.more.push(value),
        }
    }

    /// There is no such line.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The value of the only line.
    pub(crate) fn only(&self) -> Option<&'a [u8]> {
        self.first.filter(|_| self.more.is_empty())
    }

    /// All values, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a [u8]> {
        self.first.into_iter().chain(self.more.iter().copied())
    }
}

/// The header lines of a request that decide what is sent.
#[derive(Debug, Default, Clone)]
pub(crate) struct ConditionalHeaders<'a>([Lines<'a>; 7]);

impl<'a> Index<ConditionalHeader> for ConditionalHeaders<'a> {
    type Output = Lines<'a>;

    fn index(&self, header: ConditionalHeader) -> &Lines<'a> {
        &self.0[header as usize]
    }
}

impl<'a> ConditionalHeaders<'a> {
    pub(crate) fn of(headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> ConditionalHeaders<'a> {
        let mut conditional = ConditionalHeaders::default();
        for (name, value) in headers {
            if let Some(recognised) = recognised(name) {
                conditional.0[recognised as usize].push(value.trim_ascii());
            }
        }
        conditional
    }

    /// Whether any line makes a condition under which nothing is sent. (If-Range only decides how much is.)
    pub(crate) fn has_conditions(&self) -> bool {
        let conditions = [IfMatch, IfNoneMatch, IfModifiedSince, IfUnmodifiedSince];
        conditions.iter().any(|header| !self[*header].is_empty())
    }
}

/// Whether any of these lines can change what is sent; Accept-Encoding only where there is a choice.
#[inline]
pub(crate) fn matter<'a>(
    mut headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    is_choice: bool,
) -> bool {
    headers.any(|(name, _)| match recognised(name) {
        None => false,
        Some(ConditionalHeader::AcceptEncoding) => is_choice,
        Some(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_picked_out_whatever_its_case_and_no_other() {
        let names = [
            "Range",
            "If-Match",
            "If-Range",
            "If-None-Match",
            "Accept-Encoding",
            "If-Modified-Since",
            "If-Unmodified-Since",
        ];
        for name in names {
            for name in [name.to_owned(), name.to_uppercase(), name.to_lowercase()] {
                assert!(recognised(&name).is_some(), "{name}");
                let is_choice = name.len() == 15;
                let headers = || [("Host", &b"a"[..]), (&name, b" v ")].into_iter();
                assert!(matter(headers(), true));
                assert_eq!(matter(headers(), false), !is_choice);
                let conditional = ConditionalHeaders::of(headers());
                let lines = &conditional[recognised(&name).unwrap()];
                assert_eq!(lines.only(), Some(&b"v"[..]));
            }
        }
        for name in [
            "",
            "Rang",
            "range2",
            "Ranges",
            "If-Mutch",
            "If-Rangs",
            "Accept-Language",
            "Host",
        ] {
            assert_eq!(recognised(name), None, "{name}");
        }
    }

    #[test]
    fn several_lines_of_one_name_are_kept_in_order() {
        let headers = [
            ("If-Match", &b"1"[..]),
            ("Range", b"x"),
            ("if-match", b"2"),
            ("IF-MATCH", b"3"),
        ];
        let conditional = ConditionalHeaders::of(headers.into_iter());
        assert_eq!(
            conditional[IfMatch].iter().collect::<Vec<_>>(),
            [b"1", b"2", b"3"]
        );
        assert_eq!(
            (
                conditional[IfMatch].only(),
                conditional[ConditionalHeader::Range].only()
            ),
            (None, Some(&b"x"[..]))
        );
        assert!(conditional[ConditionalHeader::IfRange].is_empty());
    }
}
