//! Is the clock cheap enough to be read twice a request?

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    name: "clock",
    question: "Is reading the clock cheap on this machine?",
    looks_at: "The time that one reading of the clock takes; each request needs two. Through the vDSO a reading \
               takes some 20 ns. With a slow clock source (hpet, acpi_pm, that of some hypervisors) each reading is \
               a system call.",
    thresholds: &[threshold(
        "time of one reading, more than",
        || span(MOST),
        "ten times a reading through the vDSO; what takes longer is a system call",
    )],
    false_alarms: "none: one value of the machine",
    power: "every clock above the threshold",
    effect: "Requests/s and latency get a caveat: the generator spends on its time stamps what a request costs.",
    remedy: "Use the clock source tsc if it is stable on this machine, or another machine.",
    cause: Cause::Other,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// Above this a reading is a system call.
const MOST: Nanos = Nanos::from_nanos(200);

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let machine = evidence.machine?;
    let cost = Nanos::from_nanos(machine.clock_reading_ns);
    let source = machine.clocksource.as_deref().unwrap_or("unknown");
    let headline = format!("reading the clock takes {}", span(cost));
    let sentence = format!("{headline} (clock source {source}), twice for each request");
    let finding = caveat(SPEED, headline, sentence);
    (cost > MOST).then(|| finding.evidence([("clock reading, ns", cost.as_nanos() as f64)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;
    use record::Grade;

    #[test]
    fn a_reading_of_more_than_200_ns_qualifies() {
        for (cost, wanted) in [(0, 0), (22, 0), (200, 0), (201, 1), (1500, 1)] {
            let mut run = healthy();
            run.machine.clock_reading_ns = cost;
            run.machine.clocksource = Some("hpet".into());
            let found = Vec::from_iter(judge(&Evidence::of(&run, &run.points[0])));
            assert_eq!(found.len(), wanted, "{cost}");
            assert!(found.iter().all(|each| each.grade() == Grade::Caveat
                && each.sentence.contains("(clock source hpet)")));
        }
    }
}
