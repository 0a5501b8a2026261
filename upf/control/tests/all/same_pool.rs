//! Two network instances with the same UE addresses: ICMP errors of each go to its own.

use crate::control::*;
use crate::ipv6::dual;
use sluice_control::config::{ControlConfig, InterfaceConfig, Role};
use sluice_control::signalling::{Control, PrefixOwners};
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::{InstanceId, Pool};
use sluice_datapath::message::{IcmpCause, IcmpNotice, Sender};
use sluice_port::PortId;
use sluice_session::network::Side;
use sluice_wire::eth::MacAddr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const INTERNET: InstanceId = InstanceId(1);
const IMS: InstanceId = InstanceId(2);
const IMS_OUR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const IMS_ROUTER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 254);
const IMS_OUR_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x18, 0, 0, 0, 0, 1);
const IMS_ROUTER_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x18, 0, 0, 0, 0, 0xfe);
const UE_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x45, 7, 0, 0, 0, 9);
const SERVER_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x80, 0, 0, 0, 0, 9);

/// In these network instances a UE has the same two addresses.
struct Ues(&'static [InstanceId]);

impl PrefixOwners for Ues {
    fn entry_of_prefix(&self, _: InstanceId, _: u64) -> Option<EntryId> {
        None
    }

    fn leads_to_ue(&self, instance: InstanceId, address: IpAddr) -> bool {
        let is_ues = address == IpAddr::V4(UE) || address == IpAddr::V6(UE_IPV6);
        is_ues && self.0.contains(&instance)
    }
}

fn config() -> ControlConfig {
    let mut config = dual();
    let internet = &config.interfaces[1];
    let ims = InterfaceConfig {
        name: "ims".to_owned(),
        port: PortId(2),
        mac: MacAddr([2, 0, 0, 0, 0, 9]),
        addresses: vec![(IMS_OUR, 24)],
        addresses_ipv6: vec![(IMS_OUR_IPV6, 64)],
        roles: vec![Role::Plain {
            side: Side::Core,
            instances: vec!["ims".to_owned()],
            is_default: false,
            id: IMS,
        }],
        routes: vec![(internet.routes[0].0, IMS_ROUTER)],
        routes_ipv6: vec![(internet.routes_ipv6[0].0, IMS_ROUTER_IPV6)],
        ..internet.clone()
    };
    config.interfaces.push(ims);
    let pool = config.pools[0];
    config.pools.push(Pool {
        instance: IMS,
        ..pool
    });
    config
}

fn control() -> Control {
    let mut control = Control::new(config()).unwrap();
    control.take_tables().expect("the first tables");
    control
}

/// The packets of both families from one station to another.
fn packets(from: (Ipv4Addr, Ipv6Addr), to: (Ipv4Addr, Ipv6Addr)) -> [Vec<u8>; 2] {
    let udp = [0, 1, 0, 2, 0, 8, 0, 0];
    let ipv6 = crate::ipv6::packet_of((from.1, to.1), (17, 1, 6), &udp);
    [datagram(from.0, to.0, (1, 2), b"x"), ipv6]
}

fn told(sender: Sender, ues: &Ues, packet: &[u8]) -> Sent {
    let cause = IcmpCause::TtlExceeded;
    let mut sent = Sent::default();
    control().icmp(0, packet, IcmpNotice { cause, sender }, ues, &mut sent);
    sent
}

#[test]
fn of_two_instances_with_one_pool_each_hears_of_its_own_packets() {
    let up = packets((UE, UE_IPV6), (SERVER, SERVER_IPV6));
    for packet in &up {
        for (instance, port) in [(INTERNET, 1), (IMS, 2)] {
            let sent = told(Sender::Ue(instance), &Ues(&[INTERNET, IMS]), packet);
            let ports: Vec<_> = sent.to_path.iter().map(|(port, _)| port.0).collect();
            assert_eq!(ports, [port], "{instance:?}");
            assert!(sent.out.is_empty());
        }
    }
}

/// A station there may have an address that is a UE's in another instance, and its router is its own.
#[test]
fn a_station_of_one_data_network_hears_by_that_one() {
    let from_ue_address = packets((UE, UE_IPV6), (SERVER, SERVER_IPV6));
    let from_server = packets((SERVER, SERVER_IPV6), (UE, UE_IPV6));
    let stations = [&from_server[0], &from_server[1], &from_ue_address[1]];
    for packet in stations {
        let sent = told(Sender::DataNetwork(IMS), &Ues(&[INTERNET]), packet);
        assert!(sent.to_path.is_empty(), "no UE has sent it");
        let asked: Vec<_> = sent.out.iter().map(|(id, _)| usize::from(*id)).collect();
        assert_eq!(asked, [2], "the router there is asked for");
    }
}

/// A FAR may name another network instance than the one in which the UE has its address.
#[test]
fn a_ue_that_sends_to_a_network_where_it_has_no_address_hears_in_its_own() {
    let [_, up] = packets((UE, UE_IPV6), (SERVER, SERVER_IPV6));
    for sender in [Sender::Ue(IMS), Sender::Relayed] {
        let sent = told(sender, &Ues(&[INTERNET]), &up);
        assert_eq!(sent.to_path.len(), 1);
        assert_eq!(sent.to_path[0].0, PortId(1));
    }
}
