//! Tests of all services: calls through them, and bodies that are wrong.

mod hostile;
pub(crate) mod through;
