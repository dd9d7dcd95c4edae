//! `cargo xtask shield`: whether an attacker can keep an honest client from its responses.
//!
//! `weigh serve` with a folder is attacked by slowhttptest, by ten thousand connections on which nothing happens, and
//! by clients that are killed in the middle of an answer. Meanwhile an honest client sends requests all the time,
//! and every response must be complete, byte for byte. The results are how long its slowest response took, beside a run
//! without attack, and what the server did to the attackers by its own counts.
//!
//! In scope: what an attacker can do with few setup, by being slow. Out of scope: floods, which are won by the side with
//! more machines; malformed requests, which the server's own tests have.

// In reading order: who is attacked,
mod victim;
// who must not notice,
mod honest;
// through what its requests go,
mod tunnel;
// by whom,
mod attacks;
// with which tool,
mod slowhttptest;
// and what came of it.
mod table;

use crate::catalogue::ensure_none;
use crate::programs;
use crate::serving::site::Site;
use anyhow::{Context, Result};
use attacks::{ATTACKS, Attack};
use honest::{Honest, Seen};
use slowhttptest::Report;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use units::Nanos;
use victim::Victim;

/// A look: seconds of each attack, and what the server's times are then, so that they are over within it.
const SECONDS_QUICK: u32 = 6;
const TIMES_QUICK: &str = "2s";
/// Shorter attacks than this end before the server's own times, the longest of which is 30 s, let it cut any connection.
const SECONDS_OF_DEFAULTS: u32 = 40;
/// How slow a response may be during an attack.
const GOAL: Nanos = Nanos::from_millis(100);

/// Attack `weigh serve` while an honest client sends requests: needs slowhttptest.
#[derive(Debug, clap::Args)]
pub struct Shield {
    /// Seconds of each attack. Below 40 the server gets shorter times, a third of that, since with its own it would cut
    /// no connection before the end.
    #[arg(long, value_name = "S", default_value_t = SECONDS_OF_DEFAULTS, value_parser = clap::value_parser!(u32).range(6..=600))]
    seconds: u32,
    /// A look instead of a trial: six seconds each, and times of two.
    #[arg(long, conflicts_with = "seconds")]
    quick: bool,
    /// Connections of each slow attack.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Over TLS: the same attacks inside it, and handshakes that do not go on.
    #[arg(long)]
    tls: bool,
    /// Only these attacks.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = attacks::names())]
    only: Vec<String>,
}

/// Setup of an attack.
pub struct Setup {
    /// Connections at a time.
    pub connections: u32,
    /// How long, in seconds.
    pub seconds: u32,
    /// Where tools may write.
    pub folder: PathBuf,
}

impl Setup {
    /// How long an attack lasts.
    fn length(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }
}

/// The results of one attack.
pub struct Outcome {
    /// Its name.
    pub name: &'static str,
    /// Results of the honest client.
    pub seen: Seen,
    /// The attackers' report.
    pub report: Report,
    /// By how much each of the server's counts has grown.
    pub counts: BTreeMap<String, u64>,
    /// The server's memory in kilobytes when the attack was over.
    pub pss_kb: Option<u64>,
    /// What is wrong with the server.
    pub wrong: Option<String>,
}

impl Shield {
    /// Attacks, and shows what came of it.
    ///
    /// # Errors
    /// A response was not complete, the server did not survive, or there is no slowhttptest.
    pub fn run(&self) -> Result<()> {
        programs::build("cli", &["weigh"])?;
        programs::build("bench", &["bare_client"])?;
        let wanted = |(name, attack): &&(&str, Attack)| {
            let is_asked = self.only.is_empty() || self.only.iter().any(|only| only == name);
            is_asked && attack.fits(self.tls)
        };
        let attacks: Vec<_> = ATTACKS.iter().filter(wanted).collect();
        if attacks
            .iter()
            .any(|(_, attack)| matches!(attack, Attack::Slow(..)))
        {
            slowhttptest::ensure_installed()?;
        }
        // Where that fails the client says that it cannot have ten thousand connections.
        let _ = kernel::limits::raise_open_files();
        let mut site = Site::new()?;
        site.add_large(honest::LARGE, 1)?;
        site.add_large(attacks::HUGE, 100)?;
        let times = self.times();
        let secured = self.tls.then(|| site.certificate()).transpose()?;
        let home = site.home()?;
        let mut victim = Victim::start(site.path(), home, &times, secured.as_deref())?;
        let but = times.map_or(String::new(), |times| format!(", but each time {times}"));
        let tls = if self.tls { " over TLS" } else { "" };
        println!("server     weigh serve{tls}, with its own limits{but}");
        let mut outcomes = vec![self.attack(None, &mut victim, &mut site)?];
        for attack in attacks {
            eprintln!("attack     {}", attack.0);
            outcomes.push(self.attack(Some(attack), &mut victim, &mut site)?);
        }
        let end = victim.stop();
        print!("{}{}", table::rows(&outcomes), table::rest(&outcomes, GOAL));
        end?;
        let bad = outcomes.iter().filter(|outcome| !outcome.is_well());
        let bad = bad.map(|outcome| outcome.name);
        ensure_none("the honest client or the server came to harm", bad)
    }

    fn seconds(&self) -> u32 {
        match self.quick {
            true => SECONDS_QUICK,
            false => self.seconds,
        }
    }

    /// The server's times, if not its own.
    fn times(&self) -> Option<String> {
        match self.seconds() {
            SECONDS_QUICK => Some(TIMES_QUICK.to_owned()),
            SECONDS_OF_DEFAULTS.. => None,
            seconds => Some(format!("{}s", seconds / 3)),
        }
    }

    /// One attack, or a calm time as long; the honest client sends requests as long as it lasts.
    fn attack(
        &self,
        attack: Option<&'static (&'static str, Attack)>,
        victim: &mut Victim,
        site: &mut Site,
    ) -> Result<Outcome> {
        let setup = Setup {
            connections: self.connections,
            seconds: self.seconds(),
            folder: site.home()?,
        };
        let name = attack.map_or("calm", |(name, _)| name);
        let before = victim.counts()?;
        let honest = Honest::start(victim.at, site.path(), victim.certificate.clone())?;
        let report = match attack {
            None => Ok(attacks::calm(&setup)),
            Some((_, attack)) => attack.carry_out(&setup, victim),
        };
        let seen = honest.stop();
        let report = report.with_context(|| format!("{name} could not be carried out"))?;
        let after = victim.counts()?;
        let wrong = victim.complaint();
        Ok(Outcome {
            name,
            seen,
            report,
            counts: victim::growth(&before, &after),
            pss_kb: victim.pss_kb(),
            wrong,
        })
    }
}

impl Outcome {
    /// Whether all responses were complete, there were any, and nothing else is wrong.
    pub fn is_well(&self) -> bool {
        self.seen.failures.is_empty() && !self.seen.times.is_empty() && self.wrong.is_none()
    }
}
