//! PFCP Session Establishment (TS 29.244, 6.3.2, 7.5.2, 7.5.3).

use crate::admission::Admission;
use crate::draft::{self, Base, Scope};
use crate::network::Network;
use crate::node::part::{Part, may_act};
use crate::node::shared::Shared;
use crate::node::{Effects, Moment, Node};
use crate::pending::{Answer, Created, Launch, Reply};
use crate::procedure::{duplicate_establishment, ue_addresses};
use crate::procedure::{put, write_created};
use crate::refusal::Refusal;
use crate::resources::home_shard;
use crate::rules::{Inactivity, UeAddresses};
use crate::store::{CpSession, Digits, NewSession, RequestHash, SessionRef, User};
use core::net::IpAddr;
use sluice_n4::SessionRequest;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::ie::Body;
use sluice_wire::pfcp::message::SessionEstablishmentHead;
use sluice_wire::pfcp::value::{FSeid, PdnType, SessionEstablishmentRequestFlags, UserId};
use sluice_wire::pfcp::{Cause, IeType, Reject, ie};

/// Establishes a session, or says why not.
pub fn establish<N: Network, E: Effects>(
    node: &mut Node,
    at: Moment,
    request: &SessionRequest<'_>,
    net: &mut N,
    out: &mut E,
) -> Option<Launch> {
    let head = match SessionEstablishmentHead::parse(request.body) {
        Ok(head) => head,
        Err(reject) => {
            refuse(node, at, request, &reject.into(), out);
            return None;
        }
    };
    let known = duplicate_establishment::find(&node.part, request, &head);
    if let Some(known) = known.as_ref().filter(|known| known.is_same) {
        again(node, at, request, known, out);
        return None;
    }
    // It would take the place of a session that is not its own.
    if known
        .as_ref()
        .is_some_and(|known| !may_act(request, known.session.cp))
    {
        let refusal = Refusal {
            offending_ie: Some(IeType::F_SEID),
            ..Refusal::of(Cause::REQUEST_REJECTED)
        };
        refuse(node, at, request, &refusal, out);
        return None;
    }
    match create(&mut node.shared, &mut node.part, at, request, &head, net) {
        Ok(mut launch) => {
            if let Some(before) = known {
                node.part.store.doom_one(before.name.at);
            }
            learn_cp_address(node, request, &head.cp_f_seid);
            let remarks = launch.record.remarks;
            node.shared.tell_remarks(request.association, remarks);
            launch.record.answer = Answer::Established(Reply {
                to: request.reply,
                cp_seid: head.cp_f_seid.seid,
            });
            Some(launch)
        }
        Err(refusal) => {
            refuse(node, at, request, &refusal, out);
            None
        }
    }
}

/// Answers a request that is repeated.
fn again<E: Effects>(
    node: &mut Node,
    at: Moment,
    request: &SessionRequest<'_>,
    known: &duplicate_establishment::Known,
    out: &mut E,
) {
    node.part.repeated += 1;
    // While the path carries the first one out there is nothing to say yet; its answer is on the way.
    if known.session.stands {
        let name = known.name;
        let created = duplicate_establishment::created(&mut node.part, name, request.body);
        let reply = Reply {
            to: request.reply,
            cp_seid: known.session.cp.seid,
        };
        answer(node, at, name, &reply, (&created.0, &created.1), out);
    }
}

/// Requests about the session may come from the address in its F-SEID (5.6.2).
fn learn_cp_address(node: &mut Node, request: &SessionRequest<'_>, cp: &FSeid) {
    let from = request.reply.peer().ip();
    let v4 = cp.ipv4.map(IpAddr::V4);
    let address = v4.or(cp.ipv6.map(IpAddr::V6));
    // An address that was learned itself tells no others.
    let address = address.filter(|a| request.is_of_holder && *a != from && !a.is_unspecified());
    if let Some(address) = address {
        // If the peer has too many addresses already, its requests have to come from those.
        let _ = node.endpoint.add_address(request.association, address);
    }
}

fn refuse<E: Effects>(
    node: &mut Node,
    at: Moment,
    request: &SessionRequest<'_>,
    refusal: &Refusal,
    out: &mut E,
) {
    // 7.2.2.4.2: the CP function's SEID even in a rejection; 0 if it cannot be read.
    let cp = ie::first(request.body, IeType::F_SEID);
    let cp = cp
        .and_then(|value| FSeid::decode(value).ok())
        .unwrap_or_default();
    let Node {
        endpoint, node_id, ..
    } = node;
    let seid = Some(cp.seid);
    // A peer that is gone needs no answer.
    let _ = endpoint.reply(at.now, request.reply, seid, out, |w| {
        put(w, IeType::NODE_ID, &node_id.as_wire())?;
        refusal.write(w)
    });
}

/// The response to an establishment that the path has carried out.
pub fn answer<E: Effects>(
    node: &mut Node,
    at: Moment,
    session: SessionRef,
    reply: &Reply,
    (created, ue): (&Created, &UeAddresses),
    out: &mut E,
) {
    let Node {
        endpoint,
        node_id,
        shared,
        ..
    } = node;
    let up = FSeid::v4(session.seid(), shared.config.n4_address);
    let seid = Some(reply.cp_seid);
    let load = shared.load.next_for(endpoint, reply.to.peer());
    // A peer that is gone needs no answer.
    let _ = endpoint.reply(at.now, reply.to, seid, out, |w| {
        put(w, IeType::NODE_ID, &node_id.as_wire())?;
        put(w, IeType::CAUSE, &Cause::REQUEST_ACCEPTED)?;
        put(w, IeType::F_SEID, &up)?;
        write_created(w, created, ue)?;
        load.write(w)
    });
}

fn create<N: Network>(
    shared: &mut Shared,
    part: &mut Part,
    at: Moment,
    request: &SessionRequest<'_>,
    head: &SessionEstablishmentHead<'_>,
    net: &mut N,
) -> Result<Launch, Refusal> {
    let SessionRequest {
        association, body, ..
    } = *request;
    if shared.associations.is_leaving(association) {
        return Err(Refusal::of(Cause::NO_RESOURCES_AVAILABLE));
    }
    let rules = Body::new(body);
    refuse_unsupported(head, &rules)?;
    let timer = head.user_plane_inactivity_timer.filter(|time| time.0 > 0);
    let flags = head.pfcpsereq_flags.unwrap_or_default();
    let ue = ue_addresses::of_new_session(&part.resources, at, body, net)?;
    let base = Base {
        session: None,
        shard: home_shard(&ue).unwrap_or_else(|| part.any_shard(at.seconds())),
        ue,
        restores: flags.contains(SessionEstablishmentRequestFlags::RESTI),
    };
    part.resources.prefetch_taking(base.shard);
    let mut drafted = draft::draft(shared, part, at, &base, net, |work| {
        work.draft.inactivity = timer.map(|time| Inactivity::new(time.0));
        work.take_sets(association, &rules)?;
        create_all(work, &rules)
    })?;
    let cp = CpSession {
        seid: head.cp_f_seid.seid,
        ipv4: head.cp_f_seid.ipv4,
        ipv6: head.cp_f_seid.ipv6,
    };
    let new = NewSession {
        association,
        cp,
        shard: base.shard,
        check: part.new_check(),
        request: RequestHash::of(request.fingerprint),
        user: head.user_id.as_ref().map(read_user).unwrap_or_default(),
    };
    // There is room: the draft was checked against the store.
    let Some(name) = part.store.insert(&new, &drafted.change.new) else {
        draft::undo(shared, part, drafted, net);
        return Err(Refusal::of(Cause::NO_RESOURCES_AVAILABLE));
    };
    let mut launch = drafted.launch;
    launch.record.session = name;
    draft::settle(shared, part, name, &mut drafted.change, at.seconds());
    part.give_change(drafted.change);
    Ok(launch)
}

fn create_all<N: Network>(work: &mut Admission<'_, N>, body: &Body<'_>) -> Result<Scope, Refusal> {
    for rule in [IeType::CREATE_PDR, IeType::CREATE_FAR] {
        if !body.may_have(rule) {
            return Err(Reject::mandatory_missing(rule).into());
        }
    }
    work.take_given()?;
    work.create_rules(body)?;
    work.keep_routes()?;
    Ok(Scope::Rules)
}

/// Traces are admitted and without effect: they change nothing for packets.
fn refuse_unsupported(head: &SessionEstablishmentHead<'_>, body: &Body<'_>) -> Result<(), Refusal> {
    let refused = |cause, ie| Refusal {
        offending_ie: Some(ie),
        ..Refusal::of(cause)
    };
    for ie in [IeType::CREATE_TRAFFIC_ENDPOINT, IeType::CREATE_MAR] {
        if body.may_have(ie) {
            return Err(refused(Cause::SERVICE_NOT_SUPPORTED, ie));
        }
    }
    match head.pdn_type {
        None | Some(PdnType::IPV4 | PdnType::IPV6 | PdnType::IPV4V6) => Ok(()),
        Some(PdnType::NON_IP | PdnType::ETHERNET) => {
            Err(refused(Cause::SERVICE_NOT_SUPPORTED, IeType::PDN_TYPE))
        }
        Some(_) => Err(refused(Cause::MANDATORY_IE_INCORRECT, IeType::PDN_TYPE)),
    }
}

/// Who the user is, as far as it is kept.
fn read_user(user: &UserId<'_>) -> User {
    User {
        imsi: user
            .imsi
            .map(digits)
            .or(user.supi.map(imsi_of))
            .unwrap_or_default(),
        msisdn: user.msisdn.map(digits).unwrap_or_default(),
    }
}

/// The digits of a SUPI of type IMSI (TS 29.571, 5.3.2).
fn imsi_of(supi: &[u8]) -> Digits {
    let text = supi.strip_prefix(b"imsi-").unwrap_or_default();
    let mut digits = Digits::new();
    for octet in text.iter().filter(|o| o.is_ascii_digit()) {
        if digits.try_push(char::from(*octet)).is_err() {
            break;
        }
    }
    digits
}

/// TBCD (TS 29.002): the low half first, a filler of 15 at the end.
fn digits(tbcd: &[u8]) -> Digits {
    let mut text = Digits::new();
    for half in tbcd.iter().flat_map(|octet| [octet & 15, octet >> 4]) {
        if half > 9 || text.try_push(char::from(b'0' + half)).is_err() {
            break;
        }
    }
    text
}
