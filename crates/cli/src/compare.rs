//! `weigh compare`: several servers, loaded in turn in short slices; which costs less, by how much, and how sure that is.

mod commits;
mod records;

use crate::environment::ThisMachine;
use crate::exit::Exit;
use crate::output_file::OutputFile;
use crate::progress;
use crate::settings::{CompareFlags, Comparing, Given, Output};
use crate::{generate, output, reference};
use anyhow::{Context, Result, bail};
use campaign::{CompareOutcome, CompareView};
use commits::OfCommit;
use indicatif::ProgressBar;
use kernel::signals;
use plan::{
    Block, Budget, ComparePlan, Compared, CpuPlacement, Deciding, Draft, Load, Plan, Target,
};
use record::{Answers, Comparison, Library, RegressionAnswer};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use units::Nanos;

/// The hole in a command that weigh fills with the port to listen on.
const PORT: &str = "{port}";
/// Connections where none are given.
const CONNECTIONS: u32 = 10;
/// The most servers: letters for their names, and a cycle that is still short.
const MOST: usize = 26;

/// What a bisection calls a regression where nothing else is said.
const BISECT_REGRESSION: f64 = 0.02;

/// Carries out what is given.
pub fn compare(flags: &CompareFlags) -> Result<Exit> {
    if !flags.comparing.bisect {
        return carry_out(&flags.given, &flags.comparing, &mut None);
    }
    Exit::abort_bisection_on_bugs();
    let mut comparing = flags.comparing.clone();
    comparing.max_regression.get_or_insert(BISECT_REGRESSION);
    let mut baseline = None;
    let ended = carry_out(&flags.given, &comparing, &mut baseline);
    let told = commits::told(&ended, baseline.as_deref());
    Ok(match ended {
        Ok(exit) => exit.tell_bisection(told),
        Err(error) => {
            output::complain(&error);
            Exit::COULD_NOT.tell_bisection(told)
        }
    })
}

/// Carries out what is given, and tells the name of the first server as soon as it is known.
fn carry_out(given: &Given, comparing: &Comparing, baseline: &mut Option<String>) -> Result<Exit> {
    let how = &given.output;
    let mut inputs = given.inputs();
    inputs.extend(comparing.file.iter().map(|file| ("servers", file.clone())));
    OutputFile::check(&how.beside, how.record.as_deref(), &inputs)?;
    if comparing.commits.is_empty()
        && let Some(records) = records::named(&comparing.servers)?
    {
        return records::show(&records, given, comparing);
    }
    let stop = signals::measuring();
    let generator = generate::command()?;
    let mut view = Progress::new(how.quiet);
    if let Some(record) = &comparing.resume {
        let may_be_given = ["resume", "json", "verbose", "quiet", "chart", "markdown"];
        if let Some(other) = given.names.iter().find(|name| !may_be_given.contains(name)) {
            let other = match *other {
                "servers" => "other servers".to_owned(),
                other => format!("--{other}"),
            };
            bail!(
                "--resume {} goes on with the comparison as it was planned, which {other} would change; remove that",
                record.display()
            );
        }
        let path = crate::list::file(record)?;
        let earlier = record::load_comparison(&path)?;
        if earlier.is_of_records() {
            bail!(
                "{} holds two records that were compared, and nothing of it can be measured further",
                record.display()
            );
        }
        let plan = earlier.plan.clone();
        let outcome =
            campaign::resume_comparison(plan, earlier, &path, &generator, stop.flag(), &mut view)?;
        return show(&outcome, given);
    }
    let of_commits = match comparing.commits.is_empty() {
        true => Vec::new(),
        false => commits::servers(comparing, stop.flag(), how.quiet)?,
    };
    let plan = plan(given, comparing, &of_commits)?;
    *baseline = plan.servers.first().map(|server| server.name.clone());
    let path = match &how.record {
        Some(path) => path.clone(),
        None => record::default_path(kernel::clock::realtime().as_secs(), std::process::id())
            .context("there is no state directory for the record; name a file with --output")?,
    };
    if !how.quiet && !how.dry_run {
        output::message(&announced(&plan));
    }
    let only_conditions = how.dry_run;
    let flag = stop.flag();
    let outcome = campaign::compare(plan, &path, &generator, only_conditions, flag, &mut view)?;
    if only_conditions {
        output::print(&report::comparison::conditions(
            &outcome.comparison,
            &how.look(),
        ))?;
        return Ok(Exit::YES);
    }
    show(&outcome, given)
}

/// What is going to happen, in a line.
fn announced(plan: &ComparePlan) -> String {
    let servers = plan.servers.iter().filter(|server| !server.reference);
    let names: Vec<&str> = servers.map(|server| server.name.as_str()).collect();
    let names = names.join(", ");
    match plan.budget {
        Budget::Time { time, starts } => {
            let time = units::span(time);
            format!("comparing {names}: {time}, at least {starts} fresh starts")
        }
        Budget::Until(share) => format!(
            "comparing {names} until a difference of {:.1} % is found or ruled out: 8 to 40 fresh starts",
            share * 100.0
        ),
        Budget::Precision(share) => format!(
            "comparing {names} until the interval finds a difference of {:.1} %: at least 8 fresh starts",
            share * 100.0
        ),
    }
}

/// Prints what came of it, and where the record is.
fn show(outcome: &CompareOutcome, given: &Given) -> Result<Exit> {
    let how = &given.output;
    let comparison = &outcome.comparison;
    let is_shown = print(comparison, given, outcome.saved.is_ok())?;
    if let Some(why) = &comparison.broken_off {
        output::complain(&anyhow::anyhow!("ended early: {why}"));
    }
    match &outcome.saved {
        Ok(path) => tell_record(comparison, path, how),
        Err(error) => output::complain(&anyhow::anyhow!("the record could not be saved: {error}")),
    }
    if !is_shown || outcome.saved.is_err() {
        return Ok(Exit::COULD_NOT);
    }
    if signals::interrupts().raised() {
        return Ok(Exit::INTERRUPTED);
    }
    if comparison.broken_off.is_some() {
        return Ok(Exit::COULD_NOT);
    }
    Ok(judged(comparison))
}

/// Adds the record to the list of records, and says where it is and how to go on with it.
fn tell_record(comparison: &Comparison, path: &Path, how: &Output) {
    let number = Library::of_user().add_comparison(comparison, path).ok();
    let record = number.map_or_else(|| path.display().to_string(), |number| number.to_string());
    let is_told = how.record.is_some() || number.is_none();
    let place = [String::new(), format!(" {}", path.display())];
    let place = &place[usize::from(is_told)];
    let number = number.map_or(String::new(), |number| format!(" #{number}"));
    if !how.quiet {
        output::message(&format!("saved{number}{place}   details: weigh report -v"));
    }
    if comparison.interrupted {
        output::message(&format!("continue with: weigh compare --resume {record}"));
    }
}

/// Prints a comparison, which is saved or not, and writes the files that are asked for; false where one could not be written.
fn print(comparison: &Comparison, given: &Given, is_saved: bool) -> Result<bool> {
    let how = &given.output;
    let look = how.look();
    let text = match how.json {
        true => report::comparison::json(comparison, &look),
        false => report::comparison::text(comparison, &look),
    };
    output::print(&text)?;
    Ok(OutputFile::written_of_comparison(
        &how.beside,
        comparison,
        how.quiet,
        is_saved,
    ))
}

/// The exit status that `--max-regression` asks for.
fn judged(comparison: &Comparison) -> Exit {
    let Some(regressed) = Answers::of(comparison).regression else {
        return Exit::YES;
    };
    let why = || report::comparison::regression(comparison).unwrap_or_default();
    match regressed.answer {
        RegressionAnswer::Within => Exit::YES,
        RegressionAnswer::Beyond => Exit::no(why()),
        RegressionAnswer::CannotTell => record::Exit::new(record::Exit::CANNOT_TELL, why()).into(),
    }
}

/// Makes the plan.
fn plan(given: &Given, comparing: &Comparing, of_commits: &[OfCommit]) -> Result<ComparePlan> {
    match comparing.servers.len().max(of_commits.len()) {
        0 => bail!(
            "name two servers, such as 'a=./server-a {{port}}' 'b=./server-b {{port}}', or two URLs"
        ),
        1 => bail!(
            "one server cannot be compared; name another, or measure it alone with `weigh run`"
        ),
        number if number > MOST => {
            bail!("{number} servers are more than can be compared at a time; name at most {MOST}")
        }
        _ => {}
    }
    let connections = match comparing.connections.as_slice() {
        [] => vec![CONNECTIONS],
        given => given.to_vec(),
    };
    let mut draft = given.draft.clone();
    let first = connections[0].to_string();
    draft
        .set("connections", &first)
        .map_err(anyhow::Error::msg)?;
    draft
        .seed
        .get_or_insert_with(|| kernel::clock::realtime().as_nanos() as u64);
    draft.is_partly_encrypted = is_partly_encrypted(&draft, comparing)?;
    let mut servers = match of_commits {
        [] => servers(&draft, comparing)?,
        built => servers_of_commits(&draft, comparing, built)?,
    };
    one_target(&servers)?;
    if comparing.aa {
        let text = match of_commits {
            [] => named(&comparing.servers[0], 0).1,
            [first, ..] => &first.command,
        };
        let again = server(&draft, comparing, text, &mut 0)?;
        servers.push(twin(&servers[0], again));
    }
    let are_ours = servers.iter().all(|server| server.plan.server.is_some());
    if !are_ours && comparing.cpus != CpuPlacement::Auto {
        bail!("--cpus is for servers that weigh starts; remove it for URLs");
    }
    if are_ours {
        let reference = reference(&servers[0].plan)?;
        servers.push(reference);
    }
    let first = &servers[0].plan;
    let closed = connections.iter().map(|connections| Load::Closed {
        connections: *connections,
    });
    let mut blocks: Vec<Block> = closed.map(Block::of).collect();
    blocks.extend(comparing.saturate.map(Block::saturating));
    for rate in &comparing.rates {
        blocks.push(Block::of(open_loop(first, rate)?));
    }
    Ok(ComparePlan {
        budget: comparing.budget(servers.iter().filter(|server| !server.reference).count()),
        limit: comparing.time,
        decide_on: comparing.decide_on.unwrap_or(Deciding::CpuPerRequest),
        max_regression: comparing.max_regression,
        unequal: comparing.unequal,
        all_pairs: comparing.all_pairs,
        threads: comparing.threads.unwrap_or(1),
        cpus: comparing.cpus.clone(),
        seed: first.seed,
        arguments: comparing.arguments.clone(),
        blocks,
        servers,
    })
}

/// Whether any server is asked over https, so that what is said of encryption is for those.
fn is_partly_encrypted(draft: &Draft, comparing: &Comparing) -> Result<bool> {
    let is_command = |text: &String| text.contains(PORT);
    let has_commands = !comparing.commits.is_empty() || comparing.servers.iter().any(is_command);
    if comparing.https && !has_commands {
        bail!("--https is for servers given as commands; write https:// into the URLs");
    }
    let is_https = |text: &String| named(text, 0).1.starts_with("https://");
    let is_encrypted = comparing.https || comparing.servers.iter().any(is_https);
    if let Some(option) = draft
        .security
        .given()
        .filter(|_| has_commands && !is_encrypted)
    {
        bail!(
            "{option} has no effect on servers without encryption; add --https, which asks servers given as commands over https"
        );
    }
    Ok(is_encrypted)
}

/// The servers that are named, each with its plan.
fn servers(draft: &Draft, comparing: &Comparing) -> Result<Vec<Compared>> {
    let mut servers: Vec<Compared> = Vec::new();
    let mut urls = 0;
    for (index, text) in comparing.servers.iter().enumerate() {
        let (name, rest) = named(text, index);
        if servers.iter().any(|server| server.name == name) {
            bail!(
                "two servers are called {name}; give each a name of its own, NAME=COMMAND or NAME=URL"
            );
        }
        let plan = server(draft, comparing, rest, &mut urls).with_context(|| name.clone())?;
        servers.push(Compared::of(&name, plan));
    }
    let given = comparing.observe.len();
    if given > 1 && given != urls {
        bail!(
            "--server is given {given} times for {urls} URLs; give it once for all, or once for each"
        );
    }
    Ok(servers)
}

/// The servers that were built from commits, each with its plan.
fn servers_of_commits(
    draft: &Draft,
    comparing: &Comparing,
    built: &[OfCommit],
) -> Result<Vec<Compared>> {
    let of = |of: &OfCommit| {
        let plan = server(draft, comparing, &of.command, &mut 0)?;
        Ok(Compared {
            source: Some(of.source.clone()),
            ..Compared::of(&of.name, plan)
        })
    };
    built.iter().map(of).collect()
}

/// The name and the rest of `[NAME=]REST`; without a name, a letter by its place.
fn named(text: &str, index: usize) -> (String, &str) {
    match text.split_once('=') {
        Some((name, rest)) if is_name(name) => (name.to_owned(), rest.trim_start()),
        _ => (char::from(b'a' + index as u8).to_string(), text),
    }
}

/// Whether `name` can stand before the first `=` of an operand.
fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    !name.is_empty() && letters.all(|letter| letter.is_alphanumeric() || "._-".contains(letter))
}

/// The plan of one server, a command or a URL.
fn server(draft: &Draft, comparing: &Comparing, text: &str, urls: &mut usize) -> Result<Plan> {
    let mut draft = draft.clone();
    if text.contains(PORT) {
        let address = free_port()?;
        let path = comparing.path.as_deref().unwrap_or("/");
        let scheme = if comparing.https { "https" } else { "http" };
        draft.urls = vec![format!("{scheme}://{address}{path}")];
        let command = text.replace(PORT, &address.port().to_string());
        draft.command = ["sh", "-c", &command].map(str::to_owned).to_vec();
    } else if text.contains(char::is_whitespace) || text.is_empty() || text.starts_with(['.', '/'])
    {
        bail!(
            "`{text}` is neither a URL nor a command with {PORT}; write {PORT} where the command takes the port to listen on, such as \
             './server {PORT}'"
        );
    } else {
        if let Some(path) = &comparing.path {
            bail!(
                "--path {path} is for servers given as commands; write the path into the URL `{text}`"
            );
        }
        draft.urls = vec![text.to_owned()];
        let observed = match comparing.observe.as_slice() {
            [] => None,
            [one] => Some(one),
            several => several.get(*urls),
        };
        if let Some(observed) = observed {
            draft.set("server", observed).map_err(anyhow::Error::msg)?;
        }
        *urls += 1;
    }
    Ok(draft.plan(&ThisMachine)?)
}

/// The load of an open loop at `rate`, with as many connections as such a load has.
fn open_loop(plan: &Plan, rate: &str) -> Result<Load> {
    let mut draft = Draft::new(plan::Habits::RUN);
    let Target {
        scheme, authority, ..
    } = &plan.target;
    draft.urls = vec![format!("{scheme}://{authority}/")];
    draft.set("rate", rate).map_err(anyhow::Error::msg)?;
    Ok(draft.plan(&ThisMachine)?.load)
}

/// Refuses two names for one and the same target.
fn one_target(servers: &[Compared]) -> Result<()> {
    for (index, server) in servers.iter().enumerate() {
        let is_same = |other: &&Compared| {
            other.plan.server.is_none()
                && server.plan.server.is_none()
                && other.plan.target.endpoints == server.plan.target.endpoints
                && other.plan.requests == server.plan.requests
        };
        if let Some(other) = servers[..index].iter().find(is_same) {
            bail!(
                "{} and {} are two names for {}; to see what a server's difference from itself is, name it once and add --aa",
                other.name,
                server.name,
                server.plan.target.authority
            );
        }
    }
    Ok(())
}

/// The first server once more, on a port of its own where weigh starts it.
fn twin(first: &Compared, plan: Plan) -> Compared {
    Compared {
        repeats: Some(0),
        source: first.source.clone(),
        ..Compared::of(&format!("{} again", first.name), plan)
    }
}

/// weigh's own server, started beside those that are compared, and asked over the same version of HTTP as `first`, and over https where
/// that is: by a certificate of its own making, which cannot be checked.
fn reference(first: &Plan) -> Result<Compared> {
    let address = free_port()?;
    let mut own = Draft::new(plan::Habits::RUN);
    let listen = address.to_string();
    let mut arguments = vec!["--listen", &listen, "--workers", "1"];
    own.urls = vec![format!("http://{address}/")];
    if let Some(security) = &first.security {
        own.urls = vec![format!("https://{address}/")];
        own.security.insecure = true;
        own.security.resume = security.resume;
        arguments.extend(["--tls", "self-signed"]);
    }
    let plan = Plan {
        server: Some(reference::server(&arguments)?),
        protocol: first.protocol,
        timeouts: first.timeouts,
        ring: first.ring,
        seed: first.seed,
        ..own.plan(&ThisMachine)?
    };
    Ok(Compared {
        reference: true,
        ..Compared::of("weigh serve", plan)
    })
}

/// A loopback port that was free a moment ago.
pub fn free_port() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no loopback port is free")?;
    Ok(listener.local_addr()?)
}

/// Progress of a comparison, a line on a terminal.
pub struct Progress {
    line: ProgressBar,
    is_quiet: bool,
    begun: units::Instant,
    last: units::Instant,
}

impl Progress {
    /// The line, which is never seen where `is_quiet`.
    pub fn new(is_quiet: bool) -> Progress {
        Progress {
            line: progress::line(is_quiet),
            is_quiet,
            begun: kernel::clock::now(),
            last: units::Instant::ZERO,
        }
    }

    fn show(&mut self, comparison: &Comparison, index: u32, doing: &str) {
        let now = kernel::clock::now();
        if now - self.last < Nanos::from_millis(100) {
            return;
        }
        self.last = now;
        let passed = units::span(Nanos::from_secs((now - self.begun).as_secs_f64() as u64));
        let of = match comparison.plan.budget {
            Budget::Time { time, .. } => format!(" of {}", units::span(time)),
            _ => String::new(),
        };
        self.line
            .set_message(format!("start {}, {doing}   {passed}{of}", index + 1));
    }
}

impl CompareView for Progress {
    fn starting(&mut self, comparison: &Comparison, index: u32) {
        self.last = units::Instant::ZERO;
        self.show(comparison, index, "starting the servers");
    }

    fn sliced(&mut self, comparison: &Comparison, index: u32, cycle: Option<(u32, u32)>) {
        match cycle {
            None => self.show(comparison, index, "warming up"),
            Some((cycle, of)) => self.show(comparison, index, &format!("cycle {cycle} of {of}")),
        }
    }

    fn note(&mut self, sentence: &str) {
        if !self.is_quiet {
            self.line.suspend(|| output::message(sentence));
        }
    }

    fn ends(&mut self) {
        self.line.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_stands_before_the_first_sign_of_equality_if_it_looks_like_one() {
        for (text, name, rest) in [
            ("a=./server {port}", "a", "./server {port}"),
            ("v1.0-rc=./server {port}", "v1.0-rc", "./server {port}"),
            ("http://a/?x=1", "c", "http://a/?x=1"),
            ("new=http://a/?x=1", "new", "http://a/?x=1"),
            ("./server --port={port}", "c", "./server --port={port}"),
            ("=x", "c", "=x"),
        ] {
            assert_eq!(named(text, 2), (name.to_owned(), rest), "{text}");
        }
    }
}
