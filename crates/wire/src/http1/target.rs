//! The target of a request: its four forms (RFC 9112 §3.2) and what an authority is (RFC 3986 §3.2).

use super::fields::is;
use super::refusal::{BAD_HOST, NO_PROXY, NO_TARGET, NOT_SECURE, Refusal};
use crate::request::letters_digits_and;
use std::ops::Range;

/// What a target names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) path: Path,
    /// The authority of an absolute target, a place in it: it wins over Host.
    pub(crate) authority: Option<Range<usize>>,
}

/// Where the path with its query is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    /// It is the target.
    #[default]
    Whole,
    /// It begins here in the target.
    From(usize),
    /// The path is `/`, which is implied, and its query, if there is one, begins here in the target.
    Root(usize),
    /// It is `*`, which is implied.
    Star,
}

impl Path {
    /// The path of `target`, where it stands somewhere as it is meant.
    #[inline]
    pub(crate) fn of(self, target: &[u8]) -> Option<&[u8]> {
        match self {
            Path::Whole => Some(target),
            Path::From(start) => target.get(start..),
            Path::Root(_) => None,
            Path::Star => Some(b"*"),
        }
    }
}

const PLAIN: Target = Target {
    path: Path::Whole,
    authority: None,
};

/// Reads a target of visible bytes without a fragment.
#[inline]
pub(crate) fn understand(method: &[u8], target: &[u8]) -> Result<Target, Refusal> {
    if target.first() == Some(&b'/') && method != b"CONNECT" {
        return Ok(PLAIN);
    }
    other_form(method, target)
}

#[cold]
fn other_form(method: &[u8], target: &[u8]) -> Result<Target, Refusal> {
    if method == b"CONNECT" {
        return Err(NO_PROXY);
    }
    if target == b"*" && method == b"OPTIONS" {
        return Ok(PLAIN);
    }
    let colon = target.iter().position(|&byte| byte == b':');
    let (scheme, rest) = target.split_at(colon.ok_or(NO_TARGET)?);
    if !rest.starts_with(b"://") {
        return Err(NO_TARGET);
    }
    // RFC 9110 §7.4: what is https must come over a secured connection.
    if is(scheme, b"https") {
        return Err(NOT_SECURE);
    }
    if !is(scheme, b"http") {
        return Err(NO_TARGET);
    }
    absolute(method, target, scheme.len() + 3)
}

fn absolute(method: &[u8], target: &[u8], start: usize) -> Result<Target, Refusal> {
    let rest = &target[start..];
    let length = rest.iter().position(|byte| b"/?".contains(byte));
    let end = start + length.unwrap_or(rest.len());
    if !is_authority(&target[start..end]) {
        return Err(BAD_HOST);
    }
    let path = match target.get(end) {
        Some(b'/') => Path::From(end),
        // RFC 9112 §3.2.4: an absolute target without a path is how a proxy is asked for `*`.
        None if method == b"OPTIONS" => Path::Star,
        // RFC 9110 §4.2.3: an empty path is `/`.
        _ => Path::Root(end),
    };
    Ok(Target {
        path,
        authority: Some(start..end),
    })
}

/// Bytes of a registered name: unreserved characters and sub-delimiters.
const NAME: [bool; 256] = letters_digits_and(b"-._~!$&'()*+,;=");

/// A host, and a port or none. Stricter than the grammar in two points that no honest client meets: a host is not
/// empty (RFC 9110 §4.2.1 says so of http), and a port is one of TCP's.
#[inline]
pub(crate) fn is_authority(value: &[u8]) -> bool {
    let end = value.iter().position(|&byte| !NAME[usize::from(byte)]);
    match end {
        None => !value.is_empty(),
        Some(end) if end > 0 && value[end] == b':' => is_port(&value[end..]),
        Some(_) => is_rare_authority(value),
    }
}

/// The same for hosts with percent-encoded bytes and for addresses in brackets.
#[cold]
fn is_rare_authority(value: &[u8]) -> bool {
    let literal = value.strip_prefix(b"[");
    let end = match literal {
        Some(rest) => rest
            .iter()
            .position(|&byte| byte == b']')
            .map(|end| end + 2),
        None => value
            .iter()
            .position(|&byte| byte == b':')
            .or(Some(value.len())),
    };
    let Some((host, port)) = end.map(|end| value.split_at(end)) else {
        return false;
    };
    let is_host = match literal {
        Some(_) => is_literal(&host[1..host.len() - 1]),
        None => is_name(host),
    };
    is_host && is_port(port)
}

/// `:` and up to five digits that are a port, or nothing. (`:` alone is allowed, RFC 3986 §3.2.3.)
fn is_port(rest: &[u8]) -> bool {
    let Some((colon, digits)) = rest.split_first() else {
        return true;
    };
    let number = |number: u32, digit: &u8| {
        let digit = u32::from(digit.wrapping_sub(b'0'));
        (digit < 10).then_some((number * 10 + digit).min(1 << 16))
    };
    let port = digits.iter().try_fold(0, number);
    *colon == b':' && port.is_some_and(|port| port < 1 << 16)
}

/// A registered name or an IPv4 address: in the grammar the one is also the other.
fn is_name(mut host: &[u8]) -> bool {
    if host.is_empty() {
        return false;
    }
    while let Some((&byte, rest)) = host.split_first() {
        host = match (byte, rest) {
            (b'%', [a, b, rest @ ..]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => rest,
            _ if NAME[usize::from(byte)] => rest,
            _ => return false,
        };
    }
    true
}

/// What may stand in brackets: an IPv6 address as far as its characters go, or an address of a version to come.
fn is_literal(address: &[u8]) -> bool {
    match address {
        [b'v' | b'V', rest @ ..] => {
            let dot = rest.iter().position(|&byte| byte == b'.');
            dot.is_some_and(|dot| {
                let (version, address) = (&rest[..dot], &rest[dot + 1..]);
                let is_in_address = |&byte: &u8| byte == b':' || NAME[usize::from(byte)];
                !version.is_empty()
                    && version.iter().all(u8::is_ascii_hexdigit)
                    && !address.is_empty()
                    && address.iter().all(is_in_address)
            })
        }
        _ => {
            let is_in_address = |byte: &u8| byte.is_ascii_hexdigit() || b":.".contains(byte);
            address.iter().filter(|&&byte| byte == b':').count() >= 2
                && address.iter().all(is_in_address)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_a_host_with_a_port_or_without() {
        for good in [
            "a",
            "a.b-c_d~e",
            "127.0.0.1:80",
            "a:",
            "a:0",
            "a:00080",
            "a:65535",
            "[::1]",
            "[::ffff:1.2.3.4]:8080",
            "[v1.a:b]",
            "%41",
            "a!$&'()*+,;=b",
        ] {
            assert!(is_authority(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            ":80",
            "a:b",
            "a:-1",
            "a:+1",
            "a:65536",
            "a:99999999999",
            "a:1:2",
            "a b",
            "a/b",
            "a?b",
            "a#b",
            "a@b",
            "u:p@a",
            "a\\b",
            "a\tb",
            "[]",
            "[::1",
            "::1",
            "[::1]a",
            "[::1]80",
            "[:]",
            "[::g]",
            "[a::1%25b]",
            "[v.a]",
            "[v1.]",
            "[v1]",
            "%",
            "%4",
            "%4g",
            "a]",
            "<a>",
            "é",
        ] {
            assert!(!is_authority(bad.as_bytes()), "{bad}");
        }
    }
}
