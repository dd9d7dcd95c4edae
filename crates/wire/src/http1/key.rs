//! Names for the heads of requests that are remembered.

/// How many requests' heads are remembered: what one page of a site asks for, and few enough that looking through them
/// in vain costs little beside parsing.
pub(super) const PLACES: usize = 8;

/// Names the bytes of a head, so that what a server has concluded from a request can be used for an equal one. Never
/// used again for others.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub(super) u64);

impl Key {
    /// Keys with the same place replace one another: of a table with a row for each place, the one row where this
    /// key's conclusion can be. Below [`super::RequestCache::PLACES`].
    #[inline]
    pub fn place(self) -> usize {
        (self.0 % PLACES as u64) as usize
    }
}
