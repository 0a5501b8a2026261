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
