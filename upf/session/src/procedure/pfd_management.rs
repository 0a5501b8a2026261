//! PFD Management (TS 29.244, 6.2.5, 7.4.3): the flows of applications, told for all sessions of this UP function,
//! whichever CP function has them.

use crate::flows::applications::{Flows, Told, read_flow};
use crate::flows::sdf::{FlowFilterList, SdfError};
use crate::limits::APPLICATIONS_PER_REQUEST;
use crate::node::{Effects, Moment, Node, Part, Shared};
use crate::procedure::put;
use crate::refusal::Refusal;
use sluice_n4::SessionRequest;
use sluice_wire::pfcp::group::ApplicationIdsPfds;
use sluice_wire::pfcp::ie::Body;
use sluice_wire::pfcp::value::PfdContents;
use sluice_wire::pfcp::{Cause, IeType, Ies, Reject};

/// Takes the flows that a request tells, all or nothing.
pub fn manage<E: Effects>(node: &mut Node, at: Moment, request: &SessionRequest<'_>, out: &mut E) {
    let answer = match take(&mut node.shared, &mut node.part, request.body) {
        Ok(()) => Refusal::of(Cause::REQUEST_ACCEPTED),
        Err(refusal) => refusal,
    };
    let Node {
        endpoint, node_id, ..
    } = node;
    // A peer that is gone needs no answer.
    let _ = endpoint.reply(at.now, request.reply, None, out, |w| {
        answer.write(w)?;
        put(w, IeType::NODE_ID, &node_id.as_wire())
    });
}

fn take(shared: &mut Shared, part: &mut Part, octets: &[u8]) -> Result<(), Refusal> {
    if let Some(unreadable) = Ies::new(octets).find_map(Result::err) {
        return Err(unreadable.into());
    }
    let body = Body::new(octets);
    let mut told: Vec<Told> = Vec::new();
    body.each_group(
        IeType::APPLICATION_IDS_PFDS,
        APPLICATIONS_PER_REQUEST,
        |ie: &ApplicationIdsPfds<'_>| {
            let flows = flows(ie)?;
            let contents = ie.pfd_context.iter().flat_map(|pfd| &pfd.pfd_contents);
            let texts = contents.flat_map(PfdContents::flow_descriptions).flatten();
            let flows = (!flows.is_empty()).then(|| Flows::new(&flows, texts));
            told.push((ie.application_id.0.to_vec(), flows));
            Ok::<(), Refusal>(())
        },
    )?;
    // Table 7.4.3.1-1: without applications, all that was told goes.
    let replaces_all = told.is_empty();
    let told = (shared.applications).tell(told, replaces_all, &part.uses.applications);
    let full = Refusal::full(None, Some(IeType::APPLICATION_IDS_PFDS));
    if told.map_err(|_| full)? {
        part.flow_walk.begin(part.store.places());
    }
    Ok(())
}

/// All flows of an application. Of a PFD everything has to be one: names of servers are not looked for in packets.
fn flows(ie: &ApplicationIdsPfds<'_>) -> Result<FlowFilterList, Refusal> {
    let mut list = FlowFilterList::new();
    let contents = ie.pfd_context.iter().flat_map(|pfd| &pfd.pfd_contents);
    for contents in contents {
        read_contents(contents, &mut list)?;
    }
    Ok(list)
}

fn read_contents(contents: &PfdContents<'_>, into: &mut FlowFilterList) -> Result<(), Refusal> {
    let refused = |cause| Refusal {
        offending_ie: Some(IeType::PFD_CONTENTS),
        ..Refusal::of(cause)
    };
    if contents.asks_for_names() {
        return Err(refused(Cause::SERVICE_NOT_SUPPORTED));
    }
    let before = into.len();
    for flow in contents.flow_descriptions() {
        let flow = flow.ok_or(Reject::invalid_length(IeType::PFD_CONTENTS))?;
        read_flow(flow, into).map_err(|error| match error {
            SdfError::Wrong => refused(Cause::MANDATORY_IE_INCORRECT),
            SdfError::TooMany => refused(Cause::NO_RESOURCES_AVAILABLE),
        })?;
    }
    // What tells no packets must not read as if the application had none.
    if into.len() > before {
        Ok(())
    } else {
        Err(refused(Cause::MANDATORY_IE_INCORRECT))
    }
}
