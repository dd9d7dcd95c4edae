//! `weigh serve`: the reference server.

use crate::exit::Exit;
use crate::output;
use crate::truth::{self, TruthFlags};
use anyhow::{Result, anyhow, bail};
use clap::{Arg, Args};
use kernel::{Address, limits, signals, user};
use plan::settings::{self, count32 as count};
use refserver::{Certificate, Config, Control, Limits, Pace, Server};
use std::path::PathBuf;
use units::{Nanos, parse_count};

/// `weigh serve`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_args = hide_details)]
pub struct ServeFlags {
    /// The folder that is served; a file of it wins over a built-in resource of the same name. Without one: the built-in
    /// /nop.gif (43 bytes), /100.html, /0.html, /hello and /bytes/N (N bytes, up to 1 GiB) alone.
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Where to listen: ADDR:PORT (an IPv6 address in brackets) or unix:PATH. May be given several times.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    pub listen: Vec<Address>,
    /// Permissions of the Unix sockets of --listen, in octal: clients need the right to write [default: by the umask].
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub listen_mode: Option<u32>,
    /// Run as this user, with its groups, once everything is open; for a server that root starts.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Worker threads [default: one per CPU this process may use, by affinity and by its control group's quota].
    #[arg(short, long, value_name = "N", value_parser = count)]
    pub workers: Option<u32>,
    /// Append a line for each request to this file, in the combined format. SIGHUP and SIGUSR1 open it anew.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// A header that is added to responses with status 200, 204, 206, 301 or 304. May be given several times.
    #[arg(short = 'H', long = "header", value_name = "'NAME: VALUE'")]
    pub headers: Vec<String>,
    /// Bytes of small files that each worker keeps in memory [default: none; the system keeps them].
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = parse_count, hide_default_value = true)]
    pub cache: u64,
    /// Answer here with the server's counts: /counters.json, and /metrics for Prometheus.
    #[arg(long, value_name = "ADDR:PORT")]
    pub admin: Option<Address>,

    #[command(flatten)]
    tls: TlsFlags,
    #[command(flatten)]
    limits: LimitFlags,
    #[command(flatten)]
    truth: TruthFlags,
}

/// With which certificate https is served; without any it is http.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTPS")]
struct TlsFlags {
    /// Serve https with this certificate, in PEM, behind it those up to its issuer. SIGHUP has it read again, but
    /// not with --truth.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Serve https with a certificate made for this run, for localhost and the addresses of --listen: self-signed. Clients
    /// must not check it (weigh run --insecure, curl -k).
    #[arg(long, value_name = "self-signed", value_parser = ["self-signed"], conflicts_with = "tls_cert", hide_possible_values = true)]
    tls: Option<String>,
}

impl TlsFlags {
    fn certificate(&self) -> Option<Certificate> {
        if self.tls.is_some() {
            return Some(Certificate::SelfSigned);
        }
        let files = self.tls_cert.clone().zip(self.tls_key.clone());
        files.map(|(chain, key)| Certificate::Files { chain, key })
    }
}

/// Tells where a server listens: a line for each address.
pub fn tell_addresses(addresses: &[Address], is_encrypted: bool) -> Result<()> {
    let how = if is_encrypted { " (https)" } else { "" };
    for address in addresses {
        output::print(&format!("listening on {address}{how}\n"))?;
    }
    Ok(())
}

/// Hides in `-h` what few people need.
fn hide_details(arg: Arg) -> Arg {
    let is_detail = matches!(arg.get_help_heading(), Some("Limits" | "Truth"));
    arg.hide_short_help(is_detail)
}

/// Limits of the server. A client within them is served; one beyond them is cut off.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
struct LimitFlags {
    /// Connections at a time, over all workers; one more is answered 503 [default: what the limit on open files leaves].
    #[arg(long, value_name = "N", value_parser = count)]
    max_connections: Option<u32>,
    /// Of those, from one address, or one IPv6 network of 64 bits; 0 for any number [default: three quarters].
    #[arg(long, value_name = "N", value_parser = count)]
    max_connections_per_address: Option<u32>,
    /// The largest head of a request, in bytes.
    #[arg(long, value_name = "SIZE", default_value = "16384", value_parser = parse_count)]
    max_head: u64,
    /// The largest body of a request, in bytes.
    #[arg(long, value_name = "SIZE", default_value = "67108864", value_parser = parse_count)]
    max_body: u64,
    /// From a connection's beginning to its first byte.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    first_request_timeout: Nanos,
    /// From a request's first byte to the end of its head.
    #[arg(long, value_name = "TIME", default_value = "15s")]
    head_timeout: Nanos,
    /// While a request's body comes: the longest in which nothing does.
    #[arg(long, value_name = "TIME", default_value = "20s")]
    body_timeout: Nanos,
    /// Bytes a second that a request's body must come with, on average after the first --body-timeout; 0 for any.
    #[arg(long, value_name = "SIZE", default_value = "500", value_parser = parse_count)]
    body_speed: u64,
    /// While an answer is taken: the longest in which nothing is.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    send_timeout: Nanos,
    /// Bytes a second that an answer must be taken with, on average after the first --send-timeout; 0 for any.
    #[arg(long, value_name = "SIZE", default_value = "1000", value_parser = parse_count)]
    send_speed: u64,
    /// Between an answer and the next request.
    #[arg(long, value_name = "TIME", default_value = "75s")]
    keepalive_timeout: Nanos,
    /// What is under way when the server is stopped.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    drain_timeout: Nanos,
}

const EXAMPLES: &str = "\
Examples:
  weigh serve                                      built-in resources on 127.0.0.1:8080
  weigh serve ~/site --listen 0.0.0.0:80 --listen '[::]:80' --log access.log
  weigh serve /srv/site --listen '[::]:80' --user www-data --header 'Cache-Control: max-age=60'
  weigh serve --tls self-signed                    then: weigh https://127.0.0.1:8080/hello --insecure
  weigh serve site --admin 127.0.0.1:9090          then: curl 127.0.0.1:9090/metrics
  curl -i 127.0.0.1:8080/nop.gif

SIGTERM, SIGQUIT or Ctrl-C stops it: it closes its listeners, finishes the requests under way, and prints its counts.
SIGHUP or SIGUSR1 makes it open its log again, after the file was moved away, and read its certificate again.
A program called `counterweight` that is this one (a link will do) does what `weigh serve` does.";

/// Serves until SIGTERM or Ctrl-C, then tells what it served.
pub fn serve(flags: &ServeFlags) -> Result<Exit> {
    if flags.truth.truth {
        let certificate = flags.tls.certificate();
        return truth::serve(&flags.truth, &flags.listen, certificate, flags.workers);
    }
    let raised = signals::serving();
    let _ = limits::raise_open_files(); // with fewer, fewer connections are taken
    let defaults = Config::within(limits::open_files().soft);
    let most = defaults.limits.connections;
    let config = config(flags, defaults)?;
    let server = Server::bind(&config)?;
    if user::is_root() {
        output::message(
            "This server runs as root. Use --user NAME to have it run as another user.",
        );
    }
    if config.limits.connections > most {
        output::message(&format!(
            "There are descriptors for about {most} connections; more will wait (see `ulimit -n`)."
        ));
    }
    tell_addresses(server.addresses(), config.certificate.is_some())?;
    if let Some(address) = server.admin() {
        output::print(&format!("counts on {address}\n"))?;
    }
    kernel::code::forget(); // reading the command line took more of it than serving does
    let counts = server.run_by(&Control {
        stop: raised.stop.flag(),
        reopen: &raised.reopen,
        complain: |sentence| output::message(&format!("weigh: {sentence}")),
    });
    output::print(&format!("{counts}\n"))?;
    Ok(Exit::YES)
}

fn config(flags: &ServeFlags, defaults: Config) -> Result<Config> {
    if let Some(dir) = &flags.dir
        && !dir.is_dir()
    {
        let what = match dir.exists() {
            true => "is no folder",
            false => "does not exist",
        };
        bail!(
            "DIR `{}` {what}; name the folder that is to be served",
            dir.display()
        );
    }
    let is_unix = |address: &Address| matches!(address, Address::Unix(_));
    if flags.listen_mode.is_some() && !flags.listen.iter().any(is_unix) {
        bail!("--listen-mode is for Unix sockets; give one, such as --listen unix:/run/weigh.sock");
    }
    let headers = flags.headers.iter().map(|line| settings::header(line));
    Ok(Config {
        listen: flags.listen.clone(),
        listen_mode: flags.listen_mode,
        user: flags.user.clone(),
        headers: headers.collect::<Result<_, _>>()?,
        workers: flags.workers.unwrap_or(defaults.workers),
        root: flags.dir.clone(),
        cache: flags.cache,
        log: flags.log.clone(),
        certificate: flags.tls.certificate(),
        admin: flags.admin.clone(),
        limits: flags.limits.over(&defaults.limits)?,
        ..defaults
    })
}

/// `--listen-mode`
fn mode(text: &str) -> Result<u32> {
    let is_octal = text.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    let mode = u32::from_str_radix(text, 8).ok();
    mode.filter(|&mode| is_octal && mode <= 0o777)
        .ok_or_else(|| anyhow!("write three octal digits, such as 660"))
}

impl LimitFlags {
    fn over(&self, defaults: &Limits) -> Result<Limits> {
        for (flag, given) in [
            ("--first-request-timeout", self.first_request_timeout),
            ("--head-timeout", self.head_timeout),
            ("--body-timeout", self.body_timeout),
            ("--send-timeout", self.send_timeout),
            ("--keepalive-timeout", self.keepalive_timeout),
        ] {
            if given == Nanos::ZERO {
                bail!(
                    "{flag} 0 would cut off every client; give the longest that a client may take, such as 10s"
                );
            }
        }
        let (least, most) = (HEAD_BYTES.start(), HEAD_BYTES.end());
        let head = self.max_head;
        if !HEAD_BYTES.contains(&head) {
            bail!("--max-head must be from {least} to {most} bytes, not {head}");
        }
        if self.max_connections == Some(0) {
            bail!("--max-connections 0 would serve no client; give at least 1");
        }
        let connections = self.max_connections.unwrap_or(defaults.connections);
        let share = Limits::share(connections);
        Ok(Limits {
            connections,
            connections_per_address: self.max_connections_per_address.unwrap_or(share),
            first_request: self.first_request_timeout,
            head: self.head_timeout,
            body: Pace {
                patience: self.body_timeout,
                speed: self.body_speed,
            },
            send: Pace {
                patience: self.send_timeout,
                speed: self.send_speed,
            },
            keepalive: self.keepalive_timeout,
            drain: self.drain_timeout,
            head_bytes: head as usize,
            body_bytes: self.max_body,
        })
    }
}

/// What may be taken for the largest head: less would refuse what browsers send, more would be kept for each client
/// that does not end its own.
const HEAD_BYTES: std::ops::RangeInclusive<u64> = 256..=65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    /// What the help says of defaults is what the server's own defaults are.
    #[test]
    fn the_flags_defaults_are_the_servers() {
        let cli = Cli::parse_from(["weigh", "serve"]);
        let crate::args::Verb::Serve(flags) = cli.verb else {
            panic!("not the verb that was given");
        };
        let defaults = Config::within(20_000);
        let made = config(&flags, defaults.clone()).unwrap();
        assert_eq!(made.limits, defaults.limits);
        assert_eq!(made.listen, ["127.0.0.1:8080".parse().unwrap()]);
    }
}
