//! Slices that AMFs support in their tracking areas, and subscriptions to changes (Nnssf_NSSAIAvailability: TS 29.531, 5.3).

use std::collections::{BTreeMap, BTreeSet};

use sluice_ids::{Snssai, Tai};
use sluice_sbi::{
    AREAS, AvailabilityStored, AvailabilitySubscribed, AvailableSlices, Calls, Effect, Instant,
    Message, Nf, NfInstance, NotifyAvailability, Now, Place, Problem, StoreAvailability,
    SubscribeAvailability, end_of_subscription, server,
};

/// Areas that AMFs tell, in all: those of 256 AMFs.
pub const AREAS_OF_AMFS: usize = 16_384;

/// Subscriptions at a time.
pub const SUBSCRIPTIONS: usize = 1_024;

/// Notifications that wait for their answers.
const CALLS: usize = 4_096;

struct Subscription {
    areas: Vec<Tai>,
    until: Instant,
}

/// Availability as AMFs have told it.
pub(crate) struct Availability {
    by_area: BTreeMap<Tai, BTreeMap<NfInstance, Vec<Snssai>>>,
    /// Areas of all AMFs.
    areas: usize,
    /// Areas of updates that go on.
    updates: BTreeMap<NfInstance, BTreeSet<Tai>>,
    subscriptions: BTreeMap<u64, Subscription>,
    next: u64,
    calls: Calls<u64>,
    effects: Vec<Effect>,
}

impl Default for Availability {
    fn default() -> Self {
        Self {
            by_area: BTreeMap::new(),
            areas: 0,
            updates: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            next: 1,
            calls: Calls::new(CALLS),
            effects: Vec::new(),
        }
    }
}

impl std::fmt::Debug for Availability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Availability")
    }
}

/// Slices of a PLMN, whatever AMFs support.
pub(crate) type Served<'a> = &'a dyn Fn(&Tai) -> &'a [Snssai];

impl Availability {
    /// Slices that an AMF has told for an area; none if it has told nothing of it.
    pub fn of(&self, amf: NfInstance, tai: Tai) -> Option<&[Snssai]> {
        self.by_area.get(&tai)?.get(&amf).map(Vec::as_slice)
    }

    pub fn areas(&self) -> usize {
        self.areas
    }

    pub fn subscriptions(&self) -> usize {
        self.subscriptions.len()
    }

    /// Slices of an area that any AMF supports and the PLMN serves.
    fn authorized(&self, tai: &Tai, served: Served<'_>) -> Vec<Snssai> {
        let amfs = self.by_area.get(tai).into_iter().flatten();
        let supported: Vec<&Snssai> = amfs.flat_map(|(_, slices)| slices).collect();
        let served = served(tai).iter().copied();
        served.filter(|slice| supported.contains(&slice)).collect()
    }

    /// Areas that are subscribed to, with their slices.
    pub fn watched(&self, served: Served<'_>) -> BTreeMap<Tai, Vec<Snssai>> {
        let areas = self.subscriptions.values().flat_map(|one| &one.areas);
        areas
            .map(|tai| (*tai, self.authorized(tai, served)))
            .collect()
    }

    /// Nnssf_NSSAIAvailability_Update of one area (5.3.2.2).
    pub fn store(
        &mut self,
        request: &StoreAvailability,
        served: Served<'_>,
    ) -> Result<AvailabilityStored, Problem> {
        let StoreAvailability {
            amf,
            is_first,
            is_last,
            tai,
            slices,
        } = *request;
        if is_first {
            self.updates.remove(&amf);
        }
        let is_new = self.of(amf, tai).is_none();
        if is_new && self.areas >= AREAS_OF_AMFS {
            return Err(Problem::NoResources);
        }
        let slices = slices.get().to_vec();
        let served = served(&tai);
        let authorized: Vec<Snssai> = slices
            .iter()
            .filter(|one| served.contains(one))
            .copied()
            .collect();
        self.areas += usize::from(is_new);
        self.by_area.entry(tai).or_default().insert(amf, slices);
        self.updates.entry(amf).or_default().insert(tai);
        if is_last {
            let told = self.updates.remove(&amf).unwrap_or_default();
            self.forget_but(amf, &told);
        }
        Ok(AvailabilityStored {
            authorized: AvailableSlices::new(&authorized),
        })
    }

    /// Nnssf_NSSAIAvailability_Delete (5.3.2.5); false if the AMF has told nothing.
    pub fn forget(&mut self, amf: NfInstance) -> bool {
        self.updates.remove(&amf);
        self.forget_but(amf, &BTreeSet::new())
    }

    /// Forgets areas of an AMF but these; false if there were none.
    fn forget_but(&mut self, amf: NfInstance, kept: &BTreeSet<Tai>) -> bool {
        let before = self.areas;
        self.by_area.retain(|tai, amfs| {
            let is_gone = !kept.contains(tai) && amfs.remove(&amf).is_some();
            self.areas -= usize::from(is_gone);
            !amfs.is_empty()
        });
        self.areas != before
    }

    /// Nnssf_NSSAIAvailability_Subscribe (5.3.2.3).
    pub fn subscribe(
        &mut self,
        now: Now,
        request: &SubscribeAvailability,
    ) -> Result<AvailabilitySubscribed, Problem> {
        let wanted = request.until_unix_s.get();
        let (until, until_unix_s) = end_of_subscription(now, wanted)?;
        let id = match request.id.get() {
            0 if self.subscriptions.len() >= SUBSCRIPTIONS => return Err(Problem::NoResources),
            0 => {
                self.next += 1;
                self.next - 1
            }
            known if self.subscriptions.contains_key(&known) => known,
            _ => return Err(Problem::ContextNotFound),
        };
        let number = usize::from(request.areas).min(AREAS);
        let subscription = Subscription {
            areas: request.area[..number].to_vec(),
            until,
        };
        self.subscriptions.insert(id, subscription);
        Ok(AvailabilitySubscribed {
            id: id.into(),
            until_unix_s: until_unix_s.into(),
        })
    }

    /// Nnssf_NSSAIAvailability_Unsubscribe (5.3.2.6).
    pub fn unsubscribe(&mut self, id: u64) -> Result<(), Problem> {
        let known = self.subscriptions.remove(&id);
        known.map(drop).ok_or(Problem::ContextNotFound)
    }

    /// Nnssf_NSSAIAvailability_Notify (5.3.2.4) of areas whose slices are not those of before.
    pub fn tell_changes(
        &mut self,
        now: Now,
        before: &BTreeMap<Tai, Vec<Snssai>>,
        served: Served<'_>,
    ) {
        let after = self.watched(served);
        let changed: Vec<(&Tai, &Vec<Snssai>)> = after
            .iter()
            .filter(|(tai, slices)| before.get(tai).is_some_and(|one| one != *slices))
            .collect();
        for (tai, slices) in changed {
            let told = self.subscriptions.iter();
            let told = told.filter(|(_, one)| one.areas.contains(tai));
            let told: Vec<u64> = told.map(|(id, _)| *id).collect();
            for id in told {
                let notice = NotifyAvailability {
                    id: id.into(),
                    tai: *tai,
                    authorized: AvailableSlices::new(slices),
                };
                self.tell(now, id, notice.into());
            }
        }
    }

    fn tell(&mut self, now: Now, id: u64, message: Message) {
        let deadline = now.instant.plus_ms(server::CALL_MS);
        let Some(call) = self.calls.begin_until(deadline, id) else {
            return;
        };
        self.effects.push(Effect::Call {
            to: Place::outside(Nf::Nssf),
            call,
            deadline,
            message: message.into(),
        });
    }

    /// A subscriber has answered; one that does not know its subscription is told no more.
    pub fn answered(&mut self, call: sluice_sbi::CallId, message: &Message) {
        let id = self.calls.end(call);
        let is_forgotten = *message == Problem::ContextNotFound.into();
        if let Some(id) = id.filter(|_| is_forgotten) {
            self.subscriptions.remove(&id);
        }
    }

    /// Ends what is over.
    pub fn expire(&mut self, now: Now) {
        self.calls.expire(now.instant);
        self.subscriptions.retain(|_, one| one.until > now.instant);
    }

    /// When [`expire`](Self::expire) is due, or effects are to be taken.
    pub fn next_deadline(&self) -> Instant {
        if !self.effects.is_empty() {
            return Instant(0);
        }
        let ends = self.subscriptions.values().map(|one| one.until);
        ends.min()
            .unwrap_or(Instant::NEVER)
            .min(self.calls.next_deadline())
    }

    pub fn take_effects(&mut self, effects: &mut Vec<Effect>) {
        effects.append(&mut self.effects);
    }
}
