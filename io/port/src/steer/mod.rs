//! Flow steering: how a port chooses the receive queue of a user packet.
//!
//! Shards are the low bits of what a port can see: of the TEID, and of the UE's address. So packets
//! fall into *groups* by some of these bits, and a port that steers sends each group to a queue of
//! its own. What a port can do is asked by [`Steer`], and [`Steering`] takes the best that works.

mod key;
mod probe;
mod rules;

pub use key::{KEY_BYTES, dealt, entry_group, picking_key};
pub use probe::{Method, Steering};

use crate::QueueId;
use core::fmt;

/// The field of a packet that has the shard in its low bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Field {
    /// The TEID of a G-PDU (TS 29.281, 5.1).
    Teid,
    /// The destination of an IPv4 packet.
    Destination,
}

/// Packets of a port that have a shard: those whose field has a value under a mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Traffic {
    /// The field.
    pub field: Field,
    /// What it is, where the mask has a bit set.
    pub value: u32,
    /// Which bits count.
    pub mask: u32,
    /// The VLAN that they come in; none: untagged.
    pub vlan: Option<u16>,
}

/// Packets that go to a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRule {
    /// Which packets.
    pub traffic: Traffic,
    /// Where they go.
    pub queue: QueueId,
    /// Of two rules the one with the lower number counts.
    pub priority: u32,
}

/// What is hashed: source and destination of an IPv4 packet, by Toeplitz' hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hash {
    /// Of the packet inside a G-PDU; else of the outermost.
    pub inside: bool,
    /// The key.
    pub key: [u8; KEY_BYTES],
}

/// Why a port does not do what is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// What a port may be asked for. Whatever it does not do it refuses, with its reason.
pub trait Steer {
    /// A rule in force, or about to be.
    type Rule;

    /// Receive queues.
    fn rx_queues(&self) -> u16;

    /// Whether the port would take a rule; nothing changes.
    fn try_rule(&mut self, rule: &FlowRule) -> Result<(), Refusal>;

    /// Adds a rule.
    fn add_rule(&mut self, rule: &FlowRule) -> Result<Self::Rule, Refusal>;

    /// Removes a rule; if it stays, it comes back.
    fn remove_rule(&mut self, rule: Self::Rule) -> Result<(), (Self::Rule, Refusal)>;

    /// Entries of the table by which hashes choose queues; 0: there is none.
    fn table_entries(&self) -> usize;

    /// Chooses queues by this hash from now on.
    fn hash_by(&mut self, hash: &Hash) -> Result<(), Refusal>;

    /// The queue for each entry of the table.
    fn set_table(&mut self, table: &[QueueId]) -> Result<(), Refusal>;

    /// Whether all that was asked for has taken effect. Drivers of DPDK say so by returning.
    fn is_settled(&mut self) -> bool {
        true
    }
}
