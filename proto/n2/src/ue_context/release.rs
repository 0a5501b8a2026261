//! UE Context Release (TS 38.413, 8.3.2 and 8.3.3): a gNB asks for it, and the AMF commands it.

use oxirush_ngap::{Error, ie, ngap};

use crate::cause::Cause;
use crate::table::{Element, message};
use crate::value::{AmfUeId, RanUeId};

message! {
    /// UE Context Release Request (9.2.2.4).
    pub struct UeContextReleaseRequest =
        UEContextReleaseRequest, "UE Context Release Request", of ids
    {
        /// Why.
        expected cause: Cause = Cause,
    }
}

message! {
    /// UE Context Release Command (9.2.2.5).
    pub struct UeContextReleaseCommand = UEContextReleaseCommand, "UE Context Release Command" {
        /// Both names of the connection, or the AMF's alone where it does not know the gNB's.
        required ue: (AmfUeId, Option<RanUeId>) = UE_NGAP_IDs,
        /// Why.
        expected cause: Cause = Cause,
    }
}

message! {
    /// UE Context Release Complete (9.2.2.6).
    pub struct UeContextReleaseComplete =
        UEContextReleaseComplete, "UE Context Release Complete", of ids {}
}

impl Element<ie::UE_NGAP_IDs> for (AmfUeId, Option<RanUeId>) {
    fn read(ids: ngap::UENGAPIDs) -> Option<Self> {
        match ids {
            ngap::UENGAPIDs::uE_NGAP_ID_pair(pair) => {
                let ran = RanUeId(pair.ran_ue_ngap_id.0);
                Some((AmfUeId(pair.amf_ue_ngap_id.0), Some(ran)))
            }
            ngap::UENGAPIDs::aMF_UE_NGAP_ID(id) => Some((AmfUeId(id.0), None)),
            _ => None,
        }
    }

    fn write(&self) -> Result<ngap::UENGAPIDs, Error> {
        let amf = ngap::AMFUENGAPID(self.0.0);
        Ok(match self.1 {
            Some(ran) => {
                let ran = ngap::RANUENGAPID(ran.0);
                ngap::UENGAPIDs::uE_NGAP_ID_pair(ngap::UENGAPIDPair::new(amf, ran, None))
            }
            None => ngap::UENGAPIDs::aMF_UE_NGAP_ID(amf),
        })
    }
}
