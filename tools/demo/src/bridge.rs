//! memif bridge: for a UPF whose ports are memif, a process of its own joins each memif with the
//! kernel interface that the UPF would otherwise have taken itself.

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sluice_host::netns::Ns;
use sluice_host::signal::Shutdown;
use sluice_host::thread;
use sluice_port::{Burst, PortId, PortIo, QueueId};
use sluice_port_dpdk::devargs::{self, MemifRole};
use sluice_port_dpdk::{
    DpdkIo, Eal, EalConfig, Mbuf, MbufPool, Memory, PoolConfig, Port, PortConfig,
};

use super::child::{Daemon, Stop};
use super::error::DemoError;
use super::upf::config::deep_rings;
use super::workdir::WorkDir;
use crate::args::BridgeArgs;
use sluice_program::exit::Exit;

/// Packet memory, and packets: all rings full, and what is between them.
const MEMORY_MIB: u32 = 64;
const MBUFS: u32 = 16_383;
/// A pause when nothing comes, as a worker's.
const REST: Duration = Duration::from_micros(50);
/// How often a full ring is tried again, a rest apart, before packets are given up: its reader may
/// have lost its core for a while.
const TRIES: u32 = 400;
/// How often losses are written down.
const TELL_INTERVAL: Duration = Duration::from_millis(100);
const LOST: &str = "bridge.lost";
const START_LIMIT: Duration = Duration::from_secs(20);

/// The sockets of the memifs, in the order of the UPF's ports.
pub(super) fn sockets(work: &WorkDir) -> [PathBuf; 2] {
    ["n3.memif", "n6.memif"].map(|name| work.join(name))
}

/// The running bridge; it ends with the value.
#[derive(Debug)]
pub(super) struct Bridge {
    pub(super) daemon: Daemon,
    lost: PathBuf,
}

impl Bridge {
    /// Starts it in `ns`; when it returns, the memifs wait for the UPF.
    pub(super) fn start(ns: &Ns, work: &WorkDir, stop: &Stop) -> Result<Self, DemoError> {
        let program = std::env::current_exe().map_err(DemoError::io("find this program"))?;
        let mut command = ns.command(&program.to_string_lossy());
        command.arg("bridge").arg("--lost").arg(work.join(LOST));
        for ((number, link), socket) in [(0, "n3"), (1, "n6")].into_iter().zip(sockets(work)) {
            command.arg(deep_rings(number, link));
            command.arg(devargs::memif(number, MemifRole::Server, &socket, 0));
        }
        let daemon = Daemon::start("the bridge to memif", command, work.join("bridge.log"))?;
        let lost = work.join(LOST);
        let mut this = Self { daemon, lost };
        stop.wait_until("the bridge is there", START_LIMIT, || {
            this.daemon.check_alive()?;
            Ok(sockets(work).iter().all(|socket| socket.exists()))
        })?;
        Ok(this)
    }

    /// The file in which it tells how many packets it lost for full rings.
    pub(super) fn losses(&self) -> PathBuf {
        self.lost.clone()
    }
}

/// `sluice demo bridge`: joins ports in pairs until it is told to end.
pub fn run(args: &BridgeArgs) -> Exit {
    match join(args) {
        Ok(()) => Exit::Done,
        Err(error) => {
            eprintln!("sluice demo bridge: {error}");
            Exit::Lacking
        }
    }
}

fn join(args: &BridgeArgs) -> Result<(), Box<dyn Error>> {
    let shutdown = Shutdown::install()?;
    let eal = Eal::init(&EalConfig {
        memory: Memory::Auto { mib: MEMORY_MIB },
        ..EalConfig::default()
    })?;
    let pool = MbufPool::create(
        &eal,
        PoolConfig {
            packets: MBUFS,
            ..PoolConfig::default()
        },
    )?;
    let open = |device: &String| Port::open(&pool, &PortConfig::new(device.as_str(), device));
    let ports = args
        .devices
        .iter()
        .map(open)
        .collect::<Result<Vec<_>, _>>()?;
    let mut io = DpdkIo::new(&pool, &ports);
    for port in &ports {
        let queues = port.rx_queue(0).zip(port.tx_queue(0));
        let (rx, tx) = queues.ok_or("a port without queues")?;
        // All ports are this worker's.
        let _ = (io.attach_rx(rx), io.attach_tx(tx));
    }
    thread::sleep_precisely();
    let mut burst = Burst::new();
    let (mut given_up, mut told, mut next) = (0, None, Instant::now());
    while !shutdown.is_requested() {
        if Instant::now() >= next {
            next = Instant::now() + TELL_INTERVAL;
            let missed = ports.iter().map(|port| port.stats().map(|s| s.rx_missed));
            let lost = missed.sum::<Result<u64, _>>()? + given_up;
            if told.replace(lost) != Some(lost) {
                std::fs::write(&args.lost, lost.to_string())?;
            }
        }
        let all = (0..ports.len() as u16).map(PortId);
        let passed = all
            .map(|from| pass(&mut io, from, &mut burst, &mut given_up))
            .sum::<usize>();
        if passed == 0 {
            std::thread::sleep(REST);
        }
    }
    Ok(())
}

/// Forwards packets of a port to the other one of its pair.
fn pass(io: &mut DpdkIo, from: PortId, burst: &mut Burst<Mbuf>, given_up: &mut u64) -> usize {
    let (to, queue) = (PortId(from.0 ^ 1), QueueId(0));
    let room = burst.remaining();
    let received = io.rx(from, queue, burst, room);
    for _ in 0..TRIES {
        io.tx(to, queue, burst);
        if burst.is_empty() {
            break;
        }
        std::thread::sleep(REST);
    }
    *given_up += burst.len() as u64;
    burst.free();
    received
}
