//! Measurement before QoS enforcement (MBQE): what gates and bit rates drop is credited to the URRs that ask.

use super::bench::*;
use sluice_datapath::session::txn::{Op, Usage};
use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::group::{CreateUrr, UpdateUrr};
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::*;

/// Takes what was dropped, and says so.
fn taken(bench: &Bench) -> usize {
    let takes = |op: &&Op| matches!(op, Op::TakeDrops { .. });
    bench.ops.iter().filter(takes).count()
}

#[test]
fn what_was_dropped_is_credited_to_urrs_that_measure_before_qos_enforcement() {
    let mut bench = Bench::without_heartbeats();
    let mut request = default_session(UE, 77);
    let before = CreateUrr {
        measurement_information: Some(MeasurementInformation::MBQE),
        ..urr(1)
    };
    for urr in [before, urr(2)] {
        for pdr in &mut request.create_pdr {
            pdr.urr_id.push(urr.urr_id);
        }
        request.create_urr.push(urr);
    }
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    // So much comes back with each operation that takes usage.
    bench.traffic = Usage {
        bytes: 2,
        packets: 1,
    };
    let all = SessionModificationRequest {
        pfcpsmreq_flags: Some(SessionModificationRequestFlags::QAURR),
        ..Default::default()
    };
    bench.ops.clear();
    let reports = bench.modify(CP, done.seid, &all).reports;
    assert_eq!(taken(&bench), 2);
    let octets = reports.iter().map(|r| (r.urr, r.uplink, r.downlink));
    assert_eq!(octets.collect::<Vec<_>>(), [(1, 4, 4), (2, 2, 2)]);
    // From the next message on it counts what passes, with what was dropped until then.
    let mut change = SessionModificationRequest::default();
    change.update_urr.push(UpdateUrr {
        urr_id: UrrId(1),
        measurement_information: Some(Edit::Set(MeasurementInformation::NONE)),
        ..UpdateUrr::default()
    });
    let changed = bench.modify(CP, done.seid, &change);
    assert_eq!(changed.cause, Cause::REQUEST_ACCEPTED);
    bench.ops.clear();
    let (_, last) = bench.delete(CP, done.seid);
    assert_eq!(taken(&bench), 0);
    let octets = last.iter().map(|r| (r.urr, r.uplink, r.downlink));
    assert_eq!(octets.collect::<Vec<_>>(), [(1, 6, 6), (2, 4, 4)]);
    bench.assert_vacant();
}
