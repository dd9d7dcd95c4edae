//! The command line and the conf file, and the loads that they ask for.

use super::config;
use super::options::{self, Values};
use crate::printf::{decimal, general};
use crate::{Said, Settings, httperf};
use std::path::{Path, PathBuf};

/// Perl's exit status where a program ends itself with a complaint.
const DIED: u8 = 255;
/// More rates than anyone waits for.
const MOST_RATES: usize = 10_000;

/// What is measured.
#[derive(Debug)]
pub(super) struct Command {
    /// Names of the hosts, one or two.
    pub(super) hosts: Vec<String>,
    /// Each rate with every host, in the order in which they are loaded.
    pub(super) tests: Vec<Test>,
    /// What stands between two columns.
    pub(super) separator: char,
    pub(super) file: Option<PathBuf>,
    pub(super) is_quiet: bool,
    pub(super) is_debug: bool,
    /// What is said on standard error before the first load.
    pub(super) notices: String,
}

/// One run of httperf, as autobench would start it.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) rate: f64,
    pub(super) command: httperf::Command,
    pub(super) settings: Settings,
    /// The command line of httperf.
    pub(super) line: String,
}

/// Reads the words and the file of the home folder; what is printed instead where nothing is to be loaded.
pub(super) fn read(words: &[String]) -> Result<Command, Said> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let path = Path::new(&home).join(".autobench.conf");
    let text = std::fs::read_to_string(&path).ok();
    configured(words, text.as_deref(), &path)
}

fn configured(words: &[String], conf: Option<&str>, path: &Path) -> Result<Command, Said> {
    let (given, complaints) = options::read(words);
    let names_hosts = given.contains_key("host1")
        && (is_true(&given, "single_host") || given.contains_key("host2"));
    let text = match conf {
        Some(text) => text,
        None if names_hosts => config::SHIPPED,
        None => return Err(installed(path)),
    };
    let (mut values, warnings) = config::read(text);
    values.extend(given);
    if is_true(&values, "version") {
        return Err(Said::out(ABOUT));
    }
    let separator = match values.get("output_fmt").map(String::as_str) {
        Some("csv") => ',',
        Some("tsv") => '\t',
        other => {
            let other = other.unwrap_or_default();
            return Err(died(&format!("Output Format '{other}' not supported")));
        }
    };
    check(&values)?;
    let mut command = Command {
        hosts: Vec::new(),
        tests: Vec::new(),
        separator,
        file: values
            .get("file")
            .filter(|_| is_true(&values, "file"))
            .map(PathBuf::from),
        is_quiet: is_true(&values, "quiet"),
        is_debug: is_true(&values, "debug"),
        notices: warnings + &complaints,
    };
    let numbers = match is_true(&values, "single_host") {
        true => &["1"][..],
        false => &["1", "2"],
    };
    for number in numbers {
        command.hosts.push(values[&format!("host{number}")].clone());
    }
    for rate in rates(&values)? {
        for number in numbers {
            command.tests.push(test(&values, number, rate)?);
        }
    }
    Ok(command)
}

/// Whether Perl takes the value of `key` for true.
fn is_true(values: &Values, key: &str) -> bool {
    let value = values.get(key).map(String::as_str);
    !matches!(value, None | Some("" | "0"))
}

/// Refuses what is missing.
fn check(values: &Values) -> Result<(), Said> {
    let mut needed = vec![
        "low_rate",
        "high_rate",
        "rate_step",
        "host1",
        "uri1",
        "port1",
        "num_conn",
        "num_call",
        "timeout",
    ];
    if !is_true(values, "single_host") {
        needed.extend(["host2", "uri2", "port2"]);
    }
    if is_true(values, "const_test_time") {
        needed.retain(|key| *key != "num_conn");
        let seconds = values.get("const_test_time").and_then(|text| decimal(text));
        if seconds.is_none_or(|seconds| seconds < 10.0) {
            return Err(died(
                "--const_test_time must be >= 10. See autobench(1) for details",
            ));
        }
    }
    let missing = needed.into_iter().filter(|key| !is_true(values, key));
    let missing: String = missing
        .map(|key| format!("Argument {key} not supplied\n"))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(died(&format!(
            "{missing}Please run autobench again, supplying the missing arguments\n\
             either on the command line, or in the config file"
        ))),
    }
}

/// From the lowest to the highest.
fn rates(values: &Values) -> Result<Vec<f64>, Said> {
    let number = |key: &str| {
        let number = values.get(key).and_then(|text| decimal(text));
        let number = number.filter(|number| *number > 0.0);
        number.ok_or_else(|| died(&format!("autobench: {key} must be a number above 0")))
    };
    let (low, high, step) = (
        number("low_rate")?,
        number("high_rate")?,
        number("rate_step")?,
    );
    let steps = ((high - low) / step + 1e-9).floor();
    if steps >= MOST_RATES as f64 {
        return Err(died(&format!(
            "autobench: weigh measures at most {MOST_RATES} rates; raise rate_step"
        )));
    }
    let count = if steps < 0.0 { 0 } else { steps as usize + 1 };
    Ok((0..count).map(|place| low + place as f64 * step).collect())
}

/// The test of a host at a rate.
fn test(values: &Values, number: &str, rate: f64) -> Result<Test, Said> {
    let value = |key: &str| values.get(key).cloned().unwrap_or_default();
    let connections = match is_true(values, "const_test_time") {
        true => {
            let seconds = decimal(&value("const_test_time")).unwrap_or(0.0);
            general((rate * seconds).floor(), 15)
        }
        false => value("num_conn"),
    };
    let mut words = vec![
        ("server".to_owned(), value(&format!("host{number}"))),
        ("uri".to_owned(), value(&format!("uri{number}"))),
        ("num-conn".to_owned(), connections),
        ("num-call".to_owned(), value("num_call")),
        ("timeout".to_owned(), value("timeout")),
        ("rate".to_owned(), general(rate, 15)),
        ("port".to_owned(), value(&format!("port{number}"))),
    ];
    let more = values.iter().filter_map(|(key, value)| {
        let option = key.strip_prefix("httperf_")?;
        let value = if value == "NULL" { "" } else { value };
        Some((
            option.to_owned(),
            value.trim_matches(['\'', '"']).to_owned(),
        ))
    });
    words.extend(more);
    if !value("add_header").trim().is_empty() {
        words.push(("add-header".to_owned(), value("add_header")));
    }
    let line = words
        .iter()
        .map(|(option, value)| format!(" --{option} {value}"));
    let line = format!("httperf{}", line.collect::<String>());
    let words = words.into_iter().flat_map(|(option, value)| {
        let value = (!value.is_empty()).then_some(value);
        [Some(format!("--{option}")), value]
    });
    let words: Vec<String> = words.flatten().collect();
    let command = httperf::read(&words)?;
    Ok(Test {
        rate,
        settings: command.settings()?,
        command,
        line,
    })
}

/// The conf file is written, and nothing else happens.
fn installed(path: &Path) -> Said {
    Said {
        out: "Installation complete - please rerun autobench\n".to_owned(),
        err: format!(
            "Autobench configuration file not found\n - installing new copy in {}\n",
            path.display()
        ),
        files: vec![(path.to_owned(), config::SHIPPED.to_owned())],
        status: 0,
    }
}

/// A complaint as Perl ends a program with.
fn died(why: &str) -> Said {
    Said {
        err: format!("{why}\n"),
        status: DIED,
        ..Said::default()
    }
}

const ABOUT: &str = "\
Autobench 2.1.2
Copyright (C) Julian T. J. Midgley <jtjm@xenoclast.org> 2003
";

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str, conf: Option<&str>) -> Result<Command, Said> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        configured(&words, conf, Path::new("/me/.autobench.conf"))
    }

    #[test]
    fn each_rate_is_measured_with_every_host() {
        let line =
            "--host1 a --host2 b --low_rate 40 --high_rate 200 --rate_step 80 --num_conn 100";
        let read = command(line, Some(config::SHIPPED)).unwrap();
        let tests = read.tests.iter().map(|test| test.line.as_str());
        let wanted = ["40", "120", "200"].map(|rate| {
            ["a", "b"].map(|host| {
                format!(
                    "httperf --server {host} --uri / --num-conn 100 --num-call 10 --timeout 5 --rate {rate} --port 80"
                )
            })
        });
        assert!(tests.eq(wanted.iter().flatten().map(String::as_str)));
        assert_eq!(read.hosts, ["a", "b"]);
    }

    #[test]
    fn the_command_line_wins_over_the_file_and_the_file_may_name_options_of_httperf() {
        let conf = format!(
            "{}httperf_wset = 10,0.5\nhttperf_hog = NULL\nsingle_host = 1\nquiet = 0\n",
            config::SHIPPED.replace("output_fmt = tsv", "output_fmt = csv")
        );
        let read = command(
            "--const_test_time 10 --high 30 --host1 a --file f",
            Some(&conf),
        )
        .unwrap();
        assert_eq!(
            (read.separator, read.is_quiet, read.hosts.len()),
            (',', false, 1)
        );
        assert_eq!(read.file.as_deref(), Some(Path::new("f")));
        let last = &read.tests[1];
        assert_eq!((last.command.connections, last.command.calls), (300, 10));
        assert!(
            last.line.ends_with(" --port 80 --hog  --wset 10,0.5"),
            "{}",
            last.line
        );
    }

    #[test]
    fn what_is_missing_or_wrong_ends_it_with_perls_status() {
        let conf = "output_fmt = tsv\nhost1 = a\nuri1 = /\nport1 = 80\nnum_conn = 9\nnum_call = 1\ntimeout = 5\n";
        let cases = [
            (
                "--single_host",
                "Argument low_rate not supplied\nArgument high_rate",
            ),
            ("--output_fmt x", "Output Format 'x' not supported\n"),
            (
                "--single --low 1 --high 2 --rate 1 --const 5",
                "--const_test_time must be >= 10. See autobench(1) for details\n",
            ),
            ("--low 1 --high 2 --rate 1", "Argument host2 not supplied\n"),
        ];
        for (line, wanted) in cases {
            let said = command(line, Some(conf)).unwrap_err();
            assert_eq!(said.status, 255, "{line}");
            assert!(said.err.starts_with(wanted), "{line}: {}", said.err);
        }
        let none = command("--single --low 5 --high 2 --rate 1", Some(conf)).unwrap();
        assert!(none.tests.is_empty());
    }

    #[test]
    fn without_a_conf_file_it_is_installed_unless_the_command_line_names_the_hosts() {
        let said = command("--quiet", None).unwrap_err();
        assert_eq!(said.status, 0);
        assert_eq!(said.out, "Installation complete - please rerun autobench\n");
        assert_eq!(said.files[0].0, Path::new("/me/.autobench.conf"));
        let read = command("--single_host --host1 a", None).unwrap();
        assert_eq!(read.tests.len(), 19);
        assert!(command("--host1 a", None).is_err());
    }
}
