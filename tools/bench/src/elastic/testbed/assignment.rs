//! Assignment of flows to sources, and of shards and queues to workers.

use super::Testbed;
use crate::elastic::source::Flows;
use crate::path::topology::{N3, N6};
use crate::path::traffic::Flow;
use sluice_datapath::ids::WorkerId;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::tables::Polled;
use sluice_mem::shard::ShardId;
use sluice_port::{Packet, QueueId};

impl<P: Packet + Send + 'static> Testbed<P> {
    /// Packets of a shard come in at the queue that `queue` says, packets of each flow are made by
    /// the source that `maker` says, and those flows are hot that `hot` says. None is under way.
    pub fn set_flows(
        &mut self,
        queue: impl Fn(u32) -> usize,
        maker: impl Fn(usize, &Flow) -> usize + Clone + Send + 'static,
        hot: impl Fn(usize, &Flow) -> bool + Clone + Send + 'static,
    ) {
        self.steering.set(queue);
        let all = self.flows.clone();
        self.sources(move |worker, source| {
            source.set_flows(&Flows {
                all: all.clone(),
                own: &|place, flow| maker(place, flow) == worker,
                hot: &hot,
            });
        });
    }

    /// Lets shards go where `owner` says, and waits for it.
    pub fn own(&mut self, owner: impl Fn(u32) -> u8) {
        for shard in 0..SHARDS {
            let shard_id = ShardId(shard as u16);
            self.core
                .end_mut()
                .move_shard(shard_id, WorkerId(owner(shard)));
        }
        self.settle();
    }

    /// Each worker polls the queues of its number again, whatever scaling made of that.
    pub fn poll_own_queues(&mut self) {
        for (worker, port) in [(0, N3), (0, N6), (1, N3), (1, N6)] {
            let queue = QueueId(worker.into());
            self.core
                .end_mut()
                .move_queue(Polled { port, queue }, WorkerId(worker));
        }
        self.settle();
    }

    /// Until no move is under way.
    pub fn settle(&mut self) {
        while self.core.end().mover().progress().1 > 0 {
            self.turn();
        }
    }
}
