//! Sessions with IPv6: one entry for both addresses of a UE, found by either.

use super::bench::*;
use crate::trace_target::TraceTarget;
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::txn::Op;
use sluice_datapath::trace::Key;
use sluice_wire::ids::{FarId, PdrId, Teid};
use sluice_wire::pfcp::group::{Pdi, UpdatePdr};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

const PREFIX: u64 = 0x2001_0db8_cafe_0001;
const OTHER: u64 = 0x2001_0db8_cafe_0002;

fn v6(prefix: u64) -> UeIpAddress {
    UeIpAddress::v6(Ipv6Addr::from(u128::from(prefix) << 64 | 2), true)
}

fn both(prefix: u64) -> UeIpAddress {
    UeIpAddress {
        ipv4: Some(UE),
        ..v6(prefix)
    }
}

/// The entries that were written, those that vacate one left out.
fn entries(bench: &Bench) -> Vec<SessionEntry> {
    let entries = bench.ops.iter().filter_map(|op| match op {
        Op::Entry { image, .. } if !image.is_vacant() => Some(*image),
        _ => None,
    });
    entries.collect()
}

fn family(entry: &SessionEntry) -> (bool, bool) {
    let has = |flag| entry.head.flags.has(flag);
    (has(Flags::MATCH_IPV4), has(Flags::MATCH_IPV6))
}

#[test]
fn both_addresses_lead_to_one_entry_in_the_shard_of_the_ipv4_address() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    on_ue(&mut request, both(PREFIX));
    request.pdn_type = Some(PdnType::IPV4V6);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let entries = entries(&bench);
    assert_eq!(entries.len(), 2);
    for entry in &entries {
        assert_eq!((entry.ue_ip, entry.ue_prefix), (UE.into(), PREFIX));
        assert_eq!(family(entry), (false, false), "it names all that there is");
    }
    assert!(entries.iter().any(|entry| entry.key == u32::from(UE)));
    let used = bench.up.in_use();
    assert_eq!((used.pool_entries, used.foreign_entries), (1, 0));
    let view = bench.up.session(done.seid.0).unwrap();
    assert_eq!(u32::from(view.summary.shard), u32::from(UE) % 4096);
    assert_eq!(view.summary.ue_address, Some(UE));
    assert_eq!(
        view.summary.ue_prefix.as_deref(),
        Some("2001:db8:cafe:1::/64")
    );
    let of_ue = bench
        .up
        .seid_of_ue(Ipv6Addr::from(u128::from(PREFIX) << 64 | 77));
    assert_eq!(of_ue, Some(done.seid.0));
    let found = bench.up.followed(0, TraceTarget::UePrefix(PREFIX)).unwrap();
    assert!(found.keys.contains(&Key::UePrefix(PREFIX)) && found.keys.contains(&Key::Ue(UE)));
    assert!(bench.up.followed(0, TraceTarget::UePrefix(OTHER)).is_none());
    bench.delete(CP, done.seid);
    bench.assert_well_spoken();
    bench.assert_vacant();
}

#[test]
fn a_prefix_alone_is_at_home_in_its_own_shard() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    on_ue(&mut request, v6(PREFIX));
    request.pdn_type = Some(PdnType::IPV6);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    for entry in entries(&bench) {
        assert_eq!((entry.ue_ip, entry.ue_prefix), (0, PREFIX));
        let is_tunnel = entry.head.flags.has(Flags::TUNNEL);
        assert_eq!(entry.key == 0, !is_tunnel);
    }
    let used = bench.up.in_use();
    assert_eq!((used.pool_entries, used.foreign_entries), (0, 1));
    let view = bench.up.session(done.seid.0).unwrap();
    assert_eq!(u64::from(view.summary.shard), PREFIX % 4096);
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn a_pdi_of_one_family_matches_that_family() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    request.create_pdr[0].pdi.ue_ip_address[0] = v6(PREFIX);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let entries = entries(&bench);
    for entry in &entries {
        let is_tunnel = entry.head.flags.has(Flags::TUNNEL);
        assert_eq!(family(entry), (!is_tunnel, is_tunnel));
    }
    // A PDI that names no address is of both.
    let mut change = SessionModificationRequest::default();
    let mut third = uplink_pdr(3, 1);
    third.pdi.local_f_teid = Some(FTeid::v4(Teid::new(done.teids[0].1).unwrap(), N3));
    change.create_pdr.push(third);
    bench.ops.clear();
    let changed = bench.modify(CP, done.seid, &change);
    assert_eq!(changed.cause, Cause::REQUEST_ACCEPTED);
    let rules = bench.ops.iter().filter_map(|op| match op {
        Op::Rule { image, .. } => Some(image.head.flags.has(Flags::MATCH_IPV6)),
        _ => None,
    });
    assert_eq!(rules.collect::<Vec<_>>(), [true, false]);
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

fn updated(prefix: UeIpAddress) -> SessionModificationRequest<'static> {
    let mut pdi = Pdi {
        source_interface: SourceInterface::CORE,
        network_instance: Some(Name(b"internet")),
        ..Default::default()
    };
    pdi.ue_ip_address.push(prefix);
    let mut change = SessionModificationRequest::default();
    change.update_pdr.push(UpdatePdr {
        pdr_id: PdrId(2),
        pdi: Some(pdi),
        ..Default::default()
    });
    change
}

#[test]
fn a_prefix_may_come_later_and_an_ipv4_address_may_not() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &default_session(UE, 1)).seid;
    bench.ops.clear();
    let later = bench.modify(CP, seid, &updated(both(PREFIX)));
    assert_eq!(later.cause, Cause::REQUEST_ACCEPTED);
    let after = entries(&bench);
    assert_eq!(after.len(), 2, "entry and tunnel know of it");
    for entry in &after {
        let is_tunnel = entry.head.flags.has(Flags::TUNNEL);
        assert_eq!(entry.ue_prefix, PREFIX);
        assert_eq!(family(entry), (is_tunnel, false), "PDR 1 names IPv4");
    }
    let said = |done: Modified| (done.cause, done.offending, done.failed);
    let refused = (
        Cause::RULE_CREATION_MODIFICATION_FAILURE,
        Some(IeType::UE_IP_ADDRESS),
        Some(FailedRuleId::Pdr(PdrId(2))),
    );
    let before = bench.fingerprint();
    assert_eq!(said(bench.modify(CP, seid, &updated(both(OTHER)))), refused);
    let mut request = default_session(UE, 2);
    on_ue(&mut request, v6(OTHER));
    let second = bench.establish(CP, &request).seid;
    assert_eq!(
        said(bench.modify(CP, second, &updated(both(OTHER)))),
        refused
    );
    bench.delete(CP, second);
    assert_eq!(bench.fingerprint(), before);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn a_prefix_of_another_session_is_refused() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    on_ue(&mut request, both(PREFIX));
    let first = bench.establish(CP, &request).seid;
    let before = bench.fingerprint();
    let mut thief = default_session(Ipv4Addr::new(10, 45, 0, 9), 2);
    on_ue(&mut thief, v6(PREFIX));
    let done = bench.establish(CP, &thief);
    assert_eq!(
        (done.cause, done.offending),
        (
            Cause::RULE_CREATION_MODIFICATION_FAILURE,
            Some(IeType::UE_IP_ADDRESS)
        )
    );
    let other = bench.establish(CP, &default_session(Ipv4Addr::new(10, 45, 0, 9), 3));
    let stolen = UeIpAddress {
        ipv4: Some(Ipv4Addr::new(10, 45, 0, 9)),
        ..v6(PREFIX)
    };
    let done = bench.modify(CP, other.seid, &updated(stolen));
    assert_eq!(done.offending, Some(IeType::UE_IP_ADDRESS));
    bench.delete(CP, other.seid);
    assert_eq!(bench.fingerprint(), before);
    // Once it is free another one may have it.
    bench.delete(CP, first);
    assert_eq!(bench.establish(CP, &thief).cause, Cause::REQUEST_ACCEPTED);
}

#[test]
fn a_downlink_pdr_without_address_is_behind_the_ues_entry() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &default_session(UE, 1)).seid;
    let before = bench.up.in_use();
    let mut flow = downlink_pdr(3, 2, UE);
    flow.pdi.ue_ip_address.clear();
    flow.precedence = sluice_wire::ids::Precedence(50);
    let filter = SdfFilter::flow(b"permit out ip from 10.100.6.2/32 to assigned");
    flow.pdi.sdf_filter.push(filter);
    let mut change = SessionModificationRequest::default();
    change.create_pdr.push(flow);
    let done = bench.modify(CP, seid, &change);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let after = bench.up.in_use();
    assert_eq!((after.pool_entries, after.blocks), (1, before.blocks + 1));
    let view = bench.up.session(seid.0).unwrap();
    assert_eq!(
        view.pdr[0].filters,
        ["permit out ip from 10.100.6.2 to assigned"]
    );
    assert_eq!((view.pdr[0].ue_address, view.pdr[0].live), (None, true));
    // In a session without UE address there is no such entry.
    let mut bare = establishment(CP, 2);
    let mut down = downlink_pdr(2, 1, UE);
    down.pdi.ue_ip_address.clear();
    bare.create_pdr.extend([uplink_pdr(1, 1), down]);
    bare.create_far.push(to_core(1));
    let done = bench.establish(CP, &bare);
    assert_eq!(done.offending, Some(IeType::PDI));
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn of_a_dual_stack_gnb_the_ipv4_address_is_taken() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let parameters = request.create_far[1]
        .forwarding_parameters
        .as_mut()
        .unwrap();
    let ohc = parameters.outer_header_creation.as_mut().unwrap();
    ohc.description = ohc.description.union(OuterHeaderDescription::GTPU_UDP_IPV6);
    ohc.ipv6 = Some(Ipv6Addr::LOCALHOST);
    assert_eq!(request.create_far[1].far_id, FarId(2));
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let view = bench.up.session(done.seid.0).unwrap();
    assert_eq!(view.far[1].peer, Some(GNB.into()));
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn an_address_of_a_pool_leads_to_a_ue_while_a_session_has_it() {
    let mut bench = Bench::new();
    let leads = |bench: &Bench, instance: u8, address: Ipv4Addr| {
        let instance = sluice_datapath::lookup::layout::InstanceId(instance);
        bench.up.leads_to_ue(instance, address.into())
    };
    let next = Ipv4Addr::from(u32::from(UE) + 1);
    assert!(!leads(&bench, 1, UE), "nobody has it yet");
    let done = bench.establish(CP, &default_session(UE, 1));
    assert!(leads(&bench, 1, UE));
    assert!(!leads(&bench, 1, next) && !leads(&bench, 0, UE));
    bench.delete(CP, done.seid);
    assert!(!leads(&bench, 1, UE), "its session has ended");
}

/// Two network instances may have the same addresses, and a FAR may lead to another one than that of its session's UE.
#[test]
fn a_session_that_sends_elsewhere_is_known_to_have_its_ue_in_its_own_network_instance() {
    let (internet, ims) = (InstanceId(1), InstanceId(2));
    let mut bench = Bench::new();
    let of_internet = bench.establish(CP, &with_prefix(b"internet", 1));
    let of_ims = bench.establish(CP, &with_prefix(b"ims", 2));
    let [first, second] = [&of_internet, &of_ims].map(|done| {
        assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
        uplink_entry(&bench, done.teids[0].1)
    });
    let known = |bench: &Bench| {
        let has = |entry, instance| bench.up.has_ue_in(entry, instance);
        [has(first, ims), has(second, internet), has(second, ims)]
    };
    assert_eq!(known(&bench), [false, false, true]);
    bench.delete(CP, of_ims.seid);
    assert_eq!(
        known(&bench),
        [false, false, false],
        "the entry is nobody's"
    );
    bench.delete(CP, of_internet.seid);
    bench.assert_vacant();
}

/// A session in a network instance, which sends to the internet and wants to hear of nothing.
fn with_prefix(instance: &'static [u8], cp_seid: u64) -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(UE, cp_seid);
    on_ue(&mut request, v6(PREFIX));
    request.pdn_type = Some(PdnType::IPV6);
    let pdrs = request.create_pdr.iter_mut();
    for pdr in pdrs.filter(|pdr| pdr.pdi.source_interface == SourceInterface::CORE) {
        pdr.pdi.network_instance = Some(Name(instance));
    }
    request
}

fn uplink_entry(bench: &Bench, teid: u32) -> EntryId {
    let mut entries = bench.ops.iter().filter_map(|op| match op {
        Op::Entry { at, image, .. } if image.key == teid => Some(*at),
        _ => None,
    });
    entries.next().unwrap()
}
