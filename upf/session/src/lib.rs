//! The N4 session machine of the UP function (TS 29.244, Release 17), sans-IO.
//!
//! Start at [`UpFunction`]; each procedure is one file: `establishment`, `modification`,
//! `deletion`, `set_deletion`, `report`, `association_release`. A request becomes a draft of the session's rules (`admit` reads the IEs
//! into it, `compile` resolves, places and renders it), which is committed whole or dropped
//! whole. What the packet path must change leaves as a transaction; the response leaves when the
//! transaction has come back (`complete`). `associations` says what happens to sessions when
//! their CP function comes, goes or falls silent.
//!
//! Choices where the TS leaves one, or where this UP function does less than it could:
//! - Apply Action BUFF: packets are held, those from a UE as well; with NOCP the CP function hears of the first
//!   one to the UE of each QoS flow, until the FAR is updated. A BAR postpones that and bounds what is
//!   held; how long packets are held is the configuration's (no DLBD). DUPL and all other actions are refused: they belong to features that are
//!   not advertised.
//! - N4-u (5.3): F-TEIDs of PDRs whose Source Interface is the CP function lie at an address towards the RAN,
//!   and packets to the CP function leave from there, since UDP port 2152 of N4's address may be the kernel's.
//!   A FAR whose Destination Interface is the CP function and that has no Outer Header Creation drops under a
//!   reason of its own (`n4u_absent`): no other way leads there.
//! - PDRs whose SDF filters are for an address family of which the UE has no address are admitted and
//!   match nothing. Actions, directions, negations and options beyond `permit out` are refused (`sdf`).
//! - An SDF Filter ID alone means the filter that a PDR of the session has under it, one created before
//!   or earlier in the message; each PDR keeps it for itself from then on (BID, 8.2.5).
//! - UE addresses once told hold for as long as the session lives, also when no PDR repeats them. Of a
//!   shorter IPv6 prefix than 64 bits all is the UE's; longer ones are refused (IP6PL, 5.21.1).
//! - Framed routes and delegated prefixes are told when a session is established. They hold for all its PDRs
//!   in both directions and as long as it lives, whether or not PDIs repeat them. The gateway and metrics of a
//!   Framed-Route say nothing here. No prefix meets one of another session in its network instance, or a pool.
//! - UE addresses of our choice (CHV4, CHV6) are chosen when the session is established, from the pools of the
//!   network instance that a PDI of the data network's side names; one session has one of each family. A later
//!   CHOOSE means that one.
//! - A downlink PDI without F-TEID and UE IP Address means the session's UE addresses in its Network
//!   Instance: Open5GS adds dedicated flows so.
//! - Outer Header Creation with an IPv4 and an IPv6 address: IPv4 is taken (8.2.56).
//! - Update FAR may have Forwarding Parameters (IE 4) in place of Update Forwarding Parameters
//!   (IE 11): SD-Core's SMF always does. If both are there the latter hold.
//! - SGi-LAN/N6-LAN (2) as Source or Destination Interface is N6 where nothing is configured for it:
//!   SD-Core.
//! - A FAR that drops ignores its Forwarding Parameters: where nothing is forwarded it does not matter
//!   where to.
//! - A FAR may lead to a peer that no route leads to: its packets are dropped and counted as
//!   `no_route`. Which peers can be reached is not the CP function's business, and changes.
//! - The S/D flag of a UE IP Address is not looked at (SD-Core never sets it): the Source Interface
//!   tells the direction. Interface types are not looked at either (OAI calls N6 S1-U).
//! - When several QERs of a PDR have a QFI, packets are marked with the first that is not 0: 0
//!   stands in the session's QER of free5GC and means no flow.
//! - A QER Correlation ID is refused. It is for Sxb, where PDN connections of one UE share an
//!   APN-AMBR; without that each of them would be given the whole rate.
//! - `Config::mbr_zero` says what a Maximum Bitrate of 0 means, `Config::shaped_rates` which rates are shaped.
//! - A volume threshold that Update URR brings counts from that message on. A quota goes on over reports until a
//!   message brings a new one; one that is used up stops packets whether or not a report was asked for.
//! - START is reported once: with the first packet since the URR, or its trigger, came.
//! - A rule that another rule still names cannot be removed (cause 73).
//! - The session's UE addresses hold for all its tunnels, whether or not their PDIs repeat them: the
//!   RAN sends from them, another UPF sends to them.
//! - Source and Destination Interface Access (indirect data forwarding) has no direction by the TS
//!   (8.2.24): the UE may be at either end, gates, rates and usage are those of the downlink.
//! - An FQ-CSID names a set of the association's own sessions, whosever node it is of. Those that a modification tells
//!   replace the session's others of the same kind of node. What a set deletion ends is reported to nobody.
//! - An F-TEID of the CP function's choice must lie at an address of the interface that its Source
//!   Interface and Network Instance mean.
#![forbid(unsafe_code)]

mod admission;
mod admit;
mod compile;
mod completion;
mod config;
pub mod conformance;
mod draft;
mod flows;
mod function;
mod index;
mod inspect;
mod limits;
mod names;
pub mod network;
mod node;
mod pending;
mod prefetch;
mod procedure;
mod random;
mod refusal;
mod refusal_causes;
mod reload;
mod reports;
mod resources;
mod rules;
mod session_sets;
mod store;
mod trace_target;
mod usage;

pub use config::{AllocationPool, Config, MbrZero, PoolAddresses, ShapedRates, Unserved};
pub use conformance::UP_FUNCTION_FEATURES;
pub use flows::applications::{Application, ApplicationError, ConfiguredApplications};
pub use flows::predefined::{PredefinedChange, PredefinedError, PredefinedRule, PredefinedRules};
pub use function::UpFunction;
pub use index::{hash_index, partitions};
pub use inspect::{
    ApplicationView, AssociationView, FarView, PdrView, QerView, SessionSummary, SessionView,
    UrrView,
};
pub use limits::{APPLICATIONS as APPLICATIONS_MAX, PREDEFINED as PREDEFINED_MAX};
pub use node::Effects;
pub use prefetch::{AHEAD, DATAGRAMS, PrefetchStages};
pub use refusal_causes::{RefusalWords, refusal_words, words_of};
pub use reload::{Changeable, ReloadError};
pub use reports::events::SessionEvent;
pub use reports::load_control::LoadControlConfig;
pub use reports::path_reports::{PathChange, RemotePath};
pub use reports::report_queue::ReportCounters;
pub use resources::{InUse, NatCounters, NatRecord};
pub use trace_target::{RuleNames, TraceTarget, TracedSession};

#[cfg(test)]
mod tests;
