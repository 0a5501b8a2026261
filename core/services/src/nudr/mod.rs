//! Nudr_DataRepository (TS 29.504; subscription data of TS 29.505): requests of a UDM, and what the UDR tells it.

use sluice_ids::{Plmn, Supi};
use sluice_sbi::Message;

use crate::exchange::{Consumer, Producer, Request};
use crate::names::Memory;
use crate::route::{Route, unknown};

mod authentication;
pub(crate) mod changes;
mod context;
mod provisioned;
mod queried;

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "nudr-dr";

/// Begin of the paths at which a UDM is told.
pub(crate) const UDM_CALLBACK: &str = "nudm-callback";

/// Begin of the paths.
const ROOT: &str = "/nudr-dr/v2/subscription-data";

/// A request of a UDM, or of the UDR for it.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    authentication::begin(message, memory)
        .or_else(|| provisioned::begin(message, memory))
        .or_else(|| context::begin(message, memory))
        .or_else(|| changes::begin(message, memory))
}

/// A request for the UDR.
pub(crate) fn accept(route: &Route, request: &Request, memory: &mut Memory) -> Producer {
    let taken = match route.parts().as_slice() {
        ["subscription-data", "subs-to-notify", rest @ ..] => {
            changes::accept(route, rest, request, memory)
        }
        ["subscription-data", ue, "authentication-data", rest @ ..] => {
            authentication::accept(route, ue, rest, request)
        }
        ["subscription-data", ue, "context-data", rest @ ..] => {
            context::accept(route, ue, rest, request, memory)
        }
        ["subscription-data", ue, _, "provisioned-data", rest @ ..] => {
            provisioned::accept(route, ue, rest, memory)
        }
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

/// Path of something of a subscriber.
fn path(supi: &Supi, what: &str) -> String {
    format!("{ROOT}/{supi}/{what}")
}

/// Path of provisioned data for a network, whose digits are together.
fn provisioned_path(supi: &Supi, plmn: Plmn, what: &str) -> String {
    let plmn = plmn.to_string().replace('-', "");
    path(supi, &format!("{plmn}/provisioned-data/{what}"))
}

#[cfg(test)]
mod tests;
