//! The SMF as a sans-IO machine: bytes and time go in, datagrams and outcomes come out.

mod answer;
mod association;
mod outbox;
mod report;
mod session;

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use arrayvec::ArrayVec;
use sluice_n4::{
    AssociationId, Config, Counters, Endpoint, Features, Input, Instant, Outbox, Request,
    RequestError, Role, messages,
};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::MessageType;

pub use answer::{Changed, Done, Established, Outcome, Ticket};
pub use association::Peer;
pub use report::{NodeReport, Report, SessionReport};
pub use session::Change;

use answer::Operation;
use outbox::Prioritised;
use report::Reports;
use session::Session;

use crate::encode::{CpNode, EncodeContext, SessionChange, is_sendable, write_establishment};
use crate::{Dialect, SessionPlan, SmfError, Usage};

/// An SMF with one UPF.
///
/// The machine has no clock and no socket. Each request returns a [`Ticket`]; after every call that takes an
/// [`Outbox`], take the outcomes by [`Machine::next_outcome`]. A session has one request under way at a time, so that
/// its messages keep their order.
#[derive(Debug)]
pub struct Machine {
    endpoint: Endpoint,
    dialect: Dialect,
    cp: CpNode,
    upf: SocketAddr,
    association: Option<AssociationId>,
    sessions: HashMap<Seid, Session>,
    operations: HashMap<u64, Operation>,
    outcomes: VecDeque<Outcome>,
    reports: Reports,
    last_ticket: u64,
    last_seid: u64,
    scratch: Vec<u8>,
}

/// A request about a session.
#[derive(Clone, Copy)]
enum Ask {
    Establish,
    Step(SessionChange),
    Delete,
}

impl Machine {
    /// An SMF at `cp` for the UPF at `upf`. Name and features in `config` are those of `cp` and
    /// of the dialect, whatever stands there.
    pub fn new(dialect: Dialect, cp: CpNode, upf: SocketAddr, mut config: Config) -> Self {
        config.node_id = cp.node_id.clone();
        config.features = Features {
            cp: dialect.profile().cp_function_features,
            up: None,
        };
        Self {
            endpoint: Endpoint::new(Role::Cp, config),
            dialect,
            cp,
            upf,
            association: None,
            sessions: HashMap::new(),
            operations: HashMap::new(),
            outcomes: VecDeque::new(),
            reports: Reports::default(),
            last_ticket: 0,
            last_seid: 0,
            scratch: Vec::new(),
        }
    }

    /// Establishes a session (TS 29.244, 6.3.2).
    pub fn establish(&mut self, now: Instant, plan: SessionPlan, out: &mut impl Outbox) -> Ticket {
        let ticket = self.ticket();
        if let Some(error) = self.refuse_flow(&plan) {
            self.finish(ticket, Err(error));
            return ticket;
        }
        self.last_seid += 1;
        let cp_seid = Seid(self.last_seid);
        self.sessions
            .insert(cp_seid, Session::new(self.dialect, plan, cp_seid));
        match self.ask(now, ticket, cp_seid, Ask::Establish, out) {
            Ok(()) => self.expect(ticket, Operation::Establish { cp_seid }),
            Err(error) => {
                self.sessions.remove(&cp_seid);
                self.finish(ticket, Err(error));
            }
        }
        ticket
    }

    /// Changes a session (TS 29.244, 6.3.3), in as many steps as the dialect takes.
    pub fn change(
        &mut self,
        now: Instant,
        cp_seid: Seid,
        change: Change,
        out: &mut impl Outbox,
    ) -> Ticket {
        let ticket = self.ticket();
        match self.plan_change(cp_seid, change) {
            Ok(steps) => self.next_step(now, ticket, cp_seid, steps, Usage::default(), out),
            Err(error) => self.finish(ticket, Err(error)),
        }
        ticket
    }

    /// Deletes a session (TS 29.244, 6.3.4).
    pub fn delete(&mut self, now: Instant, cp_seid: Seid, out: &mut impl Outbox) -> Ticket {
        let ticket = self.ticket();
        let asked = self
            .free_session(cp_seid)
            .map(|session| session.busy = true)
            .and_then(|()| self.ask(now, ticket, cp_seid, Ask::Delete, out));
        match asked {
            Ok(()) => self.expect(ticket, Operation::Delete { cp_seid }),
            Err(error) => self.fail(ticket, cp_seid, error),
        }
        ticket
    }

    /// Deals with one datagram.
    pub fn handle(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        datagram: &[u8],
        out: &mut impl Outbox,
    ) {
        for message in messages(datagram) {
            match self.endpoint.handle(now, peer, message, out) {
                Input::Nothing => {}
                Input::Session(request) => self.answer_report(now, &request, out),
                Input::Response(response) => self.take_answer(now, &response, out),
            }
        }
        self.take_events();
    }

    /// Does what is due: retransmissions, heartbeats, the end of our patience.
    pub fn tick(&mut self, now: Instant, out: &mut impl Outbox) {
        let priority = &self.dialect.profile().priority;
        self.endpoint.tick(
            now,
            &mut Prioritised {
                out,
                priority,
                scratch: &mut self.scratch,
            },
        );
        self.take_events();
        self.lose_patience(now);
    }

    /// When [`Machine::tick`] has something to do.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.patience()
            .into_iter()
            .chain(self.endpoint.next_deadline())
            .min()
    }

    /// The next outcome, in the order in which the UPF answered.
    pub fn next_outcome(&mut self) -> Option<Outcome> {
        self.outcomes.pop_front()
    }

    /// Reports of the UPF since the last call, and the number of older reports that were lost because nobody had taken
    /// them.
    pub fn take_reports(&mut self) -> (Vec<Report>, u64) {
        self.reports.take()
    }

    /// Sessions now, those that are being established or deleted included.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// Requests without answer now.
    pub fn in_flight(&self) -> u32 {
        self.endpoint.in_flight()
    }

    /// The PFCP endpoint's counters.
    pub fn counters(&self) -> Counters {
        self.endpoint.counters()
    }

    fn plan_change(
        &mut self,
        cp_seid: Seid,
        change: Change,
    ) -> Result<ArrayVec<SessionChange, 2>, SmfError> {
        let dialect = self.dialect;
        let session = self.free_session(cp_seid)?;
        let measured = session.plan.measured && !dialect.profile().urr.is_empty();
        if matches!(change, Change::Query | Change::Grant(_)) && !measured {
            return Err(SmfError::NotMeasured(cp_seid));
        }
        if change == Change::AddFlow && !session.has_pending_flow() {
            return Err(SmfError::NoFlow(cp_seid));
        }
        Ok(session.steps(dialect, change))
    }

    /// Why a plan's flow cannot be made.
    fn refuse_flow(&self, plan: &SessionPlan) -> Option<SmfError> {
        let flow = plan.flow.as_ref()?;
        let can = self.dialect.profile().flow.is_some() && is_sendable(flow);
        (!can).then(|| SmfError::FlowNotPossible {
            dialect: self.dialect,
            description: flow.packets.text().to_owned(),
        })
    }

    fn free_session(&mut self, cp_seid: Seid) -> Result<&mut Session, SmfError> {
        match self.sessions.get_mut(&cp_seid) {
            None => Err(SmfError::NoSuchSession(cp_seid)),
            Some(session) if session.busy => Err(SmfError::Busy(cp_seid)),
            Some(session) => Ok(session),
        }
    }

    /// Sends a request about a session.
    fn ask(
        &mut self,
        now: Instant,
        ticket: Ticket,
        cp_seid: Seid,
        ask: Ask,
        out: &mut impl Outbox,
    ) -> Result<(), SmfError> {
        let association = self.association.ok_or(SmfError::NotAssociated)?;
        let session = self
            .sessions
            .get(&cp_seid)
            .ok_or(SmfError::NoSuchSession(cp_seid))?;
        let view = session.view();
        let scene = EncodeContext::of(self.dialect, &self.cp, &view);
        let message_type = match ask {
            Ask::Establish => MessageType::SESSION_ESTABLISHMENT_REQUEST,
            Ask::Step(_) => MessageType::SESSION_MODIFICATION_REQUEST,
            Ask::Delete => MessageType::SESSION_DELETION_REQUEST,
        };
        let seid = Some(view.up_seid);
        // All of the emulated SMFs send to the UPF's node address, not to that of its F-SEID.
        let request = Request {
            association,
            to: None,
            tag: ticket.0,
            message_type,
            seid,
        };
        let priority = &self.dialect.profile().priority;
        let mut out = Prioritised {
            out,
            priority,
            scratch: &mut self.scratch,
        };
        let sent = self
            .endpoint
            .request(now, request, &mut out, |w| match ask {
                Ask::Establish => write_establishment(w, &scene),
                Ask::Step(step) => scene.write_step(w, view.gnb, step),
                Ask::Delete => scene.write_deletion(w),
            });
        match sent {
            Ok(_) => Ok(()),
            Err(RequestError::NoAssociation | RequestError::NotEstablished) => {
                Err(SmfError::NotAssociated)
            }
            Err(error) => Err(SmfError::NotSent {
                request: message_type,
                error,
            }),
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    fn expect(&mut self, ticket: Ticket, operation: Operation) {
        self.operations.insert(ticket.0, operation);
    }

    fn finish(&mut self, ticket: Ticket, outcome: Result<Done, SmfError>) {
        self.outcomes.push_back((ticket, outcome));
    }

    /// Ends an operation on a session with an error; the session stays as it was.
    fn fail(&mut self, ticket: Ticket, cp_seid: Seid, error: SmfError) {
        let busy_with_another = matches!(error, SmfError::Busy(_));
        if let Some(session) = self
            .sessions
            .get_mut(&cp_seid)
            .filter(|_| !busy_with_another)
        {
            session.busy = false;
        }
        self.finish(ticket, Err(error));
    }
}
