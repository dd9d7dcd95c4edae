//! A queue with one server: what a machine of limited capacity does to its requests.
//!
//! No request is kept waiting in it. A request's departure is known when it arrives (Lindley's recursion: the later of its
//! arrival and its predecessor's departure, and its own service time), so the queue is one instant, however long it is.

use super::distribution::{exponential, span};
use super::draw::{Stream, uniform};
use super::query::QueryError;
use std::str::FromStr;
use units::{Instant, Nanos, parse_count};

/// How long the queue's server takes for a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Service {
    /// Always the same.
    #[default]
    Fixed,
    /// Exponentially distributed.
    Exponential,
}

/// How many requests a second can be served at most, in whole ones and parts of one: more than 0, at most 10^9.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity(f64);

impl Capacity {
    fn mean(self) -> f64 {
        1e9 / self.0
    }
}

impl FromStr for Capacity {
    type Err = QueryError;

    /// Reads `5k/s`; without `/s` it means the same.
    fn from_str(text: &str) -> Result<Capacity, QueryError> {
        let number = text.strip_suffix("/s").unwrap_or(text);
        let rate = match parse_count(number) {
            Ok(count) => Some(count as f64),
            Err(_) => number.parse().ok(),
        };
        let rate = rate.filter(|rate| *rate > 0.0 && *rate <= 1e9);
        rate.map(Capacity).ok_or_else(|| {
            QueryError::text(
                text,
                "a capacity",
                "requests a second, such as 5k/s or 0.5/s",
            )
        })
    }
}

/// How long the queue's server takes for request `id`. The same four give the same time, always and everywhere; at
/// most an hour.
pub fn service(capacity: Capacity, service: Service, seed: u64, id: u64) -> Nanos {
    span(match service {
        Service::Fixed => capacity.mean(),
        Service::Exponential => exponential(capacity.mean(), uniform(seed, Stream::Service, id)),
    })
}

/// The queue, as far as its next request depends on it.
#[derive(Debug)]
pub(crate) struct Queue {
    capacity: Capacity,
    service: Service,
    /// How long after its first request the server has its whole capacity, of which it has half at first.
    cold: Nanos,
    /// When the first request arrived.
    first: Option<Instant>,
    /// When the last of those that came so far departs.
    last: Instant,
}

impl Queue {
    pub(crate) fn new((capacity, service): (Capacity, Service), cold: Nanos) -> Queue {
        Queue {
            capacity,
            service,
            cold,
            first: None,
            last: Instant::ZERO,
        }
    }

    /// When the request departs that has arrived as the next one.
    pub(crate) fn pass(&mut self, arrival: Instant, seed: u64, id: u64) -> Instant {
        let service = service(self.capacity, self.service, seed, id);
        let begun = self.last.max(arrival);
        let since = begun - *self.first.get_or_insert(arrival);
        let service = match since < self.cold {
            true => {
                let warm = since.as_secs_f64() / self.cold.as_secs_f64();
                span(service.as_nanos() as f64 * 2.0 / (1.0 + warm))
            }
            false => service,
        };
        self.last = begun + service;
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: u64) -> Instant {
        Instant::ZERO + Nanos::from_micros(micros)
    }

    #[test]
    fn who_comes_while_another_is_served_waits_for_it() {
        let fixed = ("5k/s".parse().unwrap(), Service::Fixed);
        let mut queue = Queue::new(fixed, Nanos::ZERO);
        let cases = [
            (1000, 1200),
            (1000, 1400),
            (1300, 1600),
            (2000, 2200),
            (2100, 2400),
        ];
        for (id, (arrival, departure)) in cases.into_iter().enumerate() {
            let departs = queue.pass(micros(arrival), 7, id as u64);
            assert_eq!(departs, micros(departure), "{arrival}");
        }
    }

    #[test]
    fn a_cold_server_has_half_its_capacity_and_it_rises_evenly() {
        let fixed = ("5k/s".parse().unwrap(), Service::Fixed);
        let mut queue = Queue::new(fixed, Nanos::from_millis(3));
        // 200 us at full capacity; 2 / (1 + 0), 2 / (1 + 1/3) and 2 / (1 + 1) times as long.
        for (arrival, departure) in [(1000, 1400), (2000, 2300), (4000, 4200), (9000, 9200)] {
            assert_eq!(queue.pass(micros(arrival), 7, 0), micros(departure));
        }
    }

    /// Computed apart from this program, by the formula in docs/truth.md.
    #[test]
    fn exponential_service_is_drawn_by_id() {
        let capacity = "5k/s".parse().unwrap();
        let times = [0, 1, 2].map(|id| service(capacity, Service::Exponential, 7, id).as_nanos());
        assert_eq!(times, [98_929, 550_984, 663_501]);
        let sum: u64 = (0..20_000)
            .map(|id| service(capacity, Service::Exponential, 7, id).as_nanos())
            .sum();
        // The mean of so many has a deviation of 200 us / sqrt(20000) = 1.4 us.
        assert!((sum / 20_000).abs_diff(200_000) < 5_700, "{sum}");
    }

    #[test]
    fn capacities_are_read_or_refused_with_a_remedy() {
        let cases = [
            ("5k/s", Some(5000.0)),
            ("0.5/s", Some(0.5)),
            ("3000", Some(3000.0)),
            ("1.5m/s", Some(1.5e6)),
            ("0/s", None),
            ("-1/s", None),
            ("2g/s", None),
            ("nan", None),
            ("/s", None),
            ("5k/m", None),
        ];
        for (text, rate) in cases {
            match text.parse::<Capacity>() {
                Ok(capacity) => assert_eq!(Some(capacity.0), rate, "{text}"),
                Err(error) => {
                    assert_eq!(rate, None, "{error}");
                    assert!(
                        error.to_string().ends_with("such as 5k/s or 0.5/s"),
                        "{error}"
                    );
                }
            }
        }
    }
}
