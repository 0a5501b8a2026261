//! Charging records: from the core into their file, once the contexts that they follow from are stored.

use sluice_core_host::{ContextStore, Held};
use sluice_core_runtime::charging::Records;
use sluice_program::lines::{self, Kind, Peer};
use sluice_smf::ChargingRecord;

/// The file of charging records, and how many did not come there.
pub(crate) struct Charging {
    /// None of a core that makes none.
    records: Option<Records>,
    lost: u64,
    held: Held<ChargingRecord>,
}

impl Charging {
    /// Records go there.
    pub fn new(records: Option<Records>) -> Self {
        Self {
            records,
            lost: 0,
            held: Held::default(),
        }
    }

    /// Records go there from now on.
    pub fn go_to(&mut self, records: Option<Records>) {
        self.records = records;
    }

    /// Records that could not be written.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Takes what an SMF has made, and writes what waits for no contexts any more.
    pub fn take(&mut self, made: Vec<ChargingRecord>, contexts: &mut ContextStore) {
        made.into_iter().for_each(|one| self.held.push(one));
        if !self.held.is_empty() {
            self.held.wait_for(contexts.put_of_now());
            let released = self.held.take(contexts.released());
            self.write(&released);
        }
    }

    fn write(&mut self, made: &[ChargingRecord]) {
        let Some(records) = &mut self.records else {
            return;
        };
        if let Err(e) = records.write(made) {
            self.lost += made.len() as u64;
            if lines::permits(Peer::Local, Kind::Charging) {
                let lost = self.lost;
                tracing::error!("charging records are lost, {lost} since the start: {e}");
            }
        }
    }
}

impl Drop for Charging {
    /// No record is lost with the core.
    fn drop(&mut self) {
        let left = self.held.take_all();
        self.write(&left);
    }
}
