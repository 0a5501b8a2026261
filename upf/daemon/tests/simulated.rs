//! The whole daemon at simulated ports, without DPDK's EAL and without root: upf.yaml, N4 by UDP, packets, `ctl`, the end.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use etherparse::PacketBuilder;
use sluice_datapath::ledger::WorkerStats;
use sluice_datapath::tables::Polled;
use sluice_datapath::worker::Worker;
use sluice_host::netns::Ns;
use sluice_host::signal::Shutdown;
use sluice_port::{LinkState, PortId, PortInfo, PortStats, QueueId};
use sluice_port_sim::{HeapPacket, HeapPool, PoolConfig, SimIo, SimNet, SimPort, SimPortConfig};
use sluice_program::ask::ask_for;
use sluice_smf_emulator::{Dialect, Network, SessionPlan, Smf, SmfConfig, Tunnel};
use sluice_upf_daemon::boot::boot;
use sluice_upf_daemon::boot_error::BootError;
use sluice_upf_daemon::config::{Machine, UpfConfig};
use sluice_upf_daemon::control::Ended;
use sluice_upf_daemon::devices::{Buffers, DevicePort, Devices};
use sluice_wire::ids::{Qfi, Teid};
use sluice_worker::{Pace, Running};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const N3_MAC: [u8; 6] = [2, 0, 0, 0, 3, 1];
const N6_MAC: [u8; 6] = [2, 0, 0, 0, 6, 1];
const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 6, 2];
const GNB: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 7);
const SERVER: [u8; 4] = [203, 0, 113, 1];
const GNB_TEID: u32 = 0x1234;
const SOON: Duration = Duration::from_secs(30);

/// Simulated ports, for which the simulation is shared with the test.
struct Simulated {
    net: SimNet,
    ports: Vec<SimDevice>,
    pool: SimPool,
}

#[derive(Clone)]
struct SimDevice {
    port: SimPort,
    info: PortInfo,
}

#[derive(Clone)]
struct SimPool(HeapPool);

/// The simulation of the daemon that boots next: `open` has no other way to it.
static NEXT: Mutex<Option<(SimNet, [SimPort; 2])>> = Mutex::new(None);

impl Devices for Simulated {
    type Packet = HeapPacket;
    type Io = SimIo;
    type Port = SimDevice;
    type Buffers = SimPool;

    fn open(config: &UpfConfig) -> Result<Self, BootError> {
        let (net, ports) = NEXT.lock().unwrap().take().unwrap();
        let pool = HeapPool::new(PoolConfig::default());
        let infos = net.io(&ports, pool.clone());
        let infos = sluice_port::PortIo::ports(&infos).to_vec();
        assert_eq!(config.ports.len(), infos.len());
        let devices = ports.into_iter().zip(infos);
        Ok(Self {
            net,
            ports: devices
                .map(|(port, info)| SimDevice { port, info })
                .collect(),
            pool: SimPool(pool),
        })
    }

    fn ports(&self) -> &[SimDevice] {
        &self.ports
    }

    fn buffers(&self) -> &SimPool {
        &self.pool
    }

    fn queues_of(&self, worker: usize, _: usize) -> Result<(SimIo, Vec<Polled>), BootError> {
        let ports: Vec<_> = self.ports.iter().map(|one| one.port.clone()).collect();
        let polled = |port| Polled {
            port: PortId(port),
            queue: QueueId(0),
        };
        let polled = match worker {
            0 => vec![polled(0), polled(1)],
            _ => Vec::new(),
        };
        Ok((self.net.io(&ports, self.pool.0.clone()), polled))
    }

    fn start(
        &self,
        worker: Worker<SimIo>,
        stats: Arc<WorkerStats>,
        pace: Pace,
        name: &str,
    ) -> io::Result<Running> {
        Running::start_plain(worker, stats, pace, name)
    }
}

impl Buffers for SimPool {
    type Packet = HeapPacket;

    fn alloc(&self) -> Option<HeapPacket> {
        self.0.alloc()
    }

    fn packets(&self) -> u32 {
        4096
    }

    fn available(&self) -> u32 {
        4096 - self.0.live() as u32
    }
}

impl DevicePort for SimDevice {
    type Steer = SimPort;

    fn info(&self, id: PortId) -> PortInfo {
        PortInfo {
            id,
            ..self.info.clone()
        }
    }

    fn driver(&self) -> &str {
        "sim"
    }

    fn stats(&self) -> PortStats {
        self.port.stats()
    }

    fn extended_stats(&self) -> Vec<(String, u64)> {
        Vec::new()
    }

    fn link(&self) -> Option<LinkState> {
        Some(LinkState::Up)
    }

    fn steer(&self) -> SimPort {
        self.port.clone()
    }

    fn waits(&self) -> [Result<(), String>; 2] {
        [(); 2].map(|()| Err("simulated".to_owned()))
    }
}

/// An address of loopback that no other process of these tests has.
fn loopback(last: u8) -> Ipv4Addr {
    let [.., high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 1 + high % 250, low, last)
}

fn text(socket: &Path) -> String {
    format!(
        "\
control_socket: {}
n4: {{listen: '{}:8805', peers: 127.0.0.0/8, graceful_release_s: 0}}
dpdk: {{memory_mb: 64, mbufs: 8191}}
limits: {{sessions: 64}}
metrics: {{listen: none}}
ports: [{{name: n3, device: net_null0}}, {{name: n6, device: net_null1}}]
interfaces:
- name: n3
  port: n3
  addresses: 198.51.100.1/24
  n3: {{network_instance: access}}
  neighbours: [{{address: {GNB}, mac: '02:00:00:00:03:02'}}]
- name: n6
  port: n6
  addresses: 203.0.113.2/24
  gateway: 203.0.113.1
  n6: {{network_instance: core}}
  neighbours: [{{address: 203.0.113.1, mac: '02:00:00:00:06:02'}}]
pools: [{{network_instance: core, prefix: 10.45.0.0/24}}]
",
        socket.display(),
        loopback(1),
    )
}

fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + SOON;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "{what}: did not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A G-PDU of the UE to the server.
fn uplink(teid: Teid, payload: &[u8]) -> Vec<u8> {
    let mut inner = Vec::new();
    let to = PacketBuilder::ipv4(UE.octets(), SERVER, 64).udp(4000, 5000);
    to.write(&mut inner, payload).unwrap();
    // With a PDU Session Container of uplink, QFI 9 (TS 29.281, 5.2.1; TS 38.415, 5.5.2.2).
    let container = [0, 0, 0, 0x85, 1, 0x10, 9, 0];
    let mut g_pdu = vec![0x34, 0xff];
    g_pdu.extend(((container.len() + inner.len()) as u16).to_be_bytes());
    g_pdu.extend(teid.get().to_be_bytes());
    g_pdu.extend(container);
    g_pdu.extend(inner);
    let mut frame = Vec::new();
    PacketBuilder::ethernet2([2, 0, 0, 0, 3, 2], N3_MAC)
        .ipv4(GNB.octets(), [198, 51, 100, 1], 64)
        .udp(2152, 2152)
        .write(&mut frame, &g_pdu)
        .unwrap();
    frame
}

/// A packet of the server to the UE.
fn downlink(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(SERVER_MAC, N6_MAC)
        .ipv4(SERVER, UE.octets(), 64)
        .udp(5000, 4000)
        .write(&mut frame, payload)
        .unwrap();
    frame
}

#[test]
fn a_whole_daemon_runs_at_simulated_ports() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, file) = (folder.path().join("ctl"), folder.path().join("upf.yaml"));
    std::fs::write(&file, text(&socket)).unwrap();
    let net = SimNet::new(1);
    let port = |name: &str, mac| {
        net.add_port(SimPortConfig {
            mac,
            tx_queues: 8,
            ..SimPortConfig::named(name)
        })
    };
    let (n3, n6) = (port("n3", N3_MAC), port("n6", N6_MAC));
    *NEXT.lock().unwrap() = Some((net.clone(), [n3.clone(), n6.clone()]));
    let shutdown = Shutdown::by_request().unwrap();
    let end = shutdown.end_request().unwrap();
    let daemon = std::thread::spawn(move || {
        let loaded =
            UpfConfig::load(&file, &Machine::this()).map_err(|refused| refused.to_string());
        let booted = boot::<Simulated>(&loaded.unwrap().config, &file, shutdown, None);
        booted.map_err(|e| e.in_file(&file)).unwrap().run()
    });
    eventually("the daemon answers", || {
        assert!(!daemon.is_finished(), "the daemon has ended");
        ask_for(&socket, "status").ok()
    });

    let at = |address| SocketAddrV4::new(address, 8805);
    let config = SmfConfig::new(
        Dialect::Ts,
        &Ns::current().unwrap(),
        at(loopback(2)),
        at(loopback(1)),
    );
    let smf = Smf::start(&config).unwrap();
    smf.handle().associate().unwrap();
    let network = Network::new("internet", "access", "core").unwrap();
    let mut plan = SessionPlan::new(UE, Arc::new(network), Qfi::new(9).unwrap());
    plan.gnb = Some(Tunnel::v4(Teid::new(GNB_TEID).unwrap(), GNB));
    let session = smf.handle().establish(plan).unwrap();

    n3.inject(&uplink(session.uplink.teid, b"up"));
    n6.inject(&downlink(b"down"));
    let out = |port: &SimPort| {
        eventually("a packet leaves", || {
            net.advance_to(net.now_ns() + 1_000);
            port.take_output().pop().map(|(_, frame)| frame)
        })
    };
    assert!(out(&n6).ends_with(b"up"));
    let down = out(&n3);
    assert!(down.ends_with(b"down"));
    assert!(down.windows(4).any(|four| four == GNB_TEID.to_be_bytes()));

    let ports = ask_for(&socket, "ports").unwrap();
    assert_eq!(ports["ports"][0]["driver"], "sim");
    let drops = ask_for(&socket, "drops").unwrap();
    assert_eq!(drops["ledger"]["balances"], true, "{drops:#}");
    assert_eq!(drops["ledger"]["transmitted"], 2, "{drops:#}");
    drop(smf);
    end.send();
    assert_eq!(daemon.join().unwrap(), Ended::AsAsked);
    assert!(!socket.exists(), "the control socket is left behind");
}
