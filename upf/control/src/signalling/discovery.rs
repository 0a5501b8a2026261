//! Neighbour Discovery (RFC 4861): questions for stations, answers to theirs, and what both tell.

use super::{Control, PrefixOwners};
use crate::config::{InterfaceConfig, Role};
use crate::frame::{self, FlowIpv6, Frames};
use core::net::{IpAddr, Ipv6Addr};
use sluice_datapath::tables::{Interface, InterfaceId, PrefixIpv6};
use sluice_wire::eth::MacAddr;
use sluice_wire::icmpv6::{
    Discovery, NeighbourAdvertisement, NeighbourSolicitation, ON_LINK_HOP_LIMIT,
};
use sluice_wire::ipv6::{ALL_NODES, Ipv6, solicited_node};

/// Longest message: a target and one link-layer address.
const MESSAGE_MAX: usize = 32;

impl Control {
    /// A solicitation or advertisement from a station on the link.
    pub(super) fn discovery(
        &mut self,
        now_ns: u64,
        id: InterfaceId,
        interface: &Interface,
        (sender, ip): (MacAddr, &Ipv6<'_>),
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) {
        let known = match Discovery::parse(ip) {
            Ok(Discovery::NeighbourSolicitation(asked)) => {
                let source = ip.source();
                self.hear_asker(now_ns, id, interface, source, &asked);
                self.answer_solicitation(id, interface, (sender, source), &asked, owners, out)
            }
            Ok(Discovery::NeighbourAdvertisement(told)) => {
                self.hear_advertisement(now_ns, id, interface, &told)
            }
            _ => None,
        };
        if known.is_none() {
            self.counters.ignored += 1;
        }
    }

    /// A station that asks for us will be answered, and is learned as ARP's askers are (RFC 4861, 7.2.3).
    fn hear_asker(
        &mut self,
        now_ns: u64,
        id: InterfaceId,
        interface: &Interface,
        source: Ipv6Addr,
        asked: &NeighbourSolicitation,
    ) {
        let own = &interface.addresses_ipv6;
        let is_for_us = own.contains(&asked.target) && !own.contains(&source);
        let config = self.directory.interface(id);
        let is_on_link = config.is_some_and(|c| c.is_on_link(source.into()));
        if let Some(mac) = asked.source_mac.filter(|mac| mac.is_unicast())
            && is_for_us
            && is_on_link
        {
            let neighbours = &mut self.directory.neighbours;
            neighbours.heard(id, source.into(), mac, true, now_ns);
        }
    }

    /// The answer for an address of ours, or for a UE's of `proxy_nd` (RFC 4861, 7.2.8; RFC 4389): that one
    /// does not override what the station itself may say.
    fn answer_solicitation(
        &mut self,
        id: InterfaceId,
        interface: &Interface,
        (sender, asker): (MacAddr, Ipv6Addr),
        asked: &NeighbourSolicitation,
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) -> Option<()> {
        let config = self.directory.interface(id)?;
        let is_ours = interface.addresses_ipv6.contains(&asked.target);
        let is_proxy = !is_ours && is_proxied(config, asked.target, owners);
        if !is_ours && !is_proxy {
            return None;
        }
        let source = match is_ours {
            true => asked.target,
            false => config.link_local()?,
        };
        let flow = match asker.is_unspecified() {
            true => FlowIpv6::to_group(source, ALL_NODES, ON_LINK_HOP_LIMIT),
            false => FlowIpv6 {
                mac: asked.source_mac.unwrap_or(sender),
                source,
                destination: asker,
                hop_limit: ON_LINK_HOP_LIMIT,
            },
        };
        let answer = asked.reply_from(asker, MacAddr(interface.mac), is_proxy);
        let mut message = [0; MESSAGE_MAX];
        let len = answer.write(&mut message, flow.source, flow.destination)?;
        let frame = frame::icmpv6(interface, &flow, message.get(..len)?)?;
        self.counters.neighbour_advertisements += 1;
        out.transmit(id, &frame);
        Some(())
    }

    /// RFC 4861, 7.2.5: nobody is learned who was not asked for. An answer to us counts, unless it is a
    /// proxy's that contradicts what is known; what is said unasked is asked about.
    fn hear_advertisement(
        &mut self,
        now_ns: u64,
        id: InterfaceId,
        interface: &Interface,
        told: &NeighbourAdvertisement,
    ) -> Option<()> {
        if interface.addresses_ipv6.contains(&told.target) {
            return None;
        }
        let station = IpAddr::V6(told.target);
        let neighbours = &mut self.directory.neighbours;
        let before = neighbours.mac(id, station);
        let mac = told.target_mac.or(before).filter(|mac| mac.is_unicast())?;
        let is_new = before.is_some_and(|before| before != mac);
        match (told.is_solicited, told.overrides) {
            (_, false) if is_new => {}
            (true, _) => neighbours.heard(id, station, mac, false, now_ns),
            (false, _) => neighbours.announced(id, station, mac, now_ns),
        }
        Some(())
    }

    /// Puts a solicitation on the link, to the target's group (RFC 4861, 7.2.2).
    pub(super) fn solicit(
        &mut self,
        id: InterfaceId,
        target: Ipv6Addr,
        out: &mut impl Frames,
    ) -> Option<()> {
        let interface = self.interface(id)?;
        let source = own_address(self.directory.interface(id)?, target)?;
        let flow = FlowIpv6::to_group(source, solicited_node(target), ON_LINK_HOP_LIMIT);
        let question = NeighbourSolicitation {
            target,
            source_mac: Some(MacAddr(interface.mac)),
        };
        let mut message = [0; MESSAGE_MAX];
        let len = question.write(&mut message, flow.source, flow.destination)?;
        let frame = frame::icmpv6(&interface, &flow, message.get(..len)?)?;
        self.counters.neighbour_solicitations += 1;
        out.transmit(id, &frame);
        Some(())
    }
}

/// Whether we answer for an address: one that leads to a UE of the interface's data network. Of any other the
/// neighbour can tell its senders that it is not there.
fn is_proxied(config: &InterfaceConfig, target: Ipv6Addr, owners: &impl PrefixOwners) -> bool {
    let mut prefixes = config.proxy_nd.iter();
    prefixes.any(|p| p.contains(target.to_bits())) && leads_to_ue(config, target, owners)
}

/// Whether an address leads to a UE of the interface's data network.
pub(super) fn leads_to_ue(
    config: &InterfaceConfig,
    target: impl Into<IpAddr>,
    owners: &impl PrefixOwners,
) -> bool {
    let target = target.into();
    let leads = |role: &Role| match role {
        Role::Plain { id, .. } => owners.leads_to_ue(*id, target),
        _ => false,
    };
    config.roles.iter().any(leads)
}

/// Our address on the subnet of `target`, or our link-local one.
fn own_address(config: &InterfaceConfig, target: Ipv6Addr) -> Option<Ipv6Addr> {
    let near = config.addresses_ipv6.iter().find(|(address, len)| {
        PrefixIpv6::new(*address, *len).is_some_and(|p| p.contains(target.to_bits()))
    });
    near.map(|(address, _)| *address).or(config.link_local())
}
