//! Options whose value is one of a few words.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Reads one of a few words, which are listed with their meanings.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    choices: impl IntoIterator<Item = (T, &'static str, &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let choices: Vec<_> = choices.into_iter().collect();
    let words = choices.iter();
    let words = words.map(|(_, word, meaning)| PossibleValue::new(*word).help(*meaning));
    PossibleValuesParser::new(words).map(move |given| {
        let chosen = choices.iter().find(|(_, word, _)| *word == given);
        chosen.expect("the parser takes no other word").0
    })
}
