//! IPv6 packets between a UE and its first router (RFC 4291, 2.5.6; RFC 4861; TS 23.501, 5.8.2.2.3).

use crate::world::*;
use sluice_twin::{Drop, Outcome, Side, TunnelEnd, Twin};
use sluice_wire::ids::{FarId, PdrId, Precedence, Teid};
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::SessionEstablishmentRequest;
use sluice_wire::pfcp::value::*;

/// Type, code, checksum and reserved octets (RFC 4861, 4.1).
const SOLICITATION: [u8; 8] = [133, 0, 0, 0, 0, 0, 0, 0];

const LINK_LOCAL: [Outcome; 1] = [Outcome::Dropped(Drop::LinkLocal, None)];
const UE_SOURCE: [Outcome; 1] = [Outcome::Dropped(Drop::UeSource, None)];

#[test]
fn a_router_solicitation_is_answered_elsewhere() {
    let mut twin = with(&dual_request());
    for source in ["fe80::7", "::", UE6] {
        let packet = ipv6(source, "ff02::2", 58, &SOLICITATION);
        let outcomes = twin.packet(0, 0, &from_gnb(&packet));
        assert_eq!(outcomes, [Outcome::RouterSolicitation(packet)], "{source}");
    }
    let (reports, _) = twin.delete(1, (0, NOON)).expect("it is there");
    let volume = reports[0].volume_measurement.expect("it measures volume");
    assert_eq!(volume.total, Some(0), "nothing left");
}

#[test]
fn all_others_stay_on_the_link() {
    let mut twin = with(&dual_request());
    for (source, destination, next_header, payload) in [
        // Duplicate address detection, a listener report, a neighbour, the router.
        ("::", "ff02::1:ff00:7", 58, &[135, 0][..]),
        ("fe80::7", "ff02::16", 0, &[58, 0, 5, 2, 0, 0, 1, 0, 143]),
        ("fe80::7", SERVER6, 17, &[0; 8]),
        (UE6, "fe80::1", 58, &[128, 0]),
        (UE6, "ff02::fb", 17, &[0; 8]),
    ] {
        let frame = from_gnb(&ipv6(source, destination, next_header, payload));
        assert_eq!(twin.packet(0, 0, &frame), LINK_LOCAL, "{source}");
    }
    let frame = on_n6(&ipv6("fe80::80", UE6, 58, &SOLICITATION));
    assert_eq!(twin.packet(0, 1, &frame), LINK_LOCAL, "from N6");
    let wide = from_gnb(&ipv6(UE6, "ff0e::1", 17, &[0; 8]));
    assert!(matches!(twin.packet(0, 0, &wide)[..], [Outcome::Sent(_)]));
}

#[test]
fn only_a_session_with_a_prefix_has_such_a_link() {
    let mut twin = with(&request());
    let frame = from_gnb(&ipv6("fe80::7", "ff02::2", 58, &SOLICITATION));
    assert_eq!(twin.packet(0, 0, &frame), UE_SOURCE);
    let mut twin = with(&dual_request());
    let strange = from_gnb(&ipv6("2001:db8:45:8::1", "ff02::2", 58, &SOLICITATION));
    assert_eq!(twin.packet(0, 0, &strange), UE_SOURCE);
}

/// Open5GS has a PDR for solicitations alone, which leads to the SMF.
#[test]
fn a_rule_for_solicitations_gets_them() {
    let mut request = dual_request();
    for pdr in &mut request.create_pdr {
        let ipv4 = SdfFilter::flow(b"permit out ip from 0.0.0.0/0 to assigned");
        pdr.pdi.sdf_filter.push(ipv4);
    }
    let packet = ipv6("fe80::7", "ff02::2", 58, &SOLICITATION);
    let no_pdr = [Outcome::Dropped(Drop::NoPdr, None)];
    let outcomes = with(&request).packet(0, 0, &from_gnb(&packet));
    assert_eq!(outcomes, no_pdr, "neither rule is for IPv6");

    let mut pdr = request.create_pdr[0].clone();
    pdr.pdr_id = PdrId(9);
    pdr.precedence = Precedence(1);
    pdr.pdi.sdf_filter.clear();
    let filter = SdfFilter::flow(b"permit out 58 from ff02::2/128 to assigned");
    pdr.pdi.sdf_filter.push(filter);
    request.create_pdr.push(pdr);
    let outcomes = with(&request).packet(0, 0, &from_gnb(&packet));
    assert_eq!(outcomes, [Outcome::RouterSolicitation(packet)]);
}

/// N4-u: what a rule sends to the CP function goes there, and its answer comes back.
#[test]
fn the_cp_function_answers_by_its_tunnel() {
    let mut request = dual_request();
    let mut to_cp = request.create_far[1].clone();
    to_cp.far_id = FarId(9);
    let parameters = to_cp.forwarding_parameters.as_mut().expect("it forwards");
    parameters.destination_interface = DestinationInterface::CP_FUNCTION;
    let mut pdr = request.create_pdr[0].clone();
    (pdr.pdr_id, pdr.precedence, pdr.far_id) = (PdrId(9), Precedence(1), Some(FarId(9)));
    let filter = SdfFilter::flow(b"permit out 58 from ff02::2/128 to assigned");
    pdr.pdi.sdf_filter.push(filter);
    let mut from_cp = request.create_pdr[0].clone();
    (from_cp.pdr_id, from_cp.far_id) = (PdrId(10), request.create_pdr[1].far_id);
    from_cp.pdi.source_interface = SourceInterface::CP_FUNCTION;
    from_cp.pdi.ue_ip_address.clear();
    from_cp.pdi.local_f_teid = Some(FTeid::v4(Teid::new(0x5001).expect("not 0"), UPF));
    request.create_far.push(to_cp);
    for pdr in [&mut pdr, &mut from_cp] {
        pdr.qer_id.clear();
    }
    request.create_pdr.extend([pdr, from_cp]);
    let mut twin = with(&request);
    // The container that the gNB sends stays on N3, and none comes from the CP function's end.
    let up = ipv6("fe80::7", "ff02::2", 58, &SOLICITATION);
    let outcomes = twin.packet(0, 0, &in_tunnel_of_flow(0x11, 1, &up));
    assert_eq!(behind_plain_header(&outcomes), up);
    let down = ipv6("fe80::1", "ff02::1", 58, &SOLICITATION);
    let outcomes = twin.packet(0, 0, &in_tunnel_of_flow(0x5001, 1, &down));
    assert_eq!(behind_plain_header(&outcomes), down);
}

/// What a packet carries whose GTP-U header has no extension headers.
fn behind_plain_header(outcomes: &[Outcome]) -> &[u8] {
    let [Outcome::Sent(sent)] = outcomes else {
        panic!("{outcomes:?}");
    };
    let gtpu = &sent.frame[14 + 20 + 8..];
    assert_eq!(gtpu[0], 0x30, "no flags");
    &gtpu[8..]
}

/// An intermediate UPF is no router: solicitations go on to the anchor, advertisements come back.
#[test]
fn a_relay_hands_them_on() {
    let mut world = world();
    world.links[1].tunnels.push(TunnelEnd {
        second: None,
        place: sluice_twin::InterfaceName {
            side: Side::Core,
            instance: "n9".to_owned(),
        },
        address: N6.into(),
    });
    let mut twin = Twin::new(world);
    let granted = twin.establish(1, &relay(), &[], NOON);
    granted.expect("a sound session");
    let up = ipv6("fe80::7", "ff02::2", 58, &SOLICITATION);
    let outcomes = twin.packet(0, 0, &from_gnb(&up));
    assert!(matches!(&outcomes[..], [Outcome::Sent(s)] if s.frame.ends_with(&up)));
}

/// The default session with an anchor behind N9 instead of a data network.
fn relay() -> SessionEstablishmentRequest<'static> {
    let mut request = dual_request();
    let anchor = OuterHeaderCreation::gtpu_v4(Teid::new(0x9001).expect("not 0"), SERVER);
    request.create_far[0].forwarding_parameters = Some(ForwardingParameters {
        destination_interface: DestinationInterface::CORE,
        outer_header_creation: Some(anchor),
        ..ForwardingParameters::default()
    });
    request
}
