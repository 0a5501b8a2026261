//! PDU session management (TS 38.413, 8.2): messages of an AMF and a gNB, and the transfers in them, which an SMF and a
//! gNB write and the AMF passes on unread.

pub mod modify_indication;
pub mod notify;
pub mod qos_flow;
pub mod resource_modify;
pub mod resource_release;
pub mod resource_setup;
pub mod tunnel;
pub mod up_security;

pub use resource_modify::{modify_failure, read_modify_failure};
pub use resource_release::{release_command, release_response};
pub use resource_setup::{read_setup_failure, setup_failure};
