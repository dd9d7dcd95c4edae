//! Who is asked, and what.

use crate::secrets::{Secrets, WITHHELD};
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

/// What is asked, in turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Requests {
    /// These, over and over.
    Listed(Vec<Request>),
    /// One a line of a file that is read as it is needed, over and over: `[METHOD] PATH-OR-URL [BODY]`.
    File {
        /// The file.
        path: PathBuf,
        /// What every line has in common: headers and, where a line names none, method and body.
        common: Request,
    },
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query; may hold `{seq}` and `{random}`.
    pub path: String,
    /// Headers beyond the defaults; one of the same name replaces a default.
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    pub body: Option<Body>,
}

impl Request {
    /// A GET of `path` with default headers.
    pub fn get(path: &str) -> Request {
        Request {
            method: "GET".into(),
            path: path.into(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// The request as it may be written down.
    pub(crate) fn withhold(&mut self, secrets: Secrets<'_>) {
        for (name, value) in &mut self.headers {
            *value = secrets.header(name, value);
        }
        self.path = secrets.url(&self.path);
        if let Some(Body::Text(text)) = &mut self.body {
            *text = secrets.body(text);
        }
    }

    /// Whether something that is sent is missing, because it is withheld.
    pub(crate) fn withholds(&self) -> bool {
        let body = match &self.body {
            Some(Body::Text(text)) => text.as_str(),
            _ => "",
        };
        let mut values = self.headers.iter().map(|(_, value)| value.as_str());
        values.any(|value| value.contains(WITHHELD))
            || self.path.contains(WITHHELD)
            || body.starts_with(WITHHELD)
    }

    /// Whether every exchange asks something else, so that bodies cannot be compared with one another.
    pub fn is_template(&self) -> bool {
        let body = match &self.body {
            Some(Body::Text(text)) => crate::template::has_holes(text),
            _ => false,
        };
        body || crate::template::has_holes(&self.path)
    }
}

/// A request's body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// As written on the command line; may hold `{seq}` and `{random}`.
    Text(String),
    /// A file's contents, sent as they are.
    File {
        /// The file.
        path: PathBuf,
        /// Its length in bytes when the plan was made.
        length: u64,
    },
}
