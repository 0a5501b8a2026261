//! A new configuration while sessions live: what changes at once, and what must stay.

use super::control::*;
use sluice_control::directory::ReloadError;
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::tables::{NO_NEXT_HOP, Prefix};
use sluice_session::network::{Network, Side};
use sluice_wire::eth::MacAddr;
use std::net::Ipv4Addr;

const FAR_GNB: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 1);
const ROUTER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);
const OTHER_GATEWAY: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 253);

fn any() -> Prefix {
    Prefix::new(Ipv4Addr::UNSPECIFIED, 0).unwrap()
}

#[test]
fn routes_of_data_networks_and_of_peers_follow_a_new_configuration() {
    let mut control = control();
    let peer = control
        .directory
        .hold_peer(Side::Access, None, FAR_GNB.into(), Marking::default());
    let next_hop = |control: &sluice_control::signalling::Control| {
        let mut peers = control.directory.peers();
        peers
            .find(|(p, _)| p.address() == FAR_GNB)
            .unwrap()
            .0
            .next_hop()
    };
    assert_eq!(next_hop(&control), NO_NEXT_HOP);
    let mut new = config();
    new.interfaces[0].routes = vec![(any(), ROUTER)];
    new.interfaces[0].neighbours = vec![(ROUTER.into(), GNB_MAC)];
    new.interfaces[0].allowed_peers = vec![Prefix::new(FAR_GNB, 16).unwrap()];
    new.interfaces[1].routes = vec![(any(), OTHER_GATEWAY)];
    control.reload(new.clone()).unwrap();
    let tables = control.take_tables().expect("new tables");
    let station = |id| *control.directory.next_hop(id).unwrap();
    let to_peer = station(next_hop(&control));
    assert_eq!(
        (to_peer.address, to_peer.mac),
        (ROUTER.into(), Some(GNB_MAC.0))
    );
    let (_, to_network) = tables.egresses[0].routes[0];
    assert_eq!(station(to_network).address, OTHER_GATEWAY);
    assert_eq!(tables.interfaces[0].allowed_peers.len(), 1);
    assert!(control.take_tables().is_none(), "once");
    // A static neighbour that goes is asked for again.
    new.interfaces[0].neighbours.clear();
    control.reload(new).unwrap();
    let to_peer = *control.directory.next_hop(next_hop(&control)).unwrap();
    assert_eq!((to_peer.address, to_peer.mac), (ROUTER.into(), None));
    control.directory.release_peer(peer.unwrap());
}

#[test]
fn what_sessions_rest_on_does_not_change() {
    let mut control = control();
    let mut fewer = config();
    fewer.interfaces.pop();
    let mut other_mac = config();
    other_mac.interfaces[1].mac = MacAddr([2, 0, 0, 0, 9, 9]);
    let mut other_address = config();
    other_address.interfaces[0].addresses.push((GNB, 24));
    let interface = |name: &str| ReloadError::Interface(name.to_owned());
    let refused = [
        (fewer, ReloadError::Interfaces),
        (other_mac, interface("internet")),
        (other_address, interface("access")),
    ];
    for (config, why) in refused {
        assert_eq!(control.reload(config), Err(why));
        assert!(control.take_tables().is_none());
    }
}
