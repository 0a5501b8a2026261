//! What becomes of packets that do not leave at once: dropped, answered, or held.

use crate::drop::DropReason;
use crate::held::Waiting;
use crate::message::{IcmpCause, Resolve, ToControl, UnknownTeid};
use crate::meta::{Entry, Meta};
use crate::path::{Path, Ready};
use crate::stage::far::Exit;
use crate::stage::route::{self, Hop};
use crate::stage::transmit::Charge;
use crate::stage::{ohc, ohr};
use core::net::Ipv4Addr;
use sluice_port::{Packet, PortIo};
use sluice_wire::ipv4::Ipv4;

/// Why a packet cannot leave as it is.
enum Misfit {
    /// It is dropped.
    Drop(DropReason),
    /// It is too long and may not be cut; this would fit.
    Tell(u16),
    /// It is too long; fragments of this size fit.
    Cut(Ready, u16),
}

impl From<DropReason> for Misfit {
    fn from(reason: DropReason) -> Self {
        Self::Drop(reason)
    }
}

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

    /// A packet whose next hop is not known, or that does not fit the way there.
    #[cold]
    pub fn detour(&mut self, mut packet: I::Packet, exit: Exit, charge: Charge) {
        match self.prepare(&mut packet, exit, charge) {
            Ok(ready) => self.leave(packet, ready),
            Err(Misfit::Cut(ready, mtu)) => self.cut(packet, ready, mtu),
            Err(Misfit::Tell(mtu)) => {
                self.tell(packet, DropReason::TooBig, IcmpCause::TooBig(mtu));
            }
            Err(Misfit::Drop(reason)) => self.discard(packet, reason),
        }
    }

    /// Everything but the Ethernet header, whatever the way out is like.
    fn prepare(
        &mut self,
        packet: &mut I::Packet,
        exit: Exit,
        charge: Charge,
    ) -> Result<Ready, Misfit> {
        let inner = Ipv4::parse_unsummed(packet.data()).map_err(|_| DropReason::InnerHeader)?;
        let (dst, dont_fragment) = (inner.destination_u32(), inner.dont_fragment());
        let hop = route::find(&exit, dst, self.tables)?;
        let ready = Ready {
            exit,
            hop,
            dst,
            charge,
        };
        let interface = self.interface(hop.interface())?;
        match route::fits(&exit, charge.len, interface) {
            Err(mtu) if dont_fragment => return Err(Misfit::Tell(mtu)),
            Err(mtu) => return Err(Misfit::Cut(ready, mtu)),
            Ok(()) => {}
        }
        if let Exit::Tunnel(tunnel, peer) = &exit {
            let peer = route::peer(*peer, self.tables)?;
            let flow_hash = ohr::flow_hash(packet.data());
            ohc::create(packet, tunnel, peer, flow_hash)?;
        }
        Ok(ready)
    }

    #[cold]
    pub fn wait(&mut self, packet: I::Packet, ready: Ready, sought: Resolve) {
        let waiting = Waiting {
            packet,
            ready,
            sought,
            until_ns: 0,
            asked_ns: None,
        };
        match self.held.hold(waiting, self.now_ns) {
            Ok(ask) => {
                if ask {
                    // A full ring loses the question; it is asked again in a second.
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
