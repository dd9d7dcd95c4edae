//! From names to addresses, before a load begins: a lookup must never be part of a latency.

use std::net::{SocketAddr, ToSocketAddrs};

/// All addresses of `host` (a name, an IPv4 address, or an IPv6 address with or without brackets), in the order in
/// which the system would try them, each once.
///
/// # Errors
/// A sentence that names `host`, when there is none.
pub fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let failed = |reason: &str| format!("no address is known for `{host}` ({reason})");
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let found = (inner.unwrap_or(host), port).to_socket_addrs();
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found.map_err(|error| failed(&error.to_string()))? {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(failed("the resolver found none"));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_addresses_are_themselves() {
        let cases = [
            ("127.0.0.1", "127.0.0.1:80"),
            ("::1", "[::1]:80"),
            ("[::1]", "[::1]:80"),
        ];
        for (host, wanted) in cases {
            let wanted: SocketAddr = wanted.parse().unwrap();
            assert_eq!(resolve(host, 80), Ok(vec![wanted]), "{host}");
        }
    }

    #[test]
    fn localhost_is_on_loopback_and_named_once_each() {
        let addresses = resolve("localhost", 80).unwrap();
        assert!(addresses.iter().all(|address| address.ip().is_loopback()));
        for (index, address) in addresses.iter().enumerate() {
            assert!(!addresses[..index].contains(address));
        }
    }

    #[test]
    fn a_name_without_address_says_which() {
        // Reserved never to exist (RFC 2606).
        let error = resolve("no-host.invalid", 80).unwrap_err();
        assert!(error.starts_with("no address is known for `no-host.invalid` ("));
    }
}
