//! Nudm (TS 29.503): authentication vectors, subscription data and context management, and what it tells AMFs and SMFs.

use sluice_sbi::Message;

use crate::exchange::Consumer;
use crate::names::Memory;

pub(crate) mod callbacks;
pub(crate) mod sdm;
pub(crate) mod ueau;
pub(crate) mod uecm;

/// Nudm_UEAuthentication in paths and profiles.
pub(crate) const UEAU: &str = "nudm-ueau";

/// Nudm_SubscriberDataManagement in paths and profiles.
pub(crate) const SDM: &str = "nudm-sdm";

/// Nudm_UEContextManagement in paths and profiles.
pub(crate) const UECM: &str = "nudm-uecm";

/// Begin of the paths at which AMFs are told.
pub(crate) const AMF_CALLBACK: &str = "namf-callback";

/// Begin of the paths at which SMFs are told.
pub(crate) const SMF_CALLBACK: &str = "nsmf-callback";

/// A request for the UDM, or of it for those who are told.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    ueau::begin(message, memory)
        .or_else(|| sdm::begin(message, memory))
        .or_else(|| uecm::begin(message, memory))
        .or_else(|| callbacks::begin(message, memory))
}

#[cfg(test)]
mod tests;
