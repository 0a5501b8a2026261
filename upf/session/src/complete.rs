//! Completion of transactions: usage credit, peer release, response.

use crate::compile::diff::{Delta, Wanted};
use crate::draft::Drafted;
use crate::establishment::put;
use crate::events::SessionEvent;
use crate::function::{Effects, UpFunction};
use crate::network::Network;
use crate::pending::{Answer, Pending, SessionRemarks};
use crate::state::{Moment, Sessions};
use crate::store::SessionRef;
use sluice_datapath::session::txn::Usage;
use sluice_n4::AssociationId;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::{Full, IeType, Writer};

impl UpFunction {
    /// Sends a transaction to the path; what changes nothing there is finished at once.
    pub(super) fn launch<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        drafted: Drafted,
        net: &mut N,
        out: &mut E,
    ) {
        let Drafted { mut txn, record } = drafted;
        if txn.ops.is_empty() && txn.end_markers.is_empty() {
            self.state.pending.recycle_txn(txn);
            return self.finish(at, record, &[], net, out);
        }
        self.state.pending.keep(record, &mut txn);
        out.transact(txn);
    }

    /// The path has done its part.
    pub(super) fn finish<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        mut record: Box<Pending>,
        usage: &[Usage],
        net: &mut N,
        out: &mut E,
    ) {
        self.state.credit(&record, usage);
        for peer in record.peers.drain(..) {
            self.state.ground.release_peer(peer, net);
        }
        match &record.answer {
            Answer::None => {}
            Answer::Established(reply) => {
                self.state.store.set_stands(record.session);
                self.answer_establishment(at, record.session, reply, &record.created, out);
            }
            Answer::Modified(reply, reference) => {
                self.answer_modification(at, reply, (&*record, *reference), out);
            }
            Answer::Deleted(reply) => self.answer_deletion(at, reply, &record, out),
            Answer::Last(last) => self.report_last(at, *last, &record, out),
            Answer::Queried(token) => {
                let token = *token;
                self.state.notice(SessionEvent::Queried(token));
            }
        }
        self.state.end_meters(&record);
        self.state.pending.recycle(record);
    }

    /// Asks the path for all counters of a session; [`SessionEvent::Queried`] with `token` tells when
    /// they have come in. False if there is no such session, or no room for a transaction.
    pub fn query<E: Effects>(&mut self, seid: u64, token: u64, out: &mut E) -> bool {
        let name = SessionRef::from_seid(Seid(seid));
        let Some(session) = self.state.store.get(name) else {
            return false;
        };
        if !self.state.pending.has_room() {
            return false;
        }
        let state = &mut self.state;
        state.store.load(name, &mut state.installed);
        let mut txn = state.pending.txn(u32::from(session.shard));
        let mut record = state.pending.record(name);
        record.answer = Answer::Queried(token);
        let mut delta = Delta {
            ops: &mut txn.ops,
            credits: &mut record.credits,
        };
        // One rendering against itself: nothing changes, everything is taken.
        let written = state.before.render(&state.installed).is_ok()
            && delta
                .write(&state.before, &state.before, Wanted::All)
                .is_ok();
        debug_assert!(written, "an admitted session fits one transaction");
        state.pending.keep(record, &mut txn);
        out.transact(txn);
        true
    }

    /// Tells the operator once for each association what its CP function does.
    #[inline]
    pub(super) fn note(&mut self, association: AssociationId, drafted: &Drafted) {
        let remarks = drafted.record.remarks;
        if remarks != SessionRemarks::default() {
            self.remark(association, remarks);
        }
    }

    fn remark(&mut self, association: AssociationId, remarks: SessionRemarks) {
        let Some(memory) = self.state.memory(association) else {
            return;
        };
        let SessionRemarks {
            chosen_by_cp,
            unserved_triggers,
            inactivity_timer,
        } = remarks;
        let teids = chosen_by_cp && !memory.told_teids;
        memory.told_teids |= chosen_by_cp;
        let triggers = unserved_triggers && !memory.told_triggers;
        memory.told_triggers |= unserved_triggers;
        let timer = inactivity_timer && !memory.told_timer;
        memory.told_timer |= inactivity_timer;
        if teids {
            self.state.notice(SessionEvent::ChoosesTeids(association));
        }
        if triggers {
            self.state
                .notice(SessionEvent::TriggersUnserved(association));
        }
        if timer {
            self.state.notice(SessionEvent::TimerUnserved(association));
        }
    }
}

impl Sessions {
    /// Usage goes to the URRs that its PDR named while it was counted.
    fn credit(&mut self, record: &Pending, usage: &[Usage]) {
        for (credit, usage) in record.credits.iter().zip(usage) {
            let Some(credit) = credit else {
                continue;
            };
            self.store.add_usage(record.session, credit.uplink, *usage);
            for at in credit.meters.as_slice() {
                if let Some(meter) = self.ground.meters.get_mut(*at) {
                    meter.add(credit.uplink, *usage);
                }
            }
        }
    }

    /// Writes the usage reports that are due, as IEs of this type. A session has no more URRs than
    /// a message has reports.
    pub(super) fn write_reports(
        &mut self,
        at: Moment,
        record: &Pending,
        reference: Option<u32>,
        ie: IeType,
        w: &mut Writer<'_>,
    ) -> Result<(), Full> {
        for due in &record.due {
            if let Some(meter) = self.ground.meters.get_mut(due.meter) {
                let mut report = meter.report(due.trigger, at.wall);
                report.query_urr_reference = reference;
                put(w, ie, &report)?;
            }
        }
        Ok(())
    }

    fn end_meters(&mut self, record: &Pending) {
        for due in record.due.iter().filter(|due| due.ends) {
            self.ground.meters.remove(due.meter);
        }
    }
}
