//! What abc prints: on standard output and, but for blank lines, the same into its file.

use super::command::Command;
use record::{Machine, Observed, Probe, Run};
use units::date;

const DOUBLE: &str =
    "===============================================================================";
const LINE: &str =
    "-------------------------------------------------------------------------------";
const SHORT: &str = "---------------------------------------------";
const WITH_SERVER: &str = " Number        Requests per second            CPU               RAM
   of     ----------------------------  ----------------  --------------
Clients      min       ave       max      user    kernel  SRV MB  SYS MB    Time
--------  --------  --------  --------  -------  -------  ------  ------  --------
";
const WITHOUT_SERVER: &str = " Number        Requests per second
   of     ----------------------------
Clients      min       ave       max         Time
--------  --------  --------  --------  --------------
";
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAY: u64 = 86_400;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
pub(super) const MIB: f64 = 1024.0 * 1024.0;

/// Everything above the rows.
pub(super) fn head(command: &Command, run: &Run) -> String {
    let mut text = format!(
        "{DOUBLE}\nG-WAN ApacheBench / Weighttp / HTTPerf wrapper       http://gwan.ch/source/ab.c\n{LINE}\nNow: {}\n",
        asctime(run.started_unix)
    );
    text += &machine(&run.machine);
    if let Some(name) = &command.server {
        text += &topology(name, run.observed.as_ref());
    }
    text += &format!(
        "\nweighttp -n {} -c [{}-{} step:{} rounds:{}] -t {} {} \"http://{}{}\"\n\n",
        command.requests,
        command.from,
        command.to,
        command.step,
        command.rounds,
        run.plan.threads,
        if command.keeps_alive { "-k" } else { "" },
        command.place,
        command.path,
    );
    text += &run.probe.as_ref().map_or(String::new(), response);
    text + "\n"
        + if command.server.is_some() {
            WITH_SERVER
        } else {
            WITHOUT_SERVER
        }
}

fn machine(machine: &Machine) -> String {
    let setup = machine.setup.as_ref();
    let sockets = setup.and_then(|setup| setup.sockets).unwrap_or(1).max(1);
    let cores = setup.and_then(|setup| setup.cores);
    let cores = cores.unwrap_or(machine.cpus_online) / sockets;
    let free = setup.and_then(|setup| setup.memory.available);
    format!(
        "CPU: {sockets} x {cores}-Core CPU(s) {}\n\
         RAM: {:.2}/{:.2} (Free/Total, in GB)\n\
         OS : Linux {} {}\n     {}\n\
         abc: max open sockets: {}\n\n",
        machine.cpu_model.as_deref().unwrap_or(""),
        free.unwrap_or(0) as f64 / GIB,
        machine.memory_bytes.unwrap_or(0) as f64 / GIB,
        std::env::consts::ARCH,
        machine.kernel.as_deref().unwrap_or(""),
        machine.distribution.as_deref().unwrap_or(""),
        machine.open_files.1,
    )
}

/// The processes of the server, the last first, and the program of the first.
fn topology(name: &str, observed: Option<&Observed>) -> String {
    let processes = observed.map_or(&[][..], |observed| &observed.processes);
    let mebibytes = |bytes: Option<u64>| bytes.unwrap_or(0) as f64 / MIB;
    let mut text = format!("> Server '{name}' process topology:\n{SHORT}\n");
    for (place, process) in processes.iter().enumerate().rev() {
        let memory = mebibytes(process.pss_bytes);
        text += &format!(
            "{place:3}] pid:{} Process RAM: {memory:.2} MB\n",
            process.pid
        );
    }
    let all: f64 = processes
        .iter()
        .map(|process| mebibytes(process.pss_bytes))
        .sum();
    text += &format!("{SHORT}\nTotal '{name}' server footprint: {all:.2} MB\n");
    let program = processes
        .first()
        .and_then(|process| process.program.as_deref());
    text + &program.map_or(String::new(), |program| format!("{program}\n"))
}

/// The head of the response that came before the load.
fn response(probe: &Probe) -> String {
    let head = probe.response_head.as_deref().unwrap_or("");
    let mut lines = head.lines().filter(|line| !line.is_empty());
    let status = lines.next().map(|line| format!("=> {line}\n"));
    let headers = lines.map(|line| format!("   {line}\n"));
    status.into_iter().chain(headers).collect()
}

/// One row.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) clients: u64,
    /// Requests per second: of the slowest round, the mean of all, of the fastest.
    pub(super) rates: [u64; 3],
    pub(super) user: u64,
    pub(super) kernel: u64,
    /// Memory of the server, and what that of the machine in use has grown by, in MB.
    pub(super) memory: [f64; 2],
    /// When it was over: seconds since 1970.
    pub(super) ended: u64,
}

impl Row {
    pub(super) fn text(&self, has_server: bool) -> String {
        let [min, mean, max] = self.rates;
        let [server, system] = self.memory;
        let resources = match has_server {
            true => format!(
                "{:7}, {:7}, {server:6.2}, {system:6.1},",
                self.user, self.kernel
            ),
            false => String::new(),
        };
        format!(
            "{:7}, {min:8}, {mean:8}, {max:8}, {resources}  {}\n",
            self.clients,
            clock(self.ended % DAY)
        )
    }
}

/// Everything below the rows, for standard output or the file, which differ in a blank line.
pub(super) fn totals(
    rates: [u64; 3],
    seconds: u64,
    cpu: Option<[u64; 2]>,
    is_file: bool,
) -> String {
    let [min, mean, max] = rates;
    let blank = if is_file { "" } else { "\n" };
    let mut text = format!(
        "{LINE}\nmin:{min}   avg:{mean}   max:{max} Time:{seconds} second(s) [{}]\n{LINE}\n{blank}",
        clock(seconds)
    );
    if let Some([user, kernel]) = cpu {
        text += &format!(
            "CPU jiffies:   user:{user}   kernel:{kernel}   total:{}{blank}",
            user + kernel
        );
    }
    text
}

/// `01:02:03`.
fn clock(seconds: u64) -> String {
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// The date as C writes it: `Fri Nov 20 05:23:59 2026`, in UTC.
fn asctime(unix: u64) -> String {
    let iso = date::iso(unix); // 2026-11-20T05:23:59Z
    let month: usize = iso[5..7].parse().unwrap_or(1);
    let day = iso[8..10].trim_start_matches('0');
    let weekday = WEEKDAYS[(unix / DAY % 7) as usize];
    format!(
        "{weekday} {} {day:>2} {} {}",
        MONTHS[month.clamp(1, 12) - 1],
        &iso[11..19],
        &iso[..4]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_totals_are_those_of_a_transcript() {
        let row = Row {
            clients: 40,
            rates: [60_582, 73_621, 81_241],
            user: 1,
            kernel: 2,
            memory: [0.0, 0.0],
            ended: 5 * 3600 + 24 * 60 + 2,
        };
        assert_eq!(
            row.text(true),
            "     40,    60582,    73621,    81241,       1,       2,   0.00,    0.0,  05:24:02\n"
        );
        assert_eq!(
            row.text(false),
            "     40,    60582,    73621,    81241,   05:24:02\n"
        );
        let sums = [333_457, 388_334, 422_622];
        let end = "min:333457   avg:388334   max:422622 Time:3 second(s) [00:00:03]\n";
        let dashes = format!("{LINE}\n");
        assert_eq!(
            totals(sums, 3, Some([7, 39]), false),
            format!("{dashes}{end}{dashes}\nCPU jiffies:   user:7   kernel:39   total:46\n")
        );
        assert_eq!(
            totals(sums, 3, Some([7, 39]), true),
            format!("{dashes}{end}{dashes}CPU jiffies:   user:7   kernel:39   total:46")
        );
        assert_eq!(
            totals(sums, 3, None, true),
            format!("{dashes}{end}{dashes}")
        );
    }

    #[test]
    fn the_headings_of_columns_begin_with_a_blank() {
        for heading in [WITH_SERVER, WITHOUT_SERVER] {
            assert!(heading.starts_with(" Number  "), "{heading}");
            assert_eq!(heading.lines().count(), 4);
        }
    }

    #[test]
    fn dates_are_written_as_by_c() {
        assert_eq!(asctime(1_795_152_239), "Fri Nov 20 05:23:59 2026");
        assert_eq!(asctime(0), "Thu Jan  1 00:00:00 1970");
    }
}
