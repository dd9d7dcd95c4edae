//! What one worker serves of a folder.
//!
//! ```text
//! target --paths--> name --stock: what is it?--> volume --conditions, ranges, encodings--> Found
//!                                             `--none: a notice, a redirect ----------------^
//! Found --append--> head and small body in the worker's buffer, and a FilePart where the body is large
//! ```
//!
//! A request for a file that is known costs a look-up and, unless contents are kept in memory, one pread and one fstat.
//! (On a 2-core virtual machine: 60 ns to find, 20 ns to append from memory, and some 480 ns for the pread of 100 bytes.)
//! It allocates and formats for parts, redirects and files that are new to it, and for nothing else.
//!
//! Head and body of an answer are of one version of the file. The head is prepared, so the file is compared with what the
//! head says of it behind the reading (small bodies), before the head is sent (large ones) and before a condition is
//! judged. A file that is no longer the same is opened again by its name, and answered as it is now.

use super::conditions::{self, Verdict};
use super::encodings;
use super::heads::Head;
use super::notices::{Notice, Notices};
use super::paths::{self, Name};
use super::ranges::{self, Wanted};
use super::stock::{Holding, LibraryOptions, Stock};
use super::volumes::{FilePart, SMALL, Volume};
use super::wishes::{self, Wishes};
use crate::headers::Headers;
use crate::shelf::Form;
use kernel::Errno;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use units::Instant;
use wire::http1::Asked;

/// How often a file that changes while it is read is opened again for one answer.
const LOOKS: u32 = 3;

/// What one worker serves of a folder.
#[derive(Debug)]
pub(crate) struct Library {
    stock: Stock,
    notices: Notices,
    /// The operator's header lines.
    headers: Headers,
}

/// The answer to a request, chosen and not yet written. It may be kept until the request is complete, and appended more
/// than once.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    what: What,
    /// To HEAD: without the body.
    is_head: bool,
    /// The request makes no condition, so that any version of the file answers it, as a whole.
    is_plain: bool,
}

#[derive(Debug, Clone)]
enum What {
    /// All of a page.
    Whole(Rc<Volume>, u8),
    /// That the client has this page.
    Unchanged(Rc<Volume>, u8),
    /// A part of a page, or none.
    Made(Rc<Made>),
    Notice(Notice),
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
            what: What::Notice(notice),
            is_head,
            is_plain: false,
        }
    }

    /// The page that is sent, all of it or a part.
    fn page(&self) -> Option<(&Rc<Volume>, u8)> {
        match &self.what {
            What::Whole(volume, place) => Some((volume, *place)),
            What::Made(made) => made.part.as_ref().map(|it| (&it.volume, it.place)),
            What::Unchanged(..) | What::Notice(..) => None,
        }
    }

    /// The status.
    pub(crate) fn status(&self) -> u16 {
        match &self.what {
            What::Whole(..) => 200,
            What::Unchanged(..) => 304,
            What::Made(made) => made.status,
            What::Notice(notice) => notice.status(),
        }
    }

    /// No file has this name: something that is built in may have.
    #[inline]
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.what, What::Notice(Notice::Missing))
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
            stock: Stock::open(root, options, wall)?,
            notices: Notices::new(&options.headers),
            headers: options.headers.clone(),
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
        let what = match self.stock.holding(&name.path, now) {
            Ok(Holding::File(volume)) => return self.answer(volume, asked, is_head, now),
            Ok(Holding::Folder { .. }) if !name.is_folder => {
                What::Made(Rc::new(self.redirect(&name)))
            }
            Ok(Holding::Folder { .. }) => What::Notice(Notice::Missing),
            Err(notice) => What::Notice(notice),
        };
        Found {
            what,
            is_head,
            is_plain: false,
        }
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
        out.truncate(start);
        self.append_anew(found, form, date, out)
    }

    /// As [`Library::append`], when the file has changed since it was looked at, or had to make room.
    #[cold]
    fn append_anew(
        &mut self,
        found: &Found,
        form: Form,
        date: &str,
        out: &mut Vec<u8>,
    ) -> Appended {
        let start = out.len();
        let mut found = found.clone();
        for _ in 0..LOOKS {
            found = self.look_once_more(&found);
            if let Some(appended) = self.try_append(&found, form, date, out) {
                return appended;
            }
            out.truncate(start);
        }
        let busy = Found::notice(Notice::Busy, found.is_head);
        self.try_append(&busy, form, date, out)
            .expect("a notice is no file")
    }

    /// Forgets all files. Those that are being sent stay open.
    #[cfg(test)]
    pub(crate) fn close_files(&mut self) {
        self.stock.close_files();
    }

    /// None: the file is not what its head says, or cannot be read.
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
            What::Notice(notice) => {
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
            if length > SMALL {
                appended.part = Some(FilePart::new(volume, place, first, length)?);
            } else {
                volume.page(place).append(first, length, out).ok()?;
            }
        }
        Some(appended)
    }

    /// The same answer from the file as it is now, if it is the same; if it is not, all of it to a request without
    /// conditions.
    fn look_once_more(&mut self, found: &Found) -> Found {
        let refused = |notice| Found::notice(notice, found.is_head);
        let Some((volume, place)) = found.page() else {
            return refused(Notice::Busy);
        };
        volume.set_fresh(Instant::ZERO);
        let fresh = match self.stock.look(&volume.path, Instant::ZERO) {
            Ok(Holding::File(fresh)) => fresh,
            Ok(Holding::Folder { .. }) => return refused(Notice::Busy),
            Err(notice) => return refused(notice),
        };
        let part = match &found.what {
            What::Made(made) => made.part.as_ref(),
            _ => None,
        };
        let what = match (part, fresh.same(volume.page(place))) {
            (None, Some(place)) => What::Whole(fresh, place),
            (Some(part), Some(place)) => made_part(fresh, place, part.first, part.length),
            (_, None) if found.is_plain => What::Whole(fresh, 0),
            (_, None) => return refused(Notice::Busy),
        };
        Found { what, ..*found }
    }
}

/// What is said of a file or folder that is there.
impl Library {
    /// A folder that was asked for without the slash at its end: its relative links would lead elsewhere.
    fn redirect(&self, name: &Name<'_>) -> Made {
        let location = paths::location(name);
        let headers = self.headers.with(301, &[("Location", &location)]);
        Made {
            status: 301,
            head: Head::new(301, Some(0), &headers),
            part: None,
        }
    }

    #[inline]
    fn answer(
        &mut self,
        volume: Rc<Volume>,
        asked: &Asked<'_>,
        is_head: bool,
        now: Instant,
    ) -> Found {
        let is_bare = !is_head && !wishes::matter(asked.headers(), false);
        if is_bare && !volume.is_choice() {
            return Found {
                what: What::Whole(volume, 0),
                is_head,
                is_plain: true,
            };
        }
        // A bare request's file is looked at when it is read. The others are answered by what the file is.
        let volume = match is_bare || volume.is_current() {
            true => Ok(Holding::File(volume)),
            false => self.stock.look(&volume.path, now),
        };
        let volume = match volume {
            Ok(Holding::File(volume)) => volume,
            Ok(Holding::Folder { .. }) => return Found::notice(Notice::Busy, is_head),
            Err(notice) => return Found::notice(notice, is_head),
        };
        let wishes = Wishes::of(asked.headers());
        Found {
            what: self.answer_wishes(volume, &wishes, is_head),
            is_head,
            is_plain: !wishes.has_conditions(),
        }
    }

    fn answer_wishes(&self, volume: Rc<Volume>, wishes: &Wishes<'_>, is_head: bool) -> What {
        let is_there = |coding| volume.place(coding).is_some();
        let coding = encodings::choose(wishes.accept_encoding.iter(), is_there);
        let place = coding.and_then(|coding| volume.place(coding)).unwrap_or(0);
        let page = volume.page(place);
        match conditions::judge(wishes, page.validators()) {
            Verdict::Failed => return What::Notice(Notice::Failed),
            Verdict::Unchanged => return What::Unchanged(volume, place),
            Verdict::Send => {}
        }
        // Only GET has ranges (RFC 9110 §14.2).
        let wanted = match wishes.range.only() {
            Some(range)
                if !is_head && conditions::range_counts(&wishes.if_range, page.validators()) =>
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

/// What is said to methods other than GET and HEAD. OPTIONS is the same for all files, so none is looked at.
fn other_method(method: &str, path: &[u8]) -> Notice {
    match method {
        "OPTIONS" if path == b"*" => Notice::Options,
        "OPTIONS" => match paths::resolve(path) {
            Ok(_) => Notice::Options,
            Err(bad) => bad.into(),
        },
        "POST" | "PUT" | "PATCH" | "DELETE" | "TRACE" | "CONNECT" => Notice::NotAllowed,
        _ => Notice::Unknown,
    }
}

#[cfg(test)]
mod tests;
