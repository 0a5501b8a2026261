//! Rule encoder.

use crate::network::Side;
use crate::rules::{
    Action, Endpoint, Far, Filter, FilterOrigin, Key, LocalTunnel, Monitoring, MonitoringTime,
    Origin, Pdr, Qer, Rules, Urr, UrrTimes,
};
use crate::store::record::octets::{fits, measures, *};
use crate::store::record::{Kinds, OctetWriter, RecordUe};
use core::net::IpAddr;
use sluice_datapath::session::rule::BucketRef;
use sluice_wire::pfcp::value::{ApplyAction, DroppedDlTrafficThreshold, Gate, Volume};

/// Writes rules.
pub struct RuleEncoder<'r> {
    pub kinds: Kinds,
    pub ue: RecordUe,
    pub rules: &'r Rules,
    /// The PDR that was written last.
    before: Option<&'r Pdr>,
}

impl<'r> RuleEncoder<'r> {
    /// Of a session's rules, none of which is written.
    pub fn new(kinds: Kinds, ue: RecordUe, rules: &'r Rules) -> Self {
        Self {
            kinds,
            ue,
            rules,
            before: None,
        }
    }

    #[inline(always)]
    fn id(&self, pen: &mut OctetWriter<'_>, id: u32) {
        if self.kinds.has(Kinds::WIDE) {
            pen.u32(id)
        } else {
            self.short(pen, id as u16)
        }
    }

    /// A field of two octets, or of one where all of them fit.
    #[inline(always)]
    fn short(&self, pen: &mut OctetWriter<'_>, field: u16) {
        if self.kinds.has(Kinds::NARROW) {
            pen.u8(field as u8)
        } else {
            pen.u16(field)
        }
    }

    pub fn urr(&self, pen: &mut OctetWriter<'_>, urr: &Urr) {
        self.id(pen, urr.id.0);
        match measures(urr).filter(|_| self.kinds.has(Kinds::NARROW)) {
            Some(both) => pen.u8(both),
            None => {
                pen.u8(urr.method.0);
                pen.u16(urr.information.0);
            }
        }
        // Few SMFs ask for a trigger of the third octet.
        let [early, more, late, _] = urr.triggers.0.to_le_bytes();
        let bits = bit8(URR_THRESHOLD, urr.threshold.is_some())
            | bit8(URR_QUOTA, urr.quota.is_some())
            | bit8(URR_PERIOD, urr.period_s != 0)
            | bit8(URR_CELL, urr.cell != 0)
            | bit8(URR_TIMES, urr.times != UrrTimes::default())
            | bit8(URR_MONITORING, urr.is_monitored())
            | bit8(URR_LOST, urr.lost.is_some())
            | bit8(URR_LATE_TRIGGERS, late != 0);
        pen.put([early, more, bits]);
        if late != 0 {
            pen.u8(late);
        }
        pen.u32(urr.meter);
        for volume in [urr.threshold, urr.quota].into_iter().flatten() {
            write_volume(pen, volume);
        }
        for number in [urr.period_s, urr.cell] {
            if number != 0 {
                pen.u32(number);
            }
        }
        if urr.times != UrrTimes::default() {
            write_times(pen, urr.times);
        }
        if urr.is_monitored() {
            write_monitoring(pen, &urr.monitoring);
        }
        if let Some(lost) = urr.lost {
            write_lost(pen, lost);
        }
    }

    pub fn cells(&self, pen: &mut OctetWriter<'_>) {
        if self.kinds.has(Kinds::CELLS) {
            let timer = bit8(CELLS_TIMER, self.rules.inactivity.is_some());
            pen.u8(self.rules.spare_cells.len() as u8 | timer);
            self.rules
                .spare_cells
                .iter()
                .for_each(|cell| pen.u32(*cell));
            if let Some(inactivity) = self.rules.inactivity {
                pen.u32(inactivity.timer_s);
                pen.u32(inactivity.cell);
            }
        }
    }

    pub fn endpoint(&self, pen: &mut OctetWriter<'_>, endpoint: &Endpoint) {
        let origin = match endpoint.origin {
            Origin::Slot => 0,
            Origin::Pool => 1,
            Origin::Foreign => 2,
            Origin::None => 3,
        };
        let blocks = endpoint.blocks().count() as u8;
        let rest = origin << ENDPOINT_ORIGIN
            | blocks << ENDPOINT_BLOCKS
            | bit8(ENDPOINT_LINK_RULES, endpoint.link_rules);
        match endpoint.key {
            Key::Spare => pen.u8(KEY_SPARE | rest),
            Key::Tunnel { local, teid } => {
                pen.u8(KEY_TUNNEL | rest);
                pen.u8(local);
                pen.u32(teid);
            }
            Key::Ue { instance } if instance == self.ue.instance => pen.u8(KEY_OWN_UE | rest),
            Key::Ue { instance } => {
                pen.u8(KEY_UE | rest);
                pen.u8(instance);
            }
        }
        match (endpoint.origin, endpoint.key) {
            (Origin::Slot, Key::Tunnel { teid, .. }) => {
                let bits = entry_bits(teid, endpoint.entry.0);
                debug_assert_eq!(entry_of(teid, bits), endpoint.entry.0);
                pen.u8(bits as u8);
            }
            _ => pen.u32(endpoint.entry.0),
        }
        let blocks = endpoint.blocks();
        blocks.for_each(|block| pen.u32(block));
    }

    /// The IPv6 addresses of F-TEIDs, if there are any.
    pub fn tunnel_addresses(&self, pen: &mut OctetWriter<'_>) {
        if self.kinds.has(Kinds::IPV6_TUNNELS) {
            let all = self.rules.tunnel_ipv6_addresses();
            pen.u8(all.len() as u8);
            all.iter().for_each(|address| pen.u128((*address).into()));
        }
    }

    pub fn pdr(&mut self, pen: &mut OctetWriter<'_>, pdr: &'r Pdr) {
        let before = self.before.replace(pdr);
        let has_same = before.is_some_and(|p| p.qers == pdr.qers && p.urrs == pdr.urrs);
        let other_ue = self.ue.unusual(pdr);
        let (qers, urrs) = (pdr.qers.as_slice(), pdr.urrs.as_slice());
        let bits = side_bits(pdr.source)
            | bit(PDR_FILTER, pdr.filter != Filter::ALL)
            | bit(PDR_REMOVES, pdr.removes_outer)
            | bit(PDR_TUNNEL, pdr.tunnel.is_some())
            | bit(PDR_UE, pdr.ue.is_some())
            | bit(PDR_OWN_UE, other_ue.is_some())
            | bit(PDR_QFIS, pdr.qfis != 0)
            | if has_same {
                SAME_LISTS << PDR_QERS
            } else {
                (qers.len() as u16) << PDR_QERS | (urrs.len() as u16) << PDR_URRS
            };
        self.short(pen, pdr.id.0);
        pen.u16(bits);
        if self.kinds.has(Kinds::WIDE) {
            pen.u32(pdr.precedence)
        } else {
            pen.u16(pdr.precedence as u16)
        }
        self.short(pen, pdr.instance.number());
        self.id(pen, pdr.far.0);
        if let Some(tunnel) = pdr.tunnel {
            self.tunnel(pen, tunnel, pdr.choose_id);
        }
        if let Some(ue) = other_ue {
            pen.u8(ue.families.bits());
            pen.u8(ue.instance);
        }
        if pdr.filter != Filter::ALL {
            write_filter(pen, pdr.filter);
        }
        if pdr.qfis != 0 {
            pen.u64(pdr.qfis);
        }
        if !has_same {
            let lists = qers.iter().chain(urrs);
            lists.for_each(|id| self.id(pen, *id));
        }
    }

    /// TEID and number of the address stand in the endpoint.
    fn tunnel(&self, pen: &mut OctetWriter<'_>, tunnel: LocalTunnel, choose_id: Option<u8>) {
        let LocalTunnel {
            teid,
            addresses,
            local,
        } = tunnel;
        let key = Key::Tunnel { local, teid };
        let endpoint = self.rules.endpoints.iter().position(|e| e.key == key);
        let chosen = choose_id.map_or(0, |_| TUNNEL_CHOSEN);
        match endpoint {
            Some(at) => pen.u8(at as u8 | chosen),
            None => {
                pen.u8(NO_ENDPOINT | chosen);
                pen.u8(local);
                pen.u32(teid);
            }
        }
        if self.kinds.has(Kinds::IPV6_TUNNELS) {
            let all = self.rules.tunnel_ipv6_addresses();
            let at = addresses
                .ipv6
                .and_then(|of| all.iter().position(|a| *a == of));
            let at = at.map_or(0, |at| at as u8 + 1);
            pen.u8(bit8(TUNNEL_IPV4, addresses.ipv4.is_some()) | at << TUNNEL_IPV6);
        }
        if let Some(address) = addresses.ipv4
            && !self.kinds.has(Kinds::KNOWN_TUNNELS)
        {
            pen.u32(address.into());
        }
        if let Some(id) = choose_id {
            pen.u8(id);
        }
    }

    pub fn far(&self, pen: &mut OctetWriter<'_>, far: &Far) {
        let action = match far.action {
            Action::Drop => 0,
            Action::Forward => 1,
            Action::Buffer => 2,
        };
        let side = far.forwarding.map_or(0, |f| side_bits(f.side));
        let bits = side
            | action << FAR_ACTION
            | bit(FAR_FORWARDING, far.forwarding.is_some())
            | bit(FAR_TUNNEL, far.tunnel().is_some())
            | bit(
                FAR_IPV6_TUNNEL,
                far.tunnel().is_some_and(|t| t.address.is_ipv6()),
            )
            | bit(FAR_PEER, far.peer.is_some())
            | bit(FAR_EGRESS, far.egress.is_some())
            | (far.indicated as u16) << FAR_INDICATED
            | bit(FAR_PAGED, far.paged != 0)
            | bit(FAR_BAR, far.bar.is_some())
            | bit(FAR_ONE_FLAG, far.flags == one_flag(far.action))
            | bit(FAR_MARKING, far.marks());
        self.id(pen, far.id.0);
        pen.u16(bits);
        if far.flags != one_flag(far.action) {
            self.short(pen, far.flags);
        }
        if let Some(forwarding) = far.forwarding {
            self.short(pen, forwarding.instance.number());
        }
        if let Some(tunnel) = far.tunnel() {
            pen.u32(tunnel.teid);
            match tunnel.address {
                IpAddr::V4(address) => pen.u32(address.into()),
                IpAddr::V6(address) => pen.u128(address.into()),
            }
        }
        if let Some(forwarding) = far.forwarding.filter(|_| far.marks()) {
            pen.put(forwarding.marking.octets());
        }
        if let Some(peer) = far.peer {
            pen.u16(peer.0);
        }
        if let Some(egress) = far.egress {
            self.short(pen, egress.0);
        }
        if far.paged != 0 {
            pen.u64(far.paged);
        }
        if let Some(bar) = far.bar {
            pen.u8(bar.0);
        }
    }

    /// All of them, if there are any.
    pub fn bars(&self, pen: &mut OctetWriter<'_>) {
        if !self.kinds.has(Kinds::BARS) {
            return;
        }
        pen.u8(self.rules.bars.len() as u8);
        for bar in &self.rules.bars {
            pen.u8(bar.id.0);
            pen.u8(bar.delay);
            pen.u8(u8::from(bar.packets.is_some()));
            pen.u8(bar.packets.unwrap_or(0));
        }
    }

    pub fn qer(&self, pen: &mut OctetWriter<'_>, qer: &Qer) {
        let shared = qer.buckets.iter().any(|b| *b != BucketRef::NONE);
        let bits = bit8(QER_UPLINK_CLOSED, qer.gate.uplink == Gate::Closed)
            | bit8(QER_DOWNLINK_CLOSED, qer.gate.downlink == Gate::Closed)
            | bit8(QER_MBR, qer.mbr.is_some())
            | bit8(QER_GBR, qer.gbr.is_some())
            | bit8(QER_QFI, qer.qfi.is_some())
            | bit8(QER_BUCKETS, shared);
        let rates = qer.mbr.into_iter().chain(qer.gbr);
        let rates = rates.flat_map(|rate| [rate.uplink_kbps, rate.downlink_kbps]);
        let are_short = rates.clone().all(fits::<3>);
        self.id(pen, qer.id.0);
        pen.u8(bits | bit8(QER_SHORT_RATES, are_short));
        rates.for_each(|kbps| {
            if are_short {
                pen.low::<3>(kbps)
            } else {
                pen.low::<5>(kbps)
            }
        });
        if let Some(qfi) = qer.qfi {
            pen.u8(qfi);
        }
        if shared {
            for bucket in qer.buckets {
                match bucket.get() {
                    Some((block, at)) => {
                        pen.u8(at as u8);
                        pen.u32(block.0);
                    }
                    None => pen.u8(NO_BUCKET),
                }
            }
        }
    }
}

fn write_filter(pen: &mut OctetWriter<'_>, filter: Filter) {
    let Filter {
        families,
        run,
        is_link,
        origin,
    } = filter;
    let has_run = !run.is_none();
    let origin_bit = match origin {
        FilterOrigin::Pdi => 0,
        FilterOrigin::StandsBack => FILTER_STANDS_BACK,
        FilterOrigin::Predefined(_) => FILTER_PREDEFINED,
        FilterOrigin::Application(_) => FILTER_APPLICATION,
    };
    pen.u8(families.bits() | bit8(FILTER_RUN, has_run) | bit8(FILTER_LINK, is_link) | origin_bit);
    if has_run {
        pen.u32(run.first() << 6 | run.len() as u32);
    }
    if let FilterOrigin::Predefined(number) | FilterOrigin::Application(number) = origin {
        pen.u16(number);
    }
}

/// The flag of Apply Action that an action has as a rule alone (TS 29.244, 8.2.26).
pub fn one_flag(action: Action) -> u16 {
    match action {
        Action::Drop => ApplyAction::DROP.flags(),
        Action::Forward => ApplyAction::FORW.flags(),
        Action::Buffer => ApplyAction::BUFF.flags(),
    }
}

fn side_bits(side: Side) -> u16 {
    match side {
        Side::Access => 0,
        Side::Core => 1,
        Side::SgiLan => 2,
        Side::Control => 3,
    }
}

fn bit(bit: u16, on: bool) -> u16 {
    if on { bit } else { 0 }
}

fn bit8(bit: u8, on: bool) -> u8 {
    if on { bit } else { 0 }
}

fn write_times(pen: &mut OctetWriter<'_>, mut times: UrrTimes) {
    let all = times.all().map(|time| *time);
    let there = (0..).zip(all).filter(|(_, time)| time.is_some());
    pen.u8(there.fold(0, |bits, (at, _)| bits | 1 << at));
    all.into_iter().flatten().for_each(|time_s| pen.u32(time_s));
}

fn write_monitoring(pen: &mut OctetWriter<'_>, monitoring: &Monitoring) {
    let at = match monitoring.time {
        MonitoringTime::At(due_s) => Some(due_s),
        MonitoringTime::None | MonitoringTime::Passed => None,
    };
    let has_passed = monitoring.time == MonitoringTime::Passed;
    let bits = bit8(MONITORING_AT, at.is_some())
        | bit8(MONITORING_PASSED, has_passed)
        | bit8(MONITORING_THRESHOLD, monitoring.threshold.is_some())
        | bit8(MONITORING_QUOTA, monitoring.quota.is_some())
        | bit8(MONITORING_THRESHOLD_S, monitoring.threshold_s.is_some())
        | bit8(MONITORING_QUOTA_S, monitoring.quota_s.is_some());
    pen.u8(bits);
    let volumes = [monitoring.threshold, monitoring.quota];
    for volume in volumes.into_iter().flatten() {
        write_volume(pen, volume);
    }
    for seconds in [at, monitoring.threshold_s, monitoring.quota_s] {
        seconds.into_iter().for_each(|seconds| pen.u32(seconds));
    }
}

fn write_lost(pen: &mut OctetWriter<'_>, threshold: DroppedDlTrafficThreshold) {
    let (packets, octets) = (threshold.downlink_packets, threshold.downlink_octets);
    pen.u8(bit8(LOST_PACKETS, packets.is_some()) | bit8(LOST_OCTETS, octets.is_some()));
    for number in [packets, octets].into_iter().flatten() {
        pen.u64(number);
    }
}

fn write_volume(pen: &mut OctetWriter<'_>, volume: Volume) {
    let parts = [
        (VOLUME_TOTAL, volume.total),
        (VOLUME_UPLINK, volume.uplink),
        (VOLUME_DOWNLINK, volume.downlink),
    ];
    let there = parts.iter().filter(|(_, octets)| octets.is_some());
    let octets = || parts.into_iter().filter_map(|(_, octets)| octets);
    let is_long = octets().any(|octets| u32::try_from(octets).is_err());
    pen.u8(there.fold(bit8(VOLUME_LONG, is_long), |bits, (bit, _)| bits | bit));
    octets().for_each(|octets| {
        if is_long {
            pen.u64(octets)
        } else {
            pen.u32(octets as u32)
        }
    });
}
