//! The one translation from what the wire and the kernel said to an outcome with step and blame.

use kernel::Errno;
use record::{Blame, Fault, Kind, Step};
use wire::Violation;

/// The fault of this kind in `step`, by `blame`.
pub(crate) fn fault(step: Step, kind: Kind, blame: Blame) -> Fault {
    Fault { step, kind, blame }
}

/// A connect that failed. `local`: nothing lies between us and the server.
pub(crate) fn connect(errno: Errno, local: bool) -> Fault {
    let (kind, blame) = match errno {
        Errno::ECONNREFUSED | Errno::ENOENT => (Kind::ConnectRefused, Blame::Server),
        // A Unix socket says EAGAIN when the server's queue of waiting connections is full.
        Errno::EAGAIN => (Kind::ConnectRefused, Blame::Server),
        Errno::ETIMEDOUT => (Kind::ConnectTimeout, far_side(local)),
        Errno::ECONNRESET | Errno::ECONNABORTED => (Kind::ConnectReset, far_side(local)),
        Errno::ENETUNREACH | Errno::EHOSTUNREACH => (Kind::ConnectUnreachable, Blame::Network),
        Errno::EADDRNOTAVAIL | Errno::EADDRINUSE => (Kind::OutOfPorts, Blame::Generator),
        Errno::EMFILE | Errno::ENFILE => (Kind::OutOfDescriptors, Blame::Generator),
        Errno::ENOBUFS | Errno::ENOMEM => (Kind::OutOfMemory, Blame::Generator),
        _ => (Kind::ConnectOther, far_side(local)),
    };
    fault(Step::Connect, kind, blame)
}

/// Silence on connecting: a full queue of the server's where nothing lies between, else most likely the network.
fn far_side(local: bool) -> Blame {
    if local { Blame::Server } else { Blame::Network }
}

/// A connection that the kernel declared dead in the middle of an exchange.
pub(crate) fn socket(errno: Errno, step: Step) -> Fault {
    match errno {
        Errno::ENOBUFS | Errno::ENOMEM => fault(step, Kind::OutOfMemory, Blame::Generator),
        Errno::ETIMEDOUT | Errno::ENETUNREACH | Errno::EHOSTUNREACH => {
            fault(step, Kind::NetworkLost, Blame::Network)
        }
        _ => fault(step, Kind::Reset, Blame::Server),
    }
}

/// Violations are kinds of faults by the same names: `record` has the one table of what they are called.
macro_rules! kinds {
    ($($name:ident)*) => {
        /// The kind of fault that a violation is.
        pub(crate) fn kind(violation: Violation) -> Kind {
            match violation {
                $(Violation::$name => Kind::$name,)*
            }
        }
    };
}

kinds! {
    NotHttp BadHead HeadTooLarge TooManyHeaders TooManyInterim BadContentLength BadTransferEncoding BothLengths
    BadChunk BadTrailers TrailersTooLarge ClosedBeforeResponse ClosedInHead ClosedInBody UnexpectedBytes Abandoned
    Alert Certificate NoHandshake BadHandshake ClosedInHandshake BadRecord CutOff
}

/// A response that broke a rule, or ended early.
pub(crate) fn violation(violation: Violation, step: Step) -> Fault {
    fault(step, kind(violation), Blame::Server)
}

/// A complete response with a status that is not right.
pub(crate) fn status(status: u16) -> Fault {
    let kind = match status {
        400..=499 => Kind::Status4xx,
        500..=599 => Kind::Status5xx,
        _ => Kind::StatusUnexpected,
    };
    fault(Step::Verdict, kind, Blame::Server)
}

/// A handshake that took too long.
pub(crate) fn handshake_timeout(local: bool) -> Fault {
    fault(Step::Handshake, Kind::HandshakeTimeout, far_side(local))
}

/// No complete response in time.
pub(crate) fn timeout(step: Step) -> Fault {
    fault(step, Kind::Timeout, Blame::Server)
}

/// Cut off in good time because an exchange before it on the connection was too late.
pub(crate) fn abandoned(step: Step) -> Fault {
    fault(step, Kind::Abandoned, Blame::Server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_ports_and_descriptors_is_the_generators_doing() {
        for errno in [
            Errno::EADDRNOTAVAIL,
            Errno::EMFILE,
            Errno::ENFILE,
            Errno::ENOBUFS,
        ] {
            assert_eq!(connect(errno, true).blame, Blame::Generator, "{errno:?}");
        }
    }

    #[test]
    fn silence_is_blamed_on_the_network_only_where_there_is_one() {
        assert_eq!(connect(Errno::ETIMEDOUT, true).blame, Blame::Server);
        assert_eq!(connect(Errno::ETIMEDOUT, false).blame, Blame::Network);
    }
}
