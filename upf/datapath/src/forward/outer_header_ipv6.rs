//! Outer header creation over IPv6: the UDP checksum covers the packet inside, so that is summed.

use crate::drop::DropReason;
use crate::forward::outer_header_creation::{FromInner, Tunnel, fields};
use crate::tables::PeerIpv6;
use sluice_port::Packet;
use sluice_wire::checksum::Sum;
use sluice_wire::gtpu::{OUTER_IPV6_LEN, OUTER_IPV6_PLAIN_LEN, PlainForm};
use sluice_wire::ids::Teid;

/// Puts the outer header in front of the inner packet.
#[inline(never)]
pub(super) fn create<P: Packet>(
    packet: &mut P,
    tunnel: &Tunnel,
    peer: &PeerIpv6,
    from: FromInner,
) -> Result<(), DropReason> {
    let Some(container) = tunnel.container() else {
        return create_plain(packet, tunnel.teid, peer, from, PlainForm::GPdu);
    };
    let inner = (packet.len(), Sum::of(packet.data()));
    // The compiler of rules takes no TEID 0 for an outer header.
    let teid = Teid::new(tunnel.teid).ok_or(DropReason::Internal)?;
    let out = front::<OUTER_IPV6_LEN, P>(packet)?;
    let written = (peer.outer()).write(out, &fields(teid, from, peer.marking), container, inner);
    written.map_err(|_| DropReason::TooBig)
}

/// The same without a PDU Session Container of our own.
#[inline(never)]
pub(super) fn create_plain<P: Packet>(
    packet: &mut P,
    teid: u32,
    peer: &PeerIpv6,
    from: FromInner,
    form: PlainForm,
) -> Result<(), DropReason> {
    let inner = (packet.len(), Sum::of(packet.data()));
    let teid = Teid::new(teid).ok_or(DropReason::Internal)?;
    let out = front::<OUTER_IPV6_PLAIN_LEN, P>(packet)?;
    let written = (peer.outer()).write_plain(out, &fields(teid, from, peer.marking), form, inner);
    written.map_err(|_| DropReason::TooBig)
}

/// New octets in front of a packet.
fn front<const N: usize, P: Packet>(packet: &mut P) -> Result<&mut [u8; N], DropReason> {
    let front = packet.push_front(N).ok();
    front
        .and_then(|front| front.first_chunk_mut())
        .ok_or(DropReason::NoHeadroom)
}
