//! Keys of the service-based interfaces (TS 33.501, 13.3 and 13.4): files that are read again when they change, NF instances
//! of certificates, and access tokens (JWS: RFC 7515) that an NRF signs and producers check.
#![forbid(unsafe_code)]

mod certificate;
mod claims;
mod file;
mod key;
mod verifier;

pub use certificate::{instances_in_file, instances_of};
pub use claims::{Audience, Claims};
pub use file::{FileError, Stamp, Watched, read, read_secret};
pub use key::{Algorithm, PublicKeys, SigningKey};
pub use verifier::{KNOWN, TOKEN_OCTETS, Verifier, Wrong};
