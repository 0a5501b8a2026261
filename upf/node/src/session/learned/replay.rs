//! A recipe, carried out.

use super::domain::FormId;
use super::message::MessageForm;
use super::recipe::{CreatedForm, GoneLine, Recipe, Record, Source, Take, VALUES};
use super::session::Place;
use super::{Learned, Procedure};
use crate::network::Network;
use crate::session::compile::render::Credit;
use crate::session::draft::{Drafted, Scope};
use crate::session::establishment::read_user;
use crate::session::ground::{Claims, Ground, shard_of};
use crate::session::meter::Meter;
use crate::session::names::Names;
use crate::session::pending::{Due, Pending};
use crate::session::remotes::Remotes;
use crate::session::rules::{Endpoint, Key, LocalTunnel, RemoteTunnel};
use crate::session::state::{Moment, State};
use crate::session::store::record::{self, USAGE_LEN};
use crate::session::store::{CpSession, NewSession, Session, SessionRef, User};
use arrayvec::ArrayVec;
use core::net::Ipv4Addr;
use sluice_n4::{AssociationId, fingerprint};
use sluice_path::limits::BLOCK_CHAIN;
use sluice_path::txn::{EndMarker, Txn};
use sluice_wire::ids::{PdrId, UrrId};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::{FSeid, UserId};

/// The values at hand.
type Values = ArrayVec<u32, VALUES>;

/// A message that was dealt with.
pub struct Replayed {
    /// What it takes to carry it out.
    pub drafted: Drafted,
    /// Query URR Reference.
    pub reference: Option<u32>,
}

fn value(values: &Values, source: Source) -> u32 {
    values.get(usize::from(source)).copied().unwrap_or(0)
}

impl Recipe {
    /// True if the values are the same, and not, where they were when it was learned.
    fn agrees(&self, values: &Values) -> bool {
        let checks = self.checks.iter().all(|check| {
            let same = value(values, check.one) == value(values, check.other);
            same == check.same
        });
        let is_narrow = |at: &Source| value(values, *at) <= u32::from(u16::MAX);
        checks && self.narrow.iter().all(is_narrow)
    }

    /// Octets of the record afterwards.
    fn record_len(&self) -> usize {
        self.after
            .as_ref()
            .map_or(0, |r| USAGE_LEN + r.octets.len())
    }

    /// What is to be done, but for the session's record.
    fn draft(&self, values: &Values, mut txn: Box<Txn>, mut record: Box<Pending>) -> Drafted {
        let of = |source: &Source| value(values, *source);
        for form in &self.ops {
            // There was room when it was learned.
            if txn.ops.try_push(form.op).is_ok()
                && let Some(op) = txn.ops.last_mut()
            {
                form.put_values(op, values);
            }
        }
        let markers = self.end_markers.iter().map(|[peer, teid]| EndMarker {
            peer: of(peer) as u16,
            teid: of(teid),
        });
        txn.end_markers.extend(markers);
        let credits = self.credits.iter().map(|credit| {
            credit.as_ref().map(|credit| Credit {
                uplink: credit.uplink,
                meters: credit.meters.iter().map(of).collect(),
            })
        });
        record.credits.extend(credits);
        let peers = self.peers.iter().map(|peer| of(peer) as u16);
        record.peers.extend(peers);
        record.queried.extend(self.queried.iter().map(of));
        let due = self.due.iter().map(|due| Due {
            meter: of(&due.meter),
            trigger: due.trigger,
            ends: due.ends,
        });
        record.due.extend(due);
        let created = self.created.iter().map(|created| created.with(values));
        record.created.extend(created);
        Drafted {
            txn,
            record,
            chosen_by_cp: self.chosen_by_cp,
            unserved_triggers: self.unserved_triggers,
            scope: Scope::Ways,
        }
    }

    /// Gives back what the session no longer has, and tells meters and tunnels what changed.
    fn settle(&self, values: &Values, session: SessionRef, now_s: u32, state: &mut Settled<'_>) {
        for line in &self.gone {
            state.ground.release(&line.with(values), now_s);
        }
        for block in &self.gone_blocks {
            state.ground.release_block(value(values, *block));
        }
        for (meter, told) in &self.told {
            if let Some(meter) = state.ground.meters.get_mut(value(values, *meter)) {
                meter.told = *told;
            }
        }
        for change in &self.tunnels {
            let tunnel = RemoteTunnel {
                teid: value(values, change.teid),
                address: value(values, change.address).into(),
            };
            match change.sends {
                true => state.remotes.add(tunnel, session.at),
                false => state.remotes.remove(tunnel, session.at),
            }
        }
    }
}

/// What changes beside the session itself.
struct Settled<'s> {
    ground: &'s mut Ground,
    remotes: &'s mut Remotes,
}

impl CreatedForm {
    fn with(&self, values: &Values) -> (PdrId, LocalTunnel) {
        let tunnel = LocalTunnel {
            teid: value(values, self.teid),
            address: self.address,
            local: self.local,
        };
        (PdrId(value(values, self.pdr) as u16), tunnel)
    }
}

impl GoneLine {
    fn with(&self, values: &Values) -> Endpoint {
        let key = value(values, self.key);
        Endpoint {
            key: match self.is_tunnel {
                true => Key::Tunnel {
                    local: self.space,
                    teid: key,
                },
                false => Key::Ue {
                    instance: self.space,
                    address: key,
                },
            },
            line: value(values, self.line),
            origin: self.origin,
            blocks: [0; BLOCK_CHAIN],
        }
    }
}

impl Record {
    /// Writes it behind the usage; the user is still to be written.
    fn write(&self, record: &mut [u8], values: &Values) {
        let place = record.get_mut(USAGE_LEN..USAGE_LEN + self.octets.len());
        if let Some(place) = place {
            place.copy_from_slice(&self.octets);
        }
        for (place, source) in &self.values {
            place.write(record, value(values, *source));
        }
    }
}

impl MessageForm {
    /// Puts the values of a message behind others; false if one of them would be refused.
    fn read_values(&self, body: &[u8], values: &mut Values) -> bool {
        self.marks.iter().all(|mark| {
            let plain = mark.value(body).filter(|v| mark.domain.is_plain(*v));
            plain.is_some_and(|value| values.try_push(value).is_ok())
        })
    }

    /// The CP F-SEID, if the message has one.
    fn cp_f_seid(&self, body: &[u8]) -> Option<FSeid> {
        let value = body.get(self.cp_seid_at?.checked_sub(1)?..)?;
        FSeid::decode(value).ok()
    }

    /// The user; `None` if it cannot be read.
    fn user(&self, body: &[u8]) -> Option<User> {
        let Some(range) = self.user.clone() else {
            return Some(User::default());
        };
        let user = UserId::decode(body.get(range)?).ok()?;
        Some(read_user(&user))
    }
}

impl Learned {
    /// The recipe for a message to a session with such a record, and the values of both.
    fn choose(
        &self,
        (procedure, body): (Procedure, &[u8]),
        (before, record): (FormId, &[u8]),
        values: &mut Values,
    ) -> Option<(&MessageForm, &Recipe)> {
        let lesson = self.lessons.get(self.find(procedure, body)?)?;
        self.read_record(before, record, values)?;
        if !lesson.form.read_values(body, values) {
            return None;
        }
        let mut recipes = lesson.recipes.iter();
        let recipe = recipes.find(|r| r.before == before && r.agrees(values))?;
        Some((&lesson.form, recipe))
    }

    fn read_record(&self, form: FormId, record: &[u8], values: &mut Values) -> Option<()> {
        if form == FormId::NO_SESSION {
            return Some(());
        }
        for mark in &self.sessions.get(form)?.marks {
            values.try_push(Place::of(mark).read(record)?).ok()?;
        }
        Some(())
    }
}

/// Who gives what a recipe takes.
struct Givers<'s, N> {
    ground: &'s mut Ground,
    claims: &'s mut Claims,
    names: &'s Names,
    net: &'s mut N,
    shard: u32,
    at: Moment,
}

impl<N: Network> Givers<'_, N> {
    /// Takes all that the recipe says; what was taken before something could not be had is given
    /// back.
    fn take_all(&mut self, takes: &[Take], values: &mut Values) -> Option<()> {
        self.claims.begin();
        let random = self.ground.random_state();
        let taken = takes.iter().try_for_each(|take| self.take(take, values));
        if taken.is_none() {
            self.ground.undo(self.claims, self.net);
            self.ground.go_on_from(random);
        }
        taken
    }

    fn take(&mut self, take: &Take, values: &mut Values) -> Option<()> {
        let Self {
            ground,
            claims,
            shard,
            ..
        } = self;
        let now_s = self.at.seconds();
        let expected = |endpoint: Endpoint, origin| {
            let same = endpoint.origin == origin;
            same.then_some(endpoint.line)
        };
        let taken = match *take {
            Take::NewTeid { local } => {
                let (teid, endpoint) = ground.new_teid(*shard, local, now_s, claims).ok()?;
                values.try_push(teid).ok()?;
                endpoint.line
            }
            Take::NamedTeid {
                local,
                teid,
                origin,
            } => {
                let teid = value(values, teid);
                let endpoint = ground.named_teid(*shard, local, teid, now_s, claims);
                expected(endpoint.ok()?, origin)?
            }
            Take::UeLine {
                instance,
                address,
                origin,
            } => {
                let address = value(values, address);
                let endpoint = ground.ue_line(*shard, instance, address, now_s, claims);
                expected(endpoint.ok()?, origin)?
            }
            Take::Block => ground.block(*shard, claims).ok()?,
            Take::Meter { urr, told } => {
                let meter = Meter::new(UrrId(value(values, urr)), told, self.at.wall);
                ground.meter(meter, claims).ok()?
            }
            Take::Peer {
                side,
                instance,
                address,
            } => {
                let address = Ipv4Addr::from(value(values, address));
                let name = self.names.get(instance);
                let peer = self.net.hold_peer(side, name, address).ok()?;
                if ground.peer_held(peer, claims).is_err() {
                    ground.release_peer(peer, self.net);
                    return None;
                }
                peer.into()
            }
        };
        values.try_push(taken).ok()
    }
}

impl State {
    /// Establishes a session as others were; `None` if this one has to go the long way. The caller
    /// has made sure that the association takes new sessions.
    pub fn replay_establishment<N: Network>(
        &mut self,
        at: Moment,
        (association, body): (AssociationId, &[u8]),
        net: &mut N,
    ) -> Option<(Drafted, FSeid)> {
        let asked = (Procedure::Establish, body);
        let begin = (FormId::NO_SESSION, &[][..]);
        let mut values = Values::new();
        let (form, recipe) = self.learned.choose(asked, begin, &mut values)?;
        let (cp_f_seid, user) = (form.cp_f_seid(body)?, form.user(body)?);
        let FSeid { seid, ipv4, ipv6 } = cp_f_seid;
        let cp = CpSession { seid, ipv4, ipv6 };
        let record = recipe.after.as_ref()?;
        let has_room = self.pending.has_room()
            && record::has_user(&record.octets, &user)
            && self.store.has_room_for(None, recipe.record_len());
        if !has_room || self.store.by_cp((association, cp)).is_some() {
            return None;
        }
        let shard = shard_of(value(&values, recipe.shard?).into());
        let mut givers = Givers {
            ground: &mut self.ground,
            claims: &mut self.claims,
            names: &self.names,
            net,
            shard,
            at,
        };
        givers.take_all(&recipe.takes, &mut values)?;
        let new = NewSession {
            association,
            cp,
            shard,
            check: self.ground.random().max(1),
            request: fingerprint::of_bytes(self.hash.0, body),
            user,
        };
        let Some(name) = self.store.insert_blank(&new, recipe.record_len()) else {
            self.ground.undo(&mut self.claims, net);
            return None;
        };
        if let Some(octets) = self.store.resize(name, recipe.record_len()) {
            record.write(octets, &values);
            record::put_user(octets, &user);
        }
        let settled = &mut Settled {
            ground: &mut self.ground,
            remotes: &mut self.remotes,
        };
        recipe.settle(&values, name, at.seconds(), settled);
        self.claims.keep();
        let (txn, pending) = (self.pending.txn(shard), self.pending.record(name));
        let drafted = recipe.draft(&values, txn, pending);
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
        let mut values = Values::new();
        let (form, recipe) = self.learned.choose(asked, begin, &mut values)?;
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
        let user = self.learned.sessions.get(before)?.user.clone();
        let shard = u32::from(session.shard);
        let mut givers = Givers {
            ground: &mut self.ground,
            claims: &mut self.claims,
            names: &self.names,
            net,
            shard,
            at,
        };
        givers.take_all(&recipe.takes, &mut values)?;
        let settled = &mut Settled {
            ground: &mut self.ground,
            remotes: &mut self.remotes,
        };
        recipe.settle(&values, name, at.seconds(), settled);
        self.claims.keep();
        let mut digits = ArrayVec::<u8, 16>::new();
        let octets = self.store.octets(name).get(user.clone());
        digits.extend(octets.unwrap_or_default().iter().copied());
        if let Some(octets) = self.store.resize(name, len) {
            record.write(octets, &values);
            if let Some(place) = octets.get_mut(user) {
                place.copy_from_slice(&digits);
            }
        }
        let (txn, pending) = (self.pending.txn(shard), self.pending.record(name));
        let reference = recipe.reference.map(|source| value(&values, source));
        let drafted = recipe.draft(&values, txn, pending);
        self.learned.counters.replayed += 1;
        Some(Replayed { drafted, reference })
    }

    /// Ends a session as others were, and removes it; `None` if it has to go the long way. There is
    /// room for a transaction.
    pub fn replay_end(&mut self, at: Moment, name: SessionRef, shard: u16) -> Option<Drafted> {
        let before = self.store.form(name);
        let recipe = self.learned.deletions.get(&before)?;
        let mut values = Values::new();
        let octets = self.store.octets(name);
        self.learned.read_record(before, octets, &mut values)?;
        let settled = &mut Settled {
            ground: &mut self.ground,
            remotes: &mut self.remotes,
        };
        recipe.settle(&values, name, at.seconds(), settled);
        let (txn, pending) = (self.pending.txn(shard.into()), self.pending.record(name));
        let drafted = recipe.draft(&values, txn, pending);
        self.store.remove(name);
        self.learned.counters.replayed += 1;
        Some(drafted)
    }
}
