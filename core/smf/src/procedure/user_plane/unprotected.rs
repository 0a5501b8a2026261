//! Sessions whose user plane a gNB does not protect as their policy has it, or of which it was told another policy
//! (TS 23.501, 5.10.3; TS 33.501, 6.6.1).

use core::net::IpAddr;

use sluice_n1::SessionCause;
use sluice_n2::{SecurityIndication, SecurityResult, Tunnel, UpSecurityInformation};

use crate::context::session::SessionId;
use crate::context::state::State;
use crate::procedure::Procedure;
use crate::procedure::release;

/// A gNB has set a session up, and does not protect it as the policy requires: it is released (TS 23.501, 5.10.3).
pub(crate) async fn give_up(p: &Procedure, result: Option<SecurityResult>) {
    p.failed("the gNB does not protect the user plane as it is required");
    p.with(|state| state.security_refused(p.session, SETUP, told(result)));
    release_at(p, true).await;
}

/// The session ends, for UE, UPF and the gNB if that has it.
pub(crate) async fn release_at(p: &Procedure, is_at_gnb: bool) {
    // Another cell may protect it.
    release::tell_as(p, SessionCause::INSUFFICIENT_RESOURCES, is_at_gnb).await;
    release::end(p, "11");
}

/// A Security Result in words.
pub(crate) fn told(result: Option<SecurityResult>) -> String {
    let is = |is_done| match is_done {
        true => "performed",
        false => "not performed",
    };
    result.map_or("nothing of it".to_owned(), |result| {
        let (integrity, confidentiality) = (is(result.integrity), is(result.confidentiality));
        format!("integrity protection {integrity}, confidentiality protection {confidentiality}")
    })
}

pub(crate) const SETUP: &str = "PDU Session Resource Setup";
const CANNOT: &str = "let the gNB protect the user plane, or set preferred in user_plane_security of data_networks, or up_integrity and up_confidentiality of the subscriber";
pub(crate) const INDICATION: &str = "PDU Session Resource Modify Indication";
pub(crate) const HANDOVER: &str = "Handover Request";
pub(crate) const SWITCH: &str = "Path Switch Request";
const WRONG_POLICY: &str = "look at the gNB that the UE came from: it passes on another policy than it was given, or is attacked";

impl State {
    /// Operators are told that a gNB does not protect a session as its policy requires, and what it said.
    pub fn security_refused(&mut self, id: SessionId, request: &'static str, said: String) {
        self.counters.security_refused += 1;
        let of = self.sessions.get(id.0).map(|session| session.security);
        let Some(policy) = of.and_then(|security| security.policy) else {
            return;
        };
        let why = format!("the gNB does not protect the user plane as the policy has it: {policy}");
        self.report_refused(id, (request, said), (&why, ""), CANNOT);
    }

    /// A gNB to which a UE has come by Xn says what it was told of the session before. The session's own policy is told
    /// it where that is another, or is not carried out (TS 33.501, 6.6.1).
    pub fn verify_security(
        &mut self,
        id: SessionId,
        gnb: Tunnel,
        heard: Option<UpSecurityInformation>,
    ) -> Option<SecurityIndication> {
        let session = self.sessions.get_mut(id.0)?;
        let result = heard.map(|heard| heard.result);
        session.security.result = result;
        let security = session.security;
        let (policy, indication) = (security.policy?, security.indication());
        let is_same = heard.is_some_and(|heard| heard.indication.policy == policy);
        if is_same && security.is_fulfilled_by(result) {
            return None;
        }
        self.counters.security_mismatches += 1;
        let ipv4 = gnb.ipv4.map(IpAddr::V4);
        let address = ipv4.or(gnb.ipv6.map(IpAddr::V6));
        let address = address.map_or("no address".to_owned(), |address| address.to_string());
        let was_told = heard.map_or("nothing".to_owned(), |heard| {
            format!("{}, and says {}", heard.indication.policy, told(result))
        });
        let why = format!("the gNB at {address} was told {was_told}; the policy is {policy}");
        let cause = "acknowledged, with the session's own policy".to_owned();
        self.report_refused(id, (SWITCH, cause), (&why, ""), WRONG_POLICY);
        indication
    }
}
