//! Scripts on Lua 5.1.

use crate::output::Output;
use crate::stats::Stats;
use crate::threads::{Thread, add_lookup};
use crate::{Asked, Next, Response, Said, Settings, Summary, asked};
use mlua::{Function, Lua, Table, Value};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Memory that one interpreter may take.
const MEMORY_MOST: usize = 1 << 30;
/// The longest pause that `delay` can ask for.
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 3600);

/// A script that was run in every interpreter, so that its functions can be called.
#[derive(Debug)]
pub struct Script {
    name: String,
    main: Lua,
    threads: Vec<ThreadScript>,
    output: Output,
    failure: Failure,
}

/// The first thing that went wrong while the script was called: a sentence.
#[derive(Debug, Clone, Default)]
struct Failure(Arc<Mutex<Option<String>>>);

impl Failure {
    fn note(&self, why: String) {
        lock(&self.0).get_or_insert(why);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A script in the interpreter of one thread.
#[derive(Debug)]
pub struct ThreadScript {
    lua: Lua,
    thread: Thread,
    /// The script's functions, those that it has.
    request: Option<Function>,
    response: Option<Function>,
    delay: Option<Function>,
    name: String,
    failure: Failure,
    /// What was asked last, and how much of it was taken.
    last: Mutex<Last>,
}

/// The requests that the script returned last.
#[derive(Debug, Default)]
struct Last {
    bytes: Vec<u8>,
    requests: Vec<Asked>,
    taken: usize,
}

impl Script {
    /// Runs a script in as many interpreters as there are threads, and one more, and has it set them up and begin.
    ///
    /// # Errors
    /// Why it cannot be run: a sentence.
    pub fn load(settings: &Settings<'_>) -> Result<Script, String> {
        let output = Output::default();
        let failure = Failure::default();
        let told = |error: &mlua::Error| told(settings.name, error);
        let main = interpreter(settings, &output).map_err(|error| told(&error))?;
        let threads = (0..settings.threads).map(|_| {
            let lua = interpreter(settings, &output)?;
            let thread = Thread::of(&lua);
            begin(&main, &lua, &thread, settings)?;
            let function = |name: &str| lua.globals().get::<Value>(name);
            Ok(ThreadScript {
                request: function("request")?.as_function().cloned(),
                response: function("response")?.as_function().cloned(),
                delay: function("delay")?.as_function().cloned(),
                name: settings.name.to_owned(),
                failure: failure.clone(),
                last: Mutex::default(),
                thread,
                lua,
            })
        });
        let threads: mlua::Result<Vec<ThreadScript>> = threads.collect();
        Ok(Script {
            name: settings.name.to_owned(),
            threads: threads.map_err(|error| told(&error))?,
            main,
            output,
            failure,
        })
    }

    /// The script of thread `index`; none where there are fewer.
    pub fn thread(&self, index: u32) -> Option<&ThreadScript> {
        self.threads.get(index as usize)
    }

    /// The one request that all threads make, if the script makes no others and is told of no responses.
    ///
    /// # Errors
    /// It is no request: a sentence.
    pub fn only_request(&self) -> Result<Option<Asked>, String> {
        let mut only: Option<Asked> = None;
        for thread in &self.threads {
            if thread.request.is_some() || thread.response.is_some() || thread.delay.is_some() {
                return Ok(None);
            }
            let asked = thread.formatted()?;
            match &only {
                Some(first) if *first != asked => return Ok(None),
                _ => only = Some(asked),
            }
        }
        Ok(only)
    }

    /// How many requests the script returns at a time, which are to be sent one behind the other on a connection.
    ///
    /// # Errors
    /// It returns none: a sentence.
    pub fn pipeline(&self) -> Result<u32, String> {
        let Some(first) = self.threads.first() else {
            return Ok(1);
        };
        let mut last = lock(&first.last);
        if last.requests.is_empty() {
            first.ask(&mut last)?;
        }
        Ok(last.requests.len() as u32)
    }

    /// Whether it wants to be told how the load went.
    pub fn has_done(&self) -> bool {
        let done = self.main.globals().get::<Value>("done");
        done.is_ok_and(|done| done.is_function())
    }

    /// The addresses that threads were given by the script; none where it left them as they were.
    pub fn addresses(&self) -> Vec<Option<SocketAddr>> {
        let threads = self.threads.iter();
        threads
            .map(|it| it.thread.address().map(|address| address.0))
            .collect()
    }

    /// Tells the script how the load went, if it wants to know.
    pub fn done(&self, summary: Summary) {
        if let Err(error) = self.tell(summary) {
            self.failure.note(told(&self.name, &error));
        }
    }

    fn tell(&self, summary: Summary) -> mlua::Result<()> {
        let Some(done) = self
            .main
            .globals()
            .get::<Value>("done")?
            .as_function()
            .cloned()
        else {
            return Ok(());
        };
        let lua = &self.main;
        let errors = lua.create_table()?;
        errors.set("connect", summary.errors.connect)?;
        errors.set("read", summary.errors.read)?;
        errors.set("write", summary.errors.write)?;
        errors.set("status", summary.errors.status)?;
        errors.set("timeout", summary.errors.timeout)?;
        let table = lua.create_table()?;
        table.set("duration", summary.took.as_micros() as f64)?;
        table.set("requests", summary.requests)?;
        table.set("bytes", summary.bytes)?;
        table.set("errors", errors)?;
        done.call::<()>((table, Stats(summary.latencies), Stats(summary.rates)))
    }

    /// What it has written since this was asked last.
    pub fn said(&self) -> Said {
        self.output.take()
    }

    /// Why it failed, if it did: a sentence.
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure.0).clone()
    }
}

/// A new interpreter in which the script was run.
fn interpreter(settings: &Settings<'_>, output: &Output) -> mlua::Result<Lua> {
    let lua = Lua::new();
    lua.set_memory_limit(MEMORY_MOST)?;
    output.capture(&lua)?;
    let wrk = lua.create_table()?;
    let (host, port) = settings.url.host_and_port();
    wrk.set("scheme", settings.url.scheme)?;
    wrk.set("host", host)?;
    wrk.set("port", port)?;
    wrk.set("path", settings.url.path)?;
    lua.globals().set("wrk", &wrk)?;
    add_lookup(&lua, &wrk)?;
    lua.load(include_str!("prelude.lua"))
        .set_name("=weigh")
        .exec()?;
    let headers: Table = wrk.get("headers")?;
    headers.set("Host", settings.url.authority)?;
    for (name, value) in settings.headers {
        if name.eq_ignore_ascii_case("Host") {
            headers.set("Host", Value::Nil)?;
        }
        headers.set(name.as_str(), value.as_str())?;
    }
    lua.load(settings.text)
        .set_name(format!("@{}", settings.name))
        .exec()?;
    Ok(lua)
}

/// Has the script set up a thread and begin in it.
fn begin(main: &Lua, lua: &Lua, thread: &Thread, settings: &Settings<'_>) -> mlua::Result<()> {
    let wrk: Table = lua.globals().get("wrk")?;
    wrk.set("thread", thread.clone())?;
    if let Some(setup) = main.globals().get::<Value>("setup")?.as_function() {
        setup.call::<()>(thread.clone())?;
    }
    let headers: Table = wrk.get("headers")?;
    let (host, _) = settings.url.host_and_port();
    let (now, port): (String, Option<String>) = (wrk.get("host")?, wrk.get("port")?);
    let is_same = headers.get::<Value>("Host")?.to_string()? == settings.url.authority;
    if is_same && now != host {
        let port = port.map_or(String::new(), |port| format!(":{port}"));
        headers.set("Host", format!("{now}{port}"))?;
    }
    if let Some(init) = lua.globals().get::<Value>("init")?.as_function() {
        let url = &settings.url;
        let words = lua.create_table()?;
        words.set(0, format!("{}://{}{}", url.scheme, url.authority, url.path))?;
        for (place, word) in (1..).zip(settings.arguments) {
            words.set(place, word.as_str())?;
        }
        init.call::<()>(words)?;
    }
    Ok(())
}

impl ThreadScript {
    /// Whether responses are wanted.
    pub fn wants_responses(&self) -> bool {
        self.response.is_some()
    }

    /// Whether it asks for pauses before requests.
    pub fn has_delay(&self) -> bool {
        self.delay.is_some()
    }

    /// How long to wait before the next request on a connection.
    pub fn delay(&self) -> Duration {
        let Some(delay) = &self.delay else {
            return Duration::ZERO;
        };
        match delay.call::<f64>(()) {
            Ok(millis) => Duration::try_from_secs_f64(millis / 1e3)
                .unwrap_or_default()
                .min(LONGEST_DELAY),
            Err(error) => {
                self.fail(told(&self.name, &error));
                Duration::ZERO
            }
        }
    }

    /// Returns what comes next on this thread.
    pub fn next(&self) -> Next {
        let mut last = lock(&self.last);
        if last.taken == last.requests.len() {
            if self.thread.is_stopped.load(Ordering::Relaxed) {
                return Next::Nothing;
            }
            if let Err(why) = self.ask(&mut last) {
                self.fail(why);
                return Next::Nothing;
            }
        }
        last.taken += 1;
        Next::Request(last.requests[last.taken - 1].clone())
    }

    /// Tells the script of a response, where it wants to know.
    pub fn told(&self, response: &Response) {
        let Some(function) = &self.response else {
            return;
        };
        if let Err(error) = self.tell(function, response) {
            self.fail(told(&self.name, &error));
        }
    }

    fn tell(&self, function: &Function, response: &Response) -> mlua::Result<()> {
        let headers = self.lua.create_table()?;
        let lines = response.head.split(|byte| *byte == b'\n').skip(1);
        for line in lines {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else {
                continue;
            };
            let name = self.lua.create_string(&line[..colon])?;
            headers.raw_set(
                name,
                self.lua.create_string(line[colon + 1..].trim_ascii())?,
            )?;
        }
        let body = self.lua.create_string(&response.body)?;
        function.call::<()>((response.status, headers, body))
    }

    /// Nothing more comes of it.
    fn fail(&self, why: String) {
        self.failure.note(why);
        self.thread.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Has the script make requests.
    fn ask(&self, last: &mut Last) -> Result<(), String> {
        let Some(request) = &self.request else {
            if last.requests.is_empty() {
                last.requests = vec![self.formatted()?];
            }
            last.taken = 0;
            return Ok(());
        };
        let text = request.call::<mlua::String>(());
        let text = text.map_err(|error| told(&self.name, &error))?;
        let bytes = text.as_bytes();
        // Many return what they made once.
        if last.requests.is_empty() || *bytes != *last.bytes {
            last.requests = asked::read(&bytes).map_err(|why| {
                format!(
                    "{}: what request() returned is no request: {why}",
                    self.name
                )
            })?;
            last.bytes.clear();
            last.bytes.extend_from_slice(&bytes);
        }
        last.taken = 0;
        Ok(())
    }

    /// The request that the fields of `wrk` make.
    fn formatted(&self) -> Result<Asked, String> {
        let format = || -> mlua::Result<Vec<u8>> {
            let wrk: Table = self.lua.globals().get("wrk")?;
            let format: Function = wrk.get("format")?;
            let text = format.call::<mlua::String>(())?;
            Ok(text.as_bytes().to_vec())
        };
        let bytes = format().map_err(|error| told(&self.name, &error))?;
        let mut all = asked::read(&bytes)
            .map_err(|why| format!("{}: the fields of wrk make no request: {why}", self.name))?;
        Ok(all.swap_remove(0))
    }
}

/// An error of a script as a sentence: without the trace of calls.
fn told(name: &str, error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::CallbackError { cause, .. } => return told(name, cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        mlua::Error::MemoryError(_) => {
            format!("it took more than {} MiB of memory", MEMORY_MOST >> 20)
        }
        mlua::Error::FromLuaConversionError { from, .. } => {
            format!("it returned a {from}, where text or a number is wanted")
        }
        other => other.to_string(),
    };
    let first = text.lines().next().unwrap_or_default().to_owned();
    match first.starts_with(name) {
        true => first,
        false => format!("{name}: {first}"),
    }
}
