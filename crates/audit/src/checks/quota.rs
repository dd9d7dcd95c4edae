//! Did a CPU quota stop the generator or the server?

use super::prelude::*;
use record::Quota;

pub(super) const CHECK: Check = Check {
    name: "quota",
    question: "Did a CPU quota stop the generator or the server?",
    looks_at: "The CPU quotas of weigh's control group and of the server's, each with all ancestors, and their \
               counters at the edges of each window. A container or a systemd service may use only so much CPU time \
               in each period (mostly 100 ms); then the kernel stops it until the next one (throttling).",
    thresholds: &[
        guess(
            "share of the windows that weigh was throttled, over",
            || percent(STOPPED_MOST),
        ),
        guess(
            "share of its periods in which a throttled server is saturated, over",
            || "50 %".to_owned(),
        ),
    ],
    false_alarms: "none by chance: the kernel's counters",
    power: "every throttling that the kernel counts in a control group that weigh can read",
    effect: "Where weigh was throttled, latency gets a caveat; above the threshold requests/s too, `limit` names no \
             bottleneck, and an open loop that fell behind is not overload. A throttled server is a note: the quota \
             is part of the server under test.",
    remedy: "Raise the quota, or run weigh outside of that group.",
    cause: Cause::GeneratorQuota,
    judge,
};

/// A generator that was stopped for more than this share of the time could not offer the load.
const STOPPED_MOST: f64 = 0.01;

/// What the quota that stopped one side for the longest did, over all rounds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Throttled {
    quota: Quota,
    /// The time it was stopped as a share of the windows'; over 1 where several CPUs were.
    share: f64,
}

impl Throttled {
    /// What the quota of the generator did; none where it was never throttled.
    pub(super) fn generator(rounds: &[Round]) -> Option<Throttled> {
        Throttled::of(rounds, |round| &round.quotas)
    }

    /// What the quota of the server did, likewise.
    pub(super) fn server(rounds: &[Round]) -> Option<Throttled> {
        Throttled::of(rounds, |round| {
            let print = round.footprint.as_ref();
            print.map_or(&[][..], |print| &print.quotas)
        })
    }

    fn of(rounds: &[Round], quotas: fn(&Round) -> &[Quota]) -> Option<Throttled> {
        let group = &Quota::most_throttled(rounds.iter().flat_map(quotas))?.group;
        let each = rounds.iter().flat_map(quotas);
        let each = each.filter(|quota| quota.group == *group).cloned();
        let quota = each.reduce(Quota::plus)?;
        let windows: Nanos = rounds.iter().map(|round| round.window.span()).sum();
        let share = quota.time.as_secs_f64() / windows.as_secs_f64().max(1e-9);
        Some(Throttled { quota, share })
    }

    /// Whether it was stopped for so long that the load cannot have been what was asked for.
    fn is_long(&self) -> bool {
        self.share > STOPPED_MOST
    }

    /// `CPU quota of 0.2 CPUs (/sys/fs/cgroup/cpu/shop)`
    pub(super) fn name(&self) -> String {
        let Quota { cpus, group, .. } = &self.quota;
        format!("CPU quota of {} ({group})", shown(*cpus))
    }

    /// `throttled it in 75 of 78 periods, for 5.9 s`
    fn extent(&self, object: &str) -> String {
        let Quota {
            periods,
            throttled,
            time,
            ..
        } = self.quota;
        format!(
            "throttled {object} in {} of {} periods, for {}",
            count(throttled),
            count(periods),
            span(time)
        )
    }
}

/// `1 CPU`, `0.2 CPUs`
fn shown(cpus: f64) -> String {
    let rounded = (cpus * 100.0).round() / 100.0;
    let unit = if rounded == 1.0 { "CPU" } else { "CPUs" };
    format!("{rounded} {unit}")
}

/// The quota that held up the generator for so long that it could not offer the load.
pub(super) fn of_generator(rounds: &[Round]) -> Option<Throttled> {
    Throttled::generator(rounds).filter(Throttled::is_long)
}

/// Whether the server used up its quota in most of its periods.
pub(super) fn is_server_stopped(rounds: &[Round]) -> bool {
    let throttled = Throttled::server(rounds);
    throttled.is_some_and(|found| found.quota.throttled > found.quota.periods / 2)
}

/// What gives the generator more CPU time.
pub(super) fn relief(throttled: &Throttled) -> String {
    format!(
        "Raise the quota of {}, or run weigh outside that group",
        throttled.quota.group
    )
}

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let rounds = evidence.rounds.unwrap_or_default();
    let (generator, server) = (Throttled::generator(rounds), Throttled::server(rounds));
    match (generator, server) {
        (Some(ours), Some(theirs)) if ours.quota.group == theirs.quota.group => {
            vec![of_weigh(&ours, true)]
        }
        (ours, theirs) => {
            let ours = ours.map(|ours| of_weigh(&ours, false));
            let theirs = theirs.map(|theirs| of_server(&theirs));
            ours.into_iter().chain(theirs).collect()
        }
    }
}

/// The generator was throttled; with `shared` the server as well, by the same quota.
fn of_weigh(found: &Throttled, shared: bool) -> Finding {
    let (subject, object) = match shared {
        true => ("the common", "weigh and the server"),
        false => ("weigh's", "it"),
    };
    let (touched, follows): (&[Figure], &str) = match (found.is_long(), shared) {
        (true, true) => (SPEED, "requests/s is what both can do within it"),
        (true, false) => (SPEED, "the quota limited the load, not the server"),
        (false, _) => (&[Figure::Latency], "latency includes these waits"),
    };
    let sentence = format!(
        "{subject} {} {}: {follows}",
        found.name(),
        found.extent(object)
    );
    let sides = if shared { object } else { "weigh" };
    let headline = format!(
        "a CPU quota throttled {sides} for {}",
        span(found.quota.time)
    );
    let finding = caveat(touched, headline, sentence).remedy(relief(found));
    evidence_of(finding, found)
}

fn of_server(found: &Throttled) -> Finding {
    let sentence = format!("the server's {} {}", found.name(), found.extent("it"));
    evidence_of(note(sentence).because(Cause::ServerQuota), found)
}

fn evidence_of(finding: Finding, found: &Throttled) -> Finding {
    finding.evidence([
        ("quota, CPUs", found.quota.cpus),
        ("periods", found.quota.periods as f64),
        ("throttled periods", found.quota.throttled as f64),
        ("throttled, s", found.quota.time.as_secs_f64()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{busy_server, busy_thread, healthy};
    use crate::judge_evidence;
    use record::{Grade, Run};

    fn quota(group: &str, throttled: u64, millis: u64) -> Quota {
        Quota {
            cpus: 0.2,
            group: group.into(),
            periods: 10,
            throttled,
            time: Nanos::from_millis(millis),
        }
    }

    /// The healthy run (five rounds of a second), each with these quotas of weigh and of the server, how busy weigh's
    /// thread was, and which share of 0.2 CPUs the server used.
    fn run(ours: &[Quota], theirs: &[Quota], generator: f64, server: f64) -> Run {
        let mut run = healthy();
        for round in &mut run.points[0].rounds {
            round.quotas = ours.to_vec();
            round.threads = vec![busy_thread(generator)];
            let mut print = busy_server(server * 0.2);
            (print.cpus_allowed, print.quotas) = (0.2, theirs.to_vec());
            round.footprint = Some(print);
        }
        run
    }

    /// What the checks `quota` and `limit` say.
    fn found(run: &Run) -> Vec<Finding> {
        let all = judge_evidence(&Evidence::of(run, &run.points[0]));
        let about = all
            .into_iter()
            .filter(|found| ["quota", "limit", "waiting"].contains(&found.check.as_str()));
        about.collect()
    }

    #[test]
    fn a_throttled_generator_accuses_its_quota_and_never_the_server() {
        // Its waits for the quota look like being busy, and the server is outside, with CPU left.
        let mut run = run(&[quota("/ours", 9, 700)], &[], 0.95, 0.5);
        for round in &mut run.points[0].rounds {
            round.threads[0].run_queue_wait = Some(Nanos::from_millis(600));
        }
        let found = found(&run);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].grade(), Grade::Caveat);
        assert_eq!(found[0].effects.figures(), [Figure::Rps, Figure::Latency]);
        assert_eq!(
            found[0].sentence,
            "weigh's CPU quota of 0.2 CPUs (/ours) throttled it in 45 of 50 periods, for 3.50 s: the quota limited \
             the load, not the server"
        );
        let remedy = found[0].remedy.as_deref();
        assert_eq!(
            remedy,
            Some("Raise the quota of /ours, or run weigh outside that group")
        );
    }

    #[test]
    fn a_server_that_uses_its_quota_up_is_the_limit_by_its_quota() {
        for (busy, throttled) in [(0.98, 9), (0.98, 1), (0.70, 6)] {
            let theirs = [quota("/web", throttled, 800), quota("/", 0, 0)];
            let found = found(&run(&[], &theirs, 0.2, busy));
            let [limit, note] = &found[..] else {
                panic!("{found:#?}")
            };
            let wanted = format!(
                "the server's CPU quota of 0.2 CPUs (/web) was the bottleneck: it used {} of its CPUs",
                percent(busy)
            );
            assert!(limit.sentence.starts_with(&wanted), "{}", limit.sentence);
            assert!(note.sentence.ends_with("of 50 periods, for 4.00 s"));
            assert_eq!((limit.grade(), note.grade()), (Grade::Note, Grade::Note));
        }
        let found = found(&run(&[], &[quota("/web", 5, 100)], 0.2, 0.7));
        assert!(found[0].sentence.starts_with("neither"), "{found:#?}");
    }

    #[test]
    fn up_to_one_per_cent_of_the_time_only_latency_is_touched() {
        for (millis, touched) in [
            (10, &[Figure::Latency][..]),
            (11, &[Figure::Rps, Figure::Latency]),
        ] {
            let run = run(&[quota("/ours", 1, millis)], &[], 0.2, 0.5);
            let found = judge(&Evidence::of(&run, &run.points[0]));
            assert_eq!((found.len(), &found[0].effects.figures()[..]), (1, touched));
        }
    }

    #[test]
    fn one_quota_for_both_is_told_once() {
        let both = [quota("/pod", 8, 500)];
        let found = found(&run(&both, &both, 0.2, 0.5));
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(
            found[0].sentence.starts_with(
                "the common CPU quota of 0.2 CPUs (/pod) throttled weigh and the server in 40"
            ),
            "{}",
            found[0].sentence
        );
    }

    #[test]
    fn a_quota_that_never_throttled_is_not_told() {
        let unused = [quota("/ours", 0, 0)];
        let run = run(&unused, &unused, 0.2, 0.5);
        assert_eq!(judge(&Evidence::of(&run, &run.points[0])), []);
    }
}
