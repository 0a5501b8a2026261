//! Runner `user-plane`: packets of UEs through `sluice upf`, over shared memory or over kernel interfaces, and through a
//! forwarder of sockets; `sluice load` is the generator of all.

mod forwarder;

use super::testbed::{bad, best_of, each, repeats};
use crate::experiments::{Job, Measured, Problem};
use crate::programs::{command, cpu, create, spawn, until_ended, until_ready, write};
use forwarder::Forwarder;
use serde_json::Value;
use sluice_host::env_check::{self, Need};
use sluice_host::netns::{Netns, Ns};
use sluice_host::process::Process;
use sluice_host::veth::{Veth, VethEnd};
use sluice_program::ask::ask_for;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const SMF: Ipv4Addr = Ipv4Addr::new(198, 18, 4, 2);
const UPF_N4: Ipv4Addr = Ipv4Addr::new(198, 18, 4, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(198, 18, 3, 11);
const UPF_N3: Ipv4Addr = Ipv4Addr::new(198, 18, 3, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 6, 2);
const UPF_N6: Ipv4Addr = Ipv4Addr::new(198, 18, 6, 1);
/// First UE; its tunnel has TEID 1 at the forwarder, and others follow.
const FIRST_UE: Ipv4Addr = Ipv4Addr::new(10, 60, 0, 2);
const UES: &str = "10.60.0.0/16";
const LINK_MTU: u16 = 1600;
/// Longer than sessions take to come and go.
const END_LIMIT: Duration = Duration::from_secs(40);
/// If others had the CPUs for more of the time, it is measured again.
const OTHERS_MOST: f64 = 0.05;

/// Carrier of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// `sluice upf` with ports in shared memory: no kernel between generator and UPF.
    SharedMemory,
    /// `sluice upf` with packet sockets on kernel interfaces.
    Interfaces,
    /// A forwarder of sockets on the same interfaces.
    Sockets,
}

impl Way {
    fn of(job: &Job<'_>) -> Result<Self, Problem> {
        Ok(match job.text("way")? {
            "shared memory" => Self::SharedMemory,
            "interfaces" => Self::Interfaces,
            "sockets" => Self::Sockets,
            other => {
                let expected = "'shared memory', interfaces or sockets";
                return Err(bad("way", other, expected));
            }
        })
    }
}

/// Namespaces of generator and UPF with N3, N4 and N6 between them; links go first.
struct Place {
    _links: [Veth; 3],
    load: Netns,
    upf: Netns,
}

impl Place {
    fn new(way: Way) -> Result<Self, Problem> {
        let failed = |e: sluice_host::HostError| Problem::Failed(e.to_string());
        let load = Netns::create("lab-load").map_err(failed)?;
        let upf = Netns::create("lab-upf").map_err(failed)?;
        // The forwarder has the kernel's addresses; Sluice's ports have their own.
        let end = |name: &str, address| match way {
            Way::Sockets => VethEnd::bare(&upf, name).with_address(address, 24),
            _ => VethEnd::bare(&upf, name),
        };
        let link =
            |near: &VethEnd, far: &VethEnd| Veth::create(near, far, LINK_MTU).map_err(failed);
        let links = [
            link(&VethEnd::bare(&load, "n3"), &end("n3", UPF_N3))?,
            link(&VethEnd::bare(&load, "n6"), &end("n6", UPF_N6))?,
            link(
                &VethEnd::bare(&load, "n4").with_address(SMF, 24),
                &VethEnd::bare(&upf, "n4").with_address(UPF_N4, 24),
            )?,
        ];
        Ok(Self {
            _links: links,
            load,
            upf,
        })
    }
}

/// Forwarder of packets, which ends with the value.
struct UpfAtWork {
    /// `sluice upf`, or a forwarder on a thread of this program.
    program: Vec<Process>,
    _forwarder: Option<Forwarder>,
}

impl UpfAtWork {
    fn start(
        way: Way,
        (place, folder): (&Place, &Path),
        [own, other]: [usize; 2],
        job: &Job<'_>,
    ) -> Result<Self, Problem> {
        if way == Way::Sockets {
            let ues = job.number("ues")? as u32;
            let forwarder = Forwarder::start(&place.upf, UPF_N3, ues, own)?;
            return Ok(Self {
                program: Vec::new(),
                _forwarder: Some(forwarder),
            });
        }
        let socket = folder.join("upf.sock");
        let text = upf_file(way, folder, [own, other]);
        let file = write(folder, "upf.yaml", &text)?;
        let log = folder.join("upf.log");
        let mut command = command(Some(&place.upf), "sluice-upf")?;
        command.arg("-c").arg(file).stdout(Stdio::null());
        command.stderr(create(&log)?);
        let mut upf = Self {
            program: vec![spawn(command, &[own, other])?],
            _forwarder: None,
        };
        let is_ready = || ask_for(&socket, "status").is_ok();
        let said = || fs::read_to_string(&log).unwrap_or_default();
        until_ready(&mut upf.program, job, is_ready, said)?;
        Ok(upf)
    }

    /// Program that forwards; none of threads of this one.
    fn pids(&self) -> Vec<u32> {
        self.program.iter().map(Process::number).collect()
    }
}

impl Drop for UpfAtWork {
    fn drop(&mut self) {
        self.program.iter_mut().for_each(Process::stop);
    }
}

/// Device of a port of the UPF, and the generator's name of its other end.
fn port(way: Way, number: u8, name: &str, folder: &Path) -> [String; 2] {
    let socket = folder.join(format!("{name}.memif"));
    let socket = socket.display();
    match way {
        Way::SharedMemory => [
            format!(
                "net_memif{number},role=server,id=0,socket={socket},socket-abstract=no,rsize=11"
            ),
            format!("memif:{socket}"),
        ],
        _ => [
            format!("net_af_packet{number},iface={name}"),
            format!("if:{name}"),
        ],
    }
}

fn upf_file(way: Way, folder: &Path, [own, other]: [usize; 2]) -> String {
    let [[n3, _], [n6, _]] = [port(way, 0, "n3", folder), port(way, 1, "n6", folder)];
    format!(
        "# Written by `sluice lab`.\n\
         control_socket: {socket}\n\
         n4: {{listen: {UPF_N4}, peers: {SMF}}}\n\
         ports:\n\
         \x20 - {{name: n3, mtu: 1544, device: '{n3}'}}\n\
         \x20 - {{name: n6, device: '{n6}'}}\n\
         interfaces:\n\
         \x20 - {{name: n3, port: n3, addresses: {UPF_N3}/24, n3: {{network_instance: access}}}}\n\
         \x20 - {{name: n6, port: n6, addresses: {UPF_N6}/24, gateway: {SERVER}, n6: {{network_instance: core}}}}\n\
         pools:\n\
         \x20 - {{network_instance: core, prefix: {UES}}}\n\
         workers: {{cores: [{own}], housekeeping_core: {other}}}\n\
         dpdk: {{memory_mb: 256, mbufs: 61439}}\n\
         limits: {{sessions: 4096}}\n",
        socket = folder.join("upf.sock").display(),
    )
}

/// Generator of a point.
struct Generator<'a> {
    ns: &'a Ns,
    folder: &'a Path,
    way: Way,
    cpu: usize,
    ues: u32,
    mbps: f64,
    octets: u32,
}

impl Generator<'_> {
    /// Offers the rate for so long; gives what is told of uplink packets.
    fn offer(&self, lasts: Duration, job: &Job<'_>) -> Result<Value, Problem> {
        let [told, log] = ["load.json", "load.log"].map(|name| self.folder.join(name));
        let mut command = command(Some(self.ns), "sluice-load")?;
        let number = |name: &str, value: String| [format!("--{name}"), value];
        let [[_, n3], [_, n6]] = [
            port(self.way, 0, "n3", self.folder),
            port(self.way, 1, "n6", self.folder),
        ];
        let options = [
            number("n3", n3),
            number("n6", n6),
            number("gnb", GNB.to_string()),
            number("server", SERVER.to_string()),
            number("n6-via", UPF_N6.to_string()),
            number("ues", self.ues.to_string()),
            number("first-ue", FIRST_UE.to_string()),
            number("uplink", "100".to_owned()),
            number("rate", format!("{}Mbps", self.mbps)),
            number("size", self.octets.to_string()),
            number("duration", format!("{}ms", lasts.as_millis())),
            number("cpu", self.cpu.to_string()),
            number("popularity", "round-robin".to_owned()),
        ];
        command.args(options.as_flattened()).arg("--json");
        match self.way {
            Way::Sockets => command.args(["--n3-upf", &UPF_N3.to_string(), "--first-teid", "1"]),
            _ => command.args(["--n4", &SMF.to_string(), "--upf", &UPF_N4.to_string()]),
        };
        command.stdout(create(&told)?).stderr(create(&log)?);
        let mut process = spawn(command, &[self.cpu])?;
        until_ended(&mut process, lasts + END_LIMIT, job)?;
        let text = fs::read_to_string(&told).unwrap_or_default();
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let lanes = answer["run"]["lanes"].as_array().into_iter().flatten();
        let uplink = lanes.into_iter().find(|lane| lane["lane"] == "uplink");
        uplink.cloned().ok_or_else(|| {
            let said = fs::read_to_string(&log).unwrap_or_default();
            Problem::Failed(format!("sluice load gives no figures: {text}{said}"))
        })
    }
}

/// One way under one load.
pub fn user_plane([near, far]: [usize; 2], job: &Job<'_>) -> Result<Measured, Problem> {
    let needs = [Need::NetworkAdmin, Need::Tool("ip"), Need::Tun];
    if let Some(lack) = env_check::missing(&needs).first() {
        return Err(Problem::Lacking(lack.to_string()));
    }
    let way = Way::of(job)?;
    let place = Place::new(way)?;
    let folder = tempfile::tempdir().map_err(|e| Problem::Failed(e.to_string()))?;
    let upf = UpfAtWork::start(way, (&place, folder.path()), [near, far], job)?;
    let generator = Generator {
        ns: place.load.ns(),
        folder: folder.path(),
        way,
        cpu: far,
        ues: job.number("ues")? as u32,
        mbps: job.number("offered_mbps")?,
        octets: job.number("packet_bytes")? as u32,
    };
    let mut measured = Measured::default();
    let mut lanes = Vec::new();
    for _ in 0..repeats(job)? {
        let seen = best_of(OTHERS_MOST, || {
            job.go_on()?;
            let before = cpu::Times::now(&upf.pids());
            let lane = generator.offer(each(job)?, job)?;
            let spent = cpu::Times::now(&upf.pids()).since(before);
            Ok((lane, spent.others_share))
        })?;
        measured.disturbed = measured.disturbed.or(seen.disturbed);
        lanes.push(seen.what);
    }
    add(&mut measured, &lanes, generator.ues);
    Ok(measured)
}

/// Series of what the generator tells of uplink packets, one value of each repetition.
fn add(measured: &mut Measured, lanes: &[Value], ues: u32) {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let series = |of: &dyn Fn(&Value) -> f64| -> Vec<f64> { lanes.iter().map(of).collect() };
    let mbps = |lane: &Value| number(&lane["received_bps"]) / 1e6;
    measured.add("sent_mbps", series(&|lane| number(&lane["sent_bps"]) / 1e6));
    measured.add("received_mbps", series(&mbps));
    measured.add("ue_mbps", series(&|lane| mbps(lane) / f64::from(ues)));
    let share = |lane: &Value| 100.0 * number(&lane["received_bps"]) / number(&lane["sent_bps"]);
    measured.add("received_percent", series(&share));
    for (name, key) in [("latency_us_p50", "p50_ns"), ("latency_us_p99", "p99_ns")] {
        measured.add(name, series(&|lane| number(&lane["latency"][key]) / 1e3));
    }
}
