//! Identities of 5GS as octets (TS 23.003): PLMN, SUPI, GUAMI, 5G-GUTI, TAI, S-NSSAI; and the user plane security
//! policy of a session, of which the same holds.
//!
//! Each is a few octets without padding or pointer, so that messages between network functions
//! hold them as they are. What comes from N1 or N2 is checked where it is read; any other octets
//! are harmless here: they print as what they are, and match nothing.
#![forbid(unsafe_code)]

mod area;
mod dnn;
mod plmn;
mod subscriber;
mod suci;
mod temporary;
mod up_security;

pub use area::{NrCellIdentity, Snssai, Tac, Tai};
pub use dnn::{DNN_OCTETS, Dnn};
pub use plmn::{Plmn, ServingNetworkName};
pub use subscriber::{Imeisv, Supi};
pub use suci::{ROUTING_ZERO, SCHEME_OUTPUT, Suci, msin_digits, msin_octets};
pub use temporary::{AmfId, Guami, Guti, STmsi, Tmsi};
pub use up_security::{UpProtection, UpSecurity};
