//! ARP: answers for our own addresses, for those of UEs, and for translated ones.

use crate::control::*;
use sluice_control::signalling::{Control, PrefixOwners};
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::nat::pool::{Filtering, NatPool, NatPools, NatTimeouts};
use sluice_datapath::tables::{InterfaceId, Prefix};
use sluice_wire::arp::{Arp, Operation};
use sluice_wire::eth::{EtherType, MacAddr, VlanId};
use std::net::Ipv4Addr;

/// Answers to the question of the gateway for an address.
fn answers(control: &mut Control, target: Ipv4Addr, owners: &impl PrefixOwners) -> usize {
    let mut sent = Sent::default();
    let ask = Arp::request(GATEWAY_MAC, GATEWAY, target);
    let bytes = frame(
        MacAddr::BROADCAST,
        GATEWAY_MAC,
        EtherType::ARP,
        &ask.to_bytes(),
    );
    control.frame(0, InterfaceId(1), &bytes, owners, &mut sent);
    sent.out.len()
}

#[test]
fn arp_for_our_address_is_answered_on_the_vlan_and_the_asker_is_learned() {
    let mut control = control();
    let mut sent = Sent::default();
    let ask = Arp::request(GNB_MAC, GNB, N3);
    let bytes = frame(MacAddr::BROADCAST, GNB_MAC, EtherType::ARP, &ask.to_bytes());
    control.frame(0, InterfaceId(0), &bytes, &Nobody, &mut sent);
    let (id, eth) = sent.only();
    assert_eq!((id, eth.destination()), (InterfaceId(0), GNB_MAC));
    assert_eq!(eth.vlan(), VlanId::new(30));
    let reply = Arp::parse(eth.payload()).unwrap();
    assert_eq!(reply.operation, Operation::Reply);
    assert_eq!((reply.sender_mac, reply.sender_ip), (N3_MAC, N3));
    let known = control
        .directory
        .neighbours()
        .find(|(hop, _)| hop.address == GNB);
    assert_eq!(known.unwrap().0.mac, Some(GNB_MAC.0));
}

#[test]
fn a_proxy_answers_arp_for_ues_with_a_session_and_for_nobody_else() {
    let mut control = control();
    assert_eq!(answers(&mut control, UE, &BehindUe(UE)), 1);
    // Of the proxy's prefix, and no UE has it; a UE's, and not of that prefix; a host's own.
    let nobody = Ipv4Addr::new(10, 45, 0, 8);
    let behind = Ipv4Addr::new(192, 168, 77, 1);
    let host = Ipv4Addr::new(198, 51, 100, 77);
    for (target, owner) in [(nobody, UE), (behind, behind), (host, UE)] {
        let answered = answers(&mut control, target, &BehindUe(owner));
        assert_eq!(answered, 0, "{target}");
    }
}

#[test]
fn a_public_address_on_the_link_is_answered_for_without_a_session() {
    let public = Ipv4Addr::new(198, 51, 100, 128);
    let mut config = config();
    config.nat = NatPools::new(vec![NatPool {
        inside: InstanceId(1),
        outside: InstanceId(255),
        prefixes: vec![Prefix::new(public, 30).unwrap()],
        first_port: 1024,
        block_ports: 512,
        blocks_per_ue: 1,
        filtering: Filtering::EndpointIndependent,
        hairpins: true,
        timeouts: NatTimeouts::default(),
    }])
    .unwrap();
    let mut control = Control::new(config).unwrap();
    control.take_tables().expect("the first tables");
    assert_eq!(answers(&mut control, public, &Nobody), 1);
    let beside = Ipv4Addr::new(198, 51, 100, 132);
    assert_eq!(answers(&mut control, beside, &Nobody), 0);
}
