//! Faults that requests ask for: each kind and rule has a count of its own, so that several can be asked side by side.

use super::query::{Query, QueryError, share};
use crate::misbehaviour::{Misbehaviour, Rule, Trigger, When};
use std::str::FromStr;

/// Rules that are counted apart. All rows of the table with four rules each, and some.
const ROWS_MAX: usize = 256;
/// How a rule says how often.
const OFTEN: &str = "say how often: every=10, share=0.01, first=5 or only=3";

/// The rules that were asked for, with how far each has counted.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<(Rule, u64)>);

impl Faults {
    /// The row of `rule`, in which its requests are counted.
    pub(super) fn row(&mut self, rule: Rule) -> Result<usize, QueryError> {
        if let Some(row) = self.0.iter().position(|row| row.0 == rule) {
            return Ok(row);
        }
        if self.0.len() == ROWS_MAX {
            return Err(QueryError::Faults(ROWS_MAX));
        }
        self.0.push((rule, 0));
        Ok(self.0.len() - 1)
    }

    /// Counts a request for `row` and says what it meets. One that the misbehaviour cannot meet is not counted.
    pub(super) fn count(&mut self, row: usize, sort: Trigger) -> Option<Misbehaviour> {
        let (rule, number) = self.0.get_mut(row)?;
        if rule.misbehaviour.trigger() != sort {
            return None;
        }
        *number += 1;
        rule.when.holds(*number).then_some(rule.misbehaviour)
    }
}

/// Reads a rule that requests can meet out of a query: `kind=bad-status&every=10`. Without saying how often: every one.
pub(super) fn take(query: &mut Query<'_>, seed: u64) -> Result<Rule, QueryError> {
    let name = query.need("kind", "name a misbehaviour such as kind=bad-status")?;
    let misbehaviour = named("kind", name)?;
    if misbehaviour.trigger() == Trigger::Connection {
        return Err(QueryError::Connections(misbehaviour.name()));
    }
    let when = when(query, seed)?.unwrap_or(When::Every(1));
    Ok(Rule { misbehaviour, when })
}

fn named(parameter: &'static str, name: &str) -> Result<Misbehaviour, QueryError> {
    let remedy = "one from the table in docs/truth.md, such as bad-status";
    Misbehaviour::named(name)
        .ok_or_else(|| QueryError::value(parameter, name, "a misbehaviour", remedy))
}

fn when(query: &mut Query<'_>, seed: u64) -> Result<Option<When>, QueryError> {
    let every = query.count("every")?;
    if every == Some(0) {
        return Err(QueryError::value(
            "every",
            "0",
            "a count from 1",
            "every=10 for one in ten",
        ));
    }
    let share = query
        .take("share")
        .map(|text| share("share", text))
        .transpose()?;
    let ways = [
        every.map(When::Every),
        share.map(|share| When::Share { share, seed }),
        query.count("first")?.map(When::First),
        query.count("only")?.map(When::Only),
    ];
    let mut given = ways.into_iter().flatten();
    let when = given.next();
    match given.next() {
        Some(_) => Err(QueryError::Pair(
            "a fault has one of `every=`, `share=`, `first=` and `only=`; leave the others out",
        )),
        None => Ok(when),
    }
}

/// A misbehaviour of the whole server, as a flag says it, before the seed is known.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultFlag {
    misbehaviour: Misbehaviour,
    when: When,
}

impl FaultFlag {
    /// The rule, its share drawn from `seed`.
    pub fn rule(&self, seed: u64) -> Rule {
        let when = match self.when {
            When::Share { share, .. } => When::Share { share, seed },
            when => when,
        };
        Rule {
            misbehaviour: self.misbehaviour,
            when,
        }
    }
}

impl FromStr for FaultFlag {
    type Err = QueryError;

    /// Reads `close-at-accept:every=10`, `die:only=1000`, `not-found:share=0.01` or `silence:first=3`.
    fn from_str(text: &str) -> Result<FaultFlag, QueryError> {
        let (name, often) = text.split_once(':').unwrap_or((text, ""));
        let misbehaviour = named("--fault", name)?;
        let mut query = Query::new(often)?;
        let when = when(&mut query, 0)?.ok_or(QueryError::Missing {
            name: "every",
            remedy: OFTEN,
        })?;
        query.end().map(|()| FaultFlag { misbehaviour, when })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Result<Rule, String> {
        let read = || {
            let mut query = Query::new(text)?;
            let rule = take(&mut query, 7)?;
            query.end().map(|()| rule)
        };
        read().map_err(|wrong: QueryError| wrong.to_string())
    }

    #[test]
    fn rules_are_read_from_queries_or_refused_in_a_sentence() {
        let fine = [
            ("kind=silence", Misbehaviour::Silence, When::Every(1)),
            (
                "every=10&kind=silence",
                Misbehaviour::Silence,
                When::Every(10),
            ),
            ("kind=die&only=1k", Misbehaviour::Die, When::Only(1000)),
            ("kind=drip&first=3", Misbehaviour::Drip, When::First(3)),
            (
                "kind=bad-status&share=0.01",
                Misbehaviour::BadStatus,
                When::Share {
                    share: 0.01,
                    seed: 7,
                },
            ),
        ];
        for (text, misbehaviour, when) in fine {
            assert_eq!(rule(text), Ok(Rule { misbehaviour, when }), "{text}");
        }
        let wrong = [
            (
                "",
                "`kind=` is missing; name a misbehaviour such as kind=bad-status",
            ),
            (
                "kind=nonesuch",
                "kind: `nonesuch` is not a misbehaviour; write one from the table in docs/truth.md, such as bad-status",
            ),
            (
                "kind=close-at-accept",
                "`close-at-accept` meets connections when they are accepted, not requests; start the server with \
                 --fault close-at-accept:every=1",
            ),
            (
                "kind=silence&every=0",
                "every: `0` is not a count from 1; write every=10 for one in ten",
            ),
            (
                "kind=silence&every=1&only=2",
                "a fault has one of `every=`, `share=`, `first=` and `only=`; leave the others out",
            ),
            (
                "kind=silence&evry=1",
                "`evry` is not a parameter here; remove it",
            ),
        ];
        for (text, sentence) in wrong {
            assert_eq!(rule(text), Err(sentence.to_owned()), "{text}");
        }
    }

    #[test]
    fn flags_are_read_or_refused_in_a_sentence() {
        let flag = |text: &str| text.parse::<FaultFlag>();
        let accept = flag("close-at-accept:every=3").unwrap().rule(7);
        assert_eq!(accept.when, When::Every(3));
        let share = flag("not-found:share=0.5").unwrap().rule(7);
        assert_eq!(
            share.when,
            When::Share {
                share: 0.5,
                seed: 7
            }
        );
        for text in [
            "",
            "nonesuch:every=1",
            "silence",
            "silence:",
            "silence:every=x",
            "silence:1",
        ] {
            assert!(flag(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_rule_counts_its_own_requests_and_only_those_it_can_meet() {
        let mut faults = Faults::default();
        let every = |misbehaviour, step| Rule {
            misbehaviour,
            when: When::Every(step),
        };
        let silence = faults.row(every(Misbehaviour::Silence, 2)).unwrap();
        let rarer = faults.row(every(Misbehaviour::Silence, 3)).unwrap();
        assert_eq!(faults.row(every(Misbehaviour::Silence, 2)), Ok(silence));
        assert_eq!(faults.count(silence, Trigger::Exchange), None);
        assert_eq!(faults.count(silence, Trigger::Head), None);
        assert_eq!(faults.count(rarer, Trigger::Exchange), None);
        assert_eq!(
            faults.count(silence, Trigger::Exchange),
            Some(Misbehaviour::Silence)
        );
    }

    #[test]
    fn the_table_has_an_end() {
        let mut faults = Faults::default();
        let every = |step| Rule {
            misbehaviour: Misbehaviour::Silence,
            when: When::Every(step),
        };
        for step in 1..=ROWS_MAX as u64 {
            assert!(faults.row(every(step)).is_ok());
        }
        assert_eq!(faults.row(every(1000)), Err(QueryError::Faults(ROWS_MAX)));
        assert!(faults.row(every(1)).is_ok());
    }

    #[test]
    fn the_manual_has_the_table_row_by_row() {
        let manual = include_str!("../../../../docs/truth.md");
        let mut rows = manual
            .lines()
            .skip_while(|line| *line != "## The misbehaviours")
            .skip(4);
        for each in Misbehaviour::ALL {
            let meets = match each.trigger() {
                Trigger::Connection => "connections",
                Trigger::Exchange => "requests",
                Trigger::Head => "HEAD",
            };
            let row = format!("| `{}` | {} | {meets} |", each.name(), each.sentence());
            assert_eq!(rows.next(), Some(row.as_str()));
        }
        assert_eq!(rows.next(), None);
    }
}
