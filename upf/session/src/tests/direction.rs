//! Which way packets go, by Source and Destination Interface, and what follows from it.

use super::bench::*;
use core::net::Ipv4Addr;
use sluice_datapath::ids::EntryId;
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::txn::{Clock, Op, Usage};
use sluice_wire::ids::{FarId, PdrId, QerId, UrrId};
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::group::{RemovePdr, UpdateFar, UpdatePdr};
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::*;

type Change = SessionModificationRequest<'static>;

/// The entries that were written, and where their buckets go on from.
fn written(bench: &mut Bench) -> Vec<(EntryId, SessionEntry, [Clock; 2])> {
    let ops = std::mem::take(&mut bench.ops);
    let entries = ops.iter().filter_map(|op| match op {
        Op::Entry { at, image, clocks } => Some((*at, *image, *clocks)),
        _ => None,
    });
    entries.collect()
}

/// Indirect forwarding: PDR 3 from the source gNB, FAR 3 to the target gNB.
fn forwarding() -> Change {
    let mut change = Change::default();
    let mut pdr = uplink_pdr(3, 3);
    pdr.qer_id.push(QerId(1));
    pdr.urr_id.push(UrrId(1));
    change.create_pdr.push(pdr);
    change.create_far.push(to_gnb(3, 0xeeee));
    change.create_urr.push(urr(1));
    change
}

#[test]
fn data_forwarded_from_gnb_to_gnb_is_downlink_and_checked_at_either_end() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &default_session(UE, 1)).seid;
    bench.ops.clear();
    let done = bench.modify(CP, seid, &forwarding());
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let entries = written(&mut bench);
    let teids = |l: &&(EntryId, SessionEntry, _)| l.1.head.teid == 0xeeee;
    // QER 1's downlink rate is now shared with the session's downlink, so the rule is in a block.
    assert!(!entries.iter().any(|l| teids(&l)));
    let (_, entry, _) = entries
        .iter()
        .find(|l| l.1.head.flags.has(Flags::FROM_UE))
        .unwrap();
    let flags = entry.head.flags;
    assert!(flags.has(Flags::TO_UE) && flags.has(Flags::EXTENDED));
    assert!(!flags.has(Flags::UPLINK));
    assert_eq!(entry.ue_ip, u32::from(UE));
    bench.traffic = Usage {
        bytes: 100,
        packets: 1,
    };
    let (_, reports) = bench.delete(CP, seid);
    assert_eq!((reports[0].uplink, reports[0].downlink), (0, 100));
    bench.assert_vacant();
}

#[test]
fn an_uplink_tunnel_checks_the_source_alone_and_n9_from_the_core_the_destination() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let n9 = &mut request.create_pdr[1];
    n9.pdi.network_instance = None;
    n9.pdi.local_f_teid = Some(FTeid::Choose {
        ipv4: true,
        ipv6: false,
        choose_id: None,
    });
    n9.outer_header_removal = Some(OuterHeaderRemoval::GTPU_UDP_IP);
    assert_eq!(bench.establish(CP, &request).cause, Cause::REQUEST_ACCEPTED);
    let entries = written(&mut bench);
    let ends = |l: &(EntryId, SessionEntry, _)| {
        let flags = l.1.head.flags;
        (flags.has(Flags::FROM_UE), flags.has(Flags::TO_UE))
    };
    let up = entries.iter().find(|l| l.1.head.flags.has(Flags::UPLINK));
    let down = entries.iter().find(|l| !l.1.head.flags.has(Flags::UPLINK));
    assert_eq!(ends(up.unwrap()), (true, false));
    assert_eq!(ends(down.unwrap()), (false, true));
    assert_eq!(
        down.unwrap().1.local(),
        1,
        "the F-TEID is at the N9 address"
    );
}

#[test]
fn a_far_that_turns_round_turns_the_direction() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &default_session(UE, 1)).seid;
    bench.ops.clear();
    let mut change = Change::default();
    change.update_pdr.push(UpdatePdr {
        pdr_id: PdrId(1),
        far_id: Some(Edit::Set(FarId(2))),
        ..Default::default()
    });
    bench.modify(CP, seid, &change);
    let gates = bench
        .ops
        .iter()
        .filter(|op| matches!(op, Op::Bucket { .. }));
    assert_eq!(gates.count(), 1, "both PDRs draw on the downlink rate");
    bench.delete(CP, seid);
    bench.assert_vacant();
}

/// PDR 3 draws on QER 1 like PDR 2, so its downlink bucket has to be shared.
fn shares(ue: Ipv4Addr) -> Change {
    let mut change = Change::default();
    let mut pdr = downlink_pdr(3, 2, ue);
    pdr.qer_id.push(QerId(1));
    change.create_pdr.push(pdr);
    change
}

#[test]
fn a_bucket_stays_as_full_as_it_is_when_it_moves_to_a_block_and_back() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &default_session(UE, 1)).seid;
    let down = written(&mut bench);
    let down = down.iter().find(|l| l.1.key == u32::from(UE)).unwrap().0;
    bench.modify(CP, seid, &shares(UE));
    let moved = bench.ops.iter().find_map(|op| match op {
        Op::Bucket { at, clock, .. } => Some((*at, *clock)),
        _ => None,
    });
    let (bucket, clock) = moved.expect("a shared bucket");
    assert_eq!(clock, Clock::Entry(down.0, 0));
    bench.ops.clear();
    let mut change = Change::default();
    change.remove_pdr.push(RemovePdr { pdr_id: PdrId(3) });
    bench.modify(CP, seid, &change);
    let entries = written(&mut bench);
    let back = entries.iter().find(|l| l.0 == down).unwrap();
    assert_eq!(back.2, [Clock::Shared(bucket), Clock::Full]);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn a_qer_of_the_same_name_that_replaces_another_begins_full() {
    use sluice_wire::pfcp::group::RemoveQer;
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &default_session(UE, 1)).seid;
    bench.ops.clear();
    let mut change = Change::default();
    change.remove_qer.push(RemoveQer { qer_id: QerId(1) });
    change
        .create_qer
        .push(qer(1, Some((10_000, 20_000)), Some(9)));
    assert_eq!(
        bench.modify(CP, seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
    let entries = written(&mut bench);
    assert_eq!(entries.len(), 2, "both directions begin anew");
    assert!(entries.iter().all(|l| l.2 == [Clock::Full; 2]));
    // From the next message on it is as old as any.
    let mut change = Change::default();
    change.update_far.push(UpdateFar {
        far_id: FarId(2),
        apply_action: Some(ApplyAction::DROP),
        ..Default::default()
    });
    bench.modify(CP, seid, &change);
    let entries = written(&mut bench);
    assert_eq!(entries[0].2, [Clock::Entry(entries[0].0.0, 0), Clock::Full]);
}
