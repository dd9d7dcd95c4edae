//! Where it runs: what has to be known to read the figures, and which CPUs are used.

use crate::catalogue::Versions;
use crate::programs::root;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::process::Command;

/// The machine, as far as the figures depend on it.
pub struct Machine {
    found: record::Machine,
    commit: String,
}

impl Machine {
    /// Reads what Linux says. From here on this process may open as many files as the hard limit allows.
    ///
    /// # Errors
    /// We may run on no CPU.
    pub fn look() -> Result<Machine> {
        let found = host::machine();
        ensure!(
            !found.cpus_allowed.is_empty(),
            "Linux does not say on which CPUs this may run"
        );
        Ok(Machine {
            found,
            commit: commit(),
        })
    }

    /// The CPU that the responder, or any other server, runs on.
    pub fn responder(&self) -> u32 {
        self.found.cpus_allowed[0]
    }

    /// The CPU that the tools are held on: another one, where there is one.
    pub fn client(&self) -> u32 {
        self.found.cpus_allowed[self.found.cpus_allowed.len() - 1]
    }

    /// The machine and its kernel in one line.
    pub fn hardware(&self) -> String {
        let found = &self.found;
        let virtualised = found.virtualised.as_ref().map_or("", |_| ", virtualised");
        let [cpu, kernel] =
            [&found.cpu_model, &found.kernel].map(|fact| fact.as_deref().unwrap_or("?"));
        let cpus = found.cpus_allowed.len();
        format!("{cpu}, {cpus} CPUs{virtualised}, Linux {kernel}")
    }

    /// The machine in one line, with the load of other programs before anything is measured.
    pub fn sentence(&self) -> String {
        let load = self.found.load_average.map(|load| format!("{load:.2}"));
        let load = load.as_deref().unwrap_or("?");
        format!("{}, load {load} before", self.hardware())
    }

    /// What was built, as git names it.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// For people: the machine, the versions of what is not ours (`kind`: tools or servers), and what is not installed.
    pub fn text(&self, kind: &str, versions: &Versions, missing: &[&'static str]) -> String {
        let (sentence, commit) = (self.sentence(), &self.commit);
        let cpus = match (self.client(), self.responder()) {
            (client, server) if client == server => {
                "one for client and server, so that they take turns: compare with nothing else"
                    .into()
            }
            (client, server) => format!("client on {client}, server on {server}"),
        };
        let mut text = format!("machine    {sentence}\nsource     {commit}\nCPUs       {cpus}\n");
        for (name, version) in versions {
            text += &format!("{kind:<10} {name}: {version}\n");
        }
        for name in missing {
            text += &format!("missing    {name} is not installed and was not run\n");
        }
        text
    }

    /// For programs.
    pub fn value(&self, versions: &Versions) -> Value {
        let found = &self.found;
        json!({
            "cpu": found.cpu_model,
            "cpus": found.cpus_allowed,
            "virtualised": found.virtualised.is_some(),
            "kernel": found.kernel,
            "load_before": found.load_average.map(|load| format!("{load:.2}")),
            "client_cpu": self.client(),
            "responder_cpu": self.responder(),
            "commit": self.commit,
            "versions": versions,
        })
    }
}

/// What was built, as git names it.
fn commit() -> String {
    let mut git = Command::new("git");
    git.current_dir(root())
        .args(["describe", "--always", "--dirty"]);
    let described = git.output();
    let described = described.ok().filter(|output| output.status.success());
    described.map_or("not under git".to_owned(), |output| {
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    })
}
