//! One side of the generator (N3 or N6): port, own addresses, neighbours.

use std::collections::{BTreeMap, HashSet};
use std::net::Ipv4Addr;

use sluice_port::{Burst, Packet, PortId, PortInfo, PortIo, QueueId};
use sluice_wire::arp::{Arp, Operation};
use sluice_wire::eth::{EthHeader, EtherType, MacAddr};
use sluice_wire::gtpu;
use sluice_wire::ipv4::{Ipv4Header, Protocol};
use sluice_wire::udp::UdpHeader;

use crate::frames::Hop;

/// From one question to the next while nobody answers.
const ASK_AGAIN_NS: u64 = 200_000_000;

/// The way out of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// A station whose address is known: no ARP.
    Mac(MacAddr),
    /// A router, found by ARP.
    Via(Ipv4Addr),
    /// Each destination is in the same network, found by ARP.
    Direct,
}

/// Configuration of a port and its network.
#[derive(Clone, Debug)]
pub struct SideConfig {
    /// The port, in [`PortIo::ports`].
    pub port: PortId,
    /// Addresses that are ours there: gNBs on N3, servers on N6. The first one asks.
    pub addresses: Vec<Ipv4Addr>,
    /// Next hop of sent packets.
    pub next_hop: NextHop,
}

/// A port in use, with its first receive and transmit queue.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) port: PortId,
    pub(super) name: String,
    mac: MacAddr,
    addresses: HashSet<Ipv4Addr>,
    asker: Ipv4Addr,
    next_hop: NextHop,
    neighbours: BTreeMap<Ipv4Addr, Option<MacAddr>>,
    asked_ns: Option<u64>,
}

impl Side {
    pub(super) fn new(config: &SideConfig, info: &PortInfo) -> Self {
        let first = config.addresses.first().copied();
        Self {
            port: config.port,
            name: info.name.clone(),
            mac: MacAddr(info.mac),
            addresses: config.addresses.iter().copied().collect(),
            asker: first.unwrap_or(Ipv4Addr::UNSPECIFIED),
            next_hop: config.next_hop,
            neighbours: BTreeMap::new(),
            asked_ns: None,
        }
    }

    /// Destinations that will be sent to.
    pub(super) fn need(&mut self, destinations: impl Iterator<Item = Ipv4Addr>) {
        let mut need = |address| {
            self.neighbours.entry(address).or_insert(None);
        };
        match self.next_hop {
            NextHop::Mac(_) => {}
            NextHop::Via(router) => need(router),
            NextHop::Direct => destinations.for_each(need),
        }
    }

    /// A neighbour whose Ethernet address is not known yet.
    pub(super) fn unresolved(&self) -> Option<Ipv4Addr> {
        let missing = self.neighbours.iter().find(|(_, mac)| mac.is_none());
        missing.map(|(address, _)| *address)
    }

    /// The Ethernet header to a destination; none while its neighbour is not known.
    pub(super) fn hop(&self, destination: Ipv4Addr) -> Option<Hop> {
        let neighbour = |address| self.neighbours.get(&address).copied().flatten();
        let to = match self.next_hop {
            NextHop::Mac(mac) => Some(mac),
            NextHop::Via(router) => neighbour(router),
            NextHop::Direct => neighbour(destination),
        };
        to.map(|to| Hop { from: self.mac, to })
    }

    /// Asks for neighbours that are not known, if it is time. Returns how many questions left.
    pub(super) fn ask<I: PortIo>(&mut self, now_ns: u64, io: &mut I) -> usize {
        let too_early = |asked: u64| now_ns < asked + ASK_AGAIN_NS;
        if self.asked_ns.is_some_and(too_early) {
            return 0;
        }
        let is_first = self.asked_ns.replace(now_ns).is_none();
        let missing = self.neighbours.iter().filter(|(_, mac)| mac.is_none());
        let missing: Vec<Ipv4Addr> = missing.map(|(address, _)| *address).collect();
        let request = |from, target| {
            let request = Arp::request(self.mac, from, target).to_bytes();
            self.ethernet(MacAddr::BROADCAST, EtherType::ARP, &request)
        };
        let mut frames: Vec<_> = missing.iter().map(|to| request(self.asker, *to)).collect();
        if let (true, Some(to)) = (is_first, missing.first()) {
            // Whoever is asked learns who asks (RFC 826), and need not ask back when packets come.
            let others = self.addresses.iter().filter(|from| **from != self.asker);
            frames.extend(others.map(|from| request(*from, *to)));
        }
        frames.iter().filter(|frame| self.send(io, frame)).count()
    }

    /// ARP has come: learns, and answers for our addresses. True if it answered.
    pub(super) fn take_arp<I: PortIo>(&mut self, arp: &Arp, io: &mut I) -> bool {
        if let Some(mac) = self.neighbours.get_mut(&arp.sender_ip)
            && arp.sender_mac.is_unicast()
        {
            *mac = Some(arp.sender_mac);
        }
        if arp.operation != Operation::Request || !self.addresses.contains(&arp.target_ip) {
            return false;
        }
        let answer = arp.reply_from(self.mac).to_bytes();
        let frame = self.ethernet(arp.sender_mac, EtherType::ARP, &answer);
        self.send(io, &frame)
    }

    /// An Echo Request has come from `from` to our address `to`: answers (TS 29.281, 7.2.2). True
    /// if it did.
    pub(super) fn answer_echo<I: PortIo>(
        &self,
        from: (MacAddr, Ipv4Addr, u16),
        to: Ipv4Addr,
        sequence: u16,
        io: &mut I,
    ) -> bool {
        let answer = gtpu::echo_response(sequence);
        let udp = UdpHeader {
            source_port: gtpu::PORT,
            destination_port: from.2,
        };
        let (Ok(udp), true) = (
            udp.to_bytes(to, from.1, &answer),
            self.addresses.contains(&to),
        ) else {
            return false;
        };
        let ip = Ipv4Header::new(Protocol::UDP, to, from.1);
        let Ok(ip) = ip.to_bytes(udp.len() + answer.len()) else {
            return false;
        };
        let packet = [&ip[..], &udp, &answer].concat();
        let frame = self.ethernet(from.0, EtherType::IPV4, &packet);
        self.send(io, &frame)
    }

    fn ethernet(&self, to: MacAddr, ethertype: EtherType, payload: &[u8]) -> Vec<u8> {
        let header = EthHeader {
            destination: to,
            source: self.mac,
            ethertype,
        };
        let mut frame = [&header.to_bytes()[..], payload].concat();
        frame.resize(frame.len().max(60), 0);
        frame
    }

    /// Sends one frame; false if the port did not take it: requests and answers are repeated anyway.
    fn send<I: PortIo>(&self, io: &mut I, frame: &[u8]) -> bool {
        let Some(mut packet) = io.alloc() else {
            return false;
        };
        match packet.append(frame.len()) {
            Ok(room) => room.copy_from_slice(frame),
            Err(_) => {
                packet.free();
                return false;
            }
        }
        let mut burst = Burst::new();
        if let Err(packet) = burst.push(packet) {
            packet.free();
        }
        io.tx(self.port, QueueId(0), &mut burst) == 1
    }
}
