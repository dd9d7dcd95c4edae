//! Observation of the server and the machine while the engine measures.
//!
//! A server that `--server` names has to be there, or nothing is measured. Where none is named, the server that was started
//! is observed, and otherwise the process that listens at the target; if it cannot be found, the measurement stands without
//! it, and the record says why.

use crate::error::CampaignError;
use crate::planned_rounds::PlannedRound;
use crate::server::Running;
use crate::view::Follower;
use engine::{Observer, Progress};
use host::{Found, Server, Watch};
use plan::{Endpoint, Observe, Plan};
use record::{During, Known, Observed, Round};
use std::sync::atomic::{AtomicBool, Ordering};

/// The server of some rounds, and the processes whose footprint is taken.
#[derive(Debug)]
pub(crate) struct ObservedServer {
    running: Option<Running>,
    /// A server that we did not start.
    found: Option<Found>,
    /// Whether no server is observed, even one that was started.
    is_left_alone: bool,
    /// Its memory before the load, in bytes.
    rest: Option<u64>,
}

impl ObservedServer {
    /// Returns the server to observe under `plan`, with the target at `endpoint`, and its entry in the record.
    pub(crate) fn of(
        plan: &Plan,
        running: Option<Running>,
        endpoint: &Endpoint,
    ) -> Result<(ObservedServer, Observed), CampaignError> {
        let mut server = ObservedServer {
            running,
            found: None,
            is_left_alone: false,
            rest: None,
        };
        let known = match &plan.observe {
            Some(Observe::Off) => {
                server.is_left_alone = true;
                return Ok((server, Observed::none("--server none leaves it alone")));
            }
            Some(named) => {
                server.found = Some(find(named)?);
                Known::Named
            }
            None if server.running.is_some() => Known::Started,
            None => match listener(endpoint) {
                Ok(found) => {
                    server.found = Some(found);
                    Known::Listens
                }
                Err(why) => return Ok((server, Observed::none(why))),
            },
        };
        let observed = server.monitored().map(|mut server| server.observed(known));
        server.rest = server.monitored().and_then(|mut server| server.memory());
        Ok((server, observed.unwrap_or_default()))
    }

    /// Returns why nothing more can be measured in the round of `planned` or after it: the server that was started has
    /// ended, or would outlive this process if that were killed.
    pub(crate) fn lost(&mut self, planned: &PlannedRound, during: During) -> Option<CampaignError> {
        let running = self.running.as_mut()?;
        if let Some(end) = running.end(planned, during) {
            return Some(CampaignError::ServerEnded(Box::new(end)));
        }
        (!running.child().is_guarded()).then_some(CampaignError::Unguarded)
    }

    /// Returns how the server that was started has ended, or that nothing would end it with us, as the rest of a sentence about
    /// it; none while all is well, and of one that we did not start.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let running = self.running.as_mut()?;
        let how = running.how_ended();
        let unguarded = || CampaignError::Unguarded.to_string();
        how.or_else(|| (!running.child().is_guarded()).then(unguarded))
    }

    /// Returns the processes whose footprint is taken; none where no server is observed.
    pub(crate) fn monitored(&mut self) -> Option<Server<'_>> {
        match (&mut self.found, &mut self.running) {
            _ if self.is_left_alone => None,
            (Some(found), _) => Some(Server::Found(found)),
            (None, Some(running)) => Some(Server::Started(running.child())),
            (None, None) => None,
        }
    }
}

fn find(named: &Observe) -> Result<Found, CampaignError> {
    let found = match named {
        Observe::Pid(pid) => Found::by_pid(*pid),
        Observe::Name(name) => Found::by_name(name),
        Observe::Port(port) => Found::by_port(*port),
        Observe::Cgroup(path) => Found::by_cgroup(path),
        Observe::Off => Err("matches no process".into()),
    };
    found.map_err(|why| CampaignError::NoServer(format!("{named} {why}")))
}

/// The process that listens at the target, or why it is not known: a sentence without its subject, `the server`.
fn listener(endpoint: &Endpoint) -> Result<Found, String> {
    if !endpoint.is_local() {
        return Err(format!(
            "{endpoint} is not on this machine, as far as weigh can tell"
        ));
    }
    Found::by_listener(endpoint).map_err(|why| format!("{endpoint} {why}"))
}

/// Observer of one round: samples the server's processes and the machine, and passes progress to the view.
pub(crate) struct RoundObserver<'a, 'f> {
    server: &'a mut ObservedServer,
    follower: &'a mut Follower<'f>,
    watch: Watch,
    /// When it becomes true the campaign ends.
    stop: &'a AtomicBool,
    /// When it becomes true the round ends.
    cut: &'a AtomicBool,
    during: During,
    lost: Option<CampaignError>,
}

impl<'a, 'f> RoundObserver<'a, 'f> {
    /// Returns the observer of the follower's round, which has not begun. It cuts the round short by `cut` when `stop`
    /// becomes true, and when nothing more can or is to be measured.
    pub(crate) fn of(
        server: &'a mut ObservedServer,
        follower: &'a mut Follower<'f>,
        stop: &'a AtomicBool,
        cut: &'a AtomicBool,
    ) -> Self {
        let rest = server.rest;
        RoundObserver {
            watch: Watch::before(server.monitored(), rest),
            server,
            follower,
            stop,
            cut,
            during: During::WarmUp,
            lost: None,
        }
    }

    /// Cuts the round short if it is time to. A server that ends when we are interrupted may have got the same signal.
    fn check(&mut self) {
        if self.cut.load(Ordering::Relaxed) {
            return;
        }
        let is_stopped = self.stop.load(Ordering::Relaxed);
        if !is_stopped {
            self.lost = self.server.lost(&self.follower.planned, self.during);
        }
        let is_cut = is_stopped || self.lost.is_some();
        self.cut.store(is_cut, Ordering::Relaxed);
    }

    /// Returns why the campaign cannot go on after the round, if it cannot.
    pub(crate) fn lost(&mut self) -> Option<CampaignError> {
        self.lost.take()
    }

    /// Adds the costs to the round.
    pub(crate) fn add_costs(self, round: &mut Round) {
        let costs = self.watch.costs();
        round.footprint = costs.footprint;
        round.budget = costs.budget;
        round.kernel = costs.kernel;
        round.quotas = costs.quotas;
    }
}

impl Observer for RoundObserver<'_, '_> {
    fn opened(&mut self) {
        self.check();
        self.during = During::Window;
        self.watch.opened(self.server.monitored());
    }

    fn closed(&mut self) {
        self.watch.closed(self.server.monitored());
        self.check();
        self.during = During::Drain;
    }

    fn drained(&mut self, open: u64) {
        self.watch.drained(self.server.monitored(), open);
    }

    fn wants_latency(&self) -> bool {
        self.follower.view.wants_latency()
    }

    fn tick(&mut self, progress: Progress) {
        self.check();
        self.watch.tick(self.server.monitored());
        let early = self.follower.progress(progress);
        if !self.cut.load(Ordering::Relaxed) {
            self.lost = early.map(CampaignError::Aborted);
            self.cut.store(self.lost.is_some(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::early::EarlyStop;
    use record::Run;

    fn of(plan: &Plan) -> Result<(ObservedServer, Observed), CampaignError> {
        ObservedServer::of(plan, None, &plan.target.endpoints[0])
    }

    #[test]
    fn a_target_elsewhere_is_not_observed_and_that_is_said() {
        let plan = Plan::example("192.0.2.1:80".parse().unwrap());
        let (mut server, observed) = of(&plan).unwrap();
        assert!(server.monitored().is_none());
        assert_eq!(
            observed.why_not.as_deref(),
            Some("192.0.2.1:80 is not on this machine, as far as weigh can tell")
        );
    }

    #[test]
    fn a_server_that_is_to_be_left_alone_is_not_looked_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut plan = Plan::example(listener.local_addr().unwrap());
        plan.observe = Some(Observe::Off);
        let (mut server, observed) = of(&plan).unwrap();
        assert!(server.monitored().is_none() && server.rest.is_none());
        let why = observed.why_not.as_deref();
        assert_eq!(why, Some("--server none leaves it alone"));
    }

    #[test]
    fn a_process_that_is_named_must_be_there() {
        let mut plan = Plan::example("192.0.2.1:80".parse().unwrap());
        plan.observe = Some(Observe::Pid(std::process::id()));
        let refused = of(&plan).unwrap_err().to_string();
        let wanted = format!("--server {} is weigh itself; name", std::process::id());
        assert!(refused.starts_with(&wanted), "{refused}");
    }

    #[test]
    fn a_round_is_cut_short_when_a_condition_to_abort_is_met() {
        let mut plan = Plan::example("192.0.2.1:80".parse().unwrap());
        plan.observe = Some(Observe::Off);
        plan.abort_if = plan::requirement::requirements("errors>=5").unwrap();
        let (mut server, _) = of(&plan).unwrap();
        let (stop, cut) = (AtomicBool::new(false), AtomicBool::new(false));
        let run = Run {
            points: Vec::new(),
            ..record::example::ok()
        };
        let mut follower = Follower {
            planned: crate::planned_rounds(&plan)[0],
            view: &mut crate::Quiet,
            early: &EarlyStop::of(&plan, &run),
            is_settling: false,
        };
        let mut observer = RoundObserver::of(&mut server, &mut follower, &stop, &cut);
        for (errors, is_cut) in [(4, false), (5, true), (6, true)] {
            observer.tick(Progress {
                errors,
                window_start: Some(kernel::clock::now()),
                ..Progress::default()
            });
            assert_eq!(cut.load(Ordering::Relaxed), is_cut);
        }
        assert!(
            matches!(observer.lost(), Some(CampaignError::Aborted(why)) if why.contains("errors are 5"))
        );
    }

    #[test]
    fn a_process_that_is_named_is_observed_wherever_the_target_is() {
        let mut other = std::process::Command::new("tail")
            .args(["-f", "/dev/null"])
            .spawn()
            .unwrap();
        let mut plan = Plan::example("192.0.2.1:80".parse().unwrap());
        plan.observe = Some(Observe::Pid(other.id()));
        let (server, observed) = of(&plan).unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(
            (observed.by, observed.count, observed.why_not),
            (Known::Named, 1, None)
        );
        assert_eq!(observed.processes[0].pid, other.id());
        assert!(server.rest > Some(0) && observed.processes[0].pss_bytes > Some(0));
    }
}
