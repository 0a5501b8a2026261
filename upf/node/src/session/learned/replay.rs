//! A recipe, carried out.

use super::Procedure;
use super::domain::FormId;
use super::effects::Settled;
use super::recipe::Octets;
use super::take::{Givers, foresee};
use crate::network::Network;
use crate::session::draft::Drafted;
use crate::session::ground::shard_of;
use crate::session::state::{Moment, State};
use crate::session::store::record;
use crate::session::store::{CpSession, NewSession, Session, SessionRef};
use arrayvec::ArrayVec;
use sluice_n4::SessionRequest;
use sluice_wire::pfcp::value::FSeid;

/// A message that was dealt with.
pub struct Replayed {
    /// What it takes to carry it out.
    pub drafted: Drafted,
    /// Query URR Reference.
    pub reference: Option<u32>,
}

impl State {
    /// Establishes a session as others were; `None` if this one has to go the long way. The caller
    /// has made sure that the association takes new sessions.
    pub fn replay_establishment<N: Network>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        net: &mut N,
    ) -> Option<(Drafted, FSeid)> {
        let SessionRequest {
            association, body, ..
        } = *request;
        let asked = (Procedure::Establish, body);
        let begin = (FormId::NO_SESSION, &[][..]);
        let values = &mut self.values;
        let (form, recipe) = self
            .learned
            .choose(asked, begin, &self.ground.layout, values)?;
        let shard = shard_of(values.of(recipe.shard?).into());
        foresee(&recipe.takes, values, shard, &self.ground);
        let (cp_f_seid, user) = (form.cp_f_seid(body)?, form.user(body)?);
        let FSeid { seid, ipv4, ipv6 } = cp_f_seid;
        let cp = CpSession { seid, ipv4, ipv6 };
        let record = recipe.after.as_ref()?;
        let Octets::Whole(octets) = &record.octets else {
            return None;
        };
        let has_room = self.pending.has_room()
            && record::has_user(octets, &user)
            && self.store.has_room_for(None, recipe.record_len());
        if !has_room || self.store.by_cp((association, cp)).is_some() {
            return None;
        }
        let mut givers = Givers {
            ground: &mut self.ground,
            claims: &mut self.claims,
            names: &self.names,
            net,
            shard,
            at,
        };
        givers.take_all(&recipe.takes, values)?;
        let new = NewSession {
            association,
            cp,
            shard,
            check: self.ground.random().max(1),
            request: request.fingerprint,
            user,
        };
        let Some(name) = self.store.insert_blank(&new, recipe.record_len()) else {
            self.ground.undo(&mut self.claims, net);
            return None;
        };
        if let Some(octets) = self.store.resize(name, recipe.record_len()) {
            record.write(octets, values);
            record::put_user(octets, &user);
        }
        let settled = &mut Settled {
            ground: &mut self.ground,
            remotes: &mut self.remotes,
        };
        recipe.settle(values, name, at.seconds(), settled);
        self.claims.keep();
        let (txn, pending) = (self.pending.txn(shard), self.pending.record(name));
        let drafted = recipe.draft(values, txn, pending);
        self.learned.counters.replayed += 1;
        Some((drafted, cp_f_seid))
    }

    /// Modifies a session as others were; `None` if this one has to go the long way.
    pub fn replay_modification<N: Network>(
        &mut self,
        at: Moment,
        (name, session): (SessionRef, &Session),
        body: &[u8],
        net: &mut N,
    ) -> Option<Replayed> {
        let before = self.store.form(name);
        let asked = (Procedure::Modify, body);
        let begin = (before, self.store.octets(name));
        let values = &mut self.values;
        let (form, recipe) = self
            .learned
            .choose(asked, begin, &self.ground.layout, values)?;
        let record = recipe.after.as_ref()?;
        let renames = || {
            let cp = form.cp_f_seid(body);
            cp.is_none_or(|cp| {
                let FSeid { seid, ipv4, ipv6 } = cp;
                session.cp != CpSession { seid, ipv4, ipv6 }
            })
        };
        let len = recipe.record_len();
        let has_room = self.pending.has_room() && self.store.has_room_for(Some(name), len);
        if !has_room || form.cp_seid_at.is_some() && renames() {
            return None;
        }
        let user = match &record.octets {
            Octets::Whole(_) => self.learned.sessions.get(before)?.user.clone(),
            // It stays where it is.
            Octets::Some(_) => 0..0,
        };
        let shard = u32::from(session.shard);
        let mut givers = Givers {
            ground: &mut self.ground,
            claims: &mut self.claims,
            names: &self.names,
            net,
            shard,
            at,
        };
        givers.take_all(&recipe.takes, values)?;
        let settled = &mut Settled {
            ground: &mut self.ground,
            remotes: &mut self.remotes,
        };
        recipe.settle(values, name, at.seconds(), settled);
        self.claims.keep();
        let mut digits = ArrayVec::<u8, 16>::new();
        let octets = self.store.octets(name).get(user.clone());
        digits.extend(octets.unwrap_or_default().iter().copied());
        if let Some(octets) = self.store.resize(name, len) {
            record.write(octets, values);
            if let Some(place) = octets.get_mut(user) {
                place.copy_from_slice(&digits);
            }
        }
        let (txn, pending) = (self.pending.txn(shard), self.pending.record(name));
        let reference = recipe.reference.map(|source| values.of(source));
        let drafted = recipe.draft(values, txn, pending);
        self.learned.counters.replayed += 1;
        Some(Replayed { drafted, reference })
    }

    /// A session will be [ended](Self::replay_end) soon: asks the caches for where what it has goes back
    /// to.
    pub fn foresee_end(&self, name: SessionRef) {
        let Some(recipe) = self.learned.deletion(self.store.form(name)) else {
            return;
        };
        let record = self.store.octets(name);
        for line in &recipe.gone {
            let value = |source| recipe.value_in(record, source);
            if let Some((key, at)) = value(line.key).zip(value(line.line)) {
                self.ground.prefetch_release(&line.endpoint(key, at));
            }
        }
    }

    /// Ends a session as others were, and removes it; `None` if it has to go the long way. There is
    /// room for a transaction.
    pub fn replay_end(&mut self, at: Moment, name: SessionRef, shard: u16) -> Option<Drafted> {
        let before = self.store.form(name);
        let recipe = self.learned.deletion(before)?;
        let values = &mut self.values;
        let octets = self.store.octets(name);
        recipe.read_record(octets, values)?;
        let settled = &mut Settled {
            ground: &mut self.ground,
            remotes: &mut self.remotes,
        };
        recipe.settle(values, name, at.seconds(), settled);
        let (txn, pending) = (self.pending.txn(shard.into()), self.pending.record(name));
        let drafted = recipe.draft(values, txn, pending);
        self.store.remove(name);
        self.learned.counters.replayed += 1;
        Some(drafted)
    }
}
