//! Report queue: sessions that have something to report to their CP function, each once, by association.
//!
//! What becomes due while a report of the session is under way is merged and goes with the next one. What is
//! not answered is due again. So memory is bounded by the sessions, however much is due.

use crate::index::slab::Slab;
use crate::limits::{FLOWS_PER_REPORT, REPORTS_UNDER_WAY};
use crate::rules::FilterOrigin;
use crate::store::SessionRef;
use arrayvec::ArrayVec;
use sluice_n4::{AssociationId, Instant};
use sluice_wire::ids::PdrId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Reasons to report, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reasons(u8);

impl Reasons {
    /// Packets came for an idle UE (DLDR).
    pub const DOWNLINK_DATA: Self = Self(1);
    /// A peer knows no tunnel any more that a FAR sends into (ERIR).
    pub const ERROR_INDICATION: Self = Self(1 << 1);

    /// URRs have usage to report (USAR).
    pub const USAGE: Self = Self(1 << 2);
    /// No packets come (UPIR).
    pub const INACTIVITY: Self = Self(1 << 3);

    /// True if there is none.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// True if `other` is among them.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those of both.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A QoS flow with packets for an idle UE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PagedFlow {
    /// The PDR that the first packet matched.
    pub pdr: PdrId,
    /// The predefined rule in the PDR's place that it matched, if there is one.
    pub origin: FilterOrigin,
    /// Its DSCP.
    pub dscp: u8,
}

/// What one report tells. What Error Indications are about stands in the session's FARs.
#[derive(Clone, Debug, Default)]
pub struct ReportContents {
    /// Why.
    pub reasons: Reasons,
    /// Flows with packets.
    pub flows: ArrayVec<PagedFlow, FLOWS_PER_REPORT>,
}

impl ReportContents {
    /// What is in `other` is in this one, too. Of flows that find no room the UE is paged anyway.
    pub fn merge(&mut self, other: Self) {
        self.reasons = self.reasons.with(other.reasons);
        for flow in other.flows {
            self.add_flow(flow);
        }
    }

    fn add_flow(&mut self, flow: PagedFlow) {
        let is_known = |known: &PagedFlow| (known.pdr, known.origin) == (flow.pdr, flow.origin);
        if !self.flows.iter().any(is_known) {
            // Beyond the bound the UE is paged anyway.
            let _ = self.flows.try_push(flow);
        }
    }
}

/// A session with something to report.
#[derive(Debug)]
struct ReportNode {
    session: SessionRef,
    association: AssociationId,
    due: ReportContents,
    /// In the request that is under way.
    sent: ReportContents,
    /// It stands in its association's queue.
    is_queued: bool,
    /// It goes into the queue then, not before.
    not_before: Option<Instant>,
    /// Answers in a row that say that the CP function knows no such session.
    unknown: u8,
    previous: u32,
    next: u32,
}

const NONE: u32 = u32::MAX;

/// The sessions of an association that wait.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    first: u32,
    last: u32,
    under_way: usize,
    /// Its requests are not answered: it is told when it is back.
    is_silent: bool,
}

impl Waiting {
    const NONE: Self = Self {
        first: NONE,
        last: NONE,
        under_way: 0,
        is_silent: false,
    };
}

/// What has been reported, and waits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ReportCounters {
    /// Session Report Requests sent, by reason; one with two counts twice.
    pub sent_downlink_data: u64,
    /// The same for Error Indications.
    pub sent_error_indication: u64,
    /// The same for usage.
    pub sent_usage: u64,
    /// The same for inactivity.
    pub sent_inactivity: u64,
    /// FARs that a Downlink Data Report told of, and that an update lets forward again: the UE was paged and is back.
    pub paging_answered: u64,
    /// Answered, whatever the answer was.
    pub answered: u64,
    /// Not answered, or refused.
    pub failed: u64,
    /// Sessions with something to report now, those with a request under way included.
    pub pending: usize,
    /// Requests under way now.
    pub under_way: usize,
}

/// The queues.
#[derive(Debug)]
pub struct ReportQueue {
    nodes: Slab<ReportNode>,
    /// By place of the session: its node and 1, or 0. Touched only for sessions that report.
    of_session: Vec<u32>,
    /// By place of the association.
    waiting: Vec<Waiting>,
    /// When a report that is delayed is due; what has no node any more is passed over.
    delayed: BinaryHeap<Reverse<(Instant, u32, u32)>>,
    /// Something may be sent that could not be before.
    is_ready: bool,
    /// What was reported.
    pub counters: ReportCounters,
}

impl ReportQueue {
    /// Of so many sessions and associations.
    pub fn new(sessions: usize, associations: usize) -> Self {
        Self {
            nodes: Slab::new(sessions),
            of_session: vec![0; sessions],
            waiting: vec![Waiting::NONE; associations],
            delayed: BinaryHeap::new(),
            is_ready: false,
            counters: ReportCounters::default(),
        }
    }

    /// Counters and how much waits now.
    pub fn counters(&self) -> ReportCounters {
        ReportCounters {
            pending: self.nodes.used(),
            under_way: self.waiting.iter().map(|w| w.under_way).sum(),
            ..self.counters
        }
    }

    fn at(&self, name: SessionRef) -> Option<u32> {
        let at = self.of_session.get(name.at as usize)?.checked_sub(1)?;
        (self.nodes.get(at)?.session == name).then_some(at)
    }

    fn node(&mut self, name: SessionRef) -> Option<&mut ReportNode> {
        let at = self.at(name)?;
        self.nodes.get_mut(at)
    }

    /// The session has something to report: at once, or at a time if nothing else of it is due before.
    pub fn add(
        &mut self,
        name: SessionRef,
        association: AssociationId,
        reason: Reasons,
        not_before: Option<Instant>,
    ) {
        let at = self.at(name).or_else(|| self.insert(name, association));
        let Some(node) = at.and_then(|at| self.nodes.get_mut(at)) else {
            return;
        };
        let was_due = !node.due.reasons.is_none();
        node.due.reasons = node.due.reasons.with(reason);
        match not_before {
            Some(time) if !was_due => {
                node.not_before = Some(time);
                self.delayed.push(Reverse((time, name.at, name.check)));
            }
            Some(_) => {}
            None => node.not_before = None,
        }
        self.enqueue(name);
    }

    /// A flow of a session that has [something to report](Self::add).
    pub fn add_flow(&mut self, name: SessionRef, flow: PagedFlow) {
        if let Some(node) = self.node(name) {
            node.due.add_flow(flow);
        }
    }

    fn insert(&mut self, name: SessionRef, association: AssociationId) -> Option<u32> {
        let place = self.of_session.get_mut(name.at as usize)?;
        let at = self.nodes.insert(ReportNode {
            session: name,
            association,
            due: ReportContents::default(),
            sent: ReportContents::default(),
            is_queued: false,
            not_before: None,
            unknown: 0,
            previous: NONE,
            next: NONE,
        })?;
        *place = at + 1;
        Some(at)
    }

    /// A session that may report goes to the end of its queue, once.
    pub fn enqueue(&mut self, name: SessionRef) {
        let Some(at) = self.at(name) else { return };
        let Some(node) = self.nodes.get_mut(at) else {
            return;
        };
        let is_under_way = !node.sent.reasons.is_none();
        let may = !node.due.reasons.is_none() && node.not_before.is_none();
        if node.is_queued || is_under_way || !may {
            return;
        }
        let Some(waiting) = self.waiting.get_mut(node.association.index()) else {
            return;
        };
        (node.is_queued, node.previous, node.next) = (true, waiting.last, NONE);
        let last = core::mem::replace(&mut waiting.last, at);
        match self.nodes.get_mut(last) {
            Some(last) => last.next = at,
            None => waiting.first = at,
        }
        self.is_ready = true;
    }

    fn unlink(&mut self, at: u32) {
        let Some(node) = self.nodes.get_mut(at).filter(|node| node.is_queued) else {
            return;
        };
        let (previous, next) = (node.previous, node.next);
        node.is_queued = false;
        let place = node.association.index();
        match self.nodes.get_mut(previous) {
            Some(previous) => previous.next = next,
            None => self.waiting[place].first = next,
        }
        match self.nodes.get_mut(next) {
            Some(next) => next.previous = previous,
            None => self.waiting[place].last = previous,
        }
    }

    /// The session has ended: it reports nothing more.
    pub fn forget(&mut self, name: SessionRef) {
        if let Some(at) = self.at(name) {
            self.remove(at, name);
        }
    }

    fn remove(&mut self, at: u32, name: SessionRef) {
        self.unlink(at);
        self.nodes.remove(at);
        if let Some(place) = self.of_session.get_mut(name.at as usize) {
            *place = 0;
        }
    }

    /// The next session that may report now. It stands in no queue from here on.
    pub fn next(&mut self) -> Option<(SessionRef, AssociationId)> {
        if !self.is_ready {
            return None;
        }
        for place in 0..self.waiting.len() {
            let waiting = self.waiting[place];
            if waiting.is_silent || waiting.under_way >= REPORTS_UNDER_WAY {
                continue;
            }
            if let Some(node) = self.nodes.get(waiting.first) {
                let found = (node.session, node.association);
                self.unlink(waiting.first);
                return Some(found);
            }
        }
        self.is_ready = false;
        None
    }

    /// Nothing more can be sent for now: the transport is full. It is tried again when something is answered.
    pub fn pause(&mut self, name: SessionRef) {
        self.enqueue(name);
        self.is_ready = false;
    }

    /// What a session has to report, for [`sent`](Self::sent).
    pub fn due(&self, name: SessionRef) -> Option<&ReportContents> {
        let at = self.at(name)?;
        self.nodes.get(at).map(|node| &node.due)
    }

    /// A session's due report is under way.
    pub fn sent(&mut self, name: SessionRef) {
        let Some(node) = self.node(name) else { return };
        node.sent = core::mem::take(&mut node.due);
        let (place, reasons) = (node.association.index(), node.sent.reasons);
        self.waiting[place].under_way += 1;
        let count = |reason| u64::from(reasons.has(reason));
        self.counters.sent_downlink_data += count(Reasons::DOWNLINK_DATA);
        self.counters.sent_error_indication += count(Reasons::ERROR_INDICATION);
        self.counters.sent_usage += count(Reasons::USAGE);
        self.counters.sent_inactivity += count(Reasons::INACTIVITY);
    }

    /// What is due has lost its reason.
    pub fn nothing_to_tell(&mut self, name: SessionRef) {
        if let Some(node) = self.node(name) {
            node.due = ReportContents::default();
        }
        self.settle(name);
    }

    /// A request of the association's is no longer under way. Gives what it told.
    fn ended(&mut self, association: AssociationId, name: SessionRef) -> Option<ReportContents> {
        if let Some(waiting) = self.waiting.get_mut(association.index()) {
            waiting.under_way = waiting.under_way.saturating_sub(1);
        }
        self.is_ready = true;
        let node = self.node(name)?;
        (node.association == association).then(|| core::mem::take(&mut node.sent))
    }

    /// A report was taken, or refused for good. Gives what it told.
    pub fn answered(
        &mut self,
        association: AssociationId,
        name: SessionRef,
    ) -> Option<ReportContents> {
        self.counters.answered += 1;
        let told = self.ended(association, name);
        if let Some(node) = self.node(name) {
            node.unknown = 0;
        }
        self.settle(name);
        told
    }

    /// A report was not taken: what it told is due again, at once or at a time. Gives its reasons.
    pub fn returned(
        &mut self,
        association: AssociationId,
        name: SessionRef,
        not_before: Option<Instant>,
    ) -> Option<Reasons> {
        self.counters.failed += 1;
        let told = self.ended(association, name)?;
        let reasons = told.reasons;
        if let Some(node) = self.node(name) {
            let new = core::mem::replace(&mut node.due, told);
            node.due.merge(new);
            node.not_before = not_before;
        }
        if let Some(time) = not_before {
            self.delayed.push(Reverse((time, name.at, name.check)));
        }
        self.enqueue(name);
        Some(reasons)
    }

    /// The CP function says that it knows no such session; how often it has in a row.
    pub fn unknown(&mut self, name: SessionRef) -> u8 {
        self.node(name).map_or(0, |node| {
            node.unknown = node.unknown.saturating_add(1);
            node.unknown
        })
    }

    /// A session waits for its turn, or it has nothing to report.
    fn settle(&mut self, name: SessionRef) {
        let Some(at) = self.at(name) else { return };
        let is_idle = |node: &ReportNode| {
            node.due.reasons.is_none() && node.sent.reasons.is_none() && !node.is_queued
        };
        if self.nodes.get(at).is_some_and(is_idle) {
            self.remove(at, name)
        } else {
            self.enqueue(name)
        }
    }

    /// The CP function does not answer, or answers again.
    pub fn set_silent(&mut self, association: AssociationId, is_silent: bool) {
        if let Some(waiting) = self.waiting.get_mut(association.index()) {
            waiting.is_silent = is_silent;
            self.is_ready |= !is_silent;
        }
    }

    /// When the next delayed report is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.delayed.peek().map(|Reverse((time, ..))| *time)
    }

    /// Reports whose delay is over go into their queues.
    pub fn end_delays(&mut self, now: Instant) {
        while let Some(Reverse((time, at, check))) = self.delayed.peek().copied()
            && time <= now
        {
            self.delayed.pop();
            let name = SessionRef { at, check };
            if let Some(node) = self.node(name)
                && node.not_before == Some(time)
            {
                node.not_before = None;
                self.enqueue(name);
            }
        }
    }
}
