//! Uplink and Downlink RAN Configuration Transfer (TS 38.413, 8.8): what gNBs tell each other by way of the AMF, such
//! as the addresses of Xn. The AMF reads for whom it is, and nothing else.

use oxirush_ngap::ngap::{self, NGAP_PDU, decode_open_type, encode_open_type};
use oxirush_ngap::{Error, build_ngap, extract_ngap_ies};

use crate::from_amf::FromAmf;
use crate::from_ran::FromRan;
use crate::session::written;
use crate::value::{self, Gnb};

/// Without a target if it is for a node that is no gNB, or between systems.
pub(crate) fn read(pdu: &NGAP_PDU) -> Result<FromRan, Error> {
    extract_ngap_ies!(pdu, UplinkRANConfigurationTransfer,
        lax transfer: ngap::SONConfigurationTransfer<'_> = SONConfigurationTransferUL(value) => value,
    );
    let said = transfer.as_ref().and_then(kept);
    let sayable = transfer.filter(|_| said.is_some());
    let target = sayable
        .and_then(|transfer| value::read_gnb(&transfer.target_ran_node_id_son.global_ran_node_id));
    Ok(FromRan::ConfigurationTransfer {
        target,
        transfer: said.unwrap_or_default(),
    })
}

/// What can be said again. Not all that the codec reads it also writes.
fn kept(transfer: &ngap::SONConfigurationTransfer<'_>) -> Option<Vec<u8>> {
    let octets = encode_open_type(transfer).ok()?.to_vec();
    let again = decode_open_type::<ngap::SONConfigurationTransfer<'_>>(&octets);
    again.is_ok().then_some(octets)
}

pub(crate) fn write(transfer: &[u8]) -> Result<NGAP_PDU, Error> {
    let transfer: ngap::SONConfigurationTransfer<'_> = decode_open_type(transfer)?;
    build_ngap!(
        InitiatingMessage,
        UplinkRANConfigurationTransfer,
        UplinkRANConfigurationTransfer,
        SONConfigurationTransferUL(transfer),
    )
}

/// None of what is between systems.
pub(crate) fn read_downlink(pdu: &NGAP_PDU) -> Result<Option<FromAmf>, Error> {
    extract_ngap_ies!(pdu, DownlinkRANConfigurationTransfer,
        lax transfer: ngap::SONConfigurationTransfer<'_> = SONConfigurationTransferDL(value) => value,
    );
    let transfer = transfer.as_ref().and_then(kept);
    Ok(transfer.map(|transfer| FromAmf::ConfigurationTransfer { transfer }))
}

pub(crate) fn write_downlink(transfer: &[u8]) -> Result<NGAP_PDU, Error> {
    let transfer: ngap::SONConfigurationTransfer<'_> = decode_open_type(transfer)?;
    build_ngap!(
        InitiatingMessage,
        DownlinkRANConfigurationTransfer,
        DownlinkRANConfigurationTransfer,
        SONConfigurationTransferDL(transfer),
    )
}

/// A request for the target's addresses of Xn (9.3.3.7 and 9.3.3.8).
pub fn xn_addresses_wanted(
    source: (&Gnb, &sluice_ids::Tai),
    target: (&Gnb, &sluice_ids::Tai),
) -> Vec<u8> {
    let node = |gnb| value::gnb(gnb);
    written(&ngap::SONConfigurationTransfer::new(
        ngap::TargetRANNodeIDSON::new(node(target.0), value::tai(target.1), None),
        ngap::SourceRANNodeID::new(node(source.0), value::tai(source.1), None),
        ngap::SONInformation::sONInformationRequest(
            ngap::SONInformationRequest::xn_TNL_configuration_info,
        ),
        None,
        None,
    ))
}
