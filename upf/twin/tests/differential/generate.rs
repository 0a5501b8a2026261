//! Random cases: sessions as SMFs establish them, changes as they make them, and packets, sound
//! ones and others.

mod application;
mod change;
mod filter;
mod ipv6;
mod nat;
mod packet;
mod session;
mod sizes;

use crate::rng::Rng;
use crate::spec::{Case, Change, Entry, PacketSpec, Rules, SetSpec, Slot, Step, UeSpec};
use crate::world::Features;
use std::collections::BTreeMap;

/// A case for a seed.
pub fn case(seed: u64, features: Features) -> Case {
    let mut rng = Rng::new(seed);
    let mut generator = Generator {
        wants_addresses: features.given && rng.one_in(6),
        rng,
        features,
        sessions: BTreeMap::new(),
    };
    generator.case()
}

/// What the generator remembers: the rules that sessions should have by now, had everything been
/// granted.
struct Generator {
    rng: Rng,
    features: Features,
    /// Most sessions of the case ask for addresses, until there are none.
    wants_addresses: bool,
    sessions: BTreeMap<Slot, Session>,
}

#[derive(Clone)]
struct Session {
    ue: UeSpec,
    /// Its data network.
    dn: &'static str,
    rules: Rules,
}

impl Generator {
    fn case(&mut self) -> Case {
        let mut steps = vec![self.establish(0)];
        if self.features.nat && self.rng.one_in(16) {
            steps.extend((0..self.rng.within(1, 3)).map(|_| self.flood()));
        }
        for _ in 0..self.rng.within(3, 10) {
            steps.push(self.step());
        }
        Case { steps }
    }

    fn step(&mut self) -> Step {
        match self.rng.below(20) {
            0..=1 => {
                let slot = self.rng.below(3) as Slot;
                self.establish(slot)
            }
            2..=5 => self.modify(),
            6 => match self.rng.below(4) {
                0..=1 => self.delete(),
                2 => Step::DeleteSets(self.some_sets()),
                _ if self.features.applications => self.pfds(),
                _ => Step::Packets(vec![self.packet()]),
            },
            7..=8 => Step::Advance(self.duration_ns()),
            // Few: they take long.
            9 if self.features.nat && self.rng.one_in(16) => self.flood(),
            9 if self.rng.one_in(2) => {
                let burst = self.rng.within(1, 3);
                let mut packets = (0..burst).map(|_| self.cut_packet()).collect();
                keep_one_for_each_stream(&mut packets);
                Step::Packets(packets)
            }
            _ => {
                let burst = self.rng.within(1, 6);
                let mut packets = (0..burst).map(|_| self.packet()).collect();
                nat::keep_one_hairpin(&mut packets);
                Step::Packets(packets)
            }
        }
    }

    fn establish(&mut self, slot: Slot) -> Step {
        let session = self.session(slot);
        let rules = session.rules.clone();
        self.sessions.entry(slot).or_insert(session);
        Step::Establish(slot, rules)
    }

    fn modify(&mut self) -> Step {
        let slot = self.slot();
        let mut change = Change::default();
        for _ in 0..self.rng.within(1, 3) {
            self.change(slot, &mut change);
        }
        // One message changes a rule once.
        keep_first(&mut change.pdrs, |e| e.id.into());
        keep_first(&mut change.fars, |e| e.id);
        keep_first(&mut change.qers, |e| e.id);
        keep_first(&mut change.urrs, |e| e.id);
        keep_first(&mut change.bars, |e| e.id.into());
        Step::Modify(slot, Box::new(change))
    }

    fn delete(&mut self) -> Step {
        let slot = self.slot();
        self.sessions.remove(&slot);
        Step::Delete(slot)
    }

    /// Sets of a few that there are; none now and then.
    fn some_sets(&mut self) -> Vec<SetSpec> {
        let count = self.rng.below(3);
        let set = |rng: &mut Rng| SetSpec {
            node_type: rng.below(2) as u8,
            csid: rng.below(2) as u8,
        };
        (0..count).map(|_| set(&mut self.rng)).collect()
    }

    /// A slot, mostly of a session that exists.
    fn slot(&mut self) -> Slot {
        let slots: Vec<Slot> = self.sessions.keys().copied().collect();
        match slots.is_empty() || self.rng.one_in(30) {
            true => self.rng.below(3) as Slot,
            false => self.rng.pick(&slots),
        }
    }

    fn duration_ns(&mut self) -> u64 {
        let us = self.rng.pick(&[
            1, 10, 1000, 12_345, 100_000, 1_000_000, 3_000_000, 5_000_000,
        ]);
        us * 1000 + self.rng.below(1000)
    }
}

fn keep_first<T>(list: &mut Vec<T>, id: impl Fn(&T) -> u32) {
    let mut seen = Vec::new();
    list.retain(|element| {
        let id = id(element);
        let first = !seen.contains(&id);
        seen.push(id);
        first
    });
}

/// Packets that are put together may overtake each other; nobody promised their order.
fn keep_one_for_each_stream(packets: &mut Vec<PacketSpec>) {
    let mut seen = Vec::new();
    packets.retain(|p| {
        let stream = match p.entry {
            Entry::Tunnel { slot, downlink, .. } => Some((slot, downlink)),
            Entry::Plain { .. } => None,
        };
        let first = !seen.contains(&stream);
        seen.push(stream);
        first
    });
}
