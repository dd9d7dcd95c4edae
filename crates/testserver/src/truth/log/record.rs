//! The header and the records of a truth log, to bytes and back.

use crate::misbehaviour::Misbehaviour;
use units::Instant;

/// The version of the form that is written.
const VERSION: u64 = 1;
/// What every truth log begins with: its name, its version, and the size of its header.
const FORM: [u64; 2] = [
    u64::from_le_bytes(*b"TRUTHLOG"),
    VERSION | (HEADER as u64) << 32,
];
/// Bytes of the header.
pub(super) const HEADER: usize = 64;
/// Bytes of a record.
pub(super) const RECORD: usize = 48;

/// In a header's flags: kernel receive times were asked for.
const STAMPED: u64 = 1;
/// In a record's flags: the client has given the id.
const ID_GIVEN: u64 = 1;
/// In a record's flags: the query could not be understood and was answered 400.
const WRONG: u64 = 2;

/// What a file says of all its records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Header {
    /// When the server started: the beginning of its first stall.
    pub start: Instant,
    /// Nanoseconds from the origin of the monotonic clock to that of real time (1970-01-01 UTC), seen at the start:
    /// what is to be added to an instant to have it on the wall clock.
    pub wall_offset: u64,
    /// The seed of all draws.
    pub seed: u64,
    /// The kernel's name for this boot, of which the instants are; zeros where it does not say.
    pub boot: [u8; 16],
    /// Kernel receive times were asked for.
    pub stamped: bool,
}

/// One request. Instants are those of the server's monotonic clock; [`Instant::ZERO`] is "never" or "not known".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Record {
    /// What its draws are keyed by.
    pub id: u64,
    /// When the kernel received the bytes that completed it.
    pub received: Instant,
    /// When the server had read them: the clock just after the receive.
    pub read: Instant,
    /// When it was to be answered at the earliest; the time it was read, if nothing put it off.
    pub due: Instant,
    /// The clock just before the send that carried the first byte of what it was answered.
    pub departure: Instant,
    /// The number of its connection, from 1 in the order of accepting.
    pub connection: u32,
    /// What it met.
    pub misbehaviour: Option<Misbehaviour>,
    /// The client has given the id; otherwise it is the server's count of those without.
    pub id_given: bool,
    /// Its query could not be understood and was answered 400.
    pub wrong: bool,
}

impl Record {
    /// What delays are counted from: the kernel's receive time where there is one, else the time of reading.
    pub fn arrival(&self) -> Instant {
        if self.received == Instant::ZERO {
            self.read
        } else {
            self.received
        }
    }

    pub(super) fn bytes(&self) -> [u8; RECORD] {
        let place = self.misbehaviour.map_or(0, |each| each as u64 + 1);
        let flags = ID_GIVEN * u64::from(self.id_given) + WRONG * u64::from(self.wrong);
        let times = [self.received, self.read, self.due, self.departure].map(Instant::as_nanos);
        let [received, read, due, departure] = times;
        let last = u64::from(self.connection) | place << 32 | flags << 48;
        bytes([self.id, received, read, due, departure, last])
    }

    /// None where it names a misbehaviour that this version does not know.
    pub(super) fn read(bytes: &[u8; RECORD]) -> Option<Record> {
        let [id, received, read, due, departure, last] = words(bytes);
        let [received, read, due, departure] =
            [received, read, due, departure].map(Instant::from_nanos);
        let (place, flags) = ((last >> 32) as u16, last >> 48);
        Some(Record {
            id,
            received,
            read,
            due,
            departure,
            connection: last as u32,
            misbehaviour: match place {
                0 => None,
                place => Some(*Misbehaviour::ALL.get(usize::from(place) - 1)?),
            },
            id_given: flags & ID_GIVEN != 0,
            wrong: flags & WRONG != 0,
        })
    }
}

impl Header {
    pub(super) fn bytes(&self) -> [u8; HEADER] {
        let [magic, sizes] = FORM;
        let record = RECORD as u64 | (STAMPED * u64::from(self.stamped)) << 32;
        let [boot, boot_end] = words(&self.boot);
        let (start, wall_offset, seed) = (self.start.as_nanos(), self.wall_offset, self.seed);
        bytes([
            magic,
            sizes,
            record,
            start,
            wall_offset,
            seed,
            boot,
            boot_end,
        ])
    }

    /// None where this is no truth log, or one of another version.
    pub(super) fn read(from: &[u8; HEADER]) -> Option<Header> {
        let [
            magic,
            sizes,
            record,
            start,
            wall_offset,
            seed,
            boot,
            boot_end,
        ] = words(from);
        let is_ours = [magic, sizes] == FORM && record as u32 == RECORD as u32;
        is_ours.then(|| Header {
            start: Instant::from_nanos(start),
            wall_offset,
            seed,
            boot: bytes([boot, boot_end]),
            stamped: record >> 32 & STAMPED != 0,
        })
    }
}

/// Numbers as bytes, little-endian, one behind the other; `BYTES` are eight times as many.
fn bytes<const WORDS: usize, const BYTES: usize>(words: [u64; WORDS]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The numbers that [`bytes`] was given.
fn words<const WORDS: usize>(bytes: &[u8]) -> [u64; WORDS] {
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|place| u64::from_le_bytes(words[place]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            id: 0x0102_0304_0506_0708,
            received: Instant::from_nanos(0x11),
            read: Instant::from_nanos(0x12),
            due: Instant::from_nanos(0x13),
            departure: Instant::from_nanos(0x14),
            connection: 0x2122,
            misbehaviour: Some(Misbehaviour::ALL[2]),
            id_given: true,
            wrong: false,
        }
    }

    #[test]
    fn a_record_has_its_bytes_where_the_manual_says() {
        let bytes = record().bytes();
        assert_eq!(bytes[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(
            [bytes[8], bytes[16], bytes[24], bytes[32]],
            [0x11, 0x12, 0x13, 0x14]
        );
        assert_eq!(bytes[40..], [0x22, 0x21, 0, 0, 3, 0, 1, 0]);
        assert_eq!(Record::read(&bytes), Some(record()));
    }

    #[test]
    fn every_misbehaviour_and_flag_is_read_as_it_was_written() {
        let all = Misbehaviour::ALL.iter().map(|each| Some(*each));
        for misbehaviour in all.chain([None]) {
            for (id_given, wrong) in [(false, false), (true, false), (false, true), (true, true)] {
                let record = Record {
                    misbehaviour,
                    id_given,
                    wrong,
                    ..record()
                };
                assert_eq!(Record::read(&record.bytes()), Some(record));
            }
        }
        let mut bytes = record().bytes();
        bytes[44..46].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(Record::read(&bytes), None);
    }

    #[test]
    fn a_header_has_its_bytes_where_the_manual_says_and_nothing_else_is_one() {
        let header = Header {
            start: Instant::from_nanos(0x31),
            wall_offset: 0x32,
            seed: 0x33,
            boot: [0x34; 16],
            stamped: true,
        };
        let bytes = header.bytes();
        assert_eq!(&bytes[..8], b"TRUTHLOG");
        assert_eq!([bytes[8], bytes[12], bytes[16], bytes[20]], [1, 64, 48, 1]);
        assert_eq!([bytes[24], bytes[32], bytes[40]], [0x31, 0x32, 0x33]);
        assert_eq!(bytes[48..], [0x34; 16]);
        assert_eq!(Header::read(&bytes), Some(header));
        for place in [0, 7, 8, 12, 16] {
            let mut other = bytes;
            other[place] += 1;
            assert_eq!(Header::read(&other), None, "byte {place}");
        }
    }

    #[test]
    fn an_arrival_is_the_kernels_where_it_is_known() {
        assert_eq!(record().arrival(), Instant::from_nanos(0x11));
        let unknown = Record {
            received: Instant::ZERO,
            ..record()
        };
        assert_eq!(unknown.arrival(), Instant::from_nanos(0x12));
    }
}
