//! The timer wheel: when each connection is to be looked at next.
//!
//! It knows rows and instants, and neither connections nor why they are watched. Spokes stand for the ticks to come,
//! each with a list of rows threaded through one table, so that arming and disarming cost a few stores whatever the
//! number of connections. (A heap would give the exact order, which is not needed, for a logarithm of work each time.)
//!
//! It is meant to be used lazily: a deadline that moves *later*, as nearly all do, needs no call; the row comes due,
//! its owner sees that there is time left, and arms it again. So a request costs the wheel nothing at all. A deadline
//! beyond the last spoke comes due at that spoke, and is armed again in the same way.
//!
//! Laws: a row is armed at most once; it comes due exactly once for each arming that nothing replaced; never before
//! its instant, but for those beyond [`HORIZON`]; and with the first call of [`Wheel::due`] a [`TICK`] after it.

use units::{Instant, Nanos};

/// How late a row may come due: it is what a timeout is off by, and those are seconds.
pub(crate) const TICK: Nanos = Nanos::from_millis(50);
/// Ticks that the wheel looks ahead; 4 KiB of list heads.
const SPOKES: u64 = 1024;
/// The farthest moment, from the tick that is looked at, for which a row can be armed exactly.
#[cfg(test)]
const HORIZON: Nanos = Nanos::from_nanos(TICK.as_nanos() * (SPOKES - 1));
/// No row.
const NONE: u32 = u32::MAX;

/// One row's place in the list of its spoke.
#[derive(Clone, Copy)]
struct Entry {
    next: u32,
    /// The row before it; none for the first.
    before: u32,
    /// Its spoke; none when it is not armed.
    spoke: u32,
}

impl Entry {
    const IDLE: Entry = Entry {
        next: NONE,
        before: NONE,
        spoke: NONE,
    };
}

/// The wheel.
pub(crate) struct Wheel {
    /// The first row of each spoke's list.
    spokes: Box<[u32]>,
    /// By row.
    entries: Vec<Entry>,
    /// The tick whose spoke is emptied next; those before it are empty.
    tick: u64,
}

impl Wheel {
    /// A wheel with nothing armed.
    pub(crate) fn new(now: Instant) -> Wheel {
        Wheel {
            spokes: vec![NONE; SPOKES as usize].into_boxed_slice(),
            entries: Vec::new(),
            tick: tick_of(now),
        }
    }

    /// Has `row` come due at `at`, and no more when it was armed for before. A moment that is past comes due with the
    /// next call of [`Wheel::due`].
    pub(crate) fn arm(&mut self, row: u32, at: Instant) {
        self.disarm(row);
        if row as usize >= self.entries.len() {
            self.entries.resize(row as usize + 1, Entry::IDLE);
        }
        let last = self.tick + SPOKES - 1;
        let tick = at.as_nanos().div_ceil(TICK.as_nanos());
        let spoke = (tick.clamp(self.tick, last) % SPOKES) as u32;
        let next = std::mem::replace(&mut self.spokes[spoke as usize], row);
        if let Some(entry) = self.entries.get_mut(next as usize) {
            entry.before = row;
        }
        self.entries[row as usize] = Entry {
            next,
            before: NONE,
            spoke,
        };
    }

    /// Forgets `row`.
    pub(crate) fn disarm(&mut self, row: u32) {
        let Some(entry) = self.entries.get_mut(row as usize) else {
            return;
        };
        let Entry {
            next,
            before,
            spoke,
        } = std::mem::replace(entry, Entry::IDLE);
        if spoke == NONE {
            return;
        }
        match self.entries.get_mut(before as usize) {
            Some(entry) => entry.next = next,
            None => self.spokes[spoke as usize] = next,
        }
        if let Some(entry) = self.entries.get_mut(next as usize) {
            entry.before = before;
        }
    }

    /// A row that has come due by `now`; it is no longer armed.
    #[inline]
    pub(crate) fn due(&mut self, now: Instant) -> Option<u32> {
        if now.as_nanos() < self.tick * TICK.as_nanos() {
            return None;
        }
        self.turn(tick_of(now))
    }

    fn turn(&mut self, now: u64) -> Option<u32> {
        // After a pause of more than one revolution each spoke is looked at once.
        self.tick = self.tick.max((now + 1).saturating_sub(SPOKES));
        while self.tick <= now {
            let row = self.spokes[(self.tick % SPOKES) as usize];
            if row != NONE {
                self.disarm(row);
                return Some(row);
            }
            self.tick += 1;
        }
        None
    }
}

fn tick_of(at: Instant) -> u64 {
    at.as_nanos() / TICK.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Debug, Clone)]
    enum Step {
        Arm(u32, u64),
        Disarm(u32),
        Pass(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let millis = prop_oneof![
            0..300u64,
            0..40_000u64,
            Just(0),
            Just(50),
            40_000..400_000u64
        ];
        let step = prop_oneof![
            (0..20u32, millis.clone()).prop_map(|(row, ahead)| Step::Arm(row, ahead)),
            (0..20u32).prop_map(Step::Disarm),
            millis.prop_map(Step::Pass),
        ];
        prop::collection::vec(step, 1..80)
    }

    fn all_due(wheel: &mut Wheel, now: Instant) -> Vec<u32> {
        let mut rows: Vec<u32> = std::iter::from_fn(|| wheel.due(now)).collect();
        rows.sort_unstable();
        rows
    }

    proptest! {
        /// The model is a map from rows to deadlines. What lies beyond the horizon may come early, and then is armed
        /// again as its owner would.
        #[test]
        fn rows_come_due_as_a_plain_list_of_deadlines_would_have_it(steps in steps(), start in 0..1_000_000u64) {
            let mut now = Instant::from_nanos(start * 1_000_000);
            let mut wheel = Wheel::new(now);
            // By row: the deadline, and when it was armed.
            let mut model: BTreeMap<u32, (Instant, Instant)> = BTreeMap::new();
            for step in steps {
                match step {
                    Step::Arm(row, ahead) => {
                        let at = now + Nanos::from_millis(ahead);
                        wheel.arm(row, at);
                        model.insert(row, (at, now));
                    }
                    Step::Disarm(row) => {
                        wheel.disarm(row);
                        model.remove(&row);
                    }
                    Step::Pass(millis) => now += Nanos::from_millis(millis),
                }
                let rows = all_due(&mut wheel, now);
                for row in &rows {
                    let known = model.remove(row);
                    prop_assert!(known.is_some(), "{row} was not armed, or came twice");
                    let (at, armed) = known.unwrap();
                    if at > now {
                        prop_assert!(at + TICK > armed + HORIZON, "{row} is early");
                        wheel.arm(*row, at);
                        model.insert(*row, (at, now));
                    }
                }
                for (row, (at, _)) in &model {
                    prop_assert!(*at + TICK > now, "{row} is overdue");
                }
            }
        }
    }

    #[test]
    fn a_row_is_due_at_the_first_tick_that_is_not_before_its_instant() {
        let millis = |millis| Instant::ZERO + Nanos::from_millis(millis);
        let mut wheel = Wheel::new(millis(1000));
        wheel.arm(3, millis(1101));
        wheel.arm(1, millis(1100));
        wheel.arm(2, millis(1100));
        wheel.disarm(2);
        let due = [1099, 1100, 1149, 1150].map(|at| all_due(&mut wheel, millis(at)));
        assert_eq!(due, [vec![], vec![1], vec![], vec![3]]);
        wheel.arm(1, millis(5));
        assert_eq!(all_due(&mut wheel, millis(1200)), [1]);
    }

    #[test]
    fn nothing_is_early_within_the_horizon_and_what_is_beyond_comes_at_its_end() {
        let start = Instant::ZERO + TICK * 7;
        let mut wheel = Wheel::new(start);
        wheel.arm(0, start + HORIZON);
        wheel.arm(1, start + HORIZON * 3);
        let before = Instant::from_nanos((start + HORIZON).as_nanos() - 1);
        assert!(all_due(&mut wheel, before).is_empty());
        assert_eq!(all_due(&mut wheel, start + HORIZON), [0, 1]);
    }
}
