//! Notices when this thread did not run though it could have: its process was stopped (SIGSTOP, Ctrl-Z), frozen, or its
//! machine halted.
//!
//! A thread sets itself an alarm at each look, so that between two looks it sleeps at most until then. What has passed
//! beyond that, and was neither CPU time nor waiting for a CPU, it did not run. A thread that is starved by others waits
//! for a CPU, which Linux counts, and so is told apart. Looks are taken at alarms and where something is already known
//! to have taken long, so that an exchange pays nothing for them.

use kernel::accounts::{ThreadMeter, thread_cpu};
use record::Paused;
use std::rc::Rc;
use units::{Instant, Nanos};

/// How long an alarm lies ahead at most in real time: a pause is known to within as much. A look takes 1.5 us.
const LOOK_EVERY: Nanos = Nanos::from_millis(10);

/// A thread that ran no sooner than this after its alarm was stopped; timers and page faults take far less.
const PAUSE_LEAST: Nanos = Nanos::from_millis(10);

/// One thread's watch on itself.
#[derive(Debug)]
pub(crate) struct Watchdog {
    meter: Meter,
    /// When it looked last, and by when it meant to look again.
    looked: Instant,
    alarm: Instant,
    /// CPU time, and waits for a CPU, at the last look.
    cpu: Nanos,
    waited: Nanos,
    /// The time between looks that had a pause between them, without CPU time and waits for a CPU.
    lost: Nanos,
    /// The last pause: when it was over, and for how long the thread cannot have looked because of it.
    last: (Instant, Nanos),
    /// Where the window begins, from which pauses are counted.
    start: Instant,
    paused: Paused,
}

/// What knows how long the thread ran and waited for a CPU.
#[derive(Debug)]
enum Meter {
    /// In virtual time nothing takes CPU time.
    Virtual,
    Real(Rc<ThreadMeter>),
    /// Linux does not tell of waits for a CPU, so that a pause cannot be told from one.
    None,
}

impl Meter {
    /// The time, and CPU time and waits for a CPU so far. `stamped` is a time that was read before: what the thread did
    /// since would be in its CPU time and not in the time that passed, and the next look would miss it, so that real time
    /// is read again.
    fn read(&self, stamped: Instant) -> (Instant, Nanos, Nanos) {
        match self {
            Meter::Real(meter) => {
                let waited = meter.run_queue_wait().unwrap_or_default();
                (kernel::clock::now(), thread_cpu(), waited)
            }
            Meter::Virtual | Meter::None => (stamped, Nanos::ZERO, Nanos::ZERO),
        }
    }
}

impl Watchdog {
    /// The watchdog of the calling thread, which `meter` reads; none in virtual time.
    pub(crate) fn new(meter: Option<Rc<ThreadMeter>>) -> Watchdog {
        let meter = match meter {
            None => Meter::Virtual,
            Some(meter) if meter.run_queue_wait().is_some() => Meter::Real(meter),
            Some(_) => Meter::None,
        };
        Watchdog {
            meter,
            looked: Instant::ZERO,
            alarm: Instant::NEVER,
            cpu: Nanos::ZERO,
            waited: Nanos::ZERO,
            lost: Nanos::ZERO,
            last: (Instant::ZERO, Nanos::ZERO),
            start: Instant::NEVER,
            paused: Paused::default(),
        }
    }

    /// Pauses are counted that reach beyond `start`.
    pub(crate) fn open_window(&mut self, start: Instant) {
        self.start = start;
    }

    /// The thread will look again by `alarm`.
    pub(crate) fn expect(&mut self, alarm: Instant) {
        self.alarm = alarm;
    }

    /// Looks; returns when to look again at the latest. `stamped` is the caller's latest reading of the clock.
    pub(crate) fn look(&mut self, stamped: Instant) -> Instant {
        let before = self.cpu + self.waited;
        let now;
        (now, self.cpu, self.waited) = self.meter.read(stamped);
        let ran = (self.cpu + self.waited).saturating_sub(before);
        let idle = (now - self.looked).saturating_sub(ran);
        let slept_most = self.alarm - self.looked;
        let length = idle.saturating_sub(slept_most);
        let is_pause = self.alarm < Instant::NEVER && length > PAUSE_LEAST;
        if is_pause && !matches!(self.meter, Meter::None) {
            self.note(now, length, idle);
        }
        self.looked = now;
        match self.meter {
            Meter::Real(_) => now + LOOK_EVERY,
            Meter::Virtual | Meter::None => Instant::NEVER,
        }
    }

    #[cold]
    fn note(&mut self, now: Instant, length: Nanos, idle: Nanos) {
        self.lost += idle;
        self.last = (now, idle);
        if now > self.start {
            self.paused.add(length.min(now - self.start));
        }
    }

    /// How long the thread had not run until the last look, because it waited for a CPU or was paused. A pause counts from
    /// the look before it, when the thread was last known to run.
    pub(crate) fn own_delay(&self) -> Nanos {
        self.lost + self.waited
    }

    /// How much of the time since `since` may belong to the last pause.
    pub(crate) fn paused_since(&self, since: Instant) -> Nanos {
        let (over, idle) = self.last;
        if over > since { idle } else { Nanos::ZERO }
    }

    /// The pauses that reached into the window or what came after it.
    pub(crate) fn paused(&self) -> Paused {
        self.paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + MS * millis
    }

    /// A watchdog that looked at 1 s and means to again 10 ms later, in a window from 1 s.
    fn watchdog() -> Watchdog {
        let mut watchdog = Watchdog::new(None);
        watchdog.look(at(1_000));
        watchdog.expect(at(1_010));
        watchdog.open_window(at(1_000));
        watchdog
    }

    #[test]
    fn what_passes_beyond_the_alarm_is_a_pause_from_ten_milliseconds_on() {
        for (now, wanted) in [
            (1_005, 0),
            (1_010, 0),
            (1_020, 0),
            (1_021, 11),
            (1_500, 490),
        ] {
            let mut watchdog = watchdog();
            watchdog.look(at(now));
            let paused = watchdog.paused();
            assert_eq!(paused.count, u64::from(wanted > 0), "{now}");
            assert_eq!((paused.total, paused.longest), (MS * wanted, MS * wanted));
        }
    }

    #[test]
    fn a_look_before_the_alarm_shortens_what_may_have_been_slept() {
        let mut watchdog = watchdog();
        watchdog.look(at(1_008));
        watchdog.look(at(1_100));
        assert_eq!(watchdog.paused().total, MS * 90);
        watchdog.look(at(1_105));
        assert_eq!(watchdog.paused().count, 1, "the alarm is over");
    }

    #[test]
    fn pauses_before_the_window_are_not_counted_and_those_into_it_in_part() {
        for (start, wanted) in [(2_000, 0), (1_100, 0), (1_090, 10), (900, 90)] {
            let mut watchdog = watchdog();
            watchdog.open_window(at(start));
            watchdog.look(at(1_100));
            assert_eq!(watchdog.paused().total, MS * wanted, "{start}");
        }
    }

    #[test]
    fn nothing_is_known_before_the_first_alarm_and_without_a_count_of_waits() {
        let mut early = Watchdog::new(None);
        early.look(at(1_000));
        early.look(at(9_000));
        assert_eq!(early.paused(), Paused::default());
        let mut blind = watchdog();
        blind.meter = Meter::None;
        blind.look(at(9_000));
        assert_eq!(blind.paused(), Paused::default());
    }

    #[test]
    fn what_a_pause_may_have_touched_is_all_since_the_look_before() {
        let mut watchdog = watchdog();
        watchdog.look(at(1_100));
        assert_eq!(watchdog.own_delay(), MS * 100);
        assert_eq!(watchdog.paused_since(at(1_099)), MS * 100);
        assert_eq!(watchdog.paused_since(at(1_100)), Nanos::ZERO);
        watchdog.expect(at(1_110));
        watchdog.look(at(1_110));
        assert_eq!(watchdog.own_delay(), MS * 100);
    }

    /// Whether `attempt` is told of no pause, once in ten times: a busy machine may pause any of them.
    fn is_unpaused(attempt: fn(&mut Watchdog)) -> bool {
        (0..10).any(|_| {
            let mut watchdog = Watchdog::new(Some(Rc::new(ThreadMeter::new())));
            attempt(&mut watchdog);
            watchdog.paused() == Paused::default()
        })
    }

    /// Takes more CPU time than would be a pause.
    fn work() {
        let begun = thread_cpu();
        while thread_cpu().saturating_sub(begun) < MS * 40 {}
    }

    #[test]
    fn a_thread_that_works_or_sleeps_until_its_alarm_is_not_paused() {
        assert!(is_unpaused(|watchdog| {
            watchdog.look(kernel::clock::now());
            watchdog.open_window(kernel::clock::now());
            watchdog.expect(kernel::clock::now());
            work();
            watchdog.look(kernel::clock::now());
        }));
    }

    #[test]
    fn what_a_thread_did_since_its_stamp_is_no_pause_at_the_next_look() {
        assert!(is_unpaused(|watchdog| {
            let stamped = kernel::clock::now();
            watchdog.look(stamped);
            watchdog.open_window(stamped);
            watchdog.expect(stamped);
            work();
            // As thousands of timeouts in one turn, all with the stamp of its beginning.
            watchdog.look(stamped);
            watchdog.look(kernel::clock::now());
        }));
    }
}
