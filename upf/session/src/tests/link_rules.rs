//! Rules for packets of the UE's link: they stand apart, and the usual packets keep the entry's own rule.

use super::bench::*;
use super::sdf_filters::{establish, modify, rules, sdf, tunnel};
use core::net::Ipv6Addr;
use sluice_datapath::forward::pdr::At;
use sluice_datapath::ids::{BlockId, EntryId};
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::txn::Op;
use sluice_wire::ids::{FarId, Precedence, QerId, Teid};
use sluice_wire::pfcp::group::{UpdateFar, UpdateForwardingParameters};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;

type Change = SessionModificationRequest<'static>;

const DNS: &str = "permit out 17 from any 53 to assigned";
const SOLICITATION: &str = "permit out 58 from ff02::2/128 to assigned";

/// Open5GS: Router Solicitations go to the SMF, by the F-TEID of all other packets.
fn with_solicitation() -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(UE, 1);
    let address = UeIpAddress {
        ipv4: Some(UE),
        ..UeIpAddress::v6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1), true)
    };
    on_ue(&mut request, address);
    let mut solicits = uplink_pdr(4, 3);
    solicits.precedence = Precedence(50);
    solicits.pdi.sdf_filter.push(sdf(SOLICITATION));
    request.create_pdr.push(solicits);
    for at in [0, 2] {
        request.create_pdr[at].pdi.local_f_teid = Some(FTeid::Choose {
            ipv4: true,
            ipv6: true,
            choose_id: Some(5),
        });
    }
    let mut far = to_gnb(3, 0x99);
    let parameters = far.forwarding_parameters.as_mut().unwrap();
    parameters.destination_interface = DestinationInterface::CP_FUNCTION;
    request.create_far.push(far);
    request
}

#[test]
fn rules_for_the_link_leave_the_usual_packets_their_entry() {
    let mut bench = Bench::new();
    let seid = establish(&mut bench, &with_solicitation());
    let entry = tunnel(&bench);
    assert!(entry.head.flags.has(Flags::LINK_RULES.with(Flags::FORWARD)));
    assert!(!entry.head.flags.has(Flags::EXTENDED));
    assert!(
        entry.body.rate0.is_limited(),
        "its rate stands in the entry"
    );
    let rules = rules(&bench);
    assert_eq!(rules.len(), 1);
    assert!(
        rules[0]
            .head
            .flags
            .has(Flags::FORWARD.with(Flags::CREATE_OUTER))
    );
    let of = |at| bench.up.rule_names(seid, entry_of(&bench), at).unwrap().pdr;
    let block = BlockId(entry.head.teid);
    let first = At::new(block, 0);
    assert_eq!((of(None), of(first)), (1, 4));
    bench.delete(CP, seid);
    bench.assert_vacant();
}

fn entry_of(bench: &Bench) -> EntryId {
    let at = bench.ops.iter().find_map(|op| match op {
        Op::Entry { at, image, .. } if image.head.flags.has(Flags::TUNNEL) => Some(*at),
        _ => None,
    });
    at.unwrap()
}

#[test]
fn a_ue_without_prefix_needs_no_rule_for_the_link() {
    let mut bench = Bench::new();
    let mut request = with_solicitation();
    on_ue(&mut request, UeIpAddress::v4(UE, true));
    let seid = establish(&mut bench, &request);
    assert_eq!(bench.up.in_use().blocks, 0);
    assert!(!tunnel(&bench).head.flags.has_any(Flags::LINK_RULES));
    assert_eq!(bench.net.holds(), 1, "nobody sends to the SMF");
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn rules_for_the_link_are_chained_where_the_entry_has_no_room_for_them() {
    type Spoil = fn(&mut SessionEstablishmentRequest<'static>);
    let spoils: [Spoil; 4] = [
        |r| r.create_pdr[2].precedence = Precedence(200),
        |r| r.create_pdr[2].qer_id.push(QerId(1)),
        |r| r.create_pdr[0].pdi.sdf_filter.push(sdf(DNS)),
        |r| {
            let mut far = to_gnb(1, 0xaaa);
            let parameters = far.forwarding_parameters.as_mut().unwrap();
            parameters.destination_interface = DestinationInterface::CORE;
            r.create_far[0] = far;
        },
    ];
    for (n, spoil) in spoils.into_iter().enumerate() {
        let mut bench = Bench::new();
        let mut request = with_solicitation();
        spoil(&mut request);
        let seid = establish(&mut bench, &request);
        let flags = tunnel(&bench).head.flags;
        assert!(flags.has(Flags::EXTENDED), "case {n}");
        assert_eq!(rules(&bench).len(), 2, "case {n}");
        bench.delete(CP, seid);
        bench.assert_vacant();
    }
}

#[test]
fn a_far_that_begins_to_make_tunnels_chains_the_rules() {
    let mut bench = Bench::new();
    let seid = establish(&mut bench, &with_solicitation());
    let ohc = OuterHeaderCreation::gtpu_v4(Teid::new(9).unwrap(), GNB);
    let relayed = |ohc| {
        let mut change = Change::default();
        change.update_far.push(UpdateFar {
            far_id: FarId(1),
            update_forwarding_parameters: Some(UpdateForwardingParameters {
                outer_header_creation: Some(ohc),
                ..Default::default()
            }),
            ..Default::default()
        });
        change
    };
    modify(&mut bench, seid, &relayed(Edit::Set(ohc)));
    assert!(tunnel(&bench).head.flags.has(Flags::EXTENDED));
    modify(&mut bench, seid, &relayed(Edit::Remove));
    assert!(tunnel(&bench).head.flags.has(Flags::LINK_RULES));
    bench.delete(CP, seid);
    bench.assert_vacant();
}
