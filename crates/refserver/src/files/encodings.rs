//! Which of the copies of a file a client would rather have: as it is, or compressed beforehand (RFC 9110 §12.5.3).
//!
//! Nothing is compressed while it is served: to serve compressed copies, put `page.html.br` and `page.html.gz` beside
//! `page.html` once.

/// How a copy is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// RFC 7932.
    Brotli,
    /// RFC 1952.
    Gzip,
}

/// All of them, the smaller copies first: that is the order among equals.
pub(crate) const CODINGS: [Coding; 2] = [Coding::Brotli, Coding::Gzip];

impl Coding {
    /// As Content-Encoding names it.
    pub(crate) const fn token(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }

    /// What the copy's name has behind the file's name.
    pub(crate) const fn suffix(self) -> &'static [u8] {
        match self {
            Coding::Brotli => b".br",
            Coding::Gzip => b".gz",
        }
    }
}

/// A weight in thousandths, if the client gave one.
type Weight = Option<u16>;

/// The names in a list and the index of their weight: those of [`CODINGS`], the file as it is, and all others.
const NAMES: [(&[u8], usize); 5] = [
    (b"br", 0),
    (b"gzip", 1),
    // RFC 9110 §8.4.1.3: an old name of it.
    (b"x-gzip", 1),
    (b"identity", 2),
    (b"*", 3),
];

/// The best of the codings in which a copy `is_there`, for a client that sent these Accept-Encoding lines; none for the
/// file as it is. That is also sent when the client refuses everything that there is: the RFC lets a server choose
/// between this and refusing, and more clients are mistaken than cannot read a file.
pub(crate) fn choose<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    is_there: impl Fn(Coding) -> bool,
) -> Option<Coding> {
    let mut weights = [None; 4];
    for member in lines.flat_map(|line| line.split(|&byte| byte == b',')) {
        let mut parts = member
            .splitn(2, |&byte| byte == b';')
            .map(<[u8]>::trim_ascii);
        let name = parts.next().unwrap_or_default();
        let weight = parts.next().map_or(Some(1000), weight);
        if let Some((_, index)) = NAMES
            .iter()
            .find(|known| name.eq_ignore_ascii_case(known.0))
        {
            // A malformed member says nothing.
            weights[*index] = weight.or(weights[*index]);
        }
    }
    let [_, _, identity, any] = weights;
    let least = identity.unwrap_or(0).max(1);
    let mut best = None;
    for (coding, weight) in CODINGS.into_iter().zip(weights) {
        let weight = weight.or(any).unwrap_or(0);
        let is_better = best.is_none_or(|(_, other)| weight > other);
        if weight >= least && is_better && is_there(coding) {
            best = Some((coding, weight));
        }
    }
    best.map(|(coding, _)| coding)
}

/// `q=` and a number from 0 to 1 with at most three decimals (RFC 9110 §12.4.2), in thousandths.
fn weight(text: &[u8]) -> Weight {
    let [b'q' | b'Q', b'=', whole @ (b'0' | b'1'), decimals @ ..] = text else {
        return None;
    };
    let digits = match decimals {
        [] => decimals,
        [b'.', digits @ ..] if digits.len() <= 3 => digits,
        _ => return None,
    };
    let mut weight = u16::from(whole - b'0');
    for place in 0..3 {
        let digit = char::from(*digits.get(place).unwrap_or(&b'0'));
        weight = weight * 10 + digit.to_digit(10)? as u16;
    }
    (weight <= 1000).then_some(weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(lines: &[&str], there: &[Coding]) -> &'static str {
        let lines = lines.iter().map(|line| line.as_bytes());
        choose(lines, |coding| there.contains(&coding)).map_or("as it is", Coding::token)
    }

    #[test]
    fn the_client_s_weights_decide_and_then_the_smaller_copy() {
        const NONE: &str = "as it is";
        #[rustfmt::skip]
        let cases: &[(&[&str], &str)] = &[
            (&[], NONE), (&[""], NONE), (&["identity"], NONE), (&["deflate, zstd"], NONE),
            (&["gzip"], "gzip"), (&["br"], "br"), (&["gzip, deflate, br, zstd"], "br"), (&["GZIP"], "gzip"),
            (&["x-gzip"], "gzip"), (&["BR;Q=1"], "br"),
            // Several lines are one list.
            (&["gzip;q=0.5", "br;q=0.4"], "gzip"), (&["deflate", "gzip"], "gzip"),
            // Weights.
            (&["br;q=0.5, gzip;q=0.8"], "gzip"), (&["br;q=0.8,gzip;q=0.8"], "br"), (&["br;q=0.001"], "br"),
            (&["gzip;q=0"], NONE), (&["br;q=0, gzip"], "gzip"), (&["br;q=0.000, gzip;q=0."], NONE),
            (&["gzip;q=1.000"], "gzip"), (&["br; q=0.2 , gzip ;q=0.3"], "gzip"),
            // All others.
            (&["*"], "br"), (&["*;q=0"], NONE), (&["br;q=0, *"], "gzip"), (&["gzip, *;q=0"], "gzip"),
            (&["gzip;q=0.5, *;q=0.7"], "br"), (&["*;q=0.1, br;q=0"], "gzip"),
            // The file as it is.
            (&["identity, gzip;q=0.5"], NONE), (&["identity;q=0.5, gzip;q=0.5"], "gzip"),
            (&["identity;q=0, gzip;q=0.1"], "gzip"), (&["identity;q=0"], NONE), (&["identity;q=0, *;q=0"], NONE),
            (&["identity;q=0.4, *;q=0.3"], NONE),
            // Malformed members say nothing.
            (&["gzip;q=2"], NONE), (&["gzip;q=0.0001"], NONE), (&["gzip;q=-1"], NONE), (&["gzip;q="], NONE),
            (&["gzip;q"], NONE), (&["gzip;x=1"], NONE), (&["gzip;q=1.001"], NONE), (&["gzip;q=a"], NONE),
            (&["gzip;q=0.a"], NONE), (&["gzip;q=9"], NONE), (&["gzip;q=0.5;q=1"], NONE), (&["gzip gzip"], NONE),
            (&[",,,gzip,,"], "gzip"), (&["br;q=x, gzip"], "gzip"), (&["gzip;q=\u{fffd}"], NONE),
            (&["gzip;q=\u{7f}.9"], NONE),
        ];
        for (lines, wanted) in cases {
            assert_eq!(chosen(lines, &CODINGS), *wanted, "{lines:?}");
        }
    }

    #[test]
    fn only_what_is_there_can_be_chosen() {
        assert_eq!(chosen(&["br, gzip;q=0.1"], &[Coding::Gzip]), "gzip");
        assert_eq!(chosen(&["br, gzip"], &[Coding::Brotli]), "br");
        assert_eq!(chosen(&["br, gzip"], &[]), "as it is");
    }
}
