//! Usage Reporting Rules.

use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::value::{MeasurementInformation, MeasurementMethod, ReportingTriggers};

/// A Usage Reporting Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Urr {
    /// URR ID.
    pub id: UrrId,
    /// Measurement Method.
    pub method: MeasurementMethod,
    /// Measurement Information.
    pub information: MeasurementInformation,
    /// Reporting Triggers.
    pub triggers: ReportingTriggers,
    /// Where its usage adds up.
    pub meter: u32,
}
