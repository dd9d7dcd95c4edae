//! Preflight checks: whether there are descriptors and ports for the planned load, and whether a search can be decided
//! with the planned rounds.
//!
//! Running out of them in the middle of a round would be our own fault, counted as such, and the round worthless. So it
//! is refused beforehand, with the largest number that would work.

use plan::{Arriving, Endpoint, Load, Plan, Stop};
use record::{Capacity, Settling};
use std::net::IpAddr;
use thiserror::Error;
use units::Nanos;

/// Descriptors that a process needs beside its connections: standard streams, the record, rings, a reserve.
const DESCRIPTORS_ASIDE: u64 = 32;

/// What there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AvailableResources {
    /// The most open files this process may have.
    pub open_files: u64,
    /// Local ports of one address.
    pub ports: u64,
}

/// Why a plan cannot be carried out on this machine: a sentence that names what to do.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{sentence}")]
pub struct ResourceLimit {
    sentence: String,
    /// The largest number that would work in place of the requested one; 0 where none would.
    pub most: u64,
}

/// Whether it can be decided if the first rates of a search hold or fail.
///
/// # Errors
/// Fewer requests of a rate than what the search asks of it rests on.
pub fn check_search(plan: &Plan) -> Result<(), ResourceLimit> {
    let levels = plan.levels();
    let loads = levels.iter().map(|level| level.load);
    let rates = loads.filter_map(|load| match load {
        Load::Open { rate, .. } => Some((rate, load)),
        Load::Closed { .. } => None,
    });
    let lowest = rates.min_by(|(a, _), (b, _)| a.as_f64().total_cmp(&b.as_f64()));
    match (&plan.slo, lowest) {
        (Some(slo), Some((rate, load)))
            if Capacity::rounds_a_vote(&load, plan) > Capacity::MOST_ROUNDS_A_VOTE =>
        {
            let sentence = format!(
                "--slo {slo} needs {} requests at each rate, and {} rounds at {} have fewer; give a longer --duration, \
                 higher --requests, or begin with a higher --rate",
                units::count(Capacity::exchanges_a_vote(plan)),
                Capacity::MOST_ROUNDS_A_VOTE,
                units::rate(rate.as_f64()),
            );
            Err(ResourceLimit { sentence, most: 0 })
        }
        _ => Ok(()),
    }
}

/// Whether `plan` can be carried out against `endpoint` with what there is.
///
/// # Errors
/// The first shortage.
pub fn check_resources(
    plan: &Plan,
    endpoint: &Endpoint,
    there_is: AvailableResources,
) -> Result<(), ResourceLimit> {
    let requested = u64::from(plan.connections());
    let aside = DESCRIPTORS_ASIDE + 2 * u64::from(plan.threads());
    let needed = requested + aside;
    if needed > there_is.open_files {
        let most = there_is.open_files.saturating_sub(aside);
        let lower = match most {
            0 => String::new(),
            most => format!("use --connections {most}, or "),
        };
        let sentence = format!(
            "--connections {requested} needs {needed} open files, and this process may have {}; {lower}raise the limit with \
             `ulimit -Hn`",
            there_is.open_files
        );
        return Err(ResourceLimit { sentence, most });
    }
    let addresses = match endpoint {
        Endpoint::Unix(_) => return Ok(()),
        Endpoint::Ip(_) if !plan.sources.is_empty() => plan.sources.len() as u64,
        // On IPv4 loopback a thread moves on to further addresses by itself.
        Endpoint::Ip(address) if matches!(address.ip(), IpAddr::V4(ip) if ip.is_loopback()) => {
            return Ok(());
        }
        Endpoint::Ip(_) => 1,
    };
    let most = there_is.ports * addresses;
    if requested > most {
        let have = match addresses {
            1 => "1 local address has".into(),
            several => format!("{several} local addresses have"),
        };
        let sentence = format!(
            "--connections {requested} needs as many local ports, and {have} {most}; use --connections {most}, more addresses \
             with --source, or a wider net.ipv4.ip_local_port_range"
        );
        return Err(ResourceLimit { sentence, most });
    }
    check_rate(plan, addresses, most)
}

/// A local port stays taken for so long after a connection that we closed first (Linux's TIME_WAIT).
const PORT_RESTS: Nanos = Nanos::from_secs(60);

/// Whether connections of few exchanges each take more ports than come free again.
fn check_rate(plan: &Plan, addresses: u64, ports: u64) -> Result<(), ResourceLimit> {
    let Load::Open { rate, of, .. } = plan.load else {
        return Ok(());
    };
    let exchanges = plan.load.exchange_rate(&plan.protocol);
    // Arrivals for each connection that is opened.
    let each = match of {
        Arriving::Exchanges => plan.protocol.exchanges_per_connection() as f64,
        Arriving::Connections => 1.0,
    };
    let measured = if plan.two_generators { 2 } else { 1 };
    let rounds = f64::from(plan.rounds.saturating_mul(measured));
    let settling = match plan.settle {
        true => Settling::lasts(2, plan.warmup).as_secs_f64(),
        false => 0.0,
    };
    let span = match plan.stop {
        Stop::Duration(span) => (plan.warmup + span).as_secs_f64() * rounds + settling,
        Stop::Requests(number) => number as f64 / exchanges.unwrap_or(f64::MAX) * rounds,
    };
    // How often a search measures a rate is not known, nor those near it.
    let span = if plan.is_search() {
        f64::INFINITY
    } else {
        span
    };
    let needed = rate.as_f64() / each * span.min(PORT_RESTS.as_secs_f64());
    if needed > ports as f64 {
        let most = (ports as f64 / PORT_RESTS.as_secs_f64() * each) as u64;
        let (flag, requested) = (of.flag(), rate.as_f64());
        let (few, keep) = match (of, most) {
            (Arriving::Exchanges, _) => (" with so few requests a connection", "keep-alive, or "),
            (Arriving::Connections, 0) => ("", ""),
            (Arriving::Connections, _) => ("", "or "),
        };
        let lower = match most {
            0 => String::new(),
            most => format!("{flag} {most}, "),
        };
        let sentence = format!(
            "{flag} {requested}{few} takes more local ports than come free again after {}; use {lower}{keep}more addresses with \
             --source ({addresses} now)",
            units::span(PORT_RESTS)
        );
        return Err(ResourceLimit { sentence, most });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const THERE_IS: AvailableResources = AvailableResources {
        open_files: 1000,
        ports: 500,
    };

    fn foreseen(connections: u32, at: &str, sources: &[&str]) -> Result<(), ResourceLimit> {
        let mut plan = Plan::example(at.parse().unwrap());
        plan.load = Load::Closed { connections };
        plan.sources = sources
            .iter()
            .map(|source| source.parse().unwrap())
            .collect();
        let endpoint = plan.target.endpoints[0].clone();
        check_resources(&plan, &endpoint, THERE_IS)
    }

    #[test]
    fn the_largest_number_that_is_named_works_and_one_more_does_not() {
        let error = foreseen(5000, "127.0.0.1:80", &[]).unwrap_err();
        let most = error.most;
        assert_eq!(foreseen(most as u32, "127.0.0.1:80", &[]), Ok(()));
        assert!(foreseen(most as u32 + 1, "127.0.0.1:80", &[]).is_err());
    }

    #[test]
    fn ports_count_for_each_local_address_and_not_on_ipv4_loopback() {
        let short = |most, addresses: &str, requested| {
            let sentence = format!(
                "--connections {requested} needs as many local ports, and {addresses} {most}; use --connections {most}, more \
                 addresses with --source, or a wider net.ipv4.ip_local_port_range"
            );
            Err(ResourceLimit { sentence, most })
        };
        assert_eq!(
            foreseen(501, "[::1]:80", &[]),
            short(500, "1 local address has", 501)
        );
        assert_eq!(
            foreseen(501, "192.0.2.1:80", &[]),
            short(500, "1 local address has", 501)
        );
        assert_eq!(foreseen(501, "127.0.0.1:80", &[]), Ok(()));
        assert_eq!(
            foreseen(900, "192.0.2.1:80", &["192.0.2.2", "192.0.2.3"]),
            Ok(())
        );
        let text = foreseen(501, "192.0.2.1:80", &[]).unwrap_err().to_string();
        assert!(
            text.contains("1 local address has 500; use --connections 500"),
            "{text}"
        );
    }

    #[test]
    fn a_rate_of_new_connections_needs_ports_that_come_free_again() {
        // 500 ports that rest for a minute: 8.3 new connections a second.
        let cases: &[(&str, u64, u64, &str, Option<u64>)] = &[
            ("9", 1, 120, "192.0.2.1:80", Some(8)),
            ("8", 1, 120, "192.0.2.1:80", None),
            ("9", 1, 120, "127.0.0.1:80", None),
            ("100", 10, 120, "192.0.2.1:80", Some(83)),
            ("80", 10, 120, "192.0.2.1:80", None),
            ("500", 1, 1, "192.0.2.1:80", None),
            ("501", 1, 1, "192.0.2.1:80", Some(8)),
            ("1k", u64::MAX, 120, "192.0.2.1:80", None),
        ];
        for (rate, each, secs, at, wanted) in cases {
            let mut plan = Plan::example(at.parse().unwrap());
            plan.load = Load::Open {
                rate: rate.parse().unwrap(),
                of: Arriving::Exchanges,
                arrivals: plan::Arrivals::Poisson,
                connections: 100,
            };
            plan.protocol.requests_per_connection = Some(*each);
            plan.stop = Stop::Duration(Nanos::from_secs(*secs));
            plan.rounds = 1;
            let endpoint = plan.target.endpoints[0].clone();
            let most = match check_resources(&plan, &endpoint, THERE_IS) {
                Err(error) => {
                    assert!(error.to_string().starts_with("--rate"), "{error}");
                    Some(error.most)
                }
                Ok(()) => None,
            };
            assert_eq!(most, *wanted, "{rate} {each} {secs} {at}");
        }
    }

    #[test]
    fn a_rate_of_connections_takes_a_port_for_each_however_much_is_asked_on_it() {
        // (rate, requests on each, how long or how many, the rate that is named)
        let (minutes, number) = (
            Stop::Duration(Nanos::from_secs(120)),
            Stop::Requests(10_000),
        );
        let cases = [
            ("9", 1, minutes, Some(8)),
            ("9", 1_000, minutes, Some(8)),
            ("8.25", 1, minutes, None),
            ("9", 100, number, None),
            ("9", 10, number, Some(8)),
            ("10k", 20, number, None),
        ];
        for (rate, each, stop, wanted) in cases {
            let mut plan = Plan::example("[::1]:80".parse().unwrap());
            plan.load = Load::Open {
                rate: rate.parse().unwrap(),
                of: Arriving::Connections,
                arrivals: plan::Arrivals::Constant,
                connections: 100,
            };
            plan.protocol.requests_per_connection = Some(each);
            (plan.stop, plan.rounds) = (stop, 1);
            let foreseen = check_resources(&plan, &plan.target.endpoints[0], THERE_IS);
            let said = foreseen.err().map(|error| error.to_string());
            let wanted = wanted.map(|most| {
                format!(
                    "--connection-rate {rate} takes more local ports than come free again after 1 min; use \
                     --connection-rate {most}, or more addresses with --source (1 now)"
                )
            });
            assert_eq!(said, wanted, "{rate} {each}");
        }
    }

    #[test]
    fn no_advice_names_zero() {
        let mut plan = Plan::example("[::1]:80".parse().unwrap());
        let few = |open_files, ports| AvailableResources { open_files, ports };
        let said = |plan: &Plan, there_is| {
            let foreseen = check_resources(plan, &plan.target.endpoints[0], there_is);
            foreseen.unwrap_err().to_string()
        };
        for open_files in [1, 32, 34] {
            let text = said(&plan, few(open_files, 500));
            assert!(
                text.ends_with(&format!(
                    "may have {open_files}; raise the limit with `ulimit -Hn`"
                )),
                "{text}"
            );
        }
        assert!(said(&plan, few(0, 500)).ends_with("raise the limit with `ulimit -Hn`"));
        for (of, remedy) in [
            (
                Arriving::Connections,
                "use more addresses with --source (1 now)",
            ),
            (
                Arriving::Exchanges,
                "use keep-alive, or more addresses with --source (1 now)",
            ),
        ] {
            plan.load = Load::Open {
                rate: "5".parse().unwrap(),
                of,
                arrivals: plan::Arrivals::Constant,
                connections: 1,
            };
            plan.protocol.requests_per_connection = Some(1);
            plan.stop = Stop::Duration(Nanos::from_secs(60));
            let text = said(&plan, few(1000, 59));
            assert!(text.ends_with(remedy), "{text}");
        }
    }

    #[test]
    fn a_unix_socket_needs_no_ports() {
        let plan = Plan {
            load: Load::Closed { connections: 800 },
            ..Plan::example("[::1]:1".parse().unwrap())
        };
        assert_eq!(
            check_resources(&plan, &Endpoint::Unix("/s".into()), THERE_IS),
            Ok(())
        );
    }
}
