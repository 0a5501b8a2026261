//! The packet path from outside: simulated ports, frames in, frames out.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod before_qos;
mod default_session;
mod doors;
mod encap;
mod exhausted;
mod fast;
mod filters;
mod fragments;
mod hold;
mod ipv6;
mod kit;
mod lost;
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
