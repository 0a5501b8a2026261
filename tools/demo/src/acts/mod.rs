//! Phases of the demo, with their checks.

mod account;
mod ending;
mod programs;
mod signalling;

pub(super) use account::{account, check_captures};
pub(super) use ending::{detach, knock};
pub(super) use programs::{iperf, ping_and_http};
pub(super) use signalling::{attach, greet, switch_path};

/// The UE that moves from its first gNB to the other, and that tries its luck without a session.
const MOVING_UE: usize = 0;
