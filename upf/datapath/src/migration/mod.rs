//! Shard migration between workers while packets flow: protocol, worker side, controller, NIC steering.

pub mod controller;
pub mod port_steering;
pub mod protocol;
pub(crate) mod worker;
