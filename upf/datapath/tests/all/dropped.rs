//! Dropped packets that count. Packets to UEs that are lost (Dropped DL Traffic Threshold): those that a FAR drops, and
//! those that are held and given up; told of with the packet that reaches a threshold, once. Measurement before QoS
//! enforcement: packets that gates and bit rates drop count for the URRs that ask, and for no others.
#![allow(clippy::unwrap_used)]

use crate::kit::*;
use sluice_datapath::bells::BellCause;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::{EntryId, RecordId};
use sluice_datapath::limits::{HELD_NS, RECORD_RULES, SHARDS};
use sluice_datapath::message::ToControl;
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::token_bucket::Rate;
use sluice_datapath::session::txn::{HeldOrder, Op, Txn, Usage};
use sluice_datapath::session::usage_record::{
    AwaitsPacket, LostRests, NEVER, RecordImage, Restart, UrrState, WatchedRule,
};

/// The inner length of every packet here.
const OCTETS: u64 = 1_000;

/// A downlink with two URRs: one tells of lost packets, the other of lost octets.
struct Watched {
    kit: Kit,
    s: Session,
    cells: [RecordId; 2],
    lost: [LostRests; 2],
}

impl Watched {
    fn new(
        (packets, octets): (u64, u64),
        downlink_is: impl Fn(SessionEntry) -> SessionEntry,
    ) -> Self {
        let mut kit = Kit::new();
        let s = kit.default_session();
        let mut watched = Self {
            kit,
            cells: [0, 1].map(|round| RecordId(round * SHARDS + s.dl % SHARDS)),
            lost: [
                LostRests::new(Some(packets), None),
                LostRests::new(None, Some(octets)),
            ],
            s,
        };
        let mut entry = downlink_is(downlink());
        entry.body.usage = entry.body.usage.awaiting_grants();
        let mut ops = vec![
            Op::RecordOf {
                entry: EntryId(s.dl),
                record: watched.cells[0],
            },
            set(s.dl, entry),
        ];
        ops.extend(watched.images(true));
        watched.kit.apply(s.dl, &ops, &[]);
        watched
    }

    fn images(&self, restarts_lost: bool) -> [Op; 2] {
        [0, 1].map(|urr| {
            let mut rules = [(WatchedRule::NONE, 0); RECORD_RULES];
            if urr == 0 {
                let rule = WatchedRule::of_entry(EntryId(self.s.dl), false);
                rules[0] = (rule.unwrap(), 0b11);
            }
            let image = RecordImage {
                next: [self.cells[1], RecordId(0)][urr],
                threshold: [NEVER; 3],
                restart: Restart::Now,
                quota: Some([NEVER; 3]),
                awaits_start: None,
                awaits_packet: AwaitsPacket::NEVER,
                stops: false,
                before_qos: false,
                lost: self.lost[urr],
                restarts_lost,
                rules,
            };
            Op::Record {
                at: self.cells[urr],
                image,
            }
        })
    }

    fn send(&mut self, packets: usize) {
        let packet = udp_packet(SERVER, UE, (80, 4000), &[0; OCTETS as usize - 28]);
        for _ in 0..packets {
            self.kit.dn_sends(&packet);
        }
    }

    fn bells(&self) -> usize {
        let is_bell = |m: &&ToControl<_>| matches!(m, ToControl::Bell(bell) if bell.cause == BellCause::Usage);
        self.kit.punted.iter().filter(is_bell).count()
    }

    /// Which of both URRs has something to tell, behind other operations.
    fn take(&mut self, first: &[Op]) -> [bool; 2] {
        let at = EntryId(self.s.dl);
        let mut ops = first.to_vec();
        ops.push(Op::TakeEntry { at });
        ops.extend(self.images(false));
        let txn = self.kit.transact(self.s.dl, &ops, &[]);
        [0, 1].map(|urr: usize| txn.marks[urr].state == UrrState::LOST)
    }
}

#[test]
fn what_a_far_drops_is_lost() {
    let mut watched = Watched::new((3, 5 * OCTETS), |mut entry| {
        entry.head.flags = entry.head.flags.without(Flags::FORWARD);
        entry
    });
    watched.send(2);
    assert_eq!(watched.bells(), 0);
    watched.send(1);
    assert_eq!(watched.bells(), 1);
    assert_eq!(watched.kit.dropped(DropReason::FarDrop), 3);
    assert_eq!(watched.take(&[]), [true, false]);
    // Packets begin anew; octets go on.
    watched.send(2);
    assert_eq!(watched.bells(), 2);
    assert_eq!(watched.take(&[]), [false, true]);
    watched.send(1);
    assert_eq!(watched.take(&[]), [true, false]);
    watched.kit.close();
}

#[test]
fn what_is_held_and_given_up_is_lost() {
    let mut watched = Watched::new((4, 2 * OCTETS), |entry| holding(entry, Some(3)));
    watched.send(3);
    assert_eq!(watched.take(&[]), [false; 2], "they may still leave");
    // It finds no room.
    watched.send(1);
    assert_eq!(watched.kit.dropped(DropReason::HoldFull), 1);
    assert_eq!(watched.bells(), 0);
    watched.kit.now_ns += HELD_NS;
    watched.kit.settle();
    assert_eq!(watched.kit.dropped(DropReason::HoldExpired), 3);
    assert_eq!(watched.bells(), 1, "both at once");
    assert_eq!(watched.take(&[]), [true; 2]);
    // What is not wanted is lost in front of all else.
    watched.send(2);
    let discard = held(watched.s.dl, HeldOrder::Discard);
    assert_eq!(watched.take(&[discard]), [false, true]);
    watched.kit.close();
}

#[test]
fn what_leaves_or_goes_with_its_session_is_not_lost() {
    let mut watched = Watched::new((1, 1), |entry| holding(entry, None));
    watched.send(2);
    let dl = watched.s.dl;
    let mut forwards = downlink();
    forwards.body.usage = forwards.body.usage.awaiting_grants();
    let ops = [set(dl, forwards), held(dl, HeldOrder::Again)];
    assert_eq!(watched.take(&ops), [false; 2]);
    assert_eq!(output(&watched.kit.n3).len(), 2);
    let holds = set(dl, holding(downlink(), None));
    watched.kit.apply(dl, &[holds], &[]);
    watched.send(2);
    let bells = watched.bells();
    let gone = set(dl, SessionEntry::default());
    watched.kit.apply(dl, &[gone], &[]);
    assert_eq!(watched.kit.dropped(DropReason::HoldDiscarded), 2);
    assert_eq!(watched.bells(), bells);
    watched.kit.close();
}

/// An uplink rule with two URRs, of which the first measures before QoS enforcement; each tells of so many octets.
struct Measured {
    kit: Kit,
    s: Session,
    rule: WatchedRule,
    cells: [RecordId; 2],
}

impl Measured {
    fn new(threshold: i64, change: impl Fn(&mut SessionEntry)) -> Self {
        let mut kit = Kit::new();
        let s = kit.default_session();
        let mut measured = Self {
            kit,
            rule: WatchedRule::of_entry(EntryId(s.ul), true).unwrap(),
            cells: [0, 1].map(|round| RecordId(round * SHARDS + s.ul)),
            s,
        };
        let mut entry = uplink(measured.s.teid);
        entry.body.usage = entry.body.usage.awaiting_grants();
        entry.head = entry.head.counting_drops(true);
        change(&mut entry);
        let ul = measured.s.ul;
        let mut ops = vec![
            Op::RecordOf {
                entry: EntryId(ul),
                record: measured.cells[0],
            },
            set(ul, entry),
        ];
        ops.extend(measured.images(threshold));
        measured.kit.apply(ul, &ops, &[]);
        measured
    }

    fn images(&self, threshold: i64) -> [Op; 2] {
        [0, 1].map(|urr| {
            let mut rules = [(WatchedRule::NONE, 0); RECORD_RULES];
            if urr == 0 {
                rules[0] = (self.rule, 0b11);
                rules[1] = (self.rule.drops(), 0);
            }
            let image = RecordImage {
                next: [self.cells[1], RecordId(0)][urr],
                threshold: [NEVER, NEVER, threshold],
                restart: Restart::Now,
                quota: Some([NEVER; 3]),
                awaits_start: None,
                awaits_packet: AwaitsPacket::NEVER,
                stops: false,
                before_qos: urr == 0,
                lost: LostRests::NEVER,
                restarts_lost: false,
                rules,
            };
            Op::Record {
                at: self.cells[urr],
                image,
            }
        })
    }

    fn send(&mut self, packets: usize) {
        let inner = udp_packet(UE, SERVER, (1, 2), &[0; 972]);
        for _ in 0..packets {
            self.kit.gnb_sends(self.s.teid.get(), &inner);
        }
    }

    fn bells(&self) -> usize {
        let is_bell = |m: &&ToControl<_>| matches!(m, ToControl::Bell(bell) if bell.cause == BellCause::Usage);
        self.kit.punted.iter().filter(is_bell).count()
    }

    /// Usage of what passed and of what was dropped, and what is to be told.
    fn take(&mut self) -> Box<Txn> {
        let mut ops = vec![
            Op::TakeEntry {
                at: EntryId(self.s.ul),
            },
            Op::TakeDrops {
                record: self.cells[0],
                rule: self.rule,
            },
        ];
        ops.extend(self.images(NEVER));
        self.kit.transact(self.s.ul, &ops, &[])
    }
}

#[test]
fn what_a_closed_gate_drops_counts_before_qos_enforcement() {
    let mut measured = Measured::new(3_000, |entry| {
        entry.head.flags = entry.head.flags.with(Flags::GATE_CLOSED);
    });
    measured.send(2);
    assert_eq!(measured.bells(), 0);
    measured.send(2);
    assert_eq!(measured.bells(), 1, "with the packet that reaches it, once");
    assert_eq!(measured.kit.dropped(DropReason::GateClosed), 4);
    let txn = measured.take();
    let dropped = Usage {
        bytes: 4_000,
        packets: 4,
    };
    assert_eq!(txn.usage[..], [Usage::default(), dropped]);
    let told = [0, 1].map(|urr: usize| txn.marks[urr].state);
    assert_eq!(told, [UrrState::THRESHOLD, UrrState::default()]);
    assert_eq!(measured.take().usage[..], [Usage::default(); 2]);
    measured.kit.close();
}

#[test]
fn what_a_bit_rate_drops_and_what_passes_is_all_that_came() {
    // 8 Mbit/s: the bucket holds 100 ms, 100,000 octets, a hundred packets.
    let mut measured = Measured::new(110_000, |entry| {
        entry.body.rate0 = Rate::from_bps(8_000_000).unwrap();
    });
    measured.send(120);
    let policed = measured.kit.dropped(DropReason::MbrExceeded);
    assert!((18..=20).contains(&policed), "{policed}");
    let txn = measured.take();
    let [passed, dropped] = [txn.usage[0], txn.usage[1]];
    assert_eq!((passed.packets, dropped.packets), (120 - policed, policed));
    assert_eq!(passed.bytes + dropped.bytes, 120_000);
    let told = [0, 1].map(|urr: usize| txn.marks[urr].state);
    assert_eq!(told, [UrrState::THRESHOLD, UrrState::default()]);
    measured.kit.close();
}
