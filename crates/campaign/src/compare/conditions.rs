//! Whether servers are compared under equal conditions.

use record::{Comparison, Condition, Contender};

/// Returns how the servers differ from the first in what must be equal, a sentence for each difference; those that are excluded
/// or no contenders, and what is not known of one of the two, are left out.
pub fn unequal(comparison: &Comparison) -> Vec<String> {
    let servers = comparison.servers.iter().zip(&comparison.plan.servers);
    let mut counted =
        servers.filter(|(server, planned)| server.excluded.is_none() && planned.is_contender());
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
    let (a, b) = (&a.conditions, &b.conditions);
    let differs = |condition: &Condition| condition.is_equal(a, b) == Some(false);
    let found = Condition::ALL.into_iter().filter(differs);
    found
        .filter_map(|condition| Some((condition.name(), condition.value(a)?, condition.value(b)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Conditions;

    fn server() -> Contender {
        record::example::equal_servers().servers.remove(0)
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
