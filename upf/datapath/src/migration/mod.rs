//! Shard migration between workers while packets flow: protocol, worker side, controller, NIC steering.

pub mod controller;
pub mod protocol;
pub(crate) mod relocate;
pub mod requeue;
pub mod steer;
