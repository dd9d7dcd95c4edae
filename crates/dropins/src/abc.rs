//! abc 5.10.7, the wrapper of G-WAN's authors for weighttp: each concurrency of a range a few times, as a table.
//!
//! No weighttp is started: each concurrency is a load of ours with a round for each time. The heading is printed with the first row,
//! because what it says of machine and server stands in the record of the first load.

// What is asked for,
mod command;
// and what is printed.
mod text;

use crate::{Dropin, Reading, Report, Said, Settings, rate};
use command::Command;
use record::{Round, Run};
use text::Row;
use units::Nanos;

/// The row.
pub(crate) const DROPIN: Dropin = Dropin {
    name: "abc",
    about: "abc 5.10.7 (ab.c of G-WAN) with weighttp",
    read: |words| match command::read(words) {
        Ok(command) if command.steps().is_empty() => Reading::Said(Said {
            err: "abc: FROM is above TO, so there is nothing to measure\n".to_owned(),
            status: 1,
            ..Said::default()
        }),
        Ok(command) => Reading::Load(Box::new(Abc::new(command))),
        Err(said) => Reading::Said(said),
    },
};

/// A jiffy of Linux.
const JIFFY: Nanos = Nanos::from_millis(10);

/// A table in the making.
struct Abc {
    command: Command,
    steps: Vec<u64>,
    /// The result file up to here.
    file: String,
    /// Sums over the rows: of the slowest rounds, the means, the fastest.
    sums: [u64; 3],
    rows: u64,
    /// Jiffies of the server, in its own code and in the kernel.
    cpu: [u64; 2],
    /// Processes of the server when it was last looked at, and how often they were others.
    processes: Vec<u32>,
    launches: u64,
    /// When the first load began: seconds since 1970; and the memory that was free then, in bytes.
    began: u64,
    free: u64,
    /// Whether a response failed, which ends the table.
    is_stopped: bool,
}

impl Abc {
    fn new(command: Command) -> Abc {
        Abc {
            steps: command.steps(),
            command,
            file: String::new(),
            sums: [0; 3],
            rows: 0,
            cpu: [0; 2],
            processes: Vec::new(),
            launches: 1,
            began: 0,
            free: 0,
            is_stopped: false,
        }
    }

    /// Text for both standard output and the file.
    fn both(&mut self, said: &mut Said, text: &str) {
        said.out += text;
        self.file += text;
    }

    /// Adds the load's row.
    fn add(&mut self, said: &mut Said, load: usize, run: &Run, rounds: &[&Round]) {
        let rates = rounds.iter().map(|round| {
            let window = round.window.span();
            rate(round.tally.ok, window) as u64
        });
        let rates: Vec<u64> = rates.collect();
        let (Some(min), Some(max)) = (rates.iter().min(), rates.iter().max()) else {
            return;
        };
        let mean = rates.iter().sum::<u64>() / rates.len() as u64;
        let [user, kernel] = jiffies(rounds);
        let row = Row {
            clients: self.steps[load],
            rates: [*min, mean, *max],
            user,
            kernel,
            memory: [server_memory(rounds), self.grown(run)],
            ended: ended(run),
        };
        for (sum, rate) in self.sums.iter_mut().zip(row.rates) {
            *sum += rate;
        }
        self.rows += 1;
        self.cpu = [self.cpu[0] + user, self.cpu[1] + kernel];
        let text = row.text(self.command.server.is_some());
        self.both(said, &text);
    }

    /// Megabytes of the machine's memory that are in use and were free before the first load.
    fn grown(&self, run: &Run) -> f64 {
        self.free.saturating_sub(free(run)) as f64 / text::MIB
    }

    /// Notices whether the server's processes are others than before.
    fn look(&mut self, run: &Run) {
        let observed = run.observed.iter();
        let processes = observed.flat_map(|observed| &observed.processes);
        let processes: Vec<u32> = processes.map(|process| process.pid).collect();
        if !self.processes.is_empty() && self.processes != processes {
            self.launches += 1;
        }
        self.processes = processes;
    }

    /// What stands below the rows.
    fn end(&mut self, said: &mut Said, seconds: u64) {
        let cpu = self.command.server.as_ref().map(|_| self.cpu);
        said.out += &text::totals(self.sums, seconds, cpu, false);
        self.file += &text::totals(self.sums, seconds, cpu, true);
        if let (Some(name), true) = (self.command.server.clone(), self.launches > 1) {
            let text = format!(
                "\n\n'{name}' relaunches (threads/processes): {}\n\nWARNING: partially reported CPU/RAM statistics!\n",
                self.launches
            );
            self.both(said, &text);
            said.out += "\n";
        }
        said.out += " \n";
        self.file += " ";
        if self.rows > 0 {
            said.err += &format!(
                "weigh: min, avg and max above are sums over {} rows; the mean is {} requests/s\n",
                self.rows,
                self.sums[1] / self.rows
            );
        }
    }

    /// With the file, as far as it is.
    fn saved(&self, said: Said) -> Said {
        Said {
            files: vec![(self.command.file().into(), self.file.clone())],
            ..said
        }
    }
}

impl Report for Abc {
    fn loads(&self) -> Vec<Settings> {
        let steps = self.steps.iter();
        steps
            .map(|clients| self.command.settings(*clients))
            .collect()
    }

    fn begins(&mut self, load: usize) -> Said {
        match load {
            0 => Said::out(self.command.preface()),
            _ => Said::default(),
        }
    }

    fn progress(&mut self, _: usize, _: u64) -> Said {
        Said::default()
    }

    fn ends(&mut self, load: usize, run: &Run) -> Said {
        let mut said = Said::default();
        if load == 0 {
            (self.began, self.free) = (run.started_unix, free(run));
            let head = text::head(&self.command, run);
            self.both(&mut said, &head);
            said.err += &self.warning(run);
        }
        self.look(run);
        let rounds = run.points.iter().flat_map(|point| &point.rounds);
        let rounds: Vec<&Round> = rounds.filter(|round| !round.partial).collect();
        let failed: u64 = rounds.iter().map(|round| round.tally.errors()).sum();
        if failed > 0 {
            self.is_stopped = true;
            self.both(&mut said, &format!("* failed responses:{failed}\n"));
        } else {
            self.add(&mut said, load, run, &rounds);
        }
        if self.is_stopped || load + 1 == self.steps.len() {
            self.end(&mut said, ended(run).saturating_sub(self.began));
        }
        self.saved(said)
    }

    fn failed(&mut self, load: usize, why: &str) -> Said {
        let place = &self.command.place;
        let server = self.command.server.as_deref().unwrap_or_default();
        let (theirs, status) = if load == 0 && why.contains("is the name of no process") {
            let sentence = format!(
                "\nCan't find any process containing '{server}'\n(Make sure the '{server}' server is started)\n\n"
            );
            (sentence, 1)
        } else if load == 0 && why.contains("cannot be reached") {
            let sentence = format!(
                "\n * Can't find a server listening on '{place}'\n   (Make sure a server is listening there)\n\n"
            );
            (sentence, 2)
        } else {
            (String::new(), 1)
        };
        Said {
            err: format!("{theirs}abc: {why}\n"),
            status,
            ..Said::default()
        }
    }

    fn goes_on(&self, has_ended: bool) -> bool {
        has_ended && !self.is_stopped
    }
}

impl Abc {
    /// What is said where there is nothing at the URL.
    fn warning(&self, run: &Run) -> String {
        match run.probe.as_ref().and_then(|probe| probe.status) {
            Some(404) => format!(
                "\n * Warning: the resource '{}' is not found (404)\n   (Make sure you want to test 404 replies)\n\n",
                self.command.path
            ),
            _ => String::new(),
        }
    }
}

/// When the load was over: seconds since 1970.
fn ended(run: &Run) -> u64 {
    let elapsed = run.elapsed.unwrap_or(Nanos::ZERO);
    run.started_unix + elapsed.as_nanos() / 1_000_000_000
}

/// Memory of the machine that was available before the load.
fn free(run: &Run) -> u64 {
    let setup = run.machine.setup.as_ref();
    setup.and_then(|setup| setup.memory.available).unwrap_or(0)
}

/// What the kernel's samples found of the server in all rounds.
fn jiffies(rounds: &[&Round]) -> [u64; 2] {
    let prints = rounds.iter().filter_map(|round| round.footprint.as_ref());
    let sampled = prints.filter_map(|print| print.sampled);
    sampled.fold([0; 2], |[user, kernel], sampled| {
        let jiffies = |time: Nanos| time.as_nanos() / JIFFY.as_nanos();
        [
            user + jiffies(sampled.user),
            kernel + jiffies(sampled.kernel),
        ]
    })
}

/// The most memory that the server held, in MB.
fn server_memory(rounds: &[&Round]) -> f64 {
    let prints = rounds.iter().filter_map(|round| round.footprint.as_ref());
    let memory = prints.filter_map(|print| print.memory.as_ref()?.peak());
    memory.max().unwrap_or(0) as f64 / text::MIB
}
