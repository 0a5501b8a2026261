//! Transactions to the packet path, and their completion: usage, peers, response.

use crate::compile::diff::Delta;
use crate::network::Network;
use crate::node::{Effects, Moment, Node, Part};
use crate::pending::{Answer, Launch, Pending};
use crate::procedure::{association_release, deletion, establishment, measurement, modification};
use crate::reports::events::SessionEvent;
use crate::store::SessionRef;
use crate::usage;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::session::txn::{Txn, Usage};
use sluice_datapath::session::usage_record::Marks;
use sluice_wire::ids::Seid;

/// Sends a transaction to the path; what changes nothing there is finished at once, unless it gives filters
/// back: one before it may still be about to take their last rule away.
pub fn launch<N: Network, E: Effects>(
    node: &mut Node,
    at: Moment,
    launch: Launch,
    net: &mut N,
    out: &mut E,
) {
    let Launch { mut txn, record } = launch;
    let pending = &mut node.part.pending;
    let changes_nothing = txn.ops.is_empty() && txn.end_markers.is_empty();
    if changes_nothing && record.filter_runs.is_empty() {
        pending.recycle_txn(txn);
        return finish(node, at, record, (&[], &[]), net, out);
    }
    pending.keep(record, &mut txn);
    out.transact(txn);
}

/// A transaction came back from the path.
pub fn complete<N: Network, E: Effects>(
    node: &mut Node,
    at: Moment,
    txn: Box<Txn>,
    net: &mut N,
    out: &mut E,
) {
    if let Some(record) = node.part.pending.take(txn.id) {
        let taken = (&txn.usage[..], &txn.marks[..]);
        finish(node, at, record, taken, net, out);
    }
    node.part.pending.recycle_txn(txn);
}

/// The path has done its part.
fn finish<N: Network, E: Effects>(
    node: &mut Node,
    at: Moment,
    mut record: Box<Pending>,
    (usage, marks): (&[Usage], &[Marks]),
    net: &mut N,
    out: &mut E,
) {
    usage::credit(&mut node.part, &record, usage);
    if usage::note_marks(&mut node.part, at, &record, marks) {
        measurement::report(&mut node.part, record.session);
    }
    for peer in record.peers.drain(..) {
        node.part.resources.release_peer(peer, net);
    }
    for run in record.filter_runs.drain(..) {
        node.part.resources.filters.release(run);
    }
    match &record.answer {
        Answer::None => {}
        Answer::Established(reply) => {
            node.part.store.set_stands(record.session);
            node.part.reports.enqueue(record.session);
            let created = (&record.created, &record.ue);
            establishment::answer(node, at, record.session, reply, created, out);
        }
        Answer::Modified(reply, reference) => {
            modification::answer(node, at, reply, *reference, &record, out);
        }
        Answer::Deleted(reply) => deletion::answer(node, at, reply, &record, out),
        Answer::Last(last) => association_release::report(node, at, *last, &record, out),
        Answer::Measured(due_s) => {
            measurement::measured(&mut node.part, at, &record, *due_s);
        }
        Answer::Queried(token) => node.shared.tell(SessionEvent::Queried(*token)),
    }
    usage::end_meters(&mut node.part, &record);
    node.part.pending.recycle(record);
}

/// Gives a UE one more block of public ports, if it may have one and a transaction can carry it.
pub fn give_nat_block<E: Effects>(part: &mut Part, entry: EntryId, out: &mut E) {
    if !part.pending.has_room() || part.resources.nat.allot_more(entry).is_none() {
        return;
    }
    let no_session = SessionRef { at: 0, check: 0 };
    let shard = entry.0 % SHARDS;
    let Launch { mut txn, record } = part.pending.launch(no_session, shard);
    txn.ops.extend(part.resources.nat.operations(entry));
    part.resources.nat.record_newest(entry);
    part.pending.keep(record, &mut txn);
    out.transact(txn);
}

/// Asks the path for all counters of a session; [`SessionEvent::Queried`] with `token` tells when
/// they have come in. False if there is no such session, or no room for a transaction.
pub fn query<E: Effects>(part: &mut Part, seid: u64, token: u64, out: &mut E) -> bool {
    let name = SessionRef::from_seid(Seid(seid));
    let Some(session) = part.store.get(name) else {
        return false;
    };
    if !part.pending.has_room() {
        return false;
    }
    let Launch {
        mut txn,
        mut record,
    } = part.pending.launch(name, u32::from(session.shard));
    record.answer = Answer::Queried(token);
    let mut delta = Delta {
        ops: &mut txn.ops,
        credits: &mut record.credits,
        watching: &mut record.watching,
    };
    let mut change = part.take_change();
    part.store.load(name, &mut change.old);
    let written = part.compiler.query(&change.old, &mut delta);
    debug_assert!(written.is_ok(), "an admitted session fits one transaction");
    part.give_change(change);
    part.pending.keep(record, &mut txn);
    out.transact(txn);
    true
}
