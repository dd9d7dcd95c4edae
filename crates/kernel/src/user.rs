//! The user a process runs as, and how a process that root has started becomes another.
//!
//! Ports below 1024 and logs in /var/log are root's to open; serving needs no such rights. So whatever needs them is
//! opened first, and then all of them are given up for good: the groups, the group and the user, real, effective and
//! saved, on every thread (the C library does it for all of them). What was given up is checked before anything is
//! served.

use crate::Errno;
use rustix::process::geteuid;
use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, fchown, lchown};
use std::path::Path;

/// More than any entry of a user database needs.
const ENTRY_LIMIT: usize = 1 << 20;

/// A user of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    name: CString,
    uid: libc::uid_t,
    gid: libc::gid_t,
}

/// Whether the process has root's rights.
pub fn is_root() -> bool {
    geteuid().is_root()
}

impl User {
    /// Returns the user of this name; `None` if there is none.
    ///
    /// # Errors
    /// What the user database said (EIO, EMFILE, ...).
    pub fn find(name: &str) -> Result<Option<User>, Errno> {
        let Ok(name) = CString::new(name) else {
            return Ok(None);
        };
        let mut buffer = vec![0; 1024];
        loop {
            // SAFETY: passwd is plain old data; all zeroes is a valid value of it.
            let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
            let mut found = std::ptr::null_mut();
            // SAFETY: the name is a C string, the buffer is as long as is said, and all outlive the call.
            let error = unsafe {
                libc::getpwnam_r(
                    name.as_ptr(),
                    &mut entry,
                    buffer.as_mut_ptr(),
                    buffer.len(),
                    &mut found,
                )
            };
            match error {
                0 if found.is_null() => return Ok(None),
                0 => {
                    let (uid, gid) = (entry.pw_uid, entry.pw_gid);
                    return Ok(Some(User { name, uid, gid }));
                }
                libc::ERANGE if buffer.len() < ENTRY_LIMIT => buffer.resize(buffer.len() * 2, 0),
                libc::EINTR => {}
                // How the C libraries say that there is none (getpwnam(3)).
                libc::ENOENT | libc::ESRCH => return Ok(None),
                error => return Err(Errno(error)),
            }
        }
    }

    /// Whether the process can become this user: it is root, or this user already.
    pub fn can_be_assumed(&self) -> bool {
        is_root() || geteuid().as_raw() == self.uid
    }

    /// Makes the user the owner of an open file, if it is a regular file and not the user's already. (Devices and pipes
    /// belong to others, too.) What stands at the file's path by now does not matter.
    ///
    /// # Errors
    /// What the system said.
    pub fn own_file(&self, file: &File) -> Result<(), Errno> {
        let facts = file.metadata()?;
        if facts.is_file() && facts.uid() != self.uid {
            fchown(file, Some(self.uid), None)?;
        }
        Ok(())
    }

    /// Makes the user and the user's group the owners of the socket at `path`.
    ///
    /// # Errors
    /// What the system said.
    pub fn own_socket(&self, path: &Path) -> Result<(), Errno> {
        Ok(lchown(path, Some(self.uid), Some(self.gid))?)
    }

    /// Has all threads of the process run as this user from now on, with the user's groups, and without a way back.
    ///
    /// # Errors
    /// EPERM where the process is not root (unless it is this user's already). Then, or when what is seen afterwards is
    /// not what was asked for (EPERM, too), the process must not go on.
    pub fn assume(&self) -> Result<(), Errno> {
        if is_root() || !self.is_everywhere() {
            let (uid, gid) = (self.uid, self.gid);
            // SAFETY: the name is a C string that outlives the call.
            Errno::check(unsafe { libc::initgroups(self.name.as_ptr(), gid) })?;
            // SAFETY: takes no memory of ours.
            Errno::check(unsafe { libc::setresgid(gid, gid, gid) })?;
            // SAFETY: takes no memory of ours.
            Errno::check(unsafe { libc::setresuid(uid, uid, uid) })?;
        }
        // SAFETY: takes no memory of ours.
        let is_lasting = self.uid == 0 || unsafe { libc::setuid(0) } != 0;
        match is_lasting && self.is_everywhere() {
            true => Ok(()),
            false => Err(Errno::EPERM),
        }
    }

    /// Whether each thread has this user and this group, real, effective, saved, and for files.
    fn is_everywhere(&self) -> bool {
        let Ok(threads) = fs::read_dir("/proc/self/task") else {
            return false;
        };
        let (uid, gid) = (self.uid.to_string(), self.gid.to_string());
        threads.flatten().all(|thread| {
            // A thread that has ended meanwhile is as good.
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            let is_all = |name: &str, id: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.is_none_or(|ids| ids.split_whitespace().all(|it| it == id))
            };
            is_all("Uid:", &uid) && is_all("Gid:", &gid)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_and_nobody_else() {
        let root = User::find("root").unwrap().unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        for unknown in ["", "no-such-user-here", "root\0", "0"] {
            assert_eq!(User::find(unknown), Ok(None), "{unknown:?}");
        }
    }

    #[test]
    fn who_is_somebody_already_need_not_become_it() {
        let root = User::find("root").unwrap().unwrap();
        assert_eq!(root.is_everywhere(), is_root());
        // Without root's rights this cannot be had, with them it is so already.
        assert_eq!(root.assume().is_ok(), is_root());
    }
}
