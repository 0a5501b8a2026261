//! PFCP Session Deletion (TS 29.244, 6.3.4, 7.5.6, 7.5.7), and removal of orphaned sessions.

use crate::compile::diff::{Delta, Wanted};
use crate::draft::Drafted;
use crate::establishment::put;
use crate::function::{Effects, UpFunction};
use crate::network::Network;
use crate::pending::{Answer, Due, Pending, Reply};
use crate::refusal::Refusal;
use crate::state::{Moment, Sessions};
use crate::store::{Session, SessionRef};
use sluice_n4::SessionRequest;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::value::UsageReportTrigger;
use sluice_wire::pfcp::{Cause, IeType};

impl UpFunction {
    /// Deletes a session, or says why not.
    pub(super) fn delete<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        net: &mut N,
        out: &mut E,
    ) {
        let Some((name, session)) = self.state.find(request) else {
            let cause = Cause::SESSION_CONTEXT_NOT_FOUND;
            return self.refuse_deletion(at, request, Seid(0), cause, out);
        };
        if !self.state.pending.has_room() {
            let cause = Cause::PFCP_ENTITY_IN_CONGESTION;
            return self.refuse_deletion(at, request, session.cp.seid, cause, out);
        }
        let mut drafted = self.state.end(at, name, &session);
        drafted.record.answer = Answer::Deleted(Reply {
            to: request.reply,
            cp_seid: session.cp.seid,
        });
        self.launch(at, drafted, net, out);
    }

    /// Removes sessions that nobody can name any more, as many as there is room for.
    pub(super) fn remove_doomed<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        net: &mut N,
        out: &mut E,
    ) {
        while self.state.pending.has_room() {
            let Some((name, session)) = self.state.store.doomed() else {
                return;
            };
            let drafted = self.state.end(at, name, &session);
            self.launch(at, drafted, net, out);
        }
    }

    fn refuse_deletion<E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        seid: Seid,
        cause: Cause,
        out: &mut E,
    ) {
        let refusal = Refusal::of(cause);
        // A peer that is gone needs no answer.
        let _ = self
            .endpoint
            .reply(at.now, request.reply, Some(seid), out, |w| refusal.write(w));
    }

    /// The response to a deletion that the path has carried out.
    pub(super) fn answer_deletion<E: Effects>(
        &mut self,
        at: Moment,
        reply: &Reply,
        record: &Pending,
        out: &mut E,
    ) {
        let Self {
            endpoint, state, ..
        } = self;
        let seid = Some(reply.cp_seid);
        // A peer that is gone needs no answer.
        let _ = endpoint.reply(at.now, reply.to, seid, out, |w| {
            put(w, IeType::CAUSE, &Cause::REQUEST_ACCEPTED)?;
            let ie = IeType::USAGE_REPORT_IN_SESSION_DELETION_RESPONSE;
            state.write_reports(at, record, None, ie, w)
        });
    }
}

impl Sessions {
    /// Removes a session and drafts the transaction that clears its lines. It cannot fail: what
    /// was admitted fits one transaction.
    pub(super) fn end(&mut self, at: Moment, name: SessionRef, session: &Session) -> Drafted {
        self.store.load(name, &mut self.installed);
        self.draft.clear();
        let mut drafted = Drafted {
            txn: self.pending.txn(u32::from(session.shard)),
            record: self.pending.record(name),
        };
        self.after.clear();
        let mut delta = Delta {
            ops: &mut drafted.txn.ops,
            credits: &mut drafted.record.credits,
        };
        let written = self.before.render_to_clear(&self.installed).is_ok()
            && delta.write(&self.before, &self.after, Wanted::None).is_ok();
        debug_assert!(written, "an admitted session fits one transaction");
        #[cfg(test)]
        if self.asserts {
            self.assert_written_whole(&drafted);
        }
        let urrs = self.installed.urrs.iter();
        drafted.record.due.extend(urrs.map(|urr| Due {
            meter: urr.meter,
            trigger: UsageReportTrigger::TERMR,
            ends: true,
        }));
        let peers = self.installed.fars.iter().filter_map(|f| f.peer);
        drafted.record.peers.extend(peers);
        self.settle(name, at.seconds());
        self.store.remove(name);
        drafted
    }
}
