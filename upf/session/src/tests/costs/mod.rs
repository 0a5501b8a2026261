//! Costs of session messages. `scripts/n4-instructions.sh` counts the instructions of what is named `counted_`.

mod allocations;
mod shapes;

use super::bench::*;
use crate::Effects;
use allocation_counter::measure;
use arrayvec::ArrayVec;
use core::net::SocketAddr;
use sluice_datapath::session::txn::{Op, Txn, Usage};
use sluice_datapath::session::usage_record::Marks;
use sluice_n4::Outbox;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::{Cause, Full, Header, MessageType, Writer};

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

/// A UP function whose messages cost. Transactions come back at once, without a worker.
struct Costs {
    bench: Bench,
    sink: Sink,
    /// What each operation that takes usage brings back.
    traffic: Usage,
}

impl Costs {
    fn new(mut bench: Bench) -> Self {
        // What is asserted of each message takes some.
        bench.up.node.part.asserts = false;
        Self {
            bench,
            sink: Sink::default(),
            traffic: Usage::default(),
        }
    }

    /// A session with rules of the request. Returns its SEID, and how often memory was taken.
    fn establish(&mut self, request: &SessionEstablishmentRequest<'_>) -> (Seid, u64) {
        let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
        let taken = self.deal(kind, Seid(0), |w| request.emit(w));
        let (_, body) = Header::parse(&self.sink.answer).unwrap();
        let answer = SessionEstablishmentResponse::parse(body).unwrap();
        assert_eq!(answer.cause, Cause::REQUEST_ACCEPTED, "{answer:?}");
        (answer.up_f_seid.unwrap().seid, taken)
    }

    fn modify(&mut self, seid: Seid, change: &SessionModificationRequest<'_>) -> u64 {
        let kind = MessageType::SESSION_MODIFICATION_REQUEST;
        let taken = self.deal(kind, seid, |w| change.emit(w));
        let (_, body) = Header::parse(&self.sink.answer).unwrap();
        let answer = SessionModificationResponse::parse(body).unwrap();
        assert_eq!(answer.cause, Cause::REQUEST_ACCEPTED, "{answer:?}");
        taken
    }

    fn delete(&mut self, seid: Seid) -> u64 {
        let kind = MessageType::SESSION_DELETION_REQUEST;
        let taken = self.deal(kind, seid, |_| Ok(()));
        let (_, body) = Header::parse(&self.sink.answer).unwrap();
        let answer = SessionDeletionResponse::parse(body).unwrap();
        assert_eq!(answer.cause, Cause::REQUEST_ACCEPTED, "{answer:?}");
        taken
    }

    /// Deals with one message, from its datagram to its answer. Returns how often memory was taken.
    fn deal(
        &mut self,
        kind: MessageType,
        seid: Seid,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> u64 {
        let bytes = self.bench.message(kind, Some(seid), write);
        self.sink.answer.clear();
        let mut taken = measure(|| self.counted_request(&bytes)).count_total;
        while let Some(mut txn) = self.sink.txns.pop() {
            self.apply(&mut txn);
            taken += measure(|| self.counted_completion(txn)).count_total;
        }
        taken
    }

    #[inline(never)]
    fn counted_request(&mut self, bytes: &[u8]) {
        let (now, wall) = (self.bench.now(), self.bench.wall());
        let (peer, net) = (SocketAddr::from((CP, 8805)), &mut self.bench.net);
        (self.bench.up).handle(now, wall, peer, bytes, net, &mut self.sink);
    }

    #[inline(never)]
    fn counted_completion(&mut self, txn: Box<Txn>) {
        let (now, wall) = (self.bench.now(), self.bench.wall());
        let net = &mut self.bench.net;
        (self.bench.up).complete(now, wall, txn, net, &mut self.sink);
    }

    /// What a worker brings back of a transaction.
    fn apply(&self, txn: &mut Txn) {
        for op in &txn.ops {
            if op.takes_usage() {
                txn.usage.push(self.traffic);
            } else if matches!(op, Op::Record { .. }) {
                txn.marks.push(Marks::default());
            }
        }
    }
}
