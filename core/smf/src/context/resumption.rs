//! Contexts that survive the process: what is stored after each input, and how a later SMF goes on with it
//! (TS 23.527, 4.2; TS 29.244, 6.2.6).
//!
//! The SMF asks its UPFs to retain their sessions (Session Retention Information), and has its previous Recovery Time
//! Stamp, so that for them it is the same SMF. A UPF that has not retained the sessions gets them again.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use sluice_n1::SessionCause;
use sluice_n4::AssociationId;
use sluice_sbi::{CommitId, Effect, Instant, Key, Now, context_store::fingerprint};

use crate::Smf;
use crate::context::session::{AtUpf, Loss, Mobility, Reaching, Session, SessionId};
use crate::context::state::State;
use crate::context::stored_context::{self, Kept};
use crate::leases::lease::OwnAddresses;
use crate::limits;
use crate::procedure::Procedure;
use crate::procedure::establishment::{ask, clean_up};
use crate::procedure::release;
use crate::procedure::user_plane::downlink;
use crate::upf::doubtful_rules;
use crate::upf::n4::Answer;
use crate::upf::orphans::ORPHAN;
use crate::upf::rules::Downlink;

/// Before the number of a session.
const SESSION: &str = "smf/session/";

impl Smf {
    /// Goes on with the sessions of an SMF of before, of which this is the `starts`th: keys and values as
    /// they were committed. Only of an SMF that has done nothing yet. What cannot be read, and what is at a
    /// UPF that is not in the configuration any more, is deleted; so is, at its UPF as well, a session whose data
    /// network is gone.
    pub fn resume<'a>(
        &mut self,
        now: Now,
        starts: u16,
        contexts: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        effects: &mut Vec<Effect>,
    ) -> usize {
        let state = &mut *self.state.borrow_mut();
        state.now = now;
        let unix_s = now.unix_s as u32;
        // Away from the numbers of the SMF before, which its UPFs may remember.
        let sequence = (unix_s << 12).wrapping_add(u32::from(starts).wrapping_mul(0x2_9b3d));
        state.endpoint = crate::upf::n4::endpoint(&state.config, Some(sequence));
        // Before the first one nothing was stored that is still known.
        let (mut read, mut is_whole) = (Vec::new(), starts > 1);
        let mut orphans = Vec::new();
        for (key, value) in contexts {
            if key.starts_with(ORPHAN.as_bytes()) {
                match stored_context::read_orphan(value) {
                    Some((upf, at, lease)) => orphans.push((key, upf, (at, lease))),
                    None => is_whole = state.leave_out(key),
                }
                continue;
            }
            let Some(id) = session_of(key) else { continue };
            match stored_context::read(value) {
                Some(kept) if state.can_undo_all(&kept) => {
                    read.push((id, kept, fingerprint(value)));
                }
                _ => is_whole = state.leave_out(key),
            }
        }
        // A session that nobody knows any more must not stay at its UPF: then all begin anew there.
        state.associate(is_whole);
        let mut sessions: Vec<(Key, Session)> = Vec::new();
        for (id, kept, stored) in read {
            match state.resumed(id, kept, stored) {
                Some(session) => sessions.push((id.0, session)),
                None => state.store_session(id, None),
            }
        }
        state.sessions.restore(starts << 8, sessions);
        state.resume_indexes();
        for (key, upf, at) in orphans {
            state.resume_orphan(key, upf, at);
        }
        state.sessions.take_touched();
        effects.append(&mut state.effects);
        state.sessions.len()
    }

    /// Whether there is a session of this number.
    pub fn knows(&self, number: u64) -> bool {
        let id = SessionId::from_number(number);
        self.state.borrow().sessions.get(id.0).is_some()
    }

    /// By what an AMF knows, sessions by their numbers and whether a gNB has them: others are deleted, and
    /// those that no gNB has wait for their UEs. Gives numbers that this SMF does not know, and those of
    /// sessions that are not established: their UEs ask for them again (T3580).
    pub fn reconcile(
        &mut self,
        now: Now,
        known: &BTreeMap<u64, bool>,
        effects: &mut Vec<Effect>,
    ) -> Vec<u64> {
        let state = &mut *self.state.borrow_mut();
        state.now = now;
        let there: Vec<SessionId> = state
            .sessions
            .iter()
            .map(|(key, _)| SessionId(key))
            .collect();
        for id in there {
            if !state.has_upf(id) {
                continue;
            }
            match known.get(&id.number()) {
                None => {
                    // A UPF that was restarted has given its numbers to others; what it may have is undone.
                    let known = state.sessions.get(id.0);
                    let known = known.filter(|session| session.loss == Loss::None);
                    let upf = known.and_then(|session| session.upf);
                    if let Some(upf) = upf {
                        state.forget_at_upf(Some(id), upf);
                    }
                    state.remove(id);
                }
                Some(false) => {
                    let session = state.sessions.get_mut(id.0);
                    if let Some(session) = session.filter(|session| session.downlink.is_some()) {
                        session.downlink = None;
                        session.is_unsettled = true;
                    }
                }
                Some(true) => {}
            }
        }
        let is_unknown = |number: &u64| {
            let id = SessionId::from_number(*number);
            state.sessions.get(id.0).is_none() || !state.has_upf(id)
        };
        let unknown = known.keys().copied().filter(is_unknown).collect();
        state.take_effects(effects);
        unknown
    }
}

/// The session that a key names.
fn session_of(key: &[u8]) -> Option<SessionId> {
    let digits = key.strip_prefix(SESSION.as_bytes())?;
    let number = u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    Some(SessionId::from_number(number)).filter(|id| id.number() == number)
}

/// Tells the UPF what is to be, since nobody knows what it was told last. A session is released, so that its UE asks for
/// another, if the UPF does not say that flows of which it may have a part are gone.
pub(crate) async fn settle(p: Procedure) {
    p.with_session(|session| session.is_unsettled = false);
    let reaching = p.with_session(|session| session.reaching).flatten();
    let is_lost = |p: &Procedure| p.with_session(|session| session.loss != Loss::None);
    // One that does not answer has heard it or not; one that has gone has its sessions no more.
    for _ in 0..limits::SETTLEMENTS {
        let wanted = p.with_session(|session| session.downlink);
        let wanted = wanted.flatten().map_or(Downlink::Wait, Downlink::Forward);
        let is_told = downlink(&p, "", wanted).await;
        if is_told || is_lost(&p) != Some(false) {
            break;
        }
    }
    let is_in_doubt = p.with_session(|session| session.flows.in_doubt != 0);
    let mut is_clear = is_in_doubt == Some(false);
    for _ in 0..limits::SETTLEMENTS {
        if is_clear || is_lost(&p) != Some(false) {
            break;
        }
        is_clear = doubtful_rules::clear(&p).await;
    }
    if !is_clear && is_lost(&p) == Some(false) {
        return release::by_network(p, SessionCause::REACTIVATION_REQUESTED).await;
    }
    if is_in_doubt == Some(true) {
        // gNBs come back first.
        p.with(|state| {
            let at = state.now.instant.plus_ms(limits::RESUMED_MS);
            state.postpone(p.session, Some(at));
        });
    }
    // Packets that came before are still to be told of.
    if reaching.is_some() {
        p.with(|state| state.reach(p.session, reaching));
    }
}

/// A UPF was asked for a session, and nobody knows what it answered. It is asked again with the same F-SEID,
/// so that it has one session of that at the most, and deletes it.
pub(crate) async fn undo(p: Procedure) {
    let own = p.with_session(|session| session.lease.own());
    let own = own.unwrap_or_default();
    let asks = p.with_session(|session| session.asks).flatten();
    let at = p.with(|state| {
        let index = state
            .config
            .upfs
            .iter()
            .position(|upf| Some(upf.n4) == asks)?;
        let association = state.associations.get(index).copied().flatten()?;
        Some((association, index))
    });
    if let Some(at) = at {
        match ask_to_undo(&p, at, own).await {
            Answer::Established(upf, _) => {
                p.with_session(|session| session.upf = Some(upf));
                release::delete(&p, "").await;
            }
            // The AMF knows nothing of it.
            Answer::Nothing => {
                p.with_session(|session| session.is_forgotten = true);
                p.with(|state| state.give_up_establishment(p.session, at.1));
                let again = async |to| ask_to_undo(&p, (to, at.1), own).await;
                clean_up(&p, at.1, again).await;
            }
            _ => {}
        }
    }
    p.with(|state| state.remove(p.session));
}

/// The UPF is asked for the session with the F-SEID of before. Where it refuses, it has it by other rules, with what it was
/// given: another one takes its place.
async fn ask_to_undo(p: &Procedure, at: (AssociationId, usize), own: OwnAddresses) -> Answer {
    let answer = ask(p, "", at, own).await;
    if !matches!(answer, Answer::Refused(_)) {
        return answer;
    }
    match p.with(|state| state.lease_anew(p.session, at)) {
        Some(own) => ask(p, "", at, own).await,
        None => answer,
    }
}

impl State {
    fn has_upf(&self, id: SessionId) -> bool {
        let session = self.sessions.get(id.0);
        session.is_some_and(|session| session.upf.is_some())
    }

    /// A context that nobody goes on with is deleted: whether all sessions are known that UPFs may have.
    fn leave_out(&mut self, key: &[u8]) -> bool {
        self.store(key.to_vec(), None);
        false
    }

    fn network_of(&self, session: &Session) -> Option<usize> {
        let mut networks = self.config.networks.iter();
        networks.position(|network| network.dnn == session.dnn)
    }

    /// Whether its UPF can be told to delete it, if it comes to that. Without its data network nobody can ask for a
    /// session again that the UPF may have or not.
    fn can_undo_all(&self, kept: &Kept) -> bool {
        let is_known = kept.at.is_some() && kept.session.loss != Loss::Restarted;
        let is_there = self.config.upfs.iter().any(|upf| upf.n4 == kept.upf);
        is_known || !is_there || self.network_of(&kept.session).is_some()
    }

    /// A session as it goes on. None if it cannot; then its UPF deletes it, if that is still in the configuration.
    fn resumed(&mut self, id: SessionId, kept: Kept, stored: u64) -> Option<Session> {
        let is_its = |upf: &crate::UpfConfig| upf.n4 == kept.upf;
        let index = self.config.upfs.iter().position(is_its)?;
        let association = self.associations.get(index).copied().flatten()?;
        let mut session = kept.session;
        session.kept = Some(stored);
        let Some(at) = kept.at else {
            session.asks = Some(kept.upf);
            self.hold_lease(&session.lease);
            return Some(session);
        };
        session.upf = Some(at.within(association));
        session.at_udm.may_have_it = true;
        (session.at_udm.may_tell, session.at_udm.tells) = (true, true);
        session.is_unsettled = kept.is_unsettled;
        // The UE may have been told of it, and the SMF before may have told its gNB, which nobody hears of any more.
        session.is_unsettled |= !std::mem::replace(&mut session.is_accepted, true);
        if session.is_unsettled {
            session.flows.doubt();
        }
        session.may_be_at = Some(kept.upf).filter(|_| session.loss == Loss::Restarted);
        let Some(network) = self.network_of(&session) else {
            self.orphan_of_before(at.within(association), session.lease);
            return None;
        };
        self.hold_lease(&session.lease);
        session.flows.place = Some((index, network));
        self.take(session.flows.place, session.flows.guaranteed_bps);
        let now = self.now.instant;
        if kept.has_packets && session.downlink.is_none() {
            // gNBs come back first.
            let at = now.plus_ms(limits::RESUMED_MS);
            session.reaching = Some((Reaching::Again(0), at));
            self.reaching.insert((at, id));
            // Packets may be dropped for now; they are held again until the UE has come.
            session.is_unsettled = true;
        }
        if kept.forwards {
            let until = now.plus_ms(limits::FORWARDING_MS);
            session.mobility.forwards = true;
            session.mobility.until = Some(until);
            self.forwarding.insert((until, id));
        }
        Some(session)
    }

    fn resume_indexes(&mut self) {
        // One that is not established has no name: its UE asks for it anew.
        let there = self.sessions.iter().filter(|(_, one)| one.upf.is_some());
        let names = there.map(|(key, one)| ((one.supi, one.identity), SessionId(key)));
        self.by_identity = names.collect();
        let associations: Vec<AssociationId> =
            self.associations.iter().flatten().copied().collect();
        for association in associations {
            if !self.sessions_at(association).is_empty() {
                self.give_up_later(association);
            }
        }
    }

    /// The association is there. One that was asked to retain its sessions has them, or gets them again.
    pub fn associated(&mut self, association: AssociationId, is_retained: bool) {
        let there = self.sessions_at(association);
        if !is_retained {
            for id in &there {
                if let Some(session) = self.sessions.get_mut(id.0) {
                    session.loss = Loss::Restarted;
                    session.is_unsettled = false;
                    session.may_be_at = None;
                }
            }
        }
        self.undo_at(association, is_retained);
        let hosts: Vec<SocketAddr> = there
            .iter()
            .filter_map(|id| self.sessions.get(id.0)?.upf?.to)
            .collect();
        for host in hosts {
            self.hear_from(association, host.ip());
        }
        // Those of before a restart are forgotten already; others it has established since.
        if !is_retained {
            self.forget_resumed_orphans(association);
        }
        self.forget_orphans(association, true);
        self.restore_at(association);
        let is_unsettled = |id: &SessionId| {
            let session = self.sessions.get(id.0);
            session.is_some_and(|session| session.is_unsettled)
        };
        let unsettled: Vec<SessionId> = there.into_iter().filter(is_unsettled).collect();
        self.to_settle.extend(unsettled);
    }

    /// A session that is over, and that its UPF may have been given again by a process before this one: what is
    /// left is to be undone. What is over of it; none if there is nothing to undo.
    pub fn undo_later(&mut self, id: SessionId) -> Option<Session> {
        let asks = self.sessions.get(id.0)?.may_be_at?;
        let session = self.sessions.get_mut(id.0)?;
        let left = Session {
            session_type: session.session_type,
            qos: session.qos,
            lease: session.lease,
            is_forgotten: true,
            task: session.task,
            mobility: Mobility {
                task: session.mobility.task,
                ..Mobility::default()
            },
            asks: Some(asks),
            kept: session.kept,
            ..Session::new(session.supi, session.identity, session.slice, session.dnn)
        };
        Some(std::mem::replace(session, left))
    }

    /// Sessions that the UPF was asked for before this process began: it has them no more, or is to delete
    /// them.
    fn undo_at(&mut self, association: AssociationId, is_retained: bool) {
        let upf = self.address_of(association);
        let is_undone = |session: &Session| {
            session.upf.is_none() && session.task.is_none() && session.asks == upf
        };
        let there = self.sessions.iter();
        let asked = there.filter(|(_, session)| upf.is_some() && is_undone(session));
        let asked: Vec<SessionId> = asked.map(|(key, _)| SessionId(key)).collect();
        let index = self.config.upfs.iter().position(|one| Some(one.n4) == upf);
        for id in asked {
            // What was asked then may still be on its way.
            if let Some(index) = index {
                self.give_up_establishment(id, index);
            }
            match is_retained {
                true => self.to_settle.push_back(id),
                false => self.remove(id),
            }
        }
    }

    /// Whether its UPF was asked for it before this process began.
    pub fn is_to_undo(&self, id: SessionId) -> bool {
        let session = self.sessions.get(id.0);
        session.is_some_and(|one| one.upf.is_none() && one.task.is_none() && one.asks.is_some())
    }

    /// Whether a session is over, and what its UPF may have of it is to be undone.
    pub fn is_left_over(&self, id: SessionId) -> bool {
        let session = self.sessions.get(id.0);
        session.is_some_and(|session| session.is_forgotten) && self.is_to_undo(id)
    }

    /// Whether a session can be spoken of: it is there, and more than what is left of it at its UPF.
    pub fn is_there(&self, id: SessionId) -> bool {
        self.sessions.get(id.0).is_some() && !self.is_left_over(id)
    }

    /// Whether its UPF can be asked.
    pub fn can_undo(&self, id: SessionId) -> bool {
        let asks = self.sessions.get(id.0).and_then(|session| session.asks);
        let mut upfs = self.config.upfs.iter().zip(&self.associations);
        let of_upf = upfs.find(|(upf, _)| Some(upf.n4) == asks);
        let association = of_upf.and_then(|(_, association)| *association);
        let association = association.and_then(|id| self.endpoint.association(id));
        association.is_some_and(|association| association.is_established())
    }

    /// Moves the wanted effects out; before them the commits of what they depend on.
    pub fn take_effects(&mut self, effects: &mut Vec<Effect>) {
        let touched = self.sessions.take_touched();
        for key in &touched {
            self.keep(SessionId(*key));
        }
        if self.commits != self.commits_before {
            for id in std::mem::take(&mut self.stored_unsettled) {
                self.keep_settled(id);
            }
        }
        self.commits_before = self.commits;
        for key in touched {
            self.expose(SessionId(key));
        }
        self.sessions.take_touched();
        effects.append(&mut self.effects);
    }

    /// Stores a session if it is otherwise than what is stored. Nobody waits: whatever this input leads to
    /// leaves after it.
    ///
    /// That a procedure has ended, and nothing else, is no commit of its own: it is stored with what is
    /// stored next, of any session. A process that begins before that tells the UPF once more what it has.
    fn keep(&mut self, id: SessionId) {
        let Some((session, upf)) = self.to_keep(id) else {
            return;
        };
        let context = upf.map(|upf| stored_context::of(session, upf));
        let stored = context.as_deref().map(fingerprint);
        if stored == session.kept {
            return;
        }
        let is_settled =
            |upf| Some(fingerprint(&stored_context::of_unsettled(session, upf))) == session.kept;
        match upf.is_some_and(is_settled) {
            true => _ = self.stored_unsettled.insert(id),
            false => self.keep_as(id, context),
        }
    }

    /// Stores a session of which an end of a procedure is not stored, unless another has begun.
    fn keep_settled(&mut self, id: SessionId) {
        let Some((session, Some(upf))) = self.to_keep(id) else {
            return;
        };
        let context = stored_context::of(session, upf);
        if Some(fingerprint(&context)) != session.kept {
            self.keep_as(id, Some(context));
        }
    }

    /// A session, and the UPF that has it or was asked for it.
    fn to_keep(&self, id: SessionId) -> Option<(&Session, Option<SocketAddr>)> {
        let session = self.sessions.get(id.0)?;
        let upf = match session.upf {
            Some(AtUpf { association, .. }) => self.address_of(association),
            None => session.asks.or(session.may_be_at),
        };
        Some((session, upf))
    }

    fn keep_as(&mut self, id: SessionId, context: Option<Vec<u8>>) {
        if let Some(session) = self.sessions.get_mut(id.0) {
            session.kept = context.as_deref().map(fingerprint);
        }
        self.store_session(id, context);
    }

    /// A session is over.
    pub fn forget_kept(&mut self, id: SessionId) {
        self.stored_unsettled.remove(&id);
        let known = self.sessions.get_mut(id.0);
        if known.is_some_and(|session| session.kept.take().is_some()) {
            self.store_session(id, None);
        }
    }

    fn store_session(&mut self, session: SessionId, value: Option<Vec<u8>>) {
        let key = format!("{SESSION}{:016x}", session.number()).into_bytes();
        self.store(key, value);
    }

    /// Stores a value, or deletes its key. Nobody waits for that.
    pub fn store(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.commits += 1;
        let id = CommitId(self.commits);
        self.effects.push(Effect::Commit { id, key, value });
    }

    /// The address of a UPF as it stands in the configuration.
    pub fn address_of(&self, association: AssociationId) -> Option<SocketAddr> {
        let is_its = |one: &Option<AssociationId>| *one == Some(association);
        let index = self.associations.iter().position(is_its)?;
        self.config.upfs.get(index).map(|upf| upf.n4)
    }

    /// A session that its UPF is to be told anew how it is, if it has nothing else to do.
    pub fn next_unsettled(&mut self) -> Option<SessionId> {
        self.to_settle.pop_front()
    }

    /// Whether its UPF is to be told anew.
    pub fn is_to_settle(&self, id: SessionId) -> bool {
        let session = self.sessions.get(id.0);
        let unsettled = session.filter(|one| one.is_unsettled && one.loss == Loss::None);
        let upf = unsettled.and_then(|session| session.upf);
        let association = upf.and_then(|upf| self.endpoint.association(upf.association));
        association.is_some_and(|association| association.is_established())
    }

    /// When something is due next.
    pub fn next_given_up(&self) -> Instant {
        let given_up = self.given_up_at.values().min();
        given_up.copied().unwrap_or(Instant::NEVER)
    }
}
