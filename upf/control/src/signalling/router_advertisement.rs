//! Router Advertisements to UEs (RFC 4861, 6.2; TS 23.501, 5.8.2.2.3): the session's prefix, asked for and
//! repeated before the lifetime of the last one ends.

use super::rate::RateLimit;
use super::{Control, PrefixOwners};
use crate::frame::Frames;
use core::net::Ipv6Addr;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::message::Sender;
use sluice_datapath::meta::Meta;
use sluice_wire::icmpv6::{
    Discovery, MAX_RDNSS, ON_LINK_HOP_LIMIT, PrefixInformation, RouterAdvertisement,
};
use sluice_wire::ipv6::{ALL_NODES, HEADER_LEN, Ipv6, Ipv6Header, Protocol};
use std::collections::{HashMap, VecDeque};

/// Answers to one UE: three at once, as many as a host asks that hears none (RFC 4861, 6.3.7), and in ten
/// seconds.
const TO_EACH: u32 = 3;
const TO_EACH_PER_S: f64 = 0.3;
/// Answers in all per second, so that no storm takes N4's time.
const IN_ALL_PER_S: u32 = 5_000;
/// UEs that are remembered for that: a UE's bucket is full again after 10 s at most.
const UES: usize = 32_768;
/// From one look at a UE that was told to the next: whether its session is still there, and whether it is to
/// be told again.
const LOOK_EVERY_NS: u64 = 300_000_000_000;
/// Looks, and advertisements that come of them, in one tick: more wait for the next.
const LOOKS_AT_ONCE: usize = 4_096;
const AGAIN_AT_ONCE: usize = 256;
/// A lifetime holds three advertisements, so that two may be lost (TS 29.061, 11.2.1.3.4).
const IN_LIFETIME: u64 = 3;
/// All ones: for ever.
const INFINITE_S: u32 = u32::MAX;
/// Longest message: 16 octets, prefix, MTU, and DNS servers.
const MESSAGE_MAX: usize = 16 + 32 + 8 + 8 + 16 * MAX_RDNSS;

/// Limits of advertisements, by link and in all, and the times of the next ones.
#[derive(Debug)]
pub(super) struct Advertised {
    to_each: RateLimit<Link>,
    in_all: RateLimit<()>,
    /// When each link is told again.
    again_ns: HashMap<Link, u64>,
    /// All of them, by the time when they are looked at.
    looks: VecDeque<(u64, Link)>,
}

/// A UE's link: two network instances may have the same prefixes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Link {
    instance: InstanceId,
    prefix: u64,
}

impl Default for Advertised {
    fn default() -> Self {
        Self {
            to_each: RateLimit::new(TO_EACH_PER_S, TO_EACH, UES),
            in_all: RateLimit::new(IN_ALL_PER_S, IN_ALL_PER_S, 1),
            again_ns: HashMap::new(),
            looks: VecDeque::new(),
        }
    }
}

impl Advertised {
    fn may_answer(&mut self, link: Link, now_ns: u64) -> bool {
        self.to_each.allow(link, now_ns) && self.in_all.allow((), now_ns)
    }

    fn remember(&mut self, link: Link, now_ns: u64, again_ns: u64) {
        if self.again_ns.insert(link, again_ns).is_none() {
            self.look_later(link, now_ns);
        }
    }

    fn look_later(&mut self, link: Link, now_ns: u64) {
        self.looks.push_back((now_ns + LOOK_EVERY_NS, link));
    }

    /// The next link that is to be looked at, and whether its turn has come.
    fn next_look(&mut self, now_ns: u64) -> Option<(Link, bool)> {
        let (_, link) = self.looks.pop_front_if(|(due, _)| *due <= now_ns)?;
        let again_ns = self.again_ns.get(&link);
        Some((link, again_ns.is_none_or(|again| *again <= now_ns)))
    }
}

impl Control {
    /// A UE asks for a router; its session has `prefix`.
    pub fn router_solicitation(
        &mut self,
        now_ns: u64,
        (prefix, sender): (u64, Sender),
        packet: &[u8],
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) {
        let Some(asker) = asker(packet) else {
            self.counters.ignored += 1;
            return;
        };
        let of_prefix = Ipv6Addr::from_bits(u128::from(prefix) << 64);
        let Some(instance) = self.instance_of_ue(of_prefix.into(), sender, owners) else {
            self.counters.ignored += 1;
            return;
        };
        let link = Link { instance, prefix };
        if !self.advertised.may_answer(link, now_ns) {
            self.counters.router_solicitations_limited += 1;
            return;
        }
        if self.advertise(now_ns, link, asker, owners, out).is_none() {
            self.counters.ignored += 1;
        }
    }

    /// Tells those again whose last advertisement is old, and forgets those whose session has ended.
    pub(super) fn advertise_again(
        &mut self,
        now_ns: u64,
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) {
        let mut left = AGAIN_AT_ONCE;
        for _ in 0..LOOKS_AT_ONCE {
            let Some((link, is_due)) = self.advertised.next_look(now_ns) else {
                break;
            };
            if owners.entry_of_prefix(link.instance, link.prefix).is_none() {
                self.advertised.again_ns.remove(&link);
                continue;
            }
            if is_due && left > 0 {
                left -= 1;
                self.advertise(now_ns, link, ALL_NODES, owners, out);
            }
            self.advertised.look_later(link, now_ns);
        }
    }

    fn advertise(
        &mut self,
        now_ns: u64,
        link: Link,
        to: Ipv6Addr,
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) -> Option<()> {
        let Link { instance, prefix } = link;
        let entry = owners.entry_of_prefix(instance, prefix)?;
        let id = self.directory.ipv6_interface_of(instance)?;
        let source = self.directory.interface(id)?.link_local()?;
        let mut packet = [0; HEADER_LEN + MESSAGE_MAX];
        let len = self.write_advertisement(&mut packet, prefix, source, to)?;
        let meta = Meta {
            entry,
            inner_len: u16::try_from(len).ok()?,
            interface: id,
            ..Meta::to_prefix(prefix, instance.0)
        };
        self.counters.router_advertisements += 1;
        out.to_ue(packet.get(..len)?, meta);
        let again_ns = self.lifetime_ns() / IN_LIFETIME;
        self.advertised.remember(link, now_ns, now_ns + again_ns);
        Some(())
    }

    fn lifetime_ns(&self) -> u64 {
        u64::from(self.config.router_advertisement.lifetime_s) * 1_000_000_000
    }

    /// Addresses are made without asking, nobody else is on the UE's link, and there is no DHCPv6
    /// (TS 29.061, 11.2.1.3.2).
    fn write_advertisement(
        &self,
        packet: &mut [u8],
        prefix: u64,
        source: Ipv6Addr,
        to: Ipv6Addr,
    ) -> Option<usize> {
        let config = &self.config.router_advertisement;
        let advertisement = RouterAdvertisement {
            hop_limit: 64,
            managed: false,
            other: false,
            router_lifetime_s: config.lifetime_s,
            reachable_time_ms: 0,
            retrans_timer_ms: 0,
            source_mac: None,
            prefix: Some(PrefixInformation {
                prefix,
                on_link: false,
                autonomous: true,
                valid_lifetime_s: INFINITE_S,
                preferred_lifetime_s: INFINITE_S,
            }),
            mtu: Some(config.mtu_bytes.into()),
            rdnss: &config.dns,
            rdnss_lifetime_s: config.lifetime_s.into(),
        };
        let (header, message) = packet.split_first_chunk_mut::<HEADER_LEN>()?;
        let len = advertisement.write(message, source, to)?;
        *header = Ipv6Header {
            hop_limit: ON_LINK_HOP_LIMIT,
            ..Ipv6Header::new(Protocol::ICMPV6, source, to)
        }
        .to_bytes(len)
        .ok()?;
        Some(HEADER_LEN + len)
    }
}

/// Receiver of the answer to a Router Solicitation: its sender, or all nodes of its link while the sender has no
/// address (RFC 4861, 6.2.6).
fn asker(packet: &[u8]) -> Option<Ipv6Addr> {
    let ip = Ipv6::parse(packet).ok()?;
    let Ok(Discovery::RouterSolicitation(_)) = Discovery::parse(&ip) else {
        return None;
    };
    match ip.source() {
        source if source.is_multicast() || source.is_loopback() => None,
        source if source.is_unspecified() => Some(ALL_NODES),
        source => Some(source),
    }
}
