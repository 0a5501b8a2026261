//! The sessions of the rig and the changes that a script makes to them.

use super::rig::{DN_PEER, GNB_PEER, SILENT_PEER};
use sluice_datapath::ids::{BlockId, EntryId, PeerId};
use sluice_datapath::limits::RULE_QERS;
use sluice_datapath::lookup::exact_match::{ExactKey, ExactWriter};
use sluice_datapath::lookup::layout::{InstanceId, Layout};
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::flow_filter::FilterRun;
use sluice_datapath::session::rule::{Body, BucketRef, Flags, Head, Rule, SharedBucket};
use sluice_datapath::session::token_bucket::Rate;
use sluice_datapath::session::txn::{Clock, EndMarker, Op};

/// The UE with plain rules, and the one whose rules stand in blocks: both of the pool.
pub(super) const UE: u32 = 0x0a2d_0007;
pub(super) const UE_WITH_BLOCKS: u32 = 0x0a2d_0009;
/// The UE outside all pools.
pub(super) const FOREIGN_UE: u32 = 0xc0a8_0009;
/// A TEID that the CP function chose.
pub(super) const FOREIGN_TEID: u32 = 0x0000_0777;
/// The check bits of all TEIDs of the rig.
const CHECK: u32 = 5;

/// Entries that sessions have here, and the extension blocks of `UE_WITH_BLOCKS`.
pub(super) struct Places {
    pub entries: Vec<u32>,
    pub blocks: Vec<u32>,
}

/// All sessions: operations, one transaction each.
pub(super) fn sessions(layout: &Layout, foreign: &mut ExactWriter) -> (Places, Vec<Op>) {
    let shards = sluice_datapath::limits::SHARDS;
    let instance = InstanceId(1);
    let slot = UE % shards;
    let other = UE_WITH_BLOCKS % shards;
    let relay = 20;
    let (foreign_first, _) = layout.foreign();
    let foreign_entries = [foreign_first + 30, foreign_first + 31];
    let downlink = |ue| layout.pool_entry(instance, ue).expect("it is in the pool");
    let teid = |slot| layout.teid(slot, CHECK).expect("a slot").get();
    let blocks = vec![other + shards, other + 2 * shards];
    let mut ops = vec![
        entry(slot, up(teid(slot), UE)),
        entry(downlink(UE).0, down(UE, GNB_PEER)),
        entry(relay, relayed(teid(relay))),
        entry(foreign_entries[0], up(FOREIGN_TEID, FOREIGN_UE)),
        entry(foreign_entries[1], down(FOREIGN_UE, SILENT_PEER)),
        entry(other, extended(up(teid(other), UE_WITH_BLOCKS), blocks[0])),
        entry(downlink(UE_WITH_BLOCKS).0, down(UE_WITH_BLOCKS, GNB_PEER)),
    ];
    ops.extend(chain(&blocks));
    let keys = [
        (ExactKey::teid(0, FOREIGN_TEID), foreign_entries[0]),
        (ExactKey::ue(1, FOREIGN_UE), foreign_entries[1]),
    ];
    for (key, entry) in keys {
        foreign
            .insert(key, EntryId(entry))
            .expect("the table is empty");
    }
    let entries = ops.iter().filter_map(|op| match op {
        Op::Entry { at, .. } => Some(at.0),
        _ => None,
    });
    let entries = entries.collect();
    (Places { entries, blocks }, ops)
}

fn entry(at: u32, image: SessionEntry) -> Op {
    Op::Entry {
        at: EntryId(at),
        image,
        clocks: [Clock::Full; 2],
    }
}

fn head(flags: &[Flags]) -> Head {
    let flags = flags.iter().fold(Flags::none(), |all, f| all.with(*f));
    Head {
        flags,
        qfi_match: 9,
        mark_and_notify: 9,
        teid: 0x0d01,
    }
}

/// N3 to N6.
fn up(teid: u32, ue: u32) -> SessionEntry {
    SessionEntry {
        key: teid,
        ue_ip: ue,
        head: head(&[
            Flags::TUNNEL,
            Flags::UPLINK,
            Flags::FROM_UE,
            Flags::FORWARD,
            Flags::REMOVE_OUTER,
        ]),
        ..SessionEntry::default()
    }
}

/// N6 to N3.
fn down(ue: u32, peer: u16) -> SessionEntry {
    SessionEntry {
        key: ue,
        ue_ip: ue,
        head: head(&[Flags::FORWARD, Flags::CREATE_OUTER, Flags::MARK_QFI]),
        body: into(peer),
        ..SessionEntry::default()
    }
    .at_local(1)
}

/// N9: from one tunnel into another.
fn relayed(teid: u32) -> SessionEntry {
    SessionEntry {
        key: teid,
        head: head(&[
            Flags::TUNNEL,
            Flags::UPLINK,
            Flags::FORWARD,
            Flags::CREATE_OUTER,
        ]),
        body: into(DN_PEER),
        ..SessionEntry::default()
    }
}

fn into(peer: u16) -> Body {
    Body::to_peer(PeerId(peer))
}

fn extended(mut entry: SessionEntry, block: u32) -> SessionEntry {
    entry.head.flags = entry.head.flags.with(Flags::EXTENDED);
    entry.head.teid = block;
    entry
}

/// Two blocks with one rule each: QFI 9 policed, then everything.
fn chain(blocks: &[u32]) -> Vec<Op> {
    let bucket = BucketRef::new(BlockId(blocks[1]), 0);
    let flags = [Flags::FORWARD, Flags::UPLINK];
    let first = head(&[&flags[..], &[Flags::MATCH_QFI]].concat());
    let mut buckets = [BucketRef::NONE; RULE_QERS];
    buckets[0] = bucket;
    let image = SharedBucket::new(Rate::from_bps(8_000_000).unwrap_or_default());
    vec![
        Op::Bucket {
            at: bucket,
            image,
            clock: Clock::Full,
        },
        rule(
            blocks[0],
            Rule::new(first, FilterRun::NONE, buckets, Body::default()),
        ),
        rule(
            blocks[1],
            Rule::new(head(&flags), FilterRun::NONE, buckets, Body::default()),
        ),
        link(blocks[0], blocks[1], 1),
        link(blocks[1], 0, 1),
    ]
}

fn rule(block: u32, image: Rule) -> Op {
    Op::Rule {
        block: BlockId(block),
        at: 0,
        image,
    }
}

fn link(block: u32, next: u32, rules_len: u8) -> Op {
    Op::Chain {
        block: BlockId(block),
        next: BlockId(next),
        rules_len,
    }
}

/// The operation that six octets ask for: on an entry or block of the sessions, with flags, peers
/// and rates of any value. Each entry keeps its identity, or is left vacant.
pub(super) fn operation(octets: [u8; 6], places: &Places) -> Op {
    let [kind, which, flags, low, peer, rate] = octets;
    let at = places.entries[usize::from(which) % places.entries.len()];
    let block = places.blocks[usize::from(which) % places.blocks.len()];
    let body = Body {
        rate0: some_rate(rate & 15),
        rate1: some_rate(rate >> 4),
        ..Body::to_peer(PeerId(u16::from(peer & 7)))
    };
    let image = Rule::new(
        some_head(flags, low),
        // Some of the three that there are, or beyond them.
        FilterRun::new(u32::from(peer >> 6), usize::from(low & 3)).unwrap_or_default(),
        [BucketRef::new(BlockId(block), rate & 7); RULE_QERS],
        body,
    );
    match kind % 7 {
        0 => Op::TakeEntry { at: EntryId(at) },
        1 => entry(at, some_entry(at, which, image.head, body, places)),
        2 => Op::Rule {
            block: BlockId(block),
            at: low % 9,
            image,
        },
        3 => Op::TakeRule {
            block: BlockId(block),
            at: low % 9,
        },
        4 => link(
            block,
            places.blocks[usize::from(peer) % places.blocks.len()],
            low,
        ),
        5 => entry(at, SessionEntry::default()),
        _ => Op::Bucket {
            at: BucketRef::new(BlockId(block), low & 7),
            image: SharedBucket::new(some_rate(rate)),
            clock: some_clock(flags, at, block),
        },
    }
}

/// Of whatever is named, be it there or not.
fn some_clock(which: u8, entry: u32, block: u32) -> Clock {
    match which & 3 {
        0 => Clock::Full,
        1 => Clock::Entry(entry, which >> 2),
        _ => Clock::Shared(BucketRef::new(BlockId(block), which >> 2 & 7)),
    }
}

/// Keys are the TEID or address that leads there, so that packets still arrive.
fn some_entry(at: u32, which: u8, head: Head, body: Body, places: &Places) -> SessionEntry {
    let shards = sluice_datapath::limits::SHARDS;
    let own = 1 << 31 | CHECK << 12 | at;
    let (key, tunnel) = match usize::from(which) % places.entries.len() {
        0 | 2 | 5 => (own, true),
        1 => (UE, false),
        3 => (FOREIGN_TEID, true),
        4 => (FOREIGN_UE, false),
        _ => (UE_WITH_BLOCKS, false),
    };
    let flags = head.flags.with_if(Flags::TUNNEL, tunnel);
    let plain = SessionEntry {
        key,
        ue_ip: if which & 0x80 == 0 { 0 } else { UE },
        // As the upper half of 45::, so that mutants meet it.
        ue_prefix: if which & 0x20 == 0 { 0 } else { 0x0045 << 48 },
        head: Head { flags, ..head },
        body,
    }
    .at_local(u8::from(!tunnel));
    // Blocks belong to the shard of one entry only.
    match which & 0x40 != 0 && at % shards == places.blocks[0] % shards {
        true => extended(plain, places.blocks[0]),
        false => plain,
    }
}

fn some_head(flags: u8, low: u8) -> Head {
    let bits = [
        Flags::FORWARD,
        Flags::REMOVE_OUTER,
        Flags::CREATE_OUTER,
        Flags::GATE_CLOSED,
        Flags::MARK_QFI,
        Flags::MATCH_QFI,
        Flags::UPLINK,
        Flags::FROM_UE,
    ];
    let set = bits.iter().enumerate().filter(|(i, _)| flags >> i & 1 != 0);
    let flags = set.fold(Flags::none(), |all, (_, f)| all.with(*f));
    Head {
        flags,
        qfi_match: low & 63,
        mark_and_notify: low >> 2,
        teid: u32::from(low),
    }
}

/// None, and from 1 bit/s to 1 Tbit/s, every other one shaped.
fn some_rate(step: u8) -> Rate {
    let rate = Rate::from_bps(match step {
        0 => 0,
        step => 1 << (u32::from(step) * 3).min(40),
    })
    .unwrap_or_default();
    match step & 1 {
        0 => rate,
        _ => rate.shaped(),
    }
}

/// The End Marker that two octets ask for.
pub(super) fn end_marker([peer, teid]: [u8; 2]) -> EndMarker {
    EndMarker {
        peer: PeerId(u16::from(peer & 7)),
        teid: u32::from(teid),
    }
}
