//! Keys of the home network: those of files that core.yaml names, and of the database, which count more.

use sluice_security::suci::HomeKey;
use sluice_wiring::Core;
use std::collections::BTreeMap;

/// Keys by their identifiers.
type Keys = BTreeMap<u8, HomeKey>;

/// Keys of both places, wherever the UDR is that has the database.
pub(crate) struct HomeKeys {
    of_file: Keys,
    of_database: Keys,
}

impl HomeKeys {
    pub fn new(of_file: Keys, of_database: Keys) -> Self {
        Self {
            of_file,
            of_database,
        }
    }

    /// All of them.
    pub fn all(&self) -> Keys {
        let mut all = self.of_file.clone();
        let of_database = self.of_database.iter();
        all.extend(of_database.map(|(id, key)| (*id, key.clone())));
        all
    }

    /// Files have these from now on.
    pub fn set_of_file(&mut self, core: &mut Core, keys: Keys) {
        self.of_file = keys;
        core.set_home_keys(self.all());
    }

    /// The database has these from now on.
    pub fn set_of_database(&mut self, core: &mut Core, keys: Keys) {
        self.of_database = keys;
        core.set_home_keys(self.all());
    }
}
