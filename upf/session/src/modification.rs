//! PFCP Session Modification (TS 29.244, 6.3.3, 7.5.4, 7.5.5): whole or not at all.

use crate::admission::Admission;
use crate::admit::each;
use crate::compile::far_update;
use crate::draft::{Base, Drafted, Scope};
use crate::establishment::{put, write_created};
use crate::function::{Effects, UpFunction};
use crate::network::Network;
use crate::pending::{Answer, Pending, Reply};
use crate::refusal::{self, Refusal};
use crate::state::{Moment, Sessions};
use crate::store::{CpSession, Session, SessionRef};
use sluice_n4::SessionRequest;
use sluice_wire::ids::Seid;
use sluice_wire::limits::URRS_PER_MESSAGE;
use sluice_wire::pfcp::group::QueryUrr;
use sluice_wire::pfcp::ie::Body;
use sluice_wire::pfcp::message::SessionModificationHead;
use sluice_wire::pfcp::value::{Edit, FSeid, SessionModificationRequestFlags};
use sluice_wire::pfcp::{Cause, IeType};

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
        let target = (name, &session);
        let head = SessionModificationHead::parse(request.body).map_err(Refusal::from);
        let modified = head.and_then(|head| {
            let drafted = self.state.modify(at, target, &head, request.body, net)?;
            Ok((drafted, head))
        });
        match modified {
            Ok((drafted, head)) => {
                let cp_seid = head.cp_f_seid.map_or(session.cp.seid, |cp| cp.seid);
                let done = (drafted, head.query_urr_reference, cp_seid);
                self.modified(at, request, done, net, out);
            }
            Err(refusal) => {
                self.refuse_modification(at, request, session.cp.seid, &refusal, out);
            }
        }
    }

    fn modified<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        (mut drafted, reference, cp_seid): (Drafted, Option<u32>, Seid),
        net: &mut N,
        out: &mut E,
    ) {
        self.note(request.association, &drafted);
        let reply = Reply {
            to: request.reply,
            cp_seid,
        };
        drafted.record.answer = Answer::Modified(reply, reference);
        self.launch(at, drafted, net, out);
    }

    fn refuse_modification<E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        seid: Seid,
        refusal: &Refusal,
        out: &mut E,
    ) {
        // A peer that is gone needs no answer.
        let _ = self
            .endpoint
            .reply(at.now, request.reply, Some(seid), out, |w| refusal.write(w));
    }

    /// The response to a modification that the path has carried out.
    pub(super) fn answer_modification<E: Effects>(
        &mut self,
        at: Moment,
        reply: &Reply,
        (record, reference): (&Pending, Option<u32>),
        out: &mut E,
    ) {
        let Self {
            endpoint, state, ..
        } = self;
        let seid = Some(reply.cp_seid);
        // A peer that is gone needs no answer.
        let _ = endpoint.reply(at.now, reply.to, seid, out, |w| {
            put(w, IeType::CAUSE, &Cause::REQUEST_ACCEPTED)?;
            write_created(w, &record.created)?;
            let ie = IeType::USAGE_REPORT_IN_SESSION_MODIFICATION_RESPONSE;
            state.write_reports(at, record, reference, ie, w)
        });
    }
}

impl Sessions {
    /// The session that a request names, if it is one of the association that asks.
    pub(super) fn find(&self, request: &SessionRequest<'_>) -> Option<(SessionRef, Session)> {
        let name = SessionRef::from_seid(request.header().seid?);
        let session = self.store.get(name)?;
        (session.association == request.association).then_some((name, session))
    }

    fn modify<N: Network>(
        &mut self,
        at: Moment,
        (name, session): (SessionRef, &Session),
        head: &SessionModificationHead<'_>,
        octets: &[u8],
        net: &mut N,
    ) -> Result<Drafted, Refusal> {
        let body = &Body::new(octets);
        refuse_unsupported(body)?;
        let timer = matches!(head.user_plane_inactivity_timer, Some(Edit::Set(_)));
        self.refuse_timer(timer)?;
        let base = Base {
            session: Some(name),
            shard: u32::from(session.shard),
            restores: false,
        };
        let (mut drafted, scope) = self.draft(at, base, net, |work| apply_all(work, head, body))?;
        drafted.record.remarks.inactivity_timer = timer;
        self.commit(name, scope, at.seconds());
        if let Some(FSeid { seid, ipv4, ipv6 }) = head.cp_f_seid {
            self.store.rename(name, CpSession { seid, ipv4, ipv6 });
        }
        Ok(drafted)
    }
}

/// First what goes, then what comes, then what changes: an identifier may be used again in the
/// message that removes it, and an update may refer to what was just created.
fn apply_all<N: Network>(
    work: &mut Admission<'_, N>,
    head: &SessionModificationHead<'_>,
    body: &Body<'_>,
) -> Result<Scope, Refusal> {
    query(work, head, body)?;
    work.remove_rules(body)?;
    work.create_rules(body)?;
    work.update_rules(body)?;
    Ok(match far_update::are_all(body) && work.queried.is_empty() {
        true => Scope::FarsOnly,
        false => Scope::Rules,
    })
}

/// Query URR and QAURR mean the URRs from before the message.
fn query<N: Network>(
    work: &mut Admission<'_, N>,
    head: &SessionModificationHead<'_>,
    body: &Body<'_>,
) -> Result<(), Refusal> {
    let flags = head.pfcpsmreq_flags.unwrap_or_default();
    if flags.contains(SessionModificationRequestFlags::QAURR) {
        work.queried.extend(work.draft.urrs.iter().map(|u| u.id.0));
        return Ok(());
    }
    each(
        body,
        IeType::QUERY_URR,
        URRS_PER_MESSAGE,
        |ie: &QueryUrr| {
            let unknown = Refusal::identity(refusal::urr(ie.urr_id));
            let id = work.draft.urr(ie.urr_id.0).ok_or(unknown)?.id.0;
            if !work.queried.contains(&id) {
                work.queried.try_push(id).map_err(|_| unknown)?;
            }
            Ok(())
        },
    )
}

fn refuse_unsupported(body: &Body<'_>) -> Result<(), Refusal> {
    let ies = [
        IeType::CREATE_TRAFFIC_ENDPOINT,
        IeType::UPDATE_TRAFFIC_ENDPOINT,
        IeType::REMOVE_TRAFFIC_ENDPOINT,
    ];
    match ies.iter().find(|ie| body.may_have(**ie)) {
        Some(ie) => Err(Refusal {
            offending_ie: Some(*ie),
            ..Refusal::of(Cause::SERVICE_NOT_SUPPORTED)
        }),
        None => Ok(()),
    }
}
