//! What one exchange costs in instructions, on the wire's side alone.
//!
//! ```text
//! cargo build --release -p wire --example cost
//! for n in 1000 11000; do valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/cost same $n; done
//! ```
//!
//! The difference of the two counts by 10,000 is one exchange, opened, sent and answered whole, without the
//! process's start. `same`: the head is the last one again; `dated`: only its Date has changed; `fresh`: it
//! must be parsed.

use std::hint::black_box;
use std::io::IoSlice;
use wire::{Connection, Ending, Head, Opening, Request, Sink, Source};

const RESPONSE: &str = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Fri, 20 Nov 2026 06:20:22 GMT\r\n\
    Content-Type: text/html\r\nContent-Length: 100\r\nLast-Modified: Fri, 20 Nov 2026 06:00:00 GMT\r\n\
    Connection: keep-alive\r\nETag: \"691eaf00-64\"\r\nAccept-Ranges: bytes\r\n\r\n";

#[derive(Default)]
struct Count {
    exchanges: u64,
    bytes: u64,
}

impl Sink for Count {
    fn first(&mut self) {}
    fn head(&mut self, head: &Head<'_>) {
        black_box(head.status);
    }
    fn body(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
    }
    fn done(&mut self, ending: Ending) {
        self.exchanges += u64::from(ending.result.is_ok());
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, times] = &arguments[..] else {
        panic!("usage: cost same|dated|fresh TIMES")
    };
    let times: u32 = times.parse().expect("TIMES is a number");
    let same = [RESPONSE, &"x".repeat(100)].concat();
    let other = match mode.as_str() {
        "same" => same.clone(),
        "dated" => same.replace("06:20:22", "06:20:23"),
        "fresh" => same.replace("691eaf00", "691eaf01"),
        _ => panic!("usage: cost same|dated|fresh TIMES"),
    };
    let count = exchange(times, [same.as_bytes(), other.as_bytes()]);
    assert_eq!(
        (count.exchanges, count.bytes),
        (u64::from(times), u64::from(times) * 100)
    );
}

fn exchange(times: u32, responses: [&[u8]; 2]) -> Count {
    let mut head = Vec::new();
    Request {
        path: "/100.html",
        authority: "127.0.0.1:8080",
        ..Request::default()
    }
    .encode(&mut head);
    let mut connection = Connection::http1(1);
    let mut count = Count::default();
    for number in 0..times {
        connection.open(Opening {
            head: Source::Shared(black_box(&head)),
            body: Source::EMPTY,
            is_head: false,
        });
        let mut slices = [IoSlice::new(&[]); 2];
        let filled = connection.outgoing(&mut slices);
        let bytes = slices[..filled].iter().map(|slice| slice.len()).sum();
        connection.sent(bytes);
        let response = black_box(responses[(number % 2) as usize]);
        connection
            .receive(response, &mut count)
            .expect("the response is right");
    }
    count
}
