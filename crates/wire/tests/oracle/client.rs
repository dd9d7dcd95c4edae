//! The client's events, written down.

use std::fmt::Write;
use wire::http1::Client;
use wire::{Connection, Ending, ExchangeId, Head, Method, Opening, Sink, Source, Step, Violation};

/// What a connection told of one exchange.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Told {
    pub first: bool,
    pub head: Option<(u16, bool)>,
    pub body: Vec<u8>,
    pub ending: Option<Ending>,
}

/// A sink that writes down what it is told, and insists on the order in which it may be told.
#[derive(Debug, Default)]
pub struct Witness {
    /// By number of the exchange, which is its name.
    pub told: Vec<Told>,
    done: usize,
    /// Those of `done` to which the server will not respond.
    pub unanswered: usize,
}

impl Witness {
    /// The exchange at the front, the only one that is spoken of.
    fn front(&mut self, id: ExchangeId) -> &mut Told {
        assert_eq!(
            id.0 as usize, self.done,
            "exchanges are told of in their order"
        );
        self.told
            .resize_with(self.told.len().max(self.done + 1), Told::default);
        &mut self.told[self.done]
    }

    /// Checks that every one of `received` bytes is counted with some response, the refused one at last. How many
    /// those of the refused one are depends on how the input was cut; so they are then forgotten.
    fn count_refused(&mut self, received: u64) {
        let endings = || self.told.iter().filter_map(|told| told.ending);
        let counted: u64 = endings().map(|ending| ending.bytes).sum();
        let is_refusal = |violation| violation != Violation::Abandoned;
        let refused = self.told.iter_mut().filter_map(|told| told.ending.as_mut());
        let mut refused = refused.filter(|ending| ending.result.err().is_some_and(is_refusal));
        match refused.next() {
            Some(ending) => {
                assert_eq!(counted, received, "all that came is counted");
                ending.bytes = 0;
            }
            None => assert!(
                counted < received,
                "bytes that answer nothing are not counted"
            ),
        }
    }

    /// How many exchanges are done.
    pub fn done(&self) -> usize {
        self.done
    }
}

impl Sink for Witness {
    fn first(&mut self, id: ExchangeId) {
        let told = self.front(id);
        assert!(!told.first, "the first byte comes once");
        told.first = true;
    }

    fn head(&mut self, id: ExchangeId, head: &Head<'_>) {
        let told = self.front(id);
        assert!(
            told.first && told.head.is_none(),
            "one head, after the first byte"
        );
        assert!(
            head.raw.ends_with(b"\n") && head.raw.starts_with(b"HTTP/1."),
            "{head:?}"
        );
        assert!(
            head.status == 101 || head.status >= 200,
            "interim heads are not told"
        );
        told.head = Some((head.status, head.keepalive));
    }

    fn body(&mut self, id: ExchangeId, bytes: &[u8]) {
        let told = self.front(id);
        assert!(
            told.head.is_some() && !bytes.is_empty(),
            "a body has bytes and follows its head"
        );
        told.body.extend_from_slice(bytes);
    }

    fn done(&mut self, id: ExchangeId, ending: Ending) {
        let told = self.front(id);
        assert!(told.ending.is_none(), "an exchange is done once");
        assert!(
            ending.result.is_err() || told.head.is_some(),
            "what is complete has a head"
        );
        assert!(
            ending.bytes >= told.body.len() as u64,
            "the body is part of the bytes"
        );
        let is_step = match (told.first, told.head) {
            (false, _) => [Step::Send, Step::Wait].contains(&ending.step),
            (true, None) => ending.step == Step::Head,
            (true, Some(_)) => ending.step == Step::Body,
        };
        assert!(
            is_step,
            "the step is as far as the exchange was told to have come: {ending:?}"
        );
        told.ending = Some(ending);
        self.done += 1;
    }

    fn unanswered(&mut self, id: ExchangeId, ending: Ending) {
        assert_eq!(ending.result, Err(Violation::Abandoned));
        self.unanswered += 1;
        self.done(id, ending);
    }
}

/// What came of a whole conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub told: Vec<Told>,
    pub error: Option<Violation>,
    pub closing: bool,
    pub open: u32,
}

/// Opens one exchange for each `G` or `H` (HEAD) of `script`, sends them, receives `pieces`, and ends the
/// stream if the script ends in a full stop. At most four exchanges.
pub fn converse(script: &str, pieces: &[&[u8]]) -> Outcome {
    converse_on(&mut Client::http1(4), script, pieces)
}

/// The same on a connection that may have been used, and was reset.
pub fn converse_on(connection: &mut Client<'_>, script: &str, pieces: &[&[u8]]) -> Outcome {
    let methods = script.trim_end_matches('.');
    let mut witness = Witness::default();
    for (number, method) in (0..).zip(methods.chars()) {
        let opening = Opening {
            head: Source::Shared(b"GET / HTTP/1.1\r\n\r\n"),
            body: Source::EMPTY,
            method: match method {
                'H' => Method::Head,
                _ => Method::Other,
            },
        };
        connection.open(ExchangeId(number), opening);
        let mut begun = Vec::new();
        connection.sent(18, |id| begun.push(id));
        assert_eq!(begun, [ExchangeId(number)]);
    }
    let mut received = 0;
    let mut result = pieces.iter().try_for_each(|piece| {
        received += piece.len() as u64;
        connection.receive(piece, &mut witness)
    });
    if result.is_err() {
        witness.count_refused(received);
    }
    if result.is_ok() && script.ends_with('.') {
        result = connection.end(&mut witness);
    }
    Outcome {
        told: witness.told,
        error: result.err(),
        closing: connection.closing(),
        open: connection.in_flight(),
    }
}

/// Whether a response with this violation was refused for what it held, so that its bytes depend on how they were cut.
fn is_refused(violation: Violation) -> bool {
    use Violation::{Abandoned, ClosedBeforeResponse, ClosedInBody, ClosedInHead};
    ![Abandoned, ClosedBeforeResponse, ClosedInHead, ClosedInBody].contains(&violation)
}

/// An outcome in one line: `[200 'body' ok/57]` an exchange, then `!violation`, `+N` still open, `closing`.
pub fn line(outcome: &Outcome) -> String {
    let mut line = String::new();
    for told in &outcome.told {
        let mut words = Vec::new();
        words.extend(told.head.map(|(status, keepalive)| {
            format!("{status}{}", if keepalive { "" } else { " close" })
        }));
        if !told.body.is_empty() {
            words.push(format!("'{}'", told.body.escape_ascii()));
        }
        words.extend(told.ending.map(|ending| match ending.result {
            Ok(()) => format!("ok/{}", ending.bytes),
            Err(violation) if is_refused(violation) => format!("{violation:?}"),
            Err(violation) => format!("{violation:?}/{}", ending.bytes),
        }));
        write!(line, "[{}] ", words.join(" ")).expect("a string can be written to");
    }
    line.extend(outcome.error.map(|violation| format!("!{violation:?} ")));
    if outcome.open > 0 {
        write!(line, "+{} ", outcome.open).expect("a string can be written to");
    }
    if outcome.closing {
        line.push_str("closing");
    }
    line.trim_end().to_owned()
}
