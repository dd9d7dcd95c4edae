//! The misbehaving server as its owner has it: started, asked, told, stopped.

use super::behaviour::Scripted;
use super::log::Log;
use super::script::Script;
use super::worker::{Control, WaitMode, Worker};
use kernel::{Address, Epoll};
use refserver::ServeError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// State that the owner and the thread share.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    resume: AtomicBool,
    log: Mutex<Log>,
}

impl Control for Shared {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn take_resume(&self) -> bool {
        self.resume.load(Ordering::Relaxed) && self.resume.swap(false, Ordering::Relaxed)
    }

    fn publish(&self, log: &Log) {
        *self.log() = *log;
    }
}

impl Shared {
    /// A log is whole after each assignment, even if the thread that made it has panicked.
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running misbehaving server. Dropped, it stops.
#[derive(Debug)]
pub struct MisbehavingServer {
    address: Address,
    line: Arc<Shared>,
    thread: Option<JoinHandle<Log>>,
}

impl MisbehavingServer {
    /// Listens at `at` (port 0 asks for any) and serves on a thread of its own.
    ///
    /// # Errors
    /// There is no ring, no such address or no thread to be had.
    pub fn start(at: &Address, script: Script) -> Result<MisbehavingServer, ServeError> {
        let ring = Epoll::new().map_err(ServeError::ring)?;
        let behaviour = Scripted::new(&script);
        let mut worker = Worker::new(ring, behaviour, script, WaitMode::default());
        let listening = worker
            .listen(at)
            .map_err(|error| ServeError::listen(at, error))?;
        let address = listening.clone();
        let line = Arc::new(Shared::default());
        let thread = thread::Builder::new()
            .name("misbehaving".to_owned())
            .spawn({
                let line = Arc::clone(&line);
                move || worker.run(&*line).0
            })
            .map_err(ServeError::thread)?;
        Ok(MisbehavingServer {
            address,
            line,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What it has done so far. What happens in one turn of its loop becomes visible together.
    pub fn log(&self) -> Log {
        *self.line.log()
    }

    /// Ends the outage of the listening socket, if there is one.
    pub fn resume(&self) {
        self.line.resume.store(true, Ordering::Relaxed);
    }

    /// Does what has come, closes everything, and says what was done; a matter of milliseconds.
    pub fn stop(mut self) -> Log {
        match self.end() {
            Some(Ok(log)) => log,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => self.log(),
        }
    }

    fn end(&mut self) -> Option<thread::Result<Log>> {
        self.line.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for MisbehavingServer {
    fn drop(&mut self) {
        // A panic there was told on standard error already; here it may be that another one is under way.
        drop(self.end());
    }
}
