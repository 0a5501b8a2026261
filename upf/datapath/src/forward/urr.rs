//! URR: volume is counted when the packet leaves, and taken back if it did not.

use crate::session::rule::Body;

/// The packet leaves: its inner length counts.
#[inline(always)]
pub fn charge(body: &mut Body, bytes: u32) {
    body.usage.add(bytes);
}

/// The packet did not leave after all.
#[inline(always)]
pub fn refund(body: &mut Body, bytes: u32) {
    body.usage.subtract(bytes);
}
