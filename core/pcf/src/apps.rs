//! Sessions of applications by their numbers, and by the PDU session that each is for.

use std::collections::{BTreeMap, BTreeSet};

use crate::app_session::AppSession;
use crate::policies::PolicyId;

/// Session of an application that wants to hear that it has lost rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lost {
    pub app: u64,
    /// A bit for each that is lost.
    pub rules: u16,
    /// None is left.
    pub is_over: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Apps {
    all: BTreeMap<u64, AppSession>,
    by_policy: BTreeSet<(PolicyId, u64)>,
}

impl Apps {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// A new one, or one instead of another.
    pub fn insert(&mut self, app: u64, session: AppSession) {
        self.remove(app);
        self.by_policy.insert((session.policy, app));
        self.all.insert(app, session);
    }

    /// One that is over.
    pub fn remove(&mut self, app: u64) -> Option<AppSession> {
        let session = self.all.remove(&app)?;
        self.by_policy.remove(&(session.policy, app));
        Some(session)
    }

    /// One of them.
    pub fn get(&self, app: u64) -> Option<&AppSession> {
        self.all.get(&app)
    }

    /// From now on it has these rules, a bit for each, and was asked for so.
    pub fn change(&mut self, app: u64, change: impl FnOnce(&mut AppSession)) {
        if let Some(session) = self.all.get_mut(&app) {
            let policy = session.policy;
            change(session);
            session.policy = policy;
        }
    }

    /// Those of a PDU session.
    pub fn of(&self, policy: PolicyId) -> impl Iterator<Item = (&u64, &AppSession)> {
        let numbers = self.by_policy.range((policy, 0)..=(policy, u64::MAX));
        numbers.filter_map(|(_, app)| self.all.get_key_value(app))
    }

    /// Applications of a PDU session have these rules alone; one without any is over. Gives those that have lost some.
    pub fn keep_rules(&mut self, policy: PolicyId, rules: u16) -> Vec<Lost> {
        let numbers: Vec<u64> = self.of(policy).map(|(app, _)| *app).collect();
        let mut all = Vec::new();
        for app in numbers {
            let before = self.get(app).map_or(0, |session| session.rules);
            self.change(app, |session| session.rules &= rules);
            let is_told = self.get(app).is_some_and(|session| session.is_told);
            let is_over = before & rules == 0;
            if is_over {
                self.remove(app);
            }
            if is_told && before & !rules != 0 {
                let rules = before & !rules;
                all.push(Lost {
                    app,
                    rules,
                    is_over,
                });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_sbi::Key;

    fn policy(slot: u32) -> PolicyId {
        PolicyId(Key {
            slot,
            generation: 1,
        })
    }

    #[test]
    fn sessions_of_applications_are_found_by_their_pdu_session() {
        let mut apps = Apps::default();
        let session = |slot, rules| AppSession {
            policy: policy(slot),
            rules,
            is_told: slot == 7,
            request: crate::AppSessionRequest::default(),
        };
        for (app, slot, rules) in [(1, 7, 1), (2, 8, 2), (3, 7, 6), (2, 7, 8)] {
            apps.insert(app, session(slot, rules));
        }
        let of = |apps: &Apps, slot| {
            apps.of(policy(slot))
                .map(|(app, _)| *app)
                .collect::<Vec<_>>()
        };
        assert_eq!((of(&apps, 7), of(&apps, 8)), (vec![1, 2, 3], vec![]));
        // Of 7 the rules 2 and 4 are left.
        let lost = |app, rules, is_over| Lost {
            app,
            rules,
            is_over,
        };
        let expected = [lost(1, 1, true), lost(2, 8, true), lost(3, 2, false)];
        assert_eq!(apps.keep_rules(policy(7), 0b10100), expected);
        assert_eq!(of(&apps, 7), [3]);
        assert_eq!(apps.get(3).map(|one| one.rules), Some(4));
        apps.keep_rules(policy(7), 0);
        assert_eq!((apps.len(), apps.by_policy.len()), (0, 0));
    }
}
