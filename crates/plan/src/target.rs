//! Where the server is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// An address and port.
    Ip(SocketAddr),
    /// A Unix-domain socket.
    Unix(PathBuf),
}

impl Endpoint {
    /// Whether the load never leaves this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Endpoint::Ip(address) => address.ip().is_loopback(),
            Endpoint::Unix(_) => true,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Ip(address) => write!(f, "{address}"),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Who is asked: one server, whatever it is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// `http` (others come later).
    pub scheme: String,
    /// The authority as the URL named it; it goes into `Host`.
    pub authority: String,
    /// Where the name leads, in the order in which they are tried. The first that accepts a connection is used for
    /// the whole campaign; the record's `probe` says which that was.
    pub endpoints: Vec<Endpoint>,
}
