//! Packet and port traits: the doors that every packet passes.
#![forbid(unsafe_code)]
