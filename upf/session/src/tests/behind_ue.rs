//! Framed routes and delegated prefixes (TS 29.244, 5.14, 5.16).

use super::bench::*;
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::flow_filter::AddressRange;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::txn::Op;
use sluice_wire::ids::PdrId;
use sluice_wire::pfcp::group::UpdatePdr;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

const RULE: Cause = Cause::RULE_CREATION_MODIFICATION_FAILURE;

fn routed(ue: Ipv4Addr, cp_seid: u64) -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(ue, cp_seid);
    let pdi = &mut request.create_pdr[1].pdi;
    pdi.framed_route.push(Text(b"172.16.3.0/24 0.0.0.0 1"));
    pdi.framed_ipv6_route.push(Text(b"2001:db8:7::/56"));
    request
}

fn entries(bench: &Bench) -> Vec<SessionEntry> {
    let entries = bench.ops.iter().filter_map(|op| match op {
        Op::Entry { image, .. } if !image.is_vacant() => Some(*image),
        _ => None,
    });
    entries.collect()
}

/// The prefixes that an entry says lie behind its UE.
fn behind(bench: &Bench, entry: &SessionEntry) -> Vec<AddressRange> {
    let filters = &bench.up.node.part.resources.filters;
    let run = entry.routes().expect("it has some");
    filters.run(run).map(|filter| filter.local).collect()
}

fn said(done: &Established) -> (Cause, Option<IeType>) {
    (done.cause, done.offending)
}

#[test]
fn packets_to_a_framed_route_find_the_entry_of_its_ue() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &routed(UE, 1));
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let entries = entries(&bench);
    assert_eq!(
        entries.len(),
        2,
        "uplink, too: its source may lie behind the UE"
    );
    let ipv6 = "2001:db8:7::".parse::<Ipv6Addr>().unwrap().to_bits();
    for entry in &entries {
        assert!(entry.head.flags.has(Flags::EXTENDED));
        let told = [
            AddressRange::Ipv4(0xac10_0300, 24),
            AddressRange::Ipv6(ipv6, 56),
        ];
        assert_eq!(behind(&bench, entry), told);
    }
    let known = bench.up.known();
    let of_ue = bench
        .layout
        .pool_entry(sluice_datapath::lookup::layout::InstanceId(1), UE.into());
    assert_eq!(known.route_ipv4(1, 0xac10_03ff), of_ue);
    assert_eq!(known.route_ipv6(1, 0x2001_0db8_0007_00ab), of_ue);
    assert_eq!(known.route_ipv4(1, 0xac10_0400), None);
    assert_eq!(known.route_ipv4(0, 0xac10_03ff), None, "another network");
    assert_eq!(bench.up.in_use().routes, 2);
    let [inside, beside] = [
        ["172.16.3.255", "2001:db8:7:ab::1"],
        ["172.16.4.0", "2001:db8:8::1"],
    ];
    let leads = |instance: u8, address: &str| {
        let instance = sluice_datapath::lookup::layout::InstanceId(instance);
        bench.up.leads_to_ue(instance, address.parse().unwrap())
    };
    assert!(inside.iter().all(|address| leads(1, address)));
    assert!(!beside.iter().any(|address| leads(1, address)));
    assert!(!inside.iter().any(|address| leads(0, address)));
    bench.delete(CP, done.seid);
    assert_eq!(bench.up.known().route_ipv4(1, 0xac10_03ff), None);
    bench.assert_vacant();
}

#[test]
fn a_delegated_prefix_is_the_ues_as_a_whole() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let prefix: Ipv6Addr = "2001:db8:1:ab07::".parse().unwrap();
    on_ue(
        &mut request,
        UeIpAddress {
            ipv6_prefix_delegation_bits: Some(8),
            ..UeIpAddress::v6(prefix, true)
        },
    );
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let whole = "2001:db8:1:ab00::".parse::<Ipv6Addr>().unwrap().to_bits();
    for entry in entries(&bench) {
        assert_eq!(entry.ue_prefix, (prefix.to_bits() >> 64) as u64);
        assert_eq!(behind(&bench, &entry), [AddressRange::Ipv6(whole, 56)]);
    }
    assert!(
        bench
            .up
            .known()
            .route_ipv6(1, 0x2001_0db8_0001_abff)
            .is_some()
    );
    // The length may be told as such, and of a part another session has none.
    let other: Ipv6Addr = "2001:db8:1:aba0::".parse().unwrap();
    let mut request = default_session(Ipv4Addr::new(10, 45, 0, 8), 2);
    on_ue(
        &mut request,
        UeIpAddress {
            ipv6_prefix_length: Some(60),
            ..UeIpAddress::v6(other, true)
        },
    );
    assert_eq!(
        said(&bench.establish(CP, &request)),
        (RULE, Some(IeType::UE_IP_ADDRESS))
    );
    on_ue(&mut request, UeIpAddress::v6(other, true));
    let within = bench.establish(CP, &request);
    assert_eq!(
        said(&within),
        (RULE, Some(IeType::UE_IP_ADDRESS)),
        "it is behind the first"
    );
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn routes_that_meet_are_refused() {
    let mut bench = Bench::new();
    let first = bench.establish(CP, &routed(UE, 1));
    let before = bench.fingerprint();
    let other = Ipv4Addr::new(10, 45, 0, 8);
    let ipv4: [&[u8]; 7] = [
        b"172.16.3.0/24",
        b"172.16.0.0/16",
        b"172.16.3.9/32",
        b"10.45.0.0/28",
        b"127.0.0.0/8",
        b"224.0.0.0/4",
        b"172.18.0.0/0",
    ];
    for text in ipv4 {
        let mut request = default_session(other, 2);
        request.create_pdr[1].pdi.framed_route.push(Text(text));
        let done = bench.establish(CP, &request);
        let what = String::from_utf8_lossy(text);
        assert_eq!(said(&done), (RULE, Some(IeType::FRAMED_ROUTE)), "{what}");
        assert_eq!(done.failed, Some(FailedRuleId::Pdr(PdrId(2))), "{what}");
        assert_eq!(bench.fingerprint(), before, "{what}");
    }
    let ipv6: [&[u8]; 4] = [
        b"2001:db8:7:80::/57",
        b"2001:db8::/32",
        b"2001:db8:9::/65",
        b"fe80::/10",
    ];
    for text in ipv6 {
        let mut request = default_session(other, 2);
        request.create_pdr[1].pdi.framed_ipv6_route.push(Text(text));
        let done = bench.establish(CP, &request);
        assert_eq!(said(&done), (RULE, Some(IeType::FRAMED_IPV6_ROUTE)));
        assert_eq!(bench.fingerprint(), before);
    }
    // An address behind another UE is nobody's.
    let within = bench.establish(CP, &default_session(Ipv4Addr::new(172, 16, 3, 7), 2));
    assert_eq!(said(&within), (RULE, Some(IeType::UE_IP_ADDRESS)));
    bench.delete(CP, first.seid);
    let again = bench.establish(CP, &routed(other, 2));
    assert_eq!(again.cause, Cause::REQUEST_ACCEPTED);
    bench.delete(CP, again.seid);
    bench.assert_vacant();
}

/// A modification may name what the establishment told, and nothing else; what it leaves out stays.
#[test]
fn routes_are_told_with_the_session() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &routed(UE, 1)).seid;
    let mut pdi = routed(UE, 1).create_pdr[1].pdi.clone();
    pdi.framed_ipv6_route.clear();
    let mut change = SessionModificationRequest::default();
    change.update_pdr.push(UpdatePdr {
        pdr_id: PdrId(2),
        pdi: Some(pdi.clone()),
        ..Default::default()
    });
    assert_eq!(
        bench.modify(CP, seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
    assert_eq!(bench.up.in_use().routes, 2);
    pdi.framed_route.push(Text(b"172.16.4.0/24"));
    change.update_pdr[0].pdi = Some(pdi);
    let refused = bench.modify(CP, seid, &change);
    assert_eq!(
        (refused.cause, refused.offending),
        (RULE, Some(IeType::FRAMED_ROUTE))
    );
    // A path switch leaves them where they are.
    let far = path_switch(0xe001);
    bench.ops.clear();
    assert_eq!(bench.modify(CP, seid, &far).cause, Cause::REQUEST_ACCEPTED);
    assert_eq!(bench.up.in_use().routes, 2);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn what_stands_before_a_route_counts_alone() {
    let mut bench = Bench::new();
    let mut request = routed(UE, 1);
    request.create_pdr[1].pdi.framed_routing = Some(0);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let mut request = default_session(Ipv4Addr::new(10, 45, 0, 8), 2);
    request.create_pdr[1].pdi.framed_routing = Some(1);
    assert_eq!(
        said(&bench.establish(CP, &request)),
        (RULE, Some(IeType::FRAMED_ROUTING))
    );
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}
