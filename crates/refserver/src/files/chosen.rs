//! The response to a request, chosen when its head is there and appended when it is complete.

use super::cached_file::{CachedFile, FilePart, SMALL};
use super::heads::Head;
use crate::prebuilt::{Form, PrebuiltResponses, ResponseKey};
use crate::resources::{FILLING, FixedResponse, RESOURCES};
use crate::sending::Rest;
use std::rc::Rc;

/// The response to a request, chosen and not yet written. It may be kept until the request is complete, and appended
/// more than once.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) what: What,
    /// What its head says about the connection.
    pub(crate) form: Form,
    /// To HEAD: without the body.
    pub(crate) is_head: bool,
}

/// What a response sends.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// One that lies ready, by the place of its resource.
    Ready(usize),
    /// So many bytes that mean nothing.
    Filled(u64),
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
    /// One that is made for this request: its status, its head, its body.
    Made(Box<(u16, Head, String)>),
}

/// A part of a variant.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) head: Head,
    pub(crate) first: u64,
    pub(crate) length: u64,
}

/// What was appended.
#[derive(Debug)]
pub(crate) struct Appended {
    /// The status that was written, which is another than [`Chosen::status`] said if the file could not be read.
    pub(crate) status: u16,
    /// The whole body's length, whether it is appended or comes by `part`.
    pub(crate) length: u64,
    /// The body, when it is large: to be sent when all of the buffer is.
    pub(crate) part: Option<Rest>,
}

impl What {
    /// One that is made for this request, with Content-Length besides these header lines.
    pub(crate) fn made(status: u16, headers: &[(&str, &str)], body: String) -> What {
        let head = Head::new(status, Some(body.len() as u64), headers);
        What::Made(Box::new((status, head, body)))
    }
}

impl From<FixedResponse> for What {
    fn from(fixed: FixedResponse) -> What {
        What::Ready(fixed as usize)
    }
}

impl Default for Chosen {
    /// For a connection on which no request has come yet.
    fn default() -> Chosen {
        Chosen {
            what: What::Ready(0),
            form: Form::Close,
            is_head: false,
        }
    }
}

impl Chosen {
    /// The status.
    pub(crate) fn status(&self) -> u16 {
        match &self.what {
            What::Ready(resource) => RESOURCES[*resource].status,
            What::Filled(_) | What::Content { part: None, .. } => 200,
            What::Content { .. } => 206,
            What::Unchanged(..) => 304,
            What::Made(made) => made.0,
        }
    }

    /// Appends head and body, if the body is small. None: the file is not what its head says, or cannot be read.
    #[inline]
    pub(crate) fn append(
        &self,
        prebuilt: &PrebuiltResponses,
        out: &mut Vec<u8>,
    ) -> Option<Appended> {
        let (head, length) = match &self.what {
            What::Ready(resource) => {
                let (status, length) = self.append_ready(*resource, prebuilt, out);
                let part = None;
                return Some(Appended {
                    status,
                    length,
                    part,
                });
            }
            What::Content {
                cached,
                place,
                part,
                ..
            } => {
                let variant = cached.variant(*place);
                match part {
                    None => (Some(&variant.whole), variant.size()),
                    Some(part) => (Some(&part.head), part.length),
                }
            }
            What::Unchanged(cached, place) => (Some(&cached.variant(*place).unchanged), 0),
            What::Made(made) => (Some(&made.1), made.2.len() as u64),
            What::Filled(length) => (None, *length),
        };
        match head {
            Some(head) => head.append(self.form, prebuilt.date(), out),
            None => prebuilt.append_filled(self.form, length, out),
        }
        let mut appended = Appended {
            status: self.status(),
            length: if self.is_head { 0 } else { length },
            part: None,
        };
        match &self.what {
            _ if self.is_head => {}
            What::Content {
                cached,
                place,
                part,
                ..
            } => {
                let first = part.as_ref().map_or(0, |part| part.first);
                if length > SMALL {
                    let part = FilePart::new(cached, *place, first, length)?;
                    appended.part = Some(Rest::File(part));
                } else {
                    cached.variant(*place).append(first, length, out).ok()?;
                }
            }
            What::Filled(length) if *length > SMALL => appended.part = Some(Rest::Filled(*length)),
            What::Filled(length) => out.extend_from_slice(&FILLING[..*length as usize]),
            What::Made(made) => out.extend_from_slice(made.2.as_bytes()),
            What::Ready(_) | What::Unchanged(..) => {}
        }
        Some(appended)
    }

    /// Appends one that lies ready, and returns its status and the length of its body.
    #[inline]
    pub(crate) fn append_ready(
        &self,
        resource: usize,
        prebuilt: &PrebuiltResponses,
        out: &mut Vec<u8>,
    ) -> (u16, u64) {
        let (form, is_head) = (self.form, self.is_head);
        let key = ResponseKey {
            resource,
            form,
            is_head,
        };
        out.extend_from_slice(prebuilt.bytes(key));
        (key.status(), key.length())
    }
}
