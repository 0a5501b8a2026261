//! What was written is read again, whatever it is.

use super::*;
use crate::limits::TUNNEL_IPV6_ADDRESSES;
use crate::names::NameId;
use crate::network::Side;
use crate::network::TunnelAddresses;
use crate::rules::*;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::num::NonZeroU64;
use proptest::prelude::*;
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::ids::{BlockId, EgressId, EntryId, PeerId};
use sluice_datapath::limits::BLOCK_CHAIN;
use sluice_datapath::session::flow_filter::FilterRun;
use sluice_datapath::session::rule::BucketRef;
use sluice_wire::ids::{BarId, FarId, PdrId, QerId, UrrId};
use sluice_wire::pfcp::value::*;

fn ids<const N: usize>() -> impl Strategy<Value = IdList<N>> {
    prop::collection::vec(id(), 0..=N).prop_map(|ids| ids.into_iter().collect())
}

/// Of one octet, two, and four.
fn id() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..=255u32, 2 => any::<u16>().prop_map(u32::from), 1 => any::<u32>()]
}

fn small_id() -> impl Strategy<Value = u32> {
    any::<u16>().prop_map(u32::from)
}

fn side() -> impl Strategy<Value = Side> {
    prop::sample::select(vec![Side::Access, Side::Core, Side::SgiLan, Side::Control])
}

fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from)
}

fn any_address() -> impl Strategy<Value = IpAddr> {
    let ipv6 = (0..TUNNEL_IPV6_ADDRESSES as u128).prop_map(|bits| Ipv6Addr::from(bits).into());
    prop_oneof![address().prop_map(IpAddr::V4), ipv6]
}

/// Either or both.
fn tunnel_addresses() -> impl Strategy<Value = TunnelAddresses> {
    let one = any_address().prop_map(TunnelAddresses::from);
    let both = (address(), 0..TUNNEL_IPV6_ADDRESSES as u128);
    let both = both.prop_map(|(ipv4, ipv6)| TunnelAddresses {
        ipv4: Some(ipv4),
        ipv6: Some(ipv6.into()),
    });
    prop_oneof![one, both]
}

fn name() -> impl Strategy<Value = NameId> {
    any::<u16>().prop_map(NameId::from_number)
}

fn families() -> impl Strategy<Value = Families> {
    (0..4u8).prop_map(Families::from_bits)
}

/// Few, so that PDRs share them.
fn ue() -> impl Strategy<Value = UeMatch> {
    (families(), 0..2u8).prop_map(|(families, instance)| UeMatch { families, instance })
}

fn addresses() -> impl Strategy<Value = UeAddresses> {
    let prefix = any::<u64>().prop_map(NonZeroU64::new);
    let given = (families(), 0..3u8).prop_map(|(families, instance)| Given { families, instance });
    let all = (prop::option::of(address()), prefix, given);
    all.prop_map(|(ipv4, prefix, given)| UeAddresses {
        ipv4,
        prefix,
        given,
    })
}

fn routes() -> impl Strategy<Value = UeRoutes> {
    let run = any::<u32>().prop_map(FilterRun::from_bits);
    (run, families()).prop_map(|(run, families)| UeRoutes { run, families })
}

fn filter() -> impl Strategy<Value = Filter> {
    let run = prop_oneof![
        Just(FilterRun::NONE),
        (0..1u32 << 26, 1..64usize).prop_map(|(first, len)| FilterRun::new(first, len).unwrap())
    ];
    let origin = prop_oneof![
        Just(FilterOrigin::Pdi),
        Just(FilterOrigin::StandsBack),
        any::<u16>().prop_map(FilterOrigin::Predefined),
        any::<u16>().prop_map(FilterOrigin::Application),
    ];
    let narrow = (families(), run, any::<bool>(), origin);
    let narrow = narrow.prop_map(|(families, run, is_link, origin)| Filter {
        families,
        run,
        is_link,
        origin,
    });
    prop_oneof![Just(Filter::ALL), narrow]
}

fn tunnel() -> impl Strategy<Value = LocalTunnel> {
    (1..5u32, tunnel_addresses(), 0..2u8).prop_map(|(teid, addresses, local)| LocalTunnel {
        teid,
        addresses,
        local,
    })
}

fn pdr() -> impl Strategy<Value = Pdr> {
    let entry = (
        side(),
        name(),
        prop::option::of((tunnel(), prop::option::of(any::<u8>()))),
        prop::option::of(ue()),
    );
    let rest = (filter(), any::<bool>(), prop_oneof![Just(0), any::<u64>()]);
    (any::<u16>(), id(), id(), entry, rest, ids(), ids()).prop_map(
        |(
            pdr_id,
            precedence,
            far,
            (source, instance, tunnel, ue),
            (filter, removes, qfis),
            qers,
            urrs,
        )| Pdr {
            id: PdrId(pdr_id),
            precedence,
            source,
            instance,
            tunnel: tunnel.map(|(tunnel, _)| tunnel),
            choose_id: tunnel.and_then(|(_, choose_id)| choose_id),
            ue,
            qfis,
            filter,
            removes_outer: removes,
            far: FarId(far),
            qers,
            urrs,
        },
    )
}

fn far() -> impl Strategy<Value = Far> {
    let action = prop::sample::select(vec![Action::Drop, Action::Forward, Action::Buffer]);
    let tunnel =
        (any::<u32>(), any_address()).prop_map(|(teid, address)| RemoteTunnel { teid, address });
    let marking = prop_oneof![Just((0, 0)), any::<(u8, u8)>()];
    let forwarding = (side(), name(), prop::option::of(tunnel), marking);
    let forwarding = forwarding.prop_map(|(side, instance, tunnel, (octet, mask))| Forwarding {
        side,
        instance,
        tunnel,
        marking: Marking::new(octet, mask),
    });
    let ways = prop::option::of(any::<u16>());
    let indicated = prop::sample::select(vec![
        Indicated::No,
        Indicated::Due,
        Indicated::Sent,
        Indicated::Told,
    ]);
    (
        id(),
        action,
        any::<u16>(),
        prop::option::of(forwarding),
        ways.clone(),
        ways,
        indicated,
        prop_oneof![Just(0), any::<u64>()],
        prop::option::of(any::<u8>()),
    )
        .prop_map(
            |(id, action, flags, forwarding, peer, egress, indicated, paged, bar)| Far {
                id: FarId(id),
                action,
                flags,
                forwarding,
                peer: peer.map(PeerId),
                egress: egress.map(EgressId).filter(|_| peer.is_none()),
                indicated,
                paged,
                is_updated: false,
                bar: bar.map(BarId),
            },
        )
}

fn qer() -> impl Strategy<Value = Qer> {
    let kbps = 0..=BitRate::MAX_KBPS;
    let rate = (kbps.clone(), kbps).prop_map(|(uplink_kbps, downlink_kbps)| BitRate {
        uplink_kbps,
        downlink_kbps,
    });
    let rate = prop::option::of(rate);
    let gate = || prop::sample::select(vec![Gate::Open, Gate::Closed]);
    let gates = (gate(), gate()).prop_map(|(uplink, downlink)| GateStatus { uplink, downlink });
    let bucket = || {
        prop_oneof![
            Just(BucketRef::NONE),
            (1..1_000_000u32, 0..8u8).prop_map(|(block, at)| BucketRef::new(BlockId(block), at))
        ]
    };
    (
        id(),
        gates,
        rate.clone(),
        rate,
        prop::option::of(any::<u8>()),
        [bucket(), bucket()],
    )
        .prop_map(|(id, gate, mbr, gbr, qfi, buckets)| Qer {
            id: QerId(id),
            gate,
            mbr,
            gbr,
            qfi,
            buckets,
            is_new: false,
        })
}

fn volume() -> impl Strategy<Value = Option<Volume>> {
    let part = || prop::option::of(any::<u64>());
    let volume = (part(), part(), part()).prop_map(|(total, uplink, downlink)| Volume {
        total,
        uplink,
        downlink,
    });
    prop::option::of(volume)
}

fn times() -> impl Strategy<Value = UrrTimes> {
    prop::array::uniform5(prop::option::of(any::<u32>())).prop_map(|given| {
        let mut times = UrrTimes::default();
        for (time, given) in times.all().into_iter().zip(given) {
            *time = given;
        }
        times
    })
}

fn monitoring() -> impl Strategy<Value = Monitoring> {
    let time = prop_oneof![
        Just(MonitoringTime::None),
        any::<u32>().prop_map(MonitoringTime::At),
        Just(MonitoringTime::Passed),
    ];
    let seconds = prop::array::uniform2(prop::option::of(any::<u32>()));
    (time, volume(), volume(), seconds).prop_map(
        |(time, threshold, quota, [threshold_s, quota_s])| Monitoring {
            time,
            threshold,
            quota,
            threshold_s,
            quota_s,
        },
    )
}

fn lost() -> impl Strategy<Value = Option<DroppedDlTrafficThreshold>> {
    let part = || prop::option::of(any::<u64>());
    let lost = (part(), part()).prop_map(|(packets, octets)| DroppedDlTrafficThreshold {
        downlink_packets: packets,
        downlink_octets: octets,
    });
    prop::option::of(lost)
}

fn urr() -> impl Strategy<Value = Urr> {
    let measured = (any::<u8>(), any::<u16>(), 0..1u32 << 24, any::<u32>());
    let limits = (
        volume(),
        volume(),
        maybe_zero(),
        maybe_zero(),
        (times(), lost()),
        monitoring(),
    );
    (id(), measured, limits).prop_map(
        |(
            id,
            (method, information, triggers, meter),
            (threshold, quota, period_s, cell, (times, lost), monitoring),
        )| Urr {
            id: UrrId(id),
            method: MeasurementMethod(method),
            information: MeasurementInformation(information),
            triggers: ReportingTriggers(triggers),
            meter,
            threshold,
            quota,
            lost,
            period_s,
            cell,
            times,
            monitoring,
            renewed: Renewed::default(),
            clock: ClockImage::default(),
        },
    )
}

fn maybe_zero() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), any::<u32>()]
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    let key = prop_oneof![
        Just(Key::Spare),
        (0..2u8, 1..5u32).prop_map(|(local, teid)| Key::Tunnel { local, teid }),
        (0..3u8).prop_map(|instance| Key::Ue { instance }),
    ];
    let origins = vec![Origin::Slot, Origin::Pool, Origin::Foreign, Origin::None];
    let blocks = prop::collection::vec(1..u32::MAX, 0..=BLOCK_CHAIN);
    let rest = (prop::sample::select(origins), blocks, any::<bool>());
    (key, any::<u32>(), rest).prop_map(|(key, entry, (origin, list, link_rules))| {
        let mut blocks = [0; BLOCK_CHAIN];
        blocks
            .iter_mut()
            .zip(list)
            .for_each(|(b, block)| *b = block);
        let entry = match (key, origin) {
            (Key::Tunnel { teid, .. }, Origin::Slot) => entry_of(teid, entry % 33),
            _ => entry,
        };
        Endpoint {
            key,
            entry: EntryId(entry),
            origin,
            blocks,
            link_rules,
        }
    })
}

fn bar() -> impl Strategy<Value = Bar> {
    (any::<u8>(), any::<u8>(), any::<Option<u8>>()).prop_map(|(id, delay, packets)| Bar {
        id: BarId(id),
        delay,
        packets,
    })
}

fn sets() -> impl Strategy<Value = SetList> {
    let all = prop::collection::vec(any::<u16>().prop_map(SetId), 0..=SETS);
    all.prop_map(|all| all.into_iter().collect())
}

fn rules() -> impl Strategy<Value = Rules> {
    let few = 0..5usize;
    (
        (addresses(), routes(), sets()),
        prop::collection::vec(pdr(), few.clone()),
        prop::collection::vec(far(), few.clone()),
        prop::collection::vec(qer(), few.clone()),
        prop::collection::vec(urr(), few.clone()),
        prop::collection::vec(endpoint(), few),
        (
            prop::collection::vec(any::<u32>(), 0..=SPARE_CELLS),
            prop::option::of((any::<u32>(), any::<u32>())),
        ),
        prop::collection::vec(bar(), 0..=BARS),
    )
        .prop_map(
            |((ue, routes, sets), pdrs, fars, qers, urrs, endpoints, (cells, inactivity), bars)| {
                Rules {
                    ue,
                    routes,
                    sets,
                    pdrs: pdrs.into_iter().collect(),
                    fars: fars.into_iter().collect(),
                    qers: qers.into_iter().collect(),
                    urrs: urrs.into_iter().collect(),
                    endpoints: endpoints.into_iter().collect(),
                    inactivity: inactivity
                        .map(|(timer_s, cell)| Inactivity::standing(timer_s, cell)),
                    spare_cells: cells.into_iter().collect(),
                    bars: bars.into_iter().collect(),
                }
            },
        )
}

/// No identifier and no precedence has a bit that is not among these; of what else takes one octet where it can,
/// neither.
fn narrowed(mut rules: Rules, bits: u32) -> Rules {
    let narrow = |id: u32| id & bits;
    let name = |name: NameId| NameId::from_number(name.number() & bits as u16);
    for pdr in &mut rules.pdrs {
        pdr.id = PdrId(pdr.id.0 & bits as u16);
        pdr.instance = name(pdr.instance);
        pdr.precedence = narrow(pdr.precedence);
        pdr.far = FarId(narrow(pdr.far.0));
        pdr.qers = pdr.qers.as_slice().iter().map(|id| narrow(*id)).collect();
        pdr.urrs = pdr.urrs.as_slice().iter().map(|id| narrow(*id)).collect();
    }
    for far in &mut rules.fars {
        (far.id, far.flags) = (FarId(narrow(far.id.0)), far.flags & bits as u16);
        if let Some(forwarding) = &mut far.forwarding {
            forwarding.instance = name(forwarding.instance);
        }
    }
    for qer in &mut rules.qers {
        qer.id = QerId(narrow(qer.id.0));
    }
    for urr in &mut rules.urrs {
        urr.id = UrrId(narrow(urr.id.0));
        urr.information.0 &= bits as u16;
    }
    rules
}

fn user() -> impl Strategy<Value = User> {
    ("[0-9]{0,15}", "[0-9]{0,15}").prop_map(|(imsi, msisdn)| User {
        imsi: imsi.parse().unwrap(),
        msisdn: msisdn.parse().unwrap(),
    })
}

fn survives(user: &User, rules: &Rules) {
    let mut known = TunnelIpv4::default();
    comes_again(user, rules, &known);
    known.learn(rules);
    comes_again(user, rules, &known);
}

fn comes_again(user: &User, rules: &Rules, known: &TunnelIpv4) {
    let mut octets = vec![0xee; RECORD_MAX];
    let usage = [(7, 8), (most::<OCTETS_LEN>(), most::<PACKETS_LEN>())]
        .map(|(bytes, packets)| Usage { bytes, packets });
    set_usage(&mut octets, usage);
    let len = write(&mut octets, user, rules, known);
    assert!(len <= len_at_most(rules), "{len} octets");
    let record = &octets[..len];
    let mut again = Rules::default();
    read(record, &mut again, known);
    assert_eq!(&again, rules);
    assert_eq!((read_user(record), super::usage(record)), (*user, usage));
    let told: Vec<u32> = rules.urrs.iter().map(|urr| urr.meter).collect();
    assert_eq!(meters(record).collect::<Vec<_>>(), told);
    let (ue, read) = endpoints(record);
    assert_eq!(ue, rules.ue);
    assert_eq!(read.collect::<Vec<_>>(), &rules.endpoints[..]);
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(user in user(), rules in rules()) {
        survives(&user, &rules);
        survives(&user, &narrowed(rules.clone(), 0xffff));
        survives(&user, &narrowed(rules, 0xff));
    }

    #[test]
    fn precedence_alone_may_need_four_octets(mut pdr in pdr(), low in small_id()) {
        (pdr.precedence, pdr.far) = (0x1_0000 + low, FarId(low));
        let mut rules = Rules::default();
        rules.pdrs.push(pdr);
        survives(&User::default(), &rules);
    }

    /// A record whose FARs alone change is written again from there, or says that it cannot be.
    #[test]
    fn fars_are_replaced_where_they_fit(rules in rules(), bits in prop::sample::select(vec![0xff, 0xffff, u32::MAX]), flags in any::<u16>()) {
        let rules = narrowed(rules, bits);
        let known = TunnelIpv4::default();
        let mut octets = vec![0; RECORD_MAX];
        let len = write(&mut octets, &User::default(), &rules, &known);
        let fars_at = read(&octets[..len], &mut Rules::default(), &known);
        let mut changed = rules.clone();
        changed.fars.iter_mut().for_each(|far| far.flags = flags);
        let mut room = vec![0; RECORD_MAX];
        let kinds = kinds_of(&User::default(), &rules, &known);
        match write_fars(&mut room, &octets[..len], &changed) {
            Some(fars_len) => {
                octets[fars_at..fars_at + fars_len].copy_from_slice(&room[..fars_len]);
                let mut again = Rules::default();
                read(&octets[..fars_at + fars_len], &mut again, &known);
                prop_assert_eq!(again, changed);
            }
            None => prop_assert!(kinds.has(Kinds::NARROW) && flags > 0xff),
        }
    }

    /// Records are ours, but nobody dies of octets that are not.
    #[test]
    fn nothing_read_is_trusted(octets in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = (read_user(&octets), meters(&octets).count(), super::usage(&octets));
        let mut rules = Rules::default();
        read(&octets, &mut rules, &TunnelIpv4::default());
    }
}
