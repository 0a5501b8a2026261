//! Uplink and Downlink RAN Configuration Transfer (TS 38.413, 8.8): gNBs exchange by way of the AMF such things as the
//! addresses of Xn. The AMF reads for whom it is, and nothing else.

use oxirush_ngap::ngap::{self, decode_open_type, encode_open_type};
use oxirush_ngap::{Error, ie};
use sluice_ids::Tai;

use crate::table::{Element, message};
use crate::value::{self, Gnb, written};

message! {
    /// Uplink RAN Configuration Transfer (9.2.7.1).
    pub struct UplinkConfigurationTransfer =
        UplinkRANConfigurationTransfer, "Uplink RAN Configuration Transfer"
    {
        /// SON Configuration Transfer (9.3.3.6), for another gNB; empty of one between systems.
        expected transfer: Vec<u8> = SONConfigurationTransferUL,
    }
}

message! {
    /// Downlink RAN Configuration Transfer (9.2.7.2).
    pub struct DownlinkConfigurationTransfer =
        DownlinkRANConfigurationTransfer, "Downlink RAN Configuration Transfer"
    {
        /// SON Configuration Transfer (9.3.3.6), of another gNB.
        expected transfer: Vec<u8> = SONConfigurationTransferDL,
    }
    then = within_5gs;
}

impl UplinkConfigurationTransfer {
    /// The gNB that it is for; none of a node that is none.
    pub fn target(&self) -> Option<Gnb> {
        let transfer = decode_open_type::<ngap::SONConfigurationTransfer<'_>>(&self.transfer);
        value::read_gnb(&transfer.ok()?.target_ran_node_id_son.global_ran_node_id)
    }
}

/// None of one between systems.
fn within_5gs(
    _: &ngap::NGAP_PDU,
    message: DownlinkConfigurationTransfer,
) -> Option<DownlinkConfigurationTransfer> {
    (!message.transfer.is_empty()).then_some(message)
}

/// Octets that can be said again. Not all that the codec reads it also writes.
fn sayable(transfer: &ngap::SONConfigurationTransfer<'_>) -> Option<Vec<u8>> {
    let octets = encode_open_type(transfer).ok()?.to_vec();
    let again = decode_open_type::<ngap::SONConfigurationTransfer<'_>>(&octets);
    again.is_ok().then_some(octets)
}

impl Element<ie::SONConfigurationTransferUL> for Vec<u8> {
    fn read(transfer: ngap::SONConfigurationTransfer<'_>) -> Option<Self> {
        Some(sayable(&transfer).unwrap_or_default())
    }

    fn write(&self) -> Result<ngap::SONConfigurationTransfer<'static>, Error> {
        Ok(decode_open_type::<ngap::SONConfigurationTransfer<'_>>(self)?.into_owned())
    }
}

impl Element<ie::SONConfigurationTransferDL> for Vec<u8> {
    fn read(transfer: ngap::SONConfigurationTransfer<'_>) -> Option<Self> {
        sayable(&transfer)
    }

    fn write(&self) -> Result<ngap::SONConfigurationTransfer<'static>, Error> {
        <Self as Element<ie::SONConfigurationTransferUL>>::write(self)
    }
}

/// A request for the target's addresses of Xn (9.3.3.7 and 9.3.3.8).
pub fn xn_addresses_wanted(source: (&Gnb, &Tai), target: (&Gnb, &Tai)) -> Vec<u8> {
    written(&ngap::SONConfigurationTransfer::new(
        ngap::TargetRANNodeIDSON::new(value::gnb(target.0), value::tai(target.1), None),
        ngap::SourceRANNodeID::new(value::gnb(source.0), value::tai(source.1), None),
        ngap::SONInformation::sONInformationRequest(
            ngap::SONInformationRequest::xn_TNL_configuration_info,
        ),
        None,
        None,
    ))
}
