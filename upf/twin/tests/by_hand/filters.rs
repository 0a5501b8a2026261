//! SDF filters of PDRs (TS 29.244, 5.2.1A.2A, 8.2.5).

use crate::world::*;
use sluice_twin::{Drop, Outcome, Refused, Twin};
use sluice_wire::ids::{FarId, PdrId, Precedence, QerId};
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

/// The QER with closed gates.
const CLOSED: QerId = QerId(7);

/// The default session and PDRs whose packets meet a closed gate: id, precedence, filters. Those with
/// odd ids are for the uplink.
fn session(pdrs: &[(u16, u32, &[SdfFilter<'static>])]) -> SessionEstablishmentRequest<'static> {
    let mut request = dual_request();
    request.create_qer.push(CreateQer {
        qer_id: CLOSED,
        gate_status: GateStatus {
            uplink: Gate::Closed,
            downlink: Gate::Closed,
        },
        ..CreateQer::default()
    });
    for (id, precedence, filters) in pdrs {
        let like = usize::from(id % 2 == 0);
        let mut pdr = request.create_pdr[like].clone();
        pdr.pdr_id = PdrId(*id);
        pdr.precedence = Precedence(*precedence);
        pdr.far_id = Some(FarId(like as u32 + 1));
        pdr.qer_id.push(CLOSED);
        pdr.pdi.sdf_filter.extend(filters.iter().copied());
        request.create_pdr.push(pdr);
    }
    request
}

fn text(text: &'static str) -> SdfFilter<'static> {
    SdfFilter::flow(text.as_bytes())
}

/// True if an uplink packet meets the PDRs of [`session`], false if it leaves by the default ones.
fn up(twin: &mut Twin, packet: &[u8]) -> bool {
    is_stopped(&twin.packet(0, 0, &from_gnb(packet)))
}

fn down(twin: &mut Twin, packet: &[u8]) -> bool {
    is_stopped(&twin.packet(0, 1, &on_n6(packet)))
}

fn is_stopped(outcomes: &[Outcome]) -> bool {
    match outcomes {
        [Outcome::Sent(_)] => false,
        [Outcome::Dropped(Drop::GateClosed, None)] => true,
        other => panic!("{other:?}"),
    }
}

fn to_server(destination_port: u16) -> Vec<u8> {
    ipv6(UE6, SERVER6, 17, &udp(4000, destination_port))
}

fn from_server(source_port: u16) -> Vec<u8> {
    ipv6(SERVER6, UE6, 17, &udp(source_port, 4000))
}

#[test]
fn a_filter_is_written_for_the_downlink_and_turned_round_for_the_uplink() {
    let filter = [text(
        "permit out 17 from 2001:db8:6::/48 53 to assigned 4000",
    )];
    let mut twin = with(&session(&[(3, 1, &filter), (4, 1, &filter)]));
    assert!(up(&mut twin, &to_server(53)) && down(&mut twin, &from_server(53)));
    assert!(!up(&mut twin, &to_server(54)) && !down(&mut twin, &from_server(54)));
    let elsewhere = ipv6(UE6, ELSEWHERE6, 17, &udp(4000, 53));
    assert!(!up(&mut twin, &elsewhere));
    let tcp = ipv6(UE6, SERVER6, 6, &udp(4000, 53));
    assert!(!up(&mut twin, &tcp));
}

#[test]
fn one_of_several_filters_is_enough() {
    let filters = [
        text("permit out 17 from any 53 to assigned"),
        text("permit out 17 from any 100-200,300 to assigned"),
    ];
    let mut twin = with(&session(&[(3, 1, &filters)]));
    for (port, met) in [
        (53, true),
        (100, true),
        (200, true),
        (300, true),
        (201, false),
    ] {
        assert_eq!(up(&mut twin, &to_server(port)), met, "{port}");
    }
}

/// 8.2.11: the lowest value first; then the lowest ID.
#[test]
fn precedence_decides_between_filters_that_match() {
    let filter = [text("permit out 17 from any 53 to assigned")];
    let mut behind = with(&session(&[(3, 256, &filter)]));
    assert!(!up(&mut behind, &to_server(53)));
    let mut equal = with(&session(&[(3, 255, &filter)]));
    assert!(!up(&mut equal, &to_server(53)), "PDR 1 comes first");
    let mut before = with(&session(&[(3, 254, &filter)]));
    assert!(up(&mut before, &to_server(53)));
}

#[test]
fn a_pdr_without_ue_address_may_have_filters() {
    let mut request = session(&[(3, 1, &[text("permit out 17 from any 53 to any")])]);
    request.create_pdr[2].pdi.ue_ip_address.clear();
    let mut twin = with(&request);
    assert!(up(&mut twin, &to_server(53)) && !up(&mut twin, &to_server(54)));
}

#[test]
fn later_fragments_have_no_ports() {
    let filter = [text("permit out 17 from any 53 to assigned")];
    let mut twin = with(&session(&[(3, 1, &filter)]));
    // Fragment header: UDP, offset and more-fragments flag, identification (RFC 8200, 4.5).
    let fragment = |word: u8| {
        let header = [17, 0, 0, word, 0, 0, 0, 9];
        ipv6(UE6, SERVER6, 44, &[&header[..], &udp(4000, 53)].concat())
    };
    assert!(up(&mut twin, &fragment(0x01)), "the first");
    assert!(!up(&mut twin, &fragment(0x09)) && !up(&mut twin, &fragment(0x08)));
    let protocol = [text("permit out 17 from any to assigned")];
    let mut twin = with(&session(&[(3, 1, &protocol)]));
    assert!(up(&mut twin, &fragment(0x09)), "no port is asked for");
    // Hop-by-hop options with 6 octets of padding (RFC 8200, 4.3).
    let options = [17, 0, 1, 4, 0, 0, 0, 0];
    let packet = ipv6(UE6, SERVER6, 0, &[&options[..], &udp(4000, 53)].concat());
    assert!(up(&mut twin, &packet));
}

#[test]
fn class_index_and_label_narrow_a_filter() {
    let mut class = text("permit out ip from any to assigned");
    class.tos_traffic_class = Some([0xb8, 0xfc]);
    let index = SdfFilter {
        security_parameter_index: Some(0x0102_0304),
        ..SdfFilter::default()
    };
    let label = SdfFilter {
        flow_label: Some(0x54321),
        ..SdfFilter::default()
    };
    let mut twin = with(&session(&[(3, 1, &[class, index, label])]));
    let first_word = |word: &str| {
        let mut packet = to_server(53);
        packet[..4].copy_from_slice(&hex(word));
        packet
    };
    assert!(!up(&mut twin, &first_word("60000000")));
    assert!(up(&mut twin, &first_word("6b900000")), "class 0xb9");
    assert!(!up(&mut twin, &first_word("6bc00000")), "class 0xbc");
    assert!(up(&mut twin, &first_word("60054321")));
    let esp = ipv6(UE6, SERVER6, 50, &[1, 2, 3, 4, 0, 0, 0, 1]);
    assert!(up(&mut twin, &esp));
    let esp = ipv6(UE6, SERVER6, 50, &[1, 2, 3, 5, 0, 0, 0, 1]);
    assert!(!up(&mut twin, &esp));
}

/// 8.2.5: what one PDR tells in full, the PDR of the other direction names by its ID.
#[test]
fn a_bidirectional_filter_is_named_by_its_id() {
    let mut whole = text("permit out 17 from any 53 to assigned");
    whole.sdf_filter_id = Some(77);
    let named = SdfFilter {
        sdf_filter_id: Some(77),
        ..SdfFilter::default()
    };
    for order in [[whole, named], [named, whole]] {
        let mut twin = with(&session(&[(3, 1, &order[..1]), (4, 1, &order[1..])]));
        assert!(up(&mut twin, &to_server(53)) && down(&mut twin, &from_server(53)));
        assert!(!up(&mut twin, &to_server(54)) && !down(&mut twin, &from_server(54)));
        // It goes with the last PDR that has it.
        let mut change = SessionModificationRequest::default();
        change.remove_pdr.push(RemovePdr { pdr_id: PdrId(3) });
        twin.modify(1, &change, &[], (0, NOON))
            .expect("a sound change");
        assert!(down(&mut twin, &from_server(53)));
        let mut change = SessionModificationRequest::default();
        change.remove_pdr.push(RemovePdr { pdr_id: PdrId(4) });
        twin.modify(1, &change, &[], (0, NOON))
            .expect("a sound change");
        let mut change = SessionModificationRequest::default();
        let pdr = session(&[(4, 1, &[named])]).create_pdr[2].clone();
        change.create_pdr.push(pdr);
        let modified = twin.modify(1, &change, &[], (0, NOON));
        assert!(is_about_the_filter(modified.map(drop)));
    }
}

#[test]
fn a_pdi_is_replaced_with_its_filters() {
    let mut twin = with(&session(&[(
        3,
        1,
        &[text("permit out 17 from any 53 to any")],
    )]));
    let mut update = UpdatePdr {
        pdr_id: PdrId(3),
        ..UpdatePdr::default()
    };
    let mut pdi = Pdi {
        source_interface: SourceInterface::ACCESS,
        ..Pdi::default()
    };
    pdi.sdf_filter
        .push(text("permit out 17 from any 54 to any"));
    update.pdi = Some(pdi);
    let mut change = SessionModificationRequest::default();
    change.update_pdr.push(update);
    twin.modify(1, &change, &[], (0, NOON))
        .expect("a sound change");
    assert!(!up(&mut twin, &to_server(53)) && up(&mut twin, &to_server(54)));
}

fn is_about_the_filter(result: Result<(), Refused>) -> bool {
    let rule = Cause::RULE_CREATION_MODIFICATION_FAILURE;
    let said = Some((rule, Some(IeType::SDF_FILTER)));
    matches!(result, Err(Refused::Request { said: s, .. }) if s == said)
}

#[test]
fn wrong_filters_are_refused() {
    let named = SdfFilter {
        sdf_filter_id: Some(5),
        ..SdfFilter::default()
    };
    for wrong in [
        text("deny out ip from any to assigned"),
        text("permit in ip from any to assigned"),
        text("permit out ip from !192.0.2.1 to assigned"),
        text("permit out ip from any to assigned frag"),
        text(""),
        SdfFilter::default(),
        named,
    ] {
        let request = session(&[(3, 1, &[text("permit out ip from any to any"), wrong])]);
        let refused = Twin::new(world()).establish(1, &request, &[], NOON);
        assert!(is_about_the_filter(refused), "{wrong:?}");
    }
}
