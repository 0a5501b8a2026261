//! Context data of a UE: which SMFs have its PDU sessions (TS 29.503, 6.2.6.2.4).

use sluice_ids::{Dnn, Plmn, Snssai, Supi};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

use crate::nrf::NfInstance;

/// An SMF that has a PDU session (SmfRegistration: TS 29.503, 6.2.6.2.4).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SmfRegistration {
    /// Whose session.
    pub supi: Supi,
    /// PDU session identity.
    pub session: u8,
    /// The SMF.
    pub smf: NfInstance,
    /// In which slice.
    pub slice: Snssai,
    /// In which data network.
    pub dnn: Dnn,
    /// In which network the UE is.
    pub plmn: Plmn,
}
