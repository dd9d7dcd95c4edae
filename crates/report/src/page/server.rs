//! The server before its load: its processes with their memory, its program and limits, and the first answer's head.

use super::{Item, Role, Row};
use crate::phrase::clean;
use record::{Observed, Process, Run};
use units::number;

/// The most processes and header lines that are listed.
const LISTED: usize = 12;
/// The longest name, path or header that is shown whole.
const LONGEST: usize = 120;

/// Rows of its processes and of its first response; none where neither is known.
pub(super) fn rows(run: &Run) -> Vec<Row> {
    let observed = run.observed.iter().flat_map(processes);
    observed.chain(first_response(run)).collect()
}

fn processes(observed: &Observed) -> Vec<Row> {
    let listed = &observed.processes[..observed.processes.len().min(LISTED)];
    let mut rows: Vec<Row> = listed.iter().map(process).collect();
    let known: Option<u64> = observed.processes.iter().map(|each| each.pss_bytes).sum();
    let is_whole = observed.processes.len() == observed.count as usize;
    if rows.len() > 1 || observed.count as usize > rows.len() {
        let threads: u32 = observed.processes.iter().map(|each| each.threads).sum();
        let count = number(observed.count.into(), "process");
        let mut items = vec![Item::plain(count)];
        if is_whole {
            items.push(Item::plain(number(threads.into(), "thread")));
            items.extend(known.map(memory));
        }
        rows.insert(0, Row::new("server", items));
    } else if let Some(only) = rows.first_mut() {
        only.label = "server".into();
    }
    rows
}

fn process(process: &Process) -> Row {
    let name = clean(&process.name, LONGEST);
    let mut items = vec![
        Item::plain(name).and(Role::Dim, format!(" {}", process.pid)),
        Item::plain(number(process.threads.into(), "thread")),
    ];
    items.extend(process.pss_bytes.map(memory));
    let program = process.program.as_ref();
    items.extend(program.map(|program| Item::dim(clean(program, LONGEST))));
    items.extend(process.open_files.map(|most| {
        let most = number(most, "open file");
        Item::dim(format!("at most {most}"))
    }));
    Row::new("", items)
}

fn memory(bytes: u64) -> Item {
    Item::plain(units::bytes(bytes)).and(Role::Dim, " PSS at rest")
}

fn first_response(run: &Run) -> Vec<Row> {
    let probe = run.probe.as_ref();
    let head = probe.and_then(|probe| probe.response_head.as_ref());
    let lines = head.iter().flat_map(|head| head.lines());
    let lines = lines.filter(|line| !line.is_empty()).take(LISTED);
    let labels = std::iter::once("first response").chain(std::iter::repeat(""));
    let row = |(label, line)| Row::new(label, vec![Item::dim(clean(line, LONGEST))]);
    labels.zip(lines).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::example;

    fn text(rows: &[Row]) -> Vec<String> {
        let words = |row: &Row| {
            let items = row.items.iter().flat_map(|item| &item.0);
            items
                .map(|span| span.text.as_str())
                .collect::<Vec<_>>()
                .join("|")
        };
        rows.iter()
            .map(|row| format!("{}: {}", row.label, words(row)))
            .collect()
    }

    #[test]
    fn each_process_is_told_with_its_memory_and_the_sum_above_them() {
        let process = |pid: u32| Process {
            pid,
            name: "nginx".into(),
            program: Some("/usr/sbin/nginx".into()),
            threads: 1,
            pss_bytes: Some(1024 * 1024),
            open_files: Some(1024),
        };
        let observed = Observed {
            processes: vec![process(7), process(8)],
            count: 2,
            ..Observed::default()
        };
        let shown = text(&processes(&observed));
        assert_eq!(
            shown[0],
            "server: 2 processes|2 threads|2.00 MiB| PSS at rest"
        );
        assert_eq!(
            shown[2],
            ": nginx| 8|1 thread|1.00 MiB| PSS at rest|/usr/sbin/nginx|at most 1,024 open files"
        );
        let more = Observed {
            count: 90,
            ..observed
        };
        assert_eq!(text(&processes(&more))[0], "server: 90 processes");
    }

    #[test]
    fn a_hostile_head_is_cleaned_and_cut() {
        let mut run = example::ok();
        let lines: Vec<String> = (0..50).map(|at| format!("X-{at}: \x1b[2J")).collect();
        run.probe.as_mut().unwrap().response_head = Some(lines.join("\r\n"));
        let shown = text(&first_response(&run));
        assert_eq!(shown.len(), LISTED);
        assert!(shown[0].starts_with("first response: X-0: ") && !shown[0].contains('\x1b'));
    }
}
