//! What goes to the kernel and what comes back: the two queues, and the one system call that serves both.
//!
//! It knows no sockets. Nothing pushed is ever refused: what does not fit waits in a backlog, whose length is bounded
//! by the handful of operations that each socket can have.

use crate::{Errno, clock};
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, Submitter, cqueue, squeue};
use std::collections::VecDeque;
use units::Nanos;

/// Operations that one system call takes at most.
pub(super) const SUBMISSIONS: u32 = 1024;
/// Completions that the kernel keeps in the queue; more than that it keeps elsewhere, at a higher cost.
const COMPLETIONS: u32 = 4096;
/// IORING_ENTER_GETEVENTS: the kernel gets to work that it has put off until it is asked.
const GET_EVENTS: u32 = 1;

pub(super) struct Queue {
    ring: IoUring,
    backlog: VecDeque<squeue::Entry>,
    /// Whether the ring belongs to a thread yet.
    begun: bool,
}

impl Queue {
    pub(super) fn new() -> Result<Queue, Errno> {
        let ring = match build(true) {
            // Linux 6.0 has no deferred work yet; older ones lack multishot receives as well as this flag.
            Err(Errno::EINVAL) => build(false).map_err(|error| match error {
                Errno::EINVAL => Errno::ENOSYS,
                other => other,
            }),
            other => other,
        }?;
        if !ring.params().is_feature_ext_arg() {
            return Err(Errno::ENOSYS);
        }
        Ok(Queue {
            ring,
            backlog: VecDeque::new(),
            begun: false,
        })
    }

    pub(super) fn submitter(&self) -> Submitter<'_> {
        self.ring.submitter()
    }

    /// Puts an operation behind the others, for the next [`Queue::enter`].
    ///
    /// # Safety
    /// What the operation points to must live, unmoved and unchanged, until its completion has come.
    #[inline]
    pub(super) unsafe fn push(&mut self, operation: squeue::Entry) {
        if self.backlog.is_empty() && self.offer(&operation) {
            return;
        }
        self.backlog.push_back(operation);
        self.submit();
    }

    #[inline]
    fn offer(&mut self, operation: &squeue::Entry) -> bool {
        // SAFETY: the caller of `push` has promised it.
        unsafe { self.ring.submission().push(operation).is_ok() }
    }

    fn refill(&mut self) {
        while let Some(operation) = self.backlog.pop_front() {
            if !self.offer(&operation) {
                self.backlog.push_front(operation);
                return;
            }
        }
    }

    /// Hands everything to the kernel without waiting, as far as the kernel takes it.
    pub(super) fn submit(&mut self) {
        self.begin();
        loop {
            self.refill();
            if self.is_empty() || self.ring.submit().unwrap_or(0) == 0 {
                return;
            }
        }
    }

    /// Hands everything to the kernel and waits for a completion, for at most `timeout`: one system call, unless
    /// there is a backlog.
    pub(super) fn enter(&mut self, timeout: Option<Nanos>) {
        self.begin();
        if !self.backlog.is_empty() {
            self.submit();
        }
        // What can go wrong is no news: out of time, interrupted, or so many completions that some are waiting.
        let _ = match timeout {
            None => self.ring.submit_and_wait(1),
            Some(Nanos::ZERO) => self.poll(),
            Some(span) => {
                let time = timespec(span);
                let arguments = SubmitArgs::new().timespec(&time);
                self.ring.submitter().submit_with_args(1, &arguments)
            }
        };
    }

    /// Hands everything over and has the kernel make the completions that there are, without a timer: setting one that
    /// is over at once would cost a switch to another thread and back.
    fn poll(&mut self) -> std::io::Result<usize> {
        let operations = self.ring.submission().len() as u32;
        let submitter = self.ring.submitter();
        // SAFETY: no argument is given, and the callers of `push` have promised what the operations need.
        unsafe { submitter.enter::<libc::sigset_t>(operations, 0, GET_EVENTS, None) }
    }

    /// Whether the kernel has taken everything.
    pub(super) fn is_empty(&mut self) -> bool {
        self.backlog.is_empty() && self.ring.submission().is_empty()
    }

    /// Whether moreover everything that the kernel has to tell so far was collected.
    pub(super) fn is_settled(&mut self) -> bool {
        self.is_empty()
            && self.ring.completion().is_empty()
            && !self.ring.submission().cq_overflow()
    }

    /// Makes the ring the calling thread's: it may have been made in another one.
    #[inline]
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            clock::tighten_waits();
            // Only a ring that is enabled already refuses, which this one is not.
            let _ = self.ring.submitter().register_enable_rings();
        }
    }

    /// Moves what has come to the end of `into`, up to its capacity.
    #[inline]
    pub(super) fn collect(&mut self, into: &mut Vec<cqueue::Entry>) {
        let room = into.capacity() - into.len();
        into.extend(self.ring.completion().take(room));
    }
}

fn timespec(span: Nanos) -> Timespec {
    Timespec::new()
        .sec(span.as_nanos() / 1_000_000_000)
        .nsec((span.as_nanos() % 1_000_000_000) as u32)
}

fn build(deferred: bool) -> Result<IoUring, Errno> {
    let mut builder = IoUring::builder();
    builder
        .setup_single_issuer()
        .setup_r_disabled()
        .setup_submit_all()
        .setup_cqsize(COMPLETIONS);
    match deferred {
        // Completions are made when we wait for them, and at no other time.
        true => builder.setup_defer_taskrun(),
        // Or at least without interrupting us; the flag tells when there are some.
        false => builder.setup_coop_taskrun().setup_taskrun_flag(),
    };
    Ok(builder.build(SUBMISSIONS)?)
}
