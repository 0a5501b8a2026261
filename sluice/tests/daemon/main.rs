//! `sluice upf` as operators run it: the binary in a namespace, DPDK ports on veths, an emulated
//! SMF and gNB, and the kernel as UE and as server. Each test has namespaces of its own, which
//! end with it. Needs root.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod applications;
mod core_killed;
mod core_traced;
mod ctl;
mod flows;
mod framed_routes;
mod instances;
mod kit;
mod life;
mod live_cores;
mod load;
mod memif;
mod metrics;
mod moves;
mod mss_clamp;
mod n3_ipv6;
mod n4;
mod nat;
mod observe;
mod paging;
mod paths;
mod peers;
mod plain_upf;
mod ports;
mod ran;
mod ran_n2;
mod refused;
mod relay;
mod reload;
mod shaping;
mod sizes;
mod start;
mod steering;
mod tags;
mod trace;
mod traceroute;
mod tutorial;
mod upf_away;
mod usage;
