//! Chunk extensions, read for their form only (RFC 9112 §7.1.1): no client uses them, and a server that passes on
//! what another reads differently makes one request of two.
//!
//! ```text
//! ; --> Begin --name--> Name --=--> Equals --token--> Value
//!         ^               | `--space--> NamePad --=-->  `--"--> Quoted --"--> QuotedEnd
//!         `------;--------'-------------------------- Value | QuotedEnd | Padding (space behind either)
//! ```

use crate::request::{is_token_byte, is_value_byte};

/// Where in the extensions of a size line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extension {
    /// Space between the size, or a value, and the next `;`.
    Padding,
    /// Behind `;`.
    Begin,
    Name,
    /// Space between a name and its `=`.
    NamePad,
    /// Behind `=`.
    Equals,
    Value,
    Quoted,
    /// Behind a backslash.
    Escape,
    QuotedEnd,
}

impl Extension {
    /// The next place; none if `byte` cannot stand here.
    pub(crate) fn step(self, byte: u8) -> Option<Extension> {
        use Extension::{Begin, Equals, Escape, Name, NamePad, Padding, Quoted, QuotedEnd, Value};
        Some(match (self, byte) {
            (Padding | Name | NamePad | Value | QuotedEnd, b';') => Begin,
            (Padding | Value | QuotedEnd, b' ' | b'\t') => Padding,
            (Begin | Equals, b' ' | b'\t') => self,
            (Name | NamePad, b' ' | b'\t') => NamePad,
            (Name | NamePad, b'=') => Equals,
            (Begin | Name, byte) if is_token_byte(byte) => Name,
            (Equals | Value, byte) if is_token_byte(byte) => Value,
            (Equals, b'"') => Quoted,
            (Quoted, b'"') => QuotedEnd,
            (Quoted, b'\\') => Escape,
            (Quoted | Escape, byte) if is_value_byte(byte) => Quoted,
            _ => return None,
        })
    }

    /// The size line can end here.
    pub(crate) fn may_end(self) -> bool {
        matches!(
            self,
            Extension::Name | Extension::Value | Extension::QuotedEnd
        )
    }
}
