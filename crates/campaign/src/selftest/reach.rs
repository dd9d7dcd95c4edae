//! The refusal of a rate that no server could be offered: the sentence, and what to do about it.

use plan::Arriving;
use thiserror::Error;
use units::{Nanos, Rate};

/// A rate that the generator cannot offer, whatever the server.
#[derive(Debug, Clone, PartialEq, Error)]
#[error(
    "{flag} {rate} is more than this generator can offer, about {most} {what}/s with {threads} (a request takes it {each} of CPU, measured against the reference server); {remedy}",
    flag = .of.flag(),
    what = what(*.of),
    rate = units::rate(.rate.as_f64()),
    most = units::rate(rounded(*.most)),
    threads = threads_shown(*.threads),
    each = units::span(*.cpu_per_exchange),
    remedy = remedy(self)
)]
pub struct BeyondReach {
    /// The planned rate.
    pub rate: Rate,
    /// Of what.
    pub of: Arriving,
    /// What of it the generator could offer a second, if its threads did nothing else.
    pub most: f64,
    /// Its threads.
    pub threads: u32,
    /// CPUs' worth of time that this process may use.
    pub cpus: f64,
    /// CPU time of an exchange.
    pub cpu_per_exchange: Nanos,
}

/// Two digits are what such an estimate is worth.
fn rounded(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.max(1.0).log10().floor() - 1.0).max(1.0);
    (rate / unit).floor() * unit
}

fn threads_shown(threads: u32) -> String {
    match threads {
        1 => "1 thread".to_owned(),
        several => format!("{} threads", units::count(several.into())),
    }
}

fn what(of: Arriving) -> &'static str {
    match of {
        Arriving::Exchanges => "requests",
        Arriving::Connections => "connections",
    }
}

fn remedy(beyond: &BeyondReach) -> String {
    let flag = beyond.of.flag();
    let cpus = beyond.cpus.ceil() as u32;
    if beyond.threads < cpus {
        format!("lower {flag}, or give up to --threads {cpus}")
    } else {
        format!("lower {flag}, or load from several machines")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_the_rate_the_ceiling_and_what_to_do() {
        let said = |threads: u32, cpus| {
            let beyond = BeyondReach {
                rate: Rate::per_second(50_000_000),
                of: Arriving::Exchanges,
                most: f64::from(threads) * 1e9 / 7_000.0,
                threads,
                cpus,
                cpu_per_exchange: Nanos::from_micros(7),
            };
            beyond.to_string()
        };
        assert_eq!(
            said(1, 4.0),
            "--rate 50,000,000 is more than this generator can offer, about 140,000 requests/s with 1 thread (a request \
             takes it 7.00 us of CPU, measured against the reference server); lower --rate, or give up to --threads 4"
        );
        assert!(said(4, 4.0).contains("about 570,000 requests/s with 4 threads ("));
        assert!(said(4, 4.0).ends_with("lower --rate, or load from several machines"));
    }
}
