//! Which connections there are: a protocol, and what lies between it and the socket.

use crate::http1::{Client, Dialect, Shared};
use crate::tls::{self, Security, Tls};
use crate::{Connection, Encoded, Filtered, Request};

/// What is done with connections of whatever kind is chosen. (A function could not be handed over: it would have to be
/// generic over the kind.)
pub trait Visitor<'p> {
    /// What comes of it.
    type Output;

    /// Does it with connections `C`, which all are made of `shared`.
    fn visit<C: Connection<'p> + 'p>(self, shared: C::Shared) -> Self::Output;
}

/// The connections that a plan wants: plain ones that are kept, unless told otherwise.
#[derive(Debug, Clone, Default)]
pub struct Stack {
    /// How HTTP/1 is spoken on them.
    pub dialect: Dialect,
    /// How they are secured, if they are.
    pub security: Option<Security>,
}

impl Stack {
    /// Encodes `request` as each protocol wants it that these connections may speak.
    pub fn encode(&self, request: &Request<'_>) -> Encoded {
        let mut http1 = Vec::new();
        self.dialect.encode(request, &mut http1);
        Encoded { http1 }
    }

    /// Calls `visitor` with the kind of connections that these are, and with what those of one thread share, which is new.
    pub fn choose<'p, V: Visitor<'p>>(&self, visitor: V) -> V::Output {
        let plain = Shared::new(self.dialect);
        match &self.security {
            None => visitor.visit::<Client<'p>>(plain),
            Some(security) => visitor
                .visit::<Filtered<Client<'p>, Tls<tls::Client>>>((plain, security.of_thread())),
        }
    }
}
