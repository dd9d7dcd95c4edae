//! Waiting for events: exactly where the kernel can, in milliseconds where it cannot.
//!
//! A separate file only because it is a story of its own; its state is the ring's.

use super::{EVENTS, Epoll};
use crate::{Errno, clock};
use std::os::fd::AsRawFd;
use std::ptr;
use units::Nanos;

impl Epoll {
    /// Asks the kernel for events and says how many there are; a signal ends the wait with none.
    pub(super) fn gather(&mut self, timeout: Option<Nanos>) -> usize {
        if self.exact {
            match self.wait_exactly(timeout) {
                Ok(events) => return events,
                Err(Errno::EINTR) => return 0,
                // Not there (ENOSYS), or not allowed (EPERM of a container's filter).
                Err(_) => self.exact = false,
            }
        }
        self.wait_coarsely(timeout).unwrap_or(0)
    }

    fn wait_exactly(&mut self, timeout: Option<Nanos>) -> Result<usize, Errno> {
        let time = timeout.map(|span| clock::timespec(span.as_nanos()));
        // SAFETY: the array has room for EVENTS, the time (null for none) outlives the call, and no signal mask is
        // given.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                EVENTS as libc::c_int,
                time.as_ref().map_or(ptr::null(), ptr::from_ref),
                ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        Errno::check_size(found as libc::ssize_t)
    }

    fn wait_coarsely(&mut self, timeout: Option<Nanos>) -> Result<usize, Errno> {
        let millis = timeout.map_or(-1, millis_up);
        let (epoll, events) = (self.epoll.as_raw_fd(), self.events.as_mut_ptr());
        // SAFETY: the array has room for EVENTS.
        let found = unsafe { libc::epoll_wait(epoll, events, EVENTS as libc::c_int, millis) };
        Errno::check(found).map(|count| count as usize)
    }
}

/// Milliseconds for epoll_wait, rounded up: early would spin, late is only late.
pub(super) fn millis_up(span: Nanos) -> libc::c_int {
    libc::c_int::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
}
