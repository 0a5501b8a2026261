//! Section `limits`: sizes of tables that are allocated at start.
//!
//! The derivations stand in the example file.

use super::fields::{At, Fields};
use super::kind::{Kind, auto_or, number};
use sluice_datapath::limits::SHARDS;
use sluice_datapath::session::flow_filter::FILTERS_MAX;

/// Most tunnel endpoints: five check bits are left in a TEID.
const TUNNEL_ENDPOINTS_MAX: u32 = 1 << 26;

/// A UE takes everything from one shard of [`SHARDS`], the one of its address, where others may be
/// whose addresses differ in the upper bits only, and where its own last TEIDs rest. However few
/// sessions there are, so many TEIDs are in each shard: 16 attachments within 60 s.
const TEIDS_OF_SHARD_MIN: u32 = 16;
/// The same of foreign lines and of rule blocks: four sessions with two of each.
const OTHERS_OF_SHARD_MIN: u32 = 8;

/// Flow filters unless the file says otherwise: 4 MiB.
const FLOW_FILTERS: u32 = 65_536;

/// How much there is room for.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// Sessions.
    pub sessions: At<u32>,
    /// Own TEIDs; a power of two.
    pub tunnel_endpoints: At<u32>,
    /// Lines for TEIDs that SMFs choose and UE addresses outside all pools.
    pub foreign_entries: At<u32>,
    /// Blocks of eight rules, for sessions with more than a default flow.
    pub rule_blocks: At<u32>,
    /// Flow filters, for PDRs with SDF filters; equal ones are one.
    pub flow_filters: At<u32>,
    /// Packets held for idle UEs, in all.
    pub held_packets: At<u32>,
    /// Of those, packets of one UE (one of its endpoints) where no BAR suggests otherwise.
    pub held_packets_of_ue: At<u32>,
    /// How long they are held, in seconds.
    pub held_s: At<u32>,
}

impl Limits {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let sessions = fields.or("sessions", "131072", &number(1u32, 1 << 24, "sessions"));
        let endpoints = fields.or("tunnel_endpoints", "auto", &auto_or(power_of_two()));
        let foreign = fields.or(
            "foreign_entries",
            "auto",
            &auto_or(number(0, 1 << 28, "lines")),
        );
        let blocks = fields.or(
            "rule_blocks",
            "auto",
            &auto_or(number(1, 1 << 28, "blocks")),
        );
        let filters = fields.or(
            "flow_filters",
            "auto",
            &auto_or(number(0, FILTERS_MAX as u32, "filters")),
        );
        let held = fields.or("held_packets", "4096", &number(64u32, 1 << 24, "packets"));
        let of_ue = fields.or("held_packets_of_ue", "32", &number(1u32, 65_535, "packets"));
        let held_s = fields.or("held_s", "20", &number(1u32, 3600, "seconds"));
        let n = sessions.value;
        let twice = n.saturating_mul(2);
        Self {
            sessions,
            // Two for each session: N3 and N9, or N3 and one that rests for 60 s after its end.
            tunnel_endpoints: or(
                endpoints,
                twice.next_power_of_two().max(TEIDS_OF_SHARD_MIN * SHARDS),
            ),
            // A TEID and an address for each session.
            foreign_entries: or(foreign, twice.max(OTHERS_OF_SHARD_MIN * SHARDS)),
            // One for each session on average.
            rule_blocks: or(blocks, n.max(OTHERS_OF_SHARD_MIN * SHARDS)),
            // Most SMFs give all subscribers the same few.
            flow_filters: or(filters, FLOW_FILTERS),
            held_packets: held,
            held_packets_of_ue: of_ue,
            held_s,
        }
    }
}

impl Limits {
    /// Rule blocks as the path numbers them: block 0 is never used, and each shard has as many as
    /// the others.
    pub fn numbered_blocks(&self) -> u32 {
        (self.rule_blocks.value + 1).next_multiple_of(SHARDS)
    }
}

fn or(given: At<Option<u32>>, derived: u32) -> At<u32> {
    At {
        line: given.line,
        value: given.value.unwrap_or(derived),
    }
}

fn power_of_two() -> Kind<u32> {
    let expected = format!("a power of two from {SHARDS} to {TUNNEL_ENDPOINTS_MAX}");
    Kind::new(expected, |text| {
        let fits = |n: &u32| n.is_power_of_two() && (SHARDS..=TUNNEL_ENDPOINTS_MAX).contains(n);
        text.parse().ok().filter(fits)
    })
}
