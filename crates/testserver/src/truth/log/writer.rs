//! A truth log being written: records are gathered and handed over in pieces, between two requests.
//!
//! There is one thread, so a write is a short stall of the server itself; pieces are small so that none is long, and a
//! log in memory (a file in `/dev/shm`) is better than one on a disk. What cannot be written is counted and given up:
//! a full disk must not stop a server that tells the truth of everything else.

use super::record::{HEADER, Header, RECORD, Record};
use std::io::{ErrorKind, Write};
use units::{Instant, Nanos};

/// Bytes that are gathered before they are written: 16 KiB are copied in some 3 us, and are 341 records.
const PIECE: usize = 16 * 1024;
/// How old gathered records become at most before they are written, as long as the server looks.
const AGE: Nanos = Nanos::from_secs(1);

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
    to: Box<dyn Write + Send>,
    /// Gathered, and not yet written.
    pieces: Vec<u8>,
    /// How much of what `pieces` begins with is written already: a record, or the header, that was cut in two.
    cut: usize,
    /// Whether `pieces` begins with the header.
    has_header: bool,
    counts: LogCounts,
    /// When the file was last written to.
    written_at: Instant,
    complain: fn(&str),
    has_complained: bool,
}

impl Writer {
    /// Writes the header to `to`, and then what is added. The first failure is told `complain`, in one sentence.
    pub fn new(to: Box<dyn Write + Send>, header: &Header, complain: fn(&str)) -> Writer {
        let mut pieces = Vec::with_capacity(PIECE + RECORD);
        pieces.extend_from_slice(&header.bytes());
        Writer {
            to,
            pieces,
            cut: 0,
            has_header: true,
            counts: LogCounts::default(),
            written_at: header.start,
            complain,
            has_complained: false,
        }
    }

    /// Adds a record.
    pub fn add(&mut self, record: &Record) {
        self.pieces.extend_from_slice(&record.bytes());
        if self.pieces.len() >= PIECE {
            self.flush();
        }
    }

    /// Writes what has been gathered for a second.
    pub fn tick(&mut self, now: Instant) {
        if !self.pieces.is_empty() && now - self.written_at >= AGE {
            self.written_at = now;
            self.flush();
        }
    }

    /// Writes what is gathered, and says what became of everything.
    pub fn finish(mut self) -> LogCounts {
        self.flush();
        self.counts.lost += self.records(self.pieces.len());
        self.counts
    }

    /// What became of the records so far, without those that are still gathered.
    pub fn counts(&self) -> LogCounts {
        self.counts
    }

    fn flush(&mut self) {
        let mut done = self.cut;
        while done < self.pieces.len() {
            match self.to.write(&self.pieces[done..]) {
                Ok(0) => return self.give_up(done, &ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.give_up(done, &error),
            }
        }
        self.forget(done);
    }

    /// All of it is written.
    fn forget(&mut self, length: usize) {
        self.counts.written += self.records(length);
        self.pieces.clear();
        (self.cut, self.has_header) = (0, false);
    }

    /// Loses what could not be written, but for the rest of what was cut in two: so records stay where they belong.
    fn give_up(&mut self, done: usize, error: &std::io::Error) {
        if !std::mem::replace(&mut self.has_complained, true) {
            let sentence =
                format!("the truth log cannot be written: {error}; records are missing in it");
            (self.complain)(&sentence);
        }
        let whole = self.boundary(done);
        let keep = self.following(whole, done);
        self.counts.written += self.records(whole);
        self.counts.lost += self.records(self.pieces.len()) - self.records(keep);
        self.pieces.copy_within(whole..keep, 0);
        self.pieces.truncate(keep - whole);
        self.cut = done - whole;
        self.has_header &= whole == 0;
    }

    /// Where the last whole record (or the header) ends within `length` bytes.
    fn boundary(&self, length: usize) -> usize {
        let header = if self.has_header { HEADER } else { 0 };
        match length.checked_sub(header) {
            Some(rest) => header + rest / RECORD * RECORD,
            None => 0,
        }
    }

    /// Where that ends of which bytes from `whole` to `done` are written. A header is never given up.
    fn following(&self, whole: usize, done: usize) -> usize {
        if self.has_header && whole == 0 {
            HEADER
        } else if done > whole {
            whole + RECORD
        } else {
            whole
        }
    }

    /// Whole records in the first `length` bytes.
    fn records(&self, length: usize) -> u64 {
        let header = if self.has_header { HEADER } else { 0 };
        (length.saturating_sub(header) / RECORD) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::{Arc, Mutex};

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
    fn a_full_disk_loses_records_and_never_a_part_of_one() {
        for room in 0..HEADER + 3 * RECORD {
            let disk = Disk::with(room);
            let mut writer = writer(&disk);
            add(&mut writer, 0..10);
            writer.flush();
            disk.allow(1 << 20);
            add(&mut writer, 100..103);
            let counts = writer.finish();
            let ids = disk.ids();
            assert_eq!(ids.len() as u64, counts.written, "{room}");
            assert_eq!(counts.written + counts.lost, 13, "{room}");
            assert!(ids.ends_with(&[100, 101, 102]), "{room}: {ids:?}");
            assert!(ids.is_sorted(), "{room}: {ids:?}");
            // What had begun to be written is finished, and no more of what came with it.
            let begun = room.saturating_sub(HEADER).div_ceil(RECORD);
            assert_eq!(ids.len(), begun + 3, "{room}");
        }
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
