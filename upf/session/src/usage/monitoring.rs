//! Usage of a URR before a Monitoring Time, kept apart until it is reported (TS 29.244, 5.2.2.2, 8.2.15).

use sluice_datapath::session::txn::Usage;
use sluice_wire::pfcp::value::NtpTime;

/// What was measured before a Monitoring Time and is not reported yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsageBefore {
    /// When this measurement began.
    pub start: NtpTime,
    /// The Monitoring Time.
    pub end: NtpTime,
    /// Uplink and downlink usage.
    pub usage: [Usage; 2],
    /// Time of use.
    pub used_s: u32,
}

impl UsageBefore {
    /// Becomes one with a measurement that ended where this one begins.
    pub fn follow(&mut self, earlier: &Self) {
        self.start = earlier.start;
        self.used_s = self.used_s.saturating_add(earlier.used_s);
        for (sum, usage) in self.usage.iter_mut().zip(earlier.usage) {
            sum.bytes += usage.bytes;
            sum.packets += usage.packets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_earlier_is_added_in_front() {
        let part = |start: u32, bytes| UsageBefore {
            start: NtpTime(start),
            end: NtpTime(start + 10),
            usage: [Usage { bytes, packets: 1 }; 2],
            used_s: 4,
        };
        let mut both = part(110, 7);
        both.follow(&part(100, 30));
        let usage = Usage {
            bytes: 37,
            packets: 2,
        };
        let expected = UsageBefore {
            usage: [usage; 2],
            used_s: 8,
            ..part(100, 0)
        };
        assert_eq!(
            both,
            UsageBefore {
                end: NtpTime(120),
                ..expected
            }
        );
    }
}
