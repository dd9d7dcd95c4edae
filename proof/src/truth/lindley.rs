//! A queue's truth, computed a second time: Lindley's recursion on the arrivals of the log and the service times that
//! were drawn. The closed form stands beside it as a sanity check only: it holds on the average of all schedules, not of
//! the one that was drawn.

use super::case::Case;
use super::samples::Samples;
use super::server::Log;
use anyhow::{Context, Result};
use testserver::truth::log::Record;
use testserver::truth::{Capacity, Service, service};
use units::{Instant, Nanos};

/// How far behind the recursion half of the answers may leave; on the average of nothing else the server waits.
const LATE: Nanos = Nanos::from_micros(40);

/// What the recursion says of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    /// Requests that went through the queue.
    pub count: u64,
    /// Those of which the log says another moment than the recursion.
    pub differing: u64,
    /// Those that left before they were served.
    pub early: u64,
    /// How long after they were served the answers left, at the median.
    pub late: Option<Nanos>,
    /// Mean time from arrival to departure, in microseconds: as it was, and by the closed form.
    pub mean_us: (f64, f64),
}

impl Queue {
    /// Of a run of `case` with `seed`.
    ///
    /// # Errors
    /// The case has no queue.
    pub fn of(case: &Case, seed: u64, log: &Log) -> Result<Queue> {
        let (capacity, law) = setup(case)?;
        let mut records: Vec<&Record> = log.records.iter().collect();
        // In the order of reading, which is the queue's: due times rise with every request.
        records.sort_by_key(|record| record.due);
        let mut last = Instant::ZERO;
        let (mut differing, mut early) = (0, 0);
        for record in &records {
            last = last.max(record.arrival()) + service(capacity.0, law, seed, record.id);
            differing += u64::from(record.due != last);
            early += u64::from(record.departure < last);
        }
        let late: Samples = records.iter().map(|it| it.departure - it.due).collect();
        let spent = records.iter().map(|it| it.departure - it.arrival());
        let spent = spent.collect::<Samples>().mean().unwrap_or(f64::NAN) / 1e3;
        Ok(Queue {
            count: records.len() as u64,
            differing,
            early,
            late: late.percentiles()[0],
            mean_us: (spent, mean_us(case.rate as f64, capacity.1, law)),
        })
    }

    /// What is wrong with it.
    pub fn wrongs(&self) -> Vec<String> {
        let (count, differing, early) = (self.count, self.differing, self.early);
        let late = self.late.unwrap_or_default();
        let late_us = late.as_micros_f64();
        let wrongs = [
            (differing > 0)
                .then(|| format!("{differing} of {count} differ from Lindley's recursion")),
            (early > 0).then(|| format!("{early} left before they were served")),
            (late > LATE).then(|| {
                format!("half of the answers left {late_us:.0} µs after they were served, or later")
            }),
        ];
        wrongs.into_iter().flatten().collect()
    }

    /// For people.
    pub fn text(&self) -> String {
        format!(
            "{} of {} as by Lindley's recursion, left {:.1} µs behind it at the median; mean {:.1} µs, by the closed form {:.1} µs",
            self.count - self.differing,
            self.count,
            self.late.map_or(f64::NAN, Nanos::as_micros_f64),
            self.mean_us.0,
            self.mean_us.1,
        )
    }
}

/// The queue that the case's flags set up: its capacity, as the server has it and as a number, and its law.
fn setup(case: &Case) -> Result<((Capacity, f64), Service)> {
    let behind = |flag: &str| {
        let mut flags = case.server.split_whitespace();
        flags.find(|word| *word == flag).and_then(|_| flags.next())
    };
    let text = behind("--capacity").context("the case has no queue")?;
    let number: units::Rate = text.parse()?;
    let law = match behind("--service") {
        Some("exponential") => Service::Exponential,
        _ => Service::Fixed,
    };
    let capacity = text.parse().context("the case has no sound capacity")?;
    Ok(((capacity, number.as_f64()), law))
}

/// The mean time in a queue with random arrivals, in microseconds: M/M/1 1/(capacity - rate), M/D/1
/// (1 + load / (2 (1 - load))) / capacity (Pollaczek and Khinchine).
fn mean_us(rate: f64, capacity: f64, law: Service) -> f64 {
    let load = rate / capacity;
    let seconds = match law {
        Service::Exponential => 1.0 / (capacity - rate),
        Service::Fixed => (1.0 + load / (2.0 * (1.0 - load))) / capacity,
    };
    seconds * 1e6
}

#[cfg(test)]
mod tests {
    use super::super::case::CASES;
    use super::*;
    use testserver::truth::log::Header;

    fn case(name: &str) -> &'static Case {
        CASES.iter().find(|case| case.name == name).unwrap()
    }

    /// A log as an exact server would write it, arrivals 100 µs apart: half as far as the queue needs.
    fn log(case: &Case, seed: u64) -> Log {
        let ((capacity, _), law) = setup(case).unwrap();
        let mut last = Instant::ZERO;
        let mut record = |id: u64| {
            let arrival = Instant::from_nanos(1_000_000 + id * 100_000);
            last = last.max(arrival) + service(capacity, law, seed, id);
            Record {
                id,
                received: arrival,
                read: arrival,
                due: last,
                departure: last + Nanos::from_micros(1),
                ..Record::default()
            }
        };
        let records = (0..100).map(&mut record).collect();
        Log {
            header: Header::default(),
            records,
        }
    }

    #[test]
    fn an_exact_log_follows_the_recursion_whatever_its_order() {
        for name in ["queue-fixed-50", "queue-exponential-80"] {
            let mut log = log(case(name), 3);
            log.records.reverse();
            let queue = Queue::of(case(name), 3, &log).unwrap();
            assert_eq!((queue.count, queue.differing, queue.early), (100, 0, 0));
            assert_eq!(queue.late, Some(Nanos::from_micros(1)));
            assert_eq!(queue.wrongs(), Vec::<String>::new());
        }
    }

    #[test]
    fn a_log_of_other_draws_or_of_early_answers_does_not() {
        let exact = log(case("queue-exponential-50"), 3);
        let other = Queue::of(case("queue-exponential-50"), 4, &exact).unwrap();
        assert!(other.wrongs()[0].ends_with("of 100 differ from Lindley's recursion"));
        let mut early = log(case("queue-fixed-50"), 3);
        for record in &mut early.records[..5] {
            record.departure = record.arrival();
        }
        let early = Queue::of(case("queue-fixed-50"), 3, &early).unwrap();
        assert_eq!(early.wrongs(), ["5 left before they were served"]);
        let mut late = log(case("queue-fixed-50"), 3);
        for record in &mut late.records {
            record.departure = record.due + Nanos::from_micros(41);
        }
        let late = Queue::of(case("queue-fixed-50"), 3, &late).unwrap();
        assert_eq!(late.wrongs().len(), 1);
        assert!(Queue::of(case("even-1k"), 3, &log(case("queue-fixed-50"), 3)).is_err());
    }

    #[test]
    fn closed_forms_are_those_of_the_books() {
        let cases = [
            (2_500.0, Service::Fixed, 300.0),
            (4_000.0, Service::Fixed, 600.0),
            (2_500.0, Service::Exponential, 400.0),
            (4_000.0, Service::Exponential, 1_000.0),
        ];
        for (rate, law, mean) in cases {
            assert!(
                (mean_us(rate, 5_000.0, law) - mean).abs() < 1e-6,
                "{rate} {law:?}"
            );
        }
    }
}
