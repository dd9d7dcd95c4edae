//! The servers: how each is configured, started and asked to end.
//!
//! Only what these tests need is configured, so that everything else is as people run it; above all the limits on how
//! long a connection lasts.

use crate::servers::site::{Listen, Site};

/// Where Debian keeps Apache's modules.
const APACHE_MODULES: &str = "/usr/lib/apache2/modules";

/// A server that we know how to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Nginx,
    Lighttpd,
    Apache,
}

impl Kind {
    pub const ALL: &[Kind] = &[Kind::Nginx, Kind::Lighttpd, Kind::Apache];

    /// The name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Kind::Nginx => "nginx",
            Kind::Lighttpd => "lighttpd",
            Kind::Apache => "apache2",
        }
    }

    /// The command that runs it in the foreground.
    pub fn command(self, program: &str, folder: &str) -> Vec<String> {
        let config = format!("{folder}/config");
        let words: &[&str] = match self {
            Kind::Nginx => &["-e", "stderr", "-p", folder, "-c", &config],
            Kind::Lighttpd => &["-D", "-f", &config],
            Kind::Apache => &["-D", "FOREGROUND", "-f", &config],
        };
        let words = [program].into_iter().chain(words.iter().copied());
        words.map(str::to_owned).collect()
    }

    /// The signal on which its first process finishes what is under way and ends.
    pub fn farewell(self) -> &'static str {
        match self {
            Kind::Nginx => "QUIT",
            Kind::Lighttpd => "INT",
            Kind::Apache => "WINCH",
        }
    }

    /// The most requests it answers on one connection, unless it is told otherwise.
    pub fn requests_per_connection(self) -> u64 {
        match self {
            Kind::Nginx | Kind::Lighttpd => 1000,
            Kind::Apache => 100,
        }
    }

    /// Its configuration: two workers where it has processes, and one short line a request in the log, which
    /// [`crate::servers::log`] reads.
    pub fn config(self, site: &Site) -> String {
        match self {
            Kind::Nginx => nginx(&site.folder(), site.listen()),
            Kind::Lighttpd => lighttpd(&site.folder(), site.listen()),
            Kind::Apache => apache(&site.folder(), site.listen()),
        }
    }
}

/// As root the workers stay root, because the folder may be readable for no other user.
fn nginx(folder: &str, listen: &Listen) -> String {
    let listen = match listen {
        Listen::Port(port) => format!("127.0.0.1:{port}"),
        Listen::Unix(path) => format!("unix:{}", path.display()),
        Listen::Tls(port) => format!(
            "127.0.0.1:{port} ssl; ssl_session_cache shared:all:1m; ssl_certificate {folder}/site.pem; \
             ssl_certificate_key {folder}/site.pem"
        ),
    };
    format!(
        r#"daemon off; worker_processes 2; user root; pid {folder}/pid; error_log stderr error;
events {{ worker_connections 1024; }}
http {{
    log_format short '$request_method $request_uri $status $bytes_sent $request_length';
    access_log {folder}/access.log short;
    client_body_temp_path {folder}/state; proxy_temp_path {folder}/state; fastcgi_temp_path {folder}/state;
    uwsgi_temp_path {folder}/state; scgi_temp_path {folder}/state;
    types {{ text/html html; text/plain txt; }}
    gzip on; gzip_types text/plain; gzip_http_version 1.0;
    server {{ listen {listen}; root {folder}/www; location = /sink {{ return 200 "taken"; }} }}
}}
"#
    )
}

fn lighttpd(folder: &str, listen: &Listen) -> String {
    let at = |port| format!("server.bind = \"127.0.0.1\"\nserver.port = {port}");
    let (listen, tls) = match listen {
        Listen::Port(port) => (at(port), ""),
        Listen::Unix(path) => (format!("server.bind = \"{}\"", path.display()), ""),
        Listen::Tls(port) => {
            let tls = format!("ssl.engine = \"enable\"\nssl.pemfile = \"{folder}/site.pem\"");
            (format!("{}\n{tls}", at(port)), ", \"mod_openssl\"")
        }
    };
    format!(
        r#"{listen}
server.document-root = "{folder}/www"
server.max-worker = 2
server.errorlog = "/dev/stderr"
server.upload-dirs = ( "{folder}/state" )
server.modules = ( "mod_accesslog", "mod_cgi"{tls} )
server.stream-response-body = 2
accesslog.filename = "{folder}/access.log"
accesslog.format = "%m %U%q %s %O %I"
mimetype.assign = ( ".html" => "text/html", ".txt" => "text/plain" )
cgi.assign = ( ".sh" => "/bin/sh" )
"#
    )
}

/// Apache refuses to serve as root, so its workers are somebody else's and the site is readable for all.
fn apache(folder: &str, listen: &Listen) -> String {
    let (port, module, tls) = match listen {
        Listen::Port(port) => (port, None, String::new()),
        Listen::Tls(port) => {
            let tls = format!(
                "SSLEngine on\nSSLCertificateFile {folder}/site.pem\nSSLCertificateKeyFile {folder}/site.pem\n"
            );
            (port, Some("ssl"), tls)
        }
        Listen::Unix(_) => unreachable!("Apache listens on ports only"),
    };
    let modules = [
        "mpm_event",
        "authz_core",
        "mime",
        "dir",
        "filter",
        "deflate",
    ];
    let modules: String = modules
        .into_iter()
        .chain(module)
        .map(|name| format!("LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so\n"))
        .collect();
    format!(
        r#"{modules}{tls}ServerRoot {folder}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/pid
Mutex posixsem
User www-data
Group www-data
StartServers 2
ServerLimit 2
ThreadsPerChild 25
MaxRequestWorkers 50
TypesConfig /dev/null
AddType text/html .html
AddType text/plain .txt
AddOutputFilterByType DEFLATE text/plain
DocumentRoot {folder}/www
ErrorLog {folder}/error.log
LogFormat "%m %U%q %>s %O %I" short
CustomLog {folder}/access.log short
<Directory />
    AllowOverride None
    Require all granted
</Directory>
"#
    )
}
