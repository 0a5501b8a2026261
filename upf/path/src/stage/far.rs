//! FAR: forward or drop, and which way out.

use crate::drop::DropReason;
use crate::meta::Entry;
use crate::rule::{Body, Flags, Head};
use crate::stage::ohc::Tunnel;
use crate::stage::ohr::Inner;
use crate::tables::{EgressId, PeerId};
use sluice_port::Packet;
use sluice_wire::checksum;

/// The way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Into a tunnel.
    Tunnel(Tunnel, PeerId),
    /// Plain, routed in a network instance.
    Plain(EgressId),
}

/// What the FAR says (TS 29.244, 5.2.3).
#[inline]
pub fn decide(head: Head, body: &Body) -> Result<Exit, DropReason> {
    if !head.flags.has(Flags::FORWARD) {
        return Err(DropReason::FarDrop);
    }
    if !head.flags.has(Flags::CREATE_OUTER) {
        return Ok(Exit::Plain(body.egress));
    }
    let tunnel = Tunnel {
        teid: body.teid,
        qfi: head.flags.has(Flags::MARK_QFI).then_some(head.qfi_mark),
        uplink: head.flags.has(Flags::UPLINK),
    };
    Ok(Exit::Tunnel(tunnel, body.peer))
}

/// Counts the hop where the packet is routed: between N3 and N6, not on an N9 relay, which
/// joins two tunnels of one link.
#[inline]
pub fn hop<P: Packet>(
    packet: &mut P,
    inner: &Inner,
    entry: Entry,
    exit: &Exit,
) -> Result<(), DropReason> {
    if entry == Entry::Tunnel && matches!(exit, Exit::Tunnel(..)) {
        return Ok(());
    }
    if inner.ttl <= 1 {
        return Err(DropReason::TtlExceeded);
    }
    if let Some(h) = packet.data_mut().first_chunk_mut::<20>() {
        let old = u16::from_be_bytes([h[8], h[9]]);
        let sum = u16::from_be_bytes([h[10], h[11]]);
        h[8] -= 1;
        let sum = checksum::update_u16(sum, old, old - 0x0100);
        h[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    Ok(())
}
