//! tshark as the judge of NGAP, NAS and PFCP of sessions: NAS with the null cipher, so that it is read.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use sluice_host::tool;
use sluice_ids::{UpProtection, UpSecurity};
use sluice_n1::{IntegrityRate, IntegrityRates, SessionType};
use sluice_security::Ciphering;
use sluice_smf::Smf;
use sluice_ue::WantedSession;

use crate::flow_mobility::moves;
use crate::harness::*;
use crate::two_gnbs::Two;
use crate::world::{self, TestNetwork, slice};

/// A capture of frames that are NGAP and nothing else (DLT_USER0).
fn capture(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut octets = Vec::new();
    for field in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0xffff, 147] {
        octets.extend_from_slice(&field.to_le_bytes());
    }
    for message in messages {
        let len = message.len() as u32;
        for field in [0, 0, len, len] {
            octets.extend_from_slice(&field.to_le_bytes());
        }
        octets.extend_from_slice(message);
    }
    octets
}

fn tshark(capture: &std::path::Path, filter: &str, field: &str) -> String {
    let mut command = Command::new("tshark");
    command
        .arg("-n")
        .arg("-r")
        .arg(capture)
        .args(["-Y", filter]);
    let dlt = r#"uat:user_dlts:"User 0 (DLT=147)","ngap","0","","0","""#;
    for option in [dlt, "nas-5gs.null_decipher:TRUE"] {
        command.args(["-o", option]);
    }
    command.args(["-T", "fields", "-E", "aggregator=|", "-e", field]);
    tool::run(&mut command).unwrap()
}

/// A registered UE whose NAS messages are not ciphered; tshark will see N3, N4 and N6 of its UPF.
fn judged_world() -> TestNetwork {
    judged_world_of(smf_config())
}

/// The same, with an SMF of this configuration.
fn judged_world_of(smf: sluice_smf::Config) -> TestNetwork {
    let mut config = world::config();
    config.preference.ciphering = vec![Ciphering::Nea0];
    let core = world::core(config, true).with_smf(Smf::new(smf).unwrap());
    let mut world = TestNetwork::of(core, &[1]);
    world.upf = Some(Box::new(RealUpf::new()));
    upf(&mut world).judge();
    world.set_up();
    world.core.time(world.now);
    world.run();
    world.ue_mut(0).requested_nssai = Some(vec![slice(1), slice(2)]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    world
}

/// tshark has nothing to complain of in NGAP; a field of all messages that a filter lets pass.
#[track_caller]
fn judge(messages: &[Vec<u8>], filter: &str, field: &str) -> String {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("sluice-core-sessions-{}-{number}.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, capture(messages)).unwrap();
    let wrong = "_ws.malformed or _ws.short or _ws.expert.severity >= 6291456 or not ngap";
    let complaints = tshark(&path, wrong, "_ws.expert.message");
    let found = tshark(&path, filter, field);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(complaints, "");
    found
}

/// By Xn with a session that is left behind and one that nobody knows, by N2 with and without room, and
/// cancelled.
#[test]
fn tshark_has_no_complaint_of_handovers() {
    if !tool::is_installed("tshark") {
        println!("not judged: needs tshark");
        return;
    }
    let mut two = Two::of(judged_world(), &[5, 6]);
    two.other.refuses.insert(6);
    two.by_xn();
    two.assert_flows(5);
    two.ask_n2(false);
    two.settle();
    two.assert_flows(5);
    two.other.no_contexts = true;
    two.ask_n2(false);
    (two.other.no_contexts, two.goes) = (false, false);
    two.ask_n2(true);
    let octets = two.world.gnb.cancel_handover(at(&two.world, 0)).unwrap();
    two.world.tell_amf(&octets);
    two.run();
    // Handovers of nothing that is there.
    let ran = at(&two.world, 0);
    let mut leaving = two.world.gnb.hand_out(ran).unwrap();
    leaving.rename_session(5, 9);
    let (there, octets) = two.other.take_in(leaving);
    two.away = Some(there);
    two.turn();
    two.world.tell_amf(&octets);
    two.run();
    upf(&mut two.world).end_judging();
    let codes = judge(&two.world.transcript, "ngap", "ngap.procedureCode");
    let codes: BTreeSet<&str> = codes.lines().collect();
    // Status transfers, cancel, notification, preparation, resource allocation, path switch.
    for code in ["7", "10", "11", "12", "13", "25", "49"] {
        assert!(codes.contains(code), "{code} of {codes:?}");
    }
}

/// Set up by gNBs that protect it and that do not, and handed over by Xn and by N2, also of another policy.
#[test]
fn tshark_has_no_complaint_of_user_plane_security() {
    if !tool::is_installed("tshark") {
        println!("not judged: needs tshark");
        return;
    }
    let policy = UpSecurity {
        integrity: UpProtection::Preferred,
        confidentiality: UpProtection::Required,
    };
    let mut config = smf_config();
    config.networks[0].up_security = Some(policy);
    let mut two = Two::of(judged_world_of(config), &[5]);
    // Down as fast as it can, and up no faster than it must.
    let integrity = IntegrityRates {
        up: IntegrityRate::Kbps64,
        down: IntegrityRate::Full,
    };
    let slow = WantedSession {
        integrity,
        ..wanted(SessionType::Ipv4)
    };
    two.world.gnb.no_integrity = true;
    establish(&mut two.world, 0, 6, &slow);
    two.world.gnb.tells_policy = Some(UpSecurity {
        confidentiality: UpProtection::NotNeeded,
        ..policy
    });
    two.by_xn();
    two.ask_n2(false);
    two.settle();
    two.assert_flows(6);
    assert_eq!(moves(&mut two.world, 6).done.len(), 1);
    two.world.gnb.no_confidentiality = true;
    establish(&mut two.world, 0, 7, &slow);
    upf(&mut two.world).end_judging();
    for (field, values) in [
        ("integrityProtectionIndication", &["1"][..]),
        ("confidentialityProtectionIndication", &["0", "2"]),
        ("maximumIntegrityProtectedDataRate_UL", &["0", "1"]),
        ("MaximumIntegrityProtectedDataRate", &["1"]),
        ("integrityProtectionResult", &["0", "1"]),
        ("confidentialityProtectionResult", &["0", "1"]),
        ("userPlaneSecurityInformation_element", &[]),
    ] {
        let field = format!("ngap.{field}");
        let read = judge(&two.world.transcript, &field, &field);
        assert!(!read.is_empty(), "{field}");
        let read: BTreeSet<&str> = read.split(['\n', '|']).collect();
        for value in values {
            assert!(read.contains(value), "{field}: {value} of {read:?}");
        }
    }
    let moved = "ngap.PDUSessionResourceModifyIndicationTransfer_element";
    let result = "ngap.SecurityResult_element";
    let of_it = "ngap.confidentialityProtectionResult";
    let read = judge(
        &two.world.transcript,
        &format!("{moved} and {result}"),
        of_it,
    );
    assert_eq!(read.trim(), "0");
}

#[test]
fn tshark_has_no_complaint_of_sessions() {
    if !tool::is_installed("tshark") {
        println!("not judged: needs tshark");
        return;
    }
    let mut world = judged_world();
    for (session, kind) in [
        (1, SessionType::Ipv4),
        (2, SessionType::Ipv6),
        (3, SessionType::Ipv4v6),
        (4, SessionType::Ethernet),
    ] {
        establish(&mut world, 0, session, &wanted(kind));
    }
    assert!(goes_up(&mut world, 0, 1));
    go_idle(&mut world, 0);
    world.ue_mut(0).sessions_mut().set_data(0b1110);
    come_back(&mut world, 0);
    assert!(goes_up(&mut world, 0, 1));
    // Packets of sessions are to come elsewhere, also of one that is not there.
    let octets = world.gnb.move_sessions(at(&world, 0), &[1, 2, 9]).unwrap();
    world.tell_amf(&octets);
    world.run();
    let results = world.gnb.take_confirms().pop().unwrap();
    assert_eq!((results.done.len(), results.failed.len()), (2, 1));
    let nas = world.ue_mut(0).release(1);
    world.say(0, nas);
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    assert_no_session(&mut world);
    // Once more, and the network ends it.
    world.register(0);
    assert!(
        world
            .core
            .mobility()
            .deregister(world.now, &world::supi(1), true)
    );
    world.run();
    assert_eq!(world.ue(0).sent_away(), Some((true, None)));
    upf(&mut world).end_judging();

    let kinds = judge(&world.transcript, "nas-5gs", "nas_5gs.sm.message_type");
    // Request, Accept, Reject; Release Request, Command, Complete.
    for kind in ["0xc1", "0xc2", "0xc3", "0xd1", "0xd3", "0xd4"] {
        assert!(kinds.contains(kind), "{kind} of {kinds}");
    }
}
