//! Bounds of the endpoint that no configuration changes, each with its derivation.

/// Refused requests that are kept for the operator, the newest. A mistaken SMF refuses the same way
/// for every session, so some dozens tell it; 256 of at most 120 octets take 30 KB and are more lines
/// than anybody reads.
pub const REFUSALS: usize = 256;

/// Heartbeat Requests to the holder of a Node ID within T1 before its silence is believed: one lost
/// datagram, or two, must not cost a function its sessions. With a loss of 1 % for each direction
/// three in vain are one in 125,000.
pub const PROBES: u32 = 3;
