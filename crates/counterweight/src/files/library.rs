//! What one worker serves of a folder.
//!
//! ```text
//! target --paths--> name --cache: what is it?--> file --conditions, ranges, encodings--> Found
//!                                             `--none: a fixed response, a redirect -----^
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

use super::cache::{Entry, FileCache, LibraryOptions};
use super::cached_file::{CachedFile, FilePart, SMALL};
use super::conditional::{self, ConditionalHeaders};
use super::conditions::{self, Verdict};
use super::encodings;
use super::heads::Head;
use super::paths::{self, BadPath, Name};
use super::ranges::{self, Wanted};
use crate::headers::Headers;
use crate::prebuilt::{Form, PrebuiltResponses, ResponseKey};
use crate::resources::{FixedResponse, OTHER_METHODS, RESOURCES};
use kernel::Errno;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use units::Instant;
use wire::http1::RequestHead;

/// How often a file that changes while it is read is opened again for one answer.
const LOOKS: u32 = 3;

/// What one worker serves of a folder.
#[derive(Debug)]
pub(crate) struct Library {
    cache: FileCache,
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
    /// All of a variant.
    Whole(Rc<CachedFile>, u8),
    /// That the client has this variant.
    Unchanged(Rc<CachedFile>, u8),
    /// A part of a variant, or none.
    Made(Rc<Made>),
    FixedResponse(FixedResponse),
}

#[derive(Debug)]
struct Made {
    status: u16,
    head: Head,
    part: Option<Part>,
}

#[derive(Debug)]
struct Part {
    cached: Rc<CachedFile>,
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
    fn fixed(fixed: FixedResponse, is_head: bool) -> Found {
        Found {
            what: What::FixedResponse(fixed),
            is_head,
            is_plain: false,
        }
    }

    /// The variant that is sent, all of it or a part.
    fn variant(&self) -> Option<(&Rc<CachedFile>, u8)> {
        match &self.what {
            What::Whole(cached, place) => Some((cached, *place)),
            What::Made(made) => made.part.as_ref().map(|it| (&it.cached, it.place)),
            What::Unchanged(..) | What::FixedResponse(..) => None,
        }
    }

    /// The status.
    pub(crate) fn status(&self) -> u16 {
        match &self.what {
            What::Whole(..) => 200,
            What::Unchanged(..) => 304,
            What::Made(made) => made.status,
            What::FixedResponse(fixed) => RESOURCES[*fixed as usize].status,
        }
    }

    /// No file has this name: something that is built in may have.
    #[inline]
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.what, What::FixedResponse(FixedResponse::Missing))
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
            cache: FileCache::open(root, options, wall)?,
            headers: options.headers.clone(),
        })
    }

    /// The answer to a request.
    #[inline]
    pub(crate) fn find(&mut self, asked: &RequestHead<'_>, now: Instant) -> Found {
        let is_head = match asked.method {
            "GET" => false,
            "HEAD" => true,
            method => return Found::fixed(other_method(method, asked.path), false),
        };
        let name = match paths::resolve(asked.path) {
            Ok(name) => name,
            Err(bad) => return Found::fixed(refusal(bad), is_head),
        };
        let what = match self.cache.entry(&name.path, now) {
            Ok(Entry::File(cached)) => return self.answer(cached, asked, is_head, now),
            Ok(Entry::Folder { .. }) if !name.is_folder => {
                What::Made(Rc::new(self.redirect(&name)))
            }
            Ok(Entry::Folder { .. }) => What::FixedResponse(FixedResponse::Missing),
            Err(fixed) => What::FixedResponse(fixed),
        };
        Found {
            what,
            is_head,
            is_plain: false,
        }
    }

    /// Appends an answer: its head, and its body if that is small. `prebuilt` has the fixed responses and
    /// the date.
    #[inline]
    pub(crate) fn append(
        &mut self,
        found: &Found,
        form: Form,
        prebuilt: &PrebuiltResponses,
        out: &mut Vec<u8>,
    ) -> Appended {
        let start = out.len();
        if let Some(appended) = self.try_append(found, form, prebuilt, out) {
            return appended;
        }
        out.truncate(start);
        self.append_anew(found, form, prebuilt, out)
    }

    /// As [`Library::append`], when the file has changed since it was looked at, or had to make room.
    #[cold]
    fn append_anew(
        &mut self,
        found: &Found,
        form: Form,
        prebuilt: &PrebuiltResponses,
        out: &mut Vec<u8>,
    ) -> Appended {
        let start = out.len();
        let mut found = found.clone();
        for _ in 0..LOOKS {
            found = self.look_once_more(&found);
            if let Some(appended) = self.try_append(&found, form, prebuilt, out) {
                return appended;
            }
            out.truncate(start);
        }
        let busy = Found::fixed(FixedResponse::Busy, found.is_head);
        self.try_append(&busy, form, prebuilt, out)
            .expect("a fixed is no file")
    }

    /// Forgets all files. Those that are being sent stay open.
    #[cfg(test)]
    pub(crate) fn close_files(&mut self) {
        self.cache.close_files();
    }

    /// None: the file is not what its head says, or cannot be read.
    #[inline]
    fn try_append(
        &self,
        found: &Found,
        form: Form,
        prebuilt: &PrebuiltResponses,
        out: &mut Vec<u8>,
    ) -> Option<Appended> {
        let (status, head, part) = match &found.what {
            What::Whole(cached, place) => {
                let variant = cached.variant(*place);
                let part = Some((cached, *place, 0, variant.size()));
                (200, &variant.whole, part)
            }
            What::Unchanged(cached, place) => (304, &cached.variant(*place).unchanged, None),
            What::Made(made) => {
                let part = made.part.as_ref();
                let part = part.map(|it| (&it.cached, it.place, it.first, it.length));
                (made.status, &made.head, part)
            }
            What::FixedResponse(fixed) => {
                let key = ResponseKey {
                    resource: *fixed as usize,
                    form,
                    is_head: found.is_head,
                };
                out.extend_from_slice(prebuilt.bytes(key));
                return Some(Appended {
                    status: key.status(),
                    length: key.length(),
                    part: None,
                });
            }
        };
        head.append(form, prebuilt.date(), out);
        let mut appended = Appended {
            status,
            length: 0,
            part: None,
        };
        if let Some((cached, place, first, length)) = part
            && !found.is_head
        {
            appended.length = length;
            if length > SMALL {
                appended.part = Some(FilePart::new(cached, place, first, length)?);
            } else {
                cached.variant(place).append(first, length, out).ok()?;
            }
        }
        Some(appended)
    }

    /// The same answer from the file as it is now, if it is the same; if it is not, all of it to a request without
    /// conditions.
    fn look_once_more(&mut self, found: &Found) -> Found {
        let refused = |fixed| Found::fixed(fixed, found.is_head);
        let Some((cached, place)) = found.variant() else {
            return refused(FixedResponse::Busy);
        };
        cached.set_fresh(Instant::ZERO);
        let fresh = match self.cache.look(&cached.path, Instant::ZERO) {
            Ok(Entry::File(fresh)) => fresh,
            Ok(Entry::Folder { .. }) => return refused(FixedResponse::Busy),
            Err(fixed) => return refused(fixed),
        };
        let part = match &found.what {
            What::Made(made) => made.part.as_ref(),
            _ => None,
        };
        let what = match (part, fresh.same(cached.variant(place))) {
            (None, Some(place)) => What::Whole(fresh, place),
            (Some(part), Some(place)) => made_part(fresh, place, part.first, part.length),
            (_, None) if found.is_plain => What::Whole(fresh, 0),
            (_, None) => return refused(FixedResponse::Busy),
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
        cached: Rc<CachedFile>,
        asked: &RequestHead<'_>,
        is_head: bool,
        now: Instant,
    ) -> Found {
        let is_bare = !is_head && !conditional::matter(asked.headers(), false);
        if is_bare && !cached.is_choice() {
            return Found {
                what: What::Whole(cached, 0),
                is_head,
                is_plain: true,
            };
        }
        // A bare request's file is looked at when it is read. The others are answered by what the file is.
        let cached = match is_bare || cached.is_current() {
            true => Ok(Entry::File(cached)),
            false => self.cache.look(&cached.path, now),
        };
        let cached = match cached {
            Ok(Entry::File(cached)) => cached,
            Ok(Entry::Folder { .. }) => return Found::fixed(FixedResponse::Busy, is_head),
            Err(fixed) => return Found::fixed(fixed, is_head),
        };
        let conditional = ConditionalHeaders::of(asked.headers());
        Found {
            what: self.answer_conditional(cached, &conditional, is_head),
            is_head,
            is_plain: !conditional.has_conditions(),
        }
    }

    fn answer_conditional(
        &self,
        cached: Rc<CachedFile>,
        conditional: &ConditionalHeaders<'_>,
        is_head: bool,
    ) -> What {
        let is_there = |coding| cached.place(coding).is_some();
        let coding = encodings::choose(conditional.accept_encoding.iter(), is_there);
        let place = coding.and_then(|coding| cached.place(coding)).unwrap_or(0);
        let variant = cached.variant(place);
        match conditions::judge(conditional, variant.validators()) {
            Verdict::Failed => return What::FixedResponse(FixedResponse::Failed),
            Verdict::Unchanged => return What::Unchanged(cached, place),
            Verdict::Send => {}
        }
        // Only GET has ranges (RFC 9110 §14.2).
        let wanted = match conditional.range.only() {
            Some(range)
                if !is_head
                    && conditions::range_counts(&conditional.if_range, variant.validators()) =>
            {
                ranges::wanted(range, variant.size())
            }
            _ => Wanted::Whole,
        };
        match wanted {
            Wanted::Whole => What::Whole(cached, place),
            Wanted::Part { first, length } => made_part(cached, place, first, length),
            Wanted::Nothing => made_nothing(variant.size()),
        }
    }
}

fn made_part(cached: Rc<CachedFile>, place: u8, first: u64, length: u64) -> What {
    let head = cached.variant(place).part_head(first, length);
    let part = Part {
        cached,
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
fn other_method(method: &str, path: &[u8]) -> FixedResponse {
    match method {
        "OPTIONS" if path == b"*" => FixedResponse::Options,
        "OPTIONS" => match paths::resolve(path) {
            Ok(_) => FixedResponse::Options,
            Err(bad) => refusal(bad),
        },
        _ if OTHER_METHODS.contains(&method) => FixedResponse::NotForFiles,
        _ => FixedResponse::Unknown,
    }
}

fn refusal(bad: BadPath) -> FixedResponse {
    match bad {
        BadPath::Malformed => FixedResponse::Malformed,
        BadPath::NamesNothing => FixedResponse::Missing,
    }
}

#[cfg(test)]
mod tests;
