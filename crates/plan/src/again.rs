//! The command that carries a plan out again, a little changed.

use crate::draft::{CONNECTIONS, MOST_CONNECTIONS};
use crate::settings::settings;
use crate::{
    Draft, Endpoint, Group, Habits, Load, Plan, Request, Requests, Security, Stop, shell_word,
};
use units::{Nanos, exact, rate};

impl Plan {
    /// Returns the command that carries the plan out again with `options`, such as `--rate 60k`, and with every option
    /// that shapes its load. None where more than the URL and those options says what is requested and expected. After a
    /// sweep only a rate makes a command, which measures that rate alone.
    ///
    /// With a rate a closed loop's number of connections is left out: an open loop takes as many as it needs.
    pub fn again_with(&self, options: &str) -> Option<String> {
        let is_rate = options.starts_with("--rate ");
        if (self.sweep.is_some() && !is_rate) || !self.is_load_of_url() {
            return None;
        }
        let is_new = |names: &[&str]| names.iter().any(|name| options.contains(name));
        let mut words = vec!["weigh run".to_owned(), options.to_owned()];
        match self.load {
            _ if is_rate => {}
            Load::Closed { connections } if connections == CONNECTIONS => {}
            Load::Closed { connections } => words.push(format!("-c {connections}")),
            Load::Open {
                rate: each,
                connections,
                ..
            } => {
                words.push(format!("--rate {}", rate(each.as_f64()).replace(',', "")));
                let is_told = connections != MOST_CONNECTIONS;
                words.extend(is_told.then(|| format!("-c {connections}")));
            }
        }
        let Habits {
            window,
            warmup,
            rounds,
            ..
        } = match self.sweep {
            None => Habits::RUN,
            Some(_) => Habits::SWEEP,
        };
        match self.stop {
            _ if is_new(&["--duration", "--requests"]) => {}
            Stop::Duration(span) if span == window => {}
            Stop::Duration(span) => words.push(format!("-d {}", typed(span))),
            Stop::Requests(requests) => words.push(format!("-n {requests}")),
        }
        if self.rounds != rounds && !is_new(&["--rounds"]) {
            words.push(format!("--rounds {}", self.rounds));
        }
        let own = match self.stop {
            Stop::Duration(_) => warmup,
            Stop::Requests(_) => Nanos::ZERO,
        };
        if self.warmup != own || self.settle != self.can_settle() {
            words.push(format!("--warmup {}", typed(self.warmup)));
        }
        words.push(shell_word(&self.first_url()).into_owned());
        Some(words.join(" "))
    }

    /// Returns whether one URL of a server that is already running is loaded, and every option of requests, connections,
    /// criteria and the generator is at its default.
    fn is_load_of_url(&self) -> bool {
        let plain = Plan {
            requests: Requests::Listed(vec![Request::get("/")]),
            security: self.security.as_ref().map(|_| Security::default()),
            ..Draft::new(Habits::RUN).plan
        };
        // With a rate connections are opened when they are needed, and the words after it have their place above.
        let others = [
            "connect",
            "connections",
            "rate",
            "requests",
            "duration",
            "rounds",
            "warmup",
            "threads",
            "seed",
        ];
        let groups = [
            Group::Request,
            Group::Load,
            Group::Connections,
            Group::Security,
            Group::Criteria,
        ];
        let is_poisson = |shown: &str| shown == "poisson";
        let mut rows = settings()
            .filter(|row| groups.contains(&row.group) && !others.contains(&row.name))
            .filter(|row| row.name != "arrivals" || !is_poisson(&(row.show)(self)));
        let endpoints = &self.target.endpoints;
        matches!(&self.requests, Requests::Listed(listed) if listed.len() == 1)
            && endpoints
                .iter()
                .all(|endpoint| matches!(endpoint, Endpoint::Ip(_)))
            && self.server.is_none()
            && !self.withholds()
            && rows.all(|row| (row.show)(self) == (row.show)(&plain))
    }
}

/// Returns a time as it is typed.
fn typed(span: Nanos) -> String {
    exact(span).replace(' ', "")
}
