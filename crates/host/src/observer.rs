//! What a server costs over a round, and the machine beside it.
//!
//! Within the window it samples ten times a second, and then only clocks that it knows and processes that have come:
//! what was there and has gone is then known to a tenth of a second, however its parents treat its account. At the
//! window's edges it samples all processes; what is expensive to read, memory and descriptors, it reads around the round.

use crate::cgroup::{Accounts, Cgroup};
use crate::counters::{Span, irq_apart};
use crate::cpus;
use crate::files::Root;
use crate::found::Found;
use crate::ledger::{Ledger, ProcessSample, Taken, TreeSample, sampled_between};
use crate::memory::{self, ThreadSample};
use crate::quotas::Quotas;
use crate::written::{self, Written};
use kernel::accounts::{Usage, process_cpu, thread_cpu};
use kernel::process::{self, Child, Sampling, Stat, newest, pids, ticks_of};
use record::{Budget, CpuClock, Footprint, KernelCounters, Known, Memory, Observed, Quota};
use std::collections::BTreeSet;
use units::{Instant, Nanos};

/// The signal that tells a parent of its child's end; of a process that ignores it no accounts of its children are kept.
const CHILD_SIGNAL: u32 = 17;

/// Processes that are observed as one server.
#[derive(Debug)]
pub enum Server<'a> {
    /// We started it, and reap its orphans.
    Started(&'a mut Child),
    /// We found it.
    Found(&'a mut Found),
}

impl Server<'_> {
    pub(crate) fn stats(&mut self, sampling: Sampling) -> Vec<Stat> {
        match self {
            Server::Started(child) => child.sample(sampling),
            Server::Found(found) => found.sample(sampling),
        }
    }

    /// All processes now, soon after a full sample: at the edges of a window each reading is a disturbance.
    pub(crate) fn sample(&mut self) -> TreeSample {
        let stats = self.stats(Sampling::Known);
        TreeSample {
            samples: stats.into_iter().map(ProcessSample::of).collect(),
            reaped: match self {
                Server::Started(child) => child.reaped(),
                Server::Found(_) => Usage::default(),
            },
        }
    }

    fn owns(&self, stat: &Stat, members: &BTreeSet<u32>) -> bool {
        match self {
            Server::Started(child) => child.owns(stat, members),
            Server::Found(_) => members.contains(&stat.parent),
        }
    }

    /// All living processes.
    pub fn pids(&mut self) -> Vec<u32> {
        process::living(&self.stats(Sampling::Full))
    }

    /// The group whose clock is the server's: the one that was named, or one that holds no other process.
    fn group(&self, root: &Root, members: &[u32]) -> Option<Cgroup> {
        if let Server::Found(found) = self
            && let Some(group) = found.group()
        {
            return Some(group.clone());
        }
        let group = Cgroup::of(root, *members.first()?)?;
        let inside = group.pids(root);
        let is_alone = inside.iter().all(|pid| members.contains(pid));
        let is_whole = members.iter().all(|pid| inside.contains(pid));
        (is_alone && is_whole).then_some(group)
    }

    /// The observed server as it is now; `by` says how it was known.
    pub fn observed(&mut self, by: Known) -> Observed {
        let root = Root::machine();
        let pids = self.pids();
        let named = pids.iter().take(Observed::MOST);
        Observed {
            by,
            processes: named
                .filter_map(|pid| memory::process(&root, *pid))
                .collect(),
            count: pids.len() as u32,
            cgroup: self.group(&root, &pids).map(|group| group.name()),
            why_not: None,
        }
    }

    /// Its memory now as PSS, in bytes; none where that may not be read.
    pub fn memory(&mut self) -> Option<u64> {
        memory::pss(&Root::machine(), &self.pids())
    }
}

/// One round under observation.
#[derive(Debug)]
pub struct Watch {
    root: Root,
    memory: Memory,
    /// Files that the server has open for writing before the round.
    written: Vec<Written>,
    /// Whether interrupts are in no process's clock, where the kernel says.
    irq_apart: Option<bool>,
    /// The CPU quotas of this process, and of the server.
    quotas: Quotas,
    server_quotas: Quotas,
    window: Option<Window>,
    costs: Costs,
}

/// What is known while the window is open.
#[derive(Debug)]
struct Window {
    at: Instant,
    span: Span,
    observing: Nanos,
    server: Option<Open>,
}

/// The server while the window is open.
#[derive(Debug)]
struct Open {
    ledger: Ledger,
    /// The group whose clock is read, with what it showed at first.
    group: Option<(Cgroup, Accounts)>,
    threads: Option<Vec<ThreadSample>>,
    /// All processes of the machine at the last sample.
    strangers: BTreeSet<u32>,
    newest: Option<u32>,
    /// The newest process at first: one with a lower number means that numbers have begun anew.
    newest_at_first: Option<u32>,
}

/// What a round cost.
#[derive(Debug, Default)]
pub struct Costs {
    /// The server, where it was observed.
    pub footprint: Option<Footprint>,
    /// The machine.
    pub budget: Option<Budget>,
    /// Its network.
    pub kernel: Option<KernelCounters>,
    /// The generator's CPU quotas.
    pub quotas: Vec<Quota>,
}

impl Watch {
    /// Begins before the round; `rest` is what the server held before the campaign's load, in bytes.
    pub fn before(server: Option<Server<'_>>, rest: Option<u64>) -> Watch {
        let root = Root::machine();
        let pids = server.map(|mut server| server.pids());
        let memory = Memory {
            rest,
            before: pids.as_ref().and_then(|pids| memory::pss(&root, pids)),
            ..Memory::default()
        };
        Watch {
            irq_apart: irq_apart(&root),
            quotas: Quotas::own(&root),
            written: pids
                .as_ref()
                .map_or(Vec::new(), |pids| written::open(&root, pids)),
            server_quotas: Quotas::of(&root, &pids.unwrap_or_default()),
            root,
            memory,
            window: None,
            costs: Costs::default(),
        }
    }

    /// The window has opened.
    pub fn opened(&mut self, server: Option<Server<'_>>) {
        let began = thread_cpu();
        let span = Span::open(&self.root);
        self.quotas.open(&self.root);
        self.server_quotas.open(&self.root);
        let at = kernel::clock::now();
        let server = server.map(|server| Open::new(&self.root, server));
        self.window = Some(Window {
            at,
            span,
            observing: Nanos::ZERO,
            server,
        });
        self.charge(began);
    }

    /// Some while into the window.
    pub fn tick(&mut self, server: Option<Server<'_>>) {
        let began = thread_cpu();
        let open = self
            .window
            .as_mut()
            .and_then(|window| window.server.as_mut());
        if let (Some(open), Some(server)) = (open, server) {
            open.tick(&server);
        }
        self.charge(began);
    }

    /// The window has closed.
    pub fn closed(&mut self, server: Option<Server<'_>>) {
        let began = thread_cpu();
        let Some(window) = self.window.take() else {
            return;
        };
        let footprint = window.server.zip(server).map(|(open, server)| {
            let print = open.close(&self.root, server, window.at, self.server_quotas.cpus());
            let quotas = self.server_quotas.close(&self.root);
            Footprint { quotas, ..print }
        });
        let quotas = self.quotas.close(&self.root);
        let cpu = footprint.as_ref().map(|print| print.cpu);
        let (budget, kernel) = window.span.close(&self.root, cpu);
        self.costs = Costs {
            footprint,
            budget: budget.map(|budget| Budget {
                observing: window.observing + thread_cpu().saturating_sub(began),
                irq_apart: self.irq_apart,
                ..budget
            }),
            kernel: Some(kernel),
            quotas,
        };
    }

    /// The drain is over, and `connections` are still open.
    pub fn drained(&mut self, server: Option<Server<'_>>, connections: u64) {
        let (Some(print), Some(mut server)) = (&mut self.costs.footprint, server) else {
            return;
        };
        let pids = server.pids();
        self.memory.after = memory::pss(&self.root, &pids);
        self.memory.connections = connections;
        print.grown = written::grown(&self.root, &self.written);
        print.descriptors = memory::descriptors(&self.root, &pids);
    }

    /// What the round cost, after it.
    pub fn costs(mut self) -> Costs {
        if let Some(print) = &mut self.costs.footprint {
            print.memory = self.memory.peak().map(|_| self.memory);
        }
        self.costs
    }

    /// Adds what this sample took of the calling thread's time since `began`.
    fn charge(&mut self, began: Nanos) {
        if let Some(window) = &mut self.window {
            window.observing += thread_cpu().saturating_sub(began);
        }
    }
}

impl Open {
    fn new(root: &Root, mut server: Server<'_>) -> Open {
        let newest = newest();
        let strangers = pids().into_iter().collect();
        let uptime = ticks_of(kernel::clock::since_boot());
        let tree = server.sample();
        let members = living(&tree);
        let group = server.group(root, &members);
        let group = group.and_then(|group| group.accounts(root).map(|accounts| (group, accounts)));
        Open {
            ledger: Ledger::open(tree, uptime),
            threads: memory::threads(root, &members),
            group,
            strangers,
            newest,
            newest_at_first: newest,
        }
    }

    /// Reads the clocks that are known, and looks for newcomers if there are any. A group keeps its own accounts.
    fn tick(&mut self, server: &Server<'_>) {
        if self.group.is_some() {
            return;
        }
        for pid in self.ledger.living() {
            self.ledger.read(pid, process_cpu(pid));
        }
        let newest = newest();
        if newest.is_some() && newest == self.newest {
            return;
        }
        self.newest = newest;
        let there: BTreeSet<u32> = pids().into_iter().collect();
        let mut members: BTreeSet<u32> = self.ledger.living().into_iter().collect();
        // A parent has the lower number, until numbers begin anew; what is missed so is found at the next sample.
        for pid in there.difference(&self.strangers) {
            let Some(stat) = Stat::read(*pid) else {
                continue;
            };
            if server.owns(&stat, &members) {
                members.insert(*pid);
                self.ledger.meet(&ProcessSample::of(stat));
            }
        }
        self.strangers = there;
    }

    /// Looks a last time; `opened` is when the window was, `quota` the CPUs that its quotas allow the server.
    fn close(
        self,
        root: &Root,
        mut server: Server<'_>,
        opened: Instant,
        quota: Option<f64>,
    ) -> Footprint {
        if newest() < self.newest_at_first {
            server.stats(Sampling::Full); // a stranger's number may be one of the server's now
        }
        let tree = server.sample();
        let read = record::Window {
            start: opened,
            end: kernel::clock::now(),
        };
        let members = living(&tree);
        let threads = tree.samples.iter().filter(|sample| !sample.stat.zombie);
        let threads = threads.map(|sample| sample.stat.threads).sum();
        let last = memory::threads(root, &members);
        let each = self.threads.as_deref().zip(last.as_deref());
        let cpus = members.first().and_then(|pid| cpus::allowed_by(root, *pid));
        // One that has just ended may use what it was given: what we may use.
        let cpus = cpus.unwrap_or_else(kernel::affinity::allowed);
        let keeps_all = matches!(server, Server::Started(_)) && !refuses_accounts(root, &members);
        let of_group = self.group.as_ref().and_then(|group| taken_by(root, group));
        let clock = match of_group {
            Some(_) => CpuClock::Cgroup,
            None => CpuClock::Processes,
        };
        let workers = self.ledger.workers(&tree);
        let taken = of_group.unwrap_or_else(|| self.ledger.close(&tree, keeps_all));
        let allowed = cpus.len() as f64;
        Footprint {
            cpu: taken.cpu,
            sampled: taken.sampled,
            clock,
            processes: members.len() as u32,
            threads: Some(threads),
            workers,
            thread_workers: each.and_then(|(first, last)| memory::shared(first, last)),
            switches: each.map(|(first, last)| memory::switched(first, last)),
            cpus_allowed: quota.map_or(allowed, |quota| quota.min(allowed)),
            cpus,
            wall: read.span(),
            read: Some(read),
            lower_bound: taken.lower_bound,
            ..Footprint::default()
        }
    }
}

/// What a group took since it was first read; none where it keeps no accounts any more.
fn taken_by(root: &Root, (group, first): &(Cgroup, Accounts)) -> Option<Taken> {
    let last = group.accounts(root)?;
    let cpu = last.cpu.saturating_sub(first.cpu);
    let sampled = first.sampled.zip(last.sampled);
    Some(Taken {
        cpu,
        sampled: sampled.and_then(|(first, last)| sampled_between(first, last)),
        lower_bound: false,
    })
}

fn living(tree: &TreeSample) -> Vec<u32> {
    let living = tree.samples.iter().filter(|sample| !sample.stat.zombie);
    living.map(|sample| sample.stat.process.pid).collect()
}

/// Whether one of `pids` ignores the end of its children, so that the kernel forgets what they took.
fn refuses_accounts(root: &Root, pids: &[u32]) -> bool {
    pids.iter().any(|pid| {
        let status = root.text(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask = crate::files::field(&status, "SigIgn")
            .and_then(|mask| u64::from_str_radix(mask, 16).ok());
        mask.is_some_and(|mask| mask >> (CHILD_SIGNAL - 1) & 1 == 1)
    })
}
