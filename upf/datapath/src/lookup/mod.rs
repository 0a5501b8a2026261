//! Session lookup: identifier of a packet (F-TEID, UE address) to session entry, shard and owner.

pub mod exact_match;
pub mod layout;
pub mod lpm;
pub mod session_lookup;
