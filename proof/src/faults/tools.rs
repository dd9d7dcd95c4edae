//! Clients of the misbehaving server: tools of the catalogue, each with the options that let it go on and report
//! (patience of a second, no giving up at the first reset).

use super::rows::CONNECTIONS;
use crate::catalogue::{Tool, Values, tool};
use std::path::Path;
use testserver::misbehaviour::Misbehaviour as M;

/// What every client is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// HOST:PORT.
    pub at: &'a str,
    /// Requests, any probe included.
    pub requests: u64,
    /// For the tool that knows only time.
    pub seconds: u64,
    /// Whether connections are kept.
    pub keeps: bool,
    /// Whether HEAD is sent.
    pub is_head: bool,
    /// A folder for the tool's own files.
    pub home: &'a Path,
}

/// A tool, used in one way.
pub struct Client {
    /// Its name in the table.
    pub name: &'static str,
    /// The tool.
    pub tool: &'static Tool,
    /// Whether it is asked to keep connections where it has an option for it.
    keeps: bool,
}

/// What is said where a client's cell is not judged.
pub const NOT_JUDGED: &str = "not judged: it asks as HTTP/1.0, to which this is no right answer";

/// Responses that are not right towards HTTP/1.0.
const NOT_FOR_1_0: &[M] = &[M::Interim, M::Trailers];

/// Requests of a connection, of a tool that wants to be told.
const CALLS: u64 = 5;

/// Returns all of them; the first is ours.
pub fn clients() -> Vec<Client> {
    let names = [
        ("weigh", "weigh", true),
        ("ab", "ab", false),
        ("ab -k", "ab", true),
        ("wrk", "wrk", true),
        ("httperf", "httperf", true),
        ("h2load", "h2load", true),
    ];
    let client = |(name, program, keeps)| Client {
        name,
        tool: tool(program),
        keeps,
    };
    names.map(client).into()
}

impl Client {
    /// Requests that it makes before those it counts.
    pub fn probes(&self) -> u64 {
        u64::from(self.tool.ours)
    }

    /// Whether what it makes of this can be compared with the log.
    pub fn is_judged(&self, misbehaviour: M) -> bool {
        !(self.tool.http_1_0 && NOT_FOR_1_0.contains(&misbehaviour))
    }

    /// What is asked, for the catalogue.
    pub fn values(&self, ask: &Ask<'_>) -> Values {
        let calls = if ask.keeps { CALLS } else { 1 };
        let values = Values::of_load(ask.at, "/", ask.home)
            .with("connections", CONNECTIONS)
            .with("requests", ask.requests - self.probes())
            .with("calls", calls)
            .with("sessions", ask.requests / calls)
            .with("seconds", ask.seconds)
            .with("patience", 1)
            .with_some("head", ask.is_head.then_some("HEAD"));
        match ask.keeps && !self.keeps {
            true => values,
            false => values.keeping(ask.keeps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_asked_for_the_same() {
        let mut ask = Ask {
            at: "127.0.0.1:80",
            requests: 60,
            seconds: 1,
            keeps: true,
            is_head: false,
            home: Path::new("f"),
        };
        let lines = |ask: &Ask<'_>| -> Vec<String> {
            let line = |client: &Client| client.tool.arguments(&client.values(ask));
            let clients = clients();
            let lines = clients.iter().map(|client| line(client).unwrap().join(" "));
            lines.collect()
        };
        let kept = [
            "run http://127.0.0.1:80/ -n 59 -c 4 --timeout 1s --keep-going --rounds 1 --quiet --output f/weigh.json",
            "-q -n 60 -c 4 -r -s 1 http://127.0.0.1:80/",
            "-q -n 60 -c 4 -k -r -s 1 http://127.0.0.1:80/",
            "-t 1 -c 4 -d 1s --timeout 1s http://127.0.0.1:80/",
            "--hog --server 127.0.0.1 --port 80 --num-conns 12 --num-calls 5 --rate 100 --timeout 1",
            "--h1 -t 1 -c 4 -n 60 -N 1s http://127.0.0.1:80/",
        ];
        assert_eq!(lines(&ask), kept);
        ask.keeps = false;
        ask.is_head = true;
        let closed = lines(&ask);
        assert!(closed[0].contains("-X HEAD --no-keepalive --connect lazy"));
        assert_eq!(closed[2], "-q -n 60 -c 4 -i -r -s 1 http://127.0.0.1:80/");
        assert!(closed[3].contains("-s f/head.lua -H Connection: close"));
        assert!(
            closed[4].contains("--num-conns 60 --num-calls 1 --rate 100 --timeout 1 --method HEAD")
        );
        assert!(
            closed[5].contains("-H :method:HEAD") && closed[5].contains("-H Connection: close")
        );
    }
}
