//! `weigh as TOOL ...`: another tool's command line, carried out by our engine. `weigh dropins DIR`: links by which tools are called.
//!
//! A drop-in reads words into settings and writes text ([`dropins`]); here the settings become a plan, as with our own options,
//! and the text goes to the streams.

use crate::environment::ThisMachine;
use crate::exit::Exit;
use crate::run::{carry_out, tell_record};
use crate::settings::Output;
use crate::{args, output};
use anyhow::{Context, Result, bail};
use campaign::{PlannedRound, View};
use dropins::{DROPINS, Dropin, Reading, Report, Said, Settings};
use engine::Progress;
use plan::settings::settings;
use plan::{Draft, Habits, Plan, Takes, shell_word};
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;

/// Carries out what another tool would.
pub fn carry(flags: &args::AsFlags) -> Result<Exit> {
    let (name, words) = flags.words.split_first().context("a tool is missing")?;
    let Some(dropin) = dropins::find(name) else {
        bail!(
            "weigh does not speak the command line of `{name}`; it speaks those of {}",
            names()
        );
    };
    let mut report = match (dropin.read)(words) {
        Reading::Said(said) => return say(&said),
        Reading::Load(report) => report,
    };
    let loads = report.loads();
    if flags.translate {
        let commands: String = loads.iter().map(|load| command(load) + "\n").collect();
        output::print(&commands)?;
        return Ok(Exit::YES);
    }
    let mut exit = Exit::YES;
    for (load, settings) in loads.iter().enumerate() {
        let plan = match plan(settings) {
            Ok(plan) => plan,
            Err(error) => return say(&report.failed(load, &format!("{error:#}"))),
        };
        say(&report.begins(load))?;
        let mut view = Face {
            report: report.as_mut(),
            load,
        };
        let outcome = match carry_out(plan, None, &mut view) {
            Ok(outcome) => outcome,
            Err(error) => {
                let failed = say(&report.failed(load, &format!("{error:#}")))?;
                match report.goes_on(false) {
                    true => continue,
                    false => return Ok(failed),
                }
            }
        };
        tell_record(&outcome, &Output::quiet());
        exit = say(&report.ends(load, &outcome.run))?;
        if outcome.run.interrupted {
            return Ok(Exit::INTERRUPTED);
        }
        if !report.goes_on(true) {
            break;
        }
    }
    Ok(exit)
}

/// The plan of a load.
fn plan(settings: &Settings) -> Result<Plan> {
    let mut draft = Draft::new(Habits::RUN);
    for (name, value) in settings {
        let set = draft.set(name, value);
        set.map_err(|why| anyhow::anyhow!("--{name}: {why}"))?;
    }
    Ok(draft.plan(&ThisMachine)?)
}

/// The command of ours that makes the same load.
fn command(load: &Settings) -> String {
    let mut words = vec!["weigh".to_owned(), "run".to_owned()];
    for (name, value) in load {
        let row = settings().find(|row| row.name == *name);
        match row.map(|row| row.takes) {
            Some(Takes::Operands(_)) => words.push(shell_word(value).into_owned()),
            Some(Takes::Nothing) => words.push(format!("--{name}")),
            _ => words.extend([format!("--{name}"), shell_word(value).into_owned()]),
        }
    }
    words.join(" ")
}

/// Writes what is said to the streams; its status is the exit status.
fn say(said: &Said) -> Result<Exit> {
    if !said.out.is_empty() {
        output::print(&said.out)?;
    }
    let _ = anstream::stderr().write_all(said.err.as_bytes()); // there is no other place to write
    for (path, contents) in &said.files {
        fs::write(path, contents)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(Exit::of_original(said.status))
}

/// Shows the progress of a load as the original would.
struct Face<'a> {
    report: &'a mut dyn Report,
    load: usize,
}

impl View for Face<'_> {
    fn progress(&mut self, _: &PlannedRound, progress: Progress) {
        self.tell(progress.ok + progress.errors);
    }

    fn measured(&mut self, round: &record::Round) {
        self.tell(round.tally.ok + round.tally.errors());
    }
}

impl Face<'_> {
    fn tell(&mut self, ended: u64) {
        let _ = say(&self.report.progress(self.load, ended)); // what cannot be printed now is said when the result cannot be
    }
}

fn names() -> String {
    let names: Vec<&str> = DROPINS.iter().map(|dropin| dropin.name).collect();
    names.join(", ")
}

/// Puts a link for each tool into the folder, by which it is called without `weigh as`.
pub fn link(flags: &args::DropinsFlags) -> Result<Exit> {
    let weigh = std::env::current_exe().context("weigh cannot find its own program file")?;
    let shown = flags.folder.display();
    fs::create_dir_all(&flags.folder).with_context(|| format!("{shown} cannot be made"))?;
    for Dropin { name, about, .. } in DROPINS {
        let link = flags.folder.join(name);
        let is_ours = fs::read_link(&link).is_ok_and(|to| to == weigh);
        if !is_ours {
            if link.symlink_metadata().is_ok() {
                bail!(
                    "{} is there already and is no link to weigh; name another folder",
                    link.display()
                );
            }
            symlink(&weigh, &link).with_context(|| format!("{} cannot be made", link.display()))?;
        }
        output::print(&format!("{}   {about}\n", link.display()))?;
        if let Some(hidden) = hidden(name, &link) {
            output::message(&format!(
                "weigh: {} is found instead of {hidden} wherever {shown} stands before its folder in PATH",
                link.display()
            ));
        }
    }
    Ok(Exit::YES)
}

/// The program of this name that is found in PATH, if it is another one.
fn hidden(name: &str, link: &std::path::Path) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let mut all = std::env::split_paths(&path).map(|folder| folder.join(name));
    let found = all.find(|found| found != link && found.is_file())?;
    let is_ours = fs::read_link(&found).ok() == std::env::current_exe().ok();
    (!is_ours).then(|| found.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Verb};
    use clap::Parser;

    /// The load of a command line.
    fn load(tool: &str, words: &str) -> Settings {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        match (dropins::find(tool).unwrap().read)(&words) {
            Reading::Load(report) => report.loads().remove(0),
            Reading::Said(said) => panic!("{tool} {words:?}: {said:?}"),
        }
    }

    /// The words of a command as a shell takes them, of which only single quotes matter here.
    fn words(command: &str) -> Vec<String> {
        let parts = command.split('\'').enumerate();
        let words = parts.flat_map(|(place, part)| match place % 2 {
            1 => vec![part.to_owned()],
            _ => part.split_whitespace().map(str::to_owned).collect(),
        });
        words.collect()
    }

    #[test]
    fn the_command_that_is_shown_makes_the_same_plan() {
        let url = "http://127.0.0.1:1/a";
        let lines = [
            ("ab", "-k -n 10000 -c 50 -H X-A:1 -C a=b -A u:p"),
            ("ab", "-t 5 -c 3 -s 7 -m PATCH"),
            ("ab", "-n 9 -i -l -r -d -S -q -B 127.0.0.2"),
            ("ab", "-n 9 -p Cargo.toml -T text/x"),
            ("weighttp", "-n 1000 -c 10 -t 2 -k -H X-A:1"),
            (
                "weighttp",
                "--dropin-version 0.5 -n 10 -k -K 4 -m HEAD -s 3 -C a=b",
            ),
            ("wrk", "-t2 -c50 -d1m --latency --timeout 5s -H X-A:1"),
            (
                "httperf",
                "--server 127.0.0.1 --port 1 --rate 20 --num-conns 50 --num-calls 4 --timeout 5",
            ),
            (
                "httperf",
                "--server 127.0.0.1 --num-calls 4 --burst-length 2 --wset 9,0.5",
            ),
            (
                "autobench",
                "--single_host --host1 127.0.0.1 --low_rate 40 --num_conn 200",
            ),
        ];
        for (tool, line) in lines {
            let load = load(tool, &format!("{line} {url}"));
            let ours = plan(&load).unwrap();
            let command = command(&load);
            let cli = Cli::try_parse_from(words(&command)).unwrap();
            let Verb::Run(flags) = cli.verb else {
                panic!("{command}")
            };
            let theirs = Plan {
                seed: ours.seed,
                ..flags.0.plan().unwrap()
            };
            assert_eq!(ours, theirs, "{tool} {line}: {command}");
        }
    }
}
