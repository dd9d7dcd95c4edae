//! Who has how many of the connections: one account for all workers.
//!
//! The kernel spreads the connections of one client over all workers, so a limit per address has to be kept in one
//! place. It is asked once for each connection, not for each request: one atomic and, with a limit per address, one
//! lock of some tens of nanoseconds, beside an accept that costs a hundred times as much. Its table has a row for each
//! address that is here now, so it is never larger than the number of connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// The account.
pub(crate) struct Places {
    taken: AtomicU32,
    limit: u32,
    /// Zero: no limit per address.
    per_address: u32,
    /// Connections by client, of clients that have any. (Its hash has a random key, so clients cannot choose
    /// addresses that collide.)
    guests: Mutex<HashMap<Guest, u32>>,
}

/// What counts as one client: an IPv4 address, or an IPv6 network of 64 bits, which is what one customer gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Guest(u64);

/// Set for IPv4; no IPv6 network that is used begins with 31 zeroes and a one.
const IPV4: u64 = 1 << 32;

impl Guest {
    fn new(address: IpAddr) -> Guest {
        match address.to_canonical() {
            IpAddr::V4(address) => Guest(IPV4 | u64::from(address.to_bits())),
            IpAddr::V6(address) => Guest((address.to_bits() >> 64) as u64),
        }
    }
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// For nobody.
    All,
    /// For this address.
    Address,
}

impl Places {
    pub(crate) fn new(limit: u32, per_address: u32) -> Places {
        Places {
            taken: AtomicU32::new(0),
            limit,
            // A limit that the other one keeps already costs nothing.
            per_address: if per_address < limit { per_address } else { 0 },
            guests: Mutex::new(HashMap::new()),
        }
    }

    /// Takes a place; `address` is none for those on Unix sockets, who are counted in total only.
    pub(crate) fn enter(&self, address: Option<IpAddr>) -> Result<(), Full> {
        if self.taken.fetch_add(1, Ordering::Relaxed) >= self.limit {
            self.taken.fetch_sub(1, Ordering::Relaxed);
            return Err(Full::All);
        }
        if let Some(guest) = self.guest(address) {
            let mut guests = self.guests.lock().unwrap_or_else(PoisonError::into_inner);
            let count = guests.entry(guest).or_insert(0);
            if *count >= self.per_address {
                drop(guests);
                self.taken.fetch_sub(1, Ordering::Relaxed);
                return Err(Full::Address);
            }
            *count += 1;
        }
        Ok(())
    }

    /// Gives back a place that [`Places::enter`] gave to `address`.
    pub(crate) fn leave(&self, address: Option<IpAddr>) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
        let Some(guest) = self.guest(address) else {
            return;
        };
        let mut guests = self.guests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = guests.get_mut(&guest) {
            *count -= 1;
            if *count == 0 {
                guests.remove(&guest);
            }
        }
    }

    /// Connections that are here now.
    pub(crate) fn taken(&self) -> u32 {
        self.taken.load(Ordering::Relaxed)
    }

    fn guest(&self, address: Option<IpAddr>) -> Option<Guest> {
        address.filter(|_| self.per_address > 0).map(Guest::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn an_address_has_its_share_and_all_have_the_rest() {
        let places = Places::new(4, 2);
        let enter = |text| places.enter(at(text));
        assert_eq!(enter("192.0.2.1"), Ok(()));
        assert_eq!(enter("::ffff:192.0.2.1"), Ok(()), "the same in other words");
        assert_eq!(enter("192.0.2.1"), Err(Full::Address));
        assert_eq!(enter("2001:db8::1"), Ok(()));
        assert_eq!(enter("2001:db8::ffff:1"), Ok(()), "the same network");
        assert_eq!(enter("192.0.2.9"), Err(Full::All));
        places.leave(at("192.0.2.1"));
        assert_eq!(places.enter(at("2001:db8::2")), Err(Full::Address));
        assert_eq!(places.enter(None), Ok(()), "a Unix socket has no address");
        assert_eq!(places.taken(), 4);
    }

    #[test]
    fn whoever_has_left_leaves_nothing_in_the_table() {
        let places = Places::new(1000, 2);
        for round in 0..3 {
            for last in 0..200 {
                let guest = at(&format!("198.51.100.{last}"));
                assert_eq!(places.enter(guest), Ok(()), "{round}");
            }
            assert_eq!(places.guests.lock().unwrap().len(), 200);
            for last in 0..200 {
                places.leave(at(&format!("198.51.100.{last}")));
            }
            assert_eq!(places.taken(), 0);
            assert!(places.guests.lock().unwrap().is_empty());
        }
    }

    #[test]
    fn workers_that_ask_at_once_get_no_more_than_there_is() {
        let places = Places::new(100, 60);
        let got = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| {
                scope.spawn(|| {
                    (0..100)
                        .filter(|_| places.enter(at("192.0.2.1")).is_ok())
                        .count()
                })
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(got.iter().sum::<usize>(), 60);
        assert_eq!(places.taken(), 60);
    }
}
