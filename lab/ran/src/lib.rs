//! Emulated gNBs and UEs.
#![forbid(unsafe_code)]
