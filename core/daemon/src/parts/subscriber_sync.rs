//! Subscribers of core.yaml and of the database: what the database stores and changes takes effect in the UDR.

use crate::config::Account;
use crate::convert;
use crate::parts::store::{Outcome, Subscribers, Taken, provision};
use serde_json::Value;
use sluice_core_host as host;
use sluice_core_runtime::system;
use sluice_ids::Supi;
use sluice_program::control::refusal;
use sluice_security::suci::HomeKey;
use sluice_subscribers::Operation;
use sluice_udr::Provisioned;
use sluice_wiring::{Apart, Repository};
use std::collections::{BTreeMap, BTreeSet};

/// Subscribers of the program that has the UDR; `W` is who waits for the answer to an operation.
pub(crate) struct SubscriberSync<W> {
    /// None of a core without a database.
    database: Option<Subscribers<W>>,
    /// How often the UDR has waited too long for it.
    late: u64,
    of_database: BTreeSet<Supi>,
    of_file: Vec<Account>,
}

/// Work of the database's thread since the last turn.
pub(crate) struct Turned<W> {
    pub answers: Vec<(W, Value)>,
    /// All keys of the home network that the database has, if they are others than before.
    pub home_keys: Option<BTreeMap<u8, HomeKey>>,
}

impl<W: Send + 'static> SubscriberSync<W> {
    /// Of a database and core.yaml, from which the UDR has all subscribers.
    pub fn new(
        database: Option<Subscribers<W>>,
        of_database: BTreeSet<Supi>,
        of_file: Vec<Account>,
    ) -> Self {
        Self {
            database,
            late: 0,
            of_database,
            of_file,
        }
    }

    /// Whether the database answers; none if there is none.
    pub fn is_up(&self) -> Option<bool> {
        self.database.as_ref().map(Subscribers::is_up)
    }

    /// Has the database do what an operator asks; the answer at once where there is none.
    #[must_use]
    pub fn operate(&self, operation: Box<Operation>, waits: W) -> Option<(W, Value)> {
        let Some(database) = &self.database else {
            let what = "this core has no subscriber_database in its core.yaml";
            return Some((waits, refusal("no_database", what)));
        };
        database.operate(operation, waits);
        None
    }

    /// Takes what the database's thread has done, and sees whether the UDR waits for it in vain.
    pub fn turn<F>(&mut self, repository: &mut Repository<'_, F>) -> Turned<W>
    where
        F: host::Functions + AsMut<Apart>,
    {
        let mut turned = Turned {
            answers: Vec::new(),
            home_keys: None,
        };
        while let Some(outcome) = self.database.as_ref().and_then(Subscribers::next) {
            let Outcome {
                answer,
                mut taken,
                stored,
            } = outcome;
            for (number, rejected) in stored {
                repository.stored_for_good(system::now(), number, &rejected);
            }
            turned.home_keys = taken.home_keys.take().or(turned.home_keys);
            self.take_over(repository, taken);
            turned.answers.extend(answer);
        }
        let late = repository.stored_late();
        if std::mem::replace(&mut self.late, late) != late
            && let Some(database) = &self.database
        {
            database.is_late(repository.shares_sequence_numbers());
        }
        turned
    }

    /// Answers of the database, of which nothing else is taken over at the end.
    pub fn answers_at_end(&self) -> Vec<(W, Value)> {
        let next = || self.database.as_ref().and_then(Subscribers::next);
        let outcomes = std::iter::from_fn(next);
        outcomes.filter_map(|outcome| outcome.answer).collect()
    }

    /// Ends when all jobs are done, and closes the database.
    pub fn close(self) {
        if let Some(database) = self.database {
            database.close();
        }
    }

    /// Subscribers of core.yaml are these from now on: who is new, otherwise, or gone; those of a database count more.
    pub fn reload<F>(&mut self, repository: &mut Repository<'_, F>, accounts: &[Account])
    where
        F: host::Functions + AsMut<Apart>,
    {
        if self.of_file == accounts {
            return;
        }
        let now = system::now();
        let before = std::mem::replace(&mut self.of_file, accounts.to_vec());
        let there: BTreeSet<Supi> = accounts.iter().map(|one| one.supi.value).collect();
        for account in accounts {
            let supi = account.supi.value;
            if self.of_database.contains(&supi) {
                continue;
            }
            let provisioned = repository.provision(now, supi, convert::subscriber(account));
            tell_of_room(&supi, provisioned);
        }
        let gone = before.iter().map(|one| one.supi.value);
        for supi in gone.filter(|supi| !there.contains(supi)) {
            if !self.of_database.contains(&supi) {
                repository.withdraw(now, &supi);
            }
        }
    }

    /// What is otherwise in the database acts at once: who is removed or barred is deregistered, and who
    /// may do something else registers again.
    fn take_over<F>(&mut self, repository: &mut Repository<'_, F>, taken: Taken)
    where
        F: host::Functions + AsMut<Apart>,
    {
        let now = system::now();
        let mut gone: Vec<Supi> = Vec::new();
        if taken.all {
            let there: BTreeSet<_> = taken.subscribers.iter().map(|(supi, _)| *supi).collect();
            let known = repository.subscribers().into_iter();
            gone.extend(known.filter(|supi| !there.contains(supi)));
            self.of_database.clear();
        }
        for (supi, record) in taken.subscribers {
            let Some(record) = record else {
                self.of_database.remove(&supi);
                gone.push(supi);
                continue;
            };
            self.of_database.insert(supi);
            let provisioned = repository.provision(now, supi, provision(&record));
            tell_of_room(&supi, provisioned);
        }
        for supi in gone {
            // Whom core.yaml has, too, is what that says from now on.
            let mut of_file = self.of_file.iter();
            let account = of_file.find(|one| one.supi.value == supi);
            if let Some(account) = account {
                repository.provision(now, supi, convert::subscriber(account));
            } else {
                repository.withdraw(now, &supi);
            }
        }
    }
}

fn tell_of_room(supi: &Supi, provisioned: Option<Provisioned>) {
    if provisioned == Some(Provisioned::Full) {
        tracing::error!("{supi}: there are too many subscribers");
    }
}
