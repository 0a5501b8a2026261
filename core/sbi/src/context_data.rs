//! Context data of a UE: which SMFs have its PDU sessions, and who has subscribed to changes of its subscription
//! (TS 29.503, 6.2.6.2.4 and 6.1.6.2.3; stored by TS 29.505, 5.2.5).

use sluice_ids::{Dnn, Plmn, Snssai, Supi};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

use crate::context_store::fingerprint;
use crate::nrf::NfInstance;

/// An SMF that has a PDU session (SmfRegistration: TS 29.503, 6.2.6.2.4).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SmfRegistration {
    /// Subscriber of the session.
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

/// Part of a subscription whose changes are told (MonitoredResourceUri: TS 29.503, 6.1.6.2.3).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum SdmData {
    /// am-data: an AMF is told.
    AccessAndMobility = 1,
    /// sm-data of a slice and a data network: an SMF is told.
    SessionManagement = 2,
}

/// A subscription to changes of a subscriber's data (SdmSubscription: TS 29.503, 6.1.6.2.3).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SdmSubscription {
    /// Subscriber of the data.
    pub supi: Supi,
    /// The function that is told.
    pub subscriber: NfInstance,
    /// Which data.
    pub data: SdmData,
    slice: Snssai,
    dnn: Dnn,
}

impl SdmSubscription {
    /// Of an AMF to what the UE may do.
    pub fn access_and_mobility(supi: Supi, subscriber: NfInstance) -> Self {
        Self {
            supi,
            subscriber,
            data: SdmData::AccessAndMobility,
            slice: Snssai::new(0, None),
            dnn: Dnn::NONE,
        }
    }

    /// Of an SMF to what the UE may do in a data network.
    pub fn session_management(
        supi: Supi,
        subscriber: NfInstance,
        (slice, dnn): (Snssai, Dnn),
    ) -> Self {
        Self {
            supi,
            subscriber,
            data: SdmData::SessionManagement,
            slice,
            dnn,
        }
    }

    /// Slice and data network of the data, of a subscription to what the UE may do in one.
    pub fn network(&self) -> Option<(Snssai, Dnn)> {
        (self.data == SdmData::SessionManagement).then_some((self.slice, self.dnn))
    }

    /// Identity of the subscription (subscriptionId). The same subscriber and data have the same one, as if each asked
    /// for a `uniqueSubscription`: one that is repeated replaces itself, and whoever lost the answer knows it all the same.
    pub fn id(&self) -> u64 {
        fingerprint(self.as_bytes())
    }
}
