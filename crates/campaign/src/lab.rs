//! The bench in use: this machine, with real sockets, processes and clocks.

use crate::bench::{Bench, Unmeasured};
use crate::cells::{Cell, Generators};
use crate::error::CampaignError;
use crate::selftest::{self, SelfTestError};
use crate::server::{Ready, Running};
use crate::twin;
use crate::view::{Follower, Onlooker, View};
use crate::witness::{Lost, Subject, Witness};
use engine::{Job, PROBED, Rep};
use kernel::Epoll;
use plan::{Endpoint, Plan};
use record::{During, Floor, Machine, Observed, Round};
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;

/// This machine.
pub(crate) struct Lab<'a> {
    /// The command that starts a generator process.
    generator: &'a [OsString],
    /// When it becomes true the campaign ends.
    stop: &'a AtomicBool,
    /// A server that was started, until it is known who is observed.
    started: Option<Running>,
    stage: Option<Stage>,
}

/// What the rounds of a point are measured with.
struct Stage {
    subject: Subject,
    job: Job,
}

impl<'a> Lab<'a> {
    /// Nothing is started.
    pub(crate) fn new(generator: &'a [OsString], stop: &'a AtomicBool) -> Lab<'a> {
        Lab {
            generator,
            stop,
            started: None,
            stage: None,
        }
    }

    /// The server's response to the probe, once it is started if that is asked.
    fn probe(
        &mut self,
        plan: &Plan,
        seq: u64,
        view: &mut dyn View,
    ) -> Result<Ready, CampaignError> {
        let Some(command) = &plan.server else {
            let mut ring = Epoll::new().map_err(CampaignError::Ring)?;
            let (probe, shown) = engine::probe(&mut ring, plan, seq, PROBED, self.stop)?;
            let probes = probe.requests;
            return Ok(Ready {
                probe,
                shown,
                probes,
            });
        };
        view.starting(&command.argv.join(" "));
        let (server, ready) = Running::start(command, plan, seq, self.stop)?;
        self.started = Some(server);
        Ok(ready)
    }
}

impl Bench for Lab<'_> {
    fn machine(&self) -> Machine {
        host::machine()
    }

    fn floor(&mut self, plan: &Plan, view: &mut dyn View) -> Result<Floor, SelfTestError> {
        selftest::floor(plan, self.stop, &mut Onlooker(view))
    }

    /// A server that was started with the same command goes on.
    fn prepare(
        &mut self,
        plan: &Plan,
        seq: u64,
        view: &mut dyn View,
    ) -> Result<Option<Ready>, CampaignError> {
        match self.stage.take() {
            Some(kept) if kept.job.plan() == plan => self.stage = Some(kept),
            Some(Stage { subject, job }) if job.plan().server == plan.server => {
                let job = Job::new(plan.clone(), job.endpoint().clone())?;
                self.stage = Some(Stage { subject, job });
            }
            other => {
                drop(other); // its server has to be gone before the next is started
                return self.probe(plan, seq, view).map(Some);
            }
        }
        Ok(None)
    }

    fn observe(&mut self, plan: &Plan, endpoint: &Endpoint) -> Result<Observed, CampaignError> {
        let (subject, observed) = Subject::of(plan, self.started.take(), endpoint)?;
        let job = Job::new(plan.clone(), endpoint.clone())?;
        self.stage = Some(Stage { subject, job });
        Ok(observed)
    }

    fn lost(&mut self, cell: &Cell) -> Option<Lost> {
        let stage = self.stage.as_mut()?;
        stage.subject.lost(cell, During::Before)
    }

    fn round(
        &mut self,
        seq: u64,
        follower: &mut Follower<'_>,
    ) -> (Result<(Round, u64), Unmeasured>, Option<Lost>) {
        let cell = follower.cell;
        let stage = self.stage.as_mut().expect("a round comes after `observe`");
        let cut = AtomicBool::new(false);
        let mut witness = Witness::of(&mut stage.subject, follower, self.stop, &cut);
        let measured = match cell.by {
            Generators::One => engine::round(&stage.job, cell.round, seq, &cut, &mut witness)
                .map_err(Unmeasured::One),
            Generators::Two => {
                let rep = Rep {
                    index: cell.round,
                    seq,
                };
                twin::round(self.generator, &stage.job, rep, &cut, &mut witness)
                    .map_err(Unmeasured::Two)
            }
        };
        let lost = witness.lost();
        let measured = measured.map(|(mut round, next)| {
            witness.tell(&mut round);
            if cell.by == Generators::Two {
                charge_generators(&mut round);
            }
            (round, next)
        });
        (measured, lost)
    }

    fn clear(&mut self) {
        (self.started, self.stage) = (None, None);
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
