//! Requests waiting to be sent: borrowed where they are shared, never copied.

use crate::{InlineDeque, Opening, Source};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Buffers of rendered templates are kept for reuse up to this number and size.
const SPARES: usize = 4;
const SPARE_LIMIT: usize = 64 * 1024;

impl Opening<'_> {
    /// Whether it has no body.
    #[inline]
    fn is_bare(&self) -> bool {
        self.body.bytes().is_empty()
    }

    #[inline]
    fn is_shared(&self) -> bool {
        matches!(
            (&self.head, &self.body),
            (Source::Shared(_), Source::Shared(_))
        )
    }

    fn parts(&self) -> [&[u8]; 2] {
        [self.head.bytes(), self.body.bytes()]
    }

    /// Bytes of both parts.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.head.bytes().len() + self.body.bytes().len()
    }
}

/// The queue of one connection.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Outbox<'p> {
    queue: InlineDeque<Opening<'p>>,
    /// How much of the front one is sent.
    offset: usize,
    spares: Vec<Vec<u8>>,
    /// The last that were sent, the oldest first: they may have to be sent again. None without pipelining.
    kept: Option<Box<Kept<'p>>>,
}

#[derive(Debug, Default)]
struct Kept<'p> {
    messages: VecDeque<Opening<'p>>,
    /// Whether those that are still queued are not to be kept any more.
    is_closed: bool,
}

impl<'p> Outbox<'p> {
    /// An empty queue which keeps what was sent until it is told to [`Outbox::forget`] it.
    pub(crate) fn keeping() -> Self {
        Outbox {
            kept: Some(Box::default()),
            ..Outbox::default()
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many bytes of the front one are sent.
    pub(crate) fn offset(&self) -> u64 {
        self.offset as u64
    }

    /// Whether nothing of the front one is sent.
    pub(crate) fn is_at_start(&self) -> bool {
        self.offset == 0
    }

    #[inline]
    pub(crate) fn push(&mut self, request: Opening<'p>) {
        self.queue.push_back(request);
    }

    #[inline]
    pub(crate) fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        match (self.queue.only(), &mut *slices) {
            (Some(message), [slice, ..]) if message.is_bare() && self.offset == 0 => {
                *slice = IoSlice::new(message.head.bytes());
                1
            }
            _ => self.slices_of_any(slices),
        }
    }

    #[inline(never)]
    fn slices_of_any<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut skip = self.offset;
        let mut filled = 0;
        for part in self.queue.iter().flat_map(Opening::parts) {
            if skip >= part.len() {
                skip -= part.len();
            } else if let Some(slice) = slices.get_mut(filled) {
                *slice = IoSlice::new(&part[skip..]);
                skip = 0;
                filled += 1;
            } else {
                break;
            }
        }
        filled
    }

    /// The socket has taken `bytes` bytes; returns how many requests' first byte was among them. Always inlined: for one
    /// request without a body it is a few comparisons.
    #[inline(always)]
    pub(crate) fn sent(&mut self, bytes: usize) -> u32 {
        let whole =
            |message: &Opening<'_>| message.is_bare() && message.head.bytes().len() == bytes;
        if self.offset == 0 && self.queue.only().is_some_and(whole) {
            self.pop();
            return 1;
        }
        self.sent_of_any(bytes)
    }

    #[inline(never)]
    fn sent_of_any(&mut self, mut bytes: usize) -> u32 {
        let mut begun = 0;
        while bytes > 0 {
            // What was withdrawn after it was offered may be taken all the same, where it was sealed before.
            let Some(message) = self.queue.front() else {
                break;
            };
            let rest = message.len() - self.offset;
            begun += u32::from(self.offset == 0);
            if bytes < rest {
                self.offset += bytes;
                break;
            }
            bytes -= rest;
            self.offset = 0;
            self.pop();
        }
        begun
    }

    /// The front one is sent.
    #[inline]
    fn pop(&mut self) {
        if let Some(kept) = self.kept.as_mut().filter(|kept| !kept.is_closed) {
            kept.messages.extend(self.queue.pop_front());
        } else if self.queue.front().is_some_and(Opening::is_shared) {
            self.queue.drop_front();
        } else if let Some(message) = self.queue.pop_front() {
            self.recycle(message);
        }
    }

    /// Forgets all but the first `keep` messages.
    pub(crate) fn truncate(&mut self, keep: usize) {
        drop(self.queue.drain_behind(keep));
        if keep == 0 {
            self.offset = 0;
        }
    }

    /// Forgets all but the first `keep` messages of the queue, and keeps the others as if they were sent, and no more.
    pub(crate) fn withdraw(&mut self, keep: usize) {
        if let Some(kept) = self.kept.as_mut().filter(|kept| !kept.is_closed) {
            kept.messages.extend(self.queue.drain_behind(keep));
            kept.is_closed = true;
        }
        self.truncate(keep);
    }

    /// Forgets all that were sent but the last `keep`.
    #[inline]
    pub(crate) fn forget(&mut self, keep: usize) {
        while let Some(kept) = self.kept.as_mut().filter(|kept| kept.messages.len() > keep) {
            let oldest = kept.messages.pop_front();
            oldest.into_iter().for_each(|message| self.recycle(message));
        }
    }

    /// Takes all that are kept, the oldest first, and keeps again what is sent from now on.
    pub(crate) fn take_kept(&mut self) -> VecDeque<Opening<'p>> {
        let kept = self.kept.as_mut().map(|kept| std::mem::take(&mut **kept));
        kept.unwrap_or_default().messages
    }

    pub(crate) fn spare(&mut self) -> Vec<u8> {
        self.spares.pop().unwrap_or_default()
    }

    #[inline(never)]
    fn recycle(&mut self, message: Opening<'p>) {
        for source in [message.head, message.body] {
            if let Source::Own(mut buffer) = source
                && self.spares.len() < SPARES
                && (1..=SPARE_LIMIT).contains(&buffer.capacity())
            {
                buffer.clear();
                self.spares.push(buffer);
            }
        }
    }
}
