//! Data network servers: nginx, and an iperf3 server for each UE that runs iperf3.

use std::path::PathBuf;
use std::time::Duration;

use sluice_host::netns::Ns;
use sluice_host::process::Process;

use super::child::{self, Stop};
use super::error::DemoError;
use super::plan;
use super::workdir::WorkDir;

const START_LIMIT: Duration = Duration::from_secs(10);
/// In /proc/net/tcp.
const STATE_LISTEN: &str = "0A";

/// The running servers; they end with the value.
#[derive(Debug)]
pub(super) struct Servers {
    /// Contents of [`DOWNLOAD`].
    pub(super) content: Vec<u8>,
    uploads: PathBuf,
    http: Server,
    iperf: Vec<Server>,
}

/// Path of the file that UEs fetch.
pub(super) const DOWNLOAD: &str = "/content";
/// Folder into which UEs put files.
pub(super) const UPLOADS: &str = "/uploads/";

#[derive(Debug)]
struct Server {
    process: Process,
    log: PathBuf,
}

impl Servers {
    /// Starts them in `ns`; when it returns, all of them listen.
    pub(super) fn start(
        ns: &Ns,
        work: &WorkDir,
        iperf_servers: usize,
        stop: &Stop,
    ) -> Result<Self, DemoError> {
        let content = noise(plan::HTTP_BYTES);
        let http = start_http(ns, work, &content)?;
        let iperf = (0..iperf_servers).map(|index| start_iperf(ns, work, index));
        let mut this = Self {
            content,
            uploads: work.join("www/uploads"),
            http,
            iperf: iperf.collect::<Result<_, _>>()?,
        };
        this.wait_until_listening(ns, stop)?;
        Ok(this)
    }

    /// Takes a file that was put there; `None` if it was not.
    pub(super) fn take_upload(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.uploads.join(name);
        let bytes = std::fs::read(&path).ok()?;
        std::fs::remove_file(&path).ok()?;
        Some(bytes)
    }

    fn wait_until_listening(&mut self, ns: &Ns, stop: &Stop) -> Result<(), DemoError> {
        let iperf_ports = (0..self.iperf.len()).map(plan::iperf_port);
        let ports: Vec<_> = iperf_ports.chain([plan::HTTP_PORT]).collect();
        stop.wait_until("servers listen", START_LIMIT, || {
            self.check_alive()?;
            let listening = listening_ports(ns)?;
            Ok(ports.iter().all(|port| listening.contains(port)))
        })
    }

    fn check_alive(&mut self) -> Result<(), DemoError> {
        let mut servers = self.iperf.iter_mut().chain([&mut self.http]);
        servers.try_for_each(Server::check_alive)
    }
}

impl Server {
    fn check_alive(&mut self) -> Result<(), DemoError> {
        match self.process.status() {
            None => Ok(()),
            Some(status) => Err(DemoError::Ended {
                program: format!("`{}`", self.process.command()),
                status: status.to_string(),
                said: child::tail(&self.log, 5).join("; "),
            }),
        }
    }
}

fn start_http(ns: &Ns, work: &WorkDir, content: &[u8]) -> Result<Server, DemoError> {
    let uploads = work.join("www/uploads");
    std::fs::create_dir_all(&uploads)
        .map_err(DemoError::io(format!("make folder {}", uploads.display())))?;
    work.write(&format!("www{DOWNLOAD}"), content)?;
    let config = work.write("nginx.conf", nginx_config(work).as_bytes())?;
    let log = work.join("nginx.log");
    let mut command = ns.command("nginx");
    command.arg("-p").arg(work.path()).arg("-c").arg(config);
    // Else it would look at the system's own log first.
    command.args(["-e", "stderr"]);
    let process = child::start(&mut command, &log)?;
    Ok(Server { process, log })
}

/// One process in the foreground, everything inside our folder, PUT allowed.
fn nginx_config(work: &WorkDir) -> String {
    let folder = work.path().display();
    let (address, ipv6, port) = (plan::N6_SERVER, plan::N6_SERVER_V6, plan::HTTP_PORT);
    format!(
        "daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log stderr warn;\n\
         events {{ worker_connections 512; }}\n\
         http {{\n  access_log off;\n  sendfile on;\n\
         \x20 client_body_temp_path {folder}/nginx-body;\n\
         \x20 proxy_temp_path {folder}/nginx-proxy;\n\
         \x20 fastcgi_temp_path {folder}/nginx-fastcgi;\n\
         \x20 uwsgi_temp_path {folder}/nginx-uwsgi;\n\
         \x20 scgi_temp_path {folder}/nginx-scgi;\n\
         \x20 server {{\n    listen {address}:{port};\n    listen [{ipv6}]:{port};\n    root {folder}/www;\n\
         \x20   client_max_body_size 1g;\n    location {UPLOADS} {{ dav_methods PUT; }}\n  }}\n}}\n"
    )
}

fn start_iperf(ns: &Ns, work: &WorkDir, index: usize) -> Result<Server, DemoError> {
    let log = work.join(&format!("iperf3-{index}.log"));
    let mut command = ns.command("iperf3");
    let port = plan::iperf_port(index).to_string();
    command.args(["-s", "-4", "-B", &plan::N6_SERVER.to_string(), "-p", &port]);
    let process = child::start(&mut command, &log)?;
    Ok(Server { process, log })
}

/// Ports on which something accepts TCP connections over IPv4 in `ns`.
fn listening_ports(ns: &Ns) -> Result<Vec<u16>, DemoError> {
    let read = ns.run(|| std::fs::read_to_string("/proc/thread-self/net/tcp"))?;
    let table = read.map_err(DemoError::io("read /proc/thread-self/net/tcp"))?;
    Ok(listening_in(&table))
}

/// Rows are "N: ADDRESS:PORT PEER:PORT STATE ...", in hexadecimal.
fn listening_in(table: &str) -> Vec<u16> {
    let port = |row: &str| {
        let mut words = row.split_whitespace().skip(1);
        let (local, state) = (words.next()?, words.nth(1)?);
        let (_, port) = local.rsplit_once(':')?;
        (state == STATE_LISTEN).then(|| u16::from_str_radix(port, 16).ok())?
    };
    table.lines().filter_map(port).collect()
}

/// Bytes without pattern, so that a swapped or repeated part is noticed.
pub(super) fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(1).fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_are_found() {
        let table = "  sl  local_address rem_address   st\n\
            \x20  0: 020612C6:0050 00000000:0000 0A 00000000:00000000\n\
            \x20  1: 020612C6:1451 0102033C:C000 01 00000000:00000000\n";
        assert_eq!(listening_in(table), [80]);
    }

    #[test]
    fn noise_does_not_repeat() {
        let bytes = noise(4096);
        assert_eq!(bytes.len(), 4096);
        assert_ne!(bytes[..2048], bytes[2048..]);
    }
}
