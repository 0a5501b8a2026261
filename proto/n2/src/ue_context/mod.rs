//! UE context management (TS 38.413, 8.3).

pub(crate) mod initial_context_setup;
pub(crate) mod modification;
pub(crate) mod release;
