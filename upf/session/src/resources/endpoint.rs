//! Endpoint constructors, and their exact-match keys.

use crate::rules::{Endpoint, Key, Origin};
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::BLOCK_CHAIN;
use sluice_datapath::lookup::exact_match::ExactKey;

/// A group of blocks without a line.
pub fn spare() -> Endpoint {
    endpoint(Key::Spare, 0, Origin::None)
}

pub(super) fn endpoint(key: Key, line: u32, origin: Origin) -> Endpoint {
    Endpoint {
        key,
        line: EntryId(line),
        origin,
        blocks: [0; BLOCK_CHAIN],
    }
}

pub(super) fn slot_endpoint(local: u8, teid: u32, slot: u32) -> Endpoint {
    endpoint(Key::Tunnel { local, teid }, slot, Origin::Slot)
}

pub(super) fn foreign_key(key: Key) -> Option<ExactKey> {
    match key {
        Key::Tunnel { local, teid } => Some(ExactKey::teid(local, teid)),
        Key::Ue { instance, address } => Some(ExactKey::ue(instance, address)),
        Key::Spare => None,
    }
}
