//! Networks behind a UE, reached by the kernel at both ends: framed routes of both families, and the part of a prefix
//! that the UE delegates.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sluice_host::netns::Ns;
use sluice_smf_emulator::UeAddresses;

use super::kit::*;

/// In the framed route of the UE, and beside it.
const BEHIND: Ipv4Addr = Ipv4Addr::new(192, 168, 77, 1);
const BESIDE: Ipv4Addr = Ipv4Addr::new(192, 168, 78, 1);
/// The same of IPv6.
const BEHIND_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x77, 0, 0, 0, 0, 1);
const BESIDE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x78, 0, 0, 0, 0, 1);

/// Answers to three pings from one address to another of its family.
fn pings(ns: &Ns, from: IpAddr, to: IpAddr, wait_s: u32) -> usize {
    let mut command = ns.command("ping");
    let family = if to.is_ipv6() { "-6" } else { "-4" };
    // All at once: behind its last packet `ping` waits for twice the longest time so far, or for the interval.
    command.args([family, "-i5", "-l3", "-c3", &format!("-W{wait_s}")]);
    command.args(["-I", &from.to_string(), &to.to_string()]);
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout)
        .matches("bytes from")
        .count()
}

/// The UE's kernel has these addresses, too, and sends from them by its device.
fn behind_the_ue(lab: &Lab, addresses: [IpAddr; 2]) {
    let mut lines = String::new();
    for address in addresses {
        lines += &match address {
            IpAddr::V4(_) => format!("addr add {address}/32 dev ue0\n"),
            IpAddr::V6(_) => format!("addr add {address}/128 dev ue0 nodad\n"),
        };
    }
    lines += &match addresses[0] {
        IpAddr::V4(_) => format!("route add {SERVER} dev ue0\n"),
        IpAddr::V6(_) => format!("-6 route add {SERVER_V6} dev ue0\n"),
    };
    lab.ue.ip_batch(&lines).unwrap();
}

/// What lies behind the UE is reached from either end, what lies beside that from neither.
fn reached(lab: &Lab, daemon: &Daemon, [behind, beside]: [IpAddr; 2]) {
    behind_the_ue(lab, [behind, beside]);
    let server = match behind {
        IpAddr::V4(_) => IpAddr::from(SERVER),
        IpAddr::V6(_) => IpAddr::from(SERVER_V6),
    };
    // The kernels know each other's neighbours then: three pings at once are lost together.
    eventually("what lies behind the UE is reached", || {
        pings(&lab.ue, behind, server, 1) > 0
    });
    let drops = || ["ue_source", "unknown_ue"].map(|reason| daemon.dropped(reason));
    let before = drops();
    assert_eq!(pings(&lab.ue, behind, server, 10), 3);
    assert_eq!(pings(&lab.dn, server, behind, 10), 3);
    assert_eq!(drops(), before);
    assert_eq!(pings(&lab.ue, beside, server, 1), 0);
    assert_eq!(drops(), [before[0] + 3, before[1]]);
    assert_eq!(pings(&lab.dn, server, beside, 1), 0);
    assert_eq!(drops(), [before[0] + 3, before[1] + 3]);
}

#[test]
fn a_network_behind_a_ue_is_reached_both_ways_and_its_neighbour_is_not() {
    let Some(lab) = Lab::new("framed") else {
        return;
    };
    lab.add_ipv6();
    let daemon = Daemon::start(&lab, &Config::with_ipv6());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let mut plan = Ue::plan(gnb.handle().n3(), 0);
    plan.ue = UeAddresses::V4V6(ue_address(0), ue_ipv6(0));
    plan.framed_routes = vec![
        "192.168.77.0/24 0.0.0.0 1".to_owned(),
        "2001:db8:77::/48 :: 1".to_owned(),
    ];
    let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 0, 1400, plan);
    let to_ue = format!("route add 192.168.76.0/22 via {N6_UPF} dev n6\n");
    lab.dn.ip_batch(&to_ue).unwrap();
    assert_eq!(ue.ping(&lab, 1, 84), 1);
    assert_eq!(pings(&lab.ue, ue_ipv6(0).into(), SERVER_V6.into(), 10), 3);
    reached(&lab, &daemon, [BEHIND.into(), BESIDE.into()]);
    reached(&lab, &daemon, [BEHIND_V6.into(), BESIDE_V6.into()]);
    // With the session its networks go.
    smf.delete(ue.cp_seid()).unwrap();
    assert_eq!(pings(&lab.dn, SERVER.into(), BEHIND.into(), 1), 0);
    assert_eq!(pings(&lab.dn, SERVER_V6.into(), BEHIND_V6.into(), 1), 0);
    assert_eq!(daemon.ledger()["balances"], true);
}

#[test]
fn a_prefix_that_a_ue_delegates_is_reached_both_ways_and_the_next_ue_s_is_not() {
    let Some(lab) = Lab::new("delegated") else {
        return;
    };
    lab.add_ipv6();
    let daemon = Daemon::start(&lab, &Config::with_ipv6());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let mut plan = Ue::plan(gnb.handle().n3(), 0);
    // Of 2001:db8:60:100::/56 the first /64 is that of the UE's own link.
    plan.ue = UeAddresses::V6(ue_ipv6(0));
    plan.ipv6_prefix_bits = 56;
    let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 0, 1400, plan);
    assert_eq!(pings(&lab.ue, ue_ipv6(0).into(), SERVER_V6.into(), 10), 3);
    let last: Ipv6Addr = "2001:db8:60:1ff::1".parse().unwrap();
    let next: Ipv6Addr = "2001:db8:60:200::1".parse().unwrap();
    reached(&lab, &daemon, [last.into(), next.into()]);
    smf.delete(ue.cp_seid()).unwrap();
    assert_eq!(pings(&lab.dn, SERVER_V6.into(), last.into(), 1), 0);
    assert_eq!(daemon.ledger()["balances"], true);
}
