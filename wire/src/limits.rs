//! Every limit of the wire formats, with its origin.
//!
//! What exceeds a limit is refused with cause 75, No resources available, and the offending IE
//! (`pfcp::Reject`); nothing is cut off silently. The lists of a parsed message lie in the message
//! itself, without a heap, so the limits also bound its size: the largest message, a Session
//! Modification Request, must stay below [`MESSAGE_SIZE_MAX`].

use core::mem::size_of;

/// PDRs that one message creates, updates or removes: sixteen bidirectional flows, twice the eight
/// data radio bearers that a 5G UE can have at once with one QoS flow each (TS 38.331, maxDRB 29,
/// is shared by all PDU sessions), or a default flow and fifteen others.
pub const PDRS_PER_MESSAGE: usize = 32;

/// FARs: at most one for each PDR.
pub const FARS_PER_MESSAGE: usize = PDRS_PER_MESSAGE;

/// QERs: at most one of its own for each PDR; session rules are shared.
pub const QERS_PER_MESSAGE: usize = PDRS_PER_MESSAGE;

/// URRs: at most one of its own for each PDR; session rules are shared.
pub const URRS_PER_MESSAGE: usize = PDRS_PER_MESSAGE;

/// BARs: buffering parameters differ by service (paging policy), of which there are eight
/// (TS 29.244, 8.2.116).
pub const BARS_PER_MESSAGE: usize = 8;

/// Traffic endpoints: access and core side for each of four handover and branching points.
pub const TRAFFIC_ENDPOINTS_PER_MESSAGE: usize = 8;

/// SDF filters in a PDI: a traffic flow template has at most sixteen packet filters (TS 24.008,
/// 10.5.6.12).
pub const SDF_FILTERS_PER_PDI: usize = 16;

/// Ethernet packet filters in a PDI: half of the SDF filters, as each holds source and destination.
pub const ETHERNET_FILTERS_PER_PDI: usize = SDF_FILTERS_PER_PDI / 2;

/// QFIs in a PDI: there are 64 values.
pub const QFIS_PER_PDI: usize = 64;

/// UE IP addresses in a PDI or traffic endpoint: IPv4 and IPv6, each as address and as delegated
/// prefix.
pub const UE_IP_ADDRESSES: usize = 4;

/// Traffic endpoints that a PDI refers to: one for each side and a redundant one (MTE).
pub const TRAFFIC_ENDPOINTS_PER_PDI: usize = 4;

/// Framed routes of each IP version in a PDI or traffic endpoint: RADIUS gives no bound
/// (RFC 2865, 5.22); eight subnets behind one UE.
pub const FRAMED_ROUTES: usize = 8;

/// URRs that a PDR refers to: session, service, application and charging key, each online and
/// offline.
pub const URRS_PER_PDR: usize = 8;

/// QERs that a PDR refers to: session AMBR, QoS flow, service and one spare for each.
pub const QERS_PER_PDR: usize = 6;

/// Names of predefined rules that a PDR activates or deactivates.
pub const PREDEFINED_RULES_PER_PDR: usize = 8;

/// Duplicating parameters of a FAR: lawful interception and one more.
pub const DUPLICATIONS_PER_FAR: usize = 2;

/// HTTP header fields that a FAR puts in.
pub const HEADER_ENRICHMENTS_PER_FAR: usize = 4;

/// URRs that a URR is linked to: as many as a PDR refers to.
pub const LINKED_URRS_PER_URR: usize = URRS_PER_PDR;

/// Further raw IEs of a URR that may be repeated (aggregation, additional monitoring times,
/// exempted applications and filters).
pub const REPEATED_PER_URR: usize = 4;

/// Usage reports in one message: one for each URR.
pub const USAGE_REPORTS_PER_MESSAGE: usize = URRS_PER_MESSAGE;

/// PDRs named in a downlink data report: those that share a BAR and found packets at once.
pub const PDRS_PER_DOWNLINK_DATA_REPORT: usize = 8;

/// Remote F-TEIDs in an error indication report: the tunnels of one session.
pub const F_TEIDS_PER_ERROR_INDICATION: usize = 8;

/// Peers in a path failure or recovery report.
pub const PEERS_PER_PATH_REPORT: usize = 32;

/// Addresses and ranges that a UP function offers at association (network instances).
pub const RESOURCES_PER_ASSOCIATION: usize = 16;

/// Address pools that a UP function offers at association.
pub const POOLS_PER_ASSOCIATION: usize = 16;

/// Names of pools in one pool information.
pub const NAMES_PER_POOL: usize = 8;

/// Slices that a pool serves: a UE is allowed eight (TS 24.501, 9.11.3.37).
pub const SLICES_PER_POOL: usize = 8;

/// Further addresses of a CP function: the members of an SMF set.
pub const SMF_ADDRESSES: usize = 8;

/// FQ-CSIDs: one of each of MME, SGW-C, PGW-C, ePDG, TWAN and UP function.
pub const FQ_CSIDS: usize = 8;

/// Raw IEs of one type that a message may repeat and nobody here interprets.
pub const RAW_REPEATED: usize = 8;

/// Applications in one PFD Management Request as it is read as a whole; who reads one application after the other
/// takes as many as a datagram has.
pub const APPLICATIONS_PER_MESSAGE: usize = 8;

/// Packet flow descriptions of an application: an application provider has a few servers of each kind.
pub const PFDS_PER_APPLICATION: usize = 32;

/// PFD Contents of one packet flow description: a flow for each protocol and family.
pub const CONTENTS_PER_PFD: usize = 4;

/// Rules that a response reports as failed: as many as a request can hold of one kind.
pub const FAILURES_PER_MESSAGE: usize = PDRS_PER_MESSAGE;

/// The largest parsed message in memory, octets: well below the smallest stack on which one is
/// parsed (a worker thread has at least 2 MiB).
pub const MESSAGE_SIZE_MAX: usize = 256 * 1024;

const _: () = assert!(
    size_of::<crate::pfcp::message::SessionModificationRequest<'static>>() <= MESSAGE_SIZE_MAX
);
const _: () = assert!(
    size_of::<crate::pfcp::message::SessionEstablishmentRequest<'static>>() <= MESSAGE_SIZE_MAX
);
