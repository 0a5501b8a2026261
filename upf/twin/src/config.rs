//! Network around the UPF: interfaces and stations.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses of an F-TEID: IPv4, IPv6.
pub type Addresses = (Option<Ipv4Addr>, Option<Ipv6Addr>);

/// How rates are shaped.
#[derive(Clone, Copy, Debug)]
pub struct Shaping {
    /// Those of QERs with a guaranteed bit rate, too.
    pub all: bool,
    /// The longest burst, as time at the rate.
    pub burst_ns: u64,
    /// The longest that a packet waits.
    pub delay_ns: u64,
    /// Packets that wait at one door.
    pub packets: usize,
}

/// Which side of the UPF (TS 29.244, 8.2.2 and 8.2.24).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Towards the RAN.
    Access,
    /// Towards the data network or its anchor.
    Core,
    /// SGi-LAN or N6-LAN.
    SgiLan,
    /// The CP function.
    Control,
}

impl Side {
    /// From the value of a Source or Destination Interface.
    pub fn from_value(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::Access),
            1 => Some(Self::Core),
            2 => Some(Self::SgiLan),
            3 => Some(Self::Control),
            _ => None,
        }
    }
}

/// What rules call an interface: a side and a network instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterfaceName {
    /// The side.
    pub side: Side,
    /// The network instance, in dotted text.
    pub instance: String,
}

impl InterfaceName {
    /// True if a rule for `side` and `instance` may mean this place.
    pub fn is_meant(&self, side: Side, instance: Option<&str>) -> bool {
        let same = |name: &str| name.eq_ignore_ascii_case(&self.instance);
        self.side == side && instance.is_none_or(same)
    }
}

/// A GTP-U address of ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TunnelEnd {
    /// What rules call it.
    pub place: InterfaceName,
    /// The address; where there are two, of IPv4. It stands for both: a TEID is the end's.
    pub address: IpAddr,
    /// The IPv6 address beside one of IPv4.
    pub second: Option<Ipv6Addr>,
}

impl TunnelEnd {
    /// Its IPv4 address.
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        match self.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        }
    }

    /// Its IPv6 address.
    pub fn ipv6(&self) -> Option<Ipv6Addr> {
        match self.address {
            IpAddr::V4(_) => self.second,
            IpAddr::V6(address) => Some(address),
        }
    }

    /// True if one of them is this.
    pub fn has(&self, address: IpAddr) -> bool {
        self.address == address || self.second.map(IpAddr::V6) == Some(address)
    }

    /// The address from which packets go to a peer.
    pub fn towards(&self, peer: IpAddr) -> Option<IpAddr> {
        match peer {
            IpAddr::V4(_) => self.ipv4().map(IpAddr::V4),
            IpAddr::V6(_) => self.ipv6().map(IpAddr::V6),
        }
    }
}

/// An IPv4 prefix: address and length.
pub type Prefix = (Ipv4Addr, u8);
/// An IPv6 prefix.
pub type Prefix6 = (Ipv6Addr, u8);
/// A prefix of either version.
type AnyPrefix = (IpAddr, u8);

/// A logical interface.
#[derive(Clone, Debug)]
pub struct Link {
    /// Number of the port.
    pub port: u16,
    /// 802.1Q VLAN, if tagged.
    pub vlan: Option<u16>,
    /// Our MAC address.
    pub mac: [u8; 6],
    /// Largest IP packet, bytes.
    pub mtu_bytes: u16,
    /// Our addresses with the lengths of their prefixes.
    pub addresses: Vec<Prefix>,
    /// Our IPv6 addresses, without the link-local one.
    pub addresses6: Vec<Prefix6>,
    /// Tunnels that end here.
    pub tunnels: Vec<TunnelEnd>,
    /// Plain packets of this data network go in and out here.
    pub plain: Option<InterfaceName>,
    /// Static routes: prefix and gateway.
    pub routes: Vec<(Prefix, Ipv4Addr)>,
    /// Those for IPv6.
    pub routes6: Vec<(Prefix6, Ipv6Addr)>,
    /// Stations whose MAC addresses are known, by both kinds of address.
    pub stations: Vec<(IpAddr, [u8; 6])>,
    /// Outer sources allowed; empty allows all.
    pub allowed_peers: Vec<(IpAddr, u8)>,
    /// Tunnel packets with a wrong UDP checksum are dropped.
    pub verifies_udp: bool,
    /// TCP segments that come or leave here are to make no longer packets.
    pub clamp_bytes: Option<u16>,
}

impl Link {
    /// The next hop towards `to`: `to` itself on the link, else the gateway of the longest
    /// prefix.
    pub fn station_towards(&self, to: IpAddr) -> Option<IpAddr> {
        let route = self.longest_route(to);
        match self.longest_link(to) {
            Some(link) if route.is_none_or(|(len, _)| link >= len) => Some(to),
            _ => route.map(|(_, gateway)| gateway),
        }
    }

    /// The length of the longest prefix of the link that `to` lies in.
    pub fn longest_link(&self, to: IpAddr) -> Option<u8> {
        let there = self.prefixes().filter(|p| contains(*p, to));
        there.map(|(_, len)| len).max()
    }

    /// The longest static route's length and gateway; the first of equals.
    pub fn longest_route(&self, to: IpAddr) -> Option<(u8, IpAddr)> {
        let routes: Vec<_> = self
            .all_routes()
            .filter(|(p, _)| contains(*p, to))
            .collect();
        let longest = routes.into_iter().rev().max_by_key(|((_, len), _)| *len);
        longest.map(|((_, len), gateway)| (len, gateway))
    }

    /// True if `address` is one of ours here.
    pub fn is_ours(&self, address: IpAddr) -> bool {
        self.prefixes().any(|(a, _)| a == address)
    }

    /// The MAC address of a station.
    pub fn mac_of(&self, station: IpAddr) -> Option<[u8; 6]> {
        let known = self.stations.iter().find(|(a, _)| *a == station);
        known.map(|(_, mac)| *mac)
    }

    fn prefixes(&self) -> impl Iterator<Item = AnyPrefix> {
        let ipv4 = self.addresses.iter().map(|(a, len)| ((*a).into(), *len));
        let ipv6 = self.addresses6.iter().map(|(a, len)| ((*a).into(), *len));
        ipv4.chain(ipv6)
    }

    fn all_routes(&self) -> impl Iterator<Item = (AnyPrefix, IpAddr)> {
        let ipv4 = self.routes.iter();
        let ipv4 = ipv4.map(|((base, len), via)| (((*base).into(), *len), (*via).into()));
        let ipv6 = self.routes6.iter();
        let ipv6 = ipv6.map(|((base, len), via)| (((*base).into(), *len), (*via).into()));
        ipv4.chain(ipv6)
    }
}

/// True if `address` lies in `prefix`; one of the other version never does.
pub fn contains((base, len): AnyPrefix, address: IpAddr) -> bool {
    let same_bits = match (base, address) {
        (IpAddr::V4(base), IpAddr::V4(address)) => {
            (u32::from(base) ^ u32::from(address)).leading_zeros()
        }
        (IpAddr::V6(base), IpAddr::V6(address)) => {
            (u128::from(base) ^ u128::from(address)).leading_zeros()
        }
        _ => return false,
    };
    u32::from(len) <= same_bits
}

/// UE addresses that the UP function gives in a data network.
#[derive(Clone, Debug)]
pub struct AddressPool {
    /// The data network.
    pub place: InterfaceName,
    /// IPv4 addresses, or IPv6 prefixes of 64 bits.
    pub prefix: (IpAddr, u8),
    /// How long one rests before it is given again.
    pub rest_s: u32,
}

/// A rule that PDRs activate by name (TS 29.244, 5.19).
#[derive(Clone, PartialEq, Debug)]
pub struct PredefinedRule {
    /// Its name.
    pub name: String,
    /// Flow descriptions, of which a packet has to meet one; with none all packets do.
    pub flows: Vec<String>,
    /// Uplink and downlink gate open.
    pub open: (bool, bool),
    /// Uplink and downlink, kbit/s.
    pub mbr: Option<(u64, u64)>,
    /// QFI of its packets, if nothing else tells one.
    pub qfi: Option<u8>,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct TwinConfig {
    /// Logical interfaces; their order is their number.
    pub links: Vec<Link>,
    /// A maximum bit rate of 0 lets nothing pass; otherwise it is no limit. The TS does not say.
    pub zero_rate_closes: bool,
    /// DSCP of outer headers, by QFI; of others 0.
    pub dscp: Vec<(u8, u8)>,
    /// UE addresses that the UP function gives.
    pub pools: Vec<AddressPool>,
    /// Packets of idle UEs that are held at one door (a tunnel, or a UE in a data network).
    pub hold_packets: usize,
    /// For how long, in nanoseconds.
    pub hold_ns: u64,
    /// How rates are shaped; otherwise all are policed.
    pub shaping: Option<Shaping>,
    /// IPv4 addresses that are UEs' in any case, by data network.
    pub ue_prefixes: Vec<(InterfaceName, Prefix)>,
    /// Rules that PDRs activate by name.
    pub predefined: Vec<PredefinedRule>,
    /// Applications by name, with their flow descriptions.
    pub applications: Vec<(&'static str, Vec<String>)>,
    /// All names that applications may have.
    pub application_names: Vec<&'static str>,
    /// All descriptions that flows of applications may have.
    pub flow_texts: Vec<&'static str>,
    /// Data networks whose addresses are translated.
    pub nats: Vec<Nat>,
}

/// Translation of a data network.
#[derive(Clone, Debug)]
pub struct Nat {
    /// Which.
    pub place: InterfaceName,
    /// Public addresses.
    pub addresses: Vec<Ipv4Addr>,
    /// The first port that is given.
    pub first_port: u16,
    /// Ports of a block.
    pub block_ports: u16,
    /// Blocks that a UE may have.
    pub blocks_per_ue: usize,
    /// Only those may send to a UE to whom it sent.
    pub filters: bool,
    /// UEs reach each other.
    pub hairpins: bool,
}

impl TwinConfig {
    /// Where tunnels of a side end.
    pub fn tunnel_end(&self, side: Side, instance: Option<&str>) -> Option<&TunnelEnd> {
        self.tunnels(side, instance).map(|(_, end)| end)
    }

    /// The tunnels of that side and network instance that end at `address`.
    pub fn end_at(
        &self,
        side: Side,
        instance: Option<&str>,
        address: IpAddr,
    ) -> Option<&TunnelEnd> {
        let meant = |side| {
            let all = self.all_tunnels();
            all.filter(move |(_, t)| t.place.is_meant(side, instance))
        };
        let shared = side == Side::Control && meant(side).next().is_none();
        let side = if shared { Side::Access } else { side };
        meant(side).map(|(_, t)| t).find(|t| t.has(address))
    }

    /// The data network that a rule means: N6-LAN is N6 where nothing is configured for it.
    pub fn data_network(&self, side: Side, instance: Option<&str>) -> Option<&InterfaceName> {
        let own = self.plain(side, instance);
        let shared = || match side {
            Side::SgiLan => self.plain(Side::Core, instance),
            _ => None,
        };
        own.or_else(shared)
    }

    /// The link and place of the first tunnel address that a rule means: for the CP function, if nothing is
    /// configured for it, one of those from the RAN.
    pub fn tunnels(&self, side: Side, instance: Option<&str>) -> Option<(usize, &TunnelEnd)> {
        let of = |side| {
            self.all_tunnels()
                .find(|(_, t)| t.place.is_meant(side, instance))
        };
        let shared = || of(Side::Access).filter(|_| side == Side::Control);
        of(side).or_else(shared)
    }

    /// All tunnel addresses with their links.
    pub fn all_tunnels(&self) -> impl Iterator<Item = (usize, &TunnelEnd)> {
        let links = self.links.iter().enumerate();
        links.flat_map(|(at, link)| link.tunnels.iter().map(move |t| (at, t)))
    }

    /// The translation of a data network.
    pub fn nat(&self, place: Option<&InterfaceName>) -> Option<(usize, &Nat)> {
        let mut nats = self.nats.iter().enumerate();
        nats.find(|(_, nat)| Some(&nat.place) == place)
    }

    /// The first plain place that a rule means.
    pub fn plain(&self, side: Side, instance: Option<&str>) -> Option<&InterfaceName> {
        let places = self.links.iter().filter_map(|l| l.plain.as_ref());
        places.into_iter().find(|p| p.is_meant(side, instance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_contains_what_shares_its_leading_bits() {
        let lies = |base: &str, len, address: &str| {
            let address = address.parse().expect("an address");
            contains((base.parse().expect("an address"), len), address)
        };
        assert!(lies("10.45.0.0", 16, "10.45.255.1"));
        assert!(!lies("10.45.0.0", 16, "10.44.0.1"));
        assert!(lies("0.0.0.0", 0, "1.2.3.4"));
        assert!(lies("127.0.0.1", 32, "127.0.0.1"));
        assert!(lies("2001:db8::", 33, "2001:db8:7fff::1"));
        assert!(!lies("2001:db8::", 33, "2001:db8:8000::1"));
        assert!(!lies("::", 0, "1.2.3.4"));
        assert!(!lies("0.0.0.0", 0, "2001:db8::1"));
    }
}
