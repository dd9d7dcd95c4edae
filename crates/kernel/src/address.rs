//! Where a socket is, in the kernel's own form.

use crate::Errno;
use socket2::SockAddr;
use std::os::unix::ffi::OsStrExt;
pub use units::{Endpoint as Address, EndpointError as AddressError};

/// `address` for the kernel to read; ENAMETOOLONG for a path that does not fit (107 bytes).
pub(crate) fn raw(address: &Address) -> Result<SockAddr, Errno> {
    let path = match address {
        Address::Ip(ip) => return Ok((*ip).into()),
        Address::Unix(path) => path,
    };
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() || bytes.contains(&0) {
        return Err(Errno::EINVAL);
    }
    SockAddr::unix(path).map_err(|_| Errno::ENAMETOOLONG)
}

/// The address that the kernel wrote; EAFNOSUPPORT for a family that is none of ours.
pub(crate) fn read(raw: &SockAddr) -> Result<Address, Errno> {
    let path = || raw.as_pathname().map(|path| Address::Unix(path.into()));
    let address = raw.as_socket().map(Address::Ip).or_else(path);
    address.ok_or(Errno::EAFNOSUPPORT)
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
            assert_eq!(read(&raw(&address).unwrap()), Ok(address), "{text}");
        }
    }

    #[test]
    fn a_path_that_does_not_fit_is_refused() {
        let longest = Address::Unix("x".repeat(107).into());
        assert_eq!(read(&raw(&longest).unwrap()), Ok(longest));
        let longer = Address::Unix("x".repeat(108).into());
        assert_eq!(raw(&longer).err(), Some(Errno::ENAMETOOLONG));
    }
}
