//! Every limit of the packet path, with its derivation.

/// Packets that one stage holds at a time. The path is bound by memory parallelism: 32 in
/// flight give 48 Mpps at a million sessions, 128 give 65; beyond 128 the first-level cache
/// (48 KiB, 128 lines + 128 headers = 16 KiB) begins to matter.
pub const BURST: usize = 128;

/// Octets that every port keeps free before a received frame: DPDK's `RTE_PKTMBUF_HEADROOM`.
pub const HEADROOM: usize = 128;

/// Packets of a batch that one of them stands for when it is counted which shards are hot. Four
/// counts of a full batch are a fraction of a nanosecond a packet; in the millisecond in which load
/// is levelled, a full worker makes some 300 of them.
pub const HEAT_SAMPLE: usize = 32;

/// Shards that sessions are divided into: the owner table is 4 KiB, and a move takes about
/// 250 of a million sessions.
pub const SHARDS: u32 = 4096;

/// Workers of one process: an owner table entry is one byte, and 255 means "nobody".
pub const WORKERS: usize = 64;

/// Rules in one extension block: 8 x 80 bytes and a header make 704 bytes, eleven lines.
pub const BLOCK_RULES: usize = 8;

/// Shared token buckets in one extension block.
pub const BLOCK_BUCKETS: usize = 8;

/// Extension blocks that one session direction may chain: 4 x 8 = 32 rules.
pub const BLOCK_CHAIN: usize = 4;

/// Rules in one cell of a usage record: with the octets of a URR they make 128, two cache lines. A default
/// session has two rules and one or two URRs.
pub const RECORD_RULES: usize = 3;

/// Cells of one usage record: one for each URR of a session, of which there are 32 at the most, a bit for
/// each; three rules in each.
pub const RECORD_CELLS: usize = 64;

/// The most octets that a rule is granted at a time: its packets ask once in 4 GiB, and its counter tells
/// a rule with grants from one without.
pub const GRANT_MAX_BYTES: i64 = 1 << 32;

/// A rule is granted no less: where only so much is left, its packets come one by one. Some have as few octets, so where
/// many sessions wait for 1,000 (free5GC's default), most of their short packets ask nobody.
pub const GRANT_MIN_BYTES: i64 = 64;

/// QERs that one PDR may name: flow MBR, session AMBR and two more (TS 29.244, 5.4.3 knows
/// a per-flow and a per-session QER; slices and APN-AMBR of a combined node add theirs).
pub const RULE_QERS: usize = 4;

/// Operations of one transaction: the largest session (32 PDRs in each direction, each its own
/// entry, with their blocks and buckets, and one direction's entries with held packets) replaced in one message.
pub const TXN_OPS: usize = 224;

/// Usage records of one transaction: one for each rule that the operations touch.
pub const TXN_USAGES: usize = 192;

/// Cells of usage records that one transaction sets: all of a session's old record, and all of its new one.
pub const TXN_MARKS: usize = 2 * RECORD_CELLS;

/// End markers of one transaction: one for each downlink FAR that leaves its tunnel.
pub const TXN_END_MARKERS: usize = 8;

/// Places in the ring to the control core. What the path cannot place there is dropped as
/// `ControlQueueFull`: a flood of signalling must not hold packets back.
pub const CONTROL_RING: usize = 4096;

/// Bells that wait at a worker for room in that ring: as many as the ring has places, so that a control core
/// that is away for as long again as it takes to fill the ring misses none. What finds the list full rings with
/// its next packet. 16 bytes each: 64 KiB for a worker.
pub const LATE_BELLS: usize = CONTROL_RING;

/// Places in the ring of PFCP packets to the control core, beside the other so that a storm of
/// requests holds back no ARP: at 2 us a request, 1024 are 2 ms of work; what comes on top is
/// dropped as `N4QueueFull`, and its sender repeats it.
pub const N4_RING: usize = 1024;

/// Places in a ring between two workers, those kept free for tokens ([`TOKENS`]) included.
pub const HANDOVER_RING: usize = 4096;

/// Packets that wait at one worker for places in the rings to all others, so that a worker whose
/// CPU is taken away for a while costs no packet: 16,384 are 16 ms of 1 Mpps handed over, and a
/// quarter of the packets that the daemon has by default. 56 bytes each: 0.9 MB for a worker.
pub const HANDOVER_LATE: usize = 16_384;

/// Places kept free in the rings of the control core for transactions, and so the most that may
/// be under way with one worker: at 2 us a round trip 512 carry 256 M transactions a second.
pub const RESERVED: usize = 512;

/// Shards that move, or stand still while a port is changed, at a time. A worker that is full takes
/// a millisecond until its queue is empty, for which every change of steering waits: to level a burst
/// in 10 ms all shards that leave a worker, half of its 2048 at the most as a rule, have to be changed
/// together. As many places are kept free in the rings between a worker and the control core, for
/// each says one word about each shard at a time.
pub const MOVES: usize = 1024;

/// Places kept free in a ring between two workers for the tokens of moves. A shard that moves takes
/// up to one for each worker, one whose steering changes a single one.
pub const TOKENS: usize = 1024;

/// Places kept free there besides, for the word that a worker follows no more packets: a tracing ends
/// before the next one begins.
pub const TRACE_TOKENS: usize = 1;

/// Ports whose steering of a group is changed together: a UE comes by two as a rule, and shards that
/// stand still for one after the other wait for two queues' ends, one after the other.
pub const PORTS_TOGETHER: usize = 4;

/// Bits of a shard's number by which ports steer, as far as they have room for a flow rule for each
/// value (or entries in a table): 256 groups of 16 shards, so that a change of a group holds
/// back few shards, or else 128 of 32. Workers are dealt whole groups.
pub const STEERED_GROUP_BITS: [u32; 2] = [8, 7];

/// Packets that one worker holds for shards that are on their way to it. A move takes two ring
/// hops and at most one rest of a worker: 50 us, unless the old owner's CPU is taken away just
/// then; so as many as wait for rings ([`HANDOVER_LATE`]). 48 bytes each: 0.8 MB for a worker.
pub const MOVE_HELD: usize = 16_384;

/// How long a shard's packets may take to leave a transmit queue before the shard is given away:
/// 1024 packets of 1500 bytes at 10 Gbit/s take 1.2 ms. A queue that stands still longer has
/// lost its order for other reasons.
pub const GIVE_WITHIN_NS: u64 = 2_000_000;

/// Identifiers that a trace follows at a time: a UE's address, and the TEIDs of a session with
/// several tunnels.
pub const TRACE_KEYS: usize = 16;

/// Bytes kept of a followed frame: one of 1500 bytes with tunnel, VLAN tag and room to spare.
pub const TRACE_SNAP: usize = 1664;

/// Followed packets that wait for the control core, for each worker: it looks every millisecond at
/// the latest, and 512 are what a UE with 5 Gbit/s brings meanwhile. 1.7 MB while somebody looks.
pub const TRACE_RECORDS: usize = 512;

/// Changes of what is followed, under way with one worker: one that it has not taken yet, and the
/// one before.
pub const TRACES: usize = 2;

/// Packets that one worker holds while their next hop is being resolved.
pub const NEIGHBOUR_HELD: usize = 256;

/// How long such a packet waits: ARP is asked three times, a second apart (RFC 1122, 2.3.2.2
/// asks for at least one saved packet).
pub const NEIGHBOUR_WAIT_NS: u64 = 3_000_000_000;

/// From one question for a next hop to the next, while packets come for it (RFC 1122, 2.3.2.1: at
/// most one a second).
pub const NEIGHBOUR_ASK_NS: u64 = 1_000_000_000;

/// Packets that are held for idle UEs by default, of all sessions. A thousand UEs that are paged at a time have
/// 4 packets each within the seconds that paging takes; 2 KiB each: 8 MiB.
pub const HELD: u32 = 4_096;

/// Of those, packets of one entry by default: the first window of a TCP connection (RFC 6928: 10 segments) for
/// each of a few connections.
pub const HELD_PER_ENTRY: u32 = 32;

/// New packets of an entry that go behind held ones while these leave: some bursts, since a worker lets a
/// quarter of one go in a turn.
pub const HELD_BEHIND: u16 = 512;

/// How long a packet is held by default: paging is tried several times, some seconds apart (TS 24.501, T3513),
/// and what is later than this was repeated by its sender or is of no use.
pub const HELD_NS: u64 = 20_000_000_000;

/// Held packets that one worker lets go in a turn: a quarter of a burst, so that packets which pass meanwhile
/// wait no longer than for another burst's quarter.
pub const DRAINED_PER_TURN: usize = 32;

/// Longest burst that a token bucket lets through at once, as time at its rate. 100 ms carries
/// TCP's sawtooth at any rate (at 1 Mbit/s it is 8 packets, at 1 Gbit/s 12 MB).
pub const BUCKET_DEPTH_NS: u64 = 100_000_000;

/// A bucket never holds less than this, so that a low rate still lets whole packets pass.
pub const BUCKET_MIN_BYTES: u64 = 3_200;

/// Packets that wait for their bit rates at one worker at the most, those included that come with a shard:
/// twice what configuration may allow it to admit. Their places, 176 bytes each, are memory once they are used.
pub const SHAPED: usize = 65_536;

/// Packets whose time has come that one turn lets leave: as many as a receive queue gives, so that neither
/// keeps the other waiting. What is late is late by a turn.
pub const SHAPED_LEAVE: usize = BURST;

/// Octets of extension headers that a relayed packet keeps: a downlink container with every field
/// takes 24, an uplink one 48, and the four octets before them; what a peer adds beyond that goes.
pub const RELAYED_EXTENSIONS_LEN: usize = 128;

/// Public ports of a unit, the smallest part of a port block: its mappings are an element of 576 bytes,
/// and 2,112 for whom they lead to.
pub const NAT_UNIT_PORTS: usize = 64;

/// Units that a UE may have: 4,096 ports, of which each packet that makes a mapping looks at 16 keys a cache
/// line at the worst.
pub const NAT_UE_UNITS: u32 = 64;

/// Public addresses of all translated network instances: their 4.1 million units take 33 MB of the table that
/// places packets.
pub const NAT_ADDRESSES: u32 = 4096;

/// Translated network instances: each takes a number beside that of the network instance, of 256.
pub const NAT_POOLS: usize = 16;

/// Ends that a mapping remembers having sent to. A UE with more on one port, by address-dependent filtering,
/// gets no answers of the one it has not sent to for longest.
pub const NAT_REMOTES: usize = 4;

/// Packets of a UE whose later fragments are expected: with the user they make one cache line.
pub const NAT_FRAGMENTS: usize = 4;

/// Packets that one worker reassembles at a time: at 64 KiB each, 16 MiB of buffers at the most.
pub const REASSEMBLIES: usize = 256;

/// Fragments of one outer packet: a 9000-byte packet over links of 1280 bytes makes 8.
pub const FRAGMENTS_PER_PACKET: usize = 16;

/// How long fragments wait for the others. The RAN is one or two hops away; what is a second
/// late is lost.
pub const REASSEMBLY_NS: u64 = 1_000_000_000;
