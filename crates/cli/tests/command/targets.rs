//! A target that is not what the user meant is refused before any load is sent to it.

use crate::bench::{Bench, Reference};

/// What follows the verb, and the words that the refusal must hold.
const NUMERIC_HOSTS: &[(&str, &[&str])] = &[
    ("8080", &["did you mean 127.0.0.1:8080?"]),
    ("8080/", &["did you mean 127.0.0.1:8080/?"]),
    ("http://8080/a?b=c", &["did you mean 127.0.0.1:8080/a?b=c?"]),
    ("8080.", &["did you mean 127.0.0.1:8080?"]),
    ("8080:80", &["`8080` is not an IPv4 address"]),
    ("65536", &["`65536` is not an IPv4 address"]),
    ("0", &["`0` is not an IPv4 address"]),
    ("2130706433", &["`2130706433` is not an IPv4 address"]),
    ("http://127.1/", &["`127.1` is not an IPv4 address"]),
    ("127.0.1:8080", &["`127.0.1` is not an IPv4 address"]),
    ("http://0x7f.1/", &["`0x7f.1` is not an IPv4 address"]),
    ("http://0X7F000001/", &["is not an IPv4 address"]),
    ("http://017700000001/", &["`017700000001` is not an IPv4"]),
    ("http://010.0.0.1/", &["`010.0.0.1` is not an IPv4 address"]),
    ("http://127.0.0.1./", &["`127.0.0.1.` is not an IPv4"]),
    ("http://1.2.3.256/", &["`1.2.3.256` is not an IPv4 address"]),
    ("http://[127.1]/", &["`127.1` is not an IPv4 address"]),
    ("8080 --unix s", &["did you mean 127.0.0.1:8080?"]),
    ("8080 --resolve 8080:80:127.0.0.1", &["did you mean"]),
    ("x --resolve x:80:127.1", &["--resolve `x:80:127.1`"]),
    ("x --resolve x:80:8080", &["--resolve `x:80:8080`"]),
    ("localhost:1 8080", &["did you mean 127.0.0.1:8080?"]),
    ("--urls numbers", &["did you mean 127.0.0.1:8080/a?"]),
];

#[test]
fn a_host_of_digits_is_refused_and_the_port_that_was_meant_is_named() {
    let bench = Bench::new();
    bench.file("numbers", "http://8080/a\n");
    for verb in [
        "run -n 1",
        "sweep -n 1 -c 1,2",
        "run --dry-run",
        "run --show-exchange",
    ] {
        for (rest, words) in NUMERIC_HOSTS {
            let said = bench.say(&format!("{verb} {rest}"));
            println!("{verb} {rest}: {}", said.err); // shown when one of them fails
            said.refused(words);
        }
    }
    bench.say("8080").refused(&["did you mean 127.0.0.1:8080?"]);
}

#[test]
fn a_name_with_digits_in_it_is_a_name() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let port = server.at().rsplit(':').next().unwrap();
    for host in ["1a", "0xg.1", "0x7f.1.example", "3.web"] {
        let line =
            format!("run {host}:{port}/0.html --resolve {host}:{port}:127.0.0.1 -n 1 --rounds 1");
        bench.say(&line).ended(0);
    }
}
