//! Requests waiting to be sent: borrowed where they are shared, never copied.

use crate::{Front, Sent, Source};
use std::io::IoSlice;

/// Buffers of rendered templates are kept for reuse up to this number and size.
const SPARES: usize = 4;
const SPARE_LIMIT: usize = 64 * 1024;

#[derive(Debug)]
struct Message<'p> {
    head: Source<'p>,
    body: Source<'p>,
}

impl Message<'_> {
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

    fn len(&self) -> usize {
        self.head.bytes().len() + self.body.bytes().len()
    }
}

/// The queue of one connection.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Outbox<'p> {
    queue: Front<Message<'p>>,
    /// How much of the front one is sent.
    offset: usize,
    spares: Vec<Vec<u8>>,
}

impl<'p> Outbox<'p> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    #[inline]
    pub(crate) fn push(&mut self, head: Source<'p>, body: Source<'p>) {
        self.queue.push_back(Message { head, body });
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
        for part in self.queue.iter().flat_map(Message::parts) {
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

    /// Always inlined: for one request without a body it is a few comparisons.
    #[inline(always)]
    pub(crate) fn sent(&mut self, bytes: usize) -> Sent {
        let whole =
            |message: &Message<'_>| message.is_bare() && message.head.bytes().len() == bytes;
        if self.offset == 0 && self.queue.only().is_some_and(whole) {
            self.pop();
            return Sent {
                begun: 1,
                completed: 1,
            };
        }
        self.sent_of_any(bytes)
    }

    #[inline(never)]
    fn sent_of_any(&mut self, mut bytes: usize) -> Sent {
        let mut sent = Sent::default();
        while bytes > 0 {
            let message = self
                .queue
                .front()
                .expect("a socket takes no more than it was offered");
            let rest = message.len() - self.offset;
            sent.begun += u32::from(self.offset == 0);
            if bytes < rest {
                self.offset += bytes;
                break;
            }
            bytes -= rest;
            sent.completed += 1;
            self.offset = 0;
            self.pop();
        }
        sent
    }

    /// The front one is sent.
    #[inline]
    fn pop(&mut self) {
        if self.queue.front().is_some_and(Message::is_shared) {
            self.queue.drop_front();
        } else if let Some(message) = self.queue.pop_front() {
            self.recycle(message);
        }
    }

    /// Forgets all but the first `keep` messages.
    pub(crate) fn truncate(&mut self, keep: usize) {
        self.queue.truncate(keep);
        if keep == 0 {
            self.offset = 0;
        }
    }

    pub(crate) fn spare(&mut self) -> Vec<u8> {
        self.spares.pop().unwrap_or_default()
    }

    #[inline(never)]
    fn recycle(&mut self, message: Message<'p>) {
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
