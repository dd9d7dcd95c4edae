//! Cases, as `catalogue/compare.toml` describes them, and the commands of their servers.

use crate::catalogue::{Server, named, read, rows, text, write};
use crate::serving::running::values;
use crate::serving::site::Site;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use units::Nanos;

/// Stands for the port in a configuration, until the server is started and the port is known.
const PORT: &str = "@PORT@";

/// A row of `catalogue/compare.toml`, where the fields are explained.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name in the table and the journal.
    #[serde(deserialize_with = "text")]
    pub name: &'static str,
    /// What b has and a has not.
    pub differs: String,
    /// How many comparisons there are.
    pub runs: u32,
    /// What is requested.
    pub path: String,
    /// The server that the other is compared with.
    pub a: Side,
    /// The other.
    pub b: Side,
    /// What b costs more, in per cent of CPU time per request; none where that is not known.
    pub planted: Option<f64>,
    /// Whether b must cost more, though it is not known how much.
    #[serde(default)]
    pub more: bool,
    /// Whether conditions differ.
    #[serde(default)]
    pub unequal: bool,
    /// The load generator with which the two are compared as well.
    pub beside: Option<String>,
    /// Whether and when weigh is killed.
    pub kills: Option<Kills>,
}

/// One of the two servers.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Side {
    work_us: Option<u64>,
    server: Option<String>,
    replace: BTreeMap<String, String>,
}

/// When weigh is killed.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kills {
    /// At a random moment of its first so many milliseconds.
    pub within_ms: u64,
    /// So many milliseconds after that, everything that it started must be gone.
    pub patience_ms: u64,
}

/// All cases, in the order of the table.
pub static CASES: LazyLock<Vec<Case>> =
    LazyLock::new(|| rows("case", include_str!("../../catalogue/compare.toml")));

impl Case {
    /// a's work, from which is computed what b works more; none where nothing is planted.
    pub fn planted_on(&self) -> Option<Nanos> {
        self.planted.filter(|share| *share > 0.0)?;
        self.a.work()
    }

    /// The names of the programs that are needed and not installed.
    pub fn missing(&self) -> Vec<&str> {
        let servers = [&self.a, &self.b].into_iter().filter_map(Side::row);
        let absent = servers.filter(|server| !server.is_installed());
        let tool = self.beside.as_deref();
        let tool = tool.filter(|name| !crate::catalogue::tool(name).is_installed());
        absent.map(|server| server.name).chain(tool).collect()
    }
}

impl Side {
    /// How long the server works for each request; none of one that is not ours.
    pub fn work(&self) -> Option<Nanos> {
        self.work_us.map(Nanos::from_micros)
    }

    /// Its row of the catalogue; none of a server of ours.
    pub fn row(&self) -> Option<&'static Server> {
        self.server.as_deref().map(named)
    }

    /// Returns the command by which `weigh compare` starts it, with `{port}` for the port. `weigh` is the program whose
    /// truth server works `extra` longer than the side says.
    ///
    /// # Errors
    /// Its configuration cannot be written, or has not once what is to be replaced.
    pub fn command(&self, weigh: &Path, extra: Nanos, site: &mut Site) -> Result<String> {
        if let Some(server) = self.row() {
            return self.configured(server, site);
        }
        let work = self.work().context("a side has work or a server")? + extra;
        Ok(format!(
            "exec '{}' serve --truth --listen 127.0.0.1:{{port}} --work {}ns",
            weigh.display(),
            work.as_nanos()
        ))
    }

    /// The command that writes the port into the configuration of a server of the catalogue, and becomes the server.
    fn configured(&self, server: &'static Server, site: &mut Site) -> Result<String> {
        let home = site.home()?;
        let words = server.command(&values(site, PORT, 1), &home)?;
        let words: Vec<String> = words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let (config, template) = (home.join("config"), home.join("template"));
        write(&template, &replaced(&read(&config)?, &self.replace)?)?;
        Ok(format!(
            "sed s/{PORT}/{{port}}/ {} > {} && exec {}",
            template.display(),
            config.display(),
            words.join(" ")
        ))
    }
}

/// Replaces each key, which must stand in `text` once, by its value.
fn replaced(text: &str, replace: &BTreeMap<String, String>) -> Result<String> {
    let mut text = text.to_owned();
    for (old, new) in replace {
        let count = text.matches(old).count();
        ensure!(count == 1, "`{old}` stands {count} times in {text}");
        text = text.replace(old, new);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::tool;

    #[test]
    fn every_case_can_be_carried_out_as_its_row_says() {
        let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
        for case in CASES.iter() {
            for side in [&case.a, &case.b] {
                assert!(side.work_us.is_some() != side.server.is_some(), "{case:?}");
                assert!(side.replace.is_empty() || side.server.is_some(), "{case:?}");
                side.row();
            }
            let plants = case.planted.is_some_and(|share| share > 0.0);
            assert_eq!(case.planted_on().is_some(), plants, "{case:?}");
            assert!(!plants || case.b.work() == case.a.work(), "{case:?}");
            if let Some(name) = &case.beside {
                assert!(tool(name).timed, "rounds of {name} have a length");
                let sides = [&case.a, &case.b];
                assert!(sides.iter().all(|side| side.row().is_some()), "{case:?}");
                assert!(sides.iter().all(|side| side.replace.is_empty()), "{case:?}");
            }
        }
    }

    #[test]
    fn the_numbers_of_comparisons_are_those_that_were_planned() {
        let runs = |planted: f64| -> u32 {
            let cases = CASES.iter().filter(|case| case.planted == Some(planted));
            cases.map(|case| case.runs).sum()
        };
        assert_eq!([0.0, 1.0, 2.0, 5.0].map(runs), [40, 20, 20, 20]);
    }

    #[test]
    fn a_server_of_ours_works_the_extra_time_as_well() {
        let case = CASES.iter().find(|case| case.name == "planted-2").unwrap();
        let mut site = Site::new().unwrap();
        let extra = Nanos::from_nanos(731);
        let command = case.b.command(Path::new("/opt/weigh"), extra, &mut site);
        assert_eq!(
            command.unwrap(),
            "exec '/opt/weigh' serve --truth --listen 127.0.0.1:{port} --work 20731ns"
        );
    }

    #[test]
    fn what_is_replaced_stands_there_once() {
        let replace = BTreeMap::from([("log off;".to_owned(), "log on;".to_owned())]);
        assert_eq!(replaced("a log off; b", &replace).unwrap(), "a log on; b");
        assert!(replaced("a b", &replace).is_err());
        assert!(replaced("log off; log off;", &replace).is_err());
    }

    #[test]
    fn configurations_have_what_is_replaced_in_them() {
        for case in CASES.iter().filter(|case| case.missing().is_empty()) {
            for side in [&case.a, &case.b]
                .into_iter()
                .filter(|side| side.row().is_some())
            {
                let mut site = Site::new().unwrap();
                let command = side
                    .command(Path::new("weigh"), Nanos::ZERO, &mut site)
                    .unwrap();
                assert!(command.contains("/{port}/"), "{command}");
                let template = site.path().with_file_name("start-1").join("template");
                let template = read(&template).unwrap();
                assert_eq!(template.matches(PORT).count(), 1, "{template}");
            }
        }
    }
}
