//! What becomes of packets that do not leave at once: dropped, answered, or held.

use crate::drop::DropReason;
use crate::forward::far::{self, Exit};
use crate::forward::ohc;
use crate::forward::ohr;
use crate::forward::path::{Path, Ready, rule};
use crate::forward::pdr;
use crate::forward::qer;
use crate::forward::relay::{self, Kept};
use crate::forward::session;
use crate::message::{IcmpCause, Resolve, ToControl, UnknownTeid};
use crate::meta::{Entry, Meta};
use crate::tables::InterfaceId;
use crate::tx::held::Waiting;
use crate::tx::route::{self, Hop};
use crate::tx::transmit::Charge;
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
    /// Its time to live ends here.
    TtlExceeded,
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

    /// A packet whose next hop is not known, or is us, or that does not fit the way there.
    #[cold]
    pub fn detour(&mut self, mut packet: I::Packet, exit: Exit, charge: Charge, meta: &Meta) {
        let kept = match exit {
            Exit::Tunnel(tunnel, _) if meta.entry == Entry::Tunnel && tunnel.qfi.is_none() => {
                relay::extensions(&mut packet, meta)
            }
            _ => Kept::new(),
        };
        match self.prepare(&mut packet, exit, charge, meta, &kept) {
            Ok(ready) => self.leave(packet, ready),
            Err(Misfit::TtlExceeded) => {
                self.tell(packet, DropReason::TtlExceeded, IcmpCause::TtlExceeded);
            }
            Err(Misfit::Cut(ready, mtu)) => self.cut(packet, ready, mtu, &kept),
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
        meta: &Meta,
        kept: &Kept,
    ) -> Result<Ready, Misfit> {
        let inner = Ipv4::parse_unsummed(packet.data()).map_err(|_| DropReason::InnerHeader)?;
        let (dst, dont_fragment) = (inner.destination_u32(), inner.dont_fragment());
        let hop = route::find(&exit, dst, self.tables);
        let ready = |hop| Ready {
            exit,
            hop,
            dst,
            charge,
            meta: *meta,
        };
        // What has arrived takes no further hop (RFC 1812, 5.2.3 and 5.3.1).
        if let Ok(hop @ Hop::Own(_)) = hop {
            return Ok(ready(hop));
        }
        let relays = meta.entry == Entry::Tunnel && matches!(exit, Exit::Tunnel(..));
        far::hop(packet, relays).map_err(|_| Misfit::TtlExceeded)?;
        let hop = hop?;
        let ready = ready(hop);
        let interface = self.interface(hop.interface())?;
        match route::fits(&exit, kept, charge.len, interface) {
            Err(mtu) if dont_fragment => return Err(Misfit::Tell(mtu)),
            Err(mtu) => return Err(Misfit::Cut(ready, mtu)),
            Ok(()) => {}
        }
        if let Exit::Tunnel(tunnel, peer) = &exit {
            let peer = route::peer(*peer, self.tables)?;
            let flow_hash = ohr::flow_hash(packet.data());
            ohc::relay(packet, tunnel, peer, flow_hash, kept)?;
        }
        Ok(ready)
    }

    /// A packet that has arrived: the control core answers for our addresses.
    #[cold]
    pub fn arrive(&mut self, packet: I::Packet, interface: InterfaceId, charge: &Charge) {
        let arrived = ToControl::FromUe(packet, interface);
        match self.rings.to_control.push(arrived) {
            Ok(()) => {
                self.charge(charge);
                self.stats.to_control.add(1);
            }
            Err(ToControl::FromUe(packet, _)) => {
                self.discard(packet, DropReason::ControlQueueFull);
            }
            Err(_) => unreachable!("push gives back what it was given"),
        }
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

    /// Whose usage a packet that waited counts on: its session's, if that is still there and
    /// still sends the same way.
    fn asked_again(&mut self, ready: &Ready) -> Result<Charge, DropReason> {
        let gone = DropReason::SessionChanged;
        let meta = &ready.meta;
        let line = self.state.line_mut(meta.line).ok_or(gone)?;
        session::check(line, meta).map_err(|_| gone)?;
        let (head, body, at) = match line.block() {
            None => {
                pdr::only(line.head, meta)?;
                (line.head, &mut line.body, None)
            }
            Some(chain) => {
                let at = pdr::first(chain, meta, |number| self.state.ext(number))?;
                let block = self.state.ext(at.block()).ok_or(gone)?;
                let head = block.rules[at.rule()].head;
                (head, rule(self.state, at)?, Some(at))
            }
        };
        qer::gate(head)?;
        far::decide(head)?;
        match far::exit(head, body) == ready.exit {
            // A piece of a packet is charged with another.
            true if ready.charge == Charge::NONE => Ok(Charge::NONE),
            true => Ok(Charge { at, ..ready.charge }),
            false => Err(gone),
        }
    }

    fn give_up(&mut self, waiting: Waiting<I::Packet>, reason: DropReason) {
        self.discard(waiting.packet, reason);
        self.trace_waited(&waiting.ready.meta, Err(reason));
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
            let hop = route::find(&w.ready.exit, w.ready.dst, tables);
            let released = hop.and_then(|hop| Ok((hop, self.asked_again(&w.ready)?)));
            match released {
                Ok((hop, charge)) => {
                    let ready = Ready {
                        hop,
                        charge,
                        ..w.ready
                    };
                    self.leave(w.packet, ready);
                    self.trace_waited(&ready.meta, Ok(hop.interface()));
                }
                Err(reason) => self.give_up(w, reason),
            }
        }
        while let Some(w) = self.held.take(|w| w.until_ns <= now_ns) {
            self.give_up(w, DropReason::NextHopUnresolved);
        }
        self.flush();
    }
}
