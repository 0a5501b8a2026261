//! `traceroute` through the UPF and a router beyond it: the ICMP error of each hop reaches the program that asked,
//! through translation, over IPv6, from networks behind a UE, and towards UEs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sluice_host::env_check::{self, Need};
use sluice_host::netns::{Netns, Ns};
use sluice_host::veth::{Veth, VethEnd};
use sluice_smf_emulator::UeAddresses;

use super::kit::*;

/// The link beyond the router: its own address there, and the server's.
const ROUTER: Ipv4Addr = Ipv4Addr::new(198, 18, 77, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(198, 18, 77, 2);
/// The same of IPv6.
const ROUTER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xf, 0, 0, 0, 0, 1);
const FAR_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xf, 0, 0, 0, 0, 2);
/// In networks behind the UE.
const BEHIND: Ipv4Addr = Ipv4Addr::new(192, 168, 77, 1);
const BEHIND_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x77, 0, 0, 0, 0, 1);

/// What lies beyond the data network; the link comes first, so that it goes first.
struct Beyond {
    _link: Veth,
    server: Netns,
}

/// A laboratory whose data network is a router with a server behind it, both of either family.
fn routed(label: &str) -> Option<(Lab, Beyond)> {
    let lab = Lab::new(label)?;
    if let Some(lack) = env_check::missing(&[Need::Tool("traceroute")]).first() {
        println!("skipped: {lack}");
        return None;
    }
    lab.add_ipv6();
    let server = Netns::create(&format!("{label}-far")).unwrap();
    let near = VethEnd::bare(&lab.dn, "far").with_address(ROUTER, 24);
    let far = VethEnd::bare(&server, "far").with_address(FAR, 24);
    let link = Veth::create(&near, &far, 1500).unwrap();
    link.a().add_ipv6_address(ROUTER_V6, 64).unwrap();
    link.b().add_ipv6_address(FAR_V6, 64).unwrap();
    let routes = format!("route add default via {ROUTER}\n-6 route add default via {ROUTER_V6}\n");
    server.ip_batch(&routes).unwrap();
    // A router, and nobody holds back errors because there were some a moment ago.
    let forwards = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"];
    let unlimited = ["net.ipv4.icmp_ratelimit=0", "net.ipv6.icmp.ratelimit=0"];
    for (ns, more) in [(&lab.dn, &forwards[..]), (&server, &[]), (&lab.ue, &[])] {
        let mut command = ns.command("sysctl");
        let output = command.args(["-q", "-w"]).args(unlimited).args(more);
        let output = output.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let beyond = Beyond {
        _link: link,
        server,
    };
    Some((lab, beyond))
}

/// Who answers one probe for each hop.
fn traceroute(ns: &Ns, from: IpAddr, to: IpAddr, more: &[&str]) -> Vec<String> {
    let mut command = ns.command("traceroute");
    // One after the other, so that none waits less because others were quick.
    command.args([family(to), "-n", "-q1", "-N1", "-w20"]);
    command.args(more).arg("-s").arg(from.to_string());
    let output = command.arg(to.to_string()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let lines = text.lines().skip(1);
    let who = lines.filter_map(|line| line.split_whitespace().nth(1));
    who.map(str::to_owned).collect()
}

/// The same by ICMP echoes to three hops. Each has a process of its own: where an error wakes `traceroute` before the
/// kernel has marked its socket, it takes the mark for another error, and does not see the last hop's reply.
fn traceroute_by_icmp(ns: &Ns, from: IpAddr, to: IpAddr) -> Vec<String> {
    let hops = ["1", "2", "3"].into_iter();
    hops.flat_map(|hop| traceroute(ns, from, to, &["-I", "-f", hop, "-m", hop]))
        .collect()
}

fn family(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "-4",
        IpAddr::V6(_) => "-6",
    }
}

/// UDP to closed ports, and ICMP echoes, meet these on their way.
fn are_met(daemon: &Daemon, ns: &Ns, (from, to): (IpAddr, IpAddr), all: [IpAddr; 3]) {
    let expected = all.map(|hop| hop.to_string());
    let before = daemon.dropped("ttl_exceeded");
    let by_udp = traceroute(ns, from, to, &["-m6"]);
    let by_icmp = traceroute_by_icmp(ns, from, to);
    let ledger = daemon.ledger();
    assert_eq!(by_udp, expected, "UDP, {from} to {to}: {ledger:#}");
    assert_eq!(by_icmp, expected, "ICMP, {from} to {to}: {ledger:#}");
    assert_eq!(daemon.dropped("ttl_exceeded"), before + 2);
}

#[test]
fn a_ue_s_traceroute_through_translation_meets_every_hop() {
    let Some((lab, _beyond)) = routed("hops") else {
        return;
    };
    // Nobody out there has a way to the UE's own address.
    lab.dn.ip_batch("route del 10.60.0.0/24\n").unwrap();
    let mut config = Config::new();
    config.more =
        "nat: {network_instance: core, addresses: 198.18.6.64/31, block_ports: 64}\n".to_owned();
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    let ends = (ue.address.into(), FAR.into());
    are_met(
        &daemon,
        &lab.ue,
        ends,
        [N6_UPF, SERVER, FAR].map(IpAddr::from),
    );
}

#[test]
fn traceroutes_of_ues_of_networks_behind_them_and_towards_them_meet_every_hop() {
    let Some((lab, beyond)) = routed("hopsall") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::with_ipv6());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let mut plan = Ue::plan(gnb.handle().n3(), 0);
    plan.ue = UeAddresses::V4V6(ue_address(0), ue_ipv6(0));
    plan.framed_routes = vec![
        "192.168.77.0/24 0.0.0.0 1".to_owned(),
        "2001:db8:77::/48 :: 1".to_owned(),
    ];
    let _ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 0, 1400, plan);
    let behind = format!(
        "addr add {BEHIND}/32 dev ue0\nrule add from {BEHIND} lookup 10\n\
         addr add {BEHIND_V6}/128 dev ue0 nodad\n-6 rule add from {BEHIND_V6} lookup 10\n"
    );
    lab.ue.ip_batch(&behind).unwrap();
    // The router sends nothing back to where it came from, such as an error of the UPF's that is the UE's.
    let to_behind = format!(
        "route add 192.168.77.0/24 via {N6_UPF} dev n6\n\
         rule add iif n6 to 192.168.77.0/24 blackhole\n\
         -6 rule add iif n6 to 2001:db8:77::/48 blackhole\n"
    );
    lab.dn.ip_batch(&to_behind).unwrap();
    for ue in [ue_address(0), BEHIND].map(IpAddr::from) {
        let upward = [N6_UPF.into(), SERVER.into(), FAR.into()];
        are_met(&daemon, &lab.ue, (ue, FAR.into()), upward);
        let downward = [ROUTER.into(), N6_UPF.into(), ue];
        are_met(&daemon, &beyond.server, (FAR.into(), ue), downward);
    }
    for ue in [ue_ipv6(0), BEHIND_V6].map(IpAddr::from) {
        let upward = [N6_UPF_V6.into(), SERVER_V6.into(), FAR_V6.into()];
        are_met(&daemon, &lab.ue, (ue, FAR_V6.into()), upward);
        let downward = [ROUTER_V6.into(), N6_UPF_V6.into(), ue];
        are_met(&daemon, &beyond.server, (FAR_V6.into(), ue), downward);
    }
}
