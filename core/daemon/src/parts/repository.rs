//! The UDR of a program at its start: it has the subscribers of core.yaml and of the database, which is open from then on.

use crate::config::{Account, CoreConfig};
use crate::convert;
use crate::needs::{StartError, problem};
use crate::parts::store::{self, Opened, Taken};
use crate::parts::subscriber_sync::SubscriberSync;
use sluice_core_host as host;
use sluice_ids::Supi;
use sluice_security::suci::HomeKey;
use sluice_udr::{Provisioned, Udr};
use sluice_wiring::{Apart, Repository};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Parts beside the UDR.
pub(crate) struct Beside {
    /// None of a core without a database.
    database: Option<Opened>,
    of_database: BTreeSet<Supi>,
    of_file: Vec<Account>,
    /// Keys of the home network that the database has.
    pub home_keys: BTreeMap<u8, HomeKey>,
}

/// Opens the database, if there is one, and fills a UDR.
pub(crate) fn open(config: &CoreConfig) -> Result<(Udr, Beside), StartError> {
    let database = config.database.as_ref().map(store::open).transpose()?;
    let stored = database.as_ref().map(|opened| all(config, opened));
    let stored = stored.transpose()?.unwrap_or_default();
    let mut udr = Udr::default();
    if database.as_ref().is_some_and(Opened::is_shared) {
        udr.share_sequence_numbers();
    }
    let of_file = config.subscribers.iter();
    let of_file = of_file.map(|one| (one.supi.value, convert::subscriber(one)));
    let of_database = stored.subscribers.iter();
    let of_database =
        of_database.filter_map(|(supi, record)| Some((*supi, store::provision(record.as_ref()?))));
    for (supi, provision) in of_file.chain(of_database) {
        if udr.provision(supi, provision) == Provisioned::Full {
            let expected = "see docs/core.yaml";
            return Err(problem(0, "", "there are too many subscribers", expected).into());
        }
    }
    let beside = Beside {
        database,
        of_database: stored.subscribers.iter().map(|(supi, _)| *supi).collect(),
        of_file: config.subscribers.clone(),
        home_keys: stored.home_keys.unwrap_or_default(),
    };
    Ok((udr, beside))
}

fn all(config: &CoreConfig, opened: &Opened) -> Result<Taken, StartError> {
    opened.all().map_err(|e| {
        let expected = "a database that is whole, or a backup of it";
        let section = config.database.as_ref();
        let line = section.map_or(0, |one| one.location.line);
        let key = section.map_or("file", |one| one.place_key());
        let key = format!("subscriber_database.{key}");
        StartError {
            problem: problem(line, key, e.to_string(), expected),
            exit: store::exit_of(&e),
        }
    })
}

impl Beside {
    /// Begins the thread of the database; `wake` is called for each outcome.
    pub(crate) fn serve<F, W>(
        self,
        repository: &mut Repository<'_, F>,
        wake: impl Fn() + Send + 'static,
    ) -> io::Result<SubscriberSync<W>>
    where
        F: host::Functions + AsMut<Apart>,
        W: Send + 'static,
    {
        let database = self.database.map(|opened| opened.serve(wake)).transpose()?;
        if let Some(database) = &database {
            repository.write_journal_with(database.journal_writer());
        }
        let Self {
            of_database,
            of_file,
            ..
        } = self;
        Ok(SubscriberSync::new(database, of_database, of_file))
    }
}
