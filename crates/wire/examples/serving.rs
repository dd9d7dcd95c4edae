//! What one request costs in instructions, on the wire's server side alone.
//!
//! ```text
//! cargo build --release -p wire --example serving
//! for n in 1000 11000; do valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/serving same $n; done
//! ```
//!
//! The difference of the two counts by 10,000 is one request, received whole and told to a sink that does nothing.
//! `same`: its head is the last one again; `few`: one of eight; `path`: its target is new and its header lines are the
//! last ones again; `fresh`: both are new. `browser-path`, `browser-fresh`: the same with the head of a browser.

use std::hint::black_box;
use std::ops::ControlFlow;
use wire::http1::{RequestCache, RequestHead, Server, ServerSink};

const HEAD: &str = "GET /100.html?0000 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: weigh/0.1.0\r\n\
    Accept: */*\r\n\r\n";

const BROWSER: &str = "GET /100.html?0000 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: keep-alive\r\n\
    sec-ch-ua: \"Chromium\";v=\"142\", \"Not_A Brand\";v=\"99\"\r\nsec-ch-ua-mobile: ?0\r\n\
    sec-ch-ua-platform: \"Linux\"\r\nUpgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) \
    AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36\r\nAccept: text/html,\
    application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8\r\nSec-Fetch-Site: none\r\n\
    Sec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\n\r\n";

#[derive(Default)]
struct Count {
    requests: u64,
}

impl ServerSink for Count {
    fn request(&mut self, head: &RequestHead<'_>) {
        black_box((head.method, head.path));
    }
    fn body(&mut self, bytes: &[u8]) {
        black_box(bytes);
    }
    fn complete(&mut self) -> ControlFlow<()> {
        self.requests += 1;
        ControlFlow::Continue(())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, times] = &arguments[..] else {
        panic!("usage: serving MODE TIMES")
    };
    let times: u64 = times.parse().expect("TIMES is a number");
    let (head, mode) = match mode.strip_prefix("browser-") {
        Some(mode) => (BROWSER, mode),
        None => (HEAD, mode.as_str()),
    };
    let heads: u32 = match mode {
        "same" => 1,
        "few" => RequestCache::PLACES as u32,
        "path" | "fresh" => 1000,
        _ => panic!("MODE is same, few, path or fresh, with `browser-` before it or without"),
    };
    let heads: Vec<_> = (0..heads)
        .map(|number| head.replace("?0000", &format!("?{number:04}")))
        .zip(1000..)
        .map(|(head, number)| match mode {
            "fresh" => head.replace("User-Agent: ", &format!("User-Agent: {number}")),
            _ => head,
        })
        .collect();
    let (mut requests, mut server, mut count) =
        (RequestCache::default(), Server::default(), Count::default());
    for head in heads.iter().cycle().take(times as usize) {
        server
            .receive(&mut requests, black_box(head.as_bytes()), &mut count)
            .expect("the request is right");
    }
    assert_eq!(count.requests, times);
}
