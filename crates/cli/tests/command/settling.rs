//! The load before the first round: it ends by itself, is counted, and what it sees is in the record.

use crate::bench::{Bench, Reference};

#[test]
fn a_cold_server_is_found_cold_and_what_warmed_it_is_counted() {
    let bench = Bench::new();
    let rest = ["--truth", "--capacity", "1k/s", "--cold", "3s"];
    let server = Reference::with(&bench, &["127.0.0.1:0"], &rest);
    let (said, record) = bench.run(&format!("{}/hello -c 4 -t 1 -d 1s --rounds 2", server.at()));
    said.ended(0);
    record.assert_conserved();
    let settling = record.at("/summary/settling");
    let number = |name: &str| settling[name].as_u64().unwrap();
    // The first response alone, with half of the capacity, takes 2 ms.
    assert!(number("first_response") >= 2_000_000, "{settling}");
    assert!(
        (2_200_000_000..11_900_000_000).contains(&number("load")),
        "{settling}"
    );
    // At half of the capacity at first, after one second at two thirds; the probe began a little before.
    let first = settling["first_second"]["rps"].as_f64().unwrap();
    assert!(first < 700.0, "{settling}");
    assert!(number("sent") > first as u64, "{settling}");
    assert!(record.count("/sent_total/warmup") >= number("sent"));
    assert!(said.out.contains("\nfirst second "), "{}", said.out);
    let counted = server.stop();
    assert_eq!(record.sent(), counted.requests(), "{counted:?}");
}

#[test]
fn a_server_that_weigh_starts_has_a_cold_start_and_a_given_warm_up_is_exact() {
    let bench = Bench::new();
    let weigh = env!("CARGO_BIN_EXE_weigh");
    let line = "x/100.html --unix s -c 2 -t 1 --rounds 1";
    let (said, record) = bench.run(&format!("{line} -d 1s -- {weigh} serve --listen unix:s"));
    said.ended(0);
    assert!(said.out.contains("\ncold start "), "{}", said.out);
    assert!(
        record
            .at("/points/0/rounds/0/settling/first_second/rps")
            .is_f64()
    );
    for rest in [
        "-d 1s --warmup 100ms",
        "-d 900ms",
        "-d 1s --ramp 50..150",
        "-n 100",
    ] {
        let (said, record) = bench.run(&format!("{line} {rest} -- {weigh} serve --listen unix:s"));
        said.ended(0);
        assert!(record.rounds()[0].get("settling").is_none(), "{rest}");
        assert!(!said.out.contains("cold start"), "{rest}");
    }
}
