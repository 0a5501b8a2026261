//! The packet path from outside: simulated ports, frames in, frames out.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod default_session;
mod doors;
mod dropped;
mod encap;
mod exhausted;
mod fast;
mod filters;
mod fragments;
mod hold;
mod ipv6;
mod kit;
mod marking;
mod moves;
mod mss_clamp;
mod n4;
mod nat;
mod outer_ipv6;
mod relay;
mod several_rules;
mod shapes;
mod shaping;
mod soak;
mod steer;
mod trace;
mod usage_grants;
mod waiting;
