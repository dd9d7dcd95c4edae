//! A truth log being written: records are gathered and handed over in pieces, between two requests.
//!
//! There is one thread, so a write is a short stall of the server itself; pieces are small so that none is long, and a
//! log in memory (a file in `/dev/shm`) is better than one on a disk. What cannot be written is kept up to a limit, and
//! beyond it counted and given up: a full disk must not stop a server that tells the truth of everything else.

use super::record::{Header, RECORD, Record};
use refserver::parts::Appender;
use std::io::{self, Write};
use units::Instant;

/// What became of the records.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LogCounts {
    /// Records that the file has.
    pub written: u64,
    /// Records that could not be written; none of them is in `written`.
    pub lost: u64,
}

/// A log being written.
pub struct Writer {
    records: Appender,
    /// Records that were to be added.
    count: u64,
    /// Those of them for which there was no room.
    lost: u64,
    complain: fn(&str),
    has_complained: bool,
}

impl Writer {
    /// Writes the header to `to`, and then what is added. The first failure is told `complain`, in one sentence.
    pub fn new(to: Box<dyn Write + Send>, header: &Header, complain: fn(&str)) -> Writer {
        let mut writer = Writer {
            records: Appender::new(to, header.start),
            count: 0,
            lost: 0,
            complain,
            has_complained: false,
        };
        writer.put(&header.bytes());
        writer
    }

    /// Adds a record.
    pub fn add(&mut self, record: &Record) {
        self.count += 1;
        if !self.put(&record.bytes()) {
            self.lost += 1;
        }
        let written = self.records.end_line();
        self.see(written);
    }

    /// Writes what has been gathered for a second.
    pub fn tick(&mut self, now: Instant) {
        let written = self.records.tick(now);
        self.see(written);
    }

    /// Writes what is gathered, and says what became of everything.
    pub fn finish(mut self) -> LogCounts {
        let written = self.records.flush();
        self.see(written);
        let written = self.counts().written;
        LogCounts {
            written,
            lost: self.count - written,
        }
    }

    /// What became of the records so far, without those that are still gathered.
    pub fn counts(&self) -> LogCounts {
        let kept = self.count - self.lost;
        // A header that is not written counts for two; there is no record before it.
        let gathered = self.records.unwritten().len().div_ceil(RECORD) as u64;
        LogCounts {
            written: kept.saturating_sub(gathered),
            lost: self.lost,
        }
    }

    /// Says whether there was room.
    fn put(&mut self, bytes: &[u8]) -> bool {
        let line = self.records.line();
        line.is_some_and(|line| line.write_all(bytes).is_ok())
    }

    fn see(&mut self, written: io::Result<()>) {
        if let Err(error) = written
            && !std::mem::replace(&mut self.has_complained, true)
        {
            (self.complain)(&format!(
                "the truth log cannot be written: {error}; records may be missing in it"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::log::record::HEADER;
    use std::io::ErrorKind;
    use std::sync::{Arc, Mutex};
    use units::Nanos;

    /// A disk with so much room; what does not fit is refused.
    #[derive(Clone)]
    struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Disk {
        fn with(room: usize) -> Disk {
            Disk(Arc::new(Mutex::new((Vec::new(), room))))
        }

        fn allow(&self, more: usize) {
            self.0.lock().unwrap().1 += more;
        }

        /// The ids of the records that it has, behind a whole header.
        fn ids(&self) -> Vec<u64> {
            let disk = self.0.lock().unwrap();
            let (header, records) = disk.0.split_at(HEADER);
            assert_eq!(
                Header::read(header.try_into().unwrap()),
                Some(Header::default())
            );
            assert_eq!(records.len() % RECORD, 0, "a torn end");
            let record = |bytes: &[u8]| Record::read(bytes.try_into().unwrap()).unwrap().id;
            records.chunks(RECORD).map(record).collect()
        }
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (stored, room) = &mut *self.0.lock().unwrap();
            let taken = bytes.len().min(*room);
            if taken == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            stored.extend_from_slice(&bytes[..taken]);
            *room -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn writer(disk: &Disk) -> Writer {
        Writer::new(Box::new(disk.clone()), &Header::default(), |_| ())
    }

    fn add(writer: &mut Writer, ids: std::ops::Range<u64>) {
        for id in ids {
            writer.add(&Record {
                id,
                ..Record::default()
            });
        }
    }

    #[test]
    fn all_that_is_added_is_written_at_the_end() {
        for count in [0, 1, 340, 341, 5000] {
            let disk = Disk::with(1 << 20);
            let mut writer = writer(&disk);
            add(&mut writer, 0..count);
            let counts = writer.finish();
            assert_eq!((counts.written, counts.lost), (count, 0));
            assert_eq!(disk.ids(), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_record_is_on_disk_a_second_later() {
        let disk = Disk::with(1 << 20);
        let mut writer = writer(&disk);
        add(&mut writer, 0..3);
        writer.tick(Instant::ZERO + Nanos::from_millis(999));
        assert_eq!(disk.0.lock().unwrap().0.len(), 0);
        writer.tick(Instant::ZERO + Nanos::from_millis(1000));
        assert_eq!(disk.ids(), [0, 1, 2]);
        assert_eq!(writer.counts().written, 3);
    }

    #[test]
    fn a_full_disk_tears_no_record_and_what_was_kept_follows_when_there_is_room_again() {
        for room in 0..HEADER + 3 * RECORD {
            let disk = Disk::with(room);
            let mut writer = writer(&disk);
            add(&mut writer, 0..10);
            assert!(writer.records.flush().is_err());
            let begun = room.saturating_sub(HEADER) / RECORD;
            assert_eq!(writer.counts().written, begun as u64, "{room}");
            disk.allow(1 << 20);
            add(&mut writer, 10..13);
            let counts = writer.finish();
            assert_eq!((counts.written, counts.lost), (13, 0), "{room}");
            assert_eq!(disk.ids(), (0..13).collect::<Vec<_>>(), "{room}");
        }
    }

    #[test]
    fn a_full_disk_loses_records_beyond_a_limit() {
        let disk = Disk::with(HEADER + 10);
        let mut writer = writer(&disk);
        add(&mut writer, 0..10_000);
        disk.allow(1 << 20);
        let counts = writer.finish();
        assert!(counts.lost > 0 && counts.written > 5000, "{counts:?}");
        assert_eq!(counts.written + counts.lost, 10_000);
        assert_eq!(disk.ids(), (0..counts.written).collect::<Vec<_>>());
    }

    #[test]
    fn a_full_disk_is_told_once() {
        static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let disk = Disk::with(HEADER + 10);
        let complain = |sentence: &str| TOLD.lock().unwrap().push(sentence.to_owned());
        let mut writer = Writer::new(Box::new(disk), &Header::default(), complain);
        add(&mut writer, 0..5000);
        let counts = writer.finish();
        let told = TOLD.lock().unwrap();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("the truth log cannot be written: "),
            "{told:?}"
        );
        assert_eq!((counts.written, counts.lost), (0, 5000));
    }
}
