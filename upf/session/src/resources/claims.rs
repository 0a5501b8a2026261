//! What one message took, to be given back if it is refused.

use super::Exhausted;
use super::address_pools::TakenAddress;
use crate::index::slot_allocator::TakenSlot;
use arrayvec::ArrayVec;
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::exact_match::{ExactKey, RoutePrefix};
use sluice_datapath::session::flow_filter::FilterRun;
use sluice_datapath::tables::PeerId;

/// Something that a message took.
#[derive(Clone, Copy, Debug)]
pub(super) enum Claim {
    /// With the TEID that it was last given out under.
    Slot(TakenSlot, u32),
    Entry(TakenSlot),
    Block(TakenSlot),
    Cell(TakenSlot),
    Pool(u32),
    Key(ExactKey),
    Peer(PeerId),
    Meter(u32),
    Run(FilterRun),
    Address(TakenAddress),
    /// A UE's first block of public ports, by its entry.
    Nat(EntryId),
    Route(u8, RoutePrefix),
}

/// Claims of one message: for each PDR an endpoint with foreign keys and blocks, addresses of pools, and a run of
/// filters, for each FAR a peer, for each URR a meter.
const CLAIMS: usize = 512;

/// All that the message at hand took so far, to be given back if it is refused.
#[derive(Debug, Default)]
pub struct Claims(ArrayVec<Claim, CLAIMS>);

impl Claims {
    pub(super) fn push(&mut self, claim: Claim) -> Result<(), Exhausted> {
        self.0.try_push(claim).map_err(|_| Exhausted)
    }

    /// Takes the last claim off the list.
    pub(super) fn pop(&mut self) -> Option<Claim> {
        self.0.pop()
    }

    /// The message was accepted: what it took is the session's.
    pub fn keep(&mut self) {
        self.0.clear();
    }
}
