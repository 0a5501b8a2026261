//! A web server in the data network, and downloads of UEs.

use std::io::Read as _;
use std::net::IpAddr;
use std::process::Stdio;

use sluice_host::process::Process;
use sluice_smf_emulator::UeAddresses;

use super::{Lab, SERVER, SERVER_V6};

/// A server of pages of so many octets at port 8080 of these addresses of the data network; it ends with the value.
pub fn pages(lab: &Lab, addresses: &[IpAddr], octets: u64) -> Process {
    let list: Vec<String> = addresses.iter().map(|at| format!("'{at}'")).collect();
    let list = list.join(",");
    let script = format!(
        "import http.server as h,socket,threading\n\
         class H(h.BaseHTTPRequestHandler):\n \
         def do_GET(s): s.send_response(200); s.end_headers(); s.wfile.write(b'x'*{octets})\n\
         class Six(h.ThreadingHTTPServer): address_family=socket.AF_INET6\n\
         all=[(Six if ':' in a else h.ThreadingHTTPServer)((a,8080),H) for a in [{list}]]\n\
         for s in all: threading.Thread(target=s.serve_forever).start()\n"
    );
    let mut command = lab.dn.command("python3");
    command.args(["-c", &script]).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Process::spawn(&mut command).unwrap()
}

/// A download of such a page from an address of a UE's, which says how many octets came; it ends
/// with the value.
pub fn download(lab: &Lab, from: IpAddr, to: IpAddr) -> Process {
    let mut command = lab.ue.command("curl");
    let (source, url) = match to {
        IpAddr::V4(to) => (from.to_string(), format!("http://{to}:8080/")),
        IpAddr::V6(to) => (from.to_string(), format!("http://[{to}]:8080/")),
    };
    // The server takes a moment to be there.
    let patience = ["--retry-connrefused", "--retry", "30", "--retry-delay", "1"];
    command.args(["-s", "--max-time", "100", "--interface", &source]);
    command
        .args(patience)
        .args(["-o", "/dev/null", "-w", "%{size_download}", &url]);
    Process::spawn(command.stdout(Stdio::piped())).unwrap()
}

/// What a process with a pipe has said when it ends, and how it ended.
pub fn said(mut process: Process) -> (String, bool) {
    let mut text = String::new();
    let mut pipe = process.child().stdout.take().unwrap();
    pipe.read_to_string(&mut text).unwrap();
    let status = process.child().wait().unwrap();
    (text, status.success())
}

/// Answers to three pings at once from one address to another.
pub fn pings(lab: &Lab, from: IpAddr, to: IpAddr) -> usize {
    let mut command = lab.ue.command("ping");
    let family = if to.is_ipv6() { "-6" } else { "-4" };
    command.args([family, "-c3", "-l3", "-i5", "-W10", "-I"]);
    command.args([from.to_string(), to.to_string()]);
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout)
        .matches("bytes from")
        .count()
}

/// Each address of the UE's reaches the server of its family, by echoes and by a page of so many octets.
pub fn talks(lab: &Lab, ue: UeAddresses, octets: u64) {
    let v4 = ue.ipv4().map(|ue| (IpAddr::from(ue), SERVER.into()));
    let v6 = ue.ipv6().map(|ue| (IpAddr::from(ue), SERVER_V6.into()));
    for (from, to) in v4.into_iter().chain(v6) {
        assert_eq!(pings(lab, from, to), 3, "{from} to {to}");
        let (came, _) = said(download(lab, from, to));
        assert_eq!(came, octets.to_string(), "{from} to {to}");
    }
}
