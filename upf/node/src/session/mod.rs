//! The N4 session machine of the UP function (TS 29.244, Release 17), sans-IO.
//!
//! Start at [`UpFunction`]; each procedure is one file: `establishment`, `modification`,
//! `deletion`, `report`. A request becomes a draft of the session's rules (`admit` reads the IEs
//! into it, `compile` resolves, places and renders it), which is committed whole or dropped
//! whole. What the packet path must change leaves as a transaction; the response leaves when the
//! transaction has come back (`complete`). `associations` says what happens to sessions when
//! their CP function comes, goes or falls silent.
//!
//! Choices where the TS leaves one, or where this UP function does less than it could:
//! - Apply Action BUFF: nothing is buffered yet. Every SMF sets it when a UE goes idle, and no
//!   feature bit tells that a UPF does not buffer, so the FAR is admitted; its packets are
//!   dropped and counted as the FAR's, and no Downlink Data Report is made. DUPL and all other
//!   actions are refused: they belong to features that are not advertised.
//! - A rule that another rule still names cannot be removed (cause 73).
//! - The session's UE address holds for all its uplink rules, whether or not their PDIs repeat it.

mod admit;
mod associations;
mod compile;
mod complete;
mod config;
mod deletion;
mod draft;
mod establishment;
mod features;
mod function;
mod ground;
mod limits;
mod meter;
mod modification;
mod names;
mod notice;
mod pending;
mod places;
mod random;
mod refusal;
mod report;
mod rules;
mod sdf;
mod slab;
mod state;
mod store;
mod views;
mod work;

pub use config::Config;
pub use features::UP_FUNCTION_FEATURES;
pub use function::{Effects, UpFunction};
pub use ground::InUse;
pub use notice::Notice;
pub use views::{AssociationView, FarView, PdrView, QerView, SessionLine, SessionView, UrrView};

#[cfg(test)]
mod tests;
