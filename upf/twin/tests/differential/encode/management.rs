//! Requests that are about several sessions: session sets, and flows of applications.

use super::CP;
use crate::spec::SetSpec;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::{ApplicationIdsPfds, PfdContext};
use sluice_wire::pfcp::value::{CsidNode, FqCsid, NodeId, PfdContents, Text};
use sluice_wire::pfcp::{Full, IeType, Writer};

/// The IEs of a Session Set Deletion Request.
pub fn set_deletion(out: &mut Writer<'_>, list: &[SetSpec]) -> Result<(), Full> {
    out.ie(IeType::NODE_ID, |w| NodeId::V4(CP).encode(w))?;
    sets(out, list)
}

/// The first flow of each application stands alone, the others are additional ones of a second PFD.
pub fn pfd_management(
    out: &mut Writer<'_>,
    told: &[(&'static str, Vec<&'static str>)],
) -> Result<(), Full> {
    for (name, flows) in told {
        let (first, others) = flows.split_at(flows.len().min(1));
        let mut more = Vec::new();
        for flow in others {
            more.extend((flow.len() as u16).to_be_bytes());
            more.extend(flow.as_bytes());
        }
        let first = first.iter().map(|flow| PfdContents::flow(flow.as_bytes()));
        let more = (!more.is_empty()).then_some(PfdContents {
            additional_flow_descriptions: Some(&more),
            ..PfdContents::default()
        });
        let pfd = |contents| PfdContext {
            pfd_contents: [contents].into_iter().collect(),
        };
        let ie = ApplicationIdsPfds {
            application_id: Text(name.as_bytes()),
            pfd_context: first.chain(more).map(pfd).collect(),
        };
        out.ie(IeType::APPLICATION_IDS_PFDS, |w| ie.emit(w))?;
    }
    out.ie(IeType::NODE_ID, |w| NodeId::V4(CP).encode(w))
}

/// FQ-CSIDs of our own.
pub fn sets(out: &mut Writer<'_>, list: &[SetSpec]) -> Result<(), Full> {
    for set in list {
        let csid = [0, set.csid];
        let ie = FqCsid::new(CsidNode::V4(CP), &csid, Some(set.node_type));
        let ie = ie.expect("one set");
        out.ie(IeType::FQ_CSID, |w| ie.encode(w))?;
    }
    Ok(())
}
