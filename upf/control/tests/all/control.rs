//! The control core answers what is addressed to Sluice itself, and nothing else.
#![allow(clippy::unwrap_used)]

use sluice_control::config::{ControlConfig, InterfaceConfig, Role};
use sluice_control::frame::Frames;
use sluice_control::signalling::{Control, Event, PrefixOwners};
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::{InstanceId, Pool};
use sluice_datapath::lookup::lpm::Lpm;
use sluice_datapath::message::{IcmpCause, IcmpNotice, Resolve, Sender, UnknownTeid};
use sluice_datapath::meta::Meta;
use sluice_datapath::tables::{InterfaceId, Prefix, Route};
use sluice_port::PortId;
use sluice_session::network::{Network, Side};
use sluice_wire::arp::Arp;
use sluice_wire::eth::{Eth, EthHeader, EtherType, MacAddr, VlanId};
use sluice_wire::gtpu::{self, ErrorIndication, Message};
use sluice_wire::icmp::{self, Icmp, Unreachable};
use sluice_wire::ids::Teid;
use sluice_wire::ipv4::{Ipv4, Ipv4Header, Protocol};
use sluice_wire::udp::{Udp, UdpHeader};
use std::net::{IpAddr, Ipv4Addr};

pub const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const N6: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
pub const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 50);
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 254);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 80);
pub const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 7);
pub const N3_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);
pub const N6_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 6]);
pub const GNB_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 3]);
pub const GATEWAY_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 6]);

#[derive(Default)]
pub struct Sent {
    pub out: Vec<(InterfaceId, Vec<u8>)>,
    pub to_path: Vec<(PortId, Vec<u8>)>,
    pub to_ues: Vec<(Vec<u8>, Meta)>,
}

impl Frames for Sent {
    fn transmit(&mut self, interface: InterfaceId, frame: &[u8]) {
        self.out.push((interface, frame.to_vec()));
    }
    fn receive(&mut self, port: PortId, frame: &[u8]) {
        self.to_path.push((port, frame.to_vec()));
    }
    fn to_ue(&mut self, packet: &[u8], meta: Meta) {
        self.to_ues.push((packet.to_vec(), meta));
    }
}

impl Sent {
    /// The only frame that was sent.
    pub fn only(&self) -> (InterfaceId, Eth<'_>) {
        assert_eq!(self.out.len(), 1, "frames sent");
        let (id, bytes) = &self.out[0];
        (*id, Eth::parse(bytes).unwrap())
    }
}

pub fn config() -> ControlConfig {
    let internet = InstanceId(1);
    let interface = |name: &str, port, mac, address: Ipv4Addr, roles| InterfaceConfig {
        addresses: vec![(address, 24)],
        roles,
        ..InterfaceConfig::new(name, PortId(port), mac)
    };
    let n3 = Role::Tunnels {
        side: Side::Access,
        instance: "access".to_owned(),
        addresses: N3.into(),
    };
    let n6 = Role::Plain {
        side: Side::Core,
        instances: vec!["internet".to_owned()],
        is_default: false,
        id: internet,
    };
    ControlConfig {
        interfaces: vec![
            InterfaceConfig {
                vlan: VlanId::new(30),
                ..interface("access", 0, N3_MAC, N3, vec![n3])
            },
            InterfaceConfig {
                routes: vec![(Prefix::new(Ipv4Addr::UNSPECIFIED, 0).unwrap(), GATEWAY)],
                proxy_arp: vec![Prefix::new(UE, 16).unwrap()],
                ..interface("internet", 1, N6_MAC, N6, vec![n6])
            },
        ],
        pools: vec![Pool {
            instance: internet,
            base: [10, 45, 0, 0].into(),
            prefix_len: 16,
        }],
        ..ControlConfig::default()
    }
}

pub fn control() -> Control {
    let mut control = Control::new(config()).unwrap();
    control.take_tables().expect("the first tables");
    control
}

/// About a packet of a UE to the data network.
pub fn of_ue(cause: IcmpCause) -> IcmpNotice {
    let sender = Sender::Tunnelled {
        entry: EntryId(0),
        towards: Some(InstanceId(1)),
    };
    IcmpNotice { cause, sender }
}

/// About a packet from the data network.
pub fn of_station(cause: IcmpCause) -> IcmpNotice {
    let sender = Sender::DataNetwork(InstanceId(1));
    IcmpNotice { cause, sender }
}

pub fn frame(to: MacAddr, from: MacAddr, ethertype: EtherType, payload: &[u8]) -> Vec<u8> {
    let header = EthHeader {
        destination: to,
        source: from,
        ethertype,
    };
    [&header.to_bytes()[..], payload].concat()
}

pub fn packet(src: Ipv4Addr, dst: Ipv4Addr, protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    let header = Ipv4Header::new(protocol, src, dst);
    [&header.to_bytes(payload.len()).unwrap()[..], payload].concat()
}

pub fn datagram(src: Ipv4Addr, dst: Ipv4Addr, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let udp = UdpHeader {
        source_port: ports.0,
        destination_port: ports.1,
    };
    let header = udp.to_bytes(src, dst, payload).unwrap();
    packet(src, dst, Protocol::UDP, &[&header[..], payload].concat())
}

pub fn gnb_says(control: &mut Control, port: u16, payload: &[u8]) -> (Sent, Option<Event>) {
    let mut sent = Sent::default();
    let bytes = frame(
        N3_MAC,
        GNB_MAC,
        EtherType::IPV4,
        &datagram(GNB, N3, (40_000, port), payload),
    );
    let event = control.frame(0, InterfaceId(0), &bytes, &Nobody, &mut sent);
    (sent, event)
}

/// The GTP-U message in a frame to the gNB.
pub fn gtpu_of<'a>(eth: &Eth<'a>) -> (u16, Message<'a>) {
    let ip = Ipv4::parse(eth.payload()).unwrap();
    assert_eq!((ip.source(), ip.destination()), (N3, GNB));
    let udp = Udp::parse(ip.payload()).unwrap();
    assert!(udp.verify(ip.source(), ip.destination()));
    (
        udp.destination_port(),
        Message::parse(udp.payload()).unwrap(),
    )
}

/// No session has an IPv6 prefix.
pub struct Nobody;

impl PrefixOwners for Nobody {
    fn entry_of_prefix(&self, _: InstanceId, _: u64) -> Option<EntryId> {
        None
    }

    fn leads_to_ue(&self, _: InstanceId, _: IpAddr) -> bool {
        false
    }

    fn has_ue_in(&self, _: EntryId, _: InstanceId) -> bool {
        false
    }
}

/// A UE's address, or that of a host behind one, and nobody else's.
pub struct BehindUe(pub Ipv4Addr);

impl PrefixOwners for BehindUe {
    fn entry_of_prefix(&self, _: InstanceId, _: u64) -> Option<EntryId> {
        None
    }

    fn leads_to_ue(&self, instance: InstanceId, address: IpAddr) -> bool {
        instance == InstanceId(1) && address == self.0
    }

    fn has_ue_in(&self, _: EntryId, _: InstanceId) -> bool {
        false
    }
}

/// Sends a packet of a UE to the N6 address, and returns the answer on its way back through the path.
fn ue_says(control: &mut Control, packet: &[u8]) -> Option<Vec<u8>> {
    let mut sent = Sent::default();
    control.from_ue(0, (InterfaceId(1), EntryId(0)), packet, &Nobody, &mut sent);
    assert!(sent.out.is_empty(), "a UE is not on the link");
    let (port, frame) = sent.to_path.pop()?;
    assert_eq!((port, sent.to_path.len()), (PortId(1), 0));
    Some(frame)
}

#[test]
fn a_ue_that_pings_our_n6_address_is_answered_through_the_path() {
    let mut control = control();
    let mut echo = [0; 64];
    let body = icmp::Echo {
        identifier: 7,
        sequence: 9,
        data: b"sluice",
    };
    let len = icmp::write_echo(&mut echo, icmp::EchoKind::Request, &body).unwrap();
    let ping = packet(UE, N6, Protocol::ICMP, &echo[..len]);
    let frame = ue_says(&mut control, &ping).expect("an answer");
    let eth = Eth::parse(&frame).unwrap();
    assert_eq!(eth.destination(), N6_MAC, "as if the data network sent it");
    let ip = Ipv4::parse(eth.payload()).unwrap();
    assert_eq!((ip.source(), ip.destination()), (N6, UE));
    let reply = Icmp::parse(ip.payload()).unwrap().message();
    assert!(matches!(reply, icmp::Message::EchoReply(e) if e == body));
    assert_eq!(control.counters().icmp_echo_replies, 1);
}

#[test]
fn tunnels_are_not_a_ues_business() {
    let mut control = control();
    let echo = datagram(UE, N6, (2152, gtpu::PORT), &gtpu::echo_request(1));
    let frame = ue_says(&mut control, &echo).expect("an answer");
    let eth = Eth::parse(&frame).unwrap();
    let ip = Ipv4::parse(eth.payload()).unwrap();
    assert_eq!(ip.protocol(), Protocol::ICMP);
    assert_eq!(control.counters().gtpu_echo_responses, 0);
    assert_eq!(control.counters().icmp_errors, 1);
    let fragment = {
        let header = Ipv4Header {
            more_fragments: true,
            ..Ipv4Header::new(Protocol::UDP, UE, N6)
        };
        [&header.to_bytes(8).unwrap()[..], &[0; 8]].concat()
    };
    assert!(ue_says(&mut control, &fragment).is_none());
    assert!(ue_says(&mut control, b"no packet").is_none());
    assert_eq!(control.counters().ignored, 2);
}

#[test]
fn our_own_address_is_nobodys_who_claims_it() {
    let mut control = control();
    let thief = Arp::request(GATEWAY_MAC, N6, N6);
    let bytes = frame(
        MacAddr::BROADCAST,
        GATEWAY_MAC,
        EtherType::ARP,
        &thief.to_bytes(),
    );
    control.frame(0, InterfaceId(1), &bytes, &Nobody, &mut Sent::default());
    // Any change brings new tables.
    let questions = Resolve::OnLink(InterfaceId(1), Ipv4Addr::new(198, 51, 100, 7).into());
    control.resolve(0, questions, &mut Sent::default());
    let tables = control.take_tables().expect("new tables");
    assert_eq!(
        Lpm::of(&tables.egresses[0]).route(N6.into()),
        Route::Own(InterfaceId(1))
    );
}

#[test]
fn an_f_teid_of_the_cp_ends_at_an_address_of_its_side_and_instance() {
    let control = control();
    let at = |side, name, address| {
        let found = control.directory.tunnel_endpoint_at(side, name, address);
        found.is_some()
    };
    assert!(at(Side::Access, Some("ACCESS"), N3.into()) && at(Side::Access, None, N3.into()));
    assert!(
        !at(Side::Core, None, N3.into()),
        "N3 is not towards the core"
    );
    assert!(
        !at(Side::Access, Some("internet"), N3.into()),
        "another instance"
    );
    assert!(!at(Side::Access, None, N6.into()), "no tunnels end at N6");
}

#[test]
fn ping_to_our_address_is_answered() {
    let mut control = control();
    let mut echo = [0; 64];
    let body = icmp::Echo {
        identifier: 7,
        sequence: 9,
        data: b"sluice",
    };
    let len = icmp::write_echo(&mut echo, icmp::EchoKind::Request, &body).unwrap();
    let ping = packet(GATEWAY, N6, Protocol::ICMP, &echo[..len]);
    let mut sent = Sent::default();
    control.frame(
        0,
        InterfaceId(1),
        &frame(N6_MAC, GATEWAY_MAC, EtherType::IPV4, &ping),
        &Nobody,
        &mut sent,
    );
    let (_, eth) = sent.only();
    let ip = Ipv4::parse(eth.payload()).unwrap();
    assert_eq!((ip.source(), ip.destination()), (N6, GATEWAY));
    let reply = Icmp::parse(ip.payload()).unwrap().message();
    assert!(
        matches!(reply, icmp::Message::EchoReply(e) if e == body),
        "{reply:?}"
    );
}

#[test]
fn a_gtpu_echo_is_answered_to_the_port_it_came_from_with_its_number() {
    let mut control = control();
    let (sent, _) = gnb_says(&mut control, gtpu::PORT, &gtpu::echo_request(513));
    let (_, eth) = sent.only();
    assert_eq!(
        gtpu_of(&eth),
        (40_000, Message::EchoResponse { sequence: 513 })
    );
}

/// How many frames a storm of one of these packets is answered with.
fn answers_to_storm(control: &mut Control, pdu: &[u8], packets: u32) -> u32 {
    let answered = |_| gnb_says(control, gtpu::PORT, pdu).0.out.len() as u32;
    (0..packets).map(answered).sum()
}

#[test]
fn echo_storms_are_answered_at_a_rate_and_what_was_not_is_counted() {
    let mut control = control();
    let answered = answers_to_storm(&mut control, &gtpu::echo_request(7), 1_000);
    assert!((1..=20).contains(&answered), "{answered}");
    let counters = control.counters();
    assert_eq!(counters.gtpu_echo_responses, u64::from(answered));
    assert_eq!(counters.gtpu_echo_limited, 1_000 - u64::from(answered));
    assert_eq!(counters.extension_notifications_limited, 0);
}

#[test]
fn unknown_extension_headers_are_told_of_at_a_rate() {
    let mut control = control();
    let pdu = [0x34, 255, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0xc9, 1, 0, 0, 0];
    let answered = answers_to_storm(&mut control, &pdu, 1_000);
    assert!((1..=4).contains(&answered), "{answered}");
    let counters = control.counters();
    assert_eq!(counters.extension_notifications, u64::from(answered));
    let held_back = 1_000 - u64::from(answered);
    assert_eq!(counters.extension_notifications_limited, held_back);
    // Echo is another matter.
    assert_eq!(answers_to_storm(&mut control, &gtpu::echo_request(7), 1), 1);
}

#[test]
fn an_extension_header_that_must_be_understood_is_answered_with_those_that_are() {
    let mut control = control();
    // A G-PDU with an extension header of a reserved type whose top two bits demand comprehension.
    let pdu = [0x34, 255, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0xc9, 1, 0, 0, 0];
    let (sent, _) = gnb_says(&mut control, gtpu::PORT, &pdu);
    let (_, eth) = sent.only();
    let (port, message) = gtpu_of(&eth);
    assert_eq!(port, gtpu::PORT);
    assert!(
        matches!(message, Message::SupportedExtensionHeadersNotification { supported } if supported.contains(&0x85))
    );
}

#[test]
fn an_error_indication_counts_only_from_the_peer_that_it_names() {
    let mut control = control();
    for (named, expected) in [
        (
            GNB,
            Some(Event::ErrorIndication {
                peer: GNB.into(),
                teid: Teid::new(77).unwrap(),
            }),
        ),
        (Ipv4Addr::new(192, 0, 2, 51), None),
    ] {
        let indication = ErrorIndication {
            teid: 77,
            peer: IpAddr::V4(named),
            udp_source_port: None,
        };
        let mut message = [0; 64];
        let len = gtpu::write_error_indication(&mut message, 1, &indication).unwrap();
        let (sent, event) = gnb_says(&mut control, gtpu::PORT, &message[..len]);
        assert_eq!(event, expected);
        assert!(sent.out.is_empty());
    }
}

#[test]
fn an_unknown_teid_is_indicated_at_a_bounded_rate_once_the_peer_is_known() {
    let mut control = control();
    let notice = UnknownTeid {
        interface: InterfaceId(0),
        peer: GNB.into(),
        local: N3.into(),
        teid: 4711,
    };
    let mut sent = Sent::default();
    control.unknown_teid(0, notice, &mut sent);
    let (_, eth) = sent.only();
    assert_eq!(
        Arp::parse(eth.payload()).unwrap().target_ip,
        GNB,
        "first the peer is asked for"
    );
    let answer = Arp::request(N3_MAC, N3, GNB).reply_from(GNB_MAC);
    let bytes = frame(N3_MAC, GNB_MAC, EtherType::ARP, &answer.to_bytes());
    control.frame(0, InterfaceId(0), &bytes, &Nobody, &mut Sent::default());
    let mut sent = Sent::default();
    for _ in 0..100 {
        control.unknown_teid(1, notice, &mut sent);
    }
    assert!(
        (5..=10).contains(&sent.out.len()),
        "{} indications",
        sent.out.len()
    );
    let eth = Eth::parse(&sent.out[0].1).unwrap();
    let (port, message) = gtpu_of(&eth);
    assert_eq!(port, gtpu::PORT);
    let Message::ErrorIndication(told) = message else {
        panic!("{message:?}");
    };
    assert_eq!((told.teid, told.peer), (4711, IpAddr::V4(N3)));
}

#[test]
fn what_we_do_not_serve_is_unreachable() {
    let mut control = control();
    let (sent, _) = gnb_says(&mut control, 9, b"discard");
    let (_, eth) = sent.only();
    let ip = Ipv4::parse(eth.payload()).unwrap();
    let told = Icmp::parse(ip.payload()).unwrap();
    assert!(
        matches!(
            told.message(),
            icmp::Message::DestinationUnreachable { code: 3, .. }
        ),
        "{:?}",
        told.message()
    );
}

#[test]
fn icmp_errors_reach_a_ue_through_its_session_and_a_server_over_the_gateway() {
    let mut control = control();
    let host = Ipv4Addr::new(192, 168, 77, 1);
    for sender in [UE, host] {
        let up = datagram(sender, SERVER, (1, 2), b"x");
        let mut sent = Sent::default();
        control.icmp(
            0,
            &up,
            of_ue(IcmpCause::TtlExceeded),
            &BehindUe(host),
            &mut sent,
        );
        let (port, bytes) = &sent.to_path[0];
        assert_eq!(*port, PortId(1));
        let eth = Eth::parse(bytes).unwrap();
        assert_eq!(eth.destination(), N6_MAC, "as if it had come in from N6");
        let ip = Ipv4::parse(eth.payload()).unwrap();
        assert_eq!((ip.source(), ip.destination()), (N6, sender));
    }

    let down = datagram(SERVER, UE, (1, 2), &[0; 1470]);
    let mut sent = Sent::default();
    control.icmp(
        0,
        &down,
        of_station(IcmpCause::TooBig(1456)),
        &Nobody,
        &mut sent,
    );
    let (_, eth) = sent.only();
    assert_eq!(Arp::parse(eth.payload()).unwrap().target_ip, GATEWAY);
    let answer = Arp::request(N6_MAC, N6, GATEWAY).reply_from(GATEWAY_MAC);
    let bytes = frame(N6_MAC, GATEWAY_MAC, EtherType::ARP, &answer.to_bytes());
    control.frame(0, InterfaceId(1), &bytes, &Nobody, &mut Sent::default());
    let mut sent = Sent::default();
    control.icmp(
        0,
        &down,
        of_station(IcmpCause::TooBig(1456)),
        &Nobody,
        &mut sent,
    );
    let (_, eth) = sent.only();
    assert_eq!(eth.destination(), GATEWAY_MAC);
    let ip = Ipv4::parse(eth.payload()).unwrap();
    let told = Icmp::parse(ip.payload()).unwrap();
    assert!(matches!(
        told.message(),
        icmp::Message::DestinationUnreachable {
            code: 4,
            next_hop_mtu: 1456,
            ..
        }
    ));
}

#[test]
fn no_error_is_sent_about_an_error() {
    let mut control = control();
    let mut message = [0; 600];
    let about = datagram(SERVER, UE, (1, 2), b"x");
    let len = icmp::write_destination_unreachable(&mut message, Unreachable::Port, &about).unwrap();
    let error = packet(UE, SERVER, Protocol::ICMP, &message[..len]);
    let mut sent = Sent::default();
    control.icmp(0, &error, of_ue(IcmpCause::TtlExceeded), &Nobody, &mut sent);
    assert!(sent.out.is_empty() && sent.to_path.is_empty());
}

#[test]
fn damaged_pings_and_datagrams_are_answered_with_silence() {
    let mut control = control();
    let mut echo = [0; 64];
    let body = icmp::Echo {
        identifier: 7,
        sequence: 9,
        data: b"sluice",
    };
    let len = icmp::write_echo(&mut echo, icmp::EchoKind::Request, &body).unwrap();
    echo[len - 1] ^= 1;
    let ping = packet(GATEWAY, N6, Protocol::ICMP, &echo[..len]);
    let mut echo = datagram(GATEWAY, N3, (2152, gtpu::PORT), &gtpu::echo_request(7));
    *echo.last_mut().unwrap() ^= 1;
    let mut sent = Sent::default();
    for (id, to, bytes) in [(1, N6_MAC, ping), (0, N3_MAC, echo)] {
        let bytes = frame(to, GATEWAY_MAC, EtherType::IPV4, &bytes);
        assert_eq!(
            control.frame(0, InterfaceId(id), &bytes, &Nobody, &mut sent),
            None
        );
    }
    assert!(sent.out.is_empty());
    assert_eq!(control.counters().ignored, 2);
}

#[test]
fn nonsense_is_counted_and_answered_with_silence() {
    let mut control = control();
    let mut sent = Sent::default();
    for len in 0..60 {
        control.frame(0, InterfaceId(0), &vec![0x45; len], &Nobody, &mut sent);
        control.frame(0, InterfaceId(9), &vec![0; len], &Nobody, &mut sent);
    }
    let (garbled, event) = gnb_says(&mut control, gtpu::PORT, &[0x30, 26, 0, 200]);
    assert!(sent.out.is_empty() && garbled.out.is_empty() && event.is_none());
    assert_eq!(control.counters().ignored, 121);
}
