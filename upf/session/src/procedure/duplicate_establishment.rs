//! Duplicate Session Establishment Requests, known by CP F-SEID: under more messages than its
//! memory was made for, or with another sequence number.
//!
//! The session's F-SEID at the CP function names it (TS 29.244, 5.6.2), within the association
//! that its Node ID names. If the request is the same to the last octet behind the header it is
//! not applied again: the answer is made anew from what stands. If it is another one the CP
//! function has forgotten the first session and asks for a new one: once that is admitted the first
//! is removed, since an F-SEID names one session and nobody would ever delete it.

use crate::admit::each;
use crate::admit::pdr::ue;
use crate::node::part::Part;
use crate::pending::{Created, CreatedPdr};
use crate::rules::{Families, UeAddresses};
use crate::store::{CpSession, RequestHash, Session, SessionRef};
use sluice_n4::SessionRequest;
use sluice_wire::limits::PDRS_PER_MESSAGE;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::CreatePdr;
use sluice_wire::pfcp::ie::Body;
use sluice_wire::pfcp::message::SessionEstablishmentHead;
use sluice_wire::pfcp::value::{FSeid, FTeid};

/// The session of a request's CP F-SEID that is there already.
pub struct Known {
    pub name: SessionRef,
    pub session: Session,
    /// This very request established it.
    pub is_same: bool,
}

/// The session that is called so.
pub fn find(
    part: &Part,
    request: &SessionRequest<'_>,
    head: &SessionEstablishmentHead<'_>,
) -> Option<Known> {
    let FSeid { seid, ipv4, ipv6 } = head.cp_f_seid;
    let cp = CpSession { seid, ipv4, ipv6 };
    let (name, session) = part.store.by_cp((request.association, cp))?;
    Some(Known {
        is_same: session.request == RequestHash::of(request.fingerprint),
        name,
        session,
    })
}

/// What was chosen for the PDRs of the request, as far as it still stands, and the session's UE addresses.
pub fn created(part: &mut Part, session: SessionRef, body: &[u8]) -> (Created, UeAddresses) {
    let mut created = Created::new();
    let rules = &*part.rules(session);
    let read = each(
        &Body::new(body),
        IeType::CREATE_PDR,
        PDRS_PER_MESSAGE,
        |ie: &CreatePdr<'_>| {
            let Some(pdr) = rules.pdrs.iter().find(|p| p.id == ie.pdr_id) else {
                return Ok(());
            };
            let asked = matches!(ie.pdi.local_f_teid, Some(FTeid::Choose { .. }));
            let families = ie.pdi.ue_ip_address.iter().map(ue::asked_for);
            let chosen = CreatedPdr {
                id: pdr.id,
                tunnel: pdr.tunnel.filter(|_| asked),
                ue: families.fold(Families::NONE, Families::or),
            };
            if chosen != CreatedPdr::of(pdr.id) {
                // There is a place for each PDR of a message.
                let _ = created.try_push(chosen);
            }
            Ok(())
        },
    );
    debug_assert!(read.is_ok(), "the request was admitted before");
    (created, rules.ue)
}
