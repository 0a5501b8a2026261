//! Section `interfaces`: addresses on ports, and their roles.

use super::fields::{At, Fields};
use super::ip::{Address, Prefix};
use super::ipv4::{Address4, Prefix4};
use super::ipv6::{Address6, Prefix6};
use super::kind::{
    Kind, address, auto_or, boolean, ip, ipv4, mac, name, network_instance, number, prefix,
    prefix4, prefix6, vlan, word,
};
use super::ports::{MTU_MAX, read_mtu};
use core::net::{IpAddr, Ipv4Addr};
use sluice_session::network::{Side, TunnelAddresses};
use sluice_wire::eth::{MacAddr, VlanId};

/// One logical interface: a port, a VLAN on it, addresses, roles.
#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: At<String>,
    /// Name of its port.
    pub port: At<String>,
    /// VLAN; `None`: untagged.
    pub vlan: Option<At<VlanId>>,
    /// Our addresses, of IPv6 the link-local one apart; at least one.
    pub addresses: Vec<At<Address>>,
    /// Largest IP packet, in bytes; `None`: the port's.
    pub mtu: Option<At<u16>>,
    /// Where everything goes that is not on the link and has no route: one station for each family.
    pub gateways: Vec<At<IpAddr>>,
    /// Static routes.
    pub routes: Vec<Route>,
    /// Stations that are not asked for.
    pub neighbours: Vec<Neighbour>,
    /// Prefixes of whose UEs we answer ARP.
    pub proxy_arp: Vec<At<Prefix4>>,
    /// Prefixes of whose UEs we answer Neighbour Solicitations.
    pub proxy_nd: Vec<At<Prefix6>>,
    /// Outer sources that GTP-U is taken from; empty: all.
    pub peers: Vec<Prefix>,
    /// UDP checksums of tunnel packets are verified where there are any.
    pub verifies_udp: bool,
    /// What TCP segments are clamped to that come or leave here.
    pub mss_clamp: SegmentClamp,
    /// Tunnels end here: N3 and N9.
    pub tunnels: Vec<Tunnel>,
    /// The data network behind it: N6.
    pub n6: Option<N6>,
    /// Our addresses at which SMFs reach us: N4.
    pub n4: Vec<N4Address>,
}

/// Largest TCP segment over IPv4 that TCP can be told, in bytes: what every host takes (RFC 9293, 3.7.1), and what
/// makes the largest packet.
const SEGMENT_MIN: u16 = 536;
const SEGMENT_MAX: u16 = MTU_MAX - 40;

/// Whether the segments of TCP connections are clamped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentClamp {
    /// No.
    Off,
    /// To what fits into packets there and into the tunnels to the RAN.
    Auto,
    /// To so many bytes over IPv4, and 20 fewer over IPv6.
    Segments(u16),
}

fn segment_clamp() -> Kind<SegmentClamp> {
    let bytes = auto_or(number(SEGMENT_MIN, SEGMENT_MAX, "bytes"));
    Kind::new(format!("off, {}", bytes.expected), move |text| match text {
        "off" => Some(SegmentClamp::Off),
        text => bytes
            .parse(text)
            .map(|bytes| bytes.map_or(SegmentClamp::Auto, SegmentClamp::Segments)),
    })
}

/// An address at which PFCP is served.
#[derive(Clone, PartialEq, Debug)]
pub struct N4Address {
    /// The line that it stands in.
    pub line: u32,
    /// One of the interface's addresses; `None`: its only one.
    pub address: Option<At<Ipv4Addr>>,
}

/// A static route.
#[derive(Clone, PartialEq, Debug)]
pub struct Route {
    /// Destinations.
    pub to: At<Prefix>,
    /// Next station, on the link.
    pub via: At<IpAddr>,
}

/// A static neighbour.
#[derive(Clone, PartialEq, Debug)]
pub struct Neighbour {
    /// Its address.
    pub address: At<IpAddr>,
    /// Its MAC address.
    pub mac: MacAddr,
}

/// A GTP-U endpoint address.
#[derive(Clone, PartialEq, Debug)]
pub struct Tunnel {
    /// N3 or N9.
    pub kind: TunnelKind,
    /// The line that it stands in.
    pub line: u32,
    /// One of the interface's addresses, or one of each family; none: its only one of IPv4, or its only one.
    pub addresses: Vec<At<IpAddr>>,
    /// Network instance; `None`: any.
    pub network_instance: Option<At<String>>,
    /// Which side of the UPF it is on.
    pub side: Side,
}

/// What the far end of a tunnel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TunnelKind {
    /// The RAN.
    N3,
    /// Another UPF.
    N9,
}

/// A data network.
#[derive(Clone, PartialEq, Debug)]
pub struct N6 {
    /// Its name.
    pub network_instance: At<String>,
    /// Further names of the same network.
    pub aliases: Vec<At<String>>,
    /// Rules that name a network instance which nothing has, mean this one.
    pub is_default: bool,
}

impl Interface {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let name = fields.required("name", &name());
        let port = fields.required("port", &super::kind::name());
        let vlan = fields.optional("vlan", &vlan());
        let addresses = fields.required_list("addresses", &address());
        let mtu = read_mtu(fields);
        let gateways = fields.list("gateway", &ip());
        let routes = fields.sections("routes", Route::read);
        let neighbours = fields.sections("neighbours", Neighbour::read);
        let proxy_arp = fields.list("proxy_arp", &prefix4());
        let proxy_nd = fields.list("proxy_nd", &prefix6());
        let peers = fields.list("peers", &prefix());
        let checksums = word(&[("verify", true), ("ignore", false)]);
        let verifies_udp = fields.or("udp_checksums", "verify", &checksums).value;
        let mss_clamp = fields.or("mss_clamp", "off", &segment_clamp()).value;
        let mut tunnels = fields.sections("n3", |f| Tunnel::read(f, TunnelKind::N3));
        tunnels.extend(fields.sections("n9", |f| Tunnel::read(f, TunnelKind::N9)));
        let n6 = fields.optional_section("n6", N6::read);
        let n4 = fields.sections("n4", |f| Some(N4Address::read(f)));
        Some(Self {
            name: name?,
            port: port?,
            vlan,
            addresses,
            mtu,
            gateways,
            routes,
            neighbours,
            proxy_arp,
            proxy_nd,
            peers: peers.into_iter().map(|at| at.value).collect(),
            verifies_udp,
            mss_clamp,
            tunnels,
            n6,
            n4,
        })
    }

    /// Our IPv4 addresses.
    pub fn ipv4(&self) -> impl Iterator<Item = At<Address4>> {
        let addresses = self.addresses.iter();
        addresses.filter_map(|at| at.map(Address::ipv4).given())
    }

    /// Our IPv6 addresses.
    pub fn ipv6(&self) -> impl Iterator<Item = At<Address6>> {
        let addresses = self.addresses.iter();
        addresses.filter_map(|at| at.map(Address::ipv6).given())
    }

    /// All routes; those of gateways are the last.
    pub fn all_routes(&self) -> impl Iterator<Item = (Prefix, IpAddr)> {
        let gateways = self.gateways.iter().map(|at| at.value);
        let gateways = gateways.map(|via| (Prefix::all_like(via), via));
        let routes = self.routes.iter().map(|r| (r.to.value, r.via.value));
        routes.chain(gateways)
    }

    /// The addresses of a tunnel; `None` if it names none and there are several.
    pub fn tunnel_addresses(&self, tunnel: &Tunnel) -> Option<TunnelAddresses> {
        if tunnel.addresses.is_empty() {
            let mut ipv6 = self.ipv6().map(|at| IpAddr::V6(at.value.address));
            return match (self.ipv4().next(), ipv6.next(), ipv6.next()) {
                (Some(_), ..) => self
                    .address_of_role(None)
                    .map(|only| IpAddr::V4(only).into()),
                (None, only, None) => only.map(TunnelAddresses::from),
                (None, ..) => None,
            };
        }
        let mut named = TunnelAddresses::default();
        for address in &tunnel.addresses {
            match address.value {
                IpAddr::V4(address) => named.ipv4 = Some(address),
                IpAddr::V6(address) => named.ipv6 = Some(address),
            }
        }
        Some(named)
    }

    /// True if some tunnels end here at an IPv6 address.
    pub fn has_ipv6_tunnels(&self) -> bool {
        let mut all = self
            .tunnels
            .iter()
            .filter_map(|tunnel| self.tunnel_addresses(tunnel));
        all.any(|addresses| addresses.ipv6.is_some())
    }

    /// The addresses at which PFCP is served, those that are clear.
    pub fn n4_addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        let n4 = self.n4.iter();
        n4.filter_map(|n4| self.address_of_role(n4.address))
    }

    fn address_of_role(&self, given: Option<At<Ipv4Addr>>) -> Option<Ipv4Addr> {
        let mut own = self.ipv4().map(|at| at.value.address);
        match (given, own.next(), own.next()) {
            (Some(given), ..) => Some(given.value),
            (None, only, None) => only,
            (None, ..) => None,
        }
    }
}

impl Route {
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let to = fields.required("to", &prefix());
        let via = fields.required("via", &ip());
        Some(Self { to: to?, via: via? })
    }
}

impl Neighbour {
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let address = fields.required("address", &ip());
        let mac = fields.required("mac", &mac());
        Some(Self {
            address: address?,
            mac: mac?.value,
        })
    }
}

impl Tunnel {
    fn read(fields: &mut Fields<'_, '_>, kind: TunnelKind) -> Option<Self> {
        let addresses = fields.list("address", &ip());
        let network_instance = fields.optional("network_instance", &network_instance());
        let side = match kind {
            TunnelKind::N3 => Side::Access,
            TunnelKind::N9 => {
                let sides = word(&[("access", Side::Access), ("core", Side::Core)]);
                fields.required("side", &sides)?.value
            }
        };
        Some(Self {
            kind,
            line: fields.line(),
            addresses,
            network_instance,
            side,
        })
    }
}

impl N4Address {
    fn read(fields: &mut Fields<'_, '_>) -> Self {
        Self {
            line: fields.line(),
            address: fields.optional("address", &ipv4()),
        }
    }
}

impl N6 {
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let mut names = fields
            .required_list("network_instance", &network_instance())
            .into_iter();
        let is_default = fields.or("default", "false", &boolean()).value;
        Some(Self {
            network_instance: names.next()?,
            aliases: names.collect(),
            is_default,
        })
    }

    /// All its names.
    pub fn names(&self) -> impl Iterator<Item = &At<String>> {
        core::iter::once(&self.network_instance).chain(&self.aliases)
    }

    /// Whether one of its names is this one, as DNS names are compared (TS 23.003, 9.1).
    pub fn is_called(&self, name: &str) -> bool {
        self.names().any(|own| own.value.eq_ignore_ascii_case(name))
    }
}

impl TunnelKind {
    /// Its key.
    pub fn key(self) -> &'static str {
        match self {
            Self::N3 => "n3",
            Self::N9 => "n9",
        }
    }
}
