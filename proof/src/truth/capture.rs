//! The truth by packets: when the kernel had each request and each answer, by a capture on the loopback device.
//!
//! It is the one judge of all clients that shares nothing with weigh or its server: tcpdump writes what the kernel
//! stamps. On loopback a packet is stamped within its sender's system call, so the time between the stamps of a request
//! and of its answer holds the way to the server and the server, and neither the client's own sending nor its waking:
//! what a client reports lies above it by those, some microseconds for one that is awake.
//!
//! A capture costs the machine something, too. It is asked for only the packets that carry anything, runs at the lowest
//! priority, and has room for many seconds of load, so that it need not run while load does. If the kernel dropped a
//! single packet nonetheless, the capture is no truth.

mod pcap;

use crate::catalogue::read;
use crate::programs;
use crate::serving::{start, until};
use anyhow::{Context, Result, ensure};
use kernel::process::{Child, Ending};
use pcap::{Segment, segments};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use units::Nanos;

/// KiB that the kernel keeps until tcpdump comes to them: half a million small packets.
const ROOM_KIB: &str = "131072";
/// Bytes of each packet that are kept: the headers (66), and a request line with its id.
const SNAP: &str = "320";
/// The file is complete when it has not grown for so long: the kernel hands packets over after a second at the latest.
const STILL: Duration = Duration::from_millis(1500);
/// The longest wait for that.
const STILL_MAX: Duration = Duration::from_secs(30);
/// How often the file is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(100);
/// Largest capture that is read: some million packets.
const FILE_MAX: u64 = 512 * 1024 * 1024;
/// How long it may take to begin, and to end.
const START_MAX: Duration = Duration::from_secs(10);
const GRACE: Nanos = Nanos::from_secs(10);
/// Most connections that are told apart.
const CONVERSATIONS_MAX: usize = 100_000;

/// One exchange as the kernel saw it. Times are since 1970-01-01 UTC, as packets have them; the header of a truth log
/// says what the wall clock was ahead of the monotonic one by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// What the request names itself by (`id=N`), if it does.
    pub id: Option<u64>,
    /// The first packet of the request.
    pub asked: Duration,
    /// The last packet of the answer (of a small one: the only one).
    pub answered: Duration,
}

/// A running tcpdump.
#[derive(Debug)]
pub struct Capture {
    child: Child,
    /// Where its messages go, and the packets.
    words: PathBuf,
    file: PathBuf,
    port: u16,
}

impl Capture {
    /// Captures what goes to and from `at` on loopback, into a file in `folder`. When this returns, it does. None where
    /// there is no tcpdump.
    ///
    /// # Errors
    /// It may not capture: its own words are in the error.
    pub fn start(at: SocketAddr, folder: &Path) -> Result<Option<Capture>> {
        if programs::find("tcpdump").is_none() {
            return Ok(None);
        }
        let (words, file) = (folder.join("tcpdump.words"), folder.join("packets.pcap"));
        // The shell opens the file, because tcpdump gives its rights up before it would open one.
        let run =
            "exec nice -n 19 tcpdump -i lo -n --time-stamp-precision nano -w - \"$@\" > \"$0\"";
        let file_name = file.display().to_string();
        let shell = ["sh", "-c", run, &file_name, "-B", ROOM_KIB, "-s", SNAP];
        let shell = shell.map(str::to_owned).into_iter();
        let mut child = start(shell.chain([filter(at.port())]), &words)?;
        let started = until(START_MAX, LOOK, || {
            let text = read(&words)?;
            let ended = child.exited().is_some();
            ensure!(!ended, "tcpdump ended: {}", text.trim());
            Ok(text.contains("listening on").then_some(()))
        })?;
        started.context("tcpdump does not begin")?;
        let port = at.port();
        Ok(Some(Capture {
            child,
            words,
            file,
            port,
        }))
    }

    /// Ends the capture, some seconds later, and returns the exchanges that it saw, in the order of their answers.
    ///
    /// # Errors
    /// The kernel dropped packets, tcpdump did not end well, or the capture cannot be read.
    pub fn stop(mut self) -> Result<Vec<Seen>> {
        self.wait_until_still()?;
        let ending = self.child.stop(GRACE);
        let words = read(&self.words)?;
        ensure!(ending == Ending::Asked, "tcpdump does not end: {words}");
        let dropped = dropped(&words).with_context(|| {
            format!("tcpdump does not say whether packets were dropped: {words}")
        })?;
        let is_whole = dropped == 0;
        ensure!(
            is_whole,
            "{dropped} packets were dropped, so the capture is no truth"
        );
        let fits = std::fs::metadata(&self.file)?.len() <= FILE_MAX;
        ensure!(fits, "the capture is larger than {FILE_MAX} bytes");
        exchanges(&std::fs::read(&self.file)?, self.port)
    }

    /// Waits until all packets are in the file.
    fn wait_until_still(&self) -> Result<()> {
        let (mut length, mut grown) = (0, Instant::now());
        let still = until(STILL_MAX, LOOK, || {
            let now = std::fs::metadata(&self.file)?.len();
            if now != length {
                (length, grown) = (now, Instant::now());
            }
            Ok((grown.elapsed() >= STILL).then_some(()))
        })?;
        let port = self.port;
        still.with_context(|| format!("there are still packets: something is loading port {port}"))
    }
}

/// Packets of `port` whose length is more than that of their headers.
fn filter(port: u16) -> String {
    format!("tcp port {port} and (ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2)) != 0")
}

/// How many packets were lost, by tcpdump's last words.
fn dropped(words: &str) -> Option<u64> {
    let counts = words.lines().filter_map(|line| {
        let (count, what) = line.trim().split_once(' ')?;
        let is_drop = what.contains("dropped by");
        count.parse().ok().filter(|_| is_drop)
    });
    counts.reduce(|sum, count: u64| sum + count)
}

/// The exchanges with `port` in a capture.
fn exchanges(capture: &[u8], port: u16) -> Result<Vec<Seen>> {
    let mut conversations: HashMap<SocketAddr, Conversation> = HashMap::new();
    let mut seen = Vec::new();
    for segment in segments(capture)? {
        let at = Duration::from_nanos(segment.stamp);
        let to_server = segment.to.port() == port;
        let client = if to_server { segment.from } else { segment.to };
        let conversation = conversations.entry(client).or_default();
        match to_server {
            true => seen.extend(conversation.ask(&segment, at)),
            false => conversation.answer(&segment, at),
        }
        ensure!(
            conversations.len() <= CONVERSATIONS_MAX,
            "the capture has more than {CONVERSATIONS_MAX} connections"
        );
    }
    seen.extend(conversations.values_mut().filter_map(Conversation::end));
    seen.sort_unstable_by_key(|exchange| exchange.answered);
    Ok(seen)
}

/// One connection, on which each request waits for the answer to the one before it.
#[derive(Debug, Default)]
struct Conversation {
    /// The request that is being answered.
    asked: Option<(Option<u64>, Duration)>,
    /// The latest packet of its answer.
    answered: Option<Duration>,
    /// The number after that of the last byte to the server, and to the client.
    to_server: Option<u32>,
    to_client: Option<u32>,
}

impl Conversation {
    /// A packet of a request. If it is the first of one, the exchange before it is over, and returned.
    fn ask(&mut self, segment: &Segment, at: Duration) -> Option<Seen> {
        let goes_on = self.asked.is_some() && self.answered.is_none();
        if !is_new(&mut self.to_server, segment) || goes_on {
            return None;
        }
        let before = self.end();
        self.asked = Some((id(&segment.bytes), at));
        before
    }

    fn answer(&mut self, segment: &Segment, at: Duration) {
        if is_new(&mut self.to_client, segment) && self.asked.is_some() {
            self.answered = Some(at);
        }
    }

    /// The exchange that has been answered; one that has not is nothing yet.
    fn end(&mut self) -> Option<Seen> {
        let answered = self.answered.take()?;
        let (id, asked) = self.asked.take()?;
        Some(Seen {
            id,
            asked,
            answered,
        })
    }
}

/// Whether the segment has bytes that were not seen on its side, of which `next` is the number after that of the last byte:
/// a device may show a packet twice, and TCP may send it again.
fn is_new(next: &mut Option<u32>, segment: &Segment) -> bool {
    let end = segment.sequence.wrapping_add(segment.length);
    // Numbers go round; what is less than half a round ahead is later.
    let is_new = next.is_none_or(|next| end.wrapping_sub(next).cast_signed() > 0);
    if is_new {
        *next = Some(end);
    }
    is_new
}

/// The id in a request line, if it is all there.
fn id(request: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(request);
    let (line, _) = text.split_once('\r')?;
    let query = line.split(' ').nth(1)?.split_once('?')?.1;
    let mut fields = query.split('&');
    fields.find_map(|field| field.strip_prefix("id=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::pcap::tests::{file, packet};
    use super::*;

    const PORT: u16 = 80;
    fn to_server(port: u16, sequence: u32, id: u64) -> Vec<u8> {
        let line = format!("GET /delay?id={id}&law=constant HTTP/1.1\r\n");
        packet((port, PORT), sequence, line.as_bytes())
    }

    fn to_client(port: u16, sequence: u32, content: &[u8]) -> Vec<u8> {
        packet((PORT, port), sequence, content)
    }

    fn read(packets: &[(u64, Vec<u8>)]) -> Vec<(Option<u64>, u128, u128)> {
        let seen = exchanges(&file(1, 256, packets), PORT).unwrap();
        seen.iter()
            .map(|of| (of.id, of.asked.as_nanos(), of.answered.as_nanos()))
            .collect()
    }

    #[test]
    fn each_answer_belongs_to_the_request_before_it_on_its_connection() {
        let seen = read(&[
            (10, to_server(4000, 100, 7)),
            (11, to_server(4001, 500, 8)),
            (20, to_client(4001, 0, b"HTTP/1.1 200")),
            (30, to_client(4000, 0, b"HTTP/1.1 200")),
            (40, to_server(4001, 600, 9)),
            (55, to_client(4001, 12, b"HTTP/1.1 200")),
            (60, to_server(4000, 200, 10)), // never answered
        ]);
        let wanted = [(Some(8), 11, 20), (Some(7), 10, 30), (Some(9), 40, 55)];
        assert_eq!(seen, wanted);
    }

    #[test]
    fn packets_that_come_twice_are_taken_once() {
        let seen = read(&[
            (10, to_server(4000, u32::MAX - 3, 7)),
            (11, to_server(4000, u32::MAX - 3, 7)),
            (20, to_client(4000, 5, b"HTTP")),
            (21, to_client(4000, 5, b"HTTP")),
            (25, to_server(4000, u32::MAX - 3, 7)),
            (30, to_server(4000, 60, 8)),
            (33, to_client(4000, 9, b"HTTP")),
        ]);
        assert_eq!(seen, [(Some(7), 10, 20), (Some(8), 30, 33)]);
    }

    #[test]
    fn an_answer_ends_with_its_last_packet_and_a_request_begins_with_its_first() {
        let seen = read(&[
            (10, to_server(4000, 0, 7)),
            (12, packet((4000, PORT), 1000, b"body")),
            (20, to_client(4000, 0, b"HTTP")),
            (28, to_client(4000, 4, b"more")),
        ]);
        assert_eq!(seen, [(Some(7), 10, 28)]);
    }

    #[test]
    fn an_id_is_read_only_where_there_is_one() {
        let cases: [(&str, Option<u64>); 7] = [
            ("GET /delay?id=12 HTTP/1.1\r\n", Some(12)),
            ("GET /delay?law=x&id=12&mean=1ms HTTP/1.1\r\n", Some(12)),
            ("GET /delay?law=x&id=12", None), // there may be more digits
            ("GET /delay?id=12 HTTP/1.1", None),
            ("GET /delay?valid=12 HTTP/1.1\r\n", None),
            ("GET /nop.gif HTTP/1.1\r\nX: ?id=12 \r\n", None),
            ("GET /delay?id=x HTTP/1.1\r\n", None),
        ];
        for (request, wanted) in cases {
            assert_eq!(id(request.as_bytes()), wanted, "{request}");
        }
    }

    #[test]
    fn dropped_packets_are_read_from_last_words() {
        let words =
            "12 packets captured\n24 packets received by filter\n3 packets dropped by kernel\n";
        assert_eq!(dropped(words), Some(3));
        let two = format!("{words}4 packets dropped by interface\n");
        assert_eq!(dropped(&two), Some(7));
        assert_eq!(dropped(&words.replace('3', "0")), Some(0));
        assert_eq!(dropped("12 packets captured\n"), None);
    }
}
