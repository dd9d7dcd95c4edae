//! Did the server run as long as its load?

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    name: "server",
    question: "Did the server that weigh started run until the end?",
    looks_at: "Whether the process that weigh started as the server ended before the last round; how, in which \
               round, and what it printed last.",
    thresholds: &[],
    false_alarms: "none: the process's own end",
    power: "every end of a server that weigh started",
    effect: "The campaign stops, and the exit status is 1. What was measured before stands, but the round in which \
             the server ended is cut short, up to 0.1 s later: every figure gets a caveat.",
    remedy: "Find the reason in what the server printed and in its log. Start it in the foreground.",
    cause: Cause::ServerEnded,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// How common servers are kept in the foreground.
const FOREGROUND: &str =
    "Start it in the foreground: nginx -g 'daemon off;', lighttpd -D, apache2 -X or -DFOREGROUND";

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let end = evidence.server_end?;
    let remedy = match end.is_daemon() {
        true => FOREGROUND,
        false => "Find the reason in its output and its log",
    };
    let headline = format!("the server {}", end.how());
    Some(caveat(ALL, headline, end.sentence()).remedy(remedy))
}

#[cfg(test)]
mod tests {
    use crate::fixture::healthy;
    use crate::judge;
    use plan::Level;
    use record::{During, Grade, Run, ServerEnd};

    fn found(run: &Run) -> Vec<record::Finding> {
        let mut findings = Vec::from_iter(judge(run));
        findings.retain(|finding| finding.check == "server");
        findings
    }

    fn end(level: Level) -> ServerEnd {
        ServerEnd {
            status: Some(7),
            signal: None,
            level,
            round: 2,
            during: During::Window,
            left: 0,
            printed: "out of luck\n".into(),
        }
    }

    #[test]
    fn a_server_that_ended_is_told_whether_or_not_its_level_was_measured() {
        let mut run = healthy();
        assert_eq!(found(&run), []);
        run.server_end = Some(end(run.points[0].level));
        let once = found(&run);
        assert_eq!((once.len(), once[0].grade()), (1, Grade::Caveat));
        assert_eq!(
            once[0].sentence,
            "the server that weigh started exited with status 7 in the window of round 3; it printed last: out of luck"
        );
        run.points.clear();
        assert_eq!(found(&run), once, "nothing was measured");
    }

    #[test]
    fn of_a_sweep_the_level_is_named() {
        let mut run = healthy();
        run.plan.sweep = Some(plan::Sweep {
            axes: vec![plan::Axis::Connections(vec![10, 7])],
            ..plan::Sweep::default()
        });
        let level = Level::of(plan::Load::Closed { connections: 7 });
        run.server_end = Some(end(level));
        let found = |run: &Run| {
            let found = found(run);
            assert_eq!(found.len(), 1, "{found:?}");
            let sentence = found[0].located(&run.plan);
            assert!(sentence.starts_with("at 7 connections: the server"));
            found[0].point
        };
        assert_eq!(
            found(&run),
            None,
            "the level was dropped, as nothing was measured"
        );
        let mut other = run.points[0].clone();
        other.level = level;
        run.points.push(other);
        assert_eq!(found(&run), Some(1));
    }

    #[test]
    fn one_that_went_into_the_background_is_told_how_to_stay() {
        let mut run = healthy();
        let level = run.points[0].level;
        run.server_end = Some(ServerEnd {
            status: Some(0),
            left: 2,
            ..end(level)
        });
        let remedy = found(&run).remove(0).remedy.unwrap();
        assert!(remedy.contains("daemon off"), "{remedy}");
    }

    #[test]
    fn a_server_that_ended_is_no_reason_for_more_connections() {
        let mut run = healthy();
        for round in &mut run.points[0].rounds {
            round.footprint = Some(crate::fixture::busy_server(0.1));
        }
        let advises = |run: &Run| {
            let findings = Vec::from_iter(judge(run));
            let mut remedies = findings.iter().filter_map(|found| found.remedy.as_ref());
            remedies.any(|remedy| remedy.contains("--connections"))
        };
        assert!(advises(&run));
        run.server_end = Some(end(run.points[0].level));
        assert!(!advises(&run), "{:#?}", Vec::from_iter(judge(&run)));
    }
}
