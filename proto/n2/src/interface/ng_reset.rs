//! NG Reset (TS 38.413, 8.7.4): all connections, or some, are over.

use oxirush_ngap::{Error, ie, ngap};

use crate::cause::Cause;
use crate::table::{Element, message};
use crate::value::{self, Connection};

message! {
    /// NG Reset (9.2.6.11).
    pub struct NgReset = NGReset, "NG Reset" {
        /// Why.
        expected cause: Cause = Cause,
        /// Connections that are over; none are all.
        required connections: Option<Vec<Connection>> = ResetType,
    }
}

message! {
    /// NG Reset Acknowledge (9.2.6.12).
    pub struct NgResetAcknowledge = NGResetAcknowledge, "NG Reset Acknowledge" {
        /// Connections that are over; none are all.
        ignorable connections: Vec<Connection> = UE_associatedLogicalNG_connectionList,
    }
}

impl Element<ie::ResetType> for Option<Vec<Connection>> {
    fn read(which: ngap::ResetType) -> Option<Self> {
        match which {
            ngap::ResetType::nG_Interface(_) => Some(None),
            ngap::ResetType::partOfNG_Interface(list) => {
                Some(Some(list.0.iter().map(value::read_connection).collect()))
            }
            _ => None,
        }
    }

    fn write(&self) -> Result<ngap::ResetType, Error> {
        Ok(match self {
            None => ngap::ResetType::nG_Interface(ngap::ResetAll::reset_all),
            Some(list) => {
                let list = list.iter().map(value::connection).collect();
                let list = ngap::UEAssociatedLogicalNGConnectionList(list);
                ngap::ResetType::partOfNG_Interface(list)
            }
        })
    }
}
