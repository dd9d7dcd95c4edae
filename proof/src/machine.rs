//! Where it runs: what has to be known to read the figures, and which CPUs are used.

use crate::catalogue::Versions;
use crate::programs::root;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::process::Command;

/// The machine, as far as the figures depend on it.
pub struct Machine {
    model: String,
    kernel: String,
    virtualised: bool,
    cpus: Vec<usize>,
    load: String,
    commit: String,
}

impl Machine {
    /// Reads what Linux says.
    ///
    /// # Errors
    /// /proc is not there, or we may run nowhere.
    pub fn look() -> Result<Machine> {
        let read = |path: &str| {
            fs::read_to_string(path).with_context(|| format!("{path} could not be read"))
        };
        let info = read("/proc/cpuinfo")?;
        let value = |key: &str| {
            let line = info.lines().find(|line| line.starts_with(key))?;
            line.split_once(':')
                .map(|(_, value)| value.trim().to_owned())
        };
        let status = read("/proc/self/status")?;
        let allowed = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let cpus = allowed.map(list).unwrap_or_default();
        anyhow::ensure!(
            !cpus.is_empty(),
            "Linux does not say on which CPUs this may run"
        );
        Ok(Machine {
            model: value("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            virtualised: value("flags").is_some_and(|flags| flags.contains("hypervisor")),
            kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            load: read("/proc/loadavg")?
                .split(' ')
                .next()
                .unwrap_or("?")
                .to_owned(),
            commit: commit(),
            cpus,
        })
    }

    /// The CPU that the responder, or whatever serves, is held on.
    pub fn responder(&self) -> usize {
        self.cpus[0]
    }

    /// The CPU that the tools are held on: another one, where there is one.
    pub fn client(&self) -> usize {
        self.cpus[self.cpus.len() - 1]
    }

    /// The machine in one line.
    pub fn sentence(&self) -> String {
        let virtualised = match self.virtualised {
            true => ", virtualised",
            false => "",
        };
        let Machine {
            model,
            kernel,
            load,
            ..
        } = self;
        let cpus = self.cpus.len();
        format!("{model}, {cpus} CPUs{virtualised}, Linux {kernel}, load {load} before")
    }

    /// What was built, as git names it.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// For people: the machine, the versions of what is not ours (`kind`: tools or servers), and what is not there.
    pub fn text(&self, kind: &str, versions: &Versions, missing: &[&'static str]) -> String {
        let mut text = String::new();
        let mut line =
            |line: String| writeln!(text, "{line}").expect("writing to a String cannot fail");
        line(format!("machine    {}", self.sentence()));
        line(format!("source     {}", self.commit));
        line(match self.client() == self.responder() {
            true => "CPUs       one for client and server, so that they take turns: compare with nothing else".into(),
            false => format!("CPUs       client on {}, server on {}", self.client(), self.responder()),
        });
        for (name, version) in versions {
            line(format!("{kind:<10} {name}: {version}"));
        }
        for name in missing {
            line(format!(
                "missing    {name} is not installed and was not run"
            ));
        }
        text
    }

    /// For programs.
    pub fn value(&self, versions: &Versions) -> Value {
        json!({
            "cpu": self.model,
            "cpus": self.cpus,
            "virtualised": self.virtualised,
            "kernel": self.kernel,
            "load_before": self.load,
            "client_cpu": self.client(),
            "responder_cpu": self.responder(),
            "commit": self.commit,
            "versions": versions,
        })
    }
}

/// `0-2,5` as numbers.
fn list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// What was built, as git names it.
fn commit() -> String {
    let answer = Command::new("git")
        .current_dir(root())
        .args(["describe", "--always", "--dirty"])
        .output();
    match answer {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => "not under git".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read_as_linux_writes_them() {
        let cases: [(&str, &[usize]); 4] = [
            ("\t0-1\n", &[0, 1]),
            ("3", &[3]),
            ("0,2-4,7", &[0, 2, 3, 4, 7]),
            ("", &[]),
        ];
        for (text, cpus) in cases {
            assert_eq!(list(text), cpus, "{text}");
        }
    }
}
