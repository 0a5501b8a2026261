//! A core on one thread with emulated gNBs and UEs, in virtual time.

#![forbid(unsafe_code)]

mod checklist;
mod collisions;
mod configuration;
mod connections;
mod crashes;
mod deregistration;
mod keeping;
mod methods;
mod ngap_faults;
mod octets;
mod others;
mod registration;
mod storm;
mod unsupported;
mod world;
