//! Steering tables of the NIC model, driven by the daemon's steering code.

use super::nic_model::Steering as Card;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::migration::port_steering::Steerer;
use sluice_port::QueueId;
use sluice_port::steer::entry_group;
use sluice_port::steer::{Field, FlowRule, Hash, Method, Refusal, Steer, Steering, Traffic};
use std::sync::Arc;

/// Bits of an entry's number, and of a group's.
const BITS: u32 = 8;

/// The table of one direction.
pub struct Table {
    card: Arc<Card>,
    direction: usize,
}

impl Table {
    pub fn new(card: Arc<Card>, direction: usize) -> Self {
        Self { card, direction }
    }
}

impl Steer for Table {
    type Rule = ();

    fn rx_queues(&self) -> u16 {
        2
    }

    fn try_rule(&mut self, _: &FlowRule) -> Result<(), Refusal> {
        Err(Refusal("it has a table alone".to_owned()))
    }

    fn add_rule(&mut self, rule: &FlowRule) -> Result<(), Refusal> {
        self.try_rule(rule)
    }

    fn remove_rule(&mut self, (): ()) -> Result<(), ((), Refusal)> {
        Ok(())
    }

    fn table_entries(&self) -> usize {
        1 << BITS
    }

    /// The sources know the shard and need no hash; its low bits are those of the shard.
    fn hash_by(&mut self, _: &Hash) -> Result<(), Refusal> {
        Ok(())
    }

    fn set_table(&mut self, table: &[QueueId]) -> Result<(), Refusal> {
        let mut queues = [0; 1 << BITS];
        for (entry, queue) in table.iter().enumerate() {
            queues[entry_group(entry, BITS, BITS) as usize] = queue.0.into();
        }
        let of_shard = |shard: u32| queues[(shard % (1 << BITS)) as usize];
        self.card.set_one(self.direction, of_shard);
        Ok(())
    }

    fn is_settled(&mut self) -> bool {
        self.card.is_known()
    }
}

/// The daemon's steering of both ports: N3's card sees tunnels, N6's the UEs' addresses.
pub fn steerer(card: &Arc<Card>) -> Steerer<Table> {
    let port = |(direction, field)| {
        let traffic = Traffic {
            field,
            value: 0,
            mask: SHARDS - 1,
            vlan: None,
        };
        let table = card.table(direction);
        Steering::probe(table, &[traffic], &[BITS], &[Method::Hash])
    };
    let ports = [(0, Field::Teid), (1, Field::Destination)];
    Steerer::new(ports.map(port).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_come_where_the_daemon_deals_them_and_follow_their_group() {
        let card = Arc::new(Card::new());
        let mut table = Steering::probe(
            card.table(1),
            &[Traffic {
                field: Field::Destination,
                value: 0,
                mask: SHARDS - 1,
                vlan: None,
            }],
            &[BITS],
            &[Method::Hash],
        );
        assert_eq!(table.method(), Method::Hash);
        for shard in 0..SHARDS {
            assert_eq!(card.queue(shard, 1), shard as usize % 2);
            assert_eq!(card.queue(shard, 0), 0, "the other direction");
        }
        assert!(!table.is_settled());
        (0..2).for_each(|source| card.learn(source));
        assert!(table.is_settled());
        table.steer(4, QueueId(1)).unwrap();
        for shard in 0..SHARDS {
            let moved = shard % 256 == 4;
            assert_eq!(card.queue(shard, 1) == 1, moved || shard % 2 == 1);
        }
    }
}
