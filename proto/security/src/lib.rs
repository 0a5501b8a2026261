//! Keys and algorithms of 5G security: Milenage, 5G-AKA, NAS ciphering and integrity, SUCI.
//!
//! Milenage, SNOW 3G, ZUC, AES and the key derivations are those of `oxirush-security`, behind
//! types of our own; concealment is here, because it must take its random octets from the caller.
//! The vectors of the specifications are the tests. Nothing here has a clock or a source of random
//! numbers, keys are wiped when they are dropped, and none can be printed.
#![forbid(unsafe_code)]

mod access;
mod aka;
mod algorithm;
mod key;
mod nas;
pub mod suci;

pub use access::{NextHop, NextHopChain, access_key};
pub use aka::{
    Abba, Answer, Autn, Auts, Challenge, HxresStar, Rand, ResStar, Sqn, Subscriber, Usim,
    UsimError, hxres_star, kamf, kseaf,
};
pub use algorithm::{Ciphering, Integrity, Preference, SecurityCapability};
pub use key::{K, Kamf, Kausf, Kgnb, Kseaf, Opc};
pub use nas::{Direction, NasCount, NasKeys};
