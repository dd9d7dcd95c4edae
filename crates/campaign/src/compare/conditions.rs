//! Whether servers are compared under equal conditions.

use record::{Comparison, Conditions, Contender};

/// Returns how the servers differ from the first in what must be equal, a sentence for each difference; those that are excluded,
/// and what is not known of one of the two, are left out.
pub fn unequal(comparison: &Comparison) -> Vec<String> {
    let servers = || comparison.servers.iter().zip(&comparison.plan.servers);
    let mut counted = servers().filter(|(server, _)| server.excluded.is_none());
    let Some((first, first_planned)) = counted.next() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (server, planned) in counted {
        let (a, b) = (&first_planned.name, &planned.name);
        for (what, of_first, of_other) in differences(first, server) {
            found.push(format!("{what}: {of_first} from {a}, {of_other} from {b}"));
        }
    }
    found
}

/// What differs: its name, and what it is of either.
fn differences(a: &Contender, b: &Contender) -> Vec<(&'static str, String, String)> {
    type Shown = fn(&Conditions) -> Option<String>;
    let mut found = Vec::new();
    let mut hold = |what, of_a: Option<String>, of_b: Option<String>| {
        if let (Some(of_a), Some(of_b)) = (of_a, of_b)
            && of_a != of_b
        {
            found.push((what, of_a, of_b));
        }
    };
    let (first, second) = (&a.conditions, &b.conditions);
    let each = |of: Shown| [of(first), of(second)];
    let rows: [(&'static str, Shown); 6] = [
        ("status", |it| it.status.map(|status| status.to_string())),
        ("body", |it| {
            it.body
                .map(|(length, crc)| format!("{length} B (CRC {crc:08x})"))
        }),
        ("protocol", |it| it.protocol.clone()),
        ("compression", |it| {
            let is_known = it.status.is_some();
            is_known.then(|| it.compression.clone().unwrap_or_else(|| "none".into()))
        }),
        ("keep-alive", |it| {
            it.keep_alive
                .map(|kept| if kept { "on" } else { "off" }.to_owned())
        }),
        ("logging", |it| {
            it.is_logging()
                .map(|logs| if logs { "on" } else { "off" }.to_owned())
        }),
    ];
    for (what, of) in rows {
        let [of_a, of_b] = each(of);
        hold(what, of_a, of_b);
    }
    let workers = |it: &Conditions| it.workers.map(|workers| workers.to_string());
    hold("workers", workers(first), workers(second));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Contender {
        Contender {
            conditions: Conditions {
                body: Some((100, 7)),
                status: Some(200),
                protocol: Some("HTTP/1.1".into()),
                compression: None,
                keep_alive: Some(true),
                workers: Some(2),
                logged_millibytes: Some(0),
                response_bytes: Some(300),
            },
            ..Contender::default()
        }
    }

    fn named(change: impl FnOnce(&mut Conditions)) -> Vec<&'static str> {
        let mut other = server();
        change(&mut other.conditions);
        let found = differences(&server(), &other);
        found.into_iter().map(|(what, ..)| what).collect()
    }

    #[test]
    fn each_difference_is_named_and_the_length_of_the_head_is_none() {
        assert_eq!(named(|it| it.response_bytes = Some(500)), [""; 0]);
        assert_eq!(named(|it| it.body = Some((100, 8))), ["body"]);
        assert_eq!(named(|it| it.status = Some(206)), ["status"]);
        assert_eq!(
            named(|it| it.protocol = Some("HTTP/1.0".into())),
            ["protocol"]
        );
        assert_eq!(
            named(|it| it.compression = Some("gzip".into())),
            ["compression"]
        );
        assert_eq!(named(|it| it.keep_alive = Some(false)), ["keep-alive"]);
        assert_eq!(named(|it| it.workers = Some(1)), ["workers"]);
        assert_eq!(named(|it| it.logged_millibytes = Some(90_000)), ["logging"]);
        assert_eq!(named(|it| it.logged_millibytes = Some(999)), [""; 0]);
    }

    #[test]
    fn what_is_not_known_of_one_is_no_difference() {
        assert_eq!(named(|it| *it = Conditions::default()), [""; 0]);
    }
}
