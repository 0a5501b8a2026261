//! PFCP procedures, a file each: functions of the node and a message, whose result is a transaction
//! to launch or an answer. None starts another.

pub mod association;
pub mod association_release;
pub mod deletion;
pub mod establishment;
pub mod flow_change;
pub mod measurement;
pub mod modification;
pub mod node_report;
pub mod pfd_management;
pub mod report;
pub mod set_deletion;
pub mod ue_addresses;

use crate::pending::Created;
use crate::rules::UeAddresses;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::UeIpAddress;
use sluice_wire::pfcp::{Full, IeType, Writer};

/// Writes one IE.
pub fn put<'v>(w: &mut Writer<'_>, ie: IeType, value: &impl Element<'v>) -> Result<(), Full> {
    w.ie(ie, |w| value.encode(w))
}

/// Created PDR with the F-TEIDs and UE addresses of our choice.
pub fn write_created(w: &mut Writer<'_>, created: &Created, ue: &UeAddresses) -> Result<(), Full> {
    for pdr in created {
        w.ie(IeType::CREATED_PDR, |w| {
            put(w, IeType::PDR_ID, &pdr.id)?;
            if let Some(f_teid) = pdr.tunnel.and_then(|tunnel| tunnel.f_teid()) {
                put(w, IeType::F_TEID, &f_teid)?;
            }
            if pdr.ue.is_none() {
                Ok(())
            } else {
                put(w, IeType::UE_IP_ADDRESS, &chosen_ue(&ue.of(pdr.ue)))
            }
        })?;
    }
    Ok(())
}

fn chosen_ue(ue: &UeAddresses) -> UeIpAddress {
    UeIpAddress {
        ipv4: ue.ipv4,
        ipv6: ue.prefix_address(),
        ..UeIpAddress::default()
    }
}
