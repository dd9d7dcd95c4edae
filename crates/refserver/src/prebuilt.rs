//! Every response as ready bytes, head and body in one piece.
//!
//! There are few of them (each resource in the three forms that the connection can ask for), and between two of the
//! same form only the Date ever differs. So the Date is written into all of them once a second, in place, and an
//! response is one copy of a few hundred bytes. (Sending head and body as two slices would save the copy and cost more
//! in the kernel.)

use crate::date;
use crate::headers::Headers;
use crate::resources::{EMPTY, RESOURCES, Resource};
use std::io::Write;
use std::time::Duration;
use units::{Instant, Nanos};
use wire::Version;
use wire::http1::{Refusal, Response};

/// What has to be said about the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Nothing: HTTP/1.1, kept.
    Kept,
    /// That it is kept, to HTTP/1.0.
    KeptOld,
    /// That it is closed.
    Close,
}

const FORMS: [Form; 3] = [Form::Kept, Form::KeptOld, Form::Close];

impl Form {
    /// Returns the form for a client of `version` whose connection is kept or closed.
    pub fn new(version: Version, keepalive: bool) -> Form {
        match (keepalive, version) {
            (false, _) => Form::Close,
            (true, Version::Http10) => Form::KeptOld,
            (true, _) => Form::Kept,
        }
    }

    /// Appends the head of a response in this form. `length` is none where there must be no body (204, 304).
    pub fn encode(
        self,
        status: u16,
        date: &str,
        length: Option<u64>,
        headers: &[(&str, &str)],
        out: &mut Vec<u8>,
    ) {
        let response = Response {
            status,
            version: match self {
                Form::KeptOld => Version::Http10,
                Form::Kept | Form::Close => Version::Http11,
            },
            date,
            content_length: length,
            keepalive: self != Form::Close,
            headers,
        };
        response.encode(out);
    }
}

/// Identifies a prebuilt response: its resource and its form.
#[derive(Debug, Clone, Copy)]
pub struct ResponseKey {
    /// The place of its resource, by [`choose`](crate::parts::choose).
    pub resource: usize,
    /// What its head says about the connection.
    pub form: Form,
    /// To HEAD: without the body.
    pub is_head: bool,
}

impl ResponseKey {
    #[inline]
    pub(crate) fn status(self) -> u16 {
        RESOURCES[self.resource].status
    }

    /// Bytes of its body.
    #[inline]
    pub(crate) fn length(self) -> u64 {
        let length = RESOURCES[self.resource].body.len() as u64;
        if self.is_head { 0 } else { length }
    }
}

struct Prebuilt {
    bytes: Vec<u8>,
    /// Where the head ends.
    head: usize,
}

/// Where the Date is in every head: right after the status line, so it depends on that line's length only.
pub(crate) fn date_place(bytes: &[u8]) -> usize {
    let line = bytes.iter().position(|&byte| byte == b'\n');
    line.expect("a head has lines") + 1 + "Date: ".len()
}

/// The ready responses of one worker, with the time of day in them.
pub struct PrebuiltResponses {
    prepared: Vec<Prebuilt>,
    date: String,
    /// When the Date is another one.
    changes: Instant,
    /// The time of day since 1970-01-01 UTC.
    wall: fn() -> Duration,
}

impl PrebuiltResponses {
    /// Prepares all responses; `wall` is the time of day since 1970-01-01 UTC.
    pub fn new(wall: fn() -> Duration, extra: &Headers) -> PrebuiltResponses {
        let date = date::text(wall().as_secs());
        let forms = |resource| FORMS.map(|form| prepare(resource, form, &date, extra));
        PrebuiltResponses {
            prepared: RESOURCES.iter().flat_map(forms).collect(),
            changes: Instant::ZERO,
            date,
            wall,
        }
    }

    /// Sets the Date right, if the second has changed; then says the time of day, in seconds since 1970-01-01 UTC. A step
    /// of the system's clock is followed at the next change.
    #[inline]
    pub fn refresh(&mut self, now: Instant) -> Option<u64> {
        (now >= self.changes).then(|| self.rewrite(now))
    }

    /// The Date of now.
    #[inline]
    pub(crate) fn date(&self) -> &str {
        &self.date
    }

    #[cold]
    fn rewrite(&mut self, now: Instant) -> u64 {
        let wall = (self.wall)();
        let rest = 1_000_000_000 - u64::from(wall.subsec_nanos());
        self.changes = now + Nanos::from_nanos(rest);
        self.date = date::text(wall.as_secs());
        for prepared in &mut self.prepared {
            let place = date_place(&prepared.bytes);
            prepared.bytes[place..place + date::LENGTH].copy_from_slice(self.date.as_bytes());
        }
        wall.as_secs()
    }

    /// The bytes of a response.
    #[inline]
    pub fn bytes(&self, key: ResponseKey) -> &[u8] {
        let prepared = &self.prepared[key.resource * FORMS.len() + key.form as usize];
        if key.is_head {
            &prepared.bytes[..prepared.head]
        } else {
            &prepared.bytes
        }
    }

    /// Appends the head of a response with `length` bytes that mean nothing: that with none of them, with another length.
    pub(crate) fn append_filled(&self, form: Form, length: u64, out: &mut Vec<u8>) {
        const NONE: &[u8] = b"Content-Length: 0\r\n";
        let key = ResponseKey {
            resource: EMPTY,
            form,
            is_head: true,
        };
        let head = self.bytes(key);
        let place = head.windows(NONE.len()).rposition(|line| line == NONE);
        let place = place.expect("the head of an empty body") + NONE.len() - "0\r\n".len();
        out.extend_from_slice(&head[..place]);
        write!(out, "{length}").expect("writing to a Vec cannot fail");
        out.extend_from_slice(&head[place + 1..]);
    }

    /// Appends the response to a request that is refused.
    pub(crate) fn refuse(&self, refusal: Refusal, out: &mut Vec<u8>) {
        refusal.encode(&self.date, out);
    }
}

fn prepare(resource: &Resource, form: Form, date: &str, extra: &Headers) -> Prebuilt {
    let mut bytes = Vec::new();
    let headers = extra.with(resource.status, resource.headers);
    // A 204 has no body, so no length either (RFC 9110 §8.6).
    let length = (resource.status != 204).then_some(resource.body.len() as u64);
    form.encode(resource.status, date, length, &headers, &mut bytes);
    let head = bytes.len();
    bytes.extend_from_slice(resource.body);
    Prebuilt { bytes, head }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    static WALL: AtomicU64 = AtomicU64::new(0);

    fn wall() -> Duration {
        Duration::from_millis(WALL.load(Ordering::Relaxed))
    }

    fn date(prebuilt: &PrebuiltResponses, resource: usize) -> String {
        let key = ResponseKey {
            resource,
            form: Form::Kept,
            is_head: true,
        };
        let head = String::from_utf8(prebuilt.bytes(key).to_vec()).unwrap();
        let line = head.lines().find_map(|line| line.strip_prefix("Date: "));
        line.unwrap().to_owned()
    }

    #[test]
    fn the_date_changes_with_the_second_in_every_answer_and_not_before() {
        let millis = |millis| Instant::ZERO + Nanos::from_millis(millis);
        WALL.store(784_111_776_700, Ordering::Relaxed);
        let mut prebuilt = PrebuiltResponses::new(wall, &Headers::default());
        prebuilt.refresh(millis(5000));
        assert_eq!(date(&prebuilt, 1), "Sun, 06 Nov 1994 08:49:36 GMT");
        WALL.store(784_111_777_000, Ordering::Relaxed);
        prebuilt.refresh(millis(5299));
        assert_eq!(date(&prebuilt, 1), "Sun, 06 Nov 1994 08:49:36 GMT");
        prebuilt.refresh(millis(5300));
        for resource in 0..RESOURCES.len() {
            assert_eq!(date(&prebuilt, resource), "Sun, 06 Nov 1994 08:49:37 GMT");
        }
        let mut refused = Vec::new();
        let reason = "it is malformed";
        let refusal = Refusal {
            status: 400,
            reason,
            is_head: false,
        };
        prebuilt.refuse(refusal, &mut refused);
        assert_eq!(
            String::from_utf8(refused).unwrap(),
            "HTTP/1.1 400 Bad Request\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
             Content-Type: text/plain\r\nContent-Length: 16\r\nConnection: close\r\n\r\nit is malformed\n"
        );
    }
}
