//! Server: the process that is started, or watched.

use super::Takes::{Command, Value};
use super::{Group, Setting, push, put, set, time};

/// What all rows of the group have in common.
const ROW: Setting = Setting {
    group: Group::Server,
    ..Setting::BASE
};

#[rustfmt::skip]
pub(super) static ROWS: &[Setting] = &[
    Setting { name: "command", takes: Command("COMMAND"), common: true,
        help: "Start this server first, and stop it afterwards.",
        long: "weigh waits until it responds. Everything it has started is stopped with it.",
        parse: |draft, text| push(&mut draft.command, text),
        show: |plan| { plan.server .as_ref() .map_or(String::new(), |server| server.argv.join(" ")) },
        ..ROW },
    Setting { name: "ready-within", takes: Value("TIME"), default: "30s",
        help: "Time limit for the started server to respond.",
        parse: |draft, text| set(&mut draft.ready_within, text),
        show: |plan| {
            let server = plan.server.as_ref();
            server.map_or(String::new(), |server| time(server.ready_within))
        },
        ..ROW },
    Setting { name: "server", takes: Value("PID|NAME|:PORT|cgroup:PATH|none"), common: true,
        help: "Server process to monitor for CPU and memory.",
        long: "A process (1234) with its descendants, a name (nginx), the process that listens on a port (:8080), a \
               control group (cgroup:PATH), or none to monitor nothing, such as when only a proxy \
               listens here.",
        computed: "COMMAND, or the process that listens at the target if that is this machine",
        parse: |draft, text| put(&mut draft.plan.observe, text),
        show: |plan| match &plan.observe {
            Some(observe) => observe.to_string(),
            None if plan.server.is_some() => "the server that is started".to_owned(),
            None => "the process that listens at the target, if it is on this machine".to_owned(),
        },
        ..ROW },
];
