//! From which local address to connect.
//!
//! A port stays taken for a minute after a connection that we closed first, and one local address has some tens of
//! thousands of them. On IPv4 loopback there are sixteen million addresses: before one runs out, a thread moves on
//! to the next of a block of its own, 127.(thread+1).x.y.

use std::net::{IpAddr, Ipv4Addr};

/// One thread's local addresses.
#[derive(Debug)]
pub(crate) struct LocalAddresses {
    given: Vec<IpAddr>,
    /// Whether to move through 127.0.0.0/8 by ourselves.
    moving: bool,
    block: u8,
    /// Connections made from the current address, and how many it may have.
    used: u32,
    budget: u32,
    /// Which address: 0 is the kernel's choice, then the block's.
    step: u32,
    /// Connections one address of the thread's own block may have.
    own_budget: u32,
}

impl LocalAddresses {
    /// Local addresses of `thread` (of `threads`) towards `peer`: the `given` ones in turn or, on loopback, a moving one.
    /// `ports` is how many local ports one address has.
    pub(crate) fn new(
        given: &[IpAddr],
        peer: Option<IpAddr>,
        ports: u32,
        thread: u32,
        threads: u32,
    ) -> LocalAddresses {
        let loopback = matches!(peer, Some(IpAddr::V4(address)) if address.is_loopback());
        LocalAddresses {
            given: given.to_vec(),
            moving: given.is_empty() && loopback,
            block: 1 + (thread % 250) as u8,
            used: 0,
            budget: (ports / 2 / threads).max(1),
            step: 0,
            own_budget: (ports / 2).max(1),
        }
    }

    /// The address for the next connection; none: let the kernel choose.
    pub(crate) fn next(&mut self) -> Option<IpAddr> {
        if !self.given.is_empty() {
            self.used = self.used.wrapping_add(1);
            return Some(self.given[(self.used as usize - 1) % self.given.len()]);
        }
        if !self.moving {
            return None;
        }
        if self.used >= self.budget {
            self.advance();
        }
        self.used += 1;
        self.address()
    }

    /// Whether there is a next address when the ports of one are used up.
    pub(crate) fn moves_on(&self) -> bool {
        self.moving
    }

    /// The current address has no free port: use the next one from now on. False when there is none to move to.
    pub(crate) fn advance(&mut self) -> bool {
        if !self.moving {
            return false;
        }
        // 65,000 addresses at 14,000 connections each: gone round once after some 900 million connections.
        self.step = self.step % 65_000 + 1;
        self.used = 0;
        self.budget = self.own_budget;
        true
    }

    fn address(&self) -> Option<IpAddr> {
        let [high, low] = (self.step as u16).to_be_bytes();
        (self.step > 0).then(|| IpAddr::V4(Ipv4Addr::new(127, self.block, high, low)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn on_loopback_no_address_is_used_beyond_its_ports() {
        let peer = Some("127.0.0.1".parse().unwrap());
        let mut sources = LocalAddresses::new(&[], peer, 1000, 0, 2);
        let mut used: HashMap<Option<IpAddr>, u32> = HashMap::new();
        for _ in 0..5_000 {
            *used.entry(sources.next()).or_default() += 1;
        }
        assert_eq!(used[&None], 250);
        assert!(used.values().all(|&count| count <= 500));
        assert!(used.keys().flatten().all(|address| address.is_loopback()));
    }

    #[test]
    fn elsewhere_the_kernel_chooses_and_given_ones_take_turns() {
        let peer = Some("192.0.2.1".parse().unwrap());
        let mut kernels = LocalAddresses::new(&[], peer, 10, 0, 1);
        assert!((0..100).all(|_| kernels.next().is_none()) && !kernels.advance());
        let given = ["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
        let mut taken = LocalAddresses::new(&given, peer, 10, 0, 1);
        let turns: Vec<_> = (0..3).map(|_| taken.next().unwrap()).collect();
        assert_eq!(turns, [given[0], given[1], given[0]]);
    }
}
