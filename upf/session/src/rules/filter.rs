//! SDF filters of a PDR, as they are kept: an address family, and a run of flow filters.

use super::Families;
use sluice_datapath::session::flow_filter::FilterRun;

/// What a PDR's SDF filters let through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Packets of these families.
    pub families: Families,
    /// Of these, packets that meet one filter of the run.
    pub run: FilterRun,
    /// Of these, packets of the UE's link alone: from or to link-local addresses, or to groups.
    pub is_link: bool,
}

impl Filter {
    /// Everything.
    pub const ALL: Self = Self {
        families: Families::BOTH,
        run: FilterRun::NONE,
        is_link: false,
    };
}
