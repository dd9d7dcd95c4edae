//! The honest client's connections: sockets, or over TLS pipes through `openssl s_client`, which is none of ours.

use crate::serving::response;
use anyhow::{Context, Result};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a read may wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// What requests are written to and responses read from.
pub trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

/// Opens a connection to `at`; over TLS where there is a `certificate`, which the server must show.
///
/// # Errors
/// Nothing listens, or openssl could not be started. A handshake that fails is seen by the first read.
pub fn connect(at: SocketAddr, certificate: Option<&Path>) -> Result<Box<dyn Stream>> {
    match certificate {
        None => Ok(Box::new(response::connect(at)?)),
        Some(certificate) => Ok(Box::new(Tunnel::start(at, certificate)?)),
    }
}

/// A connection through openssl. It is cut when this is dropped.
struct Tunnel {
    near: UnixStream,
    openssl: Child,
}

impl Tunnel {
    fn start(at: SocketAddr, certificate: &Path) -> Result<Tunnel> {
        let (near, far) = UnixStream::pair()?;
        near.set_read_timeout(Some(PATIENCE))?;
        let address = at.to_string();
        let openssl = Command::new("openssl")
            .args(["s_client", "-quiet", "-verify_return_error"])
            .args(["-verify_ip", "127.0.0.1", "-connect", &address, "-CAfile"])
            .arg(certificate)
            .stdin(OwnedFd::from(far.try_clone()?))
            .stdout(OwnedFd::from(far))
            .stderr(Stdio::null())
            .spawn();
        let openssl = openssl.context("openssl could not be started")?;
        Ok(Tunnel { near, openssl })
    }
}

impl Read for Tunnel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.near.read(into)
    }
}

impl Write for Tunnel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.near.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        let _ = self.openssl.kill(); // it may have ended by itself
        let _ = self.openssl.wait();
    }
}
