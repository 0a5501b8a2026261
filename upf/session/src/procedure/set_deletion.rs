//! PFCP Session Set Deletion (TS 29.244, 6.2.8, 7.4.6): sessions end that a part of a CP function had when it
//! failed.
//!
//! It is answered at once, and from then on no message finds these sessions. They are looked for some at a time,
//! as there may be a million sessions of which a few are meant.

use crate::limits::SETS_WALK;
use crate::node::{Effects, Moment, Node, Part, Shared};
use crate::procedure::put;
use crate::refusal::Refusal;
use crate::reports::events::SessionEvent;
use crate::session_sets::{SetName, SetWalk};
use crate::store::{CpSession, SessionRef};
use sluice_n4::{AssociationId, SessionRequest};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::message::SessionSetDeletionRequest;
use sluice_wire::pfcp::value::FSeid;
use sluice_wire::pfcp::{Cause, IeType, MessageType, Reject, ie};

/// Ends the sets that a request names, or says why not.
pub fn delete<E: Effects>(node: &mut Node, at: Moment, request: &SessionRequest<'_>, out: &mut E) {
    let answer = match retire(
        &mut node.shared,
        &mut node.part,
        request.association,
        request.body,
    ) {
        Ok(()) => Refusal::of(Cause::REQUEST_ACCEPTED),
        Err(refusal) => refusal,
    };
    let Node {
        endpoint, node_id, ..
    } = node;
    // A peer that is gone needs no answer.
    let _ = endpoint.reply(at.now, request.reply, None, out, |w| {
        put(w, IeType::NODE_ID, &node_id.as_wire())?;
        answer.write(w)
    });
}

fn retire(
    shared: &mut Shared,
    part: &mut Part,
    id: AssociationId,
    octets: &[u8],
) -> Result<(), Refusal> {
    let request = SessionSetDeletionRequest::parse(octets)?;
    if request.fq_csid.is_empty() {
        return Err(Reject::conditional_missing(IeType::FQ_CSID).into());
    }
    let names = request.fq_csid.iter().flat_map(|ie| SetName::all(id, ie));
    let retired = names.filter_map(|name| shared.sets.retire(name));
    let ended: u32 = retired.map(|set| part.uses.sets.of(set.0)).sum();
    if ended > 0 {
        // Whoever is looked for already is met again.
        let left = part.store.places();
        part.set_walk = Some(SetWalk { next: 0, left });
        shared.tell(SessionEvent::SetsDeleted(id, ended));
    }
    Ok(())
}

/// Looks for sessions of retired sets a little further; none of those that it has passed is named any more.
pub fn walk(shared: &Shared, part: &mut Part) {
    let Some(SetWalk { next, left }) = part.set_walk else {
        return;
    };
    let count = left.min(SETS_WALK);
    for at in next..next + count {
        if let Some(name) = part.store.named(at) {
            end_if_retired(shared, part, name);
        }
    }
    let rest = SetWalk {
        next: next + count,
        left: left - count,
    };
    part.set_walk = (rest.left > 0).then_some(rest);
}

/// The session that a request names ends first if its set was deleted: the request does not find it.
#[cold]
pub fn forget_named(shared: &Shared, part: &mut Part, request: &SessionRequest<'_>) {
    let header = request.header();
    let named = match header.message_type {
        MessageType::SESSION_ESTABLISHMENT_REQUEST => {
            let cp = ie::first(request.body, IeType::F_SEID);
            let cp = cp.and_then(|value| FSeid::decode(value).ok());
            cp.and_then(|FSeid { seid, ipv4, ipv6 }| {
                let cp = CpSession { seid, ipv4, ipv6 };
                part.store.by_cp((request.association, cp))
            })
            .map(|(name, _)| name)
        }
        _ => header.seid.map(SessionRef::from_seid),
    };
    if let Some(name) = named {
        end_if_retired(shared, part, name);
    }
}

fn end_if_retired(shared: &Shared, part: &mut Part, name: SessionRef) {
    let store = &mut part.store;
    if store.get(name).is_some() && shared.sets.is_any_retired(store.sets_of(name)) {
        store.doom_one(name.at);
    }
}
