//! Transmission of one direction (uplink or downlink), from the plan to the port.

use std::collections::VecDeque;

use sluice_port::{Burst, Packet, PortId, PortIo, QueueId};

use super::LanePlan;
use crate::LoadError;
use crate::flows::{Direction, Flows};
use crate::frames::{Frames, STAMP_AT};
use crate::sink::Times;
use crate::source::{Pace, Pick, SizeDraw};
use crate::stamp::{SEQUENCES, STAMP_BYTES, Stamp};

/// Packets made at a time.
const BURST: usize = 32;
/// How long packets are still made that were due before the plan's end, from when the end is seen.
const GRACE_NS: u64 = 10_000_000;
/// By then the end has to be seen: a machine may take the CPU away just then, but not for as long.
const SEEN_NS: u64 = 100_000_000;

#[derive(Debug)]
pub(crate) struct Lane<P: Packet> {
    pub(super) direction: Direction,
    port: PortId,
    run: u8,
    pace: Pace,
    sizes: SizeDraw,
    mean_bytes: f64,
    pick: Pick,
    rng: fastrand::Rng,
    /// Made, and not yet taken by the port; what is known of each, in the same order.
    waiting: Burst<P>,
    known: VecDeque<Known>,
    /// The next sequence of each flow: as many packets have been made.
    pub(crate) made: Vec<u64>,
    pub(crate) counts: LaneCounts,
    pub(crate) lateness: Times,
    end_ns: u64,
    /// When the plan's end was seen with packets left to make.
    end_seen_ns: Option<u64>,
    late_after_ns: u64,
    patience_ns: u64,
    is_over: bool,
    /// Since when the port has never had room for all.
    blocked_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    due_ns: u64,
    stamp_at: u16,
    ip_bytes: u16,
}

/// Packets of a lane by what became of them at our side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaneCounts {
    pub(crate) sent: u64,
    /// Octets of their UEs' packets.
    pub(crate) ip_bytes: u64,
    /// For which the port had no room until patience ended.
    pub(crate) refused: u64,
    /// Due, and never made: the generator was too slow.
    pub(crate) unsent: u64,
    /// Sent later than is allowed.
    pub(crate) late: u64,
    /// Times that no packet could be had or made.
    pub(crate) no_packet: u64,
}

/// State that all lanes of a run share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    pub(super) run: u8,
    pub(super) seed: u64,
    pub(super) origin_ns: u64,
    pub(super) late_after_ns: u64,
    pub(super) patience_ns: u64,
}

impl<P: Packet> Lane<P> {
    pub(super) fn new(
        direction: Direction,
        port: PortId,
        flows: u32,
        plan: &LanePlan,
        common: &Common,
    ) -> Result<Self, LoadError> {
        // Directions draw apart, so that one does not change what the other does.
        let seed = common.seed.wrapping_mul(2) ^ (direction as u64);
        Ok(Self {
            direction,
            port,
            run: common.run,
            end_ns: common.origin_ns + plan.plan.duration_ns(),
            end_seen_ns: None,
            pace: Pace::new(plan.plan.clone())?,
            sizes: SizeDraw::new(&plan.sizes)?,
            mean_bytes: plan.sizes.mean_bytes(),
            pick: Pick::new(&plan.popularity, flows, common.seed)?,
            rng: fastrand::Rng::with_seed(seed),
            waiting: Burst::new(),
            known: VecDeque::with_capacity(BURST),
            made: vec![0; flows as usize],
            counts: LaneCounts::default(),
            lateness: Times::new(),
            late_after_ns: common.late_after_ns,
            patience_ns: common.patience_ns,
            is_over: false,
            blocked_ns: None,
        })
    }

    /// Whether the plan is over and nothing waits.
    pub(super) fn is_over(&self) -> bool {
        self.is_over && self.known.is_empty()
    }

    /// How many may be on their way, if there is a limit.
    pub(super) fn window(&self) -> Option<u64> {
        self.pace.window()
    }

    /// When there is something to do; none if it is over, or waits for packets to arrive.
    pub(super) fn next_ns(&mut self, now_ns: u64, origin_ns: u64) -> Option<u64> {
        if !self.known.is_empty() {
            return Some(now_ns);
        }
        if self.is_over {
            return None;
        }
        let due = self.pace.due_ns(now_ns.saturating_sub(origin_ns));
        Some(due.map_or(now_ns, |due| origin_ns + due))
    }

    /// Makes what is due by `now_ns`, `allowed` packets at the most. Returns how many.
    pub(super) fn make<I: PortIo<Packet = P>>(
        &mut self,
        now_ns: u64,
        origin_ns: u64,
        allowed: u64,
        flows: &Flows,
        frames: &Frames,
        io: &mut I,
    ) -> usize {
        let room = BURST.saturating_sub(self.known.len());
        let room = usize::try_from(allowed).map_or(room, |allowed| room.min(allowed));
        let mut made = 0;
        while made < room && !self.is_over {
            let Some(due) = self.pace.due_ns(now_ns.saturating_sub(origin_ns)) else {
                self.is_over = true;
                break;
            };
            let due_ns = origin_ns + due;
            if due_ns > now_ns {
                break;
            }
            if now_ns > self.end_ns {
                let seen_ns = *self.end_seen_ns.get_or_insert(now_ns);
                if now_ns > seen_ns.min(self.end_ns + SEEN_NS) + GRACE_NS {
                    self.give_up();
                    break;
                }
            }
            if self.make_one(due_ns, flows, frames, io).is_none() {
                self.counts.no_packet += 1;
                break;
            }
            made += 1;
        }
        made
    }

    /// Ends the plan now.
    pub(super) fn stop(&mut self) {
        self.is_over = true;
    }

    /// Counts what should have been made.
    fn give_up(&mut self) {
        self.is_over = true;
        if !self.pace.is_timed() {
            return;
        }
        while self.pace.due_ns(0).is_some() {
            self.pace.advance(self.mean_bytes as u16);
            self.counts.unsent += 1;
        }
    }

    fn make_one<I: PortIo<Packet = P>>(
        &mut self,
        due_ns: u64,
        flows: &Flows,
        frames: &Frames,
        io: &mut I,
    ) -> Option<()> {
        let mut packet = io.alloc()?;
        let number = self.pick.draw(&mut self.rng);
        let ip_bytes = self.sizes.draw(&mut self.rng);
        let flow = flows.get(number)?;
        let made = self.made.get_mut(number as usize)?;
        let stamp = Stamp {
            direction: self.direction,
            is_mirrored: false,
            run: self.run,
            flow: number,
            sequence: (*made % u64::from(SEQUENCES)) as u32,
            late_ns: 0,
            sent_ns: 0,
        };
        let front = match self.direction {
            Direction::Uplink => Frames::uplink_front(flow),
            Direction::Downlink => Frames::DOWNLINK_FRONT,
        };
        let filled = packet.append(front + usize::from(ip_bytes)).ok();
        let filled = filled.and_then(|out| match self.direction {
            Direction::Uplink => frames.fill_uplink(flow, &stamp, out),
            Direction::Downlink => frames.fill_downlink(flow, &stamp, out),
        });
        if filled.is_none() {
            packet.free();
            return None;
        }
        if let Err(packet) = self.waiting.push(packet) {
            packet.free();
            return None;
        }
        *made += 1;
        self.pace.advance(ip_bytes);
        self.known.push_back(Known {
            due_ns,
            stamp_at: (front + STAMP_AT) as u16,
            ip_bytes,
        });
        Some(())
    }

    /// Writes the time into what waits, and gives it to the port. What the port does not take
    /// until patience ends is given up. Returns how many packets left.
    pub(super) fn send<I: PortIo<Packet = P>>(&mut self, now_ns: u64, io: &mut I) -> usize {
        if self.known.is_empty() {
            return 0;
        }
        for (packet, known) in self.waiting.iter_mut().zip(&self.known) {
            let stamp = packet.data_mut().get_mut(usize::from(known.stamp_at)..);
            if let Some(stamp) = stamp.and_then(|s| s.first_chunk_mut::<STAMP_BYTES>()) {
                Stamp::set_times(stamp, now_ns.saturating_sub(known.due_ns), now_ns);
            }
        }
        let sent = io.tx(self.port, QueueId(0), &mut self.waiting);
        for known in self.known.drain(..sent.min(self.known.len())) {
            let late_ns = now_ns.saturating_sub(known.due_ns);
            self.lateness.record(late_ns);
            self.counts.late += u64::from(late_ns > self.late_after_ns);
            self.counts.sent += 1;
            self.counts.ip_bytes += u64::from(known.ip_bytes);
        }
        self.lose_patience(now_ns);
        sent
    }

    /// While the port has no room, packets may be so much overdue; time that the generator itself
    /// was late is not held against the port.
    fn lose_patience(&mut self, now_ns: u64) {
        if self.known.is_empty() {
            self.blocked_ns = None;
            return;
        }
        let blocked_ns = *self.blocked_ns.get_or_insert(now_ns);
        let too_old =
            |known: &&Known| now_ns.saturating_sub(known.due_ns.max(blocked_ns)) > self.patience_ns;
        let count = self.known.iter().take_while(too_old).count();
        if count > 0 {
            self.known.drain(..count);
            // Dropping what the iterator has not given out frees it.
            drop(self.waiting.drain_front(count));
            self.counts.refused += count as u64;
        }
    }
}
