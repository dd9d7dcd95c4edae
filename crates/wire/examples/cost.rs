//! What one exchange costs in instructions on the wire's side alone: the client's, or the server's.
//!
//! ```text
//! cargo build --release -p wire --example cost
//! for n in 1000 11000; do valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/cost client same $n; done
//! ```
//!
//! The difference of the two counts by 10,000 is one exchange, without the process's start.
//!
//! `client`: opened, sent, and its response received whole. `same`: the response's head is the last one again; `dated`:
//! only its Date has changed; `few`: it is one of eight; `fresh`: it must be parsed.
//!
//! `server`: a request received whole, and told to a sink that does nothing. `same`: its head is the last one again;
//! `few`: one of eight; `path`: its target is new and its header lines are the last ones again; `fresh`: both are new.
//! `browser`: the same with the head of a browser.

use std::hint::black_box;
use std::io::IoSlice;
use std::ops::ControlFlow;
use wire::http1::Client;
use wire::http1::{RequestCache, RequestHead, Server, ServerSink};
use wire::{Connection, Dialect, Ending, ExchangeId, Head, Method, Opening, Request, Sink, Source};

const USAGE: &str = "usage: cost client same|dated|few|fresh TIMES, or cost server|browser same|few|path|fresh TIMES";

const RESPONSE: &str = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Fri, 20 Nov 2026 06:20:22 GMT\r\n\
    Content-Type: text/html\r\nContent-Length: 100\r\nLast-Modified: Fri, 20 Nov 2026 06:00:00 GMT\r\n\
    Connection: keep-alive\r\nETag: \"691eaf00-64\"\r\nAccept-Ranges: bytes\r\n\r\n";

const HEAD: &str = "GET /100.html?0000 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: weigh/0.1.0\r\n\
    Accept: */*\r\n\r\n";

const BROWSER: &str = "GET /100.html?0000 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: keep-alive\r\n\
    sec-ch-ua: \"Chromium\";v=\"142\", \"Not_A Brand\";v=\"99\"\r\nsec-ch-ua-mobile: ?0\r\n\
    sec-ch-ua-platform: \"Linux\"\r\nUpgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) \
    AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36\r\nAccept: text/html,\
    application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8\r\nSec-Fetch-Site: none\r\n\
    Sec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\n\r\n";

/// Counts what is complete.
struct Count(usize);

impl Sink for Count {
    fn first(&mut self, _: ExchangeId) {}
    fn head(&mut self, _: ExchangeId, head: &Head<'_>) {
        black_box(head.status);
    }
    fn body(&mut self, _: ExchangeId, bytes: &[u8]) {
        black_box(bytes);
    }
    fn done(&mut self, _: ExchangeId, ending: Ending) {
        self.0 += usize::from(ending.result.is_ok());
    }
    fn unanswered(&mut self, _: ExchangeId, _: Ending) {}
}

impl ServerSink for Count {
    fn request(&mut self, head: &RequestHead<'_>) {
        black_box((head.method, head.path));
    }
    fn body(&mut self, bytes: &[u8]) {
        black_box(bytes);
    }
    fn complete(&mut self) -> ControlFlow<()> {
        self.0 += 1;
        ControlFlow::Continue(())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [role, mode, times] = &arguments[..] else {
        panic!("{USAGE}")
    };
    let times: usize = times.parse().expect("TIMES is a number");
    let complete = match role.as_str() {
        "client" => exchanges(mode, times),
        "server" => requests(mode, HEAD, times),
        "browser" => requests(mode, BROWSER, times),
        _ => panic!("{USAGE}"),
    };
    assert_eq!(complete, times);
}

fn exchanges(mode: &str, times: usize) -> usize {
    let same = [RESPONSE, &"x".repeat(100)].concat();
    let numbered = |number| same.replace("691eaf00", &format!("691eaf{number:02}"));
    let responses: Vec<String> = match mode {
        "same" => vec![same],
        "dated" => vec![same.replace("06:20:22", "06:20:23"), same],
        "few" => (0..8).map(numbered).collect(),
        "fresh" => (0..100).map(numbered).collect(),
        _ => panic!("{USAGE}"),
    };
    let mut head = Vec::new();
    let request = Request {
        path: "/100.html",
        authority: "127.0.0.1:8080",
        ..Request::default()
    };
    Dialect::default().encode(&request, &mut head);
    let (mut connection, mut count) = (Client::http1(1), Count(0));
    for response in responses.iter().cycle().take(times) {
        let opening = Opening {
            head: Source::Shared(black_box(&head)),
            body: Source::EMPTY,
            method: Method::Idempotent,
        };
        connection.open(ExchangeId(0), opening);
        let mut slices = [IoSlice::new(&[]); 2];
        let filled = connection.outgoing(&mut slices);
        let bytes = slices[..filled].iter().map(|slice| slice.len()).sum();
        connection.sent(bytes, |_| {});
        connection
            .receive(black_box(response.as_bytes()), &mut count)
            .expect("the response is right");
    }
    count.0
}

fn requests(mode: &str, head: &str, times: usize) -> usize {
    let heads = match mode {
        "same" => 1,
        "few" => RequestCache::PLACES,
        "path" | "fresh" => 1000,
        _ => panic!("{USAGE}"),
    };
    let agent = |number| match mode {
        "fresh" => format!("User-Agent: {}", 1000 + number),
        _ => "User-Agent: ".to_owned(),
    };
    let numbered = |number| {
        head.replace("?0000", &format!("?{number:04}"))
            .replace("User-Agent: ", &agent(number))
    };
    let heads: Vec<String> = (0..heads).map(numbered).collect();
    let mut requests = RequestCache::default();
    let (mut server, mut count) = (Server::default(), Count(0));
    for head in heads.iter().cycle().take(times) {
        server
            .receive(&mut requests, black_box(head.as_bytes()), &mut count)
            .expect("the request is right");
    }
    count.0
}
