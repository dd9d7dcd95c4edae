//! Requests waiting to be sent: borrowed where they are shared, never copied.

use crate::{Sent, Source};
use std::collections::VecDeque;
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
    fn parts(&self) -> [&[u8]; 2] {
        [self.head.bytes(), self.body.bytes()]
    }

    fn len(&self) -> usize {
        self.head.bytes().len() + self.body.bytes().len()
    }
}

/// The queue of one connection.
#[derive(Debug, Default)]
pub(crate) struct Outbox<'p> {
    queue: VecDeque<Message<'p>>,
    /// How much of the front one is sent.
    offset: usize,
    spares: Vec<Vec<u8>>,
}

impl<'p> Outbox<'p> {
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, head: Source<'p>, body: Source<'p>) {
        self.queue.push_back(Message { head, body });
    }

    #[inline]
    pub(crate) fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
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

    #[inline]
    pub(crate) fn sent(&mut self, mut bytes: usize) -> Sent {
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
            self.queue
                .pop_front()
                .into_iter()
                .for_each(|message| self.recycle(message));
        }
        sent
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

    #[inline]
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
