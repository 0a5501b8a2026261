//! Routes: which service a message or a request is of.

use sluice_sbi::Message;

use crate::exchange::{Consumer, Producer, Request};
use crate::names::Memory;
use crate::route::{Route, unknown};
use crate::{namf, nausf_auth, nnrf, nnssf, npcf, nsmf, nssai_availability, nudm, nudr};

/// Begins a call; none of a message that no service carries.
pub fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    nausf_auth::begin(message, memory)
        .or_else(|| namf::begin(message, memory))
        .or_else(|| nnrf::begin(message, memory))
        .or_else(|| nnssf::begin(message, memory))
        .or_else(|| nssai_availability::begin(message, memory))
        .or_else(|| npcf::begin(message, memory))
        .or_else(|| nsmf::begin(message, memory))
        .or_else(|| nudm::begin(message, memory))
        .or_else(|| nudr::begin(message, memory))
}

/// Begins with a request of another function.
pub fn accept(request: &Request, memory: &mut Memory) -> Producer {
    let Some(route) = Route::of(request) else {
        return Producer::Done(unknown());
    };
    match route.service.as_str() {
        namf::SERVICE => namf::accept(&route, request, memory),
        namf::events::SERVICE => namf::events::accept(&route, request, memory),
        namf::mt::SERVICE => namf::mt::accept(&route, request),
        "namf-callback" if nsmf::is_status(&route) => nsmf::accept_status(&route, request, memory),
        nausf_auth::SERVICE => nausf_auth::accept(&route, request, memory),
        nnssf::SERVICE => nnssf::accept(&route, memory),
        nssai_availability::SERVICE => nssai_availability::accept(&route, request, memory),
        npcf::SESSIONS => npcf::accept(&route, request, memory),
        npcf::authorization::SERVICE => npcf::authorization::accept(&route, request, memory),
        npcf::access::SERVICE => npcf::access::accept(&route, request, memory),
        nsmf::SERVICE => nsmf::accept(&route, request, memory),
        nsmf::events::SERVICE => nsmf::events::accept(&route, request, memory),
        "nsmf-callback" if npcf::is_notice(&route) => npcf::accept_notice(&route, request, memory),
        "nsmf-callback" if namf::is_failure(&route) => namf::accept_failure(&route, request),
        nudm::UEAU => nudm::ueau::accept(&route, request, memory),
        nudm::SDM => nudm::sdm::accept(&route, request, memory),
        nudm::UECM => nudm::uecm::accept(&route, request, memory),
        nudm::AMF_CALLBACK | nudm::SMF_CALLBACK => nudm::callbacks::accept(&route, request, memory),
        nudr::SERVICE => nudr::accept(&route, request, memory),
        nudr::UDM_CALLBACK => nudr::changes::accept_callback(&route, request),
        _ => Producer::Done(unknown()),
    }
}
