//! Where a server listens or a socket is connected to: an IP address with a port, or a path.
//!
//! Names are not endpoints; they are resolved before a load starts, so that no lookup is ever measured by accident.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a server listens.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// An address and port.
    Ip(SocketAddr),
    /// A Unix-domain socket.
    Unix(PathBuf),
}

/// The text is no endpoint; the sentence says which forms there are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address; write 127.0.0.1:80, [::1]:80 or unix:/path")]
pub struct EndpointError(String);

impl Endpoint {
    /// Whether the load never leaves this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Endpoint::Ip(address) => address.ip().is_loopback(),
            Endpoint::Unix(_) => true,
        }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    /// Reads `127.0.0.1:80`, `[::1]:80` or `unix:/path`.
    fn from_str(text: &str) -> Result<Endpoint, EndpointError> {
        let wrong = || EndpointError(text.to_owned());
        match text.strip_prefix("unix:") {
            Some("") => Err(wrong()),
            Some(path) => Ok(Endpoint::Unix(path.into())),
            None => text.parse().map(Endpoint::Ip).map_err(|_| wrong()),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Ip(address) => address.fmt(f),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Endpoint {
        Endpoint::Ip(address)
    }
}
