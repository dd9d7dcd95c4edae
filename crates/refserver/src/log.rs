//! The access log, in the combined format that every log reader knows.
//!
//! ```text
//! 192.0.2.7 - - [06/Nov/1994:08:49:37 +0000] "GET /a.html HTTP/1.1" 200 2326 "http://ref.example/" "Browser/1.0"
//! ```
//!
//! The line of a request that was refused has what came of its request line, and the reason as one more field at the
//! end, where nginx's usual format has one more, too, so that readers of the combined format pass over it.
//!
//! A worker has a buffer of its own and all workers append to one file (O_APPEND), each time with one call and whole
//! lines, so that lines never mix and a program that moves the file away loses none. What cannot be written (a full
//! disk) is kept up to a limit, and beyond it lost and counted: serving goes on.
//!
//! The file is written by the thread that serves. A line is some 150 bytes, so that is one call for a hundred
//! requests; a disk that makes writers wait makes clients wait too, which is why logging is off unless it is asked for.

use crate::appender::Appender;
use kernel::descriptors;
use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use units::Instant;
use wire::Version;
use wire::http1::RequestHead;

/// A field is cut after so many bytes, so that a line is never longer than some kilobytes.
const FIELD: usize = 2048;

/// The file that all workers append to, by name. Each worker opens it for itself, as each has its own descriptors.
#[derive(Debug, Default)]
pub(crate) struct LogFile {
    pub(crate) path: PathBuf,
    /// It belongs to the user that the server runs as, so nothing is opened that a link leads to.
    pub(crate) is_given: bool,
    /// How often it was to be opened anew.
    pub(crate) generation: AtomicU32,
}

impl LogFile {
    /// Has every worker open the file anew, which they do within a turn of their loops: what a rotation has put at its
    /// name, or a new one.
    ///
    /// # Errors
    /// It cannot be opened now, so the workers keep what they have.
    pub(crate) fn renew(&self) -> io::Result<()> {
        self.open()?;
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The file, open for appending.
    ///
    /// # Errors
    /// What the system said; ELOOP for a link where the file is given to a user.
    pub(crate) fn open(&self) -> io::Result<File> {
        match self.is_given {
            true => descriptors::append_unlinked(&self.path),
            false => descriptors::append(&self.path),
        }
    }
}

/// Where one worker's lines go.
pub(crate) struct Log {
    lines: Appender,
    /// What is appended to, and which of its generations this is.
    file: Arc<LogFile>,
    generation: u32,
    /// The time of day as it stands in lines.
    pub(crate) stamp: String,
}

/// The parts of a line that are known when a request's head is there.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// Method, target and version.
    request: Vec<u8>,
    /// Referer and agent.
    client: Vec<u8>,
}

impl Draft {
    /// Of a request that was read.
    pub(crate) fn note(&mut self, head: &RequestHead<'_>) {
        self.clear();
        let version = match head.version {
            Version::Http10 => " HTTP/1.0",
            Version::Http11 => " HTTP/1.1",
        };
        quote(head.method.as_bytes(), &mut self.request);
        self.request.push(b' ');
        quote(head.path, &mut self.request);
        self.request.extend_from_slice(version.as_bytes());
        for (name, end) in [("referer", &b"\" \""[..]), ("user-agent", b"")] {
            quote(head.header(name).unwrap_or(b"-"), &mut self.client);
            self.client.extend_from_slice(end);
        }
    }

    /// Of one that was refused before it was read: the first line of what came.
    pub(crate) fn note_refused(&mut self, line: &[u8]) {
        self.clear();
        quote(line, &mut self.request);
    }

    /// Of nothing.
    pub(crate) fn clear(&mut self) {
        self.request.clear();
        self.client.clear();
    }
}

impl Log {
    /// A worker's part of the log, which goes to `to`.
    #[cfg(test)]
    pub(crate) fn new(to: impl Write + Send + 'static) -> Log {
        Log {
            lines: Appender::new(Box::new(to), Instant::ZERO),
            file: Arc::default(),
            generation: 0,
            stamp: String::new(),
        }
    }

    /// A worker's part of the log in `file`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(file: &Arc<LogFile>) -> io::Result<Log> {
        let generation = file.generation.load(Ordering::Relaxed);
        Ok(Log {
            lines: Appender::new(Box::new(file.open()?), Instant::ZERO),
            file: Arc::clone(file),
            generation,
            stamp: String::new(),
        })
    }

    /// One more line, for a request of `peer` (none on a Unix socket) that `draft` describes: the status and the bytes of
    /// the body of its response, and why it was refused (empty if it was not). Says whether the line was kept.
    pub(crate) fn line(
        &mut self,
        draft: &Draft,
        peer: Option<IpAddr>,
        (status, bytes): (u16, u64),
        reason: &str,
    ) -> bool {
        let Some(out) = self.lines.line() else {
            return false;
        };
        let or = |known, otherwise| if known == b"" { otherwise } else { known };
        let request = or(&draft.request[..], b"-");
        let client = or(&draft.client[..], b"-\" \"-");
        // It has room for a whole line. What cannot be written to the file stays there.
        let _ = match peer {
            Some(peer) => write!(out, "{}", peer.to_canonical()),
            None => write!(out, "unix"),
        };
        let _ = write!(out, " - - [{}] \"", self.stamp);
        let _ = out.write_all(request);
        let _ = write!(out, "\" {status} {bytes} \"");
        let _ = out.write_all(client);
        if !reason.is_empty() {
            let _ = write!(out, "\" \"{reason}");
        }
        let _ = out.write_all(b"\"\n");
        let _ = self.lines.end_line();
        true
    }

    /// Writes what has waited long enough, or what belongs to a file that is to be opened anew.
    #[inline]
    pub(crate) fn tick(&mut self, now: Instant) {
        let _ = self.lines.tick(now); // what is not written is kept
        if self.file.generation.load(Ordering::Relaxed) != self.generation {
            self.renew();
        }
    }

    /// Writes what there is, and goes on in the file that has the log's name now. Should it be gone again, the old one is
    /// written on until the next turn tries anew.
    #[cold]
    fn renew(&mut self) {
        self.flush();
        let generation = self.file.generation.load(Ordering::Relaxed);
        if let Ok(opened) = self.file.open() {
            self.lines.redirect(Box::new(opened));
            self.generation = generation;
        }
    }

    /// Writes what there is.
    pub(crate) fn flush(&mut self) {
        let _ = self.lines.flush(); // what is not written is kept
    }

    /// Lines that were never written, when nothing more will be.
    pub(crate) fn unwritten(&self) -> u64 {
        self.lines
            .unwritten()
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count() as u64
    }
}

/// Appends a field so that it can neither end itself nor the line, nor do anything to a terminal.
fn quote(field: &[u8], out: &mut Vec<u8>) {
    for &byte in &field[..field.len().min(FIELD)] {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b' '..=b'~' => out.push(byte),
            _ => {
                let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
                out.extend([b'\\', b'x', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::appender::LIMIT;
    use std::sync::Mutex;
    use units::Nanos;

    const PERIOD: Nanos = Nanos::from_secs(1);
    const FULL: usize = 16 * 1024;

    /// A file on a disk with so much room.
    #[derive(Default)]
    struct Disk {
        written: Mutex<Vec<u8>>,
        room: Mutex<usize>,
        calls: Mutex<u32>,
    }

    impl Disk {
        fn with(room: usize) -> Arc<Disk> {
            let disk = Disk::default();
            *disk.room.lock().unwrap() = room;
            Arc::new(disk)
        }

        fn text(&self) -> String {
            String::from_utf8(self.written.lock().unwrap().clone()).unwrap()
        }
    }

    struct Part(Arc<Disk>);

    impl Write for Part {
        fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
            self.0.append(lines)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Disk {
        fn append(&self, lines: &[u8]) -> io::Result<usize> {
            *self.calls.lock().unwrap() += 1;
            let mut room = self.room.lock().unwrap();
            let taken = lines.len().min(*room);
            if taken == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            *room -= taken;
            self.written.lock().unwrap().extend(&lines[..taken]);
            Ok(taken)
        }
    }

    fn draft(request: &str, client: &str) -> Draft {
        Draft {
            request: request.into(),
            client: client.into(),
        }
    }

    #[test]
    fn lines_are_in_the_combined_format() {
        let disk = Disk::with(usize::MAX);
        let mut log = Log::new(Part(disk.clone()));
        log.stamp = "06/Nov/1994:08:49:37 +0000".into();
        let peer = Some("::ffff:192.0.2.7".parse().unwrap());
        assert!(log.line(
            &draft("GET /a HTTP/1.1", "-\" \"Browser/1.0"),
            peer,
            (200, 2326),
            ""
        ));
        assert!(log.line(&Draft::default(), None, (400, 0), ""));
        let mut refused = draft("GET /", "Browser");
        refused.note_refused(b"\x16\x03\"");
        assert!(log.line(&refused, None, (400, 0), "the request line is malformed"));
        assert_eq!(disk.text(), "", "nothing is written before its time");
        log.tick(Instant::ZERO + PERIOD);
        assert_eq!(
            disk.text(),
            "192.0.2.7 - - [06/Nov/1994:08:49:37 +0000] \"GET /a HTTP/1.1\" 200 2326 \"-\" \"Browser/1.0\"\n\
             unix - - [06/Nov/1994:08:49:37 +0000] \"-\" 400 0 \"-\" \"-\"\n\
             unix - - [06/Nov/1994:08:49:37 +0000] \"\\x16\\x03\\\"\" 400 0 \"-\" \"-\" \"the request line is malformed\"\n"
        );
    }

    #[test]
    fn no_field_can_break_out_of_its_quotes() {
        let mut out = Vec::new();
        quote(b"a\"b\\c\r\n\x1b[31m\xe4", &mut out);
        assert_eq!(out, br#"a\"b\\c\x0d\x0a\x1b[31m\xe4"#);
        out.clear();
        quote(&[b'a'; 3 * FIELD], &mut out);
        assert_eq!(out.len(), FIELD);
    }

    #[test]
    fn many_lines_are_one_call_and_whole() {
        let disk = Disk::with(usize::MAX);
        let mut log = Log::new(Part(disk.clone()));
        log.tick(Instant::ZERO);
        let lines = 1000;
        for _ in 0..lines {
            log.line(&Draft::default(), None, (400, 0), "");
        }
        let text = disk.text();
        assert!(text.ends_with('\n') && text.len() >= FULL);
        assert!(*disk.calls.lock().unwrap() < 5);
        log.flush();
        assert_eq!(disk.text().lines().count(), lines);
        let first = disk.text().lines().next().unwrap().to_owned();
        assert!(disk.text().lines().all(|line| line == first));
    }

    #[test]
    fn a_full_disk_loses_lines_beyond_a_limit_and_none_is_torn_when_there_is_room_again() {
        let disk = Disk::with(1000);
        let mut log = Log::new(Part(disk.clone()));
        let kept = (0..10_000)
            .filter(|_| log.line(&Draft::default(), None, (400, 0), ""))
            .count();
        assert!(kept < 10_000, "there is a limit");
        assert!(log.lines.unwritten().len() < LIMIT + FULL);
        assert!(
            *disk.calls.lock().unwrap() < 5,
            "a full disk is not asked for every line"
        );
        assert_eq!(disk.text().len(), 1000);
        *disk.room.lock().unwrap() = usize::MAX;
        log.tick(Instant::ZERO + PERIOD);
        let text = disk.text();
        assert_eq!(text.lines().count(), kept);
        let first = text.lines().next().unwrap();
        assert!(text.lines().all(|line| line == first));
        assert_eq!(log.unwritten(), 0);
    }
}
