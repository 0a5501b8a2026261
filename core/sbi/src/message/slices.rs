//! Lists in messages about the selection of slices (TS 29.531).

use sluice_ids::{Snssai, Tai};

use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

use crate::field::{OFFERED, REQUESTED, SLICES};
use crate::message::{SelectSlices, SlicesSelected};
use crate::nrf::NfInstance;

/// As many as there is room for, and how many those are.
fn list<const N: usize>(slices: &[Snssai]) -> (u8, [Snssai; N]) {
    let mut all = [Snssai::new(0, None); N];
    let number = slices.len().min(N);
    all[..number].copy_from_slice(&slices[..number]);
    (number as u8, all)
}

/// A bit for each that is marked.
fn marks(marked: impl Iterator<Item = bool>) -> u16 {
    let bits = marked.take(16).enumerate();
    bits.fold(0, |bits, (at, is_marked)| bits | u16::from(is_marked) << at)
}

impl SelectSlices {
    /// Of where the UE is, what it asks for (8 at most), its slices and whether each is a default one (16 at
    /// most), and which of all these its gNB offers there.
    pub fn new(
        tai: Tai,
        requested: &[Snssai],
        subscribed: &[(Snssai, bool)],
        offered: &[Snssai],
    ) -> Self {
        let slices: Vec<Snssai> = subscribed.iter().map(|(slice, _)| *slice).collect();
        let (requests, requested) = list::<REQUESTED>(requested);
        let (slices, slice) = list::<SLICES>(&slices);
        let (offers, offered) = list::<OFFERED>(offered);
        Self {
            amf: NfInstance::of([0; 16]),
            tai,
            requests,
            requested,
            slices,
            defaults: marks(subscribed.iter().map(|(_, is_default)| *is_default)).into(),
            slice,
            offers,
            offered,
        }
    }

    /// The same of an AMF that has told which slices it supports.
    #[must_use]
    pub fn of_amf(self, amf: NfInstance) -> Self {
        Self { amf, ..self }
    }

    /// What the UE asks for.
    pub fn requested(&self) -> &[Snssai] {
        &self.requested[..usize::from(self.requests).min(REQUESTED)]
    }

    /// Its slices, and whether each is a default one.
    pub fn subscribed(&self) -> impl Iterator<Item = (Snssai, bool)> {
        let defaults = self.defaults.get();
        let slices = &self.slice[..usize::from(self.slices).min(SLICES)];
        let with_default = move |(at, slice): (usize, &Snssai)| (*slice, defaults & 1 << at != 0);
        slices.iter().enumerate().map(with_default)
    }

    /// What the gNB offers of all that.
    pub fn offered(&self) -> &[Snssai] {
        &self.offered[..usize::from(self.offers).min(OFFERED)]
    }
}

impl SlicesSelected {
    /// Of slices that the UE may use, and those that it asked for and may not: whether that is for its
    /// registration area alone.
    pub fn new(allowed: &[Snssai], rejected: &[(Snssai, bool)]) -> Self {
        let slices: Vec<Snssai> = rejected.iter().map(|(slice, _)| *slice).collect();
        let (allows, allowed) = list::<REQUESTED>(allowed);
        let (rejects, refused) = list::<REQUESTED>(&slices);
        Self {
            allows,
            allowed,
            rejects,
            in_area: marks(rejected.iter().map(|(_, is_of_area)| *is_of_area)).into(),
            rejected: refused,
        }
    }

    /// What the UE may use.
    pub fn allowed(&self) -> &[Snssai] {
        &self.allowed[..usize::from(self.allows).min(REQUESTED)]
    }

    /// What it may not, and whether that is for its registration area alone.
    pub fn rejected(&self) -> impl Iterator<Item = (Snssai, bool)> {
        let in_area = self.in_area.get();
        let slices = &self.rejected[..usize::from(self.rejects).min(REQUESTED)];
        let with_area = move |(at, slice): (usize, &Snssai)| (*slice, in_area & 1 << at != 0);
        slices.iter().enumerate().map(with_area)
    }
}

/// Slices that an AMF supports in a tracking area (TS 29.531, 6.2.6.2.3).
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct AvailableSlices {
    number: u8,
    slice: [Snssai; SLICES],
}

impl AvailableSlices {
    /// The first [`SLICES`] of these.
    pub fn new(slices: &[Snssai]) -> Self {
        let (number, slice) = list::<SLICES>(slices);
        Self { number, slice }
    }

    /// The slices.
    pub fn get(&self) -> &[Snssai] {
        &self.slice[..usize::from(self.number).min(SLICES)]
    }
}
