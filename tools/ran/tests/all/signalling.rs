//! Echo, Error Indication, End Marker, and nonsense toward a gNB (needs root).

use std::time::Duration;

use crate::common::{GNB_A, GNB_B, Lab, UE_1, UE_2, UPF_A, is_root, qfi, teid, ue, wait_until};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sluice_host::capture::Capture;
use sluice_host::tool;
use sluice_host::tshark::judge;
use sluice_ran::{DropReason, GnbCounters, Mute, RanError, UeId};
use sluice_wire::gtpu::{
    self, ErrorIndication, ShortContainer, g_pdu_header, g_pdu_header_with_container,
};

fn counters(lab: &Lab) -> GnbCounters {
    lab.gnb_a.handle().counters().expect("running")
}

fn wait_received(lab: &Lab, packets: u64) -> GnbCounters {
    wait_until("datagrams", || counters(lab).received.packets >= packets);
    counters(lab)
}

fn ue_drops(lab: &Lab, ue: UeId, reason: DropReason) -> u64 {
    lab.gnb_a
        .handle()
        .ue(ue)
        .expect("attached")
        .counters
        .drops
        .get(reason)
}

/// An IPv4 header without anything, to `UE_1` or not.
fn inner(to_ue: bool) -> [u8; 20] {
    let mut packet = [0; 20];
    packet[..4].copy_from_slice(&[0x45, 0, 0, 20]);
    packet[16..20].copy_from_slice(&if to_ue { UE_1 } else { UE_2 }.octets());
    packet
}

fn with_container(tunnel: u32, container: ShortContainer, inner: &[u8]) -> Vec<u8> {
    let header = g_pdu_header_with_container(teid(tunnel), container, inner.len()).expect("short");
    [&header[..], inner].concat()
}

#[test]
fn echo_works_both_ways() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("echo");
    lab.upf.send(&gtpu::echo_request(0x1234), GNB_A);
    wait_until("Echo Response", || {
        lab.upf.seen().echo_responses == [0x1234]
    });
    let took = lab
        .gnb_a
        .handle()
        .echo(UPF_A, Duration::from_secs(5))
        .expect("echo");
    assert!(took > Duration::ZERO && took < Duration::from_secs(5));
    let counters = counters(&lab);
    assert_eq!(counters.signalling.echo_requests, 1);
    assert_eq!(counters.signalling.echo_responses, 1);
    let nobody = std::net::Ipv4Addr::new(10, 60, 1, 77);
    let silence = lab.gnb_a.handle().echo(nobody, Duration::from_millis(20));
    assert!(
        matches!(silence, Err(RanError::NoEcho { .. })),
        "{silence:?}"
    );
}

#[test]
fn tshark_finds_nothing_wrong_with_what_a_gnb_sends() {
    if !is_root() || !tool::is_installed("tcpdump") || !tool::is_installed("tshark") {
        return;
    }
    let lab = Lab::new("tshark");
    let _ues = (lab.attach_1(), lab.attach_2());
    let file = format!("sluice-{}-gnb.pcap", std::process::id());
    let path = std::env::temp_dir().join(file);
    let capture = Capture::start(&lab.ns_a, "n3", "", &path).expect("capture");
    let target = UE_2.to_string();
    tool::run(
        lab.ns_ue1
            .command("ping")
            .args(["-c", "2", "-i", "0.01", &target]),
    )
    .expect("ping");
    lab.gnb_a
        .handle()
        .echo(UPF_A, Duration::from_secs(5))
        .expect("echo");
    let down = ShortContainer::downlink(qfi(5), false);
    lab.upf.send(&gtpu::echo_request(1), GNB_A);
    lab.upf
        .send(&with_container(0xdead, down, &inner(true)), GNB_A);
    wait_until("Error Indication", || {
        lab.upf.seen().error_indications == [0xdead]
    });
    let count = capture.stop().expect("stop");
    let verdict = judge(&path).expect("tshark");
    std::fs::remove_file(path).expect("remove");
    // Pings 4, echoes 4, a wrong packet and its answer; nothing else is on the link.
    assert_eq!((count.captured, count.dropped, verdict.frames), (10, 0, 10));
    assert!(verdict.is_clean(), "{:?}", verdict.complaints);
}

#[test]
fn an_unknown_teid_is_answered_with_error_indications_but_not_with_a_flood() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("unknown");
    let container = ShortContainer::downlink(qfi(5), false);
    for _ in 0..500 {
        lab.upf
            .send(&with_container(0xdead, container, &inner(true)), GNB_A);
    }
    let counters = wait_received(&lab, 500);
    assert_eq!(counters.drops.get(DropReason::UnknownTeid), 500);
    // Ten at once, and ten a second while it lasted.
    let sent = counters.error_indications_sent;
    assert!((10..100).contains(&sent), "{sent}");
    assert_eq!(sent + counters.answers_withheld, 500);
    wait_until("arrival", || {
        lab.upf.seen().error_indications.len() as u64 == sent
    });
    assert!(
        lab.upf
            .seen()
            .error_indications
            .iter()
            .all(|teid| *teid == 0xdead)
    );
    assert_eq!(counters.unaccounted(), 0);
}

#[test]
fn an_error_indication_is_counted_for_the_ue_whose_tunnel_it_names() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("errind");
    let ue1 = lab.attach_1();
    for teid in [0x11, 0x99] {
        let indication = ErrorIndication {
            teid,
            peer: UPF_A.into(),
            udp_source_port: None,
        };
        let mut room = [0; 64];
        let length = gtpu::write_error_indication(&mut room, 1, &indication).expect("room");
        lab.upf.send(&room[..length], GNB_A);
    }
    let counters = wait_received(&lab, 2);
    assert_eq!(counters.signalling.error_indications, 2);
    let report = lab.gnb_a.handle().ue(ue1).expect("attached");
    assert_eq!(report.counters.error_indications, 1);
}

#[test]
fn each_wrong_packet_is_dropped_under_its_own_name() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("wrong");
    let ue1 = lab.attach_1();
    let (down, up) = (
        ShortContainer::downlink(qfi(5), false),
        ShortContainer::uplink(qfi(5)),
    );
    let bare = [
        &g_pdu_header(teid(0xa1), 20).expect("short")[..],
        &inner(true),
    ]
    .concat();
    // An NR RAN Container (0x84), which must be comprehended, in place of ours.
    let mut extension = with_container(0xa1, down, &inner(true));
    extension[11] = 0x84;
    let mut unknown = gtpu::echo_request(1);
    unknown[1] = 99;
    let wrong: [(&[u8], DropReason); 8] = [
        (&bare, DropReason::NoContainer),
        (
            &with_container(0xa1, up, &inner(true)),
            DropReason::NotDownlink,
        ),
        (
            &with_container(0xa1, down, &inner(false)),
            DropReason::ForeignDestination,
        ),
        (
            &with_container(0xa2, down, &inner(true)),
            DropReason::UnknownTeid,
        ),
        (&extension, DropReason::UnsupportedExtension),
        (&unknown, DropReason::UnknownMessage),
        (
            &with_container(0xa1, down, &inner(true))[..30],
            DropReason::Malformed,
        ),
        (
            &with_container(0xa1, down, &[0x45; 3000]),
            DropReason::DatagramTooLong,
        ),
    ];
    for (number, (bytes, reason)) in wrong.into_iter().enumerate() {
        lab.upf.send(bytes, GNB_A);
        let counters = wait_received(&lab, number as u64 + 1);
        assert_eq!(counters.drops.get(reason), 1, "{reason:?}: {counters:?}");
        assert_eq!(counters.drops.total(), number as u64 + 1);
    }
    for reason in [
        DropReason::NoContainer,
        DropReason::NotDownlink,
        DropReason::ForeignDestination,
    ] {
        assert_eq!(ue_drops(&lab, ue1, reason), 1, "{reason:?}");
    }
    let counters = counters(&lab);
    assert_eq!((counters.downlink.packets, counters.unaccounted()), (0, 0));
    wait_until("notification", || lab.upf.seen().notifications == 1);
    // And the right one passes.
    lab.upf
        .send(&with_container(0xa1, down, &inner(true)), GNB_A);
    assert_eq!(wait_received(&lab, 9).downlink.packets, 1);
}

#[test]
fn a_device_that_is_down_refuses_and_says_so() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("down");
    let ue1 = lab.attach_1();
    lab.ns_ue1.ip_batch("link set dev ue down\n").expect("down");
    let container = ShortContainer::downlink(qfi(5), true);
    lab.upf
        .send(&with_container(0xa1, container, &inner(true)), GNB_A);
    wait_received(&lab, 1);
    assert_eq!(ue_drops(&lab, ue1, DropReason::TunRefused), 1);
    lab.ns_ue1.ip_batch("link set dev ue up\n").expect("up");
    lab.upf
        .send(&with_container(0xa1, container, &inner(true)), GNB_A);
    wait_received(&lab, 2);
    let report = lab.gnb_a.handle().ue(ue1).expect("attached");
    assert_eq!(
        (
            report.counters.downlink.packets,
            report.counters.reflective_qos
        ),
        (1, 1)
    );
}

#[test]
fn any_bytes_are_accounted_for_and_none_ends_the_gnb() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("fuzz");
    lab.attach_1();
    // Half begin like GTP-U, so that the deeper parts are met.
    let head = prop_oneof![
        Just(vec![]),
        (
            0x30u8..0x38,
            prop_oneof![Just(1u8), Just(2), Just(26), Just(31), Just(254), Just(255)]
        )
            .prop_map(|(flags, ty)| vec![flags, ty]),
    ];
    let bytes = (head, proptest::collection::vec(any::<u8>(), 0..80));
    // A fixed seed: a failure repeats by itself and needs no file.
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, seed);
    let sent = std::cell::Cell::new(0);
    let outcome = runner.run(&bytes, |(head, tail)| {
        let mut message = [head, tail].concat();
        // Mostly a true length, or nothing would be read behind the header.
        if message.len() > 8 && message[7] % 4 != 0 {
            let length = (message.len() - 8) as u16;
            message[2..4].copy_from_slice(&length.to_be_bytes());
            message[4..8].copy_from_slice(&[0, 0, 0, 0xa1]);
        }
        lab.upf.send(&message, GNB_A);
        sent.set(sent.get() + 1);
        Ok(())
    });
    outcome.expect("sent");
    let sent = sent.get();
    let counters = wait_received(&lab, sent);
    assert_eq!(
        (counters.received.packets, counters.unaccounted()),
        (sent, 0)
    );
    assert!(counters.drops.get(DropReason::Malformed) > 0);
}

#[test]
fn what_cannot_be_served_is_refused_by_name() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("attach");
    let ue1 = lab.attach_1();
    let handle = lab.gnb_a.handle();
    let same = handle.attach(ue(&lab.ns_ue2, UE_2, UPF_A, 0x12, 0xa1, 5));
    assert!(matches!(same, Err(RanError::TeidTaken { .. })), "{same:?}");
    assert!(handle.forget_tunnel(teid(0xa1)).is_ok(), "asked, but kept");
    assert!(
        handle.tunnel(teid(0xa1)).is_ok(),
        "the tunnel of a UE that is here stays"
    );
    handle.set_qfi(ue1, qfi(7)).expect("attached");
    assert_eq!(handle.ue(ue1).expect("attached").qfi, qfi(7));
    assert!(matches!(
        lab.gnb_b.handle().ue(ue1),
        Err(RanError::UnknownUe { .. })
    ));
    let second = sluice_ran::Gnb::start(&sluice_ran::GnbConfig::new("gnb-b2", &lab.ns_b, GNB_B));
    let text = second.expect_err("the address is in use").to_string();
    assert!(text.contains("bind UDP 10.60.2.2:2152"), "{text}");
}

#[test]
fn a_mute_gnb_keeps_its_answers_and_accounts_for_what_it_does_not_take() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("mute");
    lab.attach_1();
    let handle = lab.gnb_a.handle();
    handle.set_mute(Mute::Echo).expect("mute");
    lab.upf.send(&gtpu::echo_request(1), GNB_A);
    let counters = wait_received(&lab, 1);
    assert_eq!(counters.echoes_withheld, 1);
    handle.set_mute(Mute::All).expect("mute");
    let container = ShortContainer::downlink(qfi(5), false);
    lab.upf
        .send(&with_container(0xa1, container, &inner(true)), GNB_A);
    let counters = wait_received(&lab, 2);
    assert_eq!(counters.drops.get(DropReason::Muted), 1);
    assert_eq!((counters.downlink.packets, counters.unaccounted()), (0, 0));
    handle.set_mute(Mute::No).expect("speak");
    let answer = handle.begin_echo(UPF_A, Duration::from_secs(5));
    let answer = answer.expect("sent");
    let mut took = None;
    wait_until("Echo Response", || {
        took = answer.poll().expect("in time");
        took.is_some()
    });
    lab.upf.send(&gtpu::echo_request(2), GNB_A);
    wait_until("Echo Response", || lab.upf.seen().echo_responses == [2]);
}
