//! The number of connections, in total and by client address: one limiter for all workers.
//!
//! The kernel spreads the connections of one client over all workers, so a limit per address has to be kept in one
//! object. It is asked once for each connection, not for each request: one atomic and, with a limit per address, one
//! lock of some tens of nanoseconds, beside an accept that costs a hundred times as much. Its table has a row for each
//! address that is here now, so it is never larger than the number of connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Limits on open connections, shared by all workers.
pub(crate) struct ConnectionLimiter {
    open: AtomicU32,
    limit: u32,
    /// Zero: no limit per address.
    per_address: u32,
    /// Connections by client, of clients that have any. (Its hash has a random key, so clients cannot choose
    /// addresses that collide.)
    clients: Mutex<HashMap<u64, u32>>,
}

/// Set for IPv4; no IPv6 network that is used begins with 31 zeroes and a one.
const IPV4: u64 = 1 << 32;

/// What counts as one client: an IPv4 address, or an IPv6 network of 64 bits, which is what one customer gets.
fn client(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => IPV4 | u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

/// Why a connection is over the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// The server has its maximum.
    All,
    /// The address has its maximum.
    Address,
}

impl ConnectionLimiter {
    pub(crate) fn new(limit: u32, per_address: u32) -> ConnectionLimiter {
        ConnectionLimiter {
            open: AtomicU32::new(0),
            limit,
            // A limit that the other one keeps already costs nothing.
            per_address: if per_address < limit { per_address } else { 0 },
            clients: Mutex::new(HashMap::new()),
        }
    }

    /// Counts a connection; `address` is none on Unix sockets, which are counted in total only.
    pub(crate) fn acquire(&self, address: Option<IpAddr>) -> Result<(), Full> {
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.limit {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return Err(Full::All);
        }
        if let Some(client) = self.client(address) {
            let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
            let count = clients.entry(client).or_insert(0);
            if *count >= self.per_address {
                drop(clients);
                self.open.fetch_sub(1, Ordering::Relaxed);
                return Err(Full::Address);
            }
            *count += 1;
        }
        Ok(())
    }

    /// Ends a connection from `address` that [`ConnectionLimiter::acquire`] has counted.
    pub(crate) fn release(&self, address: Option<IpAddr>) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        let Some(client) = self.client(address) else {
            return;
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = clients.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                clients.remove(&client);
            }
        }
    }

    /// Number of connections now.
    pub(crate) fn open(&self) -> u32 {
        self.open.load(Ordering::Relaxed)
    }

    fn client(&self, address: Option<IpAddr>) -> Option<u64> {
        address.filter(|_| self.per_address > 0).map(client)
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
        let limiter = ConnectionLimiter::new(4, 2);
        let acquire = |text| limiter.acquire(at(text));
        assert_eq!(acquire("192.0.2.1"), Ok(()));
        assert_eq!(
            acquire("::ffff:192.0.2.1"),
            Ok(()),
            "the same in other words"
        );
        assert_eq!(acquire("192.0.2.1"), Err(Full::Address));
        assert_eq!(acquire("2001:db8::1"), Ok(()));
        assert_eq!(acquire("2001:db8::ffff:1"), Ok(()), "the same network");
        assert_eq!(acquire("192.0.2.9"), Err(Full::All));
        limiter.release(at("192.0.2.1"));
        assert_eq!(limiter.acquire(at("2001:db8::2")), Err(Full::Address));
        assert_eq!(
            limiter.acquire(None),
            Ok(()),
            "a Unix socket has no address"
        );
        assert_eq!(limiter.open(), 4);
    }

    #[test]
    fn an_address_without_connections_has_no_row_in_the_table() {
        let limiter = ConnectionLimiter::new(1000, 2);
        for round in 0..3 {
            for last in 0..200 {
                let client = at(&format!("198.51.100.{last}"));
                assert_eq!(limiter.acquire(client), Ok(()), "{round}");
            }
            assert_eq!(limiter.clients.lock().unwrap().len(), 200);
            for last in 0..200 {
                limiter.release(at(&format!("198.51.100.{last}")));
            }
            assert_eq!(limiter.open(), 0);
            assert!(limiter.clients.lock().unwrap().is_empty());
        }
    }

    #[test]
    fn workers_that_count_at_once_stay_within_the_limit() {
        let limiter = ConnectionLimiter::new(100, 60);
        let got = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| {
                scope.spawn(|| {
                    (0..100)
                        .filter(|_| limiter.acquire(at("192.0.2.1")).is_ok())
                        .count()
                })
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(got.iter().sum::<usize>(), 60);
        assert_eq!(limiter.open(), 60);
    }
}
