//! The twin alone: what goes in, what comes out, written by hand.

#![forbid(unsafe_code)]

mod addresses;
mod filters;
mod ipv6;
mod link_local;
mod world;

use sluice_twin::{Drop, IcmpCause, Notice, Outcome, Refused, Sender, Sent, Twin};
use sluice_wire::ids::{FarId, PdrId, QerId, Teid};
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::*;
use world::{GNB, NOON, UPF, default_session, hex, request, world};

/// From the gNB: TEID 0x11, QFI 9, a UDP packet of the UE to the server, TTL 64.
const UPLINK: &str = "020000000003 020000000103 0800 \
    4500004d 00000000 4011f66c c0000232 c0000201 c350 0868 0039 0000 \
    34ff0029 00000011 00000085 01100900 \
    45000021 00000000 40114615 0a2d0007 c6336450 0fa0 0050 000d 0000 68656c6c6f";
/// The same on N6: one hop less.
const UPLINK_OUT: &str = "020000000106 020000000006 0800 \
    45000021 00000000 3f114715 0a2d0007 c6336450 0fa0 0050 000d 0000 68656c6c6f";
/// From the server to the UE.
const DOWNLINK: &str = "020000000006 020000000106 0800 \
    45000021 00000000 40114615 c6336450 0a2d0007 0050 0fa0 000d 0000 776f726c64";
/// The same in the tunnel 0xd01 to the gNB with QFI 9; the source port is left open.
const DOWNLINK_OUT: &str = "020000000103 020000000003 0800 \
    4500004d 00004000 4011b66c c0000201 c0000232 0000 0868 0039 0000 \
    34ff0029 00000d01 00000085 01000900 \
    45000021 00000000 3f114715 c6336450 0a2d0007 0050 0fa0 000d 0000 776f726c64";

#[test]
fn uplink_leaves_plain_with_one_hop_less() {
    let mut twin = default_session();
    let outcomes = twin.packet(0, 0, &hex(UPLINK));
    let [Outcome::Sent(sent)] = &outcomes[..] else {
        panic!("{outcomes:?}");
    };
    assert_eq!((sent.port, sent.source_port_at), (1, None));
    assert_eq!(sent.frame, hex(UPLINK_OUT));
}

#[test]
fn downlink_leaves_in_the_tunnel_with_its_qfi() {
    let mut twin = default_session();
    let outcomes = twin.packet(0, 1, &hex(DOWNLINK));
    let [
        Outcome::Sent(Sent {
            frame,
            source_port_at,
            ..
        }),
    ] = &outcomes[..]
    else {
        panic!("{outcomes:?}");
    };
    assert_eq!(*frame, hex(DOWNLINK_OUT));
    assert_eq!(*source_port_at, Some(34));
}

#[test]
fn an_unknown_teid_is_told_to_the_peer_and_a_last_hop_to_the_ue() {
    let mut twin = default_session();
    let mut stranger = hex(UPLINK);
    stranger[49] = 0x12;
    let notice = Notice::ErrorIndication {
        peer: GNB.into(),
        local: UPF.into(),
        teid: 0x12,
    };
    let outcomes = twin.packet(0, 0, &stranger);
    assert_eq!(
        outcomes,
        [Outcome::Dropped(Drop::UnknownTeid, Some(notice))]
    );

    let mut last = hex(DOWNLINK);
    (last[22], last[24]) = (1, 0x85);
    let sender = Sender::DataNetwork("internet".to_owned());
    let notice = Notice::Icmp(IcmpCause::TtlExceeded, last[14..].to_vec(), sender);
    let outcomes = twin.packet(0, 1, &last);
    assert_eq!(
        outcomes,
        [Outcome::Dropped(Drop::TtlExceeded, Some(notice))]
    );
}

#[test]
fn a_ue_cannot_send_from_another_address() {
    let mut twin = default_session();
    let mut spoofed = hex(UPLINK);
    let inner = 14 + 20 + 8 + 16;
    spoofed[inner + 15] = 8;
    spoofed[inner + 11] -= 1;
    let outcomes = twin.packet(0, 0, &spoofed);
    assert_eq!(outcomes, [Outcome::Dropped(Drop::UeSource, None)]);
}

#[test]
fn a_closed_gate_stops_one_direction_and_usage_counts_what_left() {
    let mut twin = default_session();
    twin.packet(0, 0, &hex(UPLINK));
    twin.packet(0, 0, &hex(UPLINK));
    let mut change = SessionModificationRequest::default();
    change.update_qer.push(UpdateQer {
        qer_id: QerId(1),
        gate_status: Some(GateStatus {
            uplink: Gate::Closed,
            downlink: Gate::Open,
        }),
        ..UpdateQer::default()
    });
    twin.modify(1, &change, &[], (0, NOON))
        .expect("a sound change");
    let outcomes = twin.packet(0, 0, &hex(UPLINK));
    assert_eq!(outcomes, [Outcome::Dropped(Drop::GateClosed, None)]);
    twin.packet(0, 1, &hex(DOWNLINK));
    let (reports, _) = twin.delete(1, (0, NOON)).expect("it is there");
    let volume = reports[0].volume_measurement.expect("it measures volume");
    let counted = (volume.total, volume.uplink, volume.downlink);
    assert_eq!(counted, (Some(99), Some(66), Some(33)));
    assert_eq!(reports[0].usage_report_trigger, UsageReportTrigger::TERMR);
}

#[test]
fn a_hand_over_ends_the_old_tunnel_with_a_marker() {
    let mut twin = default_session();
    let tunnel = OuterHeaderCreation::gtpu_v4(Teid::new(0xd02).expect("not 0"), GNB);
    let mut change = SessionModificationRequest::default();
    change.update_far.push(UpdateFar {
        far_id: FarId(2),
        update_forwarding_parameters: Some(UpdateForwardingParameters {
            outer_header_creation: Some(Edit::Set(tunnel)),
            pfcpsmreq_flags: Some(SessionModificationRequestFlags::SNDEM),
            ..UpdateForwardingParameters::default()
        }),
        ..UpdateFar::default()
    });
    let modified = twin
        .modify(1, &change, &[], (0, NOON))
        .expect("a sound change");
    let marker = "020000000103 020000000003 0800 \
        45000024 00004000 4011b695 c0000201 c0000232 0000 0868 0010 0000 30fe0000 00000d01";
    let [Outcome::Sent(sent)] = &modified.end_markers[..] else {
        panic!("{:?}", modified.end_markers);
    };
    assert_eq!(sent.frame, hex(marker));
    let outcomes = twin.packet(0, 1, &hex(DOWNLINK));
    let [Outcome::Sent(sent)] = &outcomes[..] else {
        panic!("{outcomes:?}");
    };
    assert_eq!(sent.frame[46..50], [0, 0, 0x0d, 0x02]);
}

#[test]
fn a_refused_change_changes_nothing() {
    let mut twin = default_session();
    let mut change = SessionModificationRequest::default();
    change.remove_pdr.push(RemovePdr { pdr_id: PdrId(1) });
    change.remove_far.push(RemoveFar { far_id: FarId(2) });
    let refused = twin.modify(1, &change, &[], (0, NOON));
    assert!(
        matches!(refused, Err(Refused::Request { .. })),
        "PDR 2 needs FAR 2"
    );
    let outcomes = twin.packet(0, 0, &hex(UPLINK));
    assert!(matches!(outcomes[..], [Outcome::Sent(_)]));
}

#[test]
fn an_answer_must_give_the_f_teids_that_were_asked_for() {
    let mut request = request();
    request.create_pdr[0].pdi.local_f_teid = Some(FTeid::Choose {
        ipv4: true,
        ipv6: false,
        choose_id: None,
    });
    let mut twin = Twin::new(world());
    let nothing = twin.establish(1, &request, &[], NOON);
    assert!(matches!(nothing, Err(Refused::Answer(_))));
    let mut created = CreatedPdr {
        pdr_id: PdrId(1),
        ..CreatedPdr::default()
    };
    let teid = Teid::new(0x11).expect("not 0");
    created.local_f_teid.push(FTeid::v4(teid, UPF));
    twin.establish(1, &request, &[created], NOON)
        .expect("now it does");
    let outcomes = twin.packet(0, 0, &hex(UPLINK));
    assert!(matches!(outcomes[..], [Outcome::Sent(_)]));
}
