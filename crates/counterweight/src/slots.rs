//! Where a worker keeps its connections: a table indexed by token, reused last in, first out.
//!
//! An idle connection costs its row and nothing else; what it holds back (answers that the socket did not take, and
//! requests behind them) is allocated when that happens and freed when it is over.

use crate::shelf::Answer;
use kernel::Token;
use units::Instant;
use wire::http1;

/// Tokens below this one are for listening sockets.
pub(crate) const FIRST: u32 = 64;

/// One connection.
pub(crate) struct Slot {
    pub(crate) http: http1::Server,
    /// The answer to the request that is being read.
    pub(crate) due: Answer,
    /// What cannot go on before the socket takes more.
    pub(crate) held: Option<Box<Held>>,
    /// The last answer was a refusal: the client may be in the middle of sending.
    pub(crate) refused: bool,
    /// The client has ended its side.
    pub(crate) ended: bool,
    /// All is said, our side is ended, and until then the client may read it; none before.
    pub(crate) lingers: Option<Instant>,
}

/// Answers that the socket did not take, and what was read behind them.
pub(crate) struct Held {
    pub(crate) out: Vec<u8>,
    /// How much of `out` is sent.
    pub(crate) sent: usize,
    pub(crate) input: Vec<u8>,
}

impl Held {
    pub(crate) fn size(&self) -> usize {
        self.out.len() + self.input.len()
    }
}

impl Slot {
    fn new() -> Slot {
        Slot {
            http: http1::Server::new(),
            due: Answer::NONE,
            held: None,
            refused: false,
            ended: false,
            lingers: None,
        }
    }

    /// Nothing was asked that is not answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_none() && self.lingers.is_none() && self.http.is_idle()
    }
}

/// The table.
pub(crate) struct Slots {
    rows: Vec<Option<Slot>>,
    /// Free rows among `rows`.
    free: Vec<u32>,
    limit: u32,
}

impl Slots {
    /// At most `limit` connections.
    pub(crate) fn new(limit: u32) -> Slots {
        Slots {
            rows: Vec::new(),
            free: Vec::new(),
            limit,
        }
    }

    /// A token that [`Slots::fill`] takes next; none when all are in use.
    pub(crate) fn vacant(&self) -> Option<Token> {
        let fresh = self.rows.len() as u32;
        let row = match self.free.last() {
            Some(row) => *row,
            None if fresh < self.limit => fresh,
            None => return None,
        };
        Some(Token(FIRST + row))
    }

    /// A new connection for `token`, which [`Slots::vacant`] has just named.
    pub(crate) fn fill(&mut self, token: Token) {
        let row = (token.0 - FIRST) as usize;
        if row == self.rows.len() {
            self.rows.push(Some(Slot::new()));
        } else {
            self.free.pop();
            self.rows[row] = Some(Slot::new());
        }
    }

    #[inline]
    pub(crate) fn get(&mut self, token: Token) -> Option<&mut Slot> {
        let row = token.0.checked_sub(FIRST)?;
        self.rows.get_mut(row as usize)?.as_mut()
    }

    /// Frees a row.
    pub(crate) fn release(&mut self, token: Token) -> Option<Slot> {
        let row = token.0.checked_sub(FIRST)?;
        let slot = self.rows.get_mut(row as usize)?.take()?;
        self.free.push(row);
        Some(slot)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.rows.len()
    }

    /// The tokens of those connections of which `wanted` is true.
    pub(crate) fn tokens(&self, wanted: impl Fn(&Slot) -> bool) -> Vec<Token> {
        let rows = self.rows.iter().zip(FIRST..);
        rows.filter(|(slot, _)| slot.as_ref().is_some_and(&wanted))
            .map(|(_, token)| Token(token))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_reused_before_new_ones_are_made_and_the_limit_holds() {
        let mut slots = Slots::new(2);
        let fill = |slots: &mut Slots| {
            let token = slots.vacant()?;
            slots.fill(token);
            Some(token.0 - FIRST)
        };
        assert_eq!(fill(&mut slots), Some(0));
        assert_eq!(fill(&mut slots), Some(1));
        assert_eq!(fill(&mut slots), None);
        assert!(slots.release(Token(FIRST)).is_some());
        assert!(slots.release(Token(FIRST)).is_none());
        assert_eq!(slots.tokens(|_| true), [Token(FIRST + 1)]);
        assert_eq!(fill(&mut slots), Some(0));
        assert!(slots.get(Token(FIRST - 1)).is_none());
        assert!(slots.get(Token(FIRST + 2)).is_none());
        slots.release(Token(FIRST));
        assert!(!slots.is_empty());
        slots.release(Token(FIRST + 1));
        assert!(slots.is_empty());
    }

    #[test]
    fn an_idle_connection_is_small() {
        assert!(
            size_of::<Option<Slot>>() <= 256,
            "{}",
            size_of::<Option<Slot>>()
        );
    }
}
