//! Emulated SMF: an N4 client with dialects.
#![forbid(unsafe_code)]
