//! A truth log read again, record by record.

use super::record::{HEADER, Header, RECORD, Record};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Why a truth log cannot be read, or not to its end: which file, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{path}{why}")]
pub struct LogError {
    path: PathBuf,
    why: String,
}

/// The records of a log, in the order in which requests were answered or given up. After an error nothing follows.
#[derive(Debug)]
pub struct Records {
    from: BufReader<File>,
    path: PathBuf,
    header: Header,
    is_over: bool,
}

/// Opens a log and reads its header.
///
/// # Errors
/// The file cannot be read, or is no truth log.
pub fn read(path: impl AsRef<Path>) -> Result<Records, LogError> {
    let path = path.as_ref().to_owned();
    let open = || -> io::Result<_> {
        let (mut from, mut bytes) = (BufReader::new(File::open(&path)?), [0; HEADER]);
        from.read_exact(&mut bytes)?;
        Ok((from, Header::read(&bytes)))
    };
    let why = match open() {
        Ok((from, Some(header))) => {
            return Ok(Records {
                from,
                path,
                header,
                is_over: false,
            });
        }
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => format!(": {error}"),
        _ => " is not a truth log of this version".to_owned(),
    };
    Err(LogError { path, why })
}

impl Records {
    /// What the file says of all of them.
    pub fn header(&self) -> &Header {
        &self.header
    }
}

impl Iterator for Records {
    type Item = Result<Record, LogError>;

    fn next(&mut self) -> Option<Result<Record, LogError>> {
        if self.is_over {
            return None;
        }
        let mut bytes = Vec::with_capacity(RECORD);
        let read = (&mut self.from).take(RECORD as u64).read_to_end(&mut bytes);
        let why = match (read, bytes.first_chunk().map(Record::read)) {
            (Ok(0), _) => return None,
            (Ok(_), Some(Some(record))) => return Some(Ok(record)),
            (Ok(_), Some(None)) => {
                " holds a misbehaviour that this version does not know".to_owned()
            }
            (Ok(_), None) => " ends in the middle of a record".to_owned(),
            (Err(error), _) => format!(": {error}"),
        };
        self.is_over = true;
        let path = self.path.clone();
        Some(Err(LogError { path, why }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Writer;
    use super::*;

    /// A file of this test alone, gone at its end.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Place {
            let name = format!("weigh-truth-{}-log-{name}", std::process::id());
            Place(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0); // it may never have been there
        }
    }

    fn three(place: &Place) -> Vec<u8> {
        let file = Box::new(File::create(&place.0).unwrap());
        let mut writer = Writer::new(file, &Header::default(), |_| ());
        for id in 1..=3 {
            writer.add(&Record {
                id,
                ..Record::default()
            });
        }
        writer.finish();
        std::fs::read(&place.0).unwrap()
    }

    #[test]
    fn what_was_written_is_read_in_its_order() {
        let place = Place::new("order");
        three(&place);
        let ids: Vec<u64> = read(&place.0)
            .unwrap()
            .map(|record| record.unwrap().id)
            .collect();
        assert_eq!(ids, [1, 2, 3]);
    }

    #[test]
    fn a_torn_end_is_told_after_the_whole_records() {
        let place = Place::new("torn");
        let bytes = three(&place);
        std::fs::write(&place.0, &bytes[..bytes.len() - 1]).unwrap();
        let mut records = read(&place.0).unwrap();
        assert_eq!(records.next().unwrap().unwrap().id, 1);
        assert_eq!(records.next().unwrap().unwrap().id, 2);
        let error = records.next().unwrap().unwrap_err().to_string();
        assert!(error.ends_with("ends in the middle of a record"), "{error}");
        assert!(records.next().is_none());
    }

    #[test]
    fn other_files_are_refused() {
        let place = Place::new("other");
        for bytes in [&b""[..], b"TRUTHLOG", &[b'x'; 200]] {
            std::fs::write(&place.0, bytes).unwrap();
            let error = read(&place.0).unwrap_err().to_string();
            assert!(
                error.ends_with("log-other is not a truth log of this version"),
                "{error}"
            );
        }
        std::fs::remove_file(&place.0).unwrap();
        assert!(
            read(&place.0)
                .unwrap_err()
                .to_string()
                .contains("log-other: No such file")
        );
    }
}
