//! Parts of what an instance serves, with ranges of tracking areas (TaiRange: TS 29.510, 6.1.6.2.27), and ranges of
//! subscribers (SupiRange: 6.1.6.2.9).

use sluice_ids::{Dnn, Plmn, Tai};
use sluice_sbi::Served;

use crate::query::Query;

/// Most parts of all their profiles: at a kilobyte for each they take 8 MiB.
pub const PARTS: usize = 8_192;

/// Tracking areas of a PLMN from one code to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaiRange {
    pub plmn: Plmn,
    pub first: [u8; 3],
    pub last: [u8; 3],
}

impl TaiRange {
    fn has(&self, area: &Tai) -> bool {
        self.plmn == area.plmn && (self.first..=self.last).contains(&area.tac.0)
    }
}

/// Each of these slices with each of these data networks in each of these areas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Slices, data networks and areas by name.
    pub served: Served,
    /// Further areas.
    pub(crate) ranges: Vec<TaiRange>,
}

impl From<Served> for Part {
    fn from(served: Served) -> Self {
        Self {
            served,
            ranges: Vec::new(),
        }
    }
}

impl Part {
    /// Whether one of the slices and the data network are served, but for where.
    pub(crate) fn serves(&self, query: &Query) -> bool {
        let (slices, dnns) = (self.served.slices(), self.served.dnns());
        let has_slice = query.slices.is_empty()
            || slices.is_empty()
            || query.slices.iter().any(|one| slices.contains(one));
        let has_dnn = query.dnn.as_ref().is_none_or(|one| {
            dnns.is_empty() || dnns.iter().any(|own| own == one || own == &network_of(one))
        });
        has_slice && has_dnn
    }

    /// Whether the tracking area is one of these.
    pub(crate) fn is_in(&self, area: Option<&Tai>) -> bool {
        let areas = self.served.areas();
        area.is_none_or(|area| {
            let has_all = areas.is_empty() && self.ranges.is_empty();
            has_all || areas.contains(area) || self.ranges.iter().any(|range| range.has(area))
        })
    }
}

/// Network identifier of a name that may have an operator identifier, `internet.mnc001.mcc001.gprs` (TS 23.003, 9.1).
fn network_of(dnn: &Dnn) -> Dnn {
    let text = dnn.to_string();
    let labels: Vec<&str> = text.split('.').collect();
    let network = match labels.as_slice() {
        [network @ .., mnc, mcc, "gprs"] if mnc.starts_with("mnc") && mcc.starts_with("mcc") => {
            Dnn::new(&network.join("."))
        }
        _ => None,
    };
    network.unwrap_or(*dnn)
}

/// Subscribers from one number to another; of a regular expression, which is not read, any.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SupiRange {
    Numbers { first: u64, last: u64 },
    Any,
}

impl SupiRange {
    /// Whether the SUPI is one of these; one that is no IMSI is of no range of numbers.
    pub(crate) fn has(&self, supi: &str) -> bool {
        let digits = supi.strip_prefix("imsi-").map(str::parse::<u64>);
        match (self, digits) {
            (Self::Any, _) => true,
            (Self::Numbers { first, last }, Some(Ok(number))) => (first..=last).contains(&&number),
            (Self::Numbers { .. }, _) => false,
        }
    }
}
