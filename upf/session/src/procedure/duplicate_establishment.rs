//! Duplicate Session Establishment Requests, known by CP F-SEID: under more messages than its
//! memory was made for, or with another sequence number.
//!
//! The session's F-SEID at the CP function names it (TS 29.244, 5.6.2), within the association
//! that its Node ID names. If the request is the same to the last octet behind the header it is
//! not applied again: the answer is made anew from what stands. If it is another one the CP
//! function has forgotten the first session and asks for a new one.

use crate::admit::each;
use crate::pending::Created;
use crate::sessions::Sessions;
use crate::store::{CpSession, Session, SessionRef};
use sluice_n4::SessionRequest;
use sluice_wire::limits::PDRS_PER_MESSAGE;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::CreatePdr;
use sluice_wire::pfcp::ie::Body;
use sluice_wire::pfcp::message::SessionEstablishmentHead;
use sluice_wire::pfcp::value::{FSeid, FTeid};

/// The session that this very request established.
pub fn find(
    sessions: &Sessions,
    request: &SessionRequest<'_>,
    head: &SessionEstablishmentHead<'_>,
) -> Option<(SessionRef, Session)> {
    let FSeid { seid, ipv4, ipv6 } = head.cp_f_seid;
    let cp = CpSession { seid, ipv4, ipv6 };
    let (name, session) = sessions.store.by_cp((request.association, cp))?;
    (session.request == request.fingerprint).then_some((name, session))
}

/// The F-TEIDs that were chosen for the PDRs of the request, as far as they still stand.
pub fn created(sessions: &mut Sessions, session: SessionRef, body: &[u8]) -> Created {
    let mut created = Created::new();
    let pdrs = &sessions.rules(session).pdrs;
    let read = each(
        &Body::new(body),
        IeType::CREATE_PDR,
        PDRS_PER_MESSAGE,
        |ie: &CreatePdr<'_>| {
            let asked = matches!(ie.pdi.local_f_teid, Some(FTeid::Choose { .. }));
            let pdr = pdrs.iter().find(|p| asked && p.id == ie.pdr_id);
            if let Some((id, tunnel)) = pdr.and_then(|p| Some((p.id, p.tunnel?))) {
                // There is a place for each PDR of a message.
                let _ = created.try_push((id, tunnel));
            }
            Ok(())
        },
    );
    debug_assert!(read.is_ok(), "the request was admitted before");
    created
}
