//! How a server that weigh started ended before its load did.

use plan::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::count;

/// The end of a server that weigh started, before the plan was carried out: the campaign stopped there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerEnd {
    /// The exit status of the process that weigh started; none where a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it, by name; none where it exited.
    pub signal: Option<String>,
    /// The load level that was being measured.
    pub level: Level,
    /// The round of that level, from 0.
    pub round: u32,
    /// Where in the round.
    pub during: During,
    /// Processes that it had started and that still ran.
    pub left: u32,
    /// The last lines that it had printed, on standard output and error alike.
    pub printed: String,
}

/// A part of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum During {
    /// Before the round.
    Before,
    /// While connections were opened, or during the warm-up.
    WarmUp,
    /// In the measure window.
    Window,
    /// After the window, while the last responses were awaited.
    Drain,
}

impl ServerEnd {
    /// The most bytes of a server's output that are kept.
    pub const MOST_PRINTED: u64 = 2000;
    /// The most of its lines that are kept.
    const MOST_LINES: usize = 10;
    /// A shell's exit status says by this much over a signal's number that its command was ended by that signal.
    const SHELL: i32 = 128;

    /// The last lines of `output`, as they are kept.
    pub fn last_lines(output: &str) -> String {
        let lines: Vec<&str> = output.trim_end().lines().collect();
        lines[lines.len().saturating_sub(Self::MOST_LINES)..].join("\n")
    }

    /// Whether the process that weigh started has handed its work over to others, as one does that goes into the
    /// background.
    pub fn is_daemon(&self) -> bool {
        self.status == Some(0) && self.left > 0
    }

    /// Returns how it ended: `exited with status 7`.
    pub fn how(&self) -> String {
        match (&self.signal, self.status) {
            (Some(signal), _) => format!("was killed by {signal}"),
            (None, Some(status)) => format!("exited with status {status}"),
            (None, None) => "ended".to_owned(),
        }
    }

    /// What happened, as a sentence.
    pub fn sentence(&self) -> String {
        let how = match self.status.filter(|_| self.signal.is_none()) {
            Some(status) if status > Self::SHELL => format!(
                "{} (in a shell: its command was killed by signal {})",
                self.how(),
                status - Self::SHELL
            ),
            _ => self.how(),
        };
        let round = count(u64::from(self.round) + 1);
        let when = match self.during {
            During::Before => format!("before round {round}"),
            During::WarmUp => format!("in the warm-up of round {round}"),
            During::Window => format!("in the window of round {round}"),
            During::Drain => format!("after the window of round {round}"),
        };
        let left = match self.left {
            0 => String::new(),
            1 => ", while 1 process that it had started went on".to_owned(),
            left => format!(
                ", while {} processes that it had started went on",
                count(left.into())
            ),
        };
        let printed = match self.printed.trim() {
            "" => "it printed nothing".to_owned(),
            printed => {
                let lines: Vec<&str> = printed.lines().map(str::trim).collect();
                format!("it printed last: {}", lines.join(" | "))
            }
        };
        format!("the server that weigh started {how} {when}{left}; {printed}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Load;

    fn end() -> ServerEnd {
        ServerEnd {
            status: None,
            signal: Some("SIGSEGV".into()),
            level: Level::of(Load::Closed { connections: 4 }),
            round: 1,
            during: During::Window,
            left: 0,
            printed: String::new(),
        }
    }

    #[test]
    fn the_sentence_says_how_when_and_what_was_printed() {
        let said = |end: ServerEnd| end.sentence();
        assert_eq!(
            said(end()),
            "the server that weigh started was killed by SIGSEGV in the window of round 2; it printed nothing"
        );
        let exited = |status| ServerEnd {
            status: Some(status),
            signal: None,
            printed: "one\n  two \n".into(),
            ..end()
        };
        assert_eq!(
            said(ServerEnd {
                during: During::Before,
                ..exited(7)
            }),
            "the server that weigh started exited with status 7 before round 2; it printed last: one | two"
        );
        assert!(said(exited(139)).contains(
            "exited with status 139 (in a shell: its command was killed by signal 11) in the window"
        ));
        let daemon = ServerEnd {
            left: 1_000,
            during: During::WarmUp,
            ..exited(0)
        };
        assert!(
            said(daemon.clone()).contains(
                "status 0 in the warm-up of round 2, while 1,000 processes that it had started went on; it"
            ),
            "{}",
            said(daemon.clone())
        );
        assert!(daemon.is_daemon() && !exited(0).is_daemon() && !end().is_daemon());
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let lines: Vec<String> = (0..30).map(|number| number.to_string()).collect();
        let kept = ServerEnd::last_lines(&(lines.join("\n") + "\n\n"));
        assert_eq!(kept, lines[20..].join("\n"));
        assert_eq!(ServerEnd::last_lines(""), "");
    }
}
