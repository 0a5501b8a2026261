//! Shards of held, shaped and credited sessions move while packets flow: none is lost but by a quota, none overtakes
//! another, and usage is exact.
#![allow(clippy::unwrap_used)]

use crate::kit::many::{Ues, World, shard};
use crate::kit::*;
use sluice_datapath::bells::BellCause;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::{EntryId, RecordId};
use sluice_datapath::limits::{RECORD_RULES, SHARDS};
use sluice_datapath::message::ToControl;
use sluice_datapath::session::token_bucket::{Lead, Rate, Shaping};
use sluice_datapath::session::txn::Op;
use sluice_datapath::session::usage_record::{
    AwaitsPacket, LostRests, NEVER, RecordImage, Restart, WatchedRule,
};
use std::collections::HashMap;

const UES: u32 = 48;
const MS: u64 = 1_000_000;
/// Of shaped sessions: what exceeds 3,200 octets at once waits for 0.3 ms and more.
const RATE_BPS: u64 = 100_000_000;
/// Packets that come for one of them at once.
const BURST: u32 = 200;
/// Packets for an idle UE after which it is back, and so many as may be held of one: transactions take their time.
const HELD_MOST: u32 = 20;
const HELD_ROOM: u8 = 200;
/// Octets of credited sessions: those of the threshold are told of, then others are granted; now and then that is too
/// late.
const THRESHOLD: i64 = 1_500;
const QUOTA: i64 = 1_510;

/// What a session is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Usual,
    Held,
    Shaped,
    Credited,
}

const KINDS: [Kind; 4] = [Kind::Usual, Kind::Held, Kind::Shaped, Kind::Credited];

fn kind(ue: u32) -> Kind {
    KINDS[ue as usize % KINDS.len()]
}

struct Soak {
    world: World,
    /// Packets that came for idle UEs.
    idle: HashMap<u32, u32>,
    /// Usage that was taken of credited UEs, uplink and downlink, and whose is being taken.
    taken: HashMap<u32, [u64; 2]>,
    asked: Vec<u32>,
    /// How often packets were held, and quotas granted.
    episodes: u64,
    grants: u64,
}

impl Soak {
    fn new(seed: u64) -> Self {
        let mut world = World::new(3, Ues(UES), seed);
        world.kit.tables.shaping = Shaping {
            burst: Lead::from_ns(MS / 10),
            delay: Lead::from_ns(100 * MS),
            session_packets: 4_096,
            worker_packets: 32_768,
        };
        world.kit.control.publish(world.kit.tables.clone());
        world.told = Some(Vec::new());
        let mut soak = Self {
            world,
            idle: HashMap::new(),
            taken: HashMap::new(),
            asked: Vec::new(),
            episodes: 0,
            grants: 0,
        };
        for ue in 0..UES {
            match kind(ue) {
                Kind::Usual | Kind::Held => {}
                Kind::Shaped => soak.shape(ue),
                Kind::Credited => soak.credit(ue),
            }
        }
        soak
    }

    fn shape(&mut self, ue: u32) {
        let rate = Rate::from_bps(RATE_BPS).unwrap().shaped();
        let (mut up, mut down) = (self.world.uplink_of(ue), self.world.downlink_of(ue));
        (up.body.rate0, down.body.rate0) = (rate, rate);
        let [ul, dl] = self.world.entries(ue);
        let ops = [set(ul, up), set(dl, down)];
        self.world.kit.apply(ul, &ops, &[]);
    }

    fn credit(&mut self, ue: u32) {
        let [ul, dl] = self.world.entries(ue);
        let (mut up, mut down) = (self.world.uplink_of(ue), self.world.downlink_of(ue));
        let mut ops = Vec::new();
        for (at, entry) in [(ul, &mut up), (dl, &mut down)] {
            entry.body.rate1 = Rate::STAMP;
            entry.body.usage = entry.body.usage.awaiting_grants();
            ops.push(Op::RecordOf {
                entry: EntryId(at),
                record: record(ul),
            });
        }
        ops.extend([set(ul, up), set(dl, down), self.granted(ue)]);
        self.world.kit.apply(ul, &ops, &[]);
        self.taken.insert(ue, [0; 2]);
    }

    /// A measurement begins, with a new quota.
    fn granted(&self, ue: u32) -> Op {
        let [ul, dl] = self.world.entries(ue);
        let mut rules = [(WatchedRule::NONE, 0); RECORD_RULES];
        rules[0] = (WatchedRule::of_entry(EntryId(ul), true).unwrap(), 1);
        rules[1] = (WatchedRule::of_entry(EntryId(dl), false).unwrap(), 1);
        let total = |octets| [NEVER, NEVER, octets];
        let image = RecordImage {
            next: RecordId(0),
            threshold: total(THRESHOLD),
            restart: Restart::Now,
            quota: Some(total(QUOTA)),
            awaits_start: Some(false),
            awaits_packet: AwaitsPacket::NEVER,
            stops: false,
            before_qos: false,
            lost: LostRests::NEVER,
            restarts_lost: false,
            rules,
        };
        Op::Record {
            at: record(ul),
            image,
        }
    }

    /// Takes the usage of a credited UE, and grants anew.
    fn take(&mut self, ue: u32) {
        let [ul, dl] = self.world.entries(ue);
        let entries = [ul, dl].map(|at| Op::TakeEntry { at: EntryId(at) });
        let ops = [&entries[..], &[self.granted(ue)]].concat();
        self.world.kit.send(ul, &ops);
        self.asked.push(ue);
        self.grants += 1;
    }

    /// What workers told since: usage that was taken, and bells of those that have something to tell.
    fn listen(&mut self) {
        let credited: HashMap<u16, u32> = self.taken.keys().map(|ue| (shard(*ue), *ue)).collect();
        for message in std::mem::take(self.world.told.as_mut().unwrap()) {
            match message {
                ToControl::Done(txn) if txn.usage.len() == 2 => {
                    let Some(ue) = credited.get(&txn.shard.0) else {
                        continue;
                    };
                    let at = self.asked.iter().position(|asked| asked == ue);
                    self.asked.swap_remove(at.unwrap());
                    let taken = self.taken.get_mut(ue).unwrap();
                    taken[0] += txn.usage[0].bytes;
                    taken[1] += txn.usage[1].bytes;
                }
                ToControl::Bell(bell) if bell.cause == BellCause::Usage => {
                    let mut all = credited.values();
                    let of = |ue: &&u32| self.world.entries(**ue).contains(&bell.entry.0);
                    let ue = *all.find(of).unwrap();
                    if !self.asked.contains(&ue) {
                        self.take(ue);
                    }
                }
                _ => {}
            }
        }
    }

    /// UEs of this kind, by lot.
    fn any(&mut self, of: Kind) -> u32 {
        let all: Vec<u32> = (0..UES).filter(|ue| kind(*ue) == of).collect();
        all[self.world.lot(all.len() as u64) as usize]
    }

    fn packets(&mut self, packets: u32) {
        for _ in 0..packets {
            let (ue, up) = (self.world.lot(UES.into()) as u32, self.world.lot(2) == 0);
            if let Some(came) = self.idle.get_mut(&ue).filter(|_| !up) {
                *came += 1;
                if *came == HELD_MOST {
                    self.world.activate(ue);
                    self.idle.remove(&ue);
                }
            }
            self.world.inject_of(ue, up);
        }
    }

    fn round(&mut self) {
        self.packets(24);
        if self.world.lot(4) == 0 {
            let ue = self.any(Kind::Held);
            match self.idle.remove(&ue) {
                Some(_) => self.world.activate(ue),
                None => {
                    self.world.idle_with(ue, Some(HELD_ROOM));
                    self.idle.insert(ue, 0);
                    self.episodes += 1;
                }
            }
        }
        if self.world.lot(60) == 0 {
            let (ue, up) = (self.any(Kind::Shaped), self.world.lot(2) == 0);
            (0..BURST).for_each(|_| self.world.inject_of(ue, up));
        }
        let moves = self.world.lot(5);
        (0..moves).for_each(|_| self.world.move_one());
        self.world.some_turns(12);
        self.listen();
    }

    /// Everything leaves; the last usage is taken.
    fn end(mut self) -> World {
        let idle: Vec<u32> = self.idle.drain().map(|(ue, _)| ue).collect();
        idle.into_iter().for_each(|ue| self.world.activate(ue));
        self.world.settle();
        self.listen();
        self.world.settle();
        self.listen();
        let credited: Vec<u32> = self.taken.keys().copied().collect();
        for ue in credited {
            assert!(!self.asked.contains(&ue), "UE {ue}: nothing came back");
            self.take(ue);
        }
        self.world.settle();
        self.listen();
        assert!(self.asked.is_empty());
        for (ue, taken) in &self.taken {
            let left = |up| self.world.left.get(&(*ue, up)).copied().unwrap_or(0);
            assert_eq!(*taken, [left(true), left(false)], "UE {ue}");
        }
        self.world
    }
}

/// The cell of a session whose uplink has this entry.
fn record(uplink: u32) -> RecordId {
    RecordId(SHARDS + uplink)
}

#[test]
fn held_shaped_and_credited_sessions_move_at_random_under_traffic() {
    // Some of what can go wrong does so once in ten thousand rounds.
    let rounds = crate::moves::rounds().max(20_000);
    for seed in 1..=2 {
        let mut soak = Soak::new(seed);
        (0..rounds).for_each(|_| soak.round());
        let (episodes, grants) = (soak.episodes, soak.grants);
        let world = soak.end();
        let (moves, _) = world.kit.control.mover().progress();
        let shaped: u64 = world
            .kit
            .control
            .stats()
            .iter()
            .map(|s| s.shaped.get())
            .sum();
        let stopped = world.kit.dropped(DropReason::QuotaExhausted);
        println!(
            "seed {seed}: {moves} moves, {episodes} times idle, {shaped} packets shaped, {grants} \
             grants, {stopped} packets without credit"
        );
        assert!(
            moves > rounds && episodes > rounds / 10,
            "{moves} {episodes}"
        );
        assert!(
            shaped > rounds / 10 && grants > rounds / 10,
            "{shaped} {grants}"
        );
        assert!(stopped > 0);
        world.close_in_order(stopped);
    }
}
