//! THE packet path. Read it from top to bottom: this is what happens to every packet.
//!
//! receive -> parse -> **place** -> hand over what is not mine -> session -> PDR and outer header
//! removal -> QER -> FAR -> route -> outer header creation -> transmit -> account

use crate::drop::DropReason;
use crate::held::Held;
use crate::ledger::WorkerStats;
use crate::line::Line;
use crate::message::{IcmpCause, WorkerRings};
use crate::meta::Meta;
use crate::rule::{Block, Body};
use crate::stage::far::{self, Exit};
use crate::stage::ohr::{self, Inner};
use crate::stage::route::{self, Hop};
use crate::stage::transmit::{self, Charge, Lane};
use crate::stage::{ohc, pdr, qer, session, urr};
use crate::tables::{Interface, InterfaceId, Tables};
use crate::worker::Batch;
use sluice_mem::shard::Owned;
use sluice_port::{Packet, PortIo};

/// What the path works with for one pass.
pub(crate) struct Path<'a, I: PortIo> {
    pub tables: &'a Tables,
    pub state: &'a mut Owned<Line, Block>,
    pub io: &'a mut I,
    pub lanes: &'a mut [Lane<I::Packet>],
    pub held: &'a mut Held<I::Packet>,
    pub rings: &'a mut WorkerRings<I::Packet>,
    pub stats: &'a WorkerStats,
    pub now_ns: u64,
}

/// A packet that is ready for the wire but for its Ethernet header.
#[derive(Clone, Copy)]
pub(crate) struct Ready {
    /// Its way out.
    pub exit: Exit,
    /// Its next hop.
    pub hop: Hop,
    /// Inner destination, host order.
    pub dst: u32,
    /// Whose usage it counts on.
    pub charge: Charge,
    /// Of the inner flow.
    pub flow_hash: u32,
}

/// Why a packet ends here.
enum End {
    /// Dropped.
    Drop(DropReason),
    /// Dropped, and the sender is told by ICMP.
    Tell(DropReason, IcmpCause),
    /// Cut into fragments of this size, which leave in its place.
    Cut(Ready, u16),
}

impl From<DropReason> for End {
    fn from(reason: DropReason) -> Self {
        Self::Drop(reason)
    }
}

impl<'a, I: PortIo> Path<'a, I> {
    /// Everything from *session* to *transmit*, for packets whose lines are ours.
    pub fn execute(&mut self, batch: &mut Batch<I::Packet>) {
        let Batch {
            mine, metas, dead, ..
        } = batch;
        for (mut packet, meta) in mine.drain().zip(metas.drain(..)) {
            match self.decide(&mut packet, &meta) {
                Ok(ready) => self.leave(packet, ready),
                Err(End::Drop(reason)) => {
                    self.refused(reason, &meta);
                    let _ = dead.push(packet).map_err(Packet::free);
                }
                Err(End::Tell(reason, cause)) => self.tell(packet, reason, cause),
                Err(End::Cut(ready, mtu)) => self.cut(packet, ready, mtu),
            }
        }
        dead.free();
        self.flush();
    }

    /// The path of one packet.
    #[inline]
    fn decide(&mut self, packet: &mut I::Packet, meta: &Meta) -> Result<Ready, End> {
        let line = self
            .state
            .line_mut(meta.line)
            .ok_or(session::missing(meta.entry))?;
        session::check(line, meta)?;
        let inner = ohr::remove(packet, meta, line)?;
        let (exit, charge) = match line.block() {
            None => {
                pdr::only(line.head, meta)?;
                qer::gate(line.head)?;
                let exit = far::decide(line.head, &line.body)?;
                qer::police(&mut line.body, self.now_ns, u32::from(inner.len))?;
                (
                    exit,
                    Charge {
                        line: meta.line,
                        at: None,
                        len: inner.len,
                    },
                )
            }
            Some(chain) => self.extended(chain, meta, &inner)?,
        };
        far::hop(packet, meta.entry, &exit)
            .map_err(|reason| End::Tell(reason, IcmpCause::TtlExceeded))?;
        let ready = Ready {
            hop: route::find(&exit, inner.dst, self.tables)?,
            exit,
            dst: inner.dst,
            charge,
            flow_hash: inner.flow_hash,
        };
        let interface = self.interface(ready.hop.interface())?;
        if let Err(mtu) = route::fits(&exit, inner.len, interface) {
            return Err(match inner.dont_fragment {
                true => End::Tell(DropReason::TooBig, IcmpCause::TooBig(mtu)),
                false => End::Cut(ready, mtu),
            });
        }
        if let Exit::Tunnel(tunnel, peer) = &exit {
            let peer = route::peer(*peer, self.tables)?;
            ohc::create(packet, tunnel, peer, inner.flow_hash)?;
        }
        Ok(ready)
    }

    /// PDR, QER and FAR where the endpoint has several rules.
    #[cold]
    fn extended(
        &mut self,
        chain: u32,
        meta: &Meta,
        inner: &Inner,
    ) -> Result<(Exit, Charge), DropReason> {
        let at = pdr::first(chain, meta, |number| self.state.ext(number))?;
        let block = self.state.ext(at.block).ok_or(DropReason::NoPdr)?;
        let rule = block.rules[usize::from(at.rule)];
        qer::gate(rule.head)?;
        let exit = far::decide(rule.head, &rule.body)?;
        qer::police_shared(self.state, &rule.buckets, self.now_ns, u32::from(inner.len))?;
        Ok((
            exit,
            Charge {
                line: meta.line,
                at: Some(at),
                len: inner.len,
            },
        ))
    }

    /// Transmit and account, or hold for a next hop.
    #[inline]
    pub fn leave(&mut self, mut packet: I::Packet, ready: Ready) {
        match ready.hop {
            Hop::Ready(id, mac) => {
                let Ok(interface) = self.interface(id) else {
                    return self.discard(packet, DropReason::NoRoute);
                };
                if let Err(reason) = transmit::frame(&mut packet, interface, mac) {
                    return self.discard(packet, reason);
                }
                let lane = usize::from(interface.port.0);
                self.charge(&ready.charge);
                self.push(lane, packet, Some(ready.charge));
            }
            Hop::Wait(_, sought) => self.wait(packet, ready, sought),
        }
    }

    /// Puts a whole frame into a lane.
    #[inline]
    pub fn push(&mut self, lane: usize, frame: I::Packet, charge: Option<Charge>) {
        if self.lanes.get(lane).is_none_or(Lane::is_full) {
            self.flush();
        }
        match self.lanes.get_mut(lane) {
            Some(lane) => lane.push(frame, charge),
            None => self.discard(frame, DropReason::NoRoute),
        }
    }

    /// All lanes to their ports; what did not leave is given back.
    pub fn flush(&mut self) {
        let Self {
            state,
            lanes,
            io,
            stats,
            ..
        } = self;
        for lane in lanes.iter_mut() {
            lane.flush(*io, stats, |charge| {
                with_body(state, &charge, |body| {
                    urr::refund(body, u32::from(charge.len));
                });
            });
        }
    }

    #[inline]
    fn charge(&mut self, charge: &Charge) {
        with_body(self.state, charge, |body| {
            urr::charge(body, u32::from(charge.len));
        });
    }

    #[inline]
    pub fn interface(&self, id: InterfaceId) -> Result<&'a Interface, DropReason> {
        self.tables
            .interfaces
            .get(usize::from(id))
            .ok_or(DropReason::NoRoute)
    }
}

/// The counters that a charge belongs to, if they are still ours.
#[inline]
fn with_body(state: &mut Owned<Line, Block>, charge: &Charge, f: impl FnOnce(&mut Body)) {
    match charge.at {
        None => {
            if let Some(line) = state.line_mut(charge.line) {
                f(&mut line.body);
            }
        }
        Some(at) => {
            if let Some(block) = state.ext_mut(at.block) {
                f(&mut block.rules[usize::from(at.rule)].body);
            }
        }
    }
}
