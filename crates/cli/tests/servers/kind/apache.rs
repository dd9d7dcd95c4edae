//! Apache.

use super::{Bytes, Counted, Kind};
use crate::servers::log;
use crate::servers::site::{Listen, SMALL, Site};

/// Where Debian keeps its modules.
const MODULES: &str = "/usr/lib/apache2/modules";

pub const APACHE: Kind = Kind {
    program: "apache2",
    is_demanded: true,
    config,
    command: |site, program| {
        let config = format!("{}/config", site.folder());
        [program, "-D", "FOREGROUND", "-f", &config]
            .map(str::to_owned)
            .into()
    },
    farewell: "WINCH",
    requests_per_connection: 100,
    log: |text| log::with_connections(text, "0", "Resumed"),
    // When it looks ahead for the next request on a kept connection, it charges the byte that it peeks at twice (seen under
    // strace: 5007 requests of 87 bytes, logged as 4968 of 87 and 39 of 88). Over TLS it counts encrypted bytes (mod_logio,
    // "after SSL/TLS on output").
    bytes: [Bytes::new(Counted::Whole, Counted::Nothing), Bytes::NOTHING],
    chunked: ("/numbers.txt", "Accept-Encoding:gzip"),
    takes: &[(SMALL, 200)],
};

/// Apache refuses to serve as root, so its workers are somebody else's and the site is readable for all.
fn config(site: &Site) -> String {
    let folder = site.folder();
    let (port, module, tls) = match site.listen() {
        Listen::Port(port) => (port, None, String::new()),
        Listen::Tls { port, only } => {
            let only = only.map_or(String::new(), |only| format!("SSLProtocol {only}\n"));
            let tls = format!(
                "{only}SSLEngine on\nSSLCertificateFile {folder}/site.pem\nSSLCertificateKeyFile {folder}/site.pem\n"
            );
            (port, Some("ssl"), tls)
        }
        Listen::Unix(_) => unreachable!("Apache listens on ports only"),
    };
    let handshake = module.map_or("- -", |_| "%{SSL_PROTOCOL}x %{SSL_SESSION_RESUMED}x");
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
        .map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n"))
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
LogFormat "%m %U%q %>s %O %I %k {handshake}" short
CustomLog {folder}/access.log short
<Directory />
    AllowOverride None
    Require all granted
</Directory>
"#
    )
}
