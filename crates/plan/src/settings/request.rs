//! Request: what is sent, and the settings that shape it.
//!
//! A new option of the request is a row here and, where no header or body can hold it, a field of [`Request`], into which
//! it is read by way of `draft.request`.

use super::Takes::{Value, Values};
use super::{Group, Setting, push, put};
use crate::secrets::{Secrets, WITHHELD};
use crate::{Draft, Environment, Plan, PlanError};
use base64::Engine;
use http::{HeaderName, HeaderValue, Method};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What all rows of the group have in common.
const ROW: Setting = Setting {
    group: Group::Request,
    ..Setting::BASE
};

#[rustfmt::skip]
pub(super) static ROWS: &[Setting] = &[
    Setting { name: "method", short: Some('X'), takes: Value("METHOD"), common: true,
        help: "Request method.",
        computed: "GET, or POST with a body",
        parse: |draft, text| put(&mut draft.method, text),
        show: |plan| { plan.first_request() .map_or(String::new(), |first| first.method.clone()) },
        ..ROW },
    Setting { name: "header", short: Some('H'), takes: Values("NAME: VALUE"), common: true,
        help: "Request header; replaces a default header of that name; may be repeated.",
        parse: |draft, text| push(&mut draft.headers, text),
        show: |plan| {
            let headers = plan.first_request().map_or(&[][..], |first| &first.headers);
            let lines = headers
                .iter()
                .map(|(name, value)| format!("{name}: {value}"));
            lines.collect::<Vec<_>>().join("\n")
        },
        ..ROW },
    Setting { name: "body", takes: Value("TEXT|@FILE"), common: true,
        help: "Request body: a text, or the contents of FILE.",
        parse: |draft, text| put(&mut draft.body, text),
        show: |plan| {
            let body = plan.first_request().and_then(|first| first.body.as_ref());
            body.map_or(String::new(), Body::shown)
        },
        ..ROW },
    Setting { name: "user", takes: Value("NAME:PASSWORD"),
        help: "Credentials for HTTP Basic authentication.",
        parse: |draft, text| put(&mut draft.user, text),
        ..ROW },
    Setting { name: "cookie", takes: Value("NAME=VALUE"),
        help: "Value of the Cookie header.",
        parse: |draft, text| put(&mut draft.cookie, text),
        ..ROW },
    Setting { name: "withhold", takes: Values("NAME"),
        help: "Keep this header or query parameter out of the record; may be repeated.",
        long: "`body` stands for the text of the body. Values whose name looks like a credential (token, key, password, \
               cookie, ...) are always kept out; bodies are not.",
        parse: |draft, text| push(&mut draft.plan.withhold, text),
        show: |plan| {
            let names = plan.withhold.iter().map(String::as_str);
            let marked = "what is marked (withheld) is sent, but not recorded; bodies are recorded unless --withhold body";
            let marked = plan.withholds().then_some(marked);
            names.chain(marked).collect::<Vec<_>>().join("\n")
        },
        ..ROW },
];

impl Draft {
    /// Returns what all requests have in common: method, headers, body.
    pub(crate) fn common_request(
        &self,
        environment: &dyn Environment,
    ) -> Result<Request, PlanError> {
        let body = self.body.as_deref().map(|text| body(text, environment));
        let body = body.transpose()?;
        let method = match &self.method {
            Some(method) => method.clone(),
            None if body.is_some() => "POST".into(),
            None => "GET".into(),
        };
        if Method::from_bytes(method.as_bytes()).is_err() {
            return Err(PlanError(format!(
                "--method `{method}` is not a method; write a word such as GET"
            )));
        }
        if method == "CONNECT" {
            let tunnel = "--method CONNECT opens a tunnel, which is not a load; use another method";
            return Err(PlanError(tunnel.into()));
        }
        Ok(Request {
            method,
            headers: self.request_headers()?,
            body,
            ..self.request.clone()
        })
    }

    fn request_headers(&self) -> Result<Vec<(String, String)>, PlanError> {
        let mut headers = Vec::new();
        for line in &self.headers {
            headers.push(sendable("--header", header(line)?)?);
        }
        if let Some(user) = &self.user {
            if !user.contains(':') {
                let why = format!("--user `{user}` has no colon; write NAME:PASSWORD");
                return Err(PlanError(why));
            }
            let credentials = base64::engine::general_purpose::STANDARD.encode(user);
            headers.push(("Authorization".into(), format!("Basic {credentials}")));
        }
        if let Some(cookie) = &self.cookie {
            headers.push(sendable("--cookie", ("Cookie".into(), cookie.clone()))?);
        }
        Ok(headers)
    }
}

/// Takes a header line apart, as `--header` gives it.
///
/// # Errors
/// The sentence that says that it is none.
pub fn header(line: &str) -> Result<(String, String), PlanError> {
    match line.split_once(':') {
        Some((name, value)) => Ok((name.to_owned(), value.trim().to_owned())),
        None => Err(PlanError(format!(
            "--header `{line}` has no colon; write 'Name: value'"
        ))),
    }
}

/// Refuses a header that cannot be sent (RFC 9110, section 5), or contradicts another setting.
fn sendable(option: &str, header: (String, String)) -> Result<(String, String), PlanError> {
    let (name, value) = &header;
    let is_valid = HeaderName::from_bytes(name.as_bytes()).is_ok()
        && HeaderValue::from_bytes(value.as_bytes()).is_ok();
    if !is_valid {
        let (name, value) = (name.escape_debug(), value.escape_debug());
        return Err(PlanError(format!(
            "{option} `{name}: {value}` cannot be sent; a name is a word, a value has no control characters"
        )));
    }
    let framing = ["content-length", "transfer-encoding", "connection"];
    match framing.contains(&&*name.to_ascii_lowercase()) {
        true => Err(PlanError(format!(
            "{option} {name} would contradict what weigh sends by itself; remove it (see --no-keepalive, --body)"
        ))),
        false => Ok(header),
    }
}

fn body(text: &str, environment: &dyn Environment) -> Result<Body, PlanError> {
    match text.strip_prefix('@') {
        None => Ok(Body::Text(text.to_owned())),
        Some(path) => {
            let path = PathBuf::from(path);
            let length = environment.file_length("--body", &path)?;
            Ok(Body::File { path, length })
        }
    }
}

impl Plan {
    /// The first request, or what all requests of a file have in common.
    pub fn first_request(&self) -> Option<&Request> {
        self.requests.each().first()
    }
}

/// The requests, which are sent in turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Requests {
    /// These, over and over.
    Listed(Vec<Request>),
    /// One a line of a file that is read as it is needed, over and over: `[METHOD] PATH-OR-URL [BODY]`.
    File {
        /// The file.
        path: PathBuf,
        /// What every line has in common: headers and, where a line names none, method and body.
        common: Request,
    },
    /// Made by a Lua script, one for each exchange.
    Script {
        /// The script.
        path: PathBuf,
        /// What its `init` is given beside the URL.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arguments: Vec<String>,
        /// What it begins with: path and headers.
        common: Request,
    },
}

impl Requests {
    /// Every request of a list, or what all requests of a file have in common.
    pub(crate) fn each(&self) -> &[Request] {
        match self {
            Requests::Listed(listed) => listed,
            Requests::File { common, .. } | Requests::Script { common, .. } => {
                std::slice::from_ref(common)
            }
        }
    }
}

/// One request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query; may hold `{seq}` and `{random}`.
    pub path: String,
    /// Headers beyond the defaults; one of the same name replaces a default.
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    pub body: Option<Body>,
}

impl Request {
    /// A GET of `path` with default headers.
    pub fn get(path: &str) -> Request {
        Request {
            method: "GET".into(),
            path: path.into(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// Returns what it is called in results: its path, after the method unless that is GET, without what `secrets` keeps out.
    pub fn label(&self, secrets: Secrets<'_>) -> String {
        let path = secrets.url(&self.path);
        match self.method.as_str() {
            "GET" => path,
            method => format!("{method} {path}"),
        }
    }

    /// The request as it may be written down.
    pub(crate) fn withhold(&mut self, secrets: Secrets<'_>) {
        for (name, value) in &mut self.headers {
            *value = secrets.header(name, value);
        }
        self.path = secrets.url(&self.path);
        if let Some(Body::Text(text)) = &mut self.body {
            *text = secrets.body(text);
        }
    }

    /// Whether something that is sent is missing, because it is withheld.
    pub(crate) fn withholds(&self) -> bool {
        let body = match &self.body {
            Some(Body::Text(text)) => text.as_str(),
            _ => "",
        };
        let mut values = self.headers.iter().map(|(_, value)| value.as_str());
        values.any(|value| value.contains(WITHHELD))
            || self.path.contains(WITHHELD)
            || body.starts_with(WITHHELD)
    }

    /// Whether every exchange asks something else, so that bodies cannot be compared with one another.
    pub fn is_template(&self) -> bool {
        let body = match &self.body {
            Some(Body::Text(text)) => crate::template::has_holes(text),
            _ => false,
        };
        body || crate::template::has_holes(&self.path)
    }
}

/// A request's body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// As written on the command line; may hold `{seq}` and `{random}`.
    Text(String),
    /// A file's contents, sent as they are.
    File {
        /// The file.
        path: PathBuf,
        /// Its length in bytes when the plan was made.
        length: u64,
    },
}

impl Body {
    /// Shows its length, and where it comes from.
    fn shown(&self) -> String {
        match self {
            Body::Text(text) => format!("{}: {text}", units::bytes(text.len() as u64)),
            Body::File { path, length } => {
                format!("{}: @{}", units::bytes(*length), path.display())
            }
        }
    }
}
