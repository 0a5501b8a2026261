//! Profiles of network functions, and what an NRF is asked and answers (TS 29.510).

use std::fmt;

use sluice_ids::{Dnn, Plmn, Snssai, Tai};
use zerocopy::big_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

use crate::field::{DNNS, Nf, SLICES};
use crate::place::Instance;

/// Most tracking areas of a part of a profile.
pub const AREAS: usize = 16;

/// Most PLMNs of a profile: those that an AMF serves.
pub const PLMNS: usize = 12;

/// Most instances that one discovery finds.
pub const FOUND: usize = 8;

/// Who a network function is: a UUID (TS 29.510, 6.1.6.3.2; RFC 9562).
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct NfInstance([u8; 16]);

impl NfInstance {
    /// Of octets of its maker's choice: six bits of them are the version, 8, and the variant.
    pub fn of(octets: [u8; 16]) -> Self {
        Self::versioned(octets, 8)
    }

    /// Of random octets, but for the version, 4, and the variant (TS 29.571, 5.3.2: NfInstanceId).
    pub fn random(octets: [u8; 16]) -> Self {
        Self::versioned(octets, 4)
    }

    /// Of octets that were stored or told; none if they are no UUID of RFC 9562.
    pub fn from_octets(octets: [u8; 16]) -> Option<Self> {
        (octets[8] & 0xc0 == 0x80).then_some(Self(octets))
    }

    /// Octets of the UUID.
    pub fn octets(self) -> [u8; 16] {
        self.0
    }

    fn versioned(mut octets: [u8; 16], version: u8) -> Self {
        octets[6] = octets[6] & 0x0f | version << 4;
        octets[8] = octets[8] & 0x3f | 0x80;
        Self(octets)
    }
}

impl fmt::Display for NfInstance {
    /// `736c7569-6365-8000-8000-00f110010101`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, octet) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{octet:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for NfInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A part of what a network function serves: each of these slices with each of these data networks in each
/// of these tracking areas (SmfInfo: TS 29.510, 6.1.6.2.12).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Served {
    slices: u8,
    slice: [Snssai; SLICES],
    dnns: u8,
    dnn: [Dnn; DNNS],
    areas: u8,
    area: [Tai; AREAS],
}

/// The first of these for which there is room.
fn put<T: Copy>(room: &mut [T], from: &[T]) -> u8 {
    let number = from.len().min(room.len());
    room[..number].copy_from_slice(&from[..number]);
    number as u8
}

impl Served {
    /// The first 16 slices, 8 data networks and 16 areas of these; an empty list stands for all there are.
    pub fn new(slices: &[Snssai], dnns: &[Dnn], areas: &[Tai]) -> Self {
        let mut served: Self = FromZeros::new_zeroed();
        served.slices = put(&mut served.slice, slices);
        served.dnns = put(&mut served.dnn, dnns);
        served.areas = put(&mut served.area, areas);
        served
    }

    /// Lists that are too long for one part, as several: each of the first with each of the others.
    pub fn parts(slices: &[Snssai], dnns: &[Dnn], areas: &[Tai]) -> Vec<Self> {
        fn pieces<T>(all: &[T], most: usize) -> Vec<&[T]> {
            if all.is_empty() {
                vec![all]
            } else {
                all.chunks(most).collect()
            }
        }
        let mut parts = Vec::new();
        for slices in pieces(slices, SLICES) {
            for dnns in pieces(dnns, DNNS) {
                let of_areas = pieces(areas, AREAS).into_iter();
                parts.extend(of_areas.map(|areas| Self::new(slices, dnns, areas)));
            }
        }
        parts
    }

    /// Slices; none are all.
    pub fn slices(&self) -> &[Snssai] {
        &self.slice[..usize::from(self.slices).min(SLICES)]
    }

    /// Data networks; none are all.
    pub fn dnns(&self) -> &[Dnn] {
        &self.dnn[..usize::from(self.dnns).min(DNNS)]
    }

    /// Tracking areas; none are all.
    pub fn areas(&self) -> &[Tai] {
        &self.area[..usize::from(self.areas).min(AREAS)]
    }

    /// Whether what is asked for is served, but for where.
    pub fn serves(&self, query: &NfQuery) -> bool {
        is_any_or(self.slices(), query.slice()) && is_any_or(self.dnns(), query.dnn())
    }

    /// Whether the tracking area is one of these.
    pub fn is_in(&self, query: &NfQuery) -> bool {
        is_any_or(self.areas(), query.area())
    }
}

/// Whether it is not asked for, all there are do, or it is one of these.
fn is_any_or<T: PartialEq>(all: &[T], one: Option<T>) -> bool {
    one.is_none_or(|one| all.is_empty() || all.contains(&one))
}

/// Consumers that may discover a network function, by type, slice and PLMN (allowedNfTypes, allowedNssais and
/// allowedPlmns of NFProfile: TS 29.510, 6.1.6.2.2). An empty list lets all.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Allowed {
    /// A bit for each type.
    types: U16,
    slices: u8,
    slice: [Snssai; SLICES],
    plmns: u8,
    plmn: [Plmn; PLMNS],
}

impl Allowed {
    /// These types, slices and PLMNs; none if there are more than 16 slices or 12 PLMNs, since a list that is cut
    /// would keep away whoever is at its end.
    pub fn new(types: &[Nf], slices: &[Snssai], plmns: &[Plmn]) -> Option<Self> {
        if slices.len() > SLICES || plmns.len() > PLMNS {
            return None;
        }
        let mut allowed: Self = FromZeros::new_zeroed();
        let bits = types.iter().map(|nf| bit(*nf));
        allowed.types = bits.fold(0, |all, bit| all | bit).into();
        allowed.slices = put(&mut allowed.slice, slices);
        allowed.plmns = put(&mut allowed.plmn, plmns);
        Some(allowed)
    }

    /// Types; none are all.
    pub fn types(&self) -> impl Iterator<Item = Nf> {
        let types = self.types.get();
        Nf::ALL.into_iter().filter(move |nf| types & bit(*nf) != 0)
    }

    /// Slices; none are all.
    pub fn slices(&self) -> &[Snssai] {
        &self.slice[..usize::from(self.slices).min(SLICES)]
    }

    /// PLMNs; none are all.
    pub fn plmns(&self) -> &[Plmn] {
        &self.plmn[..usize::from(self.plmns).min(PLMNS)]
    }

    /// Whether it lets this one, which serves in `own`, too. One that does not say what is asked is let by those alone
    /// that let all (6.2.3.2.3.1, NOTE 12).
    pub fn lets(&self, requester: &Requester, own: &[Plmn]) -> bool {
        let types = self.types.get();
        let is_of_type = types == 0 || types & bit(requester.kind) != 0;
        let slices = self.slices();
        let is_of_slice =
            slices.is_empty() || requester.slice().is_some_and(|one| slices.contains(&one));
        let plmns = self.plmns();
        // PLMNs of its own need not be told (6.1.6.2.2).
        let is_of_plmn = plmns.is_empty()
            || requester
                .plmn()
                .is_some_and(|one| plmns.contains(&one) || own.contains(&one));
        is_of_type && is_of_slice && is_of_plmn
    }
}

fn bit(nf: Nf) -> u16 {
    1 << nf as u16
}

/// Who a network function is, and a part of what it serves (NFProfile: TS 29.510, 6.1.6.2.2).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct NfProfile {
    /// Who.
    pub instance: NfInstance,
    /// What it is.
    pub kind: Nf,
    /// The one with the lowest is taken first.
    pub priority: U16,
    /// Its weight among those of a priority.
    pub capacity: U16,
    /// Percent of what it can take.
    pub load: u8,
    plmns: u8,
    plmn: [Plmn; PLMNS],
    /// Consumers that may discover it.
    pub allowed: Allowed,
    /// The first part of what it serves.
    pub served: Served,
}

impl NfProfile {
    /// Of an instance in these PLMNs, the first 12; none are all. It has no load yet.
    pub fn new(instance: NfInstance, kind: Nf, plmns: &[Plmn], served: Served) -> Self {
        let mut plmn: [Plmn; PLMNS] = FromZeros::new_zeroed();
        let number = put(&mut plmn, plmns);
        Self {
            instance,
            kind,
            priority: 0.into(),
            capacity: 100.into(),
            load: 0,
            plmns: number,
            plmn,
            allowed: FromZeros::new_zeroed(),
            served,
        }
    }

    /// The same for these alone.
    #[must_use]
    pub fn with_allowed(mut self, allowed: Allowed) -> Self {
        self.allowed = allowed;
        self
    }

    /// The same with the priority and the capacity of an instance.
    #[must_use]
    pub fn with_choice(mut self, instance: Instance) -> Self {
        self.priority = instance.priority.into();
        self.capacity = instance.capacity.into();
        self
    }

    /// The same with so much load, in percent.
    #[must_use]
    pub fn with_load(mut self, load: u8) -> Self {
        self.load = load;
        self
    }

    /// PLMNs in which it serves; none are all.
    pub fn plmns(&self) -> &[Plmn] {
        &self.plmn[..usize::from(self.plmns).min(PLMNS)]
    }
}

/// A consumer that asks an NRF, as far as it says so (requester-nf-type, requester-snssais and requester-plmn-list: TS 29.510,
/// 6.2.3.2.3.1).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Requester {
    /// requester-nf-type.
    pub kind: Nf,
    has_slice: bool,
    slice: Snssai,
    has_plmn: bool,
    plmn: Plmn,
}

impl Requester {
    /// Of this type, of one of its slices, and of its PLMN.
    pub fn new(kind: Nf, slice: Option<Snssai>, plmn: Option<Plmn>) -> Self {
        Self {
            kind,
            has_slice: slice.is_some(),
            slice: slice.unwrap_or_else(|| Snssai::new(0, None)),
            has_plmn: plmn.is_some(),
            plmn: plmn.unwrap_or_else(FromZeros::new_zeroed),
        }
    }

    /// A slice of its own: that for which it asks.
    pub fn slice(&self) -> Option<Snssai> {
        self.has_slice.then_some(self.slice)
    }

    /// The PLMN of the consumer.
    pub fn plmn(&self) -> Option<Plmn> {
        self.has_plmn.then_some(self.plmn)
    }
}

/// What is to be done by whoever is looked for (TS 29.510, 6.2.3.2.3.1).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct NfQuery {
    /// The consumer that asks.
    pub requester: Requester,
    /// What it is.
    pub target: Nf,
    by_slice: bool,
    slice: Snssai,
    by_dnn: bool,
    dnn: Dnn,
    by_area: bool,
    area: Tai,
}

impl NfQuery {
    /// Of what is asked for, and by whom.
    pub fn new(
        requester: Requester,
        target: Nf,
        slice: Option<Snssai>,
        dnn: Option<Dnn>,
        area: Option<Tai>,
    ) -> Self {
        Self {
            requester,
            target,
            by_slice: slice.is_some(),
            slice: slice.unwrap_or_else(|| Snssai::new(0, None)),
            by_dnn: dnn.is_some(),
            dnn: dnn.unwrap_or(Dnn::NONE),
            by_area: area.is_some(),
            area: area.unwrap_or_else(FromZeros::new_zeroed),
        }
    }

    /// In which slice, if that matters.
    pub fn slice(&self) -> Option<Snssai> {
        self.by_slice.then_some(self.slice)
    }

    /// For which data network, if that matters.
    pub fn dnn(&self) -> Option<Dnn> {
        self.by_dnn.then_some(self.dnn)
    }

    /// Where, if that matters.
    pub fn area(&self) -> Option<Tai> {
        self.by_area.then_some(self.area)
    }
}

/// How an instance stands (NFStatus: TS 29.510, 6.1.6.3.7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NfStatus {
    /// REGISTERED: it is discovered.
    Registered,
    /// SUSPENDED: it has missed its heart-beats, and is not.
    Suspended,
}

impl NfStatus {
    /// As the TS has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Registered => "REGISTERED",
            Self::Suspended => "SUSPENDED",
        }
    }
}

/// Why none is found (NoProfileMatchReason: TS 29.510, 6.2.6.3.10).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum NoMatch {
    /// Some are.
    Matched = 0,
    /// None of the type is registered.
    NotRegistered = 1,
    /// Those that do it have missed their heart-beats.
    Suspended = 2,
    /// None does it in the slice and the data network.
    NotServed = 3,
    /// None of those that do it is for the tracking area.
    NotInArea = 4,
}

impl NoMatch {
    /// Why none is found.
    fn words(self) -> &'static str {
        match self {
            Self::Matched => "none",
            Self::NotRegistered => "none is registered",
            Self::Suspended => "none: heart-beats missed",
            Self::NotServed => "none is for the slice and the data network",
            Self::NotInArea => "none is for the tracking area",
        }
    }
}

/// An instance that was found.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Found {
    /// Who.
    pub instance: NfInstance,
    /// The one with the lowest is taken first.
    pub priority: U16,
    /// Its weight among those of a priority.
    pub capacity: U16,
    /// Percent of what it can take.
    pub load: u8,
}

/// What a discovery finds (SearchResult: TS 29.510, 6.2.6.2.2).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct NfsFound {
    /// Seconds for which that may be taken to be so.
    pub validity_s: U32,
    /// Why there is none.
    pub reason: NoMatch,
    number: u8,
    found: [Found; FOUND],
}

impl NfsFound {
    /// The first 8 of these, best first; they are so for this many seconds.
    pub fn new(validity_s: u32, all: &[Found]) -> Self {
        let mut found: [Found; FOUND] = FromZeros::new_zeroed();
        let number = put(&mut found, all);
        Self {
            validity_s: validity_s.into(),
            reason: NoMatch::Matched,
            number,
            found,
        }
    }

    /// None is found.
    pub fn none(reason: NoMatch) -> Self {
        Self {
            reason,
            ..Self::new(0, &[])
        }
    }

    /// Those, best first.
    pub fn all(&self) -> &[Found] {
        &self.found[..usize::from(self.number).min(FOUND)]
    }
}

impl fmt::Display for NfsFound {
    /// `1 found, for 60 s`, or why there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.all().len() {
            0 => f.write_str(self.reason.words()),
            number => write!(f, "{number} found, for {} s", self.validity_s.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_a_uuid_of_its_makers_choice() {
        let instance = NfInstance::of([0xff; 16]);
        assert_eq!(instance.to_string(), "ffffffff-ffff-8fff-bfff-ffffffffffff");
    }

    #[test]
    fn what_is_not_named_is_served_wherever_it_is() {
        let slice = Snssai::new(1, None);
        let dnn = Dnn::new("internet").expect("a name");
        let served = Served::new(&[slice], &[], &[]);
        let amf = Requester::new(Nf::Amf, None, None);
        let query = |slice, dnn| NfQuery::new(amf, Nf::Smf, slice, dnn, None);
        assert!(served.serves(&query(Some(slice), Some(dnn))));
        assert!(served.serves(&query(None, None)));
        assert!(!served.serves(&query(Some(Snssai::new(2, None)), Some(dnn))));
        // A list of those that may ask is not cut.
        assert_eq!(Allowed::new(&[], &[slice; 17], &[]), None);
        // A list that is too long is cut, and never read beyond its end.
        let served = Served::new(&[slice; 40], &[dnn; 40], &[]);
        assert_eq!((served.slices().len(), served.dnns().len()), (SLICES, DNNS));
    }
}
