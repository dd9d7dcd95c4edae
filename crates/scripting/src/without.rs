//! In the place of scripts where weigh was built without Lua.

use crate::{Asked, Next, Response, Said, Settings, Summary};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

/// There is none.
#[derive(Debug)]
pub struct Script(Infallible);

/// There is none.
#[derive(Debug)]
pub struct ThreadScript(Infallible);

impl Script {
    /// Loads nothing.
    ///
    /// # Errors
    /// Always: a sentence.
    pub fn load(settings: &Settings<'_>) -> Result<Script, String> {
        Err(format!(
            "{}: this weigh was built without Lua; build it with its default features",
            settings.name
        ))
    }

    /// That of a thread.
    pub fn thread(&self, _: u32) -> Option<&ThreadScript> {
        match self.0 {}
    }

    /// The only request.
    ///
    /// # Errors
    /// Never.
    pub fn only_request(&self) -> Result<Option<Asked>, String> {
        match self.0 {}
    }

    /// Requests at a time.
    ///
    /// # Errors
    /// Never.
    pub fn pipeline(&self) -> Result<u32, String> {
        match self.0 {}
    }

    /// Whether it wants to be told how the load went.
    pub fn has_done(&self) -> bool {
        match self.0 {}
    }

    /// Addresses of threads.
    pub fn addresses(&self) -> Vec<Option<SocketAddr>> {
        match self.0 {}
    }

    /// The load is over.
    pub fn done(&self, _: Summary) {
        match self.0 {}
    }

    /// What it has written.
    pub fn said(&self) -> Said {
        match self.0 {}
    }

    /// Why it failed.
    pub fn failure(&self) -> Option<String> {
        match self.0 {}
    }
}

impl ThreadScript {
    /// Whether responses are wanted.
    pub fn wants_responses(&self) -> bool {
        match self.0 {}
    }

    /// Whether it asks for pauses.
    pub fn has_delay(&self) -> bool {
        match self.0 {}
    }

    /// The next pause.
    pub fn delay(&self) -> Duration {
        match self.0 {}
    }

    /// What comes next.
    pub fn next(&self) -> Next {
        match self.0 {}
    }

    /// A response has come.
    pub fn told(&self, _: &Response) {
        match self.0 {}
    }
}
