//! Session reports: what is due is told once, in its turn, and until it is taken.

use super::bench::*;
use crate::limits::REPORTS_UNDER_WAY;
use crate::reports::events::SessionEvent;
use core::net::Ipv4Addr;
use sluice_datapath::bells::{Bell, BellCause};
use sluice_datapath::ids::EntryId;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::txn::Op;
use sluice_wire::ids::{FarId, PdrId, Qfi, Seid};
use sluice_wire::pfcp::group::UpdateFar;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, MessageType, write_message};

/// FAR 2 of a default session gets this action.
pub fn acts(action: ApplyAction) -> SessionModificationRequest<'static> {
    let mut change = SessionModificationRequest::default();
    change.update_far.push(UpdateFar {
        far_id: FarId(2),
        apply_action: Some(action),
        ..Default::default()
    });
    change
}

pub fn idle() -> SessionModificationRequest<'static> {
    acts(ApplyAction::BUFF.union(ApplyAction::NOCP))
}

impl Bench {
    /// The entry of the UE's downlink, as it was last written.
    pub fn downlink_entry(&self) -> EntryId {
        let entries = self.ops.iter().rev().filter_map(|op| match op {
            Op::Entry { at, image, .. } => Some((*at, image.head.flags, image.ue_ip)),
            _ => None,
        });
        let mut down = entries.filter(|(_, flags, ue)| !flags.has(Flags::TUNNEL) && *ue != 0);
        down.next().expect("a downlink entry").0
    }

    /// A worker rings for a packet with this DSCP; gives what is sent.
    pub fn ring(&mut self, entry: EntryId, dscp: u8) -> Vec<Vec<u8>> {
        let bell = Bell {
            entry,
            cause: BellCause::DownlinkData { at: None, dscp },
        };
        let (now, wall) = (self.now(), self.wall());
        self.sent_by(|bench| {
            (bench.up).bell(now, wall, &bell, &mut bench.net, &mut bench.out);
        })
    }

    /// The requests that are sent meanwhile.
    pub fn sent_by(&mut self, act: impl FnOnce(&mut Self)) -> Vec<Vec<u8>> {
        self.out.datagrams.clear();
        act(self);
        self.spoken.extend(self.out.datagrams.iter().cloned());
        let all = self.out.datagrams.iter().map(|(_, bytes)| bytes.clone());
        let is_report = |bytes: &Vec<u8>| {
            let kind = Header::parse(bytes).unwrap().0.message_type;
            kind == MessageType::SESSION_REPORT_REQUEST
        };
        all.filter(is_report).collect()
    }

    /// The CP function answers a report; gives what is sent then.
    pub fn answer(&mut self, report: &[u8], response: &SessionReportResponse) -> Vec<Vec<u8>> {
        let (header, _) = Header::parse(report).unwrap();
        let header = Header {
            message_type: MessageType::SESSION_REPORT_RESPONSE,
            seid: Some(Seid(0)),
            ..header
        };
        let mut bytes = vec![0; 400];
        let len = write_message(&mut bytes, &header, |w| response.emit(w)).unwrap();
        self.sent_by(|bench| {
            bench.put(CP, &bytes[..len]);
            bench.settle();
        })
    }

    pub fn error_indication(&mut self, teid: u32) -> Vec<Vec<u8>> {
        let (now, wall) = (self.now(), self.wall());
        self.sent_by(|bench| {
            (bench.up).error_indication(now, wall, GNB.into(), teid, &mut bench.out)
        })
    }

    /// So much time passes; gives the reports that are sent.
    pub fn passes(&mut self, seconds: u64) -> Vec<Vec<u8>> {
        self.now_s += seconds;
        self.sent_by(Self::tick)
    }
}

pub fn with(cause: Cause) -> SessionReportResponse {
    SessionReportResponse {
        cause,
        ..Default::default()
    }
}

pub fn read(report: &[u8]) -> (Option<Seid>, SessionReportRequest<'_>) {
    let (header, body) = Header::parse(report).unwrap();
    (header.seid, SessionReportRequest::parse(body).unwrap())
}

fn kinds(reports: &[Vec<u8>]) -> Vec<ReportType> {
    reports.iter().map(|r| read(r).1.report_type).collect()
}

/// An idle session; gives its SEID and its downlink entry.
fn idle_session(bench: &mut Bench) -> (Seid, EntryId) {
    let seid = bench.establish(CP, &default_session(UE, 77)).seid;
    assert_eq!(
        bench.modify(CP, seid, &idle()).cause,
        Cause::REQUEST_ACCEPTED
    );
    (seid, bench.downlink_entry())
}

#[test]
fn the_first_packet_of_an_idle_ue_is_reported_once_until_the_far_is_updated() {
    let mut bench = Bench::new();
    let (seid, entry) = idle_session(&mut bench);
    let sent = bench.ring(entry, 46);
    assert_eq!(sent.len(), 1);
    let (to, report) = read(&sent[0]);
    assert_eq!((to, report.report_type), (Some(Seid(77)), ReportType::DLDR));
    let data = report.downlink_data_report.unwrap();
    assert_eq!(&data.pdr_id[..], [PdrId(2)]);
    let information = DownlinkDataServiceInformation {
        paging_policy_indication: Some(46),
        qfi: Qfi::new(9),
    };
    assert_eq!(&data.downlink_data_service_information[..], [information]);
    assert!(bench.ring(entry, 46).is_empty(), "one flow, one report");
    assert!(
        bench
            .answer(&sent[0], &with(Cause::REQUEST_ACCEPTED))
            .is_empty()
    );
    assert!(bench.ring(entry, 0).is_empty(), "also when it is answered");
    // Updated, though nothing changes: the mark on the path is set again.
    bench.ops.clear();
    bench.modify(CP, seid, &idle());
    let notifies = |op: &Op| matches!(op, Op::Entry { image, .. } if image.head.notifies());
    assert!(bench.ops.iter().any(notifies), "{:?}", bench.ops);
    assert_eq!(bench.ring(entry, 0).len(), 1);
    // Without NOCP, and when the UE is back, nobody wants to know.
    bench.modify(CP, seid, &acts(ApplyAction::BUFF));
    assert!(bench.ring(entry, 0).is_empty());
    bench.modify(CP, seid, &acts(ApplyAction::FORW));
    assert!(bench.ring(entry, 0).is_empty());
    assert_eq!(bench.up.reports().paging_answered, 0, "it was not paged");
    bench.modify(CP, seid, &idle());
    bench.ring(entry, 0);
    bench.modify(CP, seid, &acts(ApplyAction::FORW));
    bench.modify(CP, seid, &acts(ApplyAction::FORW));
    assert_eq!(bench.up.reports().paging_answered, 1, "once");
    bench.assert_well_spoken();
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn what_is_due_meanwhile_goes_with_the_next_report() {
    let mut bench = Bench::new();
    let (seid, entry) = idle_session(&mut bench);
    let first = bench.error_indication(0xd007);
    assert_eq!(kinds(&first), [ReportType::ERIR]);
    assert!(bench.ring(entry, 0).is_empty(), "one request at a time");
    let second = bench.answer(&first[0], &with(Cause::REQUEST_ACCEPTED));
    assert_eq!(kinds(&second), [ReportType::DLDR]);
    bench.answer(&second[0], &with(Cause::REQUEST_ACCEPTED));
    // Of a report that is not answered and what comes on top one is made.
    bench.modify(CP, seid, &idle());
    let third = bench.ring(entry, 0);
    bench.modify(CP, seid, &path_switch(0xd008));
    bench.modify(CP, seid, &idle());
    assert!(bench.error_indication(0xd008).is_empty());
    assert!(bench.ring(entry, 8).is_empty());
    let last = bench.answer(&third[0], &with(Cause::REQUEST_ACCEPTED));
    assert_eq!(kinds(&last), [ReportType::DLDR.union(ReportType::ERIR)]);
    assert_eq!(bench.up.reports().pending, 1);
    bench.answer(&last[0], &with(Cause::REQUEST_REJECTED));
    assert_eq!(bench.up.reports().pending, 0, "a refusal stands");
    assert_eq!(kinds(&bench.error_indication(0xd008)), [ReportType::ERIR]);
    bench.assert_well_spoken();
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn a_report_is_made_again_until_it_is_taken() {
    let mut bench = Bench::new();
    let (seid, entry) = idle_session(&mut bench);
    let first = bench.ring(entry, 0);
    assert_eq!(first.len(), 1);
    // The CP function is away: requests and heartbeats are not answered.
    let mut again = Vec::new();
    let mut is_lost = false;
    for _ in 0..600 {
        again.extend(bench.passes(1));
        while let Some(event) = bench.up.next_event() {
            is_lost |= matches!(event, SessionEvent::Lost(..));
        }
    }
    assert!(is_lost && again.len() > 2, "{}", again.len());
    assert!(bench.passes(60).is_empty(), "nobody is there to be told");
    assert_eq!(bench.up.reports().pending, 1);
    // It answers the next heartbeat.
    let heartbeat = loop {
        bench.passes(1);
        let mut sent = bench.out.datagrams.iter().map(|(_, bytes)| bytes);
        let heartbeat = sent.find(|bytes| {
            Header::parse(bytes).unwrap().0.message_type == MessageType::HEARTBEAT_REQUEST
        });
        if let Some(heartbeat) = heartbeat {
            break heartbeat.clone();
        }
    };
    let header = Header {
        message_type: MessageType::HEARTBEAT_RESPONSE,
        ..Header::parse(&heartbeat).unwrap().0
    };
    let response = HeartbeatResponse {
        recovery_time_stamp: NtpTime(7),
    };
    let mut bytes = vec![0; 100];
    let len = write_message(&mut bytes, &header, |w| response.emit(w)).unwrap();
    let told = bench.sent_by(|bench| bench.put(CP, &bytes[..len]));
    assert_eq!(
        kinds(&told),
        [ReportType::DLDR],
        "it is told when it is back"
    );
    bench.answer(&told[0], &with(Cause::REQUEST_ACCEPTED));
    assert_eq!(bench.up.reports().pending, 0);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn a_session_that_its_cp_function_knows_no_more_ends_with_the_third_answer() {
    let mut bench = Bench::new();
    let (_, entry) = idle_session(&mut bench);
    let mut report = bench.ring(entry, 0);
    for _ in 0..2 {
        let unknown = with(Cause::SESSION_CONTEXT_NOT_FOUND);
        assert!(bench.answer(&report[0], &unknown).is_empty(), "a moment");
        assert_eq!(bench.up.session_count(), 1);
        report = bench.passes(1);
        assert_eq!(kinds(&report), [ReportType::DLDR]);
    }
    bench.answer(&report[0], &with(Cause::SESSION_CONTEXT_NOT_FOUND));
    assert_eq!(bench.up.session_count(), 0);
    assert_eq!(bench.up.reports().pending, 0);
    bench.assert_vacant();
}

/// A CP function that was restarted answers so until its Association Setup is through; the endpoint's heartbeat is no report.
#[test]
fn a_report_that_meets_no_association_yet_is_due_again_a_few_times() {
    let reports = |sent: Vec<Vec<u8>>| -> Vec<Vec<u8>> {
        let is_report = |message: &Vec<u8>| {
            let (header, _) = Header::parse(message).unwrap();
            header.message_type == MessageType::SESSION_REPORT_REQUEST
        };
        sent.into_iter().filter(is_report).collect()
    };
    let refusal = with(Cause::NO_ESTABLISHED_PFCP_ASSOCIATION);
    let mut bench = Bench::new();
    let (_, entry) = idle_session(&mut bench);
    let mut report = bench.ring(entry, 0);
    for _ in 0..2 {
        assert!(reports(bench.answer(&report[0], &refusal)).is_empty());
        report = reports(bench.passes(1));
        assert_eq!(kinds(&report), [ReportType::DLDR]);
    }
    bench.answer(&report[0], &refusal);
    assert!(reports(bench.passes(1)).is_empty(), "given up");
    assert_eq!(bench.up.reports().pending, 0);
    assert_eq!(bench.up.session_count(), 1);
}

#[test]
fn sessions_report_in_their_turn_and_so_many_at_a_time() {
    let mut bench = Bench::new();
    let many = REPORTS_UNDER_WAY as u8 + 10;
    let mut sessions = Vec::new();
    for n in 1..=many {
        let ue = Ipv4Addr::new(10, 45, 0, n);
        let seid = bench.establish(CP, &default_session(ue, n.into())).seid;
        bench.modify(CP, seid, &idle());
        sessions.push((seid, bench.downlink_entry()));
    }
    let mut under_way = Vec::new();
    for (_, entry) in &sessions {
        under_way.extend(bench.ring(*entry, 0));
    }
    assert_eq!(under_way.len(), REPORTS_UNDER_WAY);
    let counters = bench.up.reports();
    assert_eq!(
        (counters.pending, counters.under_way),
        (many.into(), REPORTS_UNDER_WAY)
    );
    // One of those that wait ends, another one's UE comes back.
    let (gone, back) = (sessions[many as usize - 1].0, sessions[many as usize - 2].0);
    bench.delete(CP, gone);
    bench.modify(CP, back, &acts(ApplyAction::FORW));
    let mut told: Vec<_> = under_way.iter().map(|r| read(r).0.unwrap().0).collect();
    while let Some(report) = under_way.pop() {
        let next = bench.answer(&report, &with(Cause::REQUEST_ACCEPTED));
        told.extend(next.iter().map(|r| read(r).0.unwrap().0));
        under_way.extend(next);
    }
    let expected: Vec<u64> = (1..=u64::from(many) - 2).collect();
    assert_eq!(told, expected);
    assert_eq!(bench.up.reports().pending, 0);
    assert_eq!(bench.up.reports().answered, u64::from(many) - 2);
}

#[test]
fn a_bell_of_no_session_says_nothing() {
    let mut bench = Bench::new();
    let (seid, entry) = idle_session(&mut bench);
    assert!(bench.ring(EntryId(entry.0 ^ 1), 0).is_empty());
    assert!(bench.ring(EntryId(u32::MAX), 0).is_empty());
    bench.delete(CP, seid);
    assert!(bench.ring(entry, 0).is_empty());
    // Another one that does not report has the entry now.
    let seid = bench.establish(CP, &default_session(UE, 78)).seid;
    assert!(bench.ring(entry, 0).is_empty());
    bench.delete(CP, seid);
    bench.assert_vacant();
}
