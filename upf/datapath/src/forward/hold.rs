//! Packets for idle UEs (BUFF; TS 29.244, 5.2.4): the first one rings a bell.

use crate::bells::{Bell, BellCause};
use crate::drop::DropReason;
use crate::forward::path::Path;
use crate::forward::pdr::At;
use crate::forward::rules::State;
use crate::ids::EntryId;
use crate::meta::Meta;
use crate::session::rule::Head;
use sluice_port::{Packet, PortIo};
use sluice_wire::ipv6::{Ipv6, is_ipv6};
use sluice_wire::layout::ipv4;

impl<I: PortIo> Path<'_, I> {
    /// A packet met a rule that holds.
    #[cold]
    pub fn hold(&mut self, packet: I::Packet, meta: &Meta, at: Option<At>) {
        self.notify(meta.entry, at, dscp(packet.data()));
        self.discard(packet, DropReason::FarDrop);
    }

    /// The first packet that meets a rule with NOCP rings; the rule says it no more until it is written.
    fn notify(&mut self, entry: EntryId, at: Option<At>, dscp: u8) {
        let notifies = head(self.state, entry, at).is_some_and(|head| head.notifies());
        let bell = Bell {
            entry,
            cause: BellCause::DownlinkData { at, dscp },
        };
        if notifies
            && self.rings.ring_bell(bell)
            && let Some(head) = head(self.state, entry, at)
        {
            *head = head.notifying(false);
        }
    }
}

/// Where a rule stands.
fn head(state: &mut State, entry: EntryId, at: Option<At>) -> Option<&mut Head> {
    match at {
        None => state.entry_mut(entry.0).map(|entry| &mut entry.head),
        Some(at) => {
            let block = state.ext_mut(at.block().0)?;
            block.rules.get_mut(at.rule()).map(|rule| &mut rule.head)
        }
    }
}

/// DSCP of an IP packet.
fn dscp(inner: &[u8]) -> u8 {
    let tos = match is_ipv6(inner) {
        true => Ipv6::parse(inner).map_or(0, |ip| ip.traffic_class()),
        false => inner.get(ipv4::TOS).copied().unwrap_or(0),
    };
    tos >> 2
}
