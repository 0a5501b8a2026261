//! Limits of the AMF, each with its derivation.

/// UEs that are known. At 8 KiB for each, which is more than one needs, they take 8 GiB.
pub const UES: usize = 1_000_000;

/// UEs that are connected at a time; an AMF UE NGAP ID has 24 bits for the number.
pub const CONNECTIONS: usize = 1_000_000;

/// gNBs: as many as have connections of 1,000 UEs each.
pub const GNBS: usize = 1_000;

/// Sessions of a UE: as many user planes as phones have. Identities are 1 to 15.
pub const SESSIONS_OF_A_UE: usize = 8;

/// Calls that wait; a UE has one, and so has each of its sessions that changes.
pub const CALLS: usize = UES;

/// T3550, T3560 and T3570 (TS 24.501, 10.2).
pub const NAS_TIMER_MS: u64 = 6_000;

/// How often a NAS message is sent: once, and four times more (TS 24.501, 5.4.1.3.7, 5.4.2.7,
/// 5.4.3.6, 5.5.1.2.8).
pub const NAS_SENDS: usize = 5;

/// How long a gNB has to release a UE, or to set up its context. A radio takes at most a second.
pub const RAN_TIMER_MS: u64 = 5_000;

/// How long an answer of another function is waited for.
pub const CALL_MS: u64 = sluice_sbi::server::CALL_MS;

/// How long a commit is waited for: it is a turn of the caller's loop, or its disk is dead.
pub const COMMIT_MS: u64 = 10_000;

/// Resynchronisations within one authentication (TS 24.501, 5.4.1.3.7 f).
pub const RESYNCHRONISATIONS: usize = 2;

/// Longest radio capability that is kept of a UE: what phones with many bands send.
pub const RADIO_CAPABILITY: usize = 16_384;

/// Tracking areas of one list (TS 24.501, 9.11.3.9).
pub const AREAS: usize = 16;

/// Downlink counts that are reserved ahead in what is stored.
pub const COUNTS_AHEAD: u32 = 32;

/// How much longer than T3512 an idle UE counts as reachable, and how long it is known after that
/// (TS 24.501, 5.3.7 and table 10.2.2: mobile reachable and implicit deregistration timers).
pub const REACHABLE_MS: u64 = 4 * 60_000;
pub const IMPLICIT_DEREGISTRATION_MS: u64 = 4 * 60_000;
