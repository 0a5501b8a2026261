//! Usage Reporting Rules.

use sluice_datapath::session::usage_record::{DOWNLINK, NEVER, Rests, TOTAL, UPLINK, UrrState};
use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::value::{
    MeasurementInformation, MeasurementMethod, ReportingTriggers, Volume,
};

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
    /// Volume Threshold.
    pub threshold: Option<Volume>,
    /// Volume Quota.
    pub quota: Option<Volume>,
    /// Measurement Period in seconds; 0 is none.
    pub period_s: u32,
    /// Its cell in the session's usage record; 0 is none.
    pub cell: u32,
    /// What begins anew with the message at hand.
    pub renewed: Renewed,
}

/// What of a URR a message begins anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Renewed {
    /// The threshold is another, or the measurement is reported.
    pub threshold: bool,
    /// A quota was granted, or taken away.
    pub quota: bool,
    /// It waits for the first packet, or does no more.
    pub start: bool,
    /// The first period.
    pub period: bool,
}

impl Renewed {
    /// All: the URR is new.
    pub const ALL: Self = Self {
        threshold: true,
        quota: true,
        start: true,
        period: true,
    };
}

impl Urr {
    /// True if packets of its PDRs count: its measurement is not inactive (INAM).
    pub fn is_active(&self) -> bool {
        !self.information.contains(MeasurementInformation::INAM)
    }

    fn has(&self, trigger: ReportingTriggers) -> bool {
        self.triggers.contains(trigger)
    }

    /// Octets until the threshold is reached.
    pub fn thresholds(&self) -> Rests {
        match self.has(ReportingTriggers::VOLTH) {
            true => rests(self.threshold),
            false => [NEVER; 3],
        }
    }

    /// Octets of the whole quota.
    pub fn quotas(&self) -> Rests {
        rests(self.quota)
    }

    /// True if it waits for the first packet.
    pub fn awaits_start(&self) -> bool {
        self.has(ReportingTriggers::START)
    }

    /// True if something happens at an amount of octets, or with the first packet: it has a cell in the session's
    /// usage record, also while it is inactive: what is left of a quota is left afterwards.
    pub fn needs_cell(&self) -> bool {
        self.awaits_start() || self.quota.is_some() || self.thresholds() != [NEVER; 3]
    }

    /// Of what happens, that of which a report is made.
    pub fn told(&self) -> UrrState {
        let told = [
            (ReportingTriggers::VOLTH, UrrState::THRESHOLD),
            (ReportingTriggers::VOLQU, UrrState::QUOTA),
            (ReportingTriggers::START, UrrState::STARTED),
        ];
        let told = told.into_iter().filter(|(trigger, _)| self.has(*trigger));
        told.fold(UrrState::default(), |all, (_, mark)| all.with(mark))
    }

    /// Seconds between periodic reports, if it makes some.
    pub fn period_s(&self) -> Option<u32> {
        let is_wanted = self.has(ReportingTriggers::PERIO) && self.is_active();
        (is_wanted && self.period_s > 0).then_some(self.period_s)
    }
}

fn rests(volume: Option<Volume>) -> Rests {
    let mut rests = [NEVER; 3];
    if let Some(volume) = volume {
        for (at, octets) in [
            (UPLINK, volume.uplink),
            (DOWNLINK, volume.downlink),
            (TOTAL, volume.total),
        ] {
            rests[at] = octets.map_or(NEVER, |octets| i64::try_from(octets).unwrap_or(NEVER));
            rests[at] = rests[at].min(NEVER);
        }
    }
    rests
}
