//! What the procedures of the UP function work on: the PFCP endpoint, and sessions with their store,
//! allocators, indices, transactions under way and what is remembered of associations.

use crate::compile::compiler::Compiler;
use crate::config::Config;
use crate::draft::RuleChange;
use crate::flows::applications::Applications;
use crate::flows::flow_filter_runs::FlowFilterRuns;
use crate::flows::flow_walk::FlowWalk;
use crate::index::hash::Seeded;
use crate::index::remote_fteid_index::RemoteFteidIndex;
use crate::limits::URRS_PER_SESSION;
use crate::names::Names;
use crate::pending::{PendingTable, SessionRemarks};
use crate::random::Random;
use crate::reports::events::SessionEvent;
use crate::reports::load_control::LoadControl;
use crate::reports::path_reports::PathReports;
use crate::reports::report_queue::ReportQueue;
use crate::resources::Resources;
use crate::rules::Rules;
use crate::session_sets::SetWalk;
use crate::store::{CpSession, Session, SessionRef, Store};
use crate::usage::timers::SessionTimers;
use core::net::IpAddr;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::exact_match::ExactWriter;
use sluice_datapath::session::txn::Txn;
use sluice_n4::{AssociationId, Endpoint, Instant, NodeId, Outbox, SessionRequest};
use sluice_wire::pfcp::value::{NtpTime, UpFunctionFeatures};
use std::collections::VecDeque;

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

/// Events that wait to be read; older ones are lost if nobody reads them.
const EVENTS: usize = 256;

/// How far an association is on its way to its release (TS 29.244, 5.18).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UsageBeforeRelease {
    /// Nobody releases it.
    #[default]
    None,
    /// The graceful period is over: its CP function is to be told that sessions end now.
    ToAnnounce,
    /// Sessions end; so many of them wait for the path, or for their CP function's answer.
    Reporting(usize),
    /// All is told; the CP function releases it.
    Told,
}

/// What is remembered of an association beside its sessions.
#[derive(Clone, Copy, Debug, Default)]
pub struct AssociationMemory {
    /// The association, so that the next user of the place is told apart.
    pub id: Option<AssociationId>,
    /// When the sessions of a silent peer end.
    pub gives_up: Option<Instant>,
    /// How far it is on its way to its release.
    pub release: UsageBeforeRelease,
    /// [`SessionEvent::ChoosesTeids`] was given.
    pub told_teids: bool,
    /// [`SessionEvent::TriggersUnserved`] was given.
    pub told_triggers: bool,
}

/// Sessions, and what they are made with.
pub struct Sessions {
    /// As it was started with.
    pub config: Config,
    /// The sessions.
    pub store: Store,
    /// Allocators of identifiers and places.
    pub resources: Resources,
    /// Names of network instances.
    pub names: Names,
    /// Flows by the Application ID of PDIs.
    pub applications: Applications,
    /// Our features, as CP functions know them.
    pub features: UpFunctionFeatures,
    /// Transactions that the path has.
    pub pending: PendingTable,
    /// Which sessions send into a peer's tunnel, for Error Indications.
    pub remotes: RemoteFteidIndex,
    /// When something of them is due.
    pub timers: SessionTimers,
    /// What they have to report.
    pub reports: ReportQueue,
    /// This node's load, and who has been told of it.
    pub load: LoadControl,
    /// Paths to tunnel peers, and who has been told of them.
    pub paths: PathReports,
    /// By place of the association.
    pub associations: Vec<AssociationMemory>,
    /// Not later than the first [`AssociationMemory::gives_up`].
    pub gives_up_first: Instant,
    /// Rules to operations of the path.
    pub compiler: Compiler,
    /// The UP function is about to end.
    pub releasing: bool,
    /// Sessions of deleted sets are looked for.
    pub set_walk: Option<SetWalk>,
    /// Sessions are looked for whose named flows have changed.
    pub flow_walk: FlowWalk,
    /// Sessions that kept flows which had changed, as something was full.
    pub flows_kept: u64,
    /// An association has sessions to end, or their reports are on the way.
    pub has_releases: bool,
    /// Establishments that came again when the endpoint no longer knew them.
    pub repeated: u64,
    events: VecDeque<SessionEvent>,
    /// Room for the next change of rules; it is as large as all rules of a session, twice.
    spare_change: Option<Box<RuleChange>>,
    /// Room for [`rules`](Self::rules).
    pub read: Box<Rules>,
    next_shard: u32,
    /// What is written is read again and compared.
    #[cfg(test)]
    pub asserts: bool,
}

impl Sessions {
    /// None yet. `foreign` is the writer of the path's table of identifiers that others chose.
    pub fn new(config: Config, associations: usize, foreign: ExactWriter) -> Self {
        let meters = config.sessions.saturating_mul(URRS_PER_SESSION);
        let random = Random::new(config.seed);
        let layout = config.layout.clone();
        let filters = FlowFilterRuns::new(config.flow_filters, Seeded(config.seed[1]));
        Self {
            store: Store::new(config.sessions, associations, Seeded(config.seed[1])),
            resources: Resources::new(
                layout,
                config.blocks,
                (config.sessions, meters),
                filters,
                &config.allocation,
                foreign,
                random,
            ),
            names: Names::default(),
            features: UpFunctionFeatures::NONE,
            applications: Applications::new(&config.applications, Seeded(config.seed[0])),
            pending: PendingTable::new(config.transactions),
            remotes: RemoteFteidIndex::new(config.sessions, Seeded(config.seed[0])),
            timers: SessionTimers::new(config.sessions),
            reports: ReportQueue::new(config.sessions, associations),
            load: LoadControl::new(config.load_control, associations),
            paths: PathReports::default(),
            associations: vec![AssociationMemory::default(); associations],
            gives_up_first: Instant::NEVER,
            compiler: Compiler::new(config.mbr_zero, config.shaped_rates),
            releasing: false,
            set_walk: None,
            flow_walk: FlowWalk::default(),
            flows_kept: 0,
            has_releases: false,
            repeated: 0,
            events: VecDeque::with_capacity(EVENTS),
            spare_change: Some(Box::default()),
            read: Box::default(),
            next_shard: 0,
            #[cfg(test)]
            asserts: true,
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
        let Some(memory) = self.memory(id) else {
            return;
        };
        let is_new = |remarked: bool, told: &mut bool| remarked && !core::mem::replace(told, true);
        let teids = is_new(remarks.chosen_by_cp, &mut memory.told_teids);
        let triggers = is_new(remarks.unserved_triggers, &mut memory.told_triggers);
        if teids {
            self.tell(SessionEvent::ChoosesTeids(id));
        }
        if triggers {
            self.tell(SessionEvent::TriggersUnserved(id));
        }
    }

    /// What is remembered of an association; a new one begins with nothing.
    pub fn memory(&mut self, id: AssociationId) -> Option<&mut AssociationMemory> {
        let memory = self.associations.get_mut(id.index())?;
        if memory.id != Some(id) {
            *memory = AssociationMemory {
                id: Some(id),
                ..AssociationMemory::default()
            };
        }
        Some(memory)
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
        self.store.load(name, &mut self.read);
        &mut self.read
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

/// Where the effects of the UP function go.
pub trait Effects: Outbox {
    /// Takes a transaction for the owner of its shard. Those of one shard must stay in order;
    /// each comes back by [`UpFunction::complete`](crate::UpFunction::complete).
    fn transact(&mut self, txn: Box<Txn>);
}

/// What the procedures work on.
pub struct Node {
    /// Associations and messages under way.
    pub endpoint: Endpoint,
    /// Sessions.
    pub sessions: Sessions,
    /// As it stands in the endpoint's configuration: answers are written while that is in use.
    pub node_id: NodeId,
}

/// Whether a request may act on a session that its CP function calls so: an address that no association message told
/// has the sessions alone whose CP F-SEID says that they are there (TS 29.244, 5.6.2).
pub fn may_act(request: &SessionRequest<'_>, cp: CpSession) -> bool {
    let from = request.reply.peer().ip().to_canonical();
    let mut addresses = (cp.ipv4.map(IpAddr::V4).into_iter()).chain(cp.ipv6.map(IpAddr::V6));
    request.is_of_holder || addresses.any(|address| address == from)
}
