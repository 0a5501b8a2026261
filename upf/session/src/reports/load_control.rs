//! Load and overload control: what session responses tell CP functions of this node's load (TS 29.244, 6.2.3,
//! 6.2.4).
//!
//! The load is that of what is scarcest: the workers' time, or the fullest of the tables that sessions take
//! from. A CP function gets it once for each value, with the next response to it.

use crate::limits::{OVERLOAD_RENEWED_AFTER_MS, OVERLOAD_VALID_S};
use sluice_n4::{Endpoint, Instant};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::{CpFunctionFeatures, Timer};
use sluice_wire::pfcp::{Full, IeType, Writer};
use std::net::SocketAddr;

/// What is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadControlConfig {
    /// Whether load and overload are told to CP functions that want to know.
    pub enabled: bool,
    /// From this load on the node is overloaded, in percent; 100 and more: only when something is full.
    pub overload_percent: u8,
}

impl Default for LoadControlConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            overload_percent: 90,
        }
    }
}

/// A metric in percent, and the number of its value: the next value has the next number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Metric {
    sequence: u32,
    percent: u8,
}

impl Metric {
    fn set(&mut self, percent: u8) {
        if self.sequence == 0 || self.percent != percent {
            self.renew(percent);
        }
    }

    fn renew(&mut self, percent: u8) {
        self.sequence = self.sequence.wrapping_add(1).max(1);
        self.percent = percent;
    }
}

/// The last numbers that a CP function was told.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    association: Option<sluice_n4::AssociationId>,
    load: u32,
    overload: u32,
}

/// This node's load, and who has been told.
#[derive(Debug)]
pub struct LoadControl {
    config: LoadControlConfig,
    load: Metric,
    /// How many of its requests a CP function is to leave; number 0: the node never was overloaded.
    overload: Metric,
    renewed: Instant,
    /// By place of the association.
    told: Vec<Told>,
}

/// What one response carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoadInformation {
    load: Option<Metric>,
    overload: Option<Metric>,
}

impl LoadControl {
    /// Nothing was measured yet. Takes memory for so many associations.
    pub fn new(config: LoadControlConfig, associations: usize) -> Self {
        Self {
            config,
            load: Metric::default(),
            overload: Metric::default(),
            renewed: Instant(0),
            told: vec![Told::default(); associations],
        }
    }

    /// A new measurement, in percent.
    pub fn measured(&mut self, now: Instant, percent: u8) {
        let percent = percent.min(100);
        self.load.set(percent);
        let from = self.config.overload_percent.min(100);
        let reduction = if percent >= from {
            // All at once would bring the load below the threshold and back.
            reduction_percent(percent, from)
        } else {
            0
        };
        let was_overloaded = self.overload.sequence > 0;
        let is_due = now >= self.renewed.plus_ms(OVERLOAD_RENEWED_AFTER_MS);
        if reduction > 0 && (is_due || reduction != self.overload.percent) {
            self.overload.renew(reduction);
            self.renewed = now;
        } else if was_overloaded {
            self.overload.set(reduction);
        }
    }

    /// The load that was measured last, in percent.
    pub fn percent(&self) -> u8 {
        self.load.percent
    }

    /// The reduction that is asked for, in percent; 0: there is no overload.
    pub fn reduction_percent(&self) -> u8 {
        self.overload.percent
    }

    /// What the next response to a CP function is to carry: what it has not been told yet, of what its features
    /// say that it understands.
    pub fn next_for(&mut self, endpoint: &Endpoint, peer: SocketAddr) -> LoadInformation {
        if !self.config.enabled || self.load.sequence == 0 {
            return LoadInformation::default();
        }
        let id = endpoint.association_at(peer);
        let (Some(id), Some(association)) = (id, id.and_then(|id| endpoint.association(id))) else {
            return LoadInformation::default();
        };
        let features = association.features().cp.unwrap_or_default();
        let Some(told) = self.told.get_mut(id.index()) else {
            return LoadInformation::default();
        };
        if told.association != Some(id) {
            *told = Told {
                association: Some(id),
                ..Told::default()
            };
        }
        let load = self.load;
        let wants = features.contains(CpFunctionFeatures::LOAD) && told.load != load.sequence;
        let load = wants.then_some(load);
        let overload = self.overload;
        let wants =
            features.contains(CpFunctionFeatures::OVRL) && told.overload != overload.sequence;
        let overload = wants.then_some(overload);
        told.load = load.map_or(told.load, |load| load.sequence);
        told.overload = overload.map_or(told.overload, |overload| overload.sequence);
        LoadInformation { load, overload }
    }
}

/// From 10 percent where the overload begins to all where everything is full.
fn reduction_percent(percent: u8, from: u8) -> u8 {
    let room = u32::from(100 - from);
    let above = u32::from(percent - from);
    let share = (90 * above).checked_div(room).unwrap_or(90);
    10 + share as u8
}

impl LoadInformation {
    /// Writes Load Control Information (7.5.3.3) and Overload Control Information (7.5.3.4).
    pub fn write(&self, w: &mut Writer<'_>) -> Result<(), Full> {
        if let Some(load) = self.load {
            w.ie(IeType::LOAD_CONTROL_INFORMATION, |w| load.write(w))?;
        }
        let Some(overload) = self.overload else {
            return Ok(());
        };
        w.ie(IeType::OVERLOAD_CONTROL_INFORMATION, |w| {
            overload.write(w)?;
            let valid = match overload.percent {
                0 => Timer(0),
                _ => Timer::at_least_s(OVERLOAD_VALID_S),
            };
            w.ie(IeType::TIMER, |w| valid.encode(w))?;
            // AOCI: it is the node's, and not that of one address (8.2.79).
            w.ie(IeType::OCI_FLAGS, |w| w.u8(1))
        })
    }
}

impl Metric {
    fn write(self, w: &mut Writer<'_>) -> Result<(), Full> {
        w.ie(IeType::SEQUENCE_NUMBER, |w| w.u32(self.sequence))?;
        w.ie(IeType::METRIC, |w| w.u8(self.percent))
    }
}
