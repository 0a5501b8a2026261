//! A recorded stream on its way to the UPF, with packets after each message.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use sluice_smf_emulator::Tunnel;
use sluice_wire::ids::{FarId, Qfi, Seid};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::message::{
    HeartbeatResponse, SessionDeletionResponse, SessionEstablishmentRequest,
    SessionEstablishmentResponse, SessionModificationRequest, SessionModificationResponse,
    SessionReportRequest, SessionReportResponse,
};
use sluice_wire::pfcp::value::NtpTime;
use sluice_wire::pfcp::{
    Cause, Header, IeType, MessageType, PORT, SequenceNumber, ie, write_message,
};

use crate::kit::frames::{N3Frame, is_one_hop_on, packet, packet_v6};
use crate::kit::world::World;
use crate::kit::{GNBS, N3, SECOND_SERVER, SERVER, SERVER_V6, gnb_address};
use crate::session::{Session, Way};

/// Addresses as they were recorded: the UPF's on N3, those of gNBs from the next one on, and Open5GS's, where it has
/// N4 and N4-u.
const RECORDED_N3: Ipv4Addr = Ipv4Addr::new(10, 100, 3, 1);
const RECORDED_GNBS: [Ipv4Addr; 3] = [
    Ipv4Addr::new(10, 100, 3, 11),
    Ipv4Addr::new(10, 100, 3, 12),
    Ipv4Addr::new(10, 100, 3, 13),
];
const RECORDED_SMF: Ipv4Addr = Ipv4Addr::new(10, 100, 4, 2);
/// A station on N3 that is no gNB.
pub const SMF: u8 = GNBS;
/// Octets of each packet, and packets each way.
const LEN: usize = 500;
const PACKETS: usize = 3;
/// Messages of another session by which a stream is completed.
const ACTIVATION: usize = 2;
const IDLE: usize = 3;
const DELETION: usize = 5;
/// A FAR ID IE of those.
const THEIR_FAR: [u8; 8] = [0, 108, 0, 4, 0, 0, 0, 1];

/// See the module's page.
pub struct Replay<'a> {
    pub world: World,
    steps: &'a [(String, Vec<u8>)],
    pub sessions: Vec<Session>,
    answers: Vec<Vec<u8>>,
    sequence: u32,
    /// Sessions that have lived.
    lived: usize,
    /// When the SMF started, once it has associated.
    started: Option<NtpTime>,
}

impl<'a> Replay<'a> {
    /// `steps` are the messages that complete what a stream lacks.
    pub fn new(steps: &'a [(String, Vec<u8>)]) -> Self {
        Self {
            world: World::new(1),
            steps,
            sessions: Vec::new(),
            answers: Vec::new(),
            sequence: 0,
            lived: 0,
            started: None,
        }
    }

    /// The next message of the stream.
    pub fn next(&mut self, what: &str, message: &[u8]) {
        let kind = Header::parse(message).unwrap().0.message_type;
        match kind {
            MessageType::ASSOCIATION_SETUP_REQUEST => self.associate(what, message),
            MessageType::ASSOCIATION_RELEASE_REQUEST => {
                self.ask(what, message, None);
            }
            MessageType::SESSION_ESTABLISHMENT_REQUEST => self.establish(what, message),
            MessageType::SESSION_MODIFICATION_REQUEST => self.modify(what, message),
            MessageType::SESSION_DELETION_REQUEST => self.delete(what, message),
            other => panic!("{what}: {other:?}"),
        }
    }

    /// Ends what the stream left. Returns how many sessions there were.
    pub fn end(mut self) -> usize {
        self.end_sessions();
        self.world.assert_vacant();
        self.world.close();
        self.lived
    }

    fn end_sessions(&mut self) {
        while !self.sessions.is_empty() {
            let deletion = self.steps[DELETION].1.clone();
            self.delete("at the end", &deletion);
        }
    }

    /// Before the second association of a stream the UPF was killed, and came back without sessions.
    fn associate(&mut self, what: &str, message: &[u8]) {
        if self.started.is_some() {
            self.end_sessions();
            std::mem::replace(&mut self.world, World::new(1)).close();
        }
        // The Node ID tells the address.
        let mapped = at_our_n3(message);
        let (_, body) = Header::parse(&mapped).unwrap();
        let node = ie::first(body, IeType::NODE_ID).unwrap();
        let address: [u8; 4] = node[1..5].try_into().unwrap();
        let from = SocketAddr::from((Ipv4Addr::from(address), PORT));
        self.world.by_hand = Some((from, Vec::new()));
        let started = ie::first(body, IeType::RECOVERY_TIME_STAMP).unwrap();
        self.started = NtpTime::decode(started).ok();
        self.ask(what, message, None);
    }

    fn establish(&mut self, what: &str, message: &[u8]) {
        let asked = at_our_n3(message);
        let (_, body) = Header::parse(&asked).unwrap();
        let request = SessionEstablishmentRequest::parse(body).unwrap();
        let answer = self.ask(what, message, None);
        let (_, body) = Header::parse(&answer).unwrap();
        let answer = SessionEstablishmentResponse::parse(body).unwrap();
        let mut session = Session::new(&request, answer.up_f_seid.unwrap().seid);
        session.created(&answer.created_pdr);
        self.sessions.push(session);
        self.lived += 1;
        self.look();
    }

    fn modify(&mut self, what: &str, message: &[u8]) {
        let asked = at_our_n3(message);
        let (_, body) = Header::parse(&asked).unwrap();
        let request = SessionModificationRequest::parse(body).unwrap();
        let up_seid = self.sessions.last().unwrap().up_seid;
        let answer = self.ask(what, message, Some(up_seid));
        let (_, body) = Header::parse(&answer).unwrap();
        let answer = SessionModificationResponse::parse(body).unwrap();
        let session = self.sessions.last_mut().unwrap();
        session.change(&request);
        session.created(&answer.created_pdr);
        session.usage(&answer.usage_report);
        self.look();
    }

    fn delete(&mut self, what: &str, message: &[u8]) {
        self.complete();
        self.pass_period();
        let up_seid = self.sessions.last().unwrap().up_seid;
        let answer = self.ask(what, message, Some(up_seid));
        let (_, body) = Header::parse(&answer).unwrap();
        let answer = SessionDeletionResponse::parse(body).unwrap();
        let mut session = self.sessions.pop().unwrap();
        session.usage(&answer.usage_report);
        assert!(session.has_talked && session.was_paged, "{what}");
        session.is_settled(what);
    }

    /// Reports come by themselves after their period.
    fn pass_period(&mut self) {
        let period_s = self.sessions.last().unwrap().period_s();
        if period_s > 0 {
            self.world.wait(u64::from(period_s) + 1);
            self.settle();
        }
    }

    /// Brings the last session where a whole life would have brought it.
    pub fn complete(&mut self) {
        for step in [ACTIVATION, IDLE, ACTIVATION] {
            let session = self.sessions.last().unwrap();
            let is_idle = session.ways.values().any(|way| *way == Way::Held);
            let is_needed = match step {
                IDLE => !session.was_paged,
                _ => is_idle || !session.has_talked,
            };
            if !is_needed {
                continue;
            }
            let message = self.steps[step].1.clone();
            for far in session.downlink_fars() {
                self.modify("completed", &of_far(&message, far));
            }
        }
    }

    /// Sends packets where they must pass, or be held.
    fn look(&mut self) {
        let session = self.sessions.last().unwrap();
        let fars = session.downlink_fars();
        let ways: Vec<Way> = fars.iter().map(|far| session.ways[far]).collect();
        if ways.iter().all(|way| matches!(way, Way::To(_))) {
            self.talk();
        } else if ways.iter().all(|way| *way == Way::Held) && session.has_talked {
            self.page();
        }
    }

    /// The server's addresses with the UE's of the same family.
    fn ends(&self) -> Vec<(IpAddr, IpAddr)> {
        let session = self.sessions.last().unwrap();
        let ipv4 = session.ipv4.map(IpAddr::from);
        let ipv6 = session.ipv6.map(IpAddr::from);
        let servers = [SERVER, SECOND_SERVER].map(IpAddr::from);
        let with = |ue: Option<IpAddr>, server| ue.map(|ue| (server, ue));
        let all = servers.map(|server| with(ipv4, server)).into_iter();
        all.chain([with(ipv6, SERVER_V6.into())])
            .flatten()
            .collect()
    }

    /// Packets both ways, of each family, with each server.
    fn talk(&mut self) {
        for (server, ue) in self.ends() {
            for _ in 0..PACKETS {
                self.receives(server, ue);
                self.sends(server, ue);
            }
        }
        self.sessions.last_mut().unwrap().has_talked = true;
    }

    fn receives(&mut self, server: IpAddr, ue: IpAddr) {
        let session = self.sessions.last_mut().unwrap();
        let rule = session.downlink(&server.to_string());
        let Way::To(tunnel) = session.ways[&rule.far] else {
            panic!("{rule:?}");
        };
        let inner = between(server, ue);
        session.pass(&rule, 1, LEN);
        self.world.inject_downlink(&inner);
        self.settle();
        let out = self.world.n3_output();
        arrives(&out, tunnel, &inner);
    }

    fn sends(&mut self, server: IpAddr, ue: IpAddr) {
        let session = self.sessions.last().unwrap();
        for rule in session.uplinks(&server.to_string()) {
            let inner = between(ue, server);
            let to = Tunnel::v4(rule.teid.unwrap(), N3);
            let qfi = Qfi::new(rule.qfi.unwrap_or(1)).unwrap();
            self.sessions.last_mut().unwrap().pass(&rule, 0, LEN);
            self.world.inject_uplink(1, to, qfi, &inner);
            self.settle();
            let out = self.world.n6_output();
            assert_eq!(out.len(), 1, "{}", self.world.upf.core.ledger());
            assert!(is_one_hop_on(&inner, &out[0]));
        }
    }

    /// A packet is held, told of once, and leaves when the next message brings the UE back.
    fn page(&mut self) {
        let (server, ue) = self.ends()[0];
        let session = self.sessions.last().unwrap();
        let rule = session.downlink(&server.to_string());
        let inner = between(server, ue);
        let held = self.world.upf.core.ledger().held;
        self.world.inject_downlink(&inner);
        self.settle();
        assert!(self.world.n3_output().is_empty());
        let ledger = self.world.upf.core.ledger();
        assert_eq!(ledger.held, held + 1, "{ledger}");
        let session = self.sessions.last_mut().unwrap();
        assert_eq!(std::mem::take(&mut session.pages), [rule.id]);
        session.was_paged = true;
        session.pass(&rule, 1, LEN);
    }

    /// Sends a message with our numbers in it, to a session if it is about one; it must be accepted.
    fn ask(&mut self, what: &str, message: &[u8], session: Option<Seid>) -> Vec<u8> {
        let mut message = at_our_n3(message);
        if let Some(seid) = session {
            message[4..12].copy_from_slice(&seid.0.to_be_bytes());
        }
        self.sequence += 1;
        let at = if message[0] & 1 == 0 { 4 } else { 12 };
        message[at..at + 3].copy_from_slice(&self.sequence.to_be_bytes()[1..]);
        let before = self.world.upf.core.ledger().held;
        self.world.send_by_hand(&message);
        self.settle();
        let answer = self
            .answers
            .pop()
            .unwrap_or_else(|| panic!("{what}: no answer"));
        let (header, body) = Header::parse(&answer).unwrap();
        assert_eq!(header.message_type.0, message[1] + 1, "{what}");
        let cause = Cause::decode(ie::first(body, IeType::CAUSE).unwrap()).unwrap();
        assert_eq!(cause, Cause::REQUEST_ACCEPTED, "{what}");
        // What was held leaves with the activation.
        let released = before - self.world.upf.core.ledger().held;
        let out = self.world.n3_output();
        let data = |frame: &&N3Frame| matches!(frame, N3Frame::Data { .. });
        assert_eq!(out.iter().filter(data).count() as u64, released, "{what}");
        answer
    }

    /// Until nothing happens any more; what the UPF asks is answered.
    pub fn settle(&mut self) {
        loop {
            self.world.settle();
            let sent = self.world.taken_by_hand();
            if sent.is_empty() {
                return;
            }
            for message in sent {
                self.take(&message);
            }
        }
    }

    fn take(&mut self, message: &[u8]) {
        let (header, body) = Header::parse(message).unwrap();
        match header.message_type {
            MessageType::SESSION_REPORT_REQUEST => {
                let request = SessionReportRequest::parse(body).unwrap();
                let seid = header.seid.unwrap();
                let mut all = self.sessions.iter_mut();
                let session = all.find(|session| session.cp_seid == seid).unwrap();
                let pages = request.downlink_data_report.iter();
                session
                    .pages
                    .extend(pages.flat_map(|report| report.pdr_id.iter()));
                session.usage(&request.usage_report);
                let up_seid = session.up_seid;
                self.take_report(up_seid, header.sequence);
            }
            MessageType::HEARTBEAT_REQUEST => {
                let answer = Header::node(MessageType::HEARTBEAT_RESPONSE, header.sequence);
                let body = HeartbeatResponse {
                    recovery_time_stamp: self.started.unwrap(),
                };
                let mut out = [0; 64];
                let len = write_message(&mut out, &answer, |w| body.emit(w)).unwrap();
                self.world.send_by_hand(&out[..len]);
            }
            _ => self.answers.push(message.to_vec()),
        }
    }

    fn take_report(&mut self, session: Seid, sequence: SequenceNumber) {
        let kind = MessageType::SESSION_REPORT_RESPONSE;
        let header = Header::session(kind, session, sequence);
        let response = SessionReportResponse {
            cause: Cause::REQUEST_ACCEPTED,
            ..Default::default()
        };
        let mut out = [0; 64];
        let len = write_message(&mut out, &header, |w| response.emit(w)).unwrap();
        self.world.send_by_hand(&out[..len]);
    }
}

/// A message with our addresses on N3 in it.
fn at_our_n3(message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    let gnbs = (1..).map(gnb_address);
    let pairs = RECORDED_GNBS.into_iter().zip(gnbs);
    let others = [(RECORDED_N3, N3), (RECORDED_SMF, gnb_address(SMF))];
    for (recorded, ours) in pairs.chain(others) {
        for at in 0..message.len().saturating_sub(3) {
            if message[at..at + 4] == recorded.octets() {
                message[at..at + 4].copy_from_slice(&ours.octets());
            }
        }
    }
    message
}

/// A message about another FAR than that of the recorded session.
fn of_far(message: &[u8], far: FarId) -> Vec<u8> {
    let mut message = message.to_vec();
    let at = message.windows(8).position(|octets| octets == THEIR_FAR);
    let at = at.unwrap() + 4;
    message[at..at + 4].copy_from_slice(&far.0.to_be_bytes());
    message
}

/// A packet of [`LEN`] octets.
fn between(from: IpAddr, to: IpAddr) -> Vec<u8> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => packet(from, to, LEN, 7),
        (IpAddr::V6(from), IpAddr::V6(to)) => packet_v6(from, to, LEN, 7),
        _ => panic!("{from} to {to}"),
    }
}

/// One packet left, to this tunnel.
fn arrives(out: &[N3Frame], tunnel: Tunnel, packet: &[u8]) {
    let [N3Frame::Data { to, inner, .. }] = out else {
        panic!("{out:?}");
    };
    assert_eq!(*to, tunnel);
    assert!(is_one_hop_on(packet, inner));
}
