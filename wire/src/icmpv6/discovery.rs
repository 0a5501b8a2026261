//! Neighbour Discovery (RFC 4861): Router Solicitation, Neighbour Solicitation and Advertisement.
//!
//! ```text
//! | type | code | checksum  |
//! | flags of an advertisement, or 0 |
//! | target, 16 octets       |        not in a Router Solicitation
//! | options ...
//! ```

use super::build::Out;
use super::option::{SOURCE_LINK_LAYER_ADDRESS, TARGET_LINK_LAYER_ADDRESS};
use super::{
    DiscoveryOptions, Icmpv6, Icmpv6Error, NEIGHBOUR_ADVERTISEMENT, NEIGHBOUR_SOLICITATION,
    OptionError, ROUTER_SOLICITATION,
};
use crate::eth::MacAddr;
use crate::ipv6::{Ipv6, solicited_node};
use core::fmt;
use core::net::Ipv6Addr;

/// The hop limit of every message of Neighbour Discovery: no router was in between (RFC 4861, 3.1).
pub const ON_LINK_HOP_LIMIT: u8 = 255;

const ROUTER: u8 = 0x80;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// A message of Neighbour Discovery that a router reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discovery {
    /// Is there a router?
    RouterSolicitation(RouterSolicitation),
    /// Who has the target address?
    NeighbourSolicitation(NeighbourSolicitation),
    /// The sender has it.
    NeighbourAdvertisement(NeighbourAdvertisement),
}

/// Router Solicitation (RFC 4861, 4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouterSolicitation {
    /// The sender's MAC address; a UE has none.
    pub source_mac: Option<MacAddr>,
}

/// Neighbour Solicitation (RFC 4861, 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NeighbourSolicitation {
    /// The address asked for.
    pub target: Ipv6Addr,
    /// The sender's MAC address; none in duplicate address detection.
    pub source_mac: Option<MacAddr>,
}

/// Neighbour Advertisement (RFC 4861, 4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NeighbourAdvertisement {
    /// R: the sender is a router.
    pub is_router: bool,
    /// S: this answers a solicitation of the receiver.
    pub is_solicited: bool,
    /// O: what the receiver knew before is void. Clear in the answer of a proxy (RFC 4861, 7.2.8).
    pub overrides: bool,
    /// The address that the sender has.
    pub target: Ipv6Addr,
    /// Its MAC address.
    pub target_mac: Option<MacAddr>,
}

/// Why a packet is no message of Neighbour Discovery that counts (RFC 4861, 6.1.1, 7.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiscoveryError {
    /// No ICMPv6 message, or a damaged one, or one in fragments (RFC 6980).
    Icmpv6(Icmpv6Error),
    /// A message of another type.
    Type(u8),
    /// The hop limit is not 255: it comes from another link.
    HopLimit(u8),
    /// The code is not 0.
    Code(u8),
    /// The message ends inside its target.
    Truncated,
    /// The target is a group.
    Target,
    /// From the unspecified address, and yet with a MAC address or to another group than the target's.
    Source,
    /// An answer to one station, sent to a group.
    Solicited,
    /// An option is wrong.
    Option(OptionError),
}

impl fmt::Display for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Icmpv6(error) => error.fmt(f),
            Self::Option(error) => error.fmt(f),
            Self::Type(kind) => write!(f, "ICMPv6 type {kind} is not read as Neighbour Discovery"),
            Self::HopLimit(hop_limit) => {
                write!(f, "Neighbour Discovery with hop limit {hop_limit}, not 255")
            }
            Self::Code(code) => write!(f, "Neighbour Discovery with code {code}, not 0"),
            Self::Truncated => f.write_str("Neighbour Discovery message ends inside its target"),
            Self::Target => f.write_str("Neighbour Discovery with a group as target"),
            Self::Source => {
                f.write_str("solicitation from the unspecified address is inconsistent")
            }
            Self::Solicited => f.write_str("solicited Neighbour Advertisement to a group"),
        }
    }
}

impl core::error::Error for DiscoveryError {}

impl Discovery {
    /// Reads the message in a packet and verifies all that RFC 4861, 6.1.1, 7.1.1 and 7.1.2 want.
    ///
    /// # Errors
    /// [`DiscoveryError`]: the packet is to be dropped without an answer.
    pub fn parse(packet: &Ipv6<'_>) -> Result<Self, DiscoveryError> {
        let icmp = Icmpv6::parse(packet).map_err(DiscoveryError::Icmpv6)?;
        let read: Reader = match icmp.kind() {
            ROUTER_SOLICITATION => read_router_solicitation,
            NEIGHBOUR_SOLICITATION => read_solicitation,
            NEIGHBOUR_ADVERTISEMENT => read_advertisement,
            other => return Err(DiscoveryError::Type(other)),
        };
        check_origin(packet, &icmp)?;
        read(packet, &icmp)
    }
}

type Reader = fn(&Ipv6<'_>, &Icmpv6<'_>) -> Result<Discovery, DiscoveryError>;

/// No router was in between, and the message is one of RFC 4861.
fn check_origin(packet: &Ipv6<'_>, icmp: &Icmpv6<'_>) -> Result<(), DiscoveryError> {
    match (packet.hop_limit(), icmp.code()) {
        (ON_LINK_HOP_LIMIT, 0) => Ok(()),
        (ON_LINK_HOP_LIMIT, code) => Err(DiscoveryError::Code(code)),
        (other, _) => Err(DiscoveryError::HopLimit(other)),
    }
}

fn read_router_solicitation(
    packet: &Ipv6<'_>,
    icmp: &Icmpv6<'_>,
) -> Result<Discovery, DiscoveryError> {
    let source_mac = find_mac(icmp.body(), SOURCE_LINK_LAYER_ADDRESS)?;
    if packet.source().is_unspecified() && source_mac.is_some() {
        return Err(DiscoveryError::Source);
    }
    Ok(Discovery::RouterSolicitation(RouterSolicitation {
        source_mac,
    }))
}

fn read_solicitation(packet: &Ipv6<'_>, icmp: &Icmpv6<'_>) -> Result<Discovery, DiscoveryError> {
    let (target, options) = read_target(icmp)?;
    let source_mac = find_mac(options, SOURCE_LINK_LAYER_ADDRESS)?;
    let is_inconsistent = source_mac.is_some() || packet.destination() != solicited_node(target);
    if packet.source().is_unspecified() && is_inconsistent {
        return Err(DiscoveryError::Source);
    }
    Ok(Discovery::NeighbourSolicitation(NeighbourSolicitation {
        target,
        source_mac,
    }))
}

fn read_advertisement(packet: &Ipv6<'_>, icmp: &Icmpv6<'_>) -> Result<Discovery, DiscoveryError> {
    let (target, options) = read_target(icmp)?;
    let target_mac = find_mac(options, TARGET_LINK_LAYER_ADDRESS)?;
    let [flags, ..] = icmp.word();
    if packet.destination().is_multicast() && flags & SOLICITED != 0 {
        return Err(DiscoveryError::Solicited);
    }
    Ok(Discovery::NeighbourAdvertisement(NeighbourAdvertisement {
        is_router: flags & ROUTER != 0,
        is_solicited: flags & SOLICITED != 0,
        overrides: flags & OVERRIDE != 0,
        target,
        target_mac,
    }))
}

/// The target, and the options behind it.
fn read_target<'a>(icmp: &Icmpv6<'a>) -> Result<(Ipv6Addr, &'a [u8]), DiscoveryError> {
    let (target, options) = icmp
        .body()
        .split_first_chunk::<16>()
        .ok_or(DiscoveryError::Truncated)?;
    let target = Ipv6Addr::from(*target);
    if target.is_multicast() {
        return Err(DiscoveryError::Target);
    }
    Ok((target, options))
}

/// The MAC address in the last option of this type. All options are looked at: one that is wrong
/// makes the message void.
fn find_mac(options: &[u8], kind: u8) -> Result<Option<MacAddr>, DiscoveryError> {
    let mut found = None;
    for option in DiscoveryOptions::new(options) {
        let option = option.map_err(DiscoveryError::Option)?;
        if option.kind == kind {
            found = Some(option.mac().map_err(DiscoveryError::Option)?);
        }
    }
    Ok(found)
}

impl RouterSolicitation {
    /// Writes the message; returns its length, or `None` if `out` is too short. The packet's hop
    /// limit is [`ON_LINK_HOP_LIMIT`].
    pub fn write(&self, out: &mut [u8], source: Ipv6Addr, destination: Ipv6Addr) -> Option<usize> {
        let mut out = Out::new(out);
        out.put(&[ROUTER_SOLICITATION, 0, 0, 0, 0, 0, 0, 0])?;
        put_mac(&mut out, SOURCE_LINK_LAYER_ADDRESS, self.source_mac)?;
        out.finish(source, destination)
    }
}

impl NeighbourSolicitation {
    /// The answer to `asker` from the station `mac`, which is a router: solicited, unless the asker
    /// has no address yet. Then it goes to all nodes (RFC 4861, 7.2.4).
    ///
    /// A proxy's answer does not override: `is_proxy`.
    pub fn reply_from(
        &self,
        asker: Ipv6Addr,
        mac: MacAddr,
        is_proxy: bool,
    ) -> NeighbourAdvertisement {
        NeighbourAdvertisement {
            is_router: true,
            is_solicited: !asker.is_unspecified(),
            overrides: !is_proxy,
            target: self.target,
            target_mac: Some(mac),
        }
    }

    /// Writes the message; returns its length, or `None` if `out` is too short. The packet's hop
    /// limit is [`ON_LINK_HOP_LIMIT`].
    pub fn write(&self, out: &mut [u8], source: Ipv6Addr, destination: Ipv6Addr) -> Option<usize> {
        let mut out = Out::new(out);
        out.put(&[NEIGHBOUR_SOLICITATION, 0, 0, 0, 0, 0, 0, 0])?;
        out.put(&self.target.octets())?;
        put_mac(&mut out, SOURCE_LINK_LAYER_ADDRESS, self.source_mac)?;
        out.finish(source, destination)
    }
}

impl NeighbourAdvertisement {
    /// Writes the message; returns its length, or `None` if `out` is too short. The packet's hop
    /// limit is [`ON_LINK_HOP_LIMIT`].
    pub fn write(&self, out: &mut [u8], source: Ipv6Addr, destination: Ipv6Addr) -> Option<usize> {
        let flag = |bit, set| if set { bit } else { 0 };
        let flags = flag(ROUTER, self.is_router)
            | flag(SOLICITED, self.is_solicited)
            | flag(OVERRIDE, self.overrides);
        let mut out = Out::new(out);
        out.put(&[NEIGHBOUR_ADVERTISEMENT, 0, 0, 0, flags, 0, 0, 0])?;
        out.put(&self.target.octets())?;
        put_mac(&mut out, TARGET_LINK_LAYER_ADDRESS, self.target_mac)?;
        out.finish(source, destination)
    }
}

/// Appends a link-layer address option, if there is an address.
pub(super) fn put_mac(out: &mut Out<'_>, kind: u8, mac: Option<MacAddr>) -> Option<()> {
    match mac {
        Some(mac) => {
            out.put(&[kind, 1])?;
            out.put(&mac.0)
        }
        None => Some(()),
    }
}
