//! Received frames: test packets are counted or reflected, ARP is answered, the rest is a stray.

use sluice_port::{Burst, Packet, PortIo, QueueId};
use sluice_wire::gtpu::Message;

use super::{Clock, Engine, mirror};
use crate::flows::Direction;
use crate::report::Strays;
use crate::sink::{Seen, Stamped, read};

/// Packets received at a time, and how often in a row from one port.
const RX_BURST: usize = 64;
const RX_BURSTS: usize = 4;

impl<I: PortIo, C: Clock> Engine<I, C> {
    /// Takes what has come in `direction`: uplink at N6, downlink at N3.
    pub(super) fn receive(&mut self, direction: Direction) -> usize {
        let side = match direction {
            Direction::Uplink => &self.n6,
            Direction::Downlink => &self.n3,
        };
        let Some(port) = side.as_ref().map(|side| side.port) else {
            return 0;
        };
        let mut all = 0;
        for _ in 0..RX_BURSTS {
            let mut burst = Burst::new();
            let came = self.io.rx(port, QueueId(0), &mut burst, RX_BURST);
            all += came;
            let now_ns = self.clock.now_ns();
            for packet in burst.drain() {
                self.take(direction, packet, now_ns);
            }
            self.send_mirrored();
            if came < RX_BURST {
                break;
            }
        }
        all
    }

    fn take(&mut self, direction: Direction, mut packet: I::Packet, now_ns: u64) {
        if packet.segments() > 1 && !packet.linearize() {
            self.strays.malformed += 1;
            return packet.free();
        }
        let turns = match read(packet.data()) {
            Seen::Stamped(stamped) => self.take_stamped(direction, &stamped, now_ns),
            Seen::Arp(arp) => {
                self.take_arp(direction, &arp);
                false
            }
            Seen::Gtpu { from, to, message } => {
                self.strays.count_gtpu(&message);
                if let (Message::EchoRequest { sequence }, Some(n3)) = (message, &self.n3) {
                    n3.answer_echo(from, to, sequence, &mut self.io);
                }
                false
            }
            Seen::TooBig => self.stray(|strays| &mut strays.too_big),
            Seen::Fragment => self.stray(|strays| &mut strays.fragments),
            Seen::Malformed => self.stray(|strays| &mut strays.malformed),
            Seen::Other => self.stray(|strays| &mut strays.other),
        };
        if !turns || mirror::turn_around(packet.data_mut()).is_none() {
            return packet.free();
        }
        if let Err(packet) = self.mirrored.push(packet) {
            packet.free();
        }
    }

    fn stray(&mut self, which: fn(&mut Strays) -> &mut u64) -> bool {
        *which(&mut self.strays) += 1;
        false
    }

    fn take_arp(&mut self, direction: Direction, arp: &sluice_wire::arp::Arp) {
        self.strays.arp += 1;
        let side = match direction {
            Direction::Uplink => &mut self.n6,
            Direction::Downlink => &mut self.n3,
        };
        if let Some(side) = side {
            side.take_arp(arp, &mut self.io);
        }
    }

    /// One of our packets has come. True if it is to be sent back.
    #[inline]
    fn take_stamped(&mut self, direction: Direction, seen: &Stamped, now_ns: u64) -> bool {
        let stamp = &seen.stamp;
        let Some(run) = self.run.as_mut().filter(|run| run.number() == stamp.run) else {
            return self.stray(|strays| &mut strays.stale);
        };
        let is_return = stamp.is_mirrored && stamp.direction == Direction::Uplink;
        let is_where_it_belongs = match is_return {
            true => direction == Direction::Downlink,
            false => direction == stamp.direction && !stamp.is_mirrored,
        };
        let flow = self.flows.get(stamp.flow);
        let is_right = |flow: &crate::Flow| match direction {
            Direction::Uplink => {
                seen.source == flow.ue && seen.destination == self.server && seen.tunnel.is_none()
            }
            Direction::Downlink => {
                let tunnel = seen.tunnel.map(|(teid, _)| teid);
                seen.destination == flow.ue && tunnel == Some(flow.downlink)
            }
        };
        let is_delivered = !self.check_delivery || flow.is_some_and(is_right);
        if !is_where_it_belongs || !is_delivered {
            return self.stray(|strays| &mut strays.misdelivered);
        }
        run.take(stamp, is_return, seen.ip_bytes, now_ns)
            && run.mirrors()
            && !is_return
            && direction == Direction::Uplink
    }

    /// Sends mirrored packets back; those that the port does not take are lost.
    fn send_mirrored(&mut self) {
        if let (false, Some(n6)) = (self.mirrored.is_empty(), &self.n6) {
            self.io.tx(n6.port, QueueId(0), &mut self.mirrored);
            self.strays.mirror_refused += self.mirrored.len() as u64;
            self.mirrored.free();
        }
    }
}
