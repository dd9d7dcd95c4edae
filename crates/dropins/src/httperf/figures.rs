//! What httperf reports of a load, from its round.

use crate::distribution::deviation;
use crate::rate;
use record::{Kind, Round, Series, Step, ThreadAccounts};
use stats::Histogram;
use units::Nanos;

/// Length of a rate sample.
const SAMPLE_SECONDS: f64 = 5.0;

/// All figures of the report.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) connections: u64,
    pub(crate) requests: u64,
    pub(crate) replies: u64,
    pub(super) took: Nanos,
    /// The most that were open at a time.
    pub(super) concurrent: u64,
    pub(super) connection_time: Summary,
    /// Whether `connection_time` could be measured.
    pub(super) has_connection_time: bool,
    /// Mean time of a connect.
    pub(super) connect: f64,
    pub(super) replies_per_connection: f64,
    pub(super) request_size: f64,
    /// Replies a second, of each sample.
    pub(crate) samples: Vec<f64>,
    /// Mean time from a request to the first byte of its reply, and from there to its last.
    pub(crate) response: f64,
    pub(super) transfer: f64,
    pub(super) header_size: f64,
    pub(super) content_size: f64,
    /// Replies by the first digit of their status, from 1xx.
    pub(super) classes: [u64; 5],
    /// CPU seconds of the generator.
    pub(super) user: f64,
    pub(super) system: f64,
    /// Bytes sent and received.
    pub(super) bytes: u64,
    pub(super) errors: Errors,
}

/// Values of a distribution in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) min: f64,
    pub(super) mean: f64,
    pub(super) max: f64,
    pub(super) median: f64,
    pub(super) deviation: f64,
}

/// Failures by httperf's classes.
#[derive(Debug, Default)]
pub(super) struct Errors {
    pub(super) client_timeout: u64,
    pub(super) socket_timeout: u64,
    pub(super) refused: u64,
    pub(super) reset: u64,
    pub(super) no_descriptor: u64,
    pub(super) no_address: u64,
    pub(super) other: u64,
}

impl Errors {
    /// All of them.
    pub(super) fn total(&self) -> u64 {
        self.client_timeout
            + self.socket_timeout
            + self.refused
            + self.reset
            + self.no_descriptor
            + self.no_address
            + self.other
    }

    fn of(faults: &record::Faults) -> Errors {
        let mut errors = Errors::default();
        for (kind, count) in faults.by_kind() {
            *errors.class(kind) += count;
        }
        errors
    }

    fn class(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Timeout | Kind::TimeoutBehind | Kind::ConnectTimeout | Kind::HandshakeTimeout => {
                &mut self.client_timeout
            }
            Kind::NetworkLost => &mut self.socket_timeout,
            Kind::ConnectRefused => &mut self.refused,
            Kind::Reset | Kind::ConnectReset => &mut self.reset,
            Kind::OutOfDescriptors => &mut self.no_descriptor,
            Kind::OutOfPorts => &mut self.no_address,
            _ => &mut self.other,
        }
    }
}

impl Figures {
    /// The figures of a load whose connections send `calls` requests each.
    pub(crate) fn of(round: &Round, calls: u64) -> Figures {
        let tally = &round.tally;
        let connects = &tally.connects;
        let replies = tally.statuses.total();
        let unsent = tally
            .faults
            .count(|fault| matches!(fault.step, Step::Queue | Step::Connect | Step::Handshake));
        let requests = tally.requests().saturating_sub(unsent);
        let lives = match tally.sessions() {
            Some(sessions) => Some(&sessions.time),
            // A closed loop opens a connection when it has something to send: with one request on it that is its life.
            None if calls == 1 => Some(&connects.first.response),
            None => None,
        };
        let each = |bytes: u64, number: u64| match number {
            0 => 0.0,
            number => bytes as f64 / number as f64,
        };
        let heads = tally.bytes_received.saturating_sub(tally.bytes_of_bodies);
        let first_byte = mean(&tally.first_byte);
        let cpu = |part: fn(&ThreadAccounts) -> Nanos| -> f64 {
            round
                .threads
                .iter()
                .map(|thread| part(thread).as_secs_f64())
                .sum()
        };
        Figures {
            connections: connects.attempted,
            requests,
            replies,
            took: round.window.span(),
            concurrent: connects.open_peak,
            connection_time: lives.map_or_else(Summary::default, Summary::of),
            has_connection_time: lives.is_some(),
            connect: mean(&connects.time),
            replies_per_connection: each(replies, connects.established),
            request_size: each(tally.bytes_sent, requests),
            samples: samples(&tally.series, round.window.span()),
            response: first_byte,
            transfer: (mean(&tally.service) - first_byte).max(0.0),
            header_size: each(heads, replies),
            content_size: each(tally.bytes_of_bodies, replies),
            classes: classes(tally.statuses.sorted()),
            user: cpu(|thread| thread.user),
            system: cpu(|thread| thread.system),
            bytes: tally.bytes_sent + tally.bytes_received,
            errors: Errors::of(&tally.faults),
        }
    }

    /// `count` a second.
    pub(crate) fn rate(&self, count: u64) -> f64 {
        rate(count, self.took)
    }

    /// Kilobytes of 1024 bytes a second, sent and received.
    pub(crate) fn kilobytes_a_second(&self) -> f64 {
        self.rate(self.bytes) / 1024.0
    }

    /// Failures of all classes.
    pub(crate) fn errors(&self) -> u64 {
        self.errors.total()
    }

    /// Minimum, mean, maximum and standard deviation of the samples; 0 where there are none.
    pub(crate) fn reply_rate(&self) -> [f64; 4] {
        let samples = &self.samples;
        let number = samples.len() as f64;
        if samples.is_empty() {
            return [0.0; 4];
        }
        let mean = samples.iter().sum::<f64>() / number;
        let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        let min = samples.iter().copied().fold(f64::INFINITY, f64::min);
        let max = samples.iter().copied().fold(0.0, f64::max);
        let deviation = if samples.len() > 1 {
            (squares / (number - 1.0)).sqrt()
        } else {
            0.0
        };
        [min, mean, max, deviation]
    }

    /// What is not measured, for standard error.
    pub(crate) fn remark(&self) -> String {
        match self.has_connection_time {
            true => String::new(),
            false => "weigh: without a rate, the connection time is measured only with --num-calls 1; its figures are 0\n".to_owned(),
        }
    }
}

impl Summary {
    fn of(times: &Histogram) -> Summary {
        Summary {
            min: millis(times.min().unwrap_or(0) as f64),
            mean: mean(times),
            max: millis(times.max().unwrap_or(0) as f64),
            median: millis(times.quantile(0.5).unwrap_or(0) as f64),
            deviation: millis(deviation(times)),
        }
    }
}

fn millis(nanos: f64) -> f64 {
    nanos / 1e6
}

/// The mean in milliseconds.
fn mean(times: &Histogram) -> f64 {
    millis(times.mean().unwrap_or(0.0))
}

fn classes(statuses: Vec<(u16, u64)>) -> [u64; 5] {
    let mut classes = [0; 5];
    for (status, count) in statuses {
        if let 100..=599 = status {
            classes[usize::from(status / 100) - 1] += count;
        }
    }
    classes
}

/// Replies a second in each whole five seconds of the window. The bins of a long window are wider, and then a sample has as many as come
/// nearest to five seconds.
fn samples(series: &Series, window: Nanos) -> Vec<f64> {
    let width = series.interval.as_secs_f64();
    let edge = |sample: usize| (sample as f64 * SAMPLE_SECONDS / width).round() as usize;
    let whole = (window.as_secs_f64() / SAMPLE_SECONDS) as usize;
    let count = |from: usize, to: usize| -> u64 {
        let bins = series.ok.iter().skip(from).take(to - from);
        bins.sum()
    };
    let sample = |sample: usize| {
        let (from, to) = (edge(sample), edge(sample + 1));
        count(from, to) as f64 / ((to - from).max(1) as f64 * width)
    };
    (0..whole).map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_five_whole_seconds() {
        let mut series = Series::default();
        for tenth in 0..124 {
            series.add(
                Nanos::from_millis(tenth * 100),
                if tenth < 50 { 2 } else { 3 },
                1,
            );
        }
        assert_eq!(samples(&series, Nanos::from_millis(12_400)), [20.0, 30.0]);
        assert!(samples(&series, Nanos::from_millis(4_999)).is_empty());
        // Bins of 800 ms: six or seven of them come nearest.
        let mut long = Series::default();
        for second in 0..2_000 {
            long.add(Nanos::from_secs(second), 8, 0);
        }
        let all = samples(&long, Nanos::from_secs(2_000));
        assert_eq!(all.len(), 400);
        assert!(
            all.iter().all(|sample| (6.0..11.0).contains(sample)),
            "{all:?}"
        );
    }

    #[test]
    fn every_kind_of_error_has_its_class() {
        let mut faults = record::Faults::default();
        for kind in Kind::ALL {
            let fault = record::Fault {
                kind: *kind,
                step: Step::Head,
                blame: record::Blame::Server,
            };
            faults.add(fault, 1);
        }
        let errors = Errors::of(&faults);
        assert_eq!(errors.total(), Kind::ALL.len() as u64);
        assert_eq!(
            (errors.client_timeout, errors.refused, errors.reset),
            (4, 1, 2)
        );
        assert_eq!((errors.no_descriptor, errors.no_address), (1, 1));
    }
}
