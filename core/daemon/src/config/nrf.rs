//! Section `nrf`: heart-beats of network functions, and how long what is discovered counts.

use sluice_program::config::fields::Fields;
use sluice_program::config::kind::{boolean, number};

/// The network repository.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NrfSection {
    /// Seconds between heart-beats of a network function.
    pub heart_beat_s: u16,
    /// Seconds for which what is discovered counts.
    pub validity_s: u32,
    /// Whether the AMF takes the SMF of this file while the NRF does not answer.
    pub default_smf: bool,
}

impl NrfSection {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let interval = number(1, 3_600, "seconds");
        let heart_beat_s = fields.or("heart_beat_s", "10", &interval).value;
        let validity = number(0, 86_400, "seconds");
        let validity_s = fields.or("validity_s", "60", &validity).value;
        let default_smf = fields.or("default_smf", "true", &boolean()).value;
        Self {
            heart_beat_s,
            validity_s,
            default_smf,
        }
    }
}
