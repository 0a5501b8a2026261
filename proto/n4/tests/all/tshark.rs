//! tshark reads every node related message that an endpoint emits, without complaint.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::net::{CP, Datagram, Net, UP, address, cp_config, up_config};
use sluice_n4::{Change, Features, Fqdn, Instant, NodeId};
use sluice_wire::pfcp::MessageType;
use sluice_wire::pfcp::value::UpFunctionFeatures;

/// A capture file of bare IPv4 packets (link type 101).
fn write_capture(path: &Path, log: &[(Instant, Datagram)]) {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, 101] {
        file.extend_from_slice(&u32::to_be_bytes(word));
    }
    for (at, datagram) in log {
        let packet = ipv4_packet(datagram);
        let (s, us) = (at.0 / 1_000_000_000, at.0 / 1000 % 1_000_000);
        for word in [
            s as u32,
            us as u32,
            packet.len() as u32,
            packet.len() as u32,
        ] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&packet);
    }
    std::fs::write(path, file).expect("the capture is written");
}

fn ipv4_packet(datagram: &Datagram) -> Vec<u8> {
    let octets = |address: std::net::SocketAddr| match address.ip() {
        std::net::IpAddr::V4(v4) => v4.octets(),
        std::net::IpAddr::V6(_) => unreachable!("the tests use IPv4"),
    };
    let udp_len = 8 + datagram.bytes.len() as u16;
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&(20 + udp_len).to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0, 0, 64, 17, 0, 0]);
    packet.extend_from_slice(&octets(datagram.from));
    packet.extend_from_slice(&octets(datagram.to));
    for port_or_len in [datagram.from.port(), datagram.to.port(), udp_len, 0] {
        packet.extend_from_slice(&port_or_len.to_be_bytes());
    }
    packet.extend_from_slice(&datagram.bytes);
    packet
}

/// Every node related procedure between two functions, and a rejection.
fn conversation() -> Vec<(Instant, Datagram)> {
    let mut cp = cp_config(3_900_000_000);
    cp.node_id = NodeId::Fqdn(Fqdn::from_text("smf1.example.org").unwrap());
    let mut up = up_config(3_900_000_001);
    up.retains_sessions = true;
    up.limits.associations = 1;
    let mut net = Net::with(cp.clone(), up);
    net.associate(CP, UP);
    net.run_ms(11_000);
    cp.first_sequence = sluice_wire::pfcp::SequenceNumber::wrapping(0xfff_ff0);
    net.restart(CP, cp);
    let to = net.hosts[UP].address;
    net.call(CP, |cp, now, out| cp.associate(now, to, true, out))
        .unwrap();
    net.run_ms(10);
    let (at_cp, at_up) = (net.id(CP), net.id(UP));
    let features = Features::of_up(UpFunctionFeatures::FTUP | UpFunctionFeatures::EPFAR);
    for change in [
        Change::Features(features),
        Change::ReleasePreparation,
        Change::ReleaseRequest {
            graceful_period_s: Some(90),
        },
    ] {
        net.call(UP, |up, now, out| up.update(now, at_up, change, out))
            .unwrap();
        net.run_ms(10);
    }
    net.send(CP, 1);
    net.call(CP, |cp, now, out| cp.release(now, at_cp, out))
        .unwrap();
    net.run_ms(10);
    let rejected: [&[u8]; 2] = [
        // Another version, and a deletion without association.
        &[0x40, 1, 0, 4, 1, 2, 3, 0],
        &[0x21, 54, 0, 12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 5, 0],
    ];
    for bytes in rejected {
        for answer in net.inject(UP, address(1), bytes) {
            let (from, to) = (address(2), address(1));
            net.log.push((
                net.now,
                Datagram {
                    from,
                    to,
                    bytes: answer,
                },
            ));
        }
    }
    // The vendor's IE of the test's upper layer is none of the endpoint's business.
    net.log.retain(|(_, datagram)| {
        let message_type = datagram.header().message_type;
        !message_type.is_session_related() || message_type.0 == 55
    });
    net.log
}

fn tshark(capture: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let output = Command::new("tshark")
        .arg("-n")
        .arg("-r")
        .arg(capture)
        .args(arguments)
        .output()
        .ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn tshark_reads_all_node_related_messages_without_complaint() {
    let log = conversation();
    let capture = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("n4_node_related.pcap");
    write_capture(&capture, &log);
    let fields = [
        "-T",
        "fields",
        "-e",
        "pfcp.msg_type",
        "-e",
        "_ws.expert.message",
    ];
    let Some(lines) = tshark(&capture, &fields) else {
        eprintln!("skipped: tshark is not installed");
        return;
    };
    let expected: Vec<_> = log
        .iter()
        .map(|(_, d)| format!("{}\t", d.header().message_type.0))
        .collect();
    assert_eq!(
        lines, expected,
        "type of each message, and no expert information"
    );
    let types: std::collections::BTreeSet<_> =
        log.iter().map(|(_, d)| d.header().message_type.0).collect();
    assert_eq!(
        types.into_iter().collect::<Vec<_>>(),
        [1, 2, 5, 6, 7, 8, 9, 10, 11, 55]
    );
}

#[test]
fn tshark_reads_what_we_meant() {
    let log = conversation();
    let capture = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("n4_meaning.pcap");
    write_capture(&capture, &log);
    let filters = [
        // The FQDN, the features by name, and each special flag, with how often they are said.
        (
            MessageType::ASSOCIATION_SETUP_REQUEST,
            "pfcp.node_id_fqdn == \"smf1.example.org\"",
            2,
        ),
        (
            MessageType::ASSOCIATION_SETUP_REQUEST,
            "pfcp.cp_function_features.epfar == 1",
            2,
        ),
        (
            MessageType::ASSOCIATION_SETUP_RESPONSE,
            "pfcp.asrsp_flags.flags.psrei == 1",
            1,
        ),
        (
            MessageType::ASSOCIATION_SETUP_RESPONSE,
            "pfcp.up_function_features.epfar == 1",
            2,
        ),
        (
            MessageType::ASSOCIATION_UPDATE_REQUEST,
            "pfcp.aureq_flags.parps == 1",
            1,
        ),
        (
            MessageType::ASSOCIATION_UPDATE_REQUEST,
            "pfcp.assoc_rel_req.sarr == 1",
            1,
        ),
        (
            MessageType::ASSOCIATION_RELEASE_RESPONSE,
            "pfcp.cause == 1",
            1,
        ),
        (
            MessageType::SESSION_DELETION_RESPONSE,
            "pfcp.cause == 72",
            1,
        ),
    ];
    for (message_type, filter, times) in filters {
        let filter = format!("pfcp.msg_type == {} && {filter}", message_type.0);
        let Some(lines) = tshark(&capture, &["-Y", &filter]) else {
            eprintln!("skipped: tshark is not installed");
            return;
        };
        assert_eq!(lines.len(), times, "{filter}");
    }
}
