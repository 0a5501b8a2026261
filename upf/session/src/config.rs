//! Configuration of the session machine.

use crate::flows::applications::ConfiguredApplications;
use crate::flows::predefined::PredefinedRules;
use crate::limits::FLOW_FILTERS;
use crate::reports::load_control::LoadControlConfig;
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_datapath::lookup::layout::{InstanceId, Layout};

/// How sessions are served, and how many.
#[derive(Clone, Debug)]
pub struct Config {
    /// Sessions at one time; one more is refused with cause 75.
    pub sessions: usize,
    /// Extension blocks of the path's arena.
    pub blocks: u32,
    /// Where the path's entries lie.
    pub layout: Layout,
    /// Our N4 address, for the UP F-SEID.
    pub n4_address: Ipv4Addr,
    /// F-TEIDs that the CP function chose are admitted; otherwise refused with cause 71.
    pub accept_cp_fteid: bool,
    /// F-TEIDs are chosen here where the CP function asks for it (FTUP); otherwise that is refused with cause 71.
    pub choose_fteid: bool,
    /// What a Maximum Bitrate of 0 in one direction means.
    pub mbr_zero: MbrZero,
    /// Whose excess waits instead of being dropped.
    pub shaped_rates: ShapedRates,
    /// What becomes of rules that ask for reports which are not made yet.
    pub unserved: Unserved,
    /// How long sessions outlive a CP function that does not answer, in seconds.
    pub peer_loss_keep_s: u32,
    /// Transactions under way at one time; a request beyond is refused with cause 74. At most
    /// [`RESERVED`](sluice_datapath::limits::RESERVED) for each worker.
    pub transactions: usize,
    /// Flow filters that the SDF filters of all sessions may take; equal ones of several PDRs count once.
    /// More are refused with cause 75.
    pub flow_filters: usize,
    /// UE addresses that this UP function gives; those of one family and network instance do not overlap.
    pub allocation: Vec<AllocationPool>,
    /// Rules that PDRs activate by name, in the order of their numbers.
    pub predefined: PredefinedRules,
    /// Applications that PDIs may name, beside those that PFD Management tells.
    pub applications: ConfiguredApplications,
    /// What CP functions are told of this node's load.
    pub load_control: LoadControlConfig,
    /// Seed of the random bits in TEIDs and SEIDs; draw it from the system at start.
    pub seed: [u64; 2],
}

/// UE addresses of one network instance that this UP function gives when it is asked to (TS 29.244, 5.21.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllocationPool {
    /// The network instance.
    pub instance: InstanceId,
    /// Which addresses.
    pub addresses: PoolAddresses,
    /// UE IP address Pool Identity (8.2.128), by which CP functions may ask for this pool.
    pub identity: Option<String>,
    /// Seconds that an address rests before it is given again.
    pub rest_s: u32,
}

/// The addresses of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolAddresses {
    /// IPv4 addresses, one for each UE.
    Ipv4 {
        /// First address of the prefix.
        base: Ipv4Addr,
        /// Its length in bits, 8 to 32.
        prefix_len: u8,
    },
    /// IPv6 prefixes, one of 64 bits for each UE.
    Ipv6 {
        /// First address of the prefix.
        base: Ipv6Addr,
        /// Its length in bits, 40 to 64.
        prefix_len: u8,
    },
}

impl fmt::Display for PoolAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ipv4 { base, prefix_len } => write!(f, "{base}/{prefix_len}"),
            Self::Ipv6 { base, prefix_len } => write!(f, "{base}/{prefix_len}"),
        }
    }
}

/// What a Maximum Bitrate of 0 in one direction means.
///
/// TS 29.244 does not say. The IE has both directions always (8.2.8), though an SMF may mean only
/// one of them (7.5.2.5: "uplink and/or downlink"), and what closes a direction is the gate
/// (5.4.3). Open5GS leaves the IE out when both rates are 0 and so means "none" by one; OAI sends
/// a QER for each direction with 0 in the other. UPFs differ: most do not limit, some let nothing
/// pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MbrZero {
    /// The direction has no limit.
    #[default]
    Unlimited,
    /// Nothing passes, as by a closed gate.
    Closed,
}

/// Maximum bit rates whose excess waits until the rate has room for it; that of all others is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ShapedRates {
    /// None.
    #[default]
    Nothing,
    /// Session-AMBRs: rates of QERs without a guaranteed bit rate. One with a guaranteed bit rate is of a GBR
    /// flow, and its maximum is that flow's (TS 23.501, 5.7.2.5), whose packets are worth nothing late.
    SessionAmbr,
    /// All.
    All,
}

/// What becomes of what a CP function asks for and this UP function does not serve yet, where nothing
/// is given away without it: a URR's report of inactivity, and of the stop of traffic that no time is told for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unserved {
    /// It is admitted without effect, and the operator is told once for each association.
    #[default]
    Admit,
    /// The request is refused, with the IE that asks for it.
    Refuse,
}

impl ShapedRates {
    /// As configuration calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::SessionAmbr => "session_ambr",
            Self::All => "all",
        }
    }
}

impl Config {
    /// Defaults for a layout: as many sessions as half the endpoints (a session has two at a
    /// handover), CP-chosen F-TEIDs admitted, an MBR of 0 no limit, sessions kept for an hour.
    pub fn new(layout: Layout, blocks: u32, n4_address: Ipv4Addr, seed: [u64; 2]) -> Self {
        Self {
            sessions: layout.endpoints() as usize / 2,
            blocks,
            layout,
            n4_address,
            accept_cp_fteid: true,
            choose_fteid: true,
            mbr_zero: MbrZero::default(),
            shaped_rates: ShapedRates::default(),
            unserved: Unserved::default(),
            peer_loss_keep_s: 3600,
            transactions: sluice_datapath::limits::RESERVED,
            flow_filters: FLOW_FILTERS,
            allocation: Vec::new(),
            predefined: PredefinedRules::default(),
            applications: ConfiguredApplications::default(),
            load_control: LoadControlConfig::default(),
            seed,
        }
    }
}
