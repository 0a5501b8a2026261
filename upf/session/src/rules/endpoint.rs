//! Endpoints of a session: packet identifiers with their session entries and extension blocks.

use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::BLOCK_CHAIN;

/// By what packets find an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// A TEID at a local address.
    Tunnel {
        /// The address's number.
        local: u8,
        /// The TEID.
        teid: u32,
    },
    /// The session's UE addresses, of both families, in a network instance.
    Ue {
        /// The network instance.
        instance: u8,
    },
    /// Nothing: a group of blocks that hold buckets.
    Spare,
}

/// Where an entry comes from, and so where it goes back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A TEID slot of ours.
    Slot,
    /// A configured pool of UE addresses.
    Pool,
    /// The entries for what others chose.
    Foreign,
    /// It is no entry.
    None,
}

/// An entry of the session with its extension blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// By what packets find it.
    pub key: Key,
    /// The entry.
    pub entry: EntryId,
    /// Where the entry comes from.
    pub origin: Origin,
    /// Extension blocks in order, 0 for none.
    pub blocks: [u32; BLOCK_CHAIN],
    /// The blocks hold rules for packets of the UE's link alone; the rule for all others stands in the
    /// entry.
    pub link_rules: bool,
}

impl Endpoint {
    /// True if rules or buckets of it stand in extension blocks.
    pub fn has_blocks(&self) -> bool {
        self.blocks[0] != 0
    }

    /// Its extension blocks.
    pub fn blocks(&self) -> impl Iterator<Item = u32> {
        self.blocks.into_iter().take_while(|b| *b != 0)
    }
}
