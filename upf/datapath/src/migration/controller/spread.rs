//! Distribution of shards and queues over the active workers, with as few moves as possible.

use crate::ids::WorkerId;
use crate::limits::SHARDS;
use crate::migration::controller::MigrationController;
use crate::tables::Polled;
use sluice_mem::shard::ShardId;
use sluice_port::steer::entry_group;

impl MigrationController {
    /// Spreads shards and queues evenly over the workers that are `active` (one flag for each; at
    /// least one is set), and takes all from the others.
    pub fn spread(&mut self, active: &[bool]) {
        let is_active = |w: WorkerId| active.get(usize::from(w)).copied().unwrap_or(false);
        let workers: Vec<WorkerId> = (0..self.workers)
            .map(WorkerId::at)
            .filter(|w| is_active(*w))
            .collect();
        if workers.is_empty() {
            return;
        }
        for (shard, to) in self.shards_to(&workers) {
            self.want(shard, to);
        }
        for (polled, to) in self.queues_to(&workers) {
            self.want_queue(polled, to);
        }
    }

    /// Every worker gets its even share; who has more gives the surplus.
    fn shards_to(&self, workers: &[WorkerId]) -> Vec<(ShardId, WorkerId)> {
        let mut room = vec![0; self.workers];
        for (place, worker) in workers.iter().enumerate() {
            let extra = usize::from(place < SHARDS as usize % workers.len());
            room[usize::from(*worker)] = SHARDS as usize / workers.len() + extra;
        }
        let mut surplus = Vec::new();
        // Group by group, so that a port that steers by groups can follow.
        let bits = SHARDS.trailing_zeros();
        let shards = (0..SHARDS as usize).map(|n| entry_group(n, bits, bits) as u16);
        for shard in shards.map(ShardId) {
            match room.get_mut(usize::from(self.destination(shard))) {
                Some(room) if *room > 0 => *room -= 1,
                _ => surplus.push(shard),
            }
        }
        let places = room.iter().enumerate();
        let places = places.flat_map(|(w, room)| std::iter::repeat_n(WorkerId::at(w), *room));
        surplus.into_iter().zip(places).collect()
    }

    /// The queues of each port are shared out evenly. Which one goes where matters little: packets
    /// find their owner.
    fn queues_to(&self, workers: &[WorkerId]) -> Vec<(Polled, WorkerId)> {
        let mut load = vec![0; self.workers];
        let mut homeless = Vec::new();
        let share = self.pollers.len().div_ceil(workers.len());
        for (polled, poller) in &self.pollers {
            if workers.contains(poller) && load[usize::from(*poller)] < share {
                load[usize::from(*poller)] += 1;
            } else {
                homeless.push(*polled);
            }
        }
        let place = |polled| {
            let to = *workers.iter().min_by_key(|w| load[usize::from(**w)])?;
            load[usize::from(to)] += 1;
            Some((polled, to))
        };
        homeless.into_iter().filter_map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::session_lookup::OwnerTable;
    use crate::migration::controller::Begin;
    use sluice_port::{PortId, QueueId};

    /// Carries out all that is wanted; how many shards and queues moved.
    fn carry_out(mover: &mut MigrationController) -> (usize, usize) {
        let (mut shards, mut queues) = (0, 0);
        while let Some(begin) = mover.begin() {
            match begin {
                Begin::Shard(turn) => {
                    shards += 1;
                    mover.ended(turn.shard);
                }
                Begin::Queue(_, fence) => {
                    queues += 1;
                    mover.requeued(fence.polled);
                }
            }
        }
        (shards, queues)
    }

    fn pollers(mover: &MigrationController) -> Vec<u8> {
        mover.pollers().iter().map(|(_, w)| w.0).collect()
    }

    #[test]
    fn only_the_surplus_moves() {
        let mut mover = MigrationController::new(OwnerTable::dealt(4), 4);
        for queue in 0..4 {
            let (port, queue) = (PortId(0), QueueId(queue));
            mover.polls(Polled { port, queue }, WorkerId(queue.0 as u8));
        }
        mover.spread(&[true, true, false, false]);
        assert_eq!(carry_out(&mut mover), (2048, 2));
        assert_eq!(mover.owned(), [2048, 2048, 0, 0]);
        assert_eq!(pollers(&mover), [0, 1, 0, 1]);
        mover.spread(&[true, true, true, false]);
        assert_eq!(
            carry_out(&mut mover),
            (1365, 0),
            "4 queues for 3: 2, 2, 0 is as even"
        );
        assert_eq!(mover.owned(), [1366, 1365, 1365, 0]);
        mover.spread(&[true, true, true, true]);
        assert_eq!(carry_out(&mut mover), (1024, 2));
        assert_eq!(mover.owned(), [1024; 4]);
        assert_eq!(carry_out(&mut mover), (0, 0));
        mover.spread(&[false; 4]);
        assert_eq!(carry_out(&mut mover), (0, 0), "somebody has to do the work");
    }
}
