//! Which process listens where: sockets by address, and processes by socket.
//!
//! /proc/net shows sockets with their numbers (inodes) and not their owners; /proc/PID/fd shows which process holds which
//! numbers. Only the network namespace that we are in is seen: a server in a container of its own is not found by its
//! port, and has to be named. (The kernel's `sock_diag` would answer quicker, over netlink, and name no owner either.)

use crate::files::Root;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// The most descriptors that are looked through for a socket's owners: those of ten thousand processes of a hundred each.
const MOST_DESCRIPTORS: usize = 1 << 20;
/// The state LISTEN in /proc/net/tcp.
const LISTEN: &str = "0A";
/// The flag of a listening Unix socket, `__SO_ACCEPTCON`.
const ACCEPTS: u32 = 1 << 16;

/// The sockets that listen for connections to `address`: those on that very address, or else those on all addresses.
pub(crate) fn listening(root: &Root, address: SocketAddr) -> BTreeSet<u64> {
    let ip = plain(address.ip());
    let on_port = listeners(root)
        .into_iter()
        .filter(|(at, _)| at.port() == address.port());
    let on_port: Vec<(SocketAddr, u64)> = on_port.collect();
    // `::` takes connections of both families, unless it was told not to: as it must have been where `0.0.0.0` has a
    // socket of its own.
    let choices: [&dyn Fn(IpAddr) -> bool; 3] = [
        &|at| plain(at) == ip,
        &|at| ip.is_ipv4() && at.is_ipv4() && at.is_unspecified(),
        &|at| at.is_ipv6() && at.is_unspecified(),
    ];
    let chosen = choices.into_iter().map(|is_wanted| {
        let wanted = on_port.iter().filter(|(at, _)| is_wanted(at.ip()));
        wanted.map(|(_, inode)| *inode).collect()
    });
    let mut found = chosen.filter(|found: &BTreeSet<u64>| !found.is_empty());
    found.next().unwrap_or_default()
}

/// The sockets that listen on `port`, of whichever address.
pub(crate) fn listening_on_port(root: &Root, port: u16) -> BTreeSet<u64> {
    let on_port = listeners(root)
        .into_iter()
        .filter(|(at, _)| at.port() == port);
    on_port.map(|(_, inode)| inode).collect()
}

/// An IPv4 address that is written as an IPv6 one is one all the same.
fn plain(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        IpAddr::V4(_) => ip,
    }
}

/// All TCP sockets that listen, with their numbers.
fn listeners(root: &Root) -> Vec<(SocketAddr, u64)> {
    let files = ["/proc/net/tcp", "/proc/net/tcp6"];
    let texts = files.into_iter().filter_map(|file| root.text(file));
    texts
        .flat_map(|text| text.lines().filter_map(tcp_line).collect::<Vec<_>>())
        .collect()
}

/// One line of /proc/net/tcp or tcp6, if it is of a socket that listens (proc_pid_net(5)).
fn tcp_line(line: &str) -> Option<(SocketAddr, u64)> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (at, port) = fields.next()?.split_once(':')?;
    if fields.nth(1)? != LISTEN {
        return None;
    }
    let inode = fields.nth(5)?.parse().ok()?;
    let port = u16::from_str_radix(port, 16).ok()?;
    Some((SocketAddr::new(address(at)?, port), inode))
}

/// An address as the kernel prints it: words of 32 bits, each in the machine's own order of bytes.
fn address(text: &str) -> Option<IpAddr> {
    let word = |index: usize| {
        let digits = text.get(index * 8..index * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let bytes: Vec<u8> = words.concat();
            Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())
        }
        _ => None,
    }
}

/// The sockets that listen at the Unix-domain `path`, each with the path as its server gave it, which may be relative to
/// a folder that only the server knows.
pub(crate) fn listening_unix(root: &Root, path: &Path) -> Vec<(u64, String)> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let is_it = |given: &str| {
        let given = Path::new(given);
        given == absolute || (given.is_relative() && given.file_name() == path.file_name())
    };
    let text = root.text("/proc/net/unix").unwrap_or_default();
    let lines = text.lines().filter_map(unix_line);
    lines
        .filter(|(_, given)| is_it(given))
        .map(|(inode, given)| (inode, given.to_owned()))
        .collect()
}

/// One line of /proc/net/unix, if it is of a socket that listens and has a path, which may hold blanks.
fn unix_line(line: &str) -> Option<(u64, &str)> {
    let mut rest = line;
    let mut fields = [""; 7];
    for field in &mut fields {
        rest = rest.trim_start_matches(' ');
        let end = rest.find(' ').unwrap_or(rest.len());
        (*field, rest) = rest.split_at(end);
    }
    let flags = u32::from_str_radix(fields[3], 16).ok()?;
    let path = rest.strip_prefix(' ')?;
    (flags & ACCEPTS != 0 && !path.is_empty()).then_some((fields[6].parse().ok()?, path))
}

/// The processes that hold some sockets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Owners {
    /// Processes that hold one of them.
    pub(crate) pids: BTreeSet<u32>,
    /// Processes whose descriptors may not be looked at.
    pub(crate) hidden: usize,
}

/// The processes that hold one of `sockets`. A process shows the descriptors of its first thread; others may have tables of
/// their own, which are read only where no process is found, because there are many more of them.
pub(crate) fn owners(root: &Root, sockets: &BTreeSet<u64>) -> Owners {
    let by_process = holders(root, sockets, |pid| vec![format!("/proc/{pid}/fd")]);
    if !by_process.pids.is_empty() {
        return by_process;
    }
    let by_thread = holders(root, sockets, |pid| {
        let folder = format!("/proc/{pid}/task");
        let threads = root.entries(&folder).unwrap_or_default();
        let table = |thread: &String| format!("{folder}/{thread}/fd");
        threads.iter().map(table).collect()
    });
    Owners {
        pids: by_thread.pids,
        ..by_process
    }
}

/// The processes that hold one of `sockets` in one of their `tables` of descriptors.
fn holders(root: &Root, sockets: &BTreeSet<u64>, tables: impl Fn(u32) -> Vec<String>) -> Owners {
    let names: BTreeSet<String> = sockets
        .iter()
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let mut owners = Owners::default();
    let mut left = MOST_DESCRIPTORS;
    let pids = root.entries("/proc").unwrap_or_default();
    for pid in pids.iter().filter_map(|name| name.parse::<u32>().ok()) {
        for folder in tables(pid) {
            let entries = match root.entries(&folder) {
                Ok(entries) => entries,
                Err(error) => {
                    owners.hidden += usize::from(error == std::io::ErrorKind::PermissionDenied);
                    continue;
                }
            };
            left = left.saturating_sub(entries.len());
            let is_held = |entry: &String| {
                let link = root.link(format!("{folder}/{entry}"));
                link.is_some_and(|link| link.to_str().is_some_and(|name| names.contains(name)))
            };
            if entries.iter().any(is_held) {
                owners.pids.insert(pid);
            }
            if left == 0 {
                return owners;
            }
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;
    use std::os::unix::fs::symlink;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0\n\
        1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0\n\
        2: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 13 1 0 20 4 30 10 -1\n\
        3: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14 1 0 100 0 0 10 0\n\
        4: 00000000:0054 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 15 1 0 100 0 0 10 0\n\
        5: nonsense\n6: 0100007F 0 0A\n";
    const TCP6: &str = "  sl  local_address\n\
        0: 00000000000000000000000000000000:0051 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 21 1 0\n\
        1: 0000000000000000FFFF00000100007F:0052 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 22 1 0\n\
        2: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 23 1 0\n\
        3: 00000000000000000000000000000000:0054 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 24 1 0\n";

    #[cfg(target_endian = "little")]
    #[test]
    fn a_listener_on_the_very_address_goes_before_one_on_all_addresses() {
        let tree = fixture(&[("proc/net/tcp", TCP), ("proc/net/tcp6", TCP6)]);
        let cases: &[(&str, &[u64])] = &[
            ("127.0.0.1:8080", &[11]),
            ("127.0.0.2:8080", &[12]),
            ("[::1]:8080", &[]),
            ("127.0.0.1:80", &[14]),
            ("[::1]:80", &[23]),
            ("127.0.0.1:81", &[21]),
            ("[::1]:81", &[21]),
            ("127.0.0.1:82", &[22]),
            ("127.0.0.1:83", &[]),
            ("127.0.0.1:84", &[15]),
            ("[::1]:84", &[24]),
        ];
        for (at, wanted) in cases {
            let found = listening(&tree.root, at.parse().unwrap());
            assert_eq!(found, wanted.iter().copied().collect(), "{at}");
        }
        assert_eq!(listening_on_port(&tree.root, 8080), [11, 12].into());
        assert_eq!(listening_on_port(&tree.root, 80), [14, 23].into());
    }

    #[test]
    fn unix_sockets_are_found_by_paths_that_hold_anything() {
        let text = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 31 /run/a server (1).sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 32 /run/a server (1).sock\n\
            0000000000000000: 00000002 00000000 00010000 0001 01    33 s\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 34\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 x /run/b\nnonsense\n";
        let tree = fixture(&[("proc/net/unix", text)]);
        let at = |path: &str| {
            let found = listening_unix(&tree.root, Path::new(path));
            found
                .into_iter()
                .map(|(inode, _)| inode)
                .collect::<Vec<_>>()
        };
        assert_eq!(at("/run/a server (1).sock"), [31]);
        assert_eq!(at("/tmp/folder/s"), [33]);
        assert!(at("/run/b").is_empty());
    }

    #[test]
    fn owners_are_those_who_hold_the_socket_and_the_hidden_are_counted() {
        let tree = fixture(&[
            ("proc/7/fd/none", ""),
            ("proc/8/fd/none", ""),
            ("proc/self/fd/none", ""),
        ]);
        symlink("socket:[11]", tree.path("proc/7/fd/3")).unwrap();
        symlink("socket:[12]", tree.path("proc/8/fd/3")).unwrap();
        symlink("socket:[11]", tree.path("proc/self/fd/3")).unwrap();
        let found = owners(&tree.root, &[11].into());
        assert_eq!(
            found,
            Owners {
                pids: [7].into(),
                hidden: 0
            }
        );
    }

    #[test]
    fn a_thread_that_has_a_table_of_its_own_is_found_where_no_process_shows_the_socket() {
        let tree = fixture(&[("proc/7/fd/none", ""), ("proc/7/task/9/fd/none", "")]);
        symlink("socket:[11]", tree.path("proc/7/task/9/fd/3")).unwrap();
        assert_eq!(owners(&tree.root, &[11].into()).pids, [7].into());
        assert_eq!(owners(&tree.root, &[12].into()).pids, [].into());
    }
}
