//! Every limit of the session machine, with its derivation.

use sluice_wire::limits as wire;

/// PDRs of one session: what two full messages can bring. A session that needs more ops than one
/// transaction holds is refused earlier.
pub const PDRS: usize = 2 * wire::PDRS_PER_MESSAGE;

/// FARs of one session: one for each PDR.
pub const FARS: usize = PDRS;

/// QERs of one session: as many as one message brings.
pub const QERS: usize = wire::QERS_PER_MESSAGE;

/// BARs of one session: as many as one message brings.
pub const BARS: usize = wire::BARS_PER_MESSAGE;

/// URRs of one session: what one deletion response can report.
pub const URRS: usize = wire::USAGE_REPORTS_PER_MESSAGE;

/// Entries of one session, and groups of blocks that only hold buckets.
pub const ENDPOINTS: usize = PDRS + SPARES;

/// Blocks of one session that only hold shared buckets: 32 QERs in two directions, 8 in a block.
pub const SPARES: usize = 2 * QERS / sluice_datapath::limits::BLOCK_BUCKETS;

/// Rules that a session's PDRs compile into; several QFIs in a PDI make several rules.
pub const RULES: usize = 2 * PDRS;

/// IPv6 addresses of ours in the F-TEIDs of one session: N3 has one or two, for several network instances.
pub const TUNNEL_IPV6_ADDRESSES: usize = 4;

/// Seconds that a TEID rests after its end: GTP-U packets live for at most a few seconds in a
/// network, peers notice a lost tunnel within a minute.
pub const TEID_REST_S: u32 = 60;

/// URRs for a session on average, each with a meter: a default session has one or two. A meter has 64 octets, and a
/// clock some 140 more where time or a Monitoring Time matters. All that is due waits in them, merged: however many reports become due, a storm
/// takes no memory beside one place of each session in the queue, and what [`REPORTS_UNDER_WAY`] tell.
pub const URRS_PER_SESSION: usize = 4;

/// Cells of a session's usage record beside those of its URRs: for all the rules that one URR may watch.
pub const SPARE_CELLS: usize = RULES.div_ceil(sluice_datapath::limits::RECORD_RULES);

const _: () = assert!(SPARE_CELLS <= sluice_datapath::limits::RECORD_CELLS && URRS <= 32);

/// Granules of 16 octets for a session's record on average: a default session takes eight, one with
/// six flows 32 at the most. They are reserved, and touched when sessions need them.
pub const RECORD_GRANULES_PER_SESSION: usize = 64;

/// Flow filters of all sessions by default, 64 octets each: a few for every operator's rule, as equal runs of
/// different sessions are one, and some for tens of thousands of flows with addresses of their own.
pub const FLOW_FILTERS: usize = 65_536;

/// Prefixes behind the UE of one session: those of one PDI in both families, and a delegated prefix.
pub const ROUTES: usize = 2 * wire::FRAMED_ROUTES + 1;

/// Prefixes behind UEs of all sessions, in each of their network instances: few UEs are routers. They stand in order,
/// 24 octets each, and one that comes moves half of them: 200 KB, ten microseconds.
pub const ROUTES_OF_ALL: usize = 16_384;

/// Session sets (FQ-CSIDs) of one session: as many IEs as one message brings, with one set each.
pub const SETS: usize = wire::FQ_CSIDS;

/// Session sets of all sessions: each is a part of a CP function that may fail alone, a board or a process, and of the
/// nodes behind it (MME, SGW-C, ePDG); an operator has hundreds.
pub const SETS_OF_ALL: usize = 8_192;

/// Places of sessions that are looked at in one turn for those of a deleted set: some 100 us.
pub const SETS_WALK: u32 = 1_024;

/// Predefined rules: an operator has tens. A name is looked for among all of them, in a microsecond or two.
pub const PREDEFINED: usize = 256;

/// Predefined rules that one PDR activates: as many as one message brings.
pub const PREDEFINED_OF_PDR: usize = wire::PREDEFINED_RULES_PER_PDR;

/// Applications: an operator tells tens of them apart. Each may have as many flow filters as a PDR, 64 octets each: 4 MB.
pub const APPLICATIONS: usize = 1_024;

/// Octets of an Application ID: names such as `com.example.video`.
pub const APPLICATION_NAME: usize = 255;

/// Octets of a flow description that is told with the start of an application's traffic: one with as many ports as it
/// may have has about a thousand. Reports of all URRs of a session, each with one, fit into a message.
pub const FLOW_DESCRIPTION_TOLD: usize = 1_024;

/// Applications of one PFD Management Request: all that there may be.
pub const APPLICATIONS_PER_REQUEST: usize = APPLICATIONS;

/// Places of sessions that are looked at in one turn for those whose named flows have changed: some 50 us if none has,
/// a millisecond if all have.
pub const FLOWS_WALK: u32 = 256;

/// Names of network instances that rules may use; a configuration has a few.
pub const NAMES: usize = 4096;

/// Octets of a network instance: the longest domain name (RFC 1035, 2.3.4).
pub const NAME_LEN: usize = 255;

/// Final reports of an association that wait for the path or an answer at a time: an answer takes a
/// millisecond or so, so a hundred thousand sessions take two seconds.
pub const FINAL_REPORTS: usize = 64;

/// Session Report Requests of one association under way at a time: at a round trip of a millisecond they carry
/// 64,000 sessions a second, and a CP function that comes back is not met by all of them at once.
pub const REPORTS_UNDER_WAY: usize = 64;

/// QoS flows that one Downlink Data Report names: as many as the message has room for.
pub const FLOWS_PER_REPORT: usize = wire::PDRS_PER_DOWNLINK_DATA_REPORT;

/// Answers in a row that know no session with which it ends here.
pub const UNKNOWN_ANSWERS: u8 = 3;

/// From such an answer to the next report of that session: a CP function that is being restored has a moment
/// to find it.
pub const UNKNOWN_RETRY_MS: u64 = 1_000;
/// How long CP functions heed an overload that they were told, in seconds: it ends by itself if nothing more is
/// heard.
pub const OVERLOAD_VALID_S: u32 = 60;

/// From one word of an overload that lasts to the next, so that it does not end in between.
pub const OVERLOAD_RENEWED_AFTER_MS: u64 = 30_000;

/// Paths to GTP-U peers of which something is to be told: as many as there may be peers, and as many again
/// that did not answer and are in use no more.
pub const PATHS: usize = 65_536;

/// Paths that one Node Report Request tells of, of each kind: some 1,000 octets with an instance's name.
pub const PATHS_PER_REPORT: usize = wire::PEERS_PER_PATH_REPORT;

/// From a Node Report Request that was not answered to the next, at first. A CP function that is heard again
/// after a silence is asked at once.
pub const PATH_REPORT_AGAIN_MS: u64 = 30_000;

/// How often that time doubles: 64 minutes at the most.
pub const PATH_REPORT_DOUBLINGS: u32 = 7;

/// Sessions that one Error Indication is reported for: a TEID that a gNB gave again after a start
/// belongs to two. Of more sessions the rest is reported with the peer's next indication.
pub const REPORTS_PER_INDICATION: usize = 64;
