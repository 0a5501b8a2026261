//! Endpoint constructors, and their exact-match keys.

use crate::rules::{Endpoint, Key, Origin, UeAddresses};
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::BLOCK_CHAIN;
use sluice_datapath::lookup::exact_match::{ExactKey, ExactReader};

/// A group of blocks without an entry.
pub fn spare() -> Endpoint {
    endpoint(Key::Spare, 0, Origin::None)
}

pub(super) fn endpoint(key: Key, entry: u32, origin: Origin) -> Endpoint {
    Endpoint {
        key,
        entry: EntryId(entry),
        origin,
        blocks: [0; BLOCK_CHAIN],
        link_rules: false,
    }
}

pub(super) fn slot_endpoint(local: u8, teid: u32, slot: u32) -> Endpoint {
    endpoint(Key::Tunnel { local, teid }, slot, Origin::Slot)
}

/// What the path's table of identifiers that others chose has of an endpoint: a TEID, a UE's IPv4 address, a
/// UE's IPv6 prefix.
pub(super) fn exact_keys(
    known: &ExactReader,
    endpoint: &Endpoint,
    ue: &UeAddresses,
) -> impl Iterator<Item = ExactKey> + use<> {
    let is_foreign = endpoint.origin == Origin::Foreign;
    let keys = match endpoint.key {
        Key::Tunnel { local, teid } => [is_foreign.then(|| ExactKey::teid(local, teid)), None],
        Key::Ue { instance } => {
            let ipv4 = ue.ipv4.filter(|_| is_foreign);
            [
                ipv4.map(|address| ExactKey::ue(instance, address.into())),
                ue.prefix.map(|p| known.ue_prefix(instance, p.get())),
            ]
        }
        Key::Spare => [None; 2],
    };
    keys.into_iter().flatten()
}
