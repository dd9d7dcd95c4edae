//! What the client is asked for on its command line.

use std::net::SocketAddrV4;

pub const USAGE: &str = "usage: bare_client ADDR:PORT -c CONNECTIONS -n EXCHANGES [--path PATH] [--close]\n       \
    [--size BYTES [--depth N] [--drop] [--hold idle|body]] | [--rate R [--spin] [--skip N]]";

/// Most requests that are sent at once: with some sixty bytes each they fit what a socket takes unasked.
const DEPTH_MAX: u64 = 1024;

/// Highest rate: no client sends faster, and instants stay far from the end of their numbers.
const RATE_MAX: u64 = 10_000_000;

pub struct Ask {
    pub to: SocketAddrV4,
    pub connections: u64,
    pub exchanges: u64,
    pub close: bool,
    /// What is known of the responses; none: that each is one segment.
    pub sized: Option<Size>,
    /// When exchanges are due; none: as soon as a connection is free.
    pub paced: Option<Rate>,
    path: String,
}

/// Exchanges that are due at an even rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Exchanges a second.
    pub per_second: u64,
    /// Waits awake.
    pub spin: bool,
    /// The first so many are not counted.
    pub skip: u64,
}

/// Responses that are told by their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Bytes of each, head and body.
    pub response: usize,
    /// Requests that are sent at once.
    pub depth: u64,
    /// Leaves most of the bodies in the kernel.
    pub drop: bool,
    /// Where to stop and wait.
    pub hold: Option<Hold>,
}

/// When connections are held open until standard input ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// After the exchanges.
    Idle,
    /// When the first bytes of a response have come on each connection; no more is read then.
    Body,
}

impl Ask {
    pub fn read(mut arguments: impl Iterator<Item = String>) -> Option<Ask> {
        let mut ask = Ask {
            to: arguments.next()?.parse().ok()?,
            connections: 0,
            exchanges: 0,
            close: false,
            sized: None,
            paced: None,
            path: "/".to_owned(),
        };
        let (mut size, mut rate) = (Size::NONE, Rate::NONE);
        while let Some(word) = arguments.next() {
            match word.as_str() {
                "--close" => ask.close = true,
                "--drop" => size.drop = true,
                "--spin" => rate.spin = true,
                option => {
                    let value = arguments.next()?;
                    let number = value.parse().ok().filter(|number| *number > 0);
                    match option {
                        "-c" => ask.connections = number?,
                        "-n" => ask.exchanges = number?,
                        "--path" => ask.path = value,
                        "--size" => size.response = number? as usize,
                        "--depth" => size.depth = number?,
                        "--rate" => rate.per_second = number?,
                        "--skip" => rate.skip = number?,
                        "--hold" => size.hold = Some(Hold::read(&value)?),
                        _ => return None,
                    }
                }
            }
        }
        ask.connections = ask.exchanges.min(ask.connections);
        ask.sized = (size != Size::NONE).then_some(size);
        ask.paced = (rate != Rate::NONE).then_some(rate);
        let is_sized = ask.sized.is_none_or(|size| size.is_sound(ask.close));
        let is_paced = ask.paced.is_none_or(|rate| rate.is_sound(&ask));
        (ask.connections > 0 && is_sized && is_paced).then_some(ask)
    }

    pub fn request(&self) -> Vec<u8> {
        let close = if self.close {
            "Connection: close\r\n"
        } else {
            ""
        };
        // As long as weigh's, so that the kernel has as much to carry.
        let agent = "User-Agent: bare-client\r\nAccept: */*";
        let Ask { path, to, .. } = self;
        format!("GET {path} HTTP/1.1\r\nHost: {to}\r\n{agent}\r\n{close}\r\n").into_bytes()
    }
}

impl Size {
    /// Nothing is known.
    const NONE: Size = Size {
        response: 0,
        depth: 1,
        drop: false,
        hold: None,
    };

    fn is_sound(&self, close: bool) -> bool {
        let one_each = self.depth == 1 && self.hold.is_none();
        self.response > 0 && (1..=DEPTH_MAX).contains(&self.depth) && (!close || one_each)
    }
}

impl Rate {
    /// As fast as responses come.
    const NONE: Rate = Rate {
        per_second: 0,
        spin: false,
        skip: 0,
    };

    fn is_sound(&self, ask: &Ask) -> bool {
        let alone = !ask.close && ask.sized.is_none();
        (1..=RATE_MAX).contains(&self.per_second) && self.skip < ask.exchanges && alone
    }
}

impl Hold {
    fn read(word: &str) -> Option<Hold> {
        match word {
            "idle" => Some(Hold::Idle),
            "body" => Some(Hold::Body),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Ask> {
        Ask::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let cases = [
            ("127.0.0.1:80 -c 2 -n 3", true),
            ("127.0.0.1:80 -c 2 -n 3 --size 200 --depth 64", true),
            ("127.0.0.1:80 -c 2 -n 3 --size 200 --close", true),
            ("127.0.0.1:80 -c 2 -n 3 --size 200 --hold idle", true),
            ("127.0.0.1:80 -c 2", false),
            ("127.0.0.1:80 -c 0 -n 3", false),
            ("127.0.0.1:80 -c 2 -n 3 --depth 64", false),
            ("127.0.0.1:80 -c 2 -n 3 --size 0", false),
            ("127.0.0.1:80 -c 2 -n 3 --size 200 --depth 0", false),
            ("127.0.0.1:80 -c 2 -n 3 --size 200 --depth 2 --close", false),
            ("127.0.0.1:80 -c 2 -n 3 --size 200 --hold never", false),
            ("127.0.0.1:80 -c 2 -n 3 --rate 10000", true),
            ("127.0.0.1:80 -c 2 -n 3 --rate 10000 --spin --skip 2", true),
            ("127.0.0.1:80 -c 2 -n 3 --rate 0", false),
            ("127.0.0.1:80 -c 2 -n 3 --rate 10000 --skip 3", false),
            ("127.0.0.1:80 -c 2 -n 3 --rate 10000 --close", false),
            ("127.0.0.1:80 -c 2 -n 3 --rate 10000 --size 200", false),
            ("127.0.0.1:80 -c 2 -n 3 --spin", false),
            ("127.0.0.1:80 -c 2 -n 3 --skip 1", false),
            ("nowhere -c 2 -n 3", false),
        ];
        for (line, sound) in cases {
            assert_eq!(read(line).is_some(), sound, "{line}");
        }
    }

    #[test]
    fn the_request_says_what_was_asked_for() {
        let request = |line| String::from_utf8(read(line).unwrap().request()).unwrap();
        assert_eq!(
            request("127.0.0.1:80 -c 1 -n 1"),
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nUser-Agent: bare-client\r\nAccept: */*\r\n\r\n"
        );
        assert_eq!(
            request("127.0.0.1:80 -c 1 -n 1 --path /a --close"),
            "GET /a HTTP/1.1\r\nHost: 127.0.0.1:80\r\nUser-Agent: bare-client\r\nAccept: */*\r\n\
             Connection: close\r\n\r\n"
        );
    }
}
