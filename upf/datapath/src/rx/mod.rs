//! Receive side: parse, classify by header match, fragments, dispatch to the owning worker.

pub(crate) mod classify;
pub(crate) mod dispatch;
pub(crate) mod fragments;
pub mod gtpu;
pub(crate) mod header_match;
pub mod parse;
