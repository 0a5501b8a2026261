//! PFCP Session Modification (TS 29.244, 6.3.3, 7.5.4, 7.5.5): whole or not at all.

use crate::admission::Admission;
use crate::admit::each;
use crate::compile::far_update;
use crate::draft::{Base, Scope};
use crate::network::Network;
use crate::node::{Effects, Moment, Node, Part, RuleChange, Shared};
use crate::pending::{Answer, Launch, Pending, Reply};
use crate::procedure::{put, write_created};
use crate::refusal::Refusal;
use crate::rules::{Action, Far, Inactivity, UeAddresses};
use crate::store::{CpSession, Session, SessionRef};
use crate::{draft, refusal, usage};
use sluice_n4::SessionRequest;
use sluice_wire::ids::Seid;
use sluice_wire::limits::URRS_PER_MESSAGE;
use sluice_wire::pfcp::group::QueryUrr;
use sluice_wire::pfcp::ie::Body;
use sluice_wire::pfcp::message::SessionModificationHead;
use sluice_wire::pfcp::value::{Edit, FSeid, Seconds, SessionModificationRequestFlags};
use sluice_wire::pfcp::{Cause, IeType};

/// Modifies a session, or says why not.
pub fn modify<N: Network, E: Effects>(
    node: &mut Node,
    at: Moment,
    request: &SessionRequest<'_>,
    net: &mut N,
    out: &mut E,
) -> Option<Launch> {
    let Some((name, session)) = node.part.find(request) else {
        let refusal = Refusal::of(Cause::SESSION_CONTEXT_NOT_FOUND);
        // 7.2.2.4.2: the CP function's SEID is not known.
        refuse(node, at, request, Seid(0), &refusal, out);
        return None;
    };
    let head = SessionModificationHead::parse(request.body).map_err(Refusal::from);
    let modified = head.and_then(|head| {
        let of = (name, &session);
        let launch = change(
            &mut node.shared,
            &mut node.part,
            at,
            of,
            &head,
            request.body,
            net,
        )?;
        Ok((launch, head))
    });
    match modified {
        Ok((mut launch, head)) => {
            let remarks = launch.record.remarks;
            node.shared.tell_remarks(request.association, remarks);
            let reply = Reply {
                to: request.reply,
                cp_seid: head.cp_f_seid.map_or(session.cp.seid, |cp| cp.seid),
            };
            launch.record.answer = Answer::Modified(reply, head.query_urr_reference);
            Some(launch)
        }
        Err(refusal) => {
            refuse(node, at, request, session.cp.seid, &refusal, out);
            None
        }
    }
}

fn refuse<E: Effects>(
    node: &mut Node,
    at: Moment,
    request: &SessionRequest<'_>,
    seid: Seid,
    refusal: &Refusal,
    out: &mut E,
) {
    // A peer that is gone needs no answer.
    let _ = node
        .endpoint
        .reply(at.now, request.reply, Some(seid), out, |w| refusal.write(w));
}

/// The response to a modification that the path has carried out.
pub fn answer<E: Effects>(
    node: &mut Node,
    at: Moment,
    reply: &Reply,
    reference: Option<u32>,
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
        write_created(w, &record.created, &record.ue)?;
        load.write(w)?;
        let ie = IeType::USAGE_REPORT_IN_SESSION_MODIFICATION_RESPONSE;
        usage::write_reports(shared, part, at, record, reference, ie, w)
    });
}

fn change<N: Network>(
    shared: &mut Shared,
    part: &mut Part,
    at: Moment,
    (name, session): (SessionRef, &Session),
    head: &SessionModificationHead<'_>,
    octets: &[u8],
    net: &mut N,
) -> Result<Launch, Refusal> {
    let body = &Body::new(octets);
    refuse_unsupported(body)?;
    let base = Base {
        session: Some(name),
        shard: u32::from(session.shard),
        ue: UeAddresses::default(),
        restores: false,
    };
    let mut drafted = draft::draft(shared, part, at, &base, net, |work| {
        work.take_sets(session.association, body)?;
        apply_all(work, head, body)
    })?;
    let flags = head.pfcpsmreq_flags.unwrap_or_default();
    if flags.contains(SessionModificationRequestFlags::DROBU)
        && let Err(refusal) = draft::discard_held(&mut drafted)
    {
        draft::undo(shared, part, drafted, net);
        return Err(refusal);
    }
    part.reports.counters.paging_answered += paging_answered(&drafted.change);
    let launch = draft::commit(shared, part, name, drafted, at.seconds());
    if let Some(FSeid { seid, ipv4, ipv6 }) = head.cp_f_seid {
        part.store.rename(name, CpSession { seid, ipv4, ipv6 });
    }
    Ok(launch)
}

/// FARs whose packets were told of, and that forward them from now on.
fn paging_answered(RuleChange { old, new, .. }: &RuleChange) -> u64 {
    let told = old.fars.iter().filter(|far| far.paged != 0);
    let is_back = |far: &&Far| {
        let mut all = new.fars.iter();
        all.any(|new| new.id == far.id && new.is_updated && new.action == Action::Forward)
    };
    told.filter(is_back).count() as u64
}

/// First what goes, then what comes, then what changes: an identifier may be used again in the
/// message that removes it, and an update may refer to what was just created.
fn apply_all<N: Network>(
    work: &mut Admission<'_, N>,
    head: &SessionModificationHead<'_>,
    body: &Body<'_>,
) -> Result<Scope, Refusal> {
    query(work, head, body)?;
    if let Some(edit) = &head.user_plane_inactivity_timer {
        set_inactivity_timer(work, edit);
    }
    work.remove_rules(body)?;
    work.create_rules(body)?;
    work.update_rules(body)?;
    let has_timer = head.user_plane_inactivity_timer.is_some();
    let are_fars = far_update::are_all(body) && !has_timer;
    Ok(if are_fars && work.record.queried.is_empty() {
        Scope::FarsOnly
    } else {
        Scope::Rules
    })
}

/// The timer begins anew; 0 ends it (8.2.83).
fn set_inactivity_timer<N: Network>(work: &mut Admission<'_, N>, edit: &Edit<Seconds>) {
    let time_s = edit.value().map_or(0, |time| time.0);
    let cell = work.draft.inactivity.map_or(0, |before| before.cell);
    work.draft.inactivity = (time_s > 0).then(|| Inactivity {
        cell,
        ..Inactivity::new(time_s)
    });
}

/// Query URR and QAURR mean the URRs from before the message.
fn query<N: Network>(
    work: &mut Admission<'_, N>,
    head: &SessionModificationHead<'_>,
    body: &Body<'_>,
) -> Result<(), Refusal> {
    let flags = head.pfcpsmreq_flags.unwrap_or_default();
    if flags.contains(SessionModificationRequestFlags::QAURR) {
        work.record
            .queried
            .extend(work.draft.urrs.iter().map(|u| u.id.0));
        return Ok(());
    }
    each(
        body,
        IeType::QUERY_URR,
        URRS_PER_MESSAGE,
        |ie: &QueryUrr| {
            let unknown = Refusal::identity(refusal::urr(ie.urr_id));
            let id = work.draft.urr(ie.urr_id.0).ok_or(unknown)?.id.0;
            if !work.record.queried.contains(&id) {
                work.record.queried.try_push(id).map_err(|_| unknown)?;
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
