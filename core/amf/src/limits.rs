//! Limits of the AMF, each with its derivation.

/// UEs that are known. At 8 KiB for each, which is more than one needs, they take 8 GiB.
pub const UES: usize = 1_000_000;

/// UEs that are connected at a time; an AMF UE NGAP ID has 24 bits for the number.
pub const CONNECTIONS: usize = 1_000_000;

/// UEs at a time by one gNB that have not proved who they are, unless an operator says otherwise: more than radios
/// connect in the second that a registration takes.
pub const UNAUTHENTICATED_OF_GNB: usize = 2_048;

/// The same in all: those of eight gNBs at their bound, in 128 MiB at the most.
pub const UNAUTHENTICATED: usize = 16_384;

/// How often operators are told that UEs are shed.
pub const SHED_TOLD_MS: u64 = 10_000;

/// gNBs: as many as have connections of 1,000 UEs each.
pub const GNBS: usize = 1_000;

/// Sessions of a UE: as many user planes as phones have. Identities are 1 to 15.
pub const SESSIONS_OF_A_UE: usize = 8;

/// Modify Indications of a gNB about one UE that SMFs have not answered: it sends one after the other (TS 38.413, 8.1).
pub const INDICATIONS: usize = 4;

/// Calls that wait; a UE has one, and so has each of its sessions that changes.
pub const CALLS: usize = UES;

/// T3522, T3550, T3560 and T3570 (TS 24.501, 10.2).
pub const NAS_TIMER_MS: u64 = 6_000;

/// How often a NAS message is sent: once, and four times more (TS 24.501, 5.4.1.3.7, 5.4.2.7,
/// 5.4.3.6, 5.5.1.2.8, 5.5.2.3.5).
pub const NAS_SENDS: usize = 5;

/// How long a gNB has to release a UE, or to set up its context. A radio takes at most a second.
pub const RAN_TIMER_MS: u64 = 5_000;

/// How long a UE that was told to go to another gNB has until it is there: TNGRELOCoverall of gNBs is
/// some seconds (TS 38.413, 9.5).
pub const HANDOVER_MS: u64 = 10_000;

/// How long the gNB that a UE has left forwards what it still has: a round trip to the next gNB
/// (TS 23.502, 4.9.1.3.3, step 14).
pub const SOURCE_KEPT_MS: u64 = 1_000;

/// Messages that are kept for a UE between two gNBs: what a procedure and each session have to say.
pub const HELD: usize = 16;

/// T3513 (TS 24.501, 10.2), which is the network's choice: three DRX cycles of 1.28 s, or one of those
/// that are longer, and a random access.
pub const PAGING_TIMER_MS: u64 = 4_000;

/// How often a UE is paged at the most.
pub const PAGING_SENDS: u8 = 3;

/// For how long a UE that did not answer is not paged again.
pub const UNREACHABLE_MS: u64 = 30_000;

/// When an SMF whose UE is being registered, or connected, tries again: a second is enough for a radio.
pub const BUSY_S: u64 = 2;

/// Discovered SMFs that are kept: those of 8 slices, 8 data networks and 16 areas.
pub const DISCOVERED: usize = 1_024;

/// For how long an NRF that did not answer is not asked again, so that not each session waits for it.
pub const NRF_SILENT_MS: u64 = 10_000;

/// Names of UEs that were deregistered without a word, which are remembered: those of some hours. They
/// are looked at only for service requests of strangers.
pub const DEPARTED: usize = 4_096;

/// How long an answer of another function is waited for.
pub const CALL_MS: u64 = sluice_sbi::server::CALL_MS;

/// How long an AMF that has asked for a UE's context has to say what became of the UE: 30 s for a Security Mode Command that
/// is sent as often as it may be, and as long for other functions.
pub const MOVING_MS: u64 = 60_000;

/// When an answer is forgotten that comes when nobody waits: an SMF waits 10 s for its UPF, and as long as any for a
/// PCF, before it says what UE and gNB are to be told of a session.
pub const ANSWER_MS: u64 = 15_000;

/// How long a commit is waited for: it is a turn of the caller's loop, or its disk is dead.
pub const COMMIT_MS: u64 = 10_000;

/// Resynchronisations within one authentication (TS 24.501, 5.4.1.3.7 f).
pub const RESYNCHRONISATIONS: usize = 2;

/// Requests of one authentication by EAP: a challenge, two more after resynchronisations, a notification, and
/// as many again for answers that are not those to the last request.
pub const EAP_REQUESTS: usize = 8;

/// Longest radio capability that is kept of a UE: what phones with many bands send.
pub const RADIO_CAPABILITY: usize = 16_384;

/// Tracking areas of one list (TS 24.501, 9.11.3.9).
pub const AREAS: usize = 16;

/// How long gNBs that have UEs' contexts are waited for after a start: SCTP of a gNB tries again within some
/// seconds, and its operator's timers are some more.
pub const GNB_RETURNS_MS: u64 = 60_000;

/// Downlink counts that are reserved ahead in what is stored.
pub const COUNTS_AHEAD: u32 = 32;

/// Subscriptions to events of UEs, each with some hundred octets here and a URI at the transport.
pub const SUBSCRIPTIONS: usize = 16_384;

/// Subscriptions to all UEs: each event is looked at for each of them.
pub const SUBSCRIPTIONS_OF_ANY: usize = 64;

/// Subscriptions to the AMF's status: functions of a network.
pub const STATUS_SUBSCRIPTIONS: usize = 1_024;

/// UEs whose states a subscriber to all is told at the beginning: what waits for it has bounds.
pub const STATES_AT_ONCE: usize = 1_024;

/// Requests that wait until one UE is connected.
pub const REACHED_FOR: usize = 8;

/// How much longer than T3512 an idle UE counts as reachable, and how long it is known after that
/// (TS 24.501, 5.3.7 and table 10.2.2: mobile reachable and implicit deregistration timers).
pub const REACHABLE_MS: u64 = 4 * 60_000;
pub const IMPLICIT_DEREGISTRATION_MS: u64 = 4 * 60_000;

/// Areas or slices of a gNB that a text names: what fits a line.
pub const NAMED: usize = 8;
