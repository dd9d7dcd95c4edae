//! Which connections there are: a protocol, and what lies between it and the socket.

use crate::http1::Client;
use crate::tls::{self, Security, Tls};
use crate::{Connection, Filtered};

/// What is done with connections of whatever kind is chosen. (A function could not be handed over: it would have to be
/// generic over the kind.)
pub trait Visitor<'p> {
    /// What comes of it.
    type Output;

    /// Does it with connections `C`, which all are made of `shared`.
    fn visit<C: Connection<'p> + 'p>(self, shared: C::Shared) -> Self::Output;
}

/// The connections that a plan wants.
#[derive(Debug, Clone, Default)]
pub struct Stack {
    security: Option<Security>,
}

impl Stack {
    /// Connections that are secured so.
    pub fn secured(security: Security) -> Stack {
        Stack {
            security: Some(security),
        }
    }

    /// Calls `visitor` with the kind of connections that these are, and with what those of one thread share, which is new.
    pub fn choose<'p, V: Visitor<'p>>(&self, visitor: V) -> V::Output {
        let plain = Default::default();
        match &self.security {
            None => visitor.visit::<Client<'p>>(plain),
            Some(security) => visitor
                .visit::<Filtered<Client<'p>, Tls<tls::Client>>>((plain, security.of_thread())),
        }
    }
}
