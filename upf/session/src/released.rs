//! What a change of a session's rules leaves: session entries, extension blocks, tunnels of peers.

use crate::rules::{Endpoint, Key, RemoteTunnel, Rules};

/// Entries that are no longer needed.
pub fn gone_entries<'r>(old: &'r Rules, new: &'r Rules) -> impl Iterator<Item = &'r Endpoint> {
    let entries = old.endpoints.iter().filter(|e| e.key != Key::Spare);
    entries.filter(|e| new.endpoint(e.key).is_none())
}

/// Entries of UE addresses that were not there before.
pub fn new_ue_entries<'r>(old: &'r Rules, new: &'r Rules) -> impl Iterator<Item = &'r Endpoint> {
    let entries = new.endpoints.iter();
    let entries = entries.filter(|e| matches!(e.key, Key::Ue { .. }));
    entries.filter(|e| old.endpoint(e.key).is_none())
}

/// Blocks that are no longer needed.
pub fn gone_blocks<'r>(old: &'r Rules, new: &'r Rules) -> impl Iterator<Item = u32> + 'r {
    let kept = |block| {
        let mut all = new.endpoints.iter().flat_map(Endpoint::blocks);
        all.any(|b| b == block)
    };
    let blocks = old.endpoints.iter().flat_map(Endpoint::blocks);
    blocks.filter(move |block| !kept(*block))
}

/// Cells of the usage record that are no longer needed.
pub fn gone_cells<'r>(old: &'r Rules, new: &'r Rules) -> impl Iterator<Item = u32> + 'r {
    old.cells()
        .filter(move |cell| !new.cells().any(|kept| kept == *cell))
}

/// Tunnels of peers that the session leaves (false), then those that it sends into from now on
/// (true).
pub fn tunnels<'r>(
    old: &'r Rules,
    new: &'r Rules,
) -> impl Iterator<Item = (bool, RemoteTunnel)> + 'r {
    let only = |here: &'r Rules, there: &'r Rules| {
        let tunnels = here.fars.iter().filter_map(|f| f.tunnel());
        tunnels.filter(move |tunnel| there.fars.iter().all(|f| f.tunnel() != Some(*tunnel)))
    };
    let left = only(old, new).map(|tunnel| (false, tunnel));
    left.chain(only(new, old).map(|tunnel| (true, tunnel)))
}
