//! Testbed of the generator: DPDK ports and the engine.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::engine::{Engine, EngineConfig, Loopback, NextHop, SideConfig};
use sluice_host::clock;
use sluice_host::env_check::{self, Need};
use sluice_port::{LinkState, PortId, PortIo};
use sluice_port_dpdk::devargs::{self, MemifRole};
use sluice_port_dpdk::{
    DpdkIo, Eal, EalConfig, HEADROOM_BYTES, MbufPool, Memory, PoolConfig, Port, PortConfig,
};

use super::Failure;
use super::args::LoadArgs;

/// How long links may take to come up, a memif's until the other side is there.
const UP_WITHIN: Duration = Duration::from_secs(20);
/// Ethernet, outer headers with container, and FCS: what is added to a UE's packet.
const FRONT_BYTES: u16 = 14 + 44 + 4;
/// Longer frames need buffers larger than the usual.
const USUAL_FRAME_BYTES: u16 = 1598;

/// The machine's time.
pub type Clock = fn() -> u64;

/// DPDK, packets, and the ports.
pub struct Testbed {
    pool: MbufPool,
    ports: Vec<Port>,
    n3: Option<PortId>,
    n6: Option<PortId>,
    _eal: Eal,
}

impl Testbed {
    /// Opens the ports that are named; none are needed for a self-test.
    pub fn open(args: &LoadArgs, longest_ip_bytes: u16) -> Result<Self, Failure> {
        check_rights(args)?;
        let eal = Eal::init(&EalConfig {
            memory: Memory::Auto {
                mib: args.memory_mb,
            },
            ..EalConfig::default()
        });
        let eal = eal.map_err(Failure::lacking)?;
        let frame = longest_ip_bytes.saturating_add(FRONT_BYTES);
        let large =
            (frame > USUAL_FRAME_BYTES).then(|| (frame + HEADROOM_BYTES).next_multiple_of(64));
        // Two KiB of memory for each packet of usual size, and twice that for what DPDK needs.
        let bytes = u32::from(large.unwrap_or(2048)) * 2;
        let packets = (args.memory_mb << 20) / bytes;
        let pool = MbufPool::create(
            &eal,
            PoolConfig {
                packets: packets.clamp(4096, 131_071),
                data_room_bytes: large,
                ..PoolConfig::default()
            },
        );
        let pool = pool.map_err(Failure::lacking)?;
        let mut ports = Vec::new();
        let mut open = |name: &str, device: &Option<String>| {
            let Some(device) = device else {
                return Ok(None);
            };
            let number = ports.len() as u16;
            let mut config = PortConfig::new(name, device_arguments(number, device));
            (config.rx_descriptors, config.tx_descriptors) = (1024, 1024);
            let port = Port::open(&pool, &config).map_err(Failure::lacking)?;
            ports.push(port);
            Ok(Some(PortId(number)))
        };
        let n3 = open("n3", &args.n3)?;
        let n6 = open("n6", &args.n6)?;
        Ok(Self {
            pool,
            ports,
            n3,
            n6,
            _eal: eal,
        })
    }

    /// Source and sink on the ports, when their links are up.
    pub fn engine(&self, args: &LoadArgs) -> Result<Engine<DpdkIo, Clock>, Failure> {
        let mut io = DpdkIo::new(&self.pool, &self.ports);
        for port in &self.ports {
            let queues = port.rx_queue(0).zip(port.tx_queue(0));
            let (rx, tx) = queues.ok_or_else(|| Failure::lacking("a port without queues"))?;
            // All ports are this worker's.
            let _ = (io.attach_rx(rx), io.attach_tx(tx));
        }
        let deadline = Instant::now() + UP_WITHIN;
        for id in [self.n3, self.n6].into_iter().flatten() {
            while io.link(id) == LinkState::Down {
                if Instant::now() > deadline {
                    let name = if Some(id) == self.n3 { "n3" } else { "n6" };
                    return Err(Failure::lacking(format!(
                        "port {name}: no link within {UP_WITHIN:?}; is the other side there?"
                    )));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let config = self.config(args)?;
        Ok(Engine::new(io, clock::monotonic_ns as Clock, &config))
    }

    /// The same source and sink with nothing between them.
    pub fn loopback(&self, args: &LoadArgs) -> Engine<Loopback<Ends>, Clock> {
        let io = Ends(DpdkIo::new(&self.pool, &[]), ends());
        let side = |port, address: Option<Ipv4Addr>| {
            Some(SideConfig {
                port,
                addresses: address.into_iter().collect(),
                next_hop: NextHop::Mac(sluice_wire::eth::MacAddr([2, 0, 0, 0, 0, 1])),
            })
        };
        let [a, b] = [PortId(0), PortId(1)];
        let config = EngineConfig {
            n3: side(a, args.gnb),
            n6: side(b, args.server),
            server: args.server.unwrap_or(Ipv4Addr::LOCALHOST),
            check_delivery: false,
        };
        Engine::new(
            Loopback::new(io, [a, b]),
            clock::monotonic_ns as Clock,
            &config,
        )
    }

    fn config(&self, args: &LoadArgs) -> Result<EngineConfig, Failure> {
        let need = |what: &str| Failure::usage(format!("--{what} is missing"));
        let gnbs = || -> Result<Vec<Ipv4Addr>, Failure> {
            let first = args.gnb.ok_or_else(|| need("gnb"))?.to_bits();
            let all = (0..u32::from(args.gnbs)).map(|n| Ipv4Addr::from_bits(first.wrapping_add(n)));
            Ok(all.collect())
        };
        let n3 = match self.n3 {
            Some(port) => Some(SideConfig {
                port,
                addresses: gnbs()?,
                next_hop: args.n3_via.unwrap_or(NextHop::Direct),
            }),
            None => None,
        };
        let server = args.server.ok_or_else(|| need("server"))?;
        let n6 = match self.n6 {
            Some(port) => Some(SideConfig {
                port,
                addresses: vec![server],
                next_hop: args.n6_via.ok_or_else(|| need("n6-via"))?,
            }),
            None => None,
        };
        Ok(EngineConfig {
            n3,
            n6,
            server,
            check_delivery: !args.nat,
        })
    }
}

/// Before DPDK fails in words of its own.
fn check_rights(args: &LoadArgs) -> Result<(), Failure> {
    let is_kernel = |device: &&String| {
        let drivers = ["if:", "net_af_packet", "net_pcap"];
        drivers.iter().any(|driver| device.starts_with(driver))
    };
    let kernel = [&args.n3, &args.n6].into_iter().flatten().find(is_kernel);
    let lacking = kernel.map(|_| env_check::missing(&[Need::PacketSockets]));
    match lacking.iter().flatten().next() {
        Some(why) => Err(Failure::lacking(why)),
        None => Ok(()),
    }
}

/// DPDK device arguments of a short form such as `if:eth1`.
fn device_arguments(number: u16, device: &str) -> String {
    let behind = |prefix| device.strip_prefix(prefix).map(std::path::Path::new);
    if let Some(interface) = device.strip_prefix("if:") {
        return devargs::af_packet(number, interface, 1);
    }
    if let Some(socket) = behind("memif:") {
        return devargs::memif(number, MemifRole::Client, socket, 0);
    }
    if let Some(socket) = behind("memif-server:") {
        return devargs::memif(number, MemifRole::Server, socket, 0);
    }
    device.to_owned()
}

/// DPDK's packets behind two ports that do not exist.
pub struct Ends(DpdkIo, Vec<sluice_port::PortInfo>);

fn ends() -> Vec<sluice_port::PortInfo> {
    let end = |(id, name): (u16, &str)| sluice_port::PortInfo {
        id: PortId(id),
        name: name.to_owned(),
        mac: [2, 0, 0, 0, 0, id as u8],
        mtu_bytes: 9216,
        rx_queues: 1,
        tx_queues: 1,
        rx_queue_packets: 1024,
        tx_queue_packets: 1024,
    };
    [(0, "n3"), (1, "n6")].map(end).to_vec()
}

impl PortIo for Ends {
    type Packet = sluice_port_dpdk::Mbuf;

    fn ports(&self) -> &[sluice_port::PortInfo] {
        &self.1
    }

    fn rx(
        &mut self,
        _: PortId,
        _: sluice_port::QueueId,
        _: &mut sluice_port::Burst<Self::Packet>,
        _: usize,
    ) -> usize {
        0
    }

    fn take_rx(&mut self, _: PortId, _: sluice_port::QueueId) -> bool {
        false
    }

    fn leave_rx(&mut self, _: PortId, _: sluice_port::QueueId) {}

    fn tx(
        &mut self,
        _: PortId,
        _: sluice_port::QueueId,
        _: &mut sluice_port::Burst<Self::Packet>,
    ) -> usize {
        0
    }

    fn tx_progress(
        &mut self,
        _: PortId,
        _: sluice_port::QueueId,
    ) -> Option<sluice_port::TxProgress> {
        None
    }

    fn alloc(&mut self) -> Option<Self::Packet> {
        self.0.alloc()
    }

    fn stats(&mut self, _: PortId) -> Option<sluice_port::PortStats> {
        None
    }

    fn link(&mut self, _: PortId) -> LinkState {
        LinkState::Up
    }
}
