//! What an operator can query while the server runs: the counts of all workers, as JSON and for Prometheus.
//!
//! Queries are rare and counting is not, so each worker counts in memory of its own that no other thread reads. A query
//! raises a number, and each worker publishes its counts when it next sees that, which is within a tick. So counting
//! costs one relaxed load a *turn* of the loop, and published counts are never older than the query: a client that has
//! its response finds it counted.

use crate::counts::Counts;
use crate::files::What;
use crate::limiter::ConnectionLimiter;
use crate::resources::{self, FixedResponse};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use wire::http1::RequestHead;

/// How long workers are waited for; they publish within 50 ms, unless a disk or a stopped machine holds them.
const PATIENCE: Duration = Duration::from_millis(500);

/// The body of `/`: the paths of the other pages.
pub(crate) const INDEX: &str = "/counters.json\n/metrics\n";

/// Counts that workers publish on request.
pub(crate) struct SharedCounters {
    /// The number of the last query.
    requested: AtomicU64,
    /// By worker: the query that it has seen last, and its counts then.
    published: Mutex<Vec<(u64, Counts)>>,
    changed: Condvar,
    limiter: Arc<ConnectionLimiter>,
}

/// One worker's entry in the shared counters.
pub(crate) struct CounterSlot {
    counters: Arc<SharedCounters>,
    worker: usize,
    /// The query that it has published last.
    seen: u64,
}

/// A page of the admin listener: its path, its content type, and its text, which may wait for the workers.
type Page = (&'static [u8], &'static str, fn(&SharedCounters) -> String);

const PAGES: [Page; 3] = [
    (b"/", "text/plain", |_| INDEX.to_owned()),
    (b"/counters.json", "application/json", |counters| {
        counters.collect().json(counters.open())
    }),
    (b"/metrics", "text/plain; version=0.0.4", |counters| {
        counters.collect().prometheus(counters.open())
    }),
];

/// The page at `path`, without its query.
fn find(path: &[u8]) -> Option<&'static Page> {
    let path = path.split(|&byte| byte == b'?').next()?;
    PAGES.iter().find(|page| page.0 == path)
}

impl SharedCounters {
    pub(crate) fn new(workers: usize, limiter: Arc<ConnectionLimiter>) -> SharedCounters {
        SharedCounters {
            requested: AtomicU64::new(0),
            published: Mutex::new(vec![(0, Counts::default()); workers]),
            changed: Condvar::new(),
            limiter,
        }
    }

    /// The response to a request to the admin listener. Waits for the workers.
    pub(crate) fn respond(&self, head: &RequestHead<'_>) -> What {
        match find(head.path) {
            Some((_, kind, text)) if matches!(head.method, "GET" | "HEAD") => {
                let headers = [("Content-Type", *kind), ("Cache-Control", "no-store")];
                What::made(200, &headers, text(self))
            }
            Some(_) => What::Ready(resources::choose(head.method, head.path)),
            None => FixedResponse::Missing.into(),
        }
    }

    /// Connections now.
    fn open(&self) -> u64 {
        u64::from(self.limiter.open())
    }

    /// The counts of all workers, as they are after now; of one that does not publish them, as they were.
    fn collect(&self) -> Counts {
        let requested = self.requested.fetch_add(1, Ordering::Relaxed) + 1;
        let published = self
            .published
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_missing = |published: &mut Vec<(u64, Counts)>| {
            published.iter().any(|(seen, _)| *seen < requested)
        };
        let (published, _) = self
            .changed
            .wait_timeout_while(published, PATIENCE, is_missing)
            .unwrap_or_else(PoisonError::into_inner);
        let mut sum = Counts::default();
        published.iter().for_each(|(_, counts)| sum += *counts);
        sum
    }
}

impl CounterSlot {
    pub(crate) fn new(counters: &Arc<SharedCounters>, worker: usize) -> CounterSlot {
        CounterSlot {
            counters: Arc::clone(counters),
            worker,
            seen: 0,
        }
    }

    /// Publishes `counts` if there is a new query.
    #[inline]
    pub(crate) fn publish(&mut self, counts: &Counts) {
        let requested = self.counters.requested.load(Ordering::Relaxed);
        if requested != self.seen {
            self.write(requested, counts);
        }
    }

    /// Publishes the final `counts`: nothing more will be counted.
    pub(crate) fn finish(&mut self, counts: &Counts) {
        self.write(u64::MAX, counts);
    }

    #[cold]
    fn write(&mut self, requested: u64, counts: &Counts) {
        self.seen = requested;
        let mut published = self
            .counters
            .published
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = published.get_mut(self.worker) {
            *place = (requested, *counts);
        }
        self.counters.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn counters(workers: usize) -> Arc<SharedCounters> {
        Arc::new(SharedCounters::new(
            workers,
            Arc::new(ConnectionLimiter::new(10, 0)),
        ))
    }

    fn counted(requests: u64) -> Counts {
        Counts {
            requests,
            ..Counts::default()
        }
    }

    #[test]
    fn a_query_returns_what_was_counted_before_by_all_workers() {
        let counters = counters(2);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for worker in 0..2 {
                let (mut counter_slot, stop) = (CounterSlot::new(&counters, worker), &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        counter_slot.publish(&counted(10 + worker as u64));
                        std::thread::yield_now();
                    }
                });
            }
            for _ in 0..50 {
                assert_eq!(counters.collect().requests, 21);
            }
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_worker_that_has_finished_is_not_waited_for() {
        let counters = counters(1);
        CounterSlot::new(&counters, 0).finish(&counted(7));
        let text = |path: &[u8]| find(path).unwrap().2(&counters);
        let json = text(b"/counters.json");
        assert!(json.contains("\"requests\": 7,"), "{json}");
        assert!(text(b"/metrics").contains("weigh_requests_total 7\n"));
    }

    #[test]
    fn pages_are_found_by_their_paths() {
        let cases: [(&str, Option<&[u8]>); 6] = [
            ("/", Some(b"/")),
            ("/metrics", Some(b"/metrics")),
            ("/metrics?x=1", Some(b"/metrics")),
            ("/counters.json", Some(b"/counters.json")),
            ("/counters", None),
            ("*", None),
        ];
        for (path, page) in cases {
            assert_eq!(find(path.as_bytes()).map(|page| page.0), page, "{path}");
        }
        assert!(INDEX.lines().all(|path| find(path.as_bytes()).is_some()));
    }
}
