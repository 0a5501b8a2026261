//! Data network servers: one behind the default route, or 16 behind as many routes of different lengths
//! and gateways, one of them on the link itself.

use super::topology::{DN_MAC, SERVER};
use sluice_control::config::InterfaceConfig;
use sluice_datapath::tables::Prefix;
use sluice_wire::eth::MacAddr;
use std::net::Ipv4Addr;

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
