//! What a server answers to the bare client's request: asked once and looked at closely, so that the client need only
//! count bytes.

use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest head that is read.
const HEAD_MAX: usize = 16 * 1024;

/// The lengths of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Bytes on the wire: head and body.
    pub bytes: usize,
    /// Bytes of its body.
    pub body: usize,
}

/// What is asked for, as the bare client writes it.
pub fn request(at: SocketAddr, path: &str, close: bool) -> String {
    let connection = if close { "Connection: close\r\n" } else { "" };
    let agent = "User-Agent: bare-client\r\nAccept: */*";
    format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n{agent}\r\n{connection}\r\n")
}

/// Asks twice, on one connection if it stays, and says what was answered. Twice, because a length that differs from
/// answer to answer cannot be counted on.
///
/// # Errors
/// Nobody answers, or not with a 200 of a told length, or not the same each time.
pub fn look(at: SocketAddr, path: &str, close: bool) -> Result<Answer> {
    let mut connection = connect(at)?;
    let first = fetch(&mut connection, at, path, close, &mut std::io::sink())?;
    if close {
        connection = connect(at)?;
    }
    let second = fetch(&mut connection, at, path, close, &mut std::io::sink())?;
    ensure!(
        first == second,
        "it answered {} bytes and then {}",
        first.bytes,
        second.bytes
    );
    Ok(second)
}

/// A connection on which nobody is waited for longer than five seconds.
///
/// # Errors
/// Nobody listens.
pub fn connect(at: SocketAddr) -> Result<TcpStream> {
    let connection = TcpStream::connect_timeout(&at, PATIENCE).context("nobody listens")?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_nodelay(true)?;
    Ok(connection)
}

/// One exchange, whose body goes to `sink`.
///
/// # Errors
/// As [`look`].
pub fn fetch(
    connection: &mut TcpStream,
    at: SocketAddr,
    path: &str,
    close: bool,
    sink: &mut impl Write,
) -> Result<Answer> {
    connection.write_all(request(at, path, close).as_bytes())?;
    let (head, begun) = head(connection)?;
    let text = String::from_utf8_lossy(&head);
    ensure!(
        text.starts_with("HTTP/1.1 200"),
        "it answered {}",
        text.lines().next().unwrap_or("nothing")
    );
    let body = length(&text).context("it answered without Content-Length")?;
    let left = body
        .checked_sub(begun.len())
        .context("more came than Content-Length says")?;
    sink.write_all(&begun)?;
    let came =
        std::io::copy(&mut connection.take(left as u64), sink).context("the body broke off")?;
    ensure!(came == left as u64, "the body ended early");
    Ok(Answer {
        bytes: head.len() + body,
        body,
    })
}

/// The head with its empty line, and what of the body came with it.
fn head(connection: &mut TcpStream) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut came = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(end) = came.windows(4).position(|four| four == b"\r\n\r\n") {
            let body = came.split_off(end + 4);
            return Ok((came, body));
        }
        ensure!(came.len() < HEAD_MAX, "the head has no end");
        match connection.read(&mut piece).context("no answer came")? {
            0 => bail!("it closed before an answer was complete"),
            count => came.extend(&piece[..count]),
        }
    }
}

fn length(head: &str) -> Option<usize> {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    lengths.next()?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// What is made of a server that sends `responses` in turn on one connection.
    fn looked(responses: &'static [&'static str]) -> Result<Answer> {
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
        let answer = look(at, "/", false);
        serving.join().unwrap();
        answer
    }

    const THREE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc";

    #[test]
    fn an_answer_is_as_long_as_it_says() {
        let wanted = Answer {
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
                "it answered 41 bytes and then 42",
            ),
            (
                &["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"],
                "it answered HTTP/1.1 404 Not Found",
            ),
            (
                &["HTTP/1.1 200 OK\r\n\r\nabc"],
                "it answered without Content-Length",
            ),
            (
                &["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"],
                "the body ended early",
            ),
            (
                &["HTTP/1.1 200 OK\r\n"],
                "it closed before an answer was complete",
            ),
        ];
        assert_eq!(four.len(), THREE.len() + 1);
        for (responses, wanted) in cases {
            assert_eq!(looked(responses).unwrap_err().to_string(), wanted);
        }
    }
}
