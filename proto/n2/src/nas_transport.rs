//! NAS transport (TS 38.413, 8.6): Initial UE Message, Uplink and Downlink NAS Transport, NAS Non Delivery Indication.

use oxirush_ngap::{Error, ie, ngap};
use sluice_ids::STmsi;

use crate::cause::Cause;
use crate::table::{Element, message};
use crate::value::{Location, RanUeId};

message! {
    /// Initial UE Message (9.2.5.1).
    pub struct InitialUeMessage = InitialUEMessage, "Initial UE Message" {
        /// The gNB's name of the connection.
        required ran: RanUeId = RAN_UE_NGAP_ID,
        /// The first NAS message.
        required nas: Vec<u8> = NAS_PDU,
        /// Place of the UE.
        required location: Location = UserLocationInformation,
        /// RRC Establishment Cause, its number; others than `mo-Data` are written as `mo-Signalling`.
        expected establishment_cause: u8 = RRCEstablishmentCause,
        /// Name that the UE gives itself on the radio.
        optional s_tmsi: STmsi = FiveG_S_TMSI,
        /// The gNB asks for a UE context.
        default context_requested: bool = UEContextRequest,
    }
}

message! {
    /// Uplink NAS Transport (9.2.5.3).
    pub struct UplinkNasTransport = UplinkNASTransport, "Uplink NAS Transport", of ids {
        /// The NAS message.
        required nas: Vec<u8> = NAS_PDU,
        /// Place of the UE.
        ignorable location: Location = UserLocationInformation,
    }
}

message! {
    /// Downlink NAS Transport (9.2.5.2).
    pub struct DownlinkNasTransport = DownlinkNASTransport, "Downlink NAS Transport", of ids {
        /// The NAS message.
        required nas: Vec<u8> = NAS_PDU,
    }
}

message! {
    /// NAS Non Delivery Indication (9.2.5.4).
    pub struct NasNonDelivery = NASNonDeliveryIndication, "NAS Non Delivery Indication", of ids {
        /// The NAS message.
        expected nas: Vec<u8> = NAS_PDU,
        /// Why.
        expected cause: Cause = Cause,
    }
}

impl Element<ie::RRCEstablishmentCause> for u8 {
    fn read(value: ngap::RRCEstablishmentCause) -> Option<Self> {
        Some(value as u8)
    }

    fn write(&self) -> Result<ngap::RRCEstablishmentCause, Error> {
        use ngap::RRCEstablishmentCause as Why;
        Ok(match *self == Why::mo_Data as u8 {
            true => Why::mo_Data,
            false => Why::mo_Signalling,
        })
    }
}
