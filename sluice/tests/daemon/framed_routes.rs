//! A network behind a UE, reached by the kernel at both ends.

use std::net::Ipv4Addr;

use sluice_host::netns::Ns;

use super::kit::*;

/// In the framed route of the UE, and beside it.
const BEHIND: Ipv4Addr = Ipv4Addr::new(192, 168, 77, 1);
const BESIDE: Ipv4Addr = Ipv4Addr::new(192, 168, 78, 1);

/// Answers to three pings from one address to another.
fn pings(ns: &Ns, from: Ipv4Addr, to: Ipv4Addr, wait_s: u32) -> usize {
    let mut command = ns.command("ping");
    command.args(["-i0.2", "-c3", &format!("-W{wait_s}")]);
    command.args(["-I", &from.to_string(), &to.to_string()]);
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout)
        .matches("bytes from")
        .count()
}

#[test]
fn a_network_behind_a_ue_is_reached_both_ways_and_its_neighbour_is_not() {
    let Some(lab) = Lab::new("framed") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let mut plan = Ue::plan(gnb.handle().n3(), 0);
    plan.framed_routes = vec!["192.168.77.0/24 0.0.0.0 1".to_owned()];
    let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 0, 1400, plan);
    let behind = format!(
        "addr add {BEHIND}/32 dev ue0\naddr add {BESIDE}/32 dev ue0\nroute add {SERVER} dev ue0\n"
    );
    lab.ue.ip_batch(&behind).unwrap();
    let to_ue = format!("route add 192.168.76.0/22 via {N6_UPF} dev n6\n");
    lab.dn.ip_batch(&to_ue).unwrap();
    assert_eq!(ue.ping(&lab, 1, 84), 1);
    assert_eq!(pings(&lab.ue, BEHIND, SERVER, 10), 3);
    assert_eq!(pings(&lab.dn, SERVER, BEHIND, 10), 3);
    assert_eq!(daemon.dropped("ue_source"), 0);
    assert_eq!(pings(&lab.ue, BESIDE, SERVER, 1), 0);
    assert_eq!(daemon.dropped("ue_source"), 3);
    assert_eq!(pings(&lab.dn, SERVER, BESIDE, 1), 0);
    assert_eq!(daemon.dropped("unknown_ue"), 3);
    // With the session its networks go.
    smf.delete(ue.cp_seid()).unwrap();
    assert_eq!(pings(&lab.dn, SERVER, BEHIND, 1), 0);
    assert_eq!(daemon.ledger()["balances"], true);
}
