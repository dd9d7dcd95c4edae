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

use super::cache::{Entry, FileCache};
use super::cached_file::{CachedFile, FilePart, LibraryOptions, SMALL};
use super::conditional::{self, ConditionalHeader as Header, ConditionalHeaders};
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

/// The response to a request, chosen and not yet written. It may be kept until the request is complete, and appended
/// more than once.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    what: Result<What, FixedResponse>,
    /// To HEAD: without the body.
    is_head: bool,
}

#[derive(Debug, Clone)]
enum What {
    /// A variant of a file, all of it or a part.
    Content {
        cached: Rc<CachedFile>,
        place: u8,
        part: Option<Box<Part>>,
        /// The request makes no condition, so that any version of the file answers it, as a whole.
        is_plain: bool,
    },
    /// That the client has this variant.
    Unchanged(Rc<CachedFile>, u8),
    /// A status and its head, made for this request.
    Head(u16, Box<Head>),
}

#[derive(Debug, Clone)]
struct Part {
    head: Head,
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
    /// The status.
    pub(crate) fn status(&self) -> u16 {
        match &self.what {
            Ok(What::Content { part: None, .. }) => 200,
            Ok(What::Content { .. }) => 206,
            Ok(What::Unchanged(..)) => 304,
            Ok(What::Head(status, _)) => *status,
            Err(fixed) => RESOURCES[*fixed as usize].status,
        }
    }

    /// No file has this name: something that is built in may have.
    #[inline]
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.what, Err(FixedResponse::Missing))
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

    /// The response to a request.
    #[inline]
    pub(crate) fn find(&mut self, asked: &RequestHead<'_>, now: Instant) -> Found {
        let is_head = asked.method == "HEAD";
        let what = self.choose(asked, is_head, now);
        Found { what, is_head }
    }

    #[inline]
    fn choose(
        &mut self,
        asked: &RequestHead<'_>,
        is_head: bool,
        now: Instant,
    ) -> Result<What, FixedResponse> {
        if asked.method != "GET" && !is_head {
            return Err(other_method(asked.method, asked.path));
        }
        let name = paths::resolve(asked.path).map_err(refusal)?;
        match self.cache.entry(&name.path, now)? {
            Entry::File(cached) => self.choose_content(cached, asked, is_head, now),
            Entry::Folder { .. } if !name.is_folder => Ok(self.redirect(&name)),
            Entry::Folder { .. } => Err(FixedResponse::Missing),
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
            found.what = self.look_once_more(&found.what);
            if let Some(appended) = self.try_append(&found, form, prebuilt, out) {
                return appended;
            }
            out.truncate(start);
        }
        append_fixed(FixedResponse::Busy, found.is_head, form, prebuilt, out)
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
        let (status, head, content) = match &found.what {
            Ok(What::Content {
                cached,
                place,
                part,
                ..
            }) => {
                let variant = cached.variant(*place);
                let (status, head, first, length) = match part {
                    None => (200, &variant.whole, 0, variant.size()),
                    Some(part) => (206, &part.head, part.first, part.length),
                };
                (status, head, Some((cached, *place, first, length)))
            }
            Ok(What::Unchanged(cached, place)) => (304, &cached.variant(*place).unchanged, None),
            Ok(What::Head(status, head)) => (*status, &**head, None),
            Err(fixed) => return Some(append_fixed(*fixed, found.is_head, form, prebuilt, out)),
        };
        head.append(form, prebuilt.date(), out);
        let mut appended = Appended {
            status,
            length: 0,
            part: None,
        };
        if let Some((cached, place, first, length)) = content
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
    fn look_once_more(
        &mut self,
        what: &Result<What, FixedResponse>,
    ) -> Result<What, FixedResponse> {
        let Ok(What::Content {
            cached,
            place,
            part,
            is_plain,
        }) = what
        else {
            return Err(FixedResponse::Busy);
        };
        cached.set_fresh(Instant::ZERO);
        let fresh = self.cache.file(&cached.path, Instant::ZERO)?;
        let part = part.as_ref().map(|part| (part.first, part.length));
        match fresh.same(cached.variant(*place)) {
            Some(place) => Ok(content(fresh, place, part, *is_plain)),
            None if *is_plain => Ok(content(fresh, 0, None, true)),
            None => Err(FixedResponse::Busy),
        }
    }

    /// A folder that was asked for without the slash at its end: its relative links would lead elsewhere.
    fn redirect(&self, name: &Name<'_>) -> What {
        let location = paths::location(name);
        let headers = self.headers.with(301, &[("Location", &location)]);
        What::Head(301, Box::new(Head::new(301, Some(0), &headers)))
    }

    #[inline]
    fn choose_content(
        &mut self,
        mut cached: Rc<CachedFile>,
        asked: &RequestHead<'_>,
        is_head: bool,
        now: Instant,
    ) -> Result<What, FixedResponse> {
        let is_bare = !is_head && !conditional::matter(asked.headers(), false);
        if is_bare && !cached.is_choice() {
            return Ok(content(cached, 0, None, true));
        }
        // A bare request's file is looked at when it is read. The others are answered by what the file is.
        if !is_bare && !cached.is_current() {
            cached = self.cache.file(&cached.path, now)?;
        }
        let conditional = ConditionalHeaders::of(asked.headers());
        let is_there = |coding| cached.place(coding).is_some();
        let coding = encodings::choose(conditional[Header::AcceptEncoding].iter(), is_there);
        let place = coding.and_then(|coding| cached.place(coding)).unwrap_or(0);
        let variant = cached.variant(place);
        let size = variant.size();
        match conditions::judge(&conditional, variant.validators()) {
            Verdict::Failed => return Err(FixedResponse::Failed),
            Verdict::Unchanged => return Ok(What::Unchanged(cached, place)),
            Verdict::Send => {}
        }
        // Only GET has ranges (RFC 9110 §14.2).
        let counts = |_: &&[u8]| {
            conditions::range_counts(&conditional[Header::IfRange], variant.validators())
        };
        let range = conditional[Header::Range]
            .only()
            .filter(|_| !is_head)
            .filter(counts);
        let wanted = range.map_or(Wanted::Whole, |range| ranges::wanted(range, size));
        let part = match wanted {
            Wanted::Whole => None,
            Wanted::Part { first, length } => Some((first, length)),
            Wanted::Nothing => {
                let range = format!("bytes */{size}");
                let head = Head::new(416, Some(0), &[("Content-Range", &range)]);
                return Ok(What::Head(416, Box::new(head)));
            }
        };
        Ok(content(cached, place, part, !conditional.has_conditions()))
    }
}

/// All of a variant, or so many bytes from the first of a part.
#[inline]
fn content(cached: Rc<CachedFile>, place: u8, part: Option<(u64, u64)>, is_plain: bool) -> What {
    let part = part.map(|(first, length)| {
        let head = cached.variant(place).part_head(first, length);
        Box::new(Part {
            head,
            first,
            length,
        })
    });
    What::Content {
        cached,
        place,
        part,
        is_plain,
    }
}

fn append_fixed(
    fixed: FixedResponse,
    is_head: bool,
    form: Form,
    prebuilt: &PrebuiltResponses,
    out: &mut Vec<u8>,
) -> Appended {
    let key = ResponseKey {
        resource: fixed as usize,
        form,
        is_head,
    };
    out.extend_from_slice(prebuilt.bytes(key));
    Appended {
        status: key.status(),
        length: key.length(),
        part: None,
    }
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
