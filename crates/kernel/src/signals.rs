//! Signals that end the process, as a flag; and those that must not end it.
//!
//! The first SIGINT, SIGTERM or SIGQUIT asks: whatever works looks at the flag and comes to a good end, with a record of
//! what was measured. The second is an order: the process ends at once. SIGPIPE stays ignored, as Rust leaves it;
//! writing says EPIPE. So can SIGXFSZ be made an error of writing.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::{flag, low_level};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

/// The exit status after a second interrupt: what shells call a program that SIGINT ended.
const STATUS: i32 = 130;

/// Whether a signal has asked the process to end.
#[derive(Debug)]
pub struct Interrupts {
    raised: Arc<AtomicBool>,
}

impl Interrupts {
    /// Whether such a signal has come. One relaxed load: cheap enough for every turn of a loop.
    #[inline]
    pub fn raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }

    /// The flag itself, for loops that are not to know where it comes from.
    pub fn flag(&self) -> &AtomicBool {
        &self.raised
    }
}

/// Returns the process's interrupts: SIGINT, SIGTERM and SIGQUIT. From the first call on they are caught, also where they
/// were ignored when the process started: a shell script ignores SIGINT and SIGQUIT for what it starts in the background,
/// and its `kill -QUIT` is meant all the same.
pub fn interrupts() -> &'static Interrupts {
    static INTERRUPTS: OnceLock<Interrupts> = OnceLock::new();
    INTERRUPTS.get_or_init(|| {
        let raised = Arc::new(AtomicBool::new(false));
        // Apart from `raised`, which SIGHUP raises as well: what comes after a SIGHUP is no second one.
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGQUIT] {
            let (asked, raised) = (Arc::clone(&asked), Arc::clone(&raised));
            let handler = move || {
                raised.store(true, Ordering::Relaxed);
                if asked.swap(true, Ordering::Relaxed) {
                    end_at_once();
                }
            };
            // SAFETY: the handler does what a signal handler may: atomic operations, write and _exit.
            let registered = unsafe { low_level::register(signal, handler) };
            registered.expect("these signals may be caught");
        }
        Interrupts { raised }
    })
}

/// What a second interrupt writes to standard error before it ends the process.
static LAST_WORDS: OnceLock<String> = OnceLock::new();

/// Sets the line that a second interrupt, which ends the process at once, writes to standard error. The first call counts.
pub fn last_words(line: &str) {
    let _ = LAST_WORDS.set(format!("{line}\n"));
}

/// Ends the process by what a signal handler may do.
fn end_at_once() {
    if let Some(words) = LAST_WORDS.get() {
        // SAFETY: the text lives as long as the process.
        unsafe { libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len()) };
    }
    low_level::exit(STATUS);
}

/// Has Ctrl-Z (SIGTSTP) stop the processes that `ids` names at that moment as well, each by its process number and 0 for
/// none, and has them go on when this process does. Nothing changes where the signal is ignored.
pub(crate) fn suspend_with_us(ids: &'static [AtomicI32]) {
    static ONCE: OnceLock<()> = OnceLock::new();
    let all = move |signal| {
        let each = ids.iter().map(|id| id.load(Ordering::Relaxed));
        each.filter(|id| *id > 0).for_each(|id| {
            // SAFETY: kill takes no memory. The process is a child that is not reaped while its number is listed.
            unsafe { libc::kill(id, signal) };
        });
    };
    let handler = move || {
        all(libc::SIGSTOP);
        let _ = low_level::raise(libc::SIGSTOP); // returns when a shell lets us go on
        all(libc::SIGCONT);
    };
    ONCE.get_or_init(|| {
        if !is_ignored(SIGTSTP) {
            // SAFETY: the handler does what a signal handler may: atomic operations, kill and raise.
            let registered = unsafe { low_level::register(SIGTSTP, handler) };
            registered.expect("the signal may be caught");
        }
    });
}

/// The interrupts of a process that measures: SIGHUP interrupts it too, unless it was ignored when the process started,
/// as by nohup. (It never is an order: a terminal that closes sends it twice, by the kernel and by the shell.) SIGUSR1
/// and SIGUSR2 do nothing.
pub fn measuring() -> &'static Interrupts {
    static FURTHER: OnceLock<()> = OnceLock::new();
    let interrupts = interrupts();
    FURTHER.get_or_init(|| {
        if !is_ignored(SIGHUP) {
            flag::register(SIGHUP, Arc::clone(&interrupts.raised))
                .expect("the signal may be caught");
        }
        [SIGUSR1, SIGUSR2].into_iter().for_each(outlive);
    });
    interrupts
}

/// From now on a file that has reached the process's limit (RLIMIT_FSIZE) makes writing say EFBIG, as a full disk makes
/// it say ENOSPC, instead of ending the process by SIGXFSZ.
pub fn outlive_file_limit() {
    outlive(SIGXFSZ);
}

/// Has `signal` do nothing to this process. What the process starts has the signal as it always was: unlike one that is
/// ignored, one that is caught is not inherited.
fn outlive(signal: i32) {
    if !is_ignored(signal) {
        let nobody_looks = Arc::new(AtomicBool::new(false));
        flag::register(signal, nobody_looks).expect("the signal may be caught");
    }
}

/// Whether the process ignores `signal`.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // SAFETY: sigaction is plain old data; all zeroes is a valid value of it.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: `action` outlives the call, which fills it; a null pointer says that nothing is to be changed.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// The name of `signal`, such as `SIGSEGV`; its number where it has none.
pub fn name(signal: i32) -> String {
    match low_level::signal_name(signal) {
        Some(name) => name.to_owned(),
        None => format!("signal {signal}"),
    }
}

/// What signals ask of a server.
#[derive(Debug)]
pub struct ServerSignals {
    /// SIGINT, SIGTERM or SIGQUIT: stop. A second one ends the process at once.
    pub stop: &'static Interrupts,
    /// Raised by SIGHUP and SIGUSR1: open the log anew. The server lowers it.
    pub reopen: Arc<AtomicBool>,
}

/// The signals of a server, as nginx, lighttpd and logrotate know them. SIGUSR2 does nothing, and SIGHUP stays ignored
/// where it was ignored when the process started, as by nohup. From the first call on they are caught.
pub fn serving() -> ServerSignals {
    let reopen = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGUSR1] {
        if signal == SIGUSR1 || !is_ignored(signal) {
            flag::register(signal, Arc::clone(&reopen)).expect("these signals may be caught");
        }
    }
    outlive(SIGUSR2);
    ServerSignals {
        stop: interrupts(),
        reopen,
    }
}
