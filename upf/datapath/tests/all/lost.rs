//! Packets to UEs that are lost (Dropped DL Traffic Threshold): what a FAR drops, and what is held and given up. Told of
//! with the packet that reaches a threshold, once.
#![allow(clippy::unwrap_used)]

use crate::kit::*;
use sluice_datapath::bells::BellCause;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::{EntryId, RecordId};
use sluice_datapath::limits::{HELD_NS, RECORD_RULES, SHARDS};
use sluice_datapath::message::ToControl;
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::txn::{HeldOrder, Op};
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
