//! Rule decoder.

use crate::limits::{BARS, ENDPOINTS, SPARE_CELLS, TUNNEL_IPV6_ADDRESSES};
use crate::names::NameId;
use crate::network::{Side, TunnelAddresses};
use crate::rules::{
    Action, Bar, ClockImage, Endpoint, Families, Far, Filter, FilterOrigin, Forwarding, IdList,
    Inactivity, Indicated, Key, LocalTunnel, Monitoring, MonitoringTime, Origin, Pdr, Qer,
    RemoteTunnel, Renewed, TunnelIpv6, UeMatch, Urr, UrrTimes,
};
use crate::store::record::encode::one_flag;
use crate::store::record::octets::*;
use crate::store::record::{Kinds, OctetReader, RecordUe, TunnelIpv4};
use arrayvec::ArrayVec;
use core::net::IpAddr;
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::ids::{BlockId, EgressId, EntryId, PeerId};
use sluice_datapath::limits::BLOCK_CHAIN;
use sluice_datapath::session::flow_filter::FilterRun;
use sluice_datapath::session::rule::BucketRef;
use sluice_wire::ids::{BarId, FarId, PdrId, QerId, UrrId};
use sluice_wire::pfcp::value::{
    BitRate, DroppedDlTrafficThreshold, Gate, GateStatus, MeasurementInformation,
    MeasurementMethod, ReportingTriggers, Volume,
};

/// Reads rules.
pub struct RuleDecoder {
    pub kinds: Kinds,
    pub ue: RecordUe,
}

/// Where the parts of F-TEIDs stand that no PDR has itself.
pub struct Tunnels<'r> {
    pub endpoints: &'r ArrayVec<Endpoint, ENDPOINTS>,
    pub ipv6: &'r TunnelIpv6,
    pub ipv4: &'r TunnelIpv4,
}

impl RuleDecoder {
    #[inline(always)]
    fn id(&self, eye: &mut OctetReader<'_>) -> u32 {
        if self.kinds.has(Kinds::WIDE) {
            eye.u32()
        } else {
            self.short(eye).into()
        }
    }

    #[inline(always)]
    fn short(&self, eye: &mut OctetReader<'_>) -> u16 {
        if self.kinds.has(Kinds::NARROW) {
            eye.u8().into()
        } else {
            eye.u16()
        }
    }

    pub fn urr(&self, eye: &mut OctetReader<'_>) -> Urr {
        let id = UrrId(self.id(eye));
        let method = eye.u8();
        let (method, information) = if self.kinds.has(Kinds::NARROW) {
            (
                method & ((1 << METHOD_BITS) - 1),
                u16::from(method >> METHOD_BITS),
            )
        } else {
            (method, eye.u16())
        };
        let [early, more, bits] = eye.get();
        let has = |bit| bits & bit != 0;
        let late = if has(URR_LATE_TRIGGERS) { eye.u8() } else { 0 };
        let meter = eye.u32();
        Urr {
            id,
            method: MeasurementMethod(method),
            information: MeasurementInformation(information),
            triggers: ReportingTriggers(u32::from_le_bytes([early, more, late, 0])),
            meter,
            threshold: has(URR_THRESHOLD).then(|| read_volume(eye)),
            quota: has(URR_QUOTA).then(|| read_volume(eye)),
            period_s: if has(URR_PERIOD) { eye.u32() } else { 0 },
            cell: if has(URR_CELL) { eye.u32() } else { 0 },
            times: if has(URR_TIMES) {
                read_times(eye)
            } else {
                UrrTimes::default()
            },
            monitoring: if has(URR_MONITORING) {
                read_monitoring(eye)
            } else {
                Monitoring::default()
            },
            lost: has(URR_LOST).then(|| read_lost(eye)),
            renewed: Renewed::default(),
            clock: ClockImage::default(),
        }
    }

    /// Cells for rules alone, and that of the session with its timer.
    pub fn cells(
        &self,
        eye: &mut OctetReader<'_>,
    ) -> (ArrayVec<u32, SPARE_CELLS>, Option<Inactivity>) {
        let bits = if self.kinds.has(Kinds::CELLS) {
            eye.u8()
        } else {
            0
        };
        let len = usize::from(bits & !CELLS_TIMER).min(SPARE_CELLS);
        let cells = (0..len).map(|_| eye.u32()).collect();
        let has_timer = bits & CELLS_TIMER != 0;
        let inactivity = has_timer.then(|| Inactivity::standing(eye.u32(), eye.u32()));
        (cells, inactivity)
    }

    pub fn endpoint(&self, eye: &mut OctetReader<'_>) -> Endpoint {
        let bits = eye.u8();
        let key = match bits & 3 {
            KEY_TUNNEL => Key::Tunnel {
                local: eye.u8(),
                teid: eye.u32(),
            },
            KEY_UE => Key::Ue { instance: eye.u8() },
            KEY_OWN_UE => Key::Ue {
                instance: self.ue.instance,
            },
            _ => Key::Spare,
        };
        let origin = match bits >> ENDPOINT_ORIGIN & 3 {
            0 => Origin::Slot,
            1 => Origin::Pool,
            2 => Origin::Foreign,
            _ => Origin::None,
        };
        let entry = match (origin, key) {
            (Origin::Slot, Key::Tunnel { teid, .. }) => entry_of(teid, eye.u8().into()),
            _ => eye.u32(),
        };
        let mut blocks = [0; BLOCK_CHAIN];
        let len = usize::from((bits & !ENDPOINT_LINK_RULES) >> ENDPOINT_BLOCKS);
        blocks.iter_mut().take(len).for_each(|b| *b = eye.u32());
        Endpoint {
            key,
            entry: EntryId(entry),
            origin,
            blocks,
            link_rules: bits & ENDPOINT_LINK_RULES != 0,
        }
    }

    /// The IPv6 addresses of F-TEIDs.
    pub fn tunnel_addresses(&self, eye: &mut OctetReader<'_>) -> TunnelIpv6 {
        let len = if self.kinds.has(Kinds::IPV6_TUNNELS) {
            usize::from(eye.u8()).min(TUNNEL_IPV6_ADDRESSES)
        } else {
            0
        };
        (0..len).map(|_| eye.u128().into()).collect()
    }

    pub fn pdr(
        &self,
        eye: &mut OctetReader<'_>,
        tunnels: &Tunnels<'_>,
        before: Option<&Pdr>,
    ) -> Pdr {
        let id = PdrId(self.short(eye));
        let bits = eye.u16();
        let has = |bit| bits & bit != 0;
        let precedence = if self.kinds.has(Kinds::WIDE) {
            eye.u32()
        } else {
            eye.u16().into()
        };
        let instance = NameId::from_number(self.short(eye));
        let far = FarId(self.id(eye));
        let tunnel = has(PDR_TUNNEL).then(|| self.tunnel(eye, tunnels));
        let (tunnel, choose_id) = tunnel.unzip();
        let ue = if has(PDR_OWN_UE) {
            Some(UeMatch {
                families: Families::from_bits(eye.u8()),
                instance: eye.u8(),
            })
        } else {
            has(PDR_UE).then(|| self.ue.usual(tunnel.is_some()))
        };
        let filter = if has(PDR_FILTER) {
            read_filter(eye)
        } else {
            Filter::ALL
        };
        let qfis = if has(PDR_QFIS) { eye.u64() } else { 0 };
        let (qers, urrs) = match (bits >> PDR_QERS & 15, before) {
            (SAME_LISTS, before) => before.map(|p| (p.qers, p.urrs)).unwrap_or_default(),
            (qers, _) => (self.ids(eye, qers), self.ids(eye, bits >> PDR_URRS)),
        };
        Pdr {
            id,
            precedence,
            source: side(bits),
            instance,
            tunnel,
            choose_id: choose_id.flatten(),
            ue,
            qfis,
            filter,
            removes_outer: has(PDR_REMOVES),
            far,
            qers,
            urrs,
        }
    }

    fn ids<const N: usize>(&self, eye: &mut OctetReader<'_>, len: u16) -> IdList<N> {
        IdList::of_distinct(usize::from(len & 15), || self.id(eye))
    }

    /// With the CHOOSE ID that it was given for.
    fn tunnel(&self, eye: &mut OctetReader<'_>, known: &Tunnels<'_>) -> (LocalTunnel, Option<u8>) {
        let first = eye.u8();
        let at = usize::from(first & !TUNNEL_CHOSEN);
        let (local, teid) = match known.endpoints.get(at).map(|e| e.key) {
            Some(Key::Tunnel { local, teid }) => (local, teid),
            _ => (eye.u8(), eye.u32()),
        };
        let families = if self.kinds.has(Kinds::IPV6_TUNNELS) {
            eye.u8()
        } else {
            TUNNEL_IPV4
        };
        let ipv6 = usize::from(families >> TUNNEL_IPV6).checked_sub(1);
        let tunnel = LocalTunnel {
            teid,
            addresses: TunnelAddresses {
                ipv4: if families & TUNNEL_IPV4 == 0 {
                    None
                } else if self.kinds.has(Kinds::KNOWN_TUNNELS) {
                    known.ipv4.get(local)
                } else {
                    Some(eye.u32().into())
                },
                ipv6: ipv6.and_then(|at| known.ipv6.get(at).copied()),
            },
            local,
        };
        let choose_id = (first & TUNNEL_CHOSEN != 0).then(|| eye.u8());
        (tunnel, choose_id)
    }

    pub fn far(&self, eye: &mut OctetReader<'_>) -> Far {
        let id = FarId(self.id(eye));
        let bits = eye.u16();
        let has = |bit| bits & bit != 0;
        let action = match bits >> FAR_ACTION & 3 {
            0 => Action::Drop,
            1 => Action::Forward,
            _ => Action::Buffer,
        };
        let flags = if has(FAR_ONE_FLAG) {
            one_flag(action)
        } else {
            self.short(eye)
        };
        let instance = has(FAR_FORWARDING).then(|| NameId::from_number(self.short(eye)));
        let tunnel = has(FAR_TUNNEL).then(|| RemoteTunnel {
            teid: eye.u32(),
            address: if has(FAR_IPV6_TUNNEL) {
                IpAddr::V6(eye.u128().into())
            } else {
                IpAddr::V4(eye.u32().into())
            },
        });
        let marking = if has(FAR_MARKING) {
            Marking::new(eye.u8(), eye.u8())
        } else {
            Marking::default()
        };
        Far {
            id,
            action,
            flags,
            forwarding: instance.map(|instance| Forwarding {
                side: side(bits),
                instance,
                tunnel,
                marking,
            }),
            peer: has(FAR_PEER).then(|| PeerId(eye.u16())),
            egress: has(FAR_EGRESS).then(|| EgressId(self.short(eye))),
            indicated: match bits >> FAR_INDICATED & 3 {
                0 => Indicated::No,
                1 => Indicated::Due,
                2 => Indicated::Sent,
                _ => Indicated::Told,
            },
            paged: if has(FAR_PAGED) { eye.u64() } else { 0 },
            bar: has(FAR_BAR).then(|| BarId(eye.u8())),
            is_updated: false,
        }
    }

    pub fn bars(&self, eye: &mut OctetReader<'_>) -> impl Iterator<Item = Bar> {
        let len = if self.kinds.has(Kinds::BARS) {
            usize::from(eye.u8()).min(BARS)
        } else {
            0
        };
        (0..len).map(|_| {
            let (id, delay) = (BarId(eye.u8()), eye.u8());
            let (is_told, packets) = (eye.u8() != 0, eye.u8());
            Bar {
                id,
                delay,
                packets: is_told.then_some(packets),
            }
        })
    }

    pub fn qer(&self, eye: &mut OctetReader<'_>) -> Qer {
        let id = QerId(self.id(eye));
        let bits = eye.u8();
        let has = |bit| bits & bit != 0;
        let gate = |closed| if closed { Gate::Closed } else { Gate::Open };
        let mut rate = || rate(eye, has(QER_SHORT_RATES));
        let mbr = has(QER_MBR).then(&mut rate);
        let gbr = has(QER_GBR).then(&mut rate);
        let qfi = has(QER_QFI).then(|| eye.u8());
        let buckets = if has(QER_BUCKETS) {
            [(); 2].map(|()| bucket(eye))
        } else {
            [BucketRef::NONE; 2]
        };
        Qer {
            id,
            gate: GateStatus {
                uplink: gate(has(QER_UPLINK_CLOSED)),
                downlink: gate(has(QER_DOWNLINK_CLOSED)),
            },
            mbr,
            gbr,
            qfi,
            buckets,
            is_new: false,
        }
    }
}

fn read_filter(eye: &mut OctetReader<'_>) -> Filter {
    let bits = eye.u8();
    let run = if bits & FILTER_RUN != 0 { eye.u32() } else { 0 };
    let run = FilterRun::new(run >> 6, (run & 63) as usize);
    let origin = match bits & (FILTER_PREDEFINED | FILTER_STANDS_BACK | FILTER_APPLICATION) {
        0 => FilterOrigin::Pdi,
        FILTER_STANDS_BACK => FilterOrigin::StandsBack,
        FILTER_APPLICATION => FilterOrigin::Application(eye.u16()),
        _ => FilterOrigin::Predefined(eye.u16()),
    };
    Filter {
        families: Families::from_bits(bits),
        run: run.unwrap_or(FilterRun::NONE),
        is_link: bits & FILTER_LINK != 0,
        origin,
    }
}

fn rate(eye: &mut OctetReader<'_>, is_short: bool) -> BitRate {
    let mut kbps = || {
        if is_short {
            eye.low::<3>()
        } else {
            eye.low::<5>()
        }
    };
    BitRate {
        uplink_kbps: kbps(),
        downlink_kbps: kbps(),
    }
}

fn bucket(eye: &mut OctetReader<'_>) -> BucketRef {
    match eye.u8() {
        NO_BUCKET => BucketRef::NONE,
        at => BucketRef::new(BlockId(eye.u32().min(LAST_BLOCK)), at),
    }
}

fn side(bits: u16) -> Side {
    match bits & 3 {
        0 => Side::Access,
        1 => Side::Core,
        2 => Side::SgiLan,
        _ => Side::Control,
    }
}

fn read_times(eye: &mut OctetReader<'_>) -> UrrTimes {
    let bits = eye.u8();
    let mut times = UrrTimes::default();
    for (at, time) in (0..).zip(times.all()) {
        *time = (bits & 1 << at != 0).then(|| eye.u32());
    }
    times
}

fn read_monitoring(eye: &mut OctetReader<'_>) -> Monitoring {
    let bits = eye.u8();
    let has = |bit| bits & bit != 0;
    let threshold = has(MONITORING_THRESHOLD).then(|| read_volume(eye));
    let quota = has(MONITORING_QUOTA).then(|| read_volume(eye));
    let time = match (has(MONITORING_AT), has(MONITORING_PASSED)) {
        (true, _) => MonitoringTime::At(eye.u32()),
        (false, true) => MonitoringTime::Passed,
        (false, false) => MonitoringTime::None,
    };
    Monitoring {
        time,
        threshold,
        quota,
        threshold_s: has(MONITORING_THRESHOLD_S).then(|| eye.u32()),
        quota_s: has(MONITORING_QUOTA_S).then(|| eye.u32()),
    }
}

fn read_lost(eye: &mut OctetReader<'_>) -> DroppedDlTrafficThreshold {
    let bits = eye.u8();
    let mut part = |bit| (bits & bit != 0).then(|| eye.u64());
    DroppedDlTrafficThreshold {
        downlink_packets: part(LOST_PACKETS),
        downlink_octets: part(LOST_OCTETS),
    }
}

fn read_volume(eye: &mut OctetReader<'_>) -> Volume {
    let bits = eye.u8();
    let mut part = |bit| {
        let is_there = bits & bit != 0;
        is_there.then(|| {
            if bits & VOLUME_LONG != 0 {
                eye.u64()
            } else {
                eye.u32().into()
            }
        })
    };
    Volume {
        total: part(VOLUME_TOTAL),
        uplink: part(VOLUME_UPLINK),
        downlink: part(VOLUME_DOWNLINK),
    }
}
