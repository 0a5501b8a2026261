//! Sessions as the SMF stores them, with their flows.

pub(crate) mod flows;
pub(crate) mod resumption;
pub(crate) mod session;
pub(crate) mod state;
pub(crate) mod stored_context;
pub(crate) mod subscribers;
