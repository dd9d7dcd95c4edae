//! A server that weigh did not start: found by its process, its name, its port or its control group.
//!
//! What descends from its roots is its tree; what has once been seen in the tree stays part of it, so that a daemon that
//! left its parent is not lost. We ourselves, and whatever we started, are never part of it.

use crate::cgroup::Cgroup;
use crate::files::Root;
use crate::sockets;
use kernel::process::{self, Census, GUARDIAN, Process, Sampling, Stat};
use std::collections::BTreeSet;
use std::path::Path;
use units::Endpoint;

/// How much of a command is shown in one, in characters: a long path, and what it was given first.
const MOST_SHOWN: usize = 80;
/// How many trees are named in a sentence.
const MOST_NAMED: usize = 8;

/// A server that was found.
#[derive(Debug, Default)]
pub struct Found {
    /// All that were seen to belong to it when it was last looked at.
    known: BTreeSet<Process>,
    census: Census,
    /// The group that was named, if one was: all processes in it are the server.
    group: Option<Cgroup>,
}

impl Found {
    /// The tree of process `pid`.
    ///
    /// # Errors
    /// A sentence's end: why no tree was found.
    pub fn by_pid(pid: u32) -> Result<Found, String> {
        if pid == std::process::id() {
            return Err("is weigh itself".into());
        }
        let stat = Stat::read(pid).filter(|stat| !stat.zombie);
        let stat = stat.ok_or("is no process here")?;
        Ok(Found::of([stat.process].into()))
    }

    /// The tree of the processes that are called `name`, by the kernel, by their first argument or by their program.
    ///
    /// # Errors
    /// As above; several trees of that name are listed.
    pub fn by_name(name: &str) -> Result<Found, String> {
        named(&Root::machine(), name, &everything()).map(Found::of)
    }

    /// The trees of the processes that listen on TCP port `port` of this machine.
    ///
    /// # Errors
    /// As above.
    pub fn by_port(port: u16) -> Result<Found, String> {
        let root = Root::machine();
        holding(&root, &sockets::listening_on_port(&root, port)).map(Found::of)
    }

    /// The trees of the processes that listen where the target is.
    ///
    /// # Errors
    /// As above.
    pub fn by_listener(at: &Endpoint) -> Result<Found, String> {
        let root = Root::machine();
        let sockets = match at {
            Endpoint::Ip(address) => sockets::listening(&root, *address),
            Endpoint::Unix(path) => unix_sockets(&root, path),
        };
        holding(&root, &sockets).map(Found::of)
    }

    /// All processes in the control group that is called `path`.
    ///
    /// # Errors
    /// As above.
    pub fn by_cgroup(path: &Path) -> Result<Found, String> {
        let root = Root::machine();
        let group = Cgroup::named(&root, path);
        let group = group.ok_or("is no control group here that keeps accounts of CPU time")?;
        let pids = group.pids(&root);
        if pids.is_empty() {
            return Err("has no process in it".into());
        }
        if pids.contains(&std::process::id()) {
            return Err(
                "holds weigh itself, whose CPU time would be taken for the server's".into(),
            );
        }
        Ok(Found {
            group: Some(group),
            ..Found::default()
        })
    }

    fn of(known: BTreeSet<Process>) -> Found {
        Found {
            known,
            ..Found::default()
        }
    }

    /// The group that was named.
    pub(crate) fn group(&self) -> Option<&Cgroup> {
        self.group.as_ref()
    }

    /// The tree as it is now.
    pub(crate) fn sample(&mut self, sampling: Sampling) -> Vec<Stat> {
        let tree = match &self.group {
            Some(group) => inside(group),
            None => tree(&self.census.sample(sampling, &self.known), &self.known),
        };
        self.known = tree.iter().map(|stat| stat.process).collect();
        tree
    }
}

/// All processes that can be seen.
fn everything() -> Vec<Stat> {
    Census::default().sample(Sampling::Full, &BTreeSet::new())
}

/// All processes in a group.
fn inside(group: &Cgroup) -> Vec<Stat> {
    let pids = group.pids(&Root::machine());
    pids.into_iter().filter_map(Stat::read).collect()
}

/// The processes of `all` that are known or descend from one that is.
fn tree(all: &[Stat], known: &BTreeSet<Process>) -> Vec<Stat> {
    let me = std::process::id();
    process::belonging(all, |stat, members| {
        let belongs = known.contains(&stat.process) || members.contains(&stat.parent);
        belongs && stat.process.pid != me
    })
}

/// The sockets that listen at `path`; those that were bound by a relative one only if their server means the same file.
fn unix_sockets(root: &Root, path: &Path) -> BTreeSet<u64> {
    let ours = std::fs::canonicalize(path).ok();
    let is_ours = |(inode, given): &(u64, String)| {
        let means = |pid: &u32| {
            let folder = root.link(format!("/proc/{pid}/cwd"))?;
            std::fs::canonicalize(folder.join(given)).ok()
        };
        let holders = sockets::owners(root, &[*inode].into()).pids;
        Path::new(given).is_absolute()
            || holders
                .iter()
                .any(|pid| ours.is_some() && means(pid) == ours)
    };
    let sockets = sockets::listening_unix(root, path)
        .into_iter()
        .filter(is_ours);
    sockets.map(|(inode, _)| inode).collect()
}

/// The roots of the processes that hold one of `sockets`.
fn holding(root: &Root, sockets: &BTreeSet<u64>) -> Result<BTreeSet<Process>, String> {
    if sockets.is_empty() {
        return Err(
            "has no listener that is seen from here; it may be in a container of its own".into(),
        );
    }
    let owners = sockets::owners(root, sockets);
    let mut pids = owners.pids;
    let is_us = pids.remove(&std::process::id());
    if pids.len() > 1 {
        pids.remove(&1); // socket activation: init opened it for a service, and holds those of all
    }
    let all = everything();
    let roots = roots(&all, &pids);
    match (roots.is_empty(), is_us, owners.hidden) {
        (false, ..) => Ok(roots),
        (true, true, _) => Err("is listened on by weigh itself".into()),
        (true, false, 0) => Err("has a listener whose process is not seen from here".into()),
        (true, false, hidden) => Err(format!(
            "has a listener whose process may not be looked at: {} of other users hide theirs",
            units::count(hidden as u64)
        )),
    }
}

/// Those of `pids` whose parent is not among them.
fn roots(all: &[Stat], pids: &BTreeSet<u32>) -> BTreeSet<Process> {
    let is_root = |stat: &&Stat| pids.contains(&stat.process.pid) && !pids.contains(&stat.parent);
    all.iter()
        .filter(is_root)
        .map(|stat| stat.process)
        .collect()
}

/// The root of those that are called `name`.
fn named(root: &Root, name: &str, all: &[Stat]) -> Result<BTreeSet<Process>, String> {
    let me = std::process::id();
    let is_it = |stat: &&Stat| {
        let is_stranger = stat.process.pid != me && !stat.zombie;
        is_stranger
            && names(root, stat.process.pid)
                .iter()
                .any(|known| known == name)
    };
    let pids: BTreeSet<u32> = all
        .iter()
        .filter(is_it)
        .map(|stat| stat.process.pid)
        .collect();
    let roots = roots(all, &pids);
    match roots.len() {
        0 => Err("is the name of no process that is seen from here".into()),
        1 => Ok(roots),
        several => Err(several_trees(root, &roots, several)),
    }
}

fn several_trees(root: &Root, roots: &BTreeSet<Process>, number: usize) -> String {
    let shown = |process: &Process| {
        let line = root
            .text(format!("/proc/{}/cmdline", process.pid))
            .unwrap_or_default();
        let line = crate::files::fact(&line).unwrap_or_default();
        let line: String = line.chars().take(MOST_SHOWN).collect();
        format!("{} ({line})", process.pid)
    };
    let mut listed: Vec<String> = roots.iter().take(MOST_NAMED).map(shown).collect();
    if number > MOST_NAMED {
        listed.push(format!("{} more", number - MOST_NAMED));
    }
    format!(
        "is the name of {number} servers that have nothing to do with each other, {}",
        listed.join(", ")
    )
}

/// Every name of a process: the kernel's, which it cuts after 15 bytes, that of its first argument, that of its program.
/// A guardian of weigh's has none, as it is no server.
fn names(root: &Root, pid: u32) -> Vec<String> {
    let file = |name: &str| root.text(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let (comm, line) = (file("comm"), file("cmdline"));
    let comm = comm.trim_end_matches('\n');
    if comm == GUARDIAN {
        return Vec::new();
    }
    // nginx writes a title over its arguments: `nginx: master process ...`.
    let title = line.split(['\0', ':']).next().unwrap_or_default();
    let program = root.link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let last = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let names = [
        Some(comm.to_owned()),
        last(Path::new(title)),
        last(&program),
    ];
    let names = names.into_iter().flatten();
    names.filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    fn stat(pid: u32, parent: u32) -> Stat {
        Stat::parse(&format!(
            "{pid} (x) S {parent} 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0"
        ))
        .unwrap()
    }

    fn pids(found: &BTreeSet<Process>) -> Vec<u32> {
        let mut pids: Vec<u32> = found.iter().map(|process| process.pid).collect();
        pids.sort_unstable();
        pids
    }

    #[test]
    fn a_tree_is_everybody_below_its_roots_in_whatever_order_they_are_listed() {
        let all = [stat(3, 2), stat(2, 1), stat(1, 0), stat(5, 4), stat(4, 1)];
        let of = |roots: &[u32]| {
            let known = all.iter().filter(|stat| roots.contains(&stat.process.pid));
            let mut found: Vec<u32> = tree(&all, &known.map(|stat| stat.process).collect())
                .iter()
                .map(|stat| stat.process.pid)
                .collect();
            found.sort_unstable();
            found
        };
        assert_eq!(of(&[2]), [2, 3]);
        assert_eq!(of(&[1]), [1, 2, 3, 4, 5]);
        assert_eq!(of(&[3, 4]), [3, 4, 5]);
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn we_and_what_we_started_are_in_nobodys_tree() {
        let me = std::process::id();
        let all = [stat(1, 0), stat(me, 1), stat(me + 1, me)];
        let found = tree(&all, &[all[0].process].into());
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn the_roots_of_a_port_are_those_whose_parents_do_not_hold_it() {
        let all = [stat(2, 1), stat(3, 2), stat(4, 2), stat(9, 1)];
        assert_eq!(pids(&roots(&all, &[2, 3, 4].into())), [2]);
        assert_eq!(pids(&roots(&all, &[3, 4].into())), [3, 4]);
    }

    #[test]
    fn a_name_is_the_kernels_or_that_of_the_first_argument() {
        let tree = fixture(&[
            ("proc/7/comm", "we(b) 1\n"),
            ("proc/7/cmdline", "/usr/sbin/webserver\0-f\0"),
            ("proc/8/comm", "nginx\n"),
            ("proc/8/cmdline", "nginx: worker process\0"),
            ("proc/9/comm", "nginx\n"),
            ("proc/9/cmdline", "nginx: master process /usr/sbin/nginx\0"),
            ("proc/20/comm", "twin\n"),
            ("proc/20/cmdline", "twin\0--port\x001\0"),
            ("proc/21/comm", "twin\n"),
            ("proc/22/comm", "weigh-guardian\n"),
            ("proc/22/cmdline", "weigh\0run\0"),
        ]);
        let all = [7, 8, 9, 20, 21, 22].map(|pid| stat(pid, if pid == 8 { 9 } else { 1 }));
        let of = |name: &str| named(&tree.root, name, &all);
        assert_eq!(pids(&of("we(b) 1").unwrap()), [7]);
        assert_eq!(pids(&of("webserver").unwrap()), [7]);
        assert_eq!(pids(&of("nginx").unwrap()), [9]);
        for name in ["apache", "weigh"] {
            let refused = of(name).unwrap_err();
            assert_eq!(refused, "is the name of no process that is seen from here");
        }
        assert_eq!(
            of("twin").unwrap_err(),
            "is the name of 2 servers that have nothing to do with each other, 20 (twin --port 1), 21 ()"
        );
    }

    #[test]
    fn our_own_listener_is_told_from_a_servers() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let refused = "is listened on by weigh itself";
        assert_eq!(Found::by_listener(&Endpoint::Ip(at)).unwrap_err(), refused);
        assert_eq!(Found::by_port(at.port()).unwrap_err(), refused);
        drop(listener);
        assert!(
            Found::by_listener(&Endpoint::Ip(at))
                .unwrap_err()
                .starts_with("has no listener")
        );
    }

    #[test]
    fn what_is_no_server_is_refused_by_a_sentence() {
        assert_eq!(
            Found::by_pid(std::process::id()).unwrap_err(),
            "is weigh itself"
        );
        assert_eq!(
            Found::by_pid(u32::MAX >> 1).unwrap_err(),
            "is no process here"
        );
        let none = Found::by_cgroup(Path::new("/no such group")).unwrap_err();
        assert!(none.starts_with("is no control group"), "{none}");
    }
}
