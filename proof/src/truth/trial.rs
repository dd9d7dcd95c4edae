//! One run of a case: a server of its own, a tool that asks it, and what both say.
//!
//! weigh's truth is, for every exchange that was due in the window, when its answer left less when it was due: the
//! schedule is computed again here, the departure is looked up in the server's log by the exchange's number. What other
//! tools meant to send when they do not say, so theirs is the distribution of departure less arrival.

use super::capture::{Capture, Seen};
use super::case::{Ask, Case, Nature, Percentiles, TIMEOUT};
use super::lindley::Queue;
use super::noise::{self, Noise};
use super::samples::Samples;
use super::schedule::{Schedule, WARM_UP};
use super::sending::Sending;
use super::server::{Log, Server, signal, typed};
use super::setup::Setup;
use crate::catalogue::Tool;
use crate::catalogue::reports::ToolOutput;
use crate::serving::{start, until};
use anyhow::{Context, Result};
use record::{Run, Statistic};
use std::path::Path;
use std::time::{Duration, Instant as Wall};
use testserver::truth::delay;
use units::{Instant, Nanos, Percentile};

/// How long a tool may take beyond its run.
const GRACE: Duration = Duration::from_secs(30);
/// How often it is looked at whether it has ended. Each look takes a CPU from one of the two that are measured.
const LOOK: Duration = Duration::from_millis(100);
/// By how much a request may seem to arrive before it was due: the kernel's stamps are of another clock, and the
/// difference between the two moves a little while one of them is disciplined.
const SLACK: Nanos = Nanos::from_micros(50);
/// How long the server stays stopped, and after how many seconds' worth of answers that begins.
const STOPPED: Duration = Duration::from_secs(1);
const STOPPED_AFTER: u64 = 1;
/// weigh's statistics that are compared, in the order of [`super::case::FIGURES`].
const STATISTICS: [Statistic; 5] = [
    Statistic::At(Percentile::P50),
    Statistic::At(Percentile::P90),
    Statistic::At(Percentile::P99),
    Statistic::At(Percentile::P999),
    Statistic::Max,
];
/// Bytes of a record in the log.
const LOGGED: u64 = 48;

/// What one run has shown.
#[derive(Debug)]
pub struct Trial {
    /// Of which case.
    pub case: &'static Case,
    /// Whose.
    pub tool: &'static str,
    /// In which round.
    pub round: u32,
    /// What was typed: the server's and the tool's command.
    pub typed: [String; 2],
    /// What happened.
    pub truth: Samples,
    /// What happened, by packets; none where they were not looked at.
    pub packets: Option<Samples>,
    /// What the tool said.
    pub reported: Percentiles,
    /// Of which of it that it is at least so much, in the order of [`super::case::FIGURES`].
    pub at_least: [bool; 5],
    /// How it was sent.
    pub sending: Option<Sending>,
    /// What went through a queue.
    pub queue: Option<Queue>,
    /// What else is wrong.
    pub wrongs: Vec<String>,
    /// What else went on.
    pub noise: Noise,
}

/// How a case is carried out: who asks, and in which round.
pub struct Order<'a> {
    /// With what.
    pub setup: &'a Setup,
    /// Length of the run in seconds.
    pub seconds: u32,
    /// The round, from 0.
    pub round: u32,
    /// What chance follows from.
    pub seed: u64,
    /// How weigh waits.
    pub spin: &'static str,
}

/// How weigh waits in the table: what is proved is the instrument, and not how late this machine wakes a thread.
pub const AWAKE: &str = "always";

/// A tool's run as it happened, before it is judged.
struct Measured {
    /// All of the trial that does not depend on who ran it.
    trial: Trial,
    log: Log,
    text: String,
    succeeded: bool,
    packets: Option<Vec<Seen>>,
}

impl Order<'_> {
    /// Lets weigh run `case`.
    ///
    /// # Errors
    /// Something could not be started, or has left no record.
    pub fn weigh(&self, case: &'static Case) -> Result<Trial> {
        let record = self.setup.folder().join("record.json");
        let _ = std::fs::remove_file(&record); // an earlier run's must not be taken for this one's
        let measured = self.carry_out(case, "weigh", &|ask| {
            let mut words = self.setup.command(&self.setup.weigh);
            words.extend(weigh_arguments(ask, self.seed, self.spin));
            words.extend(["--output".to_owned(), record.display().to_string()]);
            Ok(words)
        })?;
        let run = record::load(&record).with_context(|| {
            format!("{}: weigh has left no record: {}", case.name, measured.text)
        })?;
        self.judged(measured, &run)
    }

    /// Lets another tool run `case`.
    ///
    /// # Errors
    /// Something could not be started.
    pub fn peer(&self, case: &'static Case, peer: &'static Tool) -> Result<Trial> {
        let measured = self.carry_out(case, peer.name, &|ask| {
            let command = peer.command(&ask.values(), ask.folder)?;
            let mut words = self.setup.command(command[0].as_ref());
            words.extend_from_slice(&command[1..]);
            Ok(words)
        })?;
        let reported = peer.percentiles(&ToolOutput {
            text: &measured.text,
            folder: self.setup.folder(),
        });
        let answered = measured.log.records.iter();
        let answered = answered.filter(|record| record.departure > Instant::ZERO);
        let silent = reported
            .is_none()
            .then(|| "it reported nothing that could be read".to_owned());
        let spans = |seen: &Seen| Nanos::from_nanos((seen.answered - seen.asked).as_nanos() as u64);
        let packets = measured.packets.as_ref();
        Ok(Trial {
            truth: answered.map(|it| it.departure - it.arrival()).collect(),
            packets: packets.map(|seen| seen.iter().map(spans).collect()),
            reported: reported.unwrap_or_default(),
            wrongs: silent.into_iter().collect(),
            ..measured.trial
        })
    }

    fn carry_out(
        &self,
        case: &'static Case,
        tool: &'static str,
        command: &dyn Fn(&Ask<'_>) -> Result<Vec<String>>,
    ) -> Result<Measured> {
        let folder = self.setup.folder();
        let server = Server::start(self.setup, case, self.seed)?;
        let ask = Ask {
            case,
            at: server.at,
            seconds: self.seconds,
            folder,
        };
        let words = command(&ask)?;
        let capture = match case.packets {
            true => Capture::start(server.at, folder)?,
            false => None,
        };
        let before = noise::before();
        let mut pause = Pause::of(case);
        let length = Duration::from_secs(self.seconds.into());
        let (text, succeeded) = run(&words, folder, length, &mut || pause.look(&server))?;
        pause.end(&server)?;
        let noise = before.since();
        let packets = capture.map(Capture::stop).transpose()?;
        let trial = Trial {
            case,
            tool,
            round: self.round,
            typed: [server.typed.clone(), typed(&words)],
            truth: Samples::default(),
            packets: None,
            reported: Percentiles::default(),
            at_least: [false; 5],
            sending: None,
            queue: None,
            wrongs: Vec::new(),
            noise,
        };
        Ok(Measured {
            trial,
            log: server.stop()?,
            text,
            succeeded,
            packets,
        })
    }

    /// The trial of a run by weigh.
    fn judged(&self, measured: Measured, run: &Run) -> Result<Trial> {
        let case = measured.trial.case;
        let latency = &run
            .summary
            .as_ref()
            .context("nothing was measured")?
            .latency_us;
        let round = run.points.first().and_then(|point| point.rounds.first());
        let window = round.context("no round was measured")?.window;
        let schedule = Schedule::of(case, self.seed, window);
        let answers = Answers::of(&schedule, &measured.log, case.nature);
        let packets = measured.packets.as_ref();
        let mut trial = Trial {
            packets: packets.map(|seen| by_packets(seen, &schedule, &measured.log)),
            at_least: STATISTICS.map(|statistic| latency.is_at_least(statistic)),
            ..measured.trial
        };
        if case.nature == Nature::Overload {
            trial.wrongs.extend(not_overloaded(&measured.text));
        } else {
            trial.reported = reported(latency);
            trial.wrongs.extend(answers.wrongs(&schedule));
            let slow = slow_ones(case, self.seed, &schedule);
            let miscounted = miscounted(run, &schedule, slow, measured.succeeded);
            let complaint = |wrong| format!("{wrong}: {}", measured.text);
            trial.wrongs.extend(miscounted.into_iter().map(complaint));
        }
        if case.nature == Nature::Queue {
            trial.queue = Some(Queue::of(case, self.seed, &measured.log)?);
        }
        if case.nature == Nature::Sending {
            trial.sending = Some(Sending::of(case, &schedule, answers.arrivals));
        }
        trial.truth = answers.spans;
        Ok(trial)
    }
}

/// weigh's arguments but for the record's file. One thread, since the machine has two CPUs and the server needs one; all
/// connections before the load, so that numbers are given in the order in which exchanges are due.
fn weigh_arguments(ask: &Ask<'_>, seed: u64, spin: &str) -> Vec<String> {
    let (case, seconds) = (ask.case, ask.seconds);
    let millis = |span: Nanos| span.as_nanos() / 1_000_000;
    let late = match case.nature {
        // The probe may be one that is answered too late.
        Nature::Timeouts => format!(
            "--timeout {}ms --max-errors 100% --keep-going",
            millis(TIMEOUT)
        ),
        _ => String::new(),
    };
    let line = format!(
        "run http://{}{} --rate {} --arrivals {} --connections {} --connect eager --threads 1 --warmup {}ms \
         --duration {seconds}s --rounds 1 --seed {seed} --spin {spin} {late} --quiet",
        ask.at,
        case.path_with("{seq}"),
        case.rate,
        case.arrivals,
        case.connections,
        millis(WARM_UP),
    );
    line.split_whitespace().map(str::to_owned).collect()
}

/// Runs a command to its end, and calls `look` now and then: its output, and whether it succeeded.
fn run(
    words: &[String],
    folder: &Path,
    length: Duration,
    look: &mut dyn FnMut() -> Result<()>,
) -> Result<(String, bool)> {
    let path = folder.join("tool.words");
    let mut child = start(words, &path)?;
    let ended = until(length + GRACE, LOOK, || {
        look()?;
        Ok(child.exited())
    })?;
    let status = ended.with_context(|| format!("{} has not ended", typed(words)))?;
    let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
    Ok((text, status.success()))
}

/// The server's standing still in the middle of a run.
enum Pause {
    /// When its log holds so many bytes: by what was answered, and not by a clock, since tools take their time before
    /// they begin.
    Before(u64),
    /// Since then.
    Since(Wall),
    /// Not, or not any more.
    Over,
}

impl Pause {
    fn of(case: &Case) -> Pause {
        match case.nature {
            Nature::Stopped => Pause::Before(case.rate * STOPPED_AFTER * LOGGED),
            _ => Pause::Over,
        }
    }

    /// To be called now and then.
    fn look(&mut self, server: &Server) -> Result<()> {
        match self {
            Pause::Before(length) if server.log_length() >= *length => {
                signal("STOP", server.pid())?;
                *self = Pause::Since(Wall::now());
                Ok(())
            }
            Pause::Since(begun) if begun.elapsed() >= STOPPED => self.end(server),
            _ => Ok(()),
        }
    }

    /// Lets it go on.
    fn end(&mut self, server: &Server) -> Result<()> {
        match std::mem::replace(self, Pause::Over) {
            Pause::Since(_) => signal("CONT", server.pid()),
            _ => Ok(()),
        }
    }
}

/// What became of everything that was scheduled in the window.
#[derive(Default)]
struct Answers {
    /// Departure less due.
    spans: Samples,
    /// When each was received.
    arrivals: Vec<Instant>,
    /// Those that came more than once, and those that were not answered.
    doubled: u64,
    missing: u64,
    /// Those that were received before they were due.
    early: u64,
    /// The largest number that came, and how many came, the warm-up's too.
    largest: u64,
    came: u64,
}

impl Answers {
    fn of(schedule: &Schedule, log: &Log, nature: Nature) -> Answers {
        let mut answers = Answers::default();
        let mut departures = vec![Instant::ZERO; schedule.due.len()];
        for record in log.records.iter().filter(|record| record.id_given) {
            answers.came += 1;
            answers.largest = answers.largest.max(record.id);
            let place = record.id.wrapping_sub(schedule.first) as usize;
            let Some(departure) = departures.get_mut(place) else {
                continue;
            };
            let due = schedule.due[place];
            answers.doubled += u64::from(*departure > Instant::ZERO);
            answers.early += u64::from(record.arrival() + SLACK < due);
            answers.arrivals.push(record.arrival());
            *departure = match record.departure {
                // Given up by the client before it was answered: that would have been when it was due.
                Instant::ZERO if nature == Nature::Timeouts => record.due,
                departure => departure,
            };
        }
        answers.missing = departures.iter().filter(|at| **at == Instant::ZERO).count() as u64;
        let both = departures.into_iter().zip(&schedule.due);
        let both = both.filter(|(departure, _)| *departure > Instant::ZERO);
        answers.spans = both.map(|(departure, due)| departure - *due).collect();
        answers
    }

    /// What is wrong with the numbers: they must be those of the schedule, one each, none of them early.
    fn wrongs(&self, schedule: &Schedule) -> Vec<String> {
        let mut wrongs = Vec::new();
        let mut tell = |count: u64, what: &str| {
            if count > 0 {
                wrongs.push(format!("{count} exchanges {what}"));
            }
        };
        tell(self.doubled, "came twice");
        tell(self.missing, "were not answered");
        tell(self.early, "came before they were due");
        let all = schedule.all();
        if (self.came, self.largest) != (all, all - 1) {
            wrongs.push(format!(
                "{} requests came, the last numbered {}, where {all} were sent, the probe included",
                self.came, self.largest
            ));
        }
        wrongs
    }
}

/// Departures by packets less dues.
fn by_packets(seen: &[Seen], schedule: &Schedule, log: &Log) -> Samples {
    let span = |seen: &Seen| {
        let place = seen.id?.checked_sub(schedule.first)? as usize;
        let due = schedule.due.get(place)?;
        let answered = seen.answered.as_nanos() as u64;
        Some(Instant::from_nanos(answered.saturating_sub(log.header.wall_offset)) - *due)
    };
    seen.iter().filter_map(span).collect()
}

/// What is wrong with weigh's own counts, where `slow` requests are to fail.
fn miscounted(run: &Run, schedule: &Schedule, slow: u64, succeeded: bool) -> Vec<String> {
    let mut wrongs = Vec::new();
    let summary = run.summary.as_ref();
    let due = schedule.due.len() as u64;
    let counted = summary.map(|summary| summary.requests);
    if counted != Some(due) {
        wrongs.push(format!(
            "weigh counts {counted:?} of {due} that were scheduled"
        ));
    }
    let failed = summary.map_or(0, |summary| summary.errors.total);
    if failed != slow || !succeeded {
        wrongs.push(format!("weigh counts {failed} failures of {slow}"));
    }
    wrongs
}

/// How many of those in the window were not to be answered within what is waited for.
fn slow_ones(case: &Case, seed: u64, schedule: &Schedule) -> u64 {
    let law = case
        .path
        .split_once('?')
        .and_then(|(_, query)| query.parse().ok());
    let (Nature::Timeouts, Some(law)) = (case.nature, law) else {
        return 0;
    };
    let ids = schedule.first..schedule.all();
    ids.filter(|id| delay(law, seed, *id) >= TIMEOUT).count() as u64
}

/// weigh's figures of latency.
fn reported(latency: &record::Latency) -> Percentiles {
    let micros = STATISTICS.map(|statistic| match statistic {
        Statistic::At(percentile) => latency.at(percentile),
        _ => latency.max,
    });
    micros.map(|micros| Some(Nanos::from_nanos((micros? * 1e3).round() as u64)))
}

/// What is wrong with a report that is to say OVERLOAD where percentiles would stand.
fn not_overloaded(text: &str) -> Option<String> {
    let mut lines = text.lines();
    let Some(line) = lines.find(|line| line.starts_with("latency")) else {
        return Some(format!("there is no line of latency in: {text}"));
    };
    let has_figures = line.contains("p50") || line.contains("p99");
    match line.contains("OVERLOAD") {
        false => Some(format!("it does not say OVERLOAD: {line}")),
        true => {
            has_figures.then(|| format!("it says OVERLOAD, and percentiles all the same: {line}"))
        }
    }
}
