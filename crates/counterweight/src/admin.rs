//! What an operator may ask while the server runs: the counts of all workers, as JSON and for Prometheus.
//!
//! Asking is rare and counting is not, so the workers count in memory of their own, and nobody else looks at it: who
//! wants to know raises a number, and each worker lays its counts on the table when it next sees that, which is within
//! a tick. So a request costs one relaxed load a *turn*, and what is told is never older than the question: whoever has
//! his answer finds it counted.

use crate::counts::Counts;
use crate::places::Places;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long workers are waited for; they answer within 50 ms, unless a disk or a stopped machine holds them.
const PATIENCE: Duration = Duration::from_millis(500);

/// What there is to be asked for.
pub(crate) const INDEX: &str = "/counters.json\n/metrics\n";

/// The table that counts are laid on.
pub(crate) struct Board {
    /// The number of the last question.
    asked: AtomicU64,
    /// By worker: the question that was answered last, and how.
    told: Mutex<Vec<(u64, Counts)>>,
    news: Condvar,
    places: Arc<Places>,
}

/// One worker's place at it.
pub(crate) struct Seat {
    board: Arc<Board>,
    worker: usize,
    answered: u64,
}

/// What a page is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    Index,
    Json,
    Prometheus,
}

impl Page {
    /// The page at `path`, without its query.
    pub(crate) fn find(path: &[u8]) -> Option<Page> {
        let end = path.iter().position(|&byte| byte == b'?');
        match &path[..end.unwrap_or(path.len())] {
            b"/" => Some(Page::Index),
            b"/counters.json" => Some(Page::Json),
            b"/metrics" => Some(Page::Prometheus),
            _ => None,
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Page::Index => "text/plain",
            Page::Json => "application/json",
            Page::Prometheus => "text/plain; version=0.0.4",
        }
    }
}

impl Board {
    pub(crate) fn new(workers: usize, places: Arc<Places>) -> Board {
        Board {
            asked: AtomicU64::new(0),
            told: Mutex::new(vec![(0, Counts::default()); workers]),
            news: Condvar::new(),
            places,
        }
    }

    /// The text of a page. Waits for the workers.
    pub(crate) fn text(&self, page: Page) -> String {
        let open = || u64::from(self.places.taken());
        match page {
            Page::Index => INDEX.to_owned(),
            Page::Json => self.ask().json(open()),
            Page::Prometheus => self.ask().prometheus(open()),
        }
    }

    /// The counts of all workers, as they are after now; of one that does not answer, as they were.
    fn ask(&self) -> Counts {
        let question = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_missing =
            |told: &mut Vec<(u64, Counts)>| told.iter().any(|(answer, _)| *answer < question);
        let (told, _) = self
            .news
            .wait_timeout_while(told, PATIENCE, is_missing)
            .unwrap_or_else(PoisonError::into_inner);
        let mut sum = Counts::default();
        told.iter().for_each(|(_, counts)| sum += *counts);
        sum
    }
}

impl Seat {
    pub(crate) fn new(board: &Arc<Board>, worker: usize) -> Seat {
        Seat {
            board: Arc::clone(board),
            worker,
            answered: 0,
        }
    }

    /// Tells `counts`, if somebody asks.
    #[inline]
    pub(crate) fn tell(&mut self, counts: &Counts) {
        let asked = self.board.asked.load(Ordering::Relaxed);
        if asked != self.answered {
            self.answer(asked, counts);
        }
    }

    /// Tells `counts` for good: nothing more will be counted.
    pub(crate) fn leave(&mut self, counts: &Counts) {
        self.answer(u64::MAX, counts);
    }

    #[cold]
    fn answer(&mut self, asked: u64, counts: &Counts) {
        self.answered = asked;
        let mut told = self
            .board
            .told
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = told.get_mut(self.worker) {
            *place = (asked, *counts);
        }
        self.board.news.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn board(workers: usize) -> Arc<Board> {
        Arc::new(Board::new(workers, Arc::new(Places::new(10, 0))))
    }

    fn counted(requests: u64) -> Counts {
        Counts {
            requests,
            ..Counts::default()
        }
    }

    #[test]
    fn whoever_asks_hears_what_was_counted_before_and_of_all_workers() {
        let board = board(2);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for worker in 0..2 {
                let (mut seat, stop) = (Seat::new(&board, worker), &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        seat.tell(&counted(10 + worker as u64));
                        std::thread::yield_now();
                    }
                });
            }
            for _ in 0..50 {
                assert_eq!(board.ask().requests, 21);
            }
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn whoever_has_left_is_not_waited_for() {
        let board = board(1);
        Seat::new(&board, 0).leave(&counted(7));
        let text = board.text(Page::Json);
        assert!(text.contains("\"requests\": 7,"), "{text}");
        assert!(
            board
                .text(Page::Prometheus)
                .contains("weigh_requests_total 7\n")
        );
    }

    #[test]
    fn pages_are_found_by_their_paths() {
        let cases = [
            ("/", Some(Page::Index)),
            ("/metrics", Some(Page::Prometheus)),
            ("/metrics?x=1", Some(Page::Prometheus)),
            ("/counters.json", Some(Page::Json)),
            ("/counters", None),
            ("*", None),
        ];
        for (path, page) in cases {
            assert_eq!(Page::find(path.as_bytes()), page, "{path}");
        }
        assert!(
            INDEX
                .lines()
                .all(|path| Page::find(path.as_bytes()).is_some())
        );
    }
}
