//! Simulated ports and heap packets.
#![forbid(unsafe_code)]
