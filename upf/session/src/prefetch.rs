//! Prefetch pipeline for received N4 datagrams.
//!
//! A datagram passes through stages, each of which asks the caches for what the next one reads: its octets, the session
//! that its header names, that session's rules, and what those lead to. Datagrams that came together follow each other
//! at a distance, so that the waits of those behind pass while those in front are dealt with.

use crate::node::Node;
use crate::store::{CpSession, SessionRef};
use arrayvec::ArrayVec;
use core::net::SocketAddr;
use sluice_datapath::session::txn::Txn;
use sluice_mem::prefetch;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::FSeid;
use sluice_wire::pfcp::{Header, IeType, Ies, MessageType};

/// Datagrams that are dealt with together at the most.
pub const DATAGRAMS: usize = 32;

/// Datagrams between one stage and the next: long enough for a wait for memory.
const APART: usize = 4;

/// From the first stage to the moment when a datagram is dealt with.
pub const AHEAD: usize = 4 * APART;

/// Datagrams on their way through the stages, at most [`DATAGRAMS`] of them.
pub struct PrefetchStages<'a, 'b> {
    datagrams: &'a [(SocketAddr, &'b [u8])],
    /// By datagram, of those whose header was read.
    upcoming: ArrayVec<Option<Upcoming>, DATAGRAMS>,
}

impl<'a, 'b> PrefetchStages<'a, 'b> {
    /// Of datagrams that are dealt with in this order.
    pub fn of(datagrams: &'a [(SocketAddr, &'b [u8])]) -> Self {
        Self {
            datagrams,
            upcoming: ArrayVec::new(),
        }
    }

    /// One step: each datagram goes on by one place, and one that was [`AHEAD`] steps behind is to
    /// be dealt with.
    pub(crate) fn step(&mut self, step: usize, node: &Node) {
        // Whoever brought them wrote them on another core.
        if let Some((_, bytes)) = self.datagrams.get(step) {
            prefetch::read_all_bytes(bytes);
        }
        let before = |stages: usize| step.checked_sub(stages * APART);
        if let Some((peer, bytes)) = before(1).and_then(|at| self.datagrams.get(at)) {
            // The transaction that it becomes: those in front of it have not taken theirs yet.
            node.part.pending.prefetch_next(AHEAD.min(step) - APART);
            // There is room for each of them.
            let _ = self.upcoming.try_push(message(node, *peer, bytes));
        }
        let known = |at: Option<usize>| self.upcoming.get(at?)?.as_ref();
        if let Some(upcoming) = known(before(2)) {
            session_rules(node, upcoming);
        }
        if let Some(upcoming) = known(before(3)) {
            resources(node, upcoming);
        }
    }
}

/// The first message of a datagram that will be [handled](crate::UpFunction::handle) soon.
#[derive(Clone, Copy, Debug)]
struct Upcoming {
    session: Option<SessionRef>,
    /// It asks for the session's end.
    ends: bool,
}

/// What a datagram's first message is looked up by, and the session that it names.
fn message(node: &Node, peer: SocketAddr, bytes: &[u8]) -> Option<Upcoming> {
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
fn session_rules(node: &Node, upcoming: &Upcoming) {
    if let Some(session) = upcoming.session {
        node.part.store.prefetch_rules(session);
        if upcoming.ends {
            node.part.store.prefetch_end(session);
        }
    }
}

/// What the rules lead to.
fn resources(node: &Node, upcoming: &Upcoming) {
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
