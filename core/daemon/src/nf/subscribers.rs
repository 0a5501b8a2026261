//! Subscribers of a program that has the UDR: its database, and contexts that wait until it is known which UEs an AMF has.

use crate::parts::repository::Beside;
use crate::parts::subscriber_sync::SubscriberSync;
use sluice_core_host::Host;
use sluice_host::poll::Waker;
use sluice_ids::{Guami, Supi};
use sluice_sbi::context_store::Stored;
use sluice_wiring::{Apart, Repository};
use std::io;

/// Database and contexts.
pub(super) struct Subscribers {
    /// Questions of operators wait for it, by their numbers.
    pub sync: SubscriberSync<u64>,
    stored: Stored,
}

impl Subscribers {
    /// Begins the thread of the database.
    pub fn begin(
        beside: Beside,
        host: &mut Host<Apart>,
        waker: Waker,
        stored: Stored,
    ) -> io::Result<Self> {
        let mut repository = Repository::from(host);
        let sync = beside.serve(&mut repository, move || waker.wake())?;
        Ok(Self { sync, stored })
    }

    /// The UDR goes on with UEs that the AMF of this name has, and what was stored of them. Gives those of subscribers
    /// that were removed or barred meanwhile.
    pub fn resume(
        &mut self,
        host: &mut Host<Apart>,
        guami: Option<Guami>,
        ues: &[Supi],
    ) -> Vec<Supi> {
        let Some(guami) = guami else {
            return Vec::new();
        };
        let stored = std::mem::take(&mut self.stored);
        Repository::from(host).resume(guami, ues, &stored)
    }
}
