//! `weigh compare` with records instead of servers, and with a file that holds a whole comparison.

use crate::bench::{Bench, Record, Reference, Said};
use record::{Comparison, Run, example};
use std::fs::{self, File};

fn compare(bench: &Bench, words: &[&str]) -> Said {
    bench.say_words(&[&["compare"], words].concat())
}

/// Two records in files, `before.json` and `after.json`; the second uses so many times as much CPU per request.
fn recorded(bench: &Bench, cost: f64) -> [Run; 2] {
    let runs = example::separate_runs(cost);
    for (name, run) in ["before.json", "after.json"].iter().zip(&runs) {
        run.write_json(File::create(bench.path(name)).unwrap())
            .unwrap();
    }
    runs
}

fn write_comparison(bench: &Bench, name: &str, made: &Comparison) {
    bench.file(name, serde_json::to_string(made).unwrap());
}

/// The text with its breaks of lines taken out.
fn flowing(said: &Said) -> String {
    said.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn two_records_are_answered_in_the_form_of_a_comparison_and_as_weaker() {
    let bench = Bench::new();
    recorded(&bench, 1.1);
    let said = compare(&bench, &["before.json", "after.json"]);
    said.ended(0);
    let first = said.out.lines().next().unwrap();
    assert!(
        first.starts_with("after uses 10.0 % more CPU per request than before"),
        "{first}"
    );
    let text = flowing(&said);
    for part in [
        "p50 latency",
        "throughput",
        "memory",
        "worse",
        "LIMITED 5 rounds each",
        "measured one after the other (10 min apart)",
        "`weigh compare` with both servers",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(said.err.is_empty(), "{}", said.err);
    let named = compare(
        &bench,
        &[
            "old=before.json",
            "new=after.json",
            "-q",
            "--decide-on",
            "p50",
        ],
    );
    named.ended(0);
    assert!(
        named.out.starts_with("no difference larger than "),
        "{}",
        named.out
    );
    assert!(
        named.out.contains("in p50 latency between old and new"),
        "{}",
        named.out
    );
    let all = compare(&bench, &["before.json", "after.json", "-v"]);
    assert!(
        flowing(&all).contains("after, round CPU per request"),
        "{}",
        all.out
    );
}

#[test]
fn other_forms_of_two_records_hold_the_same_and_can_be_read_again() {
    let bench = Bench::new();
    recorded(&bench, 1.1);
    let words = [
        "before.json",
        "after.json",
        "--json",
        "--markdown",
        "it.md",
        "--chart",
        "it.svg",
    ];
    let said = compare(&bench, &words);
    said.ended(0);
    let json = Record::parse(said.out.as_bytes());
    let headline = json.at("/headlines/0").as_str().unwrap().to_owned();
    assert_eq!(
        headline,
        "after uses 10.0 % more CPU per request than before"
    );
    assert_eq!(
        json.at("/answers/reliability/doubts/0/reason"),
        "separate_runs"
    );
    assert_eq!(json.at("/answers/reliability/doubts/0/seconds"), 600);
    let markdown = fs::read_to_string(bench.path("it.md")).unwrap();
    assert!(markdown.contains(&headline), "{markdown}");
    let chart = fs::read_to_string(bench.path("it.svg")).unwrap();
    assert!(chart.contains("of two separate runs"));
    bench.file("both.json", &said.out);
    let text = compare(&bench, &["before.json", "after.json"]).out;
    assert_eq!(bench.say("report both.json").out, text);
}

#[test]
fn a_limit_on_regressions_is_judged_by_the_interval_of_the_two_records() {
    let bench = Bench::new();
    recorded(&bench, 1.1);
    for (limit, status, told) in [
        ("5%", 1, "after is worse than before by more than 5 %"),
        ("20%", 0, ""),
        (
            "10%",
            3,
            "cannot tell whether after is worse than before by more than 10 %",
        ),
    ] {
        let said = compare(
            &bench,
            &["before.json", "after.json", "--max-regression", limit],
        );
        said.ended(status);
        assert!(said.err.contains(told), "{limit}: {}", said.err);
        assert_eq!(
            said.err.is_empty(),
            told.is_empty(),
            "{limit}: {}",
            said.err
        );
    }
    // The other way round it is better, whatever the limit.
    compare(
        &bench,
        &["after.json", "before.json", "--max-regression", "1%"],
    )
    .ended(0);
}

#[test]
fn what_cannot_be_compared_with_a_record_is_refused_with_the_remedy() {
    let bench = Bench::new();
    recorded(&bench, 1.1);
    write_comparison(&bench, "compared.json", &example::two_percent());
    bench.file("nothing.txt", "nothing");
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["before.json"],
            &["one record cannot be compared", "weigh report before.json"],
        ),
        (
            &["before.json", "http://127.0.0.1:1/"],
            &[
                "before.json is a record",
                "a server",
                "two servers, or two records",
            ],
        ),
        (
            &["before.json", "b=./b {port}"],
            &["before.json is a record", "a server"],
        ),
        (
            &["before.json", "after.json", "compared.json"],
            &["3 records", "name two"],
        ),
        (
            &["before.json", "compared.json"],
            &["compared.json is a comparison", "weigh report", "weigh run"],
        ),
        (
            &["compared.json", "compared.json"],
            &["compared.json is a comparison"],
        ),
        (
            &["before.json", "before.json"],
            &["the same record", "name two"],
        ),
        (
            &["before.json", "41"],
            &["there is no record 41", "weigh list"],
        ),
        (&["before.json", "nothing.txt"], &["nothing.txt"]),
        (&["nothing.txt"], &["nothing.txt"]),
        (
            &["compared.json", "--markdown", "compared.json"],
            &["--markdown and an operand both name compared.json"],
        ),
        (
            &["before.json", "after.json", "--time", "1m"],
            &["--time", "nothing is measured"],
        ),
        (
            &["compared.json", "--max-regression", "1%"],
            &["--max-regression", "printed again"],
        ),
    ];
    for (words, told) in cases {
        compare(&bench, &[words, &["-q"][..]].concat()).refused(told);
    }
}

#[test]
fn records_of_other_plans_are_refused_with_what_differs_or_compared_and_told() {
    let bench = Bench::new();
    let [before, mut other] = recorded(&bench, 1.1);
    other.plan.rounds = before.plan.rounds + 2;
    other.weigh = "0.0.1".into();
    other
        .write_json(File::create(bench.path("other.json")).unwrap())
        .unwrap();
    compare(&bench, &["before.json", "other.json"]).refused(&[
        "not comparable",
        "weigh's version",
        "0.0.1",
        "rounds: 5 and 7",
        "report --diff before.json other.json",
        "--unequal",
    ]);
    let said = compare(&bench, &["before.json", "other.json", "--unequal"]);
    said.ended(0);
    assert!(
        flowing(&said).contains("the records differ in what can change results: "),
        "{}",
        said.out
    );
    assert!(flowing(&said).contains("rounds: 5 and 7"), "{}", said.out);
}

#[test]
fn conditions_that_records_know_to_differ_are_refused_as_those_of_servers() {
    let bench = Bench::new();
    let [_, mut after] = recorded(&bench, 1.0);
    let probe = after.probe.as_mut().unwrap();
    let head = probe.response_head.take().unwrap();
    probe.response_head = Some(head.replace("Server:", "Content-Encoding: gzip\r\nServer:"));
    after
        .write_json(File::create(bench.path("after.json")).unwrap())
        .unwrap();
    let said = compare(&bench, &["before.json", "after.json"]);
    said.refused(&[
        "conditions are not equal",
        "compression: none from before, gzip from after",
        "--unequal",
    ]);
    let said = compare(&bench, &["before.json", "after.json", "--unequal"]);
    said.ended(0);
    assert!(
        flowing(&said).contains("conditions differ: compression"),
        "{}",
        said.out
    );
}

#[test]
fn the_record_of_a_comparison_alone_is_printed_again() {
    let bench = Bench::new();
    write_comparison(&bench, "compared.json", &example::two_percent());
    let said = compare(&bench, &["compared.json"]);
    said.ended(0);
    assert!(said.out.starts_with("b uses 2."), "{}", said.out);
    assert_eq!(said.out, bench.say("report compared.json").out);
}

/// Records that the program itself made.
#[test]
fn records_are_named_by_numbers_and_names() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let url = format!("{}/100.html", server.at());
    for name in ["one", "two"] {
        let line =
            format!("run {url} -d 100ms --warmup 0s --rounds 3 -c 2 --seed 1 -q --name {name}");
        bench.say(&line).ended(0);
    }
    let by_number = compare(&bench, &["1", "2"]);
    by_number.ended(0);
    assert!(by_number.out.contains("#2"), "{}", by_number.out);
    let by_name = compare(&bench, &["one", "two"]);
    by_name.ended(0);
    assert!(
        by_name.out.contains("two") && !by_name.out.contains("#2"),
        "{}",
        by_name.out
    );
}

#[test]
fn a_file_holds_a_whole_comparison_and_the_record_keeps_it_without_secrets() {
    let bench = Bench::new();
    let servers = [Reference::start(&bench), Reference::start(&bench)];
    let [a, b] = [("a", &servers[0]), ("b", &servers[1])]
        .map(|(name, server)| format!("{name}={}/100.html?token=", server.at()));
    bench.file(
        "compare.toml",
        format!(
            "servers = ['{b}geheim', '{a}geheim']\ntime = '1s'\nconnections = [2]\nmax-regression = '90%'\n\
             header = ['X-Token: geheim', 'Accept: */*']\nuser = 'ann:geheim'\nquiet = true\nunequal = true\n"
        ),
    );
    let said = compare(&bench, &["compare.toml", "-c", "3", "-o", "it.json"]);
    assert!(
        [Some(0), Some(1), Some(3)].contains(&said.status),
        "{said:?}"
    );
    let text = fs::read_to_string(bench.path("it.json")).unwrap();
    assert!(!text.contains("geheim"), "a secret is written down");
    let record = Record::parse(text.as_bytes());
    let arguments = record.at("/plan/arguments").as_array().unwrap().iter();
    let arguments: Vec<&str> = arguments.map(|word| word.as_str().unwrap()).collect();
    let [a, b] = [a, b].map(|url| url + "(withheld)");
    let wanted = [
        "--connections=3",
        "--time=1s",
        "--max-regression=90%",
        "--unequal",
        "--header=X-Token: (withheld)",
        "--header=Accept: */*",
        "--user=(withheld)",
        &b,
        &a,
    ];
    assert_eq!(arguments, wanted);
    assert_eq!(record.count("/plan/blocks/0/load/closed/connections"), 3);
    assert_eq!(record.at("/plan/servers/0/name"), "b");
    // What is kept is a command line; only what is withheld has to be written into it again.
    let again = [&arguments[..4], &arguments[7..], &["--dry-run"]].concat();
    compare(&bench, &again).ended(0);
    let shown = bench.say("report -v it.json").out;
    assert!(
        shown.contains("weigh compare --connections=3 --time=1s"),
        "{shown}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_refused_with_its_name_and_what_is_wrong_in_it() {
    let bench = Bench::new();
    let cases: &[(&str, &[&str])] = &[
        ("", &["compare.toml: it is empty", "servers = ["]),
        ("servers = [\n'a'\nb", &["compare.toml: line 3"]),
        (
            "tme = '1s'",
            &["compare.toml: `tme` is no option", "`time`"],
        ),
        ("aa = 'yes'", &["compare.toml: `aa` is a switch"]),
        ("time = 'soon'", &["compare.toml: --time", "soon"]),
        (
            "max-regression = 0.02",
            &["compare.toml: --max-regression", "such as 2%"],
        ),
        (
            "until = '2%'\nprecision = '1%'",
            &["compare.toml: ", "cannot be used with"],
        ),
        ("ring = 'uring'", &["compare.toml: ", "uring"]),
        ("build = 'make'", &["compare.toml: --build needs --commits"]),
        ("time = '1s'", &["name two servers"]),
        (
            "servers = ['a=./a {port}']",
            &["one server cannot be compared"],
        ),
    ];
    for (text, told) in cases {
        bench.file("compare.toml", text);
        compare(&bench, &["compare.toml", "-q"]).refused(told);
    }
    bench.file("compare.toml", "servers = ['a=./a {port}', 'b=./b {port}']");
    let over = ["compare.toml", "--markdown", "compare.toml"];
    compare(&bench, &over).refused(&["--markdown and an operand both name compare.toml"]);
    compare(&bench, &["none.toml"]).refused(&["none.toml: ", "cannot be read"]);
    compare(&bench, &["compare.toml", "c=./c {port}"])
        .refused(&["compare.toml holds a whole comparison"]);
}

#[test]
fn two_records_can_be_named_in_a_file() {
    let bench = Bench::new();
    recorded(&bench, 1.1);
    bench.file(
        "compare.toml",
        "servers = ['before.json', 'after.json']\nmax-regression = '5%'",
    );
    compare(&bench, &["compare.toml", "-q"]).ended(1);
    // The command line wins.
    compare(&bench, &["compare.toml", "-q", "--max-regression", "50%"]).ended(0);
}
