//! What ports carry: several roles and addresses, neighbours of both kinds, proxy ARP and ND, frames
//! larger than usual and larger than buffers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use serde_json::Value;
use sluice::cli::args::CtlQuery;
use sluice_host::link::{Link, mac_text};
use sluice_host::packet::PacketSocket;
use sluice_smf_emulator::{Network, UeAddresses};

use super::kit::*;

#[test]
fn several_n3_addresses_share_a_port() {
    const SECOND: Ipv4Addr = Ipv4Addr::new(198, 18, 3, 2);
    let Some(lab) = Lab::new("n3s") else { return };
    let mut config = Config::new();
    config.interfaces[0] = format!(
        "name: n3, port: n3, addresses: [{N3_UPF}/24, {SECOND}/24], \
         n3: [{{address: {N3_UPF}, network_instance: access}}, \
              {{address: {SECOND}, network_instance: slice2}}]"
    );
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    for (number, instance, address) in [(0, "access", N3_UPF), (1, "slice2", SECOND)] {
        let mut plan = Ue::plan(N3_GNB, number);
        plan.network = Arc::new(Network::new("internet", instance, "core").unwrap());
        let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), number, 1400, plan);
        assert_eq!(ue.session.uplink.address, address);
        assert_eq!(ue.ping(&lab, 5, 1400), 5);
        let session = daemon.ctl(&["rules", &ue.seid()]);
        assert!(
            session.out.contains(&address.to_string()),
            "{}",
            session.out
        );
        gnb.handle().echo(address, SOON).unwrap();
    }
    assert_eq!(daemon.ledger()["dropped_total"], 0);
}

#[test]
fn one_port_serves_n3_n9_n6_and_the_kernel_n4_on_it() {
    const N9: Ipv4Addr = Ipv4Addr::new(198, 18, 9, 1);
    let Some(mut lab) = Lab::new("one") else {
        return;
    };
    // Everything is behind one link: gNB, SMF and server in one namespace.
    lab.n4.delete().unwrap();
    lab.n6.delete().unwrap();
    for (address, len) in [
        (N4_SMFS[0], 24),
        (SERVER, 24),
        (Ipv4Addr::new(198, 18, 9, 2), 24),
    ] {
        lab.n3.a().add_address(address, len).unwrap();
    }
    lab.n3.b().add_address(N4_UPF, 24).unwrap();
    let route = format!("route add 10.60.0.0/24 via {N6_UPF} dev n3\n");
    lab.gnb.ip_batch(&route).unwrap();
    std::mem::swap(&mut lab.smf, &mut lab.gnb);
    let mut config = Config::new();
    config.ports.truncate(1);
    config.interfaces = vec![format!(
        "name: all, port: n3, addresses: [{N3_UPF}/24, {N6_UPF}/24, {N9}/24], gateway: {SERVER}, \
         n3: {{address: {N3_UPF}}}, n9: {{address: {N9}, side: core}}, \
         n6: {{network_instance: core}}"
    )];
    let daemon = Daemon::start(&lab, &config);
    let smf = lab.smf();
    std::mem::swap(&mut lab.smf, &mut lab.gnb);
    let gnb = lab.gnb();
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 5, 1400), 5);
    for address in [N3_UPF, N9] {
        gnb.handle().echo(address, SOON).unwrap();
    }
    let usage = smf.delete(ue.cp_seid()).unwrap();
    assert_eq!(usage.urrs[0].traffic().downlink_octets, 5 * 1400);
    smf.release().unwrap();
    // The port sees the kernel's N4 both ways, too, and says so.
    let ledger = daemon.ledger();
    let mut dropped = ledger["dropped"].as_object().unwrap().keys();
    assert!(dropped.all(|reason| ["unknown_ue", "not_our_mac"].contains(&reason.as_str())));
}

#[test]
fn neighbours_are_given_or_asked_for() {
    let Some(lab) = Lab::new("hops") else { return };
    let mut config = Config::new();
    for (interface, link, address) in [(0, &lab.n3, N3_GNB), (1, &lab.n6, SERVER)] {
        let mac = mac_text(link.a().mac().unwrap());
        let given = format!(", neighbours: {{address: {address}, mac: '{mac}'}}");
        config.interfaces[interface].push_str(&given);
    }
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 5, 84), 5);
    assert_eq!(control(&daemon, "arp_requests"), 0);
    let neighbours = daemon.ask(&CtlQuery::Peers)["neighbours"].take();
    let neighbours = neighbours.as_array().unwrap();
    assert!(neighbours.len() == 2 && neighbours.iter().all(|n| n["static"] == true));
}

#[test]
fn packets_wait_for_a_neighbour_and_are_dropped_by_name_if_it_stays_silent() {
    let Some(lab) = Lab::new("arp") else { return };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    // The server hears no ARP.
    lab.dn.ip_batch("link set dev n6 arp off\n").unwrap();
    assert_eq!(ue.ping_in_vain(&lab, 4, 84), 0);
    eventually("the packets are given up", || {
        let ledger = daemon.ledger();
        let dropped = &ledger["dropped"];
        let given_up = ["next_hop_unresolved", "next_hop_queue_full"];
        let given_up = given_up
            .iter()
            .filter_map(|reason| dropped[reason].as_u64());
        ledger["held"] == 0 && given_up.sum::<u64>() == 4
    });
    // What the kernel learned meanwhile is of no use.
    lab.dn
        .ip_batch("link set dev n6 arp on\nneigh flush dev n6 nud all\n")
        .unwrap();
    eventually("the server is found", || ue.ping_in_vain(&lab, 3, 84) == 3);
    assert!(control(&daemon, "arp_requests") > 2);
}

#[test]
fn proxy_arp_answers_for_ues_and_for_nobody_else() {
    let Some(lab) = Lab::new("proxy") else { return };
    // The server takes UEs to be on its link.
    lab.dn
        .ip_batch("route replace 10.60.0.0/16 dev n6\nroute del 10.60.0.0/24\n")
        .unwrap();
    let mut config = Config::new();
    config.interfaces[1].push_str(", proxy_arp: 10.60.0.0/24");
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 5, 84), 5);
    // Of no UE, behind the prefix, and on the link but not ours.
    for stranger in ["10.60.0.77", "10.60.1.2", "198.18.6.77"] {
        let mut ping = lab.dn.command("ping");
        let status = ping
            .args(["-c1", "-W1", "-q", stranger])
            .output()
            .unwrap()
            .status;
        assert!(!status.success(), "{stranger} answered");
        let known = neighbour(&lab, stranger.parse().unwrap());
        assert!(!known.contains("lladdr"), "{stranger}: {known}");
    }
    let upf = mac_text(lab.n6.b().mac().unwrap());
    let known = neighbour(&lab, ue.address.into());
    assert!(known.contains(&upf), "{known}");
    daemon.ledger();
}

/// What the server's kernel knows of a station that it takes to be on its link: its MAC address, or what became of the
/// search for it.
fn neighbour(lab: &Lab, station: IpAddr) -> String {
    let mut command = lab.dn.ip();
    command.args(["neigh", "show", &station.to_string(), "dev", "n6"]);
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn proxy_nd_answers_for_ues_and_for_nobody_else() {
    let Some(lab) = Lab::new("proxynd") else {
        return;
    };
    lab.add_ipv6();
    // The server takes UEs to be on its link.
    lab.dn
        .ip_batch("-6 route replace 2001:db8::/32 dev n6\n")
        .unwrap();
    let mut config = Config::with_ipv6();
    // Of the UEs' prefixes those of the first one alone.
    config.interfaces[1].push_str(", proxy_nd: '2001:db8:60:100::/56'");
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ues = [0, 1].map(|number| {
        let mut plan = Ue::plan(N3_GNB, number);
        plan.ue = UeAddresses::V4V6(ue_address(number), ue_ipv6(number));
        Ue::attach_planned(&lab, &smf, gnb.handle(), number, 1400, plan)
    });
    let server = IpAddr::from(SERVER_V6);
    eventually("the server finds the UE", || {
        pings(&lab, ue_ipv6(0).into(), server) == 3
    });
    let answers = |ue: Ipv6Addr| {
        let mut ping = lab.dn.command("ping");
        let ping = ping.args(["-6", "-q", "-c1", "-W10", &ue.to_string()]);
        ping.output().unwrap().status.success()
    };
    assert!(answers(ue_ipv6(0)));
    let upf = mac_text(lab.n6.b().mac().unwrap());
    let known = neighbour(&lab, ue_ipv6(0).into());
    assert!(known.contains(&upf), "{known}");
    // Nobody's, though within the proxy's prefix; a UE's, but not within it; and a host's that is not there.
    let nobody = Ipv6Addr::new(0x2001, 0xdb8, 0x60, 0x1ff, 0, 0, 0, 1);
    let host = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 0x77);
    for stranger in [nobody, ue_ipv6(1), host] {
        assert!(!answers(stranger), "{stranger}");
        let known = neighbour(&lab, stranger.into());
        assert!(!known.contains("lladdr"), "{stranger}: {known}");
    }
    // With its session a UE's address goes.
    smf.delete(ues[0].cp_seid()).unwrap();
    lab.dn.ip_batch("-6 neigh flush dev n6\n").unwrap();
    assert!(!answers(ue_ipv6(0)));
    let known = neighbour(&lab, ue_ipv6(0).into());
    assert!(!known.contains("lladdr"), "{known}");
    daemon.ledger();
}

#[test]
fn a_link_that_goes_down_comes_back_or_is_deleted_is_told() {
    let Some(mut lab) = Lab::new("links") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    let is = |state: &str| daemon.ask(&CtlQuery::Ports)["ports"][1]["link"] == state;
    let logged = |words: &str| {
        daemon
            .log()
            .contains(&format!("port n6: its link is {words}"))
    };
    assert!(is("up") && !logged("up"));
    lab.n6.a().down().unwrap();
    eventually("the link is down", || is("down") && logged("down"));
    assert_eq!(ue.ping_in_vain(&lab, 1, 84), 0);
    lab.n6.a().up().unwrap();
    lab.dn
        .ip_batch(&format!("route replace 10.60.0.0/24 via {N6_UPF} dev n6\n"))
        .unwrap();
    eventually("the link is up", || is("up") && logged("up"));
    eventually("packets pass again", || ue.ping_in_vain(&lab, 3, 84) == 3);
    lab.n6.delete().unwrap();
    eventually("the link is gone", || is("gone") && logged("gone"));
    assert_eq!(ue.ping_in_vain(&lab, 1, 84), 0);
    daemon.ledger();
}

#[test]
fn jumbo_frames_pass_end_to_end() {
    let Some(lab) = Lab::with_mtu("jumbo", 9000) else {
        return;
    };
    let mut config = Config::new();
    config.dpdk = "memory_mb: 192, mbufs: 8191".to_owned();
    for port in &mut config.ports {
        port.push_str(", mtu: 9000");
    }
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    // With 44 octets of tunnel, what fills a frame of N3.
    let ue = Ue::attach_with(&lab, &smf, gnb.handle(), 0, 8956);
    for bytes in [84, 1500, 4000, 8956] {
        assert_eq!(ue.ping(&lab, 5, bytes), 5, "{bytes}");
    }
    let ports = daemon.ask(&CtlQuery::Ports)["ports"].take();
    assert!(
        ports
            .as_array()
            .unwrap()
            .iter()
            .all(|port| port["mtu_bytes"] == 9000)
    );
    assert_eq!(daemon.ledger()["dropped_total"], 0);
    let usage = smf.delete(ue.cp_seid()).unwrap();
    let octets = 5 * (84 + 1500 + 4000 + 8956);
    assert_eq!(usage.urrs[0].traffic().uplink_octets, octets);
}

#[test]
fn a_kernel_interface_gets_the_mtu_of_the_file() {
    let Some(lab) = Lab::new("mtu") else { return };
    let mut config = Config::new();
    // As the example file has it: a full packet of a UE with its tunnel.
    config.ports[0].push_str(", mtu: 1544");
    lab.n3.a().set_mtu(1544).unwrap();
    let daemon = Daemon::start(&lab, &config);
    assert_eq!(lab.n3.b().mtu().unwrap(), 1544);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach_with(&lab, &smf, gnb.handle(), 0, 1500);
    assert_eq!(ue.ping(&lab, 5, 1500), 5);
    assert_eq!(daemon.ledger()["dropped_total"], 0);
}

#[test]
fn without_an_mtu_in_the_file_a_kernel_interface_is_used_as_far_as_there_is_room() {
    let Some(lab) = Lab::with_mtu("auto", 9000) else {
        return;
    };
    lab.n6.b().set_mtu(1400).unwrap();
    let daemon = Daemon::start(&lab, &Config::new());
    let ports = daemon.ask(&CtlQuery::Ports)["ports"].take();
    assert_eq!(
        [0, 1].map(|i| ports[i]["mtu_bytes"].as_u64()),
        [Some(1568), Some(1400)]
    );
    let log = daemon.log();
    assert!(
        log.contains("n3 has an MTU of 9000 bytes, but packets of more than 1568"),
        "{log}"
    );
    assert!(log.contains("ports[0].mtu would make room"), "{log}");
}

#[test]
fn frames_larger_than_a_buffer_are_counted_by_the_port() {
    let Some(lab) = Lab::new("segments") else {
        return;
    };
    let mut config = Config::new();
    config.ports[0] = "name: n3, device: 'net_tap0,iface=tap3'".to_owned();
    let daemon = Daemon::start(&lab, &config);
    let tap = Link::new(&lab.upf, "tap3").unwrap();
    tap.disable_ipv6().unwrap();
    lab.upf.ip_batch("link set dev tap3 mtu 9000 up\n").unwrap();
    let socket = PacketSocket::open(&tap).unwrap();
    let mac = tap.mac().unwrap();
    let before = daemon.ledger();
    for payload in [1000, 6000, 8900] {
        let frame = [&mac[..], &[2, 0, 0, 0, 9, 9, 8, 0], &vec![0; payload]].concat();
        socket.send(&frame).unwrap();
    }
    eventually("the port counts what does not fit", || {
        daemon.ask(&CtlQuery::Ports)["ports"][0]["rx_errors"] == 2
    });
    let after = daemon.ledger();
    let header = |ledger: &Value| ledger["dropped"]["ipv4_header"].as_u64().unwrap_or(0);
    assert_eq!(header(&after) - header(&before), 1, "{after:#}");
}

fn control(daemon: &Daemon, name: &str) -> u64 {
    daemon.ask(&CtlQuery::Counters)["control"][name]
        .as_u64()
        .unwrap()
}
