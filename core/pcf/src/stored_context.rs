//! Contexts that survive the process: rules of sessions as operators, applications and UEs have made them.

use sluice_ids::Supi;
use sluice_sbi::context_store::{Reader, Writer, fingerprint};
use sluice_sbi::{CommitId, Effect, PccRule};

use crate::Pcf;
use crate::app_session::AppSession;
use crate::policies::{PolicyId, Session};

/// Version of the form.
const VERSION: u8 = 1;

/// Before the number of a session.
const SESSION: &str = "pcf/session/";

/// A session with the sessions of applications that rest on it.
type Kept = (Session, Vec<(u64, AppSession)>);

fn of<'a>(session: &Session, apps: impl Iterator<Item = (&'a u64, &'a AppSession)>) -> Vec<u8> {
    let mut w = Writer::new(VERSION);
    w.flat(&session.supi);
    w.u8(session.session);
    w.flat(&session.dnn);
    w.u64(session.context);
    w.octets(session.policy.as_bytes());
    w.list(session.rules.iter(), |w, rule| w.flat(rule));
    let (of_ue, last) = session.numbers();
    w.u16(of_ue);
    w.u8(last);
    w.option(session.ipv4, |w, ipv4| w.flat(&ipv4));
    w.option(session.ipv6_prefix, |w, prefix| w.flat(&prefix));
    // One that has no text cannot have come as one.
    let apps: Vec<_> = apps
        .filter_map(|(id, app)| Some((id, app.rules, serde_json::to_vec(&app.request).ok()?)))
        .collect();
    w.list(apps.into_iter(), |w, (id, rules, request)| {
        w.u64(*id);
        w.u16(rules);
        w.octets(&request);
    });
    w.finish()
}

fn read(id: PolicyId, octets: &[u8]) -> Option<Kept> {
    let r = &mut Reader::new(VERSION, octets)?;
    let (supi, identity): (Supi, u8) = (r.flat()?, r.u8()?);
    let mut session = Session::new(supi, identity, r.flat()?, r.u64()?);
    session.policy = str::from_utf8(r.octets()?).ok()?.to_owned();
    let is_rule = |rule: &PccRule| (1..16).contains(&rule.id);
    session.rules = r.list(|r| r.flat().filter(is_rule))?;
    session.set_numbers(r.u16()?, r.u8().filter(|last| *last < 16)?);
    session.ipv4 = r.option(Reader::flat)?;
    session.ipv6_prefix = r.option(Reader::flat)?;
    let apps = r.list(|r| {
        let (app, rules) = (r.u64()?, r.u16()?);
        let request = serde_json::from_slice(r.octets()?).ok()?;
        let known = AppSession {
            policy: id,
            rules,
            request,
            // Its URI is lost with the process.
            is_told: false,
        };
        Some((app, known))
    })?;
    r.end()?;
    Some((session, apps))
}

impl Pcf {
    /// Goes on with the sessions of a PCF of before, of which this is the `starts`th: keys and values as
    /// they were committed. What a policy lets UEs ask for is what the configuration says now.
    pub fn resume<'a>(
        &mut self,
        starts: u16,
        contexts: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> usize {
        let mut sessions = Vec::new();
        for (key, value) in contexts {
            let Some(id) = policy_of(key) else { continue };
            // One that nobody can read is deleted: its session has no policy any more.
            let Some((mut session, apps)) = read(id, value) else {
                self.store(id, None);
                continue;
            };
            let policies = &self.config.policies;
            let policy = policies.iter().find(|one| one.name == session.policy);
            session.ue_requests = policy.and_then(|one| one.ue_requests.clone());
            session.kept = Some(fingerprint(value));
            let addresses = session.addresses().map(|address| (address, id));
            self.by_address.extend(addresses);
            for (app, known) in apps {
                self.next_app = self.next_app.max(app.saturating_add(1));
                self.apps.insert(app, known);
            }
            self.by_identity.insert((session.supi, session.session), id);
            sessions.push((id.0, session));
        }
        self.sessions.restore(starts << 8, sessions);
        self.sessions.take_touched();
        self.sessions.len()
    }

    /// By what the SMF knows: sessions of others are over. The SMF that was before has not come to say so.
    pub fn reconcile(&mut self, is_known: impl Fn(u64) -> bool, effects: &mut Vec<Effect>) {
        let all = self.sessions.iter();
        let over = all.filter(|(_, session)| !is_known(session.context));
        let over: Vec<PolicyId> = over.map(|(key, _)| PolicyId(key)).collect();
        for id in over {
            self.delete(id);
        }
        self.take_effects(effects);
    }

    /// What is wanted done; before that, what of it is stored.
    pub(crate) fn take_effects(&mut self, effects: &mut Vec<Effect>) {
        let said = std::mem::take(&mut self.effects);
        for key in self.sessions.take_touched() {
            self.keep(PolicyId(key));
        }
        self.sessions.take_touched();
        effects.append(&mut self.effects);
        effects.extend(said);
    }

    fn keep(&mut self, id: PolicyId) {
        let Some(session) = self.sessions.get(id.0) else {
            return;
        };
        let apps = self.apps.of(id);
        let context = of(session, apps);
        let stored = Some(fingerprint(&context));
        if stored == session.kept {
            return;
        }
        if let Some(session) = self.sessions.get_mut(id.0) {
            session.kept = stored;
        }
        self.store(id, Some(context));
    }

    /// Stores a session, or deletes it. Nobody waits: whatever this input leads to leaves after it.
    pub(crate) fn store(&mut self, session: PolicyId, value: Option<Vec<u8>>) {
        self.commits += 1;
        let id = CommitId(self.commits);
        let key = format!("{SESSION}{:016x}", session.number()).into_bytes();
        self.effects.push(Effect::Commit { id, key, value });
    }
}

/// The session that a key names.
fn policy_of(key: &[u8]) -> Option<PolicyId> {
    let digits = key.strip_prefix(SESSION.as_bytes())?;
    let number = u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    Some(PolicyId::from_number(number)).filter(|id| id.number() == number)
}
