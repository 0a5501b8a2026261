//! Grants, and times of packets: what happens at an amount of octets happens with exactly the packet that reaches it, for rules
//! of entries and of blocks, while the shard moves.

use crate::kit::*;
use sluice_datapath::bells::BellCause;
use sluice_datapath::drop::DropReason;
use sluice_datapath::forward::pdr::At;
use sluice_datapath::ids::{BlockId, EgressId, EntryId, PeerId, RecordId, WorkerId};
use sluice_datapath::limits::{RECORD_RULES, SHARDS};
use sluice_datapath::message::ToControl;
use sluice_datapath::session::rule::{Body, Flags, Head, Rule};
use sluice_datapath::session::token_bucket::Rate;
use sluice_datapath::session::txn::{Op, Txn};
use sluice_datapath::session::usage_record::{
    AwaitsPacket, LostRests, Marks, NEVER, RecordImage, Restart, Rests, UrrState, WatchedRule,
};
use sluice_mem::shard::ShardId;
use sluice_port_sim::SimPortConfig;
use sluice_wire::eth::EtherType;

/// One URR as anybody would count it.
#[derive(Clone, Copy, Debug)]
struct Model {
    threshold: Rests,
    quota: Rests,
    measured: [i64; 2],
    granted: [i64; 2],
    awaits_start: bool,
    marks: UrrState,
}

fn reached(limits: &Rests, used: [i64; 2]) -> bool {
    used_up(limits, used).contains(&true)
}

fn used_up(limits: &Rests, [uplink, downlink]: [i64; 2]) -> [bool; 3] {
    let used = [uplink, downlink, uplink + downlink];
    core::array::from_fn(|at| used[at] >= limits[at])
}

impl Model {
    fn may_pass(&self, direction: usize) -> bool {
        let [uplink, downlink] = self.granted;
        let is_below = |at: usize, used: i64| used < self.quota[at];
        is_below(direction, self.granted[direction]) && is_below(2, uplink + downlink)
    }

    fn count(&mut self, direction: usize, bytes: i64) {
        let were_out = used_up(&self.quota, self.granted);
        self.measured[direction] += bytes;
        self.granted[direction] += bytes;
        if core::mem::take(&mut self.awaits_start) {
            self.marks = self.marks.with(UrrState::STARTED);
        }
        if reached(&self.threshold, self.measured) {
            self.marks = self.marks.with(UrrState::THRESHOLD);
        }
        if used_up(&self.quota, self.granted) != were_out {
            self.marks = self.marks.with(UrrState::QUOTA);
        }
    }
}

/// Numbers as they come.
struct Lots(u64);

impl Lots {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }

    /// Some of the three amounts, from a few octets to a megabyte.
    fn limits(&mut self) -> Rests {
        let top = [2_000, 20_000, 200_000, 2_000_000][self.below(4) as usize];
        core::array::from_fn(|_| match self.below(3) {
            0 => NEVER,
            _ => self.below(top) as i64 + 1,
        })
    }
}

pub struct Watch {
    pub kit: Kit,
    pub s: Session,
    in_blocks: bool,
    block: u32,
    cells: [RecordId; 2],
    models: [Model; 2],
}

fn two_workers() -> Kit {
    let queues = |name: &str| SimPortConfig {
        rx_queues: 2,
        tx_queues: 2,
        ..SimPortConfig::named(name)
    };
    Kit::with_queues(2, queues("n3"), queues("n6"))
}

impl Watch {
    /// Two URRs that count both directions, whose rules stand in entries or in a block.
    fn new(in_blocks: bool, lots: &mut Lots) -> Self {
        Self::on(two_workers(), in_blocks, lots)
    }

    fn on(mut kit: Kit, in_blocks: bool, lots: &mut Lots) -> Self {
        let s = kit.default_session();
        let cells = [0, 1].map(|round| RecordId(round * SHARDS + s.ul));
        let block = s.ul;
        let models = [(); 2].map(|()| Model {
            threshold: lots.limits(),
            quota: [NEVER; 3],
            measured: [0; 2],
            granted: [0; 2],
            awaits_start: lots.below(2) == 0,
            marks: UrrState::default(),
        });
        let mut watch = Self {
            kit,
            s,
            in_blocks,
            block,
            cells,
            models,
        };
        watch.install();
        watch
    }

    fn rules(&self) -> [WatchedRule; 2] {
        if self.in_blocks {
            [(0, true), (1, false)].map(|(at, uplink)| {
                let at = At::new(BlockId(self.block + at * SHARDS), 0).unwrap();
                WatchedRule::in_block(at, uplink).unwrap()
            })
        } else {
            [
                WatchedRule::of_entry(EntryId(self.s.ul), true).unwrap(),
                WatchedRule::of_entry(EntryId(self.s.dl), false).unwrap(),
            ]
        }
    }

    /// The same as a default session whose URR has a threshold of a mebibyte; there is only one URR.
    pub fn armed(kit: Kit) -> Self {
        let mut watch = Self::on(kit, false, &mut Lots(1));
        let limits = [NEVER, NEVER, 1 << 20];
        for model in &mut watch.models {
            (model.threshold, model.quota) = (limits, [NEVER; 3]);
            model.awaits_start = false;
        }
        watch.cells[1] = RecordId(0);
        let mut ops = watch.take_all();
        // Only octets are measured: nobody asks when packets left.
        let Session { teid, ul, dl } = watch.s;
        for (at, mut entry) in [(ul, uplink(teid)), (dl, downlink())] {
            entry.body.usage = entry.body.usage.awaiting_grants();
            ops.push(set(at, entry));
        }
        let mut record = watch.images(|_| Restart::Now, true).swap_remove(0);
        if let Op::Record { image, .. } = &mut record {
            // One cell for both directions.
            let rules = watch.rules().map(|rule| (rule, 1));
            image.rules[..2].copy_from_slice(&rules);
        }
        ops.push(record);
        watch.kit.apply(watch.s.ul, &ops, &[]);
        watch
    }

    fn install(&mut self) {
        let Session { teid, ul, dl } = self.s;
        let (mut up, mut down) = (uplink(teid), downlink());
        let mut ops = Vec::new();
        if self.in_blocks {
            let heads = [
                (up.head, Body::to_egress(EgressId(0))),
                (down.head, Body::to_peer(PeerId(0))),
            ];
            for (at, (head, mut body)) in (0..).zip(heads) {
                let block = BlockId(self.block + at * SHARDS);
                body.rate1 = Rate::STAMP;
                body.usage = body.usage.awaiting_grants();
                let image = Rule {
                    record: self.cells[0],
                    ..Rule::new(head, Default::default(), Default::default(), body)
                };
                ops.push(Op::Rule {
                    block,
                    at: 0,
                    image,
                });
                ops.push(Op::Chain {
                    block,
                    next: BlockId(0),
                    rules_len: 1,
                });
            }
            let chained = |head: Head, at: u32| Head {
                flags: head.flags.with(Flags::EXTENDED),
                teid: self.block + at * SHARDS,
                ..head
            };
            (up.head, down.head) = (chained(up.head, 0), chained(down.head, 1));
        } else {
            let local = down.local();
            (up.body.rate1, down.body.rate1) = (Rate::STAMP, Rate::STAMP);
            up.body.usage = up.body.usage.awaiting_grants();
            down.body.usage = down.body.usage.awaiting_grants();
            assert_eq!(down.local(), local);
            let record = self.cells[0];
            for entry in [ul, dl].map(EntryId) {
                ops.push(Op::RecordOf { entry, record });
            }
        }
        ops.extend([set(ul, up), set(dl, down)]);
        ops.extend(self.images(|_| Restart::Now, true));
        self.kit.apply(ul, &ops, &[]);
    }

    fn images(&self, restart: impl Fn(usize) -> Restart, is_new: bool) -> Vec<Op> {
        let image = |urr: usize| {
            let mut rules = [(WatchedRule::NONE, 0); RECORD_RULES];
            // A rule in each cell; both URRs count both.
            rules[urr] = (self.rules()[urr], 0b11);
            RecordImage {
                next: [self.cells[1], RecordId(0)][urr],
                threshold: self.models[urr].threshold,
                restart: restart(urr),
                quota: is_new.then_some(self.models[urr].quota),
                awaits_start: is_new.then_some(self.models[urr].awaits_start),
                awaits_packet: AwaitsPacket::NEVER,
                stops: false,
                before_qos: false,
                lost: LostRests::NEVER,
                restarts_lost: false,
                rules,
            }
        };
        let all = [0, 1].map(|urr| Op::Record {
            at: self.cells[urr],
            image: image(urr),
        });
        all.to_vec()
    }

    fn send(&mut self, uplink: bool, payload_len: usize) {
        let bytes = (payload_len + 28) as i64;
        let payload = vec![0x5a; payload_len];
        let direction = usize::from(!uplink);
        let passes = self.models.iter().all(|urr| urr.may_pass(direction));
        let before = self.kit.dropped(DropReason::QuotaExhausted);
        if uplink {
            let inner = udp_packet(UE, SERVER, (1, 2), &payload);
            self.kit.gnb_sends(self.s.teid.get(), &inner);
        } else {
            self.kit.dn_sends(&udp_packet(SERVER, UE, (1, 2), &payload))
        }
        let dropped = self.kit.dropped(DropReason::QuotaExhausted) - before;
        let left = output(&self.kit.n3).len() + output(&self.kit.n6).len();
        assert_eq!((left, dropped), if passes { (1, 0) } else { (0, 1) });
        let was_silent = self.are_silent();
        if passes {
            self.models
                .iter_mut()
                .for_each(|urr| urr.count(direction, bytes));
        }
        let is_bell =
            |m: &ToControl<_>| matches!(m, ToControl::Bell(bell) if bell.cause == BellCause::Usage);
        let bells = self.kit.punted.iter().filter(|m| is_bell(m)).count();
        self.kit.punted.retain(|m| !is_bell(m));
        let expected = usize::from(was_silent && !self.are_silent());
        assert_eq!(
            bells, expected,
            "{:?} after {bytes} of {direction}, silent {was_silent}",
            self.models
        );
    }

    fn are_silent(&self) -> bool {
        self.models
            .iter()
            .all(|urr| urr.marks == UrrState::default())
    }

    fn take_all(&self) -> Vec<Op> {
        let [ul, dl] = [self.s.ul, self.s.dl].map(EntryId);
        let of_block = |at: u32| Op::TakeRule {
            block: BlockId(self.block + at * SHARDS),
            at: 0,
        };
        if self.in_blocks {
            vec![of_block(0), of_block(1)]
        } else {
            vec![Op::TakeEntry { at: ul }, Op::TakeEntry { at: dl }]
        }
    }

    /// Each direction's usage is its own rule's, whatever was granted to whom.
    fn check_totals(&mut self, expected: [u64; 2]) {
        let mut ops = self.take_all();
        ops.extend(self.images(|_| Restart::Now, false));
        let txn = self.kit.transact(self.s.ul, &ops, &[]);
        let bytes: Vec<u64> = txn.usage.iter().map(|usage| usage.bytes).collect();
        assert_eq!(bytes, expected);
        self.check(&txn, |_| Restart::Now);
    }

    /// Takes all usage; URRs that have something to tell begin anew.
    fn take(&mut self, restart: impl Fn(usize) -> Restart + Copy) {
        let mut ops = self.take_all();
        ops.extend(self.images(restart, false));
        let txn = self.kit.transact(self.s.ul, &ops, &[]);
        self.check(&txn, restart);
    }

    fn check(&mut self, txn: &Txn, restart: impl Fn(usize) -> Restart) {
        for (urr, (model, marks)) in self.models.iter_mut().zip(&txn.marks).enumerate() {
            let Marks {
                state, first_ns, ..
            } = *marks;
            assert_eq!(state, model.marks);
            if model.marks != UrrState::default() || restart(urr) == Restart::Now {
                model.measured = [0; 2];
            }
            model.marks = UrrState::default();
            let used: u64 = txn.usage.iter().map(|usage| usage.packets).sum();
            assert_eq!(first_ns != 0, used > 0);
        }
    }
}

fn with_any_limits(in_blocks: bool, seed: u64) {
    let mut lots = Lots(seed);
    let mut watch = Watch::new(in_blocks, &mut lots);
    let mut unreported = [0u64; 2];
    let (mut stopped, mut told) = (0, 0);
    for step in 0..3_000 {
        match lots.below(40) {
            0 => {
                let restart = |_| Restart::IfMarked(UrrState::MARKS);
                told += u32::from(!watch.are_silent());
                watch.take(restart);
                unreported = [0; 2];
            }
            1 if lots.below(4) == 0 => {
                // A new quota for both.
                watch.take(|_| Restart::IfMarked(UrrState::MARKS));
                unreported = [0; 2];
                for urr in 0..2 {
                    watch.models[urr].quota = lots.limits();
                    watch.models[urr].granted = [0; 2];
                    watch.models[urr].awaits_start = lots.below(2) == 0;
                }
                let ops = [Op::TakeEntry {
                    at: EntryId(watch.s.ul),
                }];
                let ops = [
                    &ops[..],
                    &watch.images(|_| Restart::IfMarked(UrrState::MARKS), true),
                ]
                .concat();
                watch.kit.apply(watch.s.ul, &ops, &[]);
            }
            2 => {
                let to = WorkerId(lots.below(2) as u8);
                let shard = ShardId((watch.s.ul % SHARDS) as u16);
                assert!(watch.kit.control.move_shard(shard, to));
                watch.kit.settle();
                watch
                    .kit
                    .punted
                    .retain(|m| !matches!(m, ToControl::Moved(_)));
            }
            _ => {
                let uplink = lots.below(2) == 0;
                let len = [4, 100, 900, 1300][lots.below(4) as usize];
                let may = watch
                    .models
                    .iter()
                    .all(|urr| urr.may_pass(usize::from(!uplink)));
                stopped += u32::from(!may);
                watch.send(uplink, len);
                if may {
                    unreported[usize::from(!uplink)] += len as u64 + 28;
                }
            }
        }
        if step % 500 == 499 {
            watch.check_totals(core::mem::take(&mut unreported));
        }
    }
    assert!(told > 3, "{told} times something was told");
    assert!(stopped > 0, "no quota was used up");
    watch.kit.close();
}

#[test]
fn rules_of_entries_stop_and_tell_with_the_packet_that_reaches_it() {
    (1..=8).for_each(|seed| with_any_limits(false, seed));
}

#[test]
fn rules_of_blocks_stop_and_tell_with_the_packet_that_reaches_it() {
    (1..=8).for_each(|seed| with_any_limits(true, seed));
}

/// A threshold of 1,000 octets is free5GC's default.
#[test]
fn most_short_packets_towards_a_low_threshold_ask_nobody() {
    let mut watch = Watch::new(false, &mut Lots(1));
    for model in &mut watch.models {
        (model.threshold, model.quota) = ([NEVER, NEVER, 1_000], [NEVER; 3]);
        model.awaits_start = false;
    }
    let mut ops = watch.take_all();
    ops.extend(watch.images(|_| Restart::Now, true));
    watch.kit.apply(watch.s.ul, &ops, &[]);
    let slow = |watch: &Watch| -> u64 {
        let stats = watch.kit.control.stats().iter();
        stats.flat_map(|s| &s.slow).map(|n| n.get()).sum()
    };
    let before = slow(&watch);
    // 64 octets each: one more reaches the threshold.
    (0..15).for_each(|n| watch.send(n % 2 == 0, 36));
    assert!(watch.are_silent());
    let asked = slow(&watch) - before;
    assert!(asked <= 7, "{asked} of 15 packets asked");
    watch.send(false, 36);
    assert!(!watch.are_silent());
    watch.kit.close();
}

/// Nothing happens at an amount of octets; what is told of packets is when they left.
fn with_time(in_blocks: bool) {
    let mut watch = Watch::new(in_blocks, &mut Lots(1));
    for model in &mut watch.models {
        (model.threshold, model.quota) = ([NEVER; 3], [NEVER; 3]);
    }
    let take = |watch: &mut Watch, awaits_packet: AwaitsPacket, stops: bool| {
        let mut ops = watch.take_all();
        for mut op in watch.images(|_| Restart::Now, true) {
            if let Op::Record { image, .. } = &mut op {
                image.awaits_start = Some(false);
                (image.awaits_packet, image.stops) = (awaits_packet, stops);
            }
            ops.push(op);
        }
        let txn = watch.kit.transact(watch.s.ul, &ops, &[]);
        txn.marks[0]
    };
    // Gives when it left at the earliest and at the latest, how many left, and how many bells rang.
    let send = |watch: &mut Watch| {
        let from_ns = watch.kit.now_ns;
        watch
            .kit
            .dn_sends(&udp_packet(SERVER, UE, (1, 2), &[9; 300]));
        let left = output(&watch.kit.n3).len();
        let before = watch.kit.punted.len();
        watch
            .kit
            .punted
            .retain(|m| !matches!(m, ToControl::Bell(_)));
        let bells = before - watch.kit.punted.len();
        (from_ns..=watch.kit.now_ns, left, bells)
    };
    let if_idle = |if_none, before_ns| AwaitsPacket { if_none, before_ns };
    take(&mut watch, if_idle(true, 0), false);
    let (first, left, bells) = send(&mut watch);
    assert_eq!((left, bells), (1, 1), "it was awaited");
    watch.kit.now_ns += 5_000_000_000;
    assert_eq!(send(&mut watch).2, 0);
    let (last, _, bells) = send(&mut watch);
    assert_eq!(bells, 0, "once");
    let marks = take(&mut watch, if_idle(true, *last.start()), false);
    assert_eq!(marks.state, UrrState::RESUMED);
    assert!(first.contains(&marks.first_ns) && last.contains(&marks.last_ns));
    // The last packet left late enough: the next one is not awaited, but known.
    let (only, _, bells) = send(&mut watch);
    assert_eq!(bells, 0);
    watch.kit.now_ns += 1_000_000_000;
    let marks = take(&mut watch, if_idle(false, u64::MAX), false);
    assert_eq!(marks.state, UrrState::default());
    assert!(only.contains(&marks.first_ns) && only.contains(&marks.last_ns));
    assert_eq!(send(&mut watch).2, 1, "the last packet was too long ago");
    let marks = take(&mut watch, if_idle(true, 0), true);
    assert_eq!(marks.state, UrrState::RESUMED);
    let (_, left, bells) = send(&mut watch);
    assert_eq!((left, bells), (0, 0), "nothing passes");
    assert_eq!(watch.kit.dropped(DropReason::QuotaExhausted), 1);
    let marks = take(&mut watch, AwaitsPacket::NEVER, false);
    assert_eq!(marks, Marks::default());
    assert_eq!(send(&mut watch).1, 1);
    watch.kit.close();
}

#[test]
fn first_and_last_packet_are_told_and_a_quota_of_time_stops() {
    with_time(false);
    with_time(true);
}

/// Packets in one direction and the other, in bursts, and how many of them took the slow path.
fn pass(kit: &mut Kit, s: Session, bursts: u32) -> u64 {
    let slow = |kit: &Kit| {
        let stats = kit.control.stats().iter();
        let all = stats.flat_map(|worker| worker.slow.iter().map(|count| count.get()));
        all.sum::<u64>()
    };
    let before = slow(kit);
    let up = gtpu_frame(GNB, s.teid.get(), 9, &udp_packet(UE, SERVER, (1, 2), &[7]));
    let down = udp_packet(SERVER, UE, (1, 2), &[7]);
    let down = frame(N6_MAC, DN_MAC, EtherType::IPV4, &down);
    for _ in 0..bursts {
        for _ in 0..BURST {
            kit.n3.inject(&up);
            kit.n6.inject(&down);
        }
        kit.settle();
        assert_eq!(output(&kit.n3).len(), BURST);
        assert_eq!(output(&kit.n6).len(), BURST);
    }
    slow(kit) - before
}

const BURST: usize = 32;

/// A URR costs a packet of the fast path as good as nothing: `scripts/path-instructions.sh` counts what.
#[test]
fn packets_of_an_armed_session_take_the_fast_path_between_grants() {
    let bursts = 100;
    let mut kit = two_workers();
    let s = kit.default_session();
    assert_eq!(pass(&mut kit, s, bursts), 0);
    kit.close();
    let mut watch = Watch::armed(two_workers());
    // Each direction takes its grant by its first packet, and another one when it is used up.
    let grants = pass(&mut watch.kit, watch.s, bursts);
    assert!((2..=2 + u64::from(bursts)).contains(&grants), "{grants}");
    let usage = watch.kit.apply(watch.s.ul, &watch.take_all(), &[]);
    let packets = usage.iter().map(|usage| usage.packets);
    let passed = u64::from(bursts) * BURST as u64;
    assert_eq!(packets.collect::<Vec<_>>(), [passed; 2]);
    watch.kit.close();
}
