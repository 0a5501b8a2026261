//! Charging records: from the core into their file.

use sluice_core_runtime::charging::Records;
use sluice_program::lines::{self, Kind, Peer};
use sluice_smf::ChargingRecord;

/// The file of charging records, and how many did not come there.
pub(crate) struct Charging {
    /// None of a core that makes none.
    records: Option<Records>,
    lost: u64,
}

impl Charging {
    /// Records go there.
    pub fn new(records: Option<Records>) -> Self {
        Self { records, lost: 0 }
    }

    /// Records go there from now on.
    pub fn go_to(&mut self, records: Option<Records>) {
        self.records = records;
    }

    /// Records that could not be written.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes what an SMF has made.
    pub fn write(&mut self, made: &[ChargingRecord]) {
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
