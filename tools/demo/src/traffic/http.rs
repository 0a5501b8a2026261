//! HTTP traffic by curl: download and upload, compared byte for byte.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sluice_host::netns::Ns;

use crate::child::{self, Stop};
use crate::error::DemoError;
use crate::plan::{HTTP_PORT, N6_SERVER, SERVERS};
use crate::servers::{DOWNLOAD, Servers, UPLOADS};
use crate::workdir::WorkDir;

const LIMIT: Duration = Duration::from_secs(60);
/// Format of curl's final output.
const WRITE_OUT: &str = "%{json}";

/// A transfer in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Transfer {
    pub(crate) bytes: u64,
    pub(crate) bits_per_second: f64,
    /// Whether what arrived is what was sent.
    pub(crate) identical: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Http {
    pub(crate) download: Transfer,
    pub(crate) upload: Transfer,
    /// Over IPv6; the others over IPv4.
    pub(crate) download_ipv6: Transfer,
}

/// Of curl's report.
#[derive(Deserialize)]
struct Said {
    size_download: u64,
    size_upload: u64,
    speed_download: f64,
    speed_upload: f64,
}

/// Fetches the servers' content from `ns` over both families and puts it back under `name`.
pub(crate) fn transfer(
    ns: &Ns,
    name: &str,
    servers: &Servers,
    work: &WorkDir,
    stop: &Stop,
) -> Result<Http, DemoError> {
    let file = work.join(&format!("fetched-{name}"));
    let [server, server_ipv6] = SERVERS;
    let download_ipv6 = download(ns, &file, server_ipv6, servers, stop)?;
    let download = download(ns, &file, server, servers, stop)?;
    let upload = upload(ns, &file, name, servers, stop)?;
    std::fs::remove_file(&file).map_err(DemoError::io(format!("remove {}", file.display())))?;
    Ok(Http {
        download,
        upload,
        download_ipv6,
    })
}

fn download(
    ns: &Ns,
    file: &Path,
    from: IpAddr,
    servers: &Servers,
    stop: &Stop,
) -> Result<Transfer, DemoError> {
    let mut command = curl(ns);
    command.arg("-o").arg(file).arg(url(from, DOWNLOAD));
    let said = run(&mut command, stop)?;
    let got = std::fs::read(file).map_err(DemoError::io(format!("read {}", file.display())))?;
    Ok(Transfer {
        bytes: said.size_download,
        bits_per_second: said.speed_download * 8.0,
        identical: got == servers.content,
    })
}

fn upload(
    ns: &Ns,
    file: &Path,
    name: &str,
    servers: &Servers,
    stop: &Stop,
) -> Result<Transfer, DemoError> {
    let mut command = curl(ns);
    command.arg("-T").arg(file);
    // No answer to wait for before the body.
    command.args(["-H", "Expect:"]);
    command.arg(url(IpAddr::V4(N6_SERVER), &format!("{UPLOADS}{name}")));
    let said = run(&mut command, stop)?;
    let got = servers.take_upload(name);
    Ok(Transfer {
        bytes: said.size_upload,
        bits_per_second: said.speed_upload * 8.0,
        identical: got.is_some_and(|got| got == servers.content),
    })
}

fn curl(ns: &Ns) -> Command {
    let mut command = ns.command("curl");
    // Not a user's settings, and no proxy.
    command.args(["-q", "-g", "-sS", "--fail", "--noproxy", "*"]);
    command.args(["-w", WRITE_OUT]);
    command
}

fn url(server: IpAddr, path: &str) -> String {
    let server = SocketAddr::new(server, HTTP_PORT);
    format!("http://{server}{path}")
}

fn run(command: &mut Command, stop: &Stop) -> Result<Said, DemoError> {
    let out = child::run(command, LIMIT, stop)?.success()?;
    // A PUT may be answered with a page, which stands before the report.
    let report = out.rfind("\n{").map_or(out.as_str(), |at| &out[at..]);
    serde_json::from_str(report).map_err(|error| {
        let said = format!("{error}: {out}");
        DemoError::answer("curl", said)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_names_server_and_path() {
        let urls = SERVERS.map(|server| url(server, "/content"));
        let expected = [
            "http://198.18.6.2:80/content",
            "http://[2001:db8:6::2]:80/content",
        ];
        assert_eq!(urls, expected);
    }
}
