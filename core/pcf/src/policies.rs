//! Rules of a session as they come and go: by configuration, operators, applications and the UE.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::config::{self, UeRequests};
use crate::{Pcf, Waiter};
use sluice_ids::{Dnn, Supi};
use sluice_sbi::{AppSessionNews, Effect, Key, Now, PccRule, Problem};

/// A session as the PCF names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PolicyId(pub Key);

impl PolicyId {
    /// Not after any other.
    pub const FIRST: Self = Self(Key {
        slot: 0,
        generation: 0,
    });

    /// Not before any other.
    pub const LAST: Self = Self(Key {
        slot: u32::MAX,
        generation: u16::MAX,
    });

    /// As the SMF is told; never 0.
    pub fn number(self) -> u64 {
        let Key { slot, generation } = self.0;
        (u64::from(generation) << 32) | (u64::from(slot) + 1)
    }

    /// As it says.
    pub fn from_number(number: u64) -> Self {
        Self(Key {
            slot: (number as u32).wrapping_sub(1),
            generation: (number >> 32) as u16,
        })
    }
}

/// An address of a UE, by which applications name its session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Address {
    V4([u8; 4]),
    /// A /64 prefix.
    V6([u8; 8]),
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub supi: Supi,
    /// PDU session identity.
    pub session: u8,
    pub dnn: Dnn,
    /// What the SMF calls it.
    pub context: u64,
    /// The policy that is for it; empty if none is.
    pub policy: String,
    pub ue_requests: Option<UeRequests>,
    pub rules: Vec<PccRule>,
    /// Rules that the UE asked for, a bit for each.
    of_ue: u16,
    /// The number of the last new rule.
    last: u8,
    pub ipv4: Option<[u8; 4]>,
    pub ipv6_prefix: Option<[u8; 8]>,
    /// The fingerprint of what is stored of it.
    pub kept: Option<u64>,
}

/// Why there is no such flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowRefused {
    /// The subscriber has no such session.
    NoSession,
    /// The session has no such flow.
    NoFlow,
    /// The rule is none, or does not go together with those that are there.
    Rule(&'static str),
    /// The SMF has no room for what is guaranteed: a budget of the UPF or the data network.
    NoRoom,
}

impl FlowRefused {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoSession => "the subscriber has no such session",
            Self::NoFlow => "the session has no such flow",
            Self::Rule(what) => what,
            Self::NoRoom => {
                "the guaranteed bit rates of the UPF or the data network are taken: see guaranteed_down and guaranteed_up in core.yaml"
            }
        }
    }
}

/// A session as operators see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyView {
    /// Its policy; empty if none is for it.
    pub policy: String,
    /// Its rules.
    pub rules: Vec<PccRule>,
}

impl Session {
    pub fn new(supi: Supi, session: u8, dnn: Dnn, context: u64) -> Self {
        Self {
            supi,
            session,
            dnn,
            context,
            policy: String::new(),
            ue_requests: None,
            rules: Vec::new(),
            of_ue: 0,
            last: 0,
            ipv4: None,
            ipv6_prefix: None,
            kept: None,
        }
    }

    /// Rules that the UE asked for, a bit for each, and the number of the last new rule.
    pub fn numbers(&self) -> (u16, u8) {
        (self.of_ue, self.last)
    }

    /// The same of a session of before.
    pub fn set_numbers(&mut self, of_ue: u16, last: u8) {
        (self.of_ue, self.last) = (of_ue, last);
    }

    /// Rules of its policy, which were checked.
    pub fn begin(&mut self, rules: &[PccRule]) {
        for rule in rules {
            let id = self.next_id();
            self.rules.push(PccRule { id, ..*rule });
        }
    }

    /// Rules that are there, a bit for each.
    pub fn ids(&self) -> u16 {
        self.rules.iter().fold(0, |ids, rule| ids | 1 << rule.id)
    }

    /// A number that no rule has, and none has had of late: a rule never changes under its number.
    fn next_id(&mut self) -> u8 {
        let there = self.ids();
        loop {
            self.last = self.last % 15 + 1;
            if there & 1 << self.last == 0 {
                return self.last;
            }
        }
    }

    /// A further rule, with a precedence of its own if it brings none; its number.
    pub fn add(&mut self, rule: PccRule) -> Result<u8, FlowRefused> {
        if self.rules.len() >= sluice_sbi::RULES {
            return Err(FlowRefused::Rule("a session has 8 rules at the most"));
        }
        let mut rule = rule;
        if rule.precedence == 0 {
            let is_free = |precedence: &u8| {
                let mut taken = self.rules.iter().map(|rule| rule.precedence);
                !taken.any(|one| one == *precedence)
            };
            rule.precedence = (crate::FIRST_PRECEDENCE..=254).find(is_free).unwrap_or(0);
        }
        let all = [self.rules.as_slice(), &[rule]].concat();
        config::check(&all).map_err(FlowRefused::Rule)?;
        rule.id = self.next_id();
        self.of_ue &= !(1 << rule.id);
        self.rules.push(rule);
        Ok(rule.id)
    }

    /// The UE asks for a flow.
    pub fn request(&mut self, rule: PccRule) -> Result<u8, Problem> {
        let allowed = self.ue_requests.as_ref();
        let allowed = allowed.ok_or(Problem::ServiceNotAllowed)?;
        if !allowed.five_qis.contains(&rule.five_qi) {
            return Err(Problem::FiveQiNotAuthorized);
        }
        let (most_down, most_up) = allowed.most_bps;
        let (least_down, least_up) = rule.guaranteed_bps().unwrap_or_default();
        let (down, up) = rule.maximum_bps();
        if down.max(least_down) > most_down || up.max(least_up) > most_up {
            return Err(Problem::QosNotAuthorized);
        }
        // What it does not limit is limited by the policy.
        let rule = PccRule {
            maximum_down_bps: if down == 0 { most_down } else { down }.into(),
            maximum_up_bps: if up == 0 { most_up } else { up }.into(),
            ..rule
        };
        if self.rules.len() >= sluice_sbi::RULES {
            return Err(Problem::NoResources);
        }
        let id = self.add(rule).map_err(|_| Problem::QosNotAuthorized)?;
        self.of_ue |= 1 << id;
        Ok(id)
    }

    /// The UE wants flows of its own to be otherwise: what takes their place is a rule of another number.
    pub fn modify(&mut self, rules: u16, rule: PccRule) -> Result<(), Problem> {
        let (before, of_ue, last) = (self.rules.clone(), self.of_ue, self.last);
        self.release(rules)?;
        if let Err(problem) = self.request(rule) {
            (self.rules, self.of_ue, self.last) = (before, of_ue, last);
            return Err(problem);
        }
        Ok(())
    }

    /// The UE gives flows up: its own alone.
    pub fn release(&mut self, rules: u16) -> Result<(), Problem> {
        if rules & !self.of_ue != 0 {
            return Err(Problem::QosNotAuthorized);
        }
        self.rules.retain(|rule| rules & 1 << rule.id == 0);
        Ok(())
    }

    /// Its addresses.
    pub fn addresses(&self) -> impl Iterator<Item = Address> + use<> {
        let ipv4 = self.ipv4.map(Address::V4);
        ipv4.into_iter().chain(self.ipv6_prefix.map(Address::V6))
    }

    fn has_address(&self, ipv4: Option<Ipv4Addr>, ipv6: Option<Ipv6Addr>) -> bool {
        let is_ipv4 = ipv4.is_none_or(|ipv4| self.ipv4 == Some(ipv4.octets()));
        let prefix = ipv6.and_then(|ipv6| ipv6.octets().first_chunk::<8>().copied());
        let is_ipv6 = prefix.is_none_or(|prefix| self.ipv6_prefix == Some(prefix));
        is_ipv4 && is_ipv6
    }
}

impl Pcf {
    /// A session of a subscriber: the one of an identity, else the first in a data network.
    pub(crate) fn find(
        &self,
        supi: &Supi,
        session: Option<u8>,
        dnn: Option<Dnn>,
    ) -> Option<PolicyId> {
        let its = self.by_identity.range((*supi, 0)..=(*supi, u8::MAX));
        let mut fitting = its.filter(|((_, number), id)| {
            let is_in = |dnn: Dnn| self.sessions.get(id.0).is_some_and(|one| one.dnn == dnn);
            session.is_none_or(|wanted| wanted == *number) && dnn.is_none_or(is_in)
        });
        fitting.next().map(|(_, id)| *id)
    }

    /// A session by the UE's address.
    pub(crate) fn find_address(
        &self,
        ipv4: Option<Ipv4Addr>,
        ipv6: Option<Ipv6Addr>,
        dnn: Option<Dnn>,
    ) -> Option<PolicyId> {
        let prefix = ipv6.and_then(|ipv6| ipv6.octets().first_chunk::<8>().copied());
        let address = ipv4.map(|ipv4| Address::V4(ipv4.octets()));
        let address = address.or(prefix.map(Address::V6))?;
        let (first, last) = (PolicyId::FIRST, PolicyId::LAST);
        let mut its = self.by_address.range((address, first)..=(address, last));
        let is_it = |id: &PolicyId| {
            let session = self.sessions.get(id.0);
            session.is_some_and(|session| {
                session.has_address(ipv4, ipv6) && dnn.is_none_or(|dnn| session.dnn == dnn)
            })
        };
        its.find(|(_, id)| is_it(id)).map(|(_, id)| *id)
    }

    /// Adds rules to a session, and tells the SMF.
    pub(crate) fn add(&mut self, id: PolicyId, rules: &[PccRule]) -> Result<u16, FlowRefused> {
        let session = self.sessions.get_mut(id.0).ok_or(FlowRefused::NoSession)?;
        let (before, last) = (session.rules.clone(), session.last);
        let mut new = 0;
        for rule in rules {
            match session.add(*rule) {
                Ok(id) => new |= 1 << id,
                Err(refused) => {
                    // All of them, or none.
                    (session.rules, session.last) = (before, last);
                    return Err(refused);
                }
            }
        }
        self.notify(id, new);
        Ok(new)
    }

    /// Takes rules from a session, and tells the SMF.
    pub(crate) fn take(&mut self, id: PolicyId, rules: u16) {
        if let Some(session) = self.sessions.get_mut(id.0) {
            session.rules.retain(|rule| rules & 1 << rule.id == 0);
            self.notify(id, 0);
        }
    }

    /// Starts a flow of a session for the operator; without the session's identity, of the first one. The
    /// SMF may have no room for it: [`Pcf::has_flow`] tells once it was asked.
    ///
    /// # Errors
    /// [`FlowRefused`].
    pub fn start_flow(
        &mut self,
        now: Now,
        supi: &Supi,
        session: Option<u8>,
        rule: PccRule,
        effects: &mut Vec<Effect>,
    ) -> Result<(), FlowRefused> {
        self.now = now;
        let id = self.find(supi, session, None);
        let id = id.ok_or(FlowRefused::NoSession)?;
        self.add(id, &[rule])?;
        self.take_effects(effects);
        Ok(())
    }

    /// Stops a flow for the operator, whoever started it.
    ///
    /// # Errors
    /// [`FlowRefused`].
    pub fn stop_flow(
        &mut self,
        now: Now,
        supi: &Supi,
        session: Option<u8>,
        name: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<(), FlowRefused> {
        self.now = now;
        let id = self.find(supi, session, None);
        let id = id.ok_or(FlowRefused::NoSession)?;
        let known = self.sessions.get(id.0).map(|session| &session.rules);
        let mut rules = known.into_iter().flatten();
        let rule = rules.find(|rule| rule.name.text() == name);
        let rule = rule.ok_or(FlowRefused::NoFlow)?.id;
        let rules = self.sessions.get(id.0).map(|session| session.rules.clone());
        self.take(id, 1 << rule);
        let lost = self.apps.keep_rules(id, !(1 << rule));
        self.tell_apps(&rules.unwrap_or_default(), &lost, AppSessionNews::FlowsOver);
        self.take_effects(effects);
        Ok(())
    }

    /// Whether the SMF of a session has not answered yet what its rules are.
    pub fn is_asking_for(&self, supi: &Supi, session: Option<u8>) -> bool {
        let id = self.find(supi, session, None);
        id.is_some_and(|id| self.is_asking(id))
    }

    pub(crate) fn is_asking(&self, id: PolicyId) -> bool {
        let waits = |waiter: &Waiter| matches!(waiter, Waiter::Smf(of, _) if *of == id);
        self.calls.waiters().any(waits)
    }

    /// Whether a session has a flow of this name.
    pub fn has_flow(&self, supi: &Supi, session: Option<u8>, name: &str) -> bool {
        let id = self.find(supi, session, None);
        let known = id.and_then(|id| self.sessions.get(id.0));
        known.is_some_and(|session| session.rules.iter().any(|rule| rule.name.text() == name))
    }

    /// Rules of a subscriber's sessions, by their identities.
    pub fn rules_of(&self, supi: &Supi) -> impl Iterator<Item = (u8, &[PccRule])> {
        let its = self.by_identity.range((*supi, 0)..=(*supi, u8::MAX));
        let rules = its.map(|((_, session), id)| (*session, self.sessions.get(id.0)));
        rules.filter_map(|(session, known)| Some((session, &*known?.rules)))
    }

    /// A session as operators see it.
    pub fn view(&self, supi: &Supi, session: u8) -> Option<PolicyView> {
        let known = self.sessions.get(self.find(supi, Some(session), None)?.0)?;
        Some(PolicyView {
            policy: known.policy.clone(),
            rules: known.rules.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_sbi::{
        CallId, CreateSmPolicy, DeleteSmPolicy, Input, Message, NetworkFunction, Nf, PolicyTrigger,
        RequestId, UpdateSmPolicy,
    };

    fn ask(pcf: &mut Pcf, message: Message) -> Message {
        let (from, slot) = (Nf::Smf.into(), 0);
        let call = CallId(Key {
            slot,
            generation: 0,
        });
        let (id, mut effects) = (RequestId { from, call }, Vec::new());
        let message = message.into();
        let input = Input::Request { id, message };
        pcf.handle(Now::default(), input, &mut effects);
        match effects.pop() {
            Some(Effect::Answer { message, .. }) => *message,
            other => panic!("{other:?}"),
        }
    }

    /// A session in a data network, with an address there; its number.
    fn session(pcf: &mut Pcf, number: u32, dnn: &str, ipv4: [u8; 4]) -> u64 {
        let supi = Supi::from_imsi(&format!("00101{number:010}")).expect("digits");
        let create = CreateSmPolicy {
            supi,
            session: 1,
            slice: sluice_ids::Snssai::new(1, None),
            dnn: Dnn::new(dnn).expect("a name"),
            context: u64::from(number).into(),
            session_type: 3,
            ambr_down_bps: 1_000_000_000.into(),
            ambr_up_bps: 1_000_000_000.into(),
            five_qi: 9,
            priority: 8,
        };
        let Message::SmPolicy(made) = ask(pcf, create.into()) else {
            panic!("no session");
        };
        has_address(pcf, made.policy.get(), ipv4);
        made.policy.get()
    }

    fn has_address(pcf: &mut Pcf, policy: u64, ipv4: [u8; 4]) {
        let told = UpdateSmPolicy {
            policy: policy.into(),
            trigger: PolicyTrigger::UeAddress,
            ipv4,
            ipv6_prefix: [0x20, 1, 0xd, 0xb8, 0, 0, 0, ipv4[3]],
            rules: 0.into(),
            requested: PccRule::NONE,
        };
        ask(pcf, told.into());
    }

    #[test]
    fn sessions_are_found_by_the_addresses_that_they_have() {
        let mut pcf = Pcf::new(crate::Config::default()).expect("sound");
        let one = session(&mut pcf, 1, "internet", [10, 0, 0, 1]);
        let other = session(&mut pcf, 2, "lab", [10, 0, 0, 1]);
        let find = |pcf: &Pcf, last: u8, dnn: Option<&str>| {
            let dnn = dnn.map(|dnn| Dnn::new(dnn).expect("a name"));
            let found = pcf.find_address(Some([10, 0, 0, last].into()), None, dnn);
            found.map(PolicyId::number)
        };
        // Two networks have one address in common.
        assert_eq!(find(&pcf, 1, Some("lab")), Some(other));
        assert_eq!(find(&pcf, 1, None), Some(one));
        let prefix = "2001:db8:0:1:aaaa::1".parse().expect("an address");
        let found = pcf.find_address(None, Some(prefix), None);
        assert_eq!(found.map(PolicyId::number), Some(one));
        // Another one from now on.
        has_address(&mut pcf, one, [10, 0, 0, 7]);
        assert_eq!(find(&pcf, 7, None), Some(one));
        assert_eq!(find(&pcf, 1, None), Some(other));
        for policy in [one, other] {
            let policy = policy.into();
            ask(&mut pcf, DeleteSmPolicy { policy }.into());
        }
        assert_eq!((find(&pcf, 1, None), find(&pcf, 7, None)), (None, None));
        assert!(pcf.by_address.is_empty() && pcf.sessions() == 0);
    }
}
