//! SMFs, the UPF and the wires between them, driven round by round.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

use sluice_control::core::Time;
use sluice_datapath::drop::DropReason;
use sluice_n4::{Config, Instant, NodeId, Outbox};
use sluice_session::InUse;
use sluice_smf_emulator::{
    Change, Changed, CpNode, Dialect, Done, Established, Machine, Report, SessionPlan, SmfError,
    Ticket, UrrUsage, Usage,
};
use sluice_wire::ids::{Qfi, Seid};
use sluice_wire::pfcp::PORT;
use sluice_wire::pfcp::value::NtpTime;

use super::N4;
use super::frames::{self, N3Frame};
use super::judged::Judged;
use super::n4_link::N4Link;
use super::upf::{Around, Upf};

/// Time that a round takes.
const ROUND_NS: u64 = 1_000;
/// Rounds after which whatever was asked must have come to an end.
const ROUNDS: usize = 1_000;

/// An SMF, by the order in which they were added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmfId(usize);

/// Everything.
pub struct World {
    pub upf: Upf,
    around: Around,
    smfs: Vec<Machine>,
    /// An SMF whose messages the test makes, and what it was sent.
    pub by_hand: Option<(SocketAddr, Vec<Vec<u8>>)>,
    /// Usage that the UPF reported by itself: to which SMF, of which session.
    usage: Vec<(usize, Seid, UrrUsage)>,
    /// Datagrams on the way to the UPF: from, bytes.
    to_upf: VecDeque<(SocketAddr, Vec<u8>)>,
    /// The way between them, where N4 comes by a port.
    pub n4_link: Option<N4Link>,
    /// With one worker: more of them send the same messages.
    judged: Option<Judged>,
    now_ns: u64,
    starts: u32,
}

/// What an SMF sends.
#[derive(Default)]
struct Sent(Vec<Vec<u8>>);

impl Outbox for Sent {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        assert_eq!(to, SocketAddr::from((N4, PORT)));
        self.0.push(bytes.to_vec());
    }
}

impl World {
    pub fn new(workers: usize) -> Self {
        Self::with(workers, |_| {})
    }

    pub fn with(workers: usize, settings: impl FnOnce(&mut sluice_session::Config)) -> Self {
        let upf = Upf::start(workers, settings);
        let around = Around {
            sent: VecDeque::new(),
            pool: upf.pool.clone(),
        };
        let judged = (workers == 1).then(|| Judged::begin(&upf.n3));
        Self {
            judged,
            upf,
            around,
            smfs: Vec::new(),
            by_hand: None,
            usage: Vec::new(),
            to_upf: VecDeque::new(),
            n4_link: None,
            now_ns: 1_000_000_000,
            starts: 0,
        }
    }

    /// The same with N4 on a port of the UPF.
    pub fn with_n4_on_a_port(workers: usize) -> Self {
        let mut world = Self::new(workers);
        world.n4_link = Some(N4Link::new(world.upf.n4.clone()));
        world
    }

    /// An SMF with an association.
    pub fn add_smf(&mut self, dialect: Dialect) -> SmfId {
        let id = SmfId(self.smfs.len());
        let machine = self.machine(dialect, id);
        self.smfs.push(machine);
        self.associate(id);
        id
    }

    /// The SMF comes again and knows nothing of what was before.
    pub fn restart_smf(&mut self, id: SmfId, dialect: Dialect) {
        self.smfs[id.0] = self.machine(dialect, id);
        self.associate(id);
    }

    fn machine(&mut self, dialect: Dialect, id: SmfId) -> Machine {
        self.starts += 1;
        let address = smf_address(id);
        let started = NtpTime(0xe000_0100 + self.starts);
        let config = Config::new(NodeId::v4(address), started);
        let upf = SocketAddr::from((N4, PORT));
        Machine::new(dialect, CpNode::new(address), upf, config)
    }

    fn associate(&mut self, id: SmfId) {
        let done = self.ask(id, |smf, now, out| smf.associate(now, out), |_| {});
        assert!(matches!(done, Ok(Done::Associated(_))), "{done:?}");
    }

    pub fn release(&mut self, id: SmfId) {
        let done = self.ask(id, |smf, now, out| smf.release(now, out), |_| {});
        assert!(matches!(done, Ok(Done::Released)), "{done:?}");
    }

    pub fn establish(&mut self, id: SmfId, plan: SessionPlan) -> Result<Established, SmfError> {
        let done = self.ask(id, |smf, now, out| smf.establish(now, plan, out), |_| {});
        done.map(|done| match done {
            Done::Established(established) => established,
            other => panic!("{other:?}"),
        })
    }

    pub fn change(&mut self, id: SmfId, seid: Seid, change: Change) -> Result<Changed, SmfError> {
        self.change_while(id, seid, change, |_| {})
    }

    /// `each` happens in every round until the SMF has its answer.
    pub fn change_while(
        &mut self,
        id: SmfId,
        seid: Seid,
        change: Change,
        each: impl FnMut(&mut Self),
    ) -> Result<Changed, SmfError> {
        let done = self.ask(id, |smf, now, out| smf.change(now, seid, change, out), each);
        done.map(|done| match done {
            Done::Changed(changed) => changed,
            other => panic!("{other:?}"),
        })
    }

    pub fn delete(&mut self, id: SmfId, seid: Seid) -> Result<Usage, SmfError> {
        let done = self.ask(id, |smf, now, out| smf.delete(now, seid, out), |_| {});
        done.map(|done| match done {
            Done::Deleted(usage) => usage,
            other => panic!("{other:?}"),
        })
    }

    fn ask(
        &mut self,
        id: SmfId,
        ask: impl FnOnce(&mut Machine, Instant, &mut Sent) -> Ticket,
        mut each: impl FnMut(&mut Self),
    ) -> Result<Done, SmfError> {
        let mut sent = Sent::default();
        let ticket = ask(&mut self.smfs[id.0], Instant(self.now_ns), &mut sent);
        self.post(id, sent);
        for _ in 0..ROUNDS {
            if let Some((done, outcome)) = self.smfs[id.0].next_outcome() {
                assert_eq!(done, ticket);
                return outcome;
            }
            each(self);
            self.round();
        }
        panic!("nothing came of it");
    }

    fn post(&mut self, from: SmfId, sent: Sent) {
        let from = SocketAddr::from((smf_address(from), PORT));
        if let Some(judged) = &mut self.judged {
            let to = SocketAddr::from((N4, PORT));
            sent.0.iter().for_each(|m| judged.message(from, to, m));
        }
        self.to_upf
            .extend(sent.0.into_iter().map(|bytes| (from, bytes)));
    }

    /// Sends a message of the SMF that the test speaks for.
    pub fn send_by_hand(&mut self, message: &[u8]) {
        let (from, _) = self.by_hand.as_ref().expect("such an SMF");
        self.to_upf.push_back((*from, message.to_vec()));
    }

    /// What that SMF was sent since the last call.
    pub fn taken_by_hand(&mut self) -> Vec<Vec<u8>> {
        let (_, sent) = self.by_hand.as_mut().expect("such an SMF");
        std::mem::take(sent)
    }

    /// Lets time pass in which nothing happens.
    pub fn wait(&mut self, seconds: u64) {
        self.now_ns += seconds * 1_000_000_000;
    }

    /// Everybody has one turn. Returns how much there was to do.
    pub fn round(&mut self) -> usize {
        self.now_ns += ROUND_NS;
        self.upf.net.advance_to(self.now_ns);
        let time = self.time();
        let mut work = self.to_upf.len();
        for (from, bytes) in std::mem::take(&mut self.to_upf) {
            match &mut self.n4_link {
                Some(link) => link.send(from, &bytes),
                None => self.upf.core.datagram(time, from, &bytes, &mut self.around),
            }
        }
        for worker in &mut self.upf.workers {
            work += worker.turn(self.now_ns);
        }
        work += self.upf.core.turn(time, &mut self.around);
        work + self.deliver_to_smfs()
    }

    fn deliver_to_smfs(&mut self) -> usize {
        let mut datagrams = std::mem::take(&mut self.around.sent);
        if let Some(link) = &mut self.n4_link {
            assert!(datagrams.is_empty(), "answers leave where requests came");
            datagrams.extend(link.take());
        }
        for (to, bytes) in &datagrams {
            if let Some((of, sent)) = &mut self.by_hand
                && of == to
            {
                sent.push(bytes.clone());
                continue;
            }
            let mut all = (0..self.smfs.len()).map(SmfId);
            let id = all
                .find(|id| smf_address(*id) == to.ip())
                .expect("a known SMF");
            let mut sent = Sent::default();
            let upf = SocketAddr::from((N4, PORT));
            if let Some(judged) = &mut self.judged {
                judged.message(upf, *to, bytes);
            }
            self.smfs[id.0].handle(Instant(self.now_ns), upf, bytes, &mut sent);
            self.post(id, sent);
        }
        datagrams.len()
    }

    /// Rounds until nothing happens any more.
    pub fn settle(&mut self) {
        for _ in 0..ROUNDS {
            if self.round() == 0 && self.upf.core.up.under_way() == 0 {
                return;
            }
        }
        panic!("the world does not come to rest");
    }

    /// A packet from the UE by a gNB; it has not been received yet.
    pub fn inject_uplink(
        &mut self,
        gnb: u8,
        to: sluice_smf_emulator::Tunnel,
        qfi: Qfi,
        inner: &[u8],
    ) {
        self.upf.n3.inject(&frames::from_gnb(gnb, to, qfi, inner));
    }

    /// A gNB says that it does not know a tunnel of its own.
    pub fn gnb_forgot(&mut self, gnb: u8, tunnel: sluice_smf_emulator::Tunnel) {
        self.upf.n3.inject(&frames::error_indication(gnb, tunnel));
        self.settle();
    }

    /// What the UPF reported to an SMF by itself, but for usage, which is [kept](Self::usage_by_itself).
    pub fn reports(&mut self, id: SmfId) -> Vec<Report> {
        let mut reports = self.smfs[id.0].take_reports().0;
        reports.retain(|report| {
            let Report::Session(report) = report else {
                return true;
            };
            let usage = report.usage.urrs.iter();
            self.usage
                .extend(usage.map(|urr| (id.0, report.cp_seid, *urr)));
            report.usage.urrs.is_empty()
                || report.is_final
                || !report.error_indications.is_empty()
                || !report.downlink_data.is_empty()
        });
        reports
    }

    /// The usage of a session that the UPF reported by itself since the last call.
    pub fn usage_by_itself(&mut self, id: SmfId, session: Seid) -> Vec<UrrUsage> {
        let others = self.reports(id);
        assert!(others.is_empty(), "nobody looked at {others:?}");
        let of_session =
            |(smf, seid, _): &mut (usize, Seid, UrrUsage)| (*smf, *seid) == (id.0, session);
        let taken = self.usage.extract_if(.., of_session);
        taken.map(|(.., urr)| urr).collect()
    }

    /// A packet from the data network; it has not been received yet.
    pub fn inject_downlink(&mut self, packet: &[u8]) {
        self.upf.n6.inject(&frames::from_network(packet));
    }

    /// What left by N3 since the last call.
    pub fn n3_output(&mut self) -> Vec<N3Frame> {
        let frames = self.upf.n3.take_output();
        frames
            .iter()
            .map(|(_, frame)| frames::read_n3(frame))
            .collect()
    }

    /// The packets that left by N6 since the last call.
    pub fn n6_output(&mut self) -> Vec<Vec<u8>> {
        let frames = self.upf.n6.take_output();
        frames
            .iter()
            .map(|(_, frame)| frames::read_n6(frame))
            .collect()
    }

    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.upf.core.ledger().dropped_for(reason)
    }

    /// Uplink and downlink usage of a session as an operator sees it: octets and packets.
    pub fn seen_by_operator(&mut self, up_seid: Seid) -> [(u64, u64); 2] {
        let (up, _, mut out) = self.upf.core.up_with_sink(&mut self.around);
        assert!(up.query(up_seid.0, 1, &mut out));
        self.settle();
        let view = self.upf.core.up.session(up_seid.0).expect("the session");
        [view.summary.uplink, view.summary.downlink].map(|usage| (usage.bytes, usage.packets))
    }

    /// All log lines so far.
    pub fn notices(&mut self) -> Vec<String> {
        let up = &mut self.upf.core.up;
        std::iter::from_fn(|| up.next_event())
            .map(|n| n.to_string())
            .collect()
    }

    pub fn time(&self) -> Time {
        Time {
            now: Instant(self.now_ns),
            wall: NtpTime(0xe000_1000 + (self.now_ns / 1_000_000_000) as u32),
        }
    }

    /// No session is left, nothing of what sessions take.
    pub fn assert_vacant(&self) {
        let up = &self.upf.core.up;
        assert_eq!(up.session_count(), 0);
        assert_eq!(up.under_way(), 0);
        assert_eq!(up.in_use(), InUse::default());
        assert_eq!(self.upf.core.control.directory.peers().count(), 0);
    }

    /// The books balance and no packet is left over: after every test.
    pub fn close(mut self) {
        self.settle();
        let lost = self.upf.core.lost_frames();
        assert_eq!(lost, 0, "frames of ours without room");
        let before = self.upf.core.ledger();
        assert!(before.balances() && before.held == 0, "{before}");
        for worker in self.upf.workers.drain(..) {
            worker.stop();
        }
        let after = self.upf.core.ledger();
        assert_eq!(before, after, "a stopped worker held something");
        self.upf.n3.untap().unwrap();
        if let Some(judged) = self.judged.take() {
            judged.end();
        }
        drop(self.upf.n3);
        drop(self.upf.n6);
        drop((self.upf.n4, self.n4_link));
        let pool = self.upf.pool;
        assert_eq!(
            (pool.live(), pool.leaked()),
            (0, 0),
            "packets alive, leaked"
        );
    }
}

pub fn smf_address(id: SmfId) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, 20 + id.0 as u8)
}
