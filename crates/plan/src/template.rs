//! `{seq}`, `{random}` and `{n:1..10000}` in URLs and bodies, so that not only a cache is measured.
//!
//! Every exchange of a campaign has its own number, and `{random}` is a function of the seed and that number alone:
//! the same seed asks the same things, whatever the number of threads.

use crate::{Popularity, Ranks};
use std::ops::RangeInclusive;

/// Keeps the numbers of `{n:1..10000}` apart from those of `{random}`.
const NUMBERS: u64 = 0x6e75_6d62_6572_732e;

/// What the holes of one request are filled from.
#[derive(Debug, Clone, Copy)]
pub struct Filling {
    /// Number of the request.
    pub seq: u64,
    /// Seed of the plan.
    pub seed: u64,
    /// How often each number of a range occurs; equally often without one.
    pub popularity: Option<Popularity>,
}

/// Whether `text` holds `{seq}`, `{random}` or a range of numbers.
pub fn has_holes(text: &str) -> bool {
    text.contains("{seq}") || text.contains("{random}") || has_range(text)
}

/// Whether `text` holds a range of numbers, such as `{n:1..10000}`.
pub fn has_range(text: &str) -> bool {
    let mut starts = text.match_indices("{n:");
    starts.any(|(at, _)| range(&text.as_bytes()[at..]).is_some())
}

/// Returns the first thing in `text` that begins like a range of numbers and is none, such as `{n:5..1}`.
pub fn broken_range(text: &str) -> Option<&str> {
    let mut starts = text.match_indices("{n:");
    starts.find_map(|(at, _)| {
        let text = &text[at..];
        let end = text.find('}').map_or(text.len(), |end| end + 1);
        range(text.as_bytes()).is_none().then_some(&text[..end])
    })
}

/// The range at the beginning of `text`, and what follows it.
fn range(text: &[u8]) -> Option<(RangeInclusive<u64>, &[u8])> {
    let text = text.strip_prefix(b"{n:")?;
    let end = text.iter().position(|&byte| byte == b'}')?;
    let (from, to) = str::from_utf8(&text[..end]).ok()?.split_once("..")?;
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to).then(|| (from..=to, &text[end + 1..]))
}

/// One number of `range`.
fn number(range: &RangeInclusive<u64>, bits: u64, popularity: Option<Popularity>) -> u64 {
    let many = (range.end() - range.start()).saturating_add(1);
    let place = match popularity {
        Some(popularity) => Ranks::new(popularity, many).draw(bits),
        None => ((u128::from(bits) * u128::from(many)) >> 64) as u64,
    };
    range.start() + place
}

/// Writes `template` to `out` with `{seq}` as a decimal, `{random}` as 16 hexadecimal digits, and `{n:1..10000}` as a number
/// of that range.
pub fn render(template: &[u8], filling: Filling, out: &mut Vec<u8>) {
    use std::io::Write;
    let Filling {
        seq,
        seed,
        popularity,
    } = filling;
    let mut bits = draw(seed ^ NUMBERS, seq);
    let mut rest = template;
    while let Some(brace) = rest.iter().position(|&byte| byte == b'{') {
        out.extend_from_slice(&rest[..brace]);
        rest = &rest[brace..];
        if let Some(tail) = rest.strip_prefix(b"{seq}") {
            write!(out, "{seq}").expect("writing to a Vec cannot fail");
            rest = tail;
        } else if let Some(tail) = rest.strip_prefix(b"{random}") {
            write!(out, "{:016x}", draw(seed, seq)).expect("writing to a Vec cannot fail");
            rest = tail;
        } else if let Some((range, tail)) = range(rest) {
            let number = number(&range, bits, popularity);
            write!(out, "{number}").expect("writing to a Vec cannot fail");
            bits = draw(bits, 0);
            rest = tail;
        } else {
            out.push(b'{');
            rest = &rest[1..];
        }
    }
    out.extend_from_slice(rest);
}

/// 64 random bits for number `index` of the series `seed`: SplitMix64's finaliser (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", 2014) over seed and counter.
pub fn draw(seed: u64, index: u64) -> u64 {
    let mut bits =
        mix(seed).wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = mix(bits);
    bits
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(template: &str, seq: u64) -> String {
        let mut out = Vec::new();
        let filling = Filling {
            seq,
            seed: 7,
            popularity: None,
        };
        render(template.as_bytes(), filling, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn holes_are_filled_and_other_braces_kept() {
        assert_eq!(rendered("/a?id={seq}&{x}={seq}{", 42), "/a?id=42&{x}=42{");
        assert_eq!(rendered("/{random}", 1).len(), 17);
        assert_eq!(rendered("{{seq}}", 3), "{3}");
    }

    #[test]
    fn a_range_becomes_each_of_its_numbers_and_what_is_no_range_stays() {
        for text in ["{n:5..1}", "{n:1}", "{n:}", "{n:a..b}", "{n:1..2"] {
            assert_eq!(rendered(text, 1), text);
            assert!(!has_holes(text));
            let around = format!("/{{n:1..2}}/{text}");
            assert_eq!(broken_range(&around), Some(text));
        }
        assert!(has_range("/a/{n:1..3}"));
        assert_eq!(broken_range("/a/{n:1..3}/{n}/{seq}"), None);
        let drawn: std::collections::BTreeSet<String> =
            (0..100).map(|seq| rendered("{n:8..11}", seq)).collect();
        assert_eq!(
            drawn.into_iter().collect::<Vec<_>>(),
            ["10", "11", "8", "9"]
        );
        assert!(!rendered("{n:0..18446744073709551615}", 3).is_empty());
        let both = (0..100).map(|seq| rendered("{n:0..9} {n:0..9}", seq));
        let same = both.filter(|both| both.as_bytes()[0] == both.as_bytes()[2]);
        assert!((1..30).contains(&same.count()), "two draws are independent");
    }

    #[test]
    fn random_depends_on_seed_and_number_alone() {
        assert_eq!(rendered("{random}", 5), rendered("{random}", 5));
        assert_ne!(rendered("{random}", 5), rendered("{random}", 6));
        assert_ne!(draw(1, 5), draw(2, 5));
    }

    #[test]
    fn draws_do_not_repeat_in_a_million() {
        let mut drawn: Vec<u64> = (0..1_000_000).map(|index| draw(1, index)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 1_000_000);
    }
}
