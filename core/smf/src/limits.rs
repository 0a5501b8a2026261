//! Limits of the SMF, each with its derivation.

/// Sessions: as many as subscribers. At 1 KiB for each, which is more than one needs, they take 1 GiB.
pub const SESSIONS: usize = 1_000_000;

/// UPFs: the associations that a PFCP endpoint keeps.
pub const UPFS: usize = 64;

/// Procedures at a time, and calls that wait; a session has one of each.
pub const PROCEDURES: usize = 65_536;

/// Requests of an AMF that wait until a session's procedure ends: what a UE and its gNB can cause
/// within the seconds that one takes.
pub const PENDING: usize = 8;

/// How long a UE that is paged, or a gNB that is asked, has until packets can go there: the AMF's
/// pagings, and a radio.
pub const REACH_MS: u64 = 30_000;

/// Peers of UPFs that do not answer and are remembered: as many gNBs as there may be at some UPFs.
pub const PATHS_DOWN: usize = 65_536;

/// How long sessions of a UPF that does not answer, or has stopped, are kept where nobody says so: what a process
/// takes to come back.
pub const UPF_GRACE_MS: u64 = 30_000;

/// From an association that ended, or could not be begun, to the next try: as long as the endpoint waits
/// after a set-up that failed.
pub const ASSOCIATE_MS: u64 = 5_000;

/// Sessions that restarted UPFs get again at a time, so that a UPF with many is not flooded.
pub const RESTORATIONS: usize = 256;

/// From a start to the first paging for packets that had come before it: gNBs come back first.
pub const RESUMED_MS: u64 = 5_000;

/// How often a UPF is told where packets go that does not answer: for longer than it takes to know that it is gone.
pub const SETTLEMENTS: usize = 5;

/// How often an AMF is asked that says that it cannot now, or whose gNB does not do its part.
pub const PAGING_ATTEMPTS: u8 = 3;

/// When it is asked again of whose gNB nothing came: a UE that has lost its gNB may be at another one by then.
pub const TRY_AGAIN_MS: u64 = 1_000;

/// How long packets for a UE that cannot be reached are dropped, at the least and at the most.
pub const DROP_MS: u64 = 10_000;
pub const MOST_DROP_MS: u64 = 300_000;

/// How long an answer of another function is waited for.
pub const CALL_MS: u64 = sluice_sbi::server::CALL_MS;

/// PFCP requests of a second that a UPF sends at the most: reports. The endpoint's memory follows.
pub const N4_REQUESTS_PER_S: u32 = 10_000;

/// From a deletion that a UPF has not answered to the next one, and how often it is asked: a UPF that hears
/// nothing for so long has lost its association.
pub const ORPHAN_MS: u64 = 10_000;
pub const ORPHAN_TRIES: u8 = 6;

/// How often, in steps of that, it is waited for a UPF that does not answer at all: an hour. Until then it may be the
/// way that is lost, and not what the UPF has.
pub const LATE_WAITS: u32 = 360;

/// How long a UE address and a TEID rest before another session gets them: peers of the data network may go on sending,
/// and an establishment that was given up may be answered ([`LATE_MS`]).
pub const LEASE_REST_MS: u64 = LATE_MS;

/// How long after an establishment was given up its answer may still come: what a UPF keeps in its queues.
pub const LATE_MS: u64 = 120_000;

/// Subscriptions to events of sessions, each with some hundred octets here and a URI at the transport.
pub const SUBSCRIPTIONS: usize = 16_384;

/// Subscriptions to all UEs: each event is looked at for each of them.
pub const SUBSCRIPTIONS_OF_ANY: usize = 64;

/// Sessions that a subscriber is told at the beginning: what waits for it has bounds.
pub const SESSIONS_AT_ONCE: usize = 1_024;

/// T3592 (TS 24.501, 10.3).
pub const RELEASE_TIMER_MS: u64 = 16_000;

/// How often a Release Command is sent: once, and four times more (TS 24.501, 6.3.3.5).
pub const RELEASE_SENDS: usize = 5;

/// How long an answer of a UPF is waited for: the endpoint gives up before that.
pub const N4_MS: u64 = 10_000;

/// Charging records that wait to be taken; more are dropped and counted.
pub const RECORDS: usize = 65_536;

/// How long a UPF forwards packets from one gNB to the next after a handover: what is under way when the
/// UE has come, and the End Marker, which take a round trip between gNBs (TS 23.502, 4.9.1.3.3, step 15).
pub const FORWARDING_MS: u64 = 2_000;

/// T3591 (TS 24.501, 10.3).
pub const MODIFICATION_TIMER_MS: u64 = 16_000;

/// How long changes of flows wait for the end of a handover: its preparation, the UE's way, and a source
/// that is released. It is told when a handover ends; this is for those of which nothing more is heard.
pub const HANDOVER_MS: u64 = 25_000;

/// How long after a change that somebody has not taken the next one is tried: longer each time.
pub const RECONCILIATION_MS: u64 = 5_000;

/// How often it is tried in a row. A UPF that does not take it then gives the session up; a gNB and a UE get
/// another chance when the user plane changes.
pub const RECONCILIATIONS: u8 = 3;

/// How often a Modification Command is sent: once, and four times more (TS 24.501, 6.3.2.5).
pub const MODIFICATION_SENDS: usize = 5;
