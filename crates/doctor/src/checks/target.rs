//! The path to the target that the user named.

use super::Check;
use crate::Facts;
use crate::finding::{Source, caveat, invalid, note};
use units::{Nanos, span};

/// Mbit/s from which a link carries what one machine can send.
const LINK_LEAST: u64 = 1000;
/// A round trip of this length limits a closed loop.
const ROUND_TRIP_MOST: Nanos = Nanos::from_millis(1);
/// A connect that takes so long was sent again: the first retransmission of a SYN comes after a second (RFC 6298).
const LOST_FROM: Nanos = Nanos::from_secs(1);
/// The MTU of Ethernet.
const MTU_LEAST: u64 = 1500;

/// The shortest connect, about one round trip.
fn round_trip(facts: &Facts<'_>) -> Option<Nanos> {
    facts.path?.connects.iter().min().copied()
}

pub(super) const UNREACHABLE: Check = Check {
    name: "unreachable",
    reads: "five connects to the target",
    finds: "one of them failed",
    judge: |facts| {
        let path = facts.path?;
        let why: String = path.failed.as_ref()?.chars().take(30).collect();
        let address: String = path.address.chars().take(24).collect();
        let finding = invalid(format!("no connection to {address}: {why}"));
        let finding = finding.costs(1.0, "nothing can be measured", Source::Measured);
        Some(finding.mend("Start the server, or name its address and port"))
    },
};

pub(super) const LINK: Check = Check {
    name: "link",
    reads: "speed and duplex of the interface to the target",
    finds: "less than 1 Gbit/s, or half duplex",
    judge: |facts| {
        let path = &facts.path?.link;
        let interface = path.interface.as_deref().unwrap_or("link");
        let mbits = path
            .link_mbits
            .filter(|mbits| *mbits < LINK_LEAST && !path.loopback);
        let headline = match (mbits, path.half_duplex) {
            (Some(mbits), _) => format!("{interface} has only {mbits} Mbit/s"),
            (None, Some(true)) => format!("{interface} is half duplex"),
            _ => return None,
        };
        let most = mbits.unwrap_or(LINK_LEAST) * 1_000_000 / 8;
        let what = format!(
            "no more than {} per second, headers included",
            units::bytes(most)
        );
        let finding = caveat(headline).costs(0.5, what, Source::Measured);
        Some(finding.mend("Use a faster link, or run the generator on the server's machine"))
    },
};

pub(super) const LOST: Check = Check {
    name: "lost packets",
    reads: "what five connects took",
    finds: "one took a second longer than the shortest",
    judge: |facts| {
        let shortest = round_trip(facts)?;
        let longest = facts.path?.connects.iter().max().copied()?;
        let finding = caveat(format!(
            "a connect took {}: its packet was lost",
            span(longest)
        ));
        let what = "lost packets delay responses by 200 ms or more";
        let finding = finding.costs(0.3, what, Source::Published("RFC 6298; Linux, TCP_RTO_MIN"));
        let is_lost = longest >= shortest + LOST_FROM;
        is_lost.then(|| finding.mend("Look for errors of the link: ip -s link"))
    },
};

pub(super) const ROUND_TRIP: Check = Check {
    name: "round trip",
    reads: "the shortest of five connects",
    finds: "1 ms or more",
    judge: |facts| {
        let shortest = round_trip(facts).filter(|shortest| *shortest >= ROUND_TRIP_MOST)?;
        let finding = note(format!("a round trip takes {}", span(shortest)));
        let most = units::rate(1.0 / shortest.as_secs_f64());
        let what = format!("in a closed loop a connection has at most {most} requests/s");
        let finding = finding.costs(0.2, what, Source::Measured);
        Some(finding.mend("Use more connections, or a rate (--rate)"))
    },
};

pub(super) const MTU: Check = Check {
    name: "MTU",
    reads: "the MTU of the interface to the target",
    finds: "less than Ethernet's 1500",
    judge: |facts| {
        let path = &facts.path?.link;
        let mtu = path.mtu.filter(|mtu| *mtu < MTU_LEAST && !path.loopback)?;
        let finding = note(format!(
            "packets of {mtu} bytes: a tunnel or an overlay network"
        ));
        let finding = finding.costs(0.05, "more packets for large responses", Source::Measured);
        Some(finding.mend("None is needed; compare only measurements over the same path"))
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{Made, finds};
    use super::*;
    use record::Grade::{Caveat, Invalid, Note};
    use record::NetworkPath;

    fn path(made: &mut Made) -> &mut NetworkPath {
        let path = made.path.insert(NetworkPath::default());
        path.link.interface = Some("eth0".into());
        path
    }

    fn connects(made: &mut Made, millis: &[u64]) {
        path(made).connects = millis.iter().map(|it| Nanos::from_millis(*it)).collect();
    }

    #[test]
    fn a_target_that_refuses_is_fatal() {
        fn refused(made: &mut Made) {
            path(made).address = "127.0.0.1:1".into();
            made.path.as_mut().unwrap().failed = Some("connection refused".into());
        }
        let headline = "no connection to 127.0.0.1:1: connection refused";
        finds(
            &UNREACHABLE,
            &[
                (refused, Some((Invalid, headline))),
                (|made| connects(made, &[1]), None),
                (|_| (), None),
            ],
        );
    }

    #[test]
    fn slow_and_half_links_are_found_and_loopback_is_none() {
        finds(
            &LINK,
            &[
                (
                    |made| path(made).link.link_mbits = Some(100),
                    Some((Caveat, "eth0 has only 100 Mbit/s")),
                ),
                (
                    |made| path(made).link.half_duplex = Some(true),
                    Some((Caveat, "eth0 is half duplex")),
                ),
                (|made| path(made).link.link_mbits = Some(1000), None),
                (|made| path(made).link.half_duplex = Some(false), None),
                (|_| (), None),
            ],
        );
        finds(
            &MTU,
            &[
                (
                    |made| path(made).link.mtu = Some(1400),
                    Some((
                        Note,
                        "packets of 1400 bytes: a tunnel or an overlay network",
                    )),
                ),
                (|made| path(made).link.mtu = Some(1500), None),
                (
                    |made| (path(made).link.mtu, path(made).link.loopback) = (Some(1400), true),
                    None,
                ),
                (|_| (), None),
            ],
        );
    }

    #[test]
    fn connects_show_the_round_trip_and_lost_packets() {
        finds(
            &LOST,
            &[
                (
                    |made| connects(made, &[3, 1003]),
                    Some((Caveat, "a connect took 1.00 s: its packet was lost")),
                ),
                (|made| connects(made, &[3, 1002]), None),
                (|made| connects(made, &[]), None),
                (|_| (), None),
            ],
        );
        finds(
            &ROUND_TRIP,
            &[
                (
                    |made| connects(made, &[20, 1]),
                    Some((Note, "a round trip takes 1.00 ms")),
                ),
                (|made| connects(made, &[0, 20]), None),
                (|_| (), None),
            ],
        );
    }
}
