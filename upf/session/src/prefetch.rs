//! Prefetch of what N4 messages will need: by their headers, then by their sessions, then by the
//! sessions' rules. Each step asks the caches for what the next one reads.

use crate::node::Node;
use crate::store::{CpSession, SessionRef};
use core::net::SocketAddr;
use sluice_datapath::session::txn::Txn;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::FSeid;
use sluice_wire::pfcp::{Header, IeType, Ies, MessageType};

/// The first message of a datagram that will be [handled](crate::UpFunction::handle) soon.
#[derive(Clone, Copy, Debug)]
pub struct Upcoming {
    session: Option<SessionRef>,
    /// It asks for the session's end.
    ends: bool,
}

/// What a datagram's first message is looked up by, and the session that it names.
pub fn message(node: &Node, peer: SocketAddr, bytes: &[u8]) -> Option<Upcoming> {
    let (header, body) = Header::parse(bytes).ok()?;
    node.endpoint.prefetch_message(peer, &header);
    let store = &node.part.store;
    let session = header.seid.map(SessionRef::from_seid);
    match header.message_type {
        MessageType::SESSION_ESTABLISHMENT_REQUEST => {
            let key = node.endpoint.association_at(peer).zip(cp_session(body));
            key.into_iter().for_each(|key| store.prefetch_cp(key));
        }
        _ => session.into_iter().for_each(|name| store.prefetch(name)),
    }
    Some(Upcoming {
        session,
        ends: header.message_type == MessageType::SESSION_DELETION_REQUEST,
    })
}

/// The session's rules.
pub fn session_rules(node: &Node, upcoming: &Upcoming) {
    if let Some(session) = upcoming.session {
        node.part.store.prefetch_rules(session);
        if upcoming.ends {
            node.part.store.prefetch_end(session);
        }
    }
}

/// What the rules lead to.
pub fn resources(node: &Node, upcoming: &Upcoming) {
    let Some(name) = upcoming.session else { return };
    let part = &node.part;
    for meter in part.store.meters_of(name) {
        part.resources.meters.prefetch_at(meter);
    }
    if upcoming.ends {
        let (ue, endpoints) = part.store.endpoints_of(name);
        for endpoint in endpoints {
            part.resources.prefetch_release(&endpoint, &ue);
        }
    }
}

/// The session of a transaction that came back.
pub fn completion(node: &Node, txn: &Txn) {
    if let Some(session) = node.part.pending.session(txn.id) {
        node.part.store.prefetch(session);
    }
}

/// What the CP function calls a new session, if that stands among the first IEs, as it does in
/// practice.
fn cp_session(body: &[u8]) -> Option<CpSession> {
    let mut first = Ies::new(body).take(3).filter_map(Result::ok);
    let told = first.find(|ie| ie.ie_type == IeType::F_SEID)?;
    let FSeid { seid, ipv4, ipv6 } = FSeid::decode(told.value).ok()?;
    Some(CpSession { seid, ipv4, ipv6 })
}
