//! Cost of single shard moves, and the accounting of all packets.

use super::source::Pace;
use super::testbed::Testbed;
use crate::path::traffic::Flow;
use crate::stats::Random;
use sluice_datapath::ids::WorkerId;
use sluice_datapath::limits::SHARDS;
use sluice_host::clock;
use sluice_mem::shard::ShardId;
use sluice_port::Packet;

/// Packets of the shard flow for so long before it is moved, and behind that.
const AROUND_NS: u64 = 30_000;
/// A hiccup so long before the move may still be felt.
const BEFORE_NS: u64 = 20_000;

/// A move's pause.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    /// The longest time from arrival to departure of a packet of the moved shard.
    pub ns: u64,
    /// From the order to the last token.
    pub took_ns: u64,
    /// A worker was away meanwhile.
    pub disturbed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketBalance {
    pub made: u64,
    /// Packets that came and never left.
    pub lost: u64,
    /// That left behind a later one of their flow.
    pub reordered: u64,
    /// That came while the card's queue was full: the source's, not the path's.
    pub missed: u64,
}

impl PacketBalance {
    /// Difference since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            made: self.made - before.made,
            lost: self.lost - before.lost,
            reordered: self.reordered - before.reordered,
            missed: self.missed - before.missed,
        }
    }
}

/// Moves `moves` shards, one after the other, while packets come `apart_ns` apart to each worker.
pub fn moves<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    moves: u32,
    apart_ns: f64,
) -> Vec<Pause> {
    testbed.drain();
    testbed.own(|shard| (shard % 2) as u8);
    // As if the card steered by the first owner: moves make packets be handed over.
    let home = |flow: &Flow| (flow.ue % SHARDS % 2) as usize;
    testbed.set_flows(|s| s as usize % 2, move |_, flow| home(flow), |_, _| false);
    testbed.sources(move |_, source| source.set_pace(Pace::every(apart_ns)));
    let mut random = Random::new(0x2545_f491_4f6c_dd1d);
    let mut pauses = Vec::with_capacity(moves as usize);
    let mut shown = 0;
    for done in 0..moves {
        pauses.push(one_move(testbed, random.below(SHARDS as usize) as u16));
        if done * 10 / moves > shown {
            shown = done * 10 / moves;
            eprintln!("{done} of {moves} moves");
        }
    }
    testbed.watch.watch_none();
    pauses
}

fn one_move<P: Packet + Send + 'static>(testbed: &mut Testbed<P>, shard: u16) -> Pause {
    let end = testbed.core.end_mut();
    let to = WorkerId(1 - end.mover().owner(ShardId(shard)).0);
    testbed.watch.watch(shard.into());
    testbed.turn_for(AROUND_NS);
    // What the shard's packets take without a move is not the move's.
    testbed.watch.watch(shard.into());
    let began_ns = clock::monotonic_ns();
    testbed.core.end_mut().move_shard(ShardId(shard), to);
    testbed.settle();
    let took_ns = clock::monotonic_ns() - began_ns;
    testbed.turn_for(AROUND_NS);
    Pause {
        ns: testbed.watch.longest_ns(),
        took_ns,
        disturbed: testbed.watch.hiccup_since(began_ns - BEFORE_NS),
    }
}

/// Balance of all packets so far; call it when none is under way.
pub fn balance<P: Packet>(testbed: &Testbed<P>) -> PacketBalance {
    let watch = &testbed.watch;
    let made = watch.sum(|eye| &eye.made);
    PacketBalance {
        made,
        lost: made - watch.sum(|eye| &eye.left),
        reordered: watch.sum(|eye| &eye.reordered),
        missed: watch.sum(|eye| &eye.missed),
    }
}
