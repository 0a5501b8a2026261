//! A whole UPF without daemon: control core and workers on simulated ports.

use std::collections::VecDeque;
use std::net::SocketAddr;

use sluice_control::config::{ControlConfig, InterfaceConfig, Role};
use sluice_control::core::{Env, UpfControl};
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::layout::{InstanceId, Layout, Pool};
use sluice_datapath::worker::Worker;
use sluice_n4::Outbox;
use sluice_port::{PortId, QueueId};
use sluice_port_sim::{HeapPacket, HeapPool, PoolConfig, SimIo, SimNet, SimPort, SimPortConfig};
use sluice_session::Config;
use sluice_session::network::Side;
use sluice_testbed::upf::{self, Blueprint, polled};
use sluice_wire::eth::MacAddr;
use sluice_wire::pfcp::value::NtpTime;

use super::{
    GNBS, N3, N3_MAC, N4, N4_MAC, N6, N6_MAC, N6_SECOND, N6_V6, SECOND_SERVER, SERVER, SERVER_MAC,
    SERVER_V6, gnb_address, gnb_mac, n4_link, ue_address,
};

/// The data network that all sessions are for.
pub const INTERNET: InstanceId = InstanceId(1);
const BLOCKS: u32 = 8 * SHARDS;

/// Control core and workers; port 0 is N3, port 1 is N6, port 2 is N4.
pub struct Upf {
    pub core: UpfControl<HeapPacket>,
    pub workers: Vec<Worker<SimIo>>,
    pub net: SimNet,
    pub n3: SimPort,
    pub n6: SimPort,
    pub n4: SimPort,
    pub pool: HeapPool,
}

/// What the core sends by N4, and where it takes packets from.
pub struct Around {
    pub sent: VecDeque<(SocketAddr, Vec<u8>)>,
    pub pool: HeapPool,
}

impl Outbox for Around {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.sent.push_back((to, bytes.to_vec()));
    }
}

impl Env for Around {
    type Packet = HeapPacket;

    fn alloc(&mut self) -> Option<HeapPacket> {
        self.pool.alloc()
    }
}

impl Upf {
    /// Worker 0 polls all ports; further ones live on what it hands over.
    pub fn start(workers: usize, settings: impl FnOnce(&mut Config)) -> Self {
        Self::start_at(NtpTime(0xe000_0000), workers, settings)
    }

    /// The same, with a recovery time stamp.
    pub fn start_at(started: NtpTime, workers: usize, settings: impl FnOnce(&mut Config)) -> Self {
        let layout = Layout::new(4 * SHARDS, &[ue_pool()], 4 * SHARDS).unwrap();
        let net = SimNet::new(1);
        let [n3, n6, n4_port] =
            ["n3", "n6", "n4"].map(|name| net.add_port(SimPortConfig::named(name)));
        let pool = HeapPool::new(PoolConfig::default());
        let ports = [n3.clone(), n6.clone(), n4_port.clone()];
        let doors = (0..workers).map(|worker| {
            let polls = if worker == 0 { 0..3 } else { 0..0 };
            let polled = polled(polls.map(PortId), QueueId(0));
            (net.io(&ports, pool.clone()), polled, QueueId(0))
        });
        let mut plan = Blueprint::new(layout, BLOCKS, interfaces(), (N4, started));
        settings(&mut plan.session);
        // The default's memory of requests takes longer to set up than many a test to run.
        plan.n4.limits = sluice_n4::Limits::for_rate(1_000, plan.n4.t1_ms, plan.n4.n1);
        let upf::Upf { core, workers } = plan.build(doors.collect()).unwrap();
        Self {
            core,
            workers,
            net,
            n3,
            n6,
            n4: n4_port,
            pool,
        }
    }
}

fn ue_pool() -> Pool {
    Pool {
        instance: INTERNET,
        base: ue_address(0),
        prefix_len: 16,
    }
}

/// Stations are known, so that no test waits for ARP; those of SMFs are not.
fn interfaces() -> ControlConfig {
    let access = Role::Tunnels {
        side: Side::Access,
        instance: String::new(),
        addresses: N3.into(),
    };
    let internet = Role::Plain {
        side: Side::Core,
        instances: vec!["internet".to_owned()],
        is_default: false,
        id: INTERNET,
    };
    let gnbs = (1..=GNBS).map(|n| (gnb_address(n).into(), MacAddr(gnb_mac(n))));
    let n3 = InterfaceConfig {
        addresses: vec![(N3, 24)],
        roles: vec![access],
        neighbours: gnbs.collect(),
        ..InterfaceConfig::new("n3", PortId(0), MacAddr(N3_MAC))
    };
    let server = MacAddr(SERVER_MAC);
    let n6 = InterfaceConfig {
        addresses: vec![(N6, 24), (N6_SECOND, 24)],
        addresses_ipv6: vec![(N6_V6, 64)],
        roles: vec![internet],
        neighbours: vec![
            (SERVER.into(), server),
            (SECOND_SERVER.into(), server),
            (SERVER_V6.into(), server),
        ],
        ..InterfaceConfig::new("n6", PortId(1), MacAddr(N6_MAC))
    };
    let n4 = InterfaceConfig {
        mtu_bytes: n4_link::MTU,
        addresses: vec![(N4, 24)],
        roles: vec![Role::N4 { address: N4 }],
        ..InterfaceConfig::new("n4", PortId(2), MacAddr(N4_MAC))
    };
    ControlConfig {
        interfaces: vec![n3, n6, n4],
        pools: vec![ue_pool()],
        ..ControlConfig::default()
    }
}
