//! Error Indication of either end (TS 38.413, 8.7.5).

use crate::cause::Cause;
use crate::table::message;
use crate::value::{AmfUeId, Connection, RanUeId};

message! {
    /// Error Indication (9.2.6.13).
    pub struct ErrorIndication = ErrorIndication, "Error Indication" {
        /// AMF UE NGAP ID, as far as it is known.
        ignorable amf: AmfUeId = AMF_UE_NGAP_ID,
        /// RAN UE NGAP ID, as far as it is known.
        ignorable ran: RanUeId = RAN_UE_NGAP_ID,
        /// Why.
        ignorable cause: Cause = Cause,
    }
}

impl ErrorIndication {
    /// Of a connection, as far as it is known.
    pub fn new(connection: Connection, cause: Cause) -> Self {
        let Connection { amf, ran } = connection;
        let cause = Some(cause);
        Self { amf, ran, cause }
    }

    /// The connection, as far as it is told.
    pub fn connection(&self) -> Connection {
        Connection {
            amf: self.amf,
            ran: self.ran,
        }
    }
}
