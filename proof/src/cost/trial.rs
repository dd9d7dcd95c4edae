//! One run of one tool against a responder of its own, and what it cost.
//!
//! Each run gets a fresh responder on a fresh port: so none inherits another's sockets in TIME_WAIT, and the responder's
//! luck with its memory is not one tool's for a whole point.

use super::ensure_all;
use super::tools::Ask;
use crate::catalogue::Tool;
use crate::catalogue::reports::Said;
use crate::machine::Machine;
use crate::programs;
use crate::serving::Responder;
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What one run has cost.
#[derive(Debug, Clone, Serialize)]
pub struct Trial {
    /// Whose.
    pub tool: &'static str,
    /// In which round.
    pub round: u32,
    /// Of the floor: whose neighbour it was.
    pub beside: Option<&'static str>,
    /// Exchanges that it made.
    pub exchanges: u64,
    wall_us: f64,
    user_us: f64,
    system_us: f64,
    peak_kb: f64,
}

impl Trial {
    /// CPU time, user's and system's, in µs.
    pub fn cpu_us(&self) -> f64 {
        self.user_us + self.system_us
    }

    /// CPU time of an exchange in µs.
    pub fn cpu_us_per_exchange(&self) -> f64 {
        self.cpu_us() / self.exchanges as f64
    }

    /// Exchanges each second of the process's life.
    pub fn per_second(&self) -> f64 {
        self.exchanges as f64 / self.wall_us * 1e6
    }

    /// Peak memory in MB (10^6 bytes).
    pub fn peak_mb(&self) -> f64 {
        self.peak_kb * 1.024e-3
    }

    /// A run of one exchange that cost `cpu_us`.
    #[cfg(test)]
    pub fn example(tool: &'static str, round: u32, cpu_us: f64) -> Trial {
        Trial {
            tool,
            round,
            beside: None,
            exchanges: 1,
            wall_us: cpu_us,
            user_us: 0.0,
            system_us: cpu_us,
            peak_kb: 0.0,
        }
    }
}

/// Where tools run: CPUs and our own programs.
pub struct Bench {
    client_cpu: u32,
    responder_cpu: u32,
    pinned: PathBuf,
    responder: PathBuf,
    /// Where weigh records to, and strace.
    folder: PathBuf,
}

impl Bench {
    /// The programs must have been built.
    ///
    /// # Errors
    /// Cargo does not say where they lie, or nothing can be written beside them.
    pub fn new(machine: &Machine) -> Result<Bench> {
        let pinned = programs::path("pinned")?;
        let folder = pinned.with_file_name("cost");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("{} could not be made", folder.display()))?;
        Ok(Bench {
            client_cpu: machine.client(),
            responder_cpu: machine.responder(),
            responder: programs::path("bare_responder")?,
            pinned,
            folder,
        })
    }

    /// A file in the folder for what runs leave behind.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn responder(&self, ask: &Ask) -> Vec<String> {
        let (program, cpu) = (self.responder.display(), self.responder_cpu);
        let close = if ask.close { " --close" } else { "" };
        let line = format!(
            "{program} 127.0.0.1:0 --cpu {cpu} --body {}{close}",
            ask.body
        );
        line.split(' ').map(str::to_owned).collect()
    }

    /// Runs `tool` once.
    ///
    /// # Errors
    /// It could not be started, failed, or did not do what it was asked to.
    pub fn run(&self, tool: &'static Tool, ask: &Ask, round: u32) -> Result<Trial> {
        self.run_under(&[], tool, ask, round)
            .with_context(|| format!("{} at {} connections", tool.name, ask.connections))
    }

    /// Runs `tool` once as an argument of the command `under`.
    ///
    /// # Errors
    /// As [`Bench::run`].
    pub fn run_under(
        &self,
        under: &[String],
        tool: &'static Tool,
        ask: &Ask,
        round: u32,
    ) -> Result<Trial> {
        let responder = Responder::start(&self.responder(ask))?;
        let values = ask.values(responder.at, &self.folder);
        let output = Command::new(&self.pinned)
            .arg(self.client_cpu.to_string())
            .args(under)
            .args(tool.command(&values, &self.folder)?)
            .stdin(Stdio::null())
            .output()
            .context("`pinned` could not be started")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let complaint = || String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "{}", complaint());
        let (text, cost) = split(&text)?;
        ensure!(cost.status == 0, "it ended badly:\n{text}{}", complaint());
        let said = Said {
            text,
            folder: &self.folder,
        };
        let done = ask
            .done(tool, &said)
            .with_context(|| format!("something failed:\n{text}{}", complaint()))?;
        if !tool.timed {
            ensure_all(tool.name, done, ask)?;
        }
        Ok(Trial {
            tool: tool.name,
            round,
            beside: None,
            exchanges: done,
            wall_us: cost.wall_us,
            user_us: cost.user_us,
            system_us: cost.system_us,
            peak_kb: cost.peak_kb,
        })
    }
}

/// What `pinned` says.
struct Cost {
    wall_us: f64,
    user_us: f64,
    system_us: f64,
    peak_kb: f64,
    status: i64,
}

/// The tool's own output, and the line that `pinned` adds to it.
fn split(text: &str) -> Result<(&str, Cost)> {
    let (text, line) = text
        .trim_end()
        .rsplit_once('\n')
        .context("`pinned` said nothing")?;
    let value: Value = serde_json::from_str(line).context("`pinned` said something else")?;
    let number = |key: &str| {
        let number = value.get(key).and_then(Value::as_f64);
        number.with_context(|| format!("`pinned` did not say {key}"))
    };
    let cost = Cost {
        wall_us: number("wall_us")?,
        user_us: number("user_us")?,
        system_us: number("system_us")?,
        peak_kb: number("peak_kb")?,
        status: number("status")? as i64,
    };
    Ok((text, cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launchers_line_is_told_from_the_tools() {
        let line = "{\"wall_us\": 5, \"user_us\": 2, \"system_us\": 3, \"peak_kb\": 1000, \"status\": 256}";
        let text = format!("one\ntwo\n\n{line}\n");
        let (said, cost) = split(&text).unwrap();
        assert_eq!(said, "one\ntwo\n");
        assert_eq!(
            (cost.wall_us, cost.user_us, cost.system_us),
            (5.0, 2.0, 3.0)
        );
        assert_eq!((cost.peak_kb, cost.status), (1000.0, 256));
        assert!(split("one\ntwo\n").is_err());
    }
}
