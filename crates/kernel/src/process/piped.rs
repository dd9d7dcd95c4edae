//! A process of our own kind that is told what to do in lines on its standard input, and answers in lines on its output.
//!
//! It is in a group of its own, so that a terminal's Ctrl-C reaches us alone and we decide what it is told. It should end
//! when its input does; should we die, the kernel kills it besides, where the main thread has started it. Two threads carry the lines, so that neither a helper
//! that does not read nor one that does not write can make us wait: both end with it.

use rustix::process::Signal;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use units::Nanos;

use crate::{clock, signals};

/// The numbers of those at work, which Ctrl-Z stops with us; 0 where there is none. There are at most two at a time; a
/// further one is not stopped.
static AT_WORK: [AtomicI32; 2] = [AtomicI32::new(0), AtomicI32::new(0)];

/// How often it is looked whether a helper that is ending has ended.
const LOOK: Nanos = Nanos::from_millis(2);

/// What came from a helper: a line, without its end; or none when nothing more will come, because it has ended or said more
/// in one line than it may.
pub type Message = Option<Vec<u8>>;

/// Such a process. Dropping it kills it.
#[derive(Debug)]
pub struct Piped {
    child: Child,
    /// Lines to be written; none once its input is closed.
    lines: Option<Sender<Vec<u8>>>,
}

impl Piped {
    /// Starts `command`. What it says goes to `tell`, under `name`, line by line of at most `longest` bytes each; its
    /// standard error is ours.
    ///
    /// # Errors
    /// There is no such program, it may not be executed, or there is no room for a process or its threads.
    pub fn start<T: Copy + Send + 'static>(
        command: &[OsString],
        longest: u64,
        name: T,
        tell: Sender<(T, Message)>,
    ) -> io::Result<Piped> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        super::end_with_us(&mut command, Signal::KILL);
        signals::suspend_with_us(&AT_WORK);
        let mut child = command.spawn()?;
        exchange(0, child.id() as i32);
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (lines, written) = channel();
        let helper = Piped {
            child,
            lines: Some(lines),
        };
        let (Some(input), Some(output)) = (input, output) else {
            return Err(io::Error::other("a new process has no pipes"));
        };
        let carry = |work: Box<dyn FnOnce() + Send>| {
            let thread = thread::Builder::new().name("weigh-lines".to_owned());
            thread.spawn(work).map(drop)
        };
        carry(Box::new(move || write(input, &written)))?;
        carry(Box::new(move || read(output, longest, name, &tell)))?;
        Ok(helper)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Says `line` to it; never waits. One that has ended does not hear it.
    pub fn send(&self, line: Vec<u8>) {
        if let Some(lines) = &self.lines {
            let _ = lines.send(line); // its thread has ended: that shows in what comes from it
        }
    }

    /// Closes its input and waits for its end; kills it when `grace` is over. Returns how it ended.
    ///
    /// # Errors
    /// What the system said.
    pub fn end(&mut self, grace: Nanos) -> io::Result<ExitStatus> {
        self.lines = None;
        exchange(self.child.id() as i32, 0);
        let deadline = clock::now() + grace;
        while clock::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            // Its end gives no sign that could be waited for with a limit, short of a signal handler.
            thread::sleep(LOOK.to_std());
        }
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.end(Nanos::ZERO); // what cannot be killed has ended
    }
}

/// Replaces one of the numbers of those at work.
fn exchange(old: i32, new: i32) {
    let replaced =
        |slot: &AtomicI32| slot.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed);
    let _ = AT_WORK.iter().any(|slot| replaced(slot).is_ok());
}

fn write(mut input: ChildStdin, lines: &Receiver<Vec<u8>>) {
    for mut line in lines {
        line.push(b'\n');
        if input.write_all(&line).is_err() {
            return; // it has ended
        }
    }
}

fn read<T: Copy>(output: ChildStdout, longest: u64, name: T, tell: &Sender<(T, Message)>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let length = output
            .by_ref()
            .take(longest + 1)
            .read_until(b'\n', &mut line);
        let is_whole = length.is_ok() && line.pop() == Some(b'\n');
        if tell.send((name, is_whole.then_some(line))).is_err() || !is_whole {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Far more than ever needed.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn shell(script: &str, longest: u64) -> (Piped, Receiver<(u8, Message)>) {
        let (tell, messages) = channel();
        let command = ["sh", "-c", script].map(OsString::from);
        let helper = Piped::start(&command, longest, 7, tell).unwrap();
        (helper, messages)
    }

    fn next(messages: &Receiver<(u8, Message)>) -> Message {
        let (name, message) = messages.recv_timeout(PATIENCE).unwrap();
        assert_eq!(name, 7);
        message
    }

    #[test]
    fn it_hears_lines_and_is_heard_and_ends_with_its_input() {
        let (mut helper, messages) = shell("while read line; do echo got $line; done; exit 3", 100);
        for line in ["one", "two"] {
            helper.send(line.into());
            assert_eq!(next(&messages), Some(format!("got {line}").into()));
        }
        let status = helper.end(Nanos::from_secs(60)).unwrap();
        assert_eq!((status.code(), next(&messages)), (Some(3), None));
    }

    #[test]
    fn a_line_that_is_too_long_or_not_ended_is_the_end() {
        for (script, longest, whole) in [
            ("echo 12345; read never", 6, true),
            ("echo 123456; read never", 6, false),
            ("printf 123", 6, false),
        ] {
            let (_helper, messages) = shell(script, longest - 1);
            let first = next(&messages);
            assert_eq!(first.is_some(), whole, "{script}: {first:?}");
        }
    }

    #[test]
    fn one_that_neither_reads_nor_ends_is_killed_and_nobody_waits_for_it() {
        let (mut helper, _heard) = shell("kill -STOP $$", 10);
        helper.send(vec![b'x'; 1 << 20]); // more than a pipe holds
        let status = helper.end(Nanos::from_millis(5)).unwrap();
        assert_eq!(status.code(), None);
        assert!(Piped::start(&["/no/such/program".into()], 1, 0, channel().0).is_err());
    }
}
