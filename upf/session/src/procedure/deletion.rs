//! PFCP Session Deletion (TS 29.244, 6.3.4, 7.5.6, 7.5.7), and removal of orphaned sessions.

use crate::compile::diff::Delta;
use crate::node::{Effects, Moment, Node, Part, Shared};
use crate::pending::{Answer, Due, Launch, Pending, Reply, Share};
use crate::procedure::put;
use crate::refusal::Refusal;
use crate::store::{Session, SessionRef};
use crate::{draft, usage};
use sluice_n4::SessionRequest;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::value::UsageReportTrigger;
use sluice_wire::pfcp::{Cause, IeType};

/// Deletes a session, or says why not.
pub fn delete<E: Effects>(
    node: &mut Node,
    at: Moment,
    request: &SessionRequest<'_>,
    out: &mut E,
) -> Option<Launch> {
    let Some((name, session)) = node.part.find(request) else {
        let cause = Cause::SESSION_CONTEXT_NOT_FOUND;
        refuse(node, at, request, Seid(0), cause, out);
        return None;
    };
    if !node.part.pending.has_room() {
        let cause = Cause::PFCP_ENTITY_IN_CONGESTION;
        refuse(node, at, request, session.cp.seid, cause, out);
        return None;
    }
    let mut launch = end(&mut node.shared, &mut node.part, at, name, &session);
    launch.record.answer = Answer::Deleted(Reply {
        to: request.reply,
        cp_seid: session.cp.seid,
    });
    Some(launch)
}

/// Removes the next session that nobody can name any more, if there is room for it beside requests.
pub fn next_doomed(shared: &mut Shared, part: &mut Part, at: Moment) -> Option<Launch> {
    if !part.pending.has_room_for(Share::Removals) {
        return None;
    }
    let (name, session) = part.store.doomed()?;
    let mut launch = end(shared, part, at, name, &session);
    launch.record.share = Share::Removals;
    Some(launch)
}

fn refuse<E: Effects>(
    node: &mut Node,
    at: Moment,
    request: &SessionRequest<'_>,
    seid: Seid,
    cause: Cause,
    out: &mut E,
) {
    let refusal = Refusal::of(cause);
    // A peer that is gone needs no answer.
    let _ = node
        .endpoint
        .reply(at.now, request.reply, Some(seid), out, |w| refusal.write(w));
}

/// The response to a deletion that the path has carried out.
pub fn answer<E: Effects>(
    node: &mut Node,
    at: Moment,
    reply: &Reply,
    record: &Pending,
    out: &mut E,
) {
    let Node {
        endpoint,
        shared,
        part,
        ..
    } = node;
    let seid = Some(reply.cp_seid);
    let load = shared.load.next_for(endpoint, reply.to.peer());
    // A peer that is gone needs no answer.
    let _ = endpoint.reply(at.now, reply.to, seid, out, |w| {
        put(w, IeType::CAUSE, &Cause::REQUEST_ACCEPTED)?;
        load.write(w)?;
        let ie = IeType::USAGE_REPORT_IN_SESSION_DELETION_RESPONSE;
        usage::write_reports(shared, part, at, record, None, ie, w)
    });
}

/// Removes a session; the transaction clears its entries. It cannot fail: what was admitted fits one
/// transaction.
pub fn end(
    shared: &mut Shared,
    part: &mut Part,
    at: Moment,
    name: SessionRef,
    session: &Session,
) -> Launch {
    let mut change = part.take_change();
    part.store.load(name, &mut change.old);
    change.new.clear();
    let mut launch = part.pending.launch(name, u32::from(session.shard));
    let Launch { txn, record } = &mut launch;
    let mut delta = Delta {
        ops: &mut txn.ops,
        credits: &mut record.credits,
        watching: &mut record.watching,
    };
    let written = part.compiler.remove(&change.old, &mut delta);
    debug_assert!(written.is_ok(), "an admitted session fits one transaction");
    let urrs = change.old.urrs.iter();
    record.due.extend(urrs.map(|urr| Due {
        meter: urr.meter,
        trigger: UsageReportTrigger::TERMR,
        ends: true,
        splits: false,
    }));
    let peers = change.old.fars.iter().filter_map(|f| f.peer);
    record.peers.extend(peers);
    let runs = change.old.pdrs.iter().map(|p| p.filter.run);
    let runs = runs.chain([change.old.routes.run]);
    record.filter_runs.extend(runs.filter(|run| !run.is_none()));
    #[cfg(test)]
    if part.asserts {
        draft::assert_written_whole(part, &change, &launch);
    }
    let forgotten = draft::forget_nat(part, &change.old, &change.new, &mut launch.txn);
    debug_assert!(forgotten.is_ok(), "its ports came with one operation more");
    draft::settle(shared, part, name, &mut change, at.seconds());
    part.give_change(change);
    part.store.remove(name);
    part.reports.forget(name);
    part.timers.set(name.at, None);
    launch
}
