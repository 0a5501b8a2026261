//! An independent codec, rs-pfcp, agrees: what it writes we read field by field, and what we write
//! it reads field by field.

// A failed step in a helper is a failed test.
#![allow(clippy::unwrap_used)]

mod from_them;
mod to_them;

use std::net::Ipv4Addr;

const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const FLOW: &str = "permit out ip from 198.51.100.0/24 to assigned";
