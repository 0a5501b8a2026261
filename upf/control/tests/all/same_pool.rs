//! Two network instances with the same UE addresses: ICMP errors of each go to its own.

use crate::control::*;
use crate::ipv6::{OUR, dual, icmpv6, message_in};
use sluice_control::config::{ControlConfig, InterfaceConfig, Role};
use sluice_control::signalling::{Control, PrefixOwners};
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::{InstanceId, Pool};
use sluice_datapath::message::{IcmpCause, IcmpNotice, Sender};
use sluice_datapath::meta::Arrival;
use sluice_datapath::tables::InterfaceId;
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
const UE_PREFIX: u64 = 0x2001_0db8_0045_0007;
const UE_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x45, 7, 0, 0, 0, 9);
const SERVER_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x80, 0, 0, 0, 0, 9);

/// The entry by which packets of a UE come whose session is known.
const KNOWN: EntryId = EntryId(4711);

/// In these network instances a UE has the same two addresses; that of the known session has them in the last one.
struct Ues(&'static [InstanceId]);

impl PrefixOwners for Ues {
    fn entry_of_prefix(&self, instance: InstanceId, prefix: u64) -> Option<EntryId> {
        let is_ues = prefix == UE_PREFIX && self.0.contains(&instance);
        is_ues.then_some(EntryId(100 + u32::from(instance.0)))
    }

    fn leads_to_ue(&self, instance: InstanceId, address: IpAddr) -> bool {
        let is_ues = match address {
            IpAddr::V4(address) => address == UE,
            IpAddr::V6(address) => (address.to_bits() >> 64) as u64 == UE_PREFIX,
        };
        is_ues && self.0.contains(&instance)
    }

    fn has_ue_in(&self, entry: EntryId, instance: InstanceId) -> bool {
        entry == KNOWN && self.0.last() == Some(&instance)
    }
}

/// A UE of which nothing is known but where its rule sends.
fn unknown(towards: Option<InstanceId>) -> Sender {
    let entry = EntryId(1);
    Sender::Tunnelled { entry, towards }
}

/// The UE whose session is known.
fn known(towards: Option<InstanceId>) -> Sender {
    let entry = KNOWN;
    Sender::Tunnelled { entry, towards }
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
            let sent = told(unknown(Some(instance)), &Ues(&[INTERNET, IMS]), packet);
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
    for sender in [unknown(Some(IMS)), unknown(None)] {
        let sent = told(sender, &Ues(&[INTERNET]), &up);
        assert_eq!(sent.to_path.len(), 1);
        assert_eq!(sent.to_path[0].0, PortId(1));
    }
}

/// Of two UEs with the same address the one that has sent hears, wherever its rule sends.
#[test]
fn a_ue_hears_in_its_own_network_instance_though_another_ue_has_its_address_where_it_sends() {
    let up = packets((UE, UE_IPV6), (SERVER, SERVER_IPV6));
    for packet in &up {
        for sender in [known(Some(INTERNET)), known(None)] {
            let sent = told(sender, &Ues(&[INTERNET, IMS]), packet);
            let ports: Vec<_> = sent.to_path.iter().map(|(port, _)| port.0).collect();
            assert_eq!(ports, [2], "{sender:?}");
        }
    }
}

/// The answer of our address in one data network to a UE of another goes to that UE, not to its like here.
#[test]
fn a_ue_of_another_network_instance_that_asks_our_address_is_answered() {
    let ping = icmpv6(UE_IPV6, OUR, 63, b"\x80\0\0\0\0\x07\0\x09sluice");
    let datagram = datagram(UE, N6, (1, 2), b"x");
    for packet in [ping, datagram] {
        let ues = Ues(&[INTERNET, IMS]);
        let mut sent = Sent::default();
        control().from_ue(0, (InterfaceId(1), KNOWN), &packet, &ues, &mut sent);
        assert!(sent.out.is_empty() && sent.to_path.is_empty());
        let [(answer, meta)] = &sent.to_ues[..] else {
            panic!("one answer");
        };
        let is_ipv6 = answer[0] >> 4 == 6;
        let (by_address, to) = match is_ipv6 {
            true => (meta.prefix() == UE_PREFIX, Arrival::PlainIpv6),
            false => (meta.key == u32::from(UE), Arrival::Plain),
        };
        assert!(by_address);
        assert_eq!((meta.local, meta.arrival), (IMS.0, to));
        assert_eq!(usize::from(meta.inner_len), answer.len());
        // One whose home is here gets the answer as from any station.
        let mut sent = Sent::default();
        let here = Ues(&[IMS, INTERNET]);
        control().from_ue(0, (InterfaceId(1), KNOWN), &packet, &here, &mut sent);
        assert_eq!((sent.to_path.len(), sent.to_ues.len()), (1, 0));
    }
}

#[test]
fn each_of_two_ues_with_the_same_prefix_is_told_it_by_its_own_router_and_again() {
    let mut config = config();
    config.router_advertisement.lifetime_s = 9_000;
    let mut control = Control::new(config).unwrap();
    control.take_tables().expect("the first tables");
    let ues = Ues(&[INTERNET, IMS]);
    let link_local = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x77);
    let all_routers = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
    let solicitation = icmpv6(link_local, all_routers, 255, &[133, 0, 0, 0, 0, 0, 0, 0]);
    let router = |mac: u16| Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, mac);
    let askers = [
        (unknown(Some(INTERNET)), INTERNET, router(6)),
        (unknown(Some(IMS)), IMS, router(9)),
        (known(Some(INTERNET)), IMS, router(9)),
        (known(None), IMS, router(9)),
    ];
    for (sender, instance, from) in askers {
        let mut sent = Sent::default();
        let asked = (UE_PREFIX, sender);
        control.router_solicitation(0, asked, &solicitation, &ues, &mut sent);
        let [(packet, meta)] = &sent.to_ues[..] else {
            panic!("{sender:?}: one answer");
        };
        assert_eq!((meta.local, meta.prefix()), (instance.0, UE_PREFIX));
        assert_eq!(meta.entry, EntryId(100 + u32::from(instance.0)));
        assert_eq!(message_in(packet).0, from, "{sender:?}");
    }
    // Each link is told again; when a session ends, the other link goes on.
    let mut told_again = |until_s: u64, ues: &Ues| {
        let mut links = std::collections::BTreeSet::new();
        for at_s in (until_s - 9000..until_s).step_by(10) {
            let mut sent = Sent::default();
            control.tick(at_s * 1_000_000_000, ues, &mut sent);
            links.extend(sent.to_ues.iter().map(|(_, meta)| meta.local));
        }
        Vec::from_iter(links)
    };
    assert_eq!(told_again(9_000, &ues), [INTERNET.0, IMS.0]);
    assert_eq!(told_again(18_000, &Ues(&[IMS])), [IMS.0]);
}
