//! A large file on its way through one connection, and what the log is to say of it when it is over.

use crate::files::FilePart;
use crate::log::Draft;

/// Bytes of a file that one connection is given before the others have their turn. At 1 GB/s that is half a
/// millisecond, which is what a small request that arrives meanwhile has to wait for each large one.
pub(crate) const TURN: usize = 512 * 1024;

/// Bytes of files for all connections together before the ring is polled again: so much for requests that have just
/// arrived, and so much for downloads that were under way before. At 1 GB/s that is four milliseconds, however many
/// downloads there are.
pub(crate) const ROUND: usize = 4 * TURN;
/// What the kernel holds at most for a connection that has not shown that it reads. By itself it would take two
/// megabytes for each on a fast network. Less would wake the server more often for each download, and it has to hold
/// what a usual network has under way: 128 KiB are 10 Mbit/s where an answer takes a tenth of a second.
pub(crate) const BUFFER: u32 = 128 * 1024;

/// The rest of a body.
pub(crate) struct Sending {
    pub(crate) part: FilePart,
    /// What the log says when it is over; none without a log.
    pub(crate) draft: Option<Box<Draft>>,
    status: u16,
    length: u64,
}

impl Sending {
    /// The whole of `part`, in an answer with this status.
    pub(crate) fn new(part: FilePart, status: u16) -> Sending {
        Sending {
            length: part.left,
            part,
            draft: None,
            status,
        }
    }

    /// How much is to be sent now.
    pub(crate) fn share(&self) -> usize {
        usize::try_from(self.part.left).map_or(TURN, |left| left.min(TURN))
    }

    /// Its status, and the bytes of it that were sent.
    pub(crate) fn outcome(&self) -> (u16, u64) {
        (self.status, self.length - self.part.left)
    }
}
