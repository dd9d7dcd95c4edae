//! Receiving with the kernel's stamps: a message instead of bare bytes.
//!
//! The kernel puts a header and what it has to say before the bytes, into the same buffer; the message that is asked
//! for says how much room that has, and nothing else.

use super::{Uring, buffers};
use crate::stamps;
use buffers::Lent;
use io_uring::types::{Fd, RecvMsgOut};
use io_uring::{opcode, squeue};

/// Room for what the kernel says beside bytes: a stamp takes 32 bytes.
const CONTROL: usize = 32;

/// What is asked for, of every socket. The kernel only reads it.
struct Shape(libc::msghdr);

// SAFETY: nothing writes to it, and its pointers are null.
unsafe impl Sync for Shape {}

static SHAPE: Shape = Shape({
    // SAFETY: msghdr is plain old data; all zeroes is a valid, empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_controllen = CONTROL as _;
    message
});

/// A receive that goes on until the end, with stamps.
pub(super) fn receive(fd: Fd) -> squeue::Entry {
    opcode::RecvMsgMulti::new(fd, &raw const SHAPE.0, buffers::GROUP).build()
}

impl Uring {
    /// Narrows a message to its bytes, takes the stamp, and says what a plain receive would have.
    pub(super) fn unwrap(&mut self, message: &mut Lent) -> i32 {
        let whole = self.buffers.bytes(*message);
        let Ok(parts) = RecvMsgOut::parse(whole, &SHAPE.0) else {
            // Not even the header is there, which the kernel does not do.
            return 0;
        };
        let (bytes, stamp) = (parts.payload_data(), stamps::read(parts.control_data()));
        let start = whole.len() - bytes.len();
        message.start = start as u16;
        message.length = bytes.len() as u32;
        if let Some(stamp) = stamp {
            self.stamp = self.wall.instant(stamp);
        }
        message.length as i32
    }
}
