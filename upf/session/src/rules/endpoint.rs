//! Endpoints: the entries at which a session's PDRs detect packets, and their octets in the session's record.

use crate::rules::octets::{OctetReader, OctetWriter, bit8};
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

/// The record of an endpoint.
impl Endpoint {
    /// Writes it; `own` is the network instance that most of the session have.
    pub fn write(&self, own: u8, pen: &mut OctetWriter<'_>) {
        let origin = match self.origin {
            Origin::Slot => 0,
            Origin::Pool => 1,
            Origin::Foreign => 2,
            Origin::None => 3,
        };
        let blocks = self.blocks().count() as u8;
        let rest = origin << ENDPOINT_ORIGIN
            | blocks << ENDPOINT_BLOCKS
            | bit8(ENDPOINT_LINK_RULES, self.link_rules);
        match self.key {
            Key::Spare => pen.u8(KEY_SPARE | rest),
            Key::Tunnel { local, teid } => {
                pen.u8(KEY_TUNNEL | rest);
                pen.u8(local);
                pen.u32(teid);
            }
            Key::Ue { instance } if instance == own => pen.u8(KEY_OWN_UE | rest),
            Key::Ue { instance } => {
                pen.u8(KEY_UE | rest);
                pen.u8(instance);
            }
        }
        match (self.origin, self.key) {
            (Origin::Slot, Key::Tunnel { teid, .. }) => {
                let bits = entry_bits(teid, self.entry.0);
                debug_assert_eq!(entry_of(teid, bits), self.entry.0);
                pen.u8(bits as u8);
            }
            _ => pen.u32(self.entry.0),
        }
        let blocks = self.blocks();
        blocks.for_each(|block| pen.u32(block));
    }

    /// Reads one; `own` is the network instance that most of the session have.
    pub fn read(own: u8, eye: &mut OctetReader<'_>) -> Self {
        let bits = eye.u8();
        let key = match bits & 3 {
            KEY_TUNNEL => Key::Tunnel {
                local: eye.u8(),
                teid: eye.u32(),
            },
            KEY_UE => Key::Ue { instance: eye.u8() },
            KEY_OWN_UE => Key::Ue { instance: own },
            _ => Key::Spare,
        };
        let origin = match bits >> ENDPOINT_ORIGIN & 3 {
            0 => Origin::Slot,
            1 => Origin::Pool,
            2 => Origin::Foreign,
            _ => Origin::None,
        };
        let entry = match (origin, key) {
            (Origin::Slot, Key::Tunnel { teid, .. }) => entry_of(teid, eye.u8().into()),
            _ => eye.u32(),
        };
        let mut blocks = [0; BLOCK_CHAIN];
        let len = usize::from((bits & !ENDPOINT_LINK_RULES) >> ENDPOINT_BLOCKS);
        blocks.iter_mut().take(len).for_each(|b| *b = eye.u32());
        Self {
            key,
            entry: EntryId(entry),
            origin,
            blocks,
            link_rules: bits & ENDPOINT_LINK_RULES != 0,
        }
    }
}

/// Octets of an endpoint without blocks.
pub const ENDPOINT_MIN: usize = 1 + 5 + 4;
pub const ENDPOINT_MAX: usize = ENDPOINT_MIN + 4 * BLOCK_CHAIN;

/// How many of the lowest bits of a TEID are the number of its entry, where it is one of our own.
fn entry_bits(teid: u32, entry: u32) -> u32 {
    (teid ^ entry).trailing_zeros()
}

/// The entry of a TEID with so many bits of it.
pub fn entry_of(teid: u32, bits: u32) -> u32 {
    teid & !u32::MAX.checked_shl(bits).unwrap_or(0)
}

/// Bits of an endpoint's octet: two of the key's kind, two of the origin, three of the blocks.
const KEY_SPARE: u8 = 0;
const KEY_TUNNEL: u8 = 1;
const KEY_UE: u8 = 2;
/// The UE in the network instance that most of the session have.
const KEY_OWN_UE: u8 = 3;
const ENDPOINT_ORIGIN: u32 = 2;
const ENDPOINT_BLOCKS: u32 = 4;
const ENDPOINT_LINK_RULES: u8 = 1 << 7;
const _: () = assert!(BLOCK_CHAIN < 8);
