//! N4 on a port: the daemon answers ARP, ICMP and PFCP there itself, and the kernel knows nothing
//! of the address.

use std::net::Ipv4Addr;

use sluice::cli::args::CtlQuery;
use sluice_host::capture::Capture;
use sluice_host::env_check::{self, Need};
use sluice_host::packet::PacketSocket;
use sluice_host::tshark::judge;
use sluice_wire::eth::{EthHeader, EtherType, MacAddr};
use sluice_wire::ipv4::{Ipv4Header, Protocol};
use sluice_wire::pfcp::{Cause, MessageType};
use sluice_wire::udp::UdpHeader;

use super::kit::*;

/// The third port is N4's; there is no socket.
fn on_a_port(lab: &Lab) -> Config {
    let gone = format!("address del {N4_UPF}/24 dev n4\n");
    lab.upf.ip_batch(&gone).unwrap();
    let mut config = Config::new();
    config.n4 = config.n4.replace(&format!("listen: {N4_UPF}, "), "");
    config
        .ports
        .push("name: n4, device: 'net_af_packet2,iface=n4'".to_owned());
    config.interfaces.push(format!(
        "name: n4, port: n4, addresses: {N4_UPF}/24, n4: {{}}"
    ));
    config
}

#[test]
fn an_smf_on_a_port_leads_a_session_through_its_life() {
    let Some(lab) = Lab::new("n4port") else {
        return;
    };
    let daemon = Daemon::start(&lab, &on_a_port(&lab));
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 5, 1400), 5);
    let association = daemon.ask(&CtlQuery::Peers)["associations"][0].take();
    assert_eq!(association["silent"], false, "{association:#}");
    // Heartbeats of ours, which nobody asked for, find their way, too.
    eventually("heartbeats are answered", || {
        counter(&daemon, "n4", "received_heartbeat_response") > 0
    });
    let usage = smf.delete(ue.cp_seid()).unwrap();
    assert_eq!(usage.urrs[0].traffic().downlink_octets, 5 * 1400);
    smf.release().unwrap();
    let port = |name| counter(&daemon, "n4_on_ports", name);
    assert!(port("received") >= 5 && port("sent") >= 5);
    for fault in ["malformed", "checksum", "unresolved", "no_route", "unsent"] {
        assert_eq!(port(fault), 0, "{fault}");
    }
    daemon.ledger();
}

#[test]
fn a_message_in_many_fragments_is_read_and_answered() {
    let Some(lab) = Lab::new("n4pieces") else {
        return;
    };
    let daemon = Daemon::start(&lab, &on_a_port(&lab));
    let socket = PfcpSocket::open(&lab, N4_SMFS[1]);
    let mut fragments = 0;
    for (sequence, pieces) in [2, 3, 9, 16].into_iter().enumerate() {
        // All pieces but the last are full.
        let octets = (pieces - 1) * 1480 + 100 - 8;
        let setup = association_setup(N4_SMFS[1], 1 + sequence as u32);
        socket.send(&padded(setup, octets));
        let response = MessageType::ASSOCIATION_SETUP_RESPONSE;
        assert_eq!(
            socket.cause_in(response),
            Cause::REQUEST_ACCEPTED,
            "{pieces}"
        );
        fragments += pieces as u64;
        assert_eq!(counter(&daemon, "n4_on_ports", "fragments"), fragments);
    }
    for fault in ["malformed", "checksum", "reassembly"] {
        assert_eq!(counter(&daemon, "n4_on_ports", fault), 0, "{fault}");
    }
    daemon.ledger();
}

#[test]
fn an_smf_behind_a_port_is_called_and_told_of_the_end() {
    let Some(lab) = Lab::new("n4call") else {
        return;
    };
    let config = on_a_port(&lab)
        .n4("associate", N4_SMFS[0])
        .n4("graceful_release_s", 60);
    // Nobody has spoken yet: its station is asked for.
    let mut daemon = Daemon::start(&lab, &config);
    let smf = lab.smf_at(0);
    eventually("the association is up", || smf.peer().unwrap().is_some());
    eventually("the UPF knows it, too", || {
        counter(&daemon, "n4", "received_association_setup_response") > 0
    });
    daemon.process.terminate();
    eventually("the SMF is asked", || {
        let asked = smf.counters().unwrap();
        asked.received(MessageType::ASSOCIATION_UPDATE_REQUEST) > 0
    });
    // The last answer of all leaves before the workers end.
    smf.release().unwrap();
    let (code, took) = daemon.wait();
    assert_eq!(code, Some(0), "{}", daemon.log());
    assert!(took.as_secs() < 30, "the end came from the release");
}

#[test]
fn on_a_port_too_an_association_is_its_smfs_own() {
    let Some(lab) = Lab::new("n4own") else {
        return;
    };
    let daemon = Daemon::start(&lab, &on_a_port(&lab));
    let smf = lab.smf();
    let stranger = PfcpSocket::open(&lab, N4_SMFS[1]);
    stranger.send(&association_release(N4_SMFS[0], 1));
    let release = MessageType::ASSOCIATION_RELEASE_RESPONSE;
    let unknown = Cause::NO_ESTABLISHED_PFCP_ASSOCIATION;
    assert_eq!(stranger.cause_in(release), unknown);
    stranger.send(&association_setup(N4_SMFS[0], 2));
    let setup = MessageType::ASSOCIATION_SETUP_RESPONSE;
    assert_eq!(stranger.cause_in(setup), Cause::REQUEST_REJECTED);
    assert_eq!(counter(&daemon, "n4", "takeover_refused"), 1);
    smf.release().unwrap();
}

#[test]
fn the_address_answers_ping_and_refuses_other_ports_and_strangers() {
    let Some(lab) = Lab::new("n4ping") else {
        return;
    };
    let daemon = Daemon::start(&lab, &on_a_port(&lab));
    let mut ping = lab.smf.command("ping");
    let address = N4_UPF.to_string();
    let output = ping
        .args(["-q", "-c3", "-l3", "-i5", "-W5", &address])
        .output();
    assert!(output.unwrap().status.success());
    let before = counter(&daemon, "n4", "not_allowed");
    // A stranger on the link, whom `peers` does not name, and a message cut short.
    let stranger = Ipv4Addr::new(198, 18, 4, 99);
    let mac = daemon.ask(&CtlQuery::Ports)["ports"][2]["mac"].take();
    let mac: Vec<u8> = mac
        .as_str()
        .unwrap()
        .split(':')
        .map(|octet| u8::from_str_radix(octet, 16).unwrap())
        .collect();
    let socket = PacketSocket::open(lab.n4.a()).unwrap();
    let heartbeat = [0x20, 1, 0, 12, 0, 0, 1, 0, 0, 96, 0, 4, 0xe0, 0, 0, 1];
    for source in [stranger, N4_SMFS[0]] {
        for len in [16, 11, 3, 0] {
            socket.send(&pfcp(&mac, source, &heartbeat[..len])).unwrap();
        }
    }
    eventually("all are seen", || {
        counter(&daemon, "n4_on_ports", "received") == 8
    });
    assert_eq!(counter(&daemon, "n4", "not_allowed") - before, 4);
    let malformed = counter(&daemon, "n4", "malformed_short");
    let lengths = counter(&daemon, "n4", "malformed_length");
    assert_eq!(malformed + lengths, 3);
    assert_eq!(counter(&daemon, "n4_on_ports", "unresolved"), 0);
    // Whoever may speak is answered: the SMF comes up after all that.
    let smf = lab.smf();
    smf.release().unwrap();
    daemon.ledger();
}

#[test]
fn pfcp_on_a_port_is_read_by_tshark_without_complaint() {
    let Some(lab) = Lab::new("n4shark") else {
        return;
    };
    let needs = [Need::Tool("tcpdump"), Need::Tool("tshark")];
    if let Some(lack) = env_check::missing(&needs).first() {
        println!("skipped: {lack}");
        return;
    }
    let _daemon = Daemon::start(&lab, &on_a_port(&lab));
    let file = lab.path("n4.pcap");
    let capture = Capture::start(&lab.smf, "n4", "udp port 8805", &file).unwrap();
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    smf.delete(ue.cp_seid()).unwrap();
    smf.release().unwrap();
    capture.stop().unwrap();
    let verdict = judge(&file).unwrap();
    assert!(verdict.is_clean(), "{verdict:?}");
    assert!(verdict.frames >= 8, "requests and answers");
}

fn pfcp(mac: &[u8], source: Ipv4Addr, message: &[u8]) -> Vec<u8> {
    let ethernet = EthHeader {
        destination: MacAddr(mac.try_into().unwrap()),
        source: MacAddr([2, 0, 0, 0, 9, 9]),
        ethertype: EtherType::IPV4,
    };
    let ports = UdpHeader {
        source_port: 8805,
        destination_port: 8805,
    };
    let udp = ports.to_bytes(source, N4_UPF, message).unwrap();
    let ip = Ipv4Header::new(Protocol::UDP, source, N4_UPF);
    let ip = ip.to_bytes(udp.len() + message.len()).unwrap();
    [&ethernet.to_bytes()[..], &ip, &udp, message].concat()
}

fn counter(daemon: &Daemon, part: &str, name: &str) -> u64 {
    let counters = daemon.ask(&CtlQuery::Counters);
    counters[part][name]
        .as_u64()
        .unwrap_or_else(|| panic!("{part}.{name}: {counters:#}"))
}
