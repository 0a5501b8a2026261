//! Session sets: the FQ-CSIDs of an establishment or a modification.

use super::each;
use crate::admission::Admission;
use crate::refusal::Refusal;
use crate::session_sets::SetName;
use sluice_n4::AssociationId;
use sluice_wire::limits::FQ_CSIDS;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::ie::Body;
use sluice_wire::pfcp::value::FqCsid;

impl<N> Admission<'_, N> {
    /// The session belongs to the sets that are told, and no longer to others of the same kind of node (TS 23.007,
    /// 23).
    pub fn take_sets(&mut self, of: AssociationId, body: &Body<'_>) -> Result<(), Refusal> {
        if !body.may_have(IeType::FQ_CSID) {
            return Ok(());
        }
        let (sets, list) = (&mut self.shared.sets, &mut self.draft.sets);
        each(body, IeType::FQ_CSID, FQ_CSIDS, |ie: &FqCsid<'_>| {
            *list = sets.of_other_types(list, ie.node_type);
            Ok(())
        })?;
        each(body, IeType::FQ_CSID, FQ_CSIDS, |ie: &FqCsid<'_>| {
            for name in SetName::all(of, ie) {
                let full = Refusal::full(None, Some(IeType::FQ_CSID));
                if list.is_full() {
                    return Err(full);
                }
                let id = sets.find_or_add(name).ok_or(full)?;
                if !list.contains(&id) {
                    list.push(id);
                }
            }
            Ok(())
        })
    }
}
