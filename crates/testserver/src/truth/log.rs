//! The truth log: one fixed-size record for each request, raw, so that a client's figures can be compared with what
//! happened by sorting alone.
//!
//! A file is a header of 64 bytes and records of 48, all numbers little-endian; `docs/truth.md` has the table. It is
//! binary because it is written while requests are being served, and fixed because then a torn end is a remainder of a
//! division.
//!
//! ```
//! use testserver::truth::log::{Header, Record, Writer, read};
//!
//! let folder = std::env::temp_dir().join(format!("truth-log-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let path = folder.join("example.log");
//! let header = Header { seed: 7, ..Header::default() };
//! let mut writer = Writer::new(Box::new(std::fs::File::create(&path)?), &header, |_| ());
//! writer.add(&Record { id: 42, connection: 1, ..Record::default() });
//! assert_eq!(writer.finish().written, 1);
//!
//! let mut records = read(&path)?;
//! assert_eq!(records.header().seed, 7);
//! assert_eq!(records.next().unwrap()?.id, 42);
//! assert!(records.next().is_none());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// In reading order: what a file holds,
mod record;
// how it is written
mod writer;
// and read again.
mod reader;

pub use reader::{LogError, Records, read};
pub use record::{Header, Record};
pub use writer::{LogCounts, Writer};

/// The records of a log in memory.
#[cfg(test)]
pub(crate) fn records(bytes: &[u8]) -> Vec<Record> {
    let chunks = bytes[record::HEADER..].chunks(record::RECORD);
    let read = |bytes: &[u8]| Record::read(bytes.try_into().expect("a whole record"));
    chunks.map(|bytes| read(bytes).expect("a record")).collect()
}
