//! Receive side: parse, classify by header match, fragments, dispatch to the owning worker.

pub(crate) mod classify;
pub(crate) mod fragments;
pub mod gtpu;
pub mod parse;
pub(crate) mod shape;
pub(crate) mod sort;
