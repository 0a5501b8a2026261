//! The UP function: N4 sessions to compiled transactions.
#![forbid(unsafe_code)]
