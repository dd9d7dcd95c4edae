//! Whether a client's conditions let a file be sent (RFC 9110 §13).
//!
//! ```text
//! If-Match given?            no tag is ours (strongly)  --> Failed
//!   else If-Unmodified-Since changed since              --> Failed
//! If-None-Match given?       a tag is ours (weakly)     --> Unchanged
//!   else If-Modified-Since   not changed since          --> Unchanged
//! otherwise                                             --> Send
//! ```
//! A date that is none is ignored, as the RFC says; a malformed tag matches nothing. So a malformed If-Match fails and a
//! malformed If-None-Match sends: both are the careful side.

use super::conditional::{ConditionalHeader as Header, ConditionalHeaders, Lines};
use super::dates;

/// What says which version of a file this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validators<'a> {
    /// The entity tag with its quotes, without `W/`.
    pub(crate) tag: &'a str,
    /// Other bytes would have another tag and another date. (Not so while the file is so young that it may change again
    /// within the same tick of the file system's clock.)
    pub(crate) is_strong: bool,
    /// Last-Modified, in seconds since 1970-01-01 UTC.
    pub(crate) modified: i64,
}

/// What follows from the conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// They hold: send it.
    Send,
    /// The client has it already: 304.
    Unchanged,
    /// It is not what the client thinks: 412.
    Failed,
}

/// Weighs the conditions of a GET or HEAD.
pub(crate) fn judge(conditional: &ConditionalHeaders<'_>, ours: Validators<'_>) -> Verdict {
    if !conditional[Header::IfMatch].is_empty() {
        if !is_among(&conditional[Header::IfMatch], |tag| ours.is_strongly(tag)) {
            return Verdict::Failed;
        }
    } else if moment(&conditional[Header::IfUnmodifiedSince])
        .is_some_and(|then| ours.modified > then)
    {
        return Verdict::Failed;
    }
    if !conditional[Header::IfNoneMatch].is_empty() {
        if is_among(&conditional[Header::IfNoneMatch], |tag| ours.is_weakly(tag)) {
            return Verdict::Unchanged;
        }
    } else if moment(&conditional[Header::IfModifiedSince])
        .is_some_and(|then| ours.modified <= then)
    {
        return Verdict::Unchanged;
    }
    Verdict::Send
}

/// Whether If-Range lets a Range count: it names this very version, by a strong tag or by the exact date (RFC 9110
/// §13.1.5).
pub(crate) fn range_counts(if_range: &Lines<'_>, ours: Validators<'_>) -> bool {
    if if_range.is_empty() {
        return true;
    }
    let Some(value) = if_range.only() else {
        return false;
    };
    match tag(value) {
        Some((tag, [])) => ours.is_strongly(tag),
        Some(_) => false,
        None => ours.is_strong && dates::parse(value) == Some(ours.modified),
    }
}

/// A client's tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tag<'a> {
    is_strong: bool,
    /// With its quotes.
    text: &'a [u8],
}

impl Validators<'_> {
    /// Whether `tag` names this version or one like it (RFC 9110 §8.8.3.2).
    fn is_weakly(self, tag: Tag<'_>) -> bool {
        tag.text == self.tag.as_bytes()
    }

    /// Whether `tag` names this very version (RFC 9110 §8.8.3.2).
    fn is_strongly(self, tag: Tag<'_>) -> bool {
        self.is_strong && tag.is_strong && self.is_weakly(tag)
    }
}

/// Whether the list is `*`, which stands for whatever there is, or has a tag that `is_ours`.
fn is_among(lines: &Lines<'_>, is_ours: impl Fn(Tag<'_>) -> bool) -> bool {
    lines.only() == Some(b"*") || lines.iter().any(|line| List(line).any(&is_ours))
}

/// The tags of a list. Commas may stand within tags, so it cannot just be cut at commas.
struct List<'a>(&'a [u8]);

impl<'a> Iterator for List<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            let between = |byte: &u8| !matches!(byte, b',' | b' ' | b'\t');
            let start = self.0.iter().position(between)?;
            let (found, tail) = tag(&self.0[start..]).unzip();
            let tail = tail.unwrap_or(&self.0[start..]).trim_ascii_start();
            // What is not a tag, or has something behind it, is passed over up to the next comma.
            let comma = tail.iter().position(|&byte| byte == b',');
            let end = comma.unwrap_or(tail.len());
            self.0 = &tail[end..];
            if end == 0 && found.is_some() {
                return found;
            }
        }
    }
}

/// The tag at the front, and what follows it.
fn tag(text: &[u8]) -> Option<(Tag<'_>, &[u8])> {
    let quoted = text.strip_prefix(b"W/");
    let is_strong = quoted.is_none();
    let quoted = quoted.unwrap_or(text);
    let inner = quoted.strip_prefix(b"\"")?;
    let length = inner.iter().position(|byte| !is_tag_byte(*byte))?;
    let (text, rest) = quoted.split_at(length + 2);
    let tag = Tag { is_strong, text };
    (inner[length] == b'"').then_some((tag, rest))
}

/// RFC 9110 §8.8.3: what may stand between the quotes.
fn is_tag_byte(byte: u8) -> bool {
    byte == b'!' || (b'#'..=b'~').contains(&byte) || byte >= 0x80
}

/// The date of the only line, if it is one.
fn moment(lines: &Lines<'_>) -> Option<i64> {
    dates::parse(lines.only()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::invariants;
    use proptest::prelude::*;

    const OLD: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const SAME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const NEW: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    const OURS: Validators<'static> = Validators {
        tag: "\"a-1\"",
        is_strong: true,
        modified: 784_111_777,
    };
    const YOUNG: Validators<'static> = Validators {
        is_strong: false,
        ..OURS
    };

    /// Lines of `Name: value`, abbreviated: M, N, U and S for the four conditions, R for If-Range.
    fn conditional<'a>(lines: &[&'a str]) -> ConditionalHeaders<'a> {
        ConditionalHeaders::of(lines.iter().map(|line| {
            let (name, value) = line.split_once(':').unwrap();
            let name = match name {
                "M" => "If-Match",
                "N" => "If-None-Match",
                "U" => "If-Unmodified-Since",
                "S" => "If-Modified-Since",
                "R" => "If-Range",
                _ => panic!("{name}"),
            };
            (name, value.as_bytes())
        }))
    }

    #[test]
    fn conditions_are_weighed_in_their_order() {
        use Verdict::{Failed, Send, Unchanged};
        let date = |name: &str, date: &str| format!("{name}: {date}");
        let dates = [OLD, SAME, NEW].map(|it| [date("U", it), date("S", it)]);
        let [[u_old, s_old], [u_same, s_same], [u_new, s_new]] = &dates;
        #[rustfmt::skip]
        let cases: &[(&[&str], Validators<'_>, Verdict)] = &[
            (&[], OURS, Send),
            // If-Match: strongly.
            (&["M:\"a-1\""], OURS, Send), (&["M:\"a-2\""], OURS, Failed), (&["M:W/\"a-1\""], OURS, Failed),
            (&["M:\"a-1\""], YOUNG, Failed), (&["M:*"], OURS, Send), (&["M: * "], YOUNG, Send),
            (&["M:\"x\", \"a-1\""], OURS, Send), (&["M:\"x\"", "M:\"a-1\""], OURS, Send), (&["M:"], OURS, Failed),
            (&["M:a-1"], OURS, Failed), (&["M:\"a-1"], OURS, Failed), (&["M:w/\"a-1\""], OURS, Failed),
            (&["M:\"a-1\"x, \"b\""], OURS, Failed), (&["M:\"x\",*"], OURS, Failed),
            // If-Unmodified-Since, unless there is If-Match.
            (&[u_old], OURS, Failed), (&[u_same], OURS, Send), (&[u_new], OURS, Send), (&["U:nonsense"], OURS, Send),
            (&["M:\"a-1\"", u_old], OURS, Send), (&["M:\"a-2\"", u_new], OURS, Failed), (&[u_old, u_old], OURS, Send),
            // If-None-Match: weakly.
            (&["N:\"a-1\""], OURS, Unchanged), (&["N:W/\"a-1\""], OURS, Unchanged), (&["N:W/\"a-1\""], YOUNG, Unchanged),
            (&["N:\"a-2\""], OURS, Send), (&["N:*"], OURS, Unchanged), (&["N:\"x\",W/\"y\" ,, \"a-1\""], OURS, Unchanged),
            (&["N:\"x\"", "N:\"a-1\""], OURS, Unchanged), (&["N:\"x,\"a-1\""], OURS, Send), (&["N:\"x,y\",\"a-1\""], OURS, Unchanged),
            (&["N:a-1, \"a-1\""], OURS, Unchanged), (&["N:a-1"], OURS, Send), (&["N:"], OURS, Send), (&["N:,"], OURS, Send),
            (&["N:\"A-1\""], OURS, Send), (&["N:W/W/\"a-1\""], OURS, Send), (&["N:\"a-1\" \"b\""], OURS, Send),
            (&["N:\"x\"", "N:*"], OURS, Send), (&["N:\"\", \"a-1\""], OURS, Unchanged),
            // If-Modified-Since, unless there is If-None-Match.
            (&[s_old], OURS, Send), (&[s_same], OURS, Unchanged), (&[s_new], OURS, Unchanged), (&["S:nonsense"], OURS, Send),
            (&["S:Sunday, 06-Nov-94 08:49:37 GMT"], OURS, Unchanged), (&["S:Sun Nov  6 08:49:37 1994"], OURS, Unchanged),
            (&["S:Sun Nov  6 08:49:36 1994"], OURS, Send), (&[s_same, s_same], OURS, Send),
            (&["N:\"a-2\"", s_new], OURS, Send), (&["N:\"a-1\"", s_old], OURS, Unchanged),
            // All together: what fails comes before what is unchanged.
            (&["M:\"a-2\"", "N:\"a-1\""], OURS, Failed), (&["M:\"a-1\"", "N:\"a-1\""], OURS, Unchanged),
            (&[u_old, s_new], OURS, Failed), (&[u_new, s_new], OURS, Unchanged), (&[u_new, s_old], OURS, Send),
        ];
        for (lines, ours, wanted) in cases {
            assert_eq!(
                judge(&conditional(lines), *ours),
                *wanted,
                "{lines:?} {ours:?}"
            );
        }
    }

    #[test]
    fn a_range_counts_only_for_this_very_version() {
        let date = |date: &str| format!("R: {date}");
        let (old, same, new) = (date(OLD), date(SAME), date(NEW));
        #[rustfmt::skip]
        let cases: &[(&[&str], Validators<'_>, bool)] = &[
            (&[], OURS, true), (&[], YOUNG, true),
            (&["R:\"a-1\""], OURS, true), (&["R:\"a-1\""], YOUNG, false), (&["R:W/\"a-1\""], OURS, false),
            (&["R:\"a-2\""], OURS, false), (&["R:\"a-1\", \"b\""], OURS, false), (&["R:*"], OURS, false),
            (&["R:"], OURS, false), (&["R:\"a-1\"", "R:\"a-1\""], OURS, false),
            (&[&same], OURS, true), (&[&same], YOUNG, false), (&[&old], OURS, false), (&[&new], OURS, false),
            (&["R:Sun Nov  6 08:49:37 1994"], OURS, true), (&["R:nonsense"], OURS, false),
        ];
        for (lines, ours, wanted) in cases {
            let conditional = conditional(lines);
            assert_eq!(
                range_counts(&conditional[Header::IfRange], *ours),
                *wanted,
                "{lines:?} {ours:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn whatever_stands_behind_our_tag_it_is_found(value in any::<Vec<u8>>(), tags in "[W/\"a,b* \t]{0,20}") {
            invariants::lists(&value);
            invariants::lists(tags.as_bytes());
        }
    }
}
