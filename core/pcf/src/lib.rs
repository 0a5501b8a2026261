//! Policy control function (TS 23.503, 6.2.1): which QoS flows a session has beside its default one, and how gNBs
//! are to treat UEs.
//!
//! [`Pcf`] answers an SMF what a new session's rules are (Npcf_SMPolicyControl of TS 29.512), by policies
//! of the configuration, and tells it when an operator, an application (Npcf_PolicyAuthorization of TS
//! 29.514) or the UE itself wants others. All rules of a session are told each time: what is to be done
//! follows from the difference.
#![forbid(unsafe_code)]

mod access;
mod app_session;
mod apps;
mod authorization;
mod config;
pub mod filter;
mod policies;
mod stored_context;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use sluice_ids::{Snssai, Supi};
use sluice_sbi::{
    AppSessionNews, Calls, CreateSmPolicy, Done, Effect, Input, Instant, Line, Message,
    NetworkFunction, Nf, NotifySmPolicy, Now, PccRules, Place, PolicyTrigger, Problem, RequestId,
    Served, Slab, Slot, SmPolicy, UpdateSmPolicy, server,
};

pub use app_session::{
    AppSession, AppSessionContext, AppSessionProblem, AppSessionRequest, FlowStatus,
    MediaComponent, MediaSubComponent, MediaType,
};
pub use config::{
    AccessPolicy, Config, Policy, Subscribers, UeRequests, check, check_rule, is_guaranteed,
};
pub use policies::{FlowRefused, PolicyView};

use access::Associations;
use apps::Apps;
use policies::{Address, PolicyId, Session};

/// Sessions: as many as an SMF has.
pub(crate) const SESSIONS: usize = 1_000_000;

/// Policies of a configuration: what an operator can still look over.
pub const POLICIES: usize = 256;

/// Sessions of applications at a time.
pub(crate) const APP_SESSIONS: usize = 65_536;

/// Calls that wait: one for each session whose rules change at a time.
pub(crate) const CALLS: usize = 65_536;

/// How long an answer of the SMF is waited for.
pub(crate) const CALL_MS: u64 = sluice_sbi::server::CALL_MS;

/// Octets that the rules and flows of a session take in NAS at the most: an accept with its other
/// elements stays within a container of 900.
pub(crate) const NAS_OCTETS: usize = 640;

/// The first precedence of rules that do not bring their own.
pub(crate) const FIRST_PRECEDENCE: u8 = 128;

/// What happened so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Sessions that have got their rules.
    pub created: u64,
    /// Changes of rules that an SMF was told.
    pub notified: u64,
    /// Rules that an SMF could not carry out, or had no room for.
    pub failed: u64,
    /// Flows that UEs have asked for.
    pub requested: u64,
    /// Flows that UEs may not have.
    pub refused: u64,
    /// Sessions and calls that found no room.
    pub no_room: u64,
}

/// Receiver of the answer to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiter {
    /// A session whose SMF was told its rules, and the rules that are new.
    Smf(PolicyId, u16),
    /// The session of an application, which was told of it.
    App(u64),
}

/// The function.
pub struct Pcf {
    config: Config,
    now: Now,
    sessions: Slab<Session>,
    by_identity: BTreeMap<(Supi, u8), PolicyId>,
    /// Networks may have addresses in common.
    by_address: BTreeSet<(Address, PolicyId)>,
    apps: Apps,
    associations: Associations,
    /// The number of the next session of an application.
    next_app: u64,
    calls: Calls<Waiter>,
    effects: Vec<Effect>,
    counters: Counters,
    /// Changes of what is stored.
    commits: u64,
}

impl Pcf {
    /// With the policies of a configuration.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn new(config: Config) -> Result<Self, &'static str> {
        config.check()?;
        Ok(Self {
            config,
            now: Now::default(),
            sessions: Slab::new(SESSIONS).watched(),
            by_identity: BTreeMap::new(),
            by_address: BTreeSet::new(),
            apps: Apps::default(),
            associations: Associations::default(),
            next_app: 1,
            calls: Calls::new(CALLS),
            effects: Vec::new(),
            counters: Counters::default(),
            commits: 0,
        })
    }

    /// Takes other policies, for sessions that begin from now on.
    ///
    /// # Errors
    /// What is wrong with them; those of before stay.
    pub fn reconfigure(&mut self, config: Config) -> Result<(), &'static str> {
        config.check()?;
        self.config = config;
        Ok(())
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// How much is kept of sessions, by what it is: all of it is nothing when there are none.
    pub fn sizes(&self) -> Vec<(&'static str, usize)> {
        vec![
            ("PCF: sessions", self.sessions.len()),
            ("PCF: sessions by identity", self.by_identity.len()),
            ("PCF: sessions by address", self.by_address.len()),
            ("PCF: sessions of applications", self.apps.len()),
            ("PCF: AM policy associations", self.associations.len()),
            ("PCF: calls", self.calls.waiting()),
        ]
    }

    fn request(&mut self, id: RequestId, message: &Message) {
        let message: Slot = match *message {
            Message::CreateSmPolicy(request) => self.create(&request).into(),
            Message::CreateAmPolicy(request) => self.associate(&request).into(),
            Message::DeleteAmPolicy(request) => {
                self.associations.remove(request.policy.get());
                Done::ALL.into()
            }
            Message::UpdateSmPolicy(request) => match self.update(&request) {
                Ok(policy) => policy.into(),
                Err(problem) => problem.into(),
            },
            Message::DeleteSmPolicy(request) => {
                self.delete(PolicyId::from_number(request.policy.get()));
                Done::ALL.into()
            }
            _ => {
                let answer = self.authorize(message);
                answer.unwrap_or_else(|| Problem::Protocol.into()).into()
            }
        };
        self.effects.push(Effect::Answer { id, message });
    }

    /// Npcf_SMPolicyControl_Create (TS 29.512, 4.2.2).
    fn create(&mut self, request: &CreateSmPolicy) -> Message {
        let CreateSmPolicy {
            supi,
            session,
            slice,
            dnn,
            context,
            ..
        } = *request;
        let policy = self.config.find(&supi, &dnn, &slice);
        let mut new = Session::new(supi, session, dnn, context.get());
        if let Some(policy) = policy {
            new.policy.clone_from(&policy.name);
            new.ue_requests.clone_from(&policy.ue_requests);
            new.begin(&policy.rules);
        }
        let rules = PccRules::new(&new.rules);
        let Some(id) = self.sessions.insert(new).map(PolicyId) else {
            self.counters.no_room += 1;
            return Problem::Overload.into();
        };
        // One of this identity that is still there has been replaced; its SMF deletes it.
        self.by_identity.insert((supi, session), id);
        self.counters.created += 1;
        SmPolicy {
            policy: id.number().into(),
            rules,
        }
        .into()
    }

    /// Npcf_SMPolicyControl_Update (TS 29.512, 4.2.4).
    fn update(&mut self, request: &UpdateSmPolicy) -> Result<SmPolicy, Problem> {
        let id = PolicyId::from_number(request.policy.get());
        let session = self.sessions.get_mut(id.0);
        let session = session.ok_or(Problem::ContextNotFound)?;
        match request.trigger {
            PolicyTrigger::UeAddress => {
                let before = session.addresses();
                session.ipv4 = Some(request.ipv4).filter(|ipv4| *ipv4 != [0; 4]);
                let prefix = Some(request.ipv6_prefix);
                session.ipv6_prefix = prefix.filter(|prefix| *prefix != [0; 8]);
                let after = session.addresses();
                for address in before {
                    self.by_address.remove(&(address, id));
                }
                self.by_address.extend(after.map(|address| (address, id)));
            }
            PolicyTrigger::RulesFailed => self.give_up(id, request.rules.get()),
            PolicyTrigger::ResourceRequested => {
                self.counters.requested += 1;
                if let Err(problem) = session.request(request.requested) {
                    self.counters.refused += 1;
                    return Err(problem);
                }
            }
            PolicyTrigger::ResourceReleased => {
                session.release(request.rules.get())?;
            }
            PolicyTrigger::ResourceModified => {
                self.counters.requested += 1;
                let changed = session.modify(request.rules.get(), request.requested);
                self.counters.refused += u64::from(changed.is_err());
                changed?;
            }
        }
        let session = self.sessions.get(id.0).ok_or(Problem::ContextNotFound)?;
        Ok(SmPolicy {
            policy: request.policy,
            rules: PccRules::new(&session.rules),
        })
    }

    /// Rules that are not, for there is no room, or the gNB or the UE refused them.
    fn give_up(&mut self, id: PolicyId, rules: u16) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let before = session.rules.clone();
        session.rules.retain(|rule| rules & 1 << rule.id == 0);
        self.counters.failed += (before.len() - session.rules.len()) as u64;
        let there: u16 = session.ids();
        // An application whose last flow has failed has nothing left; numbers of others are given again.
        let lost = self.apps.keep_rules(id, there);
        self.tell_apps(&before, &lost, AppSessionNews::FlowsOver);
    }

    fn delete(&mut self, id: PolicyId) {
        let Some(session) = self.sessions.remove(id.0) else {
            return;
        };
        for address in session.addresses() {
            self.by_address.remove(&(address, id));
        }
        if session.kept.is_some() {
            self.store(id, None);
        }
        let name = (session.supi, session.session);
        if self.by_identity.get(&name) == Some(&id) {
            self.by_identity.remove(&name);
        }
        let lost = self.apps.keep_rules(id, 0);
        self.tell_apps(&session.rules, &lost, AppSessionNews::SessionOver);
    }

    /// Npcf_SMPolicyControl_UpdateNotify (TS 29.512, 4.2.3): the SMF is told all rules, of which some are
    /// new.
    fn notify(&mut self, id: PolicyId, new: u16) {
        let Some(session) = self.sessions.get(id.0) else {
            return;
        };
        let message = Message::from(NotifySmPolicy {
            context: session.context.into(),
            policy: id.number().into(),
            rules: PccRules::new(&session.rules),
        });
        self.effects.push(Effect::CallFlow(Line {
            from: "PCF",
            to: server::name(Nf::Smf),
            what: message.name().to_owned(),
            step: "1b",
            supi: Some(session.supi),
            ue: None,
        }));
        let deadline = self.now.instant.plus_ms(CALL_MS);
        let Some(call) = self.calls.begin_until(deadline, Waiter::Smf(id, new)) else {
            self.counters.no_room += 1;
            return self.give_up(id, new);
        };
        self.counters.notified += 1;
        self.effects.push(Effect::Call {
            to: Place::any(Nf::Smf),
            call,
            deadline,
            message: message.into(),
        });
    }

    /// An SMF has not answered: new rules are none, which it is told in case that only its answer was lost.
    fn unanswered(&mut self, id: PolicyId, new: u16) {
        self.give_up(id, new);
        if new != 0 {
            self.notify(id, 0);
        }
    }

    fn answered(&mut self, id: PolicyId, new: u16, message: &Message) {
        match message.answer_to::<NotifySmPolicy>() {
            Ok(answer) => self.give_up(id, answer.refused.get()),
            // The SMF has forgotten it.
            Err(Problem::ContextNotFound) => self.delete(id),
            Err(_) => self.give_up(id, new),
        }
    }
}

impl NetworkFunction for Pcf {
    fn handle(&mut self, now: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        self.now = now;
        match input {
            Input::Request { id, message } => self.request(id, &message),
            Input::Reply { call, message } => match self.calls.end(call) {
                Some(Waiter::Smf(id, new)) => self.answered(id, new, &message),
                Some(Waiter::App(app)) => self.app_answered(app, &message),
                None => {}
            },
            Input::Time => {
                for waiter in self.calls.expire(now.instant) {
                    if let Waiter::Smf(id, new) = waiter {
                        self.unanswered(id, new);
                    }
                }
            }
            // It has neither N2 nor N4, and waits for nothing that is stored.
            Input::N2 { .. }
            | Input::N4 { .. }
            | Input::AssociationLost(_)
            | Input::Committed(_)
            | Input::NotCommitted { .. } => {}
        }
        self.take_effects(effects);
    }

    fn serves(&self, slices: &[Snssai]) -> Vec<Served> {
        Served::parts(slices, &[], &[])
    }

    fn next_deadline(&self) -> Instant {
        self.calls.next_deadline()
    }
}

impl fmt::Debug for Pcf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pcf")
    }
}
