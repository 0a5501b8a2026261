//! The slow, obvious twin of the packet path.
#![forbid(unsafe_code)]
