//! What else went on while something was measured, so that a reader can tell a disturbed run; nothing is done about it.

use std::fs;

/// CPU time of the whole machine so far, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    all: u64,
    idle: u64,
    steal: u64,
}

/// A look at the machine before a run.
#[derive(Debug)]
pub struct Before(Option<Ticks>);

/// What the machine did during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Noise {
    /// The share of all CPUs' time in which they worked, for us or for others; none where Linux does not say.
    pub busy: Option<f64>,
    /// The share that the host took away.
    pub steal: Option<f64>,
}

/// Looks before a run.
pub fn before() -> Before {
    Before(now())
}

impl Before {
    /// What went on since.
    pub fn since(&self) -> Noise {
        match (self.0, now()) {
            (Some(before), Some(after)) => between(before, after),
            _ => Noise::default(),
        }
    }
}

fn between(before: Ticks, after: Ticks) -> Noise {
    let all = after.all.saturating_sub(before.all);
    let share = |part: u64| (all > 0).then(|| part as f64 / all as f64);
    Noise {
        busy: share(all.saturating_sub(after.idle.saturating_sub(before.idle))),
        steal: share(after.steal.saturating_sub(before.steal)),
    }
}

fn now() -> Option<Ticks> {
    ticks(&fs::read_to_string("/proc/stat").ok()?)
}

/// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)).
fn ticks(text: &str) -> Option<Ticks> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let all: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .filter_map(|word| word.parse().ok())
        .collect();
    let [_, _, _, idle, iowait, _, _, steal] = all[..] else {
        return None;
    };
    Some(Ticks {
        all: all.iter().sum(),
        idle: idle + iowait,
        steal,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_passed_between_two_looks() {
        let before = ticks("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3\n").unwrap();
        let after = ticks("cpu  130 0 60 830 60 0 10 10 5 0\n").unwrap();
        let noise = between(before, after);
        assert_eq!((noise.busy, noise.steal), (Some(0.6), Some(0.1)));
        assert_eq!(between(before, before), Noise::default());
        assert_eq!(ticks("cpu0 1 2 3\n"), None);
        assert_eq!(ticks("cpu  1 2 3\n"), None);
    }
}
