//! What one worker serves of a folder.
//!
//! ```text
//! target --paths--> name --cache: what is it?--> file --conditions, ranges, encodings--> Chosen
//!                                             `--none: a fixed response, a redirect -----^
//! Chosen --append--> head and small body in the worker's buffer, and a FilePart where the body is large
//! ```
//!
//! A request for a file that is known costs a look-up and, unless contents are kept in memory, one pread and one fstat.
//! (On a 2-core virtual machine: 60 ns to find, 20 ns to append from memory, and some 480 ns for the pread of 100 bytes.)
//! It allocates and formats for parts, redirects and files that are new to it, and for nothing else.
//!
//! Head and body of an answer are of one version of the file. The head is prepared, so the file is compared with what the
//! head says of it behind the reading (small bodies), before the head is sent (large ones) and before a condition is
//! judged. A file that is no longer the same is opened again by its name, and answered as it is now.

use super::cache::{Entry, Library};
use super::cached_file::CachedFile;
use super::chosen::{Appended, Chosen, Part, What};
use super::conditional::{self, ConditionalHeader as Header, ConditionalHeaders};
use super::conditions::{self, Verdict};
use super::encodings;
use super::paths::{self, BadPath, Name};
use super::ranges::{self, Wanted};
use crate::prebuilt::PrebuiltResponses;
use crate::resources::{FixedResponse, OTHER_METHODS};
use std::rc::Rc;
use units::Instant;
use wire::http1::RequestHead;

/// How often a file that changes while it is read is opened again for one response.
const LOOKS: u32 = 3;

impl Library {
    /// Chooses the response to a request; none where no file has this name, so that something built in may have.
    #[inline]
    pub(crate) fn find(&mut self, head: &RequestHead<'_>, now: Instant) -> Option<What> {
        match self.choose(head, now) {
            Ok(what) => Some(what),
            Err(FixedResponse::Missing) => None,
            Err(fixed) => Some(fixed.into()),
        }
    }

    #[inline]
    fn choose(&mut self, head: &RequestHead<'_>, now: Instant) -> Result<What, FixedResponse> {
        let is_head = head.method == "HEAD";
        if head.method != "GET" && !is_head {
            return Err(other_method(head.method, head.path));
        }
        let name = paths::resolve(head.path).map_err(refusal)?;
        match self.entry(&name.path, now)? {
            Entry::File(cached) => self.choose_content(cached, head, is_head, now),
            Entry::Folder { .. } if !name.is_folder => Ok(self.redirect(&name)),
            Entry::Folder { .. } => Err(FixedResponse::Missing),
        }
    }

    /// Appends a response: its head, and its body if that is small. `prebuilt` has the fixed responses and the date.
    #[inline]
    pub(crate) fn append(
        &mut self,
        chosen: &Chosen,
        prebuilt: &PrebuiltResponses,
        out: &mut Vec<u8>,
    ) -> Appended {
        let start = out.len();
        if let Some(appended) = chosen.append(prebuilt, out) {
            return appended;
        }
        out.truncate(start);
        self.append_anew(chosen.clone(), prebuilt, out)
    }

    /// As [`Library::append`], when the file has changed since it was looked at, or had to make room.
    #[cold]
    fn append_anew(
        &mut self,
        mut chosen: Chosen,
        prebuilt: &PrebuiltResponses,
        out: &mut Vec<u8>,
    ) -> Appended {
        let start = out.len();
        for _ in 0..LOOKS {
            let fresh = self.look_once_more(&chosen.what);
            chosen.what = fresh.unwrap_or_else(What::from);
            if let Some(appended) = chosen.append(prebuilt, out) {
                return appended;
            }
            out.truncate(start);
        }
        chosen.what = FixedResponse::Busy.into();
        let appended = chosen.append(prebuilt, out);
        appended.expect("a fixed response is always there")
    }

    /// The same response from the file as it is now, if it is the same; if it is not, all of it to a request without
    /// conditions.
    fn look_once_more(&mut self, what: &What) -> Result<What, FixedResponse> {
        let What::Content {
            cached,
            place,
            part,
            is_plain,
        } = what
        else {
            return Err(FixedResponse::Busy);
        };
        cached.set_fresh(Instant::ZERO);
        let fresh = self.file(&cached.path, Instant::ZERO)?;
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
        let headers = self.options.headers.with(301, &[("Location", &location)]);
        What::made(301, &headers, String::new())
    }

    #[inline]
    fn choose_content(
        &mut self,
        mut cached: Rc<CachedFile>,
        head: &RequestHead<'_>,
        is_head: bool,
        now: Instant,
    ) -> Result<What, FixedResponse> {
        let is_bare = !is_head && !conditional::matter(head.headers(), false);
        if is_bare && !cached.is_choice() {
            return Ok(content(cached, 0, None, true));
        }
        // A bare request's file is looked at when it is read. The others are answered by what the file is.
        if !is_bare && !cached.is_current() {
            cached = self.file(&cached.path, now)?;
        }
        let conditional = ConditionalHeaders::of(head.headers());
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
                let headers = [("Content-Range", &*range)];
                return Ok(What::made(416, &headers, String::new()));
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
