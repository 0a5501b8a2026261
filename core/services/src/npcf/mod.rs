//! Services of the PCF: policies of sessions (TS 29.512) and of UEs (TS 29.507).

use sluice_sbi::Message;

use crate::exchange::Consumer;
use crate::names::Memory;

pub(crate) mod access;

/// A request of an AMF or SMF, or a notification of a PCF.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    access::begin(message, memory)
}
