//! `weigh run`: one server, one load, some rounds.

use crate::exit::Exit;
use crate::output_file::OutputFile;
use crate::progress::Bar;
use crate::settings::{Given, Output};
use crate::{generate, output};
use anyhow::{Context, Result, bail};
use campaign::{Outcome, View};
use kernel::signals;
use plan::Plan;
use record::{Library, Run};
use report::Detail;
use std::path::{Path, PathBuf};

/// Carries out what is `given`.
pub fn run(given: &Given) -> Result<Exit> {
    let output = &given.output;
    OutputFile::check(&output.beside, output.record.as_deref(), &given.inputs())?;
    measure(given).inspect_err(|why| OutputFile::failed(&output.beside, why))
}

fn measure(given: &Given) -> Result<Exit> {
    let plan = given.plan()?;
    let output = &given.output;
    if output.dry_run {
        return dry_run(&plan.published());
    }
    if output.show_exchange {
        return show_exchange(plan);
    }
    let outcome = carry_out(plan, output.record.clone(), &mut Bar::new(output))?;
    let format = if output.json { "json" } else { "text" };
    let shown = show(&outcome, format, output);
    let shown = OutputFile::written(&output.beside, &outcome, output.quiet) && shown;
    Ok(Exit::of(&outcome, shown))
}

/// Carries `plan` out and shows its progress to `view`; the record goes to `output`, or to a new file in the state
/// directory.
pub fn carry_out(plan: Plan, output: Option<PathBuf>, view: &mut dyn View) -> Result<Outcome> {
    let stop = signals::measuring();
    let standard_output = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].map(Path::new);
    let path = match output {
        Some(path) if standard_output.contains(&&*path) => {
            bail!(
                "--output {} would mix with what is printed; use --json for the record on standard output",
                path.display()
            )
        }
        Some(path) => path,
        None => record::default_path(kernel::clock::realtime().as_secs(), std::process::id())
            .context("there is no state directory for the record; name a file with --output")?,
    };
    let generator = generate::command()?;
    let outcome = campaign::carry_out(plan, &path, &generator, stop.flag(), view);
    Ok(outcome?)
}

/// Prints what came of it, and where the record is. False when the result could not be printed.
pub fn show(outcome: &Outcome, format: &str, how: &Output) -> bool {
    let format = report::format(format).expect("a format of the table");
    let runs: &[Run] = std::slice::from_ref(&outcome.run);
    let printed = output::print(&(format.render)(runs, &how.look()));
    if let Err(error) = &printed {
        output::complain(error);
    }
    tell_record(outcome, how) && printed.is_ok()
}

/// Adds the record to the list of records and says where it is; false where there is none.
pub fn tell_record(outcome: &Outcome, how: &Output) -> bool {
    match &outcome.saved {
        Ok(path) => {
            let library = Library::of_user();
            let number = library.add(&outcome.run, path, how.name.as_ref(), false);
            let number = number.ok();
            if !how.quiet {
                let entry = number.and_then(|number| library.find(&number.to_string()));
                let name = entry.map_or(String::new(), |entry| entry.name);
                output::message(&saved(number, name, path, how));
            }
            if let Some(resume) = resume(&outcome.run, number, path) {
                output::message(&resume);
            }
        }
        Err(error) => output::complain(&anyhow::anyhow!("the record could not be saved: {error}")),
    }
    outcome.saved.is_ok()
}

/// How to go on with a sweep that was interrupted; none where nothing was.
fn resume(run: &Run, number: Option<u64>, path: &Path) -> Option<String> {
    let is_left = run.interrupted && run.is_sweep();
    is_left.then(|| resuming(run, number, path))
}

/// How to go on with the sweep that `run` records.
pub fn resuming(run: &Run, number: Option<u64>, path: &Path) -> String {
    let record = number.map_or_else(|| path.display().to_string(), |number| number.to_string());
    let command = match run.plan.withholds() {
        true => "the same command with",
        false => "weigh sweep",
    };
    format!("continue with: {command} --resume {record}")
}

/// `saved #41 base (run.json)   details: weigh report -v`: the number, the name, and the file where one was named.
fn saved(number: Option<u64>, name: String, path: &Path, how: &Output) -> String {
    let number = number.map(|number| format!("#{number}"));
    let name = Some(name).filter(|name| !name.is_empty());
    let is_told = how.record.is_some() || number.is_none();
    let path = is_told.then(|| path.display().to_string());
    let parts: Vec<String> = [number, name, path].into_iter().flatten().collect();
    let details = ["   details: weigh report -v", ""][usize::from(how.verbose)];
    format!("saved {}{details}", parts.join(" "))
}

/// Prints what would be done.
pub fn dry_run(plan: &Plan) -> Result<Exit> {
    let mut text = report::plan_text(plan, &output::look(Detail::Full));
    if let Some(endpoint) = plan.target.endpoints.first() {
        let job = engine::Job::new(plan.clone(), endpoint.clone())?;
        let first = job.first_requests(0, 1).pop();
        let first = first.context("there is no request")?;
        text.push_str("\nthe first request\n");
        text.push_str(&quoted("> ", first.head.bytes()));
        if !first.body.is_empty() {
            let length = units::bytes(first.body.len() as u64);
            text.push_str(&format!("  and a body of {length}\n"));
        }
    }
    output::print(&text)?;
    Ok(Exit::YES)
}

/// Sends one request and prints it with its response.
pub fn show_exchange(plan: Plan) -> Result<Exit> {
    let stop = signals::measuring();
    let mut seq = 0;
    let mut running = None;
    if let Some(server) = &plan.server {
        let (server, ready) = campaign::Running::start(server, &plan, seq, stop.flag())?;
        seq += ready.probes;
        running = Some(server);
    }
    let mut ring = kernel::Epoll::new().context("the kernel gives no epoll instance")?;
    let (probe, mut shown) = engine::probe(&mut ring, &plan, seq, 1, stop.flag())?;
    let shown = shown.pop().context("there is no request")?;
    let mut text = format!("* connected to {}\n", probe.endpoint);
    if let Some(encryption) = &probe.encryption {
        text.push_str(&format!("* encrypted: {encryption}\n"));
    }
    text.push_str(&quoted("> ", &shown.request_head));
    text.push_str(&quoted_body("> ", &shown.request_body));
    text.push_str(&quoted("< ", &shown.response_head));
    text.push_str(&quoted_body("< ", &shown.response_body));
    if shown.body_length > shown.response_body.len() as u64 {
        let length = units::bytes(shown.body_length);
        text.push_str(&format!("* the body goes on to {length}\n"));
    }
    if let Some(fault) = &shown.fault {
        text.push_str(&format!("* {fault}\n"));
    }
    output::print(&text)?;
    drop(running);
    let wrong = shown.fault.map(|fault| fault.to_string());
    let wrong = wrong.or(shown.unexpected.map(|other| other.to_string()));
    Ok(
        match wrong.filter(|_| !plan.max_errors.allows_errors(1, 1)) {
            Some(wrong) => Exit::no(format!("the response is not as expected: {wrong}")),
            None => Exit::YES,
        },
    )
}

/// A body as lines, or in words where it is no text.
fn quoted_body(mark: &str, bytes: &[u8]) -> String {
    let is_text = match std::str::from_utf8(bytes) {
        Ok(text) => !text.contains('\0'),
        Err(error) => error.error_len().is_none(), // cut in the middle of a letter
    };
    let length = units::bytes(bytes.len() as u64);
    match is_text {
        true => quoted(mark, bytes),
        false => format!("{mark}({length} that are no text)\n"),
    }
}

/// `bytes` as lines with a mark before each; bytes that are no text are shown as such.
fn quoted(mark: &str, bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines()
        .map(|line| format!("{mark}{}\n", escaped(line)))
        .collect()
}

/// Control characters would reach the terminal: a server's bytes are not ours.
fn escaped(line: &str) -> String {
    let shown = |letter: char| match letter {
        '\t' => "\t".to_owned(),
        letter if letter.is_control() => letter.escape_default().to_string(),
        letter => letter.to_string(),
    };
    line.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_control_characters_do_not_reach_the_terminal() {
        assert_eq!(quoted("< ", b"a\x1b[2Jb\r\nc\n"), "< a\\u{1b}[2Jb\n< c\n");
    }

    #[test]
    fn a_body_that_is_no_text_is_told_and_not_shown() {
        assert_eq!(
            quoted_body("< ", b"GIF89a\0\xff"),
            "< (8 B that are no text)\n"
        );
        assert_eq!(quoted_body("< ", "gr\u{fc}n".as_bytes()), "< gr\u{fc}n\n");
        assert!(quoted_body("< ", b"cut \xc3").starts_with("< cut"));
    }
}
