//! A burst in processing: packets, metadata and exceptions.

use crate::burst_array::BurstArray;
use crate::forward::pdr::At;
use crate::meta::Meta;
use crate::rx::parse::Class;
use arrayvec::ArrayVec;
use sluice_port::{BURST_MAX, Burst, Packet, PortId};

/// The rules that packets of a batch meet, by their places in it.
pub(crate) type FoundRules = [Option<At>; BURST_MAX];

/// The packets of one pass, and beside them what is known of each.
pub(crate) struct Batch<P: Packet> {
    /// Come by other ways than a receive queue: put together from fragments, or given by the
    /// control core.
    pub received: Burst<P>,
    /// Where.
    pub received_at: PortId,
    /// Received, placed here and ours.
    pub mine: Burst<P>,
    /// One for each of `mine`, once sorted.
    pub metas: BurstArray<Meta>,
    /// Room for what packets are while their keys are fetched.
    pub ahead: [Meta; BURST_MAX],
    /// The rules that those meet whose entries have several, where they were looked for.
    pub found: FoundRules,
    /// Some entry of the last packets had several rules.
    pub has_several_rules: bool,
    /// Which of those just received are not ours to execute, and what they are.
    pub exceptions: ArrayVec<(usize, Class), BURST_MAX>,
    /// To be freed.
    pub dead: Burst<P>,
}

impl<P: Packet> Batch<P> {
    /// One without packets.
    pub fn new() -> Self {
        Self {
            received: Burst::new(),
            received_at: PortId(0),
            mine: Burst::new(),
            metas: BurstArray::new(Meta::NONE),
            ahead: [Meta::NONE; BURST_MAX],
            found: [None; BURST_MAX],
            has_several_rules: false,
            exceptions: ArrayVec::new(),
            dead: Burst::new(),
        }
    }
}
