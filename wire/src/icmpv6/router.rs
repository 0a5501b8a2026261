//! Router Advertisement (RFC 4861, 4.2), by which a UE gets its prefix (TS 23.501, 5.8.2.2.3;
//! TS 29.061, 11.2.1.3).

use super::ROUTER_ADVERTISEMENT;
use super::build::Out;
use super::discovery::put_mac;
use super::option::{MTU, PREFIX_INFORMATION, RDNSS, SOURCE_LINK_LAYER_ADDRESS};
use crate::eth::MacAddr;
use core::net::Ipv6Addr;

/// The most DNS servers of one option: its length is an octet (RFC 8106, 5.1).
pub const MAX_RDNSS: usize = 127;

const MANAGED: u8 = 0x80;
const OTHER: u8 = 0x40;
const ON_LINK: u8 = 0x80;
const AUTONOMOUS: u8 = 0x40;

/// Router Advertisement: what a router says of itself and of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouterAdvertisement<'a> {
    /// The hop limit for packets of the receiver; 0 is "not specified".
    pub hop_limit: u8,
    /// M: addresses come by DHCPv6. Clear in 3GPP networks (TS 29.061, 11.2.1.3.2).
    pub managed: bool,
    /// O: other configuration comes by DHCPv6.
    pub other: bool,
    /// How long the router is a default router, in seconds; 0: it is none.
    pub router_lifetime_s: u16,
    /// How long a station counts as reachable, in milliseconds; 0 is "not specified".
    pub reachable_time_ms: u32,
    /// Time between solicitations, in milliseconds; 0 is "not specified".
    pub retrans_timer_ms: u32,
    /// The router's MAC address; a tunnel has none.
    pub source_mac: Option<MacAddr>,
    /// The link's prefix.
    pub prefix: Option<PrefixInformation>,
    /// The MTU of the link, in octets.
    pub mtu: Option<u32>,
    /// Addresses of recursive DNS servers, [`MAX_RDNSS`] at most.
    pub rdnss: &'a [Ipv6Addr],
    /// How long they may be used, in seconds.
    pub rdnss_lifetime_s: u32,
}

/// Prefix Information (RFC 4861, 4.6.2) for a prefix of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrefixInformation {
    /// The prefix: the upper 64 bits of its addresses.
    pub prefix: u64,
    /// L: its addresses are on the link. Clear towards a UE: nobody else is (TS 29.061, 11.2.1.3.2).
    pub on_link: bool,
    /// A: addresses are made of it without asking (RFC 4862).
    pub autonomous: bool,
    /// How long the prefix is valid, in seconds; all ones is for ever.
    pub valid_lifetime_s: u32,
    /// How long addresses made of it are preferred, in seconds; all ones is for ever.
    pub preferred_lifetime_s: u32,
}

impl RouterAdvertisement<'_> {
    /// Writes the message; returns its length, or `None` if `out` is too short or there are too many
    /// DNS servers. The packet's hop limit is [`super::ON_LINK_HOP_LIMIT`], its source a link-local
    /// address.
    pub fn write(&self, out: &mut [u8], source: Ipv6Addr, destination: Ipv6Addr) -> Option<usize> {
        let flags = flag(MANAGED, self.managed) | flag(OTHER, self.other);
        let mut out = Out::new(out);
        out.put(&[ROUTER_ADVERTISEMENT, 0, 0, 0, self.hop_limit, flags])?;
        out.put(&self.router_lifetime_s.to_be_bytes())?;
        out.put(&self.reachable_time_ms.to_be_bytes())?;
        out.put(&self.retrans_timer_ms.to_be_bytes())?;
        put_mac(&mut out, SOURCE_LINK_LAYER_ADDRESS, self.source_mac)?;
        if let Some(prefix) = &self.prefix {
            prefix.put(&mut out)?;
        }
        if let Some(mtu) = self.mtu {
            out.put(&[MTU, 1, 0, 0])?;
            out.put(&mtu.to_be_bytes())?;
        }
        self.put_rdnss(&mut out)?;
        out.finish(source, destination)
    }

    fn put_rdnss(&self, out: &mut Out<'_>) -> Option<()> {
        match self.rdnss.len() {
            0 => return Some(()),
            servers @ 1..=MAX_RDNSS => out.put(&[RDNSS, 1 + 2 * servers as u8, 0, 0])?,
            _ => return None,
        }
        out.put(&self.rdnss_lifetime_s.to_be_bytes())?;
        self.rdnss
            .iter()
            .try_for_each(|server| out.put(&server.octets()))
    }
}

impl PrefixInformation {
    const WORDS: u8 = 4;
    const BITS: u8 = 64;

    fn put(&self, out: &mut Out<'_>) -> Option<()> {
        let flags = flag(ON_LINK, self.on_link) | flag(AUTONOMOUS, self.autonomous);
        out.put(&[PREFIX_INFORMATION, Self::WORDS, Self::BITS, flags])?;
        out.put(&self.valid_lifetime_s.to_be_bytes())?;
        out.put(&self.preferred_lifetime_s.to_be_bytes())?;
        out.put(&[0; 4])?;
        out.put(&self.prefix.to_be_bytes())?;
        out.put(&[0; 8])
    }
}

const fn flag(bit: u8, set: bool) -> u8 {
    if set { bit } else { 0 }
}
