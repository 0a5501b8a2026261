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

/// How long sessions of a UPF that does not answer are kept: what a process takes to come back.
pub const UPF_GRACE_MS: u64 = 30_000;

/// From an association that ended, or could not be begun, to the next try: as long as the endpoint waits
/// after a set-up that failed.
pub const ASSOCIATE_MS: u64 = 5_000;

/// Sessions that restarted UPFs get again at a time, so that a UPF with many is not flooded.
pub const RESTORATIONS: usize = 256;

/// How often an AMF is asked that says that it cannot now.
pub const PAGING_ATTEMPTS: u8 = 3;

/// How long packets for a UE that cannot be reached are dropped, at the least and at the most.
pub const DROP_MS: u64 = 10_000;
pub const MOST_DROP_MS: u64 = 300_000;

/// How long an answer of another function is waited for.
pub const CALL_MS: u64 = sluice_sbi::server::CALL_MS;

/// PFCP requests of a second that a UPF sends at the most: reports. The endpoint's memory follows.
pub const N4_REQUESTS_PER_S: u32 = 10_000;

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

/// How often a Modification Command is sent: once, and four times more (TS 24.501, 6.3.2.5).
pub const MODIFICATION_SENDS: usize = 5;
