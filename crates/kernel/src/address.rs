//! Where a socket is, in the kernel's own form.

use crate::Errno;
use std::ffi::OsStr;
use std::mem::{offset_of, size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
pub use units::{Endpoint as Address, EndpointError as AddressError};

/// An address in the kernel's own form.
pub(crate) struct Raw {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Raw {
    /// Space for the kernel to write an address into.
    pub(crate) fn empty() -> Raw {
        Raw {
            // SAFETY: sockaddr_storage is plain old data; all zeroes is a valid value of it.
            storage: unsafe { zeroed() },
            length: size_of::<libc::sockaddr_storage>() as libc::socklen_t,
        }
    }

    /// `address` for the kernel to read; ENAMETOOLONG for a path that does not fit (107 bytes).
    pub(crate) fn new(address: &Address) -> Result<Raw, Errno> {
        match address {
            Address::Ip(SocketAddr::V4(v4)) => Ok(Raw::of(inet(v4))),
            Address::Ip(SocketAddr::V6(v6)) => Ok(Raw::of(inet6(v6))),
            Address::Unix(path) => unix(path).map(Raw::of),
        }
    }

    fn of<T: Copy>(address: T) -> Raw {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        let mut raw = Raw::empty();
        // SAFETY: the storage is at least as large as T (checked above) and aligned for every kind of address.
        unsafe { (&raw mut raw.storage).cast::<T>().write(address) };
        raw.length = size_of::<T>() as libc::socklen_t;
        raw
    }

    pub(crate) fn family(&self) -> libc::c_int {
        libc::c_int::from(self.storage.ss_family)
    }

    pub(crate) fn as_ptr(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    pub(crate) fn length(&self) -> libc::socklen_t {
        self.length
    }

    /// Both parts for a call that fills them.
    pub(crate) fn parts_mut(&mut self) -> (*mut libc::sockaddr, &mut libc::socklen_t) {
        ((&raw mut self.storage).cast(), &mut self.length)
    }

    /// What the kernel wrote; EAFNOSUPPORT for a family that is none of ours.
    pub(crate) fn address(&self) -> Result<Address, Errno> {
        match (self.ip(), self.family()) {
            (Some(ip), _) => Ok(ip.into()),
            (None, libc::AF_UNIX) => {
                let storage = &raw const self.storage;
                // SAFETY: the family says which structure the storage holds; the storage is large enough for each.
                let unix = unsafe { storage.cast::<libc::sockaddr_un>().read() };
                Ok(Address::Unix(self.path(&unix)))
            }
            _ => Err(Errno::EAFNOSUPPORT),
        }
    }

    /// What the kernel wrote, if that is an IP address.
    pub(crate) fn ip(&self) -> Option<SocketAddr> {
        let storage = &raw const self.storage;
        match self.family() {
            libc::AF_INET => {
                // SAFETY: the family says which structure the storage holds; the storage is large enough for each.
                let v4 = unsafe { storage.cast::<libc::sockaddr_in>().read() };
                let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
                Some(SocketAddr::from((ip, u16::from_be(v4.sin_port))))
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let v6 = unsafe { storage.cast::<libc::sockaddr_in6>().read() };
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let port = u16::from_be(v6.sin6_port);
                let v6 = SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id);
                Some(SocketAddr::V6(v6))
            }
            _ => None,
        }
    }

    fn path(&self, unix: &libc::sockaddr_un) -> PathBuf {
        let length = (self.length as usize).saturating_sub(offset_of!(libc::sockaddr_un, sun_path));
        let bytes: Vec<u8> = unix.sun_path[..length.min(unix.sun_path.len())]
            .iter()
            .map(|&byte| byte as u8)
            .take_while(|&byte| byte != 0)
            .collect();
        PathBuf::from(OsStr::from_bytes(&bytes))
    }
}

fn inet(v4: &SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: v4.port().to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from(*v4.ip()).to_be(),
        },
        sin_zero: [0; 8],
    }
}

fn inet6(v6: &SocketAddrV6) -> libc::sockaddr_in6 {
    libc::sockaddr_in6 {
        sin6_family: libc::AF_INET6 as libc::sa_family_t,
        sin6_port: v6.port().to_be(),
        sin6_flowinfo: v6.flowinfo(),
        sin6_addr: libc::in6_addr {
            s6_addr: v6.ip().octets(),
        },
        sin6_scope_id: v6.scope_id(),
    }
}

fn unix(path: &Path) -> Result<libc::sockaddr_un, Errno> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() || bytes.contains(&0) {
        return Err(Errno::EINVAL);
    }
    // SAFETY: sockaddr_un is plain old data; all zeroes is a valid value of it.
    let mut unix: libc::sockaddr_un = unsafe { zeroed() };
    if bytes.len() >= unix.sun_path.len() {
        return Err(Errno::ENAMETOOLONG);
    }
    unix.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in unix.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    Ok(unix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_shown_the_same_way() {
        for text in [
            "127.0.0.1:80",
            "[::1]:8080",
            "unix:/run/a.sock",
            "unix:b.sock",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "localhost:80",
            "127.0.0.1",
            "::1:80x",
            "unix:",
            "/run/a.sock",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_survives_the_kernels_form() {
        for text in [
            "10.1.2.3:65535",
            "[fe80::1%7]:1",
            "[2001:db8::2]:443",
            "unix:/a/b",
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(Raw::new(&address).unwrap().address(), Ok(address), "{text}");
        }
    }

    #[test]
    fn a_path_that_does_not_fit_is_refused() {
        let longest = Address::Unix("x".repeat(107).into());
        assert_eq!(Raw::new(&longest).unwrap().address(), Ok(longest));
        let longer = Address::Unix("x".repeat(108).into());
        assert_eq!(Raw::new(&longer).err(), Some(Errno::ENAMETOOLONG));
    }
}
