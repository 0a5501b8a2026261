//! PFCP procedures, a file each: functions of the node and a message, whose result is a transaction
//! to launch or an answer. None starts another.

pub mod association;
pub mod association_release;
pub mod deletion;
pub mod duplicate_establishment;
pub mod establishment;
pub mod measurement;
pub mod modification;
pub mod report;

use crate::pending::Created;
use sluice_wire::ids::Teid;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::FTeid;
use sluice_wire::pfcp::{Full, IeType, Writer};

/// Writes one IE.
pub fn put<'v>(w: &mut Writer<'_>, ie: IeType, value: &impl Element<'v>) -> Result<(), Full> {
    w.ie(ie, |w| value.encode(w))
}

/// Created PDR with the F-TEIDs of our choice.
pub fn write_created(w: &mut Writer<'_>, created: &Created) -> Result<(), Full> {
    for (pdr_id, tunnel) in created {
        let Some(teid) = Teid::new(tunnel.teid) else {
            continue;
        };
        w.ie(IeType::CREATED_PDR, |w| {
            put(w, IeType::PDR_ID, pdr_id)?;
            put(w, IeType::F_TEID, &FTeid::v4(teid, tunnel.address))
        })?;
    }
    Ok(())
}
