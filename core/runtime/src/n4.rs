//! N4 of a core: PFCP over UDP (TS 29.244, 6.1), and over rings to a UPF in the same process.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use sluice_core_host::{Host, ToUpf};
use sluice_host::HostError;
use sluice_host::datagram_ring::RingEnd;
use sluice_host::netns::Ns;
use sluice_host::udp::{BATCH_MAX, RecvBatch, SendBatch, UdpSocket};
use sluice_sbi::{Input, Nf, Now};
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
    rings: Vec<RingEnd>,
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
        Ok(Self {
            socket: UdpSocket::bind(ns, local)?,
            rings: Vec::new(),
            came: RecvBatch::new(BATCH_MAX, ROOM),
            leaves: SendBatch::new(BATCH_MAX, ROOM),
            counters: Counters::default(),
        })
    }

    /// What is for the other ends of these rings goes there, not to the socket.
    #[must_use]
    pub fn with_rings(mut self, rings: Vec<RingEnd>) -> Self {
        self.rings = rings;
        self
    }

    /// Rings to UPFs of this process.
    pub(crate) fn rings(&self) -> &[RingEnd] {
        &self.rings
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
        self.socket.as_fd()
    }
}

impl std::fmt::Debug for N4 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("N4").field("local", &self.local()).finish()
    }
}
