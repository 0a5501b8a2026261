//! Node of the UP function: PFCP endpoint, state that parts share, and the part with all sessions.
//!
//! One thread can own the part: nothing else writes there, but for the little that procedures of an association do to
//! all sessions of theirs (they are to end, their CP function is silent). A session's procedure reads the shared state
//! and writes little of it, as each field says: so that parts can have threads of their own later, while one in front
//! of them writes it.

pub mod associations;
pub mod uses;

use crate::compile::Compiler;
use crate::config::Config;
use crate::flows::applications::Applications;
use crate::flows::flow_filter_runs::{FlowFilterRuns, FlowWalk};
use crate::index::hash_index::Seeded;
use crate::index::remote_fteid_index::RemoteFteidIndex;
use crate::limits::URRS_PER_SESSION;
use crate::names::Names;
use crate::pending::{PendingTable, SessionRemarks};
use crate::random::Random;
use crate::reports::events::SessionEvent;
use crate::reports::load_control::LoadControl;
use crate::reports::path_reports::PathReports;
use crate::reports::report_queue::ReportQueue;
use crate::resources::{Claims, Resources};
use crate::rules::Rules;
use crate::session_sets::{SessionSets, SetWalk};
use crate::store::{CpSession, Session, SessionRef, Store};
use crate::usage::timers::SessionTimers;
use associations::Associations;
use core::net::IpAddr;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::exact_match::ExactWriter;
use sluice_datapath::session::txn::Txn;
use sluice_n4::{AssociationId, Endpoint, Instant, NodeId, Outbox, SessionRequest};
use sluice_wire::pfcp::value::{NtpTime, UpFunctionFeatures};
use std::collections::VecDeque;
use uses::Uses;

/// When something happens.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Monotonic.
    pub now: Instant,
    /// Of the calendar.
    pub wall: NtpTime,
}

impl Moment {
    /// Whole seconds of the monotonic time.
    pub fn seconds(self) -> u32 {
        (self.now.0 / 1_000_000_000) as u32
    }
}

/// Receiver of the UP function's effects.
pub trait Effects: Outbox {
    /// Takes a transaction for the owner of its shard. Those of one shard must stay in order;
    /// each comes back by [`UpFunction::complete`](crate::UpFunction::complete).
    fn transact(&mut self, txn: Box<Txn>);
}

/// All that procedures work on. One part has all sessions. Procedures of sessions say in their signatures what they
/// touch: `&mut Part` and no more, where they can; `&Shared` beside it to read, `&mut Shared` to write.
pub struct Node {
    /// Associations and messages under way.
    pub endpoint: Endpoint,
    /// As it stands in the endpoint's configuration: answers are written while that is in use.
    pub node_id: NodeId,
    /// State that all parts read.
    pub shared: Shared,
    /// The sessions.
    pub part: Part,
}

/// Sessions, and what they are made with.
pub struct Part {
    /// The sessions.
    pub store: Store,
    /// Allocators of identifiers and places.
    pub resources: Resources,
    /// Transactions that the path has.
    pub pending: PendingTable,
    /// Which sessions send into a peer's tunnel, for Error Indications.
    pub remotes: RemoteFteidIndex,
    /// Applications, predefined rules and sets that they use.
    pub uses: Uses,
    /// When something of them is due.
    pub timers: SessionTimers,
    /// Reports that are due. That an association is silent is written by its procedures.
    pub reports: ReportQueue,
    /// Rules to operations of the path.
    pub compiler: Compiler,
    /// Sessions of deleted sets are looked for.
    pub set_walk: Option<SetWalk>,
    /// Sessions are looked for whose named flows have changed.
    pub flow_walk: FlowWalk,
    /// Sessions that kept flows which had changed, as something was full.
    pub flows_kept: u64,
    /// Establishments that came again when the endpoint no longer knew them.
    pub repeated: u64,
    /// Room for the next change of rules; it is as large as all rules of a session, twice.
    spare_change: Option<Box<RuleChange>>,
    /// Room for [`rules`](Self::rules).
    read: Box<Rules>,
    next_shard: u32,
    /// Records that are written are read again and compared.
    #[cfg(test)]
    pub asserts: bool,
}

impl Part {
    /// No sessions yet. `foreign` is the writer of the path's table of identifiers that others chose.
    pub fn new(config: &Config, associations: usize, foreign: ExactWriter) -> Self {
        let meters = config.sessions.saturating_mul(URRS_PER_SESSION);
        let filters = FlowFilterRuns::new(config.flow_filters, Seeded(config.seed[1]));
        Self {
            store: Store::new(config.sessions, associations, Seeded(config.seed[1])),
            resources: Resources::new(
                config.layout.clone(),
                config.blocks,
                (config.sessions, meters),
                filters,
                &config.allocation,
                foreign,
                Random::new(config.seed),
            ),
            pending: PendingTable::new(config.transactions),
            remotes: RemoteFteidIndex::new(config.sessions, Seeded(config.seed[0])),
            uses: Uses::new(Seeded(config.seed[0])),
            timers: SessionTimers::new(config.sessions),
            reports: ReportQueue::new(config.sessions, associations),
            compiler: Compiler::new(config.mbr_zero, config.shaped_rates),
            set_walk: None,
            flow_walk: FlowWalk::default(),
            flows_kept: 0,
            repeated: 0,
            spare_change: Some(Box::default()),
            read: Box::default(),
            next_shard: 0,
            #[cfg(test)]
            asserts: true,
        }
    }

    /// The session that a request names, if it is one of the association that asks, and where the request comes from
    /// an address that was only learned, one of that address.
    pub fn find(&self, request: &SessionRequest<'_>) -> Option<(SessionRef, Session)> {
        let name = SessionRef::from_seid(request.header().seid?);
        let session = self.store.get(name)?;
        let is_its = session.association == request.association && may_act(request, session.cp);
        is_its.then_some((name, session))
    }

    /// The session whose rules stand in an entry, if they report or lead elsewhere than to the UE's data network.
    pub fn session_of_entry(&self, entry: EntryId) -> Option<SessionRef> {
        let at = self.resources.session_of(entry)?;
        self.store.named(at)
    }

    /// The rules of a session that is there.
    pub fn rules(&mut self, name: SessionRef) -> &mut Rules {
        self.rules_with_resources(name).0
    }

    /// The same, beside the allocators.
    pub fn rules_with_resources(&mut self, name: SessionRef) -> (&mut Rules, &mut Resources) {
        self.store.load(name, &mut self.read);
        (&mut self.read, &mut self.resources)
    }

    /// Room for a change of rules; whoever takes it gives it back.
    pub fn take_change(&mut self) -> Box<RuleChange> {
        self.spare_change.take().unwrap_or_default()
    }

    /// The room is free again.
    pub fn give_change(&mut self, change: Box<RuleChange>) {
        self.spare_change = Some(change);
    }

    /// A shard for a session without UE address: each in its turn that has a TEID to give.
    pub fn any_shard(&mut self, now_s: u32) -> u32 {
        let from = self.next_shard;
        let turn = (0..SHARDS).map(|i| (from + i) % SHARDS);
        let shard = turn.clone().find(|s| self.resources.has_teid(*s, now_s));
        let shard = shard.unwrap_or(from);
        self.next_shard = (shard + 1) % SHARDS;
        shard
    }

    /// A check for a new session, never 0.
    pub fn new_check(&mut self) -> u32 {
        self.resources.random().max(1)
    }
}

/// A session's rules before and after a message.
#[derive(Default)]
pub struct RuleChange {
    /// As they are.
    pub old: Rules,
    /// As they will be.
    pub new: Rules,
    /// Where in the session's record its FARs begin.
    pub fars_at: usize,
    /// What was taken for it, for the case that the message is refused.
    pub claims: Claims,
}

/// Whether a request may act on a session that its CP function calls so: an address that no association message told
/// has the sessions alone whose CP F-SEID says that they are there (TS 29.244, 5.6.2).
pub fn may_act(request: &SessionRequest<'_>, cp: CpSession) -> bool {
    let from = request.reply.peer().ip().to_canonical();
    let mut addresses = (cp.ipv4.map(IpAddr::V4).into_iter()).chain(cp.ipv6.map(IpAddr::V6));
    request.is_of_holder || addresses.any(|address| address == from)
}

/// Events that wait to be read; older ones are lost if nobody reads them.
const EVENTS: usize = 256;

/// State that all parts read.
pub struct Shared {
    /// As it was started with, and what of it was [reloaded](crate::UpFunction::reload).
    pub config: Config,
    /// Our features, as CP functions know them.
    pub features: UpFunctionFeatures,
    /// Names of network instances. A session that first names one adds it.
    pub names: Names,
    /// Flows by the Application ID of PDIs. A session that leaves one lets it go if nobody else needs it.
    pub applications: Applications,
    /// Names of session sets. A session that first names one adds it, and the last that leaves it lets it go.
    pub sets: SessionSets,
    /// This node's load, and who has been told of it: with the response of any session.
    pub load: LoadControl,
    /// Paths to tunnel peers, and who has been told of them.
    pub paths: PathReports,
    /// Memory of associations.
    pub associations: Associations,
    /// Sessions tell some as well, such as a report that failed.
    events: VecDeque<SessionEvent>,
}

impl Shared {
    /// Nothing yet, with places for so many associations.
    pub fn new(config: Config, features: UpFunctionFeatures, associations: usize) -> Self {
        Self {
            features,
            names: Names::default(),
            applications: Applications::new(&config.applications, Seeded(config.seed[0])),
            sets: SessionSets::new(Seeded::default()),
            load: LoadControl::new(config.load_control, associations),
            paths: PathReports::default(),
            associations: Associations::new(associations),
            events: VecDeque::with_capacity(EVENTS),
            config,
        }
    }

    /// Something for the operator's log.
    pub fn tell(&mut self, event: SessionEvent) {
        if self.events.len() >= EVENTS {
            // Somebody waits for the end of a query; there are a few at a time.
            let is_for_the_log = |event: &SessionEvent| !matches!(event, SessionEvent::Queried(_));
            if let Some(oldest) = self.events.iter().position(is_for_the_log) {
                self.events.remove(oldest);
            }
        }
        self.events.push_back(event);
    }

    /// The oldest event that was not read.
    pub fn next_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    /// Tells the operator what was not told yet of how a CP function speaks, once for each association.
    #[inline]
    pub fn tell_remarks(&mut self, id: AssociationId, remarks: SessionRemarks) {
        if remarks != SessionRemarks::default() {
            self.tell_new(id, remarks);
        }
    }

    fn tell_new(&mut self, id: AssociationId, remarks: SessionRemarks) {
        let untold = self.associations.take_untold(id, remarks);
        if untold.chosen_by_cp {
            self.tell(SessionEvent::ChoosesTeids(id));
        }
        if untold.unserved_triggers {
            self.tell(SessionEvent::TriggersUnserved(id));
        }
    }
}
