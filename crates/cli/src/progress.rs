//! Live progress on a terminal: which round, how fast, errors so far, time left.

use crate::output;
use crate::settings::Output;
use crate::table::Table;
use campaign::{Generators, PlannedRound, SelfTestError, View};
use engine::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use plan::{Plan, Stop};
use record::{Finding, Library, RecordName, Round, Run, SaveError};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Mutex;
use units::{Instant, Nanos};

/// Columns behind the progress that stay free for the `^C` that a terminal echoes: in a full line it would begin the next
/// one, and the progress could not be cleared any more.
const ECHO: usize = 4;

/// The terminal on standard error, narrower by [`ECHO`] columns; with what is not flushed yet.
#[derive(Debug, Default)]
struct Terminal(Mutex<String>);

impl Terminal {
    /// Returns columns and lines.
    fn size() -> (u16, u16) {
        let size = terminal_size::terminal_size_of(io::stderr());
        let (width, height) = size.map_or((80, 24), |(width, height)| (width.0, height.0));
        (width.saturating_sub(ECHO as u16).max(1), height)
    }

    fn move_cursor(&self, n: usize, direction: char) -> io::Result<()> {
        match n {
            0 => Ok(()), // which would mean 1
            n => self.write_str(&format!("\x1b[{n}{direction}")),
        }
    }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        Terminal::size().0
    }

    fn height(&self) -> u16 {
        Terminal::size().1
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.lock().expect("no writer panics").push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_str("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let text = std::mem::take(&mut *self.0.lock().expect("no writer panics"));
        io::stderr().write_all(text.as_bytes())
    }
}

/// Progress on standard error; nothing where that is no terminal.
pub struct Bar {
    bar: ProgressBar,
    plan: Plan,
    points: usize,
    is_quiet: bool,
    /// The name that the record is to have.
    name: Option<RecordName>,
    /// Rounds of all points that come after this one.
    after: u64,
    rate: Rate,
    errors: u64,
    round_errors: u64,
    /// The table of a sweep, which is printed above the progress.
    pub table: Option<Table>,
}

/// The rate of the last tick.
#[derive(Debug, Default)]
struct Rate {
    at: Instant,
    ok: u64,
    per_second: Option<f64>,
}

impl Rate {
    /// `start` is when the window opened; before it nothing of it can have ended.
    fn note(&mut self, now: Instant, start: Instant, ok: u64) {
        self.at = self.at.max(start);
        let span = (now - self.at).as_secs_f64();
        if span >= 0.3 {
            self.per_second = Some((ok - self.ok) as f64 / span);
            (self.at, self.ok) = (now, ok);
        }
    }

    /// Nothing before there is something to show.
    fn shown(&self) -> Option<String> {
        let rate = units::rate(self.per_second?);
        Some(format!("{rate} requests/s"))
    }
}

/// A line on standard error that is written anew; never seen where that is no terminal, or `is_quiet`.
pub fn line(is_quiet: bool) -> ProgressBar {
    let target = match !is_quiet && io::stderr().is_terminal() {
        true => ProgressDrawTarget::term_like_with_hz(Box::<Terminal>::default(), 20),
        false => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template("{spinner} {wide_msg}");
    let bar = ProgressBar::with_draw_target(None, target);
    bar.set_style(style.expect("a sound template"));
    bar
}

impl Bar {
    /// A bar for what is printed as `how` says; with `--quiet` it is never seen.
    pub fn new(how: &Output) -> Bar {
        Bar {
            bar: line(how.quiet),
            plan: Plan::default(),
            points: 1,
            is_quiet: how.quiet,
            name: how.name.clone(),
            after: 0,
            rate: Rate::default(),
            errors: 0,
            round_errors: 0,
            table: None,
        }
    }

    /// Prints a message while the bar is out of sight.
    fn message(&mut self, text: &str) {
        self.bar.suspend(|| output::message(text));
        self.table.iter_mut().for_each(Table::interrupt);
    }

    /// Which round of which point it is.
    fn place(&self, planned: &PlannedRound) -> String {
        let point = match self.points {
            _ if self.plan.is_search() => format!("rate {}, ", planned.point + 1),
            0 | 1 => String::new(),
            several => format!("point {}/{several}, ", planned.point + 1),
        };
        let generators = match planned.by {
            Generators::One => "",
            Generators::Two => ", two generators",
        };
        let round = planned.round + 1;
        match self.plan.is_search() {
            true => format!("{point}window {round}{generators}"), // as many as it takes
            false => format!("{point}round {round}/{}{generators}", self.plan.rounds),
        }
    }

    /// Time left over all rounds, where it can be foreseen.
    fn left(&self, progress: Progress, now: Instant) -> Option<Nanos> {
        if self.plan.is_search() {
            return None; // it is over when it has found what it looks for
        }
        match self.plan.stop {
            Stop::Duration(span) => {
                let this = match progress.window_start {
                    Some(start) => (start + span) - now,
                    None => self.plan.warmup + span,
                };
                Some(this + (self.plan.warmup + span) * self.after)
            }
            Stop::Requests(number) => {
                let done = progress.ok + progress.errors;
                let left = number.saturating_sub(done) + number * self.after;
                let rate = self.rate.per_second.filter(|rate| *rate > 0.0)?;
                Some(Nanos::from_millis((left as f64 / rate * 1e3) as u64))
            }
        }
    }
}

impl View for Bar {
    fn self_test(&mut self) {
        self.bar.set_message("measuring the baseline");
        self.bar.tick();
    }

    fn without_baseline(&mut self, error: &SelfTestError) {
        self.message(&format!(
            "weigh: the baseline could not be measured: {error}; the load goes on without it"
        ));
    }

    fn starting(&mut self, command: &str) {
        self.bar.set_message(format!("starting {command}"));
        self.bar.tick();
    }

    fn begins(&mut self, run: &Run) {
        self.plan = run.plan.clone();
        self.points = run.plan.levels().len();
        self.after = campaign::left(&run.plan, run) as u64;
        let messages = run
            .plan
            .idle_connections()
            .into_iter()
            .chain(unexpected(run));
        let budget = self
            .plan
            .is_search()
            .then(|| report::search_budget(&self.plan));
        let messages =
            messages.chain(budget.map(|budget| format!("weigh: the search has {budget}")));
        for message in messages.filter(|_| !self.is_quiet).collect::<Vec<_>>() {
            self.message(&message);
        }
        if let Some(table) = &mut self.table {
            table.begin(&self.bar, run);
        }
    }

    fn round(&mut self, _: &PlannedRound) {
        self.after = self.after.saturating_sub(1);
        self.rate = Rate {
            at: kernel::clock::now(),
            ..Rate::default()
        };
    }

    fn progress(&mut self, planned: &PlannedRound, progress: Progress) {
        let now = kernel::clock::now();
        let start = progress.window_start.unwrap_or(now);
        self.rate.note(now, start, progress.ok);
        self.round_errors = progress.errors;
        let mut parts = vec![self.place(planned)];
        if progress.window_start.is_none_or(|start| now < start) {
            parts.push("warming up".to_owned());
        }
        parts.extend(self.rate.shown());
        let errors = units::count(self.errors + progress.errors);
        parts.push(format!("{errors} errors"));
        let left = self.left(progress, now);
        parts.extend(left.map(|left| format!("{} left", seconds(left))));
        let percentiles = ["p50", "p99"].into_iter().zip(progress.last_second);
        parts.extend(
            percentiles.filter_map(|(name, value)| Some(format!("{name} {}", units::span(value?)))),
        );
        let room = usize::from(Terminal::size().0).saturating_sub("* ".len());
        while parts.join("  ").len() > room && parts.len() > 1 {
            parts.pop();
        }
        self.bar.set_message(parts.join("  "));
        self.bar.tick();
    }

    fn wants_latency(&self) -> bool {
        !self.bar.is_hidden()
    }

    fn measured(&mut self, _: &Round) {
        self.errors += self.round_errors;
    }

    fn recorded(&mut self, run: &Run, path: &Path, is_finished: bool) {
        // Without the list, the record still has its file.
        let number = Library::of_user().add(run, path, self.name.as_ref(), !is_finished);
        if run.is_sweep() && !is_finished {
            let resuming = crate::run::resuming(run, number.ok(), path);
            kernel::signals::last_words(&resuming);
        }
    }

    fn point(&mut self, run: &Run, point: usize, findings: &[Finding]) {
        if let Some(table) = &mut self.table {
            table.row(&self.bar, run, point, findings);
        }
    }

    fn split_failed(&mut self, why: &str) {
        self.message(&format!(
            "weigh: no further round with two generators: {why}"
        ));
    }

    fn unjournaled(&mut self, error: &SaveError) {
        self.message(&format!("weigh: {error}"));
    }

    fn ends(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The warning that the probe did not get an expected response to every request.
fn unexpected(run: &Run) -> Option<String> {
    let probe = run.probe.as_ref()?;
    let error = probe.error.as_ref()?;
    Some(match probe.requests {
        1 => format!(
            "weigh: the probe got no expected response ({error}); the load is sent all the same"
        ),
        requests => format!(
            "weigh: {} of the {requests} probed requests got no expected response (the first: {error})",
            probe.errors
        ),
    })
}

fn seconds(span: Nanos) -> String {
    let secs = span.as_nanos() / 1_000_000_000;
    if secs < 60 {
        format!("{secs} s")
    } else {
        units::span(span)
    }
}
