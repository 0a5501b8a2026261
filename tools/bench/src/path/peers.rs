//! Who is at both ends of the path: gNBs by number, 16 on the N3 link, or thousands behind a router, as
//! those of many sites are; and servers of the data network.

use super::topology::{DN_MAC, GNBS, SERVER, gnb_address};
use sluice_control::config::InterfaceConfig;
use sluice_datapath::tables::Prefix;
use sluice_wire::eth::MacAddr;
use std::net::Ipv4Addr;

/// The router to them, on the N3 link.
pub const ROUTER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);
/// Its station.
pub const ROUTER_MAC: MacAddr = MacAddr([2, 0, 0, 0, 2, 0xfe]);
/// First address behind it (RFC 2544: 198.18.0.0/15).
const BASE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const BASE_BITS: u8 = 15;
/// More than that the control core does not hold.
pub const PEERS_MAX: u32 = 30_000;

/// How many gNBs there are: 16, or more than those.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peers(u32);

impl Default for Peers {
    /// 16 on the link.
    fn default() -> Self {
        Self(GNBS as u32)
    }
}

impl Peers {
    /// So many, 16 at the least.
    pub fn new(count: u32) -> Self {
        Self(count.clamp(GNBS as u32, PEERS_MAX))
    }

    /// How many.
    pub fn count(self) -> u32 {
        self.0
    }

    /// Whether they are behind the router.
    pub fn are_routed(self) -> bool {
        self.0 > GNBS as u32
    }

    /// What leads to them, if they are behind the router.
    pub fn route(self) -> Option<(Prefix, Ipv4Addr)> {
        let prefix = Prefix::new(BASE, BASE_BITS)?;
        self.are_routed().then_some((prefix, ROUTER))
    }

    /// The gNB that gave this TEID. A session moves among 16 gNBs that are neighbours, told by the
    /// TEID's low bits; which 16 these are is spread over all.
    #[inline]
    pub fn number(self, gnb_teid: u32) -> usize {
        let (site, of_site) = (gnb_teid / GNBS as u32, gnb_teid % GNBS as u32);
        if !self.are_routed() {
            return of_site as usize;
        }
        let mixed = u64::from(site.wrapping_mul(0x9e37_79b1));
        let first = ((mixed * u64::from(self.0)) >> 32) as u32;
        ((first + of_site) % self.0) as usize
    }

    /// The address of a gNB.
    pub fn address(self, number: usize) -> Ipv4Addr {
        match self.are_routed() {
            true => Ipv4Addr::from(u32::from(BASE) + 1 + number as u32),
            false => gnb_address(number),
        }
    }
}

/// Servers, where there are several; a power of two.
const SERVERS: usize = 16;
/// Of these numbers: on the link, and behind the default route.
const ON_LINK: usize = 14;
const BY_DEFAULT: usize = 15;
const GATEWAYS: usize = 4;

/// Which servers there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Servers {
    /// One.
    #[default]
    One,
    /// 16.
    Many,
}

impl Servers {
    /// The number of the server that a UE talks to.
    #[inline(always)]
    pub fn number(self, ue: u32) -> usize {
        match self {
            Self::One => BY_DEFAULT,
            Self::Many => ue as usize % SERVERS,
        }
    }

    /// The server that a UE talks to.
    #[inline(always)]
    pub fn of(self, ue: u32) -> Ipv4Addr {
        address(self.number(ue))
    }

    /// Routes and stations that lead to them, beside the default route.
    pub fn configure(self, n6: &mut InterfaceConfig) {
        if self == Self::One {
            return;
        }
        for number in 0..ON_LINK {
            let prefix = Prefix::new(address(number), 16 + (number % 9) as u8);
            n6.routes
                .extend(prefix.map(|prefix| (prefix, gateway(number))));
        }
        n6.neighbours
            .extend((0..GATEWAYS).map(|number| (gateway(number).into(), station(number))));
        n6.neighbours
            .push((address(ON_LINK).into(), station(ON_LINK)));
    }
}

fn gateway(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 51, 100, 240 + (number % GATEWAYS) as u8)
}

#[inline(always)]
fn address(number: usize) -> Ipv4Addr {
    match number {
        BY_DEFAULT => SERVER,
        ON_LINK => Ipv4Addr::new(198, 51, 100, 80),
        _ => Ipv4Addr::new(100, 64 + number as u8, 7, 9),
    }
}

/// The next hop to a server.
#[inline(always)]
pub fn station(number: usize) -> MacAddr {
    match number {
        BY_DEFAULT => DN_MAC,
        ON_LINK => MacAddr([2, 0, 0, 0, 3, 0x50]),
        _ => MacAddr([2, 0, 0, 0, 3, (number % GATEWAYS) as u8]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn sessions_reach_all_gnbs_and_each_sixteen_of_them() {
        let peers = Peers::new(5_000);
        let of = |session: u32| (0..16).map(move |k| peers.number(0x1000_0000 + session * 16 + k));
        assert!((0..1_000).all(|s| of(s).collect::<HashSet<_>>().len() == 16));
        let all: HashSet<usize> = (0..50_000).flat_map(of).collect();
        assert_eq!((all.len(), all.iter().max()), (5_000, Some(&4_999)));
        let (prefix, _) = peers.route().unwrap();
        assert!(
            all.iter()
                .all(|n| prefix.contains(peers.address(*n).into()))
        );
    }

    #[test]
    fn sixteen_are_on_the_link() {
        let peers = Peers::new(16);
        assert_eq!((peers, peers.route()), (Peers::default(), None));
        let numbers: Vec<usize> = (0x1000_0030..0x1000_0040)
            .map(|t| peers.number(t))
            .collect();
        assert_eq!(numbers, (0..16).collect::<Vec<_>>());
        assert_eq!(peers.address(3), gnb_address(3));
    }
}
