//! Responses to the bare client's request: one is requested first and looked at closely, so that the client need only
//! count bytes.

use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a response may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest head that is read.
const HEAD_MAX: usize = 16 * 1024;

/// The lengths of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// Bytes on the wire: head and body.
    pub bytes: usize,
    /// Bytes of its body.
    pub body: usize,
}

/// Sends two requests, on one connection if it stays, and returns the second response. Two, because a length that differs
/// from response to response cannot be counted on.
///
/// # Errors
/// Nothing responds, or not with a 200 of a known length, or not the same each time.
pub fn look(at: SocketAddr, path: &str, close: bool) -> Result<Response> {
    let mut connection = connect(at)?;
    let first = fetch(&mut connection, at, path, close, &mut std::io::sink())?;
    if close {
        connection = connect(at)?;
    }
    let second = fetch(&mut connection, at, path, close, &mut std::io::sink())?;
    let (before, bytes) = (first.bytes, second.bytes);
    ensure!(first == second, "it sent {before} bytes and then {bytes}");
    Ok(second)
}

/// Opens a connection on which no read waits longer than five seconds.
///
/// # Errors
/// Nothing listens.
pub fn connect(at: SocketAddr) -> Result<TcpStream> {
    let connection = TcpStream::connect_timeout(&at, PATIENCE).context("nothing listens")?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_nodelay(true)?;
    Ok(connection)
}

/// Sends a request, as the bare client writes it, and receives its response, whose body goes to `sink`.
///
/// # Errors
/// As [`look`].
pub fn fetch(
    connection: &mut (impl Read + Write),
    at: SocketAddr,
    path: &str,
    close: bool,
    sink: &mut impl Write,
) -> Result<Response> {
    let closing = if close { "Connection: close\r\n" } else { "" };
    let agent = "User-Agent: bare-client\r\nAccept: */*";
    let request = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n{agent}\r\n{closing}\r\n");
    connection.write_all(request.as_bytes())?;
    let (head, begun) = head(connection)?;
    let text = String::from_utf8_lossy(&head);
    let status = text.lines().next().unwrap_or("nothing");
    ensure!(status.starts_with("HTTP/1.1 200"), "it sent {status}");
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = lengths.next().and_then(|(_, it)| it.trim().parse().ok());
    let body: usize = length.context("it sent no Content-Length")?;
    let left = body.checked_sub(begun.len());
    let left = left.context("more came than Content-Length says")? as u64;
    sink.write_all(&begun)?;
    let came = std::io::copy(&mut Read::by_ref(connection).take(left), sink)
        .context("the body broke off")?;
    ensure!(came == left, "the body ended early");
    Ok(Response {
        bytes: head.len() + body,
        body,
    })
}

/// The head with its empty line, and the part of the body that came with it.
fn head(connection: &mut impl Read) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut came = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(end) = came.windows(4).position(|four| four == b"\r\n\r\n") {
            let body = came.split_off(end + 4);
            return Ok((came, body));
        }
        ensure!(came.len() < HEAD_MAX, "the head has no end");
        match connection.read(&mut piece).context("no response came")? {
            0 => bail!("it closed before a response was complete"),
            count => came.extend(&piece[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// The result for a server that sends `responses` in turn on one connection.
    fn looked(responses: &'static [&'static str]) -> Result<Response> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let serving = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            for response in responses {
                let mut piece = [0; 1024];
                let _ = connection.read(&mut piece);
                connection.write_all(response.as_bytes()).unwrap();
            }
        });
        let response = look(at, "/", false);
        serving.join().unwrap();
        response
    }

    const THREE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc";

    #[test]
    fn a_response_is_as_long_as_it_says() {
        let wanted = Response {
            bytes: THREE.len(),
            body: 3,
        };
        assert_eq!(looked(&[THREE, THREE]).unwrap(), wanted);
    }

    #[test]
    fn what_cannot_be_counted_on_is_refused() {
        let four = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd";
        let cases: [(&'static [&'static str], &str); 5] = [
            (
                &[THREE, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"],
                "it sent 41 bytes and then 42",
            ),
            (
                &["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"],
                "it sent HTTP/1.1 404 Not Found",
            ),
            (&["HTTP/1.1 200 OK\r\n\r\nabc"], "it sent no Content-Length"),
            (
                &["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"],
                "the body ended early",
            ),
            (
                &["HTTP/1.1 200 OK\r\n"],
                "it closed before a response was complete",
            ),
        ];
        assert_eq!(four.len(), THREE.len() + 1);
        for (responses, wanted) in cases {
            assert_eq!(looked(responses).unwrap_err().to_string(), wanted);
        }
    }
}
