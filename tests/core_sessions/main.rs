//! PDU sessions of the core against the whole UPF, with packets, in virtual time: emulated UEs and
//! gNBs on one side, the session machine and the packet path of the UPF on the other.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod any_upf;
mod broken_outcomes;
mod contexts;
mod contexts_at_upf;
mod contexts_full;
mod contexts_left;
mod crossings;
mod discovery;
mod flow_mobility;
mod flows;
mod followed;
mod gnb_lost;
mod handover;
mod handover_collisions;
mod handover_flows;
mod harness;
mod informing;
mod judging;
mod key_order;
mod killed_between_steps;
mod kinds;
#[path = "../kit/mod.rs"]
mod kit;
mod mobility_registration;
mod modification;
mod named_twice;
mod notices;
mod octets;
mod paging;
mod path_switch;
mod policy;
mod procedures;
mod reconciliation;
mod request_types;
mod restoration;
mod scas;
mod simulation;
mod stages;
mod statuses;
mod two_gnbs;
mod udm;
mod ue_requests;
mod unheard;
mod wirings;

use sluice_testbed::network as world;
