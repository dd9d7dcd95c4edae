//! What one worker serves of a folder.
//!
//! ```text
//! target --paths--> name --table: known and fresh?--------------------> volume --conditions, ranges, encodings--> Found
//!                          `--no: opened, compared with what is known --'   `--none: a notice
//! Found --append--> head and small body in the worker's buffer, and a FilePart where the body is large
//! ```
//!
//! A file that was looked at is believed for a second. Within it a request costs a look-up and, unless contents are
//! kept in memory, one pread; then the file is opened again by its name and compared with what is open. So a file that
//! was replaced is seen after a second, and what was opened is held by whoever still sends it.
//!
//! It allocates and formats for parts, redirects and files that are new to it, and for nothing else.

use super::conditions::{self, Verdict};
use super::encodings::{self, CODINGS};
use super::heads::Head;
use super::notices::{Notice, Notices};
use super::paths::{self, Name};
use super::ranges::{self, Wanted};
use super::table::Table;
use super::types;
use super::volumes::{Copy, FilePart, Keeping, SMALL, Volume};
use super::wishes::{self, Wishes};
use crate::shelf::Form;
use kernel::Errno;
use kernel::files::{Kind, Root};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use units::{Instant, Nanos};
use wire::http1::Asked;

/// How long what was seen on disk is believed.
const FRESH: Nanos = Nanos::from_secs(1);
/// Files that are known, whether their contents are in memory or they are open. A row takes some 1.5 KB.
const KNOWN_LIMIT: usize = 4096;
/// Names that are known to be nobody's. They have a table of their own, so that asking for many of them does not make
/// files forgotten.
const MISSING_LIMIT: usize = 256;
/// Longer names are not remembered as nobody's; so that table takes at most some 100 KB.
const MISSING_NAME_LIMIT: usize = 256;

/// How a library is kept. All is for one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LibraryOptions {
    /// Files that are kept open at most, compressed copies included.
    pub(crate) open_files: usize,
    /// Contents that are kept in memory at most, in bytes; 0: none. Only files up to 64 KiB are: larger ones are sent
    /// from the system's own cache without being copied, which is cheaper.
    pub(crate) cache: u64,
}

impl Default for LibraryOptions {
    /// 512 open files, and none in memory.
    fn default() -> LibraryOptions {
        LibraryOptions {
            open_files: 512,
            cache: 0,
        }
    }
}

/// What one worker serves of a folder.
#[derive(Debug)]
pub(crate) struct Library {
    root: Root,
    options: LibraryOptions,
    /// The time of day since 1970-01-01 UTC.
    wall: fn() -> Duration,
    known: Table<Holding>,
    /// Until when they are believed to be missing.
    missing: Table<Instant>,
    notices: Notices,
    /// What all of `known` holds open.
    files: usize,
    /// What all of `known` holds in memory.
    bytes: u64,
}

/// What a name leads to.
#[derive(Debug, Clone)]
enum Holding {
    File(Rc<Volume>),
    /// Believed until then.
    Folder(Instant),
}

impl Holding {
    #[inline]
    fn is_fresh(&self, now: Instant) -> bool {
        match self {
            Holding::File(volume) => volume.is_fresh(now),
            Holding::Folder(until) => now < *until,
        }
    }

    fn holds(&self) -> (usize, u64) {
        match self {
            Holding::File(volume) => volume.holds(),
            Holding::Folder(_) => (0, 0),
        }
    }
}

/// The answer to a request, chosen and not yet written. It may be kept until the request is complete, and appended more
/// than once.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    what: What,
    /// To HEAD: without the body.
    is_head: bool,
}

#[derive(Debug, Clone)]
enum What {
    /// All of a page.
    Whole(Rc<Volume>, u8),
    /// That the client has this page.
    Unchanged(Rc<Volume>, u8),
    /// A part of a page, or none.
    Made(Rc<Made>),
    /// With the moment until which it is right.
    Notice(Notice, Instant),
}

#[derive(Debug)]
struct Made {
    status: u16,
    head: Head,
    part: Option<Part>,
}

#[derive(Debug)]
struct Part {
    volume: Rc<Volume>,
    place: u8,
    first: u64,
    length: u64,
}

/// What was appended.
#[derive(Debug)]
pub(crate) struct Appended {
    /// The status that was written, which is another than [`Found::status`] said if the file could not be read.
    pub(crate) status: u16,
    /// The whole body's length, whether it is appended or comes by `part`.
    pub(crate) length: u64,
    /// The body, when it is large: to be sent when all of the buffer is.
    pub(crate) part: Option<FilePart>,
}

impl Found {
    fn notice(notice: Notice, is_head: bool) -> Found {
        Found {
            what: What::Notice(notice, Instant::NEVER),
            is_head,
        }
    }

    /// The status.
    pub(crate) fn status(&self) -> u16 {
        match &self.what {
            What::Whole(..) => 200,
            What::Unchanged(..) => 304,
            What::Made(made) => made.status,
            What::Notice(notice, _) => notice.status(),
        }
    }

    /// No file has this name: something that is built in may have.
    #[inline]
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.what, What::Notice(Notice::Missing, _))
    }

    /// [`Library::find`] would say the same again of the same request.
    #[inline]
    pub(crate) fn is_fresh(&self, now: Instant) -> bool {
        match &self.what {
            What::Whole(volume, _) | What::Unchanged(volume, _) => volume.is_fresh(now),
            What::Made(made) => match &made.part {
                Some(part) => part.volume.is_fresh(now),
                None => false,
            },
            What::Notice(_, until) => now < *until,
        }
    }
}

impl Library {
    /// Serves what is below `root`; `wall` is the time of day.
    ///
    /// # Errors
    /// The folder cannot be opened, or the kernel cannot ensure that nothing outside of it is reached.
    pub(crate) fn open(
        root: &Path,
        options: &LibraryOptions,
        wall: fn() -> Duration,
    ) -> Result<Library, Errno> {
        Ok(Library {
            root: Root::open(root)?,
            options: *options,
            wall,
            known: Table::new(KNOWN_LIMIT),
            missing: Table::new(MISSING_LIMIT),
            notices: Notices::new(),
            files: 0,
            bytes: 0,
        })
    }

    /// The answer to a request.
    #[inline]
    pub(crate) fn find(&mut self, asked: &Asked<'_>, now: Instant) -> Found {
        let is_head = match asked.method {
            "GET" => false,
            "HEAD" => true,
            method => return Found::notice(other_method(method, asked.path), false),
        };
        let name = match paths::resolve(asked.path) {
            Ok(name) => name,
            Err(bad) => return Found::notice(bad.into(), is_head),
        };
        let what = match self.holding(&name.path, now) {
            Ok(Holding::File(volume)) => self.answer(volume, asked, is_head),
            Ok(Holding::Folder(_)) if !name.is_folder => What::Made(Rc::new(redirect(&name))),
            Ok(Holding::Folder(until)) => What::Notice(Notice::Missing, until),
            Err((notice, until)) => What::Notice(notice, until),
        };
        Found { what, is_head }
    }

    /// Appends an answer: its head, and its body if that is small. `date` is now, as HTTP writes it.
    #[inline]
    pub(crate) fn append(
        &mut self,
        found: &Found,
        form: Form,
        date: &str,
        out: &mut Vec<u8>,
    ) -> Appended {
        let start = out.len();
        if let Some(appended) = self.try_append(found, form, date, out) {
            return appended;
        }
        // The file became shorter since it was looked at, so nothing that was said of it holds.
        out.truncate(start);
        let again = self.look_once_more(found);
        let appended = self.try_append(&again, form, date, out);
        appended.unwrap_or_else(|| {
            out.truncate(start);
            let busy = Found::notice(Notice::Busy, found.is_head);
            self.try_append(&busy, form, date, out)
                .expect("a notice is no file")
        })
    }

    /// Forgets all files: when descriptors are short. Those that are being sent stay open.
    pub(crate) fn close_files(&mut self) {
        while let Some(holding) = self.known.evict() {
            self.subtract(&holding);
        }
    }

    /// None: the file cannot be read to the end that it had.
    #[inline]
    fn try_append(
        &self,
        found: &Found,
        form: Form,
        date: &str,
        out: &mut Vec<u8>,
    ) -> Option<Appended> {
        let (status, head, part) = match &found.what {
            What::Whole(volume, place) => {
                let page = volume.page(*place);
                let part = Some((volume, *place, 0, page.size()));
                (200, &page.whole, part)
            }
            What::Unchanged(volume, place) => (304, &volume.page(*place).unchanged, None),
            What::Made(made) => {
                let part = made.part.as_ref();
                let part = part.map(|it| (&it.volume, it.place, it.first, it.length));
                (made.status, &made.head, part)
            }
            What::Notice(notice, _) => {
                self.notices.append(*notice, found.is_head, form, date, out);
                return Some(Appended {
                    status: notice.status(),
                    length: if found.is_head { 0 } else { notice.length() },
                    part: None,
                });
            }
        };
        head.append(form, date, out);
        let mut appended = Appended {
            status,
            length: 0,
            part: None,
        };
        if let Some((volume, place, first, length)) = part
            && !found.is_head
        {
            appended.length = length;
            let page = volume.page(place);
            match page.file() {
                Some(file) if length > SMALL => {
                    appended.part = Some(FilePart::new(volume, file, first, length));
                }
                _ => page.append(first, length, out).ok()?,
            }
        }
        Some(appended)
    }

    /// What can be said instead of `found`, whose file is not what it was: all of the file as it is now.
    fn look_once_more(&mut self, found: &Found) -> Found {
        let busy = Found::notice(Notice::Busy, found.is_head);
        let What::Whole(volume, 0) = &found.what else {
            return busy;
        };
        volume.set_fresh(Instant::ZERO);
        match self.look(&volume.path, Instant::ZERO) {
            Ok(Holding::File(volume)) => {
                // Not believed any longer: this was no moment to look.
                volume.set_fresh(Instant::ZERO);
                Found {
                    what: What::Whole(volume, 0),
                    is_head: found.is_head,
                }
            }
            _ => busy,
        }
    }
}

/// What is said of a file that is there.
impl Library {
    #[inline]
    fn answer(&self, volume: Rc<Volume>, asked: &Asked<'_>, is_head: bool) -> What {
        if wishes::matter(asked.headers(), volume.is_choice()) {
            self.answer_wishes(volume, &Wishes::of(asked.headers()), is_head)
        } else {
            What::Whole(volume, 0)
        }
    }

    fn answer_wishes(&self, volume: Rc<Volume>, wishes: &Wishes<'_>, is_head: bool) -> What {
        let is_there = |coding| volume.place(coding).is_some();
        let coding = encodings::choose(wishes.accept_encoding.iter(), is_there);
        let place = coding.and_then(|coding| volume.place(coding)).unwrap_or(0);
        let page = volume.page(place);
        let now = (self.wall)().as_secs() as i64;
        match conditions::judge(wishes, page.validators(), now) {
            Verdict::Failed => return What::Notice(Notice::Failed, Instant::ZERO),
            Verdict::Unchanged => return What::Unchanged(volume, place),
            Verdict::Send => {}
        }
        // Only GET has ranges (RFC 9110 §14.2).
        let wanted = match wishes.range.only() {
            Some(range)
                if !is_head
                    && conditions::range_counts(&wishes.if_range, page.validators(), now) =>
            {
                ranges::wanted(range, page.size())
            }
            _ => Wanted::Whole,
        };
        match wanted {
            Wanted::Whole => What::Whole(volume, place),
            Wanted::Part { first, length } => made_part(volume, place, first, length),
            Wanted::Nothing => made_nothing(page.size()),
        }
    }
}

fn made_part(volume: Rc<Volume>, place: u8, first: u64, length: u64) -> What {
    let head = volume.page(place).head_of_part(first, length);
    let part = Part {
        volume,
        place,
        first,
        length,
    };
    What::Made(Rc::new(Made {
        status: 206,
        head,
        part: Some(part),
    }))
}

fn made_nothing(size: u64) -> What {
    let range = format!("bytes */{size}");
    What::Made(Rc::new(Made {
        status: 416,
        head: Head::new(416, Some(0), &[("Content-Range", &range)]),
        part: None,
    }))
}

/// A folder that was asked for without the slash at its end: its relative links would lead elsewhere.
fn redirect(name: &Name<'_>) -> Made {
    let location = paths::location(name);
    Made {
        status: 301,
        head: Head::new(301, Some(0), &[("Location", &location)]),
        part: None,
    }
}

/// What is said to methods other than GET and HEAD. OPTIONS is the same for all files, so none is looked at.
fn other_method(method: &str, path: &str) -> Notice {
    match method {
        "OPTIONS" if path == "*" => Notice::Options,
        "OPTIONS" => match paths::resolve(path) {
            Ok(_) => Notice::Options,
            Err(bad) => bad.into(),
        },
        "POST" | "PUT" | "PATCH" | "DELETE" | "TRACE" | "CONNECT" => Notice::NotAllowed,
        _ => Notice::Unknown,
    }
}

/// What is there.
impl Library {
    /// What `path` leads to, as was seen at most a second ago.
    #[inline]
    fn holding(&mut self, path: &[u8], now: Instant) -> Result<Holding, (Notice, Instant)> {
        if let Some(holding) = self.known.find(path)
            && holding.is_fresh(now)
        {
            return Ok(holding.clone());
        }
        if let Some(until) = self.missing.find(path)
            && now < *until
        {
            return Err((Notice::Missing, *until));
        }
        self.look(path, now)
    }

    /// What `path` leads to now; remembers it.
    fn look(&mut self, path: &[u8], now: Instant) -> Result<Holding, (Notice, Instant)> {
        let until = now + FRESH;
        let copies = match self.open_at_any_price(path) {
            Ok(copies) => copies,
            Err(error) => return self.fail(path, Notice::of(error), until),
        };
        let holding = match copies[0].file.facts().kind {
            Kind::Regular => Holding::File(self.volume(path, copies, until)),
            Kind::Folder => Holding::Folder(until),
            Kind::Other => return self.fail(path, Notice::Missing, until),
        };
        self.remember(path, holding.clone());
        Ok(holding)
    }

    /// `path` cannot be opened.
    fn fail(
        &mut self,
        path: &[u8],
        notice: Notice,
        until: Instant,
    ) -> Result<Holding, (Notice, Instant)> {
        if notice == Notice::Busy
            && let Some(Holding::File(volume)) = self.known.find(path)
        {
            // Better what was right a second ago than nothing.
            volume.set_fresh(until);
            return Ok(Holding::File(Rc::clone(volume)));
        }
        if let Some(gone) = self.known.remove(path) {
            self.subtract(&gone);
        }
        if notice != Notice::Missing || path.len() > MISSING_NAME_LIMIT {
            return Err((notice, Instant::ZERO));
        }
        self.missing.put(path, until);
        Err((notice, until))
    }

    /// Opens a file that is not known even if all others have to be closed for it.
    fn open_at_any_price(&mut self, path: &[u8]) -> Result<Vec<Copy>, Errno> {
        match self.open_copies(path) {
            Err(error) if is_shortage(error) && self.known.find(path).is_none() => {
                self.close_files();
                self.open_copies(path)
            }
            other => other,
        }
    }

    /// The file and those of its compressed copies that are not older.
    fn open_copies(&self, path: &[u8]) -> Result<Vec<Copy>, Errno> {
        let file = self.root.file(path)?;
        let facts = file.facts();
        let coding = None;
        let mut copies = vec![Copy { coding, file }];
        if facts.kind != Kind::Regular || types::of(path).is_packed {
            return Ok(copies);
        }
        for coding in CODINGS {
            let file = match self.root.file(&[path, coding.suffix()].concat()) {
                Ok(file) => file,
                Err(error) if is_shortage(error) => return Err(error),
                Err(_) => continue,
            };
            let copy = file.facts();
            if copy.kind == Kind::Regular && copy.modified >= facts.modified {
                let coding = Some(coding);
                copies.push(Copy { coding, file });
            }
        }
        Ok(copies)
    }

    /// The file as it is served: the one that is known, if it is the same.
    fn volume(&mut self, path: &[u8], copies: Vec<Copy>, until: Instant) -> Rc<Volume> {
        let wall = (self.wall)();
        let volume = match self.known.find(path) {
            Some(Holding::File(volume)) if volume.is_made_of(&copies, wall) => Rc::clone(volume),
            _ => {
                let size = self.options.cache;
                Rc::new(Volume::new(path, copies, Keeping { wall, size }))
            }
        };
        volume.set_fresh(until);
        volume
    }

    fn remember(&mut self, path: &[u8], holding: Holding) {
        let (files, bytes) = holding.holds();
        self.files += files;
        self.bytes += bytes;
        let mut gone = self.known.put(path, holding);
        loop {
            if let Some(gone) = gone {
                self.subtract(&gone);
            }
            if self.files <= self.options.open_files && self.bytes <= self.options.cache {
                return;
            }
            gone = self.known.evict();
            if gone.is_none() {
                return;
            }
        }
    }

    fn subtract(&mut self, gone: &Holding) {
        let (files, bytes) = gone.holds();
        self.files -= files;
        self.bytes -= bytes;
    }
}

/// Not for want of the file, but of room to open it.
fn is_shortage(error: Errno) -> bool {
    matches!(error, Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM)
}

#[cfg(test)]
mod tests;
