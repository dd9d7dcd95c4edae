//! Where the server is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use units::Endpoint;

/// The server under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// `http` or `https`.
    pub scheme: String,
    /// The authority as the URL named it; it goes into `Host`.
    pub authority: String,
    /// Where the name leads, in the order in which they are tried. The first that accepts a connection is used for
    /// the whole campaign; the record's `probe` says which that was.
    pub endpoints: Vec<Endpoint>,
}
