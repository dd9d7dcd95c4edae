//! What makes a plan sound: the rules that its settings state, at each of its points, and those between its points.

use crate::settings::settings;
use crate::{Axis, Environment, Plan, RingKind, SIZE, Sweep, WORKERS};
use thiserror::Error;

/// Why a plan cannot be carried out: a sentence that names the option and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PlanError(pub String);

impl Plan {
    /// The most rounds of a point.
    pub const MOST_ROUNDS: u32 = 10_000;

    /// The most rounds of all points together: what a record is read with.
    pub const MOST_CELLS: usize = 1 << 16;

    /// Judges the plan by itself, at each of its points; what depends on the machine (ports, descriptors) is judged
    /// elsewhere.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), PlanError> {
        if let Some(why) = self.check_sweep() {
            return Err(PlanError(why));
        }
        for level in self.levels() {
            let plan = self.at(&level);
            if let Some(why) = settings().find_map(|row| (row.check)(&plan)) {
                return Err(PlanError(match self.sweep {
                    None => why,
                    Some(_) => format!("at {}: {why}", self.name(&level)),
                }));
            }
        }
        Ok(())
    }

    /// What points need of one another, and of the server.
    fn check_sweep(&self) -> Option<String> {
        let axes = self.sweep.as_ref().map_or(&[][..], |sweep| &sweep.axes);
        let by_workers = axes.iter().any(|axis| matches!(axis, Axis::Workers(_)));
        let by_size = axes.iter().any(|axis| matches!(axis, Axis::Size(_)));
        let has_size = self.requests.each().iter().any(|it| it.path.contains(SIZE));
        let points = self.sweep.as_ref().map_or(1, Sweep::points);
        let argv = self.server.iter().flat_map(|server| &server.argv);
        let has_hole = argv.into_iter().any(|word| word.contains(WORKERS));
        let searches_rate = matches!(axes, [Axis::Rate(_)]) && self.load.is_open();
        let (most, cells, rounds) = (Sweep::MOST_POINTS, Self::MOST_CELLS, self.rounds);
        let many_points =
            format!("the sweep has {points} points, more than {most}; give fewer values");
        let many_rounds = format!(
            "the sweep has {points} points and --rounds {rounds}, more rounds than the {cells} that one record holds; \
             lower one of them"
        );
        let rules = [
            (points > most, &*many_points),
            (
                points.saturating_mul(rounds as usize) > cells,
                &*many_rounds,
            ),
            (
                self.is_search() && !searches_rate,
                "--slo searches for a rate, and only that may have several values: give --rate FROM..TO*2, or remove it",
            ),
            (
                self.is_search() && self.two_generators,
                "--two-generators contradicts --slo, which searches for a rate; remove one of them",
            ),
            (
                self.quick && !self.is_search(),
                "--quick shortens the search of --slo, and there is none: add --slo, or remove it",
            ),
            (
                by_workers && !has_hole,
                "--workers needs a server that weigh starts, with {workers} in its command: weigh sweep URL -- COMMAND",
            ),
            (
                has_hole && !by_workers,
                "the server's command has {workers} in it, and nothing says how many; give --workers with `weigh sweep`",
            ),
            (
                by_size && !has_size,
                "--size needs {size} in a URL, such as 'http://127.0.0.1:8080/bytes/{size}'; add it, or remove --size",
            ),
            (
                has_size && !by_size && self.sweep.is_some(),
                "a URL has {size} in it, and nothing says which sizes; give --size 100,10k,1m",
            ),
            (
                has_size && self.sweep.is_none(),
                "a URL has {size} in it; `weigh sweep --size 100,10k,1m` measures several, or write a number",
            ),
        ];
        let broken = rules.into_iter().find(|(broken, _)| *broken);
        broken.map(|(_, why)| why.to_owned())
    }

    /// Judges what depends on the machine: local addresses, and the kernel's interface.
    pub(crate) fn check_in(&self, environment: &dyn Environment) -> Result<(), PlanError> {
        let mut sources = self.sources.iter();
        if let Some(source) = sources.find(|source| !environment.owns(**source)) {
            return Err(PlanError(format!(
                "--source {source} is no address of this machine; `ip address` shows those that are"
            )));
        }
        let required = self.requirements.iter().map(|each| ("--require", each));
        let aborting = self.abort_if.iter().map(|each| ("--abort-if", each));
        for (flag, each) in required.chain(aborting) {
            if let Some(why) = environment.cannot_judge(each) {
                return Err(PlanError(format!("{flag} {why}")));
            }
        }
        match environment.lacks_io_uring() {
            Some(why) if self.ring == RingKind::IoUring => Err(PlanError(format!(
                "--ring io_uring is not available here ({why}); remove it"
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arriving, Connect, Load, Requests, Stop, Version};
    use units::Nanos;

    fn open(rate: &str, connections: u32) -> Load {
        Load::Open {
            rate: rate.parse().unwrap(),
            of: Arriving::Exchanges,
            arrivals: crate::Arrivals::Poisson,
            connections,
        }
    }

    /// Connections of so many exchanges that arrive by a rate.
    fn arriving(plan: &mut Plan, rate: &str, each: u64, connections: u32) {
        plan.load = Load::Open {
            rate: rate.parse().unwrap(),
            of: Arriving::Connections,
            arrivals: crate::Arrivals::Poisson,
            connections,
        };
        plan.connect = Connect::Lazy;
        plan.protocol.requests_per_connection = Some(each);
    }

    #[test]
    fn a_rate_that_is_just_carried_is_sound_and_the_sentence_says_why_more_is_not() {
        let mut plan = Plan::example("127.0.0.1:80".parse().unwrap());
        plan.load = open("2m", 2);
        assert_eq!(plan.check(), Ok(()));
        plan.load = open("4m", 1);
        assert_eq!(
            plan.check().unwrap_err().to_string(),
            "--rate 4,000,000 over 1 connection leaves 250 ns for each request, and none is that quick; raise \
             --connections or lower --rate"
        );
        arriving(&mut plan, "2m", 10, 20);
        assert_eq!(plan.check(), Ok(()));
        arriving(&mut plan, "2m", 11, 20);
        assert_eq!(
            plan.check().unwrap_err().to_string(),
            "--connection-rate 2,000,000 over 20 connections leaves 10.0 us for each connection, and none is that quick; \
             raise --connections or lower --connection-rate"
        );
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    fn each_broken_rule_is_named() {
        type Break = fn(&mut Plan);
        let cases: &[(Break, &str)] = &[
            (
                |plan| plan.load = Load::Closed { connections: 0 },
                "--connections is 0",
            ),
            (|plan| plan.stop = Stop::Requests(0), "--requests is 0"),
            (
                |plan| plan.stop = Stop::Duration(Nanos::ZERO),
                "--duration is 0",
            ),
            (|plan| plan.rounds = 0, "--rounds is 0"),
            (|plan| plan.rounds = 10_001, "--rounds is 10001"),
            (|plan| plan.threads = 0, "--threads is 0"),
            (|plan| plan.protocol.pipeline = 0, "--pipeline is 0"),
            (|plan| plan.protocol.pipeline = 5000, "--pipeline is 5000"),
            (
                |plan| plan.protocol.requests_per_connection = Some(0),
                "--requests-per-connection is 0",
            ),
            (
                |plan| {
                    plan.protocol.keepalive = false;
                    plan.protocol.pipeline = 2;
                },
                "--no-keepalive closes",
            ),
            (
                |plan| {
                    plan.protocol.version = Version::Http10;
                    plan.protocol.pipeline = 2;
                },
                "--http1.0 has no pipelining",
            ),
            (
                |plan| plan.timeouts.exchange = Nanos::ZERO,
                "--timeout is 0",
            ),
            (
                |plan| plan.timeouts.connect = Nanos::ZERO,
                "--connect-timeout is 0",
            ),
            (
                |plan| plan.sources = vec!["::1".parse().unwrap()],
                "--source ::1 cannot reach",
            ),
            (
                |plan| plan.requests = Requests::Listed(Vec::new()),
                "no request is given",
            ),
            (
                |plan| {
                    plan.two_generators = true;
                    plan.load = Load::Closed { connections: 2 };
                    plan.stop = Stop::Requests(1);
                },
                "--two-generators splits",
            ),
            (|plan| plan.load = open("0", 1), "--rate is 0"),
            (|plan| arriving(plan, "0", 1, 1), "--connection-rate is 0"),
            (
                |plan| {
                    arriving(plan, "5", 1, 1);
                    plan.protocol.requests_per_connection = None;
                },
                "--connection-rate needs an end",
            ),
            (
                |plan| {
                    arriving(plan, "5", 1, 1);
                    plan.connect = Connect::Eager;
                },
                "--connect eager contradicts --connection-rate",
            ),
            (
                |plan| {
                    arriving(plan, "5", 9, 1);
                    plan.protocol.pipeline = 2;
                },
                "--pipeline contradicts --connection-rate",
            ),
            (|plan| plan.load = open("1", 0), "--connections is 0"),
            (
                |plan| plan.load = open("3m", 2),
                "--rate 3,000,000 over 2 connections",
            ),
            (
                |plan| {
                    plan.load = open("100", 2);
                    plan.protocol.pipeline = 2;
                },
                "--pipeline contradicts --rate",
            ),
        ];
        let sound = Plan::example("127.0.0.1:80".parse().unwrap());
        assert_eq!(sound.check(), Ok(()));
        for (spoil, wanted) in cases {
            let mut plan = sound.clone();
            spoil(&mut plan);
            let said = plan.check().unwrap_err().to_string();
            assert!(said.starts_with(wanted), "{said}");
        }
    }

    /// Every option that a sentence names is one of the table.
    #[test]
    fn what_a_sentence_names_is_a_setting() {
        let source = [
            include_str!("check.rs"),
            include_str!("draft.rs"),
            include_str!("settings/connections.rs"),
            include_str!("settings/criteria.rs"),
            include_str!("settings/load.rs"),
            include_str!("settings/request.rs"),
            include_str!("url.rs"),
        ];
        let is_part = |letter: char| letter.is_ascii_lowercase() || "-.10".contains(letter);
        for word in source.concat().split(|letter| !is_part(letter)) {
            let Some(name) = word
                .strip_prefix("--")
                .map(|name| name.trim_end_matches(['.', '-']))
            else {
                continue;
            };
            let known = settings().any(|row| row.name == name);
            assert!(known || name.is_empty(), "no setting `{name}`");
        }
    }
}
