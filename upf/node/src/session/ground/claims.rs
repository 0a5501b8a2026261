//! What one message took, to be given back if it is refused; and what it asked for, for those who
//! learn from it.

use super::Exhausted;
use crate::network::Side;
use crate::session::names::NameId;
use crate::session::places::Taken;
use crate::session::rules::Origin;
use arrayvec::ArrayVec;
use sluice_path::foreign::ForeignKey;
use sluice_path::tables::PeerId;

/// Something that a message took.
#[derive(Clone, Copy, Debug)]
pub(super) enum Claim {
    /// With the TEID that it was last given out under.
    Slot(Taken, u32),
    Line(Taken),
    Block(Taken),
    Pool(u32),
    Key(ForeignKey),
    Peer(PeerId),
    Meter(u32),
}

/// Claims of one message: for each PDR an endpoint with a foreign key and blocks, for each FAR a
/// peer, for each URR a meter.
const CLAIMS: usize = 512;

/// All that the message at hand took so far.
#[derive(Debug, Default)]
pub struct Claims {
    /// What would be given back.
    claims: ArrayVec<Claim, CLAIMS>,
    /// The same as it was asked for; it stays after the message, for those who learn from it.
    steps: ArrayVec<Step, CLAIMS>,
}

/// Something that was asked for, and what was given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step {
    /// A TEID of ours.
    NewTeid {
        /// Number of the address.
        local: u8,
        /// The TEID.
        teid: u32,
        /// Its line.
        line: u32,
    },
    /// A TEID that the CP function named.
    NamedTeid {
        /// Number of the address.
        local: u8,
        /// The TEID.
        teid: u32,
        /// Its line.
        line: u32,
        /// Where the line comes from.
        origin: Origin,
    },
    /// The line of a UE address.
    UeLine {
        /// The network instance.
        instance: u8,
        /// The address.
        address: u32,
        /// The line.
        line: u32,
        /// Where the line comes from.
        origin: Origin,
    },
    /// An extension block.
    Block {
        /// The block.
        block: u32,
    },
    /// A meter.
    Meter {
        /// The meter.
        meter: u32,
    },
    /// A peer.
    Peer {
        /// Side of the FAR.
        side: Side,
        /// Network instance of the FAR.
        instance: NameId,
        /// The peer's address.
        address: u32,
        /// The peer.
        peer: PeerId,
    },
}

impl Claims {
    pub(super) fn push(&mut self, claim: Claim) -> Result<(), Exhausted> {
        self.claims.try_push(claim).map_err(|_| Exhausted)
    }

    /// Takes the last claim off the list.
    pub(super) fn pop(&mut self) -> Option<Claim> {
        self.claims.pop()
    }

    /// A message begins.
    pub fn begin(&mut self) {
        self.steps.clear();
    }

    /// Notes what was asked for. There are no more steps than claims.
    pub fn note(&mut self, step: Step) {
        let _ = self.steps.try_push(step);
    }

    /// What the message, or the last one, asked for.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The message was accepted: what it took is the session's.
    pub fn keep(&mut self) {
        self.claims.clear();
    }
}
