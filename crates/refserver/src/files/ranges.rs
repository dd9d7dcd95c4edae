//! Which part of a file a Range line asks for (RFC 9110 §14).
//!
//! One part is served as a part. For several, and for whatever is malformed, the whole is sent, which the RFC allows a
//! server always: many small or overlapping parts (the "Apache killer") then cost what one request costs, and those
//! few clients that ask for several understand the whole as well.

/// What of a file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All of it.
    Whole,
    /// Some bytes, at least one.
    Part {
        /// The first of them.
        first: u64,
        /// How many.
        length: u64,
    },
    /// Only what is not there.
    Nothing,
}

/// What `value`, the only Range line of a GET, wants of a file of `size` bytes.
pub(crate) fn wanted(value: &[u8], size: u64) -> Wanted {
    only_spec(value)
        .and_then(|spec| part(spec, size))
        .unwrap_or(Wanted::Whole)
}

/// The spec of a Range line that counts bytes and has one spec.
fn only_spec(value: &[u8]) -> Option<&[u8]> {
    let equals = value.iter().position(|&byte| byte == b'=')?;
    let (unit, set) = (&value[..equals], &value[equals + 1..]);
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    // Empty members of a list are to be passed over (RFC 9110 §5.6.1.2).
    let mut specs = set
        .split(|&byte| byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|spec| !spec.is_empty());
    let first = specs.next()?;
    specs.next().is_none().then_some(first)
}

/// None: it is malformed.
fn part(spec: &[u8], size: u64) -> Option<Wanted> {
    let dash = spec.iter().position(|&byte| byte == b'-')?;
    let (first, last) = (&spec[..dash], &spec[dash + 1..]);
    if first.is_empty() {
        return Some(suffix(number(last)?, size));
    }
    let first = number(first)?;
    let last = if last.is_empty() {
        u64::MAX
    } else {
        number(last)?
    };
    if last < first {
        return None;
    }
    if first >= size {
        return Some(Wanted::Nothing);
    }
    let length = last.min(size - 1) - first + 1;
    Some(Wanted::Part { first, length })
}

/// The last bytes. Of an empty file those are the whole, which no Content-Range could say.
fn suffix(length: u64, size: u64) -> Wanted {
    match length.min(size) {
        0 if length == 0 => Wanted::Nothing,
        0 => Wanted::Whole,
        length => Wanted::Part {
            first: size - length,
            length,
        },
    }
}

/// Digits; what is larger than can be counted is larger than every file.
fn number(digits: &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    for digit in digits {
        let digit = char::from(*digit).to_digit(10)?;
        number = number.saturating_mul(10).saturating_add(u64::from(digit));
    }
    (!digits.is_empty()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::invariants;
    use proptest::prelude::*;

    const fn part(first: u64, length: u64) -> Wanted {
        Wanted::Part { first, length }
    }

    #[test]
    fn one_range_is_a_part_and_everything_else_the_whole() {
        use Wanted::{Nothing, Whole};
        #[rustfmt::skip]
        let cases: &[(&str, u64, Wanted)] = &[
            // From, to.
            ("bytes=0-0", 100, part(0, 1)), ("bytes=0-99", 100, part(0, 100)), ("bytes=10-19", 100, part(10, 10)),
            ("bytes=0-100", 100, part(0, 100)), ("bytes=99-200", 100, part(99, 1)), ("Bytes=1-1", 100, part(1, 1)),
            ("bytes=007-08", 100, part(7, 2)),
            // Open.
            ("bytes=0-", 100, part(0, 100)), ("bytes=99-", 100, part(99, 1)), ("bytes=100-", 100, Nothing),
            // The last ones.
            ("bytes=-1", 100, part(99, 1)), ("bytes=-100", 100, part(0, 100)), ("bytes=-101", 100, part(0, 100)),
            ("bytes=-0", 100, Nothing),
            // Not there.
            ("bytes=100-100", 100, Nothing), ("bytes=100-200", 100, Nothing), ("bytes=0-", 0, Nothing),
            ("bytes=0-0", 0, Nothing), ("bytes=-5", 0, Whole), ("bytes=-0", 0, Nothing),
            // Huge.
            ("bytes=0-18446744073709551615", 100, part(0, 100)), ("bytes=18446744073709551615-", 100, Nothing),
            ("bytes=0-99999999999999999999999", 100, part(0, 100)), ("bytes=99999999999999999999999-", 100, Nothing),
            ("bytes=-99999999999999999999999", 100, part(0, 100)),
            ("bytes=18446744073709551614-", u64::MAX, part(u64::MAX - 1, 1)), ("bytes=0-", u64::MAX, part(0, u64::MAX)),
            // Malformed, so as if it were not there.
            ("bytes=1-0", 100, Whole), ("bytes=99999999999999999999999-1", 100, Whole), ("bytes=", 100, Whole),
            ("bytes", 100, Whole), ("", 100, Whole), ("=0-0", 100, Whole), ("bytes=-", 100, Whole), ("bytes=--1", 100, Whole),
            ("bytes=+1-2", 100, Whole), ("bytes=0x0-1", 100, Whole), ("bytes=1", 100, Whole), ("bytes=0-1-2", 100, Whole),
            ("bytes=a-b", 100, Whole), ("bytes=0 - 1", 100, Whole), ("bytes =0-1", 100, Whole), ("bytes:0-1", 100, Whole),
            // Other units.
            ("lines=0-1", 100, Whole), ("none", 100, Whole), ("bytess=0-1", 100, Whole),
            // Several: one, when the others are empty.
            ("bytes=0-0,2-2", 100, Whole), ("bytes=0-,0-,0-", 100, Whole), ("bytes=5-,-1", 100, Whole),
            ("bytes=200-,300-", 100, Whole), ("bytes=0-0,", 100, part(0, 1)), ("bytes=,\t, 3-4 ,", 100, part(3, 2)),
            ("bytes=,", 100, Whole),
        ];
        for (value, size, wants) in cases {
            assert_eq!(wanted(value.as_bytes(), *size), *wants, "{value} of {size}");
        }
    }

    proptest! {
        #[test]
        fn a_part_lies_within_the_file(value in "bytes=[-0-9, ]{0,30}", size in any::<u64>(), small in 0u64..20) {
            invariants::range(value.as_bytes(), size);
            invariants::range(value.as_bytes(), small);
        }
    }
}
