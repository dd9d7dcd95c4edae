//! What httperf prints.

use super::command::{Command, RECEIVE_BUFFER, SEND_BUFFER, Spacing};
use super::figures::Figures;
use crate::printf::general;

/// Before the load: the command as it is understood.
pub(super) fn begins(command: &Command) -> String {
    let switch = |name: &str, is_set: bool| is_set.then(|| format!("--{name}"));
    let seconds =
        |name: &str, value: f64| (value > 0.0).then(|| format!("--{name}={}", general(value, 6)));
    let count = |name: &str, value: u64| (value > 0).then(|| format!("--{name}={value}"));
    let text = |name: &str, value: &Option<String>| {
        let value = value.as_ref();
        value.map(|value| format!("--{name}={value}"))
    };
    let ((id, clients), (major, minor)) = (command.client, command.version);
    let words = [
        Some("httperf".to_owned()),
        switch("verbose", command.is_verbose),
        switch("hog", command.is_hog),
        seconds("think-timeout", command.think_timeout),
        seconds("timeout", command.timeout),
        Some(format!("--client={id}/{clients}")),
        Some(format!("--server={}", command.server)),
        text("server_name", &command.server_name),
        Some(format!("--port={}", command.port())),
        Some(format!("--uri={}", command.uri)),
        count("failure-status", command.failure_status),
        ((major, minor) != (1, 1)).then(|| format!("--http-version={major}.{minor}")),
        count("max-connections", command.max_connections),
        count("max-piped-calls", command.max_piped_calls),
        match command.spacing {
            Spacing::Sequential => None,
            Spacing::Even(rate) => Some(format!("--rate={}", general(rate, 6))),
            Spacing::Exponential(mean) => Some(format!("--period=e{}", general(mean, 6))),
        },
        count("send-buffer", SEND_BUFFER),
        switch("retry-on-failure", command.retries),
        count("recv-buffer", RECEIVE_BUFFER),
        switch("ssl", command.is_encrypted),
        switch("ssl-no-reuse", !command.resumes),
        command
            .header
            .as_ref()
            .map(|header| format!("--add-header='{header}'")),
        text("method", &command.method),
        count("num-conns", command.connections),
        count("num-calls", command.calls),
        (command.burst != 1).then(|| format!("--burst-length={}", command.burst)),
        command
            .working_set
            .map(|set| format!("--wset={},{:.3}", set.files, set.miss_rate)),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    words.join(" ") + "\n"
}

/// After the load.
pub(super) fn ends(command: &Command, figures: &Figures) -> String {
    let mut text = String::new();
    if command.is_verbose {
        let lines = figures.samples.iter();
        let lines = lines.map(|sample| format!("reply-rate = {sample:<8.1}\n"));
        text += &lines.collect::<String>();
    }
    // It counts from the second connection on.
    let burst = u64::from(command.connections > 1);
    text += &format!("Maximum connect burst length: {burst}\n\n");
    text += &connections(figures);
    text += &requests(figures);
    text += &replies(figures);
    text += &generator(figures);
    text += &errors(figures);
    text
}

/// `1e3 / rate`; 0 where there is no rate.
fn period(rate: f64) -> f64 {
    if rate > 0.0 { 1e3 / rate } else { 0.0 }
}

fn connections(figures: &Figures) -> String {
    let rate = figures.rate(figures.connections);
    let time = &figures.connection_time;
    format!(
        "Total: connections {} requests {} replies {} test-duration {:.3} s\n\n\
         Connection rate: {rate:.1} conn/s ({:.1} ms/conn, <={} concurrent connections)\n\
         Connection time [ms]: min {:.1} avg {:.1} max {:.1} median {:.1} stddev {:.1}\n\
         Connection time [ms]: connect {:.1}\n\
         Connection length [replies/conn]: {:.3}\n\n",
        figures.connections,
        figures.requests,
        figures.replies,
        figures.took.as_secs_f64(),
        period(rate),
        figures.concurrent,
        time.min,
        time.mean,
        time.max,
        time.median,
        time.deviation,
        figures.connect,
        figures.replies_per_connection,
    )
}

fn requests(figures: &Figures) -> String {
    let rate = figures.rate(figures.requests);
    format!(
        "Request rate: {rate:.1} req/s ({:.1} ms/req)\n\
         Request size [B]: {:.1}\n\n",
        period(rate),
        figures.request_size
    )
}

fn replies(figures: &Figures) -> String {
    let [min, mean, max, deviation] = figures.reply_rate();
    let [one, two, three, four, five] = figures.classes;
    format!(
        "Reply rate [replies/s]: min {min:.1} avg {mean:.1} max {max:.1} stddev {deviation:.1} ({} samples)\n\
         Reply time [ms]: response {:.1} transfer {:.1}\n\
         Reply size [B]: header {:.1} content {:.1} footer 0.0 (total {:.1})\n\
         Reply status: 1xx={one} 2xx={two} 3xx={three} 4xx={four} 5xx={five}\n\n",
        figures.samples.len(),
        figures.response,
        figures.transfer,
        figures.header_size,
        figures.content_size,
        figures.header_size + figures.content_size,
    )
}

fn generator(figures: &Figures) -> String {
    let (user, system) = (figures.user, figures.system);
    let took = figures.took.as_secs_f64();
    let percent = |seconds: f64| match took > 0.0 {
        true => 100.0 * seconds / took,
        false => 0.0,
    };
    format!(
        "CPU time [s]: user {user:.2} system {system:.2} (user {:.1}% system {:.1}% total {:.1}%)\n\
         Net I/O: {:.1} KB/s ({:.1}*10^6 bps)\n\n",
        percent(user),
        percent(system),
        percent(user + system),
        figures.kilobytes_a_second(),
        figures.rate(figures.bytes) * 8e-6
    )
}

fn errors(figures: &Figures) -> String {
    let errors = &figures.errors;
    format!(
        "Errors: total {} client-timo {} socket-timo {} connrefused {} connreset {}\n\
         Errors: fd-unavail {} addrunavail {} ftab-full 0 other {}\n",
        errors.total(),
        errors.client_timeout,
        errors.socket_timeout,
        errors.refused,
        errors.reset,
        errors.no_descriptor,
        errors.no_address,
        errors.other
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a transcript of httperf 0.9.0.
    const LINES: &str = "\
Maximum connect burst length: 1

Total: connections 500 requests 5000 replies 5000 test-duration 2.496 s

Connection rate: 200.3 conn/s (5.0 ms/conn, <=1 concurrent connections)
Connection time [ms]: min 0.3 avg 0.4 max 1.5 median 0.5 stddev 0.1
Connection time [ms]: connect 0.0
Connection length [replies/conn]: 10.000

Request rate: 2003.2 req/s (0.5 ms/req)
Request size [B]: 70.0

Reply rate [replies/s]: min 0.0 avg 0.0 max 0.0 stddev 0.0 (0 samples)
Reply time [ms]: response 0.0 transfer 0.0
Reply size [B]: header 237.0 content 100.0 footer 0.0 (total 337.0)
Reply status: 1xx=0 2xx=5000 3xx=0 4xx=0 5xx=0

CPU time [s]: user 0.48 system 2.01 (user 19.2% system 80.5% total 99.8%)
Net I/O: 796.2 KB/s (6.5*10^6 bps)

Errors: total 0 client-timo 0 socket-timo 0 connrefused 0 connreset 0
Errors: fd-unavail 0 addrunavail 0 ftab-full 0 other 0
";

    fn command(line: &str) -> Command {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        super::super::command::read(&words).unwrap()
    }

    #[test]
    fn the_report_is_httperfs_to_the_byte() {
        let figures = Figures {
            connections: 500,
            requests: 5000,
            replies: 5000,
            took: units::Nanos::from_millis(2496),
            concurrent: 1,
            connection_time: super::super::figures::Summary {
                min: 0.3,
                mean: 0.4,
                max: 1.5,
                median: 0.5,
                deviation: 0.1,
            },
            replies_per_connection: 10.0,
            request_size: 70.0,
            header_size: 237.0,
            content_size: 100.0,
            classes: [0, 5000, 0, 0, 0],
            user: 0.48,
            system: 2.01,
            bytes: 5000 * (70 + 337),
            ..Figures::default()
        };
        assert_eq!(
            ends(&command("--rate 200 --num-conns 500"), &figures),
            LINES
        );
        let nothing = ends(&command(""), &Figures::default());
        assert!(
            !nothing.contains("NaN") && !nothing.contains("inf"),
            "{nothing}"
        );
    }

    #[test]
    fn the_command_is_echoed_in_httperfs_order() {
        let cases = [
            (
                "--server 127.0.0.1 --port 8080 --uri /100.html --num-conns 500 --num-calls 10 --rate 200 --timeout 5",
                "httperf --timeout=5 --client=0/1 --server=127.0.0.1 --port=8080 --uri=/100.html --rate=200 --send-buffer=4096 \
                 --recv-buffer=16384 --num-conns=500 --num-calls=10\n",
            ),
            (
                "--http-version 1.0 --method POST --num-calls 4 --burst-length 2 -v --hog --think-timeout 3 --port 1",
                "httperf --verbose --hog --think-timeout=3 --client=0/1 --server=localhost --port=1 --uri=/ --http-version=1.0 \
                 --send-buffer=4096 --recv-buffer=16384 --method=POST --num-conns=1 --num-calls=4 --burst-length=2\n",
            ),
            (
                "--wset 100,0.25 --period e0.01 --uri /foo",
                "httperf --client=0/1 --server=localhost --port=80 --uri=/foo --period=e0.01 --send-buffer=4096 \
                 --recv-buffer=16384 --num-conns=1 --num-calls=1 --wset=100,0.250\n",
            ),
        ];
        for (line, wanted) in cases {
            assert_eq!(begins(&command(line)), wanted);
        }
    }

    #[test]
    fn samples_are_told_one_by_one_where_that_is_asked_for() {
        let figures = Figures {
            samples: vec![10.0, 12.25],
            ..Figures::default()
        };
        let text = ends(&command("-v --rate 10 --num-conns 9"), &figures);
        assert!(
            text.starts_with("reply-rate = 10.0    \nreply-rate = 12.2    \nMaximum"),
            "{text}"
        );
        assert!(
            text.contains("min 10.0 avg 11.1 max 12.2 stddev 1.6 (2 samples)"),
            "{text}"
        );
    }
}
