//! Surroundings and default session of the tests by hand.

use sluice_twin::{InterfaceName, Link, Side, TunnelEnd, Twin, TwinConfig};
use sluice_wire::ids::{FarId, PdrId, Precedence, QerId, Qfi, Teid, UrrId};
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::SessionEstablishmentRequest;
use sluice_wire::pfcp::value::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 50);
pub const N6: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 80);
pub const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 7);
/// The UE's address in its prefix 2001:db8:45:7::/64.
pub const UE6: &str = "2001:db8:45:7::1";
pub const PREFIX: &str = "2001:db8:45:7::";
/// Ours, a server, and a router with a link-local address, on N6.
pub const N6_6: &str = "2001:db8:6::1";
pub const SERVER6: &str = "2001:db8:6::80";
pub const ROUTER6: &str = "fe80::fe";
/// Behind the router.
pub const ELSEWHERE6: &str = "2001:db8:ffff::9";
pub const NOON: NtpTime = NtpTime(4_000_000_000);

pub fn default_session() -> Twin {
    let mut twin = Twin::new(world());
    twin.establish(1, &request(), &[], NOON)
        .expect("a sound session");
    twin
}

/// Uplink by TEID 0x11, downlink to TEID 0xd01 with QFI 9; one QER, one URR.
pub fn request() -> SessionEstablishmentRequest<'static> {
    let mut request = SessionEstablishmentRequest::default();
    let mut uplink = pdr(1, SourceInterface::ACCESS);
    uplink.pdi.local_f_teid = Some(FTeid::v4(Teid::new(0x11).expect("not 0"), UPF));
    uplink.outer_header_removal = Some(OuterHeaderRemoval::GTPU_UDP_IP);
    let downlink = pdr(2, SourceInterface::CORE);
    request.create_pdr.extend([uplink, downlink]);
    let tunnel = OuterHeaderCreation::gtpu_v4(Teid::new(0xd01).expect("not 0"), GNB);
    request.create_far.extend([
        far(1, DestinationInterface::CORE, None),
        far(2, DestinationInterface::ACCESS, Some(tunnel)),
    ]);
    request.create_qer.push(CreateQer {
        qer_id: QerId(1),
        qos_flow_identifier: Qfi::new(9),
        ..CreateQer::default()
    });
    request.create_urr.push(CreateUrr {
        urr_id: UrrId(1),
        measurement_method: MeasurementMethod::VOLUM,
        ..CreateUrr::default()
    });
    request
}

pub fn pdr(id: u16, source_interface: SourceInterface) -> CreatePdr<'static> {
    let mut pdr = CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(255),
        far_id: Some(FarId(id.into())),
        ..CreatePdr::default()
    };
    pdr.pdi.source_interface = source_interface;
    pdr.pdi.ue_ip_address.push(UeIpAddress::v4(UE, id == 2));
    pdr.qer_id.push(QerId(1));
    pdr.urr_id.push(UrrId(1));
    pdr
}

pub fn far(
    id: u32,
    destination_interface: DestinationInterface,
    outer_header_creation: Option<OuterHeaderCreation>,
) -> CreateFar<'static> {
    CreateFar {
        far_id: FarId(id),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface,
            outer_header_creation,
            ..ForwardingParameters::default()
        }),
        ..CreateFar::default()
    }
}

pub fn world() -> TwinConfig {
    let link = |port: u16, mac: u8, address, station, station_mac: u8| Link {
        port,
        vlan: None,
        mac: [2, 0, 0, 0, 0, mac],
        mtu_bytes: 1500,
        addresses: vec![(address, 24)],
        addresses6: vec![],
        tunnels: vec![],
        plain: None,
        routes: vec![],
        routes6: vec![],
        stations: vec![(IpAddr::V4(station), [2, 0, 0, 0, 1, station_mac])],
        allowed_peers: vec![],
        verifies_udp: true,
        clamp_bytes: None,
    };
    let place = |side, instance: &str| InterfaceName {
        side,
        instance: instance.to_owned(),
    };
    let n3 = Link {
        tunnels: vec![TunnelEnd {
            second: None,
            place: place(Side::Access, "access"),
            address: UPF.into(),
        }],
        ..link(0, 3, UPF, GNB, 3)
    };
    let n6 = Link {
        plain: Some(place(Side::Core, "internet")),
        addresses6: vec![(address(N6_6), 64)],
        routes6: vec![((Ipv6Addr::UNSPECIFIED, 0), address(ROUTER6))],
        stations: vec![
            (SERVER.into(), [2, 0, 0, 0, 1, 6]),
            (address(SERVER6).into(), [2, 0, 0, 0, 1, 6]),
            (address(ROUTER6).into(), [2, 0, 0, 0, 1, 0xfe]),
        ],
        ..link(1, 6, N6, SERVER, 6)
    };
    TwinConfig {
        predefined: vec![],
        applications: vec![],
        application_names: vec![],
        flow_texts: vec![],
        links: vec![n3, n6],
        zero_rate_closes: false,
        pools: vec![],
        ue_prefixes: vec![],
        dscp: vec![],
        hold_packets: 8,
        hold_ns: 10_000_000_000,
        shaping: None,
        nats: vec![],
    }
}

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
    let bytes = digits.chunks(2).map(byte).collect::<Result<_, _>>();
    bytes.expect("hex digits")
}

/// The default session with both an IPv4 address and an IPv6 prefix.
pub fn dual_request() -> SessionEstablishmentRequest<'static> {
    let mut request = request();
    for pdr in &mut request.create_pdr {
        let ue = &mut pdr.pdi.ue_ip_address[0];
        ue.ipv6 = Some(address(PREFIX));
    }
    request
}

/// A twin with one session.
pub fn with(request: &SessionEstablishmentRequest<'_>) -> Twin {
    let mut twin = Twin::new(world());
    let granted = twin.establish(1, request, &[], NOON);
    granted.expect("a sound session");
    twin
}

pub fn address(text: &str) -> Ipv6Addr {
    text.parse().expect("an IPv6 address")
}

/// An IPv6 packet with a hop limit of 64.
pub fn ipv6(source: &str, destination: &str, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next_header, 64]);
    packet.extend(address(source).octets());
    packet.extend(address(destination).octets());
    packet.extend(payload);
    packet
}

/// A UDP header and some data.
pub fn udp(source_port: u16, destination_port: u16) -> Vec<u8> {
    let mut datagram = source_port.to_be_bytes().to_vec();
    datagram.extend(destination_port.to_be_bytes());
    datagram.extend([0, 13, 0, 0]);
    datagram.extend(b"hello");
    datagram
}

/// A G-PDU from the gNB to TEID 0x11, without extension headers.
pub fn from_gnb(inner: &[u8]) -> Vec<u8> {
    in_tunnel(0x11, inner)
}

/// The same with a PDU Session Container of the uplink (TS 38.415, 5.5.2.2), as gNBs send it.
pub fn in_tunnel_of_flow(teid: u32, qfi: u8, inner: &[u8]) -> Vec<u8> {
    let mut behind = vec![0, 0, 0, 0x85, 1, 0x10, qfi, 0];
    behind.extend(inner);
    let mut frame = in_tunnel(teid, &behind);
    frame[14 + 20 + 8] = 0x34;
    frame
}

/// The same to another TEID.
pub fn in_tunnel(teid: u32, inner: &[u8]) -> Vec<u8> {
    let mut frame = hex("020000000003 020000000103 0800 4500");
    frame.extend((36 + inner.len() as u16).to_be_bytes());
    frame.extend(hex("00000000 4011 0000 c0000232 c0000201"));
    let words = frame[14..34].chunks(2);
    let sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(hex("c350 0868"));
    frame.extend((16 + inner.len() as u16).to_be_bytes());
    frame.extend(hex("0000 30ff"));
    frame.extend((inner.len() as u16).to_be_bytes());
    frame.extend(teid.to_be_bytes());
    frame.extend(inner);
    frame
}

/// A frame of the server on N6, by the version of its packet.
pub fn on_n6(packet: &[u8]) -> Vec<u8> {
    let ether_type = match packet[0] >> 4 {
        4 => [0x08, 0x00],
        _ => [0x86, 0xdd],
    };
    let macs = hex("020000000006 020000000106");
    [&macs[..], &ether_type, packet].concat()
}
