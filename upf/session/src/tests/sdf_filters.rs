//! SDF filters: what they compile into, and that equal ones of all sessions are one run.

use super::bench::*;
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::flow_filter::FlowFilter;
use sluice_datapath::session::rule::{Flags, Rule};
use sluice_datapath::session::txn::Op;
use sluice_wire::ids::{PdrId, Seid};
use sluice_wire::pfcp::group::{CreatePdr, Pdi, RemovePdr, UpdatePdr};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType, MessageType};

type Change = SessionModificationRequest<'static>;

const DNS: &str = "permit out 17 from any 53 to assigned";
const WEB: &str = "permit out 6 from 192.0.2.0/24 80,443 to assigned";

pub fn sdf(text: &'static str) -> SdfFilter<'static> {
    SdfFilter::flow(text.as_bytes())
}

/// The default session with a filter in PDR 1, by its last octet.
fn filtered(host: u8, text: &'static str) -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(Ipv4Addr::new(10, 45, 0, host), host.into());
    request.create_pdr[0].pdi.sdf_filter.push(sdf(text));
    request
}

pub fn rules(bench: &Bench) -> Vec<Rule> {
    let rules = bench.ops.iter().filter_map(|op| match op {
        Op::Rule { image, .. } => Some(*image),
        _ => None,
    });
    rules.collect()
}

pub fn tunnel(bench: &Bench) -> SessionEntry {
    let tunnel = bench.ops.iter().rev().find_map(|op| match op {
        Op::Entry { image, .. } if image.head.flags.has(Flags::TUNNEL) => Some(*image),
        _ => None,
    });
    tunnel.unwrap()
}

/// The filters of a rule, as the path reads them.
fn filters(bench: &Bench, rule: &Rule) -> Vec<FlowFilter> {
    bench.up.flow_filters().run(rule.filters).collect()
}

pub fn establish(bench: &mut Bench, request: &SessionEstablishmentRequest<'_>) -> Seid {
    let done = bench.establish(CP, request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    done.seid
}

pub fn modify(bench: &mut Bench, seid: Seid, change: &Change) {
    assert_eq!(
        bench.modify(CP, seid, change).cause,
        Cause::REQUEST_ACCEPTED
    );
}

fn in_use(bench: &Bench) -> usize {
    bench.up.in_use().flow_filters
}

/// PDR 1 with these filters in place of those that it had.
fn refiltered(list: impl IntoIterator<Item = SdfFilter<'static>>) -> Change {
    let mut pdi = Pdi {
        source_interface: SourceInterface::ACCESS,
        ..Default::default()
    };
    pdi.sdf_filter.extend(list);
    let mut change = Change::default();
    change.update_pdr.push(UpdatePdr {
        pdr_id: PdrId(1),
        pdi: Some(pdi),
        ..Default::default()
    });
    change
}

#[test]
fn filters_that_match_everything_cost_nothing() {
    for text in [
        "permit out ip from any to assigned",
        "permit out ip from any to any",
        "permit out ip from 0.0.0.0/0 to assigned",
    ] {
        let mut bench = Bench::new();
        let seid = establish(&mut bench, &filtered(7, text));
        let used = bench.up.in_use();
        assert_eq!((used.flow_filters, used.blocks), (0, 0), "{text}");
        assert!(!tunnel(&bench).head.flags.has_any(Flags::MATCH_IPV4));
        bench.delete(CP, seid);
        bench.assert_vacant();
    }
}

#[test]
fn a_family_alone_is_a_flag_where_the_ue_has_both() {
    let mut bench = Bench::new();
    let mut request = filtered(7, "permit out ip from 0.0.0.0/0 to assigned");
    let address = UeIpAddress {
        ipv4: Some(UE),
        ..UeIpAddress::v6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1), true)
    };
    on_ue(&mut request, address);
    let seid = establish(&mut bench, &request);
    assert_eq!(bench.up.in_use().blocks, 0);
    assert!(tunnel(&bench).head.flags.has(Flags::MATCH_IPV4));
    // Both families, one after the other, are all packets.
    let both = [
        "permit out ip from 0.0.0.0/0 to any",
        "permit out ip from ::/0 to any",
    ];
    modify(&mut bench, seid, &refiltered(both.map(sdf)));
    assert!(!tunnel(&bench).head.flags.has_any(Flags::MATCH_IPV4));
    assert_eq!(in_use(&bench), 0);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn a_flow_stands_in_a_block_and_a_list_of_ports_becomes_several_filters() {
    let mut bench = Bench::new();
    let seid = establish(&mut bench, &filtered(7, WEB));
    let rules = rules(&bench);
    assert_eq!((rules.len(), bench.up.in_use().blocks), (1, 1));
    assert!(tunnel(&bench).head.flags.has(Flags::EXTENDED));
    let ports: Vec<_> = filters(&bench, &rules[0])
        .iter()
        .map(|f| f.remote_ports)
        .collect();
    assert_eq!(ports, [Some((80, 80)), Some((443, 443))]);
    let view = bench.up.session(seid.0).unwrap();
    let text = |port| format!("permit out 6 from 192.0.2.0/24 {port} to assigned");
    assert_eq!(view.pdr[0].filters, [text(80), text(443)]);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn what_narrows_a_filter_is_kept_with_or_without_text() {
    let mut bench = Bench::new();
    let narrow = SdfFilter {
        flow_description: None,
        tos_traffic_class: Some([0xb8, 0xfc]),
        security_parameter_index: Some(9),
        flow_label: Some(0xabcde),
        sdf_filter_id: Some(3),
    };
    let seid = establish(&mut bench, &default_session(UE, 1));
    modify(&mut bench, seid, &refiltered([sdf(DNS)]));
    bench.ops.clear();
    modify(&mut bench, seid, &refiltered([narrow]));
    // IPv6 alone has flow labels, and this UE has no such address.
    assert!(!bench.up.session(seid.0).unwrap().pdr[0].live);
    assert_eq!(in_use(&bench), 1);
    let no_label = SdfFilter {
        flow_label: None,
        ..narrow
    };
    modify(&mut bench, seid, &refiltered([no_label]));
    let rule = rules(&bench).pop().unwrap();
    let expected = FlowFilter {
        tos: Some((0xb8, 0xfc)),
        spi: Some(9),
        id: Some(3),
        ..FlowFilter::default()
    };
    assert_eq!(filters(&bench, &rule), [expected]);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn equal_runs_are_one_and_stay_until_the_path_has_let_go_of_the_last() {
    let mut bench = Bench::new();
    let first = establish(&mut bench, &filtered(1, DNS));
    let run = rules(&bench)[0].filters;
    let second = establish(&mut bench, &filtered(2, DNS));
    assert_eq!(rules(&bench)[1].filters, run);
    assert_eq!(in_use(&bench), 1);
    bench.delete(CP, first);
    assert_eq!(in_use(&bench), 1);
    // Another filter in its place: the old run is free when the path has come back.
    let change = refiltered([sdf(WEB)]);
    let bytes = bench.message(
        MessageType::SESSION_MODIFICATION_REQUEST,
        Some(second),
        |w| change.emit(w),
    );
    bench.put(CP, &bytes);
    assert_eq!(in_use(&bench), 3, "both, while the path may read either");
    bench.settle();
    assert_eq!(in_use(&bench), 2);
    let bytes = bench.message(MessageType::SESSION_DELETION_REQUEST, Some(second), |_| {
        Ok(())
    });
    bench.put(CP, &bytes);
    assert_eq!(in_use(&bench), 2);
    bench.settle();
    bench.assert_vacant();
}

#[test]
fn a_run_waits_for_the_transaction_before_even_if_its_own_changes_nothing() {
    let mut bench = Bench::new();
    // A UE without address at first: its packets may be of any family.
    let mut request = establishment(CP, 1);
    let mut ipv4 = uplink_pdr(1, 1);
    ipv4.pdi.sdf_filter.push(sdf(WEB));
    request.create_pdr.extend([ipv4, uplink_pdr(2, 1)]);
    for pdr in &mut request.create_pdr {
        pdr.pdi.local_f_teid = Some(FTeid::Choose {
            ipv4: true,
            ipv6: false,
            choose_id: Some(1),
        });
    }
    request.create_far.push(to_core(1));
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    // A prefix comes: no packet is IPv4 any more, the rule leaves the path.
    let mut third = downlink_pdr(3, 1, UE);
    third.pdi.ue_ip_address[0] =
        UeIpAddress::v6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1), true);
    let mut change = Change::default();
    change.create_pdr.push(third);
    let kind = MessageType::SESSION_MODIFICATION_REQUEST;
    let told = bench.message(kind, Some(done.seid), |w| change.emit(w));
    let mut change = Change::default();
    change.remove_pdr.push(RemovePdr { pdr_id: PdrId(1) });
    let removed = bench.message(kind, Some(done.seid), |w| change.emit(w));
    bench.put(CP, &told);
    bench.put(CP, &removed);
    assert_eq!(in_use(&bench), 2, "the path may still read it");
    bench.settle();
    assert_eq!(in_use(&bench), 0);
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn a_full_table_is_told_and_equal_filters_still_fit() {
    let mut bench = Bench::with(|c| c.flow_filters = 2);
    let first = establish(&mut bench, &filtered(1, WEB));
    let before = bench.fingerprint();
    let done = bench.establish(CP, &filtered(2, DNS));
    let said = (done.cause, done.offending, done.failed);
    let pdr = Some(FailedRuleId::Pdr(PdrId(1)));
    let full = Cause::NO_RESOURCES_AVAILABLE;
    assert_eq!(said, (full, Some(IeType::SDF_FILTER), pdr));
    assert_eq!(bench.fingerprint(), before);
    let second = establish(&mut bench, &filtered(2, WEB));
    bench.delete(CP, first);
    bench.delete(CP, second);
    establish(&mut bench, &filtered(2, DNS));
}

#[test]
fn a_filter_is_meant_by_its_id_alone() {
    let mut bench = Bench::new();
    let with_id = SdfFilter {
        sdf_filter_id: Some(7),
        ..sdf(WEB)
    };
    let id_alone = SdfFilter {
        flow_description: None,
        ..with_id
    };
    let mut request = default_session(UE, 1);
    request.create_pdr[0]
        .pdi
        .sdf_filter
        .extend([sdf(DNS), with_id]);
    request.create_pdr[1].pdi.sdf_filter.push(id_alone);
    let seid = establish(&mut bench, &request);
    let rules = rules(&bench);
    let (up, down) = (filters(&bench, &rules[0]), filters(&bench, &rules[1]));
    assert_eq!((up.len(), down.len()), (3, 2));
    assert_eq!(up[1..], down[..]);
    // It stays with who named it when the other one goes.
    let mut change = refiltered([]);
    let mut third: CreatePdr<'static> = uplink_pdr(3, 1);
    third.pdi.sdf_filter.push(id_alone);
    change.create_pdr.push(third);
    modify(&mut bench, seid, &change);
    assert_eq!(in_use(&bench), 2);
    bench.delete(CP, seid);
    bench.assert_vacant();
}
