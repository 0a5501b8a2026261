//! N4 of an SMF against endpoints of UPFs: who is heard, whose sessions are whose, what is given up when.

use sluice_ids::{Dnn, Plmn, Snssai, Supi, Tac, Tai};
use sluice_sbi::{Input, NetworkFunction, Now};
use sluice_wire::pfcp::group::{DownlinkDataReport, UsageReport};
use sluice_wire::pfcp::message::{SessionReportRequest, SessionReportResponse};
use sluice_wire::pfcp::value::{
    ReportType, SessionReportRequestFlags, UpFunctionFeatures, VolumeMeasurement,
};

use super::*;
use crate::Smf;
use crate::config::{NetworkConfig, UpfConfig};
use crate::context::session::Session;

const SMF: ([u8; 4], u16) = ([127, 0, 0, 20], 8805);

/// A UPF: its endpoint answers; requests for sessions are seen, and not answered.
struct Peer {
    endpoint: Endpoint,
    at: SocketAddr,
    is_silent: bool,
    /// Whether the UPF accepts the association.
    associates: bool,
    /// Types of requests for sessions that came.
    asked: Vec<MessageType>,
    /// Causes that its reports were answered by.
    answers: Vec<Cause>,
    /// Node Report Responses, without their headers.
    node_answers: Vec<Vec<u8>>,
}

impl Peer {
    fn new(host: u8, started: u32) -> Self {
        let at = SocketAddr::from(([127, 0, 0, host], 8805));
        let mut config = sluice_n4::Config::new(NodeId::Ip(at.ip()), NtpTime(started));
        config.features =
            sluice_n4::Features::of_up(UpFunctionFeatures::FTUP | UpFunctionFeatures::UEIP);
        Self {
            endpoint: Endpoint::new(Role::Up, config),
            at,
            is_silent: false,
            associates: true,
            asked: Vec::new(),
            answers: Vec::new(),
            node_answers: Vec::new(),
        }
    }

    fn restart(&mut self) {
        let restarted = Self::new(
            match self.at.ip() {
                IpAddr::V4(ip) => ip.octets()[3],
                IpAddr::V6(_) => unreachable!("all have IPv4"),
            },
            0xe000_0100,
        );
        self.endpoint = restarted.endpoint;
    }

    fn take(&mut self, now: sluice_n4::Instant, octets: &[u8]) -> Vec<Vec<u8>> {
        let is_setup = octets[1] == MessageType::ASSOCIATION_SETUP_REQUEST.0;
        if self.is_silent || (is_setup && !self.associates) {
            return Vec::new();
        }
        let mut sent = Sent::default();
        match self.endpoint.handle(now, SMF.into(), octets, &mut sent) {
            N4Input::Nothing => {}
            N4Input::Session(request) => {
                let kind = request.header().message_type;
                self.asked.push(kind);
                if kind == MessageType::SESSION_DELETION_REQUEST {
                    let answer = SessionDeletionResponse {
                        cause: Cause::REQUEST_ACCEPTED,
                        ..SessionDeletionResponse::default()
                    };
                    let (reply, seid) = (request.reply, Some(Seid(1)));
                    let replied = self
                        .endpoint
                        .reply(now, reply, seid, &mut sent, |w| answer.emit(w));
                    replied.expect("room");
                }
            }
            N4Input::Response(response)
                if response.header.message_type == MessageType::NODE_REPORT_RESPONSE =>
            {
                self.node_answers.push(response.body.to_vec());
            }
            N4Input::Response(response) => {
                let mut answer = SessionReportResponse::default();
                answer.parse_into(response.body).expect("a sound answer");
                self.answers.push(answer.cause);
            }
        }
        sent.0.into_iter().map(|(_, octets)| octets).collect()
    }
}

struct Net {
    smf: Smf,
    now: Now,
    peers: Vec<Peer>,
}

impl Net {
    /// An SMF with UPFs, associated with those of these hosts that are there.
    fn new(hosts: &[u8], peers: Vec<Peer>) -> Self {
        let upf = |host: &u8| UpfConfig::new(SocketAddr::from(([127, 0, 0, *host], 8805)));
        let config = Config {
            n4: SocketAddr::from(SMF).ip(),
            started_unix_s: 1_790_000_000,
            upfs: hosts.iter().map(upf).collect(),
            networks: vec![NetworkConfig::new(Dnn::new("internet").expect("a name"))],
            upf_return_ms: crate::UPF_RETURN_MS,
            back_off_s: crate::BACK_OFF_S,
        };
        let smf = Smf::new(config).expect("a sound configuration");
        let now = Now::default();
        let mut net = Self { smf, now, peers };
        net.input(Input::Time);
        net
    }

    fn input(&mut self, input: Input<'_>) {
        let mut effects = Vec::new();
        self.smf.handle(self.now, input, &mut effects);
        self.carry(effects);
    }

    fn carry(&mut self, mut effects: Vec<Effect>) {
        let n4_now = sluice_n4::Instant(self.now.instant.0);
        while !effects.is_empty() {
            for effect in std::mem::take(&mut effects) {
                let Effect::N4 { to, octets } = effect else {
                    continue;
                };
                let peer = self.peers.iter_mut().find(|peer| peer.at == to);
                let sent = peer.map(|peer| (peer.at, peer.take(n4_now, &octets)));
                for (from, octets) in sent
                    .iter()
                    .flat_map(|(at, all)| all.iter().map(|o| (*at, o)))
                {
                    let input = Input::N4 { from, octets };
                    self.smf.handle(self.now, input, &mut effects);
                }
            }
        }
    }

    /// Time passes, from deadline to deadline.
    fn pass(&mut self, ms: u64) {
        let end = self.now.instant.plus_ms(ms);
        for _ in 0..10_000 {
            let next = self.smf.next_deadline();
            if next > end {
                self.now.instant = end;
                return;
            }
            self.now.instant = next.max(self.now.instant);
            self.input(Input::Time);
        }
        panic!("deadlines come without end");
    }

    fn association(&self, index: usize) -> AssociationId {
        self.smf.state.borrow().associations[index].expect("begun")
    }

    /// A session, which the UPF calls 77.
    fn insert_session(&self, index: usize) -> SessionId {
        let association = self.association(index);
        let state = &mut *self.smf.state.borrow_mut();
        let supi = Supi::from_imsi("001010000000001").expect("digits");
        let dnn = Dnn::new("internet").expect("a name");
        let mut session = Session::new(supi, 5, Snssai::new(1, None), dnn);
        session.is_accepted = true;
        session.upf = Some(AtUpf {
            association,
            to: None,
            seid: Seid(77),
            uplink: Tunnel::default(),
            ipv6_prefix: None,
        });
        let id = SessionId(state.sessions.insert(session).expect("room"));
        state.by_identity.insert((supi, 5), id);
        id
    }

    /// A report of a peer for a session.
    fn report(&mut self, peer: usize, session: SessionId) {
        let report = SessionReportRequest {
            report_type: ReportType::DLDR,
            downlink_data_report: Some(DownlinkDataReport::default()),
            ..SessionReportRequest::default()
        };
        let kind = MessageType::SESSION_REPORT_REQUEST;
        self.ask(peer, kind, Some(Seid(session.number())), |w| report.emit(w));
    }

    /// A request of a peer.
    fn ask(
        &mut self,
        peer: usize,
        message_type: MessageType,
        seid: Option<Seid>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) {
        let (mut sent, now) = (Sent::default(), sluice_n4::Instant(self.now.instant.0));
        let peer = &mut self.peers[peer];
        let (association, _) = peer.endpoint.associations().next().expect("associated");
        let request = Request {
            association,
            to: None,
            tag: 1,
            message_type,
            seid,
        };
        let asked = peer.endpoint.request(now, request, &mut sent, write);
        asked.expect("sent");
        let from = peer.at;
        self.carry_from(from, sent);
    }

    fn carry_from(&mut self, from: SocketAddr, sent: Sent) {
        for (_, octets) in sent.0 {
            self.input(Input::N4 {
                from,
                octets: &octets,
            });
        }
    }

    fn deletions(&self, peer: usize) -> usize {
        let is_deletion = |kind: &&MessageType| **kind == MessageType::SESSION_DELETION_REQUEST;
        self.peers[peer].asked.iter().filter(is_deletion).count()
    }

    fn orphans(&self) -> usize {
        self.smf.state.borrow().orphans.len()
    }
}

#[test]
fn a_upf_is_chosen_by_data_network_slice_and_area_and_the_next_one_where_it_is_gone() {
    let peers = [8, 9, 10, 11].map(|host| Peer::new(host, 0xe000_0000));
    let mut net = Net::new(&[8, 9, 10, 11], peers.into());
    let dnn = |name| Dnn::new(name).expect("a name");
    let area = |tac| Tai {
        plmn: Plmn::new("001", "01").expect("digits"),
        tac: Tac([0, 0, tac]),
    };
    {
        let upfs = &mut net.smf.state.borrow_mut().config.upfs;
        upfs[0].networks = vec![dnn("ims")];
        upfs[1].slices = vec![Snssai::new(2, None)];
        upfs[2].areas = vec![area(7)];
    }
    let chosen = |net: &Net, name, sst, tac| {
        let state = net.smf.state.borrow();
        let upf = state.choose_upf(&dnn(name), &Snssai::new(sst, None), &area(tac), [true; 2]);
        upf.ok().map(|(_, index)| index)
    };
    assert_eq!(chosen(&net, "ims", 1, 1), Some(0));
    assert_eq!(chosen(&net, "internet", 2, 1), Some(1));
    assert_eq!(chosen(&net, "internet", 1, 7), Some(2));
    assert_eq!(chosen(&net, "internet", 1, 1), Some(3));
    // It is silent, and the next one that serves the same is taken.
    net.peers[1].is_silent = true;
    net.pass(120_000);
    assert_eq!(chosen(&net, "internet", 2, 1), Some(3));
    // Of one that serves nothing of it nothing is taken.
    net.smf.state.borrow_mut().config.upfs[3].networks = vec![dnn("lab")];
    assert_eq!(chosen(&net, "internet", 1, 1), None);
}

#[test]
fn a_host_that_is_no_upf_of_the_configuration_is_not_heard() {
    let mut net = Net::new(&[8], vec![Peer::new(8, 0xe000_0000)]);
    let mut stranger = Peer::new(9, 0xe000_0000);
    let (mut sent, now) = (Sent::default(), sluice_n4::Instant(0));
    let asked = stranger
        .endpoint
        .associate(now, SMF.into(), false, &mut sent);
    asked.expect("sent");
    net.peers.push(stranger);
    for (_, octets) in sent.0 {
        let from = net.peers[1].at;
        net.input(Input::N4 {
            from,
            octets: &octets,
        });
    }
    let state = net.smf.state.borrow();
    assert_eq!(state.endpoint.associations().count(), 1);
    let not_allowed = state
        .endpoint
        .counters()
        .get(sluice_n4::Counter::NotAllowed);
    assert_eq!(not_allowed, 1);
}

#[test]
fn a_session_is_reported_of_by_its_own_upf_alone() {
    let peers = vec![Peer::new(8, 0xe000_0000), Peer::new(9, 0xe000_0000)];
    let mut net = Net::new(&[8, 9], peers);
    let id = net.insert_session(0);
    net.report(1, id);
    assert_eq!(net.peers[1].answers, [Cause::SESSION_CONTEXT_NOT_FOUND]);
    net.report(0, id);
    assert_eq!(net.peers[0].answers, [Cause::REQUEST_ACCEPTED]);
    assert_eq!(net.smf.counters().downlink_data_reports, 1);
}

/// TS 29.244, 4.2.3: an answer comes from where the request went. A report may come from an address that the
/// UPF has told of as that of a session.
#[test]
fn a_upf_is_heard_from_the_addresses_of_its_sessions_and_from_no_other() {
    let mut net = Net::new(&[8], vec![Peer::new(8, 0xe000_0000)]);
    let id = net.insert_session(0);
    let association = net.association(0);
    let not_allowed = |net: &Net| {
        let state = net.smf.state.borrow();
        state
            .endpoint
            .counters()
            .get(sluice_n4::Counter::NotAllowed)
    };
    let ordinary = net.peers[0].at;
    net.peers[0].at = SocketAddr::from(([127, 0, 0, 9], 8805));
    net.report(0, id);
    assert_eq!(
        (not_allowed(&net), net.smf.counters().downlink_data_reports),
        (1, 0)
    );
    let told = net.peers[0].at.ip();
    net.smf.state.borrow_mut().hear_from(association, told);
    net.report(0, id);
    assert_eq!(
        (not_allowed(&net), net.smf.counters().downlink_data_reports),
        (1, 1)
    );
    // The association is over, and with it what the UPF had told.
    net.peers[0].at = ordinary;
    let forgotten = net.smf.state.borrow_mut().endpoint.forget(association);
    forgotten.expect("there");
    net.input(Input::Time);
    assert!(!net.smf.state.borrow().endpoint.is_allowed(told));
}

#[test]
fn a_name_of_before_a_restart_is_deleted_at_no_upf() {
    let mut net = Net::new(&[8], vec![Peer::new(8, 0xe000_0000)]);
    net.insert_session(0);
    net.peers[0].restart();
    // It is not restored: the UPF does not answer that, and is asked six times more.
    net.pass(150_000);
    let asked = &net.peers[0].asked;
    assert!(asked.contains(&MessageType::SESSION_ESTABLISHMENT_REQUEST));
    assert_eq!((net.smf.sessions(), net.orphans()), (0, 0));
    net.peers[0].is_silent = true;
    net.pass(60_000);
    net.peers[0].is_silent = false;
    net.pass(60_000);
    assert_eq!(net.deletions(0), 0);
}

#[test]
fn sessions_of_a_upf_that_does_not_answer_are_deleted_when_it_does_and_those_of_no_association_never()
 {
    let mut net = Net::new(&[8], vec![Peer::new(8, 0xe000_0000)]);
    net.insert_session(0);
    net.peers[0].is_silent = true;
    net.pass(90_000);
    assert_eq!((net.smf.sessions(), net.orphans()), (0, 1));
    net.peers[0].is_silent = false;
    net.pass(15_000);
    assert_eq!((net.deletions(0) > 0, net.orphans()), (true, 0));
    // The association ends, and with it the session at the UPF.
    let deletions = net.deletions(0);
    net.insert_session(0);
    let association = net.association(0);
    let forgotten = net.smf.state.borrow_mut().endpoint.forget(association);
    forgotten.expect("there");
    net.pass(60_000);
    assert_eq!((net.smf.sessions(), net.orphans()), (0, 0));
    assert_eq!(net.deletions(0), deletions);
    // It has another one.
    assert!(net.smf.state.borrow().associations[0].is_some());
}

#[test]
fn a_session_that_is_given_up_late_is_deleted_at_once_where_its_upf_is_back() {
    let net = Net::new(&[8], vec![Peer::new(8, 0xe000_0000)]);
    let id = net.insert_session(0);
    let upf = net
        .smf
        .state
        .borrow()
        .sessions
        .get(id.0)
        .and_then(|s| s.upf);
    net.smf
        .state
        .borrow_mut()
        .forget_at_upf(Some(id), upf.expect("there"));
    let effects = std::mem::take(&mut net.smf.state.borrow_mut().effects);
    let mut net = net;
    net.carry(effects);
    assert_eq!((net.deletions(0), net.orphans()), (1, 0));
}

#[test]
fn sessions_of_a_restarted_upf_that_does_not_associate_again_are_given_up() {
    let mut net = Net::new(&[8], vec![Peer::new(8, 0xe000_0000)]);
    net.insert_session(0);
    net.peers[0].restart();
    net.peers[0].associates = false;
    net.pass(20_000);
    assert_eq!(net.smf.sessions(), 1, "it may be back soon");
    net.pass(60_000);
    assert_eq!((net.smf.sessions(), net.orphans()), (0, 0));
    // It is back with other sessions, which are not touched.
    net.peers[0].associates = true;
    net.pass(60_000);
    assert_eq!(net.deletions(0), 0);
}

#[test]
fn an_association_that_cannot_be_begun_is_tried_again_after_a_while() {
    let net = Net::new(&[8, 9], vec![]);
    let smf = net.smf;
    {
        let state = &mut *smf.state.borrow_mut();
        let mut config = sluice_n4::Config::new(NodeId::Ip(state.config.n4), NtpTime(1));
        config.limits.associations = 1;
        state.endpoint = Endpoint::new(Role::Cp, config);
        state.associations = vec![None; 2];
        state.associate_at = Instant::default();
    }
    let mut net = Net { smf, ..net };
    net.input(Input::Time);
    assert!(net.smf.state.borrow().associations[1].is_none());
    let next = net.smf.next_deadline();
    assert!(next > net.now.instant, "{next:?}");
    assert!(next.ms_since(net.now.instant) <= limits::ASSOCIATE_MS);
    net.pass(60_000);
}

mod features;
mod reports;
