//! Faults that requests ask for: each kind and rule has a count of its own, so that several can be asked side by side.

use super::query::{Query, QueryError, share};
use crate::misbehaviour::{Misbehaviour, Rule, Trigger, When};
use std::str::FromStr;

/// How a rule says how often.
const OFTEN: &str = "say how often: every=10, share=0.01, first=5 or only=3";

/// Reads a rule that requests can meet out of a query: `kind=bad-status&every=10`. Without saying how often: every one.
pub(super) fn take(query: &mut Query<'_>) -> Result<Rule, QueryError> {
    let name = query.need("kind", "name a misbehaviour such as kind=bad-status")?;
    let misbehaviour = named("kind", name)?;
    if misbehaviour.trigger() == Trigger::Connection {
        let name = misbehaviour.name();
        return Err(QueryError::new(format!(
            "`{name}` meets connections when they are accepted, not requests; start the server with --fault {name}:every=1"
        )));
    }
    let when = when(query)?.unwrap_or(When::Every(1));
    Ok(Rule { misbehaviour, when })
}

fn named(parameter: &str, name: &str) -> Result<Misbehaviour, QueryError> {
    let remedy = "one from the table in docs/truth.md, such as bad-status";
    Misbehaviour::named(name)
        .ok_or_else(|| QueryError::value(parameter, name, "a misbehaviour", remedy))
}

fn when(query: &mut Query<'_>) -> Result<Option<When>, QueryError> {
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
        share.map(When::Share),
        query.count("first")?.map(When::First),
        query.count("only")?.map(When::Only),
    ];
    let mut given = ways.into_iter().flatten();
    let when = given.next();
    match given.next() {
        Some(_) => Err(QueryError::new(
            "a fault has one of `every=`, `share=`, `first=` and `only=`; leave the others out",
        )),
        None => Ok(when),
    }
}

impl FromStr for Rule {
    type Err = QueryError;

    /// Reads `close-at-accept:every=10`, `die:only=1000`, `not-found:share=0.01` or `silence:first=3`.
    fn from_str(text: &str) -> Result<Rule, QueryError> {
        let (name, often) = text.split_once(':').unwrap_or((text, ""));
        let misbehaviour = named("--fault", name)?;
        let mut query = Query::new(often)?;
        let when = when(&mut query)?.ok_or_else(|| QueryError::missing("every", OFTEN))?;
        query.end().map(|()| Rule { misbehaviour, when })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Result<Rule, String> {
        let read = || {
            let mut query = Query::new(text)?;
            let rule = take(&mut query)?;
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
                When::Share(0.01),
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
        let flag = |text: &str| text.parse::<Rule>();
        let accept = flag("close-at-accept:every=3").unwrap();
        assert_eq!(accept.when, When::Every(3));
        let share = flag("not-found:share=0.5").unwrap();
        assert_eq!(share.when, When::Share(0.5));
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
            let tls = if each.is_beneath_tls() { ", TLS" } else { "" };
            let row = format!("| `{}` | {} | {meets}{tls} |", each.name(), each.sentence());
            assert_eq!(rows.next(), Some(row.as_str()));
        }
        assert_eq!(rows.next(), None);
    }
}
