//! The control core's share of the packets: what it answers, whom it asks, what it forgets.

use super::checks::{icmp_in, ip_in, udp_in};
use crate::script::{Step, steps};
use sluice_control::config::{ControlConfig, InterfaceConfig, Role};
use sluice_control::frame::Frames;
use sluice_control::signalling::{Control, PrefixOwners};
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::{InstanceId, Pool};
use sluice_datapath::message::{IcmpCause, IcmpNotice, Resolve, Sender, UnknownTeid};
use sluice_datapath::meta::Meta;
use sluice_datapath::rx::parse::{Class, classify};
use sluice_datapath::tables::{InterfaceId, NextHop, NextHopId, PeerId, Prefix, Tables};
use sluice_port::PortId;
use sluice_session::network::{Network, Side};
use sluice_wire::arp::Arp;
use sluice_wire::eth::{Eth, EtherType, MacAddr, VlanId};
use sluice_wire::gtpu::{self, Message};
use sluice_wire::icmp::Icmp;
use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::udp::Udp;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

/// An ICMP error with its frame: 576 octets of IPv4 (RFC 1812, 4.3.2.3) and a tagged header.
const ERROR_FRAME: usize = 576 + 18;
const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const N6: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// A script of frames, notices of the packet path, and time.
pub fn control_core(data: &[u8]) {
    let mut rig = Rig::new();
    for step in steps(data) {
        rig.now_ns += step.wait_ns();
        rig.happen(&step);
        rig.check_frames();
        rig.check_tables();
    }
    rig.close();
}

#[derive(Default)]
struct Sent {
    out: Vec<(InterfaceId, Vec<u8>)>,
    to_path: Vec<(PortId, Vec<u8>)>,
}

impl Frames for Sent {
    fn transmit(&mut self, interface: InterfaceId, frame: &[u8]) {
        self.out.push((interface, frame.to_vec()));
    }
    fn receive(&mut self, port: PortId, frame: &[u8]) {
        self.to_path.push((port, frame.to_vec()));
    }
    fn to_ue(&mut self, _: &[u8], _: Meta) {}
}

/// No session has an IPv6 prefix.
struct NoPrefixes;

impl PrefixOwners for NoPrefixes {
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

struct Rig {
    control: Control,
    tables: Tables,
    sent: Sent,
    held: Vec<PeerId>,
    now_ns: u64,
}

impl Rig {
    fn new() -> Self {
        let mut control = Control::new(config()).expect("a sound configuration");
        let tables = control.take_tables().expect("the first tables");
        Self {
            control,
            tables,
            sent: Sent::default(),
            held: Vec::new(),
            now_ns: 1_000_000_000,
        }
    }

    fn happen(&mut self, step: &Step<'_>) {
        let words = step.bytes.as_chunks::<4>().0;
        let word = |at: usize| words.get(at).copied().map_or(0, u32::from_be_bytes);
        match step.kind & 0x0f {
            port @ 0..=1 => self.frame(u16::from(port), step.bytes),
            2 => self.resolve(Resolve::NextHop(NextHopId(word(0) as u16 & 0x3f))),
            3 => {
                let host = Ipv4Addr::from(u32::from(N6) & !0xff | word(0) & 0xff);
                self.resolve(Resolve::OnLink(InterfaceId(step.octet(0) & 3), host.into()));
            }
            4 => self.unknown_teid(step.octet(0), Ipv4Addr::from(word(1)), word(2)),
            5 => self.icmp(step.bytes, IcmpCause::TtlExceeded),
            6 => {
                let (mtu, inner) = step.bytes.split_at(step.bytes.len().min(2));
                let mtu = mtu.first_chunk().map_or(1400, |m| u16::from_be_bytes(*m));
                self.icmp(inner, IcmpCause::TooBig(mtu));
            }
            7 => self.control.tick(self.now_ns, &NoPrefixes, &mut self.sent),
            8 => self.hold(Ipv4Addr::from(word(0))),
            9 => self.release(usize::from(step.octet(0))),
            10 => self.take_tables(),
            _ => self.raw(step.octet(0), step.bytes.get(1..).unwrap_or_default()),
        }
    }

    /// A frame that a port received, if the packet path gives it up to the control core.
    fn frame(&mut self, port: u16, bytes: &[u8]) {
        let Class::Control(id) = classify(bytes, PortId(port), &self.tables) else {
            return;
        };
        let _ = self
            .control
            .frame(self.now_ns, id, bytes, &NoPrefixes, &mut self.sent);
        let sent = &self.sent;
        assert!(
            sent.out.len() <= 1 && sent.to_path.is_empty(),
            "one answer at most"
        );
        if let Some((to, answer)) = sent.out.first() {
            assert_eq!(*to, id, "the answer leaves where the question came in");
            assert!(
                answer.len() <= ERROR_FRAME.max(bytes.len() + 4),
                "no amplification"
            );
            is_justified(bytes, answer);
        }
    }

    /// Any frame at any interface, whatever the path would say.
    fn raw(&mut self, interface: u8, bytes: &[u8]) {
        let id = InterfaceId(interface);
        let _ = self
            .control
            .frame(self.now_ns, id, bytes, &NoPrefixes, &mut self.sent);
        // Its addresses may be any, so the answer's may be, too.
        self.sent = Sent::default();
    }

    fn resolve(&mut self, sought: Resolve) {
        self.control.resolve(self.now_ns, sought, &mut self.sent);
        assert!(self.sent.out.len() <= 1);
    }

    fn unknown_teid(&mut self, interface: u8, peer: Ipv4Addr, teid: u32) {
        let notice = UnknownTeid {
            interface: InterfaceId(interface & 3),
            peer: peer.into(),
            local: N3.into(),
            teid,
        };
        self.control
            .unknown_teid(self.now_ns, notice, &mut self.sent);
        assert!(self.sent.out.len() <= 1);
    }

    fn icmp(&mut self, inner: &[u8], cause: IcmpCause) {
        let instance = InstanceId(inner.first().map_or(0, |octet| octet & 3));
        let sender = match inner.last().map_or(0, |octet| octet & 3) {
            octet @ 0..=1 => Sender::Tunnelled {
                entry: EntryId(octet.into()),
                towards: (octet == 1).then_some(instance),
            },
            _ => Sender::DataNetwork(instance),
        };
        let notice = IcmpNotice { cause, sender };
        self.control
            .icmp(self.now_ns, inner, notice, &NoPrefixes, &mut self.sent);
        assert!(self.sent.out.len() + self.sent.to_path.len() <= 1);
    }

    fn hold(&mut self, remote: Ipv4Addr) {
        if let Ok(peer) =
            self.control
                .directory
                .hold_peer(Side::Access, None, remote.into(), Marking::default())
        {
            assert_eq!(
                self.control.directory.peer_address(peer),
                Some(remote.into())
            );
            self.held.push(peer);
        }
    }

    fn release(&mut self, which: usize) {
        if !self.held.is_empty() {
            let peer = self.held.swap_remove(which % self.held.len());
            self.control.directory.release_peer(peer);
        }
    }

    fn take_tables(&mut self) {
        if let Some(tables) = self.control.take_tables() {
            self.tables = tables;
        }
    }

    /// All frames are sound.
    fn check_frames(&mut self) {
        let Sent { out, to_path } = core::mem::take(&mut self.sent);
        for (id, frame) in &out {
            let interface = self.tables.interfaces.get(usize::from(*id));
            let interface = interface.expect("an interface that exists");
            let eth = Eth::parse(frame).expect("a frame of ours");
            assert_eq!(eth.source().0, interface.mac);
            assert_eq!(eth.vlan().map(VlanId::get), interface.vlan);
            is_sound(frame);
        }
        for (_, frame) in &to_path {
            is_sound(frame);
        }
    }

    /// Every number in the tables leads somewhere; no station is listed twice.
    fn check_tables(&mut self) {
        let mut stations = BTreeSet::new();
        for (hop, _) in self.control.directory.neighbours() {
            let new = stations.insert((hop.interface, hop.address));
            assert!(new, "{} is known twice", hop.address);
        }
        self.take_tables();
        for egress in &self.tables.egresses {
            for (address, hop) in &egress.neighbours {
                let found = self.hop(*hop).address;
                assert_eq!(found, IpAddr::V4((*address).into()), "the hop of a station");
            }
            for (_, hop) in &egress.routes {
                self.hop(*hop);
            }
        }
        for peer in &self.held {
            let peer = self.tables.peers.get(*peer).expect("a peer");
            let on_link = Prefix::new(N3, 24).expect("a prefix");
            let expected = match on_link.contains(peer.address.into()) {
                true => peer.address,
                false => GATEWAY,
            };
            let hop = self.hop(peer.next_hop);
            assert_eq!(hop.address, expected, "the hop of a peer");
        }
    }

    /// A station of the directory, which the path's slot says, too.
    fn hop(&self, id: NextHopId) -> NextHop {
        let hop = *self.control.directory.next_hop(id).expect("a station");
        let slot = self.tables.next_hops.get(id).expect("a slot");
        assert_eq!((slot.interface, slot.mac), (hop.interface, hop.mac));
        hop
    }

    /// All peers are given back, and every silent station is forgotten or known to be silent.
    fn close(mut self) {
        while !self.held.is_empty() {
            self.release(0);
        }
        assert_eq!(self.control.directory.peers().count(), 0);
        for _ in 0..40 {
            self.now_ns += 1_000_000_000;
            let known = self.control.directory.neighbours().count();
            self.control.tick(self.now_ns, &NoPrefixes, &mut self.sent);
            assert!(
                self.sent.out.len() <= known,
                "one question for each station"
            );
            self.check_frames();
        }
        self.check_tables();
    }
}

/// A frame of ours: ARP, or IPv4 with ICMP, or with UDP and GTP-U.
fn is_sound(frame: &[u8]) {
    let eth = Eth::parse(frame).expect("a frame of ours");
    if eth.ethertype() == EtherType::ARP {
        assert!(Arp::parse(eth.payload()).is_ok());
        return;
    }
    let ip = ip_in(frame).expect("ARP or IPv4");
    icmp_in(&ip);
    if let Some(udp) = udp_in(&ip) {
        assert!(Message::parse(udp.payload()).is_ok(), "GTP-U of ours");
    }
}

/// An answer goes to who asked, and damaged datagrams get none (RFC 1122, 4.1.3.4).
fn is_justified(question: &[u8], answer: &[u8]) {
    let (Ok(asked), Ok(answered)) = (Eth::parse(question), Eth::parse(answer)) else {
        return;
    };
    let Ok(ip) = Ipv4::parse(asked.payload()) else {
        return;
    };
    assert_eq!(answered.destination(), asked.source(), "to who asked");
    let to = ip_in(answer).map(|ip| ip.destination());
    assert_eq!(to, Some(ip.source()), "to who asked");
    match ip.protocol() {
        Protocol::UDP => {
            let udp = Udp::parse(ip.payload()).expect("it was answered");
            let whole = udp.verify(ip.source(), ip.destination());
            assert!(whole, "an answer to a damaged datagram");
            if udp.destination_port() == gtpu::PORT && ip.destination() == N3 {
                assert!(
                    udp_in(&ip_in(answer).expect("IPv4")).is_some(),
                    "GTP-U for GTP-U"
                );
            }
        }
        Protocol::ICMP => {
            assert!(
                Icmp::parse(ip.payload()).is_ok(),
                "an answer to a damaged message"
            );
        }
        _ => {}
    }
}

const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);

/// N3 on VLAN 30 of port 0 with a gateway, N6 on port 1 with another.
fn config() -> ControlConfig {
    let instance = InstanceId(1);
    let interface = |name: &str, port, mac, address: Ipv4Addr, role| InterfaceConfig {
        addresses: vec![(address, 24)],
        roles: vec![role],
        ..InterfaceConfig::new(name, PortId(port), MacAddr([2, 0, 0, 0, 0, mac]))
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
        id: instance,
    };
    let all = Prefix::new(Ipv4Addr::UNSPECIFIED, 0).expect("a prefix");
    let ues = Prefix::new([10, 45, 0, 0].into(), 16).expect("a prefix");
    ControlConfig {
        interfaces: vec![
            InterfaceConfig {
                vlan: VlanId::new(30),
                routes: vec![(all, GATEWAY)],
                ..interface("access", 0, 3, N3, n3)
            },
            InterfaceConfig {
                routes: vec![(all, [198, 51, 100, 254].into())],
                neighbours: vec![(
                    Ipv4Addr::new(198, 51, 100, 7).into(),
                    MacAddr([2, 0, 0, 0, 1, 7]),
                )],
                proxy_arp: vec![ues],
                ..interface("internet", 1, 6, N6, n6)
            },
        ],
        pools: vec![Pool {
            instance,
            base: [10, 45, 0, 0].into(),
            prefix_len: 16,
        }],
        ..ControlConfig::default()
    }
}
