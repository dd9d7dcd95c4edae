//! The exchanges of one thread that are under way, by their names.
//!
//! A connection speaks of exchanges by name ([`ExchangeId`]), in any order; what the thread knows of them is in this table. The name
//! that became free last is given first, so that the table's front stays in the cache.

use crate::job::RequestIndex;
use crate::slot::Pending;
use record::Exchange;
use std::ops::{Index, IndexMut};
use units::Instant;
use wire::ExchangeId;

/// An exchange under way.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Flight {
    pub(crate) exchange: Exchange,
    /// Bytes of its request that were sent on connections before the present one.
    pub(crate) sent_before: u64,
    /// Bytes of body that have come.
    pub(crate) length: u64,
    /// Which of the listed requests it is.
    pub(crate) request_index: RequestIndex,
    /// Where it is not under way: the name that became free before this one.
    free: u32,
    /// The status, once the head has come; 0 before.
    pub(crate) status: u16,
    /// Whether it was due in the window.
    pub(crate) belongs: bool,
    /// Whether the body has shown itself not to be the expected one.
    pub(crate) differs: bool,
    /// Whether more is kept of the response: its body's fingerprint, or all of it.
    pub(crate) is_followed: bool,
}

/// One line of the cache each.
const _: () = assert!(size_of::<Flight>() == 64);

impl Flight {
    pub(crate) fn new(pending: Pending, request_index: RequestIndex) -> Flight {
        Flight {
            exchange: Exchange::scheduled(pending.scheduled),
            sent_before: 0,
            length: 0,
            request_index,
            free: UNDER_WAY,
            status: 0,
            belongs: pending.belongs,
            differs: false,
            is_followed: false,
        }
    }

    /// Since when the server keeps it waiting, if it waits for no other on its connection: then even unsent.
    pub(crate) fn since(&self) -> Instant {
        match self.exchange.is_sent() {
            true => self.exchange.sent,
            false => self.exchange.scheduled,
        }
    }
}

/// In the place of a free name: the exchange is under way, or there is none.
const UNDER_WAY: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX;

/// The table. Every exchange is in it from its opening until it is done; at most as many as there were under way at a time are ever held.
#[derive(Debug)]
pub(crate) struct Exchanges {
    table: Vec<Flight>,
    /// The name that became free last.
    free: u32,
}

impl Default for Exchanges {
    /// Empty.
    fn default() -> Exchanges {
        Exchanges {
            table: Vec::new(),
            free: NONE,
        }
    }
}

impl Exchanges {
    /// Takes an exchange in, and returns its name.
    #[inline]
    pub(crate) fn open(&mut self, flight: Flight) -> ExchangeId {
        let name = self.free;
        match self.table.get_mut(name as usize) {
            Some(place) => {
                self.free = place.free;
                *place = flight;
                ExchangeId(name)
            }
            None => self.grow(flight),
        }
    }

    #[cold]
    fn grow(&mut self, flight: Flight) -> ExchangeId {
        debug_assert_eq!(self.free, NONE, "a free name is in the table");
        let name = self.table.len() as u32;
        assert!(name < UNDER_WAY, "a thread has fewer exchanges than that");
        self.table.push(flight);
        ExchangeId(name)
    }

    /// Forgets an exchange that is done: its name is free.
    #[inline]
    pub(crate) fn close(&mut self, id: ExchangeId) {
        let before = std::mem::replace(&mut self.free, id.0);
        self[id].free = before;
    }

    /// How many are under way.
    pub(crate) fn count(&self) -> usize {
        let is_under_way = |flight: &&Flight| flight.free == UNDER_WAY;
        self.table.iter().filter(is_under_way).count()
    }
}

impl Index<ExchangeId> for Exchanges {
    type Output = Flight;

    #[inline]
    fn index(&self, id: ExchangeId) -> &Flight {
        let flight = &self.table[id.0 as usize];
        debug_assert_eq!(flight.free, UNDER_WAY, "{id:?} is done");
        flight
    }
}

impl IndexMut<ExchangeId> for Exchanges {
    #[inline]
    fn index_mut(&mut self, id: ExchangeId) -> &mut Flight {
        let flight = &mut self.table[id.0 as usize];
        debug_assert_eq!(flight.free, UNDER_WAY, "{id:?} is done");
        flight
    }
}
