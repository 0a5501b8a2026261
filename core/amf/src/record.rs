//! A registered UE as it is stored: flat octets, so that a new process can read them.

use sluice_ids::{Guti, Supi};
use zerocopy::big_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::limits::COUNTS_AHEAD;
use crate::ue::Ue;

/// Version of the form.
const VERSION: u8 = 1;

/// A registered UE.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Record {
    version: u8,
    pub supi: Supi,
    pub guti: Guti,
    pub ngksi: u8,
    /// Ciphering in the high half, integrity in the low one.
    pub algorithms: u8,
    pub kamf: [u8; 32],
    /// Count of the last uplink message.
    pub uplink: U32,
    /// The first downlink count that has certainly not been used.
    pub downlink: U32,
    pub capability_octets: u8,
    pub capability: [u8; 8],
}

/// The record of a UE; none if it has no keys, or its keys are used up.
pub(crate) fn of(ue: &Ue) -> Option<Vec<u8>> {
    let (security, capability) = (ue.security.as_ref()?, ue.capability.as_ref()?);
    let (ciphering, integrity) = security.context.algorithms();
    let mut octets = [0; 8];
    octets[..capability.octets().len()].copy_from_slice(capability.octets());
    let record = Record {
        version: VERSION,
        supi: ue.supi?,
        guti: ue.guti?,
        ngksi: security.context.ngksi(),
        algorithms: (ciphering as u8) << 4 | integrity as u8,
        kamf: *security.kamf.octets(),
        uplink: security.last_uplink.get().into(),
        // Counts up to this may be used before the next store.
        downlink: (security.context.next_sent()?.get() + COUNTS_AHEAD).into(),
        capability_octets: capability.octets().len() as u8,
        capability: octets,
    };
    Some(record.as_bytes().to_vec())
}
