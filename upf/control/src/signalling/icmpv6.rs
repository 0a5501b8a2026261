//! ICMPv6 (RFC 4443) at our own addresses: echo, and errors for UEs and towards the data network; GTP-U over IPv6
//! on its way further on.

use super::way_back::{Arrived, From};
use super::{Control, Event, PrefixOwners};
use crate::frame::{self, FlowIpv6, Frames};
use core::net::Ipv6Addr;
use sluice_datapath::message::{IcmpCause, IcmpNotice, Sender};
use sluice_datapath::tables::{Interface, InterfaceId};
use sluice_wire::eth::{Eth, MacAddr};
use sluice_wire::gtpu::PORT;
use sluice_wire::icmpv6::{
    ECHO_REQUEST, ErrorMessage, Icmpv6, Icmpv6Error, NEIGHBOUR_ADVERTISEMENT,
    NEIGHBOUR_SOLICITATION, may_answer_with_error, turn_into_reply, write_error,
};
use sluice_wire::ipv6::{Ipv6, MIN_MTU, Protocol, pseudo_header_sum};
use sluice_wire::udp::Udp;

/// Hop limit of what may leave the link.
const HOP_LIMIT: u8 = 64;

/// Sends an ICMPv6 message back; false if it is too long.
fn send(arrived: &Arrived<'_, Ipv6<'_>>, message: &[u8], out: &mut impl Frames) -> bool {
    let back = FlowIpv6 {
        mac: arrived.mac(),
        source: arrived.ip.destination(),
        destination: arrived.ip.source(),
        hop_limit: HOP_LIMIT,
    };
    let frame = frame::icmpv6(arrived.interface, &back, message);
    frame.is_some_and(|frame| {
        arrived.send(&frame, out);
        true
    })
}

fn whole<'a>(bytes: &'a [u8], ip: &Ipv6<'_>) -> &'a [u8] {
    bytes.get(..ip.total_len()).unwrap_or(bytes)
}

impl Control {
    pub(super) fn answer_ipv6(
        &mut self,
        now_ns: u64,
        id: InterfaceId,
        interface: &Interface,
        eth: &Eth<'_>,
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) -> Option<Event> {
        let Ok(ip) = Ipv6::parse(eth.payload()) else {
            self.counters.ignored += 1;
            return None;
        };
        if let Ok(NEIGHBOUR_SOLICITATION | NEIGHBOUR_ADVERTISEMENT) =
            Icmpv6::parse(&ip).map(|icmp| icmp.kind())
        {
            self.discovery(now_ns, id, interface, (eth.source(), &ip), owners, out);
            return None;
        }
        let arrived = Arrived {
            id,
            interface,
            from: From::Link(eth.source()),
            ip,
            packet: whole(eth.payload(), &ip),
        };
        if let Some(udp) = gtpu_of(&arrived) {
            return self.gtpu_datagram(now_ns, &arrived, &udp, out);
        }
        self.answer_at_own_address(now_ns, &arrived, out);
        None
    }

    pub(super) fn answer_ue_ipv6(
        &mut self,
        now_ns: u64,
        (id, interface): (InterfaceId, &Interface),
        packet: &[u8],
        from: From,
        out: &mut impl Frames,
    ) {
        let Ok(ip) = Ipv6::parse(packet) else {
            self.counters.ignored += 1;
            return;
        };
        let arrived = Arrived {
            id,
            interface,
            from,
            ip,
            packet: whole(packet, &ip),
        };
        self.answer_at_own_address(now_ns, &arrived, out);
    }

    fn answer_at_own_address(
        &mut self,
        now_ns: u64,
        arrived: &Arrived<'_, Ipv6<'_>>,
        out: &mut impl Frames,
    ) {
        let (source, destination) = (arrived.ip.source(), arrived.ip.destination());
        let own = &arrived.interface.addresses_ipv6;
        let is_answerable = own.contains(&destination)
            && !own.contains(&source)
            && !source.is_unspecified()
            && !source.is_multicast();
        match Icmpv6::parse(&arrived.ip) {
            _ if !is_answerable => self.counters.ignored += 1,
            Ok(icmp) if icmp.kind() == ECHO_REQUEST => self.echo_ipv6(arrived, out),
            // RFC 1122, 4.1.3.4: a damaged datagram is discarded silently.
            Err(Icmpv6Error::Protocol(Protocol::UDP | Protocol::TCP))
                if is_undamaged(&arrived.ip) =>
            {
                self.unreachable_ipv6(now_ns, arrived, out);
            }
            _ => self.counters.ignored += 1,
        }
    }

    fn echo_ipv6(&mut self, arrived: &Arrived<'_, Ipv6<'_>>, out: &mut impl Frames) {
        let mut message = frame::Frame::new();
        // Behind extension headers, which the answer does not repeat.
        let request = arrived.ip.upper_layer().payload;
        let fits = message.try_extend_from_slice(request).is_ok();
        let is_reply = fits && turn_into_reply(&mut message);
        match is_reply && send(arrived, &message, out) {
            true => self.counters.icmpv6_echo_replies += 1,
            false => self.counters.ignored += 1,
        }
    }

    /// Nothing listens at our addresses: neither TCP nor UDP (RFC 4443, 3.1).
    fn unreachable_ipv6(
        &mut self,
        now_ns: u64,
        arrived: &Arrived<'_, Ipv6<'_>>,
        out: &mut impl Frames,
    ) {
        let error = ErrorMessage::PortUnreachable;
        if !may_answer_with_error(&arrived.ip, error) {
            self.counters.ignored += 1;
            return;
        }
        if !self.icmp_errors.allow((), now_ns) {
            self.counters.limited += 1;
            return;
        }
        let mut message = [0; MIN_MTU];
        let (from, to) = (arrived.ip.destination(), arrived.ip.source());
        let written = write_error(&mut message, from, to, error, arrived.packet);
        if let Some(message) = written.and_then(|len| message.get(..len))
            && send(arrived, message, out)
        {
            self.counters.icmpv6_errors += 1;
        }
    }

    /// An ICMPv6 error about an inner packet: to a UE through its session, to the data network by the next
    /// hop. No sender may be told of an MTU below 1280 (RFC 8200, 5).
    pub(super) fn send_icmpv6_error(
        &mut self,
        now_ns: u64,
        inner: &[u8],
        notice: IcmpNotice,
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) {
        let Ok(ip) = Ipv6::parse(inner) else {
            self.counters.ignored += 1;
            return;
        };
        let error = match notice.cause {
            IcmpCause::TtlExceeded => ErrorMessage::HopLimitExceeded,
            IcmpCause::TooBig(mtu) => ErrorMessage::PacketTooBig {
                mtu: u32::from(mtu).max(MIN_MTU as u32),
            },
        };
        // What we sent ourselves needs no error to ourselves.
        let source = ip.source();
        let ours = |i: &Interface| i.addresses_ipv6.contains(&source);
        if !may_answer_with_error(&ip, error)
            || source.is_unicast_link_local()
            || self.tables.interfaces.iter().any(ours)
        {
            self.counters.ignored += 1;
            return;
        }
        let original = whole(inner, &ip);
        let ue_side = self.ue_side_ipv6(source, notice.sender, owners);
        let to_station = (source.into(), notice.sender);
        let way = self.way_to_sender(now_ns, to_station, ue_side, out);
        if let Some((id, interface, way)) = way
            && let Some(frame) =
                error_frame(&interface, way.mac(&interface), source, error, original)
        {
            self.counters.icmpv6_errors += 1;
            way.send(id, &interface, &frame, out);
        }
    }

    /// The plain interface behind which the path finds the UE with this address.
    fn ue_side_ipv6(
        &self,
        address: Ipv6Addr,
        sender: Sender,
        owners: &impl PrefixOwners,
    ) -> Option<InterfaceId> {
        let instance = self.instance_of_ue(address.into(), sender, owners)?;
        self.directory.ipv6_interface_of(instance)
    }
}

/// An error from the first address of an interface, which is no link-local one.
fn error_frame(
    interface: &Interface,
    mac: MacAddr,
    to: Ipv6Addr,
    error: ErrorMessage,
    original: &[u8],
) -> Option<frame::Frame> {
    let flow = FlowIpv6 {
        mac,
        source: *interface.addresses_ipv6.first()?,
        destination: to,
        hop_limit: HOP_LIMIT,
    };
    let mut message = [0; MIN_MTU];
    let len = write_error(&mut message, flow.source, to, error, original)?;
    frame::icmpv6(interface, &flow, message.get(..len)?)
}

/// An undamaged datagram to the GTP-U port of a tunnel address.
fn gtpu_of<'a>(arrived: &Arrived<'a, Ipv6<'a>>) -> Option<Udp<'a>> {
    let ip = &arrived.ip;
    let mut tunnels = arrived.interface.tunnels_ipv6.iter();
    let is_served = tunnels.any(|tunnel| tunnel.address == ip.destination());
    let upper = ip.upper_layer();
    let is_udp = upper.protocol == Protocol::UDP && is_served && is_undamaged(ip);
    let udp = Udp::parse(upper.payload).ok().filter(|_| is_udp)?;
    (udp.destination_port() == PORT && udp.checksum().is_some()).then_some(udp)
}

/// Whether the checksum of a whole UDP datagram or TCP segment is right; IPv6 knows none without one
/// (RFC 8200, 8.1).
fn is_undamaged(ip: &Ipv6<'_>) -> bool {
    let upper = ip.upper_layer();
    let len = upper.payload.len() as u32;
    let sum = pseudo_header_sum(ip.source(), ip.destination(), upper.protocol, len);
    !upper.is_fragment && sum.add_bytes(upper.payload).verifies()
}
