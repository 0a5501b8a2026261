//! Peers, data networks and stations on the link, as sessions and the path know them.

use crate::control::*;
use sluice_control::config::{ControlConfig, Role};
use sluice_control::signalling::Control;
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::ids::InterfaceId;
use sluice_datapath::lookup::lpm::Lpm;
use sluice_datapath::message::Resolve;
use sluice_datapath::tables::Route;
use sluice_session::network::{Network, PeerError, Side};
use sluice_wire::arp::Arp;
use sluice_wire::eth::EtherType;
use std::net::Ipv4Addr;

#[test]
fn peers_are_counted_and_come_free_and_their_next_hop_is_the_gateway_where_they_are_far() {
    let mut control = control();
    let net = &mut control.directory;
    let first = net
        .hold_peer(Side::Access, Some("ACCESS"), GNB.into(), Marking::default())
        .unwrap();
    assert_eq!(
        net.hold_peer(Side::Access, None, GNB.into(), Marking::default()),
        Ok(first)
    );
    assert_eq!(net.peer_address(first), Some(GNB.into()));
    let far = Ipv4Addr::new(100, 64, 0, 1);
    // No route leads there: its packets will be dropped, the rule is not.
    let lost = net
        .hold_peer(Side::Access, None, far.into(), Marking::default())
        .unwrap();
    assert_eq!(net.peer_address(lost), Some(far.into()));
    net.release_peer(lost);
    assert_eq!(net.peer_address(lost), None);
    assert_eq!(
        net.hold_peer(Side::Core, None, far.into(), Marking::default()),
        Err(PeerError::NoInterface)
    );
    net.release_peer(first);
    assert_eq!(net.peer_address(first), Some(GNB.into()));
    net.release_peer(first);
    assert_eq!(net.peer_address(first), None);
    assert!(control.take_tables().is_none(), "peers change in slots");
}

#[test]
fn a_data_network_has_several_names_and_may_be_meant_by_all_others() {
    let mut config = config();
    let Role::Plain { instances, .. } = &mut config.interfaces[1].roles[0] else {
        panic!("N6 comes first");
    };
    instances.push("ims".to_owned());
    let found = |config: &ControlConfig, name| {
        let control = Control::new(config.clone()).unwrap();
        let directory = &control.directory;
        let instance = directory.ue_instance(Side::Core, name);
        assert_eq!(
            directory.egress(Side::Core, name).is_some(),
            instance.is_some()
        );
        instance
    };
    let internet = found(&config, Some("internet"));
    assert!(internet.is_some());
    assert_eq!(found(&config, Some("IMS")), internet);
    assert_eq!(found(&config, None), internet);
    assert_eq!(found(&config, Some("elsewhere")), None);
    let Role::Plain { is_default, .. } = &mut config.interfaces[1].roles[0] else {
        panic!("N6 comes first");
    };
    *is_default = true;
    assert_eq!(found(&config, Some("elsewhere")), internet);
    assert_eq!(found(&config, None), internet);
}

#[test]
fn a_station_on_the_link_becomes_a_route_when_it_answers() {
    let mut control = control();
    let host = Ipv4Addr::new(198, 51, 100, 9);
    let mut sent = Sent::default();
    control.resolve(0, Resolve::OnLink(InterfaceId(1), host.into()), &mut sent);
    assert_eq!(Arp::parse(sent.only().1.payload()).unwrap().sender_ip, N6);
    let answer = Arp::request(N6_MAC, N6, host).reply_from(GATEWAY_MAC);
    let bytes = frame(N6_MAC, GATEWAY_MAC, EtherType::ARP, &answer.to_bytes());
    control.frame(0, InterfaceId(1), &bytes, &Nobody, &mut Sent::default());
    let tables = control.take_tables().unwrap();
    let egress = control.directory.egress(Side::Core, None).unwrap();
    let lpm = Lpm::of(&tables.egresses[usize::from(egress)]);
    let Route::Via(hop) = lpm.route(host.into()) else {
        panic!("no route");
    };
    assert_eq!(tables.next_hops.get(hop).unwrap().mac, Some(GATEWAY_MAC.0));
}

/// A worker's rule names a slot that is there; thousands of gNBs come and go without new tables.
#[test]
fn gnbs_come_and_go_in_the_tables_that_are_published() {
    let mut control = Control::new(config()).unwrap();
    let tables = control.take_tables().unwrap();
    let far = |i: u32| Ipv4Addr::from(u32::from(Ipv4Addr::new(192, 0, 2, 0)) + 20 + i);
    let net = &mut control.directory;
    let ids: Vec<_> = (0..200)
        .map(|i| {
            net.hold_peer(Side::Access, None, far(i).into(), Marking::default())
                .unwrap()
        })
        .collect();
    for (i, id) in (0..).zip(&ids) {
        let peer = tables.peers.get(*id).unwrap();
        assert_eq!((peer.address, peer.local), (far(i), N3));
        assert_eq!(tables.next_hops.get(peer.next_hop).unwrap().mac, None);
    }
    for id in &ids {
        net.release_peer(*id);
        assert_eq!(tables.peers.get(*id), None);
    }
    assert!(control.take_tables().is_none());
}
