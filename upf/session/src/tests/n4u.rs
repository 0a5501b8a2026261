//! Forwarding between the CP function and the UE by N4-u (TS 29.244, 5.3).

use super::bench::*;
use sluice_datapath::ids::PeerId;
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::txn::Op;
use sluice_wire::ids::{FarId, Teid};
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::group::{CreateFar, UpdateFar};
use sluice_wire::pfcp::message::SessionModificationRequest as Change;
use sluice_wire::pfcp::value::*;

/// The entry of this key, as it was last written.
fn entry(bench: &Bench, key: u32) -> Option<SessionEntry> {
    let entries = bench.ops.iter().rev().filter_map(|op| match op {
        Op::Entry { image, .. } => Some(*image),
        _ => None,
    });
    entries.into_iter().find(|entry| entry.key == key)
}

/// A FAR to the CP function, into its tunnel if it has one.
fn to_cp(id: u32, teid: Option<u32>) -> CreateFar<'static> {
    let mut far = to_core(id);
    let parameters = far.forwarding_parameters.as_mut().unwrap();
    parameters.destination_interface = DestinationInterface::CP_FUNCTION;
    let tunnel = teid.map(|teid| OuterHeaderCreation::gtpu_v4(Teid::new(teid).unwrap(), CP));
    parameters.outer_header_creation = tunnel;
    far
}

#[test]
fn packets_of_the_cp_function_enter_by_a_tunnel_and_go_to_the_ue() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let mut from_cp = uplink_pdr(3, 2);
    from_cp.pdi.source_interface = SourceInterface::CP_FUNCTION;
    request.create_pdr.push(from_cp);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED, "{:?}", done.offending);
    let teid = done.teids.iter().find(|(pdr, _)| *pdr == 3).unwrap().1;
    let entry = entry(&bench, teid).expect("an entry of its own");
    let flags = entry.head.flags;
    assert!(flags.has(Flags::TUNNEL.with(Flags::TO_UE).with(Flags::CREATE_OUTER)));
    assert!(!flags.has(Flags::FROM_UE) && !flags.has(Flags::UPLINK));
    assert!(flags.has(Flags::N4U), "N4-u ends here as well");
    assert_eq!((entry.ue_ip, entry.head.teid), (u32::from(UE), 0xd007));
    let view = bench.up.session(done.seid.0).unwrap();
    let pdr = view.pdr.iter().find(|pdr| pdr.id == 3).unwrap();
    assert_eq!((pdr.teid, pdr.source, pdr.live), (Some(teid), "cp", true));
    assert_eq!(
        pdr.tunnel_address,
        Some(N3.into()),
        "N4-u ends towards the RAN"
    );
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn packets_to_the_cp_function_leave_by_its_tunnel() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    request.create_far[0] = to_cp(1, Some(0x99));
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED, "{:?}", done.offending);
    let teid = done.teids[0].1;
    let up = entry(&bench, teid).unwrap();
    let flags = up.head.flags;
    assert!(flags.has(Flags::FORWARD.with(Flags::CREATE_OUTER).with(Flags::UPLINK)));
    // Nothing of the gNB's header goes on.
    assert!(flags.has(Flags::N4U));
    assert_eq!(up.head.teid, 0x99);
    let [.., a, b] = CP.octets();
    assert_eq!(up.body.peer(), PeerId(u16::from_be_bytes([a, b])));
    assert_eq!(bench.net.holds(), 2, "of the gNB and of the CP function");
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn without_a_tunnel_no_way_leads_to_the_cp_function() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    request.create_far[0] = to_cp(1, None);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let teid = done.teids[0].1;
    let flags = entry(&bench, teid).unwrap().head.flags;
    assert!(flags.has(Flags::N4U) && !flags.has_any(Flags::FORWARD.with(Flags::CREATE_OUTER)));
    assert_eq!(bench.net.holds(), 1, "of the downlink only");
    // The tunnel is told later.
    let mut change = Change::default();
    let Some(tunnel) = to_cp(1, Some(0x98)).forwarding_parameters else {
        panic!("it forwards")
    };
    let mut far = UpdateFar {
        far_id: FarId(1),
        update_forwarding_parameters: Some(Default::default()),
        ..Default::default()
    };
    let parameters = far.update_forwarding_parameters.as_mut().unwrap();
    parameters.outer_header_creation = tunnel.outer_header_creation.map(Edit::Set);
    change.update_far.push(far);
    let modified = bench.modify(CP, done.seid, &change);
    assert_eq!(modified.cause, Cause::REQUEST_ACCEPTED);
    let head = entry(&bench, teid).unwrap().head;
    let by_tunnel = Flags::FORWARD.with(Flags::CREATE_OUTER);
    assert!(head.flags.has(by_tunnel.with(Flags::N4U)));
    assert_eq!(head.teid, 0x98);
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn a_summary_counts_the_filters_that_pdrs_have_in_common_once() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    for pdr in &mut request.create_pdr {
        let flow = b"permit out 17 from 198.51.100.0/24 53,80 to assigned";
        pdr.pdi.sdf_filter.push(SdfFilter::flow(flow));
    }
    assert_eq!(bench.establish(CP, &request).cause, Cause::REQUEST_ACCEPTED);
    let summary = &bench.up.sessions()[0];
    assert_eq!((summary.pdrs, summary.filters), (2, 2), "two ports");
    let other = std::net::Ipv4Addr::new(10, 45, 0, 8);
    bench.establish(CP, &default_session(other, 2));
    let without = bench.up.sessions().into_iter().find(|s| s.cp_seid == 2);
    assert_eq!(without.unwrap().filters, 0);
}
