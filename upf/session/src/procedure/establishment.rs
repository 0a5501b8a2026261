//! PFCP Session Establishment (TS 29.244, 6.3.2, 7.5.2, 7.5.3).
//!
//! The session's F-SEID at the CP function names it (TS 29.244, 5.6.2), within the association
//! that its Node ID names. If the request is the same to the last octet behind the header it is
//! not applied again: the answer is made anew from what stands. If it is another one the CP
//! function has forgotten the first session and asks for a new one: once that is admitted the first
//! is removed, since an F-SEID names one session and nobody would ever delete it.

use crate::admission::Admission;
use crate::admit::each;
use crate::admit::pdr::ue;
use crate::draft;
use crate::draft::{Base, Scope};
use crate::network::Network;
use crate::node::{Effects, Moment, Node, Part, Shared, may_act};
use crate::pending::{Answer, Created, CreatedPdr, Launch, Reply};
use crate::procedure::{put, ue_addresses, write_created};
use crate::refusal::Refusal;
use crate::resources::home_shard;
use crate::rules::{Families, Inactivity, UeAddresses};
use crate::store::{CpSession, Digits, NewSession, RequestHash, Session, SessionRef, User};
use core::net::IpAddr;
use sluice_n4::SessionRequest;
use sluice_wire::limits::PDRS_PER_MESSAGE;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::CreatePdr;
use sluice_wire::pfcp::ie::Body;
use sluice_wire::pfcp::message::SessionEstablishmentHead;
use sluice_wire::pfcp::value::{FSeid, FTeid, PdnType, SessionEstablishmentRequestFlags, UserId};
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
    let known = find_duplicate(&node.part, request, &head);
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
    known: &Known,
    out: &mut E,
) {
    node.part.repeated += 1;
    // While the path carries the first one out there is nothing to say yet; its answer is on the way.
    if known.session.stands {
        let name = known.name;
        let created = answer_of_duplicate(&mut node.part, name, request.body);
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

/// The session of a request's CP F-SEID that is there already.
struct Known {
    pub name: SessionRef,
    pub session: Session,
    /// This very request established it.
    pub is_same: bool,
}

/// The session that is called so.
fn find_duplicate(
    part: &Part,
    request: &SessionRequest<'_>,
    head: &SessionEstablishmentHead<'_>,
) -> Option<Known> {
    let FSeid { seid, ipv4, ipv6 } = head.cp_f_seid;
    let cp = CpSession { seid, ipv4, ipv6 };
    let (name, session) = part.store.by_cp((request.association, cp))?;
    Some(Known {
        is_same: session.request == RequestHash::of(request.fingerprint),
        name,
        session,
    })
}

/// What was chosen for the PDRs of the request, as far as it still stands, and the session's UE addresses.
fn answer_of_duplicate(
    part: &mut Part,
    session: SessionRef,
    body: &[u8],
) -> (Created, UeAddresses) {
    let mut created = Created::new();
    let rules = &*part.rules(session);
    let read = each(
        &Body::new(body),
        IeType::CREATE_PDR,
        PDRS_PER_MESSAGE,
        |ie: &CreatePdr<'_>| {
            let Some(pdr) = rules.pdrs.iter().find(|p| p.id == ie.pdr_id) else {
                return Ok(());
            };
            let asked = matches!(ie.pdi.local_f_teid, Some(FTeid::Choose { .. }));
            let families = ie.pdi.ue_ip_address.iter().map(ue::asked_for);
            let chosen = CreatedPdr {
                id: pdr.id,
                tunnel: pdr.tunnel.filter(|_| asked),
                ue: families.fold(Families::NONE, Families::or),
            };
            if chosen != CreatedPdr::of(pdr.id) {
                // There is a place for each PDR of a message.
                let _ = created.try_push(chosen);
            }
            Ok(())
        },
    );
    debug_assert!(read.is_ok(), "the request was admitted before");
    (created, rules.ue)
}
