//! Ways of answers and ICMP errors: back to a station of the link, or through the path to a UE.

use super::{Control, PrefixOwners};
use crate::frame::{self, Frames};
use crate::paths::PathEnds;
use core::net::IpAddr;
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::message::Sender;
use sluice_datapath::meta::Arrival;
use sluice_datapath::tables::{Interface, InterfaceId, Prefix};
use sluice_wire::eth::MacAddr;
use sluice_wire::ipv4::Ipv4;
use sluice_wire::ipv6::{Ipv6, is_ipv6};

/// Source of a packet, to which its answer goes.
#[derive(Clone, Copy)]
pub(super) enum From {
    /// A station on the link.
    Link(MacAddr),
    /// A UE, through its session. Its addresses are of this network instance; none: of that of the interface.
    Ue(Option<InstanceId>),
}

impl From {
    /// Destination of the answer's frame. To a UE it leads through the path, as if the data network had
    /// answered.
    pub fn mac(self, interface: &Interface) -> MacAddr {
        match self {
            Self::Link(mac) => mac,
            Self::Ue(_) => MacAddr(interface.mac),
        }
    }

    /// Sends a frame of this interface that way.
    pub fn send(self, id: InterfaceId, interface: &Interface, frame: &[u8], out: &mut impl Frames) {
        match self {
            Self::Link(_) => out.transmit(id, frame),
            Self::Ue(home) => {
                // From the data network of translated UEs nothing comes for a UE's own address, and from this one
                // nothing for a UE of another.
                let own = interface.instance.unwrap_or_default();
                let instance = home.or(interface.outside.map(|_| own));
                match instance.and_then(|instance| frame::to_ue_of(frame, instance)) {
                    // IPv6 is not translated.
                    Some((packet, meta)) if home.is_some() || meta.arrival == Arrival::Plain => {
                        out.to_ue(packet, meta);
                    }
                    _ => out.receive(interface.port, frame),
                }
            }
        }
    }
}

/// A packet to one of our addresses, as a view of its family's type, and whom to answer.
pub(super) struct Arrived<'a, Ip> {
    pub id: InterfaceId,
    pub interface: &'a Interface,
    pub from: From,
    pub ip: Ip,
    /// The packet that `ip` is a view of, without padding.
    pub packet: &'a [u8],
}

/// A packet of either family.
pub(super) trait Ends {
    /// Our address and the sender's.
    fn ends(&self) -> PathEnds;
}

impl Ends for Ipv4<'_> {
    fn ends(&self) -> PathEnds {
        PathEnds {
            local: self.destination().into(),
            remote: self.source().into(),
        }
    }
}

impl Ends for Ipv6<'_> {
    fn ends(&self) -> PathEnds {
        PathEnds {
            local: self.destination().into(),
            remote: self.source().into(),
        }
    }
}

impl<Ip> Arrived<'_, Ip> {
    /// Destination of the answer's frame.
    pub fn mac(&self) -> MacAddr {
        self.from.mac(self.interface)
    }

    /// Sends an answer back.
    pub fn send(&self, frame: &[u8], out: &mut impl Frames) {
        self.from.send(self.id, self.interface, frame, out);
    }
}

impl Control {
    /// The way of an ICMP error to a packet's sender: a UE behind `ue_side`, else the data network by its
    /// next hop, which is asked for if it is not known.
    pub(super) fn way_to_sender(
        &mut self,
        now_ns: u64,
        (address, sender): (IpAddr, Sender),
        ue_side: Option<InterfaceId>,
        out: &mut impl Frames,
    ) -> Option<(InterfaceId, Interface, From)> {
        if let Some(id) = ue_side {
            return Some((id, self.interface(id)?, From::Ue(None)));
        }
        let instance = match sender {
            Sender::DataNetwork(instance) => Some(instance),
            Sender::Tunnelled { .. } => None,
        };
        let (id, station) = self.directory.plain_towards(address, instance)?;
        let interface = self.interface(id)?;
        let mac = self.mac_or_ask(now_ns, id, station, out)?;
        Some((id, interface, From::Link(mac)))
    }

    /// The data network in which a sender is a UE. Two of them may have the same pool: the packet's own decides.
    pub(super) fn instance_of_ue(
        &self,
        address: IpAddr,
        sender: Sender,
        owners: &impl PrefixOwners,
    ) -> Option<InstanceId> {
        let is_of_ue = |instance: &InstanceId| {
            owners.leads_to_ue(*instance, address) || self.is_of_pool(*instance, address)
        };
        let all = || self.directory.plain_instances().into_iter();
        match sender {
            Sender::DataNetwork(instance) => Some(instance).filter(is_of_ue),
            Sender::Tunnelled { entry, towards } => {
                let others = all().filter(|instance| Some(*instance) != towards);
                let mut near = towards.into_iter().chain(others).filter(is_of_ue);
                let first = near.next()?;
                let Some(second) = near.next() else {
                    return Some(first);
                };
                let mut each = [first, second].into_iter().chain(near);
                let own = each.find(|instance| owners.has_ue_in(entry, *instance));
                own.or(Some(first))
            }
        }
    }

    /// The network instance of a UE that sends to an address of an interface, if it is not that of the interface.
    pub(super) fn home_of_ue(
        &self,
        interface: &Interface,
        entry: EntryId,
        packet: &[u8],
        owners: &impl PrefixOwners,
    ) -> Option<InstanceId> {
        let source = match is_ipv6(packet) {
            true => Ipv6::parse(packet).ok()?.source().into(),
            false => Ipv4::parse(packet).ok()?.source().into(),
        };
        let towards = interface.instance;
        let sender = Sender::Tunnelled { entry, towards };
        let home = self.instance_of_ue(source, sender, owners);
        home.filter(|home| Some(*home) != towards)
    }

    /// Whether an address is for UEs of a data network, whether one has it now or not.
    fn is_of_pool(&self, instance: InstanceId, address: IpAddr) -> bool {
        let IpAddr::V4(address) = address else {
            return false;
        };
        let mut pools = self.config.pools.iter();
        pools.any(|pool| {
            let prefix = Prefix::new(pool.base, pool.prefix_len);
            pool.instance == instance && prefix.is_some_and(|p| p.contains(address.into()))
        })
    }

    /// The MAC address of a station on the link; none if it is not known, and then it is asked for.
    pub(super) fn mac_or_ask(
        &mut self,
        now_ns: u64,
        id: InterfaceId,
        station: IpAddr,
        out: &mut impl Frames,
    ) -> Option<MacAddr> {
        let mac = self.directory.neighbours.mac(id, station);
        if mac.is_none() {
            let question = self.directory.want(id, station, now_ns)?;
            self.ask(question, out);
        }
        mac
    }
}
