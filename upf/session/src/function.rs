//! The UP function: dispatch of N4 events, transactions and timers.

use crate::config::Config;
use crate::events::SessionEvent;
use crate::network::Network;
use crate::state::{Moment, Sessions};
use crate::store::{CpSession, SessionRef};
use core::net::{Ipv4Addr, SocketAddr};
use sluice_datapath::lookup::exact_match::ExactWriter;
use sluice_datapath::session::txn::Txn;
use sluice_n4::{Endpoint, Input, Instant, NodeId, Outbox, Role, SessionRequest, messages};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::{FSeid, NtpTime};
use sluice_wire::pfcp::{Cause, Header, IeType, Ies, MessageType};

/// Where the effects of the UP function go.
pub trait Effects: Outbox {
    /// Takes a transaction for the owner of its shard. Those of one shard must stay in order;
    /// each comes back by [`UpFunction::complete`].
    fn transact(&mut self, txn: Box<Txn>);
}

/// The first message of a datagram that will be [handled](UpFunction::handle) soon.
#[derive(Clone, Copy, Debug)]
pub struct Upcoming {
    session: Option<SessionRef>,
    /// It asks for the session's end.
    ends: bool,
}

/// The N4 side of a UPF: associations, sessions, and their compiled rules.
///
/// It has no clock, socket or thread, and allocates nothing for a session request once as many
/// transactions were under way at a time as ever will be. Call [`next_deadline`] after every
/// other call, and [`tick`] when it has come.
///
/// [`next_deadline`]: Self::next_deadline
/// [`tick`]: Self::tick
pub struct UpFunction {
    pub(super) endpoint: Endpoint,
    pub(super) state: Sessions,
    /// As it stands in the endpoint's configuration: answers are written while that is in use.
    pub(super) node_id: NodeId,
}

impl UpFunction {
    /// A UP function without associations. Its features are set here; `foreign` is the writer of
    /// the path's table of identifiers that others chose.
    pub fn new(config: Config, mut n4: sluice_n4::Config, foreign: ExactWriter) -> Self {
        n4.features.up = Some(super::UP_FUNCTION_FEATURES);
        // TS 29.244, 6.2.6.2.2: Session Retention Information is honoured.
        n4.retains_sessions = true;
        let associations = n4.limits.associations;
        Self {
            node_id: n4.node_id.clone(),
            endpoint: Endpoint::new(Role::Up, n4),
            state: Sessions::new(config, associations, foreign),
        }
    }

    /// Deals with a datagram that arrived on N4.
    pub fn handle<N: Network, E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        peer: SocketAddr,
        bytes: &[u8],
        net: &mut N,
        out: &mut E,
    ) {
        let at = Moment { now, wall };
        for message in messages(bytes) {
            match self.endpoint.handle(now, peer, message, out) {
                Input::Nothing => {}
                // Where it lies: it is large.
                Input::Session(ref request) => self.request(at, request, net, out),
                Input::Response(response) => self.report_answered(&response),
            }
            self.events(at);
        }
        self.follow_up(at, net, out);
    }

    /// Sessions end one after the other: those that nobody can name any more, and those of
    /// associations on their way to their release.
    #[inline]
    pub(super) fn follow_up<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        net: &mut N,
        out: &mut E,
    ) {
        if self.state.store.has_doomed() || self.state.farewells {
            self.end_sessions(at, net, out);
        }
    }

    #[cold]
    fn end_sessions<N: Network, E: Effects>(&mut self, at: Moment, net: &mut N, out: &mut E) {
        self.remove_doomed(at, net, out);
        if self.state.farewells {
            self.farewells(at, net, out);
        }
    }

    /// A datagram will be [handled](Self::handle) soon: asks the caches for what its first message
    /// is looked up by, and for the session that it names.
    pub fn prefetch_message(&self, peer: SocketAddr, bytes: &[u8]) -> Option<Upcoming> {
        let (header, body) = Header::parse(bytes).ok()?;
        self.endpoint.prefetch_message(peer, &header);
        let session = header.seid.map(SessionRef::from_seid);
        match header.message_type {
            MessageType::SESSION_ESTABLISHMENT_REQUEST => {
                let key = self.endpoint.association_at(peer).zip(cp_session(body));
                key.into_iter()
                    .for_each(|key| self.state.store.prefetch_cp(key));
            }
            _ => session
                .into_iter()
                .for_each(|name| self.state.store.prefetch(name)),
        }
        Some(Upcoming {
            session,
            ends: header.message_type == MessageType::SESSION_DELETION_REQUEST,
        })
    }

    /// A datagram will be handled soon, after so many others: asks the caches for the transaction that
    /// it becomes.
    pub fn prefetch_transaction(&self, after: usize) {
        self.state.pending.prefetch_next(after);
    }

    /// Some time after [`foresee`](Self::prefetch_message): asks for the session's rules.
    pub fn prefetch_session_rules(&self, upcoming: &Upcoming) {
        if let Some(session) = upcoming.session {
            self.state.store.prefetch_rules(session);
            if upcoming.ends {
                self.state.store.prefetch_end(session);
            }
        }
    }

    /// The same later still: asks for what the rules lead to.
    pub fn prefetch_resources(&self, upcoming: &Upcoming) {
        let Some(name) = upcoming.session else { return };
        for meter in self.state.store.meters_of(name) {
            self.state.ground.meters.prefetch_at(meter);
        }
        if upcoming.ends {
            for endpoint in self.state.store.endpoints_of(name) {
                self.state.ground.prefetch_release(&endpoint);
            }
        }
    }

    /// A transaction that came back will be [completed](Self::complete) soon: asks the caches for
    /// its session.
    pub fn prefetch_completion(&self, txn: &Txn) {
        if let Some(session) = self.state.pending.session(txn.id) {
            self.state.store.prefetch(session);
        }
    }

    /// Deals with a transaction that came back from the packet path.
    pub fn complete<N: Network, E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        txn: Box<Txn>,
        net: &mut N,
        out: &mut E,
    ) {
        let at = Moment { now, wall };
        if let Some(record) = self.state.pending.take(txn.id) {
            self.finish(at, record, &txn.usage, net, out);
        }
        self.state.pending.recycle_txn(txn);
        self.follow_up(at, net, out);
    }

    /// Does what is due.
    pub fn tick<N: Network, E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        net: &mut N,
        out: &mut E,
    ) {
        let at = Moment { now, wall };
        self.endpoint.tick(now, out);
        self.events(at);
        self.give_up_silent_peers(now);
        self.follow_up(at, net, out);
    }

    /// When [`tick`](Self::tick) has something to do next.
    pub fn next_deadline(&self) -> Option<Instant> {
        let gives_up = self
            .state
            .associations
            .iter()
            .filter_map(|a| a.gives_up)
            .min();
        [self.endpoint.next_deadline(), gives_up]
            .into_iter()
            .flatten()
            .min()
    }

    /// An Error Indication (TS 29.281, 7.3.1) that `peer` sent about a TEID of its own.
    pub fn error_indication<E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        peer: Ipv4Addr,
        teid: u32,
        out: &mut E,
    ) {
        self.report_error_indication(Moment { now, wall }, peer, teid, out);
    }

    /// The next event for the log.
    pub fn next_notice(&mut self) -> Option<SessionEvent> {
        self.state.notices.pop_front()
    }

    /// Transactions under way.
    pub fn under_way(&self) -> usize {
        self.state.pending.len()
    }

    /// The PFCP endpoint, for its counters.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn request<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        net: &mut N,
        out: &mut E,
    ) {
        match request.header().message_type {
            MessageType::SESSION_ESTABLISHMENT_REQUEST => self.establish(at, request, net, out),
            MessageType::SESSION_MODIFICATION_REQUEST => self.modify(at, request, net, out),
            MessageType::SESSION_DELETION_REQUEST => self.delete(at, request, net, out),
            _ => self.refuse_unsupported(at, request, out),
        }
    }

    /// PFD management and session sets: features that are not advertised.
    fn refuse_unsupported<E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        out: &mut E,
    ) {
        use sluice_wire::pfcp::IeType;
        use sluice_wire::pfcp::element::Element;
        let Self {
            endpoint, node_id, ..
        } = self;
        let names_itself = request.header().message_type != MessageType::PFD_MANAGEMENT_REQUEST;
        let seid = request.header().seid.map(|_| Seid(0));
        // A peer that is gone needs no answer.
        let _ = endpoint.reply(at.now, request.reply, seid, out, |w| {
            if names_itself {
                w.ie(IeType::NODE_ID, |w| node_id.as_wire().encode(w))?;
            }
            w.ie(IeType::CAUSE, |w| Cause::SERVICE_NOT_SUPPORTED.encode(w))
        });
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
