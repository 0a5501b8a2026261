//! A core on one thread with emulated gNBs and UEs, in virtual time.

#![forbid(unsafe_code)]

mod broken_outcomes;
mod checklist;
mod collisions;
mod configuration;
mod connections;
mod crashes;
mod deregistration;
mod exposure;
mod journal;
mod key_names;
mod methods;
mod ngap_faults;
mod octets;
mod others;
mod proofs;
mod recorded;
mod registration;
mod storm;
mod unreadable;
mod unsupported;

use sluice_testbed::network as world;
