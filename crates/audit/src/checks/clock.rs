//! Was the clock cheap enough to be read twice an exchange?

use super::Check;
use crate::Evidence;
use crate::builders::{Substantiate, caveat};
use record::{Cause, Figure, Finding};
use units::Nanos;

pub(super) const CHECK: Check = Check {
    name: "clock",
    title: "Is reading the clock cheap on this machine?",
    doc: "An exchange is stamped with two readings of the clock. Through the vDSO one costs some twenty nanoseconds; \
          with a slow clock source (hpet, acpi_pm, some hypervisors' own) each is a system call. Above 200 ns a reading \
          requests/s and latency are qualified, because the generator then pays for its stamps what an exchange costs.",
    cause: Cause::Other,
    judge,
};

/// Above this a reading is a system call.
const MOST: Nanos = Nanos::from_nanos(200);

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some(machine) = evidence.machine else {
        return Vec::new();
    };
    let cost = Nanos::from_nanos(machine.clock_reading_ns);
    if cost <= MOST {
        return Vec::new();
    }
    let source = machine.clocksource.as_deref().unwrap_or("unknown");
    let sentence = format!(
        "a reading of the clock costs {} (clock source {source}), and an exchange takes two",
        units::span(cost)
    );
    let finding = caveat(&[Figure::Rps, Figure::Latency], sentence)
        .remedy("use the clock source tsc, if the machine's is stable, or another machine")
        .evidence([("clock reading, ns", cost.as_nanos() as f64)]);
    vec![finding]
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
            let found = judge(&Evidence::of(&run, &run.points[0]));
            assert_eq!(found.len(), wanted, "{cost}");
            assert!(found.iter().all(|each| each.grade() == Grade::Qualified
                && each.sentence.contains("(clock source hpet)")));
        }
    }
}
