//! Shard migration between workers while packets flow: protocol, worker side, controller, NIC steering.

pub mod controller;
pub mod port_steering;
pub mod protocol;
pub mod rxq_reassign;
pub(crate) mod worker;
