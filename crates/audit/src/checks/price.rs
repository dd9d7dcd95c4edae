//! Is the server's CPU time that of the measured requests?

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    name: "price",
    question: "Is the server's CPU time that of the measured requests?",
    looks_at: "How far from the edges of the window the server's CPU clocks were read. CPU time per request divides \
               what they gained by the requests that ended in the window, so both must cover the same span; where \
               every CPU is busy, the thread that reads them may be late. A late last reading does no harm where no \
               request ended after the window.",
    thresholds: &[guess(
        "distance of a reading from the edge, of the window, over",
        || "10 %".to_owned(),
    )],
    false_alarms: "none by chance: it follows from the times of two readings",
    power: "every reading beyond the threshold",
    effect: "A note. The round is left out of CPU time per request and of the server's busy share, and its CPU time \
             is a lower bound. Where no round is left, both are withheld.",
    remedy: "Measure longer, with --duration or more --requests, or leave weigh a CPU of its own.",
    cause: Cause::ServerUnobserved,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let rounds = evidence.rounds?;
    let observed = rounds.iter().filter(|round| round.footprint.is_some());
    let is_missed = |round: &&Round| round.priced().is_none();
    let missed: Vec<&Round> = observed.clone().filter(is_missed).collect();
    let all = observed.count();
    let each = missed.iter().filter_map(|round| covered(round));
    let least = each.min_by(f64::total_cmp)?;
    let consequence = match missed.len() == all {
        true => "CPU time per request is not known",
        false => "CPU time per request omits them",
    };
    let sentence = format!(
        "in {} of {} the server's CPU time was not read at the edges of the window (the readings span {} of it or \
         more), so {consequence}",
        count(missed.len() as u64),
        number(all as u64, "round"),
        percent(least)
    );
    let finding = note(sentence).remedy(CHECK.remedy);
    Some(finding.evidence([
        ("rounds", all as f64),
        ("rounds left out", missed.len() as f64),
        ("smallest share read", least),
    ]))
}

/// The time between the readings as a share of the window.
fn covered(round: &Round) -> Option<f64> {
    let print = round.footprint.as_ref()?;
    Some(print.wall.as_secs_f64() / round.window.span().as_secs_f64().max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;
    use record::{Cost, Grade, PerRequest, Run, Window};
    use units::Nanos;

    /// The healthy run (rounds of a second), in the first `rounds` of which the first reading came when the window was all
    /// but over.
    fn late(rounds: usize) -> Run {
        let mut run = healthy();
        for round in &mut run.points[0].rounds[..rounds] {
            let print = round.footprint.as_mut().unwrap();
            print.read = Some(Window {
                start: round.window.start + Nanos::from_micros(998_600),
                end: round.window.end,
            });
            (print.wall, print.cpu) = (Nanos::from_micros(1_400), Nanos::ZERO);
        }
        run
    }

    fn found(run: &Run) -> Vec<Finding> {
        Vec::from_iter(judge(&Evidence::of(run, &run.points[0])))
    }

    #[test]
    fn a_round_that_was_not_read_in_time_is_left_out_and_that_is_said() {
        assert_eq!(found(&healthy()), []);
        let run = late(2);
        let rounds = &run.points[0].rounds;
        let mean = Cost::of(&rounds[2..]).unwrap().cpu_us_per_request;
        let cost = Cost::of(rounds).unwrap();
        assert_eq!((cost.cpu_us_per_request, cost.lower_bound), (mean, true));
        let per = PerRequest::of(rounds).unwrap();
        assert_eq!(
            (per.cpu_us.rounds, per.cpu_us.min),
            (3, PerRequest::of(&rounds[2..]).unwrap().cpu_us.min)
        );
        let found = found(&run);
        assert_eq!((found.len(), found[0].grade()), (1, Grade::Note));
        assert_eq!(
            found[0].sentence,
            "in 2 of 5 rounds the server's CPU time was not read at the edges of the window (the readings span 0.1 % \
             of it or more), so CPU time per request omits them"
        );
    }

    #[test]
    fn where_no_round_was_read_in_time_there_is_no_cost_of_a_request() {
        let run = late(5);
        let rounds = &run.points[0].rounds;
        let cost = Cost::of(rounds).unwrap();
        assert_eq!((cost.cpu_us_per_request, cost.lower_bound), (None, true));
        assert_eq!(PerRequest::of(rounds), None);
        assert_eq!(Round::typical(rounds, Round::server_busy), None);
        assert!(
            found(&run)[0]
                .sentence
                .ends_with("CPU time per request is not known")
        );
    }
}
