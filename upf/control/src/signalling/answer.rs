//! Responses to packets for Sluice's own addresses: ARP, ICMP echo, and IPv6 and GTP-U signalling further
//! on.

use super::discovery::leads_to_ue;
use super::way_back::{Arrived, From};
use super::{Control, Event, PrefixOwners};
use crate::config::Role;
use crate::frame::{self, Flow, Frames};
use core::net::Ipv4Addr;
use sluice_datapath::message::{IcmpCause, IcmpNotice, Sender};
use sluice_datapath::tables::{Interface, InterfaceId, Prefix};
use sluice_wire::arp::{Arp, Operation};
use sluice_wire::eth::{Eth, EtherType, MacAddr};
use sluice_wire::icmp::{
    Icmp, TimeExceeded, Unreachable, may_answer_with_error, turn_into_reply,
    write_destination_unreachable, write_time_exceeded,
};
use sluice_wire::ipv4::{Ipv4, Options, Protocol};
use sluice_wire::ipv6::is_ipv6;
use sluice_wire::udp::Udp;

/// Longest ICMP error: header and 576 bytes in all (RFC 1812, 4.3.2.3).
const ICMP_ERROR_MAX: usize = 600;

/// Loose and strict source route (RFC 791, 3.1).
const SOURCE_ROUTES: [u8; 2] = [131, 137];

/// The way back of an answer.
pub(super) fn back(arrived: &Arrived<'_, Ipv4<'_>>) -> Flow {
    Flow {
        mac: arrived.mac(),
        source: arrived.ip.destination(),
        destination: arrived.ip.source(),
    }
}

impl Control {
    pub(super) fn answer(
        &mut self,
        now_ns: u64,
        id: InterfaceId,
        interface: &Interface,
        bytes: &[u8],
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) -> Option<Event> {
        let Ok(eth) = Eth::parse(bytes) else {
            self.counters.ignored += 1;
            return None;
        };
        if eth.ethertype() == EtherType::ARP {
            self.arp(now_ns, (id, interface), eth.payload(), owners, out);
            return None;
        }
        if eth.ethertype() == EtherType::IPV6 {
            return self.answer_ipv6(now_ns, id, interface, &eth, owners, out);
        }
        let Ok(ip) = Ipv4::parse(eth.payload()) else {
            self.counters.ignored += 1;
            return None;
        };
        let arrived = Arrived {
            id,
            interface,
            from: From::Link(eth.source()),
            ip,
            packet: eth
                .payload()
                .get(..usize::from(ip.total_len()))
                .unwrap_or_default(),
        };
        match ip.protocol() {
            _ if ip.is_fragment() || !self.is_answerable(&arrived) => self.ignore(),
            Protocol::ICMP => self.icmp_echo(&arrived, out),
            Protocol::UDP => match Udp::parse(ip.payload()) {
                // RFC 1122, 4.1.3.4: a damaged datagram is discarded silently.
                Ok(udp) if udp.verify(ip.source(), ip.destination()) => {
                    self.udp(now_ns, &arrived, &udp, out)
                }
                _ => self.ignore(),
            },
            _ => {
                self.unreachable(now_ns, &arrived, Unreachable::Protocol, out);
                None
            }
        }
    }

    /// A UE may ask us as any station of its data network may, but tunnels are not its business.
    pub(super) fn answer_ue(
        &mut self,
        now_ns: u64,
        (id, interface): (InterfaceId, &Interface),
        packet: &[u8],
        from: From,
        out: &mut impl Frames,
    ) {
        if is_ipv6(packet) {
            return self.answer_ue_ipv6(now_ns, (id, interface), packet, from, out);
        }
        let Ok(ip) = Ipv4::parse(packet) else {
            self.counters.ignored += 1;
            return;
        };
        let arrived = Arrived {
            id,
            interface,
            from,
            ip,
            packet: packet
                .get(..usize::from(ip.total_len()))
                .unwrap_or_default(),
        };
        match ip.protocol() {
            _ if ip.is_fragment() || !self.is_answerable(&arrived) => self.counters.ignored += 1,
            Protocol::ICMP => {
                self.icmp_echo(&arrived, out);
            }
            Protocol::UDP => match Udp::parse(ip.payload()) {
                Ok(udp) if udp.verify(ip.source(), ip.destination()) => {
                    self.unreachable(now_ns, &arrived, Unreachable::Port, out);
                }
                _ => self.counters.ignored += 1,
            },
            _ => self.unreachable(now_ns, &arrived, Unreachable::Protocol, out),
        }
    }

    /// Whether an answer would go to one station, and to the one that the packet names: never to all of a link
    /// (RFC 1122, 3.2.1.3 and 3.2.2), and not by a route that the sender wishes for (RFC 7126, 4.3 and 4.4).
    fn is_answerable(&self, arrived: &Arrived<'_, Ipv4<'_>>) -> bool {
        let source = arrived.ip.source();
        let is_of_many = |(own, len): &(Ipv4Addr, u8)| {
            let link = Prefix::new(*own, *len).filter(|_| *len < 31);
            let all = link.map(|link| link.base | !link.mask);
            *own == source || all == Some(source.into())
        };
        let config = self.directory.interface(arrived.id);
        let of_link = config.is_some_and(|c| c.addresses.iter().any(is_of_many));
        let is_nobodys = source.is_unspecified()
            || source.is_multicast()
            || source.is_broadcast()
            || source.is_loopback();
        let mut options = Options::new(arrived.ip.options());
        let is_routed = options.any(|option| SOURCE_ROUTES.contains(&option.kind()));
        !of_link && !is_nobodys && !is_routed
    }

    fn ignore(&mut self) -> Option<Event> {
        self.counters.ignored += 1;
        None
    }

    fn arp(
        &mut self,
        now_ns: u64,
        (id, interface): (InterfaceId, &Interface),
        bytes: &[u8],
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) {
        let Ok(arp) = Arp::parse(bytes) else {
            self.counters.ignored += 1;
            return;
        };
        let for_us = interface.addresses.contains(&arp.target_ip);
        if arp.sender_mac.is_unicast() && !arp.sender_ip.is_unspecified() {
            self.directory.neighbours.heard(
                id,
                arp.sender_ip.into(),
                arp.sender_mac,
                for_us,
                now_ns,
            );
        }
        let answered = for_us || self.is_proxied(id, arp.target_ip, owners);
        if arp.operation != Operation::Request || !answered || arp.is_gratuitous() {
            return;
        }
        let reply = arp.reply_from(MacAddr(interface.mac));
        let payload = reply.to_bytes();
        if let Some(frame) = frame::ethernet(interface, arp.sender_mac, EtherType::ARP, &[&payload])
        {
            self.counters.arp_replies += 1;
            out.transmit(id, &frame);
        }
    }

    /// Whether we answer for an address of `proxy_arp`: one that leads to a UE of the interface's data network, or a
    /// public one there that is translated. RFC 1027, 2.2: a gateway answers for hosts that it reaches; of any other
    /// the router tells its senders that it is not there.
    fn is_proxied(&self, id: InterfaceId, target: Ipv4Addr, owners: &impl PrefixOwners) -> bool {
        let Some(config) = self.directory.interface(id) else {
            return false;
        };
        let translates = |role: &Role| match role {
            Role::Plain { id, .. } => {
                let pool = self.config.nat.inside(*id);
                pool.is_some_and(|pool| pool.has(target.into()))
            }
            _ => false,
        };
        let mut prefixes = config.proxy_arp.iter();
        prefixes.any(|p| p.contains(target.into()))
            && (leads_to_ue(config, target, owners) || config.roles.iter().any(translates))
    }

    fn icmp_echo(
        &mut self,
        arrived: &Arrived<'_, Ipv4<'_>>,
        out: &mut impl Frames,
    ) -> Option<Event> {
        let mut message = frame::Frame::new();
        if Icmp::parse(arrived.ip.payload()).is_err() {
            return self.ignore();
        }
        if message.try_extend_from_slice(arrived.ip.payload()).is_err()
            || !turn_into_reply(&mut message)
        {
            return self.ignore();
        }
        let frame = frame::ipv4(arrived.interface, &back(arrived), Protocol::ICMP, &message);
        if let Some(frame) = frame {
            self.counters.icmp_echo_replies += 1;
            arrived.send(&frame, out);
        }
        None
    }

    /// Tells the sender that we do not serve what it wants.
    pub(super) fn unreachable(
        &mut self,
        now_ns: u64,
        arrived: &Arrived<'_, Ipv4<'_>>,
        reason: Unreachable,
        out: &mut impl Frames,
    ) {
        if !may_answer_with_error(&arrived.ip) {
            self.counters.ignored += 1;
            return;
        }
        if !self.icmp_errors.allow((), now_ns) {
            self.counters.limited += 1;
            return;
        }
        let mut message = [0; ICMP_ERROR_MAX];
        let written = write_destination_unreachable(&mut message, reason, arrived.packet);
        let frame = written.and_then(|len| {
            let flow = back(arrived);
            frame::ipv4(
                arrived.interface,
                &flow,
                Protocol::ICMP,
                message.get(..len)?,
            )
        });
        if let Some(frame) = frame {
            self.counters.icmp_errors += 1;
            arrived.send(&frame, out);
        }
    }

    /// An ICMP error about an inner packet: to a UE through its session, to the data network by
    /// the next hop.
    pub(super) fn send_icmp_error(
        &mut self,
        now_ns: u64,
        inner: &[u8],
        notice: IcmpNotice,
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) {
        let Ok(ip) = Ipv4::parse(inner) else {
            self.counters.ignored += 1;
            return;
        };
        // What we sent ourselves needs no error to ourselves.
        let ours = |i: &Interface| i.addresses.contains(&ip.source());
        if !may_answer_with_error(&ip) || self.tables.interfaces.iter().any(ours) {
            self.counters.ignored += 1;
            return;
        }
        let mut message = [0; ICMP_ERROR_MAX];
        let written = match notice.cause {
            IcmpCause::TtlExceeded => {
                write_time_exceeded(&mut message, TimeExceeded::InTransit, inner)
            }
            IcmpCause::TooBig(mtu) => {
                let reason = Unreachable::FragmentationNeeded { next_hop_mtu: mtu };
                write_destination_unreachable(&mut message, reason, inner)
            }
        };
        if let Some(message) = written.and_then(|len| message.get(..len)) {
            let to = (ip.source(), notice.sender);
            self.deliver_icmp(now_ns, to, message, owners, out);
        }
    }

    fn deliver_icmp(
        &mut self,
        now_ns: u64,
        (to, sender): (Ipv4Addr, Sender),
        message: &[u8],
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) -> Option<()> {
        let ue_side = self.ue_side(to, sender, owners);
        let to_station = (to.into(), sender);
        let (id, interface, way) = self.way_to_sender(now_ns, to_station, ue_side, out)?;
        let flow = Flow {
            mac: way.mac(&interface),
            source: *interface.addresses.first()?,
            destination: to,
        };
        let frame = frame::ipv4(&interface, &flow, Protocol::ICMP, message)?;
        self.counters.icmp_errors += 1;
        way.send(id, &interface, &frame, out);
        Some(())
    }

    /// The plain interface behind which the path finds the UE with this address.
    fn ue_side(
        &self,
        address: Ipv4Addr,
        sender: Sender,
        owners: &impl PrefixOwners,
    ) -> Option<InterfaceId> {
        let instance = self.instance_of_ue(address.into(), sender, owners)?;
        let mut interfaces = self.tables.interfaces.iter();
        let at = interfaces.position(|i| i.instance == Some(instance))?;
        Some(InterfaceId::at(at))
    }
}
