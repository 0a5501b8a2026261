//! The gNB thread: epoll loop, bursts both ways, calls of handles.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, channel};

use sluice_host::clock;
use sluice_host::poll::{Poller, Ready, Waker};
use sluice_host::udp::{BATCH_MAX, RecvBatch, SendBatch, UdpSocket};
use sluice_wire::ids::{Qfi, Teid};

use crate::family::Family;
use crate::handle::{Control, Job};
use crate::rate::RateLimit;
use crate::signalling::PendingEcho;
use crate::ue::Ue;
use crate::{DropReason, FTeid, GnbConfig, GnbCounters, Mute, RanError, TunnelCounters, UeId};

/// GTP-U header with a PDU Session Container of four octets.
pub(crate) const G_PDU_HEADER_BYTES: usize = 16;

/// Tokens of the poller; a UE's token is its number, which has 32 bits.
const WAKE: u64 = u64::MAX;
const N3: u64 = u64::MAX - 1;

/// Most sources that one poll returns; the others get their turn in the next round.
const READY_MAX: usize = 64;

/// All that a gNB knows. Only its thread touches it.
pub(crate) struct GnbThread {
    pub(crate) name: String,
    pub(crate) largest_pdu_bytes: u16,
    pub(crate) socket: UdpSocket,
    poller: Poller,
    waker: Waker,
    jobs: Receiver<Job>,
    stopping: bool,
    pub(crate) ues: HashMap<UeId, Box<Ue>>,
    pub(crate) tunnels: HashMap<Teid, Tunnel>,
    pub(crate) counters: GnbCounters,
    /// Uplink packets that are read but not sent, and whose and what they are, with their lengths and flows.
    pub(crate) outgoing: SendBatch,
    pub(crate) senders: Vec<(UeId, usize, Family, Qfi)>,
    /// Room for a message that is forwarded.
    pub(crate) forwarding: Box<[u8]>,
    pub(crate) echoes: Vec<PendingEcho>,
    pub(crate) echo_sequence: u16,
    pub(crate) answers: RateLimit,
    pub(crate) mute: Mute,
}

/// A tunnel endpoint of the gNB.
#[derive(Clone, Debug)]
pub(crate) struct Tunnel {
    pub(crate) owner: UeId,
    /// The UE has been handed over.
    pub(crate) is_left: bool,
    /// Endpoint to which late packets are forwarded.
    pub(crate) forward_to: Option<FTeid>,
    /// Packets that wait until the UE has arrived at its new gNB.
    pub(crate) held: Option<Vec<Box<[u8]>>>,
    /// The UE's further endpoint, which is forgotten with this one.
    further: Option<Teid>,
    pub(crate) counters: TunnelCounters,
}

/// State of the endpoint after its UE has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterRelease {
    /// The endpoint is unknown from now on.
    Forget,
    /// The endpoint counts late packets, and forwards them if a target is given.
    KeepTunnel(Option<FTeid>),
}

impl GnbThread {
    pub(crate) fn new(config: &GnbConfig, socket: UdpSocket) -> io::Result<(Self, Control)> {
        let (poller, waker) = (Poller::new()?, Waker::new()?);
        poller.add(&waker, WAKE)?;
        poller.add(&socket, N3)?;
        let (sender, jobs) = channel();
        let control = Control {
            jobs: sender,
            waker: waker.clone(),
        };
        let worker = Self {
            name: config.name.clone(),
            largest_pdu_bytes: config.largest_pdu_bytes,
            socket,
            poller,
            waker,
            jobs,
            stopping: false,
            ues: HashMap::new(),
            tunnels: HashMap::new(),
            counters: GnbCounters::default(),
            outgoing: SendBatch::new(BATCH_MAX, slot_bytes(config)),
            senders: Vec::with_capacity(BATCH_MAX),
            forwarding: vec![0; incoming_slot_bytes(config.largest_pdu_bytes)].into(),
            echoes: Vec::new(),
            echo_sequence: 0,
            answers: RateLimit::new(config.answers_per_second, clock::monotonic_ns()),
            mute: Mute::No,
        };
        Ok((worker, control))
    }

    /// Works until it is told to stop.
    pub(crate) fn run(mut self) -> GnbCounters {
        let mut incoming = RecvBatch::new(BATCH_MAX, incoming_slot_bytes(self.largest_pdu_bytes));
        let mut ready = Ready::with_capacity(READY_MAX);
        while !self.stopping {
            if self.poller.wait(&mut ready, None).is_err() {
                // Only a bug of ours could make it fail; a gNB that spins helps nobody.
                break;
            }
            for token in ready.tokens() {
                match token {
                    WAKE => self.do_jobs(),
                    N3 => self.downlink(&mut incoming),
                    ue => {
                        if let Some(ue) = UeId::from_token(ue) {
                            self.uplink(ue);
                        }
                    }
                }
            }
            self.flush();
        }
        self.counters
    }

    pub(crate) fn stop(&mut self) {
        self.stopping = true;
    }

    fn do_jobs(&mut self) {
        self.waker.clear();
        // So that whoever asks finds everything counted that was read, and sent.
        self.flush();
        while let Ok(job) = self.jobs.try_recv() {
            job(self);
        }
    }

    /// Takes the UE from `place`, or leaves it there and says why.
    pub(crate) fn adopt(&mut self, place: &mut Option<Box<Ue>>) -> Result<(), RanError> {
        let Some(ue) = place.as_ref() else {
            return Ok(());
        };
        let (teid, mtu) = (ue.config.downlink_teid, ue.config.tun.mtu());
        let is_taken = |teid: &Teid| self.tunnels.get(teid).is_some_and(|one| !one.is_left);
        if let Some(teid) = ue.teids().find(is_taken) {
            return Err(RanError::TeidTaken {
                gnb: self.name.clone(),
                teid,
            });
        }
        if mtu > self.largest_pdu_bytes {
            let (gnb, largest) = (self.name.clone(), self.largest_pdu_bytes);
            return Err(RanError::MtuTooLarge { gnb, mtu, largest });
        }
        self.poller
            .add(&ue.config.tun, u64::from(ue.id.get()))
            .map_err(|source| RanError::Poll {
                gnb: self.name.clone(),
                source,
            })?;
        if let Some(ue) = place.take() {
            // A UE that comes back to its old endpoint finds the counters that it left there.
            let old = self
                .tunnels
                .get(&teid)
                .filter(|tunnel| tunnel.owner == ue.id);
            let counters = old.map(|tunnel| tunnel.counters).unwrap_or_default();
            for one in ue.teids() {
                let tunnel = Tunnel {
                    owner: ue.id,
                    is_left: false,
                    forward_to: None,
                    held: None,
                    further: None,
                    counters: TunnelCounters::default(),
                };
                self.tunnels.insert(one, tunnel);
            }
            if let Some(tunnel) = self.tunnels.get_mut(&teid) {
                (tunnel.counters, tunnel.further) = (counters, ue.takes);
            }
            self.ues.insert(ue.id, ue);
        }
        Ok(())
    }

    /// Gives the UE away. Jobs run with nothing unsent, so no packet of it stays here.
    pub(crate) fn release(&mut self, id: UeId, after: AfterRelease) -> Result<Box<Ue>, RanError> {
        let Some(ue) = self.ues.remove(&id) else {
            return Err(self.unknown(id));
        };
        // A lost device is not watched any more.
        let _ = self.poller.remove(&ue.config.tun);
        // What its last gNB still forwards to here goes on or is nobody's, too.
        for teid in ue.teids() {
            match after {
                AfterRelease::Forget => {
                    self.tunnels.remove(&teid);
                }
                AfterRelease::KeepTunnel(forward_to) => {
                    if let Some(tunnel) = self.tunnels.get_mut(&teid) {
                        (tunnel.is_left, tunnel.forward_to) = (true, forward_to);
                        tunnel.held = forward_to.map(|_| Vec::new());
                    }
                }
            }
        }
        Ok(ue)
    }

    pub(crate) fn ue_mut(&mut self, id: UeId) -> Result<&mut Ue, RanError> {
        match self.ues.get_mut(&id) {
            Some(ue) => Ok(ue),
            None => Err(RanError::UnknownUe {
                gnb: self.name.clone(),
                ue: id,
            }),
        }
    }

    pub(crate) fn ue_ids(&self) -> Vec<UeId> {
        self.ues.keys().copied().collect()
    }

    pub(crate) fn tunnel(&self, teid: Teid) -> Result<TunnelCounters, RanError> {
        let tunnel = self.tunnels.get(&teid);
        tunnel
            .map(|tunnel| tunnel.counters)
            .ok_or_else(|| self.no_tunnel(teid))
    }

    pub(crate) fn forget_tunnel(&mut self, teid: Teid) -> Result<TunnelCounters, RanError> {
        let counters = self.tunnel(teid)?;
        if let Some(left) = self.tunnels.get(&teid).filter(|tunnel| tunnel.is_left) {
            let further = left.further;
            self.tunnels.remove(&teid);
            further.map(|further| self.tunnels.remove(&further));
        }
        Ok(counters)
    }

    pub(crate) fn counters(&self) -> &GnbCounters {
        &self.counters
    }

    /// Counts a loss for the gNB and, where one is concerned, for the UE.
    pub(crate) fn drop_packet(&mut self, ue: Option<UeId>, reason: DropReason) {
        self.counters.drops.count(reason);
        if let Some(ue) = ue.and_then(|ue| self.ues.get_mut(&ue)) {
            ue.counters.drops.count(reason);
        }
    }

    /// Reads a device no more that has failed or gone: it would be ready for ever.
    pub(crate) fn lose_tun(&mut self, id: UeId) {
        if let Some(ue) = self.ues.get_mut(&id) {
            ue.tun_lost = true;
            // It may have left the poller by itself.
            let _ = self.poller.remove(&ue.config.tun);
        }
    }

    fn unknown(&self, ue: UeId) -> RanError {
        RanError::UnknownUe {
            gnb: self.name.clone(),
            ue,
        }
    }

    fn no_tunnel(&self, teid: Teid) -> RanError {
        RanError::UnknownTunnel {
            gnb: self.name.clone(),
            teid,
        }
    }
}

fn incoming_slot_bytes(largest_pdu_bytes: u16) -> usize {
    // Room for a longer header than ours: any extension header may come along.
    usize::from(largest_pdu_bytes) + 256
}

/// The header, the longest packet, and one byte more that tells of a longer one.
fn slot_bytes(config: &GnbConfig) -> usize {
    G_PDU_HEADER_BYTES + usize::from(config.largest_pdu_bytes) + 1
}
