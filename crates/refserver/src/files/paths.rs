//! From what a client asks for to the name of a file below the root, or to a refusal; and back, for redirects.
//!
//! It knows no file system: whatever is asked, what comes out is a relative path without an empty segment, without one
//! that begins with a dot (so neither `.` nor `..`, nor what people hide), without NUL, and not too long to be a name. One
//! name with a dot is served: `.well-known` in the root, which is there to be asked for (RFC 8615). (That nothing outside the root is reached through links is the kernel's to ensure when it opens.)
//!
//! Two refusals: what is no path at all is *malformed*; what is a path but can be the name of no file that is served
//! *names nothing*. Dot segments are among the latter and are not resolved: clients resolve them before they send (RFC
//! 3986 §5.2), so a client that sends one is probing. Percent signs are decoded once, and segments are cut before that, so
//! that an encoded slash cannot make two of one. A backslash is a byte like others.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode};
use std::borrow::Cow;

/// What is served of a folder.
const INDEX: &[u8] = b"index.html";
/// The one name with a dot that is served, in the root only.
pub(crate) const WELL_KNOWN: &[u8] = b".well-known";
/// The longest path that Linux opens, without its NUL.
const PATH_LIMIT: usize = 4095;
/// The longest name of a file or a folder on the usual file systems.
const SEGMENT_LIMIT: usize = 255;

/// The name of a file that may or may not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    /// Relative to the root; ends in `index.html` when a folder was asked for.
    pub(crate) path: Cow<'a, [u8]>,
    /// A folder was asked for: the target ended with a slash.
    pub(crate) is_folder: bool,
    /// What followed the first `?`.
    pub(crate) query: Option<&'a [u8]>,
}

/// Why a target is the name of nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadPath {
    /// It does not begin with a slash, or has a bad escape, a NUL, or a fragment.
    Malformed,
    /// No file that is served can have this name.
    NamesNothing,
}

/// The name that `target` (a path with its query) asks for.
pub(crate) fn resolve(target: &[u8]) -> Result<Name<'_>, BadPath> {
    let (path, query) = match target.iter().position(|&byte| byte == b'?') {
        Some(end) => (&target[..end], Some(&target[end + 1..])),
        None => (target, None),
    };
    let path = path.strip_prefix(b"/").ok_or(BadPath::Malformed)?;
    let is_folder = path.is_empty() || path.ends_with(b"/");
    let path = if path.is_empty() {
        Cow::Borrowed(INDEX)
    } else if is_plain(path) {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(walk(path, is_folder)?)
    };
    Ok(Name {
        path,
        is_folder,
        query,
    })
}

/// Whether [`walk`] would return `path` as it is: so it is with nearly all that are asked for, and they need no copy.
fn is_plain(path: &[u8]) -> bool {
    let mut is_start = true;
    for &byte in path {
        if matches!(byte, b'%' | b'#' | 0) || (is_start && matches!(byte, b'/' | b'.')) {
            return false;
        }
        is_start = byte == b'/';
    }
    !is_start && path.len() <= SEGMENT_LIMIT
}

/// Goes through the segments; empty ones are nothing.
fn walk(path: &[u8], is_folder: bool) -> Result<Vec<u8>, BadPath> {
    let mut walked = Vec::with_capacity(path.len() + INDEX.len());
    let segments = path.split(|&byte| byte == b'/');
    for segment in segments.filter(|segment| !segment.is_empty()) {
        if !walked.is_empty() {
            walked.push(b'/');
        }
        let start = walked.len();
        decode(segment, &mut walked)?;
        let name = &walked[start..];
        let is_hidden = name.starts_with(b".") && (start, name) != (0, WELL_KNOWN);
        if is_hidden || name.contains(&b'/') || name.len() > SEGMENT_LIMIT {
            return Err(BadPath::NamesNothing);
        }
    }
    if is_folder {
        if !walked.is_empty() {
            walked.push(b'/');
        }
        walked.extend_from_slice(INDEX);
    }
    if walked.len() > PATH_LIMIT {
        return Err(BadPath::NamesNothing);
    }
    Ok(walked)
}

/// Appends `segment` with its escapes decoded.
fn decode(segment: &[u8], out: &mut Vec<u8>) -> Result<(), BadPath> {
    let mut rest = segment;
    while let [byte, tail @ ..] = rest {
        let (byte, tail) = match (byte, tail) {
            (b'%', [high, low, tail @ ..]) => (hex(*high)? << 4 | hex(*low)?, tail),
            (b'%' | b'#', _) => return Err(BadPath::Malformed),
            (byte, tail) => (*byte, tail),
        };
        if byte == 0 {
            return Err(BadPath::Malformed);
        }
        out.push(byte);
        rest = tail;
    }
    Ok(())
}

fn hex(digit: u8) -> Result<u8, BadPath> {
    let value = char::from(digit).to_digit(16).ok_or(BadPath::Malformed)?;
    Ok(value as u8)
}

/// What is escaped in a path: all but what RFC 3986 §2.3 calls unreserved, and the slash.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');
/// What a browser escapes in a query (WHATWG URL, query percent-encode set).
const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');

/// Where a folder is that was requested without a slash: for Location. It begins with one slash and a letter, digit,
/// dot or `%`, so that no browser takes it for the address of another host, whatever the folder is called.
pub(crate) fn location(name: &Name<'_>) -> String {
    let path = percent_encode(&name.path, PATH);
    match name.query {
        Some(query) => format!("/{path}/?{}", percent_encode(query, QUERY)),
        None => format!("/{path}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::BadPath::{Malformed, NamesNothing};
    use super::*;
    use crate::files::invariants;
    use proptest::prelude::*;

    fn shown(target: &str) -> Result<String, BadPath> {
        let name = resolve(target.as_bytes())?;
        assert_eq!(
            name.is_folder,
            target.split('?').next().unwrap().ends_with('/')
        );
        Ok(name.path.escape_ascii().to_string())
    }

    #[test]
    fn targets_name_files_below_the_root() {
        let cases: &[(&str, &str)] = &[
            ("/", "index.html"),
            ("/?q", "index.html"),
            ("//", "index.html"),
            ("/a", "a"),
            ("/a/", "a/index.html"),
            ("/a/b.css", "a/b.css"),
            ("/a/b.css?v=1?2/../..", "a/b.css"),
            ("/a.?", "a."),
            ("/a../b", "a../b"),
            ("/a/b..c", "a/b..c"),
            ("/%61%2Db", "a-b"),
            ("/a%20b+c", "a b+c"),
            ("/%3f%23", "?#"),
            ("/a;b=c", "a;b=c"),
            ("//a///b", "a/b"),
            ("/a//", "a/index.html"),
            ("/caf%c3%a9", "caf\\xc3\\xa9"),
            ("/café", "caf\\xc3\\xa9"),
            ("/%ff", "\\xff"),
            ("/%0a%7F", "\\n\\x7f"),
            ("/~user", "~user"),
            (
                "/.well-known/acme-challenge/t",
                ".well-known/acme-challenge/t",
            ),
            ("//%2ewell-known/t", ".well-known/t"),
            ("/.well-known/", ".well-known/index.html"),
            ("/.well-known", ".well-known"),
            ("/*", "*"),
            ("/http://a/b", "http:/a/b"),
        ];
        for (target, path) in cases {
            assert_eq!(shown(target).as_deref(), Ok(*path), "{target}");
        }
    }

    #[test]
    fn malicious_targets_name_nothing_or_something_harmless() {
        #[rustfmt::skip]
        let cases: &[(&str, Result<&str, BadPath>)] = &[
            // Up and out, in every spelling.
            ("/..", Err(NamesNothing)), ("/../", Err(NamesNothing)), ("/../etc/passwd", Err(NamesNothing)),
            ("/a/../../etc/passwd", Err(NamesNothing)), ("/a/..", Err(NamesNothing)), ("/./a", Err(NamesNothing)),
            ("/.", Err(NamesNothing)), ("//../a", Err(NamesNothing)), ("/%2e%2e/a", Err(NamesNothing)),
            ("/.%2e/a", Err(NamesNothing)), ("/%2e./a", Err(NamesNothing)), ("/%2E%2E%2fa", Err(NamesNothing)),
            ("/..%2fa", Err(NamesNothing)), ("/a%2f..%2f..%2fetc", Err(NamesNothing)), ("/%2f", Err(NamesNothing)),
            ("/%2fetc/passwd", Err(NamesNothing)), ("/a%2Fb", Err(NamesNothing)), ("/..;/a", Err(NamesNothing)),
            ("/.../a", Err(NamesNothing)), ("/....//a", Err(NamesNothing)), ("/..\\..\\a", Err(NamesNothing)),
            ("/..%5c..%5ca", Err(NamesNothing)), ("/..%00/a", Err(Malformed)), ("/..%c0%afa", Err(NamesNothing)),
            // Decoded once and no more; overlong UTF-8 is bytes, and no slash or dot.
            ("/%252e%252e/a", Ok("%2e%2e/a")), ("/%252fetc", Ok("%2fetc")), ("/%c0%ae%c0%ae/a", Ok("\\xc0\\xae\\xc0\\xae/a")),
            ("/%c0%af", Ok("\\xc0\\xaf")), ("/%u002e%u002e", Err(Malformed)), ("/\\..\\a", Ok("\\\\..\\\\a")),
            ("/a\\..\\b", Ok("a\\\\..\\\\b")), ("/C:\\a", Ok("C:\\\\a")), ("/\u{ff0e}\u{ff0e}/a", Ok("\\xef\\xbc\\x8e\\xef\\xbc\\x8e/a")),
            // What people hide.
            ("/.git/config", Err(NamesNothing)), ("/a/.htpasswd", Err(NamesNothing)), ("/%2egit/", Err(NamesNothing)),
            ("/a/.", Err(NamesNothing)), ("/a/.well-known/x", Err(NamesNothing)), ("/.well-known/.x", Err(NamesNothing)),
            ("/.well-known/../a", Err(NamesNothing)), ("/.well-known/a/.well-known/b", Err(NamesNothing)),
            ("/.well-known2/a", Err(NamesNothing)), ("/.Well-Known/a", Err(NamesNothing)), ("/.well-known%2fa", Err(NamesNothing)),
            ("/.well-known%00/a", Err(Malformed)),
            // No paths.
            ("", Err(Malformed)), ("a", Err(Malformed)), ("?", Err(Malformed)), ("*", Err(Malformed)),
            ("/%", Err(Malformed)), ("/%2", Err(Malformed)), ("/%zz", Err(Malformed)), ("/% 1", Err(Malformed)),
            ("/%+1", Err(Malformed)), ("/%-1", Err(Malformed)), ("/a%00", Err(Malformed)), ("/a\0", Err(Malformed)),
            ("/a%00.html", Err(Malformed)), ("/a#b", Err(Malformed)), ("/%2/a", Err(Malformed)),
        ];
        for (target, wanted) in cases {
            assert_eq!(shown(target), wanted.map(str::to_owned), "{target}");
        }
    }

    #[test]
    fn lengths_have_limits() {
        let segment = |length| "a".repeat(length);
        let path = |segments| format!("/{}", vec!["a"; segments].join("/"));
        let cases = [
            (format!("/{}", segment(255)), true),
            (format!("/{}", segment(256)), false),
            (format!("/b/{}/", segment(255)), true),
            (format!("/b/{}/", segment(256)), false),
            (format!("/{}", "%61".repeat(255)), true),
            (format!("/{}", "%61".repeat(256)), false),
            (path(2048), true),
            (path(2049), false),
            (path(2042) + "/", true),
            (path(2043) + "/", false),
        ];
        for (target, is_sound) in cases {
            assert_eq!(
                resolve(target.as_bytes()).is_ok(),
                is_sound,
                "{}",
                target.len()
            );
        }
    }

    #[test]
    fn a_redirect_leads_to_the_folder_on_this_host() {
        let cases: &[(&str, &str)] = &[
            ("/a", "/a/"),
            ("/a/b?c=d&e", "/a/b/?c=d&e"),
            ("/.well-known/a", "/.well-known/a/"),
            ("//evil.example", "/evil.example/"),
            ("///evil.example/a", "/evil.example/a/"),
            ("/\\evil.example", "/%5Cevil.example/"),
            ("/%5c%5cevil.example", "/%5C%5Cevil.example/"),
            ("/%09/evil.example", "/%09/evil.example/"),
            ("/a%0d%0aSet-Cookie:b", "/a%0D%0ASet-Cookie%3Ab/"),
            ("/a?b\r\nc", "/a/?b%0D%0Ac"),
            ("/caf\u{e9}?\u{e9}", "/caf%C3%A9/?%C3%A9"),
            ("/a\"<b>?\"<c>#", "/a%22%3Cb%3E/?%22%3Cc%3E%23"),
        ];
        for (target, wanted) in cases {
            let name = resolve(target.as_bytes()).unwrap();
            assert_eq!(location(&name), *wanted, "{target}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_asked_stays_below_the_root(target in "/([ab.%2efF0/?#\\\\]|%2[eEfF]|%[0-9a-f]{2}|é){0,40}") {
            invariants::target(target.as_bytes());
        }

        #[test]
        fn any_bytes_at_all_stay_below_the_root(target in any::<Vec<u8>>()) {
            invariants::target(&[b"/", &target[..]].concat());
        }

        #[test]
        fn the_short_way_and_the_long_one_agree(path in "[a.b/]{1,12}") {
            if is_plain(path.as_bytes()) {
                prop_assert_eq!(walk(path.as_bytes(), false).unwrap(), path.as_bytes());
            }
        }
    }
}
