//! What a TLS handshake costs the client: weigh beside `openssl s_time`, full and resumed, against `weigh serve`.
//!
//! Both open one connection after the other, with one request on each, over the same version, cipher suite and group; both check
//! the signature of the handshake, and neither the name in the certificate (s_time cannot, weigh gets `--insecure`). They are not
//! the same to the last call: weigh says goodbye (close_notify) and closes when it has the response; s_time waits until the server
//! closes, says nothing, and looks the address up and writes a letter for each connection. A resumed handshake of TLS 1.3
//! exchanges keys as a full one does; what it saves is the certificate and its signature.
//!
//! A start is not the same either: weigh looks at the machine and writes a record. s_time knows time alone and cannot be asked for
//! one connection; `openssl s_client` makes one, and is taken for its start.

use super::calls::Calls;
use super::clients::{Clients, MOST_CLOSE, STARTS};
use super::point::{Side, Subject};
use super::series::Trial;
use super::{Bench, CostChore, Load};
use crate::catalogue::{Chosen, TOOLS, chosen};
use crate::serving::secure::{AGREED, Loading};
use crate::serving::{Bare, Ended, pinned};
use anyhow::{Result, ensure};
use std::net::SocketAddr;

/// What the others are compared with.
const YARDSTICK: &str = "s_time";
/// The cipher suite of [`AGREED`], for which s_time is asked.
const SUITE: &str = "TLS_AES_256_GCM_SHA384";

/// How a handshake begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// With the server's certificate.
    Full,
    /// With a session that the server remembers.
    Resumed,
}

impl Handshake {
    /// Its name for people and in the catalogue.
    pub fn name(self) -> &'static str {
        match self {
            Handshake::Full => "full",
            Handshake::Resumed => "resumed",
        }
    }

    /// Whether of so many full and resumed handshakes all were as they should be; the first of all is always full.
    pub fn is_all(self, [full, resumed]: [u64; 2]) -> bool {
        match self {
            Handshake::Full => resumed == 0,
            Handshake::Resumed => full <= 1,
        }
    }
}

/// Clients that make handshakes.
pub struct Handshakes;

impl Side for Handshakes {
    fn kind(&self) -> &'static str {
        "tool"
    }

    fn chosen(&self, _: &CostChore) -> Result<Chosen> {
        let names = [YARDSTICK, "weigh"].map(str::to_owned);
        let wanted = TOOLS
            .iter()
            .filter(|tool| names.iter().any(|name| name == tool.name));
        let rows = wanted.map(|tool| {
            let version = (!tool.ours).then(|| (tool.name, tool.version()));
            (tool.name, tool.is_installed(), version)
        });
        chosen(rows, &names)
    }

    fn subjects(
        &self,
        chore: &CostChore,
        bench: &Bench,
        _: &[&'static str],
    ) -> Result<Vec<Subject>> {
        check_agreement(bench)?;
        let subject = |handshake: Handshake| Subject {
            name: "handshakes",
            title: format!(
                "{} handshakes, one request each, {AGREED}",
                handshake.name()
            ),
            yardstick: YARDSTICK,
            names: vec!["weigh"],
            look: 1000,
            bounds: (100, MOST_CLOSE),
            load: Load {
                close: true,
                tls: true,
                seconds: chore.seconds(),
                handshake: Some(handshake),
                ..Load::of(1)
            },
        };
        Ok([Handshake::Full, Handshake::Resumed].map(subject).into())
    }

    fn refusal(&self, _: &Bench, _: &'static str, _: &Load) -> Option<String> {
        None
    }

    fn run(&self, bench: &Bench, name: &'static str, load: &Load, round: u32) -> Result<Trial> {
        Clients.run(bench, name, load, round)
    }

    fn starts(&self, bench: &Bench, name: &'static str, load: &Load) -> Result<Vec<Trial>> {
        match name {
            YARDSTICK => (0..STARTS).map(|round| start(bench, round)).collect(),
            _ => Clients.starts(bench, name, load),
        }
    }

    fn calls(&self, bench: &Bench, name: &'static str, load: &Load, quick: bool) -> Result<Calls> {
        Clients.calls(bench, name, load, quick)
    }
}

/// Looks at what both agree on with the server: the same.
fn check_agreement(bench: &Bench) -> Result<()> {
    let (_server, at) = Bare::responder(&bench.secure_responder()?)?;
    let loading = Loading {
        cpu: bench.cpus.client,
        folder: &bench.site.borrow_mut().home()?,
        at,
        path: "/bytes/100",
        connections: 1,
        requests: 1,
    };
    loading.carry_out(None)?;
    // s_time does not say; the same library with the same options does.
    let said = s_client(bench, at)?;
    let said = format!("{}{}", said.text, said.complaint);
    let is_same = AGREED.split(' ').all(|what| said.contains(what));
    ensure!(is_same, "openssl did not agree on {AGREED}:\n{said}");
    Ok(())
}

/// Lets openssl make one connection, as s_time would, and tell what was agreed on.
fn s_client(bench: &Bench, at: SocketAddr) -> Result<Ended> {
    let line = format!(
        "openssl s_client -connect {at} -tls1_3 -ciphersuites {SUITE} -no-CAfile -no-CApath -no-CAstore -brief"
    );
    let command: Vec<&str> = line.split(' ').collect();
    pinned(&[], bench.cpus.client, command)
}

/// What stands for a start of s_time.
fn start(bench: &Bench, round: u32) -> Result<Trial> {
    let (_server, at) = Bare::responder(&bench.secure_responder()?)?;
    let cost = s_client(bench, at)?.cost;
    Ok(Trial {
        name: YARDSTICK,
        round,
        beside: None,
        exchanges: 1,
        response_bytes: None,
        wall_us: cost.wall_us,
        cpu_us: cost.user_us + cost.system_us,
        system_us: Some(cost.system_us),
        memory_kb: Some(cost.peak_kb),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_handshake_of_the_other_kind_is_too_many_but_for_the_first() {
        let cases = [
            (Handshake::Full, [300, 0], true),
            (Handshake::Full, [299, 1], false),
            (Handshake::Resumed, [0, 300], true),
            (Handshake::Resumed, [1, 299], true),
            (Handshake::Resumed, [2, 298], false),
        ];
        for (handshake, counts, wanted) in cases {
            assert_eq!(handshake.is_all(counts), wanted, "{handshake:?} {counts:?}");
        }
    }
}
