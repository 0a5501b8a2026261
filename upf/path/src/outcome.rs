//! What becomes of packets that do not leave at once: dropped, answered, or held.

use crate::drop::DropReason;
use crate::held::Waiting;
use crate::message::{IcmpCause, Resolve, ToControl, UnknownTeid};
use crate::meta::{Entry, Meta};
use crate::path::{Path, Ready};
use crate::stage::route::{self, Hop};
use core::net::Ipv4Addr;
use sluice_port::{Packet, PortIo};

impl<I: PortIo> Path<'_, I> {
    /// Counts a drop, and asks for an Error Indication where one is due.
    #[inline]
    pub fn refused(&mut self, reason: DropReason, meta: &Meta) {
        self.stats.count_drop(reason);
        if reason == DropReason::UnknownTeid && meta.entry == Entry::Tunnel {
            self.indicate(meta);
        }
    }

    /// A full ring loses the notice; the peer's next packet brings another.
    #[cold]
    fn indicate(&mut self, meta: &Meta) {
        let Ok(interface) = self.interface(meta.interface) else {
            return;
        };
        let tunnel = interface.tunnels.iter().find(|t| t.local == meta.local);
        if let Some(tunnel) = tunnel {
            let notice = UnknownTeid {
                interface: meta.interface,
                peer: Ipv4Addr::from(meta.outer_src),
                local: tunnel.address,
                teid: meta.key,
            };
            let _ = self.rings.to_control.push(ToControl::UnknownTeid(notice));
        }
    }

    /// A drop that the sender hears of: the control core writes the ICMP message. The packet
    /// counts as dropped; only its buffer travels on.
    #[cold]
    pub fn tell(&mut self, packet: I::Packet, reason: DropReason, cause: IcmpCause) {
        self.stats.count_drop(reason);
        let notice = ToControl::Icmp(packet, cause);
        if let Err(ToControl::Icmp(packet, ..)) = self.rings.to_control.push(notice) {
            packet.free();
        }
    }

    /// Drops a packet.
    #[cold]
    pub fn discard(&mut self, packet: I::Packet, reason: DropReason) {
        self.stats.count_drop(reason);
        packet.free();
    }

    #[cold]
    pub fn wait(&mut self, packet: I::Packet, ready: Ready, sought: Resolve) {
        let waiting = Waiting {
            packet,
            ready,
            sought,
            until_ns: 0,
        };
        match self.held.hold(waiting, self.now_ns) {
            Ok(ask) => {
                if ask {
                    // A full ring loses the question; the next packet asks again.
                    let _ = self.rings.to_control.push(ToControl::Resolve(sought));
                }
            }
            Err(packet) => self.discard(packet, DropReason::NextHopQueueFull),
        }
    }

    /// Sends what waited for a next hop that is known now, and gives up what waited too long.
    #[cold]
    pub fn retry_held(&mut self) {
        let (tables, now_ns) = (self.tables, self.now_ns);
        let is_ready = |w: &Waiting<I::Packet>| {
            !matches!(
                route::find(&w.ready.exit, w.ready.dst, tables),
                Ok(Hop::Wait(..))
            )
        };
        while let Some(w) = self.held.take(is_ready) {
            match route::find(&w.ready.exit, w.ready.dst, tables) {
                Ok(hop) => self.leave(w.packet, Ready { hop, ..w.ready }),
                Err(reason) => self.discard(w.packet, reason),
            }
        }
        while let Some(w) = self.held.take(|w| w.until_ns <= now_ns) {
            self.discard(w.packet, DropReason::NextHopUnresolved);
        }
        self.flush();
    }
}
