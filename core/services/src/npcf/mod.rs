//! Services of the PCF: policies of sessions (TS 29.512), of UEs (TS 29.507) and of applications (TS 29.514).

use sluice_sbi::Message;

use crate::exchange::{Consumer, Producer, Request};
use crate::names::Memory;
use crate::resources::Collection;
use crate::route::{Route, not_allowed, unknown};

pub(crate) mod access;
pub(crate) mod authorization;
mod filter;
mod known;
mod rules;
mod serve;
mod session;

/// Name of the service of sessions in paths and profiles.
pub(crate) const SESSIONS: &str = "npcf-smpolicycontrol";

const POLICIES: Collection = Collection("/npcf-smpolicycontrol/v1/sm-policies");
/// Notification URIs of SMFs, by what an SMF calls the session.
const NOTIFICATIONS: Collection = Collection("/nsmf-callback/v1/sm-policies");
const NOTICE: &str = "sm-policies";

/// Operation of a UE that replaces filters, as the description has it: with a space (TS 29.512, A.2, RuleOperation).
const REPLACE: &str = "MODIFY_ PCC_RULE_AND_REPLACE_PACKET_FILTERS";
/// Member with the 5QI that a UE asks for, which names a 5QI that is not for the subscriber.
const FIVE_QI: &str = "/ueInitResReq/reqQos/5qi";

/// PduSessionType (TS 29.571, 5.4.3.3) by its number in TS 24.501, 9.11.4.11, from 1 on.
const TYPES: [&str; 5] = ["IPV4", "IPV6", "IPV4V6", "UNSTRUCTURED", "ETHERNET"];

fn type_name(number: u8) -> &'static str {
    let name = TYPES.get(usize::from(number).wrapping_sub(1));
    name.copied().unwrap_or("IPV4V6")
}

fn type_number(name: &str) -> Option<u8> {
    let at = TYPES.iter().position(|one| *one == name)?;
    Some(at as u8 + 1)
}

/// Key of the policy's URI of a session, by what its SMF calls it.
fn policy_key(context: u64) -> String {
    format!("sm-policy-of {context:016x}")
}

/// A request of an AMF or SMF, or a notification of a PCF.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::CreateSmPolicy(request) => Some(session::create(request, memory)),
        Message::UpdateSmPolicy(request) => Some(session::update(request, memory)),
        Message::DeleteSmPolicy(request) => Some(session::delete(request, memory)),
        Message::NotifySmPolicy(notice) => Some(serve::notify(notice, memory)),
        Message::NotifyAppSession(notice) => Some(authorization::notify(notice, memory)),
        message => access::begin(message, memory),
    }
}

/// A request for the PCF about a session.
pub(crate) fn accept(route: &Route, request: &Request, memory: &mut Memory) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("POST", ["sm-policies"]) => serve::create(request, memory),
        ("POST", ["sm-policies", id, "update"]) => serve::update(id, request, memory),
        ("POST", ["sm-policies", id, "delete"]) => serve::delete(id),
        (_, ["sm-policies"] | ["sm-policies", _, "update" | "delete"]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

/// Whether a callback of an SMF is of this service.
pub(crate) fn is_notice(route: &Route) -> bool {
    matches!(route.parts().as_slice(), [NOTICE, ..])
}

/// Notification of a PCF for the SMF.
pub(crate) fn accept_notice(route: &Route, request: &Request, memory: &mut Memory) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("POST", [_, id, "update"]) => session::accept_notice(id, request, memory),
        (_, [_, _, "update"]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

#[cfg(test)]
mod tests;
