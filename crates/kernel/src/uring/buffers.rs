//! The buffers that the kernel receives into: one pool for all sockets, lent and given back.
//!
//! A socket that waits holds none; the kernel takes one when bytes have come, says which, and gets it back when they
//! have been read. It knows nothing of sockets.

use crate::Errno;
use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// The one group of buffers that a ring has.
pub(super) const GROUP: u16 = 0;

/// The kernel wants the list of buffers at the start of a page.
const PAGE: usize = 4096;

/// How many buffers, and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// A power of two, at most 32768.
    pub count: u16,
    /// Of each one, in bytes.
    pub length: u32,
}

/// Buffers that are registered with the kernel. They must outlive every receive that may use them; see
/// [`Buffers::abandon`].
pub(super) struct Buffers {
    size: Size,
    /// The list that the kernel takes buffers from.
    list: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    tail: u16,
    abandoned: bool,
}

/// One buffer, with something in it, that the kernel has handed over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lent {
    pub name: u16,
    pub length: u32,
}

// SAFETY: both pointers are to memory that only this value owns; nothing about it belongs to a thread.
unsafe impl Send for Buffers {}

impl Buffers {
    pub(super) fn new(kernel: &Submitter<'_>, size: Size) -> Result<Buffers, Errno> {
        // SAFETY: neither layout is empty. The list is zeroed, as the kernel wants it; the memory is written before
        // it is read (see `bytes`).
        let (list, memory) = unsafe { (alloc_zeroed(size.list()), alloc(size.memory())) };
        let mut buffers = Buffers {
            size,
            list: NonNull::new(list.cast()).ok_or(Errno::ENOMEM)?,
            memory: NonNull::new(memory).ok_or(Errno::ENOMEM)?,
            tail: 0,
            abandoned: false,
        };
        // SAFETY: the list is aligned to a page, as long as it says, and is freed only after the ring's end.
        unsafe {
            kernel.register_buf_ring_with_flags(list as u64, size.count, GROUP, 0)?;
        }
        for name in 0..size.count {
            buffers.give_back(name);
        }
        Ok(buffers)
    }

    /// What the kernel wrote into a buffer before it handed it over.
    #[inline]
    pub(super) fn bytes(&mut self, lent: Lent) -> &mut [u8] {
        assert!(lent.name < self.size.count && lent.length <= self.size.length);
        // SAFETY: the buffer is within the memory (asserted); the kernel has written as much and does not touch it until
        // it is given back, which takes `&mut self`, as this does: it is not lent twice.
        unsafe { std::slice::from_raw_parts_mut(self.start(lent.name), lent.length as usize) }
    }

    /// Lets the kernel use buffer `name` again.
    #[inline]
    pub(super) fn give_back(&mut self, name: u16) {
        let place = usize::from(self.tail & (self.size.count - 1));
        // SAFETY: the place is within the list, and not yet the kernel's: as many places as there are buffers.
        let entry = unsafe { self.list.add(place).as_mut() };
        entry.set_addr(self.start(name) as u64);
        entry.set_len(self.size.length);
        entry.set_bid(name);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the list's tail is a live, aligned u16, which the kernel reads while we write: hence the atomic.
        let tail =
            unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.list.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    fn start(&self, name: u16) -> *mut u8 {
        let offset = usize::from(name) * self.size.length as usize;
        // SAFETY: callers give names below the count, so the offset is within the memory.
        unsafe { self.memory.as_ptr().add(offset) }
    }

    /// Never frees the memory: the kernel may still write into it.
    pub(super) fn abandon(&mut self) {
        self.abandoned = true;
    }
}

impl Size {
    fn list(self) -> Layout {
        let bytes = usize::from(self.count) * size_of::<BufRingEntry>();
        Layout::from_size_align(bytes, PAGE).expect("it is small")
    }

    fn memory(self) -> Layout {
        let bytes = usize::from(self.count) * self.length as usize;
        Layout::from_size_align(bytes, PAGE).expect("it is at most some gigabytes")
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if self.abandoned {
            return;
        }
        // SAFETY: both were allocated with these layouts, and nothing of the kernel's uses them any more: the owner
        // has seen the end of every receive, or else abandons them.
        unsafe {
            dealloc(self.list.as_ptr().cast(), self.size.list());
            dealloc(self.memory.as_ptr(), self.size.memory());
        }
    }
}
