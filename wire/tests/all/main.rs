//! The codecs from outside: other encoders and decoders, tshark, and every octet spoiled.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod common;
mod oracle_etherparse;
mod pfcp_common;
mod pfcp_rejects;
mod pfcp_rs_pfcp;
mod pfcp_total;
mod tshark_gtpu;
mod tshark_icmpv6;
mod tshark_pfcp;
