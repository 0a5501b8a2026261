//! Configuration of an AMF.

use sluice_ids::{Guami, Plmn, Tai};
use sluice_n2::PlmnSlices;
use sluice_security::Preference;

use crate::limits;
use crate::overload::BackOff;
use crate::overload::admission_limits::Bounds;

/// Configuration of an AMF.
#[derive(Clone, Debug)]
pub struct Config {
    /// AMF Name.
    pub name: String,
    /// GUAMI of the AMF.
    pub guami: Guami,
    /// Relative AMF Capacity.
    pub capacity: u8,
    /// PLMNs and slices that it serves.
    pub plmns: Vec<PlmnSlices>,
    /// Tracking areas that it serves, at most 16.
    pub areas: Vec<Tai>,
    /// PLMNs that count as this one.
    pub equivalent_plmns: Vec<Plmn>,
    /// Algorithms, best first.
    pub preference: Preference,
    /// Whether UEs are asked which device they are.
    pub ask_imeisv: bool,
    /// Whether UEs are told that there are voice calls.
    pub ims_voice: bool,
    /// Network name that UEs display, in full and short; none: UEs get no name.
    pub network_name: Option<(String, String)>,
    /// Local time less universal time in quarters of an hour; none tells UEs no time.
    pub time_zone_quarters: Option<i8>,
    /// Seconds after which a UE registers again.
    pub t3512_s: u32,
    /// Seconds after which a refused UE tries again.
    pub t3502_s: u32,
    /// How long UEs stay away that are refused for congestion.
    pub back_off: BackOff,
    /// UEs at a time that have not proved who they are.
    pub unauthenticated: Bounds,
    /// Whether there is an SMF to be used while the NRF does not answer.
    pub default_smf: bool,
}

/// Changes of the configuration that registered UEs must learn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct News {
    /// Names and time, which they show.
    pub names: bool,
    /// Changes that only a registration conveys: slices, areas, PLMNs, timers.
    pub registration: bool,
}

impl News {
    /// Differences between two configurations.
    pub fn of(before: &Config, after: &Config) -> Self {
        let names = |config: &Config| (config.network_name.clone(), config.time_zone_quarters);
        let told = |config: &Config| {
            (
                config.plmns.clone(),
                config.areas.clone(),
                config.equivalent_plmns.clone(),
                (config.ims_voice, config.t3512_s, config.t3502_s),
            )
        };
        Self {
            names: names(before) != names(after),
            registration: told(before) != told(after),
        }
    }

    /// Whether there is something to tell.
    pub fn is_any(self) -> bool {
        self.names || self.registration
    }

    /// Both.
    pub fn and(self, other: Self) -> Self {
        Self {
            names: self.names || other.names,
            registration: self.registration || other.registration,
        }
    }
}

impl Config {
    /// One PLMN and one area, and what the TS has as defaults.
    pub fn new(guami: Guami, plmns: Vec<PlmnSlices>, areas: Vec<Tai>) -> Self {
        Self {
            name: "sluice-amf".to_owned(),
            guami,
            capacity: 255,
            plmns,
            areas,
            equivalent_plmns: Vec::new(),
            preference: Preference::default(),
            ask_imeisv: true,
            ims_voice: false,
            network_name: None,
            time_zone_quarters: None,
            t3512_s: 54 * 60,
            t3502_s: 12 * 60,
            back_off: BackOff::default(),
            unauthenticated: Bounds::default(),
            default_smf: true,
        }
    }

    /// Checks the configuration; returns the fault.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let printable = |c: char| c.is_ascii_alphanumeric() || " '()+,-./:=?".contains(c);
        let slices = |item: &PlmnSlices| (1..=8).contains(&item.slices.len());
        let is_short = |(full, short): &(String, String)| full.len() <= 60 && short.len() <= 60;
        let is_zone = |quarters| (-79..=79).contains(&quarters);
        let checks = [
            (
                self.network_name.iter().all(is_short),
                "a network's name has at most 60 octets",
            ),
            (
                self.time_zone_quarters.is_none_or(is_zone),
                "a time zone is at most 79 quarters of an hour away",
            ),
            (
                (1..=150).contains(&self.name.len()),
                "the name has 1 to 150 characters",
            ),
            (
                self.name.chars().all(printable),
                "the name has printable characters alone",
            ),
            (
                (1..=12).contains(&self.plmns.len()),
                "1 to 12 PLMNs are served",
            ),
            (self.plmns.iter().all(slices), "each PLMN has 1 to 8 slices"),
            (
                (1..=limits::AREAS).contains(&self.areas.len()),
                "1 to 16 tracking areas are served",
            ),
            (
                self.equivalent_plmns.len() <= 15,
                "at most 15 PLMNs are equivalent",
            ),
            (
                !self.preference.integrity.is_empty(),
                "an integrity algorithm is needed",
            ),
            (
                !self.preference.ciphering.is_empty(),
                "a ciphering algorithm is needed",
            ),
            (
                self.back_off.is_sound(),
                "a back-off is 2 to 11160 seconds long, the least no longer than the most",
            ),
            (
                self.unauthenticated.are_sound(),
                "unauthenticated UEs are at least 1 of a gNB, no more than in all, and no more than a million",
            ),
        ];
        match checks.iter().find(|(holds, _)| !holds) {
            Some((_, what)) => Err(what),
            None => Ok(()),
        }
    }
}
