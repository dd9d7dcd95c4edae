//! Files of a folder, as responses: from a request's target to the bytes of head and body.
//!
//! It knows the kernel's files and the wire's requests, and neither sockets nor connections nor when anything is sent:
//! that is the worker's. So it is used like this:
//!
//! ```text
//! let mut library = Library::open(root, &LibraryOptions::default(), clock::realtime)?;
//! // When a request's head is there:
//! let what = library.find(&head, now); // none: no file has this name, so a built-in resource may respond instead
//! // When the request is complete:
//! let Appended { status, length, part } = library.append(&chosen, &prebuilt, &mut out);
//! // `out` is to be sent; and if there is a `part`, then behind it
//! while part.left > 0 {
//!     match ring.send_file(token, part.file(), part.offset, part.left.min(TURN) as usize) {
//!         Ok(sent) => part.advance(sent),      // less than asked for: go on after `Writable`
//!         Err(Errno::ENODATA) => part.lost(),  // and close
//!     }
//! }
//! ```
//!
//! Where descriptors are short it closes some of its own files for one that is not open, and none for connections that
//! would come: clients that are connected already are served first.
//!
//! Each question about a request has a file of its own, which knows nothing of the others: `paths` (what is asked for),
//! `types` (what it is), `encodings` (in which copy), `conditions` with `dates` (whether the client has it), `ranges`
//! (how much of it). `cached_file` and `heads` hold what is prepared, `cache` and `table` what is known and how much of it, `library` puts
//! all to use.

// In reading order: what is asked for,
mod paths;
// what it is,
mod types;
// what else the request says of it,
mod conditional;
// which copy is best,
mod encodings;
// whether it is to be sent,
mod conditions;
mod dates;
// and how much.
mod ranges;
// Responses as bytes:
mod heads;
// an open file with all its responses,
mod cached_file;
// the one of them that a request gets,
mod chosen;
// those that are remembered,
mod cache;
mod table;
// and all of it together.
mod library;
// What must hold of all that strangers write.
#[cfg(test)]
mod invariants;

pub(crate) use cache::Library;
pub(crate) use cached_file::{FilePart, LibraryOptions};
pub(crate) use chosen::{Appended, Chosen, What};
