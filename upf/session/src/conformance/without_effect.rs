//! IEs that are admitted without effect although a CP function may count on one.

use sluice_wire::pfcp::IeType;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct WithoutEffect {
    /// The IE; a line of its group's table says that it is ignored.
    pub ie: IeType,
    /// Its part, where only a part of it has no effect.
    pub part: &'static str,
    /// What happens instead.
    pub note: &'static str,
}

macro_rules! without_effect {
    ($($ie:ident $part:literal $note:literal;)*) => {
        /// All of them, rules first.
        pub const WITHOUT_EFFECT: &[WithoutEffect] = &[$(WithoutEffect {
            ie: IeType::$ie,
            part: $part,
            note: $note,
        }),*];
    };
}

without_effect! {
    GBR "" "the UP function reserves and schedules nothing; only the MBR holds";
    AVERAGING_WINDOW "" "rates are measured by token buckets with depths of our own";
    REPORTING_TRIGGERS "UPINT" "no report of a UE's inactivity by a URR; the session's own timer works; `n4.unserved: refuse` refuses it";
    REPORTING_TRIGGERS "STOPT without an Inactivity Detection Time" "no report of the end of traffic; `n4.unserved: refuse` refuses it";
    NUMBER_OF_REPORTS "" "reports go on without a limit";
    DL_BUFFERING_DURATION "" "packets are held for `limits.held_s` (DLBD is not set)";
    DL_BUFFERING_SUGGESTED_PACKET_COUNT "in a response" "as many are held as BAR and configuration allow";
    DATA_NETWORK_ACCESS_IDENTIFIER "" "the Network Instance alone selects the interface";
    TRACE_INFORMATION "" "no trace begins; `sluice ctl trace` does it";
    S_NSSAI "" "slices do not tell sessions apart";
    APN_DNN "" "the Network Instance alone selects the data network";
    RECOVERY_TIME_STAMP "of an establishment" "the establishment belongs to the association as it is";
}

#[cfg(test)]
mod tests {
    use super::super::{Status, tables};
    use super::*;

    #[test]
    fn a_table_says_of_each_that_it_is_ignored() {
        for one in WITHOUT_EFFECT {
            let mut rows = tables().flat_map(|table| table.rows);
            let is_ignored = rows.any(|row| row.ie == one.ie && row.status == Status::Ignored);
            assert!(is_ignored, "{one:?}");
        }
    }
}
