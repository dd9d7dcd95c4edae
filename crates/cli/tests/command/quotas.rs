//! CPU quotas: in a real control group the side is blamed that its quota stopped.

use crate::bench::{Bench, Record, Reference, Said};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// So few CPUs that a busy process uses them up in every period, on however slow a machine.
const CPUS: &str = "0.05 CPUs";

/// A control group with a quota, as long as the test lasts.
struct Group(PathBuf);

impl Group {
    /// A group that may use [`CPUS`]; none, said in a line, where this machine lets us make none.
    fn new(name: &str) -> Option<Group> {
        let name = format!("weigh-{name}-{}", std::process::id());
        let older = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];
        let made = older.iter().find_map(|tree| {
            let limits = [
                ("cpu.cfs_period_us", "100000"),
                ("cpu.cfs_quota_us", "5000"),
            ];
            Group::at(Path::new(tree).join(&name), &limits)
        });
        let newer = || {
            Group::at(
                Path::new("/sys/fs/cgroup").join(&name),
                &[("cpu.max", "5000 100000")],
            )
        };
        let group = made.or_else(newer);
        if group.is_none() {
            println!("skipped: this machine lets us make no control group with a CPU quota");
        }
        group
    }

    fn at(folder: PathBuf, limits: &[(&str, &str)]) -> Option<Group> {
        fs::create_dir(&folder).ok()?;
        let group = Group(folder);
        let is_set = |(file, text): &(&str, &str)| {
            group.0.join(file).exists() && fs::write(group.0.join(file), text).is_ok()
        };
        limits.iter().all(is_set).then_some(group)
    }

    fn procs(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that is still in it has been killed, and is gone in a moment.
        (0..10_000).find(|_| fs::remove_dir(&self.0).is_ok());
    }
}

/// The sentences of the check `name`, of one.
fn sentences<'a>(record: &'a Record, name: &str) -> Vec<&'a str> {
    let findings = record.at("/findings").as_array().unwrap();
    let of = findings.iter().filter(|finding| finding["check"] == name);
    of.map(|finding| finding["sentence"].as_str().unwrap())
        .collect()
}

/// Asserts that one quota was recorded, which stopped `group`; how often, as the sentence has it.
fn stopped(quotas: &Value, group: &Group) -> String {
    let quotas = quotas.as_array().unwrap();
    assert_eq!(quotas.len(), 1, "{quotas:?}");
    assert_eq!(quotas[0]["group"], group.0.display().to_string());
    assert_eq!(quotas[0]["cpus"], 0.05);
    let count = |name: &str| quotas[0][name].as_u64().unwrap();
    assert!(count("throttled") > 0 && count("time") > 0, "{quotas:?}");
    format!("in {} of {} periods", count("throttled"), count("periods"))
}

fn words(said: &Said) -> String {
    said.out.split_whitespace().collect::<Vec<_>>().join(" ") // lines are broken anywhere
}

#[test]
fn a_quota_of_the_generator_is_blamed_and_the_server_outside_of_it_is_not() {
    let Some(group) = Group::new("generator") else {
        return;
    };
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let first = format!("echo $$ > {}", group.procs().display());
    let line = format!(
        "run -v {}/100.html -o run.json -c 10 -d 1s --rounds 1 --warmup 0",
        server.at()
    );
    let said = bench.say_under(&first, "", &line);
    said.ended(0);
    let record = bench.record("run.json");
    let round = &record.rounds()[0];
    let extent = stopped(&round["quotas"], &group);
    assert_eq!(
        round["footprint"].get("quotas"),
        None,
        "the server has none"
    );
    assert_eq!(record.at("/machine/cpu_quota"), 0.05);
    let allowed = round["footprint"]["cpus_allowed"].as_f64();
    assert!(allowed >= Some(1.0), "{allowed:?}");
    let wanted = format!(
        "weigh's CPU quota of {CPUS} ({}) throttled it {extent}",
        group.0.display()
    );
    let found = sentences(&record, "quota");
    assert!(
        found.len() == 1 && found[0].starts_with(&wanted),
        "{found:?}"
    );
    assert!(found[0].ends_with("the quota limited the load, not the server"));
    assert!(words(&said).contains(&wanted), "{}", said.out);
    assert_eq!(
        sentences(&record, "limit"),
        [""; 0],
        "nobody else is accused"
    );
    assert_eq!(sentences(&record, "waiting"), [""; 0]);
}

#[test]
fn a_quota_of_the_server_is_blamed_and_it_is_measured_against_its_quota() {
    let Some(group) = Group::new("server") else {
        return;
    };
    let bench = Bench::new();
    let server = Reference::start(&bench);
    fs::write(group.procs(), server.id().to_string()).unwrap();
    let line = format!("{}/100.html -c 2 -d 1s --rounds 1 --warmup 0", server.at());
    let (said, record) = bench.run(&line);
    said.ended(0);
    let round = &record.rounds()[0];
    let extent = stopped(&round["footprint"]["quotas"], &group);
    assert_eq!(round.get("quotas"), None, "weigh has none");
    assert_eq!(round["footprint"]["cpus_allowed"], 0.05);
    let quota = format!("the server's CPU quota of {CPUS} ({})", group.0.display());
    let found = sentences(&record, "quota");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with(&format!("{quota} throttled it {extent}, for ")),
        "{found:?}"
    );
    let limit = sentences(&record, "limit");
    assert!(
        limit[0].starts_with(&format!("{quota} was the bottleneck: it used ")),
        "{limit:?}"
    );
    assert!(words(&said).contains("% of 0.05 CPUs busy"), "{}", said.out);
    drop(server);
}
