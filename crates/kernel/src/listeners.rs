//! Listening sockets of a ring, and the socket files that go when they do.
//!
//! What is the same for every ring with a kernel under it, in one place. The descriptors are the ring's.

use crate::{Address, Errno, ListenOptions, Token, socket};
use std::os::fd::RawFd;
use std::path::PathBuf;

/// The socket files of a ring's listeners.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    files: Vec<(Token, PathBuf)>,
}

impl Listeners {
    /// A new listening socket for `token`, and where it listens.
    pub(crate) fn open(
        &mut self,
        token: Token,
        at: &Address,
        options: &ListenOptions,
    ) -> Result<(RawFd, Address), Errno> {
        let (fd, at) = socket::listen(at, options)?;
        if let Address::Unix(path) = &at {
            self.files.push((token, path.clone()));
        }
        Ok((fd, at))
    }

    /// Removes what `token`'s listener had, if it is one and had something.
    pub(crate) fn close(&mut self, token: Token) {
        if let Some(index) = self.files.iter().position(|file| file.0 == token) {
            let (_, path) = self.files.swap_remove(index);
            // Gone already is as good.
            let _ = std::fs::remove_file(path);
        }
    }
}
