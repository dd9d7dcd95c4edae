//! One run of a case: a server of its own, a tool that asks it, and what both say.
//!
//! weigh's truth is, for every exchange that was due in the window, when its answer left less when it was due: the
//! schedule is computed again here, the departure is looked up in the server's log by the exchange's number. What other
//! tools meant to send when they do not say, so theirs is the distribution of departure less arrival.

use super::capture::{Capture, Seen};
use super::case::{Case, FIGURES, Nature, Percentiles, TIMEOUT};
use super::lindley::Queue;
use super::noise::{self, Noise};
use super::samples::Samples;
use super::schedule::{Schedule, WARM_UP};
use super::sending::Sending;
use super::server::{Log, Server, signal, typed};
use super::setup::Setup;
use crate::catalogue::Tool;
use crate::catalogue::reports::ToolOutput;
use crate::serving::to_end;
use anyhow::{Context, Result};
use record::{Run, Statistic, Summary, Tally};
use std::net::SocketAddr;
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

/// The results of one run of a case.
#[derive(Debug, Default)]
pub struct Trial {
    /// The tool's name.
    pub tool: &'static str,
    /// The round, from 0.
    pub round: u32,
    /// What was typed: the server's and the tool's command.
    pub typed: [String; 2],
    /// What happened.
    pub truth: Samples,
    /// What happened, by packets; none where they were not looked at.
    pub packets: Option<Samples>,
    /// What the tool said.
    pub reported: Percentiles,
    /// Which of it are lower bounds, in the order of [`super::case::FIGURES`].
    pub at_least: [bool; 5],
    /// Which of it weigh does not show, because slow requests came together; they are taken from its record.
    pub withheld: [bool; 5],
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
    /// Whether over TLS.
    pub tls: bool,
}

/// How weigh waits in the table: what is proved is the instrument, and not how late this machine wakes a thread.
pub const AWAKE: &str = "always";

/// A tool's run, before it is judged.
struct Measured {
    /// All of the trial that does not depend on the tool.
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
    pub fn weigh(&self, case: &Case) -> Result<Trial> {
        let record = self.setup.new_record();
        let measured = self.carry_out(case, "weigh", &|at| {
            let mut words = self.setup.command(&self.setup.weigh);
            words.extend(self.weigh_arguments(case, at));
            words.extend(["--output".to_owned(), record.display().to_string()]);
            Ok(words)
        })?;
        let (name, text) = (case.name, &measured.text);
        let run = record::load(&record);
        let run = run.with_context(|| format!("{name}: weigh has left no record: {text}"))?;
        self.judged(case, measured, &run)
    }

    /// Lets another tool run `case`.
    ///
    /// # Errors
    /// Something could not be started.
    pub fn peer(&self, case: &'static Case, peer: &'static Tool) -> Result<Trial> {
        let measured = self.carry_out(case, peer.name, &|at| {
            let values = case.values(at, self.seconds, self.setup.folder());
            let command = peer.command(&values, self.setup.folder())?;
            let mut words = self.setup.command(command[0].as_ref());
            words.extend_from_slice(&command[1..]);
            Ok(words)
        })?;
        let (text, folder) = (measured.text.as_str(), self.setup.folder());
        let reported = peer.percentiles(&ToolOutput { text, folder });
        let answered = measured.log.records.iter();
        let answered = answered.filter(|record| record.departure > Instant::ZERO);
        let silent = reported.is_none();
        let silent = silent.then(|| "it reported nothing that could be read".to_owned());
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
        case: &Case,
        tool: &'static str,
        command: &dyn Fn(SocketAddr) -> Result<Vec<String>>,
    ) -> Result<Measured> {
        let folder = self.setup.folder();
        let server = Server::start(self.setup, case, self.seed, self.tls)?;
        let words = command(server.at)?;
        // What is encrypted says nothing in its packets.
        let capture = match case.packets && !self.tls {
            true => Capture::start(server.at, folder)?,
            false => None,
        };
        let before = noise::before();
        let stops = case.nature == Nature::Stopped;
        let mut pause = Pause {
            at: stops.then_some(case.rate * STOPPED_AFTER * LOGGED),
            since: None,
        };
        let length = Duration::from_secs(self.seconds.into());
        let path = folder.join("tool.words");
        let ended = to_end(&words, &path, length + GRACE, LOOK, || pause.look(&server))?;
        let status = ended.with_context(|| format!("{} has not ended", typed(&words)))?;
        let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
        if pause.since.is_some() {
            signal("CONT", server.pid())?;
        }
        let noise = before.since();
        let packets = capture.map(Capture::stop).transpose()?;
        let trial = Trial {
            tool,
            round: self.round,
            typed: [server.typed.clone(), typed(&words)],
            noise,
            ..Trial::default()
        };
        Ok(Measured {
            trial,
            log: server.stop()?,
            text,
            succeeded: status.success(),
            packets,
        })
    }

    /// weigh's arguments but for the record's file. One thread, since the machine has two CPUs and the server needs one; all
    /// connections before the load, so that numbers are given in the order in which exchanges are due.
    fn weigh_arguments(&self, case: &Case, at: SocketAddr) -> Vec<String> {
        let (seconds, seed, spin) = (self.seconds, self.seed, self.spin);
        let millis = |span: Nanos| span.as_nanos() / 1_000_000;
        let late = match case.nature {
            // The probe may be one that is answered too late.
            Nature::Timeouts => &format!(
                "--timeout {}ms --max-errors 100% --keep-going",
                millis(TIMEOUT)
            ),
            _ => "",
        };
        let (scheme, trust) = match self.tls {
            true => ("https", "--insecure"),
            false => ("http", ""),
        };
        let line = format!(
            "run {scheme}://{at}{} {trust} --rate {} --arrivals {} --connections {} --connect eager --threads 1 --warmup {}ms \
             --duration {seconds}s --rounds 1 --seed {seed} --spin {spin} {late} --quiet",
            case.path_with("{seq}"),
            case.rate,
            case.arrivals,
            case.connections,
            millis(WARM_UP),
        );
        line.split_whitespace().map(str::to_owned).collect()
    }

    /// The trial of a run by weigh.
    fn judged(&self, case: &Case, measured: Measured, run: &Run) -> Result<Trial> {
        let summary = run.summary.as_ref().context("nothing was measured")?;
        let latency = &summary.latency_us;
        let round = run.points.first().and_then(|point| point.rounds.first());
        let round = round.context("no round was measured")?;
        let window = round.window;
        let (log, mut trial) = (&measured.log, measured.trial);
        let schedule = Schedule::of(case, self.seed, window);
        let answers = Answers::of(&schedule, log, case.nature);
        let packets = measured.packets.as_ref();
        trial.packets = packets.map(|seen| by_packets(seen, &schedule, log));
        trial.at_least = STATISTICS.map(|statistic| latency.is_at_least(statistic));
        if case.nature == Nature::Overload {
            trial.wrongs.extend(not_overloaded(&measured.text));
        } else {
            let told = reported(latency);
            let recorded = recorded(&round.tally);
            let censored = round.tally.latency_censored_from();
            for figure in 0..told.len() {
                // It names the lowest percentile that has too few; those above have fewer.
                let says = |name: &&str| measured.text.contains(&format!("{name} too few samples"));
                let is_withheld = told[figure].is_none() && FIGURES[..=figure].iter().any(says);
                let withheld = recorded[figure].filter(|_| is_withheld);
                trial.reported[figure] = told[figure].or(withheld);
                trial.withheld[figure] = withheld.is_some();
                trial.at_least[figure] |=
                    withheld.is_some() && withheld >= censored && censored.is_some();
            }
            trial.wrongs.extend(answers.wrongs);
            let slow = slow_ones(case, self.seed, &schedule);
            let miscounted = miscounted(summary, &schedule, slow, measured.succeeded);
            let complaint = |wrong| format!("{wrong}: {}", measured.text);
            trial.wrongs.extend(miscounted.into_iter().map(complaint));
        }
        if case.nature == Nature::Queue {
            let queue = Queue::of(case, self.seed, log)?;
            trial.wrongs.extend(queue.wrongs());
            trial.queue = Some(queue);
        }
        if case.nature == Nature::Sending {
            trial.sending = Some(Sending::of(case, &schedule, answers.arrivals));
        }
        trial.truth = answers.spans;
        Ok(trial)
    }
}

/// Stops the server's process once in the middle of a run, and continues it.
struct Pause {
    /// When its log holds so many bytes: by what was answered, and not by a clock, since tools take their time before
    /// they begin. None: never, or no more.
    at: Option<u64>,
    /// Since when it has been stopped.
    since: Option<Wall>,
}

impl Pause {
    /// Sends the signal that is due; to be called now and then.
    fn look(&mut self, server: &Server) -> Result<()> {
        if self.at.take_if(|at| server.log_length() >= *at).is_some() {
            self.since = Some(Wall::now());
            return signal("STOP", server.pid());
        }
        match self.since.take_if(|since| since.elapsed() >= STOPPED) {
            Some(_) => signal("CONT", server.pid()),
            None => Ok(()),
        }
    }
}

/// What became of everything that was scheduled in the window.
struct Answers {
    /// Departure less due.
    spans: Samples,
    /// When each was received.
    arrivals: Vec<Instant>,
    /// What is wrong with the numbers: they must be those of the schedule, one each, none of them early.
    wrongs: Vec<String>,
}

impl Answers {
    fn of(schedule: &Schedule, log: &Log, nature: Nature) -> Answers {
        let (mut doubled, mut early, mut came, mut largest) = (0, 0, 0, 0);
        let mut arrivals = Vec::new();
        let mut departures = vec![Instant::ZERO; schedule.due.len()];
        // The warm-up's come, too.
        for record in log.records.iter().filter(|record| record.id_given) {
            came += 1;
            largest = largest.max(record.id);
            let place = record.id.wrapping_sub(schedule.first) as usize;
            let Some(departure) = departures.get_mut(place) else {
                continue;
            };
            doubled += u64::from(*departure > Instant::ZERO);
            early += u64::from(record.arrival() + SLACK < schedule.due[place]);
            arrivals.push(record.arrival());
            *departure = match record.departure {
                // Given up by the client before it was answered: that would have been when it was due.
                Instant::ZERO if nature == Nature::Timeouts => record.due,
                departure => departure,
            };
        }
        let both = departures.iter().zip(&schedule.due);
        let both = both.filter(|(departure, _)| **departure > Instant::ZERO);
        let spans: Samples = both.map(|(departure, due)| *departure - *due).collect();
        let missing = departures.len() as u64 - spans.count();
        let counts = [
            (doubled, "came twice"),
            (missing, "were not answered"),
            (early, "came before they were due"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(count, what)| format!("{count} exchanges {what}"));
        let all = schedule.all();
        let others = ((came, largest) != (all, all - 1)).then(|| {
            format!(
                "{came} requests came, the last numbered {largest}, where {all} were sent, the probe included"
            )
        });
        Answers {
            spans,
            arrivals,
            wrongs: counts.chain(others).collect(),
        }
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
fn miscounted(summary: &Summary, schedule: &Schedule, slow: u64, succeeded: bool) -> Vec<String> {
    let mut wrongs = Vec::new();
    let (counted, due) = (summary.requests, schedule.due.len() as u64);
    if counted != due {
        wrongs.push(format!(
            "weigh counts {counted} of {due} that were scheduled"
        ));
    }
    let failed = summary.errors.total;
    if failed != slow || !succeeded {
        wrongs.push(format!("weigh counts {failed} failures of {slow}"));
    }
    wrongs
}

/// How many of those in the window were not to be answered within what is waited for.
fn slow_ones(case: &Case, seed: u64, schedule: &Schedule) -> u64 {
    let query = case.path.split_once('?').map(|(_, query)| query.parse());
    let (Nature::Timeouts, Some(Ok(law))) = (case.nature, query) else {
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

/// The same figures by all that the record counts, also where so many slow requests came together that weigh withholds the figure.
fn recorded(tally: &Tally) -> Percentiles {
    STATISTICS.map(|statistic| match statistic {
        Statistic::At(percentile) => {
            let nanos = tally.latency().quantile_if_carried(percentile.quantile());
            nanos.map(Nanos::from_nanos)
        }
        _ => None,
    })
}

/// What is wrong with a report that is to say OVERLOAD where percentiles would stand.
fn not_overloaded(text: &str) -> Option<String> {
    let mut lines = text.lines();
    let is_latency = |line: &&str| line.starts_with("latency") && line.contains("OVERLOAD");
    let is_told = lines.find(is_latency);
    let is_told = is_told.is_some_and(|line| !line.contains("p50") && !line.contains("p99"));
    (!is_told).then(|| format!("it does not say OVERLOAD in place of percentiles: {text}"))
}
