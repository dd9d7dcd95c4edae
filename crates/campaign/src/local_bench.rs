//! The bench in use: this machine, with real sockets, processes and clocks.

use crate::bench::{Bench, Unmeasured};
use crate::error::CampaignError;
use crate::observer::{ObservedServer, RoundObserver};
use crate::planned_rounds::{Generators, PlannedRound};
use crate::processes;
use crate::selftest::{self, SelfTestError};
use crate::server::{self, Ready, Running};
use crate::view::{Follower, SelfTestObserver, View};
use engine::{Job, Rep, RoundError};
use plan::{Endpoint, Plan};
use record::{Baseline, During, Machine, Observed, Round};
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;

/// This machine.
pub(crate) struct LocalBench<'a> {
    /// The command that starts a generator process.
    generator: &'a [OsString],
    /// When it becomes true the campaign ends.
    stop: &'a AtomicBool,
    /// A server that was started, until it is known which one is observed.
    started: Option<Running>,
    prepared: Option<Prepared>,
}

/// What the rounds of a point are measured with.
struct Prepared {
    server: ObservedServer,
    job: Job,
}

impl<'a> LocalBench<'a> {
    /// Nothing is started.
    pub(crate) fn new(generator: &'a [OsString], stop: &'a AtomicBool) -> LocalBench<'a> {
        LocalBench {
            generator,
            stop,
            started: None,
            prepared: None,
        }
    }

    /// Returns the server's response to the probe, after starting it where the plan has a command.
    fn probe(
        &mut self,
        plan: &Plan,
        seq: u64,
        view: &mut dyn View,
    ) -> Result<Ready, CampaignError> {
        let Some(command) = &plan.server else {
            return server::probe(plan, seq, self.stop);
        };
        view.starting(&command.argv.join(" "));
        let (server, ready) = Running::start(command, plan, seq, self.stop)?;
        self.started = Some(server);
        Ok(ready)
    }
}

impl Bench for LocalBench<'_> {
    fn machine(&self) -> Machine {
        host::machine()
    }

    fn baseline(&mut self, plan: &Plan, view: &mut dyn View) -> Result<Baseline, SelfTestError> {
        selftest::baseline(plan, self.stop, &mut SelfTestObserver(view))
    }

    /// A server that was started with the same command goes on.
    fn prepare(
        &mut self,
        plan: &Plan,
        seq: u64,
        view: &mut dyn View,
    ) -> Result<Option<Ready>, CampaignError> {
        match self.prepared.take() {
            Some(kept) if kept.job.plan == *plan => self.prepared = Some(kept),
            Some(Prepared { server, job }) if job.plan.server == plan.server => {
                let job = Job::new(plan.clone(), job.endpoint.clone())?;
                self.prepared = Some(Prepared { server, job });
            }
            other => {
                drop(other); // its server has to be gone before the next is started
                let mut ready = self.probe(plan, seq, view)?;
                if let Endpoint::Ip(address) = ready.probe.endpoint {
                    ready.probe.link = Some(host::link(address));
                }
                return Ok(Some(ready));
            }
        }
        Ok(None)
    }

    fn observe(&mut self, plan: &Plan, endpoint: &Endpoint) -> Result<Observed, CampaignError> {
        let (server, observed) = ObservedServer::of(plan, self.started.take(), endpoint)?;
        let job = Job::new(plan.clone(), endpoint.clone())?;
        self.prepared = Some(Prepared { server, job });
        Ok(observed)
    }

    fn lost(&mut self, planned: &PlannedRound) -> Option<CampaignError> {
        let prepared = self.prepared.as_mut()?;
        prepared.server.lost(planned, During::Before)
    }

    fn round(
        &mut self,
        seq: u64,
        follower: &mut Follower<'_>,
    ) -> (Result<(Round, u64), Unmeasured>, Option<CampaignError>) {
        let planned = follower.planned;
        let prepared = self
            .prepared
            .as_mut()
            .expect("a round comes after `observe`");
        let cut = AtomicBool::new(false);
        let mut observer = RoundObserver::of(&mut prepared.server, follower, self.stop, &cut);
        let rep = Rep {
            index: planned.round,
            seq,
        };
        let job = &prepared.job;
        let measured = processes::round(self.generator, planned.by, job, rep, &cut, &mut observer);
        let lost = observer.lost();
        let measured = measured.map(|(mut round, next)| {
            observer.add_costs(&mut round);
            charge_generators(&mut round);
            (round, next)
        });
        let measured = measured.map_err(|why| match planned.by {
            Generators::One => Unmeasured::One(RoundError(why)),
            Generators::Two => Unmeasured::Two(why),
        });
        (measured, lost)
    }

    fn clear(&mut self) {
        (self.started, self.prepared) = (None, None);
    }
}

/// The clock of this process knows nothing of generators that are processes of their own, which are not the work of others
/// all the same: their threads' time in the window is added, without what the rest of each did (reading its orders,
/// handing over its round), which is outside of the window.
fn charge_generators(round: &mut Round) {
    let threads = round.threads.iter().map(|thread| thread.cpu).sum();
    if let Some(budget) = &mut round.budget {
        budget.generator += threads;
    }
}
