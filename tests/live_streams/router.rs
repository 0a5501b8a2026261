//! Router solicitations of UEs on their way to a live SMF by N4-u, and its advertisements on their way back.
//!
//! The packets are in `open5gs-router-solicitation.txt`, with the octets that the SMF reads.

use sluice_smf_emulator::Tunnel;
use sluice_wire::ids::Teid;
use sluice_wire::pfcp::value::SourceInterface;

use crate::kit::frames::{frame, udp};
use crate::kit::{N3, N3_MAC, gnb_address, gnb_mac};
use crate::recorded::recorded;
use crate::replay::{Replay, SMF};
use crate::session::{Rule, Way};

/// UDP port of GTP-U at both ends.
const PORTS: (u16, u16) = (2152, 2152);
/// Octets before the payload of a frame's UDP datagram.
const OUTER: usize = 14 + 20 + 8;
/// Of the solicitation's filter.
const ALL_ROUTERS: &str = "ff02::2";

/// GTP-U messages as they were recorded.
pub struct Packets {
    /// Of the gNB, with a PDU Session Container.
    solicitation: Vec<u8>,
    /// The same as the SMF reads it.
    as_read: Vec<u8>,
    /// Of the SMF, and the same at the gNB.
    advertisement: [Vec<u8>; 2],
}

impl Packets {
    /// `None` where the file is not there.
    pub fn recorded() -> Option<Self> {
        let all = recorded("open5gs-router-solicitation.txt")?;
        let of = |name: &str| {
            let packet = all.iter().find(|(is, _)| is == name);
            packet.unwrap_or_else(|| panic!("no {name}")).1.clone()
        };
        Some(Self {
            solicitation: of("gNB_to_UPF"),
            as_read: of("UPF_to_SMF_as_the_SMF_reads_it"),
            advertisement: ["advertisement_1", "advertisement_2"].map(of),
        })
    }
}

impl Replay<'_> {
    /// The UE of the last session, if it has IPv6, asks for a router and is answered. Returns whether it has.
    pub fn asks_for_router(&mut self, packets: &Packets) -> bool {
        let session = self
            .sessions
            .last()
            .filter(|session| session.ipv6.is_some());
        if session.is_none_or(|session| session.was_paged) {
            return false;
        }
        self.complete();
        let session = self.sessions.last().unwrap();
        let rules = session.uplinks(ALL_ROUTERS);
        let [to_smf] = &rules[..] else {
            panic!("{rules:?}");
        };
        let from_smf = |rule: &&Rule| rule.source == SourceInterface::CP_FUNCTION;
        let from_smf = session.rules.iter().find(from_smf).unwrap().teid.unwrap();
        let (Way::To(smf), Way::To(gnb)) = (
            session.ways[&to_smf.far],
            session.ways[&session.downlink_fars()[0]],
        ) else {
            panic!("{session:?}");
        };
        let near = station(gnb);
        let to_us = with_teid(&packets.solicitation, to_smf.teid.unwrap());
        assert_eq!(
            self.passes(near, &to_us),
            [(SMF, with_teid(&packets.as_read, smf.teid))]
        );
        let [sent, received] = &packets.advertisement;
        assert_eq!(
            self.passes(SMF, &with_teid(sent, from_smf)),
            [(near, with_teid(received, gnb.teid))]
        );
        true
    }

    /// A station sends a GTP-U message. Returns those that left by N3, with the station for which they are.
    fn passes(&mut self, from: u8, message: &[u8]) -> Vec<(u8, Vec<u8>)> {
        let packet = udp(gnb_address(from), N3, PORTS, message);
        let sent = frame(N3_MAC, gnb_mac(from), &packet);
        self.world.upf.n3.inject(&sent);
        self.settle();
        let frames = self.world.upf.n3.take_output();
        let read = |frame: &[u8]| {
            let to = (1..=SMF).find(|n| frame.starts_with(&gnb_mac(*n)));
            (to.unwrap(), frame[OUTER..].to_vec())
        };
        frames.iter().map(|(_, frame)| read(frame)).collect()
    }
}

fn station(tunnel: Tunnel) -> u8 {
    let mut all = 1..SMF;
    let at = all.find(|n| Some(gnb_address(*n)) == tunnel.ipv4());
    at.unwrap()
}

/// A GTP-U message into another tunnel (TS 29.281, 5.1).
fn with_teid(message: &[u8], teid: Teid) -> Vec<u8> {
    let mut message = message.to_vec();
    message[4..8].copy_from_slice(&teid.get().to_be_bytes());
    message
}
