//! Under which conditions servers were compared: what they have in common, what not, and what that comes to in bytes.

use super::table::{LINE_NAME_MOST, shortened};
use super::words::Words;
use crate::page::{Item, Role, Row};
use crate::phrase::clean;
use record::{Condition, Conditions};
use units::{bytes, number};

/// The longest value that is shown whole: HTTP's version with TLS's, the cipher, the key exchange and the kind of the certificate's key.
const LONGEST: usize = 80;

/// What is equal, what is not, and what that comes to in bytes.
pub(super) fn rows(words: &Words<'_>) -> Vec<Row> {
    let ranked = words.comparison.ranked();
    let known = |server: usize| {
        words
            .comparison
            .servers
            .get(server)
            .map(|it| &it.conditions)
    };
    let Some(first) = ranked.first().and_then(|first| known(*first)) else {
        return Vec::new();
    };
    // What is the same for all is said once.
    let each = |show: &dyn Fn(&Conditions) -> String| {
        let shown = ranked
            .iter()
            .filter_map(|server| Some((*server, show(known(*server)?))));
        let shown: Vec<(usize, String)> = shown.collect();
        if let [(_, one), others @ ..] = &shown[..]
            && others.iter().all(|(_, other)| other == one)
        {
            return one.clone();
        }
        let named = shown.into_iter().map(|(server, shown)| {
            let name = shortened(words.name(server), LINE_NAME_MOST);
            format!("{name} {shown}")
        });
        named.collect::<Vec<String>>().join(", ")
    };
    let equality = &words.answers.conditions;
    let equal: Vec<String> = equality
        .equal
        .iter()
        .filter_map(|it| equal(*it, first))
        .collect();
    let mut items = Vec::new();
    if !equal.is_empty() {
        items.push(Item::plain(format!("equal: {}", equal.join(", "))));
    }
    for condition in &equality.unequal {
        let values = each(&|it| value(*condition, it));
        let item =
            Item::wrong("different: ").and(Role::Plain, format!("{} ({values})", condition.name()));
        items.push(item);
    }
    if !equality.unknown.is_empty() {
        let unknown: Vec<&str> = equality.unknown.iter().map(|it| it.name()).collect();
        items.push(Item::plain(format!("not known: {}", unknown.join(", "))));
    }
    let mut rows = vec![Row::new("conditions", items)];
    let response = |it: &Conditions| it.response_bytes.map_or("-".to_owned(), bytes);
    let logged = |it: &Conditions| it.logged_millibytes.map_or("-".to_owned(), millibytes);
    let is_known = |of: fn(&Conditions) -> Option<u64>| {
        ranked.iter().any(|it| known(*it).and_then(of).is_some())
    };
    let responses = is_known(|it| it.response_bytes)
        .then(|| Item::named("response:", Role::Plain, each(&response)));
    let logs = is_known(|it| it.logged_millibytes.filter(|bytes| *bytes > 0));
    let logs = logs.then(|| Item::named("logged a request:", Role::Plain, each(&logged)));
    let split = words.comparison.split.as_ref();
    let together = split
        .filter(|split| split.is_one())
        .and_then(|split| split.servers.first());
    let together =
        together.map(|cpu| Item::plain(format!("servers and generator on one CPU ({cpu})")));
    let sizes: Vec<Item> = responses.into_iter().chain(logs).chain(together).collect();
    rows.extend((!sizes.is_empty()).then(|| Row::new("", sizes)));
    rows
}

/// A condition in words, where it is the same for all; none where it goes without saying.
fn equal(condition: Condition, of: &Conditions) -> Option<String> {
    Some(match condition {
        Condition::Status => of
            .status
            .filter(|status| *status != 200)
            .map(|status| format!("status {status}"))?,
        Condition::Compression => format!("compression {}", clean(of.compression.as_ref()?, 20)),
        Condition::KeepAlive => {
            ["no keep-alive", "keep-alive"][usize::from(of.keep_alive?)].to_owned()
        }
        Condition::Workers => match of.threads {
            Some(threads) => number(threads.into(), "thread"),
            None => number(of.workers?.into(), "worker"),
        },
        Condition::Logging => format!("logging {}", value(condition, of)),
        Condition::Protocol => match of.protocol.as_ref()? {
            secured if secured.contains(" over ") => clean(secured, LONGEST),
            _ => condition.name().to_owned(),
        },
        Condition::Body => condition.name().to_owned(),
    })
}

/// What a condition is for one server.
fn value(condition: Condition, of: &Conditions) -> String {
    let value = condition.value(of);
    value.map_or("not known".to_owned(), |value| clean(&value, LONGEST))
}

/// Thousandths of a byte as bytes: `95 B`, `0.2 B`.
fn millibytes(milli: u64) -> String {
    match milli {
        1..10_000 => format!("{:.1} B", milli as f64 / 1e3),
        _ => bytes((milli + 500) / 1_000),
    }
}
