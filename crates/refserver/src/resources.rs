//! What is served without a folder: the built-in resources, and the responses for everything else.
//!
//! Sizes are what people benchmark with: nothing, 43 bytes, 100 bytes. They are bytes in the program, so that no file
//! system is measured where the protocol is meant.

/// One built-in response.
pub(crate) struct Resource {
    /// Its path, without a query; none for the response to requests for anything else.
    path: &'static [u8],
    pub(crate) status: u16,
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) body: &'static [u8],
}

const GIF: &[(&str, &str)] = &[("Content-Type", "image/gif")];
const HTML: &[(&str, &str)] = &[("Content-Type", "text/html")];
const BINARY: &[(&str, &str)] = &[("Content-Type", "application/octet-stream")];
const TEXT: &[(&str, &str)] = &[("Content-Type", "text/plain")];
const ALLOW: &[(&str, &str)] = &[("Allow", "GET, HEAD, OPTIONS")];
const TEXT_ALLOW: &[(&str, &str)] = &[
    ("Content-Type", "text/plain"),
    ("Allow", "GET, HEAD, OPTIONS"),
];

/// One pixel, transparent: a header, two colours, the transparency block, and the pixel in LZW codes of three bits
/// (clear, colour 0, end).
const PIXEL: &[u8; 43] = b"GIF89a\x01\0\x01\0\x80\0\0\
    \0\0\0\xff\xff\xff\
    !\xf9\x04\x01\0\0\0\0\
    ,\0\0\0\0\x01\0\x01\0\0\
    \x02\x02\x44\x01\0\
    ;";

const PAGE: &[u8; 100] = b"<!DOCTYPE html><title>100 bytes</title>\
    <p>This page has one hundred bytes, neither more nor less.\n\n\n";

/// Where what means nothing is sent from.
pub(crate) static FILLING: [u8; 64 * 1024] = [b'x'; 64 * 1024];

/// The longest body of `/bytes/N`.
const FILLED_MOST: u64 = 1 << 30;

/// All of them: those with a path, then the fixed responses in the order of [`FixedResponse`].
#[rustfmt::skip]
pub(crate) const RESOURCES: [Resource; 15] = [
    Resource { path: b"/nop.gif", status: 200, headers: GIF, body: PIXEL },
    Resource { path: b"/100.html", status: 200, headers: HTML, body: PAGE },
    Resource { path: b"/0.html", status: 200, headers: HTML, body: b"" },
    Resource { path: b"/hello", status: 200, headers: TEXT, body: b"Hello, world!\n" },
    Resource { path: b"/bytes/0", status: 200, headers: BINARY, body: b"" },
    Resource { path: b"", status: 404, headers: TEXT, body: b"Nothing is here.\n" },
    Resource { path: b"", status: 405, headers: TEXT_ALLOW, body: b"Only GET, HEAD and OPTIONS are answered.\n" },
    Resource { path: b"", status: 501, headers: TEXT_ALLOW, body: b"The method is not known here.\n" },
    Resource { path: b"", status: 204, headers: ALLOW, body: b"" },
    Resource { path: b"", status: 400, headers: TEXT, body: b"The path is malformed.\n" },
    Resource { path: b"", status: 403, headers: TEXT, body: b"This may not be read.\n" },
    Resource { path: b"", status: 405, headers: TEXT_ALLOW, body: b"Files can be asked for with GET and HEAD.\n" },
    Resource { path: b"", status: 412, headers: TEXT, body: b"The condition does not hold.\n" },
    Resource { path: b"", status: 500, headers: TEXT, body: b"The file cannot be read.\n" },
    Resource { path: b"", status: 503, headers: TEXT, body: b"This cannot be answered now; please try again.\n" },
];

/// A response that is the same for every path; its number is its index in [`RESOURCES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FixedResponse {
    /// 404: there is no such resource or file, or none that is served.
    Missing = 5,
    /// 405: a known method that built-in resources do not have.
    NotAllowed,
    /// 501: an unknown method.
    Unknown,
    /// 204 to OPTIONS.
    Options,
    /// 400: the target is no path.
    Malformed,
    /// 403: the file may not be read.
    Forbidden,
    /// 405: a known method that files do not have.
    NotForFiles,
    /// 412: the client's conditions do not hold.
    Failed,
    /// 500: the file cannot be read.
    Broken,
    /// 503: not now: descriptors or memory are used up, or the file changes while it is read.
    Busy,
}

/// Methods that other servers implement (RFC 9110 §9, RFC 5789) and these resources do not.
pub(crate) const OTHER_METHODS: [&str; 6] = ["POST", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT"];

/// Returns the place of the response to a request among the built-in ones.
#[inline]
pub fn choose(method: &str, path: &[u8]) -> usize {
    if method == "GET" || method == "HEAD" {
        find(path)
    } else {
        choose_for_other(method, path) as usize
    }
}

fn choose_for_other(method: &str, path: &[u8]) -> FixedResponse {
    match method {
        "OPTIONS" if path == b"*" || find(path) != NOT_FOUND || filled(path).is_some() => {
            FixedResponse::Options
        }
        "OPTIONS" => FixedResponse::Missing,
        method if OTHER_METHODS.contains(&method) => FixedResponse::NotAllowed,
        _ => FixedResponse::Unknown,
    }
}

const NOT_FOUND: usize = FixedResponse::Missing as usize;
/// The place of `/bytes/0`.
pub(crate) const EMPTY: usize = NOT_FOUND - 1;

/// Returns how many bytes `path` asks for: the N of `/bytes/N`, whatever its query; none for other paths, and beyond what is
/// sent.
#[cold]
pub(crate) fn filled(path: &[u8]) -> Option<u64> {
    let number = str::from_utf8(name(path).strip_prefix(b"/bytes/")?).ok()?;
    let is_number = number.bytes().all(|digit| digit.is_ascii_digit());
    let length = number.parse().ok().filter(|_| is_number)?;
    (length <= FILLED_MOST).then_some(length)
}

/// `path` without its query.
fn name(path: &[u8]) -> &[u8] {
    let end = path.iter().position(|&byte| byte == b'?');
    &path[..end.unwrap_or(path.len())]
}

/// Returns the place of what `path` names among the built-in resources, whatever its query.
#[inline]
pub fn find(path: &[u8]) -> usize {
    let name = name(path);
    RESOURCES[..NOT_FOUND]
        .iter()
        .position(|resource| resource.path == name)
        .unwrap_or(NOT_FOUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_finds_its_resource_whatever_its_query() {
        let cases: &[(&str, usize)] = &[
            ("/nop.gif", 0),
            ("/100.html", 1),
            ("/100.html?id=7", 1),
            ("/100.html?", 1),
            ("/0.html?a?b", 2),
            ("/hello", 3),
            ("/", NOT_FOUND),
            ("", NOT_FOUND),
            ("*", NOT_FOUND),
            ("?", NOT_FOUND),
            ("/hello/", NOT_FOUND),
            ("/Hello", NOT_FOUND),
            ("/100.htm", NOT_FOUND),
        ];
        for (path, place) in cases {
            assert_eq!(find(path.as_bytes()), *place, "{path}");
        }
    }

    #[test]
    fn a_method_that_is_known_is_told_from_one_that_is_not() {
        let cases: &[(&str, &str, usize)] = &[
            ("GET", "/hello", 3),
            ("HEAD", "/hello", 3),
            ("OPTIONS", "*", FixedResponse::Options as usize),
            ("OPTIONS", "/hello?a", FixedResponse::Options as usize),
            ("OPTIONS", "/none", NOT_FOUND),
            ("POST", "/hello", FixedResponse::NotAllowed as usize),
            ("DELETE", "/none", FixedResponse::NotAllowed as usize),
            ("get", "/hello", FixedResponse::Unknown as usize),
            ("BREW", "/hello", FixedResponse::Unknown as usize),
        ];
        for (method, path, place) in cases {
            let chosen = choose(method, path.as_bytes());
            assert_eq!(chosen, *place, "{method} {path}");
        }
    }

    #[test]
    fn every_fixed_response_is_in_its_row() {
        use FixedResponse::*;
        let rows = [
            (Missing, 404),
            (NotAllowed, 405),
            (Unknown, 501),
            (Options, 204),
            (Malformed, 400),
            (Forbidden, 403),
            (NotForFiles, 405),
            (Failed, 412),
            (Broken, 500),
            (Busy, 503),
        ];
        assert_eq!(NOT_FOUND + rows.len(), RESOURCES.len());
        for (fixed, status) in rows {
            assert_eq!(RESOURCES[fixed as usize].status, status);
        }
    }

    #[test]
    fn the_resources_are_as_long_as_they_are_called() {
        let lengths: Vec<_> = RESOURCES[..3].iter().map(|it| it.body.len()).collect();
        assert_eq!(lengths, [43, 100, 0]);
    }

    #[test]
    fn the_gif_is_one_transparent_pixel() {
        assert_eq!(&PIXEL[..6], b"GIF89a");
        assert_eq!(PIXEL[6..10], [1, 0, 1, 0], "one by one");
        assert_eq!(PIXEL[10] & 0x87, 0x80, "a table of two colours");
        assert_eq!(PIXEL[19..21], [0x21, 0xf9], "a graphic control extension");
        assert_eq!(
            (PIXEL[22] & 1, PIXEL[25]),
            (1, 0),
            "colour 0 is transparent"
        );
        assert_eq!(PIXEL[27], b',', "an image");
        let codes = u16::from_le_bytes([PIXEL[39], PIXEL[40]]);
        let code = |place: u32| (codes >> (3 * place)) & 7;
        assert_eq!(
            [code(0), code(1), code(2)],
            [4, 0, 5],
            "clear, colour 0, end"
        );
        assert_eq!(PIXEL[41..], [0, b';']);
    }
}
