//! Flow selection of a source.

use crate::elastic::nic_model::Steering;
use crate::elastic::watch::Watch;
use crate::path::traffic::Flow;
use sluice_datapath::limits::SHARDS;
use std::sync::Arc;

/// While a shard is watched, one packet in so many is of it.
const PROBES: u64 = 4;

/// Which flows a source makes packets of, and which of them are hot. Asked for place and flow.
pub struct Flows<'a> {
    pub all: Arc<[Flow]>,
    pub own: &'a dyn Fn(usize, &Flow) -> bool,
    pub hot: &'a dyn Fn(usize, &Flow) -> bool,
}

/// Places among all flows of those that a source makes packets of.
pub(super) struct FlowSets {
    /// In random order; by shard; by the queue that they go to; and the hot ones.
    all: Vec<u32>,
    by_shard: Vec<Vec<u32>>,
    by_queue: [Vec<u32>; 2],
    hot: Vec<u32>,
}

impl FlowSets {
    /// None yet.
    pub fn new() -> Self {
        Self {
            all: vec![],
            by_shard: vec![vec![]; SHARDS as usize],
            by_queue: [vec![], vec![]],
            hot: vec![],
        }
    }

    /// From now on these; the card steers as it will.
    pub fn set(&mut self, flows: &Flows<'_>, steering: &Steering) {
        self.all.clear();
        self.hot.clear();
        self.by_queue.iter_mut().for_each(Vec::clear);
        self.by_shard.iter_mut().for_each(Vec::clear);
        let numbered = flows.all.iter().enumerate();
        for (place, flow) in numbered.filter(|(place, flow)| (flows.own)(*place, flow)) {
            let shard = flow.ue % SHARDS;
            self.all.push(place as u32);
            self.by_shard[shard as usize].push(place as u32);
            self.by_queue[steering.queue(shard, 0)].push(place as u32);
            if (flows.hot)(place, flow) {
                self.hot.push(place as u32);
            }
        }
    }

    /// Whether the other source makes everything.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Those of a queue.
    pub fn of_queue(&self, queue: usize) -> &[u32] {
        &self.by_queue[queue]
    }

    /// The flow of the packet of this number: of the watched shard now and then, else of the hot
    /// ones or of all, one after the other.
    pub fn pick(&self, number: u64, watch: &Watch, is_hot: bool) -> Option<u32> {
        if number.is_multiple_of(PROBES)
            && let Some(shard) = watch.watched()
        {
            let flows = &self.by_shard[(shard % SHARDS) as usize];
            if !flows.is_empty() {
                return Some(flows[(number / PROBES) as usize % flows.len()]);
            }
        }
        let flows = if is_hot { &self.hot } else { &self.all };
        flows.get(number as usize % flows.len().max(1)).copied()
    }
}
