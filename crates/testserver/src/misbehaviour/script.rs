//! Which connection or exchange meets which misbehaviour: rules that depend on nothing but a number, so that what
//! happens is known beforehand.

use super::table::Misbehaviour;
use units::Nanos;

/// What triggers a misbehaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// A connection that has just been accepted.
    Connection,
    /// An exchange whose request is read, unless it asks with HEAD.
    Exchange,
    /// An exchange that asks with HEAD.
    Head,
}

/// Which of those that a misbehaviour can meet do meet it. They are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// Those whose number is a multiple of this; 0 for none.
    Every(u64),
    /// As many as this, then no more.
    First(u64),
    /// This one alone.
    Only(u64),
    /// About this share of them, from 0 to 1; always the same ones for the same seed.
    Share(f64),
}

impl When {
    /// Whether the one with this number, from 1, meets it; shares are drawn from `seed`.
    pub(crate) fn holds(self, number: u64, seed: u64) -> bool {
        match self {
            When::Every(step) => step > 0 && number.is_multiple_of(step),
            When::First(most) => number <= most,
            When::Only(one) => number == one,
            // 53 bits are what a float of this size tells apart.
            When::Share(share) => {
                let drawn = (mixed(seed ^ mixed(number)) >> 11) as f64;
                drawn < share * (1u64 << 53) as f64
            }
        }
    }
}

/// A number without resemblance to `number`: the finaliser of SplitMix64 (Steele, Lea and Flood 2014, figure 16).
pub(crate) fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// One misbehaviour, and which connections or exchanges meet it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// What is done.
    pub misbehaviour: Misbehaviour,
    /// To which of those that can meet it.
    pub when: When,
}

/// All that a server does wrong, and how slowly.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The first rule that applies is the one that is carried out. Each numbers, from 1, all that its misbehaviour can
    /// meet, also those that another rule takes.
    pub rules: Vec<Rule>,
    /// Between the bytes of [`Misbehaviour::Drip`].
    pub interval: Nanos,
    /// Before [`Misbehaviour::Late`] responds.
    pub delay: Nanos,
    /// How long misbehaviours of the whole server last. Those that concern the listening socket can also be ended by
    /// [`MisbehavingServer::resume`](crate::MisbehavingServer::resume).
    pub outage: Nanos,
}

impl Default for Script {
    /// No rule: a server that does everything right. A byte a second, a delay of 100 ms, an outage of a second.
    fn default() -> Script {
        Script {
            rules: Vec::new(),
            interval: Nanos::from_secs(1),
            delay: Nanos::from_millis(100),
            outage: Nanos::from_secs(1),
        }
    }
}

impl Script {
    /// A single misbehaviour.
    pub fn of(misbehaviour: Misbehaviour, when: When) -> Script {
        Script {
            rules: vec![Rule { misbehaviour, when }],
            ..Script::default()
        }
    }
}

/// Rules that are counted apart. All rows of the table with four rules each, and some.
pub(crate) const RULES_MAX: usize = 256;

/// Rules, with how far each has counted.
#[derive(Debug)]
pub(crate) struct Chooser {
    rows: Vec<(Rule, u64)>,
    /// That of shares.
    seed: u64,
}

impl Chooser {
    pub(crate) fn new(rules: &[Rule], seed: u64) -> Chooser {
        let rows = rules.iter().map(|rule| (*rule, 0)).collect();
        Chooser { rows, seed }
    }

    /// What the next one with this trigger meets; none: the expected response alone.
    pub(crate) fn choose(&mut self, trigger: Trigger) -> Option<Misbehaviour> {
        let seed = self.seed;
        let rows = self.rows.iter_mut();
        rows.fold(None, |chosen, row| {
            let met = count(row, trigger, seed);
            chosen.or(met)
        })
    }

    /// As [`Chooser::choose`], of `rule` alone, which has its own count; nothing beyond [`RULES_MAX`] rules.
    pub(crate) fn choose_by(&mut self, rule: Rule, trigger: Trigger) -> Option<Misbehaviour> {
        let row = self.rows.iter_mut().find(|row| row.0 == rule)?;
        count(row, trigger, self.seed)
    }

    /// Adds `rule` if it is new, and says whether there was room for it.
    pub(crate) fn add(&mut self, rule: Rule) -> bool {
        let is_new = self.rows.iter().all(|row| row.0 != rule);
        let has_room = self.rows.len() < RULES_MAX;
        if is_new && has_room {
            self.rows.push((rule, 0));
        }
        !is_new || has_room
    }
}

/// Counts one more for a rule that this triggers, and says what it meets.
fn count((rule, number): &mut (Rule, u64), trigger: Trigger, seed: u64) -> Option<Misbehaviour> {
    if rule.misbehaviour.trigger() != trigger {
        return None;
    }
    *number += 1;
    rule.when.holds(*number, seed).then_some(rule.misbehaviour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_law_holds_for_the_numbers_it_says() {
        let cases: &[(When, &[u64])] = &[
            (When::Every(0), &[]),
            (When::Every(1), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
            (When::Every(4), &[4, 8]),
            (When::First(0), &[]),
            (When::First(2), &[1, 2]),
            (When::Only(3), &[3]),
            (When::Share(0.0), &[]),
            (When::Share(1.0), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ];
        for (when, wanted) in cases {
            let misbehaviour: Vec<u64> = (1..=10).filter(|number| when.holds(*number, 7)).collect();
            assert_eq!(misbehaviour, *wanted, "{when:?}");
        }
    }

    #[test]
    fn a_share_is_about_that_share_and_depends_on_the_seed() {
        let misbehaviour = |seed| -> Vec<u64> {
            let when = When::Share(0.1);
            (1..=10_000)
                .filter(|number| when.holds(*number, seed))
                .collect()
        };
        // 1000 are expected, with a standard deviation of 30.
        assert!(
            (850..1150).contains(&misbehaviour(1).len()),
            "{}",
            misbehaviour(1).len()
        );
        assert_eq!(misbehaviour(1), misbehaviour(1));
        assert_ne!(misbehaviour(1), misbehaviour(2));
    }

    #[test]
    fn the_first_rule_wins_and_each_counts_what_it_can_meet() {
        let rule = |misbehaviour, when| Rule { misbehaviour, when };
        let rules = [
            rule(Misbehaviour::Silence, When::Every(2)),
            rule(Misbehaviour::NotFound, When::Every(3)),
            rule(Misbehaviour::BodyAfterHead, When::Only(1)),
            rule(Misbehaviour::CloseAtAccept, When::Only(2)),
        ];
        let mut chooser = Chooser::new(&rules, 0);
        let exchanges = [(); 6].map(|()| chooser.choose(Trigger::Exchange));
        let (silent, missing) = (Some(Misbehaviour::Silence), Some(Misbehaviour::NotFound));
        assert_eq!(exchanges, [None, silent, missing, silent, None, silent]);
        assert_eq!(
            chooser.choose(Trigger::Head),
            Some(Misbehaviour::BodyAfterHead)
        );
        assert_eq!(chooser.choose(Trigger::Connection), None);
        assert_eq!(
            chooser.choose(Trigger::Connection),
            Some(Misbehaviour::CloseAtAccept)
        );
    }

    #[test]
    fn each_rule_counts_its_own_requests_and_only_those_it_can_meet() {
        let mut faults = Chooser::new(&[], 0);
        let every = |misbehaviour, step| Rule {
            misbehaviour,
            when: When::Every(step),
        };
        let silence = every(Misbehaviour::Silence, 2);
        let rarer = every(Misbehaviour::Silence, 3);
        for rule in [silence, rarer, silence] {
            assert!(faults.add(rule));
        }
        assert_eq!(faults.choose_by(silence, Trigger::Exchange), None);
        assert_eq!(faults.choose_by(silence, Trigger::Head), None);
        assert_eq!(faults.choose_by(rarer, Trigger::Exchange), None);
        assert_eq!(
            faults.choose_by(silence, Trigger::Exchange),
            Some(Misbehaviour::Silence)
        );
    }

    #[test]
    fn the_table_has_an_end() {
        let mut faults = Chooser::new(&[], 0);
        let every = |step| Rule {
            misbehaviour: Misbehaviour::Silence,
            when: When::Every(step),
        };
        for step in 1..=RULES_MAX as u64 {
            assert!(faults.add(every(step)));
        }
        assert!(!faults.add(every(1000)));
        assert!(faults.add(every(1)));
    }
}
