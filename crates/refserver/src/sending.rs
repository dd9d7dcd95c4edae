//! A large body on its way through one connection, and what the log is to say of it when it is over.

use crate::files::FilePart;
use crate::log::Draft;
use crate::resources::FILLING;
use kernel::{Errno, ServerRing, Token};
use std::io::IoSlice;

/// Bytes of a large body that one connection is given before the others have their turn. At 1 GB/s that is half a
/// millisecond, which is what a small request that arrives meanwhile has to wait for each large one.
pub(crate) const TURN: usize = 512 * 1024;

/// Bytes of large bodies for all connections together before the ring is polled again: so much for requests that have just
/// arrived, and so much for downloads that were under way before. At 1 GB/s that is four milliseconds, however many
/// downloads there are.
pub(crate) const ROUND: usize = 4 * TURN;
/// What the kernel holds at most for a connection that has not shown that it reads. By itself it would take two
/// megabytes for each on a fast network. Less would wake the server more often for each download, and it has to hold
/// what a usual network has under way: 128 KiB are 10 Mbit/s where an answer takes a tenth of a second.
pub(crate) const BUFFER: u32 = 128 * 1024;

/// What is left of a large body.
#[derive(Debug)]
pub(crate) enum Rest {
    /// A part of a file.
    File(FilePart),
    /// So many bytes that mean nothing.
    Filled(u64),
}

impl Rest {
    pub(crate) fn left(&self) -> u64 {
        match self {
            Rest::File(part) => part.left,
            Rest::Filled(left) => *left,
        }
    }

    /// Looks whether it is still what its head says.
    ///
    /// # Errors
    /// The file has changed, or cannot be read.
    pub(crate) fn check(&self) -> Result<(), Errno> {
        match self {
            Rest::File(part) => part.file.check(),
            Rest::Filled(_) => Ok(()),
        }
    }

    /// Sends `share` of it at most; returns what the socket took.
    ///
    /// # Errors
    /// The client has gone, or the file is not what it was.
    pub(crate) fn send<R: ServerRing>(
        &self,
        ring: &mut R,
        token: Token,
        share: usize,
    ) -> Result<usize, Errno> {
        match self {
            Rest::File(part) => ring.send_file(token, &part.file, part.offset, share),
            Rest::Filled(_) => {
                const PIECES: usize = TURN / FILLING.len();
                let piece = |index: usize| {
                    let left = share.saturating_sub(index * FILLING.len());
                    IoSlice::new(&FILLING[..left.min(FILLING.len())])
                };
                ring.send(token, &std::array::from_fn::<_, PIECES, _>(piece))
            }
        }
    }

    /// So much more of it was sent. Says whether that was all.
    #[inline]
    pub(crate) fn advance(&mut self, sent: usize) -> bool {
        match self {
            Rest::File(part) => part.advance(sent),
            Rest::Filled(left) => {
                *left -= sent as u64;
                *left == 0
            }
        }
    }
}

/// A body that is being sent.
pub(crate) struct Sending {
    pub(crate) rest: Rest,
    /// What the log says when it is over; none without a log.
    pub(crate) draft: Option<Box<Draft>>,
    status: u16,
    length: u64,
}

impl Sending {
    /// The whole of `rest`, in a response with this status.
    pub(crate) fn new(rest: Rest, status: u16) -> Sending {
        Sending {
            length: rest.left(),
            rest,
            draft: None,
            status,
        }
    }

    /// How much is to be sent now.
    pub(crate) fn share(&self) -> usize {
        usize::try_from(self.rest.left()).map_or(TURN, |left| left.min(TURN))
    }

    /// Its status, and the bytes of it that were sent.
    pub(crate) fn outcome(&self) -> (u16, u64) {
        (self.status, self.length - self.rest.left())
    }
}
