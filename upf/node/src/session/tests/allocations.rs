//! Messages whose form is known take no memory.

use super::bench::*;
use super::learned::handover;
use crate::session::{Effects, UpFunction};
use allocation_counter::measure;
use arrayvec::ArrayVec;
use core::net::{Ipv4Addr, SocketAddr};
use sluice_n4::Outbox;
use sluice_path::txn::{Txn, Usage};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::message::SessionEstablishmentResponse;
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
    let request = default_session(Ipv4Addr::new(10, 45, 0, index), u64::from(index));
    let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
    let bytes = bench.message(kind, Some(Seid(0)), |w| request.emit(w));
    let mut taken = deal(bench, &bytes, sink);
    let seid = seid_of(&sink.answer);
    for teid in 1..4 {
        let change = handover(u32::from(index) << 8 | teid);
        let kind = MessageType::SESSION_MODIFICATION_REQUEST;
        let bytes = bench.message(kind, Some(seid), |w| change.emit(w));
        taken += deal(bench, &bytes, sink);
    }
    let kind = MessageType::SESSION_DELETION_REQUEST;
    let bytes = bench.message(kind, Some(seid), |_| Ok(()));
    taken + deal(bench, &bytes, sink)
}

#[test]
fn a_message_whose_form_was_learned_takes_no_memory() {
    let (mut bench, mut sink) = (Bench::new(), Sink::default());
    let first = life(&mut bench, 1, &mut sink);
    assert!(first > 0, "learning takes some");
    let replayed = bench.up.learned().replayed;
    let taken: Vec<u64> = (2..200).map(|i| life(&mut bench, i, &mut sink)).collect();
    assert_eq!(bench.up.learned().replayed - replayed, 198 * 5);
    assert_eq!(
        taken.iter().filter(|n| **n > 0).collect::<Vec<_>>(),
        [&0; 0]
    );
}
