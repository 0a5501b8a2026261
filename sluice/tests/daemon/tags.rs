//! VLANs live: N3 and N6 as two VLANs of one port, on a port that keeps tags and on one whose
//! kernel takes them off. The stations behind the VLANs are this test.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use sluice_host::link::Link;
use sluice_host::packet::PacketSocket;
use sluice_smf_emulator::Tunnel;
use sluice_wire::arp::{Arp, Operation};
use sluice_wire::eth::{Eth, EthHeader, EtherType, MacAddr, Tag, VlanId};
use sluice_wire::gtpu::{self, GPdu, ShortContainer, g_pdu_header_with_container};
use sluice_wire::ids::Qfi;
use sluice_wire::ipv4::{Ipv4, Ipv4Header, Protocol};
use sluice_wire::udp::{Udp, UdpHeader};

use super::kit::*;

const RAN: u16 = 30;
const DN: u16 = 60;
const GNB_MAC: MacAddr = MacAddr([2, 0, 0, 0, 3, 11]);
const SERVER_MAC: MacAddr = MacAddr([2, 0, 0, 0, 6, 2]);
/// For what is known to be on its way.
const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn tagged_traffic_passes_a_tap_port() {
    let Some(lab) = Lab::new("tagtap") else {
        return;
    };
    let daemon = Daemon::start(&lab, &trunk("net_tap0,iface=trunk"));
    let tap = Link::new(&lab.upf, "trunk").unwrap();
    tap.disable_ipv6().unwrap();
    Trunk::new(&lab, &daemon, &tap).check();
}

#[test]
fn tagged_traffic_passes_a_packet_socket() {
    let Some(lab) = Lab::new("tagveth") else {
        return;
    };
    let daemon = Daemon::start(&lab, &trunk("net_af_packet0,iface=n3"));
    Trunk::new(&lab, &daemon, lab.n3.a()).check();
}

/// Both interfaces on one device.
fn trunk(device: &str) -> Config {
    let mut config = Config::new();
    config.ports = vec![format!("name: trunk, device: '{device}'")];
    config.interfaces = vec![
        format!("name: ran, port: trunk, vlan: {RAN}, addresses: {N3_UPF}/24, n3: {{}}"),
        format!(
            "name: dn, port: trunk, vlan: {DN}, addresses: {N6_UPF}/24, gateway: {SERVER}, \
             n6: {{network_instance: core}}"
        ),
    ];
    config
}

/// The far end of the port, with all stations.
struct Trunk<'a> {
    lab: &'a Lab,
    daemon: &'a Daemon,
    socket: PacketSocket,
    upf: MacAddr,
}

impl<'a> Trunk<'a> {
    fn new(lab: &'a Lab, daemon: &'a Daemon, link: &Link) -> Self {
        let ports = daemon.ask(&sluice::cli::args::CtlQuery::Ports);
        let mac = ports["ports"][0]["mac"].as_str().unwrap();
        let mac: Vec<_> = mac
            .split(':')
            .map(|b| u8::from_str_radix(b, 16).unwrap())
            .collect();
        Self {
            lab,
            daemon,
            socket: PacketSocket::open(link).unwrap(),
            upf: MacAddr(mac.try_into().unwrap()),
        }
    }

    fn check(&self) {
        let smf = self.lab.smf();
        let session = smf.establish(Ue::plan(N3_GNB, 0)).unwrap();
        let uplink = self.uplink(session.uplink);
        // Uplink: the next hop is asked for on its VLAN, and then the packet leaves there.
        self.socket.send(&tagged(&uplink, tag(RAN, 5))).unwrap();
        self.answer_arp(DN, SERVER, SERVER_MAC);
        let sent = self.next(DN, EtherType::IPV4);
        assert_eq!((sent.to, sent.from), (SERVER_MAC, self.upf));
        let ip = Ipv4::parse(&sent.payload).unwrap();
        assert_eq!((ip.source(), ip.destination()), (ue_address(0), SERVER));
        assert_eq!(ip.ttl(), 63);
        // Downlink likewise, into the tunnel.
        let down = packet(SERVER, ue_address(0), 7000, &[7; 100]);
        let down = frame(self.upf, SERVER_MAC, EtherType::IPV4, &down);
        self.socket.send(&tagged(&down, tag(DN, 0))).unwrap();
        self.answer_arp(RAN, N3_GNB, GNB_MAC);
        let sent = self.next(RAN, EtherType::IPV4);
        assert_eq!((sent.to, sent.from), (GNB_MAC, self.upf));
        let ip = Ipv4::parse(&sent.payload).unwrap();
        assert_eq!((ip.source(), ip.destination()), (N3_UPF, N3_GNB));
        let udp = Udp::parse(ip.payload()).unwrap();
        let pdu = GPdu::parse(udp.payload()).unwrap();
        assert_eq!(pdu.payload(udp.payload()).unwrap().len(), 128);
        self.we_are_asked(RAN, N3_UPF, N3_GNB, GNB_MAC);
        self.wrong_tags(&uplink);
        // What was wrong has changed nothing.
        self.socket.send(&tagged(&uplink, tag(RAN, 0))).unwrap();
        self.next(DN, EtherType::IPV4);
    }

    /// No tag, tags of nobody, a tag of the other side: each is dropped under its name.
    fn wrong_tags(&self, uplink: &[u8]) {
        let count = |reason| self.daemon.dropped(reason);
        let before = (count("unknown_vlan"), count("unknown_ue"));
        self.socket.send(uplink).unwrap();
        self.socket.send(&tagged(uplink, tag(31, 0))).unwrap();
        // A priority tag alone (VLAN 0) belongs to the untagged interface, which is not there.
        self.socket
            .send(&tagged(
                uplink,
                Tag {
                    vlan: None,
                    ..tag(1, 7)
                },
            ))
            .unwrap();
        self.socket.send(&tagged(uplink, tag(DN, 0))).unwrap();
        eventually("the frames are dropped", || {
            (count("unknown_vlan"), count("unknown_ue")) == (before.0 + 3, before.1 + 1)
        });
        // An ARP question with a wrong tag is not answered.
        let question = Arp::request(GNB_MAC, N3_GNB, N3_UPF).to_bytes();
        let question = frame(MacAddr::BROADCAST, GNB_MAC, EtherType::ARP, &question);
        self.socket.send(&tagged(&question, tag(31, 0))).unwrap();
        eventually("the question is dropped", || {
            count("unknown_vlan") == before.0 + 4
        });
    }

    /// Our own question for the UPF gets its answer on the VLAN.
    fn we_are_asked(&self, vlan: u16, target: Ipv4Addr, from: Ipv4Addr, mac: MacAddr) {
        let question = Arp::request(mac, from, target).to_bytes();
        let question = frame(MacAddr::BROADCAST, mac, EtherType::ARP, &question);
        self.socket.send(&tagged(&question, tag(vlan, 0))).unwrap();
        let reply = self.next(vlan, EtherType::ARP);
        let reply = Arp::parse(&reply.payload).unwrap();
        assert_eq!(reply.operation, Operation::Reply);
        assert_eq!((reply.sender_ip, reply.sender_mac), (target, self.upf));
    }

    fn answer_arp(&self, vlan: u16, address: Ipv4Addr, mac: MacAddr) {
        let question = self.next(vlan, EtherType::ARP);
        assert_eq!(question.to, MacAddr::BROADCAST);
        let question = Arp::parse(&question.payload).unwrap();
        assert_eq!(
            (question.operation, question.target_ip),
            (Operation::Request, address)
        );
        let reply = question.reply_from(mac).to_bytes();
        let reply = frame(self.upf, mac, EtherType::ARP, &reply);
        self.socket.send(&tagged(&reply, tag(vlan, 0))).unwrap();
    }

    /// The next frame of the UPF, which must have this tag and type.
    fn next(&self, vlan: u16, ethertype: EtherType) -> Sent {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let frame = self.socket.recv(left).unwrap();
            let frame = frame.unwrap_or_else(|| panic!("no frame:\n{:#}", self.daemon.ledger()));
            let eth = Eth::parse(&frame).unwrap();
            if eth.source() != self.upf {
                continue;
            }
            let seen = eth.tag().and_then(|tag| tag.vlan).map(|vlan| vlan.get());
            // On a busy machine the UPF asks for a neighbour again while the test is elsewhere.
            let asks =
                |bytes| Arp::parse(bytes).is_ok_and(|arp| arp.operation == Operation::Request);
            if eth.ethertype() == EtherType::ARP && seen != Some(vlan) && asks(eth.payload()) {
                continue;
            }
            // So does an Echo Request to the gNB (TS 29.281, 7.2.1): UDP to port 2152, and the type after GTP-U's flags.
            let is_echo = eth.payload().get(22..24) == Some(&[0x08, 0x68][..])
                && eth.payload().get(29) == Some(&1);
            if eth.ethertype() == EtherType::IPV4 && is_echo {
                continue;
            }
            assert_eq!(
                (seen, eth.ethertype()),
                (Some(vlan), ethertype),
                "{frame:02x?}"
            );
            return Sent {
                to: eth.destination(),
                from: eth.source(),
                payload: eth.payload().to_vec(),
            };
        }
    }

    /// A packet of the UE in its tunnel, without a tag.
    fn uplink(&self, to: Tunnel) -> Vec<u8> {
        let inner = packet(ue_address(0), SERVER, 4000, &[9; 100]);
        let container = ShortContainer::uplink(Qfi::new(9).unwrap());
        let header = g_pdu_header_with_container(to.teid, container, inner.len()).unwrap();
        let outer = packet(
            N3_GNB,
            to.ipv4().unwrap(),
            gtpu::PORT,
            &[&header[..], &inner].concat(),
        );
        frame(self.upf, GNB_MAC, EtherType::IPV4, &outer)
    }
}

/// What the UPF sent.
struct Sent {
    to: MacAddr,
    from: MacAddr,
    payload: Vec<u8>,
}

fn tag(vlan: u16, priority: u8) -> Tag {
    Tag {
        priority,
        drop_eligible: false,
        vlan: VlanId::new(vlan),
    }
}

/// The frame with a tag behind its addresses.
fn tagged(frame: &[u8], tag: Tag) -> Vec<u8> {
    let eth = Eth::parse(frame).unwrap();
    let header = EthHeader {
        destination: eth.destination(),
        source: eth.source(),
        ethertype: eth.ethertype(),
    };
    [&header.to_tagged_bytes(tag)[..], eth.payload()].concat()
}

fn frame(to: MacAddr, from: MacAddr, ethertype: EtherType, payload: &[u8]) -> Vec<u8> {
    let header = EthHeader {
        destination: to,
        source: from,
        ethertype,
    };
    [&header.to_bytes()[..], payload].concat()
}

/// A UDP datagram to a port.
fn packet(source: Ipv4Addr, destination: Ipv4Addr, port: u16, payload: &[u8]) -> Vec<u8> {
    let header = UdpHeader {
        source_port: 5000,
        destination_port: port,
    };
    let header = header.to_bytes(source, destination, payload).unwrap();
    let ip = Ipv4Header::new(Protocol::UDP, source, destination);
    let ip = ip.to_bytes(8 + payload.len()).unwrap();
    [&ip[..], &header, payload].concat()
}
