//! PFCP dialect of an SMF that follows TS 29.244 to the letter, and has outer headers marked by 5QI.
//!
//! - Transport Level Marking stands in the FARs of both directions, with a mask of the six bits of a DSCP. Nothing is
//!   marked on N6, where there is no outer header.
//! - Each Update FAR with a gNB's tunnel says the marking again.

use sluice_wire::ids::Qfi;

use super::profile::*;
use super::ts::BY_THE_BOOK;

/// DSCPs of RFC 4594 by 5QI: conversational voice and video, signalling, video, the default.
const DSCP: [(Qfi, u8); 5] = [
    (qfi(1), 46),
    (qfi(2), 34),
    (qfi(5), 40),
    (qfi(8), 18),
    (qfi(9), 10),
];

const fn qfi(of_5qi: u8) -> Qfi {
    match Qfi::new(of_5qi) {
        Some(qfi) => qfi,
        None => unreachable!(),
    }
}

/// 5.4.4, 7.5.2.3, 7.5.4.3, 8.2.12.
pub static PROFILE: Profile = Profile {
    name: "marking",
    source: "3GPP TS 29.244, Release 17: 5.4.4, 8.2.12",
    far: FarStyle {
        dscp: &DSCP,
        ..BY_THE_BOOK.far
    },
    ..BY_THE_BOOK
};
