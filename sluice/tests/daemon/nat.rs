//! Translation on N6 with real traffic: the server sees public addresses and ports, and what comes back finds
//! the UE.

use super::kit::*;
use sluice_host::process::Process;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::time::Duration;

const PUBLIC: &str = "198.18.6.64";

fn config(more: &str) -> Config {
    let mut config = Config::new();
    config.more =
        format!("nat: {{network_instance: core, addresses: {PUBLIC}/31, block_ports: 64{more}}}\n");
    config
}

/// Standard output and error of a command that has ended.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|t| String::from_utf8(t).unwrap());
    out + &err
}

/// What a UE's program says.
fn ue(lab: &Lab, program: &str, arguments: &[&str]) -> String {
    output(lab.ue.command(program).args(arguments))
}

/// A server's process in the data network; it ends with the value.
fn server(lab: &Lab, program: &str, arguments: &[&str]) -> Process {
    let mut command = lab.dn.command(program);
    command.args(arguments);
    command.stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Process::spawn(&mut command).unwrap()
}

#[test]
fn real_programs_reach_the_server_by_public_addresses() {
    let Some(lab) = Lab::new("nat") else { return };
    // The server has no way to UEs but by their public addresses.
    lab.dn
        .ip_batch("route del 10.60.0.0/24\nroute add unreachable 198.18.77.0/24\n")
        .unwrap();
    // A router beyond the server's link tells of it.
    output(
        lab.dn
            .command("sysctl")
            .args(["-w", "net.ipv4.ip_forward=1"]),
    );
    let daemon = Daemon::start(&lab, &config(""));
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ues = [0, 1].map(|n| Ue::attach(&lab, &smf, gnb.handle(), n));
    for ue in &ues {
        assert_eq!(ue.ping(&lab, 20, 84), 20, "{}", daemon.ledger());
    }
    blocks_are_told(&daemon, &ues);
    errors_come_back(&lab, &ues[0]);
    web(&lab, &ues[0]);
    throughput(&lab, &ues[1], &daemon);
    smf.delete(ues[0].session.cp_seid).unwrap();
    eventually("the log tells who had the ports", || {
        daemon
            .log()
            .contains(&format!("10.60.0.2 of core had {PUBLIC} ports 1024-1087"))
    });
}

/// In the log, by session and by port.
fn blocks_are_told(daemon: &Daemon, ues: &[Ue; 2]) {
    let log = daemon.log();
    for line in [
        "10.60.0.2 of core has 198.18.6.64 ports 1024-1087",
        "10.60.0.3 of core has 198.18.6.65 ports 1024-1087",
    ] {
        assert!(log.contains(line), "{log}");
    }
    let session = daemon.ctl(&["session", &ues[1].address.to_string()]).out;
    assert!(session.contains("198.18.6.65:1024-1087"), "{session}");
    let holder = daemon.ctl(&["nat", "198.18.6.64:1050"]).out;
    assert!(
        holder.contains("10.60.0.2") && holder.contains("core"),
        "{holder}"
    );
    assert_eq!(daemon.ctl(&["nat", "198.18.6.64:1088"]).code, Some(1));
}

/// Errors of the UPF, of the server's kernel about a ping, and about a datagram to a port that is closed.
fn errors_come_back(lab: &Lab, from: &Ue) {
    let source = from.address.to_string();
    let ping = |more: &[&str]| {
        let arguments = [&["-c1", "-W5", "-I", &source], more].concat();
        ue(lab, "ping", &arguments)
    };
    let said = ping(&["-t1", "198.18.6.2"]);
    let word = format!("From {N6_UPF} icmp_seq=1 Time to live exceeded");
    assert!(said.contains(&word), "{said}");
    let said = ping(&["198.18.77.7"]);
    assert!(
        said.contains("From 198.18.6.2 icmp_seq=1 Destination"),
        "{said}"
    );
    // A connected UDP socket is told of a closed port.
    let script = "import socket,sys\n\
                  s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n\
                  s.bind((sys.argv[1],0)); s.settimeout(10); s.connect(('198.18.6.2',9))\n\
                  s.send(b'x')\n\
                  try: s.recv(9)\n\
                  except ConnectionRefusedError: print('refused')\n";
    let said = ue(lab, "python3", &["-c", script, &source]);
    assert_eq!(said, "refused\n");
}

/// The server tells the address that it sees.
fn web(lab: &Lab, from: &Ue) {
    let script = "import http.server as h\n\
                  class H(h.BaseHTTPRequestHandler):\n \
                  def do_GET(s): s.send_response(200); s.end_headers(); \
                  s.wfile.write(('%s %d '%s.client_address).encode()); s.wfile.write(b'x'*300000)\n\
                  h.HTTPServer(('198.18.6.2',8080),H).serve_forever()\n";
    let _server = server(lab, "python3", &["-c", script]);
    let source = from.address.to_string();
    let mut said = String::new();
    eventually("the page comes", || {
        let arguments = ["-s", "--max-time", "20", "--interface", &source];
        let url = ["http://198.18.6.2:8080/"];
        said = ue(lab, "curl", &[&arguments[..], &url].concat());
        !said.is_empty()
    });
    let mut words = said.split(' ');
    assert_eq!(words.next(), Some(PUBLIC));
    let port: u16 = words.next().unwrap().parse().unwrap();
    assert!((1024..=1087).contains(&port), "{port}");
    assert_eq!(words.next().map(str::len), Some(300_000));
}

fn throughput(lab: &Lab, from: &Ue, daemon: &Daemon) {
    let _server = server(lab, "iperf3", &["-s", "-1"]);
    std::thread::sleep(Duration::from_millis(300));
    let source = from.address.to_string();
    let arguments = ["-c", "198.18.6.2", "-B", &source, "-t1", "-J"];
    let said = ue(lab, "iperf3", &arguments);
    let told: serde_json::Value = serde_json::from_str(&said).expect(&said);
    let bytes = told["end"]["sum_received"]["bytes"].as_u64().unwrap_or(0);
    assert!(bytes > 100_000, "{said} {}", daemon.ledger());
}

#[test]
fn ues_meet_by_public_addresses_and_strangers_are_filtered() {
    let Some(lab) = Lab::new("nathair") else {
        return;
    };
    let daemon = Daemon::start(&lab, &config(", filtering: address_dependent"));
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ues = [0, 1].map(|n| Ue::attach(&lab, &smf, gnb.handle(), n));
    // Each learns its public port from the server, which is the one by the low bits of its own; then they
    // write to each other.
    let script = "import socket,sys,time\n\
        own,port,other,otherport=sys.argv[1],int(sys.argv[2]),sys.argv[3],int(sys.argv[4])\n\
        s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n\
        s.bind((own,port)); s.settimeout(0.2)\n\
        end=time.time()+15; got=None\n\
        while time.time()<end:\n \
        s.sendto(b'hello from '+own.encode(),(other,otherport))\n \
        try:\n  \
        got=s.recvfrom(99); print(got[0].decode(),got[1][0],got[1][1]); \
        s.sendto(b'hello from '+own.encode(),(other,otherport)); break\n \
        except OSError: pass\n";
    let talk = |own: Ipv4Addr, port: &'static str, other: &'static str, otherport: &'static str| {
        let mut command = lab.ue.command("python3");
        command.args(["-c", script, &own.to_string(), port, other, otherport]);
        command.stdout(Stdio::piped());
        command
    };
    // 5000 is 8 modulo 64, 5001 is 9.
    let mut first = talk(ues[0].address, "5000", "198.18.6.65", "1033")
        .spawn()
        .unwrap();
    let said = output(&mut talk(ues[1].address, "5001", "198.18.6.64", "1032"));
    assert_eq!(
        said,
        "hello from 10.60.0.2 198.18.6.64 1032\n",
        "{}",
        daemon.ledger()
    );
    let mut told = String::new();
    std::io::Read::read_to_string(first.stdout.as_mut().unwrap(), &mut told).unwrap();
    first.wait().unwrap();
    assert_eq!(told, "hello from 10.60.0.3 198.18.6.65 1033\n");
    // The server is a stranger to these mappings.
    let stranger = "import socket\n\
        s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n\
        s.bind(('198.18.6.2',0)); s.sendto(b'x',('198.18.6.64',1032))\n";
    output(lab.dn.command("python3").args(["-c", stranger]));
    eventually("the stranger is filtered", || {
        daemon.dropped("nat_filtered") == 1
    });
}
