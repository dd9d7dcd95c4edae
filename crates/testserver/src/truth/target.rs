//! What a request is for in the truth server: a delay, a fault, or one of the built-in resources.

use super::distribution::Distribution;
use super::faults;
use super::query::{Query, QueryError};
use crate::misbehaviour::Rule;

/// What is requested.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Target {
    /// A response after a delay of this distribution.
    Delay(Distribution),
    /// A response that meets this rule.
    Fault(Rule),
    /// One of the built-in resources, or none.
    Resource,
    /// Something that cannot be understood.
    Wrong(QueryError),
}

/// Reads a path with its query: the id if one is given, and what is requested.
pub(crate) fn read(path: &str) -> (Option<u64>, Target) {
    let (name, query) = path.split_once('?').unwrap_or((path, ""));
    let read: fn(&mut Query<'_>) -> Result<Target, QueryError> = match name {
        "/delay" => |query| Distribution::take(query).map(Target::Delay),
        "/fault" => |query| faults::take(query).map(Target::Fault),
        _ => return (loose_id(query), Target::Resource),
    };
    let mut id = None;
    let mut strict = || {
        let mut query = Query::new(query)?;
        id = number(&mut query)?;
        let target = read(&mut query)?;
        query.end().map(|()| target)
    };
    let target = strict().unwrap_or_else(Target::Wrong);
    (id, target)
}

fn number(query: &mut Query<'_>) -> Result<Option<u64>, QueryError> {
    let Some(text) = query.take("id") else {
        return Ok(None);
    };
    match digits(text) {
        Some(id) => Ok(Some(id)),
        None => Err(QueryError::value(
            "id",
            text,
            "a whole number",
            "digits, such as id=7",
        )),
    }
}

/// Nothing but digits: in a query `+` is how many write a space.
fn digits(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// The id in the query of a resource, which may have anything else in it.
fn loose_id(query: &str) -> Option<u64> {
    query
        .split('&')
        .find_map(|part| digits(part.strip_prefix("id=")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::misbehaviour::{Misbehaviour, When, mixed};
    use units::Nanos;

    #[test]
    fn paths_are_understood() {
        let distribution = Distribution::Constant {
            mean: Nanos::from_millis(5),
        };
        let rule = Rule {
            misbehaviour: Misbehaviour::BadStatus,
            when: When::Every(3),
        };
        let cases = [
            (
                "/delay?law=constant&mean=5ms",
                None,
                Target::Delay(distribution),
            ),
            (
                "/delay?law=constant&mean=5ms&id=42",
                Some(42),
                Target::Delay(distribution),
            ),
            (
                "/fault?id=7&kind=bad-status&every=3",
                Some(7),
                Target::Fault(rule),
            ),
            ("/hello", None, Target::Resource),
            ("/hello?x&id=9", Some(9), Target::Resource),
            ("/hello?id=nine", None, Target::Resource),
            ("/hello?id=+9", None, Target::Resource),
            ("/delay/", None, Target::Resource),
            ("/delays?law=constant", None, Target::Resource),
            ("*", None, Target::Resource),
        ];
        for (path, id, target) in cases {
            assert_eq!(read(path), (id, target), "{path}");
        }
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let cases = [
            (
                "/delay",
                "`law=` is missing; name one such as law=constant&mean=5ms",
            ),
            (
                "/delay?id=-1&law=constant&mean=5ms",
                "id: `-1` is not a whole number; write digits, such as id=7",
            ),
            (
                "/delay?id=+1&law=constant&mean=5ms",
                "id: `+1` is not a whole number; write digits, such as id=7",
            ),
            (
                "/delay?law=constant&mean=5ms&x=1",
                "`x` is not a parameter here; remove it",
            ),
            (
                "/fault",
                "`kind=` is missing; name a misbehaviour such as kind=bad-status",
            ),
        ];
        for (path, sentence) in cases {
            let (_, target) = read(path);
            let Target::Wrong(wrong) = target else {
                panic!("{path}: {target:?}");
            };
            assert_eq!(wrong.to_string(), sentence, "{path}");
        }
    }

    /// Words that matter, thrown together.
    #[test]
    fn whatever_is_asked_is_understood_or_told_in_one_short_line() {
        let words = [
            "/delay",
            "/fault",
            "?",
            "&",
            "=",
            "law",
            "kind",
            "id",
            "mean",
            "low",
            "high",
            "share",
            "every",
            "only",
            "constant",
            "pareto",
            "bimodal",
            "silence",
            "1",
            "5ms",
            "1h",
            "0.5",
            "-",
            "ä",
            "%20",
            "18446744073709551616",
            "nan",
            "scale",
            "shape",
        ];
        let mut told = 0;
        for number in 0..20_000u64 {
            let mut path = if number % 2 == 0 {
                "/delay?"
            } else {
                "/fault?"
            }
            .to_owned();
            let mut bits = mixed(number);
            for _ in 0..1 + number % 12 {
                path.push_str(words[(bits % words.len() as u64) as usize]);
                bits = mixed(bits);
            }
            if let (_, Target::Wrong(wrong)) = read(&path) {
                let sentence = wrong.to_string();
                assert!(
                    !sentence.contains('\n') && sentence.len() < 300,
                    "{path}: {sentence}"
                );
                told += 1;
            }
        }
        assert!(told > 15_000, "{told}");
    }
}
