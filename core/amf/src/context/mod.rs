//! UEs and their connections, as the AMF stores them.

pub(crate) mod handover_state;
pub(crate) mod moving;
pub(crate) mod resumption;
pub(crate) mod state;
pub(crate) mod stored_context;
pub(crate) mod ue;
pub(crate) mod undo;
