//! Shared state of the session procedures.

use crate::association_release::UsageBeforeRelease;
use crate::compile::render::Image;
use crate::config::Config;
use crate::draft::Scope;
use crate::events::SessionEvent;
use crate::hash::Seeded;
use crate::limits::URRS_PER_SESSION;
use crate::meter::ReportContent;
use crate::names::Names;
use crate::network::Network;
use crate::pending::PendingTable;
use crate::random::Random;
use crate::released;
use crate::remote_fteid_index::RemoteFteidIndex;
use crate::resources::{Claims, Resources};
use crate::rules::Rules;
use crate::store::{SessionRef, Store};
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::exact_match::ExactWriter;
use sluice_n4::{AssociationId, Instant};
use sluice_wire::pfcp::value::NtpTime;
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
const NOTICES: usize = 256;

/// What is remembered of an association beside its sessions.
#[derive(Clone, Copy, Debug, Default)]
pub struct AssociationMemory {
    /// The association, so that the next user of the place is told apart.
    pub id: Option<AssociationId>,
    /// When the sessions of a silent peer end.
    pub gives_up: Option<Instant>,
    /// How far it is on its way to its release.
    pub farewell: UsageBeforeRelease,
    /// [`SessionEvent::ChoosesTeids`] was given.
    pub told_teids: bool,
    /// [`SessionEvent::TriggersUnserved`] was given.
    pub told_triggers: bool,
    /// [`SessionEvent::TimerUnserved`] was given.
    pub told_timer: bool,
}

/// Sessions, allocators and work space.
pub struct Sessions {
    pub config: Config,
    pub store: Store,
    pub ground: Resources,
    pub names: Names,
    pub pending: PendingTable,
    /// Which sessions send into a peer's tunnel, for Error Indications.
    pub remotes: RemoteFteidIndex,
    pub associations: Vec<AssociationMemory>,
    /// Not later than the first [`AssociationMemory::gives_up`].
    pub gives_up_first: Instant,
    pub notices: VecDeque<SessionEvent>,
    /// The session's rules before and after the message at hand.
    pub installed: Box<Rules>,
    pub draft: Box<Rules>,
    /// Where in the session's record its FARs begin.
    pub fars_at: usize,
    /// What the path has and what it is to have.
    pub before: Box<Image>,
    pub after: Box<Image>,
    pub claims: Box<Claims>,
    /// The UP function is about to end.
    pub releasing: bool,
    /// An association has sessions to end, or their reports are on the way.
    pub farewells: bool,
    /// Establishments that came again when the endpoint no longer knew them.
    pub repeated: u64,
    next_shard: u32,
    /// What is written is read again and compared.
    #[cfg(test)]
    pub asserts: bool,
}

impl Sessions {
    pub fn new(config: Config, associations: usize, foreign: ExactWriter) -> Self {
        let meters = config.sessions.saturating_mul(URRS_PER_SESSION);
        let random = Random::new(config.seed);
        let layout = config.layout.clone();
        Self {
            store: Store::new(config.sessions, associations, Seeded(config.seed[1])),
            ground: Resources::new(layout, config.blocks, meters, foreign, random),
            names: Names::default(),
            pending: PendingTable::new(config.transactions),
            remotes: RemoteFteidIndex::new(config.sessions, Seeded(config.seed[0])),
            associations: vec![AssociationMemory::default(); associations],
            gives_up_first: Instant::NEVER,
            notices: VecDeque::with_capacity(NOTICES),
            installed: Box::default(),
            draft: Box::default(),
            fars_at: 0,
            before: Box::new(Image::new(config.mbr_zero)),
            after: Box::new(Image::new(config.mbr_zero)),
            claims: Box::default(),
            releasing: false,
            farewells: false,
            repeated: 0,
            next_shard: 0,
            #[cfg(test)]
            asserts: true,
            config,
        }
    }

    pub fn notice(&mut self, notice: SessionEvent) {
        if self.notices.len() >= NOTICES {
            // Somebody waits for the end of a query; there are a few at a time.
            let is_for_the_log =
                |notice: &SessionEvent| !matches!(notice, SessionEvent::Queried(_));
            if let Some(oldest) = self.notices.iter().position(is_for_the_log) {
                self.notices.remove(oldest);
            }
        }
        self.notices.push_back(notice);
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

    /// A shard for a session without UE address: each in its turn that has a TEID to give.
    pub fn any_shard(&mut self, now_s: u32) -> u32 {
        let from = self.next_shard;
        let turn = (0..SHARDS).map(|i| (from + i) % SHARDS);
        let shard = turn.clone().find(|s| self.ground.has_teid(*s, now_s));
        let shard = shard.unwrap_or(from);
        self.next_shard = (shard + 1) % SHARDS;
        shard
    }

    /// A check for a new session, never 0.
    pub fn new_check(&mut self) -> u32 {
        self.ground.random().max(1)
    }

    /// Makes the draft the session's rules: from here on nothing can fail.
    pub fn commit(&mut self, session: SessionRef, scope: Scope, now_s: u32) {
        match scope {
            Scope::Rules => {
                self.settle(session, now_s);
                self.store.put(session, &self.draft);
            }
            Scope::FarsOnly => {
                self.settle_ways(session);
                self.store.put_fars(session, &self.draft, self.fars_at);
            }
        }
        #[cfg(test)]
        if self.asserts {
            self.assert_kept(session);
        }
    }

    /// What was written is what will be read.
    #[cfg(test)]
    fn assert_kept(&mut self, session: SessionRef) {
        let mut kept = Rules::default();
        self.store.load(session, &mut kept);
        let mut draft = self.draft.clone();
        draft.qers.iter_mut().for_each(|qer| qer.is_new = false);
        assert_eq!(kept, *draft);
    }

    /// What the session takes and gives back by the draft is its own, or is gone.
    pub fn settle(&mut self, session: SessionRef, now_s: u32) {
        let Self {
            installed,
            draft,
            ground,
            ..
        } = self;
        for line in released::gone_lines(installed, draft) {
            ground.release(line, now_s);
        }
        for block in released::gone_blocks(installed, draft) {
            ground.release_block(block);
        }
        for urr in &draft.urrs {
            if let Some(meter) = ground.meters.get_mut(urr.meter) {
                meter.told = ReportContent::by(urr.method, urr.information);
            }
        }
        self.settle_ways(session);
    }

    /// The same where only FARs were updated.
    fn settle_ways(&mut self, session: SessionRef) {
        let Self {
            installed,
            draft,
            remotes,
            ..
        } = self;
        for (sends, tunnel) in released::tunnels(installed, draft) {
            match sends {
                true => remotes.add(tunnel, session.at),
                false => remotes.remove(tunnel, session.at),
            }
        }
        self.claims.keep();
    }

    /// Leaves everything as it was before the message.
    pub fn undo(&mut self, net: &mut impl Network) {
        self.ground.undo(&mut self.claims, net);
    }
}
