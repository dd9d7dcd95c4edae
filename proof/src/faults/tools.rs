//! Clients of the misbehaving server: tools of the catalogue, each with the options that let it go on and report
//! (patience of a second, no giving up at the first reset).

use super::rows::{CONNECTIONS, Row};
use crate::catalogue::{Tool, Values, tool};
use std::path::Path;
use testserver::misbehaviour::Misbehaviour as M;

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

    /// Why it cannot be asked to meet `row`.
    pub fn obstacle(&self, row: &Row) -> Option<&'static str> {
        self.tool.no_tls.as_deref().filter(|_| row.is_secured())
    }

    /// What is requested of the server at `at` (HOST:PORT) for `row`, by a tool that may write to `home`.
    pub fn values(&self, row: &Row, at: &str, home: &Path) -> Values {
        let (keeps, requests) = (row.keeps(), row.requests());
        let calls = if keeps { CALLS } else { 1 };
        let values = Values::of_load(at, "/", home)
            .with("connections", CONNECTIONS)
            .with("requests", requests - self.probes())
            .with("calls", calls)
            .with("sessions", requests / calls)
            .with("seconds", if row.is_slow { 3 } else { 1 })
            .with("patience", 1)
            .with_some("head", row.is_head().then_some("HEAD"));
        let values = match keeps && !self.keeps {
            true => values,
            false => values.keeping(keeps),
        };
        match row.is_secured() {
            true => values.encrypted(),
            false => values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows;
    use super::*;

    #[test]
    fn all_are_asked_for_the_same() {
        let lines = |name: &str| -> Vec<String> {
            let mut rows = rows::all().iter();
            let row = rows.find(|row| row.name() == name).unwrap();
            let values = |client: &Client| client.values(row, "127.0.0.1:80", Path::new("f"));
            let line = |client: &Client| client.tool.arguments(&values(client));
            let clients = clients();
            let lines = clients.iter().map(|client| line(client).unwrap().join(" "));
            lines.collect()
        };
        let kept = [
            "run http://127.0.0.1:80/ -n 59 -c 4 --timeout 1s --connect-timeout 1s --keep-going --rounds 1 --quiet --output f/weigh.json",
            "-q -n 60 -c 4 -r -s 1 http://127.0.0.1:80/",
            "-q -n 60 -c 4 -k -r -s 1 http://127.0.0.1:80/",
            "-t 1 -c 4 -d 1s --timeout 1s http://127.0.0.1:80/",
            "--hog --server 127.0.0.1 --port 80 --num-conns 12 --num-calls 5 --rate 100 --timeout 1",
            "--h1 -t 1 -c 4 -n 60 -N 1s http://127.0.0.1:80/",
        ];
        assert_eq!(lines("late"), kept);
        let closed = lines("close-at-accept");
        assert!(closed[0].contains("--no-keepalive --connect lazy"));
        assert_eq!(closed[2], "-q -n 60 -c 4 -r -s 1 http://127.0.0.1:80/");
        assert!(closed[3].contains("-H Connection: close"));
        assert!(closed[4].contains("--num-conns 60 --num-calls 1 --rate 100 --timeout 1"));
        assert!(closed[5].contains("-H Connection: close"));
        // It takes long: a third of the requests.
        let head = lines("body-after-head");
        assert!(head[0].contains("-n 19 -c 4 -X HEAD"));
        let secured = lines("broken-record");
        assert!(secured[0].contains("https://127.0.0.1:80/ ") && secured[0].contains("--insecure"));
        assert!(secured[1].ends_with(" https://127.0.0.1:80/"));
        assert_eq!(head[2], "-q -n 20 -c 4 -k -i -r -s 1 http://127.0.0.1:80/");
        assert!(head[3].contains("-d 3s") && head[3].contains("-s f/head.lua"));
        assert!(head[4].contains("--method HEAD") && head[5].contains("-H :method:HEAD"));
    }
}
