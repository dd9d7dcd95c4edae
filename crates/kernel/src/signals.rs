//! Ctrl-C and SIGTERM as a flag.
//!
//! The first asks: whoever works looks at the flag and comes to a good end, with a record of what was measured. The
//! second is an order: the process ends at once. SIGPIPE stays ignored, as Rust leaves it; writing says EPIPE. So can
//! SIGXFSZ be made an error of writing.

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The exit status after a second interrupt: what shells call a program that SIGINT ended.
const STATUS: i32 = 130;

/// Whether somebody has asked the process to end.
#[derive(Debug)]
pub struct Interrupts {
    raised: Arc<AtomicBool>,
}

impl Interrupts {
    /// Whether SIGINT or SIGTERM has come. One relaxed load: cheap enough for every turn of a loop.
    #[inline]
    pub fn raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }

    /// The flag itself, for loops that are not to know where it comes from.
    pub fn flag(&self) -> &AtomicBool {
        &self.raised
    }
}

/// The process's interrupts. From the first call on they are caught.
pub fn interrupts() -> &'static Interrupts {
    static INTERRUPTS: OnceLock<Interrupts> = OnceLock::new();
    INTERRUPTS.get_or_init(|| {
        let raised = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag down, and raises it; the second finds it up.
            flag::register_conditional_shutdown(signal, STATUS, Arc::clone(&raised))
                .and_then(|_| flag::register(signal, Arc::clone(&raised)))
                .expect("both signals may be caught");
        }
        Interrupts { raised }
    })
}

/// From now on a file that has reached the process's limit (RLIMIT_FSIZE) makes writing say EFBIG, as a full disk makes
/// it say ENOSPC, instead of ending the process by SIGXFSZ. What the process starts has the signal as it always was:
/// unlike one that is ignored, one that is caught is not inherited.
pub fn outlive_file_limit() {
    let nobody_asks = Arc::new(AtomicBool::new(false));
    flag::register(SIGXFSZ, nobody_asks).expect("the signal may be caught");
}
