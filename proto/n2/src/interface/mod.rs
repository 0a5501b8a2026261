//! Interface management and configuration transfer (TS 38.413, 8.7 and 8.8): messages of a gNB and an AMF themselves.

pub(crate) mod amf_configuration_update;
pub(crate) mod configuration_transfer;
pub(crate) mod error_indication;
pub(crate) mod ng_reset;
pub(crate) mod ng_setup;
pub(crate) mod overload;
pub(crate) mod ran_configuration_update;
