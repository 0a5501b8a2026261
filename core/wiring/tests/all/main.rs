//! A core on one thread with emulated gNBs and UEs, in virtual time.

#![forbid(unsafe_code)]

mod checklist;
mod collisions;
mod connections;
mod crashes;
mod octets;
mod others;
mod registration;
mod world;
