//! Tests of all services: calls through them, and bodies that are wrong.

mod hostile;
mod replay;
pub(crate) mod round_trip;
pub(crate) mod through;
