//! Lists in messages about what a subscriber may do: slices, and data networks.

use sluice_ids::{Dnn, Snssai};

use crate::field::{DNNS, SLICES};
use crate::message::{AccessAndMobility, SmfSelection};

impl SmfSelection {
    /// Of data networks, the default one first.
    pub fn new(names: &[Dnn]) -> Self {
        let mut dnn = [Dnn::NONE; DNNS];
        let number = names.len().min(DNNS);
        dnn[..number].copy_from_slice(&names[..number]);
        Self {
            dnns: number as u8,
            dnn,
        }
    }

    /// Data networks, the default one first.
    pub fn names(&self) -> &[Dnn] {
        &self.dnn[..usize::from(self.dnns).min(DNNS)]
    }
}

impl AccessAndMobility {
    /// Of bit rates to and from the UE, and slices with whether each is a default one.
    pub fn new(ambr_bps: (u64, u64), subscribed: &[(Snssai, bool)]) -> Self {
        let mut slice = [Snssai::new(0, None); SLICES];
        let mut defaults = 0;
        let number = subscribed.len().min(SLICES);
        for (at, (one, is_default)) in subscribed.iter().take(number).enumerate() {
            slice[at] = *one;
            defaults |= u16::from(*is_default) << at;
        }
        Self {
            ambr_down_bps: ambr_bps.0.into(),
            ambr_up_bps: ambr_bps.1.into(),
            slices: number as u8,
            defaults: defaults.into(),
            slice,
        }
    }

    /// Slices, and whether each is a default one.
    pub fn subscribed(&self) -> impl Iterator<Item = (Snssai, bool)> {
        let defaults = self.defaults.get();
        let number = usize::from(self.slices).min(SLICES);
        let with_default = move |(at, slice): (usize, &Snssai)| (*slice, defaults & 1 << at != 0);
        self.slice.iter().take(number).enumerate().map(with_default)
    }
}
