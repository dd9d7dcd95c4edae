//! `{seq}` and `{random}` in URLs and bodies, so that not only a cache is measured.
//!
//! Every exchange of a campaign has its own number, and `{random}` is a function of the seed and that number alone:
//! the same seed asks the same things, whatever the number of threads.

/// Whether `text` holds `{seq}` or `{random}`.
pub fn has_holes(text: &str) -> bool {
    text.contains("{seq}") || text.contains("{random}")
}

/// Writes `template` to `out` with `{seq}` as the decimal `seq` and `{random}` as 16 hexadecimal digits drawn for it.
pub fn render(template: &[u8], seq: u64, seed: u64, out: &mut Vec<u8>) {
    use std::io::Write;
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
        render(template.as_bytes(), seq, 7, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn holes_are_filled_and_other_braces_kept() {
        assert_eq!(rendered("/a?id={seq}&{x}={seq}{", 42), "/a?id=42&{x}=42{");
        assert_eq!(rendered("/{random}", 1).len(), 17);
        assert_eq!(rendered("{{seq}}", 3), "{3}");
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
