//! The results of the attacks, for people.

use super::Outcome;
use crate::columns::aligned;
use units::Nanos;

/// Returns a row for each attack.
pub fn rows(outcomes: &[Outcome]) -> String {
    let head = "|answers|failed|median ms|slowest ms|attackers|closed|left|PSS MB".split('|');
    let head = head.map(str::to_owned).collect();
    aligned(&[vec![head], outcomes.iter().map(row).collect()].concat())
}

fn row(outcome: &Outcome) -> Vec<String> {
    let (seen, report) = (&outcome.seen, &outcome.report);
    let count = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
    let time = |time: Option<f64>| time.map_or("-".to_owned(), |time| format!("{time:.2}"));
    let pss = |kb: u64| format!("{:.1}", kb as f64 * 1.024e-3);
    vec![
        outcome.name.to_owned(),
        seen.times.len().to_string(),
        seen.failures.len().to_string(),
        time(stats::median(&seen.times)),
        time(seen.slowest.map(|(slowest, _)| slowest)),
        report.attackers.to_string(),
        count(report.closed),
        count(report.left),
        outcome.pss_kb.map_or("-".to_owned(), pss),
    ]
}

/// Returns what does not go into columns: how attacks ended, the server's counts, what is wrong, and the goal.
pub fn rest(outcomes: &[Outcome], goal: Nanos) -> String {
    let mut lines = Vec::new();
    for outcome in outcomes {
        let (name, report) = (outcome.name, &outcome.report);
        let counts = outcome.counts.iter();
        let counts: Vec<String> = counts
            .map(|(name, more)| format!("{name} {more}"))
            .collect();
        lines.push(format!("counts   {name}: {}", counts.join(", ")));
        lines.push(format!(
            "end      {name}: {}, {} s without a response to their own probe",
            report.ending, report.unavailable
        ));
        let wrongs = outcome.seen.failures.iter().chain(&outcome.wrong);
        lines.extend(wrongs.map(|wrong| format!("WRONG    {name}: {wrong}")));
    }
    lines.push(goal_line(outcomes, goal));
    lines.join("\n") + "\n"
}

fn goal_line(outcomes: &[Outcome], goal: Nanos) -> String {
    let most = goal.as_secs_f64() * 1e3;
    let attacked = outcomes.iter().skip(1);
    let times = attacked.filter_map(|outcome| Some((outcome.seen.slowest?, outcome.name)));
    match times.max_by(|a, b| a.0.0.total_cmp(&b.0.0)) {
        None => "goal     there was no attack, or no response".to_owned(),
        Some(((slowest, whose), name)) => {
            let verdict = if slowest <= most { "reached" } else { "MISSED" };
            format!(
                "goal     slowest response at most {most} ms: {slowest:.2} ({name}: {whose}), {verdict}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::honest::Seen;
    use super::super::slowhttptest::Report;
    use super::*;

    fn outcome(name: &'static str, times: &[f64], failure: Option<&str>) -> Outcome {
        Outcome {
            name,
            seen: Seen {
                times: times.to_vec(),
                slowest: times.last().map(|time| (*time, "1 MB")),
                failures: failure.map(str::to_owned).into_iter().collect(),
            },
            report: Report {
                attackers: 1000,
                closed: Some(990),
                left: Some(10),
                unavailable: 0,
                ending: "Hit test time limit".to_owned(),
            },
            counts: [("cut".to_owned(), 990)].into(),
            pss_kb: Some(2000),
            wrong: None,
        }
    }

    #[test]
    fn a_row_has_the_honest_clients_times_and_the_attackers_fate() {
        let shown = row(&outcome("headers", &[1.0, 3.0, 40.0], None));
        let wanted = [
            "headers", "3", "0", "3.00", "40.00", "1000", "990", "10", "2.0",
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn a_failed_answer_is_named_and_makes_it_unwell() {
        let well = outcome("calm", &[1.0], None);
        let bad = outcome("reads", &[1.0], Some("/file.html: no answer came"));
        assert!(well.is_well() && !bad.is_well());
        assert!(
            !outcome("idle", &[], None).is_well(),
            "no answer is none that is complete"
        );
        let text = rest(&[well, bad], Nanos::from_millis(100));
        assert!(
            text.contains("WRONG    reads: /file.html: no answer came\n"),
            "{text}"
        );
        assert!(text.contains("counts   reads: cut 990\n"), "{text}");
    }

    #[test]
    fn the_goal_is_held_against_the_slowest_of_all_attacks() {
        let outcomes = [
            outcome("calm", &[500.0], None),
            outcome("headers", &[90.0], None),
            outcome("reads", &[100.5], None),
        ];
        let goal = Nanos::from_millis(100);
        assert_eq!(
            goal_line(&outcomes, goal),
            "goal     slowest response at most 100 ms: 100.50 (reads: 1 MB), MISSED"
        );
        assert!(goal_line(&outcomes[..2], goal).ends_with("90.00 (headers: 1 MB), reached"));
    }
}
