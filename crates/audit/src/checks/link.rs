//! Was the network link between generator and server the bottleneck?

use super::prelude::*;
use plan::Endpoint;
use record::Link;

pub(super) const CHECK: Check = Check {
    name: "link",
    question: "Was the network link between generator and server the bottleneck?",
    looks_at: "Bytes received and sent per second, in the busier direction (with half duplex both), as the median over \
               the rounds: bytes per request by the requests/s of the window, and for each full packet, but at least for \
               each response, the headers of TCP (with timestamps), IP and Ethernet. They are compared with the speed \
               that the link's driver states. Nothing is said of loopback, of virtual interfaces, and where the speed is \
               not known. Acknowledgements, retransmissions and other traffic are not counted, nor is a slower link \
               further on.",
    thresholds: &[
        guess("share of the link's speed, from", || percent(FULL)),
        guess("a speed that is not the real one: share over", || {
            percent(UNREAL)
        }),
    ],
    false_alarms: "none by chance: it follows from counts; a server whose own limit lies so near to the link's looks the \
                   same",
    power: "every link to which this machine sends or from which it receives that share",
    effect: "Requests/s is a lower bound, and latency gets a caveat.",
    remedy: "Use a faster link, smaller or compressed responses, or load from the server's machine.",
    cause: Cause::LinkSaturated,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// From here on the link is full: what is missing are acknowledgements and pauses between packets.
const FULL: f64 = 0.90;
/// More than the link can carry, edges of windows apart: the driver states another speed than that of the link.
const UNREAL: f64 = 1.05;

/// Bytes of a frame beside its packet: preamble 8, addresses and type 14, checksum 4, gap 12 (IEEE 802.3).
const ETHERNET: f64 = 38.0;
/// Bytes of the headers of TCP (RFC 9293) with timestamps (RFC 7323).
const TCP: f64 = 32.0;

/// Mbit/s on the wire for so many bytes of payload in so many messages per second.
fn on_wire(bytes: f64, messages: f64, ip: f64, mtu: f64) -> f64 {
    let frames = (bytes / (mtu - ip - TCP)).max(messages);
    (bytes + frames * (ETHERNET + ip + TCP)) * 8.0 / 1e6
}

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let probe = evidence.probe?;
    let link: &Link = probe.link.as_ref().filter(|link| !link.loopback)?;
    let (mbits, mtu) = (link.link_mbits? as f64, link.mtu? as f64);
    let ip = match &probe.endpoint {
        Endpoint::Ip(address) if address.is_ipv6() => 40.0,
        _ => 20.0,
    };
    let is_pipelined = evidence.plan()?.protocol.pipeline > 1;
    let wire = |round: &Round, bytes: fn(&Tally) -> u64| {
        let tally = &round.tally;
        let rate = tally.ok_in_window as f64 / round.window.span().as_secs_f64();
        let each = bytes(tally) as f64 / tally.started as f64;
        let messages = if is_pipelined { 0.0 } else { rate };
        let wire = on_wire(rate * each, messages, ip, mtu);
        wire.is_finite().then_some(wire)
    };
    let typical = |bytes| Round::typical(evidence.rounds?, |round| wire(round, bytes));
    let received = typical(|tally| tally.bytes_received)?;
    let sent = typical(|tally| tally.bytes_sent)?;
    let (verb, used) = match link.half_duplex {
        Some(true) => ("carried", received + sent),
        _ if sent > received => ("sent", sent),
        _ => ("received", received),
    };
    let share = used / mbits;
    if !(FULL..=UNREAL).contains(&share) {
        return None;
    }
    let speed = count(mbits as u64);
    let headline = format!(
        "the link was the bottleneck: {} of {speed} Mbit/s",
        percent(share)
    );
    let sentence = format!(
        "the network link was the bottleneck: {} {verb} {} of {speed} Mbit/s, headers included",
        link.interface.as_deref().unwrap_or("the interface"),
        count(used as u64),
    );
    let finding = lower_bound(headline, sentence).and(Effect::Caveat, &[Figure::Latency]);
    Some(finding.evidence([
        ("received, Mbit/s", received),
        ("sent, Mbit/s", sent),
        ("link, Mbit/s", mbits),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;
    use record::{Grade, Probe};

    const GIGABIT: fn() -> Link = || Link {
        interface: Some("eth0".into()),
        link_mbits: Some(1_000),
        half_duplex: Some(false),
        mtu: Some(1_500),
        ..Link::default()
    };

    /// The healthy run over `link` to `to`, with so many Mbit/s of payload received and sent in `rate` requests/s.
    fn found(link: Link, to: &str, [received, sent]: [f64; 2], rate: u64) -> Option<Finding> {
        let mut run = healthy();
        run.probe = Some(Probe {
            endpoint: Endpoint::Ip(to.parse().unwrap()),
            link: Some(link),
            ..record::example::ok().probe.unwrap()
        });
        for round in &mut run.points[0].rounds {
            let tally = &mut round.tally;
            // Half of what was started ended after the window.
            (tally.ok_in_window, tally.started) = (rate, 2 * rate);
            let bytes = |mbits: f64| (mbits * 2e6 / 8.0) as u64;
            (tally.bytes_received, tally.bytes_sent) = (bytes(received), bytes(sent));
        }
        judge(&Evidence::of(&run, &run.points[0]))
    }

    #[test]
    fn a_full_link_makes_requests_a_lower_bound_and_latency_its_own() {
        let finding = found(GIGABIT(), "192.0.2.1:80", [940.0, 1.0], 1_000).unwrap();
        let wanted = "the network link was the bottleneck: eth0 received 998 of 1,000 Mbit/s, headers included";
        assert_eq!(
            (finding.sentence.as_str(), finding.grade()),
            (wanted, Grade::Caveat)
        );
        assert_eq!(finding.effects.on(Figure::Rps), Some(Effect::LowerBound));
        assert_eq!(finding.effects.on(Figure::Latency), Some(Effect::Caveat));
    }

    #[test]
    fn headers_count_by_packet_size_and_by_response() {
        // Payload that 1 Gbit/s carries at most: 1448 of 1538 bytes, with IPv6 1428, with large packets 8948 of 9038;
        // and responses of 200 bytes take 290.
        let jumbo = || Link {
            mtu: Some(9_000),
            ..GIGABIT()
        };
        let (v4, v6) = ("192.0.2.1:80", "[2001:db8::1]:80");
        for (link, to, capacity, rate) in [
            (GIGABIT as fn() -> Link, v4, 1448.0 / 1.538, 100),
            (GIGABIT, v6, 1428.0 / 1.538, 100),
            (jumbo, v4, 8948.0 / 9.038, 100),
        ] {
            let found = |share: f64| found(link(), to, [share * capacity, 1.0], rate).is_some();
            let found = [0.899, 0.901, 1.049, 1.051].map(found);
            assert_eq!(found, [false, true, true, false], "{to} {capacity}");
        }
        let small = |rate: u64| found(GIGABIT(), v4, [rate as f64 * 200.0 * 8.0 / 1e6, 1.0], rate);
        assert!(small(390_000).is_some() && small(385_000).is_none());
    }

    #[test]
    fn the_busier_direction_counts_and_half_duplex_adds_both() {
        let half = || Link {
            half_duplex: Some(true),
            ..GIGABIT()
        };
        let found = |link, payload| found(link, "192.0.2.1:80", payload, 100).map(|it| it.sentence);
        assert!(
            found(GIGABIT(), [1.0, 900.0])
                .unwrap()
                .contains("eth0 sent 955 of")
        );
        assert_eq!(found(GIGABIT(), [450.0, 450.0]), None);
        assert!(
            found(half(), [450.0, 450.0])
                .unwrap()
                .contains("eth0 carried 955 of")
        );
    }

    #[test]
    fn loopback_and_links_of_unknown_speed_are_not_judged() {
        let loopback = Link {
            loopback: true,
            ..GIGABIT()
        };
        let unknown = Link {
            link_mbits: None,
            ..GIGABIT()
        };
        for link in [loopback, unknown] {
            assert_eq!(found(link, "192.0.2.1:80", [940.0, 1.0], 1_000), None);
        }
    }
}
