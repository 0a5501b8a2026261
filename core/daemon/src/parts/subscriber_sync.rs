//! Subscribers of the database: what it stores and changes takes effect in the core.

use crate::config::CoreConfig;
use crate::convert;
use crate::needs;
use crate::operators::request::Ask;
use crate::parts::store::{Outcome, Subscribers, Taken, provision};
use sluice_core_runtime::system;
use sluice_ids::Supi;
use sluice_program::control::{Asked, refusal};
use sluice_security::suci::HomeKey;
use sluice_udr::Provisioned;
use sluice_wiring::Core;
use std::collections::{BTreeMap, BTreeSet};

/// What the database had at the start.
#[derive(Default)]
pub(crate) struct OfDatabase {
    pub subscribers: BTreeSet<Supi>,
    pub home_keys: BTreeMap<u8, HomeKey>,
}

/// The database of subscribers, and what the core has of it.
pub(crate) struct SubscriberSync {
    /// None of a core without a database.
    database: Option<Subscribers>,
    /// How often the core has waited too long for it.
    late: u64,
    of_database: OfDatabase,
}

impl SubscriberSync {
    /// Of a database, and what the core has taken of it.
    pub fn new(database: Option<Subscribers>, of_database: OfDatabase) -> Self {
        Self {
            database,
            late: 0,
            of_database,
        }
    }

    /// Whether a subscriber is in the database.
    pub fn has(&self, supi: &Supi) -> bool {
        self.of_database.subscribers.contains(supi)
    }

    /// Whether the database answers; none if there is none.
    pub fn is_up(&self) -> Option<bool> {
        self.database.as_ref().map(Subscribers::is_up)
    }

    /// Keys of the file are these from now on; those of the database count more.
    pub fn set_home_keys_of_file(&self, core: &mut Core, mut keys: BTreeMap<u8, HomeKey>) {
        let stored = self.of_database.home_keys.iter();
        keys.extend(stored.map(|(id, key)| (*id, key.clone())));
        core.set_home_keys(keys);
    }

    /// Has the database do what an operator asks.
    pub fn operate(&self, asked: Asked<Ask>) {
        match &self.database {
            Some(database) => database.operate(asked),
            None => {
                let what = "this core has no subscriber_database in its core.yaml";
                asked.answer(refusal("no_database", what));
            }
        }
    }

    /// Takes what the database's thread has done, and sees whether the core waits for it in vain. `running` says what
    /// core.yaml has.
    pub fn turn(&mut self, core: &mut Core, running: &CoreConfig) {
        while let Some(outcome) = self.database.as_ref().and_then(Subscribers::next) {
            let Outcome {
                answer,
                taken,
                stored,
            } = outcome;
            for (number, rejected) in stored {
                core.stored_for_good(system::now(), number, &rejected);
            }
            self.take_over(core, running, taken);
            if let Some((asked, answer)) = answer {
                asked.answer(answer);
            }
        }
        let late = core.stored_late();
        if std::mem::replace(&mut self.late, late) != late
            && let Some(database) = &self.database
        {
            database.is_late(core.udr().shares_sequence_numbers());
        }
    }

    /// Answers what the database has done, and nothing else.
    pub fn answer_at_end(&self) {
        while let Some(outcome) = self.database.as_ref().and_then(Subscribers::next) {
            if let Some((asked, answer)) = outcome.answer {
                asked.answer(answer);
            }
        }
    }

    /// Ends when all jobs are done, and closes the database.
    pub fn close(self) {
        if let Some(database) = self.database {
            database.close();
        }
    }

    /// What is otherwise in the database acts at once: who is removed or barred is deregistered, and who
    /// may do something else registers again.
    fn take_over(&mut self, core: &mut Core, running: &CoreConfig, taken: Taken) {
        let now = system::now();
        if let Some(keys) = taken.home_keys {
            self.of_database.home_keys = keys;
            match needs::home_keys(&running.home_keys) {
                Ok(of_file) => self.set_home_keys_of_file(core, of_file),
                Err(problems) => {
                    for problem in problems {
                        tracing::error!("home network keys stay: {}", problem.what);
                    }
                }
            }
        }
        let mut gone: Vec<Supi> = Vec::new();
        if taken.all {
            let there: BTreeSet<_> = taken.subscribers.iter().map(|(supi, _)| *supi).collect();
            let known = core.udr().supis();
            gone.extend(known.filter(|supi| !there.contains(supi)));
            self.of_database.subscribers.clear();
        }
        for (supi, record) in taken.subscribers {
            let Some(record) = record else {
                self.of_database.subscribers.remove(&supi);
                gone.push(supi);
                continue;
            };
            self.of_database.subscribers.insert(supi);
            if core.provision(now, supi, provision(&record)) == Provisioned::Full {
                tracing::error!("{supi}: there are too many subscribers");
            }
        }
        for supi in gone {
            // Whom core.yaml has, too, is what that says from now on.
            let mut of_file = running.subscribers.iter();
            let account = of_file.find(|one| one.supi.value == supi);
            if let Some(account) = account {
                core.provision(now, supi, convert::subscriber(account));
            } else {
                core.withdraw(now, &supi);
            }
        }
    }
}
