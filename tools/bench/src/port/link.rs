//! The link between the measured worker and the remote end.

use super::peer::Peer;
use super::ports::{Wire, WorkerPorts};
use super::remote_end::{RemoteEnd, write_flows};
use crate::Failure;
use crate::path::topology::{N3, N6};
use crate::path::traffic::Flow;
use sluice_port::{LinkState, PortId, PortIo};
use sluice_port_dpdk::devargs::{self, MemifRole};
use sluice_port_dpdk::{DpdkIo, Eal, MbufPool, Port, PortConfig};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

const UP_WITHIN: Duration = Duration::from_secs(10);
/// Descriptors of a virtio queue; the default of 256 would hold two bursts.
const VIRTIO_DESCRIPTORS: u16 = 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Shared memory between two processes.
    Memif,
    /// virtio between two processes: virtio-user here, vhost-user there.
    VirtioUser,
    /// Rings of packets within this process.
    Ring,
}

/// Place of a link.
pub struct Site<'a> {
    pub eal: &'a Eal,
    /// Pool of the link's packets.
    pub pool: &'a MbufPool,
    pub flows: &'a Arc<[Flow]>,
    /// CPU of the far end.
    pub far_cpu: usize,
}

/// A link that is up.
pub struct Link {
    /// The measured worker's ports.
    pub doors: WorkerPorts<DpdkIo>,
    pub far: RemoteEnd,
    /// Whether packets lie on huge pages.
    pub on_huge_pages: bool,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Memif, Self::VirtioUser, Self::Ring];

    /// As results are named.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memif => "port/memif",
            Self::VirtioUser => "port/virtio-user",
            Self::Ring => "port/ring",
        }
    }

    /// Real carrier of the packets.
    pub fn carried_by(self) -> &'static str {
        match self {
            Self::Memif => "memif between two processes, client here; both ends copy every packet",
            Self::VirtioUser => {
                "virtio-user here, vhost-user in another process, which copies every packet"
            }
            Self::Ring => {
                "DPDK rings to another thread of this process; nothing is copied, packets go round"
            }
        }
    }

    /// Packets of each direction on their way at the most, fewer than the smallest ring holds.
    pub fn window(self) -> usize {
        match self {
            // 2048 places.
            Self::Memif => 1920,
            // Places are only free again when the driver looks for them.
            Self::VirtioUser => 768,
            // 1023 places.
            Self::Ring => 960,
        }
    }

    /// Makes the link, with the far end at work.
    pub fn connect(self, site: &Site) -> Result<Link, Failure> {
        match self {
            Self::Ring => ring(site),
            Self::Memif | Self::VirtioUser => self.other_process(site),
        }
    }

    fn other_process(self, site: &Site) -> Result<Link, Failure> {
        // For sockets and flows, for this user alone; it goes with the value.
        let folder = tempfile::Builder::new().prefix("sluice-bench-").tempdir();
        let folder = folder.map_err(|e| format!("make a folder: {e}"))?;
        let flows = folder.path().join("flows");
        write_flows(&flows, site.flows)?;
        let sockets = ["n3", "n6"].map(|name| folder.path().join(name));
        let far = RemoteEnd::process(&flows, &self.far_devices(&sockets), site.far_cpu)?;
        let doors = direct_doors(site.pool, &self.near_devices(&sockets))?;
        Ok(Link {
            doors: when_up(doors)?,
            far,
            on_huge_pages: site.eal.huge_pages(),
        })
    }

    fn far_devices(self, sockets: &[PathBuf; 2]) -> [String; 2] {
        [(0, &sockets[0]), (1, &sockets[1])].map(|(n, socket)| match self {
            Self::VirtioUser => devargs::vhost(n, socket),
            _ => devargs::memif(n, MemifRole::Server, socket, 0),
        })
    }

    fn near_devices(self, sockets: &[PathBuf; 2]) -> [String; 2] {
        [(0, &sockets[0]), (1, &sockets[1])].map(|(n, socket)| match self {
            Self::VirtioUser => devargs::virtio_user(n, socket, VIRTIO_DESCRIPTORS),
            _ => devargs::memif(n, MemifRole::Client, socket, 0),
        })
    }
}

/// N3 and N6 as one port each.
pub fn direct_doors(
    pool: &MbufPool,
    devices: &[String; 2],
) -> Result<WorkerPorts<DpdkIo>, Failure> {
    let ports = open(pool, devices)?;
    let wires = [N3, N6].map(|port| Wire { rx: port, tx: port });
    doors(pool, &ports, wires)
}

/// A ring port gives back what it is sent, so each direction of each port takes one, of which one
/// side has the sending end and the other the receiving end.
fn ring(site: &Site) -> Result<Link, Failure> {
    // DPDK keeps the rings of a port that has gone, and complains when one of its name is made again.
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = NEXT.fetch_add(4, Ordering::Relaxed);
    let ports = open(site.pool, &[0, 1, 2, 3].map(|n| devargs::ring(first + n)))?;
    let wire = |rx, tx| Wire {
        rx: PortId(rx),
        tx: PortId(tx),
    };
    let near = doors(site.pool, &ports, [wire(0, 1), wire(2, 3)])?;
    let far = doors(site.pool, &ports, [wire(1, 0), wire(3, 2)])?;
    let peer = Peer::new(far, site.flows).ok_or("too few packets for the far end")?;
    Ok(Link {
        doors: when_up(near)?,
        far: RemoteEnd::thread(site.eal, peer, site.far_cpu)?,
        on_huge_pages: site.eal.huge_pages(),
    })
}

fn open(pool: &MbufPool, devices: &[String]) -> Result<Vec<Port>, Failure> {
    let open = |device: &String| Port::open(pool, &PortConfig::new(device.as_str(), device));
    let ports: Result<Vec<_>, _> = devices.iter().map(open).collect();
    ports.map_err(|e| e.to_string())
}

fn doors(
    pool: &MbufPool,
    ports: &[Port],
    wires: [Wire; 2],
) -> Result<WorkerPorts<DpdkIo>, Failure> {
    let mut io = DpdkIo::new(pool, ports);
    for wire in wires {
        let [from, to] = [wire.rx, wire.tx].map(|id| ports.get(usize::from(id.0)));
        let (rx, tx) = (
            from.and_then(|p| p.rx_queue(0)),
            to.and_then(|p| p.tx_queue(0)),
        );
        let (rx, tx) = rx.zip(tx).ok_or("a port without a free queue")?;
        let attached = io.attach_rx(rx).is_ok() && io.attach_tx(tx).is_ok();
        if !attached {
            return Err("a queue of another port".to_owned());
        }
    }
    Ok(WorkerPorts::over(io, wires))
}

fn when_up(mut doors: WorkerPorts<DpdkIo>) -> Result<WorkerPorts<DpdkIo>, Failure> {
    let deadline = Instant::now() + UP_WITHIN;
    while [N3, N6]
        .iter()
        .any(|port| doors.link(*port) == LinkState::Down)
    {
        if Instant::now() >= deadline {
            return Err(format!("no link to the far end within {UP_WITHIN:?}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(doors)
}
