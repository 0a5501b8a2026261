//! One simulated port: queues, steering, tap.

use std::collections::VecDeque;
use std::io::{self, Write};

use sluice_port::{Burst, LinkState, Packet, PortId, PortInfo, PortStats, QueueId, TxProgress};

use crate::hash::RssHash;
use crate::link::Link;
use crate::steer::Steering;
use crate::{HeapPacket, PcapWriter};

/// Preamble, frame check sequence and gap, which a frame takes on the wire
/// beside its own bytes (IEEE 802.3).
const WIRE_OVERHEAD_BYTES: u64 = 24;

/// What a simulated port is like.
#[derive(Clone, Debug)]
pub struct SimPortConfig {
    /// Name by which configuration and people call it.
    pub name: String,
    /// Ethernet address.
    pub mac: [u8; 6],
    /// Largest IP packet, in bytes; told, not enforced.
    pub mtu_bytes: u16,
    /// Number of receive queues, at least 1.
    pub rx_queues: u16,
    /// Number of transmit queues.
    pub tx_queues: u16,
    /// Frames that one receive queue holds.
    pub rx_queue_packets: u16,
    /// Frames that one transmit queue holds.
    pub tx_queue_packets: u16,
    /// Speed of the wire; none: frames leave when the clock is next moved.
    pub rate_bps: Option<u64>,
    /// How much longer frames of each transmit queue take to the wire; queues not named here take
    /// no longer. Frames of two queues may so overtake each other, as on real cards.
    pub tx_delays_ns: Vec<u64>,
    /// What is hashed to choose a receive queue.
    pub hash: RssHash,
    /// Time from a change of steering to its effect.
    pub steering_delay_ns: u64,
    /// Flow rules that the port has room for.
    pub flow_rules_max: usize,
    /// Whether the port can be told what to hash.
    pub hash_is_fixed: bool,
}

impl SimPortConfig {
    /// A port with one queue each way of 1024 packets, MTU 1500, no limit of
    /// speed, and steering without delay.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            mac: [2, 0, 0, 0, 0, 0],
            mtu_bytes: 1500,
            rx_queues: 1,
            tx_queues: 1,
            rx_queue_packets: 1024,
            tx_queue_packets: 1024,
            rate_bps: None,
            tx_delays_ns: Vec::new(),
            hash: RssHash::OuterTuple,
            steering_delay_ns: 0,
            flow_rules_max: usize::MAX,
            hash_is_fixed: false,
        }
    }

    /// What a worker is told that sees the port as `id`.
    pub(crate) fn info(&self, id: PortId) -> PortInfo {
        PortInfo {
            id,
            name: self.name.clone(),
            mac: self.mac,
            mtu_bytes: self.mtu_bytes,
            rx_queues: self.rx_queues,
            tx_queues: self.tx_queues,
            rx_queue_packets: self.rx_queue_packets,
            tx_queue_packets: self.tx_queue_packets,
        }
    }

    /// How long a frame occupies the wire.
    fn wire_time_ns(&self, frame_bytes: usize) -> u64 {
        let bits = (frame_bytes as u64 + WIRE_OVERHEAD_BYTES) * 8;
        self.rate_bps
            .map_or(0, |rate_bps| bits * 1_000_000_000 / rate_bps.max(1))
    }
}

/// A frame in a receive queue.
pub(crate) struct Received {
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: Option<u32>,
}

/// Packets on their way out, oldest first.
#[derive(Default)]
pub(crate) struct TxQueue {
    waiting: VecDeque<HeapPacket>,
    accepted: u64,
}

pub(crate) struct Port {
    pub(crate) config: SimPortConfig,
    pub(crate) steering: Steering,
    pub(crate) stats: PortStats,
    pub(crate) link: Option<Link>,
    pub(crate) state: LinkState,
    /// Frames that left while the port had no link, with the time.
    pub(crate) output: VecDeque<(u64, Vec<u8>)>,
    rx: Vec<VecDeque<Received>>,
    tx: Vec<TxQueue>,
    /// When the wire is free for the next frame.
    wire_free_ns: u64,
    tap: Option<Tap>,
}

type Tap = io::Result<PcapWriter<Box<dyn Write + Send>>>;

impl Port {
    pub(crate) fn new(config: SimPortConfig) -> Self {
        Self {
            steering: Steering::new(config.rx_queues, config.hash)
                .limited_to(config.flow_rules_max),
            stats: PortStats::default(),
            link: None,
            state: LinkState::Up,
            output: VecDeque::new(),
            rx: (0..config.rx_queues).map(|_| VecDeque::new()).collect(),
            tx: (0..config.tx_queues).map(|_| TxQueue::default()).collect(),
            wire_free_ns: 0,
            tap: None,
            config,
        }
    }

    /// Puts an arriving frame into its queue; false if the queue is full.
    pub(crate) fn receive(&mut self, now_ns: u64, frame: Vec<u8>) -> bool {
        self.record(now_ns, &frame);
        let steered = self.steering.steer(now_ns, &frame);
        let queue = &mut self.rx[usize::from(steered.queue.0)];
        if queue.len() >= usize::from(self.config.rx_queue_packets) {
            self.stats.rx_missed += 1;
            return false;
        }
        self.stats.rx_packets += 1;
        self.stats.rx_bytes += frame.len() as u64;
        queue.push_back(Received {
            bytes: frame,
            hash: steered.hash,
        });
        true
    }

    /// A receive queue; none if there is no such queue.
    pub(crate) fn rx_queue(&mut self, queue: QueueId) -> Option<&mut VecDeque<Received>> {
        self.rx.get_mut(usize::from(queue.0))
    }

    /// Accepts packets from the front of `burst` as long as the queue has room,
    /// and says when each will have left.
    pub(crate) fn accept(
        &mut self,
        now_ns: u64,
        queue: QueueId,
        burst: &mut Burst<HeapPacket>,
    ) -> Vec<u64> {
        let Some(ring) = self.tx.get_mut(usize::from(queue.0)) else {
            return Vec::new();
        };
        let limit = usize::from(self.config.tx_queue_packets);
        let delay = self.config.tx_delays_ns.get(usize::from(queue.0));
        let delay_ns = delay.copied().unwrap_or(0);
        let accepted = burst.drain_front(limit - ring.waiting.len()).map(|packet| {
            let start_ns = self.wire_free_ns.max(now_ns);
            self.wire_free_ns = start_ns + self.config.wire_time_ns(packet.total_len());
            ring.waiting.push_back(packet);
            ring.accepted += 1;
            self.wire_free_ns + delay_ns
        });
        accepted.collect()
    }

    /// Sends the oldest packet of a transmit queue and frees it.
    pub(crate) fn send_next(&mut self, now_ns: u64, queue: QueueId) -> Option<Vec<u8>> {
        let packet = self.tx.get_mut(usize::from(queue.0))?.waiting.pop_front()?;
        let frame = packet.to_vec();
        packet.free();
        self.stats.tx_packets += 1;
        self.stats.tx_bytes += frame.len() as u64;
        self.record(now_ns, &frame);
        Some(frame)
    }

    pub(crate) fn tx_progress(&self, queue: QueueId) -> Option<TxProgress> {
        let ring = self.tx.get(usize::from(queue.0))?;
        let sent = ring.accepted - ring.waiting.len() as u64;
        Some(TxProgress {
            accepted: ring.accepted,
            sent,
        })
    }

    /// Frames waiting in receive queues, and in transmit queues.
    pub(crate) fn waiting(&self) -> (u64, u64) {
        let rx: usize = self.rx.iter().map(VecDeque::len).sum();
        let tx: usize = self.tx.iter().map(|ring| ring.waiting.len()).sum();
        (rx as u64, tx as u64)
    }

    /// Replaces the tap; gives the result of the one before.
    pub(crate) fn set_tap(&mut self, tap: Option<Tap>) -> io::Result<()> {
        match std::mem::replace(&mut self.tap, tap) {
            Some(writer) => writer?.finish().map(drop),
            None => Ok(()),
        }
    }

    fn record(&mut self, now_ns: u64, frame: &[u8]) {
        if let Some(Ok(writer)) = &mut self.tap
            && let Err(error) = writer.write(now_ns, frame)
        {
            self.tap = Some(Err(error));
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.tx
            .iter_mut()
            .flat_map(|ring| ring.waiting.drain(..))
            .for_each(Packet::free);
    }
}
