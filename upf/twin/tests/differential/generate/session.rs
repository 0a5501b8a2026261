//! Sessions as different SMFs establish them.

use super::{Generator, Session};
use crate::spec::*;
use crate::world::*;
use sluice_twin::Side;
use std::net::Ipv4Addr;

/// Rates at which every byte costs a whole number of 1/64 ns that 24 bits hold, so that the path's
/// arithmetic is exact and so the comparison.
pub const RATES_KBPS: [u64; 9] = [
    80, 320, 1_000, 2_000, 8_000, 10_000, 50_000, 100_000, 1_000_000,
];

impl Generator {
    pub(super) fn session(&mut self, slot: Slot) -> Session {
        let ims = self.rng.one_in(6);
        let ue = self.ue(slot, ims);
        let dn = if ims { IMS } else { INTERNET };
        let mut rules = Rules::default();
        if self.rng.one_in(2) {
            rules.sets = self.some_sets();
        }
        let relays = self.rng.one_in(5);
        self.uplink(&mut rules, ue, dn, relays);
        self.downlink(&mut rules, ue, dn, relays);
        if self.rng.one_in(2) {
            self.more_flows(&mut rules, ue, dn, relays);
        }
        if self.features.filters {
            self.filtered_pdrs(&mut rules, ue);
        }
        if self.features.filters && self.rng.one_in(5) {
            self.router_solicitation(&mut rules, ue);
        }
        if self.rng.one_in(5) {
            self.cp_channels(&mut rules);
        }
        if self.features.predefined && self.rng.one_in(3) {
            self.predefined(&mut rules);
        }
        if self.rng.one_in(3) {
            self.buffering(&mut rules);
        }
        self.qos(&mut rules);
        self.usage(&mut rules);
        if self.features.applications && self.rng.one_in(4) {
            self.applications(&mut rules);
        }
        if self.features.usage && self.rng.one_in(5) {
            rules.inactivity = Some(self.inactivity());
        }
        if self.features.ipv6 && self.rng.one_in(30) {
            let at = self.rng.below(rules.pdrs.len() as u64) as usize;
            let pdr = &mut rules.pdrs[at];
            pdr.families = self.rng.pick(&[(true, true), (false, true)]);
            pdr.removes_other = self.rng.pick(&[None, Some(0), Some(1), Some(6)]);
        }
        if self.rng.one_in(40) {
            self.wrong_in_one_place(&mut rules);
        }
        if self.features.filters && self.rng.one_in(60) {
            self.too_much(&mut rules);
        }
        Session { ue, dn, rules }
    }

    fn ue(&mut self, slot: Slot, ims: bool) -> UeSpec {
        let low = (self.rng.below(4) * 64) as u8 + slot;
        let own = if self.rng.one_in(20) { 0 } else { slot };
        let ipv4 = match self.rng.below(8) {
            0 => Ipv4Addr::new(10, 99, own, low),
            _ if ims => Ipv4Addr::new(10, 46, own, low),
            _ => Ipv4Addr::new(10, 45, own, low),
        };
        let mut prefix = self.prefix(own, low);
        let is_given = self.wants_addresses && !self.rng.one_in(4);
        let ipv4 = match is_given && !self.rng.one_in(4) {
            true => given_ipv4(slot),
            false => ipv4,
        };
        if is_given && !self.rng.one_in(4) {
            prefix = given_prefix(slot);
        }
        let kinds = match self.features.ipv6 {
            true => 5,
            false => 1,
        };
        // IPv6 alone, both, or IPv4 alone.
        let mut ue = match self.rng.below(kinds) {
            4 => UeSpec {
                ipv6: Some(prefix),
                ..UeSpec::default()
            },
            2..=3 => UeSpec {
                ipv4: Some(ipv4),
                ipv6: Some(prefix),
                ..UeSpec::default()
            },
            _ => UeSpec {
                ipv4: Some(ipv4),
                ..UeSpec::default()
            },
        };
        self.behind(slot, &mut ue);
        ue
    }

    /// What a PDI names of a UE's addresses: now and then one of two alone.
    pub(super) fn named(&mut self, ue: UeSpec) -> UeSpec {
        let has_both = ue.ipv4.is_some() && ue.ipv6.is_some();
        match has_both && self.rng.one_in(6) {
            true if self.rng.one_in(2) => UeSpec { ipv4: None, ..ue },
            true => UeSpec { ipv6: None, ..ue },
            false => ue,
        }
    }

    /// The addresses, or none.
    fn maybe_named(&mut self, ue: UeSpec) -> UeSpec {
        match self.rng.one_in(2) {
            true => self.named(ue),
            false => UeSpec::default(),
        }
    }

    fn uplink(&mut self, rules: &mut Rules, ue: UeSpec, dn: &'static str, relays: bool) {
        let f_teid = self.f_teid(N3);
        let families = self.families();
        let instance = self.maybe(ACCESS);
        let ue = self.maybe_named(ue);
        let filters = self.filters(&ue);
        rules.pdrs.push(PdrSpec {
            id: 1,
            precedence: 255,
            source: Side::Access,
            instance,
            f_teid,
            families,
            ue,
            ue_is_destination: false,
            qfis: vec![],
            filters,
            application: None,
            active: vec![],
            removes_outer: true,
            removes_other: None,
            far: 1,
            qers: vec![],
            urrs: vec![],
        });
        let to = match relays {
            true => self.anchor(),
            false => Destination {
                side: self
                    .rng
                    .pick(&[Side::Core, Side::Core, Side::Core, Side::SgiLan]),
                instance: if dn == IMS { Some(dn) } else { self.maybe(dn) },
                tunnel: None,
                marking: self.marking(),
            },
        };
        rules.fars.push(FarSpec {
            id: 1,
            action: Action::Forward,
            to: Some(to),
            bar: None,
        });
    }

    fn downlink(&mut self, rules: &mut Rules, ue: UeSpec, dn: &'static str, relays: bool) {
        let filters = self.filters(&ue);
        let pdr = PdrSpec {
            id: 2,
            precedence: 255,
            source: Side::Core,
            instance: if dn == IMS { Some(dn) } else { self.maybe(dn) },
            f_teid: TeidSpec::None,
            families: (true, false),
            ue: self.named(ue),
            ue_is_destination: !self.rng.one_in(4),
            qfis: vec![],
            filters,
            application: None,
            active: vec![],
            removes_outer: false,
            removes_other: None,
            far: 2,
            qers: vec![],
            urrs: vec![],
        };
        rules.pdrs.push(match relays {
            false => pdr,
            true => PdrSpec {
                instance: self.maybe(N9_NAME),
                f_teid: self.f_teid(N9),
                ue: self.maybe_named(ue),
                removes_outer: true,
                ..pdr
            },
        });
        let known = !self.rng.one_in(4);
        let gnb = self.gnb();
        rules.fars.push(FarSpec {
            id: 2,
            action: match known {
                true => Action::Forward,
                false => self
                    .rng
                    .pick(&[Action::Drop, Action::Buffer, Action::BufferAndNotify]),
            },
            to: (known || self.rng.one_in(2)).then_some(gnb),
            bar: None,
        });
    }

    /// Some of the PDRs without filters activate predefined rules; now and then one of the others does, or a rule
    /// is unknown.
    fn predefined(&mut self, rules: &mut Rules) {
        for pdr in &mut rules.pdrs {
            let says_nothing = pdr.filters.is_empty() || pdr.filters == [FilterSpec::all()];
            let is_wrong = self.rng.one_in(80);
            if !is_wrong && (!says_nothing || pdr.qfis.len() > 1 || self.rng.one_in(2)) {
                continue;
            }
            pdr.active = self.rule_names();
            if is_wrong && says_nothing {
                pdr.active.push("gold");
            }
        }
    }

    /// A few predefined rules, one perhaps twice.
    pub(super) fn rule_names(&mut self) -> Vec<&'static str> {
        let few = self.rng.within(1, 3);
        (0..few).map(|_| self.rng.pick(&PREDEFINED)).collect()
    }

    /// A BAR of some of the FARs.
    fn buffering(&mut self, rules: &mut Rules) {
        let bar = self.bar();
        rules.bars.push(bar);
        for far in &mut rules.fars {
            far.bar = self.rng.one_in(2).then_some(bar.id);
        }
    }

    pub(super) fn bar(&mut self) -> BarSpec {
        let id = self.rng.pick(&[1, 2]);
        let packets = self.rng.pick(&[None, Some(0), Some(1), Some(2), Some(5)]);
        BarSpec { id, packets }
    }

    /// A second QoS flow, before or behind the first.
    fn more_flows(&mut self, rules: &mut Rules, ue: UeSpec, dn: &'static str, relays: bool) {
        let qfis = match self.rng.below(3) {
            0 => vec![],
            1 => vec![self.rng.pick(&[1, 5, 9])],
            _ => vec![1, 5, 63],
        };
        let uplink = PdrSpec {
            id: 3,
            precedence: self.rng.pick(&[1, 100, 300]),
            f_teid: match rules.pdrs[0].f_teid {
                TeidSpec::Choose => TeidSpec::Choose,
                other => other,
            },
            filters: vec![],
            qfis,
            far: self.rng.pick(&[1, 3]),
            ..rules.pdrs[0].clone()
        };
        let far = match (uplink.far, self.rng.one_in(3)) {
            (_, true) => (Action::Drop, None),
            (_, false) if relays => {
                let plain = Destination {
                    side: Side::Core,
                    instance: Some(dn),
                    tunnel: None,
                    marking: None,
                };
                (Action::Forward, Some(plain))
            }
            (_, false) => (Action::Forward, Some(self.anchor())),
        };
        rules.pdrs.push(uplink);
        rules.fars.push(FarSpec {
            id: 3,
            action: far.0,
            to: far.1,
            bar: None,
        });
        if self.rng.one_in(2) {
            rules.pdrs.push(PdrSpec {
                id: 4,
                precedence: self.rng.pick(&[1, 100, 300]),
                ue: self.named(ue),
                far: self.rng.pick(&[2, 4]),
                filters: self.filters(&ue),
                ..rules.pdrs[1].clone()
            });
            rules.fars.push(FarSpec {
                id: 4,
                action: Action::Forward,
                to: Some(self.gnb()),
                bar: None,
            });
        }
    }

    /// Open5GS provisions such a PDR for every session: it matches Router Solicitations alone.
    fn router_solicitation(&mut self, rules: &mut Rules, ue: UeSpec) {
        rules.pdrs.push(PdrSpec {
            id: 9,
            precedence: 1,
            filters: vec![FilterSpec::solicitations()],
            ue: self.maybe_named(ue),
            qfis: vec![],
            f_teid: match self.rng.below(3) {
                0 => TeidSpec::Choose,
                _ => rules.pdrs[0].f_teid,
            },
            ..rules.pdrs[0].clone()
        });
    }

    /// Open5GS sets up N4-u in both directions.
    fn cp_channels(&mut self, rules: &mut Rules) {
        let to_cp = Destination {
            side: Side::Control,
            instance: self.maybe(ACCESS),
            tunnel: self.rng.one_in(2).then_some((7, CP_N4U.into())),
            marking: self.marking(),
        };
        rules.fars.push(FarSpec {
            id: 20,
            action: Action::Forward,
            to: Some(to_cp),
            bar: None,
        });
        rules.pdrs.push(PdrSpec {
            id: 20,
            precedence: 255,
            source: Side::Control,
            instance: None,
            f_teid: TeidSpec::Choose,
            ue: UeSpec::default(),
            qfis: vec![],
            filters: vec![],
            removes_outer: true,
            far: self.rng.pick(&[1, 2]),
            ..rules.pdrs[0].clone()
        });
        let filters = match self.rng.below(3) {
            0 => vec![],
            _ if self.features.filters => vec![FilterSpec::solicitations()],
            _ => vec![FilterSpec::all()],
        };
        rules.pdrs.push(PdrSpec {
            id: 21,
            precedence: self.rng.pick(&[1, 1000]),
            filters,
            far: 20,
            ..rules.pdrs[0].clone()
        });
    }

    fn qos(&mut self, rules: &mut Rules) {
        if self.rng.one_in(2) {
            let qer = QerSpec {
                qfi: self.rng.one_in(3).then_some(0),
                ..self.qer(1)
            };
            rules.qers.push(qer);
            rules.pdrs.iter_mut().for_each(|p| p.qers.push(1));
        }
        for id in [2, 3] {
            if self.rng.one_in(2) {
                let qer = self.qer(id);
                rules.qers.push(qer);
                for pdr in &mut rules.pdrs {
                    if self.rng.one_in(2) {
                        pdr.qers.push(id);
                    }
                }
            }
        }
    }

    pub(super) fn qer(&mut self, id: u32) -> QerSpec {
        QerSpec {
            id,
            open: (!self.rng.one_in(12), !self.rng.one_in(12)),
            mbr: self.rng.one_in(2).then(|| self.mbr()),
            gbr: self.rng.one_in(3).then(|| self.gbr()),
            qfi: (!self.rng.one_in(4)).then(|| self.rng.pick(&[0, 1, 5, 9, 63])),
        }
    }

    /// A GBR flow's, or 0, which is none.
    fn gbr(&mut self) -> (u64, u64) {
        self.rng.pick(&[(80, 80), (80, 0), (0, 80), (0, 0)])
    }

    pub(super) fn mbr(&mut self) -> (u64, u64) {
        let rate = |g: &mut Self| match g.rng.one_in(20) {
            true => 0,
            // Low ones are exceeded soon.
            false if g.rng.one_in(2) => g.rng.pick(&RATES_KBPS[..2]),
            false => g.rng.pick(&RATES_KBPS),
        };
        (rate(self), rate(self))
    }

    fn usage(&mut self, rules: &mut Rules) {
        for id in 1..=3 {
            if self.rng.one_in(3) {
                continue;
            }
            rules.urrs.push(self.urr(id));
            for pdr in &mut rules.pdrs {
                let of_direction = match id {
                    1 => true,
                    2 => pdr.source == Side::Access,
                    _ => pdr.source == Side::Core,
                };
                if of_direction && !self.rng.one_in(5) {
                    pdr.urrs.push(id);
                }
            }
        }
    }

    pub(super) fn urr(&mut self, id: u32) -> UrrSpec {
        UrrSpec {
            id,
            counts_packets: self.rng.one_in(2),
            inactive: self.rng.one_in(8),
            measures: match self.features.usage {
                true => self.rng.pick(&[(true, false), (true, true), (false, true)]),
                false => (true, false),
            },
            before_qos: self.features.usage && self.rng.one_in(3),
            at_once: self.features.usage && self.rng.one_in(5),
            limits: (self.features.usage && !self.rng.one_in(3)).then(|| self.limits()),
        }
    }

    /// Amounts that a few packets reach, and some that none do.
    fn limits(&mut self) -> UrrLimits {
        UrrLimits {
            threshold: self.rng.one_in(2).then(|| self.amounts()),
            quota: self.rng.one_in(4).then(|| self.amounts()),
            period_s: self.rng.one_in(3).then(|| self.rng.within(1, 12) as u32),
            tells_threshold: !self.rng.one_in(4),
            tells_quota: !self.rng.one_in(4),
            tells_start: self.rng.one_in(4),
            tells_period: !self.rng.one_in(3),
            lost: self.rng.one_in(2).then(|| self.lost()),
            tells_lost: !self.rng.one_in(6),
            times: self.times(),
            later: self.rng.one_in(3).then(|| self.later()),
        }
    }

    /// What a few packets of an idle UE reach, or none.
    fn lost(&mut self) -> (Option<u64>, Option<u64>) {
        let packets = self.rng.pick(&[0, 1, 2, 4, u64::MAX]);
        let octets = self.rng.pick(&[0, 50, 100, 400, u64::MAX]);
        match self.rng.below(3) {
            0 => (Some(packets), None),
            1 => (None, Some(octets)),
            _ => (Some(packets), Some(octets)),
        }
    }

    /// A Monitoring Time that comes within a few steps.
    fn later(&mut self) -> LaterLimits {
        LaterLimits {
            in_s: self.rng.within(1, 8) as u32,
            threshold: self.rng.one_in(2).then(|| self.amounts()),
            quota: self.rng.one_in(4).then(|| self.amounts()),
            time_threshold: self.rng.one_in(3).then(|| self.rng.within(1, 6) as u32),
            time_quota: self.rng.one_in(4).then(|| self.rng.within(1, 6) as u32),
        }
    }

    /// A timer that runs out within a few steps, or 0.
    pub(super) fn inactivity(&mut self) -> u32 {
        self.rng.pick(&[0, 1, 2, 3, 4, 5, 8])
    }

    /// Times that a few steps take.
    fn times(&mut self) -> TimeLimits {
        let mut time = |often: u64| {
            let seconds = self.rng.pick(&[0, 1, 2, 3, 5, 8, 12]);
            self.rng.one_in(often).then_some(seconds)
        };
        TimeLimits {
            threshold: time(3),
            // One of 0 is told with the message that brings it, and so before what that lets go.
            quota: time(4).map(|seconds| seconds.max(1)),
            validity: time(5),
            holding: time(5),
            inactivity: time(2),
            tells: [(); 5].map(|()| !self.rng.one_in(4)),
        }
    }

    fn amounts(&mut self) -> [Option<u64>; 3] {
        // One must be there.
        let always = self.rng.below(3);
        [0, 1, 2].map(|part| {
            let is_there = part == always || self.rng.one_in(3);
            let octets = self.rng.pick(&[0, 1, 64, 100, 1_000, 3_000, 20_000]);
            is_there.then(|| octets + self.rng.below(40))
        })
    }

    pub(super) fn f_teid(&mut self, address: Ipv4Addr) -> TeidSpec {
        match self.rng.below(8) {
            0..=3 => TeidSpec::Choose,
            4..=5 => TeidSpec::ChooseId(if address == N3 { 1 } else { 2 }),
            // Few of them, so that sessions fight for them; half have the form of our own.
            // At the other end, where such tunnels do not end.
            6 if self.rng.one_in(8) => TeidSpec::Given(
                self.rng.within(1, 40) as u32,
                if address == N3 { N9 } else { N3 },
            ),
            6 => TeidSpec::Given(self.rng.within(1, 40) as u32, address),
            _ => TeidSpec::Given(0x8000_0000 | self.rng.within(1, 40) as u32, address),
        }
    }

    /// Addresses of IPv4, of both, or of IPv6 alone.
    fn families(&mut self) -> (bool, bool) {
        match self.features.ipv6 {
            true => {
                let all = [(true, false), (true, false), (true, true), (false, true)];
                self.rng.pick(&all)
            }
            false => (true, false),
        }
    }

    pub(super) fn gnb(&mut self) -> Destination {
        let address = match self.features.ipv6 && self.rng.one_in(3) {
            true => self.rng.pick(&[GNB6, GNB6, FAR_GNB6]).into(),
            false => self.rng.pick(&[GNB, GNB, OTHER_GNB, FAR_GNB]).into(),
        };
        Destination {
            side: Side::Access,
            instance: self.maybe(ACCESS),
            tunnel: Some((self.rng.within(1, 6) as u32, address)),
            marking: self.marking(),
        }
    }

    /// Most FARs leave the DSCP to the configuration; some masks leave bits of it, or ask for ECN bits.
    pub(super) fn marking(&mut self) -> Option<(u8, u8)> {
        let all = [
            (0xb8, 0xfc),
            (0x28, 0xfc),
            (0xff, 0xe0),
            (0x03, 0xff),
            (0x01, 0x03),
        ];
        self.rng.one_in(4).then(|| self.rng.pick(&all))
    }

    /// N9 has no IPv6.
    fn anchor(&mut self) -> Destination {
        let anchor = match self.features.ipv6 && self.rng.one_in(40) {
            true => GNB6.into(),
            false => ANCHOR.into(),
        };
        Destination {
            side: Side::Core,
            instance: self.maybe(N9_NAME),
            tunnel: Some((self.rng.within(0x9000, 0x9003) as u32, anchor)),
            marking: self.marking(),
        }
    }

    pub(super) fn maybe(&mut self, name: &'static str) -> Option<&'static str> {
        (!self.rng.one_in(4)).then_some(name)
    }
}
