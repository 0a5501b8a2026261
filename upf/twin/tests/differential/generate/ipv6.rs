//! Prefixes of UEs and IPv6 packets.

use super::Generator;
use super::filter::{LOCAL_PORTS, REMOTE_PORTS};
use crate::spec::*;
use crate::world::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const ICMPV6: u8 = 58;
const DESTINATION_OPTIONS: u8 = 60;
/// Type and code of a Router Solicitation, where the source port stands.
const SOLICITATION: u16 = 133 << 8;

const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
const UE_LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 7);

impl Generator {
    /// Few of them, so that sessions fight for them.
    pub(super) fn prefix(&mut self, own: u8, low: u8) -> Ipv6Addr {
        let third = match self.features.ipv6 && self.rng.one_in(8) {
            true => 0x99,
            false => 0x45,
        };
        let last = u16::from(own) << 8 | u16::from(low);
        Ipv6Addr::new(0x2001, 0xdb8, third, last, 0, 0, 0, 0)
    }

    /// Networks behind a UE: few of them, so that sessions fight for them, and now and then one that a pool has.
    pub(super) fn behind(&mut self, slot: Slot, ue: &mut UeSpec) {
        if !self.features.behind || !self.rng.one_in(4) {
            return;
        }
        let own = if self.rng.one_in(8) { 0 } else { slot };
        if self.rng.one_in(2) {
            let route = [
                (Ipv4Addr::new(172, 16, own, 0), 24),
                (Ipv4Addr::new(172, 16, own, 64), 27),
                (Ipv4Addr::new(172, 16, own, 9), 32),
                (Ipv4Addr::new(172, 17, own, 0), 23),
            ];
            let pool = (Ipv4Addr::new(10, 46, 8, 0), 21);
            let is_pool = self.rng.one_in(20);
            ue.behind.ipv4 = Some(if is_pool { pool } else { self.rng.pick(&route) });
        }
        if self.features.ipv6 && self.rng.one_in(2) {
            let at =
                |low| Ipv6Addr::new(0x2001, 0xdb8, 0x70, u16::from(own) << 8 | low, 0, 0, 0, 0);
            ue.behind.ipv6 = Some(self.rng.pick(&[(at(0), 56), (at(0x40), 59), (at(7), 64)]));
        }
        let is_told = |a: Ipv6Addr| given_slot(a.into()).is_none();
        if ue.ipv6.is_some_and(is_told) && self.rng.one_in(2) {
            // Where no other prefixes are.
            let low = self.rng.below(16) as u16;
            let upper = u16::from(own) << 8 | low;
            ue.ipv6 = Some(Ipv6Addr::new(0x2001, 0xdb8, 0x50, upper, 0, 0, 0, 0));
            ue.behind.delegated = self.rng.pick(&[1, 4, 8]);
        }
    }

    /// An address behind a UE, if there is one like that.
    pub(super) fn address_behind(&mut self, ue: &UeSpec, is_ipv6: bool) -> Option<IpAddr> {
        let host = self.rng.below(32) as u8;
        if !is_ipv6 {
            let (base, _) = ue.behind.ipv4?;
            return Some(IpAddr::V4((u32::from(base) | u32::from(host)).into()));
        }
        let delegated = ue.ipv6.filter(|_| ue.behind.delegated != 0);
        let framed = ue.behind.ipv6.map(|(base, _)| base);
        let base = match self.rng.one_in(2) {
            true => framed.or(delegated),
            false => delegated.or(framed),
        };
        let address = u128::from(base?) ^ u128::from(host) << 64 | 9;
        Some(IpAddr::V6(address.into()))
    }

    /// A prefix for a session that has none, or another one than it has.
    pub(super) fn other_prefix(&mut self, ue: UeSpec, pdr: &mut PdrSpec) {
        if !self.features.ipv6 || !self.rng.one_in(8) {
            return;
        }
        let low = self.rng.below(256) as u8;
        let prefix = self.prefix(9, low);
        match ue.ipv6.is_none() || self.rng.one_in(4) {
            true => pdr.ue.ipv6 = Some(prefix),
            // Or an IPv4 address where none was.
            false => pdr.ue.ipv4 = Some(Ipv4Addr::new(10, 45, 9, low)),
        }
    }

    /// An IE that no session may have (TS 29.244, 8.2.62).
    pub(super) fn wrong_ue(&mut self, ue: UeSpec) -> UeSpec {
        let special4 = [
            Ipv4Addr::UNSPECIFIED,
            Ipv4Addr::BROADCAST,
            Ipv4Addr::LOCALHOST,
            Ipv4Addr::new(224, 0, 0, 1),
            Ipv4Addr::new(169, 254, 0, 1),
        ];
        let special6 = [
            Ipv6Addr::UNSPECIFIED,
            Ipv6Addr::LOCALHOST,
            ALL_ROUTERS,
            UE_LINK_LOCAL,
        ];
        let prefix = ue
            .ipv6
            .or(Some(Ipv6Addr::new(0x2001, 0xdb8, 1, 1, 0, 0, 0, 0)));
        let faulty = |fault| UeSpec { fault, ..ue };
        match self.rng.below(9) {
            6 => faulty(UeFault::FramedRoute),
            7 => faulty(UeFault::FramedIpv6Route),
            8 => faulty(UeFault::FramedRouting),
            0 => UeSpec {
                ipv4: Some(self.rng.pick(&special4)),
                ..ue
            },
            1 => UeSpec {
                ipv6: Some(self.rng.pick(&special6)),
                ..ue
            },
            2 => UeSpec {
                ipv6: prefix,
                ..faulty(UeFault::PrefixLength(self.rng.pick(&[0, 65, 96, 128])))
            },
            3 => UeSpec {
                ipv6: prefix,
                ..faulty(UeFault::Delegation(64))
            },
            4 => faulty(UeFault::ChooseIpv4),
            _ => faulty(UeFault::ChooseIpv6),
        }
    }

    /// Turns a packet into one of IPv6.
    pub(super) fn make_ipv6(&mut self, spec: &mut PacketSpec, prefix: Ipv6Addr) {
        let remotes = [SERVER6, SERVER6, SERVER6, ELSEWHERE6, IMS_SERVER6, OUR_N6_6];
        spec.remote = match spec.entry {
            Entry::Tunnel { .. } => self.rng.pick(&remotes).into(),
            Entry::Plain { .. } => SERVER6.into(),
        };
        spec.interface = self.rng.pick(&[1, 0x0200_00ff_fe00_0001, u64::MAX]);
        if let Entry::Plain { ue, .. } = &mut spec.entry {
            let whole = u128::from(prefix) | u128::from(spec.interface);
            *ue = IpAddr::V6(whole.into());
        }
        let ip = &mut spec.inner6;
        ip.class = self.rng.pick(&[0, 0, 0xb8, 1, 2, 3]);
        ip.label = self.rng.pick(&[0, 0, 0x12345, 0xfffff]);
        ip.protocol = self.rng.pick(&[17, 17, 6, ICMPV6, 132, 50, 51, 59]);
        if self.rng.one_in(4) {
            self.extension_headers(spec);
        }
        if matches!(spec.entry, Entry::Tunnel { .. }) && self.rng.one_in(10) {
            self.of_the_link(spec);
        }
    }

    fn extension_headers(&mut self, spec: &mut PacketSpec) {
        let kinds = [HOP_BY_HOP, ROUTING, DESTINATION_OPTIONS];
        for kind in kinds {
            if self.rng.one_in(3) {
                let units = self.rng.within(1, 3) as u8;
                spec.inner6.extensions.push(Extension::Header(kind, units));
            }
        }
        if self.rng.one_in(2) {
            let offset = self.rng.pick(&[0, 0, 1, 100, 0x1fff]);
            let more = self.rng.one_in(2);
            spec.inner6
                .extensions
                .push(Extension::Fragment(offset, more));
        }
    }

    /// Between a UE and its router: solicitations, neighbours, groups.
    fn of_the_link(&mut self, spec: &mut PacketSpec) {
        spec.inner6.extensions.clear();
        let source = self.rng.pick(&[UE_LINK_LOCAL, Ipv6Addr::UNSPECIFIED]);
        if self.rng.one_in(2) {
            spec.remote = self.rng.pick(&[ALL_ROUTERS, ROUTER6]).into();
            spec.spoofed = (!self.rng.one_in(4)).then_some(source.into());
            spec.inner6.protocol = ICMPV6;
            spec.inner6.hop_limit = 255;
            let types = [SOLICITATION, SOLICITATION, 135 << 8, 128 << 8];
            spec.ports.0 = self.rng.pick(&types);
            return;
        }
        let report = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
        let wide = Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, 1);
        let remotes = [report, wide, ROUTER6, SERVER6];
        spec.remote = self.rng.pick(&remotes).into();
        spec.spoofed = self.rng.one_in(2).then_some(source.into());
    }

    /// Ports that filters know.
    pub(super) fn ports(&mut self, spec: &mut PacketSpec) {
        let (local, remote) = (self.rng.pick(&LOCAL_PORTS), self.rng.pick(&REMOTE_PORTS));
        spec.ports = match spec.entry {
            Entry::Tunnel {
                downlink: false, ..
            } => (local, remote),
            _ => (remote, local),
        };
    }

    pub(super) fn ipv6_fault(&mut self, spec: &mut PacketSpec) {
        let ip = &mut spec.inner6;
        match self.rng.below(7) {
            0 => ip.version = self.rng.pick(&[0, 4, 5, 7]),
            1 => ip.payload_len_error = self.rng.pick(&[-9, -1, 1, 8, 1000]),
            2 => ip.hop_limit = self.rng.below(3) as u8,
            3 => spec.payload_len = self.rng.within(1380, 1460) as u16,
            4 => spec.eth.to = MacSpec::Group,
            _ => self.link_of_n6(spec),
        }
    }

    /// Packets for the UPF as a station on N6, and such as no router sends on.
    fn link_of_n6(&mut self, spec: &mut PacketSpec) {
        let PacketSpec { entry, remote, .. } = spec;
        let Entry::Plain { ue, .. } = entry else {
            return;
        };
        match self.rng.below(5) {
            0 => *ue = OUR_N6_6.into(),
            1 => *ue = OUR_LINK_LOCAL.into(),
            2 => *remote = ROUTER6.into(),
            3 => *ue = UE_LINK_LOCAL.into(),
            _ => {
                *ue = ALL_ROUTERS.into();
                *remote = ROUTER6.into();
                spec.eth.to = self.rng.pick(&[MacSpec::Us, MacSpec::Group]);
                spec.inner6.extensions.clear();
                spec.inner6.protocol = ICMPV6;
                spec.ports.0 = self.rng.pick(&[133, 134, 135, 136, 137, 132, 143]) << 8;
            }
        }
    }
}
