//! FAR: forward, hold or drop, and the destination.

use crate::drop::DropReason;
use crate::forward::outer_header_creation::Tunnel;
use crate::forward::outer_header_removal::is_link_destination;
use crate::forward::pdr::At;
use crate::meta::Arrival;
use crate::session::rule::{Body, Flags, Head};
use crate::tables::{EgressId, PeerId};
use core::net::Ipv6Addr;
use sluice_port::Packet;
use sluice_wire::ipv4::decrement_ttl;
use sluice_wire::ipv6::{self, decrement_hop_limit, is_ipv6};

/// The way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForwardTo {
    /// Into a tunnel.
    Tunnel(Tunnel, PeerId),
    /// Plain, routed in a network instance.
    Plain(EgressId),
}

/// Why a rule lets a packet not pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It is dropped.
    Drop(DropReason),
    /// It is held (BUFF): by the entry's own rule, or by one of an extension block.
    Hold(Option<At>),
    /// It has paid its rates and waits until then, monotonic time in nanoseconds.
    Wait(u64),
}

impl From<DropReason> for Stop {
    fn from(reason: DropReason) -> Self {
        Self::Drop(reason)
    }
}

/// What the FAR of a rule says (TS 29.244, 5.2.3). `at` is where it stands if it is not the entry's own.
#[inline(always)]
pub fn decide(head: Head, at: Option<At>) -> Result<(), Stop> {
    if !head.flags.has(Flags::FORWARD) {
        return Err(stops(head, at));
    }
    Ok(())
}

/// What becomes of a packet that is not forwarded.
#[cold]
fn stops(head: Head, at: Option<At>) -> Stop {
    if head.flags.has(Flags::HOLD) {
        return Stop::Hold(at);
    }
    Stop::Drop(if head.flags.has(Flags::N4U) {
        DropReason::N4uAbsent
    } else {
        DropReason::FarDrop
    })
}

/// True if the packet gets an outer header.
#[inline(always)]
pub fn makes_tunnel(head: Head) -> bool {
    head.flags.has(Flags::CREATE_OUTER)
}

/// What the outer header says.
#[inline(always)]
pub fn tunnel(head: Head) -> Tunnel {
    Tunnel {
        teid: head.teid,
        qfi: head.flags.has(Flags::MARK_QFI).then_some(head.qfi_mark()),
        uplink: head.flags.has(Flags::UPLINK),
        relays: !head.flags.has_any(Flags::MARK_QFI.with(Flags::N4U)),
    }
}

/// The way out as one value, for packets that do not leave at once.
pub fn exit(head: Head, body: &Body) -> ForwardTo {
    if makes_tunnel(head) {
        ForwardTo::Tunnel(tunnel(head), body.peer())
    } else {
        ForwardTo::Plain(body.egress())
    }
}

/// True where the packet goes from tunnel to tunnel: on an N9 relay, which joins two tunnels of
/// one link, and where data is forwarded from gNB to gNB.
#[inline(always)]
pub fn relays(arrival: Arrival, head: Head) -> bool {
    arrival == Arrival::Tunnel && makes_tunnel(head)
}

/// Counts the hop where the packet is routed: between N3 and N6, not on a relay, and not of what was made
/// here for a UE's link (RFC 4861, 4.2: Router Advertisements have 255).
#[inline(always)]
pub fn hop<P: Packet>(packet: &mut P, relays: bool) -> Result<(), DropReason> {
    if relays {
        return Ok(());
    }
    let data = packet.data_mut();
    if is_ipv6(data) {
        let header = data.first_chunk_mut().ok_or(DropReason::InnerHeader)?;
        if is_link_destination(destination(header)) {
            return Ok(());
        }
        return decrement_hop_limit(header).map_err(|_| DropReason::TtlExceeded);
    }
    let header = data.first_chunk_mut().ok_or(DropReason::InnerHeader)?;
    decrement_ttl(header).map_err(|_| DropReason::TtlExceeded)
}

/// The destination in an IPv6 header (RFC 8200, 3).
#[inline(always)]
fn destination(header: &[u8; ipv6::HEADER_LEN]) -> Ipv6Addr {
    let octets = header.last_chunk::<16>();
    octets.map_or(Ipv6Addr::UNSPECIFIED, |octets| Ipv6Addr::from(*octets))
}
