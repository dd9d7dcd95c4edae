//! What else went on while something was measured, so that a reader can tell a disturbed run; nothing is done about it.

use record::Budget;
use units::Nanos;

/// CPU time of the whole machine before a run.
#[derive(Debug)]
pub struct Before(Option<Budget>);

/// What the machine did during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Noise {
    /// The share of all CPUs' time in which they worked, for us or for others; none where Linux does not say.
    pub busy: Option<f64>,
    /// The share that the host took away.
    pub steal: Option<f64>,
}

/// Reads the machine's CPU time before a run.
pub fn before() -> Before {
    Before(host::cpu_time())
}

impl Before {
    /// What went on since.
    pub fn since(&self) -> Noise {
        let both = self.0.as_ref().zip(host::cpu_time());
        both.map_or(Noise::default(), |(first, last)| {
            Noise::of(&host::between(first, &last))
        })
    }
}

impl Noise {
    fn of(spent: &Budget) -> Noise {
        let busy = spent.user + spent.system + spent.softirq + spent.irq + spent.steal;
        let all = (busy + spent.idle).as_nanos();
        let share = |part: Nanos| (all > 0).then(|| part.as_nanos() as f64 / all as f64);
        Noise {
            busy: share(busy),
            steal: share(spent.steal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_passed_between_two_looks() {
        let budget = |[user, system, idle, softirq, steal]: [u64; 5]| Budget {
            user: Nanos::from_millis(user),
            system: Nanos::from_millis(system),
            idle: Nanos::from_millis(idle),
            softirq: Nanos::from_millis(softirq),
            steal: Nanos::from_millis(steal),
            ..Budget::default()
        };
        let before = budget([100, 50, 850, 0, 0]);
        let after = budget([130, 60, 890, 10, 10]);
        let noise = Noise::of(&host::between(&before, &after));
        assert_eq!((noise.busy, noise.steal), (Some(0.6), Some(0.1)));
        let nothing = Noise::of(&host::between(&before, &before));
        assert_eq!(nothing, Noise::default());
    }
}
