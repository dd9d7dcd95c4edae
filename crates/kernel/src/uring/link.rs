//! One socket as the ring on io_uring sees it: what it is doing, and what it has taken to send.
//!
//! A link is not a token. Its owner may close the token at any time, and the token is free at once; the link stays
//! until the kernel is done with every operation on it, because that long the kernel uses its memory.
//!
//! ```text
//! connect -> Connecting -+-> Open ---> Ended
//!                        |    |  \      /
//!                        +-> Dead  \   /            (close, with bytes still to be sent)
//!                               \   Lingering
//!                                \    |
//!                                 +-> Leaving -> Free   (cancelled and closed; the last completion frees it)
//! ```

use crate::{Errno, Token};
use std::io::IoSlice;
use std::os::fd::RawFd;

/// Bytes that are sent with one operation, and bytes that are gathered meanwhile, at most.
pub(super) const PIECE: usize = 64 * 1024;
/// Buffers up to this size stay with their link; larger ones are shared.
pub(super) const SMALL: usize = 4096;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Free,
    Connecting,
    Open,
    /// The peer has ended its side.
    Ended,
    /// The owner knows that it is dead.
    Dead,
    /// Closed by its owner, with bytes still to be sent.
    Lingering,
    /// Closed; nothing is awaited but the end of what is under way.
    Leaving,
}

/// What the kernel can be doing for a link: one of each at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Operation {
    Connect = 1,
    Receive = 2,
    Send = 4,
    Poll = 8,
}

impl Operation {
    pub(super) const ALL: [Operation; 4] = [
        Operation::Connect,
        Operation::Receive,
        Operation::Send,
        Operation::Poll,
    ];
}

#[derive(Default)]
pub(super) struct Link {
    pub fd: RawFd,
    pub token: Option<Token>,
    pub phase: Phase,
    /// Which operations are under way, as a set.
    under_way: u8,
    /// The send under way is one that says nothing when it succeeds.
    pub quiet: bool,
    /// A send came up short, and its owner wants to know when there is room.
    pub short: bool,
    /// The sending side is to be ended behind what was taken.
    pub ends: bool,
    /// Sending has failed; told when everything that came before has been received.
    pub broken: Option<Errno>,
    /// Counts the sockets that this place has held.
    pub generation: u32,
    /// What the kernel is sending, `sent` of which is gone. Not touched while a send is under way.
    pub sending: Vec<u8>,
    pub sent: usize,
    /// What was taken since.
    pub gathering: Vec<u8>,
}

impl Link {
    /// A place without a socket.
    pub(super) fn free() -> Link {
        Link {
            fd: -1,
            ..Link::default()
        }
    }

    pub(super) fn has(&self, operation: Operation) -> bool {
        self.under_way & operation as u8 != 0
    }

    pub(super) fn set(&mut self, operation: Operation, under_way: bool) {
        match under_way {
            true => self.under_way |= operation as u8,
            false => self.under_way &= !(operation as u8),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// Whether it is in a phase in which bytes go out.
    pub(super) fn sends(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Ended | Phase::Lingering)
    }

    /// Whether there is something to send and nothing that is being sent.
    pub(super) fn can_send(&self) -> bool {
        self.sends() && !self.has(Operation::Send) && !self.gathering.is_empty()
    }

    /// Whether bytes were taken that are not with the socket yet.
    pub(super) fn owes(&self) -> bool {
        self.has(Operation::Send) || !self.gathering.is_empty()
    }

    /// The place for another socket. Small buffers stay, for the next one.
    pub(super) fn reset(&mut self) {
        debug_assert!(self.is_idle());
        self.gathering.clear();
        self.sending.clear();
        *self = Link {
            generation: self.generation.wrapping_add(1),
            sending: std::mem::take(&mut self.sending),
            gathering: std::mem::take(&mut self.gathering),
            ..Link::free()
        };
    }
}

/// Large buffers that are not in use. Their number is bounded; more are made and freed as they are needed.
#[derive(Default)]
pub(super) struct Spare(Vec<Vec<u8>>);

impl Spare {
    const MAX: usize = 16;

    /// Copies what fits of `slices` to the end of `to`, and says how much that was.
    #[inline]
    pub(super) fn fill(&mut self, to: &mut Vec<u8>, slices: &[IoSlice<'_>]) -> usize {
        let before = to.len();
        for slice in slices {
            let part = &slice[..slice.len().min(PIECE - to.len())];
            if to.len() + part.len() > SMALL && to.capacity() < PIECE {
                self.enlarge(to);
            }
            to.extend_from_slice(part);
        }
        to.len() - before
    }

    fn enlarge(&mut self, buffer: &mut Vec<u8>) {
        let mut large = self.0.pop().unwrap_or_else(|| Vec::with_capacity(PIECE));
        large.extend_from_slice(buffer);
        *buffer = large;
    }

    /// Empties `buffer`, and takes its memory back when that is large.
    #[inline]
    pub(super) fn empty(&mut self, buffer: &mut Vec<u8>) {
        buffer.clear();
        if buffer.capacity() > SMALL {
            let large = std::mem::take(buffer);
            if self.0.len() < Spare::MAX && large.capacity() >= PIECE {
                self.0.push(large);
            }
        }
    }
}
