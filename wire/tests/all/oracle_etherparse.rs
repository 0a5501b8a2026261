//! An independent reader and writer, etherparse, agrees with ours in both directions.

// Functions outside `#[test]` too fail the test by it.
#![allow(clippy::unwrap_used)]

use core::net::Ipv4Addr;
use etherparse::{
    ArpEthIpv4Packet, ArpOperation, Icmpv4Slice, Icmpv4Type, IpNumber, LinkExtHeader, LinkHeader,
    NetHeaders, PacketBuilder, PacketHeaders, SingleVlanHeader, SlicedPacket, TransportHeader,
    VlanHeader, VlanPcp, defrag::IpDefragPool, icmpv4,
};
use proptest::prelude::*;
use sluice_wire::arp::{Arp, Operation};
use sluice_wire::eth::{Eth, EthHeader, EtherType, MacAddr, Tag, VlanId};
use sluice_wire::icmp::{self, Echo, EchoKind, Icmp, Message, TimeExceeded, Unreachable};
use sluice_wire::ipv4::{self, Fragments, Ipv4, Ipv4Header, Protocol};
use sluice_wire::udp::{Udp, UdpHeader};

const HERE: [u8; 6] = [2, 0, 0, 0, 0, 1];
const THERE: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn eth(ethertype: EtherType) -> EthHeader {
    EthHeader {
        destination: MacAddr(THERE),
        source: MacAddr(HERE),
        ethertype,
    }
}

fn any_tag() -> impl Strategy<Value = Option<Tag>> {
    let vlan = prop::option::of(1..=VlanId::MAX).prop_map(|id| id.and_then(VlanId::new));
    let tag = (0u8..8, any::<bool>(), vlan).prop_map(|(priority, drop_eligible, vlan)| Tag {
        priority,
        drop_eligible,
        vlan,
    });
    prop::option::of(tag)
}

fn any_ipv4_header() -> impl Strategy<Value = Ipv4Header> {
    let first = (any::<u8>(), any::<u16>(), any::<bool>(), 1u8..);
    (first, any::<u32>(), any::<u32>()).prop_map(|((tos, id, df, ttl), s, d)| Ipv4Header {
        tos,
        identification: id,
        dont_fragment: df,
        ttl,
        ..Ipv4Header::new(
            Protocol::UDP,
            Ipv4Addr::from_bits(s),
            Ipv4Addr::from_bits(d),
        )
    })
}

fn any_payload() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..100)
}

/// Ethernet, perhaps tagged, around `body`.
fn frame(ethertype: EtherType, tag: Option<Tag>, body: &[u8]) -> Vec<u8> {
    let header = eth(ethertype);
    match tag {
        Some(tag) => [&header.to_tagged_bytes(tag)[..], body].concat(),
        None => [&header.to_bytes()[..], body].concat(),
    }
}

fn theirs(header: &Ipv4Header, payload_len: usize) -> etherparse::Ipv4Header {
    let (source, destination) = (header.source.octets(), header.destination.octets());
    let protocol = IpNumber(header.protocol.0);
    let len = payload_len as u16;
    let mut out =
        etherparse::Ipv4Header::new(len, header.ttl, protocol, source, destination).unwrap();
    out.dscp = (header.tos >> 2).try_into().unwrap();
    out.ecn = (header.tos & 3).try_into().unwrap();
    out.identification = header.identification;
    out.dont_fragment = header.dont_fragment;
    out.more_fragments = header.more_fragments;
    out.fragment_offset = header.fragment_offset.try_into().unwrap();
    out.header_checksum = out.calc_header_checksum();
    out
}

proptest! {
    #[test]
    fn udp_frames_that_we_build_are_read_by_etherparse(
        tag in any_tag(), ip in any_ipv4_header(), ports in any::<[u16; 2]>(), payload in any_payload(),
    ) {
        let ports = UdpHeader { source_port: ports[0], destination_port: ports[1] };
        let udp = ports.to_bytes(ip.source, ip.destination, &payload).unwrap();
        let udp = [&udp[..], &payload].concat();
        let ip_bytes = [&ip.to_bytes(udp.len()).unwrap()[..], &udp].concat();
        let bytes = frame(EtherType::IPV4, tag, &ip_bytes);

        let read = PacketHeaders::from_ethernet_slice(&bytes).unwrap();
        let Some(LinkHeader::Ethernet2(link)) = &read.link else { panic!("no Ethernet") };
        prop_assert_eq!((link.source, link.destination), (HERE, THERE));
        let vlan = read.link_exts.first().map(|ext| match ext {
            LinkExtHeader::Vlan(vlan) => (vlan.pcp.value(), vlan.drop_eligible_indicator, vlan.vlan_id.value()),
            other => panic!("{other:?}"),
        });
        let expected = tag.map(|t| (t.priority, t.drop_eligible, t.vlan.map_or(0, VlanId::get)));
        prop_assert_eq!(vlan, expected);
        let Some(NetHeaders::Ipv4(net, _)) = &read.net else { panic!("no IPv4") };
        prop_assert_eq!(net, &theirs(&ip, udp.len()));
        let Some(TransportHeader::Udp(transport)) = &read.transport else { panic!("no UDP") };
        prop_assert_eq!((transport.source_port, transport.destination_port), (ports.source_port, ports.destination_port));
        prop_assert_eq!(transport.checksum, transport.calc_checksum_ipv4(net, &payload).unwrap());
        prop_assert_eq!(read.payload.slice(), &payload);
    }

    #[test]
    fn udp_frames_that_etherparse_builds_are_read_by_us(
        vlan in prop::option::of((0u8..8, any::<bool>(), 1u16..=VlanId::MAX)),
        ip in any_ipv4_header(), ports in any::<[u16; 2]>(), payload in any_payload(),
    ) {
        let headers = etherparse::IpHeaders::Ipv4(theirs(&ip, 0), Default::default());
        let link = PacketBuilder::ethernet2(HERE, THERE);
        let builder = match vlan {
            None => link.ip(headers),
            Some((pcp, dei, id)) => link
                .vlan(VlanHeader::Single(SingleVlanHeader {
                    pcp: VlanPcp::try_new(pcp).unwrap(),
                    drop_eligible_indicator: dei,
                    vlan_id: id.try_into().unwrap(),
                    ether_type: 0.into(),
                }))
                .ip(headers),
        };
        let mut bytes = Vec::new();
        builder.udp(ports[0], ports[1]).write(&mut bytes, &payload).unwrap();

        let eth = Eth::parse(&bytes).unwrap();
        prop_assert_eq!((eth.source(), eth.destination()), (MacAddr(HERE), MacAddr(THERE)));
        prop_assert_eq!(eth.ethertype(), EtherType::IPV4);
        let tag = vlan.map(|(priority, drop_eligible, id)| Tag { priority, drop_eligible, vlan: VlanId::new(id) });
        prop_assert_eq!(eth.tag(), tag);
        let packet = Ipv4::parse(eth.payload()).unwrap();
        prop_assert_eq!(Ipv4Header::from(&packet), ip);
        let udp = Udp::parse(packet.payload()).unwrap();
        prop_assert_eq!((udp.source_port(), udp.destination_port()), (ports[0], ports[1]));
        prop_assert!(udp.checksum().is_some() && udp.verify(packet.source(), packet.destination()));
        prop_assert_eq!(udp.payload(), &payload);
    }

    #[test]
    fn arp_packets_agree_both_ways(macs in any::<[[u8; 6]; 2]>(), ips in any::<[[u8; 4]; 2]>(), is_reply in any::<bool>()) {
        let packet = ArpEthIpv4Packet {
            operation: if is_reply { ArpOperation::REPLY } else { ArpOperation::REQUEST },
            sender_mac: macs[0],
            sender_ipv4: ips[0],
            target_mac: macs[1],
            target_ipv4: ips[1],
        };
        let ours = Arp {
            operation: if is_reply { Operation::Reply } else { Operation::Request },
            sender_mac: MacAddr(macs[0]),
            sender_ip: ips[0].into(),
            target_mac: MacAddr(macs[1]),
            target_ip: ips[1].into(),
        };
        prop_assert_eq!(ours.to_bytes(), packet.to_bytes());
        prop_assert_eq!(Arp::parse(&packet.to_bytes()), Ok(ours));
        let bytes = frame(EtherType::ARP, None, &ours.to_bytes());
        let read = PacketHeaders::from_ethernet_slice(&bytes).unwrap();
        let Some(NetHeaders::Arp(arp)) = read.net else { panic!("no ARP") };
        prop_assert_eq!(arp.try_eth_ipv4().unwrap(), packet);
    }

    #[test]
    fn echo_messages_agree_both_ways(identifier in any::<u16>(), sequence in any::<u16>(), data in any_payload()) {
        let echo = Echo { identifier, sequence, data: &data };
        let header = etherparse::IcmpEchoHeader { id: identifier, seq: sequence };
        for (kind, ty, expected) in [
            (EchoKind::Request, Icmpv4Type::EchoRequest(header), Message::EchoRequest(echo)),
            (EchoKind::Reply, Icmpv4Type::EchoReply(header), Message::EchoReply(echo)),
        ] {
            let mut ours = [0; 108];
            let len = icmp::write_echo(&mut ours, kind, &echo).unwrap();
            let header = etherparse::Icmpv4Header::with_checksum(ty, &data);
            let bytes = [&header.to_bytes()[..], &data].concat();
            prop_assert_eq!(&ours[..len], &bytes[..]);
            prop_assert_eq!(Icmp::parse(&bytes).unwrap().message(), expected);
        }
    }

    #[test]
    fn icmp_errors_that_we_build_are_read_by_etherparse(original in any_payload(), mtu in 68u16..) {
        use icmpv4::{DestUnreachableHeader as D, TimeExceededCode as T};
        let unreachable = [
            (Unreachable::Network, D::Network),
            (Unreachable::Host, D::Host),
            (Unreachable::Protocol, D::Protocol),
            (Unreachable::Port, D::Port),
            (Unreachable::FragmentationNeeded { next_hop_mtu: mtu }, D::FragmentationNeeded { next_hop_mtu: mtu }),
            (Unreachable::AdministrativelyProhibited, D::FilterProhibited),
        ];
        let mut out = [0; 108];
        let check = |len: Option<usize>, out: &[u8], expected: Icmpv4Type| {
            let read = Icmpv4Slice::from_slice(&out[..len.unwrap()]).unwrap();
            prop_assert_eq!((read.icmp_type(), read.payload()), (expected.clone(), &original[..]));
            prop_assert_eq!(read.checksum(), expected.calc_checksum(&original));
            Ok(())
        };
        for (reason, expected) in unreachable {
            let len = icmp::write_destination_unreachable(&mut out, reason, &original);
            check(len, &out, Icmpv4Type::DestinationUnreachable(expected))?;
        }
        for (reason, expected) in [
            (TimeExceeded::InTransit, T::TtlExceededInTransit),
            (TimeExceeded::Reassembly, T::FragmentReassemblyTimeExceeded),
        ] {
            let len = icmp::write_time_exceeded(&mut out, reason, &original);
            check(len, &out, Icmpv4Type::TimeExceeded(expected))?;
        }
    }

    #[test]
    fn our_fragments_are_joined_by_etherparse(
        ip in any_ipv4_header(), len in 1usize..4000, mtu in 68u16..1500, backwards in any::<bool>(),
    ) {
        let ip = Ipv4Header { dont_fragment: false, ..ip };
        let payload: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let bytes = [&ip.to_bytes(len).unwrap()[..], &payload].concat();
        let packet = Ipv4::parse(&bytes).unwrap();
        let plan = Fragments::new(packet, mtu).unwrap();
        let mut pieces: Vec<Vec<u8>> = plan
            .clone()
            .map(|fragment| {
                let mut header = [0; ipv4::MAX_HEADER_LEN];
                let header_len = plan.write_header(&fragment, &mut header);
                [&header[..header_len], &payload[fragment.payload]].concat()
            })
            .collect();
        if pieces.len() == 1 {
            prop_assert_eq!(&pieces[0], &bytes);
            return Ok(());
        }
        if backwards {
            pieces.reverse();
        }
        let mut pool = IpDefragPool::<(), ()>::new();
        let mut joined = Vec::new();
        for piece in &pieces {
            prop_assert!(piece.len() <= usize::from(mtu));
            let sliced = SlicedPacket::from_ip(piece).unwrap();
            joined.extend(pool.process_sliced_packet(&sliced, (), ()).unwrap());
        }
        prop_assert_eq!(joined.len(), 1);
        prop_assert_eq!(&joined[0].payload, &payload);
    }
}
