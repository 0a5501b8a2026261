//! QoS flows of UEs' packets, and packets that follow a UE to another gNB (needs root).

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;

use sluice_host::tool;
use sluice_n1::{FilterDirection, PacketFilter, QosRule, RuleOperation};
use sluice_ran::{FTeid, Forwarding, HandoverTarget};

use crate::common::{GNB_A, GNB_B, Lab, UE_1, UE_2, UPF_A, UPF_B, is_root, qfi, teid, wait_until};

const PORT: u16 = 5_000;

fn rule(id: u8, precedence: u8, qfi: u8, filter: PacketFilter) -> QosRule {
    QosRule {
        id,
        operation: RuleOperation::Create,
        is_default: false,
        filters: vec![filter],
        precedence,
        qfi,
    }
}

/// Sends packets of UE 1 with the kernel's headers: UDP to two ports of UE 2, and a ping.
fn send_some(lab: &Lab) {
    let sent = lab.ns_ue1.run(|| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.send_to(&[1; 100], (UE_2, PORT))?;
        socket.send_to(&[2; 100], (UE_2, PORT + 1))
    });
    sent.expect("entered").expect("sent");
    let target = UE_2.to_string();
    let mut ping = lab.ns_ue1.command("ping");
    // Nobody answers.
    let _ = tool::run(ping.args(["-c", "1", "-W", "1", &target]));
}

#[test]
fn uplink_packets_are_marked_by_the_qos_rules_that_the_network_gave() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("marks");
    let ue = lab.attach_1();
    let udp = PacketFilter {
        remote: Some((UE_2.into(), 32)),
        protocol: Some(17),
        ..PacketFilter::ALL
    };
    let to_port = PacketFilter {
        remote_ports: Some((PORT, PORT)),
        ..udp
    };
    let downlink = PacketFilter {
        direction: FilterDirection::Downlink,
        ..PacketFilter::ALL
    };
    // The first rule is of the other direction, the second one of a port, the third one of all UDP.
    let rules = [
        rule(2, 5, 6, downlink),
        rule(3, 10, 7, to_port),
        rule(4, 20, 8, udp),
    ];
    let handle = lab.gnb_a.handle();
    handle.set_rules(ue, Arc::from(rules)).expect("attached");
    send_some(&lab);
    let count = |flow| {
        let seen = lab.upf.seen().uplink;
        seen.get(&(GNB_A, 0x11, flow)).map_or(0, |count| count.0)
    };
    wait_until("a packet in each flow", || {
        [5, 7, 8].map(count) == [1, 1, 1]
    });
    assert_eq!(count(6), 0);
    // Without them all is of the default flow.
    handle.set_rules(ue, Arc::default()).expect("attached");
    send_some(&lab);
    wait_until("three in the default flow", || count(5) == 4);
    let counters = handle.ue(ue).expect("attached").counters;
    let by_flow = counters.uplink_by_qfi.iter();
    let by_flow: Vec<_> = by_flow.map(|(qfi, one)| (qfi.get(), one.packets)).collect();
    assert_eq!(by_flow, [(5, 4), (7, 1), (8, 1)]);
}

#[test]
fn packets_follow_a_ue_to_its_new_gnb_through_the_upf() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("follow");
    let ue = lab.attach_1();
    let (a, b) = (lab.gnb_a.handle(), lab.gnb_b.handle());
    // The UPF takes forwarded packets at 0xf1, and gNB B at 0xb9.
    lab.upf.forward(teid(0xf1), GNB_B, teid(0xb9), qfi(5));
    let target = HandoverTarget {
        downlink_teid: teid(0xb1),
        uplink: FTeid {
            address: UPF_B.into(),
            teid: teid(0x11),
        },
    };
    let forwarding = Forwarding {
        to: Some(FTeid {
            address: UPF_A.into(),
            teid: teid(0xf1),
        }),
        takes: Some(teid(0xb9)),
    };
    a.hand_over_with(ue, b, target, forwarding)
        .expect("handover");
    // The UPF has not heard of it: a packet, and then the End Marker, to the old endpoint.
    let packet = sluice_wire::gtpu::g_pdu_header_with_container(
        teid(0xa1),
        sluice_wire::gtpu::ShortContainer::downlink(qfi(5), false),
        28,
    );
    let mut packet = packet.expect("short").to_vec();
    let mut inner = [0; 28];
    (inner[0], inner[9]) = (0x45, 17);
    inner[16..20].copy_from_slice(&UE_1.octets());
    packet.extend_from_slice(&inner);
    lab.upf.send(&packet, GNB_A);
    lab.upf
        .send(&sluice_wire::gtpu::end_marker(teid(0xa1)), GNB_A);
    wait_until("the packet at its UE", || {
        let report = b.ue(ue).expect("attached");
        report.counters.downlink.packets == 1
    });
    wait_until("the End Marker, which went on", || {
        a.tunnel(teid(0xa1)).expect("kept").end_markers == 1 && lab.upf.seen().wrong == 1
    });
    let old = a.tunnel(teid(0xa1)).expect("kept");
    assert_eq!((old.forwarded.packets, old.late.packets), (1, 0));
    assert_eq!(lab.upf.seen().forwarded, 1);
    // What forwarded packets came to goes with the endpoint that the UE has.
    a.forget_tunnel(teid(0xa1)).expect("kept");
    assert!(b.tunnel(teid(0xb9)).is_ok());
    b.detach(ue).expect("attached");
    assert!(b.tunnel(teid(0xb9)).is_err());
    let (a, b) = (
        a.counters().expect("running"),
        b.counters().expect("running"),
    );
    assert_eq!((a.unaccounted(), b.unaccounted()), (0, 0));
    assert_eq!(
        (a.forwarded.packets, a.drops.total(), b.drops.total()),
        (1, 0, 0)
    );
}
