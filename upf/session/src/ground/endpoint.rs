//! New endpoints, and the keys of endpoints in the foreign table.

use crate::rules::{Endpoint, Key, Origin};
use sluice_datapath::limits::BLOCK_CHAIN;
use sluice_datapath::lookup::foreign::ForeignKey;

/// A group of blocks without a line.
pub fn spare() -> Endpoint {
    endpoint(Key::Spare, 0, Origin::None)
}

pub(super) fn endpoint(key: Key, line: u32, origin: Origin) -> Endpoint {
    Endpoint {
        key,
        line,
        origin,
        blocks: [0; BLOCK_CHAIN],
    }
}

pub(super) fn slot_endpoint(local: u8, teid: u32, slot: u32) -> Endpoint {
    endpoint(Key::Tunnel { local, teid }, slot, Origin::Slot)
}

pub(super) fn foreign_key(key: Key) -> Option<ForeignKey> {
    match key {
        Key::Tunnel { local, teid } => Some(ForeignKey::teid(local, teid)),
        Key::Ue { instance, address } => Some(ForeignKey::ue(instance, address)),
        Key::Spare => None,
    }
}
