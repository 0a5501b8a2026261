//! Memory that requests take: none, once the first of its kind was dealt with.

use super::bench::*;
use crate::{Effects, UpFunction};
use allocation_counter::measure;
use arrayvec::ArrayVec;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use sluice_datapath::session::txn::{Txn, Usage};
use sluice_n4::Outbox;
use sluice_wire::ids::{PdrId, Seid};
use sluice_wire::pfcp::group::{Pdi, UpdatePdr};
use sluice_wire::pfcp::message::{SessionEstablishmentResponse, SessionModificationRequest};
use sluice_wire::pfcp::value::{SdfFilter, SourceInterface, UeIpAddress};
use sluice_wire::pfcp::{Header, MessageType};

/// Takes what is sent without taking memory.
#[derive(Default)]
struct Sink {
    txns: ArrayVec<Box<Txn>, 4>,
    answer: ArrayVec<u8, 1500>,
}

impl Outbox for Sink {
    fn send(&mut self, _: SocketAddr, bytes: &[u8]) {
        self.answer.clear();
        self.answer.try_extend_from_slice(bytes).expect("short");
    }
}

impl Effects for Sink {
    fn transact(&mut self, txn: Box<Txn>) {
        self.txns.push(txn);
    }
}

/// Deals with one message, the packet path's part included. Returns how often memory was taken.
fn deal(bench: &mut Bench, bytes: &[u8], sink: &mut Sink) -> u64 {
    let (now, wall, peer) = (bench.now(), bench.wall(), SocketAddr::from((CP, 8805)));
    let (up, net): (&mut UpFunction, _) = (&mut bench.up, &mut bench.net);
    let taken = measure(|| {
        up.handle(now, wall, peer, bytes, net, sink);
        while let Some(mut txn) = sink.txns.pop() {
            let takes = txn.ops.iter().filter(|op| op.takes_usage()).count();
            (0..takes).for_each(|_| txn.usage.push(Usage::default()));
            up.complete(now, wall, txn, net, sink);
        }
    });
    taken.count_total
}

fn seid_of(answer: &[u8]) -> Seid {
    let (_, body) = Header::parse(answer).unwrap();
    let answer = SessionEstablishmentResponse::parse(body).unwrap();
    answer.up_f_seid.unwrap().seid
}

/// A session's life: establishment, path switches, deletion.
fn life(bench: &mut Bench, index: u8, sink: &mut Sink) -> u64 {
    let taken = establishment(bench, index, sink);
    let seid = seid_of(&sink.answer);
    let switches = (1..4).map(|teid| path_switch(bench, (seid, index, teid), sink));
    taken + switches.sum::<u64>() + deletion(bench, seid, sink)
}

fn establishment(bench: &mut Bench, index: u8, sink: &mut Sink) -> u64 {
    let mut request = default_session(Ipv4Addr::new(10, 45, 0, index), u64::from(index));
    let kbps = 1000 + 137 * u64::from(index);
    request.create_qer[0] = qer(1, Some((kbps, 2 * kbps + 1)), Some(9));
    let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
    let bytes = bench.message(kind, Some(Seid(0)), |w| request.emit(w));
    deal_with_establishment(bench, &bytes, sink)
}

fn path_switch(bench: &mut Bench, (seid, index, teid): (Seid, u8, u32), sink: &mut Sink) -> u64 {
    let change = super::requests::path_switch(u32::from(index) << 8 | teid);
    let kind = MessageType::SESSION_MODIFICATION_REQUEST;
    let bytes = bench.message(kind, Some(seid), |w| change.emit(w));
    deal_with_path_switch(bench, &bytes, sink)
}

fn deletion(bench: &mut Bench, seid: Seid, sink: &mut Sink) -> u64 {
    let kind = MessageType::SESSION_DELETION_REQUEST;
    let bytes = bench.message(kind, Some(seid), |_| Ok(()));
    deal_with_deletion(bench, &bytes, sink)
}

// What `scripts/n4-instructions.sh` counts, by these names; functions that do the same would become one.

#[inline(never)]
fn deal_with_establishment(bench: &mut Bench, bytes: &[u8], sink: &mut Sink) -> u64 {
    core::hint::black_box(0);
    deal(bench, bytes, sink)
}

#[inline(never)]
fn deal_with_path_switch(bench: &mut Bench, bytes: &[u8], sink: &mut Sink) -> u64 {
    core::hint::black_box(1);
    deal(bench, bytes, sink)
}

#[inline(never)]
fn deal_with_deletion(bench: &mut Bench, bytes: &[u8], sink: &mut Sink) -> u64 {
    core::hint::black_box(2);
    deal(bench, bytes, sink)
}

/// The life of a session of both families with filters of its own in each direction.
fn life_with_filters(bench: &mut Bench, index: u8, sink: &mut Sink) -> u64 {
    let texts =
        [443, 8443].map(|port| format!("permit out 6 from 192.0.2.{index} {port} to assigned"));
    let mut request = default_session(Ipv4Addr::new(10, 45, 0, index), u64::from(index));
    let address = UeIpAddress {
        ipv4: Some(Ipv4Addr::new(10, 45, 0, index)),
        ..UeIpAddress::v6(
            Ipv6Addr::new(0x2001, 0xdb8, 0, index.into(), 0, 0, 0, 1),
            true,
        )
    };
    on_ue(&mut request, address);
    for (pdr, text) in request.create_pdr.iter_mut().zip(&texts) {
        pdr.pdi.sdf_filter.push(SdfFilter::flow(text.as_bytes()));
    }
    let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
    let bytes = bench.message(kind, Some(Seid(0)), |w| request.emit(w));
    let mut taken = deal(bench, &bytes, sink);
    let seid = seid_of(&sink.answer);
    let mut pdi = Pdi {
        source_interface: SourceInterface::ACCESS,
        ..Default::default()
    };
    pdi.sdf_filter
        .push(SdfFilter::flow(b"permit out 17 from any 53 to assigned"));
    let mut change = SessionModificationRequest::default();
    change.update_pdr.push(UpdatePdr {
        pdr_id: PdrId(1),
        pdi: Some(pdi),
        ..Default::default()
    });
    let kind = MessageType::SESSION_MODIFICATION_REQUEST;
    let bytes = bench.message(kind, Some(seid), |w| change.emit(w));
    taken += deal(bench, &bytes, sink);
    taken + deletion(bench, seid, sink)
}

#[test]
fn filters_and_prefixes_take_no_memory_either() {
    let (mut bench, mut sink) = (Bench::new(), Sink::default());
    bench.up.node.sessions.asserts = false;
    life_with_filters(&mut bench, 1, &mut sink);
    for i in 2..100 {
        let taken = life_with_filters(&mut bench, i, &mut sink);
        assert_eq!(taken, 0, "life {i}");
        bench.now_s += 1;
    }
    assert_eq!(bench.up.in_use(), Default::default());
}

#[test]
fn a_message_of_a_known_kind_takes_no_memory() {
    let (mut bench, mut sink) = (Bench::new(), Sink::default());
    // What is asserted of each message takes some.
    bench.up.node.sessions.asserts = false;
    let first = life(&mut bench, 1, &mut sink);
    assert!(first > 0, "the first transaction takes some");
    let lives: u64 = std::env::var("SLUICE_LIVES").map_or(198, |n| n.parse().unwrap());
    for i in 0..lives {
        let taken = life(&mut bench, (i % 250) as u8 + 2, &mut sink);
        assert_eq!(taken, 0, "life {i}");
        // Entries rest before they are used again.
        bench.now_s += 1;
    }
}
