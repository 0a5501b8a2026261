//! Header match: mask and compare of common frames, one G-PDU with nothing but a PDU Session Container
//! or without extension headers, one plain IPv4 packet, in headers without options, or one plain IPv6 packet.
//! Nearly all packets have it; a handful of word compares tell.
//!
//! Whatever is not as usual is left to [`crate::rx::parse`], which knows every form and the
//! reason for each drop. So a shape may say no too often, never yes too often.

use crate::forward::mss_clamp;
use crate::ids::{EntryId, InterfaceId};
use crate::lookup::layout::InstanceId;
use crate::meta::{Arrival, Meta, NO_QFI};
use crate::nat::pool::NatPools;
use crate::topology::{Interface, Prefix};
use core::net::Ipv6Addr;
use sluice_wire::checksum::Sum;
use sluice_wire::eth::EtherType;
use sluice_wire::gtpu::{ExtensionType, MessageType, PORT};
use sluice_wire::ipv4::Protocol;
use sluice_wire::ipv6::Ipv6;
use sluice_wire::layout::gtpu::{FLAG_E, FLAGS_V1, PDU_TYPE_MASK, QFI_MASK};
use sluice_wire::layout::ipv4::{FRAGMENT_MASK, VERSION_4_NO_OPTIONS};
use sluice_wire::layout::{be16, be32, eth, gtpu, ipv4, udp};

/// Octets of an Ethernet header, and with an IEEE 802.1Q tag.
pub(crate) use sluice_wire::layout::eth::{LEN as UNTAGGED, TAGGED_LEN as TAGGED};

/// From the outer IPv4 header to the headers behind it, and to the inner packet with a container or
/// without.
const UDP_AT: usize = ipv4::LEN;
const GTPU_AT: usize = UDP_AT + udp::LEN;
const OUTER_LEN: usize = GTPU_AT + gtpu::CONTAINER_HEADER_LEN;
const BARE_LEN: usize = GTPU_AT + gtpu::LEN;
const FLAGS_AT: usize = GTPU_AT + gtpu::FLAGS;
const TEID_AT: usize = GTPU_AT + gtpu::TEID;
/// The window that is looked at: up to the first octet of the inner packet, behind a tag, too.
const WORDS: usize = 8;
/// Of it, what is compared of a tunnel packet: up to the TEID.
const TUNNEL_WORDS: usize = 7;
/// The optional octets of a GTP-U header and a PDU Session Container: the next extension header's
/// type, the container's length in words, its PDU type (downlink or uplink) and the end of the
/// extension headers (TS 29.281, 5.1, TS 38.415); and which of their bits do not vary.
const CONTAINER: [u8; 8] = optional_octets(ExtensionType::PDU_SESSION_CONTAINER.0, 1, 0, 0);
const CONTAINER_MASK: [u8; 8] = optional_octets(0xff, 0xff, PDU_TYPE_MASK & !UPLINK, 0xff);
/// PDU type of the uplink; that of the downlink has no bit.
const UPLINK: u8 = 0x10;
/// Our own addresses on one interface that a plain packet may be for.
const OWN_ADDRESSES: usize = 4;
/// First octet of an IPv6 packet, and its bits that do not vary (RFC 8200, 3).
const VERSION_6: u8 = 0x60;
const VERSION_MASK: u8 = 0xf0;

/// What stands behind the TEID, with a value for each octet that is looked at.
const fn optional_octets(extension: u8, len: u8, pdu_type: u8, next: u8) -> [u8; 8] {
    let mut octets = [0; 8];
    octets[gtpu::EXTENSION_TYPE - gtpu::LEN] = extension;
    octets[gtpu::CONTAINER_LEN - gtpu::LEN] = len;
    octets[gtpu::CONTAINER_PDU_TYPE - gtpu::LEN] = pdu_type;
    octets[gtpu::CONTAINER_NEXT - gtpu::LEN] = next;
    octets
}

/// What a frame that arrives in one way looks like.
#[derive(Clone, Debug)]
pub struct HeaderMatch {
    /// The window's octets, 0 where they vary.
    pattern: [u64; WORDS],
    /// Bits of the window that do not vary.
    mask: [u64; WORDS],
    form: FrameForm,
    interface: InterfaceId,
    /// Number of the tunnel address or of the network instance.
    local: u8,
    allowed_peers: Vec<Prefix>,
    verifies_udp: bool,
    /// Some interface clamps TCP segments: SYNs do not match.
    leaves_syns: bool,
    /// Addresses of ours, where a plain packet's way ends; 0 is none.
    own: [u32; OWN_ADDRESSES],
    /// The same of IPv6.
    own_ipv6: Vec<Ipv6Addr>,
}

/// What is looked at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameForm {
    /// A G-PDU.
    Tunnel,
    /// A G-PDU behind an IEEE 802.1Q tag.
    TaggedTunnel,
    /// An IPv4 packet.
    Plain,
    /// An IPv4 packet behind an IEEE 802.1Q tag.
    TaggedPlain,
    /// An IPv6 packet.
    PlainIpv6,
    /// An IPv6 packet behind an IEEE 802.1Q tag.
    TaggedPlainIpv6,
}

impl HeaderMatch {
    /// The shapes of what an interface receives.
    pub fn of(id: InterfaceId, interface: &Interface) -> Vec<Self> {
        // Where IPv6 peers alone are allowed, *parse* refuses those of IPv4.
        let has_ipv4 =
            !interface.allowed_peers.is_empty() || interface.allowed_peers_ipv6.is_empty();
        let tunnels = interface.tunnels.iter().filter(|_| has_ipv4).map(|tunnel| {
            let mut drawing = HeaderMatchBuilder::of(interface);
            drawing.tunnel(u32::from(tunnel.address));
            drawing.shape(id, tunnel.local, interface)
        });
        let plain = interface.arrives_in().and_then(|instance| {
            let shape = HeaderMatchBuilder::of(interface).shape(id, instance.0, interface);
            shape.with_own_addresses(interface)
        });
        let of_ipv6 = interface
            .instance
            .filter(|_| !interface.addresses_ipv6.is_empty());
        let ipv6 = of_ipv6.map(|instance| {
            let mut drawing = HeaderMatchBuilder::of(interface);
            drawing.ipv6();
            let mut shape = drawing.shape(id, instance.0, interface);
            shape.own_ipv6.clone_from(&interface.addresses_ipv6);
            shape
        });
        tunnels.chain(plain).chain(ipv6).collect()
    }

    /// The same, if `leaves_syns` for all but TCP SYNs.
    #[must_use]
    pub fn leaving_syns(mut self, leaves_syns: bool) -> Self {
        self.leaves_syns = leaves_syns;
        self
    }

    /// Its form.
    #[inline]
    pub fn form(&self) -> FrameForm {
        self.form
    }

    /// Whether plain packets of this shape come for public addresses.
    #[inline]
    pub(crate) fn is_public(&self, nat: &NatPools) -> bool {
        let is_plain = matches!(self.form, FrameForm::Plain | FrameForm::TaggedPlain);
        is_plain && nat.outside(InstanceId(self.local)).is_some()
    }

    /// The meta of a frame of this shape, not placed yet.
    #[inline(always)]
    pub fn meta(&self, frame: &[u8]) -> Option<Meta> {
        match self.form {
            FrameForm::Tunnel => self.tunnelled::<UNTAGGED>(frame),
            FrameForm::Plain => self.plain::<UNTAGGED>(frame),
            FrameForm::TaggedTunnel => self.tunnelled::<TAGGED>(frame),
            FrameForm::TaggedPlain => self.plain::<TAGGED>(frame),
            FrameForm::PlainIpv6 => self.plain_ipv6::<UNTAGGED>(frame),
            FrameForm::TaggedPlainIpv6 => self.plain_ipv6::<TAGGED>(frame),
        }
    }

    /// The same if its form is a tunnel's, with the IP header at `AT`.
    #[inline(always)]
    pub(crate) fn tunnelled<const AT: usize>(&self, frame: &[u8]) -> Option<Meta> {
        let window: &[u8; 8 * WORDS] = frame.first_chunk()?;
        let total = be16(window, AT + ipv4::TOTAL_LEN);
        let (outer_len, qfi) = match window[AT + FLAGS_AT] & FLAG_E {
            0 => (BARE_LEN, NO_QFI),
            _ => (
                OUTER_LEN,
                window[AT + GTPU_AT + gtpu::CONTAINER_QFI] & QFI_MASK,
            ),
        };
        let has_container = qfi != NO_QFI;
        let lengths_agree = usize::from(total) + AT <= frame.len()
            && usize::from(total) >= outer_len + ipv4::LEN
            && be16(window, AT + UDP_AT + udp::LENGTH) == total.wrapping_sub(UDP_AT as u16)
            && be16(window, AT + GTPU_AT + gtpu::LENGTH) == total.wrapping_sub(BARE_LEN as u16)
            && be32(window, AT + TEID_AT) != 0;
        let version = window[AT + outer_len];
        let is_ip = version == VERSION_4_NO_OPTIONS || version & VERSION_MASK == VERSION_6;
        let behind = is_ip && (!has_container || container::<AT>(window));
        let fits = self.fits::<TUNNEL_WORDS>(window) && behind;
        if !fits || !lengths_agree || !sums_up(header::<AT>(window)) {
            return None;
        }
        if be16(window, AT + UDP_AT + udp::CHECKSUM) != 0
            && self.verifies_udp
            && !is_undamaged::<AT>(frame)
        {
            return None;
        }
        if self.leaves_syns && is_syn(frame, AT + outer_len) {
            return None;
        }
        let outer_src = be32(window, AT + ipv4::SOURCE);
        let allowed = &self.allowed_peers;
        if !allowed.is_empty() && !allowed.iter().any(|p| p.contains(outer_src)) {
            return None;
        }
        Some(Meta {
            key: be32(window, AT + TEID_AT),
            entry: EntryId(0),
            outer_src,
            inner_at: (AT + outer_len) as u16,
            inner_len: total - outer_len as u16,
            qfi,
            interface: self.interface,
            local: self.local,
            arrival: Arrival::Tunnel,
            fast_path: true,
            traced: 0,
        })
    }

    /// The same if its form is a plain one, with the IP header at `AT`.
    #[inline(always)]
    pub(crate) fn plain<const AT: usize>(&self, frame: &[u8]) -> Option<Meta> {
        let window: &[u8; 40] = frame.first_chunk()?;
        let total = be16(window, AT + ipv4::TOTAL_LEN);
        let dst = be32(window, AT + ipv4::DESTINATION);
        let fits = self.fits::<3>(window);
        let whole = usize::from(total) + AT <= frame.len() && usize::from(total) >= ipv4::LEN;
        if !fits || !whole || !sums_up(header::<AT>(window)) || self.own.contains(&dst) {
            return None;
        }
        if self.leaves_syns && is_syn(frame, AT) {
            return None;
        }
        Some(Meta {
            key: dst,
            entry: EntryId(0),
            outer_src: 0,
            inner_at: AT as u16,
            inner_len: total,
            qfi: NO_QFI,
            interface: self.interface,
            local: self.local,
            arrival: Arrival::Plain,
            fast_path: true,
            traced: 0,
        })
    }

    /// The same if its form is that of plain IPv6, with the IP header at `AT`.
    #[inline(always)]
    pub(crate) fn plain_ipv6<const AT: usize>(&self, frame: &[u8]) -> Option<Meta> {
        let window: &[u8; 40] = frame.first_chunk()?;
        if !self.fits::<3>(window) {
            return None;
        }
        let ip = Ipv6::parse(frame.get(AT..)?).ok()?;
        let destination = ip.destination();
        let is_passed_on = !destination.is_multicast() && !destination.is_unicast_link_local();
        if !is_passed_on || self.own_ipv6.contains(&destination) {
            return None;
        }
        if self.leaves_syns && is_syn(frame, AT) {
            return None;
        }
        Some(Meta {
            inner_at: AT as u16,
            inner_len: u16::try_from(ip.total_len()).ok()?,
            interface: self.interface,
            fast_path: true,
            ..Meta::to_prefix(ip.destination_prefix(), self.local)
        })
    }

    /// Whether the first words are as they always are.
    #[inline(always)]
    fn fits<const N: usize>(&self, window: &[u8]) -> bool {
        let words = window.as_chunks::<8>().0.first_chunk::<N>();
        let ideal = (
            self.pattern.first_chunk::<N>(),
            self.mask.first_chunk::<N>(),
        );
        let (Some(words), (Some(pattern), Some(mask))) = (words, ideal) else {
            return false;
        };
        let differing = |at: usize| (u64::from_ne_bytes(words[at]) ^ pattern[at]) & mask[at];
        (0..N).fold(0, |all, at| all | differing(at)) == 0
    }

    /// None if there are more of them than are compared.
    fn with_own_addresses(mut self, interface: &Interface) -> Option<Self> {
        let tunnels = interface.tunnels.iter().map(|t| t.address);
        let own = interface.addresses.iter().copied().chain(tunnels);
        for (at, address) in own.enumerate() {
            *self.own.get_mut(at)? = u32::from(address);
        }
        Some(self)
    }
}

/// The IPv4 header in a window.
#[inline(always)]
fn header<const AT: usize>(window: &[u8]) -> &[u8; ipv4::LEN] {
    window[AT..].first_chunk().expect("windows hold one")
}

/// Whether an IPv4 header's checksum is right.
#[inline(always)]
pub(crate) fn sums_up(header: &[u8; ipv4::LEN]) -> bool {
    Sum::of_ipv4_header(header).verifies()
}

/// Whether what follows the TEID is a PDU Session Container and nothing else.
#[inline(always)]
fn container<const AT: usize>(window: &[u8; 8 * WORDS]) -> bool {
    let word = |octets: &[u8; 8]| u64::from_ne_bytes(*octets);
    let found = window[AT + BARE_LEN..].first_chunk().map_or(0, word);
    (found ^ word(&CONTAINER)) & word(&CONTAINER_MASK) == 0
}

/// Whether the inner packet may be a TCP SYN.
#[inline(always)]
fn is_syn(frame: &[u8], inner_at: usize) -> bool {
    frame.get(inner_at..).is_some_and(mss_clamp::may_be_syn)
}

/// Whether the UDP checksum of a datagram is right whose lengths agree, in an IPv4 packet at `AT`
/// without options (RFC 768).
#[inline(always)]
fn is_undamaged<const AT: usize>(frame: &[u8]) -> bool {
    let Some(head) = frame.first_chunk::<{ 8 * WORDS }>() else {
        return false;
    };
    let total = usize::from(be16(head, AT + ipv4::TOTAL_LEN));
    let (addresses, datagram) = (AT + ipv4::SOURCE..AT + UDP_AT, AT + UDP_AT..AT + total);
    let (Some(addresses), Some(datagram)) = (frame.get(addresses), frame.get(datagram)) else {
        return false;
    };
    Sum::of(addresses)
        .add_u16(Protocol::UDP.0.into())
        .add_u16(datagram.len() as u16)
        .add_bytes(datagram)
        .verifies()
}

/// A window on its way to a shape.
struct HeaderMatchBuilder {
    octets: [u8; 8 * WORDS],
    mask: [u8; 8 * WORDS],
    /// Where the IPv4 header begins.
    at: usize,
    is_tunnel: bool,
    is_ipv6: bool,
}

impl HeaderMatchBuilder {
    /// An IPv4 packet without options, for the MAC address and VLAN of `interface`.
    fn of(interface: &Interface) -> Self {
        let mut drawing = Self {
            octets: [0; 8 * WORDS],
            mask: [0; 8 * WORDS],
            at: if interface.vlan.is_some() {
                TAGGED
            } else {
                UNTAGGED
            },
            is_tunnel: false,
            is_ipv6: false,
        };
        drawing.always(eth::DESTINATION.start, &interface.mac);
        if let Some(vlan) = interface.vlan {
            drawing.always(eth::ETHERTYPE.start, &EtherType::VLAN.0.to_be_bytes());
            let ([high, low], mask) = (vlan.to_be_bytes(), eth::VLAN_MASK.to_be_bytes());
            drawing.masked(eth::TCI.start, high, mask[0]);
            drawing.masked(eth::TCI.start + 1, low, mask[1]);
        }
        drawing.always(drawing.at - 2, &EtherType::IPV4.0.to_be_bytes());
        drawing.always(drawing.at, &[VERSION_4_NO_OPTIONS]);
        drawing
    }

    /// An IPv6 packet in place of one of IPv4.
    fn ipv6(&mut self) {
        let at = self.at;
        self.is_ipv6 = true;
        self.always(at - 2, &EtherType::IPV6.0.to_be_bytes());
        self.masked(at, VERSION_6, VERSION_MASK);
    }

    /// A G-PDU for one of our tunnel addresses, up to its TEID, with extension headers or without.
    fn tunnel(&mut self, address: u32) {
        let (ip, udp_at, gtpu_at) = (self.at, self.at + UDP_AT, self.at + GTPU_AT);
        self.is_tunnel = true;
        // No fragment; DF may be set.
        let [high, low] = FRAGMENT_MASK.to_be_bytes();
        self.masked(ip + ipv4::FRAGMENT, 0, high);
        self.masked(ip + ipv4::FRAGMENT + 1, 0, low);
        // ECT(1) and CE outside may change the packet inside (RFC 6040, 4.2).
        self.masked(ip + ipv4::TOS, 0, 1);
        self.always(ip + ipv4::PROTOCOL, &[Protocol::UDP.0]);
        self.always(ip + ipv4::DESTINATION, &address.to_be_bytes());
        self.always(udp_at + udp::DESTINATION_PORT, &PORT.to_be_bytes());
        self.masked(gtpu_at + gtpu::FLAGS, FLAGS_V1, !FLAG_E);
        self.always(gtpu_at + gtpu::MESSAGE_TYPE, &[MessageType::G_PDU.0]);
    }

    fn shape(self, interface: InterfaceId, local: u8, config: &Interface) -> HeaderMatch {
        let word = |octets: &[u8; 8 * WORDS], at: usize| {
            let (words, _) = octets.as_chunks::<8>();
            u64::from_ne_bytes(words[at])
        };
        let form = match (self.is_tunnel, self.is_ipv6, config.vlan) {
            (true, _, None) => FrameForm::Tunnel,
            (true, _, Some(_)) => FrameForm::TaggedTunnel,
            (false, false, None) => FrameForm::Plain,
            (false, false, Some(_)) => FrameForm::TaggedPlain,
            (false, true, None) => FrameForm::PlainIpv6,
            (false, true, Some(_)) => FrameForm::TaggedPlainIpv6,
        };
        HeaderMatch {
            pattern: core::array::from_fn(|at| word(&self.octets, at)),
            mask: core::array::from_fn(|at| word(&self.mask, at)),
            form,
            interface,
            local,
            allowed_peers: config.allowed_peers.clone(),
            verifies_udp: config.verifies_udp,
            leaves_syns: false,
            own: [0; OWN_ADDRESSES],
            own_ipv6: Vec::new(),
        }
    }

    fn always(&mut self, at: usize, octets: &[u8]) {
        for (i, octet) in octets.iter().enumerate() {
            self.masked(at + i, *octet, 0xff);
        }
    }

    fn masked(&mut self, at: usize, octet: u8, mask: u8) {
        self.octets[at] = octet & mask;
        self.mask[at] = mask;
    }
}

#[cfg(test)]
mod tests;
