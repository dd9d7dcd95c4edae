//! A histogram as text, in the form every HdrHistogram tool reads: V2, compressed, base64.
//!
//! ```text
//! base64( 1c849314  length of the rest  zlib( header  counts ) )
//! header  1c849313  length of counts  index offset 0  digits 3  lowest 1  highest 2^36  ratio 1.0
//!         big endian, 40 bytes
//! counts  slot by slot from 0: n samples as +n, a run of k empty slots as -k;
//!         zigzag, then LEB128 of at most 9 bytes
//! ```
//!
//! (`encodeIntoCompressedByteBuffer` of the Java HdrHistogram 2.1 is the definition. The second
//! nibble of a cookie is a word size and may be any; the ninth byte of a number carries
//! eight bits.) The form has no place for the exact extremes and the sum; the record keeps those
//! beside it.
//!
//! What is read may be anything: every length is checked before it is believed, and nothing larger
//! than the largest histogram of this layout is ever unpacked.

use crate::Histogram;
use crate::layout::{LAST, SLOTS, TOP};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{Read, Write};
use thiserror::Error;

const COOKIE_PLAIN: u32 = 0x1c84_9303;
const COOKIE_COMPRESSED: u32 = 0x1c84_9304;
/// The nibble of a cookie that names the word size, and what writers of this version put there.
const WORD_SIZE_MASK: u32 = 0xf0;
const WORD_SIZE: u32 = 0x10;

const DIGITS: u32 = 3;
const LOWEST: u64 = 1;
const HEADER_BYTES: usize = 40;

/// The most bytes one number takes.
const NUMBER_BYTES: usize = 9;
/// The most that is ever unpacked: all slots that HdrHistogram itself would have up to twice the
/// top, each of full length.
const PLAIN_BYTES_MAX: usize = HEADER_BYTES + (SLOTS + 1024) * NUMBER_BYTES;
/// The longest text worth decoding: deflate adds at most a few bytes per block to what it cannot
/// compress.
const TEXT_BYTES_MAX: usize = (PLAIN_BYTES_MAX + PLAIN_BYTES_MAX / 64 + 64) / 3 * 4;

/// Why a text is no histogram of ours.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum HdrError {
    /// Refused before decoding.
    #[error("{0} characters are more than the largest histogram needs ({TEXT_BYTES_MAX})")]
    TooLong(usize),
    /// Not base64 with padding.
    #[error("not base64")]
    Base64,
    /// Some other form, or another version of this one.
    #[error("not HdrHistogram's V2 form: a cookie is {0:#010x}")]
    Cookie(u32),
    /// The zlib stream is damaged, cut off, followed by something, or larger than any histogram.
    #[error("the compressed part is damaged, or larger than the largest histogram")]
    Zlib,
    /// Cut off, or a length inside does not agree with what follows.
    #[error("cut off, or its lengths do not agree")]
    Length,
    /// A histogram, but not of the one layout we keep.
    #[error(
        "a layout of lowest value {lowest} and {digits} digits (index offset {offset}, ratio {ratio}); \
         only 1 and 3 (0, 1) can be read"
    )]
    Layout {
        /// Lowest discernible value.
        lowest: u64,
        /// Significant decimal digits.
        digits: u32,
        /// Normalising index offset.
        offset: u32,
        /// Ratio of whole numbers to fractions.
        ratio: f64,
    },
    /// Samples above [`Histogram::TOP`]'s bucket, or empty slots without end.
    #[error("it has buckets above 2^36")]
    AboveTop,
}

impl Histogram {
    /// The buckets in HdrHistogram's V2 compressed form, as base64. Minimum, maximum, sum and what
    /// saturated are not in it.
    pub fn to_hdr(&self) -> String {
        let mut packed = (COOKIE_COMPRESSED | WORD_SIZE).to_be_bytes().to_vec();
        packed.extend([0; 4]);
        let mut encoder = ZlibEncoder::new(packed, Compression::default());
        let written = encoder
            .write_all(&plain(self))
            .and_then(|()| encoder.finish());
        let mut packed = written.expect("writing to memory does not fail");
        let length = (packed.len() - 8) as u32;
        packed[4..8].copy_from_slice(&length.to_be_bytes());
        STANDARD.encode(packed)
    }

    /// Reads what [`Histogram::to_hdr`] or another writer of HdrHistogram's V2 compressed form
    /// wrote for a histogram of lowest value 1 and three digits.
    ///
    /// The form carries buckets only. The minimum is therefore the lower bound of the lowest
    /// bucket, the maximum the upper bound of the highest, the sum that of the buckets' midpoints,
    /// and nothing counts as saturated.
    ///
    /// # Errors
    /// [`HdrError`] when it is anything else.
    pub fn from_hdr(text: &str) -> Result<Histogram, HdrError> {
        unpack(text).map(|filled| Histogram::from_filled(&filled))
    }
}

/// Header and counts, before compression.
fn plain(histogram: &Histogram) -> Vec<u8> {
    let counts = counts(histogram);
    let mut plain = Vec::with_capacity(HEADER_BYTES + counts.len());
    plain.extend((COOKIE_PLAIN | WORD_SIZE).to_be_bytes());
    plain.extend((counts.len() as u32).to_be_bytes());
    plain.extend(0_u32.to_be_bytes());
    plain.extend(DIGITS.to_be_bytes());
    plain.extend(LOWEST.to_be_bytes());
    plain.extend(TOP.to_be_bytes());
    plain.extend(1_f64.to_be_bytes());
    plain.extend(counts);
    plain
}

fn counts(histogram: &Histogram) -> Vec<u8> {
    let mut counts = Vec::new();
    let mut next = 0;
    for (slot, count) in histogram.filled() {
        match slot - next {
            0 => {}
            1 => put(&mut counts, 0), // a run of one is written as a count of none
            empty => put(&mut counts, -(empty as i64)),
        }
        put(&mut counts, count as i64); // fits: a count stops at i64::MAX
        next = slot + 1;
    }
    counts
}

/// Writes one number: zigzag, so that small negative ones stay short, then seven bits a byte, the
/// ninth byte all eight.
fn put(out: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 1..NUMBER_BYTES {
        if rest < 0x80 {
            break;
        }
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Reads one number from the front of `rest`.
fn take_number(rest: &mut &[u8]) -> Result<i64, HdrError> {
    let mut zigzag: u64 = 0;
    for at in 0..NUMBER_BYTES {
        let [byte] = take(rest)?;
        let last = at == NUMBER_BYTES - 1 || byte < 0x80;
        let bits = if at == NUMBER_BYTES - 1 {
            byte
        } else {
            byte & 0x7f
        };
        zigzag |= u64::from(bits) << (7 * at);
        if last {
            break;
        }
    }
    Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
}

/// The first `N` bytes of `rest`, which loses them.
fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], HdrError> {
    let (first, after) = rest.split_first_chunk().ok_or(HdrError::Length)?;
    *rest = after;
    Ok(*first)
}

fn take_cookie(rest: &mut &[u8], wanted: u32) -> Result<(), HdrError> {
    let cookie = u32::from_be_bytes(take(rest)?);
    let is_it = cookie & !WORD_SIZE_MASK == wanted;
    is_it.then_some(()).ok_or(HdrError::Cookie(cookie))
}

/// Reads a length, which must be that of all that follows it after `between` more bytes.
fn take_length(rest: &mut &[u8], between: usize) -> Result<(), HdrError> {
    let length = u32::from_be_bytes(take(rest)?) as usize;
    let agrees = rest.len().checked_sub(between) == Some(length);
    agrees.then_some(()).ok_or(HdrError::Length)
}

/// From text to the slots that hold samples, in rising order, and their counts.
fn unpack(text: &str) -> Result<Vec<(usize, u64)>, HdrError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(HdrError::TooLong(text.len()));
    }
    let packed = STANDARD.decode(text).map_err(|_| HdrError::Base64)?;
    let mut rest = packed.as_slice();
    take_cookie(&mut rest, COOKIE_COMPRESSED)?;
    take_length(&mut rest, 0)?;
    let plain = inflate(rest)?;
    let mut rest = plain.as_slice();
    take_header(&mut rest)?;
    take_counts(rest)
}

fn inflate(packed: &[u8]) -> Result<Vec<u8>, HdrError> {
    let mut plain = Vec::new();
    let mut decoder = ZlibDecoder::new(packed);
    let limit = PLAIN_BYTES_MAX as u64 + 1;
    decoder
        .by_ref()
        .take(limit)
        .read_to_end(&mut plain)
        .map_err(|_| HdrError::Zlib)?;
    let whole = plain.len() <= PLAIN_BYTES_MAX && decoder.total_in() == packed.len() as u64;
    whole.then_some(plain).ok_or(HdrError::Zlib)
}

/// Reads the header up to the counts. The highest value does not matter: it moves no bucket.
fn take_header(rest: &mut &[u8]) -> Result<(), HdrError> {
    take_cookie(rest, COOKIE_PLAIN)?;
    take_length(rest, HEADER_BYTES - 8)?;
    let offset = u32::from_be_bytes(take(rest)?);
    let digits = u32::from_be_bytes(take(rest)?);
    let lowest = u64::from_be_bytes(take(rest)?);
    let _highest: [u8; 8] = take(rest)?;
    let ratio = f64::from_be_bytes(take(rest)?);
    if (offset, digits, lowest) == (0, DIGITS, LOWEST) && ratio == 1.0 {
        Ok(())
    } else {
        Err(HdrError::Layout {
            lowest,
            digits,
            offset,
            ratio,
        })
    }
}

fn take_counts(mut rest: &[u8]) -> Result<Vec<(usize, u64)>, HdrError> {
    let mut filled = Vec::new();
    let mut next: usize = 0;
    while !rest.is_empty() {
        let number = take_number(&mut rest)?;
        let empty =
            usize::try_from(number.min(0).unsigned_abs()).map_err(|_| HdrError::AboveTop)?;
        if number > 0 {
            if next > LAST {
                return Err(HdrError::AboveTop);
            }
            filled.push((next, number as u64));
        }
        next = next.checked_add(empty.max(1)).ok_or(HdrError::AboveTop)?;
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram as Reference;
    use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
    use proptest::prelude::*;

    type Bucket = (u64, u64);

    fn of(samples: &[Bucket]) -> Histogram {
        let mut histogram = Histogram::new();
        samples
            .iter()
            .for_each(|(value, n)| histogram.record_n(*value, *n));
        histogram
    }

    fn buckets(histogram: &Histogram) -> Vec<Bucket> {
        histogram
            .buckets()
            .map(|bucket| (bucket.low, bucket.count))
            .collect()
    }

    fn reference_buckets(reference: &Reference<u64>) -> Vec<Bucket> {
        let low = |value| reference.lowest_equivalent(value);
        let recorded = reference.iter_recorded();
        recorded
            .map(|at| (low(at.value_iterated_to()), at.count_at_value()))
            .collect()
    }

    fn reference_text(reference: &Reference<u64>) -> String {
        let mut packed = Vec::new();
        V2DeflateSerializer::new()
            .serialize(reference, &mut packed)
            .unwrap();
        STANDARD.encode(packed)
    }

    fn samples() -> impl Strategy<Value = Vec<Bucket>> {
        let value = (0_u32..=36).prop_flat_map(|bits| 0..=1_u64 << bits);
        let n = (0_u32..50).prop_flat_map(|bits| 1..=1_u64 << bits);
        proptest::collection::vec((value, n), 0..100)
    }

    /// A text with these counts after a header that is all right, or that `edit` made wrong.
    fn pack(counts: &[i64], edit: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut plain = plain(&Histogram::new());
        counts.iter().for_each(|number| put(&mut plain, *number));
        let length = (plain.len() - HEADER_BYTES) as u32;
        plain[4..8].copy_from_slice(&length.to_be_bytes());
        edit(&mut plain);
        pack_plain(&plain)
    }

    fn pack_plain(plain: &[u8]) -> String {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        envelope(0x1c84_9314, &encoder.finish().unwrap())
    }

    fn envelope(cookie: u32, deflated: &[u8]) -> String {
        let length = (deflated.len() as u32).to_be_bytes();
        STANDARD.encode([&cookie.to_be_bytes(), &length, deflated].concat())
    }

    #[test]
    fn texts_of_other_writers_are_read() {
        let cases: &[(&str, &[Bucket])] = &[
            // 100, 200 and 250 in a histogram up to 300.
            (
                "HISTFAAAACV4nJNpmSzMwMDAwQABzFCaEUrp2H+AsI4zMh1lZEpkAgBdIQSk",
                &[(100, 1), (200, 1), (250, 1)],
            ),
            // One sample of 2048 in a histogram up to 2048, the same from C and Java.
            (
                "HISTFAAAACB4nJNpmSzMwMDAzAABMJoRQnEw2H+AsP7LMwEARZgDpQ==",
                &[(2_048, 1)],
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(
                buckets(&Histogram::from_hdr(text).unwrap()),
                *wanted,
                "{text}"
            );
        }
    }

    #[test]
    fn an_empty_histogram_is_written_and_read() {
        let text = Histogram::new().to_hdr();
        assert_eq!(Histogram::from_hdr(&text), Ok(Histogram::new()));
        assert_eq!(
            Histogram::from_hdr(&pack(&[0, -7, 0], |_| {})),
            Ok(Histogram::new())
        );
    }

    #[test]
    fn what_the_form_does_not_carry_is_bounded_by_the_buckets() {
        let read = Histogram::from_hdr(&of(&[(5, 2), (4_097, 1)]).to_hdr()).unwrap();
        assert_eq!(
            (read.min(), read.max(), read.sum()),
            (Some(5), Some(4_099), 2 * 5 + 4_097)
        );
        let read = Histogram::from_hdr(&of(&[(u64::MAX, 3)]).to_hdr()).unwrap();
        assert_eq!(
            (read.count(), read.max(), read.saturated()),
            (3, Some(TOP), 0)
        );
    }

    #[test]
    fn numbers_of_every_length_come_back() {
        let edges = [
            0,
            1,
            -1,
            63,
            64,
            -64,
            -65,
            8_191,
            8_192,
            1 << 55,
            (1 << 55) - 1,
            i64::MAX,
            i64::MIN,
        ];
        for number in edges {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            assert!(bytes.len() <= NUMBER_BYTES);
            let mut rest = bytes.as_slice();
            assert_eq!(
                (take_number(&mut rest), rest.len()),
                (Ok(number), 0),
                "{number}"
            );
        }
    }

    #[test]
    fn the_largest_histogram_fits_the_limits() {
        let full = Histogram::from_filled(
            &(0..SLOTS)
                .map(|slot| (slot, i64::MAX as u64))
                .collect::<Vec<_>>(),
        );
        let text = full.to_hdr();
        assert_eq!(
            buckets(&Histogram::from_hdr(&text).unwrap()),
            buckets(&full)
        );
        let noise = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1 | 1 << 62;
        let noisy = (0..SLOTS).map(|slot| (slot, noise(slot)));
        let noisy = Histogram::from_filled(&noisy.collect::<Vec<_>>());
        let text = noisy.to_hdr();
        assert_eq!(
            buckets(&Histogram::from_hdr(&text).unwrap()),
            buckets(&noisy)
        );
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    fn texts_that_are_no_histogram_of_ours_are_refused_with_the_reason() {
        let bomb = pack_plain(&vec![0; 100 * PLAIN_BYTES_MAX]);
        let good = of(&[(7, 1), (9_999, 3)]).to_hdr();
        let packed = STANDARD.decode(&good).unwrap();
        let longer = [&packed[8..], b"more"].concat();
        let set = |at: usize, bytes: &'static [u8]| {
            pack(&[1], move |plain| {
                plain[at..at + bytes.len()].copy_from_slice(bytes)
            })
        };
        let layout = |lowest, digits, offset, ratio| HdrError::Layout {
            lowest,
            digits,
            offset,
            ratio,
        };
        let cases: &[(&str, String, HdrError)] = &[
            ("nothing", String::new(), HdrError::Length),
            ("no base64", "HIST!".to_owned(), HdrError::Base64),
            (
                "no padding",
                good.trim_end_matches('=')[..good.len() - 3].to_owned(),
                HdrError::Base64,
            ),
            (
                "too long",
                "A".repeat(TEXT_BYTES_MAX + 1),
                HdrError::TooLong(TEXT_BYTES_MAX + 1),
            ),
            (
                "version 1",
                envelope(0x1c84_9302, &packed[8..]),
                HdrError::Cookie(0x1c84_9302),
            ),
            (
                "not compressed",
                STANDARD.encode(plain(&of(&[(7, 1)]))),
                HdrError::Cookie(0x1c84_9313),
            ),
            (
                "cut off",
                STANDARD.encode(&packed[..packed.len() - 3]),
                HdrError::Length,
            ),
            (
                "cut off inside",
                envelope(0x1c84_9314, &packed[8..packed.len() - 3]),
                HdrError::Zlib,
            ),
            (
                "followed by more",
                envelope(0x1c84_9314, &longer),
                HdrError::Zlib,
            ),
            (
                "not deflated",
                envelope(0x1c84_9314, b"not zlib at all"),
                HdrError::Zlib,
            ),
            ("a bomb", bomb, HdrError::Zlib),
            (
                "no header",
                pack_plain(b"\x1c\x84\x93\x13"),
                HdrError::Length,
            ),
            ("inner cookie", set(0, &[0; 4]), HdrError::Cookie(0)),
            ("counts longer than said", set(4, &[0; 4]), HdrError::Length),
            (
                "counts shorter than said",
                set(4, &[0xff; 4]),
                HdrError::Length,
            ),
            ("an offset", set(8, &[0, 0, 0, 5]), layout(1, 3, 5, 1.0)),
            ("two digits", set(12, &[0, 0, 0, 2]), layout(1, 2, 0, 1.0)),
            (
                "lowest 1000",
                set(16, &[0, 0, 0, 0, 0, 0, 3, 232]),
                layout(1_000, 3, 0, 1.0),
            ),
            ("a ratio", set(32, &[0; 8]), layout(1, 3, 0, 0.0)),
            (
                "a number cut off",
                pack(&[i64::MAX], |plain| {
                    plain.pop();
                    plain[7] -= 1
                }),
                HdrError::Length,
            ),
            (
                "a count above the top",
                pack(&[-(SLOTS as i64), 1], |_| {}),
                HdrError::AboveTop,
            ),
            (
                "an endless run",
                pack(&[i64::MIN, i64::MIN, 1], |_| {}),
                HdrError::AboveTop,
            ),
        ];
        for (name, text, wanted) in cases {
            assert_eq!(Histogram::from_hdr(text).as_ref(), Err(wanted), "{name}");
        }
    }

    proptest! {
        #[test]
        fn the_reference_reads_what_we_write(samples in samples()) {
            let histogram = of(&samples);
            let packed = STANDARD.decode(histogram.to_hdr()).unwrap();
            let mut packed = packed.as_slice();
            let reference: Reference<u64> = Deserializer::new().deserialize(&mut packed).unwrap();
            prop_assert_eq!(reference_buckets(&reference), buckets(&histogram));
            prop_assert_eq!(reference.len(), histogram.count());
        }

        #[test]
        fn we_write_the_very_bytes_the_reference_does(samples in samples()) {
            prop_assume!(!samples.is_empty()); // there the reference writes one count of zero
            let mut reference = Reference::<u64>::new_with_bounds(1, TOP, 3).unwrap();
            samples.iter().for_each(|(value, n)| reference.record_n(*value, *n).unwrap());
            let packed = STANDARD.decode(reference_text(&reference)).unwrap();
            prop_assert_eq!(plain(&of(&samples)), inflate(&packed[8..]).unwrap());
        }

        #[test]
        fn we_read_what_the_reference_writes(samples in samples(), fixed in any::<bool>()) {
            let bounds = || Reference::<u64>::new_with_bounds(1, TOP, 3);
            let mut reference = if fixed { bounds() } else { Reference::new(3) }.unwrap();
            samples.iter().for_each(|(value, n)| reference.record_n(*value, *n).unwrap());
            let histogram = Histogram::from_hdr(&reference_text(&reference)).unwrap();
            prop_assert_eq!(buckets(&histogram), reference_buckets(&reference));
            prop_assert_eq!(buckets(&histogram), buckets(&of(&samples)));
        }

        #[test]
        fn arbitrary_text_is_refused_and_never_panics(text in ".{0,200}") {
            prop_assert!(Histogram::from_hdr(&text).is_err());
        }

        #[test]
        fn arbitrary_counts_give_a_histogram_or_a_reason(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let text = pack(&[], |plain| {
                plain[4..8].copy_from_slice(&(bytes.len() as u32).to_be_bytes());
                plain.extend(&bytes);
            });
            match Histogram::from_hdr(&text) {
                Ok(read) => prop_assert_eq!(Histogram::from_hdr(&read.to_hdr()), Ok(read)),
                Err(error) => prop_assert!(matches!(error, HdrError::Length | HdrError::AboveTop)),
            }
        }

        #[test]
        fn a_damaged_byte_never_panics(
            samples in samples(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut packed = STANDARD.decode(of(&samples).to_hdr()).unwrap();
            let at = at.index(packed.len());
            packed[at] = byte;
            let _ = Histogram::from_hdr(&STANDARD.encode(packed)).map(|read| read.quantile(0.5));
        }
    }
}
