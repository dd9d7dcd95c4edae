//! What a query says, name by name, and what is wrong with it, in one sentence.
//!
//! Nothing is decoded: names, numbers and times need no escapes, and what needs one is none of them.

use units::{Nanos, ParseError, parse_count};

/// Parameters that one query may have; the longest distribution needs five.
const PARAMETERS_MAX: usize = 8;
/// Characters of a wrong value that are quoted.
const QUOTED: usize = 60;

/// Why a query, or a flag that is written as one, cannot be understood: a sentence with its remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct QueryError(String);

impl QueryError {
    /// An error with this sentence.
    pub(crate) fn new(sentence: impl Into<String>) -> QueryError {
        QueryError(sentence.into())
    }

    /// A parameter is needed and not there.
    pub(super) fn missing(name: &str, remedy: &str) -> QueryError {
        QueryError(format!("`{name}=` is missing; {remedy}"))
    }

    /// A value is not what its name asks for.
    pub(super) fn value(name: &str, value: &str, what: &str, remedy: &str) -> QueryError {
        let QueryError(sentence) = QueryError::text(&quoted(value), what, remedy);
        QueryError(format!("{name}: {sentence}"))
    }

    /// A whole text is not what it has to be.
    pub(super) fn text(text: &str, what: &str, remedy: &str) -> QueryError {
        QueryError(format!("`{text}` is not {what}; write {remedy}"))
    }

    /// A time or a count is not one.
    fn quantity(name: &str) -> impl Fn(ParseError) -> QueryError + use<'_> {
        move |error| QueryError(format!("{name}: {error}"))
    }
}

/// As much of `text` as a sentence bears.
fn quoted(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}

/// The parameters of a query that are not read yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query<'a> {
    pairs: [(&'a str, &'a str); PARAMETERS_MAX],
    count: usize,
}

impl<'a> Query<'a> {
    /// Takes `text` apart; empty parts are nothing.
    pub(super) fn new(text: &'a str) -> Result<Query<'a>, QueryError> {
        let mut query = Query {
            pairs: [("", ""); PARAMETERS_MAX],
            count: 0,
        };
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let pair = part.split_once('=').unwrap_or((part, ""));
            if query.rest().iter().any(|other| other.0 == pair.0) {
                let name = quoted(pair.0);
                return Err(QueryError(format!(
                    "`{name}=` is given twice; give it once"
                )));
            }
            *query.pairs.get_mut(query.count).ok_or_else(too_many)? = pair;
            query.count += 1;
        }
        Ok(query)
    }

    fn rest(&self) -> &[(&'a str, &'a str)] {
        &self.pairs[..self.count]
    }

    /// The value of a parameter, which then is no longer there.
    pub(super) fn take(&mut self, name: &str) -> Option<&'a str> {
        let place = self.rest().iter().position(|pair| pair.0 == name)?;
        let value = self.pairs[place].1;
        self.count -= 1;
        self.pairs[place] = self.pairs[self.count];
        Some(value)
    }

    /// The value of a parameter that has to be there.
    pub(super) fn need(&mut self, name: &str, remedy: &str) -> Result<&'a str, QueryError> {
        self.take(name)
            .ok_or_else(|| QueryError::missing(name, remedy))
    }

    /// A time that has to be there, at most `most`.
    pub(super) fn time(&mut self, name: &str, most: Nanos) -> Result<Nanos, QueryError> {
        let text = self.need(name, "write a time such as 500us, 5ms or 1s")?;
        let time: Nanos = text.parse().map_err(QueryError::quantity(name))?;
        if time > most {
            return Err(QueryError::value(
                name,
                text,
                "an hour or less",
                "a shorter time",
            ));
        }
        Ok(time)
    }

    /// A number that has to be there, above zero and at most `most`.
    pub(super) fn number(&mut self, name: &str, most: f64) -> Result<f64, QueryError> {
        let text = self.need(name, "write a number such as 0.5 or 2")?;
        match text.parse::<f64>() {
            Ok(number) if number > 0.0 && number <= most => Ok(number),
            _ => {
                let what = "a number above 0 that is not huge";
                Err(QueryError::value(name, text, what, "one such as 0.5 or 2"))
            }
        }
    }

    /// A count, where it is there.
    pub(super) fn count(&mut self, name: &str) -> Result<Option<u64>, QueryError> {
        let count = |text| parse_count(text).map_err(QueryError::quantity(name));
        self.take(name).map(count).transpose()
    }

    /// Nothing may be left.
    pub(super) fn end(&self) -> Result<(), QueryError> {
        match self.rest().first() {
            Some((name, _)) => {
                let name = quoted(name);
                Err(QueryError(format!(
                    "`{name}` is not a parameter here; remove it"
                )))
            }
            None => Ok(()),
        }
    }
}

fn too_many() -> QueryError {
    QueryError(format!(
        "there are more than {PARAMETERS_MAX} parameters; leave some out"
    ))
}

/// A share from 0 to 1.
pub(super) fn share(name: &str, text: &str) -> Result<f64, QueryError> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(QueryError::value(
            name,
            text,
            "a share",
            "one from 0 to 1, such as 0.01",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_in_any_order_and_none_is_overlooked() {
        let mut query = Query::new("b=2&a=1&&c&d=x=y").unwrap();
        assert_eq!(query.take("a"), Some("1"));
        assert_eq!(query.take("a"), None);
        assert_eq!(query.take("c"), Some(""));
        assert_eq!(query.take("d"), Some("x=y"));
        let unknown = "`b` is not a parameter here; remove it";
        assert_eq!(query.end(), Err(QueryError::new(unknown)));
        assert_eq!(query.take("b"), Some("2"));
        assert_eq!(query.end(), Ok(()));
    }

    #[test]
    fn what_is_twice_or_too_many_is_refused() {
        assert_eq!(
            Query::new("a=1&b=2&a=3").unwrap_err(),
            QueryError::new("`a=` is given twice; give it once")
        );
        let many = |count: usize| (0..count).map(|n| format!("p{n}=1&")).collect::<String>();
        assert!(Query::new(&many(PARAMETERS_MAX)).is_ok());
        assert_eq!(
            Query::new(&many(PARAMETERS_MAX + 1)).unwrap_err(),
            too_many()
        );
    }

    #[test]
    fn a_long_value_is_quoted_in_part() {
        let text = format!("mean={}", "ä".repeat(500));
        let wrong = Query::new(&text).unwrap().number("mean", 9.0).unwrap_err();
        assert!(wrong.to_string().chars().count() < 200, "{wrong}");
    }
}
