//! What scripts write: to memory, because their caller decides where it goes.

use crate::Said;
use mlua::{Function, Lua, MultiValue, Result, Table, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// As many bytes are kept of each stream at most.
const LONGEST: usize = 1 << 20;

/// What all interpreters of a script have written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output(Arc<Mutex<Said>>);

/// Which stream.
#[derive(Debug, Clone, Copy)]
enum Stream {
    Out,
    Err,
}

impl Output {
    /// What was written since this was asked last.
    pub(crate) fn take(&self) -> Said {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut said)
    }

    fn write(&self, stream: Stream, text: &[u8]) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match stream {
            Stream::Out => &mut said.out,
            Stream::Err => &mut said.err,
        };
        if place.len() + text.len() <= LONGEST {
            place.push_str(&String::from_utf8_lossy(text));
        }
    }

    /// Has `print`, `io.write`, `io.stdout` and `io.stderr` of an interpreter write here.
    pub(crate) fn capture(&self, lua: &Lua) -> Result<()> {
        let globals = lua.globals();
        globals.set("print", self.print(lua)?)?;
        let io: Table = globals.get("io")?;
        let (out, err) = (
            self.stream(lua, Stream::Out)?,
            self.stream(lua, Stream::Err)?,
        );
        let all = self.clone();
        let plain = lua.create_function(move |lua, words: MultiValue| {
            all.write_all(lua, Stream::Out, words)
        })?;
        io.set("write", plain)?;
        io.set("stdout", out)?;
        io.set("stderr", err)
    }

    /// Words with tabs between them and a line's end.
    fn print(&self, lua: &Lua) -> Result<Function> {
        let all = self.clone();
        let as_text: Function = lua.globals().get("tostring")?;
        lua.create_function(move |_, words: MultiValue| {
            let mut line = Vec::new();
            for (at, word) in words.into_iter().enumerate() {
                if at > 0 {
                    line.push(b'\t');
                }
                let text: mlua::String = as_text.call(word)?;
                line.extend_from_slice(&text.as_bytes());
            }
            line.push(b'\n');
            all.write(Stream::Out, &line);
            Ok(())
        })
    }

    /// A file that can only be written to.
    fn stream(&self, lua: &Lua, stream: Stream) -> Result<Table> {
        let file = lua.create_table()?;
        let all = self.clone();
        let write = lua.create_function(move |lua, (file, words): (Value, MultiValue)| {
            all.write_all(lua, stream, words)?;
            Ok(file)
        })?;
        file.set("write", write)?;
        let nothing = lua.create_function(|_, file: Value| Ok(file))?;
        for name in ["flush", "setvbuf", "close"] {
            file.set(name, nothing.clone())?;
        }
        Ok(file)
    }

    fn write_all(&self, lua: &Lua, stream: Stream, words: MultiValue) -> Result<()> {
        for word in words {
            match lua.coerce_string(word)? {
                Some(text) => self.write(stream, &text.as_bytes()),
                None => return Err(mlua::Error::runtime("only text and numbers can be written")),
            }
        }
        Ok(())
    }
}
