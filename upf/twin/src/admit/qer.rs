//! Create and Update QER (TS 29.244, 7.5.2.5, 7.5.4.5).

use super::{Draft, Refused, known, new, no_identity};
use crate::bucket::Bucket;
use crate::predefined::is_of_cp;
use crate::rules::Qer;
use sluice_wire::pfcp::group::{CreateQer, UpdateQer};

impl Draft<'_, '_> {
    pub(super) fn create_qer(&mut self, ie: &CreateQer<'_>) -> Result<(), Refused> {
        of_cp(ie.qer_id.0)?;
        let qer = Qer {
            gate: ie.gate_status,
            mbr: ie.maximum_bitrate,
            gbr: ie.guaranteed_bitrate,
            qfi: ie.qos_flow_identifier.map(|q| q.get()),
            uplink: Bucket::default(),
            downlink: Bucket::default(),
        };
        new("QER", ie.qer_id.0, self.rules.qers.insert(ie.qer_id.0, qer))
    }

    pub(super) fn update_qer(&mut self, ie: &UpdateQer<'_>) -> Result<(), Refused> {
        of_cp(ie.qer_id.0)?;
        let qer = self.rules.qers.get_mut(&ie.qer_id.0);
        let qer = known("QER", ie.qer_id.0, qer)?;
        if let Some(gate) = ie.gate_status {
            qer.gate = gate;
        }
        if let Some(edit) = ie.maximum_bitrate {
            edit.apply_to(&mut qer.mbr);
            // A limit that goes takes its bucket along.
            let limit = qer.mbr.unwrap_or_default();
            if limit.uplink_kbps == 0 {
                qer.uplink = Bucket::default();
            }
            if limit.downlink_kbps == 0 {
                qer.downlink = Bucket::default();
            }
        }
        if let Some(edit) = ie.guaranteed_bitrate {
            edit.apply_to(&mut qer.gbr);
        }
        if let Some(edit) = &ie.qos_flow_identifier {
            qer.qfi = edit.value().map(|q| q.get());
        }
        Ok(())
    }
}

/// The CP function names no QER of a predefined rule.
pub fn of_cp(id: u32) -> Result<(), Refused> {
    match is_of_cp(id) {
        true => Ok(()),
        false => no_identity(format!("QER {id:#x} is ours")),
    }
}
