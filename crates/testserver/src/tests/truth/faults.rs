//! Faults asked by URL and by flag: what they meet, and that they are on the wire what the table says.

use super::stage::without_dates;
use super::*;
use crate::misbehaviour::{Rule, Trigger, When};

#[test]
fn faults_meet_whom_their_query_says_and_the_log_says_whom() {
    let mut lines = scattered(30, "/fault?kind=not-found&every=3");
    lines.extend((30..50).map(|id| {
        let path = format!("/fault?kind=not-found&first=2&id={id}");
        vec![(arrival(id), get(&path))]
    }));
    let came = serve_on(&seeded(), Options::default(), lines, |log| {
        log.answered + log.misbehaved() >= 50
    });
    let mut order: Vec<u64> = (0..50).collect();
    order.sort_by_key(|id| arrival(*id));
    let (mut thirds, mut firsts) = (0, 0);
    let records = by_id(&came);
    for id in order {
        let is_met = if id < 30 {
            thirds += 1;
            thirds % 3 == 0
        } else {
            firsts += 1;
            firsts <= 2
        };
        let misbehaviour = is_met.then_some(Misbehaviour::NotFound);
        assert_eq!(records[id as usize].misbehaviour, misbehaviour, "{id}");
        let is_not_found = came.received[id as usize]
            .text
            .starts_with("HTTP/1.1 404 Not Found");
        assert_eq!(is_not_found, is_met, "{id}");
    }
    assert_eq!(came.log.count(Misbehaviour::NotFound), 12);
}

#[test]
fn the_servers_own_faults_meet_connections_and_requests() {
    let config = Config {
        script: Script {
            rules: vec![
                "close-at-accept:every=4".parse().unwrap(),
                "unavailable:only=3".parse().unwrap(),
            ],
            ..Script::default()
        },
        ..seeded()
    };
    let came = serve_on(
        &config,
        Options::default(),
        scattered(12, "/hello"),
        |log| log.answered + log.misbehaved() >= 12,
    );
    assert_eq!(came.log.count(Misbehaviour::CloseAtAccept), 3);
    assert_eq!(came.log.count(Misbehaviour::Unavailable), 1);
    // A client that meets a closed listener sends nothing, so its request is in no log.
    assert_eq!(came.records.len(), 9);
    assert_eq!(
        came.records[2].misbehaviour,
        Some(Misbehaviour::Unavailable)
    );
    let silent = came
        .received
        .iter()
        .filter(|received| received.text.is_empty())
        .count();
    assert_eq!(silent, 3);
}

/// What a client hears that asks once and then asks `/hello` for the last time, and whether it was hung up on.
fn hears(
    behaviour: impl Fn(Config) -> Behaviour,
    rules: Vec<Rule>,
    path: &str,
    is_head: bool,
) -> (String, bool, u64) {
    let script = Script {
        rules,
        interval: micros(10),
        delay: micros(500),
        outage: micros(2_000),
    };
    let behaviour = behaviour(Config { script, ..seeded() });
    let mut asked = get(path);
    if is_head {
        asked = asked.replacen("GET", "HEAD", 1);
    }
    let last = "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".to_owned();
    let lines = vec![
        vec![
            (START + micros(1_000), asked),
            (START + micros(500_000), last),
        ],
        // A client that comes when all is over, however it went.
        vec![(START + micros(1_000_000), get("/hello"))],
    ];
    let until = |log: &Log| log.connections == 2 || log.bytes_sent > 400_000;
    let (log, _, received) = run(behaviour, Options::default(), lines, until);
    let received = &received[0];
    (received.text.clone(), received.is_closed, log.misbehaved())
}

#[test]
fn a_server_without_tls_says_that_a_fault_takes_it() {
    let truthful = |config| Behaviour::truthful(config, START);
    let (text, _, misbehaved) = hears(truthful, Vec::new(), "/fault?kind=alert", false);
    assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{text}");
    assert!(text.contains("`alert` is about TLS"), "{text}");
    assert_eq!(misbehaved, 0);
}

#[test]
fn each_fault_is_on_the_wire_what_the_misbehaving_server_does() {
    // Both have a right answer of their own.
    let plain = |text: &str| {
        let head = "HTTP/1.1 200 OK\r\n";
        let fields = "Content-Type: text/plain\r\nContent-Length: 14\r\n";
        let close = "Connection: close\r\n\r\n";
        without_dates(text)
            .replace(&format!("{head}Date: \r\n{fields}{close}"), "LAST ")
            .replace(&format!("{head}Date: \r\n{fields}\r\n"), "RIGHT ")
            .replace(&format!("{head}{fields}{close}"), "LAST ")
            .replace(
                &format!("{head}{fields}Connection: keep-alive\r\n\r\n"),
                "RIGHT ",
            )
    };
    let mut seen = 0;
    for each in Misbehaviour::ALL {
        let is_head = each.trigger() == Trigger::Head;
        if each.trigger() == Trigger::Connection || each.is_beneath_tls() {
            continue;
        }
        seen += 1;
        let rule = Rule {
            misbehaviour: *each,
            when: When::Only(1),
        };
        let wanted = hears(Behaviour::scripted, vec![rule], "/", is_head);
        let truthful = |config| Behaviour::truthful(config, START);
        let path = format!("/fault?kind={}&only=1", each.name());
        let received = hears(truthful, Vec::new(), &path, is_head);
        // Of what never ends, one or the other was stopped a little earlier.
        let cut = |text: &str| plain(text).chars().take(300_000).collect::<String>();
        let (wanted_text, heard_text) = (cut(&wanted.0), cut(&received.0));
        assert!(
            heard_text == wanted_text,
            "{}: {heard_text:.400} instead of {wanted_text:.400}",
            each.name(),
        );
        assert_eq!(
            (received.1, received.2),
            (wanted.1, wanted.2),
            "{}",
            each.name()
        );
    }
    assert!(seen > 45, "{seen}");
}
