//! Leases of the SMF for sessions whose UPF gives less: UE addresses (a UPF without UEIP; TS 29.244, 5.21) and F-TEIDs
//! (one without FTUP; 5.5.3).
//!
//! A session has its lease from before its UPF is asked until the UPF has deleted it. It is stored with the session, and
//! what is given is known again from what is stored.

mod giving;
pub(crate) mod lease;
pub(crate) mod numbers;
pub(crate) mod pools;
mod tunnel_ends;
