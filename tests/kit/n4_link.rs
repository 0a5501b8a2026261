//! The link that SMFs are on where N4 comes by a port: frames each way, cut where they do not fit.

use std::net::{Ipv4Addr, SocketAddr};

use sluice_port_sim::SimPort;
use sluice_wire::arp::{Arp, Operation};
use sluice_wire::eth::{Eth, EthHeader, EtherType, MacAddr};
use sluice_wire::ipv4::{Fragments, Ipv4, Ipv4Header, MAX_HEADER_LEN, Protocol};
use sluice_wire::pfcp::PORT;
use sluice_wire::udp::{Udp, UdpHeader};

use super::{N4, N4_MAC};

/// Largest IP packet on the link: so small that most requests take several packets.
pub const MTU: u16 = 256;

/// The link, with the SMFs' stations on it.
pub struct N4Link {
    port: SimPort,
    identification: u16,
    /// Fragments that left the UPF and belong together, in order.
    parts: Vec<u8>,
    /// Questions for SMFs that the UPF has put.
    pub asked: usize,
}

impl N4Link {
    pub fn new(port: SimPort) -> Self {
        Self {
            port,
            identification: 0,
            parts: Vec::new(),
            asked: 0,
        }
    }

    /// A datagram of an SMF, in as many packets as it takes; the last comes first.
    pub fn send(&mut self, from: SocketAddr, message: &[u8]) {
        let SocketAddr::V4(from) = from else {
            panic!("{from}")
        };
        let ports = UdpHeader {
            source_port: from.port(),
            destination_port: PORT,
        };
        let udp = ports.to_bytes(*from.ip(), N4, message).unwrap();
        self.identification += 1;
        let header = Ipv4Header {
            identification: self.identification,
            ..Ipv4Header::new(Protocol::UDP, *from.ip(), N4)
        };
        let header = header.to_bytes(udp.len() + message.len()).unwrap();
        let whole = [&header[..], &udp, message].concat();
        let ip = Ipv4::parse(&whole).unwrap();
        let plan = Fragments::new(ip, MTU).unwrap();
        let mut pieces: Vec<_> = plan.clone().collect();
        pieces.reverse();
        for piece in pieces {
            let mut header = [0; MAX_HEADER_LEN];
            let len = plan.write_header(&piece, &mut header);
            let packet = [&header[..len], &ip.payload()[piece.payload]].concat();
            self.inject(*from.ip(), MacAddr(N4_MAC), EtherType::IPV4, &packet);
        }
    }

    /// A frame of a station on the link.
    pub fn inject(&mut self, from: Ipv4Addr, to: MacAddr, kind: EtherType, payload: &[u8]) {
        let header = EthHeader {
            destination: to,
            source: mac(from),
            ethertype: kind,
        };
        let frame = [&header.to_bytes()[..], payload].concat();
        self.port.inject(&frame);
    }

    /// What left for SMFs: to whom, and the message. Stations answer ARP meanwhile.
    pub fn take(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        let frames = self.port.take_output();
        let frames = frames.iter();
        frames.filter_map(|(_, frame)| self.read(frame)).collect()
    }

    fn read(&mut self, frame: &[u8]) -> Option<(SocketAddr, Vec<u8>)> {
        let eth = Eth::parse(frame).unwrap();
        assert_eq!(eth.source(), MacAddr(N4_MAC));
        if eth.ethertype() == EtherType::ARP {
            self.answer(&Arp::parse(eth.payload()).unwrap());
            return None;
        }
        let ip = Ipv4::parse(eth.payload()).expect("a valid packet");
        assert!(ip.total_len() <= MTU);
        assert_eq!((ip.source(), ip.protocol()), (N4, Protocol::UDP));
        assert_eq!(eth.destination(), mac(ip.destination()));
        assert_eq!(usize::from(ip.fragment_offset()) * 8, self.parts.len());
        self.parts.extend_from_slice(ip.payload());
        if ip.more_fragments() {
            return None;
        }
        let whole = std::mem::take(&mut self.parts);
        let udp = Udp::parse(&whole).unwrap();
        assert!(udp.checksum().is_some() && udp.verify(N4, ip.destination()));
        assert_eq!(udp.source_port(), PORT);
        let to = SocketAddr::from((ip.destination(), udp.destination_port()));
        Some((to, udp.payload().to_vec()))
    }

    fn answer(&mut self, arp: &Arp) {
        if arp.operation != Operation::Request {
            return;
        }
        assert_eq!((arp.sender_ip, arp.sender_mac), (N4, MacAddr(N4_MAC)));
        self.asked += 1;
        let reply = arp.reply_from(mac(arp.target_ip));
        self.inject(
            arp.target_ip,
            arp.sender_mac,
            EtherType::ARP,
            &reply.to_bytes(),
        );
    }
}

fn mac(station: Ipv4Addr) -> MacAddr {
    MacAddr([2, 0, 0, 0, 4, station.octets()[3]])
}
