//! In what the sessions of a live network differ beside their identifiers: gNBs and bit rates.

use crate::path::peers::Peers;
use sluice_wire::pfcp::value::BitRate;

/// The highest rate, and the only one where all are the same.
const TOP_KBPS: f64 = 10_000_000.0;
/// The highest rate by the lowest. The lowest is enough for whatever is sent through a session here,
/// so that nothing is policed.
const SPAN: f64 = 100.0;

/// How many gNBs and rates there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variety {
    /// gNBs.
    pub peers: Peers,
    /// Values of session AMBR and flow MBR.
    ambrs: u32,
}

impl Variety {
    /// So many of each.
    pub fn new(peers: u32, ambrs: u32) -> Self {
        Self {
            peers: Peers::new(peers),
            ambrs: ambrs.max(1),
        }
    }

    /// All sessions alike: 16 gNBs and one rate.
    pub fn uniform() -> Self {
        Self::new(1, 1)
    }

    /// How many gNBs and rates there are.
    pub fn counts(self) -> (u32, u32) {
        (self.peers.count(), self.ambrs)
    }

    /// Whether all sessions are alike.
    pub fn is_uniform(self) -> bool {
        self == Self::uniform()
    }

    /// Session AMBR and MBR of the flow of subscriber `index`: from 10 Gbit/s down to a hundredth, each
    /// the same part of the one before. Most are no round numbers, and all but the first have another
    /// rate for the uplink.
    pub fn rate(self, index: u32) -> BitRate {
        let mixed = u64::from(index.wrapping_mul(0x85eb_ca6b));
        let nth = (mixed * u64::from(self.ambrs)) >> 32;
        let downlink = TOP_KBPS * SPAN.powf(-(nth as f64) / f64::from(self.ambrs));
        let uplink = if nth == 0 { downlink } else { downlink / 3.0 };
        BitRate {
            uplink_kbps: uplink.round() as u64,
            downlink_kbps: downlink.round() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_as_many_rates_as_asked_for() {
        for count in [1, 17, 200] {
            let variety = Variety::new(5_000, count);
            let all = (0..20_000).map(|i| variety.rate(i));
            let all: BTreeSet<_> = all.map(|r| (r.downlink_kbps, r.uplink_kbps)).collect();
            assert_eq!(all.len(), count as usize);
            let odd = all.iter().filter(|(down, _)| down % 2 == 1).count();
            assert!(odd * 4 >= all.len() - 1, "{odd} of {}", all.len());
            let (down, up) = all.first().unwrap();
            assert!(*down >= 100_000 && *up >= 30_000);
            assert_eq!(all.last().unwrap().0, 10_000_000);
        }
    }

    #[test]
    fn sixteen_gnbs_and_one_rate_are_uniform() {
        assert!(Variety::new(16, 1).is_uniform());
        assert!(!Variety::new(16, 2).is_uniform() && !Variety::new(17, 1).is_uniform());
    }
}
