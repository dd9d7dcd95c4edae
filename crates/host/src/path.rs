//! The network path from this machine to a target: loopback or which link, and what connecting takes.

use crate::files::{Root, fact};
use record::{Link, NetworkPath};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use units::Nanos;

/// Connects that are made, one after the other, each closed at once.
const CONNECTS: usize = 5;
/// How long each may take.
const PATIENCE: Nanos = Nanos::from_secs(3);

/// Returns the path to `address`, which the user called `target`, after five connects to it; the first that
/// fails is the last.
pub fn path(target: &str, address: SocketAddr) -> NetworkPath {
    let mut path = NetworkPath {
        target: target.to_owned(),
        address: address.to_string(),
        link: link(address),
        ..NetworkPath::default()
    };
    for _ in 0..CONNECTS {
        let start = kernel::clock::now();
        match TcpStream::connect_timeout(&address, PATIENCE.to_std()) {
            Ok(_) => path.connects.push(kernel::clock::now() - start),
            Err(error) => {
                path.failed = Some(error.kind().to_string());
                break;
            }
        }
    }
    path
}

/// Returns the link that packets to `address` take. No packet is sent.
pub fn link(address: SocketAddr) -> Link {
    link_by(&Root::machine(), address.ip(), is_own(address))
}

/// Whether `address` is one of this machine's own: then packets to it have it as their source, too. No packet is sent.
fn is_own(address: SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(address)?;
        socket.local_addr()
    });
    address.ip().is_loopback() || socket.is_ok_and(|own| own.ip() == address.ip())
}

/// The link that packets to `to` take, by the files of `root`.
fn link_by(root: &Root, to: IpAddr, loopback: bool) -> Link {
    let interface = match (loopback, to) {
        (true, _) => Some("lo".to_owned()),
        (_, IpAddr::V4(to)) => root
            .text("/proc/net/route")
            .and_then(|text| route(&text, to)),
        (_, IpAddr::V6(to)) => root
            .text("/proc/net/ipv6_route")
            .and_then(|text| route6(&text, to)),
    };
    let say = |what: &str| root.fact(format!("/sys/class/net/{}/{what}", interface.as_deref()?));
    let is_device = say("device/uevent").is_some();
    Link {
        loopback,
        link_mbits: say("speed")
            .filter(|_| is_device)
            .and_then(|speed| speed.parse().ok()), // -1 where the driver does not know
        half_duplex: say("duplex")
            .filter(|kind| kind != "unknown")
            .map(|kind| kind == "half"),
        mtu: say("mtu").and_then(|mtu| mtu.parse().ok()),
        interface,
    }
}

/// The interface of the narrowest route of /proc/net/route that leads to `to`: numbers are in hexadecimal, in the byte
/// order of the machine.
fn route(text: &str, to: Ipv4Addr) -> Option<String> {
    let routes = text.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok();
        let (destination, mask) = (number(1)?, number(7)?);
        let leads = u32::from_ne_bytes(to.octets()) & mask == destination;
        leads.then_some((mask.count_ones(), fact(fields[0])?))
    });
    routes.max_by_key(|(bits, _)| *bits).map(|(_, name)| name)
}

/// The same of /proc/net/ipv6_route: destination and its length first, the interface last.
fn route6(text: &str, to: Ipv6Addr) -> Option<String> {
    let routes = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let destination = u128::from_str_radix(fields.first()?, 16).ok()?;
        let bits = u32::from_str_radix(fields.get(1)?, 16)
            .ok()
            .filter(|bits| *bits <= 128)?;
        let differs = u128::from(to) ^ destination;
        let leads = differs.checked_shr(128 - bits).unwrap_or(0) == 0;
        leads.then_some((bits, fact(fields.last()?)?))
    });
    routes.max_by_key(|(bits, _)| *bits).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;
    use std::net::TcpListener;

    const ROUTES: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        veth2\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n\
        eth1\t0000A8C0\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";
    const ROUTES6: &str = "\
        20010db8000000000000000000000000 20 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1\n\
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n";

    #[test]
    #[cfg(target_endian = "little")]
    fn the_narrowest_route_names_the_link() {
        let tree = fixture(&[
            ("proc/net/route", ROUTES),
            ("proc/net/ipv6_route", ROUTES6),
            ("sys/class/net/eth0/speed", "-1\n"),
            ("sys/class/net/eth0/mtu", "1400\n"),
            ("sys/class/net/eth1/speed", "100\n"),
            ("sys/class/net/eth1/device/uevent", "DRIVER=e1000e\n"),
            ("sys/class/net/veth2/speed", "10000\n"),
            ("sys/class/net/eth1/duplex", "half\n"),
        ]);
        let cases = [
            ("192.168.3.4", "eth1", Some(100), Some(true), None),
            ("172.17.0.2", "veth2", None, None, None), // its driver's 10 Gbit/s are made up
            ("8.8.8.8", "eth0", None, None, Some(1400)),
            ("2001:db8::7", "eth1", Some(100), Some(true), None),
            ("2001:db9::7", "eth0", None, None, Some(1400)),
        ];
        for (to, interface, link_mbits, half_duplex, mtu) in cases {
            let found = link_by(&tree.root, to.parse().unwrap(), false);
            let wanted = Link {
                loopback: false,
                interface: Some(interface.into()),
                link_mbits,
                half_duplex,
                mtu,
            };
            assert_eq!(found, wanted, "{to}");
        }
        let none = link_by(&fixture(&[]).root, "8.8.8.8".parse().unwrap(), false);
        assert_eq!(none, Link::default());
    }

    #[test]
    fn a_listener_on_this_machine_is_reached_by_loopback_and_a_closed_port_says_why() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let found = path("here", address);
        assert!(found.link.loopback && found.failed.is_none(), "{found:?}");
        assert_eq!(
            (found.connects.len(), found.link.interface.as_deref()),
            (CONNECTS, Some("lo"))
        );
        drop(listener);
        let found = path("here", address);
        assert!(
            found.connects.is_empty() && found.failed.is_some(),
            "{found:?}"
        );
    }
}
