//! PFCP Session Modification (TS 29.244, 6.3.3, 7.5.4, 7.5.5): whole or not at all.

use crate::network::Network;
use crate::session::draft::{Base, Drafted};
use crate::session::establishment::created_pdrs;
use crate::session::function::{Effects, UpFunction};
use crate::session::pending::{Answer, Reply};
use crate::session::refusal::{self, Refusal};
use crate::session::state::{Moment, State};
use crate::session::store::{CpSession, Session, SessionRef};
use crate::session::work::{Created, Work};
use sluice_n4::SessionRequest;
use sluice_wire::ids::Seid;
use sluice_wire::limits::USAGE_REPORTS_PER_MESSAGE;
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::message::{SessionModificationRequest, SessionModificationResponse};
use sluice_wire::pfcp::value::{FSeid, OffendingIe, SessionModificationRequestFlags};
use sluice_wire::pfcp::{Cause, IeType};

/// Usage reports of one message.
pub(super) type Reports = arrayvec::ArrayVec<UsageReport<'static>, USAGE_REPORTS_PER_MESSAGE>;

impl UpFunction {
    /// Modifies a session, or says why not.
    pub(super) fn modify<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        net: &mut N,
        out: &mut E,
    ) {
        let Some((name, session)) = self.state.find(request) else {
            let refusal = Refusal::of(Cause::SESSION_CONTEXT_NOT_FOUND);
            // 7.2.2.4.2: the CP function's SEID is not known.
            return self.refuse_modification(at, request, Seid(0), &refusal, out);
        };
        let mut message = SessionModificationRequest::default();
        let modified = match message.parse_into(request.body) {
            Ok(()) => self.state.modify(at, name, &session, &message, net),
            Err(reject) => Err(reject.into()),
        };
        match modified {
            Ok(mut drafted) => {
                self.note(request.association, &drafted);
                let cp_seid = message.cp_f_seid.map_or(session.cp.seid, |cp| cp.seid);
                let reply = Reply {
                    to: request.reply,
                    cp_seid,
                };
                let created = core::mem::take(&mut drafted.created);
                let reference = message.query_urr_reference;
                drafted.record.answer = Answer::Modified(reply, created, reference);
                self.launch(at, drafted, net, out);
            }
            Err(refusal) => {
                self.refuse_modification(at, request, session.cp.seid, &refusal, out);
            }
        }
    }

    fn refuse_modification<E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        seid: Seid,
        refusal: &Refusal,
        out: &mut E,
    ) {
        let response = SessionModificationResponse {
            cause: refusal.cause,
            offending_ie: refusal.offending_ie.map(OffendingIe),
            failed_rule_id: refusal.rule,
            ..SessionModificationResponse::default()
        };
        // A peer that is gone needs no answer.
        let _ = self
            .endpoint
            .reply(at.now, request.reply, Some(seid), out, |w| response.emit(w));
    }

    /// The response to a modification that the path has carried out.
    pub(super) fn answer_modification<E: Effects>(
        &mut self,
        at: Moment,
        reply: &Reply,
        created: &Created,
        reports: Reports,
        out: &mut E,
    ) {
        let response = SessionModificationResponse {
            cause: Cause::REQUEST_ACCEPTED,
            created_pdr: created_pdrs(created),
            usage_report: reports,
            ..SessionModificationResponse::default()
        };
        // A peer that is gone needs no answer.
        let _ = self
            .endpoint
            .reply(at.now, reply.to, Some(reply.cp_seid), out, |w| {
                response.emit(w)
            });
    }
}

impl State {
    /// The session that a request names, if it is one of the association that asks.
    pub(super) fn find(&self, request: &SessionRequest<'_>) -> Option<(SessionRef, Session)> {
        let name = SessionRef::from_seid(request.header.seid?);
        let session = self.store.get(name)?;
        (session.association == request.association).then_some((name, *session))
    }

    fn modify<N: Network>(
        &mut self,
        at: Moment,
        name: SessionRef,
        session: &Session,
        message: &SessionModificationRequest<'_>,
        net: &mut N,
    ) -> Result<Drafted, Refusal> {
        refuse_unsupported(message)?;
        let base = Base {
            session: Some((name, session)),
            shard: u32::from(session.shard),
            restores: false,
        };
        let drafted = self.draft(at, base, net, |work| apply_all(work, message))?;
        self.commit(name, at.seconds());
        if let (Some(cp), Some(s)) = (message.cp_f_seid, self.store.get_mut(name)) {
            let FSeid { seid, ipv4, ipv6 } = cp;
            s.cp = CpSession { seid, ipv4, ipv6 };
        }
        Ok(drafted)
    }
}

/// First what goes, then what comes, then what changes: an identifier may be used again in the
/// message that removes it, and an update may refer to what was just created.
fn apply_all<N: Network>(
    work: &mut Work<'_, N>,
    message: &SessionModificationRequest<'_>,
) -> Result<(), Refusal> {
    query(work, message)?;
    for ie in &message.remove_pdr {
        work.remove_pdr(ie)?;
    }
    for ie in &message.remove_far {
        work.remove_far(ie)?;
    }
    for ie in &message.remove_qer {
        work.remove_qer(ie)?;
    }
    for ie in &message.remove_urr {
        work.remove_urr(ie)?;
    }
    create_and_update(work, message)
}

fn create_and_update<N: Network>(
    work: &mut Work<'_, N>,
    message: &SessionModificationRequest<'_>,
) -> Result<(), Refusal> {
    for ie in &message.create_far {
        work.create_far(ie)?;
    }
    for ie in &message.create_qer {
        work.create_qer(ie)?;
    }
    for ie in &message.create_urr {
        work.create_urr(ie)?;
    }
    for ie in &message.create_pdr {
        work.create_pdr(ie)?;
    }
    for ie in &message.update_far {
        work.update_far(ie)?;
    }
    for ie in &message.update_qer {
        work.update_qer(ie)?;
    }
    for ie in &message.update_urr {
        work.update_urr(ie)?;
    }
    for ie in &message.update_pdr {
        work.update_pdr(ie)?;
    }
    Ok(())
}

/// Query URR and QAURR mean the URRs from before the message.
fn query<N: Network>(
    work: &mut Work<'_, N>,
    message: &SessionModificationRequest<'_>,
) -> Result<(), Refusal> {
    let flags = message.pfcpsmreq_flags.unwrap_or_default();
    if flags.contains(SessionModificationRequestFlags::QAURR) {
        work.queried = work.draft.urrs.iter().map(|u| u.id.0).collect();
        return Ok(());
    }
    for ie in &message.query_urr {
        let unknown = Refusal::identity(refusal::urr(ie.urr_id));
        let id = work.draft.urr(ie.urr_id.0).ok_or(unknown)?.id.0;
        if !work.queried.contains(&id) {
            work.queried.try_push(id).map_err(|_| unknown)?;
        }
    }
    Ok(())
}

/// BARs are without effect, as nothing is buffered.
fn refuse_unsupported(message: &SessionModificationRequest<'_>) -> Result<(), Refusal> {
    let ies = [
        (
            !message.create_traffic_endpoint.is_empty(),
            IeType::CREATE_TRAFFIC_ENDPOINT,
        ),
        (
            !message.update_traffic_endpoint.is_empty(),
            IeType::UPDATE_TRAFFIC_ENDPOINT,
        ),
        (
            !message.remove_traffic_endpoint.is_empty(),
            IeType::REMOVE_TRAFFIC_ENDPOINT,
        ),
    ];
    match ies.iter().find(|(present, _)| *present) {
        Some((_, ie)) => Err(Refusal {
            offending_ie: Some(*ie),
            ..Refusal::of(Cause::SERVICE_NOT_SUPPORTED)
        }),
        None => Ok(()),
    }
}
