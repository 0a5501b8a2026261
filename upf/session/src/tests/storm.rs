//! Storm of usage reports in virtual time: every session reports every ten seconds and after each 1,000 octets
//! (free5GC's default), and its CP function takes fewer reports than become due.
//!
//! The path is a table of octets here: what happens to packets is tested elsewhere. `cargo test -p sluice-session
//! --release -- --ignored million` has as many sessions as a UPF.

use super::bench::{CP, N4, Out, TestNet, default_session, urr};
use crate::limits::REPORTS_UNDER_WAY;
use crate::{Config, UpFunction};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use sluice_datapath::bells::{Bell, BellCause};
use sluice_datapath::builder::{Plan, assemble};
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::layout::{InstanceId, Layout, Pool};
use sluice_datapath::session::txn::{Op, Txn, Usage};
use sluice_datapath::session::usage_record::{Marks, UrrState};
use sluice_n4::{Instant, NodeId};
use sluice_port_sim::HeapPacket;
use sluice_wire::ids::{Seid, UrrId};
use sluice_wire::pfcp::group::CreateUrr;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Full, Header, MessageType, SequenceNumber, Writer, write_message};
use std::collections::{HashMap, VecDeque};

/// The first UE's address; the others follow.
const FIRST_UE: u32 = 0x0a40_0000;
const THRESHOLD: u64 = 1_000;
const PERIOD_S: u32 = 10;

/// A session as path and CP function know it.
#[derive(Clone, Default)]
struct Known {
    entries: [u32; 2],
    /// Octets of both directions since usage was taken.
    left: [u64; 2],
    packets: [u64; 2],
    /// The same since the threshold began.
    towards: [u64; 2],
    rang: bool,
    sent: [u64; 2],
    /// What was reported.
    told: [u64; 2],
    reports: u32,
}

struct Storm {
    up: UpFunction,
    net: TestNet,
    out: Out,
    now_s: u64,
    sequence: u32,
    sessions: Vec<Known>,
    /// By entry: its session, and whether it is the downlink's.
    of_entry: HashMap<u32, (usize, usize)>,
    of_cell: HashMap<u32, usize>,
    /// Requests that the CP function has not answered, in the order in which they came.
    unanswered: VecDeque<SequenceNumber>,
    /// Requests that came again before they were answered.
    retransmissions: u64,
    /// Messages, and reports of URRs in them.
    messages: u64,
    most_pending: usize,
}

impl Storm {
    fn new(sessions: usize) -> Self {
        let places = (sessions as u32).next_power_of_two().max(4 * SHARDS);
        let pool = Pool {
            instance: InstanceId(1),
            base: Ipv4Addr::from(FIRST_UE),
            prefix_len: 11,
        };
        let layout = Layout::new(2 * places, &[pool], 2 * SHARDS).unwrap();
        let plan = Plan {
            layout: layout.clone(),
            blocks: SHARDS,
            workers: 1,
        };
        let (_, _, foreign) = assemble::<HeapPacket>(&plan).unwrap();
        let mut config = Config::new(layout, SHARDS, N4, [1, 2]);
        config.sessions = sessions;
        let mut n4 = sluice_n4::Config::new(NodeId::v4(N4), NtpTime(1000));
        n4.heartbeat_interval_ms = 0;
        let mut storm = Self {
            up: UpFunction::new(config, n4, foreign),
            net: TestNet::default(),
            out: Out::default(),
            now_s: 1_000,
            sequence: 0,
            sessions: vec![Known::default(); sessions],
            of_entry: HashMap::new(),
            of_cell: HashMap::new(),
            unanswered: VecDeque::new(),
            retransmissions: 0,
            messages: 0,
            most_pending: 0,
        };
        storm.up.node.part.asserts = false;
        let cp = NodeId::v4(CP);
        let setup = AssociationSetupRequest {
            node_id: cp.as_wire(),
            recovery_time_stamp: NtpTime(7),
            ..Default::default()
        };
        storm.ask(MessageType::ASSOCIATION_SETUP_REQUEST, None, |w| {
            setup.emit(w)
        });
        for n in 0..sessions {
            storm.establish(n);
        }
        storm
    }

    fn when(&self) -> (Instant, NtpTime) {
        let now = Instant(self.now_s * 1_000_000_000);
        (now, NtpTime(self.now_s as u32))
    }

    fn ask(
        &mut self,
        kind: MessageType,
        seid: Option<Seid>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) {
        self.sequence += 1;
        self.say(kind, seid, SequenceNumber::wrapping(self.sequence), write);
    }

    fn say(
        &mut self,
        message_type: MessageType,
        seid: Option<Seid>,
        sequence: SequenceNumber,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) {
        let header = Header {
            message_type,
            seid,
            sequence,
            priority: None,
        };
        let mut bytes = [0; 4_096];
        let len = write_message(&mut bytes, &header, write).unwrap();
        let ((now, wall), peer) = (self.when(), SocketAddr::new(IpAddr::V4(CP), 8805));
        self.up
            .handle(now, wall, peer, &bytes[..len], &mut self.net, &mut self.out);
        self.pump();
    }

    fn establish(&mut self, n: usize) {
        let ue = Ipv4Addr::from(FIRST_UE + n as u32);
        let mut request = default_session(ue, n as u64 + 1);
        for pdr in &mut request.create_pdr {
            pdr.urr_id.push(UrrId(1));
        }
        request.create_urr.push(CreateUrr {
            reporting_triggers: ReportingTriggers::PERIO | ReportingTriggers::VOLTH,
            measurement_period: Some(Seconds(PERIOD_S)),
            volume_threshold: Some(Volume {
                uplink: Some(THRESHOLD),
                downlink: Some(THRESHOLD),
                total: None,
            }),
            ..urr(1)
        });
        let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
        self.ask(kind, Some(Seid(0)), |w| request.emit(w));
        assert_eq!(self.up.session_count(), n + 1);
    }

    /// What the path does until nothing is left to do.
    fn pump(&mut self) {
        while !self.out.txns.is_empty() {
            for mut txn in std::mem::take(&mut self.out.txns) {
                self.apply(&mut txn);
                let (now, wall) = self.when();
                (self.up).complete(now, wall, txn, &mut self.net, &mut self.out);
            }
        }
        for (_, bytes) in std::mem::take(&mut self.out.datagrams) {
            self.arrived(&bytes);
        }
        let reports = self.up.reports();
        assert!(reports.under_way <= REPORTS_UNDER_WAY);
        assert!(self.up.node.part.resources.sent.used() <= REPORTS_UNDER_WAY);
        self.most_pending = self.most_pending.max(reports.pending);
    }

    fn apply(&mut self, txn: &mut Txn) {
        for op in &txn.ops {
            if let Op::Entry { at, image, .. } = op {
                let n = (image.ue_ip - FIRST_UE) as usize;
                let direction = usize::from(image.key == image.ue_ip);
                self.of_entry.insert(at.0, (n, direction));
                self.sessions[n].entries[direction] = at.0;
            }
            match op {
                Op::Entry { at, .. } | Op::TakeEntry { at } => {
                    let (n, direction) = self.of_entry[&at.0];
                    let known = &mut self.sessions[n];
                    let bytes = std::mem::take(&mut known.left[direction]);
                    let packets = std::mem::take(&mut known.packets[direction]);
                    txn.usage.push(Usage { bytes, packets });
                }
                Op::RecordOf { entry, record } => {
                    let (n, _) = self.of_entry[&entry.0];
                    self.of_cell.insert(record.0, n);
                }
                Op::Record { at, .. } => {
                    let n = self.of_cell[&at.0];
                    let known = &mut self.sessions[n];
                    let is_reached = known.towards.iter().any(|octets| *octets >= THRESHOLD);
                    // Where neither that nor a period is told the threshold goes on; here one of them always is.
                    (known.towards, known.rang) = ([0; 2], false);
                    txn.marks.push(Marks {
                        state: if is_reached {
                            UrrState::THRESHOLD
                        } else {
                            UrrState::default()
                        },
                        ..Marks::default()
                    });
                }
                _ => {}
            }
        }
    }

    /// The CP function has a message. Usage counts when it comes, its answer waits; a request that comes again
    /// meanwhile has the sequence number of the first (TS 29.244, 6.4) and counts once.
    fn arrived(&mut self, bytes: &[u8]) {
        let (header, body) = Header::parse(bytes).unwrap();
        if header.message_type != MessageType::SESSION_REPORT_REQUEST {
            return;
        }
        if self.unanswered.contains(&header.sequence) {
            self.retransmissions += 1;
            return;
        }
        let request = SessionReportRequest::parse(body).unwrap();
        let known = &mut self.sessions[header.seid.unwrap().0 as usize - 1];
        assert_eq!(request.usage_report.len(), 1);
        for report in &request.usage_report {
            assert_eq!(report.ur_seqn, known.reports, "numbers are dense");
            known.reports += 1;
            let volume = report.volume_measurement.unwrap();
            let told = [volume.uplink.unwrap(), volume.downlink.unwrap()];
            (0..2).for_each(|at| known.told[at] += told[at]);
        }
        self.messages += 1;
        self.unanswered.push_back(header.sequence);
    }

    fn packet(&mut self, n: usize, direction: usize, octets: u64) {
        let known = &mut self.sessions[n];
        known.left[direction] += octets;
        known.packets[direction] += 1;
        known.towards[direction] += octets;
        known.sent[direction] += octets;
        if known.towards[direction] >= THRESHOLD && !std::mem::replace(&mut known.rang, true) {
            let bell = Bell {
                entry: EntryId(known.entries[direction]),
                cause: BellCause::Usage,
            };
            let (now, wall) = self.when();
            (self.up).bell(now, wall, &bell, &mut self.net, &mut self.out);
            self.pump();
        }
    }

    /// A second passes; the CP function answers so many reports.
    fn second(&mut self, answers: usize) {
        self.now_s += 1;
        let (now, wall) = self.when();
        self.up.tick(now, wall, &mut self.net, &mut self.out);
        self.pump();
        for _ in 0..answers {
            let Some(sequence) = self.unanswered.pop_front() else {
                return;
            };
            let response = SessionReportResponse {
                cause: Cause::REQUEST_ACCEPTED,
                ..Default::default()
            };
            let kind = MessageType::SESSION_REPORT_RESPONSE;
            self.say(kind, Some(Seid(0)), sequence, |w| response.emit(w));
        }
    }
}

fn storm(sessions: usize) {
    let mut storm = Storm::new(sessions);
    let first = |known: &Known| known.sent.iter().sum::<u64>();
    let mut lots = 7u64;
    for second in 0..30 {
        // A third of all sessions has a packet of 40 to 1,500 octets in each second.
        for n in (second % 3..sessions).step_by(3) {
            lots = lots.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let octets = 40 + (lots >> 33) % 1_461;
            storm.packet(n, (lots >> 60) as usize % 2, octets);
        }
        // Fewer than become due.
        storm.second(sessions / 20);
    }
    assert!(
        storm.retransmissions > 0,
        "a slow CP function is asked again"
    );
    let due = storm.most_pending;
    assert!(
        due > sessions / 2,
        "{due} sessions had something to report at most"
    );
    assert!(due <= sessions, "each waits once");
    let before = storm.messages;
    for _ in 0..=PERIOD_S {
        storm.second(usize::MAX);
    }
    let (messages, rest) = (storm.messages, storm.messages - before);
    println!(
        "{sessions} sessions: {messages} reports, {rest} of them at the end; {due} pending at most"
    );
    for known in &storm.sessions {
        assert_eq!(
            known.told, known.sent,
            "no octet is lost, and none told twice"
        );
    }
    assert!(storm.sessions.iter().map(first).sum::<u64>() > 2_000 * sessions as u64);
    // Of each session at most what a slow CP function takes, and not one for each threshold.
    assert!(messages < 6 * sessions as u64, "{messages}");
    let reports = storm.up.reports();
    assert_eq!((reports.under_way, storm.unanswered.len()), (0, 0));
}

#[test]
fn storms_lose_no_octet_and_number_reports_without_a_gap() {
    storm(20_000);
}

#[test]
#[ignore = "a million sessions take minutes"]
fn storms_of_a_million_sessions_lose_no_octet_and_number_reports_without_a_gap() {
    storm(1_000_000);
}
