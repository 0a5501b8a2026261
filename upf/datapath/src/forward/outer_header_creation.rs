//! Outer header creation: IPv4 or IPv6, UDP and GTP-U with or without a PDU Session Container.

use crate::drop::DropReason;
use crate::forward::extension_headers::ExtHeaders;
use crate::forward::marking::{DscpByQfi, Marking};
use crate::forward::{marking, outer_header_removal};
use crate::tables::{Peer, PeerId, PeerIpv6, TunnelPeer};
use sluice_port::Packet;
use sluice_wire::checksum::Sum;
use sluice_wire::gtpu::{
    MessageType, OUTER_IPV4_LEN, OUTER_IPV4_PLAIN_LEN, OUTER_IPV6_LEN, OUTER_IPV6_PLAIN_LEN,
    OuterFields, PlainForm, ShortContainer,
};
use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::layout::gtpu::{FLAG_E, MESSAGE_TYPE};
use sluice_wire::layout::{ipv4, udp};

/// First port of the dynamic range (RFC 6335); the flow hash fills the 14 bits behind it.
const DYNAMIC_PORTS: u16 = 0xc000;

/// From the outer IPv4 header to the GTP-U header.
const GTPU_AT: usize = ipv4::LEN + udp::LEN;

/// What the GTP-U header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tunnel {
    /// TEID of the peer.
    pub teid: u32,
    /// QFI of the PDU Session Container; without it there is no container.
    pub qfi: Option<u8>,
    /// The container's PDU type: uplink from the UE's side (towards an anchor).
    pub uplink: bool,
    /// Extension headers of the tunnel that the packet came by go on, if it came by one.
    pub relays: bool,
}

impl Tunnel {
    /// A header without a container.
    pub fn bare(teid: u32) -> Self {
        Self {
            teid,
            qfi: None,
            uplink: false,
            relays: false,
        }
    }

    /// The PDU Session Container, if there is one.
    #[inline(always)]
    pub(super) fn container(&self) -> Option<ShortContainer> {
        let qfi = Qfi::new(self.qfi?)?;
        Some(if self.uplink {
            ShortContainer::uplink(qfi)
        } else {
            ShortContainer::downlink(qfi, false)
        })
    }
}

/// What an outer header takes from the packet inside.
#[derive(Clone, Copy, Debug, Default)]
pub struct FromInner {
    /// Its flow's hash.
    pub flow_hash: u32,
    /// DSCP of its QFI, and its ECN bits.
    pub tos: u8,
}

impl FromInner {
    /// Of an inner packet that was checked.
    #[inline(always)]
    pub fn of(inner: &[u8], tunnel: &Tunnel, dscp: &DscpByQfi) -> Self {
        Self {
            flow_hash: outer_header_removal::flow_hash(inner),
            tos: dscp.outer(tunnel.qfi, marking::tos(inner)),
        }
    }
}

/// Outer header creation for a relayed packet: `kept` stands between the header and the packet.
pub fn relay<P: Packet>(
    packet: &mut P,
    tunnel: &Tunnel,
    peer: &TunnelPeer,
    from: FromInner,
    kept: &ExtHeaders,
) -> Result<(), DropReason> {
    if kept.is_empty() {
        return create(packet, tunnel, peer, from);
    }
    let front = packet.push_front(kept.len());
    front
        .map_err(|_| DropReason::NoHeadroom)?
        .copy_from_slice(kept);
    let peer = match peer {
        TunnelPeer::Ipv4(peer) => peer,
        TunnelPeer::Ipv6(peer) => {
            let form = PlainForm::GPduWithExtensions;
            return create_plain_ipv6(packet, tunnel.teid, peer, from, form);
        }
    };
    create_ipv4(packet, &Tunnel::bare(tunnel.teid), peer, from)?;
    if let Some(flags) = packet.data_mut().get_mut(GTPU_AT) {
        *flags |= FLAG_E;
    }
    Ok(())
}

/// Makes an empty packet the End Marker of a tunnel.
#[cold]
pub fn end_marker<P: Packet>(
    packet: &mut P,
    teid: u32,
    peer: &TunnelPeer,
) -> Result<(), DropReason> {
    let from = FromInner::default();
    let peer = match peer {
        TunnelPeer::Ipv4(peer) => peer,
        TunnelPeer::Ipv6(peer) => {
            let form = PlainForm::EndMarker;
            return create_plain_ipv6(packet, teid, peer, from, form);
        }
    };
    create_ipv4(packet, &Tunnel::bare(teid), peer, from)?;
    if let Some(kind) = packet.data_mut().get_mut(GTPU_AT + MESSAGE_TYPE) {
        *kind = MessageType::END_MARKER.0;
    }
    Ok(())
}

/// How many bytes the outer header takes.
#[inline(always)]
pub fn len(tunnel: &Tunnel, peer: PeerId) -> usize {
    match (tunnel.qfi, peer.is_ipv6()) {
        (Some(_), false) => OUTER_IPV4_LEN,
        (None, false) => OUTER_IPV4_PLAIN_LEN,
        (Some(_), true) => OUTER_IPV6_LEN,
        (None, true) => OUTER_IPV6_PLAIN_LEN,
    }
}

/// What varies in an outer header.
#[inline(always)]
pub fn fields(teid: Teid, from: FromInner, marking: Marking) -> OuterFields {
    OuterFields {
        tos: marking.mark(from.tos),
        // An atomic datagram: DF is set, so the identification may repeat (RFC 6864, 4.1).
        identification: 0,
        source_port: DYNAMIC_PORTS | (from.flow_hash & 0x3fff) as u16,
        teid,
    }
}

/// Puts the outer header in front of the inner packet.
#[inline(always)]
pub fn create<P: Packet>(
    packet: &mut P,
    tunnel: &Tunnel,
    peer: &TunnelPeer,
    from: FromInner,
) -> Result<(), DropReason> {
    match peer {
        TunnelPeer::Ipv4(peer) => create_ipv4(packet, tunnel, peer, from),
        TunnelPeer::Ipv6(peer) => create_ipv6(packet, tunnel, peer, from),
    }
}

#[inline(always)]
fn create_ipv4<P: Packet>(
    packet: &mut P,
    tunnel: &Tunnel,
    peer: &Peer,
    from: FromInner,
) -> Result<(), DropReason> {
    let inner_len = packet.len();
    // The compiler of rules takes no TEID 0 for an outer header.
    let teid = Teid::new(tunnel.teid).ok_or(DropReason::Internal)?;
    let fields = fields(teid, from, peer.marking);
    let front = packet
        .push_front(match tunnel.qfi {
            Some(_) => OUTER_IPV4_LEN,
            None => OUTER_IPV4_PLAIN_LEN,
        })
        .map_err(|_| DropReason::NoHeadroom)?;
    let written = match tunnel.container() {
        Some(container) => {
            let out = front.first_chunk_mut().ok_or(DropReason::NoHeadroom)?;
            peer.outer().write(out, &fields, container, inner_len)
        }
        None => {
            let out = front.first_chunk_mut().ok_or(DropReason::NoHeadroom)?;
            peer.outer().write_plain(out, &fields, inner_len)
        }
    };
    written.map_err(|_| DropReason::TooBig)
}

/// Puts the outer header in front of the inner packet.
#[inline(never)]
fn create_ipv6<P: Packet>(
    packet: &mut P,
    tunnel: &Tunnel,
    peer: &PeerIpv6,
    from: FromInner,
) -> Result<(), DropReason> {
    let Some(container) = tunnel.container() else {
        return create_plain_ipv6(packet, tunnel.teid, peer, from, PlainForm::GPdu);
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
fn create_plain_ipv6<P: Packet>(
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
