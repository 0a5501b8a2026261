//! Session lookup: identifier of a packet (F-TEID, UE address) to session entry, shard and owner.

pub mod foreign;
pub mod layout;
pub mod owners;
pub mod place;
