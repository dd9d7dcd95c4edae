//! The report of `-w`: the same as tables in HTML.

use super::Counts;
use super::command::Command;
use super::text::{BANNER, Line};
use super::times::millis;

/// Before the load.
pub(super) fn begins() -> String {
    let lines: Vec<&str> = BANNER.lines().filter(|line| !line.is_empty()).collect();
    format!("<p>\n {}<br>\n</p>\n<p>\n", lines.join("<br>\n "))
}

/// After the load.
pub(super) fn ends(command: &Command, lines: &[Line], counts: &Counts) -> String {
    let [table, row, cell] = &command.attributes;
    let mut text = format!("..done\n\n\n<table {table}>\n");
    for line in lines {
        let (label, value) = (line.label.trim(), escaped(&line.value));
        text += &match label {
            "" => format!("<tr {row}><td colspan=4 {cell} >{value}</td></tr>\n"),
            label => format!(
                "<tr {row}><th colspan=2 {cell}>{label}</th><td colspan=2 {cell}>{value}</td></tr>\n"
            ),
        };
    }
    text += &format!(
        "<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>\n\
         <tr {row}><th {cell}>&nbsp;</th> <th {cell}>min</th>   <th {cell}>avg</th>   <th {cell}>max</th></tr>\n"
    );
    for (name, _, times) in counts.times.rows() {
        let cells = [
            times.min().unwrap_or(0) as f64,
            times.mean().unwrap_or(0.0),
            times.max().unwrap_or(0) as f64,
        ];
        let cells = cells.map(|nanos| format!("<td {cell}>{:5}</td>", millis(nanos)));
        text += &format!("<tr {row}><th {cell}>{name}</th>{}</tr>\n", cells.join(""));
    }
    text + "</table>\n"
}

/// A server's words are not ours.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
