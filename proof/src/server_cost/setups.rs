//! How each server is set up: as little as it needs, logs off, no limit that the load reaches.
//!
//! Where a server has two ways to the same end and neither is plainly the cheaper, it has a row for both (nginx sends a
//! file by sendfile, or reads it and sends it with its head).

use super::servers::{Place, Setup};

/// Connections for which there is room: more than the ten thousand idle ones.
const CONNECTIONS: u32 = 12_000;
/// haproxy needs two descriptors for each, and an unprivileged limit of 20,000 is common.
const CONNECTIONS_HAPROXY: u32 = 8_000;
/// Longer than any run; nobody is to close what the client keeps. In seconds.
const IDLE: u32 = 300;
/// Apache's threads in a process, which keep-alive connections do not occupy.
const APACHE_THREADS: u32 = 128;
/// Where Debian keeps Apache's modules.
const APACHE_MODULES: &str = "/usr/lib/apache2/modules";

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn without_files(arguments: Vec<String>) -> Setup {
    Setup {
        files: Vec::new(),
        arguments,
    }
}

fn with_config(text: String, arguments: Vec<String>) -> Setup {
    Setup {
        files: vec![("config", text)],
        arguments,
    }
}

/// The configuration file's path, as an argument.
fn config(place: &Place) -> String {
    place.folder.join("config").display().to_string()
}

pub fn floor(place: &Place) -> Setup {
    let close = if place.close { "--close" } else { "" };
    without_files(words(&format!("127.0.0.1:{} {close}", place.port)))
}

pub fn weigh(place: &Place) -> Setup {
    let Place { port, workers, .. } = place;
    without_files(words(&format!(
        "serve --listen 127.0.0.1:{port} --workers {workers}"
    )))
}

pub fn weigh_file(place: &Place) -> Setup {
    let mut setup = weigh(place);
    setup.arguments.push(place.site.display().to_string());
    setup
}

pub fn weigh_cache(place: &Place) -> Setup {
    let mut setup = weigh_file(place);
    setup.arguments.extend(words("--cache 16m"));
    setup
}

pub fn nginx(place: &Place) -> Setup {
    nginx_with(place, &format!("sendfile on; {OPEN_FILES}"), "")
}

pub fn nginx_pread(place: &Place) -> Setup {
    nginx_with(place, &format!("sendfile off; {OPEN_FILES}"), "")
}

pub fn nginx_cold(place: &Place) -> Setup {
    nginx_with(place, "sendfile on;", "")
}

pub fn nginx_cold_pread(place: &Place) -> Setup {
    nginx_with(place, "sendfile off;", "")
}

pub fn nginx_return(place: &Place) -> Setup {
    let body = "x".repeat(super::site::SMALL);
    let location = format!("location / {{ return 200 \"{body}\"; }}");
    nginx_with(place, "", &location)
}

const OPEN_FILES: &str = "open_file_cache max=1000 inactive=300s; open_file_cache_valid 60s;";

/// As root the workers stay root, because nobody else may be able to read the site.
fn nginx_with(place: &Place, files: &str, location: &str) -> Setup {
    let Place { port, workers, .. } = place;
    let (folder, site) = (place.folder.display(), place.site.display());
    let text = format!(
        "daemon off; worker_processes {workers}; user root; pid {folder}/pid; error_log {folder}/error crit;
events {{ worker_connections {CONNECTIONS}; multi_accept on; }}
http {{
    access_log off; server_tokens off; keepalive_timeout {IDLE}s; keepalive_requests 1000000000;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    types {{ text/html html; }} default_type text/html; {files}
    server {{ listen 127.0.0.1:{port} reuseport backlog=4096; root {site}; {location} }}
}}
"
    );
    let arguments = format!("-e stderr -p {folder} -c {}", config(place));
    with_config(text, words(&arguments))
}

pub fn lighttpd(place: &Place) -> Setup {
    lighttpd_with(place, "")
}

pub fn lighttpd_cold(place: &Place) -> Setup {
    lighttpd_with(place, "server.stat-cache-engine = \"disable\"\n")
}

fn lighttpd_with(place: &Place, files: &str) -> Setup {
    let Place { port, workers, .. } = place;
    let (folder, site) = (place.folder.display(), place.site.display());
    // Without workers its one process serves; with them it only watches over them.
    let workers = if *workers > 1 { *workers } else { 0 };
    let text = format!(
        "server.bind = \"127.0.0.1\"\nserver.port = {port}\nserver.document-root = \"{site}\"
server.max-worker = {workers}\nserver.errorlog = \"{folder}/error\"\nserver.upload-dirs = ( \"{folder}\" )
server.max-fds = 16384\nserver.max-connections = {CONNECTIONS}\nserver.listen-backlog = 4096
server.max-keep-alive-requests = 65535\nserver.max-keep-alive-idle = {IDLE}
mimetype.assign = ( \".html\" => \"text/html\" )\n{files}"
    );
    let arguments = vec!["-D".to_owned(), "-f".to_owned(), config(place)];
    with_config(text, arguments)
}

pub fn h2o(place: &Place) -> Setup {
    let Place { port, workers, .. } = place;
    let (folder, site) = (place.folder.display(), place.site.display());
    let text = format!(
        "num-threads: {workers}\nnum-name-resolution-threads: 1\nmax-connections: {CONNECTIONS}
http1-request-timeout: {IDLE}\npid-file: {folder}/pid\nlisten: {{ host: 127.0.0.1, port: {port} }}
hosts: {{ default: {{ paths: {{ /: {{ file.dir: \"{site}\" }} }} }} }}\n"
    );
    with_config(text, vec!["-c".to_owned(), config(place)])
}

pub fn haproxy(place: &Place) -> Setup {
    let Place { port, workers, .. } = place;
    let site = place.site.display();
    let text = format!(
        "global
    nbthread {workers}
    maxconn {CONNECTIONS_HAPROXY}
defaults
    mode http
    no log
    option http-keep-alive
    timeout client {IDLE}s
    timeout server {IDLE}s
    timeout connect {IDLE}s
    timeout http-keep-alive {IDLE}s
frontend front
    bind 127.0.0.1:{port} backlog 4096
    http-request return status 200 content-type text/html file {site}/file.html
"
    );
    with_config(text, vec!["-f".to_owned(), config(place)])
}

/// Headers whose length differs from answer to answer are left out, because the client knows an answer by its length.
pub fn varnish(place: &Place) -> Setup {
    let Place { port, workers, .. } = place;
    let folder = place.folder.display();
    let origin = place.origin.map_or(0, |origin| origin.port());
    let text = format!(
        "vcl 4.1;
backend default {{ .host = \"127.0.0.1\"; .port = \"{origin}\"; }}
sub vcl_backend_response {{ set beresp.ttl = 1d; set beresp.http.Content-Type = \"text/html\"; }}
sub vcl_deliver {{ unset resp.http.X-Varnish; unset resp.http.Age; unset resp.http.Via; }}
"
    );
    let arguments = format!(
        "-F -j none -n {folder}/state -a 127.0.0.1:{port} -f {} -s malloc,16m -T none -p thread_pools={workers} \
         -p thread_pool_min=100 -p timeout_idle={IDLE}",
        config(place)
    );
    with_config(text, words(&arguments))
}

/// As root its workers are somebody else, who can read the site. Without `AllowOverride None` it would look for a
/// configuration in every folder above the file, for each answer.
pub fn apache(place: &Place) -> Setup {
    let Place { port, workers, .. } = place;
    let (folder, site) = (place.folder.display(), place.site.display());
    let modules: String = ["mpm_event", "authz_core", "mime"]
        .iter()
        .map(|name| format!("LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so\n"))
        .collect();
    let threads = workers * APACHE_THREADS;
    let text = format!(
        "{modules}ServerRoot {folder}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {folder}/pid
User www-data\nGroup www-data\nMutex posixsem\nErrorLog {folder}/error\nTypesConfig /dev/null\nAddType text/html .html
KeepAlive On\nMaxKeepAliveRequests 0\nKeepAliveTimeout {IDLE}\nListenBackLog 4096
StartServers {workers}\nServerLimit {workers}\nThreadLimit {APACHE_THREADS}\nThreadsPerChild {APACHE_THREADS}
MinSpareThreads 1\nMaxSpareThreads {threads}\nMaxRequestWorkers {threads}\nAsyncRequestWorkerFactor 64
DocumentRoot {site}\n<Directory />\n    AllowOverride None\n    Require all granted\n</Directory>\n"
    );
    with_config(text, words(&format!("-D FOREGROUND -f {}", config(place))))
}

#[cfg(test)]
mod tests {
    use super::super::servers::SERVERS;
    use super::*;

    fn place(workers: u32, close: bool) -> Place {
        Place {
            folder: "/f".into(),
            site: "/s".into(),
            port: 4711,
            workers,
            close,
            origin: Some("127.0.0.1:4712".parse().unwrap()),
        }
    }

    fn line(setup: Setup) -> String {
        setup.arguments.join(" ")
    }

    fn text(setup: Setup) -> String {
        setup.files[0].1.clone()
    }

    #[test]
    fn ours_are_called_as_anybody_would() {
        let place = place(1, true);
        let cases = [
            (floor(&place), "127.0.0.1:4711 --close"),
            (weigh(&place), "serve --listen 127.0.0.1:4711 --workers 1"),
            (
                weigh_file(&place),
                "serve --listen 127.0.0.1:4711 --workers 1 /s",
            ),
            (
                weigh_cache(&place),
                "serve --listen 127.0.0.1:4711 --workers 1 /s --cache 16m",
            ),
        ];
        for (setup, wanted) in cases {
            assert!(setup.files.is_empty());
            assert_eq!(line(setup), wanted);
        }
    }

    #[test]
    fn all_listen_at_the_port_and_log_nothing() {
        let place = place(1, false);
        let setups = [nginx, nginx_return, lighttpd, h2o, haproxy, apache];
        for setup in setups {
            let text = text(setup(&place));
            assert!(text.contains("4711"), "{text}");
            assert!(
                !text.contains("access.log") && !text.contains("CustomLog"),
                "{text}"
            );
        }
        let varnish = varnish(&place);
        assert!(line(varnish).contains("-a 127.0.0.1:4711 "));
        assert!(text(super::varnish(&place)).contains("4712"));
        assert_eq!(
            SERVERS.len(),
            15,
            "a new row's setup is looked at here, too"
        );
    }

    #[test]
    fn each_class_is_what_it_is_called() {
        let place = place(1, false);
        let cases = [
            (nginx as fn(&Place) -> Setup, "open_file_cache max", true),
            (nginx_cold, "open_file_cache max", false),
            (nginx_pread, "sendfile off", true),
            (nginx_return, "return 200", true),
            (lighttpd, "stat-cache-engine", false),
            (lighttpd_cold, "stat-cache-engine = \"disable\"", true),
        ];
        for (setup, mark, wanted) in cases {
            let text = text(setup(&place));
            assert_eq!(text.contains(mark), wanted, "{mark}: {text}");
        }
    }

    #[test]
    fn workers_are_as_many_as_asked_for() {
        let cases = [
            (nginx as fn(&Place) -> Setup, 1, "worker_processes 1;"),
            (nginx, 2, "worker_processes 2;"),
            (lighttpd, 1, "server.max-worker = 0"),
            (lighttpd, 2, "server.max-worker = 2"),
            (h2o, 2, "num-threads: 2"),
            (haproxy, 2, "nbthread 2"),
            (apache, 2, "StartServers 2\nServerLimit 2"),
        ];
        for (setup, workers, wanted) in cases {
            let text = text(setup(&place(workers, false)));
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    }
}
