//! How an exchange ended; if badly, what, in which step, and whose doing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A complete, well-formed response that is right by the plan's expectation.
    Ok,
    /// Anything else.
    Fault(Fault),
}

/// What went wrong, when, and by whom.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Fault {
    /// What.
    pub kind: Kind,
    /// In which step of the exchange.
    pub step: Step,
    /// Whose doing.
    pub blame: Blame,
}

/// The steps of an exchange, in order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// It was scheduled, but never came as far as a connection.
    Queue,
    /// Opening the connection.
    Connect,
    /// Securing the connection that is open.
    Handshake,
    /// Sending the request.
    Send,
    /// Waiting for, and reading, the head of the response.
    Head,
    /// Reading the body.
    Body,
    /// Judging the complete response.
    Verdict,
}

/// Whose doing a fault is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The server under test.
    Server,
    /// What lies between.
    Network,
    /// Ourselves, or limits of the machine we run on.
    Generator,
}

/// One row a kind of fault: the variant, its name in records, its sentence, and whether it is censored.
macro_rules! kinds {
    ($($variant:ident $name:literal $sentence:literal $censored:literal,)*) => {
        /// What went wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema)]
        pub enum Kind {
            $(
                #[doc = $sentence]
                #[serde(rename = $name)]
                $variant,
            )*
        }

        impl Kind {
            /// Every kind, in the order of the steps.
            pub const ALL: &[Kind] = &[$(Kind::$variant),*];

            /// The name in records and tables.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name),* }
            }

            /// What it means, as part of a sentence about an exchange.
            pub fn sentence(self) -> &'static str {
                match self { $(Kind::$variant => $sentence),* }
            }

            /// Whether the exchange was cut off before its end was known, so that its age is a lower bound.
            pub fn is_censored(self) -> bool {
                match self { $(Kind::$variant => $censored),* }
            }
        }
    };
}

kinds! {
    NeverSent "never_sent" "was scheduled but never sent" true,
    ConnectRefused "connect_refused" "the connection was refused" false,
    ConnectTimeout "connect_timeout" "the connect took longer than --connect-timeout" true,
    ConnectUnreachable "connect_unreachable" "the address could not be reached" false,
    ConnectReset "connect_reset" "the connection was reset while it was being opened" false,
    ConnectOther "connect_other" "the connection could not be opened" false,
    OutOfPorts "out_of_ports" "no local port was free" false,
    OutOfDescriptors "out_of_descriptors" "no file descriptor was free" false,
    OutOfMemory "out_of_memory" "the kernel had no memory or buffers for it" false,
    HandshakeTimeout "handshake_timeout" "the handshake took longer than --connect-timeout" true,
    Alert "alert" "the server ended TLS with an alert" false,
    Certificate "certificate" "the server's certificate was not accepted" false,
    NoHandshake "no_handshake" "the server did not speak TLS" false,
    BadHandshake "bad_handshake" "the handshake failed" false,
    ClosedInHandshake "closed_in_handshake" "the server closed in the middle of the handshake" false,
    Reset "reset" "the connection was reset" false,
    NetworkLost "network_lost" "the network lost the connection" false,
    ClosedBeforeResponse "closed_before_response" "the server closed without sending a response" false,
    ClosedInHead "closed_in_head" "the server closed in the middle of the head" false,
    ClosedInBody "closed_in_body" "the server closed in the middle of the body" false,
    BadRecord "bad_record" "the encryption was broken: a malformed or misplaced record" false,
    CutOff "cut_off" "the server closed without ending TLS, so that the body may be cut off" false,
    Abandoned "abandoned" "was pipelined behind a response that ended the connection" false,
    NotHttp "not_http" "the response was not HTTP" false,
    BadHead "bad_head" "the head of the response was malformed" false,
    HeadTooLarge "head_too_large" "the head of the response was larger than 64 KiB" false,
    TooManyHeaders "too_many_headers" "the head of the response had more than 256 lines" false,
    TooManyInterim "too_many_interim" "1xx responses did not end" false,
    BadContentLength "bad_content_length" "Content-Length was not a number, or contradicted itself" false,
    BadTransferEncoding "bad_transfer_encoding" "Transfer-Encoding was something other than chunked" false,
    BothLengths "both_lengths" "Content-Length and Transfer-Encoding came in one head" false,
    BadChunk "bad_chunk" "the chunked body was malformed" false,
    BadTrailers "bad_trailers" "the trailers were malformed" false,
    TrailersTooLarge "trailers_too_large" "the trailers were larger than 16 KiB" false,
    UnexpectedBytes "unexpected_bytes" "the server sent bytes that belong to no response" false,
    Status4xx "status_4xx" "the status was 4xx" false,
    Status5xx "status_5xx" "the status was 5xx" false,
    StatusUnexpected "status_unexpected" "the status was not an expected one" false,
    BodyDiffers "body_differs" "the body was not the expected one" false,
    Timeout "timeout" "took longer than --timeout" true,
    TimeoutBehind "timeout_behind" "was pipelined behind a request that took longer than --timeout" true,
    Unfinished "unfinished" "was still open when the run ended" true,
    CarriedOver "carried_over" "was sent before the window and had no response by its end" true,
}

/// How often one fault occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultCount {
    /// The fault.
    #[serde(flatten)]
    pub fault: Fault,
    /// How many exchanges ended with it.
    pub count: u64,
}

/// Counts of faults; merges by addition. Few different ones ever occur, so it is a list; two are equal when they hold
/// the same counts, in whatever order they came.
#[derive(Debug, Clone, Default, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Faults(Vec<FaultCount>);

impl PartialEq for Faults {
    fn eq(&self, other: &Faults) -> bool {
        self.sorted() == other.sorted()
    }
}

impl Faults {
    /// Counts `count` more of `fault`.
    pub fn add(&mut self, fault: Fault, count: u64) {
        match self.0.iter_mut().find(|known| known.fault == fault) {
            Some(known) => known.count = known.count.saturating_add(count),
            None if count > 0 => self.0.push(FaultCount { fault, count }),
            None => {}
        }
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Faults) {
        for each in &other.0 {
            self.add(each.fault, each.count);
        }
    }

    /// Every fault that occurred, most frequent first.
    pub fn sorted(&self) -> Vec<FaultCount> {
        let mut counts = self.0.clone();
        counts.sort_by_key(|each| (std::cmp::Reverse(each.count), each.fault));
        counts
    }

    /// Every fault that occurred, in order of first occurrence.
    pub fn iter(&self) -> impl Iterator<Item = &FaultCount> {
        self.0.iter()
    }

    /// Returns the kinds that occurred with their counts, over all steps and blames; the most frequent first.
    pub fn by_kind(&self) -> Vec<(Kind, u64)> {
        let mut kinds: Vec<(Kind, u64)> = Vec::new();
        for each in self.sorted() {
            match kinds.iter_mut().find(|(kind, _)| *kind == each.fault.kind) {
                Some((_, count)) => *count = count.saturating_add(each.count),
                None => kinds.push((each.fault.kind, each.count)),
            }
        }
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        kinds
    }

    /// All faults together.
    pub fn total(&self) -> u64 {
        self.count(|_| true)
    }

    /// The faults that satisfy `wanted`.
    pub fn count(&self, wanted: impl Fn(Fault) -> bool) -> u64 {
        let counts = self
            .0
            .iter()
            .filter(|each| wanted(each.fault))
            .map(|each| each.count);
        counts.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_serialise_as_themselves() {
        let mut names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Kind::ALL.len());
    }
}
