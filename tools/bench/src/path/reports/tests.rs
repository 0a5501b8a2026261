//! Sessions that report all the time, without DPDK and without a clock: they do, all octets are told once, and a
//! report that is missing is found.

use super::ledger::Ledger;
use super::testbed::{Cpus, ReportTestbed};
use super::{cpus, measure};
use crate::measure::Effort;
use crate::path::io::Pool;
use crate::path::rules::{self, Usage};
use crate::path::smf::cp_seid;
use crate::pfcp::load::Wire;
use sluice_port_sim::{HeapPacket, HeapPool};
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::message::SessionReportRequest;
use sluice_wire::pfcp::value::{ReportType, VolumeMeasurement};
use sluice_wire::pfcp::{Header, MessageType, SequenceNumber, write_message};
use std::time::Duration;

const SESSIONS: u32 = 200;

fn fresh(pool: &HeapPool) -> impl FnMut() -> Pool<HeapPacket> {
    move || {
        let pool = pool.clone();
        Box::new(move || pool.alloc())
    }
}

#[test]
fn sessions_report_all_the_time_and_every_octet_once() {
    let pool = HeapPool::default();
    let effort = Effort {
        reps: 2,
        each: Duration::from_millis(40),
    };
    let asked = (SESSIONS, cpus(None).unwrap(), effort);
    let outcome = measure(asked, false, fresh(&pool)).unwrap();
    let number = |key: &str| outcome.json[key].as_u64().unwrap();
    // Each lap begins with twice the threshold of each session.
    let (reports, octets) = (number("reports"), number("octets_reported"));
    assert!(reports >= 3 * u64::from(SESSIONS), "{outcome:?}");
    assert!(octets >= 6 * 1_000 * u64::from(SESSIONS), "{outcome:?}");
    let per_s = outcome.json["reports_per_s_median"].as_f64();
    assert!(per_s > Some(0.0), "{outcome:?}");
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}

#[test]
fn both_threads_may_have_one_cpu() {
    let pool = HeapPool::default();
    let worker = cpus(None).unwrap().worker;
    let cpus = Cpus {
        worker,
        control: worker,
    };
    let mut testbed = ReportTestbed::build(SESSIONS, Usage::Storm, fresh(&pool)).unwrap();
    let spent = testbed.lap(cpus, Duration::from_millis(40)).unwrap();
    assert!(spent.worker.packets > 0.0, "{spent:?}");
    let balance = testbed.close().unwrap();
    assert!(balance.reports >= u64::from(SESSIONS), "{balance:?}");
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}

/// An SMF that answers a report and does not keep it.
#[test]
fn a_report_that_is_left_out_is_found() {
    let pool = HeapPool::default();
    let mut testbed = ReportTestbed::build(SESSIONS, Usage::Storm, fresh(&pool)).unwrap();
    testbed.pass(40 * SESSIONS as usize).unwrap();
    // Towards the next report; it is the last before the end.
    let mut left_out = 0;
    testbed.feed(20 * SESSIONS as usize);
    while left_out == 0 {
        testbed.step().unwrap();
        let wire = &mut testbed.smf().wire;
        let mut answers = Vec::new();
        wire.receive(|bytes| {
            let (header, _) = Header::parse(bytes).unwrap();
            assert_eq!(header.message_type, MessageType::SESSION_REPORT_REQUEST);
            answers.push(header.sequence);
        });
        left_out += answers.len();
        for sequence in answers {
            let mut answer = [0; 64];
            let len = rules::taken(&mut answer, sequence).unwrap();
            assert!(wire.send(&answer[..len]));
        }
    }
    // The next report of such a session has a number too many.
    let why = testbed.pass(0).and_then(|()| testbed.close().map(drop));
    let why = why.unwrap_err();
    assert!(why.contains("UR-SEQN") && why.contains("is next"), "{why}");
}

fn report(index: u32, sequence: u32, ur_seqn: u32, octets: u64) -> Vec<u8> {
    let header = Header::session(
        MessageType::SESSION_REPORT_REQUEST,
        cp_seid(index),
        SequenceNumber::wrapping(sequence),
    );
    let mut request = SessionReportRequest {
        report_type: ReportType::USAR,
        ..SessionReportRequest::default()
    };
    request.usage_report.push(UsageReport {
        ur_seqn,
        volume_measurement: Some(VolumeMeasurement {
            uplink: Some(octets),
            downlink: Some(0),
            ..VolumeMeasurement::default()
        }),
        ..UsageReport::default()
    });
    let mut bytes = [0; 256];
    let len = write_message(&mut bytes, &header, |w| request.emit(w)).unwrap();
    bytes[..len].to_vec()
}

fn take(ledger: &mut Ledger, bytes: &[u8]) -> Result<(), String> {
    let (header, body) = Header::parse(bytes).unwrap();
    ledger.reported(&header, body)
}

#[test]
fn what_is_repeated_counts_once_and_numbers_and_octets_are_compared() {
    let mut ledger = Ledger::new(2);
    take(&mut ledger, &report(0, 7, 0, 1_000)).unwrap();
    take(&mut ledger, &report(0, 7, 0, 1_000)).unwrap();
    take(&mut ledger, &report(1, 8, 0, 5)).unwrap();
    take(&mut ledger, &report(0, 9, 1, 24)).unwrap();
    let balance = ledger.balance([(0, [1_024, 0]), (1, [5, 0])]).unwrap();
    assert_eq!((balance.reports, balance.octets), (3, 1_029));
    let why = ledger.balance([(0, [1_024, 0]), (1, [5, 64])]).unwrap_err();
    assert!(
        why.contains("1 sessions reported") && why.contains("[5, 64]"),
        "{why}"
    );
    // One is missing; one comes twice as another request.
    for ur_seqn in [3, 1] {
        let why = take(&mut ledger, &report(0, 10 + ur_seqn, ur_seqn, 1)).unwrap_err();
        assert!(why.contains("where 2 is next"), "{why}");
    }
    assert!(take(&mut ledger, &report(2, 12, 0, 1)).is_err());
}
