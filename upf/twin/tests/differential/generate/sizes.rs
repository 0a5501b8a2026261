//! More than there is room for in one place: rates of a PDR, ports of its filters, flows of a door.

use super::Generator;
use crate::spec::*;

/// QERs of one PDR, one more than it may have rates.
const RATES: std::ops::Range<u32> = 41..46;

impl Generator {
    pub(super) fn too_much(&mut self, rules: &mut Rules) {
        let at = self.rng.below(rules.pdrs.len() as u64) as usize;
        let pdr = &mut rules.pdrs[at];
        match self.rng.below(3) {
            0 => {
                pdr.qers = RATES.collect();
                rules.qers.extend(RATES.map(|id| QerSpec {
                    id,
                    open: (true, true),
                    mbr: Some((1_000, 1_000)),
                    gbr: None,
                    qfi: None,
                }));
            }
            1 => {
                let text = "permit out 17 from any 1,2,3,4,5,6,7,8 to assigned 1,2,3,4,5,6,7,8";
                pdr.filters = vec![FilterSpec::flow(text)];
                pdr.application = None;
            }
            _ => pdr.qfis = (0..40).collect(),
        }
    }
}
