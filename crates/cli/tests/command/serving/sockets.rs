//! Whose its sockets are, as others on the machine see it.

use super::*;
use std::collections::HashSet;
use std::path::Path;

/// The numbers of the sockets that listen at a port of 127.0.0.1, from `/proc/net/tcp`.
fn listening_tcp(port: u16) -> Vec<u64> {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let at = format!("0100007F:{port:04X}");
    let words = table.lines().map(|line| line.split_whitespace().collect());
    words
        .filter(|words: &Vec<&str>| words[1] == at && words[3] == "0A")
        .map(|words| words[9].parse().unwrap())
        .collect()
}

/// The number of the socket that listens at a path, from `/proc/net/unix`.
fn listening_unix(path: &str) -> Vec<u64> {
    let table = fs::read_to_string("/proc/net/unix").unwrap();
    let lines = table.lines().filter(|line| line.ends_with(path));
    // Flag 0x10000: it listens.
    lines
        .map(|line| line.split_whitespace().collect())
        .filter(|words: &Vec<&str>| words[3] == "00010000")
        .map(|words| words[6].parse().unwrap())
        .collect()
}

/// The numbers of all sockets in a table of descriptors.
fn sockets(table: &Path) -> HashSet<u64> {
    let entries = fs::read_dir(table).unwrap();
    let links = entries.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    links
        .filter_map(|link| {
            let link = link.to_str()?.strip_prefix("socket:[")?;
            link.strip_suffix(']')?.parse().ok()
        })
        .collect()
}

fn port(at: &str) -> u16 {
    at.rsplit_once(':').unwrap().1.parse().unwrap()
}

#[test]
fn every_listening_socket_is_seen_as_the_server_s_own() {
    let bench = Bench::new();
    let path = bench.path("http.sock");
    let line = format!("-w 3 --listen unix:{}", path.display());
    let server = Serving::start(&bench, &line);
    let (at, admin) = (port(&server.at), port(server.admin.as_ref().unwrap()));
    let all = [
        listening_tcp(at),
        listening_tcp(admin),
        listening_unix(path.to_str().unwrap()),
    ];
    let seen = sockets(Path::new(&format!("/proc/{}/fd", server.id())));
    assert_eq!(all.each_ref().map(Vec::len), [3, 1, 1], "{all:?}");
    assert_eq!(seen, all.concat().into_iter().collect(), "and no other");
    let ss = Command::new("ss")
        .args(["-Hltnp", &format!("sport = :{at}")])
        .output();
    if let Ok(ss) = ss {
        let text = String::from_utf8(ss.stdout).unwrap();
        let owner = format!("pid={},", server.id());
        assert_eq!(text.matches(&owner).count(), 3, "{text}");
    }
    // A worker has its own alone: it could not close those of the others.
    let mut counts = Vec::new();
    for task in fs::read_dir(format!("/proc/{}/task", server.id())).unwrap() {
        let task = task.unwrap().path();
        if fs::read_to_string(task.join("comm"))
            .unwrap()
            .starts_with("worker-")
        {
            counts.push(sockets(&task.join("fd")).len());
        }
    }
    counts.sort_unstable();
    assert_eq!(counts, [1, 1, 2], "the first has the Unix socket");
    drop(server.connect());
    assert_eq!(server.stop().of("cut"), 0);
    assert!(!path.exists());
}
