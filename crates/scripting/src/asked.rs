//! Requests as scripts write them: the bytes of one or several in HTTP/1.1's form.

use crate::Asked;

/// The most headers of a request.
const HEADERS_MOST: usize = 128;
/// The most requests that one call may return.
const REQUESTS_MOST: usize = 1024;

/// Reads the requests that `bytes` hold, one behind the other.
///
/// # Errors
/// What is wrong with them, as a part of a sentence.
pub(crate) fn read(mut bytes: &[u8]) -> Result<Vec<Asked>, String> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        if all.len() == REQUESTS_MOST {
            return Err(format!("it holds more than {REQUESTS_MOST} requests"));
        }
        let (one, length) = first(bytes)?;
        all.push(one);
        bytes = &bytes[length..];
    }
    match all.is_empty() {
        true => Err("it is empty".to_owned()),
        false => Ok(all),
    }
}

/// The first request, and how long it is.
fn first(bytes: &[u8]) -> Result<(Asked, usize), String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MOST];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err("its head does not end".to_owned()),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(format!("it has more than {HEADERS_MOST} headers"));
        }
        Err(_) => return Err("it is not HTTP/1.1".to_owned()),
    };
    let mut asked = Asked {
        method: request.method.unwrap_or_default().to_owned(),
        path: request.path.unwrap_or_default().to_owned(),
        ..Asked::default()
    };
    let mut length = None;
    for header in request.headers.iter() {
        let value = std::str::from_utf8(header.value);
        let value = value.map_err(|_| format!("its header {} is not UTF-8", header.name))?;
        if header.name.eq_ignore_ascii_case("content-length") {
            let number = value.trim().parse::<usize>();
            length = Some(number.map_err(|_| format!("its Content-Length is no number: {value}"))?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(
                "its body is sent in chunks, which weigh does not do; give it a Content-Length"
                    .to_owned(),
            );
        } else {
            asked
                .headers
                .push((header.name.to_owned(), value.to_owned()));
        }
    }
    let Some(length) = length else {
        return Ok((asked, head));
    };
    let end = head.checked_add(length).filter(|end| *end <= bytes.len());
    let end =
        end.ok_or_else(|| format!("its body is shorter than its Content-Length, {length}"))?;
    asked.body = Some(bytes[head..end].to_vec());
    Ok((asked, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_requests_are_read_one_behind_the_other() {
        let bytes = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 2\r\nX-A: 1\r\n\r\nhiPUT /c HTTP/1.1\r\n\r\n";
        let all = read(bytes).unwrap();
        let named: Vec<String> = all
            .iter()
            .map(|it| format!("{} {}", it.method, it.path))
            .collect();
        assert_eq!(named, ["GET /a", "POST /b", "PUT /c"]);
        assert_eq!(all[0].headers, [("Host".to_owned(), "x".to_owned())]);
        assert_eq!((&all[0].body, &all[1].body), (&None, &Some(b"hi".to_vec())));
        assert_eq!(all[1].headers, [("X-A".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn what_is_no_request_is_said() {
        let cases: [(&[u8], &str); 7] = [
            (b"", "empty"),
            (b"GET /", "does not end"),
            (b"\x01\r\n\r\n", "not HTTP"),
            (
                b"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhi",
                "shorter than",
            ),
            (b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "no number"),
            (
                b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "in chunks",
            ),
            (
                b"GET / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n",
                "shorter than",
            ),
        ];
        for (bytes, wanted) in cases {
            let said = read(bytes).unwrap_err();
            assert!(said.contains(wanted), "{said}: {wanted}");
        }
        let many = b"GET / HTTP/1.1\r\n\r\n".repeat(1025);
        assert!(read(&many).unwrap_err().contains("more than 1024"));
    }
}
