//! Keys and algorithms of 5G security: Milenage, TUAK, 5G-AKA, EAP-AKA', NAS ciphering and integrity, SUCI.
//!
//! Milenage, SNOW 3G, ZUC, AES and the key derivations are those of `oxirush-security`, behind
//! types of our own; TUAK is here over RustCrypto's Keccak, EAP-AKA' over its HMAC; concealment is
//! here, because it must take its random octets from the caller.
//! The vectors of the specifications are the tests. Nothing here has a clock or a source of random
//! numbers, keys are wiped when they are dropped, and none can be printed.
#![forbid(unsafe_code)]

mod access;
mod aka;
mod algorithm;
mod credentials;
pub mod eap;
mod functions;
mod key;
mod nas;
pub mod suci;
mod tuak;

pub use access::{NextHop, NextHopChain, access_key};
pub use aka::{
    Abba, Answer, Autn, Auts, Challenge, HxresStar, PrimeChallenge, PrimeKeys, Rand, ResStar, Sqn,
    Subscriber, Usim, UsimError, hxres_star, kamf, kseaf, next_kamf,
};
pub use algorithm::{Ciphering, Integrity, Mandatory, Preference, SecurityCapability};
pub use credentials::{Algorithm, Credentials, Method, TuakKey};
pub use key::{K, K256, Kamf, Kausf, Kgnb, Kseaf, Opc, Topc};
pub use nas::{Direction, NasCount, NasKeys};
