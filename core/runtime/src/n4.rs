//! N4 of a core: PFCP over UDP (TS 29.244, 6.1), and over rings to a UPF in the same process or on the same machine.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;

use sluice_core_host::{Host, ToUpf};
use sluice_host::HostError;
use sluice_host::datagram_ring::RingEnd;
use sluice_host::netns::Ns;
use sluice_host::poll::Poller;
use sluice_host::udp::{BATCH_MAX, RecvBatch, SendBatch, UdpSocket};
use sluice_sbi::{Input, Nf, Now};
use sluice_shared_ring::{RingWay, WayNews};
use sluice_wiring::{Apart, Core};

use crate::system;

/// Room for a datagram: those of PFCP that are longer than an Ethernet frame carries come in
/// fragments, and none of ours or of a UPF's reports is longer than this. Longer ones are cut by the
/// kernel, and dropped here.
const ROOM: usize = 16_384;

/// What N4 has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Datagrams of UPFs.
    pub received: u64,
    /// Datagrams for UPFs.
    pub sent: u64,
    /// Datagrams that were longer than any of PFCP.
    pub too_long: u64,
    /// Of those received and sent, datagrams that went by rings to a UPF with a program of its own.
    pub by_rings: u64,
    /// Datagrams that could not be sent: they are lost, as on any network, and PFCP sends them again.
    pub not_sent: u64,
}

/// A host with an SMF, whose messages N4 carries.
pub trait HasSmf {
    /// A message of a UPF.
    fn n4(&mut self, now: Now, from: SocketAddr, octets: &[u8]);

    /// Messages for UPFs since the last call; contexts that they follow from are stored before.
    fn take_to_upf(&mut self) -> Vec<ToUpf>;
}

impl HasSmf for Core {
    fn n4(&mut self, now: Now, from: SocketAddr, octets: &[u8]) {
        Self::n4(self, now, from, octets);
    }

    fn take_to_upf(&mut self) -> Vec<ToUpf> {
        Self::take_to_upf(self)
    }
}

impl HasSmf for Host<Apart> {
    fn n4(&mut self, now: Now, from: SocketAddr, octets: &[u8]) {
        self.turn(now, Nf::Smf, Input::N4 { from, octets });
    }

    fn take_to_upf(&mut self) -> Vec<ToUpf> {
        Self::take_to_upf(self)
    }
}

/// A UDP socket towards UPFs, and rings to those of this process.
pub struct N4 {
    socket: UdpSocket,
    /// Wakes for the socket and all rings.
    poller: Poller,
    rings: Vec<RingEnd>,
    /// Rings to UPFs that have programs of their own.
    ways: Vec<RingWay>,
    came: RecvBatch,
    leaves: SendBatch,
    counters: Counters,
}

impl N4 {
    /// A socket of an address and port in `ns`.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn open(ns: &Ns, local: SocketAddrV4) -> Result<Self, HostError> {
        let socket = UdpSocket::bind(ns, local)?;
        let what = || HostError::os("watch N4".to_owned());
        let poller = Poller::new().map_err(what())?;
        poller.add(&socket, 0).map_err(what())?;
        Ok(Self {
            socket,
            poller,
            rings: Vec::new(),
            ways: Vec::new(),
            came: RecvBatch::new(BATCH_MAX, ROOM),
            leaves: SendBatch::new(BATCH_MAX, ROOM),
            counters: Counters::default(),
        })
    }

    /// What is for the other ends of these rings goes there, not to the socket.
    ///
    /// # Errors
    /// The kernel has no more descriptors.
    pub fn with_rings(mut self, rings: Vec<RingEnd>) -> io::Result<Self> {
        for ring in &rings {
            self.poller.add(ring, 0)?;
        }
        self.rings = rings;
        Ok(self)
    }

    /// What is for UPFs of these addresses goes by the rings of their sockets from now on, while these are up, if it is
    /// short enough and finds room.
    ///
    /// # Errors
    /// The kernel has no more descriptors.
    pub fn set_ways(&mut self, wanted: &[(PathBuf, SocketAddr)]) -> io::Result<()> {
        let own = self.local();
        let is_wanted = |way: &RingWay| {
            let (path, _, peer) = way.leads();
            wanted
                .iter()
                .any(|(wanted, to)| wanted == path && *to == peer)
        };
        self.ways.retain(is_wanted);
        for (path, peer) in wanted {
            let leads = (path.as_path(), own, *peer);
            if !self.ways.iter().any(|way| way.leads() == leads) {
                let way = RingWay::new(path, own, *peer)?;
                self.poller.add(&way, 0)?;
                self.ways.push(way);
            }
        }
        Ok(())
    }

    /// News of rings to UPFs with programs of their own, by their addresses.
    pub fn take_ring_news(&mut self) -> Vec<(SocketAddr, WayNews)> {
        let of = |way: &mut RingWay| {
            let peer = way.leads().2;
            let news = way.take_news().into_iter();
            news.map(move |one| (peer, one)).collect::<Vec<_>>()
        };
        self.ways.iter_mut().flat_map(of).collect()
    }

    /// The address and port.
    pub fn local(&self) -> SocketAddr {
        self.socket.local()
    }

    /// What N4 has counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Gives the core what has come, a batch at the most, so that gNBs have their turn.
    pub fn turn(&mut self, core: &mut impl HasSmf) {
        for ring in &mut self.rings {
            for _ in 0..BATCH_MAX {
                let Some(octets) = ring.take() else { break };
                self.counters.received += 1;
                core.n4(system::now(), ring.peer(), &octets);
            }
        }
        for way in &mut self.ways {
            way.turn();
            let Some(end) = way.end() else { continue };
            let from = end.peer();
            for _ in 0..BATCH_MAX {
                let Some(octets) = end.take() else { break };
                self.counters.received += 1;
                self.counters.by_rings += 1;
                core.n4(system::now(), from, octets);
            }
        }
        match self.socket.recv(&mut self.came) {
            Ok(0) => return,
            Ok(_) => {}
            // An ICMP error for something sent before; the UPF's silence tells the same.
            Err(_) => return,
        }
        for datagram in self.came.iter() {
            if datagram.truncated {
                self.counters.too_long += 1;
                continue;
            }
            self.counters.received += 1;
            core.n4(system::now(), datagram.from, datagram.bytes);
        }
    }

    /// Sends what the core wants sent.
    pub fn send(&mut self, core: &mut impl HasSmf) {
        for message in core.take_to_upf() {
            let mut rings = self.rings.iter_mut();
            if let Some(ring) = rings.find(|ring| ring.peer() == message.to) {
                match ring.send(&message.octets) {
                    true => self.counters.sent += 1,
                    false => self.counters.not_sent += 1,
                }
                continue;
            }
            let mut ends = self.ways.iter_mut().filter_map(RingWay::end);
            if let Some(end) = ends.find(|end| end.peer() == message.to)
                && end.send(&message.octets)
            {
                self.counters.sent += 1;
                self.counters.by_rings += 1;
                continue;
            }
            let SocketAddr::V4(to) = message.to else {
                self.counters.not_sent += 1;
                continue;
            };
            if self.leaves.is_full() {
                self.flush();
            }
            if !self.leaves.push_bytes(&message.octets, to, None) {
                self.counters.not_sent += 1;
            }
        }
        self.flush();
        self.rings.iter_mut().for_each(RingEnd::flush);
        for end in self.ways.iter_mut().filter_map(RingWay::end) {
            end.flush();
        }
    }

    fn flush(&mut self) {
        if self.leaves.is_empty() {
            return;
        }
        let flushed = self
            .socket
            .flush(&mut self.leaves, Duration::ZERO, |_, _: &io::Error| {});
        self.counters.sent += flushed.sent as u64;
        self.counters.not_sent += flushed.failed as u64;
    }
}

impl AsFd for N4 {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

impl std::fmt::Debug for N4 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("N4").field("local", &self.local()).finish()
    }
}
