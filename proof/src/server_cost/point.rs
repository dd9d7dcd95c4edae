//! What is asked of several servers in turn, and all runs that came of it.
//!
//! A point has a yardstick, the server that the others are held against, and every run stands beside one of it.

use super::trial::{Ask, Bench, Trial};
use super::{ServerCost, calls};
use crate::catalogue::{Class, Server, floor, named};
use crate::cost::calls::Calls;
use crate::cost::{CostChore, turned};
use anyhow::Result;
use serde_json::{Value, json};

/// One thing to ask.
pub struct Subject {
    /// What goals call it.
    pub name: &'static str,
    /// For people.
    pub title: String,
    /// Whom the others are held against.
    pub yardstick: &'static Server,
    /// Who is asked.
    pub classes: &'static [Class],
    /// What is asked; the number of exchanges is found out.
    pub ask: Ask,
    /// Exchanges of the first look, by which the others are chosen,
    pub look: u64,
    /// and the most that one run has.
    pub most: u64,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// The server's CPU time for the same work.
    Cpu,
    /// Work each second.
    Rate,
    /// Work for each second of the server's CPU time.
    PerCore,
}

/// Who could not be asked, and why.
pub type Failure = (&'static Server, String);

/// What a subject has shown.
pub struct Point {
    /// Of what.
    pub subject: Subject,
    /// Who was asked, the yardstick first.
    pub servers: Vec<&'static Server>,
    /// Who could not be, and why.
    pub failed: Vec<Failure>,
    /// Every run, in the order in which they ran.
    pub trials: Vec<Trial>,
    /// What was counted under strace.
    pub calls: Vec<Calls>,
}

impl Subject {
    /// Asks all of `servers` whom it is about.
    ///
    /// # Errors
    /// The yardstick is not there, or a server that has answered at first failed later.
    pub fn measure(
        mut self,
        bench: &Bench,
        servers: &[&'static Server],
        asked: &ServerCost<'_>,
    ) -> Result<Point> {
        self.ask.exchanges = self.exchanges(bench, asked.chore.seconds())?;
        let mut servers: Vec<&'static Server> = servers
            .iter()
            .copied()
            .filter(|server| self.classes.contains(&server.class) && **server != *self.yardstick)
            .collect();
        let failed = self.leave_out_who_fails(bench, &mut servers);
        let mut trials = Vec::new();
        for round in 0..asked.chore.rounds() {
            for (place, server) in turned(servers.clone(), round).into_iter().enumerate() {
                let yardstick_first = (round as usize + place).is_multiple_of(2);
                trials.extend(self.pair(bench, server, round, yardstick_first)?);
            }
        }
        servers.insert(0, self.yardstick);
        let mut counted = Vec::new();
        for server in servers.iter().filter(|_| asked.counts_calls) {
            counted.push(calls::count(bench, server, &self.ask, asked.chore.quick)?);
        }
        Ok(Point {
            subject: self,
            servers,
            failed,
            trials,
            calls: counted,
        })
    }

    /// As many exchanges as the yardstick makes in the time that one run may take, the same number on each connection.
    fn exchanges(&self, bench: &Bench, seconds: f64) -> Result<u64> {
        let ask = Ask {
            exchanges: self.look,
            ..self.ask
        };
        let look = bench.run(self.yardstick, &ask, 0)?;
        let wanted = (look.per_second() * seconds) as u64;
        let together = ask.connections * ask.depth;
        let most = (self.most / together).max(1);
        Ok(wanted.div_ceil(together).clamp(1, most) * together)
    }

    fn leave_out_who_fails(
        &self,
        bench: &Bench,
        servers: &mut Vec<&'static Server>,
    ) -> Vec<Failure> {
        let mut failed = Vec::new();
        servers.retain(|server| match bench.start(server, &self.ask, 1) {
            Ok(_) => true,
            Err(error) => {
                failed.push((*server, format!("{error:#}")));
                false
            }
        });
        failed
    }

    /// One run of a server and one of the yardstick, neighbours in time.
    fn pair(
        &self,
        bench: &Bench,
        server: &'static Server,
        round: u32,
        yardstick_first: bool,
    ) -> Result<[Trial; 2]> {
        let run = |server| bench.run(server, &self.ask, round);
        let yardstick = || {
            let trial = run(self.yardstick)?;
            anyhow::Ok(Trial {
                beside: Some(server.name),
                ..trial
            })
        };
        Ok(match yardstick_first {
            true => [yardstick()?, run(server)?],
            false => [run(server)?, yardstick()?],
        })
    }
}

impl Point {
    /// The rounds that were run.
    pub fn rounds(&self) -> usize {
        let rounds = self.trials.iter().map(|trial| trial.round);
        rounds.max().map_or(0, |last| last as usize + 1)
    }

    /// The runs of one server, by round.
    pub fn of(&self, server: &'static Server) -> Vec<&Trial> {
        let trials = self.trials.iter();
        trials.filter(|trial| trial.server == server).collect()
    }

    /// The rounds' ratios of one server's figure to another's. Those to the yardstick are between neighbours in time;
    /// between two others they are the ratios of those.
    pub fn ratios(&self, of: &'static Server, to: &'static Server, figure: Figure) -> Vec<f64> {
        let rounds = 0..self.rounds() as u32;
        let ratio = |round| {
            let own = self.to_yardstick(of, round, figure)?;
            match to == self.subject.yardstick {
                true => Some(own),
                false => Some(own / self.to_yardstick(to, round, figure)?),
            }
        };
        rounds.filter_map(ratio).collect()
    }

    fn to_yardstick(&self, of: &'static Server, round: u32, figure: Figure) -> Option<f64> {
        let mut trials = self.trials.iter().filter(|trial| trial.round == round);
        let own = trials.clone().find(|trial| trial.server == of)?;
        let beside = trials.find(|trial| trial.beside == Some(of.name))?;
        Some(figure.of(own) / figure.of(beside))
    }

    /// For programs.
    pub fn value(&self) -> Value {
        let Subject { name, ask, .. } = &self.subject;
        let failed = self.failed.iter();
        json!({
            "subject": name,
            "yardstick": self.subject.yardstick.name,
            "connections": ask.connections,
            "close": ask.close,
            "depth": ask.depth,
            "runs": self.trials,
            "calls": self.calls.iter().map(Calls::value).collect::<Vec<_>>(),
            "failed": failed.map(|(server, why)| json!({ "server": server.name, "why": why })).collect::<Vec<_>>(),
        })
    }
}

impl Figure {
    /// Of one run.
    fn of(self, trial: &Trial) -> f64 {
        match self {
            Figure::Cpu => trial.cpu_us_per_exchange(),
            Figure::Rate => trial.per_second(),
            Figure::PerCore => 1.0 / trial.cpu_us_per_exchange(),
        }
    }
}

/// Most exchanges of a run: the least of what servers allow on a connection (lighttpd 65,535) times a hundred of them,
/// and without keep-alive what there are ports for.
const MOST: u64 = 5_000_000;
const MOST_CLOSE: u64 = 20_000;
/// A look that takes about a tenth of a second.
const LOOK: u64 = 20_000;
const LOOK_PIPELINED: u64 = 200_000;
/// Connections that fetch large files at a time.
const CONNECTIONS_LARGE: u64 = 10;

const ALL: &[Class] = &[
    Class::Embedded,
    Class::Memory,
    Class::OpenFile,
    Class::Uncached,
];
const CHEAP: &[Class] = &[Class::Embedded, Class::Memory, Class::OpenFile];

/// What the flags ask for, except for memory, which is no matter of runs.
///
/// # Errors
/// Large files cannot be written.
pub fn subjects(asked: &ServerCost<'_>, bench: &Bench) -> Result<Vec<Subject>> {
    let small = Ask {
        connections: asked.connections,
        exchanges: 0,
        close: false,
        depth: 1,
        path: None,
        body: super::site::SMALL,
        is_large: false,
    };
    let CostChore {
        close, of_servers, ..
    } = asked.chore;
    let mut all = Vec::new();
    if !close && !of_servers.is_any() {
        all.push(plain("keep-alive", "keep-alive", ALL, small));
    }
    if *close {
        let ask = Ask {
            close: true,
            ..small
        };
        let title = "a new connection for each request";
        all.push(Subject {
            most: MOST_CLOSE,
            ..plain("close", title, CHEAP, ask)
        });
    }
    if let Some(depth) = of_servers.pipeline {
        let ask = Ask { depth, ..small };
        all.push(pipelined(
            "pipeline, embedded",
            "nginx-return",
            &[Class::Embedded],
            ask,
        ));
        all.push(pipelined(
            "pipeline, files",
            "nginx",
            &[Class::OpenFile],
            ask,
        ));
    }
    if of_servers.large {
        for (name, path, millions, look) in LARGE {
            bench.site.borrow().add_large(&path[1..], millions)?;
            all.push(large(name, path, millions, look));
        }
    }
    Ok(all)
}

/// Name, path, length in 10^6 bytes, and exchanges of a look.
const LARGE: [(&str, &str, usize, u64); 2] = [
    ("1 MB", "/1M.bin", 1, 200),
    ("100 MB", "/100M.bin", 100, CONNECTIONS_LARGE),
];

fn plain(name: &'static str, title: &str, classes: &'static [Class], ask: Ask) -> Subject {
    Subject {
        name,
        title: format!("{} connections, {title}", ask.connections),
        yardstick: floor(),
        classes,
        ask,
        look: LOOK,
        most: MOST,
    }
}

fn pipelined(name: &'static str, yardstick: &str, classes: &'static [Class], ask: Ask) -> Subject {
    let title = format!("{} requests at once, {}", ask.depth, classes[0]);
    Subject {
        yardstick: named(yardstick),
        look: LOOK_PIPELINED,
        ..plain(name, &title, classes, ask)
    }
}

fn large(name: &'static str, path: &'static str, millions: usize, look: u64) -> Subject {
    let ask = Ask {
        connections: CONNECTIONS_LARGE,
        exchanges: 0,
        close: false,
        depth: 1,
        path: Some(path),
        body: millions * 1_000_000,
        is_large: true,
    };
    Subject {
        yardstick: named("nginx"),
        look,
        ..plain(name, &format!("files of {name}"), &[Class::OpenFile], ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A point in which `name` cost `cpu` by round, beside a yardstick that cost `beside`.
    fn point(rows: &[(&'static str, &[f64], &[f64])]) -> Point {
        let ask = Ask {
            connections: 1,
            exchanges: 1,
            close: false,
            depth: 1,
            path: None,
            body: 100,
            is_large: false,
        };
        let mut trials = Vec::new();
        for (name, cpu, beside) in rows {
            for (round, (cpu, floor)) in cpu.iter().zip(*beside).enumerate() {
                trials.push(Trial::example(name, round as u32, *cpu));
                let mut floor = Trial::example("floor", round as u32, *floor);
                floor.beside = Some(name);
                trials.push(floor);
            }
        }
        Point {
            subject: plain("keep-alive", "keep-alive", ALL, ask),
            servers: Vec::new(),
            failed: Vec::new(),
            trials,
            calls: Vec::new(),
        }
    }

    #[test]
    fn ratios_to_the_yardstick_are_between_neighbours() {
        let point = point(&[
            ("weigh", &[5.0, 10.0], &[4.0, 8.0]),
            ("nginx", &[9.0, 30.0], &[3.0, 10.0]),
        ]);
        let weigh = named("weigh");
        assert_eq!(point.ratios(weigh, floor(), Figure::Cpu), [1.25, 1.25]);
        assert_eq!(point.ratios(weigh, floor(), Figure::Rate), [0.8, 0.8]);
        assert_eq!(point.rounds(), 2);
    }

    #[test]
    fn ratios_between_others_are_ratios_of_ratios() {
        let point = point(&[("weigh", &[6.0], &[4.0]), ("nginx", &[9.0], &[3.0])]);
        let (weigh, nginx) = (named("weigh"), named("nginx"));
        assert_eq!(point.ratios(weigh, nginx, Figure::Cpu), [0.5]);
        assert_eq!(point.ratios(weigh, nginx, Figure::PerCore), [2.0]);
        assert!(point.ratios(weigh, named("h2o"), Figure::Cpu).is_empty());
    }
}
