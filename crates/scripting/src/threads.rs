//! Threads as scripts see them: `wrk.thread` of each, and what `setup` is given.

use mlua::{FromLua, Lua, Result, Table, UserData, UserDataFields, UserDataMethods, Value};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// As deep may tables lie in one another that are handed from one interpreter to another.
const DEPTH_MOST: u32 = 32;
/// A connection that `wrk.connect` tries takes no longer.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// A thread of the load.
#[derive(Clone)]
pub(crate) struct Thread {
    /// Its interpreter.
    pub(crate) lua: mlua::WeakLua,
    /// Whether it was told to stop.
    pub(crate) is_stopped: Arc<AtomicBool>,
    /// The address that it was given.
    pub(crate) address: Arc<Mutex<Option<Address>>>,
}

impl std::fmt::Debug for Thread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Thread").finish_non_exhaustive()
    }
}

impl Thread {
    pub(crate) fn of(lua: &Lua) -> Thread {
        Thread {
            lua: lua.weak(),
            is_stopped: Arc::default(),
            address: Arc::default(),
        }
    }

    pub(crate) fn address(&self) -> Option<Address> {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn its(&self) -> Result<Lua> {
        let lua = self.lua.try_upgrade();
        lua.ok_or_else(|| mlua::Error::runtime("the thread is gone"))
    }
}

impl UserData for Thread {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("addr", |_, thread| Ok(thread.address()));
        fields.add_field_method_set("addr", |_, thread, address: Address| {
            *thread
                .address
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(address);
            Ok(())
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, thread, name: mlua::String| {
            let its = thread.its()?;
            let name = its.create_string(name.as_bytes())?;
            copied(&its.globals().get::<Value>(name)?, lua, 0)
        });
        methods.add_method("set", |_, thread, (name, value): (mlua::String, Value)| {
            let its = thread.its()?;
            let name = its.create_string(name.as_bytes())?;
            its.globals().set(name, copied(&value, &its, 0)?)
        });
        methods.add_method("stop", |_, thread, ()| {
            thread.is_stopped.store(true, Ordering::Relaxed);
            Ok(())
        });
    }
}

/// `value` of one interpreter as a value of `to`.
fn copied(value: &Value, to: &Lua, depth: u32) -> Result<Value> {
    Ok(match value {
        Value::Nil => Value::Nil,
        Value::Boolean(is_so) => Value::Boolean(*is_so),
        Value::Integer(number) => Value::Integer(*number),
        Value::Number(number) => Value::Number(*number),
        Value::String(text) => Value::String(to.create_string(text.as_bytes())?),
        Value::Table(table) if depth < DEPTH_MOST => Value::Table(copied_table(table, to, depth)?),
        Value::Table(_) => return Err(mlua::Error::runtime("tables lie too deep in one another")),
        other => {
            let what = other.type_name();
            return Err(mlua::Error::runtime(format!(
                "a {what} cannot be handed from one thread to another"
            )));
        }
    })
}

fn copied_table(table: &Table, to: &Lua, depth: u32) -> Result<Table> {
    let copy = to.create_table()?;
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair?;
        copy.raw_set(copied(&key, to, depth + 1)?, copied(&value, to, depth + 1)?)?;
    }
    Ok(copy)
}

/// An address as `wrk.lookup` returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address(pub(crate) SocketAddr);

impl UserData for Address {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(mlua::MetaMethod::ToString, |_, address, ()| {
            Ok(address.0.to_string())
        });
    }
}

impl FromLua for Address {
    fn from_lua(value: Value, _: &Lua) -> Result<Address> {
        let wrong = || mlua::Error::runtime("an address is wanted, as wrk.lookup returns it");
        let data = value.as_userdata().ok_or_else(wrong)?;
        Ok(*data.borrow::<Address>().map_err(|_| wrong())?)
    }
}

/// Gives `wrk` its functions about addresses.
pub(crate) fn add_lookup(lua: &Lua, wrk: &Table) -> Result<()> {
    let lookup = lua.create_function(|_, (host, service): (String, Value)| {
        let port = port(&service)?;
        let found = (host.as_str(), port).to_socket_addrs();
        let found = found.map_err(|error| mlua::Error::runtime(format!("{host}: {error}")))?;
        Ok(found.map(Address).collect::<Vec<Address>>())
    })?;
    wrk.set("lookup", lookup)?;
    let connect = lua.create_function(|_, address: Address| {
        Ok(TcpStream::connect_timeout(&address.0, CONNECT_WITHIN).is_ok())
    })?;
    wrk.set("connect", connect)
}

/// A port by number or by the name of one of the two services that are known.
fn port(service: &Value) -> Result<u16> {
    let named = |name: &str| match name {
        "http" => Some(80),
        "https" => Some(443),
        number => number.parse().ok(),
    };
    let port = match service {
        Value::Nil => Some(80),
        Value::Integer(number) => u16::try_from(*number).ok(),
        Value::Number(number) => Some(*number as u16).filter(|port| f64::from(*port) == *number),
        Value::String(name) => named(&name.to_string_lossy()),
        _ => None,
    };
    port.ok_or_else(|| mlua::Error::runtime("a service is http, https or the number of a port"))
}
