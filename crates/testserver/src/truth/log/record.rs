//! The header and the records of a truth log, to bytes and back.

use crate::misbehaviour::Misbehaviour;
use units::Instant;

/// What every truth log begins with.
const MAGIC: [u8; 8] = *b"TRUTHLOG";
/// The version of the form that is written.
pub(super) const VERSION: u32 = 1;
/// Bytes of the header.
pub(super) const HEADER: usize = 64;
/// Bytes of a record.
pub(super) const RECORD: usize = 48;

/// In a header's flags: kernel receive times were asked for.
const STAMPED: u32 = 1;
/// In a record's flags: the client has given the id.
const ID_GIVEN: u16 = 1;
/// In a record's flags: the query could not be understood and was answered 400.
const WRONG: u16 = 2;

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
        let place = |each: Misbehaviour| each as u16 + 1;
        let flags = ID_GIVEN * u16::from(self.id_given) + WRONG * u16::from(self.wrong);
        let mut bytes = [0; RECORD];
        let mut out = Out(&mut bytes);
        out.put(self.id.to_le_bytes());
        for instant in [self.received, self.read, self.due, self.departure] {
            out.put(instant.as_nanos().to_le_bytes());
        }
        out.put(self.connection.to_le_bytes());
        out.put(self.misbehaviour.map_or(0, place).to_le_bytes());
        out.put(flags.to_le_bytes());
        bytes
    }

    /// None where it names a misbehaviour that this version does not know.
    pub(super) fn read(bytes: &[u8; RECORD]) -> Option<Record> {
        let mut from = In(bytes);
        let id = u64::from_le_bytes(from.take());
        let [received, read, due, departure] =
            [(); 4].map(|()| Instant::from_nanos(u64::from_le_bytes(from.take())));
        let connection = u32::from_le_bytes(from.take());
        let misbehaviour = match u16::from_le_bytes(from.take()) {
            0 => None,
            place => Some(*Misbehaviour::ALL.get(usize::from(place) - 1)?),
        };
        let flags = u16::from_le_bytes(from.take());
        Some(Record {
            id,
            received,
            read,
            due,
            departure,
            connection,
            misbehaviour,
            id_given: flags & ID_GIVEN != 0,
            wrong: flags & WRONG != 0,
        })
    }
}

impl Header {
    pub(super) fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        let mut out = Out(&mut bytes);
        out.put(MAGIC);
        for number in [VERSION, HEADER as u32, RECORD as u32] {
            out.put(number.to_le_bytes());
        }
        out.put((STAMPED * u32::from(self.stamped)).to_le_bytes());
        for number in [self.start.as_nanos(), self.wall_offset, self.seed] {
            out.put(number.to_le_bytes());
        }
        out.put(self.boot);
        bytes
    }

    /// None where this is no truth log, or one of another version.
    pub(super) fn read(bytes: &[u8; HEADER]) -> Option<Header> {
        let mut from = In(bytes);
        let magic: [u8; 8] = from.take();
        let form = [(); 3].map(|()| u32::from_le_bytes(from.take()));
        let flags = u32::from_le_bytes(from.take());
        let [start, wall_offset, seed] = [(); 3].map(|()| u64::from_le_bytes(from.take()));
        let is_ours = magic == MAGIC && form == [VERSION, HEADER as u32, RECORD as u32];
        is_ours.then(|| Header {
            start: Instant::from_nanos(start),
            wall_offset,
            seed,
            boot: from.take(),
            stamped: flags & STAMPED != 0,
        })
    }
}

/// Fields, one behind the other.
struct Out<'a>(&'a mut [u8]);

impl Out<'_> {
    fn put<const N: usize>(&mut self, field: [u8; N]) {
        let (place, rest) = std::mem::take(&mut self.0).split_at_mut(N);
        place.copy_from_slice(&field);
        self.0 = rest;
    }
}

struct In<'a>(&'a [u8]);

impl In<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_at(N);
        self.0 = rest;
        field.try_into().expect("it is as long as it was split off")
    }
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
